"""How well generated claims match people's: FENICE's easiness P, R and F1, and ACUEval's precision.

ROUGE-1 F1 with Porter stemming (the rouge-score package's tokens), best match, mean; ACUEval's Table 2
measure is the precision side alone.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

_ROUGE_L = RougeScorer(["rougeL"], use_stemmer=True)
_TOKENIZER = DefaultTokenizer(use_stemmer=True)


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


def easiness(
    generated: Sequence[str], gold: Sequence[str], similarity: Callable[[str, str], float] = rouge1_f1
) -> tuple[float, float, float]:
    """Easiness precision, recall and F1 of one example's claims (FENICE equations 9 and 10).

    ``similarity`` of two claims is symmetric, in [0, 1].

    Returns:
        (P, R, F1) in [0, 1]: P is the mean over generated claims of the best similarity to a gold claim, R the
        same from gold to generated. All NaN when either side has no claims.

    >>> easiness(["a b", "c d"], ["a b"])
    (0.5, 1.0, 0.6666666666666666)
    """
    if not generated or not gold:
        return (float("nan"),) * 3
    match = np.array([[similarity(g, h) for h in gold] for g in generated])
    precision, recall = float(match.max(axis=1).mean()), float(match.max(axis=0).mean())
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


def rouge_l_f1(first: str, second: str) -> float:
    """Stemmed ROUGE-L F1 of two texts in [0, 1]: how much of a summary a revision kept.

    >>> rouge_l_f1("the cat sat down", "the cat sat down")
    1.0
    """
    return float(_ROUGE_L.score(first, second)["rougeL"].fmeasure)
