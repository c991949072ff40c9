"""Detection by P_summary: theta, the tables and what they compare, worked by hand on a fake model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fakes import FakeModel
from scipy import stats

from claimwise import corpora
from claimwise.analysis import figures, published
from claimwise.corpora.base import Rows
from claimwise.experiments import factored_display
from claimwise.experiments import factored_verification as fv
from claimwise.models.lexical import LexicalModel

METHODS = {
    "factored": {"decompose": "factored-decompose", "verify": "factored-verify-fewshot", "aggregate": "product"},
    "factored, 0/1": {"decompose": "factored-decompose", "verify": "factored-verify-cot", "aggregate": "all"},
    "holistic": {"judge": "belugaeval-judge-consistency"},
}


@pytest.fixture(scope="module")
def corpus():
    """Documents of one sentence; hallucinated summaries add a sentence of words that it does not have."""
    rows = Rows("toy")
    for split, numbers in (("validation", range(10)), ("test", range(10, 40)), ("train", range(40, 42))):
        for n in numbers:
            document = f"the mayor number {n} opened a long bridge over water in may"
            rows.example(
                n, "right", document=document, summary=f"the mayor number {n} opened a bridge.", split=split, label=1
            )
            wrong = f"the mayor number {n} opened a bridge. he then sang a song."
            rows.example(n, "wrong", document=document, summary=wrong, split=split, label=0)
    return rows.corpus()


@pytest.fixture(scope="module")
def rows(corpus):
    return fv.score(corpus, METHODS, FakeModel())


def test_p_summary_is_the_product_over_claims(rows):
    scores = rows[(rows["id"] == "toy:10:wrong")].set_index("method")["score"]
    # Five words of the second sentence, of which the document has "a" only.
    assert scores["factored"] == pytest.approx(1.0 * 1 / 5)
    assert scores["factored, 0/1"] == 0.0
    assert set(rows["split"]) == {"validation", "test"}


def test_theta_is_the_midpoint_of_the_training_means_and_below_it_is_hallucinated():
    frame = pd.DataFrame({"label": [1, 1, 0, 0], "score": [0.8, 1.0, 0.2, 0.4]})
    assert fv.theta(frame) == pytest.approx(0.6)
    assert fv.right(frame, 0.6).all()
    assert not fv.right(frame.assign(label=1 - frame["label"]), 0.6).any()
    # A score at theta is not below it.
    assert fv.right(pd.DataFrame({"label": [1, 0], "score": [0.6, 0.6]}), 0.6).tolist() == [True, False]


def test_theta_needs_both_labels():
    with pytest.raises(ValueError, match="both labels"):
        fv.theta(pd.DataFrame({"label": [1, 1, 0], "score": [0.8, 1.0, np.nan]}))


def made(answers: dict[str, list[bool]]) -> pd.DataFrame:
    """Rows of methods that are right where told: theta is 0.5 for all of them."""
    frames = []
    for method, right in answers.items():
        label = np.tile([1, 0], len(right) // 2)
        score = np.where(np.array(right) == (label == 1), 1.0, 0.0)
        ids = [str(i) for i in range(len(right))]
        documents = [str(i // 2) for i in range(len(right))]
        test = pd.DataFrame({"id": ids, "document_id": documents, "split": "test", "label": label, "score": score})
        training = pd.DataFrame(
            {"id": ["v1", "v2"], "document_id": "v", "split": "validation", "label": [1, 0], "score": [1.0, 0.0]}
        )
        frames.append(pd.concat([test, training]).assign(method=method, n_claims=1, reason=None, trained_on=np.nan))
    return pd.concat(frames, ignore_index=True)


def test_the_table_compares_each_method_with_the_next_best_and_the_baseline():
    good = [True] * 18 + [False] * 2
    middle = [True] * 12 + [False] * 8
    bad = [False] * 16 + [True] * 4
    table = fv.table(made({"bad": bad, "good": good, "middle": middle}), "bad", 200, 0)
    assert table["method"].tolist() == ["good", "middle", "bad"]
    assert table["accuracy"].tolist() == [90.0, 60.0, 20.0]
    assert table["next_best"].tolist()[:2] == ["middle", "bad"]
    # Good is better than middle in three of ten documents, which a draw misses with .7^10. It is better than bad in
    # eight and worse in one: draws of a times better and b times worse, of which a <= b are not for good.
    assert table["p"][0] == pytest.approx(2 * 0.7**10, abs=0.01)
    against = sum(
        stats.multinomial.pmf([a, b, 10 - a - b], 10, [0.8, 0.1, 0.1]) for b in range(11) for a in range(b + 1)
    )
    assert table["p_baseline"][0] == pytest.approx(2 * against, abs=0.003)
    assert np.isnan(table["p_baseline"][2])
    assert (table["low"] <= table["accuracy"]).all()
    assert (table["accuracy"] <= table["high"]).all()


def test_methods_are_compared_on_the_rows_that_all_of_them_scored():
    rows = made({"one": [True] * 20, "other": [True] * 20})
    rows.loc[(rows["method"] == "one") & (rows["id"] == "3"), "score"] = np.nan
    table = fv.table(rows, "other", 100, 0).set_index("method")
    assert table["n"].tolist() == [19, 19]
    assert table["unscored"].to_dict() == {"one": 1, "other": 0}


def test_curves_pass_through_the_point_that_was_used(rows):
    curves, result = fv.curves(rows, METHODS), fv.table(rows, "holistic", 100, 0).set_index("method")
    for method in METHODS:
        part = curves[curves["method"] == method]
        marked = part[part["mark"]].set_index("panel")
        assert marked.loc["effect of theta", "y"] == pytest.approx(result.loc[method, "accuracy"])
        assert marked.loc["effect of theta", "x"] == pytest.approx(result.loc[method, "theta"])
        assert 100 * marked.loc["ROC", "y"] == pytest.approx(result.loc[method, "found"])
        assert 100 * (1 - marked.loc["ROC", "x"]) == pytest.approx(result.loc[method, "kept"])
        roc = part[part["panel"] == "ROC"]
        assert (np.diff(roc["x"]) >= 0).all()


def test_the_constant_answer_is_the_commoner_one(rows):
    assert fv.constant(rows) == 50.0
    for commoner in (0, 1):
        assert fv.constant(rows[(rows["label"] == commoner) | rows["id"].str.startswith("toy:1")]) == 75.0


def test_figures_draw_every_method_and_every_cell(rows, tmp_path):
    figure = figures.lines(
        fv.curves(rows, METHODS),
        x="x",
        y="y",
        hue="method",
        panel="panel",
        mark="mark",
        labels=fv.AXES,
        diagonal=["ROC"],
    )
    assert [len(axis.lines) for axis in figure.axes] == [2 * len(METHODS) + 1, 2 * len(METHODS)]
    assert figure.axes[1].get_xlabel() == "theta"
    cells = pd.DataFrame(
        [("a", "x", "p", 1.0), ("b", "x", "p", 2.0), ("b", "y", "p", 3.0), ("a", "y", "q", 4.0)],
        columns=["row", "column", "panel", "value"],
    )
    drawn = figures.matrix(cells, row="row", column="column", panel="panel", value="value")
    shown = [[text.get_text() for text in axis.texts] for axis in drawn.axes]
    assert shown[:2] == [["1.00", "2.00", "3.00"], ["4.00"]]
    paths = [tmp_path / "one.png", tmp_path / "two.png"]
    for path in paths:
        figures.save(figures.matrix(cells, row="row", column="column", panel="panel", value="value"), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_findings_call_a_tie_a_tie(rows):
    result, thetas = fv.table(rows, "holistic", 100, 0), fv.best_thetas(rows, "holistic")
    [first, *_] = factored_display.findings(result, thetas, "holistic", ["factored"])
    assert first.startswith(
        "Of the methods that were not fitted to labels here, `factored` is the most accurate, 100.0 %"
    )
    assert first.endswith("the next, `factored, 0/1`, is not told apart from it (corrected p = 1.000): a tie.")


def test_the_most_accurate_is_sought_among_those_that_were_not_fitted():
    rows = made({"fitted": [True] * 20, "plain": [True] * 18 + [False] * 2, "bad": [False] * 20})
    rows["trained_on"] = np.where(rows["method"] == "fitted", 2, np.nan)
    result = fv.table(rows, "plain", 100, 0)
    assert result["method"][0] == "fitted"
    [first, *_] = factored_display.findings(result, fv.best_thetas(rows, "plain"), "plain", [])
    assert first.startswith("Of the methods that were not fitted to labels here, `plain` is the most accurate, 90.0 %")
    assert first.endswith("the next, `bad`, is told apart from it (corrected p < .001).")


def cut_apart(other_midpoint):
    """Two methods with the same order of the test summaries; the training means put ``other``'s theta elsewhere."""
    frames = []
    for method, training in (("one", [1.0, 0.0]), ("other", other_midpoint)):
        label = np.tile([1, 0], 20)
        test = pd.DataFrame({"label": label, "score": np.where(label == 1, 0.6, 0.4), "split": "test"})
        known = pd.DataFrame({"label": [1, 0, 1, 0], "score": [*training, 0.6, 0.4], "split": "validation"})
        frame = pd.concat([test, known], ignore_index=True)
        names = frame.index.astype(str)
        frames.append(
            frame.assign(method=method, id=names, document_id=names, n_claims=1, reason=None, trained_on=np.nan)
        )
    return pd.concat(frames, ignore_index=True)


def test_the_best_theta_is_that_of_the_training_part():
    # In (.1, .3] all training summaries are told rightly, in (.6, .8] all test summaries.
    scores = [0.4, 0.3, 0.1, 0.1, 0.9, 0.8, 0.5, 0.6]
    rows = pd.DataFrame({"id": map(str, range(8)), "document_id": range(8), "label": [1, 1, 0, 0] * 2, "score": scores})
    rows = rows.assign(method="one", split=["validation"] * 4 + ["test"] * 4)
    [row] = fv.best_thetas(rows, "one").to_dict("records")
    assert 0.1 < row["best_training_theta"] <= 0.3
    assert row["its_accuracy"] == 50


def test_a_difference_that_another_cut_takes_away_is_said_to_be_the_cuts():
    # other: its midpoint (1.0 + .6 + .9 + .4) / 4 = .725 flags every test summary; in (.4, .6] it is right of all.
    rows = cut_apart([1.0, 0.9])
    result, thetas = fv.table(rows, "other", 100, 0), fv.best_thetas(rows, "other")
    assert result.set_index("method")["accuracy"].to_dict() == {"one": 100, "other": 50}
    assert result.set_index("method").loc["one", "p_baseline"] < 0.001
    assert thetas.set_index("method")["its_accuracy"].to_dict() == {"one": 100, "other": 100}
    assert thetas["its_p_baseline"].tolist() == pytest.approx([1, np.nan], nan_ok=True)
    [sentence] = [
        s for s in factored_display.findings(result, thetas, "other", ["one"]) if "`one` is significantly above" in s
    ]
    assert (
        "and not told apart from it at the theta that is best on the validation split (100.0 against 100.0" in sentence
    )
    assert sentence.endswith("So the difference is the cut's as much as the method's.")


def test_p_is_corrected_for_the_comparisons_of_its_column():
    bad = [False] * 16 + [True] * 4
    table = fv.table(made({"bad": bad, "good": [True] * 20, "middle": [True] * 12 + [False] * 8}), "bad", 100, 0)
    assert table["p_baseline_holm"].tolist() == pytest.approx(
        [2 * table["p_baseline"][0], table["p_baseline"][1], np.nan], nan_ok=True
    )
    assert table["p_holm"][0] == max(2 * min(table["p"][:2]), table["p"][0])


def test_published_accuracies_stand_beside_the_methods_of_their_kind():
    names = ["factored", "factored, reasoned 0/1", "few-shot", "chain of thought", "single prompt", "holistic"]
    rows = made({name: [True, False] * 10 for name in names})
    ours, theirs = fv.table(rows, "holistic", 100, 0), published.table("factored_verification", "1")
    table = fv.with_published(ours, theirs, "halueval")
    values = table.set_index("method")[["GPT-4", "ChatGPT"]].fillna(0).T.to_dict("list")
    assert values == {
        "factored": [76.2, 0],
        "factored, reasoned 0/1": [0, 71.2],
        "few-shot": [30.9, 58.5],
        "chain of thought": [75.5, 61.2],
        "single prompt": [0, 63.3],
        "holistic": [0, 0],
    }
    assert fv.with_published(ours, theirs, "sample")[["GPT-4", "ChatGPT"]].isna().all(axis=None)
    assert "published" not in factored_display.display(fv.with_published(ours, theirs, "sample"), [])
    dots = factored_display.dots(table, [])
    assert sorted(dots["published"].dropna()) == [30.9, 58.5, 61.2, 63.3, 71.2, 75.5, 76.2]
    assert dots["accuracy"].count() == len(names)


def test_what_a_method_has_learned_of_the_corpus_is_told(rows):
    # One was fitted to labels, one asks a model that was trained on them, one asks nothing.
    learned = rows.assign(trained_on=np.where(rows["method"] == "holistic", 100, np.nan))
    table = fv.table(learned, "factored", 100, 0)
    shown = factored_display.display(
        fv.with_published(table, published.table("factored_verification", "1"), "sample"), ["factored"]
    )
    told = shown.set_index("method")["learned_of_this_corpus"].to_dict()
    assert told == dict.fromkeys(METHODS, factored_display.NOTHING) | {
        "factored": factored_display.ITS_MODEL,
        "holistic": factored_display.FITTED,
    }
    kinds = factored_display.dots(
        fv.with_published(table, published.table("factored_verification", "1"), "sample"), ["factored"]
    )
    assert kinds.groupby("method")["kind"].first().str.endswith(factored_display.ITS_MODEL).sum() == 1


def test_a_method_that_the_model_cannot_do_is_a_row_that_says_so(corpus):
    cannot = {
        "factored, reasoned 0/1": {"decompose": "sentences", "verify": "factored-verify-cot", "aggregate": "all"},
        "few-shot": {"judge": "halueval-judge-fewshot"},
        "chain of thought": {"judge": "chatgpt-judge-cot"},
        "single prompt": {"judge": "factored-judge-single"},
    }
    can = {"sentences": METHODS["factored"] | {"decompose": "sentences"}, "holistic": METHODS["holistic"]}
    rows = fv.score(corpus, {**cannot, **can}, LexicalModel())
    table = fv.table(rows, "holistic", 100, 0)
    assert set(table["method"][:2]) == set(can)
    below = table.set_index("method").iloc[2:]
    assert set(below.index) == set(cannot)
    assert below["n"].eq(0).all()
    assert below["unscored"].eq(60).all()
    assert below["accuracy"].isna().all()
    assert below.loc["chain of thought", "reason"] == "this model does not reason in words"
    assert below.loc["few-shot", "reason"] == "this model does not learn from examples of whole summaries"
    printed = fv.with_published(table, published.table("factored_verification", "1"), "halueval")
    assert factored_display.unscored(printed).set_index("method")["published"].to_dict() == {
        "factored, reasoned 0/1": "71.2 (ChatGPT)",
        "few-shot": "30.9 (GPT-4), 58.5 (ChatGPT)",
        "chain of thought": "75.5 (GPT-4), 61.2 (ChatGPT)",
        "single prompt": "63.3 (ChatGPT)",
    }
    assert set(factored_display.display(printed, [])["method"]) == set(can)
    # The others are compared on all summaries, as if the methods without scores were not there.
    assert table["n"][:2].tolist() == [60, 60]
    assert (
        set(fv.curves(rows, METHODS | cannot | can)["method"])
        == set(fv.best_thetas(rows, "holistic")["method"])
        == set(can)
    )
    assert set(fv.headline(table)) == set(can)
    text = factored_display.findings(
        table, fv.best_thetas(rows, "holistic"), "holistic", ["factored, reasoned 0/1", "sentences"]
    )
    assert text[-2].startswith(
        "Without a result: `factored, reasoned 0/1`, `chain of thought`, `single prompt` (this model"
    )


def test_a_method_that_scored_a_few_summaries_does_not_choose_the_rows_of_the_others():
    rows = made({"one": [True] * 20, "other": [True] * 20, "rare": [True] * 20})
    rows.loc[(rows["method"] == "rare") & ~rows["id"].isin(["1", "2"]), ["score", "reason"]] = np.nan, "refusal"
    table = fv.table(rows, "rare", 100, 0).set_index("method")
    assert table["n"].to_dict() == {"one": 20, "other": 20, "rare": 0}
    assert table.loc["rare", ["unscored", "reason"]].tolist() == [18, "refusal"]
    assert table["p_baseline"].isna().all()
    with pytest.raises(ValueError, match=r"no method scored 50% of the summaries: .*refusal"):
        fv.table(rows[rows["method"] == "rare"], "rare", 100, 0)


def test_the_sample_has_both_labels_in_both_parts():
    examples = corpora.load("sample").examples.dropna(subset=["label"])
    assert examples.groupby("split")["label"].nunique().to_dict() == {"validation": 2, "test": 2}
