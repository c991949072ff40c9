"""Train the verifier from public corpora: ``python -m claimwise.models.embedded.training`` (``make train``).

Statements are read by two or more processes, once; then each variant of the verifier is learned from those that it
may see: word checkers first, then boosted trees on their findings. Everything is seeded.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from threadpoolctl import threadpool_limits

from claimwise import corpora as registry
from claimwise.corpora import Corpus
from claimwise.models.embedded.checker import Checker, shipped
from claimwise.models.embedded.checker_training import Lesson, fit
from claimwise.models.embedded.encoder import shared_encoder
from claimwise.models.embedded.evaluation import (
    HELD_OUT,
    ablation,
    edit_types,
    features_alone,
    held_out,
    judge_held_out,
)
from claimwise.models.embedded.reading import Reader
from claimwise.models.embedded.training_claims import (
    decomposed_rows,
    judged_once,
    retold_rows,
    summarised,
    summarised_rows,
    tellings,
)
from claimwise.models.embedded.training_data import TEST_SPLITS, TRAINING_SPLITS, Row, strange_claims, training_rows
from claimwise.models.embedded.training_trees import (
    Found,
    Table,
    calibrate,
    claim_rows,
    corpus_weights,
    fit_trees,
    statement_labels,
    whole_rows,
)
from claimwise.models.embedded.verifier import VERDICT, WEIGHTS, Heads, decided, document_hash

N_CHECKERS = 2  # divides the folds of trees: fold f's documents are unknown to checker f % N_CHECKERS
_EPOCHS = 1.1  # of checkers
_SEED = 0
_PART = 400  # rows that are read together
_STRANGERS = 300  # claims that errors from outside come from, where documents are told in other words

#: Variants that ship beside the one that learns from everything, by folder of weights: corpora that they do not know.
#: AggreFact is made of XSumFaith, CoGenSumm, FactCC and others.
VARIANTS = {"zero-shot": ("aggrefact_", "summac_")}


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


@dataclass(frozen=True, slots=True)
class Learned:
    """What training makes.

    Attributes:
        heads: what ships.
        table: the statements that trees have learned from.
        logits: each statement's log odds by parts that have not seen its document, (n, 2): checkers, trees.
    """

    heads: Heads
    table: Table
    logits: np.ndarray


def gather(corpora: Mapping[str, Corpus]) -> list[Row]:
    """All rows to learn from: those that the corpora have, then those that the decomposer makes."""
    rows = training_rows(corpora)
    strangers = strange_claims(corpora)
    strangers = random.Random(_SEED).sample(strangers, min(_STRANGERS, len(strangers)))
    calls = [(part, strangers) for part in _parts(tellings(corpora))]
    told = [row for part in _spread(retold_rows, calls) for row in part]
    calls = [(part, strangers) for part in _parts(summarised(corpora))]
    told += [row for part in _spread(summarised_rows, calls) for row in part]
    claims = [(part,) for part in _parts(judged_once(rows))]
    return [*rows, *told, *(row for part in _spread(decomposed_rows, claims) for row in part)]


def _parts(items: Sequence) -> list[Sequence]:
    return [items[start : start + _PART] for start in range(0, len(items), _PART)]


def read(rows: Sequence[Row]) -> Material:
    """Read each row's statements, and each judged row's summary, with as many processes as there are processors."""
    order = sorted(range(len(rows)), key=lambda i: (document_hash(rows[i].document), i))  # equal documents together
    parts = _parts(order)
    statements: list = [[] for _ in rows]
    wholes: list = [[] for _ in rows]
    done = _spread(_read_part, [([rows[i] for i in part],) for part in parts])
    for number, (part, found) in enumerate(zip(parts, done, strict=True), 1):
        for i, one, whole in zip(part, *found, strict=True):
            statements[i], wholes[i] = one, whole
        _tell(f"read part {number} of {len(parts)}")
    return Material(rows, statements, wholes)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _spread(function: Callable, calls: Sequence[tuple]) -> Iterator:
    """The results of several calls in order, made by a process a processor with one thread each: threads that share
    a sum would make its last digits depend on their number.

    Processes inherit the arguments (fork): a copy of what was read for each of them would not fit into memory.
    """
    _inherited[:] = [(function, call) for call in calls]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork"), initializer=_one_thread) as pool:
        yield from pool.map(_call, range(len(calls)))


_inherited: list[tuple[Callable, tuple]] = []


def _call(number: int):
    function, arguments = _inherited[number]
    return function(*arguments)


def _one_thread() -> None:
    threadpool_limits(1)
    torch.set_num_threads(1)


def _read_part(rows: Sequence[Row]) -> tuple[Found, Found]:
    encoder = shared_encoder()
    encoder.forget()  # what a process has read before must not tell
    # Read together, statements and summaries of a document share its passages: what was read must fit into memory.
    asked = [row.statements if row.synthetic else (*row.statements, row.summary) for row in rows]
    found = Reader(encoder, keep=True).read([row.document for row in rows], asked)
    pairs = list(zip(rows, found, strict=True))
    return [items[: len(row.statements)] for row, items in pairs], [
        items[len(row.statements) :] for row, items in pairs
    ]


def learn(material: Material) -> Learned:
    """Train checkers and trees on all of the material."""
    return learn_trees(material, [shipped(checker) for checker in _fit_checkers(material)])


def learn_trees(material: Material, checkers: Sequence[Checker]) -> Learned:
    """Train trees on the findings of checkers."""
    tables = {
        "claim": claim_rows(material.rows, material.statements, checkers),
        "whole": whole_rows(material.rows, material.wholes, checkers),
    }
    fitted = dict(zip(tables, _spread(fit_trees, [(table,) for table in tables.values()]), strict=True))
    logits = {kind: np.stack([table.features[:, VERDICT], fitted[kind][1]], axis=1) for kind, table in tables.items()}
    calibrations = {kind: calibrate(decided(kind, logits[kind]), table) for kind, table in tables.items()}
    seen = frozenset(document_hash(row.document) for row in material.rows)
    heads = Heads(checkers, {kind: trees for kind, (trees, _) in fitted.items()}, calibrations, seen)
    return Learned(heads, tables["claim"], logits["claim"])


def _fit_checkers(material: Material) -> list[Checker]:
    """A checker a fold, each trained on the other folds' rows; not on claims of our decomposer, of which it is hardly
    ever known which are wrong: on corpora left out checkers were better without them."""
    rows = material.rows
    weights = corpus_weights([row.corpus for row in rows])
    lessons: list[list[Lesson]] = [[] for _ in range(N_CHECKERS)]
    for row, items, weight in zip(rows, material.statements, weights, strict=True):
        wrong, truth = statement_labels(row, items)
        kept = [i for i, item in enumerate(items) if not isinstance(item, str)]
        if kept and not row.decomposed:
            lesson = Lesson([items[i].reading for i in kept], [wrong[i] for i in kept], truth[kept], float(weight))
            for fold in range(N_CHECKERS):
                if document_hash(row.document) % N_CHECKERS != fold:
                    lessons[fold].append(lesson)
    return list(_spread(fit, [(own, _EPOCHS, _SEED + fold) for fold, own in enumerate(lessons)]))


def main(folder: Path, tables: Path) -> None:
    """Learn every variant and write its weights, then what training alone can measure.

    Args:
        folder: of the weights; variants have folders in it.
        tables: where ``ablation.csv``, ``edit_types.csv``, ``judge.csv`` and ``held_out.csv`` go.
    """
    material = read(gather({name: registry.load(name) for name in sorted({*TRAINING_SPLITS, *TEST_SPLITS})}))
    full = learn(material)
    _write(full, material, folder)
    measured = material.rows, full.table, full.logits, features_alone(full.table)
    ablation(*measured).to_csv(tables / "ablation.csv", index=False)
    edit_types(*measured).to_csv(tables / "edit_types.csv", index=False)
    for name, unknown in VARIANTS.items():
        rest, asked = material.without(unknown), material.judged(unknown)
        learned = learn(rest)
        _write(learned, rest, folder / name)
        judge_held_out(asked.rows, asked.wholes, learned.heads).to_csv(tables / "judge.csv", index=False)
    parts = []
    for group, corpora in HELD_OUT.items():
        heads = learn(material.without(corpora)).heads
        asked = material.judged(corpora)
        parts.append(held_out(group, asked.rows, asked.statements, heads))
        pd.concat(parts).to_csv(tables / "held_out.csv", index=False)


def _write(learned: Learned, material: Material, folder: Path) -> None:
    counts = pd.Series([row.corpus for row in material.rows]).value_counts().sort_index().to_dict()
    learned.heads.write(folder, counts)
    _tell(f"wrote {folder}: " + json.dumps({"rows": len(material.rows), "statements": len(learned.logits)}))


if __name__ == "__main__":
    main(WEIGHTS, Path("data/embedded"))
