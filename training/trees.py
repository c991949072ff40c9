"""Training the verifier's trees: statements as a table, cross-fitting, multiple-instance learning.

Labels of whole summaries reach their statements by multiple-instance learning: of an unfaithful summary it is
only known that at least one statement is wrong, so each statement counts as wrong with the probability that it
is, given that one must be, under the model of the round before.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from claimwise_embedded.calibration import Calibration, sigmoid
from claimwise_embedded.checker import Checker, check
from claimwise_embedded.evidence import word_spans
from claimwise_embedded.features import Evidence
from claimwise_embedded.forest import Trees
from claimwise_embedded.verifier import claim_table, document_hash
from training.data import SYNTHETIC, Found, Row, wrong_words

FOLDS = 4
_ROUNDS = 2  # of multiple-instance learning
_SEED = 0
_CHECKED_AT_ONCE = 4000
#: Judged summaries of real systems count more, synthetic claims and web evidence less; chosen on validation rows.
_TRUST = {"aggrefact_ftsota": 2.5, "aggrefact_exf": 2.5, "rose": 0.6, "factcg": 0.6, "factcheck_gpt": 0.6}
_SYNTHETIC_TRUST = 0.6


@dataclass(slots=True)
class Table:
    """Statements of all rows as arrays.

    ``features`` is (n, n_features); ``truth`` is 1, 0 or NaN (a statement of an unfaithful summary of which no more
    is known); ``told`` says which statements calibration may learn from; ``row`` says to which row a statement belongs,
    ``fold`` which model must not see it. Claims of our decomposer are not among the ``told``: nearly all whose truth is known
    are of faithful summaries, so they are true, and with them the verifier is too sure.
    """

    features: np.ndarray
    truth: np.ndarray
    told: np.ndarray
    row: np.ndarray
    fold: np.ndarray
    weight: np.ndarray


def corpus_weights(corpus: Sequence[str]) -> np.ndarray:
    """A corpus weighs as the root of its size times its trust: large synthetic ones must not drown the rest."""
    names = pd.Series(corpus)
    weight = names.map(names.value_counts()).to_numpy(dtype=float) ** -0.5
    trust = [_SYNTHETIC_TRUST if name.endswith(SYNTHETIC) else _TRUST.get(name, 1.0) for name in names]
    weight *= np.array(trust)
    return weight / weight.mean()


def statement_labels(row: Row, items: Sequence[Evidence | str]) -> tuple[list[np.ndarray], np.ndarray]:
    """For each statement which words are wrong (NaN: not known), and whether it is true (NaN: not known)."""
    flags = wrong_words(row)
    alone = sum(not isinstance(item, str) for item in items) == 1
    if flags is not None:
        wrong = [np.array(f, dtype=float) for f in flags]
        return wrong, np.array([1.0 if row.label else float(not any(f)) for f in flags])
    wrong = [np.full(len(word_spans(statement)), np.nan) for statement in row.statements]
    return wrong, np.full(len(wrong), 1.0 if row.label else 0.0 if alone else np.nan)


def ask(checkers: Sequence[Checker], evidence: Sequence[Evidence]) -> None:
    """Put into the evidence what checkers find; a thread a processor, and batches that do not depend on how many."""
    parts = [evidence[i : i + _CHECKED_AT_ONCE] for i in range(0, len(evidence), _CHECKED_AT_ONCE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(partial(check, checkers), [[item.reading for item in part] for part in parts])
        for part, found in zip(parts, results, strict=True):
            for item, (supported, doubts) in zip(part, found, strict=True):
                item.heard(supported, doubts)


def claim_rows(rows: Sequence[Row], statements: Found, checkers: Sequence[Checker]) -> Table:
    """Statements of rows that are no mere edits, with the findings of checkers that have not seen their documents."""
    chosen = [
        (number, item, truth)
        for number, (row, items) in enumerate(zip(rows, statements, strict=True))
        if not row.synthetic
        for item, truth in zip(items, statement_labels(row, items)[1], strict=True)
        if not isinstance(item, str)
    ]
    truth = np.array([t for _, _, t in chosen])
    told = ~np.isnan(truth) & ~np.array([rows[i].decomposed for i, _, _ in chosen])
    return _table(rows, [(i, item) for i, item, _ in chosen], truth, told, checkers)


def whole_rows(rows: Sequence[Row], wholes: Found, checkers: Sequence[Checker]) -> Table:
    """The same of each summary once, as one statement whose truth is the summary's label."""
    once = {
        (row.document, row.summary): (i, item)
        for i, (row, items) in enumerate(zip(rows, wholes, strict=True))
        for item in items
    }
    kept = [(i, item) for i, item in once.values() if not isinstance(item, str)]
    truth = np.array([float(rows[i].label) for i, _ in kept])
    return _table(rows, kept, truth, np.full(len(kept), True), checkers)


def _table(
    rows: Sequence[Row],
    items: Sequence[tuple[int, Evidence]],
    truth: np.ndarray,
    told: np.ndarray,
    checkers: Sequence[Checker],
) -> Table:
    evidence = [item for _, item in items]
    ask(checkers, evidence)
    row_of = np.array([i for i, _ in items])
    fold = np.array([document_hash(rows[i].document) % FOLDS for i in row_of])
    features = claim_table(evidence, fold % len(checkers)).astype(np.float32)
    return Table(features, truth, told, row_of, fold, corpus_weights([rows[i].corpus for i in row_of]))


def fit_trees(table: Table) -> tuple[list[Trees], np.ndarray]:
    """A model a fold, and each statement's log odds by the one that has not seen it.

    Statements of unknown truth stand twice, once as right and once as wrong.
    """
    known = ~np.isnan(table.truth)
    unknown = np.flatnonzero(~known)
    at = np.r_[np.flatnonzero(known), unknown, unknown]
    labels = np.r_[table.truth[known], np.zeros(len(unknown)), np.ones(len(unknown))]
    wrong = np.full(len(unknown), 0.6)
    models: list[Trees] = []
    unseen = np.zeros(len(table.truth))
    for _ in range(_ROUNDS if len(unknown) else 1):
        share = np.r_[np.ones(known.sum()), wrong, 1 - wrong]
        models, twice = _fit_folds(table.features[at], labels, table.weight[at] * share, table.fold[at])
        unseen[at] = twice
        wrong = _posterior_wrong(sigmoid(unseen[unknown]), table.row[unknown])
    return models, unseen


def _fit_folds(features, labels, weights, folds) -> tuple[list[Trees], np.ndarray]:
    models = []
    unseen = np.zeros(len(features))
    for fold in range(FOLDS):
        use = (folds != fold) & (weights > 0)
        fitted = _boosting().fit(features[use], labels[use], sample_weight=weights[use])
        models.append(Trees.of_boosting(fitted))
        at = folds == fold
        unseen[at] = models[-1].logits(features[at])
    return models, unseen


def _boosting() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=200,
        learning_rate=0.06,
        max_leaf_nodes=12,
        min_samples_leaf=40,
        l2_regularization=10.0,
        max_features=0.25,
        early_stopping=False,
        random_state=_SEED,
    )


def _posterior_wrong(support: np.ndarray, row: np.ndarray) -> np.ndarray:
    """P(a statement is wrong | at least one of its summary's is), statements independent."""
    wrong = 1 - np.clip(support, 0.01, 0.99)
    all_right = pd.Series(np.log1p(-wrong)).groupby(row).transform("sum").to_numpy()
    return np.clip(wrong / (1 - np.exp(all_right)), 0, 1)


def calibrate(logits: np.ndarray, table: Table) -> Calibration:
    """Fit a calibration to cross-fitted log odds, (n,), of the statements that are ``told``."""
    at = table.told
    return Calibration().updated(logits[at], table.truth[at], table.weight[at], spread=(10.0, 10.0))
