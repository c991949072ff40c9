"""MiniLM's forward pass in torch alone: importing transformers takes longer than loading all weights and judging a page.

The states equal, bit by bit, those of ``transformers.BertModel`` (a test compares them).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from claimwise_embedded.steady import linear

_HEADS, _LAYERS, _EPSILON = 12, 6, 1e-12


class MiniLM:
    """A BERT of six layers, for inference.

    Args:
        weights: the checkpoint's safetensors file.
        dtype: of weights and states.
    """

    def __init__(self, weights: Path, dtype: torch.dtype) -> None:
        tensors = load_file(weights)
        self._weights = {name: t.to(dtype) for name, t in tensors.items() if t.is_floating_point()}

    def __call__(self, pieces: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """Last states of each piece, (length, 384).

        Pieces stand in one row, without padding, and those of a length attend together: the states of a piece are the
        same to the bit whatever stands beside it.

        Args:
            pieces: wordpieces of each, at most 512, in order of length.
        """
        of = self._weights
        groups = [(length, len(list(same))) for length, same in groupby(map(len, pieces))]
        places = torch.cat([torch.arange(length).repeat(n) for length, n in groups])
        states = F.embedding(torch.tensor(list(chain(*pieces))), of["embeddings.word_embeddings.weight"])
        states = states + of["embeddings.token_type_embeddings.weight"][0]
        states = states + of["embeddings.position_embeddings.weight"][places]
        states = self._norm("embeddings", states)
        for layer in range(_LAYERS):
            states = self._layer(f"encoder.layer.{layer}", states, groups)
        return list(states.split([len(piece) for piece in pieces]))

    def _layer(self, name: str, states: torch.Tensor, groups: Sequence[tuple[int, int]]) -> torch.Tensor:
        sizes = [length * n for length, n in groups]
        asked = [
            self._linear(f"{name}.attention.self.{part}", states).split(sizes) for part in ("query", "key", "value")
        ]
        attended = torch.cat([_attend(*parts, length) for (length, _), *parts in zip(groups, *asked, strict=True)])
        out = self._linear(f"{name}.attention.output.dense", attended)
        states = self._norm(f"{name}.attention.output", out + states)
        out = self._linear(f"{name}.output.dense", F.gelu(self._linear(f"{name}.intermediate.dense", states)))
        return self._norm(f"{name}.output", out + states)

    def _linear(self, name: str, states: torch.Tensor) -> torch.Tensor:
        return linear(states, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, name: str, states: torch.Tensor) -> torch.Tensor:
        weight, bias = self._weights[f"{name}.LayerNorm.weight"], self._weights[f"{name}.LayerNorm.bias"]
        return F.layer_norm(states, weight.shape, weight, bias, _EPSILON)


def _attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, length: int) -> torch.Tensor:
    """Attention within pieces of a length, which stand one after another: (n * length, 384) each."""
    split = [part.view(-1, length, _HEADS, part.shape[1] // _HEADS).transpose(1, 2) for part in (query, key, value)]
    return F.scaled_dot_product_attention(*split).transpose(1, 2).reshape(query.shape)
