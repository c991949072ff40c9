"""The README's numbers are those of the committed tables, and its links lead somewhere."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from imports import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PUBLIC = ROOT / "tables" / "public"


@pytest.mark.parametrize(
    ("row", "metric"),
    [
        ("**ACUEval**", "acueval"),
        ("**Factored Verification**", "factored"),
        ("sentences instead of claims", "sentences"),
        ("holistic judge", "holistic"),
        ("word overlap (baseline)", "word-overlap"),
    ],
)
def test_the_results_table_is_the_committed_one(row, metric):
    line = next(line for line in README.splitlines() if line.startswith(f"| {row}"))
    table = pd.read_csv(PUBLIC / "meta_evaluation.csv")
    table = table[table["metric"] == metric]
    for corpus, group in (("aggrefact_ftsota", "cnndm"), ("aggrefact_ftsota", "xsum"), ("summeval", "all")):
        [found] = table[(table["corpus"] == corpus) & (table["group"] == group)].to_dict("records")
        assert f"{found['balanced_accuracy']:.1f} ({found['low']:.1f}–{found['high']:.1f})" in line


def test_fenices_row_is_of_the_metric_that_each_corpus_has():
    line = next(line for line in README.splitlines() if line.startswith("| **FENICE**"))
    table = pd.read_csv(PUBLIC / "meta_evaluation.csv").set_index(["corpus", "group", "metric"])
    for key in (
        ("aggrefact_ftsota", "cnndm", "fenice-t5"),
        ("aggrefact_ftsota", "xsum", "fenice-t5"),
        ("summeval", "all", "fenice"),
    ):
        found = table.loc[key]
        assert f"{found['balanced_accuracy']:.1f} ({found['low']:.1f}–{found['high']:.1f})" in line


@pytest.mark.parametrize(
    ("row", "decomposer"),
    [
        ("embedded, 5 demonstrations", "acueval-decompose-5shot"),
        ("embedded, FActScore-style", "factscore-decompose-sentence"),
        ("gpt-3.5's claims on record", "recorded:gpt-3.5-turbo"),
        ("FENICE T5's claims on record", "recorded:fenice-t5"),
        ("every sentence a claim", "sentences"),
    ],
)
def test_the_claims_table_is_the_committed_one(row, decomposer):
    line = next(line for line in README.splitlines() if line.startswith(f"| {row}"))
    table = pd.read_csv(PUBLIC / "acu_generation.csv")
    table = table[table["decomposer"] == decomposer].set_index("origin")
    for origin in ("cnndm", "xsum", "samsum"):
        found = table.loc[origin]
        assert f"{found['precision']:.1f} / {found['recall']:.1f} / **{found['f1']:.1f}**" in line


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) > 20
    for link in links:
        assert (ROOT / link).exists(), link


def test_nothing_was_left_to_fill_in():
    assert "@@" not in README
