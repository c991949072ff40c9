"""acu_verification: from corpora and a model to tables, worked by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from fakes import FakeModel
from scipy import stats

from claimwise.corpora.base import Rows
from claimwise.experiments import acu_verification, report

ZERO_SHOT = "acueval-verify-zeroshot"

# ---------------------------------------------------------------- acu_verification

DOCUMENT = "The cat sat on the mat. It rained."


def labelled(documents=4, split="test", rows=None):
    rows = rows or Rows("made")
    for number in range(documents):
        document = f"{DOCUMENT} Number {split} {number}."
        example = rows.example(split, number, "s", document=document, summary="It rained.", split=split)
        claims = [
            {"claim": "It rained.", "label": 1},
            {"claim": "Dogs bark loudly.", "label": 0, "error": "out-of-article"},
            {"claim": "The cat sat.", "label": 1},
            {"claim": "It rained pigs.", "label": 0, "error": "entity"},
            {"claim": "Nobody labelled this."},
        ]
        rows.gold(example, claims)
    return rows


@pytest.fixture(scope="module")
def claims():
    return acu_verification.labelled_claims(labelled(split="validation", rows=labelled()).corpus())


def test_labelled_claims_leave_out_the_unlabelled_and_know_their_text(claims):
    assert len(claims) == 2 * 4 * 4
    assert claims["label"].notna().all()
    assert (claims["document"].str.startswith(DOCUMENT)).all()
    assert claims["extra"].isna().all()


def test_a_passage_takes_the_documents_place_and_groups_stay_together():
    rows = Rows("made")
    example = rows.example("0", "s", document="The whole source.", summary="A summary.")
    passages = ["Passage b.", "Passage a.", None, "Passage b."]
    rows.gold(
        example,
        [{"claim": f"c{i}", "label": 1, "passage": passage, "extra": "beside"} for i, passage in enumerate(passages)],
    )
    table = acu_verification.labelled_claims(rows.corpus())
    assert table["document"].tolist() == ["Passage a.", "Passage b.", "Passage b.", "The whole source."]
    assert table["claim"].tolist() == ["c1", "c0", "c3", "c2"]
    assert set(table["extra"]) == {"beside"}


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_every_claim_gets_its_own_verdict(claims, batch):
    found = acu_verification.run(claims, ["acueval-verify-zeroshot"], FakeModel(), shots=4, seed=0, batch=batch)
    expected = {"It rained.": 1, "Dogs bark loudly.": 0, "The cat sat.": 1, "It rained pigs.": 2 / 3}
    assert found["support"].tolist() == pytest.approx([expected[claim] for claim in found["claim"]])
    assert found["claim"].tolist() == claims["claim"].tolist()
    assert set(found["prompt"]) == {"acueval-verify-zeroshot"}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_demonstrations_are_balanced_from_validation_and_of_different_documents(seed):
    many = acu_verification.labelled_claims(labelled(40, split="validation", rows=labelled(4)).corpus())
    shown = acu_verification.draw_demonstrations(many, shots=8, seed=seed)
    assert [demonstration.label for demonstration in shown].count(True) == 4
    passages = [demonstration.passage for demonstration in shown]
    assert len(set(passages)) == len(passages) == 8
    assert all("validation" in passage for passage in passages)
    known = set(zip(many["document"], many["claim"], many["label"] == 1, strict=True))
    assert {(d.passage, d.claim, d.label) for d in shown} <= known
    assert shown == acu_verification.draw_demonstrations(many, shots=8, seed=seed)


def test_few_shot_prompts_are_shown_drawn_demonstrations_and_zero_shot_none(claims):
    class Watching(FakeModel):
        def verify(self, documents, claims, prompt, extras=None):
            seen[prompt.name] = prompt.demonstrations
            return super().verify(documents, claims, prompt, extras)

    seen = {}
    names = ["acueval-verify-zeroshot", "acueval-verify-fewshot", "acueval-verify-fewshot-document"]
    beside = claims.assign(extra="Another text.")
    found = acu_verification.run(beside, names, Watching(), shots=4, seed=1)
    assert seen[names[0]] == ()
    assert list(seen[names[1]]) == list(seen[names[2]]) == acu_verification.draw_demonstrations(claims, 4, 1)
    assert found["prompt"].value_counts().to_dict() == dict.fromkeys(names, len(claims))
    # Without another text to show, the prompt that shows one has nothing to ask.
    found = acu_verification.run(claims, names, FakeModel(), shots=4, seed=1)
    assert set(found["prompt"]) == set(names[:2])


def verdicts(claims, **columns):
    return claims.assign(task="support", prompt=ZERO_SHOT, reason=None, shown=False, **columns)


def test_the_table_by_hand(claims):
    # Support 1, 0, 1, 2/3: at 0.5 three of four are right; a tuned threshold above 2/3 gets all of them.
    found = acu_verification.run(claims, ["acueval-verify-zeroshot"], FakeModel(), shots=4, seed=0)
    table = acu_verification.table(found.assign(task="support"), ZERO_SHOT, draws=200, seed=0)
    row, constant = table.to_dict("records")
    assert (row["n"], row["unparsed"]) == (16, 0)
    assert row["accuracy"] == row["accuracy_low"] == row["accuracy_high"] == 75  # every document the same
    assert row["balanced_accuracy"] == 100
    assert row["balanced_at_half"] == 75  # both right claims accepted, one of the two wrong ones
    assert row["balanced_at_half_low"] == row["balanced_at_half_high"] == 75
    assert (row["auc"], row["yes"], row["supported"]) == (1, 0.75, 0.5)
    assert row["ece"] == pytest.approx((2 / 3) / 4)
    assert (constant["prompt"], constant["accuracy"], constant["n"]) == ("always Yes", 50, 16)


def test_a_support_of_one_half_is_accepted_in_every_column(claims):
    support = claims["label"].map({1: 0.5, 0: 0.4})
    table = acu_verification.table(
        verdicts(claims[claims["split"] == "test"], support=support), ZERO_SHOT, draws=20, seed=0
    )
    assert table.loc[0, ["accuracy", "balanced_at_half", "balanced_accuracy"]].tolist() == [100, 100, 100]


def test_unparsed_verdicts_are_counted_and_left_out(claims):
    support = np.where(claims["claim"] == "The cat sat.", np.nan, claims["label"])
    table = acu_verification.table(verdicts(claims, support=support), ZERO_SHOT, draws=50, seed=0)
    assert table.loc[0, ["n", "unparsed", "accuracy"]].tolist() == [12, 4, 100]
    assert table.loc[0, "supported"] == pytest.approx(1 / 3)


def test_errors_found_by_type(claims):
    support = claims["claim"].map({"Dogs bark loudly.": 0.1, "It rained pigs.": 0.9}).fillna(1.0)
    found = acu_verification.by_error(verdicts(claims, support=support), "acueval-verify-zeroshot")
    assert found.drop(columns="task").to_dict("records") == [
        {"error": "entity", "n": 4, "found": 0},
        {"error": "out-of-article", "n": 4, "found": 1},
    ]
    # Tasks may ask about the same claims: they are never added up.
    twice = pd.concat([verdicts(claims, support=support).assign(task=task) for task in ("long", "short")])
    found = acu_verification.by_error(twice, "acueval-verify-zeroshot")
    assert found[["task", "n"]].to_records(index=False).tolist() == [("long", 4)] * 2 + [("short", 4)] * 2


def test_the_accuracys_interval_is_over_documents():
    # Each document all right or all wrong: the interval is that of the documents' share, not of the claims'.
    right = np.repeat([1, 0], [30, 10])
    frame = pd.DataFrame(
        {
            "task": "support",
            "prompt": ZERO_SHOT,
            "shown": False,
            "split": "test",
            "example_id": np.repeat([f"d{number}" for number in range(40)], 20),
            "claim_index": np.tile(np.arange(20), 40),
            "claim": np.tile(np.arange(20).astype(str), 40),
            "document_id": np.repeat([f"d{number}" for number in range(40)], 20),
            "label": np.tile([0.0, 1.0], 400),
        }
    )
    frame["support"] = np.where(np.repeat(right, 20), frame["label"], 1 - frame["label"])
    frame = pd.concat([frame, frame.assign(split="validation")])
    row = acu_verification.table(frame, ZERO_SHOT, draws=2000, seed=0).iloc[0]
    expected = stats.binom.interval(0.95, 40, 0.75)
    assert row[["accuracy_low", "accuracy_high"]].tolist() == pytest.approx([100 * e / 40 for e in expected], abs=3)


def test_excerpts_of_one_claim_are_counted_as_one_claim(claims):
    once = verdicts(claims, support=0.3)
    thrice = pd.concat([once.assign(example_id=once["example_id"] + part) for part in "abc"])
    rows = {len(frame): acu_verification.table(frame, ZERO_SHOT, 50, 0).iloc[0] for frame in (once, thrice)}
    one, three = rows.values()
    assert (three["n"], three["n_claims"]) == (3 * one["n"], one["n"])
    # Copies make the error of so few claims no smaller.
    assert three["ece_exact_high"] == pytest.approx(one["ece_exact_high"])
    [sentence] = acu_verification.findings(acu_verification.table(thrice, ZERO_SHOT, 50, 0), ZERO_SHOT)
    assert f"{three['n']} checks of {one['n']} claims" in sentence
    # The same claims asked of three texts with a label each: so many checks are so many claims, and their error is smaller.
    other = (thrice["split"] == "test") & thrice["example_id"].str.endswith("c")
    each = thrice.assign(label=thrice["label"].where(~other, 1 - thrice["label"]))
    own = acu_verification.table(each, ZERO_SHOT, 50, 0).iloc[0]
    assert (own["n"], own["n_claims"]) == (three["n"], three["n"])
    assert own["ece_exact_high"] < three["ece_exact_high"]


def test_another_prompt_is_compared_with_the_reference_claim_by_claim(claims):
    other_prompt = "factscore-verify-retrieved"
    right = verdicts(claims, support=claims["label"])
    other = right.assign(prompt=other_prompt, support=claims["label"].where(claims["claim"] != "It rained.", 0))
    table = acu_verification.table(pd.concat([right, other]), ZERO_SHOT, draws=50, seed=0).set_index("prompt")
    # One of the two supported claims in four is rejected: the same in every document, so that all draws are alike.
    assert table.loc[other_prompt, ["change", "change_low", "change_high"]].tolist() == [-25, -25, -25]
    assert table.loc[other_prompt, ["auc_change", "auc_change_high"]].tolist() == [-0.25, -0.25]
    assert table.loc[[ZERO_SHOT, "always Yes"], "change"].isna().all()
    changes = acu_verification.changes(table.reset_index())
    assert changes["prompt"].tolist() == [other_prompt]
    sentences = acu_verification.findings(table.reset_index(), other_prompt)  # the one that is reported, not the best
    assert sentences[0].startswith("**support**: `factscore-verify-retrieved` agrees with people on 75.0 %")


def test_claims_that_were_shown_as_demonstrations_tune_no_threshold():
    many = acu_verification.labelled_claims(labelled(20, split="validation", rows=labelled(4)).corpus())
    found = acu_verification.run(many, [ZERO_SHOT, "acueval-verify-fewshot"], FakeModel(), shots=8, seed=0)
    shown = found[found["shown"]]
    assert set(shown["prompt"]) == {"acueval-verify-fewshot"}
    assert set(shown["split"]) == {"validation"}
    assert len(shown) == 8
    table = acu_verification.table(found.assign(task="support"), ZERO_SHOT, draws=20, seed=0).set_index("prompt")
    assert table.loc[ZERO_SHOT, "tuned_on"] == (many["split"] == "validation").sum()
    assert table.loc["acueval-verify-fewshot", "tuned_on"] == table.loc[ZERO_SHOT, "tuned_on"] - 8


def test_prompts_are_compared_on_the_claims_that_all_of_them_were_read_on(claims):
    right = verdicts(claims, support=claims["label"])
    # Another prompt is wrong of the first claim of every document, and was not read on the third.
    other = claims["label"].where(claims["claim"] != "It rained.", 0).where(claims["claim"] != "The cat sat.")
    hardly = claims["label"].where(claims["claim"] == "It rained.")
    found = [right, right.assign(prompt="other", support=other), right.assign(prompt="hardly", support=hardly)]
    rows = acu_verification.table(pd.concat(found), ZERO_SHOT, draws=50, seed=0).set_index("prompt")
    assert rows["n"].tolist() == [12, 12, 0, 12]
    assert rows["unparsed"].tolist() == [0, 4, 12, 0]
    # Of the three claims left two are unsupported; the commoner answer is still that of the validation split.
    assert rows["accuracy"].tolist() == pytest.approx([100, 200 / 3, math.nan, 100 / 3], nan_ok=True)
    assert rows["gain"].tolist() == pytest.approx([200 / 3, 100 / 3, math.nan, math.nan], nan_ok=True)
    assert rows.index[-1] == "always Yes"


def test_a_prompt_beats_the_constant_answer_by_their_difference_and_not_by_its_own_interval():
    # 40 documents of ten claims, from none to all of them supported; the prompt finds one error where there is one.
    supported = np.repeat(np.tile([0, 4, 8, 10], 10), 10)
    number = np.tile(np.arange(10), 40)
    label = (number < supported).astype(float)
    frame = pd.DataFrame(
        {
            "task": "support",
            "prompt": ZERO_SHOT,
            "shown": False,
            "split": "test",
            "example_id": np.repeat(np.arange(40).astype(str), 10),
            "claim_index": number,
            "claim": number.astype(str),
            "document_id": np.repeat(np.arange(40).astype(str), 10),
            "label": label,
            "support": np.where((number == 9) & (label == 0), 0.0, 1.0),
        }
    )
    table = acu_verification.table(pd.concat([frame, frame.assign(split="validation")]), ZERO_SHOT, draws=500, seed=0)
    row, constant = table.to_dict("records")
    assert (constant["prompt"], constant["accuracy"]) == ("always Yes", 55)
    assert row["accuracy_low"] < 55 < row["accuracy"] == 62.5  # the prompt's own interval does not tell
    assert (row["gain"], row["gain_low"] > 5, row["gain_high"] < 10) == (7.5, True, True)
    [sentence] = acu_verification.findings(table, ZERO_SHOT)
    assert "more than always Yes (55.0 %): +7.5 points" in sentence


def test_a_prompt_whose_replies_cannot_be_read_has_no_numbers_and_the_others_keep_theirs(claims):
    read = acu_verification.run(claims, ["acueval-verify-zeroshot"], FakeModel(), shots=4, seed=0)
    noise = read.assign(prompt="factscore-verify-retrieved", support=np.nan)
    table = acu_verification.table(pd.concat([read, noise]).assign(task="support"), ZERO_SHOT, draws=50, seed=0)
    rows = table.set_index("prompt")
    assert rows.loc["factscore-verify-retrieved", ["n", "unparsed"]].tolist() == [0, 16]
    assert pd.isna(rows.loc["factscore-verify-retrieved", "accuracy"])
    assert rows.loc["acueval-verify-zeroshot", "accuracy"] == 75
    assert "`acueval-verify-zeroshot`" in acu_verification.findings(table, ZERO_SHOT)[0]
    assert rows.loc["always Yes", "n"] == 16
    silent = acu_verification.table(noise.assign(task="support"), ZERO_SHOT, draws=50, seed=0)
    assert acu_verification.display(silent)[["n", "unparsed"]].to_numpy().tolist() == [[0, 16], [16, 0]]
    assert acu_verification.findings(silent, ZERO_SHOT) == [
        "**support**: no prompt's replies could be read for half of the claims."
    ]


def test_findings_name_the_best_prompt_and_the_constant_answer(claims):
    found = acu_verification.run(claims, ["acueval-verify-zeroshot"], FakeModel(), shots=4, seed=0)
    table = acu_verification.table(found.assign(task="support"), ZERO_SHOT, draws=200, seed=0)
    [sentence] = acu_verification.findings(table, ZERO_SHOT)
    assert "`acueval-verify-zeroshot` agrees with people on 75.0 % of 16 claims" in sentence
    assert "more than always Yes (50.0 %): +25.0 points (+25.0 to +25.0) on the same claims" in sentence
    accuracy = report.headline(table, "task", "prompt", "accuracy")
    assert accuracy == {"support": {"acueval-verify-zeroshot": 75.0, "always Yes": 50.0}}
    assert report.sizes(table, "task") == {"support": 16}
