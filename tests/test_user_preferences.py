"""Preferences beside a user's own file: how they are read, and the notebook that compares metrics with them, run on them."""

import json
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import yaml
from imports import ROOT

from claimwise import corpora, notebook, preparation, scoring
from claimwise import params as settings
from claimwise.corpora import CorpusError, user_corpus
from claimwise.schema import TableError

STORIES = {
    "ferry": ("A ferry left Tarn at noon with forty people.", "The ferry left at noon.", "A ferry sank in Tarn."),
    "mill": ("A mill burned in Leeds and nobody was hurt.", "A mill burned in Leeds.", "Nobody was hurt in Leeds."),
    "storm": ("A storm closed the harbour for three days.", "It rained for years.", "A storm closed the harbour."),
    "dam": ("The dam held although the river rose.", "The dam broke.", "The dam held."),
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose data/own has two summaries of each story, with the notebook and the shipped settings."""
    monkeypatch.chdir(tmp_path)
    Path("data/own").mkdir(parents=True)
    Path("notebooks").mkdir()
    Path("notebooks/preference_bias.ipynb").write_bytes((ROOT / "notebooks/preference_bias.ipynb").read_bytes())
    rows = [
        {"id": f"{key}-{who}", "document": document, "summary": summary, "system": who}
        for key, (document, *summaries) in STORIES.items()
        for who, summary in zip(("person", "model"), summaries, strict=True)
    ]
    pd.DataFrame(rows).to_csv("data/own/mine.csv", index=False)
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params |= {"data": "own", "model": "lexical", "cache": "calls.sqlite"}
    Path("params.yaml").write_text(yaml.safe_dump(params))
    return settings.read("params.yaml")


def judge(*judgments, name="mine.preferences.csv"):
    """Judgments as (story, preferred) or (story, preferred, rater)."""
    rows = [
        {"first_id": f"{key}-person", "second_id": f"{key}-model", "preferred": preferred}
        | ({"rater": more[0]} if more else {})
        for key, preferred, *more in judgments
    ]
    table = pd.DataFrame(rows)
    if name.endswith("csv"):
        table.to_csv(Path("data/own", name), index=False)
    else:
        table.to_json(Path("data/own", name), orient="records", lines=True)


ALL = [("ferry", "first"), ("mill", "first"), ("storm", "second"), ("dam", "second")]


@pytest.mark.parametrize("name", ["mine.preferences.csv", "mine.preferences.jsonl"])
def test_preferences_beside_the_examples_are_part_of_the_corpus(project, capsys, name):
    judge(("ferry", " First", "Ann"), ("ferry", "equal", "Bo"), ("dam", "second", None), name=name)
    [folder] = preparation.prepare_corpora(project)
    assert corpora.read(folder).preferences.to_numpy().tolist() == [
        ["ferry-person", "ferry-model", "Ann", "first"],
        ["ferry-person", "ferry-model", "Bo", "equal"],
        ["dam-person", "dam-model", "user", "second"],
    ]
    assert "preference_bias" not in capsys.readouterr().err


def test_rows_without_ids_are_compared_by_their_numbers(project):
    table = pd.read_csv("data/own/mine.csv").drop(columns="id")
    Path("data/own/mine.csv").unlink()
    table.to_json("data/own/mine.jsonl", orient="records", lines=True)
    Path("data/own/mine.preferences.jsonl").write_text('{"first_id": 1, "second_id": 2, "preferred": "first"}')
    found = user_corpus.load("data/own/mine.jsonl")
    assert found.preferences[["first_id", "second_id"]].to_numpy().tolist() == [["1", "2"]]


def test_the_file_of_preferences_is_no_file_of_examples(project):
    judge(*ALL)
    with pytest.raises(CorpusError, match=r"no file named 'other' in data/own; .* There are: mine$"):
        user_corpus.find("other")
    judge(*ALL, name="mine.preferences.jsonl")
    with pytest.raises(CorpusError, match=r"2 files named 'mine\.preferences': mine\.preferences\.csv, mine\.pref"):
        user_corpus.load("data/own/mine.csv")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "no rows in the file; expected first_id, second_id, preferred"),
        (
            "ferry-person,ferry-modle,first",
            "line 2, column 'second_id': no example 'ferry-modle'; did you mean 'ferry-model'",
        ),
        (",ferry-model,first", "line 2, column 'first_id': no example ''; expected a row's id"),
        ("ferry-person,mill-model,first", "'ferry-person' and 'mill-model' are summaries of different documents"),
        ("dam-model,dam-model,first", "'dam-model' is compared with itself"),
        ("dam-person,dam-model,A", r"line 2, column 'preferred': found 'a', expected first \(the person's .* or equal"),
        (
            "dam-person,dam-model,first\ndam-person,dam-model,equal",
            "line 3, columns 'first_id', 'second_id', 'rater': 'dam-person', 'dam-model', 'user' stand together in line 2 too",
        ),
    ],
)
def test_a_wrong_judgment_is_named_by_file_line_and_field(project, rows, message):
    Path("data/own/mine.preferences.csv").write_text(f"first_id,second_id,preferred\n{rows}\n")
    with pytest.raises(TableError, match=rf"mine\.preferences\.csv.*{message}"):
        preparation.prepare_corpora(project)


def test_a_missing_column_of_judgments_is_named(project):
    Path("data/own/mine.preferences.csv").write_text("first_id,second_id,prefered\ndam-person,dam-model,first\n")
    with pytest.raises(TableError, match=r"column 'preferred' is missing.*did you mean 'prefered'[?] Rename it"):
        preparation.prepare_corpora(project)


def test_the_notebook_compares_metrics_with_ones_own_raters(project):
    judge(*ALL)  # nobody said equal
    preparation.prepare_corpora(project)
    for metric in ("acueval", "holistic", "word-overlap"):
        scoring.score_corpora(project, metric)
    report = notebook.run("preference_bias", project)
    assert report == Path("reports/own/preference_bias.ipynb")
    table = pd.read_csv("tables/own/preference_bias.csv").set_index(["metric", "case"])
    assert table.loc["word-overlap"].index.tolist() == ["model worse", "model better"]
    # Words that are the document's: 5/5 against 4/5, 5/5 against 5/5; then 1/4 against 5/5, 2/3 against 3/3.
    assert table.loc["word-overlap", "difference"].tolist() == pytest.approx([-0.1, (3 / 4 + 1 / 3) / 2], abs=1e-4)
    ordered = json.loads(Path("tables/own/preference_bias.json").read_text())["word-overlap"]["ordered as raters"]
    assert ordered == pytest.approx(3.5 / 4)  # the mill's two tie
    said = " ".join(str(cell.get("outputs", "")) for cell in nbformat.read(report, 4).cells)
    assert "**word-overlap** moves with the raters" in said
    assert "nan" not in said


def test_that_nobody_was_asked_is_said_when_the_file_is_prepared(project, capsys):
    preparation.prepare_corpora(project)
    missing = "no file mine.preferences.csv (or of another kind) beside it: preference_bias has nothing to compare"
    assert missing in capsys.readouterr().err
