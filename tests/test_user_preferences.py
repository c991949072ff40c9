"""Preferences with a user's own file: which of two summaries people preferred."""

from pathlib import Path

import pandas as pd
import pytest
from texts import PAIRS

from claimwise.corpora import CorpusError, user
from claimwise.schema import TableError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder data/own with two summaries of each story."""
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").touch()
    Path("data/own").mkdir(parents=True)
    PAIRS.to_csv("data/own/mine.csv", index=False)


def preferences():
    return user.load(user.find("mine")).preferences


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
def test_preferences_beside_the_examples_are_part_of_the_corpus(name):
    assert preferences().empty
    judge(("ferry", " First", "Ann"), ("ferry", "equal", "Bo"), ("dam", "second", None), name=name)
    assert preferences().to_numpy().tolist() == [
        ["ferry-person", "ferry-model", "Ann", "first"],
        ["ferry-person", "ferry-model", "Bo", "equal"],
        ["dam-person", "dam-model", "user", "second"],
    ]


def test_rows_without_ids_are_compared_by_their_numbers():
    table = pd.read_csv("data/own/mine.csv").drop(columns="id")
    Path("data/own/mine.csv").unlink()
    table.to_json("data/own/mine.jsonl", orient="records", lines=True)
    Path("data/own/mine.preferences.jsonl").write_text('{"first_id": 1, "second_id": 2, "preferred": "first"}')
    found = user.load("data/own/mine.jsonl")
    assert found.preferences[["first_id", "second_id"]].to_numpy().tolist() == [["1", "2"]]


def test_the_file_of_preferences_is_no_file_of_examples():
    judge(*ALL)
    with pytest.raises(CorpusError, match=r"no file named 'other' in .*/data/own; .* There are: mine$"):
        user.find("other")
    judge(*ALL, name="mine.preferences.jsonl")
    with pytest.raises(CorpusError, match=r"2 files named 'mine\.preferences': mine\.preferences\.csv, mine\.pref"):
        user.load("data/own/mine.csv")


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
def test_a_wrong_judgment_is_named_by_file_line_and_field(rows, message):
    Path("data/own/mine.preferences.csv").write_text(f"first_id,second_id,preferred\n{rows}\n")
    with pytest.raises(TableError, match=rf"mine\.preferences\.csv.*{message}"):
        preferences()


def test_a_missing_column_of_judgments_is_named():
    Path("data/own/mine.preferences.csv").write_text("first_id,second_id,prefered\ndam-person,dam-model,first\n")
    with pytest.raises(TableError, match=r"column 'preferred' is missing.*did you mean 'prefered'[?] Rename it"):
        preferences()
