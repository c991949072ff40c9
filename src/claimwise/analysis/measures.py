"""Measures of agreement with labels, for the rows as they are or for many bootstrap draws at once.

All arrays have the same length n. The caller leaves out rows without a score or label, and counts them. ``weights``,
(draws, n), is how often each bootstrap draw has each row (``bootstrap.bootstrap_interval`` makes them). With weights the
result has one value per draw, which is NaN if the draw has only one class.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

Array = np.ndarray

#: Percentiles of the validation scores that are tried as thresholds (AggreFact's grid).
GRID = np.arange(0, 100, 0.2)


def mean(values: Sequence[float], weights: Array | None = None) -> float | Array:
    """Mean of values, such as 1 and 0 for right and wrong.

    >>> mean([1, 0, 0, 1]), mean([1, 0], weights=np.array([[1, 1], [2, 0]])).tolist()
    (0.5, [0.5, 1.0])
    """
    return ratio(values, np.ones(len(values)), weights)


def ratio(parts: Sequence[float], wholes: Sequence[float], weights: Array | None = None) -> float | Array:
    """Sum of the parts divided by the sum of the wholes; NaN if the wholes sum to zero.

    >>> ratio([1, 0], [2, 2]), ratio([1, 0], [2, 0], weights=np.array([[1, 1], [0, 2]])).tolist()
    (0.25, [0.5, nan])
    """
    parts, wholes = np.asarray(parts, float), np.asarray(wholes, float)
    part, whole = (parts.sum(), wholes.sum()) if weights is None else (weights @ parts, weights @ wholes)
    with np.errstate(invalid="ignore", divide="ignore"):
        result = np.where(whole != 0, np.divide(part, whole), np.nan)
    return float(result) if weights is None else result


def intercepts(
    values: Sequence[float], covariate: Sequence[float], strata: Sequence, weights: Array | None = None
) -> Array:
    """The mean value of each stratum at covariate zero (analysis of covariance).

    Least squares with one intercept per stratum and one slope for all. The slope is 0 if the covariate does not vary.

    Returns:
        Shape (strata,) in sorted order, or (draws, strata); NaN if a draw has no rows of a stratum.

    >>> intercepts([1.0, 2.0, 5.0, 6.0], covariate=[0, 1, 0, 1], strata=["x", "x", "y", "y"]).tolist()
    [1.0, 5.0]
    """
    values, covariate = np.asarray(values, float), np.asarray(covariate, float)
    rows = np.ones((1, len(values))) if weights is None else weights
    member = np.asarray(strata)[:, None] == np.unique(strata)
    n, x, y, xx, xy = (
        rows @ (member * column[:, None])
        for column in (np.ones(len(values)), covariate, values, covariate * covariate, covariate * values)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        spread, together = np.nansum(xx - x * x / n, axis=1), np.nansum(xy - x * y / n, axis=1)
        slope = np.where(spread < 1e-12, 0, together / spread)  # a smaller spread is a rounding error
        result = (y - slope[:, None] * x) / n
    return result[0] if weights is None else result


def adjusted_mean(
    values: Sequence[float], covariate: Sequence[float], strata: Sequence, weights: Array | None = None
) -> float | Array:
    """Mean of the ``intercepts``, with equal weights. Strata without rows in a draw are left out.

    >>> adjusted_mean([1.0, 2.0, 5.0, 6.0], covariate=[0, 1, 0, 1], strata=["x", "x", "y", "y"])
    3.0
    """
    result = np.nanmean(intercepts(values, covariate, strata, weights), axis=-1)
    return float(result) if weights is None else result


def balanced_accuracy(labels: Sequence[int], predicted: Sequence[bool], weights: Array | None = None) -> float | Array:
    """Mean of the two classes' recalls; NaN if there is only one class.

    ``predicted`` is whether the metric says faithful (1), such as ``scores > threshold``. It is (draws, n) if every draw
    has its own threshold.

    >>> balanced_accuracy([1, 1, 0, 0], [True, False, False, False])
    0.75
    """
    labels, right = np.asarray(labels, int), np.asarray(predicted, bool) == np.asarray(labels, bool)
    rows = np.ones((1, len(labels))) if weights is None else weights
    with np.errstate(invalid="ignore", divide="ignore"):
        recalls = [np.vecdot(rows, (labels == k) & right) / (rows @ (labels == k)) for k in (1, 0)]
    result = sum(recalls) / 2
    return float(result[0]) if weights is None else result


def auc(
    labels: Sequence[int], scores: Sequence[float], strata: Sequence | None = None, weights: Array | None = None
) -> float | Array:
    """Area under the ROC curve; NaN if there is only one class.

    With ``strata``, (n,), it is the share of correctly ordered pairs among the pairs of a faithful and an unfaithful row
    *of the same stratum*. So a metric gains nothing by recognising a stratum that has more faithful rows.

    >>> auc([0, 0, 1], [0.1, 0.2, 0.3])
    1.0
    >>> labels, scores, origin = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.1, 0.7, 0.6, 0.7], list("aaabbb")
    >>> round(auc(labels, scores), 3), auc(labels, scores, origin)
    (0.556, 0.25)
    """
    labels, scores = np.asarray(labels, int), np.asarray(scores, float)
    rows = np.ones((1, len(labels))) if weights is None else np.asarray(weights, float)
    codes = np.zeros(len(labels), int) if strata is None else pd.factorize(np.asarray(strata))[0]
    parts = [_pairs(labels[codes == c], scores[codes == c], rows[:, codes == c]) for c in np.unique(codes)]
    in_order, pairs = np.sum(parts, axis=0) if parts else np.zeros((2, len(rows)))
    with np.errstate(invalid="ignore"):
        result = in_order / pairs
    return float(result[0]) if weights is None else result


def _pairs(labels: Array, scores: Array, weights: Array) -> tuple[Array, Array]:
    """The number of correctly ordered pairs of a faithful and an unfaithful row, and of all such pairs, both (draws,)."""
    order = np.argsort(scores, kind="stable")
    _, tie = np.unique(scores[order], return_inverse=True)
    starts = np.flatnonzero(np.r_[True, np.diff(tie) > 0])
    # For each distinct score, the weight of the rows of each class that have it. A tie counts as half a correct pair.
    right, wrong = (np.add.reduceat(weights[:, order] * (labels[order] == k), starts, axis=1) for k in (1, 0))
    below = np.cumsum(wrong, axis=1) - wrong / 2
    return (right * below).sum(1), right.sum(1) * wrong.sum(1)


def tuned_threshold(scores: Sequence[float], labels: Sequence[int], weights: Array | None = None) -> float | Array:
    """The threshold t with the best balanced accuracy of ``score > t``, among 500 percentiles of the scores.

    This is AggreFact's and FENICE's search: percentiles 0, 0.2, ... 99.8 of all scores, and the highest t if several are
    best. It is NaN in a draw with only one class.

    Raises:
        ValueError: there are not both labels.

    >>> tuned_threshold([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]) > 0.2
    True
    >>> tuned_threshold([0.1, 0.2, 0.3], [0, 1, 1], weights=np.array([[1, 1, 1], [1, 0, 2], [0, 2, 1]])).round(2).tolist()
    [0.2, 0.3, nan]
    """
    scores, labels = np.asarray(scores, float), np.asarray(labels, int)
    if len(scores) == 0 or labels.min() == labels.max():
        raise ValueError(
            f"a threshold needs scored rows of both classes, got {int((labels == 1).sum())} faithful and "
            f"{int((labels == 0).sum())} unfaithful ones: give more validation rows"
        )
    candidates = np.percentile(scores, GRID)
    # Candidates between the same two scores predict the same; keep only the highest of them.
    cuts = np.searchsorted(np.sort(scores), candidates, side="right")
    candidates = candidates[np.diff(cuts, append=-1) != 0]
    above = scores[:, None] > candidates
    rows = np.ones((1, len(labels))) if weights is None else np.asarray(weights, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        recalls = [
            (rows[:, labels == k] @ (above[labels == k] == k)) / rows[:, labels == k].sum(axis=1, keepdims=True)
            for k in (1, 0)
        ]
    accuracy = np.round(sum(recalls) / 2, 12)  # so that equal rates tie despite rounding errors
    best = candidates[len(candidates) - 1 - accuracy[:, ::-1].argmax(axis=1)]
    result = np.where(np.isnan(accuracy[:, 0]), np.nan, best)
    return float(result[0]) if weights is None else result


def midpoint_threshold(scores: Sequence[float], labels: Sequence[int]) -> float:
    """Theta, the midpoint of the two classes' mean scores (Factored Verification section 2.3).

    Raises:
        ValueError: there are not both labels.

    >>> midpoint_threshold([0.1, 0.3, 0.6, 1.0], [0, 0, 1, 1])
    0.5
    """
    means = pd.Series(np.asarray(scores, float)).groupby(np.asarray(labels, int)).mean()
    if len(means) < 2:
        raise ValueError(f"theta needs scored rows of both labels, got {list(means.index)}: give more validation rows")
    return float(means.mean())


def tuned_accuracy(
    labels: Sequence[int],
    scores: Sequence[float],
    validation: Sequence[bool],
    weights: Array | None = None,
    rule: Callable = tuned_threshold,
) -> float | Array:
    """Balanced accuracy of the test rows at the threshold tuned on the validation rows, tuned anew in every draw.

    With one fixed threshold, the interval of ``balanced_accuracy`` would be too narrow: it leaves out the uncertainty of
    the threshold. A document with validation and test rows (as SummEval's have) is drawn equally often for both.

    ``validation`` is whether a row is for tuning; the others are test rows. ``rule`` returns a threshold for scores and
    labels, (n,). With ``weights``, (draws, n), it returns one threshold per draw, or one for all.

    >>> tuned_accuracy([1, 0, 1, 0], [0.7, 0.1, 0.9, 0.2], validation=[True, True, False, False])
    1.0
    """
    labels, scores, tuned = np.asarray(labels, int), np.asarray(scores, float), np.asarray(validation, bool)
    if weights is None:
        return balanced_accuracy(labels[~tuned], scores[~tuned] > rule(scores[tuned], labels[tuned]))
    thresholds = np.broadcast_to(rule(scores[tuned], labels[tuned], weights=weights[:, tuned]), len(weights))
    result = balanced_accuracy(labels[~tuned], scores[~tuned] > thresholds[:, None], weights=weights[:, ~tuned])
    return np.where(np.isnan(thresholds), np.nan, result)
