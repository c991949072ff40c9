"""FAVE (George and Stuhlmüller 2023): 200 questions with eight abstracts each, to be summarised with citations."""

from __future__ import annotations

from collections import Counter
from string import ascii_lowercase
from typing import Any

from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry
from claimwise.prompts.sources import Source, cited, joined, surname


def load(rows: Rows, files: Registry) -> None:
    """One example a query: the document is its eight abstracts, each under its reference; no summary yet.

    The query is in ``Corpus.questions``. Papers of one query that would be cited alike get a letter after the year,
    a paper without authors is cited by the first words of its title. A few papers have no abstract.
    """
    for index, entry in enumerate(files.read_json("fave", "paper_dataset.json")):
        example = rows.example(
            f"{index:03d}", document=joined(_papers(entry["papers"])), summary="", system="none", origin="papers"
        )
        rows.questions[example] = entry["query"]


def _papers(entries: list[dict[str, Any]]) -> list[Source]:
    # a missing year is published as 0
    years = [str(entry["metadata"]["year"] or "n.d.") for entry in entries]
    plain = [cited(_surnames(entry), year) for entry, year in zip(entries, years, strict=True)]
    used: Counter[str] = Counter()
    papers = []
    for entry, year, reference in zip(entries, years, plain, strict=True):
        letter = ascii_lowercase[used[reference]] if plain.count(reference) > 1 else ""
        used[reference] += 1
        papers.append(Source(cited(_surnames(entry), year + letter), entry["title"], entry["summary"]))
    return papers


def _surnames(entry: dict[str, Any]) -> tuple[str, ...]:
    authors = [surname(author) for author in entry["authors"] if author.strip()]
    return tuple(authors) or (" ".join(entry["title"].split()[:4]),)
