"""Intervals and tests by bootstrap over documents: rows of one document are not independent, so they are drawn together.

Draws are seeded: the same input gives the same output. The same seed draws the same documents for any scores, so the
draws of two metrics can be subtracted.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from claimwise.analysis.measures import Array, balanced_accuracy

#: Draws of a test: more than for an interval, because its p is multiplied by the number of comparisons. With fifty of them a
#: corrected p near .05 rests on about five draws, so it moves by .01 to .02 from seed to seed.
TEST_DRAWS = 10_000
#: Most weights in memory at once: those for 10,000 draws over 10,000 rows would take 800 MB.
_MAX_WEIGHTS = 20_000_000


class Interval(NamedTuple):
    """A value with the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    def named(self, name: str) -> dict[str, float]:
        """The three values under the column names that ``tables.show`` and ``plots.long_form`` read.

        >>> Interval(0.5, 0.4, 0.6).named("f1")
        {'f1': 0.5, 'f1_low': 0.4, 'f1_high': 0.6}
        """
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


#: The interval of a value that cannot be computed.
UNKNOWN = Interval(float("nan"), float("nan"), float("nan"))


class Difference(NamedTuple):
    """A difference with the ends of its 95 % interval and its two-sided p-value."""

    value: float
    low: float
    high: float
    p: float


@lru_cache(maxsize=4)  # all rows of a table need the same draws, and drawing takes longer than using them
def resample(n: int, draws: int, seed: int) -> Array:
    """How often each bootstrap draw has each of n units, shape (draws, n), read-only.

    >>> resample(4, 2, seed=0).sum(axis=1).tolist()
    [4, 4]
    """
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=draws).astype(np.int32)
    counts.flags.writeable = False
    return counts


def _in_blocks(n: int, draws: int, seed: int, size: int) -> Iterator[Array]:
    """The draws of ``resample``, ``size`` at a time. Of many units they are not held at once, and drawn anew each time."""
    if n * draws <= _MAX_WEIGHTS:
        counts = resample(n, draws, seed)
        yield from (counts[start : start + size] for start in range(0, draws, size))
        return
    generator = np.random.default_rng(seed)
    for start in range(0, draws, size):
        yield generator.multinomial(n, np.full(n, 1 / n), size=min(size, draws - start)).astype(np.int32)


def bootstrap_draws(
    measure: Callable, *columns: Sequence, groups: Sequence | None = None, draws: int = 2000, seed: int = 0, **options
) -> Array:
    """A measure in each bootstrap draw, shape (draws,). For the arguments see ``bootstrap_interval``.

    >>> from claimwise.analysis.measures import mean
    >>> bootstrap_draws(mean, [0.5, 0.5], draws=3).tolist()
    [0.5, 0.5, 0.5]
    """
    columns = [np.asarray(column) for column in columns]
    codes, names = pd.factorize(np.arange(len(columns[0])) if groups is None else np.asarray(groups))
    blocks = _in_blocks(len(names), draws, seed, max(1, _MAX_WEIGHTS // max(len(codes), 1)))
    # A row is in a draw as often as its document.
    return np.concatenate([measure(*columns, weights=counts[:, codes], **options) for counts in blocks])


def bootstrap_interval(
    measure: Callable, *columns: Sequence, groups: Sequence | None = None, draws: int = 2000, seed: int = 0, **options
) -> Interval:
    """A measure with its 95 % percentile bootstrap interval.

    Args:
        measure: one of ``claimwise.analysis.measures``: ``measure(*columns, weights=(draws, n), **options)``.
        columns: the measure's arguments, each (n,). Rows with a missing number are left out.
        groups: document ids, (n,). Rows of one document are drawn together. Without ids each row is drawn by itself.
        draws: number of bootstrap samples. Samples in which the measure is undefined (one class only) are left out.
        seed: seed of the draws.
        options: further arguments of the measure.

    Returns:
        The interval. All is NaN if the measure is undefined or no row is left. The ends are NaN if all rows are of one
        document: it does not show how much documents differ.

    >>> bootstrap_interval(balanced_accuracy, [1, 1, 0, 0] * 20, [True, True, False, False] * 20, groups=range(80))
    Interval(value=1.0, low=1.0, high=1.0)
    """
    columns = [np.asarray(column) for column in columns]
    kept = np.all([~pd.isna(column) for column in columns], axis=0)
    columns = [column[kept] for column in columns]
    groups = (np.arange(len(kept)) if groups is None else np.asarray(groups))[kept]
    value = measure(*columns, **options) if kept.any() else np.nan
    if np.isnan(value):
        return UNKNOWN
    if len(set(groups)) == 1:
        return UNKNOWN._replace(value=float(value))
    drawn = bootstrap_draws(measure, *columns, groups=groups, draws=draws, seed=seed, **options)
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Interval(float(value), float(low), float(high))


def paired_bootstrap(
    measure: Callable,
    first: Sequence[Sequence],
    second: Sequence[Sequence],
    groups: Sequence,
    draws: int = TEST_DRAWS,
    seed: int = 0,
    **options,
) -> Difference:
    """Difference of a measure between two systems on the same rows, by bootstrap over documents.

    ``first`` and ``second`` are the measure's columns, each (n,), for one system and for the other. For the other
    arguments see ``bootstrap_interval``.

    Returns:
        First minus second. p is twice the smaller share of draws on one side of zero. The observed sample counts as one
        draw, so p is at least 2 / (draws + 1) (Davison and Hinkley 1997, section 4.2). With k documents it is at least
        2 / 2^k, because a bootstrap over few documents gives too small a p. All is NaN if the measure is undefined or
        there are no rows; all but the value is NaN if there is only one document.

    >>> from claimwise.analysis.measures import mean
    >>> difference = paired_bootstrap(mean, [[1] * 50], [[1, 0] * 25], groups=range(50))
    >>> difference.value, round(difference.p, 4)
    (0.5, 0.0002)
    >>> paired_bootstrap(mean, [[1, 0]], [[1, 0]], groups=["a", "b"])
    Difference(value=0.0, low=0.0, high=0.0, p=1.0)
    """
    value = measure(*first, **options) - measure(*second, **options)
    documents = len(set(groups))
    if documents <= 1:
        return Difference(float(value), *[float("nan")] * 3)
    ours, theirs = (
        bootstrap_draws(measure, *columns, groups=groups, draws=draws, seed=seed, **options)
        for columns in (first, second)
    )
    drawn = (ours - theirs)[~np.isnan(ours - theirs)].round(12)  # so that equal rates tie despite rounding errors
    if np.isnan(value) or not len(drawn):
        return Difference(*UNKNOWN, float("nan"))
    low, high = np.percentile(drawn, [2.5, 97.5])
    p = 2 * (min((drawn <= 0).sum(), (drawn >= 0).sum()) + 1) / (len(drawn) + 1)
    # An exact test swaps the two systems within each document. It has 2^k outcomes, so its p cannot be smaller than this.
    p = min(1.0, max(p, 2.0 ** (1 - documents)))
    return Difference(float(value), float(low), float(high), float(p))


def published_interval(labels: Sequence[int], predicted: Sequence[bool], draws: int = 1000, seed: int = 0) -> float:
    """The "95 % confidence interval" of AggreFact, ACUEval and others, as their code computes it.

    It is the distance from the mean to the 2.5th percentile over ``draws`` samples of 80 % of the rows *without*
    replacement. It is about half as wide as a bootstrap interval, and is shown only beside published numbers. NaN if
    the rows, or all samples of a few rows, have only one class.

    >>> published_interval([1, 0] * 50, [True, False] * 50)
    0.0
    """
    n = len(labels)
    if len(set(labels)) < 2:
        return float("nan")
    order = np.argsort(np.random.default_rng(seed).random((draws, n)), axis=1)[:, : int(n * 0.8)]
    chosen = np.zeros((draws, n))
    np.put_along_axis(chosen, order, 1, axis=1)
    drawn = balanced_accuracy(labels, predicted, weights=chosen)
    if np.isnan(drawn).all():
        return float("nan")
    return float(np.nanmean(drawn) - np.nanpercentile(drawn, 2.5))


def holm(p: Sequence[float]) -> Array:
    """p-values corrected for the number of comparisons made together (Holm 1979), shape (m,).

    NaN is no comparison: it stays NaN and is not counted.

    >>> holm([0.01, 0.04, 0.03, float("nan")]).round(4).tolist()
    [0.03, 0.06, 0.06, nan]
    """
    from statsmodels.stats.multitest import multipletests  # slow to import, and `claimwise score` does not need it

    p = np.asarray(p, float)
    compared = ~np.isnan(p)
    corrected = np.full(p.shape, np.nan)
    if compared.any():
        corrected[compared] = multipletests(p[compared], method="holm")[1]
    return corrected
