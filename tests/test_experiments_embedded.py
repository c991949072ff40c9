"""What the notebook on the embedded model says of verdicts."""

import math

import pandas as pd
import pytest
from fakes import FakeModel

from claimwise import models
from claimwise.corpora.base import Rows
from claimwise.experiments import embedded_model
from claimwise.models.base import Verdict


@pytest.fixture
def found(monkeypatch, tmp_path):
    """Verdicts of the fake (share of the claim's words that the document has) on claims with known errors."""
    rows = Rows("mine")
    claims = [
        {"claim": "The cat sat.", "label": 1},
        {"claim": "The dog sat.", "label": 0, "error": "entity"},
        {"claim": "Nine fish swam.", "label": 0, "error": "number"},
    ]
    for split in ("validation", "test"):
        key = rows.example(split, "s", split=split, document="The cat sat on the mat.", summary="The cat sat.", label=1)
        rows.gold(key, claims)
    monkeypatch.setattr(models, "load", lambda entry, cache: FakeModel())
    entries = {"embedded": {"kind": "embedded"}, "lexical": {"kind": "lexical"}}
    return embedded_model.verdicts(
        [rows.corpus()], ["embedded", "lexical"], entries, "acueval-verify-zeroshot", str(tmp_path / "calls.sqlite")
    )


def test_only_labelled_test_claims_are_verified_by_every_model(found):
    assert found.groupby("model").size().to_dict() == {"embedded": 3, "lexical": 3}
    assert set(found["split"]) == {"test"}
    assert found[found["model"] == "embedded"].set_index("claim")["support"].to_dict() == pytest.approx(
        {"The cat sat.": 1, "The dog sat.": 2 / 3, "Nine fish swam.": 0}
    )


def test_models_are_compared_on_the_claims_that_all_of_them_were_read_on(monkeypatch, tmp_path):
    class Lost(FakeModel):
        def verify(self, documents, claims, prompt, extras=None):
            read = super().verify(documents, claims, prompt, extras)
            return [
                [
                    Verdict(math.nan, "no reply") if "dog" in text else verdict
                    for text, verdict in zip(group, own, strict=True)
                ]
                for group, own in zip(claims, read, strict=True)
            ]

    rows = Rows("made")
    key = rows.example("0", "s", split="test", document="The cat sat.", summary="The cat sat.", label=1)
    rows.gold(key, [{"claim": "The cat sat.", "label": 1}, {"claim": "The dog sat.", "label": 0, "error": "entity"}])
    monkeypatch.setattr(models, "load", lambda entry, cache: Lost() if entry["kind"] == "lexical" else FakeModel())
    entries = {"embedded": {"kind": "embedded"}, "lexical": {"kind": "lexical"}}
    found = embedded_model.verdicts(
        [rows.corpus()], list(entries), entries, "acueval-verify-zeroshot", str(tmp_path / "c")
    )
    table = embedded_model.table(found, 20, 0).set_index("model")
    assert table["n"].to_dict() == {"embedded": 1, "lexical": 1}
    assert table["unread"].to_dict() == {"embedded": 0, "lexical": 1}


def test_errors_are_set_against_the_supported_claims(found):
    errors = embedded_model.by_error(found[found["model"] == "embedded"], 20, 0).set_index("error")
    assert errors["found"].to_dict() == {"entity": 0, "number": 1}
    assert errors["auc"].to_dict() == {"entity": 1, "number": 1}


def test_an_error_has_an_interval_where_ten_claims_of_either_kind_stand_behind_it(found):
    several = [found.assign(document_id=found["document_id"] + str(copy)) for copy in range(10)]
    errors = embedded_model.by_error(pd.concat(several), 20, 0)
    assert errors[["low", "high"]].to_numpy().tolist() == [[1, 1]] * 4
    errors = embedded_model.by_error(pd.concat(several[:9]), 20, 0)
    assert errors[["low", "high"]].isna().all(axis=None)
    assert embedded_model.error_lines(errors)["line"].tolist() == ["entity (9)", "number (9)"] * 2
    supported = embedded_model.by_error(found[found["label"] == 1], 20, 0)
    assert supported.empty
    assert "line" in embedded_model.error_lines(supported)


def test_what_is_said_of_reliability_follows_the_interval_of_the_difference(found):
    part = found[found["model"] == "embedded"]
    several = pd.concat([part.assign(document_id=f"d{copy}") for copy in range(10)])
    # Supports 1, 2/3 and 0, of which the first is true: 2/9 too high.
    [said] = embedded_model.about_reliability(several, 20, 0)
    assert said == (
        "**mine**: 3 of the 3 bins that hold claims are drawn, of 10 to 10 claims each. The mean support is 0.56, the share "
        "that people accepted 0.33: supports are too high on average (+0.22, +0.22 to +0.22)."
    )
    [said] = embedded_model.about_reliability(several.assign(label=1), 20, 0)
    assert "supports are too low on average (-0.44, -0.44 to -0.44)." in said
    mixed = several.assign(label=[0, 1, 1] * 5 + [1, 0, 0] * 5)
    [said] = embedded_model.about_reliability(mixed, 200, 0)
    assert "supports are not told from it on average (+0.06, -0." in said
    [said] = embedded_model.about_reliability(part, 20, 0)
    assert "0 of the 3 bins that hold claims are drawn. The" in said


def test_the_table_and_the_mistakes(found):
    row = embedded_model.table(found, draws=20, seed=0).iloc[0]
    assert (row["n"], row["auc"], row["balanced_accuracy"]) == (3, 1, 75)
    mistakes = embedded_model.confident_mistakes(found, "mine")
    assert mistakes["claim"].tolist() == ["The dog sat.", "Nine fish swam.", "The cat sat."]
    assert embedded_model.confident_mistakes(found, "another").empty


def test_reliability_has_a_line_a_corpus(found):
    assert embedded_model.reliability(found).empty  # a bin of one claim says nothing
    bins = embedded_model.reliability(pd.concat([found] * 10))
    assert bins["supported"].tolist() == [0, 0, 1]
    assert bins["support"].tolist() == pytest.approx([0, 2 / 3, 1])
    assert bins["corpus"].unique().tolist() == ["mine (ECE 0.22)"]


def test_variants_are_compared_on_test_summaries_with_thresholds_from_validation(monkeypatch, tmp_path):
    rows = Rows("mine")
    for split, number in [("validation", 0), ("validation", 1), ("test", 2), ("test", 3)]:
        for system, summary, label in (("good", "The cat sat.", 1), ("bad", "The dog sat.", 0)):
            document = f"The cat sat on mat {number}."
            rows.example(number, system, split=split, document=document, summary=summary, label=label)
    monkeypatch.setattr(models, "load", lambda entry, cache: FakeModel())
    entries = {"one": {"kind": "embedded"}, "two": {"kind": "embedded", "weights": "zero-shot"}}
    table = embedded_model.by_variant(
        {"mine": rows.corpus()}, {"mine": "all"}, ["one", "two"], entries, "acueval-verify-zeroshot", "", 20, 0
    )
    assert table["model"].tolist() == ["one", "two"]
    assert table["n"].tolist() == [4, 4]
    assert table["balanced_accuracy"].tolist() == [100, 100]
    assert table["difference"].tolist() == [0, 0]


def test_findings_on_variants_have_their_intervals(found):
    table = embedded_model.table(found, draws=20, seed=0)
    variants = pd.DataFrame(
        [("c", "xsum", "m", 9, 70.0, 60.0, 80.0)],
        columns=["corpus", "group", "model", "n", "balanced_accuracy", "low", "high"],
    )
    first, *_ = embedded_model.findings(table, variants)
    assert first == "**c, xsum**, 9 test summaries: balanced accuracy `m` 70.0 (60.0 to 80.0)."


@pytest.mark.parametrize(("auc", "told"), [(0.55, " That is hardly better than chance."), (0.8, "")])
def test_chance_is_named_beside_the_auc_that_it_is_of(found, auc, told):
    table = embedded_model.table(found[found["model"] == "embedded"], draws=20, seed=0).assign(auc=auc)
    empty = pd.DataFrame(columns=["corpus", "group", "model", "n", "balanced_accuracy", "low", "high"])
    [said] = embedded_model.findings(table, empty)
    assert said.startswith(f"**mine**, 3 test claims: AUC {auc:.2f}.{told} Balanced accuracy is 75.0 % (")
