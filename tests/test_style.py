"""Summaries told apart by how they are written: what is measured, that nothing of the test part is learned from, and
that the document is never looked at."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fakes import FakeModel

from claimwise.analysis import significance
from claimwise.corpora.base import Rows
from claimwise.errors import ClaimwiseError
from claimwise.experiments import factored_verification as fv
from claimwise.experiments import style

METHODS = {"factored": {"decompose": "sentences", "verify": "factored-verify-fewshot", "aggregate": "product"}}
BLIND = {"document-blind": {"looks_at": ["length", "measures", "letters"]}}
SPLITS = (("validation", range(10)), ("test", range(10, 30)))


def written(right: str, wrong: str, **more):
    """Thirty documents of one sentence, each with these two summaries."""
    rows = Rows("toy")
    for split, numbers in SPLITS:
        for n in numbers:
            document = f"the mayor number {n} opened a long bridge over water in may"
            for label, summary in ((1, right), (0, wrong)):
                rows.example(n, str(label), document=document, summary=summary.format(n=n), split=split, label=label)
    return rows.corpus()


def scored(corpus, styles=BLIND):
    asked = fv.score(corpus, METHODS, FakeModel())
    return pd.concat([asked, style.score(corpus, asked, styles, 0)], ignore_index=True)


def result(rows):
    return fv.table(rows, "factored", 100, 0).set_index("method")


def test_measures_by_hand():
    got = style.measures(['"No," said Ann (42). She left,  alone.\n', ""])
    # Seven words of 2 + 4 + 3 + 0 + 3 + 4 + 5 letters; Ann and She begin with a capital, "No with a quotation mark.
    assert got.iloc[0].round(3).to_dict() == {
        "words": 7,
        "sentences": 2,
        "words a sentence": 3.5,
        "letters a word": 3,
        "capitals": round(200 / 7, 3),
        "digits": round(100 / 7, 3),
        "commas": round(200 / 7, 3),
        "quotation marks": round(200 / 7, 3),
    }
    assert got.iloc[1].isin([0, 1]).all()


def test_writers_are_told_apart_although_both_write_nonsense():
    # No word of either but the number is in the document: comparing words tells nothing, the wording everything.
    corpus = written("zebra {n} QUUX FLORP!", "blorp {n}, snark, florp")
    table = result(scored(corpus))
    assert table.loc["document-blind", ["accuracy", "trained_on", "auc"]].tolist() == [100, 20, 1]
    assert table.loc["factored", "accuracy"] == 50
    assert table["trained_on"].isna().tolist() == [False, True]
    assert table.loc["document-blind", "next_best"] == "factored"
    # Right on one more summary of each of the 20 documents: no draw shows no difference.
    assert table.loc["document-blind", "p"] == pytest.approx(2 / (significance.TEST_DRAWS + 1))
    rows = scored(corpus)
    [said] = style.findings(rows, fv.table(rows, "factored", 100, 0))
    assert said.startswith("`document-blind` never sees the document: **supervised** on 20 validation summaries")
    assert "can be had without checking a fact" in said


def test_what_is_written_alike_is_not_told_apart_and_that_is_said():
    rows = scored(
        written("the mayor number {n} opened", "the mayor number {n} blocked"), {"word count": {"looks_at": ["length"]}}
    )
    table = result(rows)
    assert table.loc["word count", "auc"] == 0.5
    assert table.index[0] == "factored"
    [said] = style.findings(rows, table.reset_index())
    assert "That the way of writing gives labels away is not shown here" in said


def test_a_way_of_writing_that_tells_no_more_than_the_commoner_label_gives_nothing_away():
    # Of 40 summaries 24 are hallucinated; the best method that asks the model is right of 4, the blind one of 26.
    first = np.arange(40)
    rows, table = judged({"plain": (None, first < 4), "blind": ("", first < 26)}, labels=[1, 0, 0, 1, 0])
    best = table.set_index("method").loc["blind"]
    assert best["p_holm"] < 0.05
    assert best["low"] < fv.constant(rows) == 60 < best["accuracy"] == 65
    [said] = style.findings(rows, table)
    assert said.endswith("That the way of writing gives labels away is not shown here.")


def test_no_document_changes_what_a_blind_classifier_says():
    corpus = written("it ran {n}.", "it ran off, {n} times.")
    asked = fv.score(corpus, METHODS, FakeModel())
    before = style.score(corpus, asked, BLIND, 0)
    corpus.examples["document"] = "another text"
    assert style.score(corpus, asked, BLIND, 0)["score"].tolist() == before["score"].tolist()


def test_labels_and_wording_of_the_test_part_are_not_learned_from():
    corpus = written("it ran {n}.", "it ran off, {n} times.")
    asked = fv.score(corpus, METHODS, FakeModel())
    before = style.score(corpus, asked, BLIND, 0)
    test = corpus.examples["split"] == "test"
    corpus.examples.loc[test, "label"] = 1 - corpus.examples.loc[test, "label"]
    changed = test & (corpus.examples["id"] == "toy:12:0")
    corpus.examples.loc[changed, "summary"] = "Something else! Entirely."
    after = style.score(corpus, asked, BLIND, 0)
    others = (before["id"] != "toy:12:0").to_numpy()
    assert after["score"][others].tolist() == before["score"][others].tolist()


def test_a_validation_score_is_by_a_classifier_that_did_not_see_the_document():
    # The labels of each document are a coin's: what is learned by heart would be right, what generalises is not.
    rows, coin = Rows("toy"), np.random.default_rng(0).permutation([0, 1] * 10)
    for n in range(20):
        for k in range(2):
            rows.example(n, str(k), document=f"d{n}", summary=f"w{n} w{n} w{n}", split="validation", label=int(coin[n]))
    for n in range(20, 24):
        rows.example(n, "t", document=f"d{n}", summary="w", split="test", label=n % 2)
    made = style.score(*_with_asked(rows.corpus()), BLIND, 0)
    known = made[made["split"] == "validation"]
    assert ((known["score"] > 0.5) == (known["label"] == 1)).mean() < 0.75


def _with_asked(corpus):
    return corpus, fv.score(corpus, METHODS, FakeModel())


def test_the_score_of_a_method_can_be_told_beside_the_wording():
    # Five words each; one of the hallucinated summary's is not in the document.
    corpus = written("the mayor opened a bridge", "the mayor opened a circus")
    styles = {"word count": {"looks_at": ["length"]}, "both": {"looks_at": ["length"], "beside": "factored"}}
    rows = scored(corpus, styles)
    table = result(rows)
    assert table["accuracy"].to_dict() == {"factored": 100, "both": 100, "word count": 50}
    said = style.findings(rows, table.reset_index())
    assert said[-1].startswith(
        "`both`, which has the score of `factored` besides, classifies 100.0 % correctly, +50.0 points"
    )
    assert said[-1].endswith("that is what reading the document adds to the way of writing.")


def judged(hits, labels=(1, 0)):
    """Rows and table of methods that are right where told, two summaries a document; theta is 0.5 for all of them."""
    frames = []
    for method, (beside, right) in hits.items():
        label = np.resize(labels, len(right))
        test = pd.DataFrame({"split": "test", "label": label, "score": np.where(right, label, 1 - label).astype(float)})
        known = pd.DataFrame({"split": "validation", "label": [1, 0], "score": [1.0, 0.0]})
        frame = pd.concat([test, known], ignore_index=True)
        frame["id"], frame["document_id"] = frame.index.astype(str), (frame.index // 2).astype(str)
        trained = np.nan if beside is None else 2
        frames.append(frame.assign(method=method, n_claims=1, reason=None, trained_on=trained, beside=beside))
    rows = pd.concat(frames, ignore_index=True)
    return rows, fv.table(rows, "plain", 100, 0)


def test_a_score_that_makes_the_classifier_worse_is_said_to():
    # Of 20 documents: the blind one errs in none, `lost` in ten, `same` in one (which every third draw misses).
    plain, blind = [True, False] * 20, [True] * 40
    lost, same = [False] * 20 + [True] * 20, [False] * 2 + [True] * 38
    rows, table = judged(
        {"plain": (None, plain), "blind": ("", blind), "lost": ("plain", lost), "same": ("plain", same)}
    )
    said = {sentence.split("`")[1]: sentence for sentence in style.findings(rows, table)}
    assert said["lost"].endswith("beside the wording the score makes the classifier worse.")
    assert "classifies 50.0 % correctly, -50.0 points (p < .001, corrected for 2 such comparisons)" in said["lost"]
    assert said["same"].endswith("nothing beyond chance is added to what the way of writing tells.")


def test_a_summary_without_the_methods_score_has_none():
    corpus = written("the mayor opened a bridge", "the mayor opened a circus")
    asked = fv.score(corpus, METHODS, FakeModel())
    asked.loc[asked["id"] == "toy:11:1", "score"] = np.nan
    asked.loc[asked["id"] == "toy:12:0", "score"] = 0.0
    made = style.score(corpus, asked, {"both": {"looks_at": ["length"], "beside": "factored"}}, 0).set_index("id")
    assert made.loc["toy:11:1", "reason"] == "no score by factored"
    assert made["score"].isna().sum() == 1
    assert made.loc["toy:12:0", "score"] < made.loc["toy:13:0", "score"]
    asked["score"] = np.nan
    assert style.score(corpus, asked, {"both": {"looks_at": ["length"], "beside": "factored"}}, 0)["score"].isna().all()


def test_a_wrong_entry_is_named():
    corpus = written("a", "b")
    asked = fv.score(corpus, METHODS, FakeModel())
    with pytest.raises(ClaimwiseError, match=r"style 'x': no method 'factord'.*there are: factored"):
        style.score(corpus, asked, {"x": {"looks_at": ["length"], "beside": "factord"}}, 0)
    with pytest.raises(ClaimwiseError, match=r"style 'x': cannot look at 'tone'; expected some of length"):
        style.score(corpus, asked, {"x": {"looks_at": ["tone"]}}, 0)


def test_the_table_of_measures_says_which_way_they_point():
    table = style.table(written("it ran {n}.", "it ran off, {n} times.")).set_index("measure")
    assert table.loc["words", ["faithful", "hallucinated", "auc"]].tolist() == [3, 5, 1]
    assert table.loc["sentences", "auc"] == 0.5
