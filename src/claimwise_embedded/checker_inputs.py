"""What the word checker sees: the words of a claim and of its passages as states and marks, and how they pair."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from claimwise_embedded.encoder import WIDTH, fast_type
from claimwise_embedded.evidence import FUNCTION_STEMS, is_number
from claimwise_embedded.lexicon import HEDGES, NEGATIONS, QUANTIFIERS

#: Marks of a word, one bit each: function word, number, name, negation, hedge, quantifier, somewhere in the document.
MARKS = 7
#: Kinds of pairing of a claim's word with a passage's word, see ``pair_features``.
PAIRINGS = 8
#: Words of a claim and of its passages that are looked at; the rest of a longer one is left to the other features.
CLAIM_WORDS, PASSAGE_WORDS = 120, 320
#: Both are padded to a multiple of so many.
_STEPS = 16, 32


@dataclass(frozen=True, slots=True)
class Words:
    """Words of one text.

    Attributes:
        states: (n, 384) float16, of unit length.
        stems: (n,) a number for each stem.
        marks: (n,) bits, see ``MARKS``.
        rarity: (n,) how rare each word is; 0 for words of passages.
    """

    states: np.ndarray
    stems: np.ndarray
    marks: np.ndarray
    rarity: np.ndarray

    @classmethod
    def of(cls, states: np.ndarray, stems: Sequence[str], names, known, rarity: np.ndarray | None = None) -> Words:
        """Mark the words; ``names`` and ``known`` are the stems that are names, and those of the document."""
        marks = [
            (s in FUNCTION_STEMS)
            | (is_number(s) << 1)
            | ((s in names) << 2)
            | ((s in NEGATIONS) << 3)
            | ((s in HEDGES) << 4)
            | ((s in QUANTIFIERS) << 5)
            | ((s in known) << 6)
            for s in stems
        ]
        return cls(
            states.astype(np.float16),
            np.array([zlib.crc32(s.encode()) & 0x7FFFFFFF for s in stems], dtype=np.int32),
            np.array(marks, dtype=np.uint8),
            np.zeros(len(stems), dtype=np.float32) if rarity is None else rarity.astype(np.float32),
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """A claim and its passages in the order of the document; passages are shared by the claims of a document."""

    claim: Words
    passages: tuple[Words, ...]

    @property
    def size(self) -> tuple[int, int]:
        """Words of the claim and of the passages, as far as they are looked at."""
        there = sum(len(p.stems) for p in self.passages)
        return min(len(self.claim.stems), CLAIM_WORDS), min(there, PASSAGE_WORDS)

    @property
    def padded(self) -> tuple[int, int]:
        """The same with padding."""
        return tuple(-(-words // step) * step for words, step in zip(self.size, _STEPS, strict=True))


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a batch, padded: states (b, n, 384), stems, marks and rarity (b, n), real (b, n) where words are."""

    states: torch.Tensor
    stems: torch.Tensor
    marks: torch.Tensor
    rarity: torch.Tensor
    real: torch.Tensor


def collate(readings: Sequence[Reading], shape: tuple[int, int] | None = None) -> tuple[Side, Side]:
    """The claims and the passages of a batch, of so many words each with padding: as many as the longest, if not given."""
    mine, theirs = shape or np.max([r.size for r in readings], axis=0)
    claims = _side([(r.claim,) for r in readings], [r.size[0] for r in readings], mine)
    return claims, _side([r.passages for r in readings], [r.size[1] for r in readings], theirs)


def _side(texts: Sequence[Sequence[Words]], lengths: Sequence[int], width: int) -> Side:
    shape = (len(texts), width)
    states = np.zeros((*shape, WIDTH), dtype=np.float16)
    stems, marks = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32)
    rarity, real = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=bool)
    for row, (parts, length) in enumerate(zip(texts, lengths, strict=True)):
        start = 0
        for part in parts:
            end = min(start + len(part.stems), length)
            states[row, start:end] = part.states[: end - start]
            stems[row, start:end] = part.stems[: end - start]
            marks[row, start:end] = part.marks[: end - start]
            rarity[row, start:end] = part.rarity[: end - start]
            start = end
        real[row, :length] = True
    return Side(torch.from_numpy(states).to(fast_type()), *map(torch.from_numpy, (stems, marks, rarity, real)))


def pair_features(claim: Side, there: Side) -> torch.Tensor:
    """How each word of the claim pairs with each word of the passages, (b, PAIRINGS, n, m).

    The same stem; cosine of the states; whether the claim's neighbouring words have matches near; the same stem
    before, and after; how much of the claim stands within 8 words, within 30, and roughly within 12.
    """
    same = (claim.stems[:, :, None] == there.stems[:, None, :]) & claim.real[:, :, None] & there.real[:, None, :]
    same = same.float()
    cosine = torch.bmm(claim.states, there.states.transpose(1, 2)).float()
    soft = ((cosine - 0.25) / 0.6).clamp(0, 1)
    weight = claim.rarity * (((claim.marks & 1) == 0) & claim.real)
    weight = weight / weight.sum(1, keepdim=True).clamp_min(1e-6)
    near = _highest(torch.maximum(same, soft * 0.8))
    covered = [
        torch.einsum("bn,bnm->bm", weight, found)
        for found in (_within(same, 8), _within(same, 30), _highest(_highest(near)))
    ]
    place = torch.arange(same.shape[1])
    apart = (place[:, None] - place[None]).abs()
    beside = ((apart <= 4) & (apart > 0))[None] * (weight[:, None, :] + 1e-4)
    beside = beside / beside.sum(2, keepdim=True).clamp_min(1e-6)
    before = F.pad(same, (1, 0, 1, 0))[:, :-1, :-1]
    after = F.pad(same, (0, 1, 0, 1))[:, 1:, 1:]
    spread = [c[:, None, :].expand_as(same) for c in covered]
    return torch.stack([same, cosine, torch.bmm(beside, near), before, after, *spread], dim=1)


def _highest(values: torch.Tensor) -> torch.Tensor:
    """Maximum over the words at most 4 places away."""
    return F.max_pool1d(values, 9, 1, 4)


def _within(found: torch.Tensor, reach: int) -> torch.Tensor:
    """1 where any word at most ``reach`` places away is found."""
    total = F.pad(found.cumsum(2), (reach + 1, 0))
    total = torch.cat([total, total[..., -1:].expand(*total.shape[:-1], reach)], dim=2)
    width = 2 * reach + 1
    return ((total[..., width:] - total[..., :-width]) > 0.5).float()
