"""Distillation: a small chat model learns to write claims as its teacher writes them (FENICE section 3.1).

    python -m training.distillation src/claimwise/models/adapters/claim-extractor data/embedded/claim_extractor.csv

The student reads the bare summary and writes the claims as sentences, one after the other, as FENICE's own T5 does: it is
asked with the prompt ``fenice-decompose-t5``. What it learns is an adapter (``training.lora``). The paper trains T5-base for a
million steps on gpt-3.5's claims of 430,946 summaries, which are not public; ROSE has people's and gpt-3.5's of 1,000.
"""

import argparse
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import torch
from torch.nn.functional import cross_entropy
from transformers import DataCollatorForSeq2Seq

from claimwise import corpora, models, params, prompts
from claimwise.analysis.bootstrap import bootstrap_interval
from claimwise.analysis.easiness import easiness
from claimwise.analysis.measures import mean
from claimwise.corpora import Corpus
from claimwise.errors import ClaimwiseError
from claimwise.metrics import claims
from claimwise.models.base import Model
from claimwise.models.options import TransformersOptions
from claimwise.models.transformers_checkpoint import Checkpoint
from training import lora

PROMPT = "fenice-decompose-t5"
RANK, RATE, PASSES = 8, 1e-3, 2
_PER_STEP = 8
_HELD_OUT = 10  # of the documents one in ten is held out, as in the paper
_NO_LOSS = -100  # of a token that is given and not written, as torch knows it


class Lesson(NamedTuple):
    """A summary of a document, and the claims that a teacher made of it."""

    document_id: str
    summary: str
    claims: Sequence[str]


def lessons(corpus: Corpus, teacher: str, model: Model) -> tuple[list[Lesson], list[Lesson]]:
    """What there is to learn, and what is held out: a tenth of the documents, by the hash that is their id.

    Args:
        corpus: whose summaries; those of documents with a test summary are left out, and those without claims.
        teacher: ``people`` (the corpus's gold claims), or a decomposer: ``recorded:NAME``, or a prompt.
        model: answers the prompt.

    Raises:
        ClaimwiseError: no claims by this teacher are there.
    """
    examples = corpus.examples.drop_duplicates(["document_id", "summary"])
    examples = examples[~examples["document_id"].isin(examples.loc[examples["split"] == "test", "document_id"])]
    recorded = corpus.recorded_claims
    if teacher == "people":
        teacher, recorded = "recorded:people", corpus.gold_claims.assign(decomposer="people")
    made = claims.decomposer(teacher, model, recorded)(examples)
    found = [
        Lesson(row.document_id, row.summary, [claim.text for claim in decomposition.claims])
        for row, decomposition in zip(examples.itertuples(), made, strict=True)
        if decomposition.claims
    ]
    if not found:
        raise ClaimwiseError(
            f"{teacher} made no claims of {len(examples)} summaries whose documents have none in a test split; name another "
            "teacher or corpus"
        )
    parts: tuple[list[Lesson], list[Lesson]] = [], []
    for lesson in found:
        parts[int(lesson.document_id[-8:], 16) % _HELD_OUT == 0].append(lesson)
    return parts


def target(texts: Sequence[str]) -> str:
    """A teacher's claims as the student writes them: sentences, each with an end.

    >>> target(["It rained", "Ann  won."])
    'It rained. Ann won.'
    """
    cleaned = (re.sub(r"\s+", " ", text).strip() for text in texts)
    return " ".join(text if text[-1] in ".!?" else f"{text}." for text in cleaned if text)


class Writer:
    """A chat model that can learn what to reply to ``PROMPT``."""

    def __init__(self, options: TransformersOptions):
        self._checkpoint = Checkpoint(options)
        self._prompt = prompts.load(PROMPT)
        self.model = self._checkpoint.model

    def loss(self, batch: Sequence[Lesson]) -> torch.Tensor:
        """Cross-entropy of the tokens of what should be replied, the mean over all of them."""
        tokenizer, rows = self._checkpoint.tokenizer, []
        for lesson in batch:
            asked = self._checkpoint.encode(self._prompt.render(Summary=lesson.summary))
            reply = [*tokenizer(target(lesson.claims), add_special_tokens=False).input_ids, tokenizer.eos_token_id]
            rows.append({"input_ids": asked + reply, "labels": [_NO_LOSS] * len(asked) + reply})
        inputs = DataCollatorForSeq2Seq(tokenizer)(rows)
        wanted = inputs.pop("labels")
        states = lora.last_states(self.model, inputs.to(self.model.device))
        written = wanted[:, 1:] != _NO_LOSS  # the state before a token says which comes
        logits = self.model.get_output_embeddings()(states[:, :-1][written].to(self.model.dtype))
        return cross_entropy(logits.float(), wanted[:, 1:][written].to(logits.device))

    def learn(self, batch: Sequence[Lesson]) -> float:
        """Add the gradients of the loss, and return it."""
        loss = self.loss(batch)
        loss.backward()
        return loss.item()


def train(options: TransformersOptions, learned: Sequence[Lesson], folder: Path) -> None:
    """Learn an adapter from lessons, in an order drawn anew for each pass, and write it to a folder; what is there of such a
    run that was killed goes on.

    Raises:
        RuntimeError: a gradient is not a number.
    """
    writer, draw = Writer(options), random.Random(0)
    adapted = lora.added(writer.model, RANK)
    steps = []
    for _ in range(PASSES):
        order = draw.sample(learned, len(learned))
        steps += [order[at : at + _PER_STEP] for at in range(0, len(order), _PER_STEP)]
    lora.fit(adapted, steps, writer.learn, RATE, folder)
    lora.save(adapted, options.model, (lesson.document_id for lesson in learned), folder)


def easiness_against_teacher(student: Model, held_out: Sequence[Lesson]) -> dict[str, float]:
    """Easiness of a student's claims with its teacher's for gold, in percent (FENICE Table 7: 89.7, 89.9, 89.5).

    Returns:
        ``precision, recall, f1``, and the 95 % interval of the last over documents (``low, high``); ``n`` summaries that have
        claims, and ``no_claims`` that have none.
    """
    made = student.decompose([lesson.summary for lesson in held_out], prompts.load(PROMPT))
    rows = pd.DataFrame(
        [
            easiness([claim.text for claim in found.claims], lesson.claims)
            for found, lesson in zip(made, held_out, strict=True)
        ],
        columns=["precision", "recall", "f1"],
    )
    interval = bootstrap_interval(mean, 100 * rows["f1"], groups=[lesson.document_id for lesson in held_out])
    about = {"low": interval.low, "high": interval.high, "n": rows["f1"].count(), "no_claims": rows["f1"].isna().sum()}
    return (100 * rows.mean()).to_dict() | about


def main() -> None:
    """Read the command line, train, and measure on what was held out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the adapter goes")
    parser.add_argument("table", type=Path, help="where the easiness on documents held out goes")
    parser.add_argument("--student", default="smollm2-135m", help="an entry of `models` in params.yaml")
    parser.add_argument("--corpus", default="rose", help="whose summaries")
    parser.add_argument("--teacher", default="people", help="people, recorded:NAME or a prompt")
    parser.add_argument("--model", default="embedded", help="an entry of `models` that answers the prompt")
    given = parser.parse_args()
    entries = params.read("params.yaml").model_entry
    learned, held_out = lessons(corpora.load(given.corpus), given.teacher, models.load(entries(given.model)))
    train(lora.options_of(given.student), learned, given.folder)
    rows = []
    for adapter in (None, str(given.folder)):
        student = models.load({**entries(given.student), "adapter": adapter, "recorded": None})
        row = {
            "student": given.student,
            "taught": bool(adapter),
            "teacher": given.teacher,
            "learned_from": len(learned),
        }
        rows.append(row | easiness_against_teacher(student, held_out))
    pd.DataFrame(rows).to_csv(given.table, index=False)


if __name__ == "__main__":
    main()
