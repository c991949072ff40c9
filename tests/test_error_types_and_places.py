"""Which types of error are found, and whether doubted words stand where people marked errors."""

import numpy as np
import pandas as pd
import pytest
from fakes import FakeModel

from claimwise import models
from claimwise.analysis import statistics
from claimwise.corpora.base import Rows
from claimwise.corpora.frank import UNAGREED
from claimwise.experiments import error_types, localisation
from claimwise_embedded.localisation import DoubtedWord, Localiser
from claimwise_embedded.verifier import document_hash


@pytest.fixture
def typed(monkeypatch):
    """Two articles with a faithful and two unfaithful summaries each, and a metric that is published with them."""
    rows = Rows("toy")
    for split, number in [("validation", 1), ("test", 2)]:
        document = f"The cat sat on mat {number}."
        for system, summary, error, published in (
            ("a", "The cat sat.", None, 0.5),
            ("b", "The dog sat.", "EntE", 0.75),
            ("c", "Nine fish swam.", "EntE, OutE", 0.25),
        ):
            label = int(error is None)
            key = rows.example(number, system, split=split, document=document, summary=summary, label=label)
            rows.gold(key, [{"claim": summary, "label": label, "error": error}])
            rows.score(key, "old (published)", published)
    lost = rows.example(3, "a", split="test", document="The cat sat.", summary="The cat sat.", label=1)
    rows.gold(lost, [{"claim": "The cat sat.", "label": 1}])  # the published metric has no score for it
    monkeypatch.setattr(models, "load", lambda entry, cache: FakeModel())
    return error_types.collect({"toy": rows.corpus()}, ["own"], {"own": {}}, "acueval-verify-zeroshot", "")


def test_all_metrics_are_compared_on_the_rows_that_all_scored(typed):
    assert typed.groupby("model").size().to_dict() == {"old (published)": 6, "own": 6}
    assert typed["group"].unique().tolist() == ["toy"]


def test_a_summary_counts_for_each_of_its_types(typed):
    table = error_types.table(typed, draws=50, seed=0).set_index(["split", "error", "model"])
    own = table.xs("own", level="model").loc["test"]
    assert own["n"].to_dict() == {"any": 2, "EntE": 2, "OutE": 1}
    assert own["auc"].to_dict() == {"any": 1, "EntE": 1, "OutE": 1}
    old = table.xs("old (published)", level="model").loc["test"]
    assert old["auc"].to_dict() == {"any": 0.5, "EntE": 0.5, "OutE": 1}


def test_what_is_found_is_counted_on_test_rows_at_the_threshold_of_validation(typed):
    table = error_types.table(typed, draws=50, seed=0)
    assert table[table["split"] == "validation"]["found"].isna().all()
    own = table[(table["split"] == "test") & (table["model"] == "own")]
    assert own["found"].tolist() == [1, 1, 1]
    assert own["false_alarms"].tolist() == [0, 0, 0]


def test_what_is_shown_has_a_column_a_metric_and_may_be_empty(typed):
    table = error_types.table(typed, draws=50, seed=0)
    shown = error_types.areas(table)
    assert shown.columns.tolist()[-2:] == ["own", "old (published)"]
    assert shown["own"].tolist() == ["1.00 (–)"] * 3  # of fewer than ten summaries
    assert error_types.shares(table)["own"].tolist() == ["100 / 0"] * 3
    [said] = error_types.findings(table, "own")
    assert said.endswith(
        "2 unfaithful and 1 faithful test summaries: `own` AUC 1.00 (too few for an interval); of the published metrics "
        "old (published) has the highest there, 0.50 (too few for an interval). No type that annotators agreed on has 20 "
        "summaries. All AUCs rest on the same 1 faithful ones."
    )
    nothing = error_types.table(error_types.collect({}, ["own"], {}, "p", ""), 50, 0)
    assert nothing.empty
    assert error_types.areas(nothing).empty
    assert error_types.shares(nothing).empty
    assert error_types.findings(nothing, "own") == []


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        (
            {"EntE": 30, "OutE": 20, "LinkE": 19},
            "with at least 20 summaries, not tested against each other: EntE 0.60 (0.50 to 0.70) on 30, OutE 0.90 (0.80 to "
            "1.00) on 20.",
        ),
        ({"EntE": 30, "OutE": 5, "LinkE": 19}, "each other: EntE 0.60 (0.50 to 0.70) on 30."),
        ({"EntE": 3, "OutE": 5, "LinkE": 19}, "No type that annotators agreed on has 20 summaries."),
    ],
)
def test_types_that_annotators_agreed_on_are_named_with_their_intervals_where_they_are_not_rare(counts, told):
    areas = {"any": 0.7, "EntE": 0.6, "OutE": 0.9, "LinkE": 0.5, UNAGREED: 0.95}
    rows = [
        ["toy", "x", "test", error, counts.get(error, 50), 60, "own", area, area - 0.1, area + 0.1, 0.5, 0.5]
        for error, area in areas.items()
    ]
    [said] = error_types.findings(pd.DataFrame(rows, columns=error_types.COLUMNS), "own")
    assert said.endswith(told)


def test_an_area_and_its_interval_agree_with_drawing_rows_one_by_one():
    rng = np.random.default_rng(3)
    labels, groups = rng.integers(0, 2, 60), rng.integers(0, 20, 60)
    scores = np.round(labels * 0.5 + rng.normal(size=60), 1)  # with ties
    got = statistics.bootstrap_auc(labels, scores, groups, draws=200, seed=7)
    codes, names = pd.factorize(groups)
    drawn = []
    for times in statistics.resample(len(names), 200, 7):
        at = np.repeat(np.arange(60), times[codes])
        drawn.append(statistics.auc(labels[at], scores[at]))
    assert got.value == statistics.auc(labels, scores)
    assert [got.low, got.high] == pytest.approx(np.percentile(drawn, [2.5, 97.5]))


class FakeLocaliser:
    """Words of the summary from the fourth on are doubted, with less doubt the later they stand; "Mars" is absent."""

    def mark(self, documents, summaries):
        words = [[(s.index(w), w) for w in s.split()] for s in summaries]
        return [
            [
                DoubtedWord(a, a + len(w), 0.9 - n / 10 if n > 2 else 0.1, w == "Mars")
                for n, (a, w) in enumerate(several)
            ]
            for several in words
        ]


def test_flagged_words_are_set_against_marked_spans():
    rows = Rows("toy")
    summary = "Ann flew to Mars on Monday"
    for split in ("validation", "test"):
        key = rows.example(split, document="Ann flew on Monday.", summary=summary, label=0, split=split)
        rows.marked(key, [(0, 3), (12, 16), (27, 27)])  # Ann, Mars, and a span without a word
        rows.example(split, "right", document="Ann flew.", summary="Ann flew", label=1, split=split)
    found = localisation.collect([rows.corpus()], FakeLocaliser())
    assert set(found["split"]) == {"test"}
    table = localisation.table(found, draws=20, seed=0).set_index("by")
    assert table[["words", "spans"]].to_numpy().tolist() == [[6, 3]] * 2
    assert table["marked"].tolist() == pytest.approx([1 / 3] * 2)
    # Doubts: Ann .1, Mars .6 against flew .1, to .1, on .5, Monday .4; ties count half.
    assert table["auc"].to_dict() == pytest.approx({"embedded": 5 / 8, "absent word": 6 / 8})
    assert table["flagged"].tolist() == pytest.approx([1 / 6] * 2)
    assert table["inside"].tolist() == [1, 1]
    assert table["touched"].tolist() == pytest.approx([1 / 3] * 2)
    [said] = localisation.findings(table.reset_index())
    assert "6 content words of 1 texts" in said
    assert localisation.table(localisation.collect([], FakeLocaliser()), 20, 0).empty


def test_words_are_marked_at_their_places_and_by_the_checker_that_has_not_seen_the_document(monkeypatch):
    document = "The harbour reopened on Monday. Ana Reyes paid for the repairs."
    summary = "The harbour reopened on Friday.  Ana Reyes paid 300 crowns."
    localiser = Localiser()
    [both] = localiser.mark([document], [summary])
    words = [summary[w.start : w.end] for w in both]
    assert words == ["harbour", "reopened", "Friday", "Ana", "Reyes", "paid", "300", "crowns"]
    assert [w for w, word in zip(words, both, strict=True) if word.absent] == ["Friday", "300", "crowns"]
    doubt = {w: word.doubt for w, word in zip(words, both, strict=True)}
    assert min(doubt["Friday"], doubt["300"]) > max(doubt["harbour"], doubt["Reyes"])
    fold = document_hash(document) % localiser._heads.folds
    seen = []
    for number in (fold, fold + 1):
        monkeypatch.setattr(type(localiser._heads), "unseen_by", lambda heads, document, n=number: [n])
        seen.append([w.doubt for w in localiser.mark([document], [summary])[0]])
    assert seen[0] != seen[1]
    assert np.mean(seen, axis=0) == pytest.approx([w.doubt for w in both], abs=1e-6)
