"""`data: own`: the notebooks that rank metrics and systems, run on a user's labelled file with the shipped settings."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from imports import ROOT
from test_notebooks_language import _code

from claimwise import notebook, preparation, scoring
from claimwise import params as settings

PLACES = ("Tarn", "Leeds", "Oslo", "Kyoto", "Lima", "Perth", "Bern", "Cork")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Eight stories, half of them for validation, each told by one system as it is and by another with what it has not."""
    rows = [
        {"document": f"A mill burned in {place} on Monday.", "summary": summary, "label": label, "system": who}
        | {"split": "validation" if number % 2 else "test"}
        for number, place in enumerate(PLACES)
        for who, summary, label in (
            ("copier", f"A mill burned in {place}.", "true"),
            ("inventor", "Nine green whales sang very loudly.", "false"),
        )
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("own"))
        patch.setenv("MPLBACKEND", "Agg")
        shutil.copytree(ROOT / "data" / "published", "data/published")
        Path("data/own").mkdir()
        pd.DataFrame(rows).to_csv("data/own/mine.csv", index=False)
        params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
        params |= {"data": "own", "model": "lexical", "cache": "calls.sqlite"}
        Path("params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
        given = settings.read("params.yaml")
        preparation.prepare_corpora(given)
        for metric in given.score.metrics:
            scoring.score_corpora(given, metric)
        yield given


def run(name, given):
    cells = _code(name)
    space: dict = {}
    exec(cells[0], space)
    space |= notebook.parameters(given, name, ROOT / "notebooks" / f"{name}.ipynb")
    for number, cell in enumerate(cells[1:], start=1):
        exec(compile(cell, f"{name}, cell {number}", "exec"), space)
    return pd.read_csv(f"tables/own/{name}.csv")


def test_metrics_are_compared_by_ones_own_labels(project):
    table = run("meta_evaluation", project).set_index("metric")
    assert set(table.index) == {"acueval", "factored", "sentences", "holistic", "word-overlap", "fenice"}
    assert table["n"].unique().tolist() == [8]
    # What is copied has all of its words in the document, what is invented none.
    assert table.loc["word-overlap", ["balanced_accuracy", "auc"]].tolist() == [100, 1]
    assert table.loc["acueval", ["balanced_accuracy", "difference", "p"]].tolist() == [100, 0, 1]


def test_ones_own_systems_are_ranked(project):
    table = run("leaderboard", project)
    assert table["system"].tolist() == ["copier", "inventor"]
    assert table["acueval"].tolist() == [1, 0]
    assert table["faithful"].tolist() == [1, 0]
    assert table["ranks"].tolist() == [1, 2]
