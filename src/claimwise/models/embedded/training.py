"""Train the verifier from public corpora: ``python -m claimwise.models.embedded.training`` (``make train``).

Statements are read by two or more processes, then word checkers are trained, then boosted trees on their findings.
Labels of whole summaries reach their statements by multiple-instance learning: of an unfaithful summary it is
only known that at least one statement is wrong, so each statement counts as wrong with the probability that it
is, given that one must be, under the model of the round before. Everything is seeded.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from importlib import resources
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.numpy import save_file
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from claimwise import corpora as registry
from claimwise.corpora import Corpus
from claimwise.models.embedded.calibration import Calibration, sigmoid
from claimwise.models.embedded.checker import Checker, check
from claimwise.models.embedded.checker_training import Lesson, fit
from claimwise.models.embedded.evidence import word_spans
from claimwise.models.embedded.features import Evidence
from claimwise.models.embedded.forest import Trees
from claimwise.models.embedded.reading import Reader
from claimwise.models.embedded.training_data import (
    EDITS,
    TEST_SPLITS,
    TRAINING_SPLITS,
    Row,
    training_rows,
    wrong_words,
)
from claimwise.models.embedded.verifier import CHECKERS as CHECKERS_FILE
from claimwise.models.embedded.verifier import NUMBERS, PLAIN_FEATURES, TENSORS, claim_table, document_hash

FOLDS, CHECKERS = 4, 2  # the second divides the first: fold f's documents are unknown to checker f % CHECKERS
_EPOCHS = 1.1  # of checkers
_ROUNDS = 2  # of multiple-instance learning
_SEED = 0
_PART = 400  # rows that are read together
#: Judged summaries of real systems count more, synthetic claims and web evidence less; chosen on validation rows.
_TRUST = {"aggrefact_ftsota": 2.5, "aggrefact_exf": 2.5, "rose": 0.6, "factcg": 0.6, "factcheck_gpt": 0.6}
_EDITS_TRUST = 0.6


@dataclass(slots=True)
class Table:
    """Statements of all rows as arrays.

    ``features`` is (n, n_features); ``truth`` is 1, 0 or NaN (a statement of an unfaithful summary of which no more
    is known); ``row`` says to which row a statement belongs, ``fold`` which model must not see it.
    """

    features: np.ndarray
    truth: np.ndarray
    row: np.ndarray
    fold: np.ndarray
    weight: np.ndarray


def train(corpora: Mapping[str, Corpus], folder: Path) -> dict[str, float]:
    """Train on everything that is not tested on and write the verifier's weights.

    Args:
        corpora: those of ``TRAINING_SPLITS`` and, so that their documents can be left out, of ``TEST_SPLITS``.
        folder: where the weights go.

    Returns:
        Sizes and the cross-fitted area under the curve over statements whose truth is known.
    """
    rows = training_rows(corpora)
    statements, wholes = _read(rows)
    checkers = _fit_checkers(rows, statements)
    table = tabulate(rows, statements, checkers)
    claim_models, with_checkers = _fit_claims(table)
    plain_models, without = _fit_claims(replace(table, features=table.features[:, :PLAIN_FEATURES]))
    unseen = (with_checkers + without) / 2
    whole_table = _whole_table(rows, wholes)
    whole_models, whole_unseen = _fit_folds(
        whole_table.features, whole_table.truth, whole_table.weight, whole_table.fold
    )
    known = ~np.isnan(table.truth)
    calibrations = {
        "claim": _calibrate(unseen[known], table.truth[known], table.weight[known]),
        "whole": _calibrate(whole_unseen, whole_table.truth, whole_table.weight),
    }
    _write(folder, rows, {"claim": claim_models, "plain": plain_models, "whole": whole_models}, calibrations, checkers)
    return {
        "rows": len(rows),
        "statements": len(table.truth),
        "auc_statements": float(roc_auc_score(table.truth[known], unseen[known])),
        "auc_wholes": float(roc_auc_score(whole_table.truth, whole_unseen)),
    }


_Found = list[list[Evidence | str]]


def _read(rows: Sequence[Row]) -> tuple[_Found, _Found]:
    """Each row's statements, and its whole summary, read by as many processes as there are processors."""
    order = sorted(range(len(rows)), key=lambda i: (document_hash(rows[i].document), i))  # equal documents together
    parts = [order[start : start + _PART] for start in range(0, len(order), _PART)]
    statements: _Found = [[] for _ in rows]
    wholes: _Found = [[] for _ in rows]
    done = _spread(_read_part, [([rows[i] for i in part],) for part in parts])
    for part, found in zip(parts, done, strict=True):
        for i, one, whole in zip(part, *found, strict=True):
            statements[i], wholes[i] = one, whole
        print(f"read a part of {len(part)} of {len(rows)} rows", file=sys.stderr, flush=True)
    return statements, wholes


def _spread(function: Callable, calls: Sequence[tuple]) -> Iterator:
    """The results of several calls in order, made by a process a processor with one thread each: threads that share
    a sum would make its last digits depend on their number."""
    if len(calls) == 1:
        yield function(*calls[0])
        return
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn"), initializer=_one_thread) as pool:
        yield from pool.map(function, *zip(*calls, strict=True))


def _one_thread() -> None:
    torch.set_num_threads(1)


def _read_part(rows: Sequence[Row]) -> tuple[_Found, _Found]:
    reader = Reader(keep=True)
    documents = [row.document for row in rows]
    statements = reader.read(documents, [row.statements for row in rows])
    judged = [() if row.synthetic else (row.summary,) for row in rows]
    return statements, reader.read(documents, judged, whole=True)


def _fit_checkers(rows: Sequence[Row], statements: _Found) -> list[Checker]:
    """A checker a fold, each trained on the other folds' rows."""
    weights = _weights([row.corpus for row in rows])
    lessons: list[list[Lesson]] = [[] for _ in range(CHECKERS)]
    for row, items, weight in zip(rows, statements, weights, strict=True):
        wrong, truth = _labels(row, items)
        kept = [i for i, item in enumerate(items) if not isinstance(item, str)]
        if kept:
            lesson = Lesson([items[i].reading for i in kept], [wrong[i] for i in kept], truth[kept], float(weight))
            for fold in range(CHECKERS):
                if document_hash(row.document) % CHECKERS != fold:
                    lessons[fold].append(lesson)
    return list(_spread(fit, [(own, _EPOCHS, _SEED + fold) for fold, own in enumerate(lessons)]))


def _labels(row: Row, items: Sequence[Evidence | str]) -> tuple[list[np.ndarray], np.ndarray]:
    """For each statement which words are wrong (NaN: not known), and whether it is true (NaN: not known)."""
    flags = wrong_words(row)
    alone = sum(not isinstance(item, str) for item in items) == 1
    if flags is not None:
        wrong = [np.array(f, dtype=float) for f in flags]
        return wrong, np.array([1.0 if row.label else float(not any(f)) for f in flags])
    wrong = [np.full(len(word_spans(statement)), np.nan) for statement in row.statements]
    return wrong, np.full(len(wrong), 1.0 if row.label else 0.0 if alone else np.nan)


def tabulate(rows: Sequence[Row], statements: _Found, checkers: Sequence[Checker]) -> Table:
    """Statements of rows that are no mere edits, with the findings of checkers that have not seen their documents."""
    chosen = [
        (number, item, truth)
        for number, (row, items) in enumerate(zip(rows, statements, strict=True))
        if not row.synthetic
        for item, truth in zip(items, _labels(row, items)[1], strict=True)
        if not isinstance(item, str)
    ]
    evidence = [item for _, item, _ in chosen]
    for item, (supported, doubts) in zip(evidence, check(checkers, [e.reading for e in evidence]), strict=True):
        item.supported, item.doubts = supported, doubts[:, item.content]
    row_of = np.array([number for number, _, _ in chosen])
    fold = np.array([document_hash(rows[i].document) % FOLDS for i in row_of])
    features = claim_table(evidence, fold % len(checkers)).astype(np.float32)
    truth = np.array([t for _, _, t in chosen])
    return Table(features, truth, row_of, fold, _weights([rows[i].corpus for i in row_of]))


def _whole_table(rows: Sequence[Row], wholes: _Found) -> Table:
    """Each summary once, as one statement whose truth is the summary's label."""
    once = {
        (row.document, row.summary): (i, item)
        for i, (row, items) in enumerate(zip(rows, wholes, strict=True))
        for item in items
    }
    kept = [(i, item) for i, item in once.values() if not isinstance(item, str)]
    row_of = np.array([i for i, _ in kept])
    return Table(
        np.stack([item.claim for _, item in kept]),
        np.array([float(rows[i].label) for i in row_of]),
        row_of,
        np.array([document_hash(rows[i].document) % FOLDS for i in row_of]),
        _weights([rows[i].corpus for i in row_of]),
    )


def _weights(corpus: Sequence[str]) -> np.ndarray:
    """A corpus weighs as the root of its size times its trust: large synthetic ones must not drown the rest."""
    names = pd.Series(corpus)
    weight = names.map(names.value_counts()).to_numpy(dtype=float) ** -0.5
    trust = [_EDITS_TRUST if name.endswith(EDITS) else _TRUST.get(name, 1.0) for name in names]
    weight *= np.array(trust)
    return weight / weight.mean()


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


def _fit_folds(features, labels, weights, folds) -> tuple[list[Trees], np.ndarray]:
    """A model a fold, trained on the other folds, and every row's log odds by the one that has not seen it."""
    models = []
    unseen = np.zeros(len(features))
    for fold in range(FOLDS):
        use = (folds != fold) & ~np.isnan(labels) & (weights > 0)
        fitted = _boosting().fit(features[use], labels[use], sample_weight=weights[use])
        models.append(Trees.of_boosting(fitted))
        at = folds == fold
        unseen[at] = models[-1].logits(features[at])
    return models, unseen


def _fit_claims(table: Table) -> tuple[list[Trees], np.ndarray]:
    """Multiple-instance learning: statements of unknown truth stand twice, once as right and once as wrong."""
    known = ~np.isnan(table.truth)
    unknown = np.flatnonzero(~known)
    at = np.r_[np.flatnonzero(known), unknown, unknown]
    labels = np.r_[table.truth[known], np.zeros(len(unknown)), np.ones(len(unknown))]
    wrong = np.full(len(unknown), 0.6)
    models: list[Trees] = []
    unseen = np.zeros(len(table.truth))
    for _ in range(_ROUNDS):
        share = np.r_[np.ones(known.sum()), wrong, 1 - wrong]
        models, twice = _fit_folds(table.features[at], labels, table.weight[at] * share, table.fold[at])
        unseen[at] = twice
        wrong = _posterior_wrong(sigmoid(unseen[unknown]), table.row[unknown])
    return models, unseen


def _posterior_wrong(support: np.ndarray, row: np.ndarray) -> np.ndarray:
    """P(a statement is wrong | at least one of its summary's is), statements independent."""
    wrong = 1 - np.clip(support, 0.01, 0.99)
    all_right = pd.Series(np.log1p(-wrong)).groupby(row).transform("sum").to_numpy()
    return np.clip(wrong / (1 - np.exp(all_right)), 0, 1)


def _calibrate(logits: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Calibration:
    return Calibration().updated(logits, labels, weights, spread=(10.0, 10.0))


def _write(
    folder: Path,
    rows: Sequence[Row],
    models: Mapping[str, list[Trees]],
    calibrations: Mapping[str, Calibration],
    checkers: Sequence[Checker],
) -> None:
    seen = np.array(sorted({document_hash(row.document) for row in rows}), dtype=np.uint64)
    tensors = {"seen": seen.view(np.int64)}
    for name, by_fold in models.items():
        for fold, trees in enumerate(by_fold):
            tensors |= trees.tensors(f"{name}.{fold}")
    networks = {
        f"{number}.{name}": tensor.detach().half().numpy()
        for number, one in enumerate(checkers)
        for name, tensor in one.state_dict().items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in ((TENSORS, tensors), (CHECKERS_FILE, networks)):
        save_file(content, folder / name)
        (folder / name).chmod(0o644)
    about = {
        "folds": FOLDS,
        "calibrations": {n: {"slope": c.slope, "intercept": c.intercept} for n, c in calibrations.items()},
        "corpora": pd.Series([row.corpus for row in rows]).value_counts().sort_index().to_dict(),
    }
    (folder / NUMBERS).write_text(json.dumps(about, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    """Load the corpora, train, write the weights into the package."""
    names = sorted({*TRAINING_SPLITS, *TEST_SPLITS})
    loaded = {name: registry.load(name) for name in names}
    print(json.dumps(train(loaded, Path(str(resources.files(__package__) / "weights"))), indent=2))


if __name__ == "__main__":
    main()
