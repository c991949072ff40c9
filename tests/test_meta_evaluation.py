"""Metrics against each other and the order of systems, on scores whose results are known."""

import numpy as np
import pandas as pd
import pytest

from claimwise.corpora.base import Rows
from claimwise.experiments import meta_display, meta_evaluation

SYSTEMS = [f"s{number}" for number in range(8)]


@pytest.fixture(scope="module")
def rows():
    """Eight systems of 40 documents, each faithful in as many as its number says; ``exact`` knows the label, ``flat`` nothing."""
    frame = pd.DataFrame(
        [
            {
                "id": f"{document}:{system}",
                "document_id": document,
                "system": system,
                "label": float(document % 8 < number),
            }
            for document in range(40)
            for number, system in enumerate(SYSTEMS)
        ]
    )
    return frame.assign(
        group=np.where(frame["document_id"] % 2, "xsum", "cnndm"),
        split=np.where(frame["document_id"] < 16, "validation", "test"),
        rating=frame["label"],
        exact=frame["label"],
        flat=0.5,
        silent=np.nan,
    )


METRICS = ["exact", "flat", "silent"]


def test_the_rating_of_a_summary_whose_claims_nobody_labelled_is_its_label():
    made = Rows("made")
    first, second, _ = (made.example(key, "s", document=key, summary="x", label=n % 2) for n, key in enumerate("abc"))
    made.gold(first, [{"claim": "one", "label": 1}, {"claim": "two", "label": 0}])
    made.gold(second, [{"claim": "one"}])
    assert meta_evaluation.collect(made.corpus(), {}, by_origin=False)["rating"].tolist() == [0.5, 1, 0]


def test_a_pair_has_a_row_in_every_group_with_the_first_less_the_second(rows):
    found = meta_evaluation.pairs(rows, METRICS, [["exact", "flat"], ["flat", "exact"]], seed=0)
    assert found[["group", "metric"]].to_numpy().tolist() == [
        [group, metric] for group in ("cnndm", "xsum") for metric in ("exact", "flat")
    ]
    assert found["difference"].tolist() == [50, -50] * 2
    assert found["auc_difference"].tolist() == [0.5, -0.5] * 2
    assert (found[["p", "auc_p"]] < 0.001).all(axis=None)


def test_a_pair_is_left_out_where_a_metric_scored_nothing_or_is_not_there(rows):
    assert meta_evaluation.pairs(rows, METRICS, [["exact", "silent"], ["exact", "other"]], seed=0).empty


def test_a_pair_has_the_numbers_that_the_table_has_beside_its_baseline(rows):
    table = meta_evaluation.table(rows, METRICS, "flat", draws=50, seed=0)
    [first, second] = meta_evaluation.pairs(rows, METRICS, [["exact", "flat"]], seed=0).to_dict("records")
    beside = table[table["metric"] == "exact"].set_index("group")
    for row in (first, second):
        for column in ("difference", "difference_low", "p", "auc_difference", "auc_p"):
            assert row[column] == beside.loc[row["group"], column]


def test_sentences_on_pairs_name_the_places_where_they_are_told_apart(rows):
    made = meta_evaluation.pairs(rows, METRICS, [["exact", "flat"], ["flat", "flat"]], seed=0).assign(corpus="made")
    apart, same = meta_display.pair_findings(meta_evaluation.corrected(made))
    assert apart.startswith("`exact` less `flat` in AUC: made, cnndm +0.500 (+0.500 to +0.500); made, xsum +0.500")
    assert "told apart on made, cnndm (balanced accuracy, +50.0, corrected p < .001)" in apart
    assert same.endswith("they are told apart on none, by either measure.")


def test_both_ends_of_the_tuned_interval_are_at_thresholds_of_the_validation_split(rows):
    # Tells the labels apart in either split, but at 2.5 in the test split, where validation finds 0.5.
    moved = rows.assign(moved=rows["label"] + 2 * (rows["split"] == "test"))
    table = meta_evaluation.table(moved, ["exact", "moved"], "exact", draws=50, seed=0)
    assert table["metric"].tolist() == ["exact", "moved"] * 2
    for column in ("balanced_accuracy", "tuned_low", "tuned_high"):
        assert table[column].tolist() == [100, 50] * 2


def test_systems_are_ordered_only_where_there_are_enough(rows):
    every = rows.assign(group="all")
    [exact, _, silent] = meta_evaluation.table(every, METRICS, "flat", 50, 0).to_dict("records")
    assert (exact["systems"], exact["kendall_system"]) == (8, pytest.approx(1))
    assert np.isnan(silent["systems"])
    few = every[every["system"] != "s7"]
    table = meta_evaluation.table(few, METRICS, "flat", 50, 0)
    assert table["kendall_system"].isna().all()
    assert table["kendall_summary"].iloc[0] == pytest.approx(1)
    assert meta_display.tau_findings(table.assign(corpus="made")) == []


def test_the_sentence_on_systems_has_every_metric_with_a_value(rows):
    table = meta_evaluation.table(rows.assign(group="all"), METRICS, "flat", 50, 0).assign(corpus="made")
    [sentence] = meta_display.tau_findings(table)
    assert sentence.startswith("**made**: between the means of 8 systems Kendall's tau with people is 1.00 (`exact`)")
    assert "flat" not in sentence  # all means are equal: there is no order


def test_columns_that_say_nothing_are_not_shown(rows):
    table = meta_evaluation.corrected(meta_evaluation.table(rows, METRICS[:2], "flat", 50, 0)).assign(
        corpus="made", published=np.nan
    )
    shown = meta_display.display(table)
    assert not {"unscored", "published"} & set(shown)
    assert shown["tuned"].tolist() == ["100.0 to 100.0", "50.0 to 50.0"] * 2
    assert {"unscored", "published"} <= set(meta_display.display(table.assign(unscored=[0, 1, 0, 0], published=70.0)))


def test_summevals_limits_are_told_where_it_is_reported_only():
    assert any("12 of its 16 systems" in sentence for sentence in meta_display.limits(["qags", "summeval"]))
    assert meta_display.limits(["qags"]) == []


def test_one_threshold_for_all_groups_is_tuned_on_the_validation_rows_of_all():
    def group(name, low, high):
        """Its metric tells right from wrong at any threshold between ``low`` and ``high``."""
        made = {"group": name, "split": ["validation"] * 4 + ["test"] * 4, "label": [0, 1] * 4, "system": "s"}
        ids = [f"{name}{i}" for i in range(8)]
        return pd.DataFrame(made | {"id": ids, "document_id": ids, "rating": [0, 1] * 4, "m": [low, high] * 4})

    rows = pd.concat([group("a", 0.1, 0.2), group("b", 0.7, 0.8)], ignore_index=True)
    own = meta_evaluation.table(rows, ["m"], "m", 20, 0).assign(corpus="made")
    assert own["balanced_accuracy"].tolist() == [100, 100]
    one = meta_evaluation.table(meta_evaluation.with_one_threshold(rows), ["m"], "m", 20, 0).assign(corpus="made")
    # Cut between .7 and .8 all of a are called unfaithful: half of its labels right, ties taking the highest threshold.
    assert one["balanced_accuracy"].tolist() == [50, 100]
    assert len(set(one["threshold"])) == 1
    assert one["n"].tolist() == [4, 4]
    shown = meta_display.at_one_threshold(one, own)
    assert shown["balanced_accuracy_at_one_a_group"].tolist() == [100, 100]
    first, second = meta_display.threshold_findings(shown)
    assert first.startswith("**made, a**")
    assert "50.0 to 50.0 (`m`), at a threshold of its own 100.0 to 100.0; `m` moves most, by -50.0" in first
    assert "by +0.0" in second
    assert meta_display.threshold_findings(shown[:0]) == []


def test_a_split_by_documents_has_every_document_on_one_side(rows):
    mixed = rows.assign(split=np.where(np.arange(len(rows)) % 2, "test", "validation"), group="all")
    again = meta_evaluation.split_by_documents(mixed.astype({"document_id": str}))
    assert not again.drop_duplicates(["document_id", "split"])["document_id"].duplicated().any()
    assert again["split"].value_counts(normalize=True).between(0.25, 0.75).all()
    assert again["exact"].equals(mixed["exact"])
    apart = meta_evaluation.table(again, METRICS[:2], "flat", 50, 0).assign(corpus="made")
    whole = meta_evaluation.table(mixed, METRICS[:2], "flat", 50, 0).assign(corpus="made")
    shown = meta_display.by_documents(apart, whole)
    assert shown["auc"].tolist() == shown["auc_of_the_papers_split"].tolist() == [1, 0.5]
    [sentence] = meta_display.document_findings(shown.assign(auc=[0.9, 0.5]), "flat")
    assert "AUC is 0.50 to 0.90 (`flat` 0.50), on the papers' split 0.50 to 1.00 (`flat` 0.50)" in sentence
    assert "moves `exact` by 0.10" in sentence
    assert meta_display.document_findings(shown[:0], "flat") == []
    assert shown["n"].tolist() == [(again["split"] == "test").sum()] * 2
