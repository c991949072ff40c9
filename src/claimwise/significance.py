"""Whether two systems differ beyond chance, and what is left of it where many are compared.

``statistics.paired_bootstrap`` gives such a p-value, too: it stands with the bootstraps that it is one of.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Exact two-sided McNemar test that two systems are right equally often on the same rows.

    Args:
        first: whether the first system is right, shape (n,).
        second: whether the second is.

    Returns:
        The p-value: a binomial test of the rows on which exactly one of the two is right.

    >>> mcnemar([True] * 6 + [False], [False] * 6 + [False])
    0.03125
    >>> mcnemar([True, False], [True, False])
    1.0
    """
    first, second = np.asarray(first, bool), np.asarray(second, bool)
    wins, losses = int((first & ~second).sum()), int((second & ~first).sum())
    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def holm(p: Sequence[float]) -> np.ndarray:
    """p-values corrected for how many comparisons were made together (Holm 1979).

    The smallest of m is multiplied by m, the next by m - 1 and so on, never below the one before and at most 1: below
    0.05, the chance that any comparison of the family is called significant by accident is at most 5 %, however the
    comparisons depend on each other.

    Args:
        p: one family's, shape (m,); NaN is no comparison: it stays and is not counted.

    >>> holm([0.01, 0.04, 0.03, float("nan")]).tolist()
    [0.03, 0.06, 0.06, nan]
    """
    p = np.asarray(p, float)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]  # NaNs are sorted to the end
    corrected = np.full(p.shape, np.nan)
    corrected[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)))
    return corrected
