"""Distillation: a small sequence-to-sequence model learns to write a teacher's claims (FENICE section 3.1).

The student reads the bare summary and writes the claims as sentences, one after the other, as FENICE's own T5 does;
what it learned is used with the prompt ``fenice-decompose-t5``. The paper trains T5-base with Adafactor at a learning
rate of 1e-5 for a million steps on 430,946 summaries with gpt-3.5's claims, which are not public.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from claimwise import models, paths, project, prompts
from claimwise.analysis.easiness import easiness
from claimwise.corpora import Corpus
from claimwise.errors import ClaimwiseError
from claimwise.metrics import claims
from claimwise.models.base import Model
from claimwise.progress import bar

#: Kinds of files that a checkpoint and its record consist of.
_CHECKPOINT = (".json", ".safetensors", ".model", ".txt", ".jinja")
#: What the student is asked with, in training and after it.
PROMPT = "fenice-decompose-t5"
#: Of the documents that are not for testing, those whose hash ends so are held out: one in ten, as in the paper.
_HELD_OUT = 10
_IGNORED = -100  # a target position that has no loss, as transformers knows it


class DistillationError(ClaimwiseError):
    """The settings are wrong, the checkpoint is none to learn with, or there is nothing to learn."""


class DistillationSettings(BaseModel):
    """What is trained; the defaults are the paper's where it names them.

    Attributes:
        student: the checkpoint to start from, a local folder or a hub id.
        revision: of a hub id.
        corpus: whose summaries; documents with a summary in its test split are never learned from.
        teacher: whose claims, a decomposer: ``recorded:NAME``, or a prompt that the run's model answers.
        out: the folder that the trained checkpoint and ``distillation.json`` are written to; an earlier checkpoint
            there is replaced, and a folder of anything else refused.
        steps: updates.
        batch: summaries an update.
        learning_rate: of Adafactor, constant.
        evaluate_every: updates between two looks at the held-out loss; the best checkpoint so far is kept.
        max_tokens: summaries and claims longer than this are left out and counted, never cut.
        tested: test summaries, drawn from all of them, that the student is compared with its teacher on (Table 7);
            None for all.
        seed: of the order of summaries, of dropout, and of the test summaries that are drawn.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    student: str = "google-t5/t5-base"
    revision: str | None = None
    corpus: str = "rose"
    teacher: str = "recorded:gpt-3.5-turbo"
    out: str = "cache/claim-extractor"
    steps: int = Field(1_000_000, ge=1)
    batch: int = Field(8, ge=1)
    learning_rate: float = Field(1e-5, gt=0)
    evaluate_every: int = Field(1000, ge=1)
    max_tokens: int = Field(512, ge=8)
    tested: int | None = Field(200, ge=1)
    seed: int = 0

    @field_validator("out")
    @classmethod
    def _holds_nothing_else(cls, out: str) -> str:
        folder = Path(out)
        held = list(folder.iterdir()) if folder.is_dir() else []
        checkpoint = (folder / "config.json").is_file() and all(file.suffix in _CHECKPOINT for file in held)
        if folder.is_file() or (held and not checkpoint):
            raise ValueError(
                "it is there and holds no checkpoint, or more than one, and training would delete it; name a folder that "
                "is new, empty, or holds an earlier checkpoint"
            )
        return out


def settings(section: Mapping[str, Any]) -> DistillationSettings:
    """The section, checked.

    Raises:
        DistillationError: one line for every wrong key or value.

    >>> settings({"steps": 0})
    Traceback (most recent call last):
    ...
    training.distillation.DistillationError: distillation.steps: found 0; Input should be greater than or equal to 1
    """
    try:
        return DistillationSettings.model_validate(dict(section))
    except ValidationError as error:
        lines = [
            f"distillation.{'.'.join(map(str, e['loc']))}: found {e['input']!r}; {e['msg']}" for e in error.errors()
        ]
        raise DistillationError("\n".join(lines)) from None


class Pair(NamedTuple):
    """A summary and the text that the student shall write."""

    summary: str
    target: str


def target(texts: Sequence[str]) -> str:
    """A teacher's claims as the student writes them: sentences, each with an end.

    >>> target(["It rained", "Ann  won."])
    'It rained. Ann won.'
    """
    cleaned = (re.sub(r"\s+", " ", text).strip() for text in texts)
    return " ".join(text if text[-1] in ".!?" else f"{text}." for text in cleaned if text)


def pairs(corpus: Corpus, teacher: str, model: Model) -> dict[str, list[tuple[str, Pair, list[str]]]]:
    """What there is to learn: for ``train``, ``validation`` and ``test`` (id, pair, the teacher's claims).

    The corpus's test split stays the test split, and other summaries of its documents are left out; a tenth of the other
    documents is held out for validation, by the hash that is their id, whatever else is in the corpus.

    Raises:
        DistillationError: the teacher made no claims.
        ClaimwiseError: no claims by this teacher are recorded.
    """
    examples = corpus.examples.drop_duplicates(["document_id", "summary"]).reset_index(drop=True)
    test = examples["split"] == "test"
    examples = examples[test | ~examples["document_id"].isin(examples.loc[test, "document_id"])]
    found = claims.decomposer(teacher, model, corpus.recorded_claims)(examples)
    parts: dict[str, list[tuple[str, Pair, list[str]]]] = {"train": [], "validation": [], "test": []}
    for row, made in zip(examples.itertuples(), found, strict=True):
        texts = [claim.text for claim in made.claims]
        if texts and row.summary.strip():
            held_out = int(row.document_id[-8:], 16) % _HELD_OUT == 0
            part = "test" if row.split == "test" else "validation" if held_out else "train"
            parts[part].append((row.id, Pair(row.summary, target(texts)), texts))
    if not parts["train"]:
        raise DistillationError(
            f"{teacher} made no claims of {(examples['split'] != 'test').sum()} summaries outside of the test split; "
            "name another teacher or corpus"
        )
    return parts


class Student:
    """A checkpoint in training.

    Raises:
        DistillationError: it is not there, or no sequence-to-sequence model.
    """

    def __init__(self, settings: DistillationSettings) -> None:
        import torch
        from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer
        from transformers.optimization import Adafactor

        self._settings = settings
        source = {"revision": settings.revision} if settings.revision else {}
        try:
            config = AutoConfig.from_pretrained(settings.student, **source)
            if not config.is_encoder_decoder:
                raise DistillationError(
                    f"{settings.student} is a {config.model_type}, expected a sequence-to-sequence checkpoint such as T5"
                )
            self._tokenizer = AutoTokenizer.from_pretrained(settings.student, **source)
            torch.manual_seed(settings.seed)
            model = AutoModelForSeq2SeqLM.from_pretrained(settings.student, dtype=torch.float32, **source)
        except (OSError, ValueError) as error:
            raise DistillationError(
                f"cannot load the student {settings.student!r}: {error}; expected a folder with config.json, weights "
                "and a tokenizer, or a hub id that can be downloaded from here"
            ) from error
        self._model = model.to("cuda" if torch.cuda.is_available() else "cpu")
        # The paper names Adafactor and a rate: a fixed rate leaves out Adafactor's own schedule and scaling.
        self._optimizer = Adafactor(
            self._model.parameters(), lr=settings.learning_rate, relative_step=False, scale_parameter=False
        )

    def encode(self, given: Iterable[Pair]) -> list[tuple[list[int], list[int]]]:
        """Token ids of prompts and targets, without the pairs of which either is longer than ``max_tokens``."""
        prompt = prompts.load(PROMPT)
        rows = []
        for pair in given:
            source = self._tokenizer(prompt.render(Summary=pair.summary)).input_ids
            wanted = self._tokenizer(text_target=pair.target).input_ids
            if not wanted or wanted[-1] != self._tokenizer.eos_token_id:
                wanted = [*wanted, self._tokenizer.eos_token_id]  # T5's own tokenizer adds it, others do not
            if max(len(source), len(wanted)) <= self._settings.max_tokens:
                rows.append((source, wanted))
        return rows

    def step(self, rows: Sequence[tuple[list[int], list[int]]]) -> float:
        """One update; returns the loss before it."""
        self._model.train()
        loss = self._loss(rows)
        loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad()
        return float(loss.detach())

    def loss(self, rows: Sequence[tuple[list[int], list[int]]]) -> float:
        """Cross-entropy of a target token, the mean over all; nothing is learned."""
        import torch

        self._model.eval()
        total = tokens = 0.0
        with torch.inference_mode():
            for part in _batched(rows, self._settings.batch):
                count = sum(len(wanted) for _, wanted in part)
                total += float(self._loss(part)) * count
                tokens += count
        return total / tokens

    def _loss(self, rows: Sequence[tuple[list[int], list[int]]]) -> Any:
        import torch

        padded = self._tokenizer.pad({"input_ids": [source for source, _ in rows]}, return_tensors="pt")
        longest = max(len(wanted) for _, wanted in rows)
        labels = torch.tensor([wanted + [_IGNORED] * (longest - len(wanted)) for _, wanted in rows])
        device = self._model.device
        return self._model(
            input_ids=padded["input_ids"].to(device),
            attention_mask=padded["attention_mask"].to(device),
            labels=labels.to(device),
        ).loss

    def save(self, folder: Path) -> None:
        """Weights (safetensors), config and tokenizer; never half of them, whenever this is killed (``paths.replaced``)."""
        with paths.replaced(folder) as new:
            self._model.save_pretrained(new)
            self._tokenizer.save_pretrained(new)


def train(learned: Sequence[Pair], held_out: Sequence[Pair], settings: DistillationSettings) -> dict[str, Any]:
    """Train a student and leave its best checkpoint in ``settings.out``.

    Args:
        learned: what it learns from.
        held_out: decides which checkpoint is kept; where there is none, the last one is.
        settings: see there.

    Returns:
        ``losses``: step, mean training loss since the last look and held-out loss (None without any); ``best_step``;
        ``left_out``: pairs that were too long.

    Raises:
        DistillationError: no pair fits into ``max_tokens``, or the training diverged.
    """
    student = Student(settings)
    rows, held = student.encode(learned), student.encode(held_out)
    left_out = len(learned) + len(held_out) - len(rows) - len(held)
    if not rows:
        raise DistillationError(
            f"none of {len(learned)} summaries and their claims fits into max_tokens = {settings.max_tokens}"
        )
    draws = _endless(rows, settings.batch, settings.seed)
    steps = bar(settings.steps, "distillation", "step")
    recent: list[float] = []
    losses: list[dict[str, float | None]] = []
    best = (float("inf"), 0)
    for step in range(1, settings.steps + 1):
        recent.append(student.step(next(draws)))
        steps.update()
        if step % settings.evaluate_every == 0 or step == settings.steps:
            now = student.loss(held) if held else None
            losses.append({"step": step, "train": float(np.mean(recent)), "validation": now})
            if not np.isfinite([loss for loss in (*recent, now) if loss is not None]).all():
                kept = f"the checkpoint of step {best[1]} is in {settings.out}" if best[1] else "no checkpoint was kept"
                raise DistillationError(
                    f"the loss is no number at step {step}: the training diverged, {kept}; found learning_rate = "
                    f"{settings.learning_rate:g}, take a smaller one"
                )
            recent.clear()
            if now is None or now < best[0]:  # without a held-out loss the newest is kept
                best = (best[0] if now is None else now, step)
                student.save(Path(settings.out))
    steps.close()
    return {"losses": losses, "best_step": best[1], "left_out": left_out}


def _endless(rows: Sequence, batch: int, seed: int) -> Iterator[list]:
    """Batches of all rows in a random order, again and again."""
    generator = np.random.default_rng(seed)
    while True:
        order = generator.permutation(len(rows))
        for part in _batched(order.tolist(), batch):
            yield [rows[i] for i in part]


def _batched(rows: Sequence, size: int) -> Iterator[Sequence]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def against_teacher(student: Model, tested: Sequence[tuple[str, Pair, list[str]]]) -> dict[str, float | None]:
    """Easiness of a student's claims with its teacher's for gold, in percent (FENICE Table 7: 89.7, 89.9, 89.5).

    Returns:
        ``precision, recall, f1`` (None where there are no claims at all), ``n`` summaries that have claims, and
        ``no_claims`` that have none.
    """
    made = student.decompose([pair.summary for _, pair, _ in tested], prompts.load(PROMPT))
    rows = np.array(
        [
            easiness([claim.text for claim in found.claims], texts)
            for found, (_, _, texts) in zip(made, tested, strict=True)
        ]
    ).reshape(-1, 3)
    known = rows[~np.isnan(rows).any(axis=1)]
    means = (100 * known.mean(axis=0)).tolist() if len(known) else [None] * 3
    return dict(zip(("precision", "recall", "f1"), means, strict=True)) | {
        "n": len(known),
        "no_claims": len(rows) - len(known),
    }


def drawn(rows: Sequence, count: int | None, seed: int) -> list:
    """So many of the rows at random, in their order; all of them where there are no more, or None is asked for.

    >>> drawn("abcdef", 3, seed=0), drawn("ab", 3, seed=0)
    (['d', 'e', 'f'], ['a', 'b'])
    """
    if count is None or count >= len(rows):
        return list(rows)
    return [rows[i] for i in sorted(np.random.default_rng(seed).choice(len(rows), count, replace=False))]


def distil(wanted: DistillationSettings, corpus: Corpus, model: Model) -> Path:
    """Train a claim extractor and compare it with its teacher on test summaries.

    Args:
        wanted: what to train, from what, to where.
        corpus: the one that it names.
        model: answers the teacher's prompt, where the teacher is a prompt.

    Returns:
        The folder with the checkpoint and ``distillation.json``: settings, counts, losses, easiness.

    Raises:
        DistillationError: see ``Student``, ``pairs`` and ``train``.
    """
    parts = pairs(corpus, wanted.teacher, model)
    report = train(*([pair for _, pair, _ in parts[part]] for part in ("train", "validation")), wanted)
    student = models.load({"kind": "transformers", "model": wanted.out})
    tested = drawn(parts["test"], wanted.tested, wanted.seed)
    record = {
        "settings": wanted.model_dump(),
        "summaries": {part: len(rows) for part, rows in parts.items()},
        **report,
        "easiness_against_teacher": against_teacher(student, tested) if tested else None,
    }
    folder = Path(wanted.out)
    (folder / "distillation.json").write_text(json.dumps(record, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return folder


def main(arguments: Sequence[str]) -> Path:
    """``python -m training.distillation KEY=VALUE ...``: settings as YAML values, of ``data`` and ``model`` in params.yaml.

    Raises:
        DistillationError: an argument is no ``KEY=VALUE``, or a setting is wrong.
    """
    if wrong := [argument for argument in arguments if "=" not in argument]:
        raise DistillationError(f"found {wrong[0]!r}, expected KEY=VALUE, as in student=google-t5/t5-base")
    wanted = settings({key: yaml.safe_load(value) for key, value in (argument.split("=", 1) for argument in arguments)})
    found = project.settings()
    return distil(wanted, project.load_corpus(found.data, wanted.corpus), project.load_model(found.model))


if __name__ == "__main__":
    try:
        print(main(sys.argv[1:]))
    except ClaimwiseError as error:
        sys.exit(f"error: {error}")
