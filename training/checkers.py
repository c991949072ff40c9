"""Training the word checkers: labels of claims, of words, and of summaries of which one statement must be wrong."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from claimwise_embedded.checker import Checker, fast
from claimwise_embedded.checker_inputs import Reading, collate

_BATCH, _RATE, _DECAY = 48, 1e-3, 0.02
_WARM_UP = 1 / 8  # of all steps
_POOL = 32  # batches that are drawn and sorted by length together, so that little is padding
_STATEMENTS = 8  # of one summary in a batch
_WRONG_WORDS_WEIGH = 3.0


@dataclass(frozen=True, slots=True)
class Lesson:
    """A summary's statements: what checkers see of each, which words are wrong (NaN: not known), whether it is true.

    ``truth`` is 1, 0 or NaN: of a summary with NaN it is only known that one of its statements is wrong. ``weight``
    says how often it is drawn.
    """

    readings: Sequence[Reading]
    wrong: Sequence[np.ndarray]
    truth: np.ndarray
    weight: float


def fit(lessons: Sequence[Lesson], epochs: float, seed: int) -> Checker:
    """Train a checker; the same lessons and seed give the same one on the same kind of processor.

    Args:
        lessons: what to learn from.
        epochs: draws in all, as a multiple of the lessons.
        seed: of weights, draws and dropout.
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
    claim, there = collate(readings)
    with fast():
        supported, doubts = model(claim, there)
    labels, of = torch.tensor(np.array(truth, dtype=np.float32)), torch.tensor(owner)
    count = torch.bincount(of, minlength=len(lessons))[of]
    known = ~labels.isnan()
    each = F.binary_cross_entropy_with_logits(supported, labels.nan_to_num(0), reduction="none") / count.sqrt()
    loss = each[known].sum()
    if not known.all():  # at least one of the summary's statements is wrong
        vague = of[~known]
        all_right = torch.zeros(len(lessons)).index_add(0, vague, F.logsigmoid(supported[~known]))[vague.unique()]
        loss = loss - torch.log1p(-all_right.exp().clamp(max=1 - 1e-4)).sum()
    return loss / len(lessons) + _word_loss(doubts, wrong)


def _word_loss(doubts: torch.Tensor, wrong: Sequence[np.ndarray]) -> torch.Tensor:
    labels = np.full(tuple(doubts.shape), np.nan, dtype=np.float32)
    for row, flags in enumerate(wrong):
        shown = flags[: labels.shape[1]]
        labels[row, : len(shown)] = shown
    target = torch.from_numpy(labels)
    known = ~target.isnan()
    weigh = torch.tensor(_WRONG_WORDS_WEIGH)
    each = F.binary_cross_entropy_with_logits(doubts, target.nan_to_num(0), reduction="none", pos_weight=weigh)
    return each[known].sum() / known.sum().clamp(min=1)
