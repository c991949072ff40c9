"""Statistics against hand-worked values, independent libraries and literal loops."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from claimwise.analysis import agreement as correlation
from claimwise.analysis import statistics

# Few distinct values on purpose: ties are where threshold searches and rank statistics differ.
SCORE = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1))
ROWS = st.lists(st.tuples(SCORE, st.integers(0, 1)), min_size=2, max_size=25)


def columns(rows):
    scores, labels = map(np.array, zip(*rows, strict=True))
    assume(0 < labels.sum() < len(labels))
    return scores, labels


def mean_recall(labels, scores, threshold):
    """Balanced accuracy, counted row by row."""
    caught = [score > threshold for score, label in zip(scores, labels, strict=True) if label == 1]
    spared = [score <= threshold for score, label in zip(scores, labels, strict=True) if label == 0]
    return (sum(caught) / len(caught) + sum(spared) / len(spared)) / 2


def literal_threshold(scores, labels):
    """AggreFact's search as its code has it: try the percentiles in order, keep the best seen last."""
    best, chosen = -1.0, None
    for percentile in range(0, 1000, 2):
        threshold = np.percentile(scores, percentile / 10)
        value = mean_recall(labels, scores, threshold)
        if value >= best - 1e-9:
            best, chosen = max(best, value), threshold
    return chosen


def clustered(documents, each, seed=0):
    """Labels, scores and groups where a document's rows are right or wrong together."""
    generator = np.random.default_rng(seed)
    right = np.repeat(generator.random(documents) < 0.7, each)
    labels = np.tile([0, 1], documents * each // 2)
    return labels, np.where(right, labels, 1 - labels).astype(float), np.repeat(np.arange(documents), each)


# ---------------------------------------------------------------- thresholds


def test_threshold_of_separable_scores_separates_them():
    scores, labels = [0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]
    threshold = statistics.best_threshold(scores, labels)
    assert 0.2 <= threshold < 0.8
    assert statistics.balanced_accuracy(labels, scores, threshold) == 1


def test_threshold_ties_keep_the_highest():
    # Any t in [0.2, 0.8) is perfect. Percentiles interpolate: 66.6 is 0.2 + 0.998 * 0.6 (rank 0.666 * 3 = 1.998).
    assert statistics.best_threshold([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]) == pytest.approx(0.2 + 0.998 * 0.6)


@settings(max_examples=25)
@given(ROWS)
def test_threshold_equals_the_literal_loop(rows):
    scores, labels = columns(rows)
    assert statistics.best_threshold(scores, labels) == pytest.approx(literal_threshold(scores, labels), abs=1e-12)


@settings(max_examples=25)
@given(ROWS)
def test_no_threshold_of_the_grid_is_better(rows):
    scores, labels = columns(rows)
    best = mean_recall(labels, scores, statistics.best_threshold(scores, labels))
    grid = [mean_recall(labels, scores, t) for t in np.percentile(scores, statistics.GRID)]
    assert best >= max(grid) - 1e-12


@given(ROWS, st.randoms())
def test_threshold_does_not_depend_on_the_order_of_rows(rows, random):
    scores, labels = columns(rows)
    mixed = list(rows)
    random.shuffle(mixed)
    assert statistics.best_threshold(*columns(mixed)) == statistics.best_threshold(scores, labels)


@pytest.mark.parametrize("labels", [[1, 1, 1], [0, 0, 0], []])
def test_a_threshold_needs_both_classes(labels):
    with pytest.raises(ValueError, match=rf"got {sum(labels)} faithful and {len(labels) - sum(labels)} unfaithful"):
        statistics.best_threshold([0.5] * len(labels), labels)


# ---------------------------------------------------------------- accuracy, AUC


@given(ROWS, SCORE)
def test_balanced_accuracy_is_the_mean_of_two_recalls(rows, threshold):
    scores, labels = columns(rows)
    ours = statistics.balanced_accuracy(labels, scores, threshold)
    assert ours == pytest.approx(mean_recall(labels, scores, threshold))


def test_balanced_accuracy_does_not_reward_the_common_class():
    assert statistics.balanced_accuracy([1] * 99 + [0], [1.0] * 100, 0.5) == 0.5


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
    assert statistics.auc(labels, scores, strata) == pytest.approx(expected, nan_ok=True)
    [drawn] = statistics.auc_draws(labels, scores, [0] * len(rows), 1, 0, strata)  # one document, drawn once
    assert drawn == pytest.approx(expected, nan_ok=True)
    interval = statistics.bootstrap_auc(labels, scores, [0] * len(rows), 2, 0, strata)
    assert interval == pytest.approx([expected] * 3, nan_ok=True)


@given(ROWS)
def test_auc_is_the_share_of_ordered_pairs(rows):
    scores, labels = columns(rows)
    pairs = [
        1.0 if a > b else 0.5 if a == b else 0.0 for a, x in rows if x == 1 for b, y in rows if y == 0
    ]  # Mann and Whitney's U, by hand
    assert statistics.auc(labels, scores) == pytest.approx(np.mean(pairs))


def test_auc_of_one_class_is_nan():
    assert math.isnan(statistics.auc([1, 1], [0.2, 0.4]))


# ---------------------------------------------------------------- intervals


@given(ROWS, st.integers(0, 5))
def test_bootstrap_value_is_the_balanced_accuracy_and_lies_in_its_interval(rows, seed):
    scores, labels = columns(rows)
    interval = statistics.bootstrap_accuracy(labels, scores, 0.5, range(len(labels)), draws=300, seed=seed)
    assert interval.value == pytest.approx(balanced_accuracy_score(labels, scores > 0.5))
    assert 0 <= interval.low <= interval.high <= 1
    perfect_or_useless = interval.value in (0, 1)
    assert (interval.low == interval.high == interval.value) or not perfect_or_useless


def test_bootstrap_interval_covers_the_value_and_is_about_as_wide_as_theory_says():
    generator = np.random.default_rng(1)
    labels = np.tile([0, 1], 500)
    right = generator.random(1000) < 0.8
    interval = statistics.bootstrap_accuracy(labels, np.where(right, labels, 1 - labels), 0.5, range(1000))
    # Balanced accuracy of 500 + 500 rows: standard error sqrt(r0 (1-r0) / 500 + r1 (1-r1) / 500) / 2.
    recalls = [right[labels == 0].mean(), right[labels == 1].mean()]
    theory = 1.96 * math.sqrt(sum(r * (1 - r) / 500 for r in recalls)) / 2
    assert interval.low < interval.value < interval.high
    assert interval.half == pytest.approx(theory, rel=0.15)


def test_bootstrap_draws_documents_not_rows():
    # 20 rows of a document share their fate, so the interval is about sqrt(20) times as wide as over rows.
    labels, scores, groups = clustered(documents=60, each=20)
    by_document = statistics.bootstrap_accuracy(labels, scores, 0.5, groups)
    by_row = statistics.bootstrap_accuracy(labels, scores, 0.5, range(len(labels)))
    assert by_document.value == by_row.value
    assert by_document.half / by_row.half == pytest.approx(math.sqrt(20), rel=0.25)


def test_one_document_has_no_spread():
    labels, scores = [0, 1, 1, 0], [0.1, 0.9, 0.2, 0.3]
    interval = statistics.bootstrap_accuracy(labels, scores, 0.5, ["d"] * 4)
    assert interval == (0.75, 0.75, 0.75)


@pytest.mark.parametrize("names", [list("aabbccdd"), [7, 7, 1, 1, 3, 3, 2, 2]])
def test_bootstrap_does_not_depend_on_what_the_documents_are_called(names):
    labels, scores = [0, 1] * 4, [0.1, 0.9, 0.6, 0.7, 0.2, 0.3, 0.4, 0.8]
    reference = statistics.bootstrap_accuracy(labels, scores, 0.5, [0, 0, 1, 1, 2, 2, 3, 3])
    assert statistics.bootstrap_accuracy(labels, scores, 0.5, names) == reference


def test_same_seed_same_interval_other_seed_another():
    labels, scores = np.tile([0, 1], 60), np.random.default_rng(8).random(120)
    groups = np.sort(np.random.default_rng(9).integers(0, 40, 120))
    first, again, other = (statistics.bootstrap_accuracy(labels, scores, 0.5, groups, seed=s) for s in (1, 1, 2))
    assert first == again
    assert first != other
    assert first.value == other.value


def test_published_interval_is_about_half_as_wide_as_a_bootstrap():
    # Drawing 80 % without replacement has (1 - .8) / .8 = 1/4 of the bootstrap's variance, half its spread.
    generator = np.random.default_rng(2)
    labels = np.tile([0, 1], 300)
    scores = np.where(generator.random(600) < 0.7, labels, 1 - labels)
    published = statistics.published_interval(labels, scores, 0.5)
    true = statistics.bootstrap_accuracy(labels, scores, 0.5, range(600))
    assert published / true.half == pytest.approx(0.5, abs=0.08)


def test_published_interval_as_its_authors_compute_it():
    generator = np.random.default_rng(3)
    labels = generator.integers(0, 2, 200)
    scores = np.where(generator.random(200) < 0.75, labels, 1 - labels)
    frame = pd.DataFrame({"label": labels, "hit": scores > 0.5})
    values = []
    for draw in range(1000):
        part = frame.sample(frac=0.8, replace=False, random_state=draw)
        values.append(balanced_accuracy_score(part["label"], part["hit"]))
    expected = np.mean(values) - np.percentile(values, 2.5)
    assert statistics.published_interval(labels, scores, 0.5) == pytest.approx(expected, rel=0.1)


@given(st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=30))
def test_bootstrap_mean_leaves_nan_out(values):
    interval = statistics.bootstrap_mean(values, draws=200)
    known = [value for value in values if not math.isnan(value)]
    if not known:
        assert all(math.isnan(part) for part in interval)
    else:
        assert interval.value == pytest.approx(np.mean(known))
        assert min(known) - 1e-12 <= interval.low <= interval.high <= max(known) + 1e-12


def test_bootstrap_mean_matches_scipy():
    values = np.random.default_rng(4).normal(size=200)
    expected = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=5000, rng=0).confidence_interval
    interval = statistics.bootstrap_mean(values, draws=5000)
    assert interval.low == pytest.approx(expected.low, abs=0.02)
    assert interval.high == pytest.approx(expected.high, abs=0.02)


def test_bootstrap_mean_keeps_groups_together():
    values = np.repeat(np.random.default_rng(5).normal(size=50), 16)
    groups = np.repeat(np.arange(50), 16)
    by_group, by_row = statistics.bootstrap_mean(values, groups), statistics.bootstrap_mean(values)
    assert by_group.half / by_row.half == pytest.approx(4, rel=0.2)


def test_draws_without_a_whole_have_no_ratio():
    # One draw in four takes the second document alone, of which there is nothing to take a part of.
    assert statistics.bootstrap_ratio([1, 0], [2, 0], ["a", "b"]) == (0.5, 0.5, 0.5)


def scored(n, seed, noise=1.0):
    """Two rows a document, scores that rank them somewhat."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, n)
    scores = labels + noise * generator.standard_normal(n)
    return pd.DataFrame({"label": labels, "m": scores, "document_id": np.arange(n) // 2})


def literal_draws(validation, test, draws, seed):
    """Each draw's test accuracy at the threshold that is best on its validation rows, one row after the other."""
    cuts = np.percentile(validation["m"], statistics.GRID)
    names = list(pd.unique(pd.concat([validation["document_id"], test["document_id"]])))
    for times in statistics.resample(len(names), draws, seed):
        v, t = (part.loc[part.index.repeat(times[part["document_id"].map(names.index)])] for part in (validation, test))
        accuracies = [round(statistics.balanced_accuracy(v["label"], v["m"], cut), 12) for cut in cuts]
        best = max(range(len(cuts)), key=lambda k: (accuracies[k], k))
        yield statistics.balanced_accuracy(t["label"], t["m"], cuts[best])


@pytest.mark.parametrize("first", [0, 15, 30], ids=["all documents shared", "half", "none"])
def test_a_threshold_that_is_drawn_too_is_tuned_on_every_draw(first):
    validation, test = scored(60, 1), scored(50, 2)
    test["document_id"] += first
    found = statistics.bootstrap_tuned(validation, test, "m", draws=8, seed=4)
    drawn = list(literal_draws(validation, test, 8, 4))
    assert statistics.tuned_draws(validation, test, "m", 8, 4) == pytest.approx(drawn)
    assert [found.low, found.high] == pytest.approx(np.percentile(drawn, [2.5, 97.5]))
    threshold = statistics.best_threshold(validation["m"], validation["label"])
    assert found.value == statistics.balanced_accuracy(test["label"], test["m"], threshold)


def test_a_draw_with_one_label_only_in_a_part_says_nothing():
    # Of two documents, one with each label, half of the draws take one of them twice.
    rows = pd.DataFrame({"label": [1, 0], "m": [0.9, 0.1], "document_id": [0, 1]})
    drawn = statistics.tuned_draws(rows, rows, "m", 2000, 0)
    assert np.isnan(drawn).mean() == pytest.approx(0.5, abs=0.05)
    assert (drawn[~np.isnan(drawn)] == 1).all()


def test_tuning_adds_to_the_uncertainty():
    validation, test = scored(40, 1, 2.0), scored(800, 2, 2.0)
    threshold = statistics.best_threshold(validation["m"], validation["label"])
    held = statistics.bootstrap_accuracy(test["label"], test["m"], threshold, test["document_id"])
    assert statistics.bootstrap_tuned(validation, test, "m").half > 1.2 * held.half


@pytest.mark.parametrize("label", [0, 1])
def test_labels_of_one_class_have_no_balanced_accuracy(label):
    labels, scores = [label] * 6, [0.1, 0.9] * 3
    found = statistics.bootstrap_accuracy(labels, scores, 0.5, range(6))
    assert np.isnan([*found, statistics.published_interval(labels, scores, 0.5)]).all()


# ---------------------------------------------------------------- correlation


def test_kendall_system_by_hand():
    # Means a 1.5, b 3, c 2 against 1, 3, 4: pairs ab and ac agree, bc does not: (2 - 1) / 3.
    scores, human, systems = [1, 2, 3, 3, 2, 2], [1, 1, 2, 4, 4, 4], list("aabbcc")
    assert correlation.kendall_system(scores, human, systems) == pytest.approx(1 / 3)


def test_kendall_summary_by_hand():
    scores = [1, 2, 3, 1, 2, 3, 5, 5, 5, 9]
    human = [1, 2, 3, 1, 3, 2, 1, 2, 3, 9]
    documents = [*"aaabbbccc", "d"]
    # a: 1; b: (2 - 1) / 3; c has constant scores and d one summary: left out.
    assert correlation.kendall_summary(scores, human, documents) == (pytest.approx((1 + 1 / 3) / 2), 2)


def test_kendall_summary_without_any_order_is_nan():
    for scores, documents in (([1, 1], ["a", "a"]), ([1, 2], ["a", "b"])):
        tau, counted = correlation.kendall_summary(scores, [1, 2], documents)
        assert math.isnan(tau)
        assert counted == 0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=20))
def test_kendall_of_one_summary_a_system_is_tau_b(rows):
    scores, human = map(list, zip(*rows, strict=True))
    expected = stats.kendalltau(scores, human).statistic
    assert correlation.kendall_system(scores, human, range(len(rows))) == pytest.approx(expected, nan_ok=True)


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
    found = statistics.best_threshold(validation["score"], validation["label"])
    reached = 100 * statistics.balanced_accuracy(test["label"], test["score"], found)
    assert round(reached, 1) == accuracy
    if threshold is not None:
        assert round(found, 4) == threshold
        assert round(statistics.auc(test["label"], test["score"]), 3) == area
        assert statistics.auc(test["label"], test["score"]) == pytest.approx(
            roc_auc_score(test["label"], test["score"])
        )
    interval = statistics.bootstrap_accuracy(test["label"], test["score"], found, test["document_id"])
    assert interval.low < reached / 100 < interval.high


@pytest.mark.parametrize(("origin", "plus_minus"), [("cnndm", 3.2), ("xsum", 1.8)])
def test_the_papers_interval(published_corpus, origin, plus_minus):
    data = published_corpus("aggrefact_ftsota")
    rows = data.examples.assign(score=data.examples["id"].map(data.scores.set_index("example_id")["score"]))
    rows = rows[rows["origin"] == origin]
    validation, test = (rows[rows["split"] == split] for split in ("validation", "test"))
    threshold = statistics.best_threshold(validation["score"], validation["label"])
    half = 100 * statistics.published_interval(test["label"], test["score"], threshold, draws=5000)
    # The value to reach comes of 1000 draws: on CNN/DM, with 57 unfaithful rows, it moves by 0.1 from seed to seed.
    assert half == pytest.approx(plus_minus, abs=0.25)
