"""The corpora in data/sample, which were written by hand for this project. README.md there describes the files.

``sample`` has summaries to judge. ``sample_presence`` reverses the task, as ROSE does (ACUEval table 3): does a system's
summary state a claim of the reference? ``sample_papers`` has questions, abstracts and summaries that cite them.
"""

from typing import Any

import yaml

from claimwise import paths
from claimwise.corpora.base import CorpusError, Rows
from claimwise.corpora.registry import Registry
from claimwise.prompts.sources import Source, cited, joined, surname

#: The prefix of citations of papers that do not exist, as models invent them.
MISSING = "missing:"


def entries(kind: str) -> list[dict[str, Any]]:
    """The contents of the YAML files of a kind, ``documents`` or ``papers``, in the order of their names.

    Raises:
        CorpusError: there are none.
    """
    folder = paths.root() / "data" / "sample" / kind
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise CorpusError(f"no .yaml files in {folder}; run from a checkout of the project, which holds data/sample")
    return [yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader) for file in files]


def load(rows: Rows, files: Registry) -> None:
    """The sample: the reference and four systems' summaries of each document.

    The reference and its claims are faithful (label 1). A system's summary is faithful if all its claims are supported.
    Preferences compare the reference (first) with the fluent summary (second).
    """
    for entry in entries("documents"):
        shared = {"document": entry["document"], "split": entry["split"], "origin": entry["domain"]}
        reference = rows.example(entry["id"], "reference", summary=entry["reference"], label=1, **shared)
        rows.gold(reference, [{"claim": claim, "label": 1} for claim in entry["reference_claims"]])
        ids = {}
        for written in entry["summaries"]:
            claims = [
                {"claim": claim["claim"], "label": int(claim["supported"]), "error": claim.get("error")}
                for claim in written["claims"]
            ]
            label = min(claim["label"] for claim in claims)
            example = rows.example(entry["id"], written["system"], summary=written["summary"], label=label, **shared)
            rows.gold(example, claims)
            ids[written["system"]] = example
        preferred = {"writer": "first", "model": "second", "equal": "equal"}[entry["preference"]["preferred"]]
        rows.prefer(reference, ids["fluent"], "author", preferred)


def load_presence(rows: Rows, files: Registry) -> None:
    """The sample in ROSE's form: does a system's summary state a claim of the reference?

    The ``document`` is the system's summary, since claims are checked against it; the ``summary`` is the reference. A
    claim's ``extra`` is the source document, which ACUEval's "+ document" prompt also shows. ``document_id`` is that of
    the source, so that its examples stay together.
    """
    for entry in entries("documents"):
        for written in entry["summaries"]:
            example = rows.example(
                entry["id"],
                written["system"],
                document=written["summary"],
                summary=entry["reference"],
                split=entry["split"],
                origin=entry["domain"],
                document_key=entry["document"],
            )
            rows.gold(
                example,
                [
                    {"claim": claim, "label": int(index in written["covers"]), "extra": entry["document"]}
                    for index, claim in enumerate(entry["reference_claims"])
                ],
            )


def load_papers(rows: Rows, files: Registry) -> None:
    """The summaries of papers, one example per query and summary. The document is all abstracts, each under its reference.

    Gold claims are the sentences with citations, labelled against the abstracts that they cite (``passage``, empty if no
    cited paper exists). A summary is faithful if all of them are supported. The query is in ``Corpus.questions``.
    """
    for query in entries("papers"):
        papers = {paper["id"]: source(paper) for paper in query["papers"]}
        for written in query["summaries"]:
            claims = [
                {
                    "claim": sentence["sentence"],
                    "label": int(sentence["supported"]),
                    "error": sentence.get("error"),
                    "passage": joined(papers[cite] for cite in sentence["cites"] if not cite.startswith(MISSING)),
                }
                for sentence in written["sentences"]
                if sentence["cites"]
            ]
            example = rows.example(
                query["id"],
                written["system"],
                document=joined(papers.values()),
                summary=written["summary"],
                split=query["split"],
                origin="papers",
                label=min((claim["label"] for claim in claims), default=1),
            )
            rows.questions[example] = query["query"]
            rows.gold(example, claims)


def source(paper: dict[str, Any]) -> Source:
    """A paper with its reference. ``year_suffix`` distinguishes two papers with the same authors and year."""
    reference = cited([surname(author) for author in paper["authors"]], f"{paper['year']}{paper['year_suffix'] or ''}")
    return Source(reference, paper["title"], paper["abstract"])
