"""Tests of significance against exact probabilities, theory and literal loops."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from claimwise.analysis import significance, statistics

# ---------------------------------------------------------------- two systems' answers


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_paired_bootstrap_is_symmetric(rows):
    first, second = map(list, zip(*rows, strict=True))
    groups = [number // 2 for number in range(len(rows))]
    forward, p = significance.paired_bootstrap(first, second, groups, draws=200)
    backward, q = significance.paired_bootstrap(second, first, groups, draws=200)
    assert p == q
    assert backward == pytest.approx((-forward.value, -forward.high, -forward.low))
    assert forward.value == pytest.approx(np.mean(first) - np.mean(second))
    assert 2 / 201 - 1e-12 <= p <= 1


def test_p_is_that_of_drawing_documents_not_rows():
    # Six of twenty rows tell the two apart, always for the first, and stand in three of ten documents: draws without a
    # difference miss these three each time. Over rows they would be fewer: .7^20.
    first, second = [True] * 20, [True] * 14 + [False] * 6
    difference, p = significance.paired_bootstrap(first, second, np.arange(20) // 2)
    assert difference.value == pytest.approx(0.3)
    assert p == pytest.approx(2 * 0.7**10, abs=0.01)
    _, by_row = significance.paired_bootstrap(first, second, range(20))
    assert by_row == pytest.approx(2 * 0.7**20, abs=0.002)


def answers(shares, n=400, seed=6):
    """Whether systems are right that are so in these shares of n rows, independently."""
    generator = np.random.default_rng(seed)
    return [generator.random(n) < share for share in shares]


def test_a_clear_difference_is_significant_and_a_coin_is_not():
    good, poor, twin = answers([0.9, 0.6, 0.9])
    difference, p = significance.paired_bootstrap(good, poor, range(400))
    assert difference.low > 0
    assert p == pytest.approx(2 / (significance.TEST_DRAWS + 1))  # no draw on the other side
    difference, p = significance.paired_bootstrap(good, twin, range(400))
    assert difference.low < 0 < difference.high
    assert p > 0.05


@pytest.mark.parametrize("seed", [10, 11, 12])
def test_the_p_value_is_two_sided(seed):
    first, second = answers([0.72, 0.70], seed=seed)
    difference, p = significance.paired_bootstrap(first, second, range(400), draws=4000)
    assert p == pytest.approx(stats.ttest_rel(first.astype(int), second.astype(int)).pvalue, abs=0.06)
    assert difference.half == pytest.approx(1.96 * stats.sem(first.astype(int) - second.astype(int)), rel=0.1)


def test_pairing_narrows_the_interval():
    # Two systems that err on the same rows differ by less noise than two that err independently.
    first, apart, same = answers([0.7, 0.7, 0.95])
    narrow, _ = significance.paired_bootstrap(first, np.where(same, first, ~first), range(400))
    wide, _ = significance.paired_bootstrap(first, apart, range(400))
    assert narrow.half < 0.6 * wide.half


# ---------------------------------------------------------------- two metrics, each at its threshold


def scored(n, seed, noise=(1.0, 2.0)):
    """Two rows a document, and two metrics that rank them somewhat, the first better."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, n)
    first, second = (labels + spread * generator.standard_normal(n) for spread in noise)
    return pd.DataFrame({"label": labels, "a": first, "b": second, "document_id": np.arange(n) // 2})


def test_both_metrics_are_tuned_and_tested_on_the_same_draws():
    validation, test = scored(80, 1), scored(80, 2).assign(document_id=lambda rows: rows["document_id"] + 20)
    found, p = significance.paired_tuned(validation, test, "a", "b", draws=400, seed=3)
    one, other = (statistics.tuned_draws(validation, test, column, 400, 3) for column in "ab")
    assert [found.low, found.high] == pytest.approx(np.percentile(one - other, [2.5, 97.5]))
    assert p == pytest.approx(2 * ((one - other <= 1e-9).sum() + 1) / 401)
    a, b = (
        statistics.balanced_accuracy(
            test["label"], test[column], statistics.best_threshold(validation[column], validation["label"])
        )
        for column in "ab"
    )
    assert found.value == pytest.approx(a - b)


def test_tuning_adds_to_the_uncertainty_of_a_difference():
    validation, test = scored(40, 1), scored(800, 2)
    cuts = {column: statistics.best_threshold(validation[column], validation["label"]) for column in "ab"}
    right = [(test[column] > cut) == (test["label"] == 1) for column, cut in cuts.items()]
    held, _ = significance.paired_bootstrap(*right, test["document_id"])
    tuned, _ = significance.paired_tuned(validation, test, "a", "b")
    assert tuned.half > 1.2 * held.half


def delong(labels, first, second):
    """Difference of two areas and its normal two-sided p (DeLong, DeLong and Clarke-Pearson 1988), rows independent."""
    above = [
        (np.subtract.outer(s[labels == 1], s[labels == 0]) > 0) + 0.5 * np.equal.outer(s[labels == 1], s[labels == 0])
        for s in (first, second)
    ]
    by_row = [above[0].mean(axis=axis) - above[1].mean(axis=axis) for axis in (1, 0)]
    difference = float(by_row[0].mean())
    error = math.sqrt(sum(part.var(ddof=1) / len(part) for part in by_row))
    return difference, float(2 * stats.norm.sf(abs(difference) / error))


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_areas_differ_as_delong_says_where_rows_are_independent(seed):
    rows = scored(300, seed, noise=(1.0, 1.2)).assign(document_id=range(300))
    difference, p = significance.paired_auc(rows, "a", "b", draws=4000)
    labels, first, second = (rows[column].to_numpy() for column in ("label", "a", "b"))
    expected, expected_p = delong(labels, first, second)
    assert difference.value == pytest.approx(expected)
    assert p == pytest.approx(expected_p, abs=0.03)


def test_areas_are_drawn_by_documents_together():
    rows = scored(60, 1).round(1)  # ties, too
    found, _ = significance.paired_auc(rows, "a", "b", draws=40, seed=3)
    documents = [part for _, part in rows.groupby("document_id", sort=False)]
    gaps = []
    for counts in statistics.resample(len(documents), 40, 3):
        drawn = pd.concat(part for part, count in zip(documents, counts, strict=True) for _ in range(count))
        gaps.append(roc_auc_score(drawn["label"], drawn["a"]) - roc_auc_score(drawn["label"], drawn["b"]))
    assert [found.low, found.high] == pytest.approx(np.percentile(gaps, [2.5, 97.5]))


def test_a_metric_ties_with_itself_and_with_a_scale_of_itself():
    rows = scored(60, 5).assign(b=lambda rows: 3 * rows["a"])
    assert significance.paired_tuned(rows, rows, "a", "b", draws=50) == ((0, 0, 0), 1)
    assert significance.paired_auc(rows, "a", "b", draws=50) == ((0, 0, 0), 1)


def test_labels_of_one_class_have_no_comparison():
    rows = scored(20, 1)
    difference, p = significance.paired_tuned(rows, rows.assign(label=1), "a", "b", draws=20)
    assert np.isnan([*difference, p]).all()
    difference, p = significance.paired_auc(rows.assign(label=1), "a", "b", draws=20)
    assert np.isnan([*difference, p]).all()


# ---------------------------------------------------------------- many comparisons


def test_holm_by_hand():
    # Holm (1979): .01 x 4, then .03 x 3 over it; .04 x 2 would be less than the one before and is kept at it.
    assert significance.holm([0.04, 0.01, 0.5, 0.03]) == pytest.approx([0.09, 0.04, 0.5, 0.09])
    assert significance.holm([0.8, 0.6]).tolist() == [1, 1]
    assert significance.holm([0.2]).tolist() == [0.2]
    assert significance.holm([]).tolist() == []


@given(st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=12))
def test_holm_rejects_what_its_step_down_procedure_rejects(p):
    corrected = significance.holm(p)
    known = sorted(value for value in p if not math.isnan(value))
    rejected = 0
    while rejected < len(known) and known[rejected] <= 0.05 / (len(known) - rejected):
        rejected += 1
    bar = known[rejected - 1] if rejected else -1.0
    assert [bool(c <= 0.05 + 1e-12) for c in corrected] == [value <= bar for value in p]
    assert np.isnan(corrected).tolist() == np.isnan(p).tolist()
