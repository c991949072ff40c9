"""acu_generation: from corpora and a model to tables, worked by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from fakes import FakeModel

from claimwise.corpora.base import Rows
from claimwise.experiments import acu_generation
from claimwise.models.base import Decomposition


@pytest.fixture(scope="module")
def references():
    rows = Rows("made")
    one = rows.example("0", "reference", document="d0", summary="The cat sat. The dog ran.", origin="news")
    rows.gold(one, [{"claim": "The cat sat."}, {"claim": "The dog ran."}])
    rows.recorded(one, "t5", ["The cat sat."])
    two = rows.example("1", "reference", document="d1", summary="mumble", origin="news")
    rows.gold(two, [{"claim": "mumble"}])
    rows.example("1", "lead", document="d1", summary="Not a reference.", origin="news")
    rows.example("2", "reference", document="d2", summary="Nobody wrote claims for this one.", origin="news")
    return rows.corpus()


def generated(references, *decomposers):
    return acu_generation.per_example(references, decomposers, FakeModel(), batch=1)


def test_claims_of_references_with_gold_claims_only(references):
    rows = generated(references, "sentences", "acueval-decompose-5shot", "recorded:t5")
    names = np.repeat(["sentences", "acueval-decompose-5shot", "recorded:t5"], 2)
    assert rows["decomposer"].tolist() == names.tolist()
    assert rows["n_gold"].tolist() == [2, 1] * 3
    assert rows["n_claims"].tolist() == [2, 1, 2, 0, 1, 0]


def test_easiness_coverage_and_duplicates_by_hand(references):
    rows = generated(references, "summary", "recorded:t5")
    whole, recorded = rows.iloc[0], rows.iloc[2]
    # The whole (6 words) against a gold claim of 3: 2 * 3 / 9 both ways.
    assert whole[["precision", "recall", "f1"]].tolist() == pytest.approx([2 / 3] * 3)
    assert (whole["coverage"], whole["duplicates"]) == (1, 0)
    # "The cat sat." is a gold claim; for "The dog ran." it has one word of three.
    assert recorded[["precision", "recall"]].tolist() == pytest.approx([1, (1 + 1 / 3) / 2])
    assert recorded["coverage"] == pytest.approx(3 / 5)  # the, cat, sat of the, cat, sat, dog, ran


def test_claims_with_the_same_words_are_duplicates(references):
    rows = Rows("made")
    example = rows.example("0", "reference", document="d", summary="A cat sat. The dog.")
    rows.gold(example, [{"claim": "A cat sat."}])
    rows.recorded(example, "echo", ["A cat sat.", "Sat a cat?", "A dog.", "a cat sat"])
    [row] = acu_generation.per_example(rows.corpus(), ["recorded:echo"], FakeModel()).to_dict("records")
    assert row["duplicates"] == 0.5


def test_the_table_counts_what_has_no_claims_and_leaves_it_out_of_means(references):
    table = acu_generation.table(generated(references, "sentences", "acueval-decompose-5shot"), draws=100, seed=0)
    prompted = table[table["decomposer"] == "acueval-decompose-5shot"].iloc[0]
    assert (prompted["n"], prompted["no_claims"], prompted["f1"]) == (1, 1, 100)
    sentences = table[table["decomposer"] == "sentences"].iloc[0]
    assert (sentences["n"], sentences["no_claims"], sentences["f1"]) == (2, 0, 100)
    assert (sentences["f1_low"], sentences["f1_high"]) == (100, 100)


def test_a_table_of_means_holds_its_intervals():
    generator = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "decomposer": "sentences",
            "origin": np.repeat(["cnndm", "xsum"], 50),
            "split": "test",
            "document_id": [f"d{number}" for number in range(100)],
            "precision": generator.random(100),
            "recall": generator.random(100),
            "f1": generator.random(100),
            "n_claims": 3,
            "n_gold": 4,
            "duplicates": 0.0,
            "coverage": 1.0,
        }
    )
    table = acu_generation.table(rows, draws=500, seed=0)
    assert table["origin"].tolist() == ["cnndm", "xsum"]
    for measure in acu_generation.MEASURES:
        expected = 100 * rows.groupby("origin")[measure].mean()
        assert table[measure].tolist() == pytest.approx(expected.tolist())
        assert (table[f"{measure}_low"] < table[measure]).all()
        assert (table[measure] < table[f"{measure}_high"]).all()


def test_decomposers_are_the_baselines_the_prompts_and_the_recorded(references):
    names = acu_generation.decomposers(["p"], references)
    assert names == ["summary", "sentences", "p", "recorded:t5"]


def test_published_precision_stands_where_the_row_has_a_counterpart():
    ours = pd.DataFrame(
        {
            "origin": ["xsum", "xsum", "news"],
            "decomposer": ["acueval-decompose-5shot", "sentences", "acueval-decompose-5shot"],
        }
    )
    published = pd.DataFrame({"origin": ["xsum", "cnndm"], "row": ["5-shot", "5-shot"], "value": [70.86, 76.59]})
    table = acu_generation.with_published(ours, published)
    assert table["published_precision"].tolist() == pytest.approx([70.86, math.nan, math.nan], nan_ok=True)
    names = [m + end for m in acu_generation.MEASURES for end in ("", "_low", "_high")]
    dots = acu_generation.long_form(table.assign(**dict.fromkeys(names, 50.0)))
    assert dots.dropna(subset="published")[["decomposer", "measure", "published"]].to_numpy().tolist() == [
        ["acueval-decompose-5shot", "Precision", 70.86]
    ]


def test_claims_that_cannot_be_read_are_said_to_be_so(references):
    class Silent(FakeModel):
        def decompose(self, passages, prompt):
            return [Decomposition((), "no bullet in the reply") for _ in passages]

    rows = acu_generation.per_example(references, ["sentences", "acueval-decompose-5shot"], Silent())
    [sentence] = told(rows)
    assert sentence == "**news**: none of the model's replies holds claims that could be read."


def scored(**f1):
    """F1s by decomposer, of documents d0, d1, ..."""
    documents = [f"d{number}" for number in range(len(f1["sentences"]))]
    parts = [
        pd.DataFrame({"decomposer": name.replace("_", "-"), "document_id": documents, "f1": values})
        for name, values in f1.items()
    ]
    rest = {"precision": 0.8, "recall": 0.8, "n_claims": 3, "n_gold": 4, "duplicates": 0.0, "coverage": 1.0}
    return pd.concat(parts).assign(origin="news", split="test", **rest)


#: F1s that differ far more between documents than between decomposers.
LEVEL = np.linspace(0.2, 0.8, 40)


def told(rows):
    gaps = acu_generation.differences(rows, draws=500, seed=0)
    return acu_generation.findings(acu_generation.table(rows, draws=500, seed=0), gaps)


def test_differences_are_of_the_documents_that_both_have_claims_for():
    rows = scored(
        sentences=[0.5, 0.25, 0.75],
        acueval_decompose_5shot=[0.75, 0.5, np.nan],
        acueval_decompose_1shot=[0.5, 0.5, 0.5],
    )
    gaps = acu_generation.differences(rows, draws=200, seed=0)
    # The 5-shot prompt has the highest mean, 0.625, of two documents.
    assert gaps[["decomposer", "against", "n", "difference"]].to_numpy().tolist() == [
        ["sentences", "acueval-decompose-5shot", 2, -25],
        ["acueval-decompose-1shot", "acueval-decompose-5shot", 2, -12.5],
        ["acueval-decompose-5shot", "sentences", 2, 25],
        ["acueval-decompose-1shot", "sentences", 3, 0],
    ]
    assert gaps[["low", "high"]].head(3).to_numpy().tolist() == [[-25, -25], [-25, 0], [25, 25]]


def test_decomposers_whose_intervals_overlap_are_told_apart_by_their_difference():
    better = {"acueval_decompose_5shot": LEVEL + 0.02, "acueval_decompose_1shot": LEVEL + 0.01}
    rows = scored(sentences=LEVEL, **better, **{"recorded:t5": LEVEL + 0.03})
    table = acu_generation.table(rows, draws=500, seed=0)
    assert table["f1_low"].max() < table["f1_high"].min()
    found, on_record = told(rows)
    assert "is that of `acueval-decompose-5shot`, 2.00 points (2.00 to 2.00) above the sentence split's 50.0" in found
    assert "On the same summaries, `acueval-decompose-1shot` is 1.00 points (1.00 to 1.00) below it. `acueval" in found
    assert on_record.endswith(", 1.00 points (1.00 to 1.00) above ours on the 40 summaries that both have claims for.")


def test_a_prompt_may_be_below_or_like_the_sentence_split():
    swing = np.tile([0.1, -0.1], 20)
    [found] = told(scored(sentences=LEVEL, acueval_decompose_5shot=LEVEL - 0.05))
    assert "is that of `acueval-decompose-5shot`, 5.00 points (5.00 to 5.00) below the sentence split's 50.0." in found
    assert "On the same summaries" not in found
    [found] = told(scored(sentences=LEVEL, acueval_decompose_5shot=LEVEL + swing))
    assert "not told apart (+0.00, -3" in found


def test_prompts_that_are_alike_are_said_to_be():
    swing = np.tile([0.1, -0.1], 20)
    prompts = {"acueval_decompose_5shot": LEVEL + 0.1, "acueval_decompose_1shot": LEVEL + 0.1 + swing}
    [found] = told(scored(sentences=LEVEL, **prompts, acueval_decompose_3shot=LEVEL * np.nan))
    assert "it: this run does not say which prompt is best." in found
    assert "3shot" not in found
    [found] = told(scored(sentences=LEVEL, **prompts, acueval_decompose_3shot=LEVEL))
    assert "`acueval-decompose-3shot` is 10.00 points (10.00 to 10.00) below it." in found
