"""Summaries of scientific papers: of several abstracts, which they cite, and of long articles; one function per dataset."""

from collections import defaultdict
from statistics import mean
from string import ascii_lowercase
from typing import Any

from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry
from claimwise.prompts.sources import Source, cited, joined, surname


def fave(rows: Rows, files: Registry) -> None:
    """FAVE (George and Stuhlmüller 2023): 200 questions, to be answered with citations. Summaries are empty.

    A question's document is its eight abstracts, each under its reference. The question is in ``Corpus.questions``. If
    two papers of a question have the same reference, a letter after the year makes them differ. A paper without authors
    is cited by the first words of its title. A few papers have no abstract.
    """
    for index, entry in enumerate(files.read_json("fave", "paper_dataset.json")):
        example = rows.example(
            f"{index:03d}", document=joined(_papers(entry["papers"])), summary="", system="none", origin="papers"
        )
        rows.questions[example] = entry["query"]


def _papers(entries: list[dict[str, Any]]) -> list[Source]:
    papers = []
    for index, entry in enumerate(entries):
        same = [number for number, other in enumerate(entries) if _reference(other) == _reference(entry)]
        letter = ascii_lowercase[same.index(index)] if len(same) > 1 else ""
        papers.append(Source(_reference(entry, letter), entry["title"], entry["summary"]))
    return papers


def _reference(entry: dict[str, Any], letter: str = "") -> str:
    authors = [surname(author) for author in entry["authors"] if author.strip()]
    year = entry["metadata"]["year"] or "n.d."  # a missing year is published as 0
    return cited(authors or [" ".join(entry["title"].split()[:4])], f"{year}{letter}")


_METRIC = "human factuality (mean)"
_SYSTEMS = {"gencomparesumabs": "model_1", "dancersum": "model_2", "section_conditional": "model_3"}


def longsciverify(rows: Rows, files: Registry) -> None:
    """LongSciVerify (Bishop 2024): 15 PubMed and 15 arXiv articles, three systems.

    Three reviewers judged up to three sentences of each summary, but which sentences is not published. So the mean of
    their judgements, in [0, 1], is the summary's score, and there are no gold claims and no label. The document is the
    article, one sentence per line.
    """
    for origin in ("pubmed", "arxiv"):
        articles = {
            _bare(article["article_id"]): article
            for article in files.read_json("longsciverify", f"data/raw_data/LongSciVerify/{origin}_test.json")
        }
        votes: dict[tuple[str, str], list[float]] = defaultdict(list)
        for path in files.paths("longsciverify", f"*/{origin}_reviewer_*.csv"):
            reviewed = files.read_csv("longsciverify", path)
            for entry in reviewed:
                for system, prefix in _SYSTEMS.items():
                    columns = [name for name in entry if name.startswith(prefix) and "factuality" in name]
                    votes[_bare(entry["id"]), system] += [float(entry[c]) for c in columns if entry[c]]
        for entry in reviewed:  # any of the reviewers' files: all have the same summaries
            article = articles[_bare(entry["id"])]
            for system in _SYSTEMS:
                example = rows.example(
                    article["article_id"],
                    system,
                    document="\n".join(article["article_text"]),
                    summary=entry[system],
                    origin=origin,
                )
                rows.score(example, _METRIC, mean(votes[_bare(entry["id"]), system]))


def _bare(article_id: str) -> str:
    """An id without outer zeros and spaces, which differ: spreadsheets strip zeros of arXiv numbers, people add spaces."""
    return article_id.strip().strip("0")


def longeval(rows: Rows, files: Registry) -> None:
    """LongEval (Krishna 2023), PubMed part: 20 articles, two systems; mean of three annotators' scores, in [0, 1].

    The published summaries by people have no scores, so they are not read.
    """
    texts = files.read_json("longsciverify", "data/raw_data/LongEval/pubmed_summary_src_doc_data.json")
    for entry in files.read_json("longsciverify", "data/human_eval_results/LongEval/pubmed_fine_scores.json"):
        article, system = entry["story"].removeprefix("article_").split("_", 1)
        text = texts[entry["story"]]
        example = rows.example(article, system, document=text["source_doc"], summary=text["summary"], origin="pubmed")
        rows.score(example, _METRIC, mean(entry["score"]) / 100)
