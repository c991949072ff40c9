"""Evidence features of a claim: how well its words, pairs of words and n-grams match the document.

The cosine of MiniLM states finds the best matches of every content word of the claim among the content words of the
retrieved pieces. The features say whether each word has a match (and whether it is the same word), whether neighbours in
the claim match neighbours in the document, and whether one passage has them all. More features are sentence similarity and
n-gram overlap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from claimwise_embedded.checker import Reading
from claimwise_embedded.encoder import Encoded
from claimwise_embedded.evidence import (
    ANTONYMS,
    FUNCTION_STEMS,
    HEDGES,
    NEGATIONS,
    QUANTIFIERS,
    Index,
    Piece,
    is_number,
)

_NEIGHBOURS = 6  # the best matches of a word that pairs of words are made of
_REACH = 3  # the most places between the two content words of a pair


@dataclass(slots=True)
class Evidence:
    """The features of one claim.

    Attributes:
        claim: (67,) in the order of ``measure``.
        weight: (n_content,) how rare each content word is.
        special: (n_content,) whether it is a number or a name.
        ranked: sentences of the indexed text, best first; ``Reader`` keeps those of the document.
        content: (n_content,) positions of the content words in the claim.
        reading: the input of the word checkers, until they have read it.
        supported: (k,) log odds of each checker that the claim is supported.
        doubts: (k, n_content) log odds of each checker that a word is not supported.
    """

    claim: np.ndarray
    weight: np.ndarray
    special: np.ndarray
    ranked: list[int]
    content: np.ndarray
    reading: Reading | None = None
    supported: np.ndarray | None = None
    doubts: np.ndarray | None = None


def measure(claim: EncodedClaim, index: Index, pool: Mapping[int, Encoded]) -> Evidence:
    """Return all features of one claim. ``pool`` has the states of its retrieved pieces by their number in the index, in order."""
    match = match_words(claim, index, pool)
    of_passages, rows = _of_passages(claim, match, pool)
    pairs = find_pairs(match)
    word_pair = _by_word(match, pairs)
    numbers = list(pool)
    top = index.pieces[numbers[rows[0]]]
    features = {
        **_of_words(match),
        **_of_names(match, word_pair),
        **of_passages,
        **_of_pairs(match, pairs, word_pair),
        **_of_text(claim.stems, index, top),
        "content words": float(len(match.content)),
        "mean rarity": match.weight.mean(),
        "log document words": np.log1p(index.n_words),
        "top piece's position": top.first_word / index.n_words,
    }
    values = np.array(list(features.values()), dtype=np.float32)
    wanted = frozenset(claim.stems) - FUNCTION_STEMS
    by_piece = [index.pieces[numbers[row]].ranked(wanted) for row in rows]
    # The best sentence of each piece comes before all others.
    best, others = [s[:1] for s in by_piece], [s[1:] for s in by_piece]
    ranked = list(dict.fromkeys(chain(*best, *others)))
    return Evidence(values, match.weight, match.numbers | match.names, ranked, match.content)


def _by_word(match: Match, pairs: Pairs) -> np.ndarray:
    """The mean score of each content word's pairs; its best match if it is in no pair."""
    total, weight = np.zeros(len(match.content)), np.zeros(len(match.content))
    for side in (0, 1):
        np.add.at(total, pairs.words[:, side], pairs.score * pairs.weight)
        np.add.at(weight, pairs.words[:, side], pairs.weight)
    return np.where(weight > 0, total / np.maximum(weight, 1e-9), match.best)


def _of_words(match: Match) -> dict[str, float]:
    best, exact, share, weight = match.best, match.exact_best, match.share, match.weight
    missing, bad, gain = 1 - match.present, 1 - match.best, match.other_gain
    in_place = np.where(match.present > 0, exact, 1)
    return {
        "mean match": share @ best,
        "worst match": best.min(),
        "match 10%": _weighted_quantile(best, weight, 0.1),
        "match 25%": _weighted_quantile(best, weight, 0.25),
        "worst two matches": np.sort(best)[:2].mean(),
        "mean exact match": share @ exact,
        "share present": share @ match.present,
        "share matched by itself": share @ match.aligned_same,
        "missing rarity": (weight * missing).sum(),
        "rarest missing": (weight * missing).max(),
        "unmatched rarity": (weight * bad).sum(),
        "worst unmatched": (weight * bad).max(),
        "others match better by": (share * gain).sum(),
        "others match better by at most": gain.max(),
        "worst exact match": in_place.min(),
        "exact match 15%": _weighted_quantile(in_place, weight, 0.15),
        "three worst unmatched": np.log1p(np.sort(weight * bad)[::-1][:3].sum()),
    }


def _of_names(match: Match, word_pair: np.ndarray) -> dict[str, float]:
    missing = 1 - match.present
    return {
        "missing numbers": (missing * match.numbers).sum(),
        "missing names": (missing * match.names).sum(),
        "worst number": _least(match.best, match.numbers),
        "worst name": _least(match.best, match.names),
        "worst exact number": _least(match.exact_best, match.numbers),
        "worst exact name": _least(match.exact_best, match.names),
        "worst number in pairs": _least(word_pair, match.numbers),
        "worst name in pairs": _least(word_pair, match.names),
        "rare name missing": float((missing * match.names * (match.weight > 2)).sum() > 0),
    }


def _of_passages(claim: EncodedClaim, match: Match, pool: Mapping[int, Encoded]) -> tuple[dict[str, float], np.ndarray]:
    """Features of how much of the claim each piece has; and the pieces' rows, best first.

    Pieces are ranked by matching words, equal words and whole vectors.
    """
    share, weight = match.share, match.weight
    starts = np.flatnonzero(np.r_[True, match.owner[1:] != match.owner[:-1]])
    # (n_content, n_pieces): the best match in each piece, as a degree in [0, 1]; and whether the piece has the same word.
    soft = np.clip((np.maximum.reduceat(match.similarity, starts, axis=1) - 0.25) / 0.6, 0, 1)
    hard = np.maximum.reduceat(match.same, starts, axis=1).astype(float)
    cosine = np.stack([encoded.whole for encoded in pool.values()]) @ claim.whole
    soft_cover, hard_cover = share @ soft, share @ hard
    rows = np.argsort(-(0.5 * soft_cover + 0.2 * hard_cover + 0.3 * cosine), kind="stable")
    soft_sorted, cos_sorted = np.sort(soft_cover)[::-1], np.sort(cosine)[::-1]
    in_top, hard_top = soft[:, rows[0]], hard[:, rows[0]]
    # Two neighbouring pieces together; the single pieces if there are no neighbours.
    adjacent = np.flatnonzero(np.diff(np.array(list(pool))) == 1)
    pair_soft, pair_hard = (
        np.maximum(one[:, adjacent], one[:, adjacent + 1]) if len(adjacent) else one for one in (soft, hard)
    )
    features = {
        "best piece": soft_cover.max(),
        "best three pieces": soft_sorted[:3].mean(),
        "best piece, exact": hard_cover.max(),
        "best two neighbours": (share @ pair_soft).max(),
        "best two neighbours, exact": (share @ pair_hard).max(),
        "all pieces": share @ soft.max(1),
        "all above best piece": share @ soft.max(1) - soft_cover.max(),
        "all above best piece, exact": share @ hard.max(1) - hard_cover.max(),
        "worst word in top piece": in_top.min(),
        "worst unmatched in top piece": (weight * (1 - in_top)).max(),
        "missing in top piece": (weight * (1 - hard_top)).sum(),
        "nearest piece": cos_sorted[0],
        "nearest three pieces": cos_sorted[:3].mean(),
        "nearest above second": cos_sorted[0] - cos_sorted[min(1, len(cos_sorted) - 1)],
        "top piece's cosine": cosine[rows[0]],
    }
    return features, rows


def _of_pairs(match: Match, pairs: Pairs, word_pair: np.ndarray) -> dict[str, float]:
    share = pairs.weight / pairs.weight.sum()
    return {
        "mean pair": share @ pairs.score,
        "worst pair": pairs.score.min(),
        "pair 10%": _weighted_quantile(pairs.score, pairs.weight, 0.1),
        "pair 25%": _weighted_quantile(pairs.score, pairs.weight, 0.25),
        "mean pair distance": share @ pairs.distance,
        "worst pair distance": pairs.distance.max(),
        "pairs in order": share @ pairs.in_order,
        "pairs in one piece": share @ pairs.one_piece,
        "worst word in pairs": word_pair.min(),
        "words in pairs 15%": _weighted_quantile(word_pair, match.weight, 0.15),
    }


def _of_text(stems: Sequence[str], index: Index, top: Piece) -> dict[str, float]:
    """Features of n-grams, and of words that change a meaning, in the claim and in its top piece."""
    own, tops = set(stems), set(top.stems)
    negations, top_negations = (sum(s in NEGATIONS for s in words) for words in (stems, top.stems))
    return {
        "new bigrams": _novelty(stems, index.ngrams, 2),
        "new trigrams": _novelty(stems, index.ngrams, 3),
        "new 4-grams": _novelty(stems, index.ngrams, 4),
        "longest copy": _longest_run(stems, index.ngrams),
        "negations": float(negations),
        "negations above top piece's": float(negations - top_negations),
        "negation differs": float(bool(negations) != bool(top_negations)),
        "hedges dropped": float(len((tops & HEDGES) - own)),
        "hedges added": float(len((own & HEDGES) - tops)),
        "quantifiers added": float(len((own & QUANTIFIERS) - tops)),
        "opposites in top piece": _opposites(own, tops),
        "opposites in document": _opposites(own, index.postings.keys()),
    }


def _weighted_quantile(values: np.ndarray, weights: np.ndarray, q: float) -> float:
    order = np.argsort(values)
    cumulated = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(cumulated, q * cumulated[-1])])


def _least(values: np.ndarray, mask: np.ndarray) -> float:
    return float(values[mask].min()) if mask.any() else 1.0


def _novelty(stems: Sequence[str], known: Set, n: int) -> float:
    grams = list(zip(*(stems[i:] for i in range(n)), strict=False))
    return sum(g not in known for g in grams) / len(grams) if grams else 0.0


def _longest_run(stems: Sequence[str], known: Set) -> float:
    longest = run = 0
    for gram in pairwise(stems):
        run = run + 1 if gram in known else 0
        longest = max(longest, run)
    return longest / max(len(stems) - 1, 1)


def _opposites(own: set[str], known: Set[str]) -> float:
    """The number of a claim's words that are not in ``known`` although one of their opposites is."""
    return float(sum(s not in known and any(other in known for other in ANTONYMS.get(s, ())) for s in own))


@dataclass(slots=True)
class EncodedClaim:
    """A claim's pieces as one sequence of words.

    ``states`` is (n_words, 384), ``whole`` (384,), and ``weights`` (n_words,) says how rare each word is. ``names`` are the
    stems of its names and of the document's.
    """

    stems: list[str]
    states: np.ndarray
    whole: np.ndarray
    weights: np.ndarray
    names: frozenset[str]


@dataclass(slots=True)
class Match:
    """The content words of the claim (rows) against those of the pool (columns)."""

    content: np.ndarray  # positions in the claim
    weight: np.ndarray
    share: np.ndarray  # weights that sum to 1
    numbers: np.ndarray
    names: np.ndarray
    present: np.ndarray  # anywhere in the document
    similarity: np.ndarray
    same: np.ndarray
    place: np.ndarray  # the pool's words: position in the document
    owner: np.ndarray  # and its piece's row in the pool

    @property
    def best(self) -> np.ndarray:
        """Best match of each content word, (n_content,)."""
        return self.similarity.max(1)

    @property
    def exact_best(self) -> np.ndarray:
        """The best match of each word with the same word; 0 if the pool does not have it."""
        return np.where(self.same.any(1), np.where(self.same, self.similarity, -1.0).max(1), 0.0)

    @property
    def other_gain(self) -> np.ndarray:
        """How much better the best other word matches than the same word."""
        return np.where(self.same, -1.0, self.similarity).max(1) - self.exact_best

    @property
    def aligned_same(self) -> np.ndarray:
        """1 if the best match is the same word, else 0."""
        return self.same[np.arange(len(self.content)), self.similarity.argmax(1)].astype(float)


def match_words(claim: EncodedClaim, index: Index, pool: Mapping[int, Encoded]) -> Match:
    """Compare the content words of the claim and the pool: cosines of their contextual states, and equal stems."""
    content = _content(claim.stems)
    stems = [claim.stems[i] for i in content]
    states, pool_stems, place, owner = [], [], [], []
    for row, (number, encoded) in enumerate(pool.items()):
        piece = index.pieces[number]
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
        names=np.array([s in claim.names for s in stems]),
        present=np.array([s in index.postings for s in stems], dtype=float),
        similarity=claim.states[content] @ np.concatenate(states).T,
        same=claim_ids[:, None] == pool_ids[None, :],
        place=np.array(place),
        owner=np.array(owner),
    )


def _content(stems: Sequence[str]) -> np.ndarray:
    """The positions of the content words: neither function words nor single Latin letters; all words if none is left."""
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
class Pairs:
    """Pairs of near content words of the claim, and the places of their matches: arrays of (n_pairs,).

    ``score`` is high if both words match and their matches are as far apart as the words in the claim. ``words`` is
    (n_pairs, 2).
    """

    score: np.ndarray
    distance: np.ndarray
    in_order: np.ndarray
    one_piece: np.ndarray
    weight: np.ndarray
    words: np.ndarray


def find_pairs(match: Match) -> Pairs:
    """Find for each pair of near words the places that fit best: both words match, as far apart as in the claim."""
    n = len(match.content)
    if n == 1:
        one = np.ones(1)
        return Pairs(np.array([match.best.mean()]), np.zeros(1), one, one, one, np.zeros((1, 2), dtype=int))
    k = min(_NEIGHBOURS, match.similarity.shape[1])
    near = np.argpartition(-match.similarity, k - 1, axis=1)[:, :k]
    value = np.take_along_axis(match.similarity, near, 1)
    place, owner = match.place[near], match.owner[near]
    parts = []
    for reach in range(1, min(_REACH, n - 1) + 1):
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
