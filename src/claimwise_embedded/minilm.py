"""MiniLM's forward pass in torch alone: importing transformers takes longer than loading all weights and judging a page.

The states equal, bit by bit, those of ``transformers.BertModel`` (a test compares them).
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

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

    def __call__(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Last states, (n, length, 384).

        Args:
            ids: (n, length) wordpieces, at most 512.
            mask: (n, length) 1 for wordpieces, 0 for padding.
        """
        of = self._weights
        states = F.embedding(ids, of["embeddings.word_embeddings.weight"])
        states = states + of["embeddings.token_type_embeddings.weight"][0]
        states = states + of["embeddings.position_embeddings.weight"][: ids.shape[1]]
        states = self._norm("embeddings", states)
        # As in transformers: nothing padded, no mask, which may choose another kernel.
        seen = None if bool(mask.all()) else mask.bool()[:, None, None, :].expand(-1, 1, ids.shape[1], -1)
        for layer in range(_LAYERS):
            states = self._layer(f"encoder.layer.{layer}", states, seen)
        return states

    def _layer(self, name: str, states: torch.Tensor, seen: torch.Tensor | None) -> torch.Tensor:
        query, key, value = (
            self._linear(f"{name}.attention.self.{part}", states).unflatten(2, (_HEADS, -1)).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=seen).transpose(1, 2).flatten(2)
        out = self._linear(f"{name}.attention.output.dense", attended)
        states = self._norm(f"{name}.attention.output", out + states)
        out = self._linear(f"{name}.output.dense", F.gelu(self._linear(f"{name}.intermediate.dense", states)))
        return self._norm(f"{name}.output", out + states)

    def _linear(self, name: str, states: torch.Tensor) -> torch.Tensor:
        return F.linear(states, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, name: str, states: torch.Tensor) -> torch.Tensor:
        weight, bias = self._weights[f"{name}.LayerNorm.weight"], self._weights[f"{name}.LayerNorm.bias"]
        return F.layer_norm(states, weight.shape, weight, bias, _EPSILON)
