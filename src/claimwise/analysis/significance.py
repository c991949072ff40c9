"""Whether two systems differ beyond chance, and what is left of it where many are compared.

All tests draw documents, not summaries: what is of one document is not independent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from claimwise.analysis.statistics import UNKNOWN, Interval, auc, auc_draws, resample, tuned_accuracy, tuned_draws

#: Draws of a test: more than of an interval, for its p is multiplied by the number of comparisons.
TEST_DRAWS = 10_000


def paired_bootstrap(
    first: Sequence[bool], second: Sequence[bool], groups: Sequence, draws: int = TEST_DRAWS, seed: int = 0
) -> tuple[Interval, float]:
    """Difference in accuracy of two systems on the same rows, drawn over documents.

    Args:
        first: whether the first system is right, shape (n,).
        second: whether the second is.
        groups: document ids, shape (n,): what is of one document stays together.
        draws: number of bootstrap samples.
        seed: of the draws.

    Returns:
        The difference (first minus second) with its 95 % interval, and a two-sided p-value: twice the smaller share of
        draws on one side of zero, the observed sample counted as one of them, so at least 2 / (draws + 1) (Davison and
        Hinkley 1997, section 4.2).

    >>> difference, p = paired_bootstrap([True] * 50, [True, False] * 25, range(50))
    >>> difference.value, round(p, 4)
    (0.5, 0.0002)
    >>> paired_bootstrap([True, False], [True, False], ["a", "b"])
    (Interval(value=0.0, low=0.0, high=0.0), 1.0)
    """
    gaps = np.asarray(first, float) - np.asarray(second, float)
    codes, names = pd.factorize(np.asarray(groups))
    weights = resample(len(names), draws, seed)
    return _tested(gaps.mean(), (weights @ np.bincount(codes, weights=gaps)) / (weights @ np.bincount(codes)))


def paired_tuned(
    validation: pd.DataFrame, test: pd.DataFrame, first: str, second: str, draws: int = TEST_DRAWS, seed: int = 0
) -> tuple[Interval, float]:
    """Difference in balanced accuracy of two metrics, each at its own threshold, tuned anew on every draw.

    The value is that of the thresholds tuned on all validation rows. Its interval and p count in that other validation
    documents would have given other thresholds, so that it need not lie in the middle of them.

    Args:
        validation: ``label`` (0 or 1), ``document_id`` and both metrics' scores; both labels.
        test: the same columns.
        first: the first metric's column.
        second: the second's.
        draws: number of bootstrap samples of documents, the same for both metrics; those with one label only in a part
            are left out.
        seed: of the draws.

    Returns:
        As ``paired_bootstrap``; all NaN where the test rows are all of one label.

    >>> rows = pd.DataFrame({"label": [1, 0] * 20, "document_id": range(40), "m": [0.9, 0.1] * 20, "flat": 0.5})
    >>> difference, p = paired_tuned(rows, rows, "m", "flat")
    >>> difference, round(p, 4)
    (Interval(value=0.5, low=0.5, high=0.5), 0.0002)
    """
    if test["label"].nunique() < 2:
        return UNKNOWN, float("nan")
    value = tuned_accuracy(validation, test, first) - tuned_accuracy(validation, test, second)
    drawn = [tuned_draws(validation, test, column, draws, seed) for column in (first, second)]
    return _tested(value, drawn[0] - drawn[1])


def paired_auc(
    test: pd.DataFrame, first: str, second: str, draws: int = TEST_DRAWS, seed: int = 0
) -> tuple[Interval, float]:
    """Difference in the area under the ROC curve of two metrics on the same rows, drawn over documents.

    No threshold is asked, so that how well one was tuned does not blur how well the metrics rank.

    Args:
        test: ``label`` (0 or 1), ``document_id`` and both metrics' scores.
        first: the first metric's column.
        second: the second's.
        draws: number of bootstrap samples; those of one label only are left out.
        seed: of the draws.

    Returns:
        As ``paired_bootstrap``; all NaN where the rows are all of one label.

    >>> rows = pd.DataFrame({"label": [1, 0] * 20, "document_id": range(40), "m": [0.9, 0.1] * 20, "flat": 0.5})
    >>> difference, p = paired_auc(rows, "m", "flat")
    >>> difference, round(p, 4)
    (Interval(value=0.5, low=0.5, high=0.5), 0.0002)
    """
    if test["label"].nunique() < 2:
        return UNKNOWN, float("nan")
    labels, documents = test["label"], test["document_id"]
    value = auc(labels, test[first]) - auc(labels, test[second])
    drawn = [auc_draws(labels, test[column], documents, draws, seed) for column in (first, second)]
    return _tested(value, drawn[0] - drawn[1])


def _tested(value: float, drawn: np.ndarray) -> tuple[Interval, float]:
    """A difference with the interval and the two-sided p that its draws give it; NaNs among them are left out."""
    drawn = np.round(drawn[~np.isnan(drawn)], 12)  # so that equal rates tie, whatever their rounding
    low, high = np.percentile(drawn, [2.5, 97.5])
    p = 2 * (min((drawn <= 0).sum(), (drawn >= 0).sum()) + 1) / (len(drawn) + 1)
    return Interval(float(value), float(low), float(high)), float(min(1.0, p))


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
