"""FAVE (George and Stuhlmüller 2023): 200 questions with eight abstracts each, to be summarised with citations."""

from __future__ import annotations

from collections import Counter
from string import ascii_lowercase
from typing import Any

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.citations import Paper, cited, joined, surname
from claimwise.corpora.files import read_json
from claimwise.corpora.registry import Registry


def load(files: Registry) -> Corpus:
    """One example a query: the document is its eight abstracts, each under its reference line; no summary yet.

    The query is in ``Corpus.questions``. Papers of one query that would be cited alike get a letter after the year,
    a paper without authors is cited by the first words of its title.
    """
    rows = Rows("fave")
    for index, entry in enumerate(read_json(files.fetch("fave", "paper_dataset.json"))):
        example = rows.example(
            f"{index:03d}", document=joined(_papers(entry["papers"])), summary="", system="none", origin="papers"
        )
        rows.questions[example] = entry["query"]
        without = sum(not paper["summary"].strip() for paper in entry["papers"])
        if without:
            rows.note("papers without an abstract (kept)", without)
    return rows.corpus()


def _papers(entries: list[dict[str, Any]]) -> list[Paper]:
    names = [(_surnames(entry), entry["metadata"]["year"]) for entry in entries]
    twice = {name for name, count in Counter(names).items() if count > 1}
    used: Counter[tuple[Any, ...]] = Counter()
    papers = []
    for entry, name in zip(entries, names, strict=True):
        letter = ascii_lowercase[used[name]] if name in twice else ""
        used[name] += 1
        reference = cited(name[0], f"{name[1]}{letter}")
        papers.append(Paper(reference, _one_line(entry["title"]), entry["summary"].strip()))
    return papers


def _surnames(entry: dict[str, Any]) -> tuple[str, ...]:
    authors = [surname(author) for author in entry["authors"] if author.strip()]
    return tuple(authors) or (" ".join(entry["title"].split()[:4]),)


def _one_line(text: str) -> str:
    return " ".join(text.split())
