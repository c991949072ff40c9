"""A claim's content words against those of the retrieved pieces: matches, passages that hold them, pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from claimwise_embedded.encoder import Encoded
from claimwise_embedded.evidence import FUNCTION_STEMS, Index, Piece, is_number

_NEIGHBOURS = 6  # candidate matches of a word that pairs of words choose among
_REACH = (1, 2, 3)  # content words that far apart in the claim make a pair


@dataclass(slots=True)
class EncodedClaim:
    """A claim's pieces as one sequence of words.

    ``states`` is (n_words, 384), ``whole`` (384,), ``weights`` (n_words,) how rare each word is, ``stems`` and ``names``
    (n_words,) each word's stem and whether it is a name.
    """

    stems: list[str]
    states: np.ndarray
    whole: np.ndarray
    weights: np.ndarray
    names: np.ndarray


@dataclass(slots=True)
class Pool:
    """The encoded pieces that a claim may use, in document order: their places in the index, they and their states."""

    numbers: list[int]
    pieces: list[Piece]
    encoded: list[Encoded]


@dataclass(slots=True)
class Match:
    """Content words of the claim (rows) against those of the pool (columns)."""

    content: np.ndarray  # positions in the claim
    weight: np.ndarray
    share: np.ndarray  # weights that sum to 1
    numbers: np.ndarray
    names: np.ndarray
    present: np.ndarray  # anywhere in the document
    similarity: np.ndarray
    same: np.ndarray
    place: np.ndarray  # the pool's words: position in the document
    owner: np.ndarray  # and row of ``pool.pieces``

    @property
    def best(self) -> np.ndarray:
        """Best match of each content word, (n_content,)."""
        return self.similarity.max(1)

    @property
    def exact_best(self) -> np.ndarray:
        """Best match of each word with itself; 0 where the pool does not have it."""
        return np.where(self.same.any(1), np.where(self.same, self.similarity, -1.0).max(1), 0.0)

    @property
    def other_gain(self) -> np.ndarray:
        """By how much another word fits the place better than the word itself."""
        return np.where(self.same, -1.0, self.similarity).max(1) - self.exact_best

    @property
    def aligned_same(self) -> np.ndarray:
        """1 where the best match is the word itself."""
        return self.same[np.arange(len(self.content)), self.similarity.argmax(1)].astype(float)


def match_words(claim: EncodedClaim, index: Index, pool: Pool) -> Match:
    """Cosines of the contextual states of content words, and which words are the same by their stems."""
    content = _content(claim.stems)
    stems = [claim.stems[i] for i in content]
    states, pool_stems, place, owner = [], [], [], []
    for row, (piece, encoded) in enumerate(zip(pool.pieces, pool.encoded, strict=True)):
        keep = [i for i, s in enumerate(piece.stems) if s not in FUNCTION_STEMS] or list(range(len(piece.stems)))
        states.append(encoded.words[keep])
        pool_stems += [piece.stems[i] for i in keep]
        place += [piece.first_word + i for i in keep]
        owner += [row] * len(keep)
    vocabulary = {s: i for i, s in enumerate(dict.fromkeys(pool_stems))}
    pool_ids = np.array([vocabulary[s] for s in pool_stems])
    claim_ids = np.array([vocabulary.get(s, -1) for s in stems])
    weight = claim.weights[content] + 0.1
    return Match(
        content=content,
        weight=weight,
        share=weight / weight.sum(),
        numbers=np.array([is_number(s) for s in stems]),
        names=claim.names[content] | np.array([s in index.names for s in stems]),
        present=np.array([s in index.counts for s in stems], dtype=float),
        similarity=claim.states[content] @ np.concatenate(states).T,
        same=claim_ids[:, None] == pool_ids[None, :],
        place=np.array(place),
        owner=np.array(owner),
    )


def _content(stems: Sequence[str]) -> np.ndarray:
    """Positions of the content words: neither function words nor single Latin letters; all, if there are none."""
    return np.array(
        [
            i
            for i, s in enumerate(stems)
            if (s not in FUNCTION_STEMS and (len(s) > 1 or is_number(s))) or not s.isascii()
        ]
        or range(len(stems)),
        dtype=int,
    )


@dataclass(slots=True)
class Passages:
    """How much of the claim single pieces, two neighbouring pieces and all pieces hold; ``ranked`` rows, best first."""

    soft: np.ndarray  # (n_content, n_pieces) best match in each piece, as a degree in [0, 1]
    hard: np.ndarray  # whether the word itself is there
    pair_soft: np.ndarray  # (n_content, n_neighbours)
    pair_hard: np.ndarray
    cosine: np.ndarray  # (n_pieces,) of whole vectors
    ranked: np.ndarray

    @property
    def top(self) -> int:
        """The row of the best piece."""
        return int(self.ranked[0])


def find_passages(claim: EncodedClaim, match: Match, pool: Pool) -> Passages:
    """How much of the claim each passage holds, and a ranking by words, exact words and whole vectors."""
    starts = np.flatnonzero(np.r_[True, match.owner[1:] != match.owner[:-1]])
    by_piece = np.maximum.reduceat(match.similarity, starts, axis=1)
    soft = np.clip((by_piece - 0.25) / 0.6, 0, 1)
    hard = np.maximum.reduceat(match.same, starts, axis=1).astype(float)
    cosine = np.stack([encoded.whole for encoded in pool.encoded]) @ claim.whole
    adjacent = np.flatnonzero(np.diff(np.array(pool.numbers)) == 1)
    rank = 0.5 * (match.share @ soft) + 0.2 * (match.share @ hard) + 0.3 * cosine
    return Passages(
        soft,
        hard,
        _windows(soft, adjacent),
        _windows(hard, adjacent),
        cosine,
        np.argsort(-rank, kind="stable"),
    )


@dataclass(slots=True)
class Pairs:
    """Pairs of near content words of the claim against the places of their matches, (n_pairs,) each.

    ``score`` is high where both words match and their matches stand as far apart as they do in the claim;
    ``words`` is (n_pairs, 2).
    """

    score: np.ndarray
    distance: np.ndarray
    in_order: np.ndarray
    one_piece: np.ndarray
    weight: np.ndarray
    words: np.ndarray


def find_pairs(match: Match) -> Pairs:
    """For each pair of near words the candidate places that fit best: both match, as far apart as in the claim."""
    n = len(match.content)
    if n <= min(_REACH):
        one = np.ones(1)
        return Pairs(np.array([match.best.mean()]), np.zeros(1), one, one, one, np.zeros((1, 2), dtype=int))
    k = min(_NEIGHBOURS, match.similarity.shape[1])
    near = np.argpartition(-match.similarity, k - 1, axis=1)[:, :k]
    value = np.take_along_axis(match.similarity, near, 1)
    place, owner = match.place[near], match.owner[near]
    parts = []
    for reach in _REACH:
        if n <= reach:
            continue
        left, right = slice(0, n - reach), slice(reach, n)
        gap = (place[right][:, None, :] - place[left][:, :, None]).reshape(n - reach, -1)
        both = np.minimum(value[left][:, :, None], value[right][:, None, :]).reshape(n - reach, -1)
        together = (owner[left][:, :, None] == owner[right][:, None, :]).reshape(n - reach, -1)
        claim_gap = (match.content[reach:] - match.content[:-reach])[:, None]
        off = np.abs(np.abs(gap) - claim_gap) + 3.0 * (gap == 0)  # one place cannot match two words
        score = both - 0.06 * np.log1p(off)
        row, at = np.arange(n - reach), score.argmax(1)
        parts.append(
            (
                score.max(1),
                np.log1p(off[row, at]),
                (gap[row, at] > 0).astype(float),
                together[row, at].astype(float),
                np.sqrt(match.weight[left] * match.weight[right]) / reach,
                np.stack([row, row + reach], axis=1),
            )
        )
    return Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _windows(values: np.ndarray, adjacent: np.ndarray) -> np.ndarray:
    """Coverage by two neighbouring pieces, (n_words, n_pairs)."""
    if not adjacent.size:
        return np.zeros((values.shape[0], 0))
    return np.maximum(values[:, adjacent], values[:, adjacent + 1])
