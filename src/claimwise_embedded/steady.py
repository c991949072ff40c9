"""Linear layers whose rows do not depend on how many there are: what a claim scores must not hang on its neighbours.

A product's rows are summed one by one, but libraries take another way through few rows, or one column, whose last digits
differ; trees on top can make thousandths of them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

#: Another way was taken through fewer than 4 rows with one thread, and fewer than 12 with two; this leaves room for more.
_ROWS = 64


def linear(states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """``torch.nn.functional.linear`` over the last dimension.

    >>> states, weight, bias = torch.rand(100, 8), torch.rand(5, 8), torch.rand(5)
    >>> bool((linear(states[:2], weight, bias) == linear(states, weight, bias)[:2]).all())
    True
    """
    if len(weight) == 1:
        return (states * weight[0]).sum(-1, keepdim=True) + bias
    rows = states.flatten(0, -2)
    if len(rows) >= _ROWS:
        return F.linear(states, weight, bias)
    padded = F.pad(rows, (0, 0, 0, _ROWS - len(rows)))
    return F.linear(padded, weight, bias)[: len(rows)].unflatten(0, states.shape[:-1])


class Linear(nn.Linear):
    """The same as a layer."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """See ``linear``."""
        return linear(states, self.weight, self.bias)
