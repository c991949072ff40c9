"""Distillation: a small chat model learns to write its teacher's claims (FENICE section 3.1).

    python -m training.distillation src/claimwise/models/adapters/claim-extractor data/embedded/claim_extractor.csv

The student reads the summary and writes the claims as sentences, as FENICE's T5 does (prompt ``fenice-decompose-t5``). It
learns an adapter (``training.lora``). The paper trains T5-base for a million steps on gpt-3.5's claims of 430,946 summaries,
which are not public. ROSE has claims by people and by gpt-3.5 of 1,000 summaries.
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
_HELD_OUT = 10  # one in ten documents is held out, as in the paper
_NO_LOSS = -100  # torch's label of tokens without a loss: the prompt and the padding


class Lesson(NamedTuple):
    """A summary of a document, and its claims by a teacher."""

    document_id: str
    summary: str
    claims: Sequence[str]


def lessons(corpus: Corpus, teacher: str, model: Model) -> tuple[list[Lesson], list[Lesson]]:
    """Return the lessons for training and those held out: a tenth of the documents, by their id, which is a hash.

    Args:
        corpus: has the summaries. Those without claims, and those of documents with a test summary, are left out.
        teacher: ``people`` (the corpus's gold claims) or a decomposer (``recorded:NAME`` or a prompt).
        model: answers the prompt.

    Raises:
        ClaimwiseError: the teacher made no claims.
    """
    examples = corpus.examples.drop_duplicates(["document_id", "summary"])
    examples = examples[~examples["document_id"].isin(examples.loc[examples["split"] == "test", "document_id"])]
    recorded = corpus.recorded_claims
    if teacher == "people":
        teacher, recorded = "recorded:people", corpus.gold_claims.assign(decomposer="people")
    decompositions = claims.decomposer(teacher, model, recorded)(examples)
    every = [
        Lesson(row.document_id, row.summary, [claim.text for claim in decomposition.claims])
        for row, decomposition in zip(examples.itertuples(), decompositions, strict=True)
        if decomposition.claims
    ]
    if not every:
        raise ClaimwiseError(
            f"{teacher} made no claims of {len(examples)} summaries whose documents have none in a test split; name another "
            "teacher or corpus"
        )
    parts: tuple[list[Lesson], list[Lesson]] = [], []
    for lesson in every:
        parts[int(lesson.document_id[-8:], 16) % _HELD_OUT == 0].append(lesson)
    return parts


def target(texts: Sequence[str]) -> str:
    """Return a teacher's claims as the student writes them: sentences, each with a mark at its end.

    >>> target(["It rained", "Ann  won."])
    'It rained. Ann won.'
    """
    cleaned = (re.sub(r"\s+", " ", text).strip() for text in texts)
    return " ".join(text if text[-1] in ".!?" else f"{text}." for text in cleaned if text)


class Writer:
    """A chat model that can learn its replies to ``PROMPT``."""

    def __init__(self, options: TransformersOptions):
        self._checkpoint = Checkpoint(options)
        self._prompt = prompts.load(PROMPT)
        self.model = self._checkpoint.model

    def loss(self, batch: Sequence[Lesson]) -> torch.Tensor:
        """Return the mean cross-entropy of the tokens of the correct replies."""
        tokenizer, rows = self._checkpoint.tokenizer, []
        for lesson in batch:
            prompt = self._checkpoint.encode(self._prompt.render(Summary=lesson.summary))
            reply = [*tokenizer(target(lesson.claims), add_special_tokens=False).input_ids, tokenizer.eos_token_id]
            rows.append({"input_ids": prompt + reply, "labels": [_NO_LOSS] * len(prompt) + reply})
        inputs = DataCollatorForSeq2Seq(tokenizer)(rows)
        labels = inputs.pop("labels")[:, 1:]
        states = lora.last_states(self.model, inputs.to(self.model.device))[:, :-1]  # each predicts the next token
        in_reply = labels != _NO_LOSS
        logits = self.model.get_output_embeddings()(states[in_reply].to(self.model.dtype))
        return cross_entropy(logits.float(), labels[in_reply].to(logits.device))

    def learn(self, batch: Sequence[Lesson]) -> float:
        """Add the gradients of the loss, and return it."""
        loss = self.loss(batch)
        loss.backward()
        return loss.item()


def train(options: TransformersOptions, learned: Sequence[Lesson], folder: Path) -> None:
    """Learn an adapter from lessons, in a new random order for each pass, and write it to a folder.

    A killed run in the folder is continued.

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
    """Return the easiness of a student's claims against its teacher's, in percent (FENICE Table 7: 89.7, 89.9, 89.5).

    Returns:
        ``precision, recall, f1``; the 95 % interval of f1 over documents (``low, high``); the number of summaries with
        claims (``n``) and without (``no_claims``).
    """
    decompositions = student.decompose([lesson.summary for lesson in held_out], prompts.load(PROMPT))
    scores = [
        easiness([claim.text for claim in decomposition.claims], lesson.claims)
        for decomposition, lesson in zip(decompositions, held_out, strict=True)
    ]
    rows = pd.DataFrame(scores, columns=["precision", "recall", "f1"])
    interval = bootstrap_interval(mean, 100 * rows["f1"], groups=[lesson.document_id for lesson in held_out])
    about = {"low": interval.low, "high": interval.high, "n": rows["f1"].count(), "no_claims": rows["f1"].isna().sum()}
    return (100 * rows.mean()).to_dict() | about


def main() -> None:
    """Read the command line, train, and measure on the held-out documents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the adapter goes")
    parser.add_argument("table", type=Path, help="where the easiness on held-out documents goes")
    parser.add_argument("--student", default="smollm2-135m", help="an entry of `models` in params.yaml")
    parser.add_argument("--corpus", default="rose", help="the corpus with the summaries")
    parser.add_argument("--teacher", default="people", help="people, recorded:NAME or a prompt")
    parser.add_argument("--model", default="embedded", help="an entry of `models` that answers the prompt")
    arguments = parser.parse_args()
    entry = params.read("params.yaml").model_entry
    model, student, teacher = models.load(entry(arguments.model)), arguments.student, arguments.teacher
    learned, held_out = lessons(corpora.load(arguments.corpus), teacher, model)
    train(lora.options_of(student), learned, arguments.folder)
    rows = []
    for adapter in (None, str(arguments.folder)):
        about = {"student": student, "taught": bool(adapter), "teacher": teacher, "learned_from": len(learned)}
        taught = models.load({**entry(student), "adapter": adapter, "recorded": None})
        rows.append(about | easiness_against_teacher(taught, held_out))
    pd.DataFrame(rows).to_csv(arguments.table, index=False)


if __name__ == "__main__":
    main()
