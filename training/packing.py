"""What the language model is fine-tuned on: rows of all corpora, as packs.

    python -m training.packing build/packs.jsonl

Judged rows, sentences of documents and their edits, the same in other words, what language models' faithful summaries say,
and pairs of premise and hypothesis. Making them takes minutes and the public corpora; learning from the file needs neither.
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

_LONGEST = 1100  # words of a document that is learned from
_STATEMENTS, _SENTENCES = 12, 10  # at most that are read together; and of one summary
_MADE = 8  # statements that nobody judged, of one document at most
#: FtSota's validation documents of each origin that are kept out of training: probabilities are calibrated on them.
_ASIDE = 150


class Labelled(NamedTuple):
    """A text about a document, as its statements; ``label`` 1: all are supported, 0: one at least is not."""

    statements: tuple[str, ...]
    label: int


class Pack(NamedTuple):
    """A document and texts about it, which are read together; ``corpora``: those that any row about it is of."""

    document: str
    corpora: tuple[str, ...]
    texts: tuple[Labelled, ...]


def without(given: Sequence[Pack], corpora: Sequence[str]) -> list[Pack]:
    """Packs of documents that no row of some corpora (by how their names start) is about, in whatever case they stand there."""
    names = tuple(corpora)
    theirs = {document_hash(pack.document) for pack in given if any(name.startswith(names) for name in pack.corpora)}
    return [pack for pack in given if document_hash(pack.document) not in theirs]


def write(given: Iterable[Pack], file: Path) -> None:
    """One line a pack."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as stream:
        for pack in given:
            stream.write(json.dumps(pack, ensure_ascii=False) + "\n")


def read(file: Path) -> list[Pack]:
    """What ``write`` wrote."""
    reader = TypeAdapter(Pack)
    with file.open(encoding="utf-8") as stream:
        return [reader.validate_json(line) for line in stream]


def packs(rows: Sequence[Row]) -> list[Pack]:
    """Every judged row with others about its document, in an order that is drawn.

    A judged summary of several statements is a statement itself, too. Made statements stand beside them, as many supported
    ones as others.
    """
    rng = random.Random(0)
    by_document: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if len(row.document.split()) <= _LONGEST and len(row.statements) <= _SENTENCES:
            by_document[row.document].append(row)
    found: list[Pack] = []
    for document, about in by_document.items():
        rng.shuffle(about)
        made = [row for row in about if row.synthetic or row.corpus == "rose"]
        judged = [row for row in about if not (row.synthetic or row.corpus == "rose")]
        wholes = [replace(row, statements=(row.summary,)) for row in judged if len(row.statements) > 1]
        right, wrong = ([row for row in made if row.label == label] for label in (1, 0))
        pairs = list(zip(right, wrong, strict=False))[: _MADE // 2]
        asked = [*judged, *wholes, *(row for pair in pairs for row in pair)]
        once = {(row.statements, row.label): row for row in asked}.values()
        # whoever made the statement, the document is of this corpus
        corpora = tuple(sorted({row.corpus.removesuffix(EDITS).removesuffix(RETOLD) for row in about}))
        found += [
            Pack(document, corpora, tuple(Labelled(row.statements, row.label) for row in group))
            for group in _groups(once)
        ]
    rng.shuffle(found)
    return found


def _groups(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows in order, in groups of so many statements as are read together."""
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
    """Hashes of FtSota's validation documents that are kept out of training: the first that claimwise-0.5b did not learn from."""
    ftsota = corpora["aggrefact_ftsota"]
    examples = ftsota.first(None, {"validation": _ASIDE}, learned_documents("claimwise-0.5b")).examples
    return frozenset(map(document_hash, examples.loc[examples["split"] == "validation", "document"]))


def main() -> None:
    """Make them of all corpora that are learned from."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    corpora = all_corpora()
    forbidden = documents_under_test(corpora)
    pairs = [
        Row(name, example.document, example.summary, (example.summary,), int(example.label))
        for name in ENTAILMENT
        for example in load(name).examples.query("split == 'train'").itertuples()
        if document_hash(example.document) not in forbidden
    ]
    kept_out = aside(corpora)
    rows = [*training_rows(corpora), *told_rows(corpora), *pairs]
    made = packs([row for row in rows if document_hash(row.document) not in kept_out])
    write(made, given.file)
    print(f"{len(made)} packs, {sum(len(text.statements) for pack in made for text in pack.texts)} statements")


if __name__ == "__main__":
    main()
