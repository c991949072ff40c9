"""Replies on record as rows of the tables: read by our parsers, scored by the path of any metric."""

import numpy as np
import pytest

from claimwise.corpora.base import Rows
from claimwise.experiments import meta_display, meta_evaluation, recorded


@pytest.fixture
def judged():
    """Twelve summaries, half of them wrong; one model gives stars and gets all right, another says little."""
    rows = Rows("made")
    for number in range(12):
        wrong = number % 2
        example = rows.example(
            str(number),
            "lead",
            document=f"It rained on day {number}.",
            summary="It snowed." if wrong else "It rained.",
            split="validation" if number < 4 else "test",
            label=1 - wrong,
        )
        reply = "Two stars. It did not snow." if wrong else "Five stars. It did rain."
        rows.replied(example, "gpt-9", "stareval", "recorded-judge-stars", reply)
        rows.replied(example, "lm-1", "mcq", "recorded-judge-letter", "It depends." if number == 5 else "C")
        rows.replied(example, "lm-1", "explained", "recorded-verify-label", "supported")
    return rows.corpus()


def test_judges_on_record_become_score_tables(judged):
    tables = recorded.scores(judged)
    assert list(tables) == ["gpt-9 stareval (recorded)", "lm-1 mcq (recorded)"]
    assert tables["gpt-9 stareval (recorded)"]["score"].tolist() == [1, 0.25] * 6
    middle = tables["lm-1 mcq (recorded)"]
    assert middle["score"].dropna().unique().tolist() == [0.5]
    assert middle["example_id"].tolist() == judged.examples["id"].tolist()
    assert recorded.unparsed(tables).to_dict("records") == [
        {"recorded": "gpt-9 stareval (recorded)", "replies": 12, "unparsed": 0, "reasons": ""},
        {
            "recorded": "lm-1 mcq (recorded)",
            "replies": 12,
            "unparsed": 1,
            "reasons": "1 x no letter from A to E in the reply",
        },
    ]


def test_they_are_rows_of_the_meta_evaluation_on_the_rows_that_all_scored(judged):
    tables = recorded.scores(judged)
    chance = tables["lm-1 mcq (recorded)"].assign(metric="acueval", score=0.5)
    rows = meta_evaluation.collect(judged, {"acueval": chance, **tables}, by_origin=False)
    result = meta_evaluation.table(rows, meta_evaluation.columns(rows), "acueval", draws=50, seed=0).set_index("metric")
    assert result["n"].tolist() == [7, 7, 7]  # eight test rows, one of them not read
    assert result.loc["gpt-9 stareval (recorded)", "balanced_accuracy"] == 100
    assert result.loc["lm-1 mcq (recorded)", ["balanced_accuracy", "unscored"]].tolist() == [50, 1]
    corrected = meta_evaluation.corrected(result.reset_index().assign(corpus="made"))
    found = meta_display.findings(corrected, "acueval")
    assert "`acueval` has the highest balanced accuracy of our metrics" in found[0]
    assert "replies on record, `gpt-9 stareval (recorded)` reaches 100.0" in found[1]


def test_a_metric_without_scores_has_no_numbers_and_does_not_narrow_the_others(judged):
    tables = recorded.scores(judged)
    silent = tables["lm-1 mcq (recorded)"].assign(metric="acueval", score=np.nan)
    stars = tables["gpt-9 stareval (recorded)"]
    collected = meta_evaluation.collect(judged, {"acueval": silent, "holistic": stars}, by_origin=False)
    result = meta_evaluation.table(collected, ["acueval", "holistic"], "holistic", draws=50, seed=0).set_index("metric")
    assert result["n"].tolist() == [0, 8]
    assert result.loc["acueval", "unscored"] == 8
    assert np.isnan(result.loc["acueval", "balanced_accuracy"])
    assert result.loc["holistic", "balanced_accuracy"] == 100
    rows = meta_evaluation.corrected(result.reset_index().assign(corpus="made"))
    assert meta_display.sizes(rows) == {"made/all": "8 (50 % faithful)"}
    assert "`holistic` has the highest" in meta_display.findings(rows, "holistic")[0]
    # A baseline that scored nothing, or that is not there: nothing is claimed against it.
    for baseline in ("acueval", "word-overlap"):
        table = meta_evaluation.table(collected, ["acueval", "holistic"], baseline, draws=50, seed=0)
        [sentence] = meta_display.findings(meta_evaluation.corrected(table.assign(corpus="made")), baseline)
        assert sentence.endswith(f"it cannot be compared with {baseline}, which has no result.")


def test_a_test_part_of_one_label_has_no_balanced_accuracy_and_says_so(judged):
    rows = meta_evaluation.collect(judged, {"a": recorded.scores(judged)["gpt-9 stareval (recorded)"]}, by_origin=False)
    faithful = rows.assign(b=rows["a"], label=rows["label"].where(rows["split"] == "validation", 1.0))
    table = meta_evaluation.table(faithful, ["a", "b"], "b", draws=50, seed=0)
    assert table["n"].tolist() == [8, 8]
    assert table[["balanced_accuracy", "low", "auc", "difference", "p"]].isna().all(axis=None)
    [sentence] = meta_display.findings(meta_evaluation.corrected(table.assign(corpus="made")), "b")
    assert sentence == "**made**: none of our metrics can be compared with people's labels here."


def test_equal_summaries_of_two_systems_have_the_first_reply():
    rows = Rows("made")
    for system, reply in (("one", "Score: 5"), ("two", "Score: 1")):
        example = rows.example("0", system, document="It rained.", summary="Rain.")
        rows.replied(example, "gpt-9", "rts", "recorded-judge-rating", reply)
    assert recorded.scores(rows.corpus())["gpt-9 rts (recorded)"]["score"].tolist() == [1, 1]


def test_a_corpus_without_replies_has_no_rows():
    rows = Rows("made")
    rows.example("0", "one", document="It rained.", summary="Rain.")
    assert recorded.scores(rows.corpus()) == {}
    assert recorded.unparsed({}).empty
    assert recorded.caveats({}) == []
