"""Evidence features of a claim: what of it the document says, word by word, in context and in place.

For every content word of the claim the best matches among the content words of the retrieved pieces are found
by the cosine of their MiniLM states. Three questions are asked of the matches: does each word have one (and
is it the same word), do words that stand together in the claim match words that stand together in the
document, and does one passage hold them all. Sentence similarity and plain n-gram overlap stand beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from claimwise.models.embedded.encoder import Encoded
from claimwise.models.embedded.evidence import FUNCTION_WORDS, Index, Piece, is_number
from claimwise.models.embedded.lexicon import ANTONYMS, HEDGES, NEGATIONS, QUANTIFIERS

_NEIGHBOURS = 6  # candidate matches of a word that pairs of words choose among
_REACH = (1, 2, 3)  # content words that far apart in the claim make a pair


@dataclass(slots=True)
class EncodedClaim:
    """A claim's pieces as one sequence of words.

    ``states`` is (n_words, 384), ``whole`` (384,), ``weights`` (n_words,) how rare each word is.
    """

    stems: list[str]
    states: np.ndarray
    whole: np.ndarray
    weights: np.ndarray
    names: np.ndarray


@dataclass(slots=True)
class Pool:
    """The encoded pieces that a claim may use, in document order; ``extra`` pieces are not the document's."""

    numbers: list[int]
    pieces: list[Piece]
    encoded: list[Encoded]


@dataclass(slots=True)
class Evidence:
    """Features of one claim: ``claim`` (n_claim,), ``words`` (n_content, n_word), and pieces, best first."""

    claim: np.ndarray
    words: np.ndarray
    ranked: list[int]
    content: np.ndarray


CLAIM_FEATURES: tuple[str, ...] = ()
WORD_FEATURES: tuple[str, ...] = ()


def measure(claim: EncodedClaim, index: Index, pool: Pool) -> Evidence:
    """All features of one claim against the pieces of ``pool``; see the module's description."""
    stems = claim.stems
    content = np.array(
        [i for i, s in enumerate(stems) if (s not in FUNCTION_WORDS and len(s) + s[0].isdigit() > 1) or not s.isascii()]
        or range(len(stems)),
        dtype=int,
    )
    c_stems = [stems[i] for i in content]
    c_states = claim.states[content]
    weight = claim.weights[content] + 0.1
    share = weight / weight.sum()
    numbers = np.array([is_number(s) for s in c_stems])
    names = claim.names[content] | np.array([s in index.names for s in c_stems])

    # the pool's content words: states, places, pieces
    e_states, e_stems, e_place, e_piece = [], [], [], []
    for row, (piece, encoded) in enumerate(zip(pool.pieces, pool.encoded, strict=True)):
        keep = [i for i, s in enumerate(piece.stems) if s not in FUNCTION_WORDS] or list(range(len(piece.stems)))
        e_states.append(encoded.words[keep])
        e_stems += [piece.stems[i] for i in keep]
        e_place += [piece.first_word + i for i in keep]
        e_piece += [row] * len(keep)
    states = np.concatenate(e_states)
    place = np.array(e_place)
    owner = np.array(e_piece)
    vocabulary = {s: i for i, s in enumerate(dict.fromkeys(e_stems))}
    e_ids = np.array([vocabulary[s] for s in e_stems])
    c_ids = np.array([vocabulary.get(s, -1) for s in c_stems])

    similarity = c_states @ states.T
    same = c_ids[:, None] == e_ids[None, :]
    exact = np.where(same, similarity, -1.0)
    best_place = similarity.argmax(1)
    best = similarity.max(1)
    exact_best = np.where(same.any(1), exact.max(1), 0.0)
    present = np.array([s in index.counts for s in c_stems], dtype=float)
    aligned_same = same[np.arange(len(content)), best_place].astype(float)
    other_best = np.where(same, -1.0, similarity).max(1)

    # passages: how much of the claim single pieces, neighbours and the pool hold
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    by_piece = np.maximum.reduceat(similarity, starts, axis=1)
    soft = np.clip((by_piece - 0.25) / 0.6, 0, 1)
    hard = np.maximum.reduceat(same, starts, axis=1).astype(float)
    soft_cover, hard_cover = share @ soft, share @ hard
    numbers_in_document = np.array(pool.numbers)
    adjacent = np.flatnonzero(np.diff(numbers_in_document) == 1) if len(pool.numbers) > 1 else np.array([], dtype=int)
    pair_soft = _windows(soft, adjacent)
    pair_hard = _windows(hard, adjacent)
    wholes = np.stack([e.whole for e in pool.encoded])
    cosine = wholes @ claim.whole
    rank_score = 0.5 * soft_cover + 0.2 * hard_cover + 0.3 * cosine
    ranked = np.argsort(-rank_score, kind="stable")
    top = ranked[0]
    in_top = soft[:, top]
    hard_top = hard[:, top]

    # pairs of claim words against the places of their matches
    k = min(_NEIGHBOURS, similarity.shape[1])
    near = np.argpartition(-similarity, k - 1, axis=1)[:, :k]
    near_value = np.take_along_axis(similarity, near, 1)
    near_place = place[near]
    near_owner = owner[near]
    pair_scores, pair_dist, pair_order, pair_weight, pair_same, pair_index = [], [], [], [], [], []
    n = len(content)
    for reach in _REACH:
        if n <= reach:
            continue
        left, right = slice(0, n - reach), slice(reach, n)
        gap = near_place[right][:, None, :] - near_place[left][:, :, None]
        value = np.minimum(near_value[left][:, :, None], near_value[right][:, None, :])
        claim_gap = (content[reach:] - content[:-reach])[:, None, None]
        off = np.abs(np.abs(gap) - claim_gap) + 3.0 * (gap == 0)
        score = value - 0.06 * np.log1p(off)
        flat = score.reshape(n - reach, -1)
        at = flat.argmax(1)
        pair_scores.append(flat.max(1))
        pair_dist.append(np.log1p(off.reshape(n - reach, -1)[np.arange(n - reach), at]))
        pair_order.append((gap.reshape(n - reach, -1)[np.arange(n - reach), at] > 0).astype(float))
        owners = near_owner[left][:, :, None] == near_owner[right][:, None, :]
        pair_same.append(owners.reshape(n - reach, -1)[np.arange(n - reach), at].astype(float))
        pair_weight.append(np.sqrt(weight[left] * weight[right]) / reach)
        pair_index.append(np.stack([np.arange(n - reach), np.arange(reach, n)], 1))
    if pair_scores:
        score_p, dist_p, order_p = map(np.concatenate, (pair_scores, pair_dist, pair_order))
        same_p, weight_p, index_p = map(np.concatenate, (pair_same, pair_weight, pair_index))
    else:
        score_p, dist_p, order_p = np.array([best.mean()]), np.array([0.0]), np.array([1.0])
        same_p, weight_p, index_p = np.array([1.0]), np.array([1.0]), np.zeros((1, 2), dtype=int)
    share_p = weight_p / weight_p.sum()
    word_pair = np.zeros(n)
    word_pair_min = np.ones(n)
    total = np.zeros(n)
    for side in (0, 1):
        np.add.at(word_pair, index_p[:, side], score_p * weight_p)
        np.add.at(total, index_p[:, side], weight_p)
        np.minimum.at(word_pair_min, index_p[:, side], score_p)
    word_pair = np.where(total > 0, word_pair / np.maximum(total, 1e-9), best)
    neighbour_best = _neighbour_mean(best)

    words = np.column_stack(
        [
            best,
            exact_best,
            aligned_same,
            other_best - exact_best,
            present,
            weight,
            numbers,
            names,
            word_pair,
            word_pair_min,
            neighbour_best,
            in_top,
            hard_top,
            pair_soft.max(1) if pair_soft.size else in_top,
            np.full(n, best.mean()),
            np.full(n, cosine.max()),
            np.log1p([index.counts.get(s, 0) for s in c_stems]),
            np.arange(n) / n,
            _previous_function(stems, content),
            by_piece.mean(1),
            best - by_piece.mean(1),
        ]
    ).astype(np.float32)

    missing = 1 - present
    bad = 1 - best
    top_piece = pool.pieces[top]
    top_stems = set(top_piece.stems)
    claim_set = set(stems)
    n_grams = [_novelty(stems, index.ngrams, size) for size in (2, 3, 4)]
    soft_sorted = np.sort(soft_cover)[::-1]
    cos_sorted = np.sort(cosine)[::-1]
    quantile = _weighted_quantile
    features = [
        # words
        share @ best,
        best.min(),
        quantile(best, weight, 0.1),
        quantile(best, weight, 0.25),
        np.sort(best)[: max(2, 1)].mean(),
        share @ exact_best,
        share @ present,
        share @ aligned_same,
        (weight * missing).sum(),
        (weight * missing).max(),
        (weight * bad).sum(),
        (weight * bad).max(),
        (share * (other_best - exact_best)).sum(),
        (other_best - exact_best).max(),
        np.where(present > 0, exact_best, 1).min(),
        quantile(np.where(present > 0, exact_best, 1), weight, 0.15),
        np.log1p(_top_sum(weight * bad, 3)),
        # names and numbers
        (missing * numbers).sum(),
        (missing * names).sum(),
        _least(best, numbers),
        _least(best, names),
        _least(exact_best, numbers),
        _least(exact_best, names),
        _least(word_pair, numbers),
        _least(word_pair, names),
        float((missing * names * (weight > 2)).sum() > 0),
        # passages
        soft_cover.max(),
        soft_sorted[: min(3, len(soft_sorted))].mean(),
        hard_cover.max(),
        (share @ pair_soft).max() if pair_soft.size else soft_cover.max(),
        (share @ pair_hard).max() if pair_hard.size else hard_cover.max(),
        share @ soft.max(1),
        share @ soft.max(1) - soft_cover.max(),
        share @ hard.max(1) - hard_cover.max(),
        in_top.min(),
        (weight * (1 - in_top)).max(),
        (weight * (1 - hard_top)).sum(),
        # whole pieces
        cos_sorted[0],
        cos_sorted[: min(3, len(cos_sorted))].mean(),
        cos_sorted[0] - cos_sorted[min(1, len(cos_sorted) - 1)],
        cosine[top],
        # pairs
        share_p @ score_p,
        score_p.min(),
        quantile(score_p, weight_p, 0.1),
        quantile(score_p, weight_p, 0.25),
        share_p @ dist_p,
        dist_p.max(),
        share_p @ order_p,
        share_p @ same_p,
        word_pair.min(),
        quantile(word_pair, weight, 0.15),
        # n-grams
        *n_grams,
        _longest_run(stems, index.ngrams),
        # words that turn a sentence round
        float(_count(stems, NEGATIONS)),
        float(_count(stems, NEGATIONS) - _count(top_piece.stems, NEGATIONS)),
        float(bool(claim_set & NEGATIONS) != bool(top_stems & NEGATIONS)),
        float(len((top_stems & HEDGES) - claim_set)),
        float(len((claim_set & HEDGES) - top_stems)),
        float(len((claim_set & QUANTIFIERS) - top_stems)),
        float(sum(bool(ANTONYMS.get(s, frozenset()) & top_stems) for s in claim_set if s not in top_stems)),
        float(
            sum(bool(ANTONYMS.get(s, frozenset()) & index.counts.keys()) for s in claim_set if s not in index.counts)
        ),
        # sizes
        float(n),
        weight.mean(),
        np.log1p(index.n_words),
        pool.pieces[top].first_word / max(index.n_words, 1),
    ]
    return Evidence(np.array(features, dtype=np.float32), words, [pool.numbers[i] for i in ranked], content)


def _windows(values: np.ndarray, adjacent: np.ndarray) -> np.ndarray:
    """Coverage by two neighbouring pieces, (n_words, n_pairs)."""
    if not adjacent.size:
        return np.zeros((values.shape[0], 0))
    return np.maximum(values[:, adjacent], values[:, adjacent + 1])


def _neighbour_mean(values: np.ndarray) -> np.ndarray:
    padded = np.r_[values[:1], values, values[-1:]]
    return (padded[:-2] + padded[2:]) / 2


def _weighted_quantile(values: np.ndarray, weights: np.ndarray, q: float) -> float:
    order = np.argsort(values)
    cumulated = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(cumulated, q * cumulated[-1])])


def _top_sum(values: np.ndarray, n: int) -> float:
    return float(np.sort(values)[::-1][:n].sum())


def _least(values: np.ndarray, mask: np.ndarray) -> float:
    return float(values[mask].min()) if mask.any() else 1.0


def _novelty(stems: Sequence[str], known: frozenset, n: int) -> float:
    grams = list(zip(*(stems[i:] for i in range(n)), strict=False))
    return sum(g not in known for g in grams) / len(grams) if grams else 0.0


def _longest_run(stems: Sequence[str], known: frozenset) -> float:
    longest = run = 0
    for gram in pairwise(stems):
        run = run + 1 if gram in known else 0
        longest = max(longest, run)
    return longest / max(len(stems) - 1, 1)


def _count(stems: Sequence[str], group: frozenset) -> int:
    return sum(s in group for s in stems)


def _previous_function(stems: Sequence[str], content: np.ndarray) -> list[float]:
    """1 where a negation stands within two words before."""
    return [float(any(s in NEGATIONS for s in stems[max(0, i - 2) : i])) for i in content]
