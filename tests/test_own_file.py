"""A user's own file: where results may be written, what is carried along, labels of some rows only."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from claimwise import own_file
from claimwise.corpora import ExamplesError
from claimwise.errors import ClaimwiseError
from claimwise.own_file import OutputError

ROWS = [
    {"id": "a", "document": "The cat sat on the mat.", "summary": "The cat sat.", "label": 1},
    {"id": "b", "document": "The cat sat on the mat.", "summary": "The dog ran off.", "label": 0},
    {"id": "c", "document": "It rained in Rome.", "summary": "It rained hard.", "label": 0},
    {"id": "d", "document": "It rained.", "summary": "", "label": 1},
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working folder, without settings and with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pooch.os_cache", lambda name: Path("cache", name))
    return tmp_path


def score(file="mine.jsonl", metric="word-overlap", *, model=None, out=None, claims=None, page=None, dry_run=False):
    return own_file.score(Path(file), metric, model, out, claims, page, Path("params.yaml"), dry_run=dry_run)


def write(rows, name="mine.jsonl"):
    Path(name).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"out": "mine.jsonl"}, "mine.jsonl: the scores would be written over the examples"),
        ({"out": "../{here}/mine.jsonl"}, "the scores would be written over the examples"),
        ({"claims": "mine.jsonl"}, "the claims would be written over the examples"),
        ({"out": "x", "claims": "x"}, "x: the claims would be written over the scores; name another file"),
        ({"out": "x", "page": "./x"}, "the page would be written over the scores"),
        ({"claims": "x", "page": "x"}, "the page would be written over the claims"),
        ({"page": "mine.word-overlap.csv"}, "the page would be written over the scores"),
    ],
)
def test_nothing_is_written_over_the_examples_or_another_result(folder, names, message, dry_run):
    write(ROWS)
    before = Path("mine.jsonl").read_bytes()
    with pytest.raises(OutputError, match=message):
        score(**{key: Path(name.format(here=folder.name)) for key, name in names.items()}, dry_run=dry_run)
    assert Path("mine.jsonl").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["mine.jsonl"]


def test_the_result_stands_beside_a_gzipped_file():
    pd.DataFrame(ROWS).to_csv("mine.csv.gz", index=False)
    score("mine.csv.gz")
    assert pd.read_csv("mine.word-overlap.csv")["id"].tolist() == ["a", "b", "c", "d"]


def test_other_columns_stand_after_the_scores_as_they_were():
    extra = {"n": ["007", "1.10", "", "NA"], "note": ['say "no", then', "two\nlines", "é", " "]}
    pd.DataFrame(ROWS).assign(**extra).to_csv("mine.csv", index=False)
    score("mine.csv")
    with Path("mine.word-overlap.csv").open(encoding="utf-8", newline="") as stream:
        found = list(csv.reader(stream))
    assert found[0] == ["id", "metric", "score", "n_claims", "n_unparsed", "reason", "n", "note"]
    assert [row[6:] for row in found[1:]] == [list(pair) for pair in zip(*extra.values(), strict=True)]


def test_a_column_that_would_stand_twice_is_refused(folder):
    write([row | {"score": 1} for row in ROWS])
    with pytest.raises(
        ExamplesError, match=r"mine\.jsonl: column 'score' would stand twice in mine\.word-overlap\.csv"
    ):
        score()
    assert not list(folder.glob("*.csv"))


def test_a_misspelt_label_is_told_of(capsys):
    write([{("lable" if key == "label" else key): value for key, value in row.items()} for row in ROWS])
    score()
    printed = capsys.readouterr()
    assert "column 'lable' is carried through unread; did you mean 'label'?" in printed.err
    assert "AUC" not in printed.out


def test_labels_of_some_rows_are_compared_with_their_scores(capsys):
    unlabelled = {"id": "e", "document": "A dog.", "summary": "A dog."}
    write([*ROWS, unlabelled])
    score()
    area = roc_auc_score([1, 0, 0], [1, 1 / 4, 2 / 3])
    assert f"AUC against your labels over the 3 summaries that have a label and a score: {area:.3f}" in (
        capsys.readouterr().out
    )


def test_an_unknown_model_is_told_that_there_are_no_settings():
    write(ROWS)
    with pytest.raises(
        ClaimwiseError, match=r"'openai'; there is no params\.yaml, and without one there are: embedded, lex"
    ):
        score(model="openai")


def test_both_models_that_need_no_settings_work_without_them(capsys):
    write(ROWS)
    score(metric="sentences", model="lexical")
    assert "by model lexical" in capsys.readouterr().out
    scores = pd.read_csv("mine.sentences.csv")
    assert scores["score"].notna().tolist() == [True, True, True, False]
    assert scores["n_unparsed"].tolist() == [0, 0, 0, 0]
