"""Train the verifier from public corpora: ``python -m claimwise.models.embedded.training``.

Labels of whole summaries reach their statements by multiple-instance learning: of an unfaithful summary it is
only known that at least one statement is wrong, so each statement counts as wrong with the probability that it
is, given that one must be, under the model of the round before. Everything is seeded.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors.numpy import save_file
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from claimwise import corpora as registry
from claimwise.corpora import Corpus
from claimwise.models.embedded.calibration import Calibration, sigmoid
from claimwise.models.embedded.features import Evidence
from claimwise.models.embedded.features_words import summarise_words
from claimwise.models.embedded.forest import Trees
from claimwise.models.embedded.reading import Reader
from claimwise.models.embedded.training_data import TEST_SPLITS, TRAINING_SPLITS, Row, training_rows, wrong_words
from claimwise.models.embedded.verifier import document_hash

FOLDS = 5
_ROUNDS = 2  # of multiple-instance learning
_SEED = 0
#: Judged summaries of real systems count more, synthetic claims and web evidence less; chosen on validation rows.
_TRUST = {"aggrefact_ftsota": 2.5, "aggrefact_exf": 2.5, "rose": 0.6, "factcg": 0.6, "factcheck_gpt": 0.6}


@dataclass(slots=True)
class Table:
    """Statements of all rows as arrays; words lie end to end, ``lengths`` of them a statement.

    ``truth`` is 1, 0 or NaN (a statement of an unfaithful summary of which no more is known); ``wrong`` is NaN
    for words of which nothing is known.
    """

    features: np.ndarray
    words: np.ndarray
    lengths: np.ndarray
    wrong: np.ndarray
    truth: np.ndarray
    row: np.ndarray
    fold: np.ndarray
    weight: np.ndarray
    corpus: np.ndarray


def train(corpora: Mapping[str, Corpus], folder: Path) -> dict[str, float]:
    """Train on everything that is not tested on and write ``verifier.safetensors`` and ``verifier.json``.

    Args:
        corpora: those of ``TRAINING_SPLITS`` and, so that their documents can be left out, of ``TEST_SPLITS``.
        folder: where the weights go.

    Returns:
        Sizes and the cross-fitted area under the curve over statements whose truth is known.
    """
    rows = training_rows(corpora)
    reader = Reader()
    found = _read(reader, rows)
    table = tabulate(rows, [items[:-1] for items in found])
    wholes = _whole_table(rows, [items[-1] for items in found])
    word_models, oof_words = _fit_words(table)
    inputs = np.hstack([table.features, summarise_words(oof_words, table.words, table.lengths)])
    claim_models, oof = _fit_claims(table, inputs)
    whole_models, whole_oof = _fit_folds(wholes.features, wholes.truth, wholes.weight, wholes.fold)
    known = ~np.isnan(table.truth)
    calibrations = {
        "claim": _calibrate(oof[known], table.truth[known], table.weight[known]),
        "whole": _calibrate(whole_oof, wholes.truth, wholes.weight),
    }
    _write(folder, rows, {"word": word_models, "claim": claim_models, "whole": whole_models}, calibrations)
    return {
        "rows": len(rows),
        "statements": len(table.truth),
        "auc_statements": float(roc_auc_score(table.truth[known], oof[known])),
        "auc_wholes": float(roc_auc_score(wholes.truth, whole_oof)),
    }


def _read(reader: Reader, rows: Sequence[Row]) -> list[list[Evidence | str]]:
    """Each row's statements and, last, its whole summary, with a line of progress a part on standard error."""
    found: list[list[Evidence | str]] = []
    step = 500
    order = sorted(range(len(rows)), key=lambda i: (document_hash(rows[i].document), i))  # equal documents together
    for start in range(0, len(order), step):
        part = order[start : start + step]
        wanted = [(*rows[i].statements, rows[i].summary) for i in part]
        found += reader.read([rows[i].document for i in part], wanted)
        print(f"read {min(start + step, len(rows))} of {len(rows)} rows", file=sys.stderr, flush=True)
    return [items for _, items in sorted(zip(order, found, strict=True), key=lambda pair: pair[0])]


def tabulate(rows: Sequence[Row], statements: Sequence[Sequence[Evidence | str]]) -> Table:
    """Statements that could be read, as arrays."""
    columns: dict[str, list] = {name: [] for name in ("features", "words", "lengths", "wrong", "truth", "row")}
    for number, (row, items) in enumerate(zip(rows, statements, strict=True)):
        flags = wrong_words(row)
        alone = sum(not isinstance(item, str) for item in items) == 1
        for position, item in enumerate(items):
            if isinstance(item, str):
                continue
            mine = None if flags is None else np.asarray(flags[position], dtype=float)[item.content]
            columns["features"].append(item.claim)
            columns["words"].append(item.words)
            columns["lengths"].append(len(item.words))
            columns["wrong"].append(np.full(len(item.words), np.nan) if mine is None else mine)
            columns["truth"].append(_truth(row, None if flags is None else flags[position], alone))
            columns["row"].append(number)
    row_of = np.array(columns["row"])
    return Table(
        np.stack(columns["features"]),
        np.concatenate(columns["words"]),
        np.array(columns["lengths"]),
        np.concatenate(columns["wrong"]),
        np.array(columns["truth"], dtype=float),
        row_of,
        np.array([document_hash(rows[i].document) % FOLDS for i in row_of]),
        _weights([rows[i].corpus for i in row_of]),
        np.array([rows[i].corpus for i in row_of]),
    )


def _truth(row: Row, flags: Sequence[int] | None, alone: bool) -> float:
    if row.label:
        return 1.0
    if flags is not None:
        return 0.0 if any(flags) else 1.0
    return 0.0 if alone else np.nan


def _weights(corpus: Sequence[str]) -> np.ndarray:
    """A corpus weighs as the root of its size times its ``_TRUST``: large synthetic ones must not drown the rest."""
    names = pd.Series(corpus)
    weight = names.map(names.value_counts()).to_numpy(dtype=float) ** -0.5
    weight *= names.map(lambda name: _TRUST.get(name, 1.0)).to_numpy()
    return weight / weight.mean()


def _whole_table(rows: Sequence[Row], wholes: Sequence[Evidence | str]) -> Table:
    """Each summary once, as one statement whose truth is the summary's label."""
    once = {(row.document, row.summary): (row, item) for row, item in zip(rows, wholes, strict=True)}
    kept = [(row, item) for row, item in once.values() if not isinstance(item, str)]
    as_one = [Row(r.corpus, r.document, r.summary, (r.summary,), r.label, () if r.label else None) for r, _ in kept]
    return tabulate(as_one, [[item] for _, item in kept])


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


def _fit_words(table: Table) -> tuple[list[Trees], np.ndarray]:
    """Only corpora that have words of both kinds teach words: of the others the model would learn the style."""
    statement = np.repeat(np.arange(len(table.lengths)), table.lengths)
    corpus = pd.Series(table.corpus[statement])
    worst = pd.Series(table.wrong).groupby(corpus).transform("max").to_numpy()
    labels = np.where(worst > 0, table.wrong, np.nan)
    return _fit_folds(table.words, labels, table.weight[statement], table.fold[statement])


def _fit_claims(table: Table, inputs: np.ndarray) -> tuple[list[Trees], np.ndarray]:
    """Multiple-instance learning: statements of unknown truth stand twice, once as right and once as wrong."""
    known = ~np.isnan(table.truth)
    unknown = np.flatnonzero(~known)
    at = np.r_[np.flatnonzero(known), unknown, unknown]
    labels = np.r_[table.truth[known], np.zeros(len(unknown)), np.ones(len(unknown))]
    wrong = np.full(len(unknown), 0.6)
    models: list[Trees] = []
    unseen = np.zeros(len(inputs))
    for _ in range(_ROUNDS):
        share = np.r_[np.ones(known.sum()), wrong, 1 - wrong]
        models, twice = _fit_folds(inputs[at], labels, table.weight[at] * share, table.fold[at])
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
    folder: Path, rows: Sequence[Row], models: Mapping[str, list[Trees]], calibrations: Mapping[str, Calibration]
) -> None:
    seen = np.array(sorted({document_hash(row.document) for row in rows}), dtype=np.uint64)
    tensors = {"seen": seen.view(np.int64)}
    for name, by_fold in models.items():
        for fold, trees in enumerate(by_fold):
            tensors |= trees.tensors(f"{name}.{fold}")
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "verifier.safetensors")
    (folder / "verifier.safetensors").chmod(0o644)
    about = {
        "folds": FOLDS,
        "calibrations": {n: {"slope": c.slope, "intercept": c.intercept} for n, c in calibrations.items()},
        "corpora": pd.Series([row.corpus for row in rows]).value_counts().sort_index().to_dict(),
    }
    (folder / "verifier.json").write_text(json.dumps(about, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    """Load the corpora, train, write the weights into the package."""
    names = sorted({*TRAINING_SPLITS, *TEST_SPLITS})
    loaded = {name: registry.load(name) for name in names}
    print(json.dumps(train(loaded, Path(str(resources.files(__package__) / "weights"))), indent=2))


if __name__ == "__main__":
    main()
