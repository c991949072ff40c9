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

from claimwise_embedded.checker_inputs import Reading
from claimwise_embedded.evidence import Index, Piece
from claimwise_embedded.features_match import (
    EncodedClaim,
    Match,
    Pairs,
    Passages,
    Pool,
    find_pairs,
    find_passages,
    match_words,
)
from claimwise_embedded.lexicon import ANTONYMS, HEDGES, NEGATIONS, QUANTIFIERS

_NONE: frozenset[str] = frozenset()


@dataclass(slots=True)
class Evidence:
    """Features of one claim.

    Attributes:
        claim: (67,) in the order of ``_claim_features``.
        weight: (n_content,) how rare each content word is.
        special: (n_content,) whether it is a number or a name.
        ranked: pieces of the index, best first; sentences of the document, once ``Reader`` has translated them.
        content: (n_content,) positions of the content words in the claim.
        reading: what the word checkers see, where it was asked for.
        supported: (k,) log odds that the claim is supported, of each checker.
        doubts: (k, n_content) log odds that a word is not.
    """

    claim: np.ndarray
    weight: np.ndarray
    special: np.ndarray
    ranked: list[int]
    content: np.ndarray
    reading: Reading | None = None
    supported: np.ndarray | None = None
    doubts: np.ndarray | None = None

    def heard(self, supported: np.ndarray, doubts: np.ndarray) -> None:
        """Keep what k checkers say: (k,) of the claim, (k, n_words) of its words."""
        self.supported, self.doubts = supported, doubts[:, self.content]


def measure(claim: EncodedClaim, index: Index, pool: Pool) -> Evidence:
    """All features of one claim against the pieces of ``pool``; see the module's description."""
    match = match_words(claim, index, pool)
    passages = find_passages(claim, match, pool)
    pairs = find_pairs(match)
    features = _claim_features(claim, index, pool, match, passages, pairs)
    ranked = [pool.numbers[i] for i in passages.ranked]
    values = np.array(list(features.values()), dtype=np.float32)
    return Evidence(values, match.weight, match.numbers | match.names, ranked, match.content)


def _by_word(match: Match, pairs: Pairs) -> np.ndarray:
    """Mean score of the pairs that each content word is in; its own best match, if in none."""
    total, weight = np.zeros(len(match.content)), np.zeros(len(match.content))
    for side in (0, 1):
        np.add.at(total, pairs.words[:, side], pairs.score * pairs.weight)
        np.add.at(weight, pairs.words[:, side], pairs.weight)
    return np.where(weight > 0, total / np.maximum(weight, 1e-9), match.best)


def _claim_features(
    claim: EncodedClaim, index: Index, pool: Pool, match: Match, passages: Passages, pairs: Pairs
) -> dict[str, float]:
    word_pair = _by_word(match, pairs)
    return {
        **_of_words(match),
        **_of_names(match, word_pair),
        **_of_passages(match, passages),
        **_of_pairs(match, pairs, word_pair),
        **_of_text(claim.stems, index, pool.pieces[passages.top]),
        "content words": float(len(match.content)),
        "mean rarity": match.weight.mean(),
        "log document words": np.log1p(index.n_words),
        "top piece's position": pool.pieces[passages.top].first_word / max(index.n_words, 1),
    }


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


def _of_passages(match: Match, passages: Passages) -> dict[str, float]:
    share, weight, soft, hard = match.share, match.weight, passages.soft, passages.hard
    soft_cover, hard_cover, cosine = share @ soft, share @ hard, passages.cosine
    soft_sorted, cos_sorted = np.sort(soft_cover)[::-1], np.sort(cosine)[::-1]
    in_top, hard_top = soft[:, passages.top], hard[:, passages.top]
    return {
        "best piece": soft_cover.max(),
        "best three pieces": soft_sorted[:3].mean(),
        "best piece, exact": hard_cover.max(),
        "best two neighbours": (share @ passages.pair_soft).max() if passages.pair_soft.size else soft_cover.max(),
        "best two neighbours, exact": (
            (share @ passages.pair_hard).max() if passages.pair_hard.size else hard_cover.max()
        ),
        "all pieces": share @ soft.max(1),
        "all above best piece": share @ soft.max(1) - soft_cover.max(),
        "all above best piece, exact": share @ hard.max(1) - hard_cover.max(),
        "worst word in top piece": in_top.min(),
        "worst unmatched in top piece": (weight * (1 - in_top)).max(),
        "missing in top piece": (weight * (1 - hard_top)).sum(),
        "nearest piece": cos_sorted[0],
        "nearest three pieces": cos_sorted[:3].mean(),
        "nearest above second": cos_sorted[0] - cos_sorted[min(1, len(cos_sorted) - 1)],
        "top piece's cosine": cosine[passages.top],
    }


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
    """N-grams, and words that turn a sentence round, against those of the passage that holds most of the claim."""
    mine, there = set(stems), set(top.stems)
    return {
        "new bigrams": _novelty(stems, index.ngrams, 2),
        "new trigrams": _novelty(stems, index.ngrams, 3),
        "new 4-grams": _novelty(stems, index.ngrams, 4),
        "longest copy": _longest_run(stems, index.ngrams),
        "negations": float(_count(stems, NEGATIONS)),
        "negations above top piece's": float(_count(stems, NEGATIONS) - _count(top.stems, NEGATIONS)),
        "negation differs": float(bool(mine & NEGATIONS) != bool(there & NEGATIONS)),
        "hedges dropped": float(len((there & HEDGES) - mine)),
        "hedges added": float(len((mine & HEDGES) - there)),
        "quantifiers added": float(len((mine & QUANTIFIERS) - there)),
        "opposites in top piece": float(sum(bool(ANTONYMS.get(s, _NONE) & there) for s in mine - there)),
        "opposites in document": float(
            sum(bool(ANTONYMS.get(s, _NONE) & index.counts.keys()) for s in mine if s not in index.counts)
        ),
    }


def _weighted_quantile(values: np.ndarray, weights: np.ndarray, q: float) -> float:
    order = np.argsort(values)
    cumulated = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(cumulated, q * cumulated[-1])])


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
