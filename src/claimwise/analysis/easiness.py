"""How well generated claims match people's: FENICE's easiness P, R and F1, and ACUEval's precision.

Every claim is matched with the most similar one of the other side. Similarity is ROUGE-1 F1 with Porter stemming (the
rouge-score package's tokens), or by meaning BERTScore's (FENICE Table 6). ACUEval's Table 2 measure is the precision side
alone.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

_ROUGE_L = RougeScorer(["rougeL"], use_stemmer=True)
_TOKENIZER = DefaultTokenizer(use_stemmer=True)
#: Texts that are encoded in one go.
_AT_ONCE = 512


@lru_cache(maxsize=200_000)
def _tokens(text: str) -> Counter[str]:
    return Counter(_TOKENIZER.tokenize(text))


def rouge1_f1(first: str, second: str) -> float:
    """Stemmed ROUGE-1 F1 of two texts, in [0, 1]; equal to rouge-score's, with the tokens cached.

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

    ``similarity`` of two claims is symmetric, in [0, 1]. All are NaN where either side has no claims.

    >>> easiness(["a b", "c d"], ["a b"])
    (0.5, 1.0, 0.6666666666666666)
    """
    if not generated or not gold:
        return (float("nan"),) * 3
    return _matched(np.array([[similarity(g, h) for h in gold] for g in generated]))


def state_similarity(
    texts: Iterable[str], encode: Callable[[Sequence[str]], list[np.ndarray]]
) -> Callable[[str, str], float]:
    """BERTScore's F1 (Zhang et al. 2020, equations 1 to 3, no idf, no rescaling) of any two of the texts, for ``easiness``.

    Every word is matched with the nearest of the other text by the cosine of their contextual states. The published table
    has those of RoBERTa-large; with another encoder's, orders can be compared with it and values cannot. ``encode`` gives
    of each text an array (n_words, width), rows of unit length; all texts are encoded first, each once. A text without
    words is like no other.

    >>> states = {"a": np.array([[1.0, 0.0]]), "a c": np.array([[1.0, 0.0], [0.6, 0.8]])}
    >>> similarity = state_similarity(states, lambda texts: [states[text] for text in texts])
    >>> similarity("a", "a"), round(similarity("a", "a c"), 3)
    (1.0, 0.889)
    """
    unique = list(dict.fromkeys(texts))
    parts = [unique[start : start + _AT_ONCE] for start in range(0, len(unique), _AT_ONCE)]
    states = {text: found for part in parts for text, found in zip(part, encode(part), strict=True)}

    def similarity(first: str, second: str) -> float:
        one, two = states[first], states[second]
        return _matched(one @ two.T)[2] if len(one) and len(two) else 0.0

    return similarity


def _matched(similarities: np.ndarray) -> tuple[float, float, float]:
    """Mean best similarity of the rows, that of the columns, and their harmonic mean."""
    precision, recall = float(similarities.max(axis=1).mean()), float(similarities.max(axis=0).mean())
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total > 0 else 0.0
