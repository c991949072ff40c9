"""A language model's training material in a file: documents, each with the statements about it that are read together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text about a document, as its statements; ``label`` 1: all are supported, 0: one at least is not."""

    statements: tuple[str, ...]
    label: int


@dataclass(frozen=True, slots=True)
class Pack:
    """A document and texts about it, which are read together; ``corpora``: those that any row about it is of."""

    document: str
    corpora: tuple[str, ...]
    texts: tuple[Labelled, ...]


def without(given: Sequence[Pack], corpora: Sequence[str]) -> list[Pack]:
    """Packs of documents that no row of some corpora (by how their names start) is about."""
    return [pack for pack in given if not any(name.startswith(tuple(corpora)) for name in pack.corpora)]


def write(given: Iterable[Pack], file: Path) -> None:
    """One line a pack."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as stream:
        for pack in given:
            texts = [[list(text.statements), text.label] for text in pack.texts]
            stream.write(json.dumps([pack.document, list(pack.corpora), texts], ensure_ascii=False) + "\n")


def read(file: Path) -> list[Pack]:
    """What ``write`` wrote."""
    with file.open(encoding="utf-8") as stream:
        lines = [json.loads(line) for line in stream]
    return [
        Pack(document, tuple(corpora), tuple(Labelled(tuple(statements), label) for statements, label in texts))
        for document, corpora, texts in lines
    ]
