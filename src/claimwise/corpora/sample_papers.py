"""The shipped corpus of cited summaries: questions, abstracts and summaries that cite them (data/sample/papers)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.registry import Registry
from claimwise.corpora.sample import FOLDER, ErrorType, Strict, Text, read_checked, yaml_files
from claimwise.prompts.sources import Source, cited, joined, surname

MISSING = "missing:"


class Abstract(Strict):
    """A paper; ``year_suffix`` tells apart two that would be cited alike."""

    id: Text
    authors: tuple[Text, ...] = Field(min_length=1)
    year: int = Field(ge=1900, le=2100)
    year_suffix: Literal["a", "b", "c"] | None = None
    title: Text
    abstract: Text

    @property
    def paper(self) -> Source:
        """The paper under its reference."""
        reference = cited([surname(author) for author in self.authors], f"{self.year}{self.year_suffix or ''}")
        return Source(reference, self.title, self.abstract)


class Sentence(Strict):
    """A sentence of a summary; only one that cites is labelled.

    A citation of a paper that is not there, as models invent them, is written ``missing:`` and a name.
    """

    sentence: Text
    cites: tuple[Text, ...]
    supported: bool | None
    error: ErrorType | None = None
    note: Text | None = None

    @model_validator(mode="after")
    def _labelled_where_cited(self) -> Sentence:
        if bool(self.cites) != (self.supported is not None):
            raise ValueError("a sentence that cites needs supported: true or false, one that does not, null")
        if (self.supported is False) != bool(self.error and self.note) or bool(self.error) != bool(self.note):
            raise ValueError("an unsupported sentence needs error and note, any other has neither")
        return self


class CitedSummary(Strict):
    """What one system wrote, and its sentences in order."""

    system: Text
    summary: Text
    sentences: tuple[Sentence, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _sentences_make_the_summary(self) -> CitedSummary:
        written = " ".join(sentence.sentence for sentence in self.sentences)
        if written.split() != self.summary.split():
            raise ValueError("summary: expected its sentences, joined by spaces, word for word")
        return self


class Query(Strict):
    """One file of data/sample/papers."""

    id: Text
    split: Literal["validation", "test"]
    query: Text
    papers: tuple[Abstract, ...] = Field(min_length=1)
    summaries: tuple[CitedSummary, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Query:
        references = [paper.paper.reference for paper in self.papers]
        if len(set(references)) < len(references):
            raise ValueError(f"papers: two would be cited alike in {references}; give them a year_suffix")
        known = {paper.id for paper in self.papers}
        for summary in self.summaries:
            for sentence in summary.sentences:
                if not known.issuperset(cite for cite in sentence.cites if not cite.startswith(MISSING)):
                    raise ValueError(
                        f"summaries, {summary.system}: cites {list(sentence.cites)}, but the papers are {sorted(known)}; "
                        f"write {MISSING}Name-Year for a paper that is not there"
                    )
        return self


def load(files: Registry | None = None, folder: Path = FOLDER) -> Corpus:
    """One example a (query, summary): the document is all abstracts, each under its reference.

    Gold claims are the sentences that cite, labelled against the abstracts they cite (``passage``, empty where all
    that is cited does not exist); a summary is faithful where all of them are supported. The query is in
    ``Corpus.questions``.

    Args:
        files: not needed; loaders share one signature.
        folder: holds ``papers/*.yaml``.
    """
    rows = Rows("sample_papers")
    for file in yaml_files(folder / "papers"):
        query = read_checked(file, Query)
        papers = {entry.id: entry.paper for entry in query.papers}
        for summary in query.summaries:
            citing = [sentence for sentence in summary.sentences if sentence.cites]
            example = rows.example(
                query.id,
                summary.system,
                document=joined(papers.values()),
                summary=summary.summary,
                split=query.split,
                origin="papers",
                label=int(all(sentence.supported for sentence in citing)),
            )
            rows.questions[example] = query.query
            rows.gold(
                example,
                [
                    {
                        "claim": sentence.sentence,
                        "label": int(sentence.supported),
                        "error": sentence.error,
                        "passage": joined(papers[cite] for cite in sentence.cites if cite in papers),
                    }
                    for sentence in citing
                ],
            )
    return rows.corpus()
