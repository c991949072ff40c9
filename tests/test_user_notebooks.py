"""`data: own`: the notebooks that rank metrics and systems, executed on a user's labelled file with the shipped settings."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from imports import ROOT

from claimwise import params, stages
from claimwise.analysis.systems import answered, of_all_systems

PLACES = ("Tarn", "Leeds", "Oslo", "Kyoto", "Lima", "Perth", "Bern", "Cork")


def stories():
    """Eight stories, half of them for validation: one system copies, one invents, one refuses every second time."""
    rows = []
    for number, place in enumerate(PLACES):
        told = {
            "copier": (f"A mill burned in {place}.", "true"),
            "inventor": ("Nine green whales sang loudly.", "false"),
        }
        told["shy"] = ("I'm sorry, I cannot summarise this.", "") if number % 2 else told["copier"]
        for who, (summary, label) in told.items():
            split = "validation" if number < 4 else "test"
            row = {"document": f"A mill burned in {place} on Monday.", "summary": summary, "label": label}
            rows.append(row | {"system": who, "split": split})
    return rows


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Makes a project of a user's rows, with their scores."""
    with pytest.MonkeyPatch.context() as patch:

        def make(rows):
            patch.chdir(tmp_path_factory.mktemp("own"))
            for name in ("published", "recorded", "sample"):
                shutil.copytree(ROOT / "data" / name, Path("data", name))
            shutil.copytree(ROOT / "notebooks", "notebooks")
            Path("data/own").mkdir()
            pd.DataFrame(rows).to_csv("data/own/mine.csv", index=False)
            given = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
            given |= {"data": "own", "model": "lexical"}
            given["metrics"]["fenice"] = given["metrics"]["sentences"]  # NLI is not what is tested here
            Path("params.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")
            settings = params.read("params.yaml")
            stages.prepare_corpora(settings)
            for metric in settings.dataset.score["mine"].metrics:
                stages.score(settings, metric)
            return settings

        yield make


@pytest.fixture(scope="module")
def project(prepared):
    rows = stories()
    one_system = {"document": "A dam broke.", "summary": "A dam broke.", "split": "train"}
    return prepared([*rows, rows[0] | one_system])


def run(name, settings):
    stages.notebook(settings, name)
    return Path("tables/own/lexical", name)


def test_metrics_are_compared_by_ones_own_labels(project):
    tables = run("meta_evaluation", project)
    table = pd.read_csv(tables / "balanced_accuracy.csv").set_index("metric")
    assert set(table.index) == {"acueval", "factored", "sentences", "holistic", "word-overlap", "fenice"}
    assert table["n"].unique().tolist() == [10]  # test rows with a label
    # What is copied has all of its words in the document, what is invented none.
    assert table.loc["word-overlap", ["balanced_accuracy", "auc"]].tolist() == [100, 1]
    assert table.loc["acueval", ["balanced_accuracy", "difference", "p"]].tolist() == [100, 0, 1]
    pairs = pd.read_csv(tables / "pairs.csv")
    assert pairs[["difference", "auc_difference"]].eq(0).all(axis=None)
    headline = json.loads(Path("tables/own/lexical/meta_evaluation.json").read_text())
    assert headline["AUC of word overlap, mean"] == 1


def test_ones_own_systems_are_ranked_by_their_answers(project):
    tables = run("leaderboard", project)
    ranking = pd.read_csv(tables / "ranking.csv").set_index("system")
    assert ranking["acueval"].to_dict() == {"copier": 1, "shy": 1, "inventor": 0}
    assert ranking["n"].tolist() == [8, 8, 8]  # the dam, which one system alone told, does not count
    assert ranking["answered"].to_dict() == {"copier": 100, "shy": 50, "inventor": 100}
    assert ranking["faithful"].to_dict() == {"copier": 1, "shy": 1, "inventor": 0}
    # The two that copy have equal scores wherever both answered: tied, and both surely better than the third.
    assert ranking["ranks"].to_dict() == {"copier": "1 to 2", "shy": "1 to 2", "inventor": "3"}
    pairs = pd.read_csv(tables / "pairs.csv").set_index(["system", "other"])
    assert pairs.loc[("copier", "shy"), ["documents", "difference", "p"]].tolist() == [4, 0, 1]
    assert pairs.loc[("copier", "inventor"), ["documents", "difference", "p"]].tolist() == [8, 1, 0]
    agreement = pd.read_csv(tables / "agreement.csv").set_index("beside")
    assert agreement.loc["word-overlap", ["systems", "kendall"]].tolist() == [3, 1]


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ("", False),
        ("Four words are few.", False),
        ("Five words are just enough.", True),
        ("I cannot provide a summary of this.", False),
        ("I’m unable to answer that question, sorry.", False),
        ("The mayor resigned on Monday after the vote. " * 3 + "He said: I cannot go on.", True),
    ],
)
def test_what_counts_as_an_answer(summary, expected):
    assert answered(summary) == expected


def test_documents_that_not_every_system_summarised_are_left_out():
    rows = pd.DataFrame({"document_id": ["1", "1", "2", "3", "3"], "system": ["a", "b", "a", "b", "a"]})
    assert of_all_systems(rows).index.tolist() == [0, 1, 3, 4]


def test_without_validation_rows_what_needs_no_threshold_is_given_and_the_rest_is_said(prepared):
    rows = [{name: value for name, value in row.items() if name != "split"} for row in stories()]
    tables = run("meta_evaluation", prepared(rows))
    table = pd.read_csv(tables / "balanced_accuracy.csv").set_index("metric")
    assert table.loc["word-overlap", ["n", "auc"]].tolist() == [20, 1]
    assert table["balanced_accuracy"].isna().all()
    report = Path("reports/own/lexical/meta_evaluation.ipynb").read_text(encoding="utf-8")
    assert "No threshold is tuned: that takes validation rows of both labels" in report
    assert "nan %" not in report
