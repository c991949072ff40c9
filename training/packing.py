"""Packs the language model's training data from rows of all corpora.

    python -m training.packing build/packs.jsonl

The rows are judged ones, sentences of documents, their paraphrases and edits, sentences of language models' faithful
summaries, and pairs of premise and hypothesis. Packing takes minutes and needs the public corpora; training needs only the
file.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from claimwise.corpora import Corpus
from claimwise.models.weights import learned_documents
from claimwise_embedded.heads import document_hash
from training.corpora import ENTAILMENT, load
from training.data import EDITS, RETOLD, Row, all_corpora, documents_under_test, training_rows
from training.material import told_rows

_LONGEST = 1100  # the most words of a document
_STATEMENTS, _SENTENCES = 12, 10  # the most statements of a pack, and of one summary
_SYNTHETIC = 8  # the most synthetic statements about one document
#: FtSota's validation documents of each origin that are left out, because probabilities are calibrated on them.
_ASIDE = 150


class Labelled(NamedTuple):
    """The statements of a text about a document. ``label`` is 1 if all are supported, 0 if at least one is not."""

    statements: tuple[str, ...]
    label: int


class Pack(NamedTuple):
    """A document and texts about it, which are read together. ``corpora`` are those of all rows about the document."""

    document: str
    corpora: tuple[str, ...]
    texts: tuple[Labelled, ...]


def without(given: Sequence[Pack], corpora: Sequence[str]) -> list[Pack]:
    """Leave out the packs of all documents in some corpora (by how their names start)."""
    names = tuple(corpora)
    excluded = {document_hash(pack.document) for pack in given if any(name.startswith(names) for name in pack.corpora)}
    return [pack for pack in given if document_hash(pack.document) not in excluded]


def write(given: Iterable[Pack], file: Path) -> None:
    """Write one line for each pack."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as stream:
        for pack in given:
            stream.write(json.dumps(pack, ensure_ascii=False) + "\n")


def read(file: Path) -> list[Pack]:
    """Read the packs that ``write`` wrote."""
    reader = TypeAdapter(Pack)
    with file.open(encoding="utf-8") as stream:
        return [reader.validate_json(line) for line in stream]


def packs(rows: Sequence[Row]) -> list[Pack]:
    """Pack every judged row with others about its document, in random order.

    A judged summary of several statements is also one statement itself. Synthetic statements are added, as many supported ones
    as others.
    """
    rng = random.Random(0)
    by_document: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if len(row.document.split()) <= _LONGEST and len(row.statements) <= _SENTENCES:
            by_document[row.document].append(row)
    packed: list[Pack] = []
    for document, about in by_document.items():
        rng.shuffle(about)
        synthetic = [row for row in about if row.synthetic or row.corpus == "rose"]
        judged = [row for row in about if not (row.synthetic or row.corpus == "rose")]
        wholes = [replace(row, statements=(row.summary,)) for row in judged if len(row.statements) > 1]
        right, wrong = ([row for row in synthetic if row.label == label] for label in (1, 0))
        pairs = list(zip(right, wrong, strict=False))[: _SYNTHETIC // 2]
        chosen = [*judged, *wholes, *(row for pair in pairs for row in pair)]
        distinct = {(row.statements, row.label): row for row in chosen}.values()
        corpora = tuple(sorted({row.corpus.removesuffix(EDITS).removesuffix(RETOLD) for row in about}))
        packed += [
            Pack(document, corpora, tuple(Labelled(row.statements, row.label) for row in group))
            for group in _groups(distinct)
        ]
    rng.shuffle(packed)
    return packed


def _groups(rows: Iterable[Row]) -> list[list[Row]]:
    """The rows in order, in groups of about ``_STATEMENTS`` statements at most."""
    groups: list[list[Row]] = []
    room = 0
    for row in rows:
        if len(row.statements) > room:
            groups.append([])
            room = _STATEMENTS
        groups[-1].append(row)
        room -= len(row.statements)
    return groups


def aside(corpora: Mapping[str, Corpus]) -> frozenset[int]:
    """Return the hashes of FtSota's validation documents to leave out: the first that claimwise-0.5b did not learn from."""
    ftsota = corpora["aggrefact_ftsota"]
    examples = ftsota.first(None, {"validation": _ASIDE}, learned_documents("claimwise-0.5b")).examples
    return frozenset(map(document_hash, examples.loc[examples["split"] == "validation", "document"]))


def main() -> None:
    """Pack all training corpora."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    corpora = all_corpora()
    forbidden = documents_under_test(corpora)
    pairs = [
        Row(name, example.document, example.summary, (example.summary,), int(example.label))
        for name in ENTAILMENT
        for example in load(name).examples.query("split == 'train'").itertuples()
        if document_hash(example.document) not in forbidden
    ]
    left_out = aside(corpora)
    rows = [*training_rows(corpora), *told_rows(corpora), *pairs]
    packed = packs([row for row in rows if document_hash(row.document) not in left_out])
    write(packed, file)
    print(f"{len(packed)} packs, {sum(len(text.statements) for pack in packed for text in pack.texts)} statements")


if __name__ == "__main__":
    main()
