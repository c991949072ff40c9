"""Trains the verifier: word checkers first, then boosted trees on their findings. Everything is seeded.

Multiple-instance learning brings the labels of whole summaries to their statements: in an unfaithful summary at least one
statement is wrong. Checkers learn just that. For trees a statement counts as wrong with the probability that the model of the
round before gives, under the condition that one of its summary's is wrong.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from sklearn.ensemble import HistGradientBoostingClassifier

from claimwise_embedded.checker import Checker, Reading, collate, fast, pairings, shipped
from claimwise_embedded.evidence import word_spans
from claimwise_embedded.features import Evidence
from claimwise_embedded.heads import VERDICT, Calibration, Heads, Trees, claim_table, decided, document_hash, sigmoid
from claimwise_embedded.verifier import ask
from training.data import SYNTHETIC, Found, Row, wrong_words
from training.material import Material, spread

N_CHECKERS = 2  # a divisor of FOLDS: checker f % N_CHECKERS has not seen the documents of fold f
_EPOCHS = 1.1  # of checkers
_BATCH, _RATE, _DECAY = 48, 1e-3, 0.02
_WARM_UP = 1 / 8  # of all steps
_POOL = 32  # batches that are drawn and sorted by length together, for less padding
_STATEMENTS = 8  # of one summary in a batch
_WRONG_WORDS_WEIGHT = 3.0
FOLDS = 4
_ROUNDS = 2  # of multiple-instance learning
_SEED = 0
_CHECKED_AT_ONCE = 4000
#: Weights of corpora: judged summaries of real systems count more, synthetic claims and web evidence less. They were chosen
#: on validation rows.
_TRUST = {"aggrefact_ftsota": 2.5, "aggrefact_exf": 2.5, "rose": 0.6, "factcg": 0.6, "factcheck_gpt": 0.6}
_SYNTHETIC_TRUST = 0.6


@dataclass(frozen=True, slots=True)
class Learned:
    """The results of training: the parts to ship, the statements that the trees learned from, and the statements'
    cross-fitted log odds, (n, 2): of checkers, of trees."""

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
    """Train a checker for each fold on the other folds' rows.

    Claims of our decomposer are left out: it is hardly ever known which of them are wrong, and on corpora left out the checkers
    were better without them.
    """
    rows = material.rows
    weights = corpus_weights([row.corpus for row in rows])
    lessons: list[list[Lesson]] = [[] for _ in range(N_CHECKERS)]
    for row, items, weight in zip(rows, material.statements, weights, strict=True):
        wrong, truth = statement_labels(row, items)
        read = [i for i, item in enumerate(items) if not isinstance(item, str)]
        if read and not row.decomposed:
            lesson = Lesson([items[i].reading for i in read], [wrong[i] for i in read], truth[read], float(weight))
            for fold in range(N_CHECKERS):
                if document_hash(row.document) % N_CHECKERS != fold:
                    lessons[fold].append(lesson)
    return list(spread(fit, [(own, _EPOCHS, _SEED + fold) for fold, own in enumerate(lessons)]))


# -- word checkers -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lesson:
    """A summary's statements.

    Attributes:
        readings: the checkers' input for each statement.
        wrong: which words of each statement are wrong (NaN: not known).
        truth: 1, 0 or NaN for each. In a summary with NaN, at least one of its statements is wrong.
        weight: how often the summary is drawn.
    """

    readings: Sequence[Reading]
    wrong: Sequence[np.ndarray]
    truth: np.ndarray
    weight: float


def fit(lessons: Sequence[Lesson], epochs: float, seed: int) -> Checker:
    """Train a checker. The same arguments give the same checker on the same kind of processor.

    Args:
        lessons: the training data.
        epochs: the number of draws, as a multiple of the lessons.
        seed: the seed of weights, draws and dropout.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = Checker().train()
    chance = np.array([lesson.weight for lesson in lessons])
    chance /= chance.sum()
    optimiser = torch.optim.AdamW(model.parameters(), lr=_RATE, weight_decay=_DECAY)
    total = max(1, int(len(lessons) * epochs) // _BATCH)
    size = np.array([_size(lesson) for lesson in lessons])
    waiting: list[np.ndarray] = []
    for step in range(total):
        if not waiting:
            draw = rng.choice(len(lessons), size=_BATCH * _POOL, p=chance)
            draw = draw[np.argsort(size[draw], kind="stable")]
            waiting = [draw[i : i + _BATCH] for i in range(0, len(draw), _BATCH)]
            rng.shuffle(waiting)
        loss = _loss(model, [lessons[i] for i in waiting.pop()], rng)
        for group in optimiser.param_groups:
            group["lr"] = _RATE * min(1, (step + 1) / (_WARM_UP * total)) * max(0.02, 1 - step / total)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 200 == 199:
            print(f"checker {seed}: step {step + 1} of {total}, loss {loss.item():.3f}", file=sys.stderr, flush=True)
    return model.eval()


def _size(lesson: Lesson) -> float:
    return max(8 * reading.size[0] for reading in lesson.readings) + 0.3 * lesson.readings[0].size[1]


def _loss(model: Checker, lessons: Sequence[Lesson], rng: np.random.Generator) -> torch.Tensor:
    readings, wrong, truth, owner = [], [], [], []
    for number, lesson in enumerate(lessons):
        at = np.arange(len(lesson.readings))
        if len(at) > _STATEMENTS:
            at = np.sort(rng.choice(at, _STATEMENTS, replace=False))
        readings += [lesson.readings[i] for i in at]
        wrong += [lesson.wrong[i] for i in at]
        truth += [lesson.truth[i] for i in at]
        owner += [number] * len(at)
    claim, passages = collate(readings)
    with fast():
        supported, doubts = model(claim, passages, *pairings(claim, passages))
    labels, lesson_of = torch.tensor(np.array(truth, dtype=np.float32)), torch.tensor(owner)
    count = torch.bincount(lesson_of, minlength=len(lessons))[lesson_of]
    known = ~labels.isnan()
    each = F.binary_cross_entropy_with_logits(supported, labels.nan_to_num(0), reduction="none") / count.sqrt()
    loss = each[known].sum()
    if not known.all():  # at least one of the lesson's others is wrong
        unknown = lesson_of[~known]
        logs = torch.zeros(len(lessons)).index_add(0, unknown, F.logsigmoid(supported[~known]))
        all_right = logs[unknown.unique()].exp().clamp(max=1 - 1e-4)
        loss = loss - torch.log1p(-all_right).sum()
    return loss / len(lessons) + _word_loss(doubts, wrong)


def _word_loss(doubts: torch.Tensor, wrong: Sequence[np.ndarray]) -> torch.Tensor:
    target = torch.full_like(doubts, torch.nan)
    for row, flags in zip(target, wrong, strict=True):
        own = flags[: len(row)]
        row[: len(own)] = torch.from_numpy(own)
    known = ~target.isnan()
    weight = torch.tensor(_WRONG_WORDS_WEIGHT)
    each = F.binary_cross_entropy_with_logits(doubts, target.nan_to_num(0), reduction="none", pos_weight=weight)
    return each[known].sum() / known.sum().clamp(min=1)


# -- trees -------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Table:
    """The statements of all rows as arrays.

    Attributes:
        features: (n, n_features).
        truth: (n,) 1, 0 or NaN: not known, but at least one of the summary's statements is wrong.
        calibrates: (n,) whether the calibration may learn from it. Claims of our decomposer do not: nearly all with a known truth
            are true, because they are from faithful summaries, and with them the verifier would be too sure.
        row: (n,) the statement's row.
        fold: (n,) the fold whose models must not see it.
        weight: (n,) its weight.
    """

    features: np.ndarray
    truth: np.ndarray
    calibrates: np.ndarray
    row: np.ndarray
    fold: np.ndarray
    weight: np.ndarray


def corpus_weights(corpus: Sequence[str]) -> np.ndarray:
    """Return weights so that a corpus weighs the root of its size times its trust. So no large corpus dominates."""
    names = pd.Series(corpus)
    weight = names.map(names.value_counts()).to_numpy(dtype=float) ** -0.5
    weight *= [_SYNTHETIC_TRUST if name.endswith(SYNTHETIC) else _TRUST.get(name, 1.0) for name in names]
    return weight / weight.mean()


def statement_labels(row: Row, items: Sequence[Evidence | str]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return for each statement which words are wrong, and whether it is true. NaN means not known."""
    flags = wrong_words(row)
    if flags is not None:
        wrong = [np.array(f, dtype=float) for f in flags]
        return wrong, np.array([1.0 if row.label else float(not any(f)) for f in flags])
    only_one = sum(not isinstance(item, str) for item in items) == 1
    wrong = [np.full(len(word_spans(statement)), np.nan) for statement in row.statements]
    return wrong, np.full(len(wrong), 1.0 if row.label else 0.0 if only_one else np.nan)


def ask_all(checkers: Sequence[Checker], evidence: Sequence[Evidence]) -> None:
    """``ask`` with one thread for each processor, in batches that do not depend on the number of processors."""
    parts = [evidence[i : i + _CHECKED_AT_ONCE] for i in range(0, len(evidence), _CHECKED_AT_ONCE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(partial(ask, checkers), parts))


def claim_rows(rows: Sequence[Row], statements: Found, checkers: Sequence[Checker]) -> Table:
    """Return the statements of all judged rows, with the findings of checkers that have not seen their documents."""
    chosen = [
        (number, item, truth)
        for number, (row, items) in enumerate(zip(rows, statements, strict=True))
        if not row.synthetic
        for item, truth in zip(items, statement_labels(row, items)[1], strict=True)
        if not isinstance(item, str)
    ]
    truth = np.array([t for _, _, t in chosen])
    calibrates = ~np.isnan(truth) & ~np.array([rows[i].decomposed for i, _, _ in chosen])
    return _table(rows, [(i, item) for i, item, _ in chosen], truth, calibrates, checkers)


def whole_rows(rows: Sequence[Row], wholes: Found, checkers: Sequence[Checker]) -> Table:
    """Return each summary once, as one statement whose truth is the summary's label."""
    by_summary = {
        (row.document, row.summary): (i, item)
        for i, (row, items) in enumerate(zip(rows, wholes, strict=True))
        for item in items
    }
    chosen = [(i, item) for i, item in by_summary.values() if not isinstance(item, str)]
    truth = np.array([float(rows[i].label) for i, _ in chosen])
    return _table(rows, chosen, truth, np.full(len(chosen), True), checkers)


def _table(
    rows: Sequence[Row],
    items: Sequence[tuple[int, Evidence]],
    truth: np.ndarray,
    calibrates: np.ndarray,
    checkers: Sequence[Checker],
) -> Table:
    evidence = [item for _, item in items]
    ask_all(checkers, evidence)
    row_of = np.array([i for i, _ in items])
    fold = np.array([document_hash(rows[i].document) % FOLDS for i in row_of])
    features = claim_table(evidence, fold % len(checkers)).astype(np.float32)
    return Table(features, truth, calibrates, row_of, fold, corpus_weights([rows[i].corpus for i in row_of]))


def fit_trees(table: Table) -> tuple[list[Trees], np.ndarray]:
    """Fit trees for each fold. Return them, and each statement's log odds by those that have not seen it.

    Statements of unknown truth are used twice, once as right and once as wrong.
    """
    known = ~np.isnan(table.truth)
    unknown = np.flatnonzero(~known)
    at = np.r_[np.flatnonzero(known), unknown, unknown]
    labels = np.r_[table.truth[known], np.zeros(len(unknown)), np.ones(len(unknown))]
    wrong = np.full(len(unknown), 0.6)  # in the first round
    models: list[Trees] = []
    unseen = np.zeros(len(table.truth))
    for _ in range(_ROUNDS if len(unknown) else 1):
        share = np.r_[np.ones(known.sum()), wrong, 1 - wrong]
        # A statement that is used twice has the same log odds in both places.
        models, unseen[at] = _fit_folds(table.features[at], labels, table.weight[at] * share, table.fold[at])
        wrong = _posterior_wrong(sigmoid(unseen[unknown]), table.row[unknown])
    return models, unseen


def _fit_folds(features, labels, weights, folds) -> tuple[list[Trees], np.ndarray]:
    models = []
    unseen = np.zeros(len(features))
    for fold in range(FOLDS):
        use = (folds != fold) & (weights > 0)
        boosting = HistGradientBoostingClassifier(
            max_iter=200,
            learning_rate=0.06,
            max_leaf_nodes=12,
            min_samples_leaf=40,
            l2_regularization=10.0,
            max_features=0.25,
            early_stopping=False,
            random_state=_SEED,
        )
        models.append(Trees.of_boosting(boosting.fit(features[use], labels[use], sample_weight=weights[use])))
        at = folds == fold
        unseen[at] = models[-1].logits(features[at])
    return models, unseen


def _posterior_wrong(support: np.ndarray, row: np.ndarray) -> np.ndarray:
    """P(a statement is wrong | at least one of its summary's is wrong), for independent statements."""
    wrong = 1 - np.clip(support, 0.01, 0.99)
    all_right = pd.Series(np.log1p(-wrong)).groupby(row).transform("sum").to_numpy()
    return np.clip(wrong / (1 - np.exp(all_right)), 0, 1)


def calibrate(logits: np.ndarray, table: Table) -> Calibration:
    """Fit a calibration to the cross-fitted log odds, (n,), of the statements that may be used for it."""
    at = table.calibrates
    return Calibration().updated(logits[at], table.truth[at], table.weight[at], spread=(10.0, 10.0))
