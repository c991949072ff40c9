"""How well generated claims match people's: FENICE's easiness P, R and F1, and ACUEval's precision.

Every claim is matched with the most similar claim of the other side. Similarity is ROUGE-1 F1 with Porter stemming (the
rouge-score package's tokens) or, by meaning, BERTScore's F1 (FENICE Table 6). The measure of ACUEval's Table 2 is the
precision alone.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

_ROUGE_L = RougeScorer(["rougeL"], use_stemmer=True)
_TOKENIZER = DefaultTokenizer(use_stemmer=True)
#: Texts per call of the encoder.
_BATCH = 512


@lru_cache(maxsize=200_000)
def _tokens(text: str) -> Counter[str]:
    return Counter(_TOKENIZER.tokenize(text))


def rouge1_f1(first: str, second: str) -> float:
    """Stemmed ROUGE-1 F1 of two texts, in [0, 1]. It equals rouge-score's, but caches the tokens.

    >>> rouge1_f1("the cat sat", "a cat sits down")
    0.2857142857142857
    """
    one, two = _tokens(first), _tokens(second)
    total = one.total() + two.total()
    return 2 * (one & two).total() / total if total else 0.0


def rouge_l_f1(first: str, second: str) -> float:
    """Stemmed ROUGE-L F1 of two texts in [0, 1]: how much of a summary a revision kept.

    >>> rouge_l_f1("the cat sat down", "the cat sat down")
    1.0
    """
    return float(_ROUGE_L.score(first, second)["rougeL"].fmeasure)


def easiness(
    generated: Sequence[str], gold: Sequence[str], similarity: Callable[[str, str], float] = rouge1_f1
) -> tuple[float, float, float]:
    """Easiness precision, recall and F1 of one example's claims, in [0, 1] (FENICE equations 9 and 10).

    ``similarity`` of two claims is symmetric, in [0, 1]. All three are NaN if either side has no claims.

    >>> easiness(["a b", "c d"], ["a b"])
    (0.5, 1.0, 0.6666666666666666)
    """
    if not generated or not gold:
        return (float("nan"),) * 3
    return _matched(np.array([[similarity(claim, gold_claim) for gold_claim in gold] for claim in generated]))


def state_similarity(
    texts: Iterable[str], encode: Callable[[Sequence[str]], list[np.ndarray]]
) -> Callable[[str, str], float]:
    """Return a function that gives BERTScore's F1 of any two of the texts, for ``easiness``.

    It is that of Zhang et al. 2020 (equations 1 to 3, no idf, no rescaling). Every word is matched with the nearest word
    of the other text, by the cosine of their contextual states. The published table is of RoBERTa-large: with another
    encoder, orders can be compared with it but values cannot. ``encode`` returns for each text an array (n_words, width)
    with rows of unit length. Each text is encoded once, before the function is returned. A text without words has
    similarity 0 to any other.

    >>> states = {"a": np.array([[1.0, 0.0]]), "a c": np.array([[1.0, 0.0], [0.6, 0.8]])}
    >>> similarity = state_similarity(states, lambda texts: [states[text] for text in texts])
    >>> similarity("a", "a"), round(similarity("a", "a c"), 3)
    (1.0, 0.889)
    """
    unique = list(dict.fromkeys(texts))
    states = {}
    for start in range(0, len(unique), _BATCH):
        batch = unique[start : start + _BATCH]
        states |= zip(batch, encode(batch), strict=True)

    def similarity(first: str, second: str) -> float:
        rows, columns = states[first], states[second]
        return _matched(rows @ columns.T)[2] if len(rows) and len(columns) else 0.0

    return similarity


def _matched(similarities: np.ndarray) -> tuple[float, float, float]:
    """Mean over rows of their largest similarity, the same over columns, and the harmonic mean of both."""
    precision, recall = float(similarities.max(axis=1).mean()), float(similarities.max(axis=0).mean())
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total > 0 else 0.0
