"""The notebook of the embedded model, whose corpora with types and places of errors are in no other run that tests see."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest
import yaml
from imports import ROOT
from test_notebooks_language import _code, cut

from claimwise import corpora, notebook
from claimwise import params as settings
from claimwise import paths as store
from claimwise.corpora.base import Rows
from claimwise.corpora.frank import UNAGREED

STATED = "Ana Reyes paid 300 crowns for mast {}."


def typed() -> corpora.Corpus:
    rows = Rows("typed")
    for split in ("validation", "test"):
        for number in range(3):
            document = STATED.format(number) + " Lena Stone left the harbour on Monday."
            for system, summary, error in (
                ("a", STATED.format(number), None),
                ("b", f"Tom Birch paid 900 crowns for mast {number}.", "EntE, CircE"),
                ("c", "A volcano erupted in Iceland.", UNAGREED),
            ):
                label = int(error is None)
                key = rows.example(
                    f"{split}{number}", system, split=split, document=document, summary=summary, label=label
                )
                rows.gold(key, [{"claim": summary, "label": label, "error": error}])
    return rows.corpus()


def marked() -> corpora.Corpus:
    rows = Rows("marked")
    for number in range(3):
        summary = f"Tom Birch paid 300 crowns for mast {number}."
        key = rows.example(str(number), split="test", document=STATED.format(number), summary=summary, label=0)
        rows.marked(key, [(0, 9)])
    return rows.corpus()


def test_types_and_places_of_errors_are_in_its_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for folder in ("published", "embedded"):
        shutil.copytree(ROOT / "data" / folder, tmp_path / "data" / folder)
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["embedded_model"] |= {"types": {"sample": ["typed"]}, "spans": {"sample": ["marked"]}, "draws": 20}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    for name, corpus in {"sample": cut("sample", 3), "typed": typed(), "marked": marked()}.items():
        corpora.write(corpus, store.corpus_folder("sample", name))
    cells = _code("embedded_model")
    space: dict = {}
    exec(cells[0], space)
    given = settings.read(tmp_path / "params.yaml")
    space |= notebook.parameters(given, "embedded_model", ROOT / "notebooks" / "embedded_model.ipynb")
    for number, cell in enumerate(cells[1:], start=1):
        exec(compile(cell, f"embedded_model, cell {number}", "exec"), space)
    types = pd.read_csv(store.result("sample", "embedded_model_types.csv"))
    types = types[(types["split"] == "test") & (types["model"] == "embedded")].set_index("error")
    assert types["n"].to_dict() == {"any": 6, "CircE": 3, "EntE": 3, UNAGREED: 3}
    assert types.loc[UNAGREED, "auc"] == pytest.approx(1)  # nothing of it is in the documents
    places = pd.read_csv(store.result("sample", "embedded_model_spans.csv")).set_index("by")
    assert places["spans"].tolist() == [3, 3]
    assert places.loc["absent word", "auc"] == pytest.approx(1)  # the document has neither Tom nor Birch
