"""The corpora shipped with the project: documents, summaries and claims written by hand for it (data/sample).

``sample`` holds the summaries to judge; ``sample_presence`` turns them round, as ROSE does (ACUEval table 3): a
claim of the reference is checked against a system's summary, which may or may not state it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.registry import ROOT, Registry
from claimwise.errors import ClaimwiseError, shorten

FOLDER = ROOT / "data" / "sample"

#: Error types of unsupported claims; ``citation`` is a true statement credited to the wrong source.
ERROR_TYPES = (
    "entity",
    "number",
    "relation",
    "circumstance",
    "coreference",
    "out-of-article",
    "overstatement",
    "citation",
)

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
ErrorType = Literal[ERROR_TYPES]
Checked = TypeVar("Checked", bound=BaseModel)


class SampleError(ClaimwiseError):
    """A hand-written file breaks its format; the message names file, field, what was expected and what to do."""


class Strict(BaseModel):
    """A part of a hand-written file: a misspelt field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LabelledClaim(Strict):
    """A claim with its label; an unsupported one says what is wrong with it."""

    claim: Text
    supported: bool
    error: ErrorType | None = None
    note: Text | None = None

    @model_validator(mode="after")
    def _error_where_unsupported(self) -> LabelledClaim:
        if self.supported and (self.error or self.note):
            raise ValueError("a supported claim has neither error nor note; remove them or set supported: false")
        if not self.supported and not (self.error and self.note):
            raise ValueError("an unsupported claim needs error and note; add them or set supported: true")
        return self


class Summary(Strict):
    """What one system wrote, its claims, and which reference claims it states."""

    system: Literal["extract", "abstract", "fluent", "careless"]
    summary: Text
    claims: tuple[LabelledClaim, ...] = Field(min_length=1)
    covers: tuple[Annotated[int, Field(ge=0)], ...]


class Preference(Strict):
    """Which of reference (writer) and fluent summary (model) a rater likes better, and why."""

    preferred: Literal["writer", "model", "equal"]
    why: Text


class Document(Strict):
    """One file of data/sample/documents."""

    id: Text
    domain: Literal["news", "dialogue", "science", "report"]
    split: Literal["validation", "test"]
    title: Text
    document: Text
    reference: Text
    reference_claims: tuple[Text, ...] = Field(min_length=1)
    summaries: tuple[Summary, ...]
    preference: Preference

    @model_validator(mode="after")
    def _consistent(self) -> Document:
        systems = [summary.system for summary in self.summaries]
        if systems != ["extract", "abstract", "fluent", "careless"]:
            raise ValueError(f"summaries: expected extract, abstract, fluent, careless in this order, got {systems}")
        for summary in self.summaries:
            beyond = [index for index in summary.covers if index >= len(self.reference_claims)]
            if beyond:
                raise ValueError(
                    f"summaries, {summary.system}, covers: {beyond} point beyond the {len(self.reference_claims)} "
                    "reference_claims, which count from 0"
                )
        return self


def read_checked(file: Path, model: type[Checked]) -> Checked:
    """Read a YAML file and check it against a model.

    Raises:
        SampleError: names the file, the field, what was expected and what to do.
    """
    try:
        return model.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    except yaml.YAMLError as error:
        raise SampleError(f"{file}: not YAML: {error}; quote scalars that hold ': ' or begin with a quote") from None
    except ValidationError as error:
        lines = [
            f"{file}, field {'.'.join(map(str, problem['loc'])) or '(whole file)'}: {problem['msg']}, "
            f"got {shorten(problem['input'])}"
            for problem in error.errors()
        ]
        raise SampleError("\n".join(lines) + "\nmend the file; claimwise.corpora.sample describes the format") from None


def yaml_files(folder: Path) -> list[Path]:
    """The YAML files of a folder, sorted.

    Raises:
        SampleError: there are none.
    """
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise SampleError(f"no .yaml files in {folder}; run from a checkout of the project, which holds data/sample")
    return files


def _documents(folder: Path) -> list[Document]:
    documents = []
    for file in yaml_files(folder / "documents"):
        document = read_checked(file, Document)
        if document.id != file.stem:
            raise SampleError(f"{file}, field id: expected {file.stem!r}, the file's name, got {document.id!r}")
        documents.append(document)
    return documents


def load(files: Registry | None = None, folder: Path = FOLDER) -> Corpus:
    """The sample: the reference and four systems' summaries of each document.

    The reference is faithful (label 1), its claims too. A system's summary is faithful where all its claims are
    supported. Preferences compare the reference (first) with the fluent summary (second).

    Args:
        files: not needed; loaders share one signature.
        folder: holds ``documents/*.yaml``.
    """
    rows = Rows("sample")
    for entry in _documents(folder):
        shared = {"document": entry.document, "split": entry.split, "origin": entry.domain}
        reference = rows.example(entry.id, "reference", summary=entry.reference, label=1, **shared)
        rows.gold(reference, [{"claim": claim, "label": 1} for claim in entry.reference_claims])
        ids = {}
        for summary in entry.summaries:
            faithful = all(claim.supported for claim in summary.claims)
            example = rows.example(entry.id, summary.system, summary=summary.summary, label=int(faithful), **shared)
            rows.gold(
                example,
                [{"claim": c.claim, "label": int(c.supported), "error": c.error} for c in summary.claims],
            )
            ids[summary.system] = example
        preferred = {"writer": "first", "model": "second", "equal": "equal"}[entry.preference.preferred]
        rows.prefer(reference, ids["fluent"], "author", preferred)
    return rows.corpus()


def load_presence(files: Registry | None = None, folder: Path = FOLDER) -> Corpus:
    """The sample in ROSE's form: is a claim of the reference present in a system's summary?

    The system's summary stands in the ``document`` column, since claims are checked against it, the reference in
    ``summary``. A claim's ``extra`` is the source document, which ACUEval's "+ document" prompt shows beside.
    ``document_id`` is the source's, so that groups stay together.
    """
    rows = Rows("sample_presence")
    for entry in _documents(folder):
        for summary in entry.summaries:
            example = rows.example(
                entry.id,
                summary.system,
                document=summary.summary,
                summary=entry.reference,
                split=entry.split,
                origin=entry.domain,
                document_key=entry.document,
            )
            rows.gold(
                example,
                [
                    {"claim": claim, "label": int(index in summary.covers), "extra": entry.document}
                    for index, claim in enumerate(entry.reference_claims)
                ],
            )
    return rows.corpus()
