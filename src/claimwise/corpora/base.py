"""A corpus: its tables, how a loader fills them, and their files on disk. Texts are kept as published."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from claimwise import paths, schema
from claimwise.corpora.registry import Registry
from claimwise.errors import ClaimwiseError

#: The tables of a corpus, in the order in which they are written.
TABLES = ("examples", "gold_claims", "preferences", "recorded_claims", "scores")
#: Tables that few corpora have: without rows they have no file.
RARE = ("recorded_replies", "spans", "gold_evidence")

_ARROW = {"float64": pa.float64(), "int64": pa.int64()}


class CorpusError(ClaimwiseError):
    """There is no corpus of that name, or its files are missing or ambiguous."""


@dataclass(frozen=True)
class Corpus:
    """A corpus as validated tables (columns in ``claimwise.schema``); a table that it does not have is empty.

    A summary without ``spans`` has no error, or an error whose place is not marked; see its label.

    Attributes:
        notes: counts of what the loader left out or changed, e.g. ``{"three-way ties left out": 19}``.
        questions: the question of each example, if the summaries answer questions.
    """

    examples: pd.DataFrame
    gold_claims: pd.DataFrame
    preferences: pd.DataFrame
    recorded_claims: pd.DataFrame
    scores: pd.DataFrame
    recorded_replies: pd.DataFrame
    spans: pd.DataFrame
    gold_evidence: pd.DataFrame
    notes: Mapping[str, int] = field(default_factory=dict)
    questions: Mapping[str, str] = field(default_factory=dict)

    def first(
        self, documents: int | None, of_split: Mapping[str, int | None] | None = None, learned: Collection[str] = ()
    ) -> Corpus:
        """The corpus with only the first so many documents, by id; None keeps all.

        ``of_split`` is a number of documents per split, for each origin of it; documents with ids in ``learned`` are not
        taken then. Rows of other tables about examples that are left out are left out, too.
        """
        examples = self.examples
        if documents is not None:
            kept = sorted(examples["document_id"].unique())[:documents]
            examples = examples[examples["document_id"].isin(kept)]
        for name, count in (of_split or {}).items():
            split = examples["split"] == name
            ids = examples[split & ~examples["document_id"].isin(learned)].groupby("origin")["document_id"].unique()
            kept = [document for origin_ids in ids for document in sorted(origin_ids)[:count]]
            examples = examples[~split | examples["document_id"].isin(kept)]
        tables = {"examples": examples.reset_index(drop=True)}
        for name in (*TABLES[1:], *RARE):
            table = getattr(self, name)
            about = table.filter(regex="^(example|first|second)_id$")
            tables[name] = table[about.isin(set(examples["id"])).all(axis=1)].reset_index(drop=True)
        return replace(self, **tables)


class Rows:
    """Collects a corpus's rows while a loader reads its files. The loader writes ``notes`` and ``questions`` directly.

    >>> rows = Rows("toy")
    >>> first = rows.example("doc1", "lead", document="It rained.", summary="It rained.", label=1)
    >>> rows.gold(first, [{"claim": "It rained", "label": 1}])
    >>> corpus = rows.corpus()
    >>> corpus.examples[["id", "system", "label"]].values.tolist()
    [['toy:doc1:lead', 'lead', 1.0]]
    >>> corpus.gold_claims[["claim_index", "claim"]].values.tolist(), len(corpus.scores)
    ([[0, 'It rained']], 0)
    """

    def __init__(self, corpus: str) -> None:
        self.name = corpus
        self.notes: Counter[str] = Counter()
        self.questions: dict[str, str] = {}
        self._rows: dict[str, list[dict[str, Any]]] = {table: [] for table in (*TABLES, *RARE)}

    def example(
        self,
        *key: str | int,
        document: str,
        summary: str,
        system: str | None = None,
        split: str = "test",
        origin: str | None = None,
        label: float = math.nan,
        document_key: str | None = None,
    ) -> str:
        """Add an example and return its id: the corpus's name and the parts of the key, joined by colons.

        The key makes the id unique in the corpus. The default system is the last part of the key, the default origin is
        the corpus. ``document_id`` is computed from ``document_key`` if given, for examples that share a source which is
        not their ``document``. For the other fields see ``schema.SCHEMAS``.
        """
        example_id = ":".join([self.name, *map(str, key)])
        self._add(
            "examples",
            id=example_id,
            corpus=self.name,
            split=split,
            origin=origin or self.name,
            system=system or str(key[-1]),
            document_id=schema.document_id(document if document_key is None else document_key),
            document=document,
            summary=summary,
            label=label,
        )
        return example_id

    def _add(self, table: str, **row: Any) -> None:
        self._rows[table].append(row)

    def gold(self, example_id: str, claims: Iterable[Mapping[str, Any]]) -> None:
        """Add claims that people wrote or labelled: mappings with claim, label, error, passage and extra."""
        for index, claim in enumerate(claims):
            self._add("gold_claims", example_id=example_id, claim_index=index, **claim)

    def recorded(self, example_id: str, decomposer: str, claims: Iterable[str]) -> None:
        """Add the claims that a published system made of an example's summary."""
        for index, claim in enumerate(claims):
            self._add("recorded_claims", example_id=example_id, decomposer=decomposer, claim_index=index, claim=claim)

    def replied(self, example_id: str, model: str, template: str, prompt: str, reply: str) -> None:
        """Add a language model's reply. ``prompt`` is our prompt whose parser reads replies to this ``template``."""
        self._add("recorded_replies", example_id=example_id, model=model, template=template, prompt=prompt, reply=reply)

    def marked(self, example_id: str, spans: Iterable[tuple[int, int]]) -> None:
        """Add the characters (start, end) of an example's summary that people marked as unsupported."""
        for start, end in spans:
            self._add("spans", example_id=example_id, start=start, end=end)

    def evidence(self, example_id: str, alternatives: Iterable[Iterable[tuple[int, int]]]) -> None:
        """Add the characters (start, end) of the document's sentences that people chose: for each alternative, a set."""
        for number, sentences in enumerate(alternatives):
            for start, end in sentences:
                self._add("gold_evidence", example_id=example_id, alternative=number, start=start, end=end)

    def prefer(self, first_id: str, second_id: str, rater: str, preferred: str) -> None:
        """Add a person's preference: ``preferred`` is first, second or equal."""
        self._add("preferences", first_id=first_id, second_id=second_id, rater=rater, preferred=preferred)

    def score(self, example_id: str, metric: str, score: float, reason: str | None = None) -> None:
        """Add a published score. Its number of claims is not published, so both counts are 0."""
        self._add("scores", example_id=example_id, metric=metric, score=score, reason=reason, n_claims=0, n_unparsed=0)

    def corpus(self) -> Corpus:
        """Build and validate the tables.

        Raises:
            TableError: a table breaks its schema; the message names corpus, table, row and column.
        """
        tables = {}
        for name, rows in self._rows.items():
            tables[name] = _validated(pd.DataFrame(rows), name, f"corpus {self.name}, table {name}")
        return Corpus(**tables, notes=dict(self.notes), questions=dict(self.questions))


#: A function that reads a corpus's files into its rows.
Loader = Callable[[Rows, Registry], None]


def _validated(table: pd.DataFrame, name: str, source: str) -> pd.DataFrame:
    """A validated table with all of a schema's columns, also the optional ones."""
    return schema.validate(table.reindex(columns=list(schema.SCHEMAS[name].columns)), name, source)


def write(corpus: Corpus, folder: str | Path) -> None:
    """Write a corpus's tables as parquet files and its notes as ``about.json``. Equal content gives equal bytes."""
    with paths.replaced(Path(folder)) as new:
        for name in (*TABLES, *RARE):
            if name in RARE and getattr(corpus, name).empty:
                continue
            columns = schema.SCHEMAS[name].columns.items()
            types = pa.schema([(column, _ARROW.get(str(expected.dtype), pa.string())) for column, expected in columns])
            frame = _validated(getattr(corpus, name), name, f"{folder}, table {name}")
            # without pandas' metadata, which names the versions of pandas and pyarrow
            table = pa.Table.from_pandas(frame, schema=types, preserve_index=False).replace_schema_metadata(None)
            pq.write_table(table, new / f"{name}.parquet", compression="zstd")
        about = {"notes": dict(corpus.notes), "questions": dict(corpus.questions)}
        text = json.dumps(about, indent=2, sort_keys=True, ensure_ascii=False)
        (new / "about.json").write_text(text + "\n", encoding="utf-8")


def read(folder: str | Path) -> Corpus:
    """Read what ``write`` wrote.

    Raises:
        FileNotFoundError: a table's file does not exist; the message says which command makes it.
        TableError: a table breaks its schema.
    """
    folder = Path(folder)
    tables = {}
    for name in (*TABLES, *RARE):
        file = folder / f"{name}.parquet"
        if not file.is_file() and name not in RARE:
            raise FileNotFoundError(
                f"{file} is not there; run `make repro` (or `dvc repro`) once first: it prepares the corpora that "
                "params.yaml names, and scores them"
            )
        tables[name] = _validated(pd.read_parquet(file) if file.is_file() else pd.DataFrame(), name, str(file))
    return Corpus(**tables, **json.loads((folder / "about.json").read_text(encoding="utf-8")))
