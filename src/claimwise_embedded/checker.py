"""The word checker: a small network in which the words of a claim attend to the words of its passages.

Its input are the encoder's word states, so that a document is encoded once for all claims. Features of word pairs
(``pair_features``) help attention: the same word, the same neighbours, near the other words of the claim. For each word it
says whether it is unsupported, and for the claim whether it is supported.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

from claimwise_embedded.encoder import WIDTH, Linear, fast_type, linear
from claimwise_embedded.evidence import FUNCTION_STEMS, HEDGES, NEGATIONS, QUANTIFIERS, is_number

#: Marks of a word, one bit each: function word, number, name, negation, hedge, quantifier, somewhere in the document.
MARKS = 7
#: Number of ``pair_features``.
PAIRINGS = 8
#: The most words that the network reads of a claim and of its passages. Other features read the rest.
CLAIM_WORDS, PASSAGE_WORDS = 120, 320
#: Both are padded to a multiple of this.
_STEPS = 16, 32
_SIZE, _HEADS, _LAYERS, _REACH = 128, 4, 3, 8
#: Dropout in training.
_DROP = 0.1
#: Pairs of words in a batch, which bounds memory to about 100 MB.
_PAIRS = 400_000


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one text.

    Attributes:
        states: (n, 384) float16, of unit length.
        stems: (n,) a hash of each stem.
        marks: (n,) bits, see ``MARKS``.
        rarity: (n,) how rare each word is; 0 for words of passages.
    """

    states: np.ndarray
    stems: np.ndarray
    marks: np.ndarray
    rarity: np.ndarray

    @classmethod
    def of(cls, states: np.ndarray, stems: Sequence[str], names, known, rarity: np.ndarray | None = None) -> Words:
        """Mark the words. ``names`` are the stems of names, ``known`` all stems of the document."""
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
    """A claim, and its passages in the order of the document. Claims of one document share their passages."""

    claim: Words
    passages: tuple[Words, ...]

    @property
    def size(self) -> tuple[int, int]:
        """The number of words that are read of the claim and of the passages."""
        words = sum(len(passage.stems) for passage in self.passages)
        return min(len(self.claim.stems), CLAIM_WORDS), min(words, PASSAGE_WORDS)

    @property
    def padded(self) -> tuple[int, int]:
        """``size`` with padding."""
        return tuple(-(-words // step) * step for words, step in zip(self.size, _STEPS, strict=True))


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a batch, padded: states (b, n, 384); stems, marks and rarity (b, n); real (b, n), False in the padding."""

    states: torch.Tensor
    stems: torch.Tensor
    marks: torch.Tensor
    rarity: torch.Tensor
    real: torch.Tensor


def collate(readings: Sequence[Reading], shape: tuple[int, int] | None = None) -> tuple[Side, Side]:
    """Return the claims and the passages of a batch, padded to ``shape`` (words of each); by default to the longest."""
    claim_width, passages_width = shape or np.max([r.size for r in readings], axis=0)
    claims = _side([(r.claim,) for r in readings], [r.size[0] for r in readings], claim_width)
    return claims, _side([r.passages for r in readings], [r.size[1] for r in readings], passages_width)


def _side(texts: Sequence[Sequence[Words]], lengths: Sequence[int], width: int) -> Side:
    shape = (len(texts), width)
    states = np.zeros((*shape, WIDTH), dtype=np.float16)
    stems, marks = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32)
    rarity = np.zeros(shape, dtype=np.float32)
    for row, (parts, length) in enumerate(zip(texts, lengths, strict=True)):
        for padded, name in ((states, "states"), (stems, "stems"), (marks, "marks"), (rarity, "rarity")):
            padded[row, :length] = np.concatenate([getattr(part, name) for part in parts])[:length]
    real = np.arange(width) < np.array(lengths)[:, None]
    return Side(torch.from_numpy(states).to(fast_type()), *map(torch.from_numpy, (stems, marks, rarity, real)))


def pair_features(claim: Side, passages: Side) -> torch.Tensor:
    """Return features of each pair of a claim's word and a passage's word, (b, PAIRINGS, n, m).

    Same stem; cosine of the states; whether the claim's neighbouring words have matches nearby; same stem before, and after;
    the share of the claim within 8 words, within 30, and (by similar words) within about 12.
    """
    real = claim.real[:, :, None] & passages.real[:, None, :]
    same = ((claim.stems[:, :, None] == passages.stems[:, None, :]) & real).float()
    cosine = torch.bmm(claim.states, passages.states.transpose(1, 2)).float()
    soft = ((cosine - 0.25) / 0.6).clamp(0, 1)
    weight = claim.rarity * (((claim.marks & 1) == 0) & claim.real)
    weight = weight / weight.sum(1, keepdim=True).clamp_min(1e-6)
    near = _highest(torch.maximum(same, soft * 0.8), 4)
    covered = [
        torch.einsum("bn,bnm->bm", weight, matches)[:, None, :].expand_as(same)
        for matches in (_highest(same, 8), _highest(same, 30), _highest(_highest(near, 4), 4))
    ]
    place = torch.arange(same.shape[1])
    distance = (place[:, None] - place[None]).abs()
    neighbours = ((distance <= 4) & (distance > 0))[None] * (weight[:, None, :] + 1e-4)
    neighbours = neighbours / neighbours.sum(2, keepdim=True).clamp_min(1e-6)
    before = F.pad(same, (1, 0, 1, 0))[:, :-1, :-1]
    after = F.pad(same, (0, 1, 0, 1))[:, 1:, 1:]
    return torch.stack([same, cosine, torch.bmm(neighbours, near), before, after, *covered], dim=1)


def _highest(values: torch.Tensor, reach: int) -> torch.Tensor:
    """The maximum over the words at most ``reach`` places away."""
    return F.max_pool1d(values, 2 * reach + 1, 1, reach)


class _Cross(nn.Module):
    """Attention from claim words to passage words. The output has the attended states and pair features."""

    def __init__(self) -> None:
        super().__init__()
        self.query = Linear(_SIZE, _SIZE)
        self.key_value = Linear(_SIZE, 2 * _SIZE)
        self.pairing = nn.Parameter(torch.randn(_HEADS, PAIRINGS))
        self.out = Linear(_SIZE + _HEADS * PAIRINGS, _SIZE)

    def forward(self, claim, passages, pairs, masked_pairs):
        b, n, _ = claim.shape
        query = _split(self.query(claim))
        key, value = map(_split, self.key_value(passages).chunk(2, dim=-1))
        weight = torch.cat([self.pairing, torch.full((_HEADS, 1), -1e4)], dim=1)
        bias = (weight @ masked_pairs).view(b, _HEADS, n, -1).float()
        share = ((query @ key.transpose(2, 3) * query.shape[-1] ** -0.5).float() + bias).softmax(3).to(value.dtype)
        seen = (share @ value).transpose(1, 2).reshape(b, n, -1)
        return self.out(torch.cat([seen, (share.transpose(1, 2) @ pairs).reshape(b, n, -1)], dim=2))


class _Self(nn.Module):
    """Attention among the claim's words, by content and by distance."""

    def __init__(self) -> None:
        super().__init__()
        self.all = Linear(_SIZE, 3 * _SIZE)
        self.out = Linear(_SIZE, _SIZE)
        self.distance = nn.Parameter(torch.zeros(_HEADS, 2 * _REACH + 1))

    def forward(self, claim, real):
        b, n, _ = claim.shape
        query, key, value = map(_split, self.all(claim).chunk(3, dim=-1))
        place = torch.arange(n)
        distance = (place[None] - place[:, None]).clamp(-_REACH, _REACH) + _REACH
        score = (query @ key.transpose(2, 3)).float() * query.shape[-1] ** -0.5 + self.distance[:, distance][None]
        share = score.masked_fill(~real[:, None, None], -1e4).softmax(3).to(value.dtype)
        return self.out((share @ value).transpose(1, 2).reshape(b, n, -1))


class _Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cross, self.own = _Cross(), _Self()
        self.norms = nn.ModuleList(nn.LayerNorm(_SIZE) for _ in range(3))
        self.think = nn.Sequential(Linear(_SIZE, 2 * _SIZE), nn.GELU(), Linear(2 * _SIZE, _SIZE))
        self.drop = nn.Dropout(_DROP)

    def forward(self, claim, passages, pairs, masked_pairs, real):
        claim = claim + self.drop(self.cross(self.norms[0](claim), passages, pairs, masked_pairs))
        claim = claim + self.drop(self.own(self.norms[1](claim), real))
        return claim + self.drop(self.think(self.norms[2](claim)))


def _split(states: torch.Tensor) -> torch.Tensor:
    b, n, size = states.shape
    return states.view(b, n, _HEADS, size // _HEADS).transpose(1, 2)


class Checker(nn.Module):
    """The network: 0.7 million parameters on top of frozen word states. Attributes name the stored weights."""

    def __init__(self) -> None:
        super().__init__()
        self.states = Linear(WIDTH, _SIZE)
        self.claim_marks = Linear(MARKS + 1, _SIZE)
        self.there_marks = Linear(MARKS, _SIZE)
        self.there_norm, self.norm = nn.LayerNorm(_SIZE), nn.LayerNorm(_SIZE)
        self.nowhere = nn.Parameter(torch.zeros(_SIZE))
        self.layers = nn.ModuleList(_Layer() for _ in range(_LAYERS))
        self.word = Linear(_SIZE, 1)
        self.pool = Linear(_SIZE, 4)
        self.claim = nn.Sequential(Linear(4 * _SIZE + 3, _SIZE), nn.GELU(), Linear(_SIZE, 1))
        self.drop = nn.Dropout(_DROP)

    def forward(self, claim: Side, passages: Side, pairs, masked_pairs) -> tuple[torch.Tensor, torch.Tensor]:
        """Return log odds that claims are supported, (b,), and that their words are not, (b, n), given ``pairings``."""
        claim_states, passage_states = claim.states, passages.states
        if self.training:
            kept = ((torch.rand(len(claim_states), 1, WIDTH) > _DROP) / (1 - _DROP)).to(claim_states.dtype)
            claim_states, passage_states = claim_states * kept, passage_states * kept
        words = self._project(claim_states) + self.claim_marks(
            torch.cat([_bits(claim.marks), claim.rarity[..., None] / 3], dim=-1)
        )
        context = self.there_norm(self._project(passage_states) + self.there_marks(_bits(passages.marks)))
        context = torch.cat([context, self.nowhere.to(context.dtype).expand(len(words), 1, -1)], dim=1)
        for layer in self.layers:
            words = layer(words, context, pairs, masked_pairs, claim.real)
        words = self.norm(words)
        unsupported = self.word(words)[..., 0].float().masked_fill(~claim.real, -30)
        share = self.pool(words).float().masked_fill(~claim.real[..., None], -1e4).softmax(1)
        pooled = (share.to(words.dtype)[..., None] * words[:, :, None]).sum(1).flatten(1)
        worst = [unsupported.max(1)[0], unsupported.logsumexp(1), F.softplus(unsupported).sum(1)]
        supported = self.claim(torch.cat([self.drop(pooled), torch.stack(worst, 1).to(pooled.dtype)], dim=1))
        return supported[:, 0].float(), unsupported

    def _project(self, states: torch.Tensor) -> torch.Tensor:
        """Project states of unit length. Scaling the weights is cheaper than scaling the states."""
        return linear(states, self.states.weight * WIDTH**0.5, self.states.bias)


def pairings(claim: Side, passages: Side) -> tuple[torch.Tensor, torch.Tensor]:
    """Return pair features with a last column for "nowhere", in two forms: (b, n, m + 1, PAIRINGS), and with one more
    feature that marks the padding, (b, PAIRINGS + 1, n (m + 1))."""
    with torch.no_grad():
        pairs = pair_features(claim, passages)
        b, _, n, m = pairs.shape
        padding = (~passages.real)[:, None, None, :].expand(b, 1, n, m).float()
        masked = F.pad(torch.cat([pairs, padding], dim=1), (0, 1)).to(torch.bfloat16).view(b, PAIRINGS + 1, -1)
        plain = F.pad(pairs, (0, 1)).permute(0, 2, 3, 1).to(torch.bfloat16).contiguous()
    if fast_type() is not torch.bfloat16:
        return plain.float(), masked.float()
    return plain, masked


def _bits(marks: torch.Tensor) -> torch.Tensor:
    return torch.stack([(marks >> i) & 1 for i in range(MARKS)], dim=-1).float()


def fast():
    """Autocast of multiplications to half precision, if the CPU has it."""
    return torch.autocast("cpu", torch.bfloat16, enabled=fast_type() is torch.bfloat16)


def check(checkers: Sequence[Checker], readings: Sequence[Reading]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the findings of k checkers.

    Returns:
        For each reading the log odds that it is supported, (k,), and that each of its words is not, (k, n_words). A
        word after the first ``CLAIM_WORDS`` has the mean of the others.
    """
    results: list = [None] * len(readings)
    for batch in _batches(readings):
        claim, passages = collate([readings[i] for i in batch], readings[batch[0]].padded)
        with torch.inference_mode(), fast():
            pairs = pairings(claim, passages)
            by_checker = [checker(claim, passages, *pairs) for checker in checkers]
        supported, words = (torch.stack(each).numpy() for each in zip(*by_checker, strict=True))
        for row, i in enumerate(batch):
            read, length = readings[i].size[0], len(readings[i].claim.stems)
            results[i] = (supported[:, row], np.pad(words[:, row, :read], ((0, 0), (0, length - read)), "mean"))
    return results


def _batches(readings: Sequence[Reading]) -> Iterator[list[int]]:
    """Batches of readings that are padded to one shape, with at most ``_PAIRS`` pairs of words.

    So a reading's padding, which its last digits depend on, does not depend on the other readings.
    """
    shapes = [reading.padded for reading in readings]
    by_shape = sorted(range(len(readings)), key=shapes.__getitem__)
    for (claim_width, passages_width), same in groupby(by_shape, key=shapes.__getitem__):
        group, size = list(same), max(1, _PAIRS // (claim_width * passages_width))
        yield from (group[start : start + size] for start in range(0, len(group), size))


def shipped(checker: Checker) -> Checker:
    """Round a checker to half precision, as its weights are stored, so that trees learn from the findings that they will get."""
    return checker.half().float().eval()


def load(file: Path) -> list[Checker]:
    """Read the checkers of a weights file."""
    tensors = load_file(file)
    checkers = nn.ModuleList(Checker() for _ in {name.split(".")[0] for name in tensors})
    checkers.load_state_dict(tensors)
    return list(checkers.eval())
