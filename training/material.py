"""What there is to learn from: rows of all corpora, and what was read of their documents, once."""

from __future__ import annotations

import random
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from claimwise.corpora import Corpus
from claimwise_embedded.reading import Reader
from claimwise_embedded.verifier import document_hash
from training.claims import decomposed_rows, judged_once, retold_rows, summarised, summarised_rows, tellings
from training.data import Found, Row, strange_claims, training_rows
from training.processes import spread

_SEED = 0
_PART = 400  # rows that are read together
_STRANGERS = 300  # claims that errors from outside come from, where documents are told in other words


@dataclass(frozen=True, slots=True)
class Material:
    """Rows and what was read of them: of each its statements, and its summary as one (synthetic rows: nothing)."""

    rows: Sequence[Row]
    statements: Found
    wholes: Found

    def without(self, corpora: Collection[str]) -> Material:
        """What is left without some corpora (by how their names start) and all other rows of their documents."""
        names = tuple(corpora)
        documents = {row.document for row in self.rows if row.corpus.startswith(names)}
        hashes = {document_hash(document) for document in documents}
        return self._only([document_hash(row.document) not in hashes for row in self.rows])

    def part(self, share: float) -> Material:
        """The rows of a share of the documents; smaller shares are parts of larger ones, and no fold is favoured.

        Rows are made of the documents of the lowest hashes, and folds are a hash's remainder: so the share is told by bits
        that decide neither.
        """
        return self._only([document_hash(row.document) >> 4 & 0xFFFFFFFF < share * 2**32 for row in self.rows])

    def judged(self, corpora: Collection[str]) -> Material:
        """Only the rows of some corpora (by how their names start) that somebody has judged."""
        names = tuple(corpora)
        return self._only([row.corpus.startswith(names) and not row.synthetic for row in self.rows])

    def _only(self, flags: Sequence[bool]) -> Material:
        return Material(
            *(
                [item for item, flag in zip(items, flags, strict=True) if flag]
                for items in (self.rows, self.statements, self.wholes)
            )
        )


def gather(corpora: Mapping[str, Corpus]) -> list[Row]:
    """All rows to learn from: those that the corpora have, then those that the decomposer makes."""
    rows = training_rows(corpora)
    told = told_rows(corpora)
    claims = [(part,) for part in _parts(judged_once(rows))]
    return [*rows, *told, *(row for part in spread(decomposed_rows, claims) for row in part)]


def told_rows(corpora: Mapping[str, Corpus]) -> list[Row]:
    """Documents' statements in other words, and what language models' faithful summaries say; with edits of each."""
    strangers = strange_claims(corpora)
    strangers = random.Random(_SEED).sample(strangers, min(_STRANGERS, len(strangers)))
    calls = [(part, strangers) for part in _parts(tellings(corpora))]
    told = [row for part in spread(retold_rows, calls) for row in part]
    calls = [(part, strangers) for part in _parts(summarised(corpora))]
    return [*told, *(row for part in spread(summarised_rows, calls) for row in part)]


def _parts(items: Sequence) -> list[Sequence]:
    return [items[start : start + _PART] for start in range(0, len(items), _PART)]


def read(rows: Sequence[Row]) -> Material:
    """Read each row's statements, and each judged row's summary, with as many processes as there are processors."""
    order = sorted(range(len(rows)), key=lambda i: (document_hash(rows[i].document), i))  # equal documents together
    parts = _parts(order)
    statements: list = [[] for _ in rows]
    wholes: list = [[] for _ in rows]
    done = spread(_read_part, [([rows[i] for i in part],) for part in parts])
    for number, (part, found) in enumerate(zip(parts, done, strict=True), 1):
        for i, one, whole in zip(part, *found, strict=True):
            statements[i], wholes[i] = one, whole
        print(f"read part {number} of {len(parts)}", file=sys.stderr, flush=True)
    return Material(rows, statements, wholes)


def _read_part(rows: Sequence[Row]) -> tuple[Found, Found]:
    # Read together, statements and summaries of a document share its passages: what was read must fit into memory.
    asked = [row.statements if row.synthetic else (*row.statements, row.summary) for row in rows]
    found = Reader(keep=True).read([row.document for row in rows], asked)
    pairs = list(zip(rows, found, strict=True))
    return [items[: len(row.statements)] for row, items in pairs], [
        items[len(row.statements) :] for row, items in pairs
    ]
