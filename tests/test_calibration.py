"""Calibration errors, compared with values worked by hand and with literal draws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.analysis.calibration import BINS, calibration_floor, expected_calibration_error

SCORE = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1))
ROWS = st.lists(st.tuples(SCORE, st.integers(0, 1)), min_size=2, max_size=25)


def test_calibration_by_hand():
    # Bin .2-.3: mean .2, none supported, 2 rows; bin .9-1: mean .95, half supported, 2 rows.
    error, table = expected_calibration_error([0, 0, 1, 0], [0.2, 0.2, 0.9, 1.0])
    assert error == pytest.approx((2 * 0.2 + 2 * 0.45) / 4)
    assert table["n"].tolist() == [2, 2]
    assert table["support"].tolist() == pytest.approx([0.2, 0.95])
    assert table["supported"].tolist() == [0, 0.5]


def test_exact_probabilities_have_the_error_that_is_foretold():
    # Labels drawn one by one from their supports, and the error as ``expected_calibration_error`` computes it: by another way the same.
    generator = np.random.default_rng(3)
    supports = generator.beta(2, 1, 120)
    errors = [expected_calibration_error(generator.random(120) < supports, supports)[0] for _ in range(400)]
    floor = calibration_floor(supports)
    assert floor.value == pytest.approx(np.mean(errors), rel=0.05)
    assert floor.high == pytest.approx(np.percentile(errors, 97.5), rel=0.1)
    assert np.mean([floor.low <= error <= floor.high for error in errors]) == pytest.approx(0.95, abs=0.03)
    overconfident = np.where(supports > 0.5, 0.99, 0.01)
    labels = generator.random(120) < supports
    assert expected_calibration_error(labels, overconfident)[0] > calibration_floor(overconfident).high
    assert math.isnan(calibration_floor([]).value)


def test_rows_of_one_claim_share_a_label():
    # Three rows a claim with one support: as if each claim were there once.
    supports = np.linspace(0.05, 0.95, 30)
    thrice = calibration_floor(np.repeat(supports, 3), np.repeat(np.arange(30), 3))
    assert thrice == pytest.approx(calibration_floor(supports), abs=1e-9)
    assert thrice.high > calibration_floor(np.repeat(supports, 3)).high


@given(ROWS)
def test_calibration_error_is_bounded_and_counts_every_row(rows):
    scores, labels = map(np.array, zip(*rows, strict=True))
    error, table = expected_calibration_error(labels, scores)
    assert abs(labels.mean() - scores.mean()) - 1e-9 <= error <= 1
    assert table["n"].sum() == len(rows)
    assert len(table) <= BINS
