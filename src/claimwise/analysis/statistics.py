"""From scores and labels to numbers with intervals: thresholds, balanced accuracy, areas, means.

Everything is vectorised numpy over arrays of one length n, rows with a NaN score or label must be left out
by the caller (who counts them). Random draws are seeded: the same input gives the same output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

Array = np.ndarray

#: Percentiles of the validation scores that are tried as thresholds (AggreFact's grid).
GRID = np.arange(0, 100, 0.2)


class Interval(NamedTuple):
    """A value with the ends of its interval."""

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the interval's width, for a column that reads ``70.4 ± 1.8``."""
        return (self.high - self.low) / 2


#: Of a value that cannot be computed.
UNKNOWN = Interval(float("nan"), float("nan"), float("nan"))


def best_threshold(scores: Sequence[float], labels: Sequence[int]) -> float:
    """The threshold t with the best balanced accuracy of ``score > t``, among 500 percentiles of the scores.

    AggreFact's and FENICE's search: percentiles 0, 0.2, ... 99.8, ties keep the highest t.

    >>> best_threshold([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]) > 0.2
    True
    """
    scores, labels = np.asarray(scores, float), np.asarray(labels, int)
    if len(scores) == 0 or labels.min() == labels.max():
        raise ValueError(
            f"a threshold needs scored rows of both classes, got {int((labels == 1).sum())} faithful and "
            f"{int((labels == 0).sum())} unfaithful ones: give more validation rows"
        )
    candidates = np.percentile(scores, GRID)
    above = scores[:, None] > candidates
    true_positive = above[labels == 1].mean(axis=0)
    true_negative = 1 - above[labels == 0].mean(axis=0)
    accuracy = np.round((true_positive + true_negative) / 2, 12)  # so that equal rates tie, whatever their rounding
    return float(candidates[np.flatnonzero(accuracy == accuracy.max())[-1]])


def balanced_accuracy(labels: Sequence[int], scores: Sequence[float], threshold: float) -> float:
    """Mean of the two classes' recalls, predicting faithful when ``score > threshold``.

    >>> balanced_accuracy([1, 1, 0, 0], [0.9, 0.4, 0.2, 0.1], 0.5)
    0.75
    """
    return float(balanced_accuracy_score(np.asarray(labels, int), np.asarray(scores, float) > threshold))


def auc(labels: Sequence[int], scores: Sequence[float], strata: Sequence | None = None) -> float:
    """Area under the ROC curve; NaN where only one class is there.

    With ``strata``, (n,), it is the share of the pairs of a faithful and an unfaithful row *of one stratum* that stand in
    the right order: where one stratum has more faithful rows, telling the strata apart is no merit.

    >>> auc([0, 0, 1], [0.1, 0.2, 0.3])
    1.0
    >>> labels, scores, origin = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.1, 0.7, 0.6, 0.7], list("aaabbb")
    >>> round(auc(labels, scores), 3), auc(labels, scores, origin)
    (0.556, 0.25)
    """
    labels, scores = np.asarray(labels, int), np.asarray(scores, float)
    parts = [(labels[rows], scores[rows]) for rows in _strata(strata, labels)]
    parts = [part for part in parts if _both(part[0])]
    areas = [roc_auc_score(*part) for part in parts]
    return float(np.average(areas, weights=[np.bincount(own).prod() for own, _ in parts])) if areas else float("nan")


def _strata(strata: Sequence | None, labels: Array) -> list[Array]:
    """The rows of each stratum, as masks; all rows are one where none are given."""
    codes = np.zeros(len(labels), int) if strata is None else pd.factorize(np.asarray(strata))[0]
    return [codes == code for code in np.unique(codes)]


def _both(labels: Array) -> bool:
    """Whether there are rows of both classes."""
    return bool(0 < labels.sum() < len(labels))


def _group_counts(labels: Array, hits: Array, groups: Array) -> Array:
    """(n_groups, 4) counts per document: positives, positives hit, negatives, negatives hit."""
    codes, names = pd.factorize(groups)
    columns = np.stack([labels, labels & hits, 1 - labels, (1 - labels) & hits], axis=1)
    counts = np.zeros((len(names), 4))
    np.add.at(counts, codes, columns)
    return counts


def _balanced(counts: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return (counts[..., 1] / counts[..., 0] + counts[..., 3] / counts[..., 2]) / 2


@lru_cache(maxsize=4)  # a table's rows are about the same documents, and drawing takes longer than what is done with it
def resample(n: int, draws: int, seed: int) -> Array:
    """How often each of n units stands in each bootstrap draw, shape (draws, n), not to be written to.

    >>> resample(4, 2, seed=0).sum(axis=1).tolist()
    [4, 4]
    """
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=draws)
    counts.flags.writeable = False
    return counts


def _hits(labels: Array, scores: Array, threshold: float) -> Array:
    return ((scores > threshold).astype(int) == labels).astype(int)


def bootstrap_accuracy(
    labels: Sequence[int],
    scores: Sequence[float],
    threshold: float,
    groups: Sequence,
    draws: int = 2000,
    seed: int = 0,
) -> Interval:
    """Balanced accuracy with a 95 % percentile bootstrap interval that draws whole documents; NaN with one class only.

    Args:
        labels: 0 or 1, shape (n,).
        scores: shape (n,).
        threshold: predict faithful above it.
        groups: document ids, shape (n,): summaries of one document stay together.
        draws: number of bootstrap samples.
        seed: of the draws.

    >>> bootstrap_accuracy([1, 1, 0, 0] * 20, [1, 1, 0, 0] * 20, 0.5, range(80))
    Interval(value=1.0, low=1.0, high=1.0)
    """
    labels, scores = np.asarray(labels, int), np.asarray(scores, float)
    if not _both(labels):
        return UNKNOWN
    counts = _group_counts(labels, _hits(labels, scores, threshold), np.asarray(groups))
    drawn = _balanced(resample(len(counts), draws, seed) @ counts)
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Interval(float(_balanced(counts.sum(0))), float(low), float(high))


def bootstrap_tuned(
    validation: pd.DataFrame, test: pd.DataFrame, column: str, draws: int = 2000, seed: int = 0
) -> Interval:
    """Balanced accuracy at the threshold tuned on validation rows, with an interval that counts the tuning in.

    ``bootstrap_accuracy`` holds the threshold as it was tuned once, which is more certain than it is.

    Args:
        validation: ``label`` (0 or 1), ``document_id`` and the scores; both labels.
        test: the same columns.
        column: the scores' name.
        draws: number of bootstrap samples; those with one label only in a part are left out.
        seed: of the draws.

    Returns:
        NaN where the test rows are all of one label.

    >>> rows = pd.DataFrame({"label": [1, 0] * 20, "document_id": range(40), "m": [0.9, 0.1] * 20})
    >>> bootstrap_tuned(rows, rows, "m", draws=100)
    Interval(value=1.0, low=1.0, high=1.0)
    """
    if not _both(test["label"].to_numpy(int)):
        return UNKNOWN
    drawn = tuned_draws(validation, test, column, draws, seed)
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Interval(tuned_accuracy(validation, test, column), float(low), float(high))


def tuned_accuracy(validation: pd.DataFrame, test: pd.DataFrame, column: str) -> float:
    """Balanced accuracy of the test rows, cut at the best threshold of the validation rows; see ``bootstrap_tuned``.

    >>> rows = pd.DataFrame({"label": [1, 0] * 2, "m": [0.9, 0.1, 0.8, 0.2]})
    >>> tuned_accuracy(rows, rows.assign(m=[0.9, 0.1, 0.1, 0.1]), "m")
    0.75
    """
    threshold = best_threshold(validation[column], validation["label"])
    return balanced_accuracy(test["label"], test[column], threshold)


def tuned_draws(validation: pd.DataFrame, test: pd.DataFrame, column: str, draws: int, seed: int) -> Array:
    """Test balanced accuracy of each bootstrap draw at the threshold that is best on its validation rows, (draws,).

    A draw takes whole documents of both parts together: one that stands in both (SummEval's do) is drawn as often in
    one as in the other. The thresholds tried are those of ``best_threshold`` on all validation rows. The same seed draws
    the same documents whatever the column, so that the draws of two metrics can be subtracted. Arguments are those of
    ``bootstrap_tuned``; NaN for draws with one label only in a part.

    >>> rows = pd.DataFrame({"label": [1, 0] * 20, "document_id": range(40), "m": [0.9, 0.1] * 20})
    >>> tuned_draws(rows, rows, "m", 3, seed=0).tolist()
    [1.0, 1.0, 1.0]
    """
    cuts = np.percentile(validation[column], GRID)
    documents, names = pd.factorize(pd.concat([validation["document_id"], test["document_id"]]))
    weights = resample(len(names), draws, seed)
    known, unseen = documents[: len(validation)], documents[len(validation) :]
    with np.errstate(invalid="ignore"):
        tuning = sum(
            (w @ hits) / (w @ n)[:, None] for w, n, hits in _by_label(validation, column, cuts, known, weights)
        )
        best = len(cuts) - 1 - np.round(tuning, 12)[:, ::-1].argmax(axis=1)  # ties keep the highest, as there
        # A draw needs its own threshold's hits only, not those of all.
        recalls = [
            np.einsum("dn,nd->d", w, hits[:, best]) / (w @ n)
            for w, n, hits in _by_label(test, column, cuts, unseen, weights)
        ]
    return np.where(np.isnan(tuning[:, 0]), np.nan, sum(recalls) / 2)


def _by_label(
    rows: pd.DataFrame, column: str, cuts: Array, documents: Array, weights: Array
) -> Iterator[tuple[Array, Array, Array]]:
    """For each label the draws of the documents that have it, (draws, m), how many of its rows each has, (m,), and how
    many of these are right at each threshold, (m, thresholds)."""
    for label in (1, 0):
        of_label = rows["label"].to_numpy(int) == label
        present, codes = np.unique(documents[of_label], return_inverse=True)
        hits = np.zeros((len(present), len(cuts)))
        np.add.at(hits, codes, (rows[column].to_numpy(float)[of_label, None] > cuts) == bool(label))
        yield weights[:, present], np.bincount(codes, minlength=len(present)), hits


def bootstrap_auc(
    labels: Sequence[int],
    scores: Sequence[float],
    groups: Sequence,
    draws: int = 2000,
    seed: int = 0,
    strata: Sequence | None = None,
) -> Interval:
    """Area under the ROC curve with a 95 % percentile bootstrap interval that draws whole documents; NaN with one class.

    Args:
        labels: 0 or 1, shape (n,).
        scores: shape (n,).
        groups: document ids, shape (n,): what is of one document stays together.
        draws: number of bootstrap samples; those that drew only one class are left out.
        seed: of the draws.
        strata: as in ``auc``.

    >>> bootstrap_auc([1, 0] * 20, [0.9, 0.1] * 20, range(40))
    Interval(value=1.0, low=1.0, high=1.0)
    """
    value = auc(labels, scores, strata)
    if np.isnan(value):
        return UNKNOWN
    low, high = np.nanpercentile(auc_draws(labels, scores, groups, draws, seed, strata), [2.5, 97.5])
    return Interval(value, float(low), float(high))


def auc_draws(
    labels: Sequence[int],
    scores: Sequence[float],
    groups: Sequence,
    draws: int,
    seed: int,
    strata: Sequence | None = None,
) -> Array:
    """Area under the ROC curve of each bootstrap draw of documents, (draws,); NaN for draws of one class only.

    The same seed draws the same documents whatever the scores, so that the draws of two metrics can be subtracted.
    Arguments are those of ``bootstrap_auc``.

    >>> auc_draws([1, 0] * 20, [0.9, 0.1] * 20, range(40), 3, seed=0).tolist()
    [1.0, 1.0, 1.0]
    """
    labels, scores = np.asarray(labels, int), np.asarray(scores, float)
    codes, names = pd.factorize(np.asarray(groups))
    weights = resample(len(names), draws, seed)[:, codes].astype(float)
    parts = [_pairs(labels[rows], scores[rows], weights[:, rows]) for rows in _strata(strata, labels)]
    in_order, pairs = np.sum(parts, axis=0)
    with np.errstate(invalid="ignore"):
        return in_order / pairs


def _pairs(labels: Array, scores: Array, weights: Array) -> tuple[Array, Array]:
    """Of each draw the pairs of a faithful and an unfaithful row in the right order, and all pairs, both (draws,)."""
    order = np.argsort(scores, kind="stable")
    _, tie = np.unique(scores[order], return_inverse=True)
    starts = np.flatnonzero(np.r_[True, np.diff(tie) > 0])
    # By distinct score: how much of each class has it; ties count half.
    right, wrong = (np.add.reduceat(weights[:, order] * (labels[order] == k), starts, axis=1) for k in (1, 0))
    below = np.cumsum(wrong, axis=1) - wrong / 2
    return (right * below).sum(1), right.sum(1) * wrong.sum(1)


def published_interval(
    labels: Sequence[int], scores: Sequence[float], threshold: float, draws: int = 1000, seed: int = 0
) -> float:
    """The "95 % confidence interval" of AggreFact, ACUEval and others, as their code computes it.

    The distance from the mean to the 2.5th percentile over ``draws`` samples of 80 % of the rows *without*
    replacement. It is about half as wide as a bootstrap interval; shown only beside published numbers. NaN with one
    class only.

    >>> published_interval([1, 0] * 50, [1, 0] * 50, 0.5)
    0.0
    """
    labels, scores = np.asarray(labels, int), np.asarray(scores, float)
    if not _both(labels):
        return float("nan")
    counts = _group_counts(labels, _hits(labels, scores, threshold), np.arange(len(labels)))
    generator = np.random.default_rng(seed)
    size = int(len(labels) * 0.8)
    order = np.argsort(generator.random((draws, len(labels))), axis=1)[:, :size]
    drawn = _balanced(counts[order].sum(axis=1))
    return float(np.nanmean(drawn) - np.nanpercentile(drawn, 2.5))


def bootstrap_mean(
    values: Sequence[float], groups: Sequence | None = None, draws: int = 2000, seed: int = 0
) -> Interval:
    """Mean with a 95 % percentile bootstrap interval over groups (rows, where none are given); NaNs left out.

    >>> bootstrap_mean([0.5, 0.5, float("nan")])
    Interval(value=0.5, low=0.5, high=0.5)
    """
    values = np.asarray(values, float)
    groups = np.arange(len(values)) if groups is None else np.asarray(groups)
    kept = ~np.isnan(values)
    if not kept.any():
        return UNKNOWN
    codes, names = pd.factorize(groups[kept])
    sums = np.bincount(codes, weights=values[kept], minlength=len(names))
    sizes = np.bincount(codes, minlength=len(names))
    weights = resample(len(names), draws, seed)
    low, high = np.percentile((weights @ sums) / (weights @ sizes), [2.5, 97.5])
    return Interval(float(values[kept].mean()), float(low), float(high))


def bootstrap_ratio(
    parts: Sequence[float], wholes: Sequence[float], groups: Sequence, draws: int = 2000, seed: int = 0
) -> Interval:
    """Sum of the parts by the sum of the wholes, with a 95 % percentile bootstrap interval over groups.

    Draws whose wholes sum to nothing are left out; NaN where all of them do, or there are no parts (NaN).

    >>> bootstrap_ratio([1, 1], [2, 2], ["a", "b"])
    Interval(value=0.5, low=0.5, high=0.5)
    """
    frame = pd.DataFrame({"part": np.asarray(parts, float), "whole": np.asarray(wholes, float)}).dropna()
    sums = frame.groupby(np.asarray(groups)[frame.index]).sum()
    if sums.empty or not sums["whole"].sum():
        return UNKNOWN
    part, whole = resample(len(sums), draws, seed).dot(sums.to_numpy()).T
    low, high = np.percentile(part[whole != 0] / whole[whole != 0], [2.5, 97.5])
    return Interval(float(sums["part"].sum() / sums["whole"].sum()), float(low), float(high))
