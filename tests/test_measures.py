"""Measures of agreement with labels, compared with hand-worked values, scikit-learn's and literal loops."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from claimwise.analysis import measures

# Few distinct values on purpose: ties are where threshold searches and rank statistics differ.
SCORE = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1))
ROWS = st.lists(st.tuples(SCORE, st.integers(0, 1)), min_size=2, max_size=25)


def columns(rows):
    scores, labels = map(np.array, zip(*rows, strict=True))
    assume(0 < labels.sum() < len(labels))
    return scores, labels


def mean_recall(labels, called):
    """Balanced accuracy in a line: scikit-learn's takes a millisecond a call."""
    return (np.mean(called[labels == 1]) + np.mean(~called[labels == 0])) / 2


def literal_threshold(scores, labels):
    """AggreFact's search as its code has it: try the percentiles in order, keep the best seen last."""
    best, chosen = -1.0, None
    for percentile in range(0, 1000, 2):
        threshold = np.percentile(scores, percentile / 10)
        value = mean_recall(labels, scores > threshold)
        if value >= best - 1e-9:
            best, chosen = max(best, value), threshold
    assert best == pytest.approx(balanced_accuracy_score(labels, scores > chosen))
    return chosen


def repeated(values, times):
    return np.repeat(np.asarray(values), times)


# ---------------------------------------------------------------- thresholds


def test_ties_keep_the_highest_threshold():
    # Any t in [0.2, 0.8) is perfect. Percentiles interpolate: 66.6 is 0.2 + 0.998 * 0.6 (rank 0.666 * 3 = 1.998).
    assert measures.tuned_threshold([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]) == pytest.approx(0.2 + 0.998 * 0.6)


@settings(max_examples=25)
@given(ROWS)
def test_threshold_equals_the_literal_loop(rows):
    scores, labels = columns(rows)
    assert measures.tuned_threshold(scores, labels) == pytest.approx(literal_threshold(scores, labels), abs=1e-12)


@given(ROWS, st.randoms())
def test_threshold_does_not_depend_on_the_order_of_rows(rows, random):
    scores, labels = columns(rows)
    mixed = list(rows)
    random.shuffle(mixed)
    assert measures.tuned_threshold(*columns(mixed)) == measures.tuned_threshold(scores, labels)


@settings(max_examples=25)
@given(ROWS, st.data())
def test_the_threshold_of_a_draw_is_the_best_of_the_grid_on_its_rows(rows, data):
    scores, labels = columns(rows)
    times = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))))
    [found] = measures.tuned_threshold(scores, labels, weights=times[None, :])
    drawn = repeated(labels, times)
    if len(set(drawn)) < 2:
        assert math.isnan(found)
        return
    grid = np.percentile(scores, measures.GRID)
    reached = [mean_recall(drawn, repeated(scores, times) > cut) for cut in grid]
    assert reached[0] == pytest.approx(balanced_accuracy_score(drawn, repeated(scores, times) > grid[0]))
    assert found == grid[max(range(len(grid)), key=lambda k: (round(reached[k], 12), k))]


@pytest.mark.parametrize("labels", [[1, 1, 1], [0, 0, 0], []])
def test_a_threshold_needs_both_classes(labels):
    with pytest.raises(ValueError, match=rf"got {sum(labels)} faithful and {len(labels) - sum(labels)} unfaithful"):
        measures.tuned_threshold([0.5] * len(labels), labels)


# ---------------------------------------------------------------- balanced accuracy, AUC


@given(ROWS, SCORE)
def test_balanced_accuracy_is_that_of_scikit_learn(rows, threshold):
    scores, labels = columns(rows)
    found = measures.balanced_accuracy(labels, scores > threshold)
    assert found == pytest.approx(balanced_accuracy_score(labels, scores > threshold))


def test_balanced_accuracy_does_not_reward_the_common_class():
    assert measures.balanced_accuracy([1] * 99 + [0], [True] * 100) == 0.5


def test_every_draw_may_have_its_own_predictions():
    labels, weights = [1, 1, 0, 0], np.array([[1, 1, 1, 1], [2, 0, 1, 1]])
    predicted = np.array([[True, False, False, False], [True, False, True, False]])
    assert measures.balanced_accuracy(labels, predicted, weights=weights).tolist() == [0.75, 0.75]
    assert measures.balanced_accuracy(labels, predicted[0], weights=weights).tolist() == [0.75, 1]


@given(ROWS)
def test_auc_is_that_of_scikit_learn(rows):
    scores, labels = columns(rows)
    assert measures.auc(labels, scores) == pytest.approx(roc_auc_score(labels, scores))


@given(st.lists(st.tuples(SCORE, st.integers(0, 1), st.sampled_from("abc")), min_size=2, max_size=25))
def test_auc_with_strata_compares_rows_of_one_stratum_only(rows):
    pairs = [
        (one > two) + (one == two) / 2
        for one, label, place in rows
        for two, other, elsewhere in rows
        if label > other and place == elsewhere
    ]
    scores, labels, strata = zip(*rows, strict=True)
    expected = np.mean(pairs) if pairs else np.nan
    assert measures.auc(labels, scores, strata) == pytest.approx(expected, nan_ok=True)


def test_one_class_has_neither():
    assert math.isnan(measures.auc([1, 1], [0.2, 0.4]))
    assert math.isnan(measures.balanced_accuracy([0, 0], [True, False]))


# ---------------------------------------------------------------- draws


@pytest.mark.parametrize("name", ["mean", "ratio", "balanced_accuracy", "auc", "auc with strata"])
def test_a_weight_counts_a_row_as_often_as_repeating_it(name):
    generator = np.random.default_rng(3)
    labels, scores = generator.integers(0, 2, 40), generator.random(40).round(1)
    measure, given = {
        "mean": (measures.mean, [scores]),
        "ratio": (measures.ratio, [scores * labels, scores]),
        "balanced_accuracy": (measures.balanced_accuracy, [labels, scores > 0.4]),
        "auc": (measures.auc, [labels, scores]),
        "auc with strata": (measures.auc, [labels, scores, generator.integers(0, 3, 40)]),
    }[name]
    weights = generator.multinomial(40, np.full(40, 1 / 40), size=5)
    options = {"strata": given.pop()} if len(given) > 2 else {}
    found = measure(*given, weights=weights, **options)
    for value, times in zip(found, weights, strict=True):
        repeats = {name: repeated(column, times) for name, column in options.items()}
        assert value == pytest.approx(measure(*(repeated(column, times) for column in given), **repeats))


# ---------------------------------------------------------------- published numbers


@pytest.mark.parametrize(
    ("corpus", "origin", "accuracy", "threshold", "area"),
    [
        ("aggrefact_ftsota", "cnndm", 68.6, 0.9946, 0.713),
        ("aggrefact_ftsota", "xsum", 70.4, 0.8154, 0.775),
        ("aggrefact_exf", "cnndm", 72.8, None, None),
        ("aggrefact_exf", "xsum", 75.3, None, None),
    ],
)
def test_fenice_from_its_published_scores(published_corpus, corpus, origin, accuracy, threshold, area):
    data = published_corpus(corpus)
    scores = data.scores[data.scores["metric"] == "fenice-t5 (published)"].set_index("example_id")["score"]
    rows = data.examples[data.examples["origin"] == origin].assign(score=lambda table: table["id"].map(scores))
    validation, test = (rows[rows["split"] == split] for split in ("validation", "test"))
    found = measures.tuned_threshold(validation["score"], validation["label"])
    assert round(100 * measures.balanced_accuracy(test["label"], test["score"] > found), 1) == accuracy
    if threshold is not None:
        assert round(found, 4) == threshold
        assert round(measures.auc(test["label"], test["score"]), 3) == area
