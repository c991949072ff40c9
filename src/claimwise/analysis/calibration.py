"""Whether supports are calibrated: their expected calibration error, and the error that perfect supports would have."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from claimwise.analysis.bootstrap import UNKNOWN, Interval

#: Number of bins of equal width from 0 to 1.
BINS = 10
_DRAWS = 2000


def expected_calibration_error(labels: Sequence[int], supports: Sequence[float]) -> tuple[float, pd.DataFrame]:
    """Expected calibration error over ``BINS`` equal-width bins, and the reliability table behind it.

    Returns:
        The error in [0, 1] (mean |share supported - mean support|, weighted by bin size), and a table with one row per
        non-empty bin: ``support`` (mean predicted), ``supported`` (share labelled 1), ``n``.

    >>> expected_calibration_error([1, 0, 1, 1], [0.75, 0.75, 0.75, 0.75])[0]
    0.0
    """
    frame = pd.DataFrame({"support": np.asarray(supports, float), "supported": np.asarray(labels, float)})
    bins = _bins(frame["support"])
    table = frame.groupby(bins).mean()
    table["n"] = frame.groupby(bins).size()
    error = ((table["support"] - table["supported"]).abs() * table["n"]).sum() / table["n"].sum()
    return float(error), table.reset_index(drop=True)


def _bins(supports: np.ndarray | pd.Series) -> np.ndarray | pd.Series:
    """The number of each support's bin; a support of 1 is in the last one."""
    return np.minimum((supports * BINS).astype(int), BINS - 1)


def calibration_floor(supports: Sequence[float], claims: Sequence | None = None) -> Interval:
    """The calibration error that supports would have if each were exactly the probability of its claim.

    With few claims the error is not 0 even then. Labels are drawn with the supports as their probabilities (consistency
    resampling, Broecker and Smith 2007), and the ``expected_calibration_error`` of each draw is computed.

    ``supports`` are in [0, 1], shape (n,), none missing. ``claims``, (n,), names the claim of each row. Rows of the same
    claim share its label (as WiCE's three excerpts per claim do), so their labels are drawn together. By default each row
    is a claim of its own.

    Returns:
        The mean over the draws, and the ends of the interval that holds 95 % of them. An error inside it is no evidence
        of miscalibration. All is NaN without supports.

    >>> calibration_floor([0.0, 1.0])
    Interval(value=0.0, low=0.0, high=0.0)
    >>> few, many = calibration_floor([0.7] * 10), calibration_floor([0.7] * 1000)
    >>> few.value > 0.1, many.value < 0.02
    (True, True)
    >>> calibration_floor([0.7] * 1000, claims=list(range(10)) * 100).value > 0.1
    True
    """
    supports = np.asarray(supports, float)
    if not len(supports):
        return UNKNOWN
    claim = np.arange(len(supports)) if claims is None else pd.factorize(np.asarray(claims))[0]
    labels = np.random.default_rng(0).random((_DRAWS, claim.max() + 1))[:, claim] < supports
    # By draw and bin, the number of supported claims minus its expectation.
    gaps = (labels - supports) @ np.eye(BINS)[_bins(supports)]
    errors = np.abs(gaps).sum(axis=1) / len(supports)
    return Interval(float(errors.mean()), *map(float, np.percentile(errors, [2.5, 97.5])))


def calibration_errors(rows: pd.DataFrame) -> dict[str, float]:
    """The calibration error of verdicts on labelled claims, and the one that exact probabilities would have.

    Rows have ``label`` (1 or 0), ``support`` in [0, 1], and ``document_id`` and ``claim``, which identify the claim.

    Returns:
        ``ece``, the error; ``ece_exact``, its mean if the supports were exact probabilities, and ``ece_exact_high``,
        the value that 97.5 % of such draws stay below (``calibration_floor``).

    >>> rows = pd.DataFrame({"document_id": "d", "claim": ["It rained.", "We left."], "label": [1, 0], "support": [1.0, 0.0]})
    >>> calibration_errors(rows)
    {'ece': 0.0, 'ece_exact': 0.0, 'ece_exact_high': 0.0}
    """
    error, _ = expected_calibration_error(rows["label"], rows["support"])
    floor = calibration_floor(rows["support"], asked_claims(rows))
    return {"ece": error, "ece_exact": floor.value, "ece_exact_high": floor.high}


def asked_claims(rows: pd.DataFrame) -> pd.Series:
    """An identifier of the claim of each row. Rows of one claim beside different passages share it (WiCE's excerpts).

    If any claim has rows with different labels, as in another candidate summary each, every row has its own identifier.

    >>> rows = pd.DataFrame({"document_id": "d", "claim": ["It rained.", "It rained.", "We left."], "label": [1, 1, 0]})
    >>> asked_claims(rows).nunique(), asked_claims(rows.assign(label=[1, 0, 0])).nunique()
    (2, 3)
    """
    names = rows["document_id"] + "\n" + rows["claim"]
    if rows["label"].groupby(names.to_numpy()).nunique().gt(1).any():
        return pd.Series(range(len(rows)), rows.index)
    return names
