"""Metrics against people's labels: which rows tune a threshold, which are compared, and what is tested."""

import numpy as np
import pandas as pd
import pytest

from claimwise.analysis.labels import agreement_table, comparable, difference, labelled_scores
from claimwise.corpora.base import Rows
from claimwise.errors import ClaimwiseError

SYSTEMS = [f"s{number}" for number in range(8)]


@pytest.fixture(scope="module")
def rows():
    """Eight systems of 40 documents, each faithful in as many as its number says; ``exact`` knows the label, ``flat`` nothing."""
    frame = pd.DataFrame([(d, s, float(d % 8 < number)) for d in range(40) for number, s in enumerate(SYSTEMS)])
    frame = frame.set_axis(["document_id", "system", "label"], axis=1)
    return frame.assign(
        group="all",
        split=np.where(frame["document_id"] < 16, "validation", "test"),
        rating=frame["label"],
        exact=frame["label"],
        flat=0.5,
        silent=np.nan,
    )


def test_agreement_of_a_metric_that_knows_the_label_and_one_that_knows_nothing(rows):
    table = agreement_table(rows, ["exact", "flat", "silent"], "flat", draws=50).set_index("metric")
    assert table.loc["exact", ["n", "balanced_accuracy", "low", "high", "auc"]].tolist() == [192, 100, 100, 100, 1]
    assert table.loc["flat", ["n", "balanced_accuracy", "auc", "difference"]].tolist() == [192, 50, 0.5, 0]
    assert table.loc["exact", ["difference", "auc_difference"]].tolist() == [50, 0.5]
    assert table.loc["exact", ["p", "auc_p"]].max() < 0.001
    assert table.loc["flat", ["p", "auc_p"]].isna().all()  # of a metric and itself there is nothing to test
    orders = table.loc["exact", ["systems", "kendall_system", "kendall_summary"]].tolist()
    assert orders == pytest.approx([8, 1, 1])
    # A metric without scores has no numbers, and takes no rows from the others.
    assert table.loc["silent", ["n", "unscored"]].tolist() == [0, 192]
    assert np.isnan(table.loc["silent", "balanced_accuracy"])


def test_the_threshold_is_that_of_the_validation_split(rows):
    # Tells as much in the test split, but at another threshold.
    moved = rows.assign(moved=rows["label"] + 2 * (rows["split"] == "test"))
    table = agreement_table(moved, ["exact", "moved"], "exact", draws=50).set_index("metric")
    assert table["balanced_accuracy"].to_dict() == {"exact": 100, "moved": 50}
    assert table.loc["moved", ["tuned_low", "tuned_high"]].tolist() == [50, 50]
    assert table["auc"].tolist() == [1, 1]
    assert difference(moved, "moved", "exact", seed=0)["auc_p"] == 1


def test_another_rule_for_the_threshold_is_followed_by_the_whole_table(rows):
    # Below one half everything is called unfaithful, at -1 nothing is.
    low = rows.assign(low=rows["label"] / 3)
    for threshold, reached in ((0.5, 50), (0.1, 100), (-1, 50)):
        table = agreement_table(
            low, ["exact", "low"], "exact", draws=50, rule=lambda scores, labels, weights=None, at=threshold: at
        ).set_index("metric")
        assert table["threshold"].tolist() == [threshold, threshold]
        assert table.loc["low", ["balanced_accuracy", "tuned_low", "tuned_high"]].tolist() == [reached] * 3
        assert table.loc["low", "difference"] == reached - table.loc["exact", "balanced_accuracy"]


def test_metrics_are_compared_on_the_rows_that_all_of_them_scored(rows):
    holes = rows.assign(holes=rows["label"].mask(rows.index % 4 == 3))
    table = agreement_table(holes, ["exact", "holes"], "exact", draws=20).set_index("metric")
    assert table["n"].tolist() == [144, 144]
    assert table["unscored"].to_dict() == {"exact": 0, "holes": 48}


def test_metrics_that_scored_no_row_in_common_cannot_be_compared(rows):
    odd = rows.index % 2 == 1
    apart = rows.assign(one=rows["label"].mask(odd), other=rows["label"].mask(~odd))
    assert comparable(apart, ["one", "other"])[0] == []
    table = agreement_table(apart, ["one", "other"], "one", draws=20)
    assert table["n"].tolist() == [0, 0]
    assert table["balanced_accuracy"].isna().all()


def test_without_validation_rows_there_is_no_threshold_and_still_an_order(rows):
    table = agreement_table(rows.assign(split="test"), ["exact", "flat"], "flat", draws=20).set_index("metric")
    assert table["auc"].to_dict() == {"exact": 1.0, "flat": 0.5}
    assert table[["balanced_accuracy", "threshold"]].isna().all(axis=None)


@pytest.mark.parametrize("columns", [{"split": "validation"}, {"label": 1.0}])
def test_without_what_a_threshold_needs_rows_have_no_numbers(rows, columns):
    table = agreement_table(rows.assign(**columns), ["exact", "flat"], "flat", draws=20)
    assert (table["n"] == 0).all()
    assert table[["balanced_accuracy", "difference"]].isna().all(axis=None)


def test_without_a_threshold_a_row_without_a_score_counts_in_no_order(rows):
    test = rows[rows["split"] == "test"].reset_index(drop=True)
    # One system's row of every document has no score: the others still stand in people's order.
    gaps = test.assign(gaps=test["exact"].where(test["system"] != "s3"))
    [row] = agreement_table(gaps, ["gaps"], "gaps", draws=50).to_dict("records")
    [whole] = agreement_table(test[test["system"] != "s3"], ["exact"], "exact", draws=50).to_dict("records")
    orders = ["systems", "kendall_system", "kendall_summary", "kendall_documents"]
    assert [row[name] for name in orders] == pytest.approx([whole[name] for name in orders], nan_ok=True)
    assert whole["systems"] == 7


def test_a_corpus_without_labels_is_said_to_have_none():
    made = Rows("mine")
    made.example("key", "s", document="It rained.", summary="Rain.")
    with pytest.raises(
        ClaimwiseError, match=r"corpus 'mine': none of 1 summaries has a label, expected 1 \(faithful\)"
    ):
        labelled_scores(made.corpus(), {}, by_origin=False)


def test_published_scores_are_metrics_and_ratings_are_not():
    made = Rows("made")
    first, second, third = (
        made.example(key, "s", document=key, summary="x", label=n % 2, origin=key) for n, key in enumerate("abc")
    )
    made.gold(first, [{"claim": "one", "label": 1}, {"claim": "two", "label": 0}])
    made.gold(second, [{"claim": "one"}])
    made.score(first, "theirs", 0.9)
    ours = {"ours": pd.DataFrame({"example_id": [first, second, third], "score": [0.1, 0.2, 0.3]})}
    rows, names = labelled_scores(made.corpus(), ours, by_origin=True)
    assert names == ["ours", "theirs"]
    assert rows["group"].tolist() == ["a", "b", "c"]
    assert rows["ours"].tolist() == [0.1, 0.2, 0.3]
    # People's share of supported claims; the label, where nobody labelled a claim.
    assert rows["rating"].tolist() == [0.5, 1, 0]
    made.score(first, "human consistency", 4.5)
    rows, names = labelled_scores(made.corpus(), ours, by_origin=False)
    assert names == ["ours", "theirs"]
    assert rows["rating"].tolist() == [4.5, 1, 0]
    assert set(rows["group"]) == {"all"}
