"""From what was read to what ships: word checkers first, then boosted trees on their findings. Everything is seeded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from claimwise_embedded.checker import Checker, shipped
from claimwise_embedded.verifier import VERDICT, Heads, decided, document_hash
from training.checkers import Lesson, fit
from training.material import Material
from training.processes import spread
from training.trees import Table, calibrate, claim_rows, corpus_weights, fit_trees, statement_labels, whole_rows

N_CHECKERS = 2  # divides the folds of trees: fold f's documents are unknown to checker f % N_CHECKERS
_EPOCHS = 1.1  # of checkers
_SEED = 0


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


def learn(material: Material) -> Learned:
    """Train checkers on all of the material, then trees on their findings."""
    checkers = [shipped(checker) for checker in _fit_checkers(material)]
    tables = {
        "claim": claim_rows(material.rows, material.statements, checkers),
        "whole": whole_rows(material.rows, material.wholes, checkers),
    }
    fitted = dict(zip(tables, spread(fit_trees, [(table,) for table in tables.values()]), strict=True))
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
    return list(spread(fit, [(own, _EPOCHS, _SEED + fold) for fold, own in enumerate(lessons)]))
