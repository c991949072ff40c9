"""What FENICE's alignment costs next to the literal loop over its equations, and how it grows with the document.

    python benchmarks/alignment.py [--claims 15] [--repeats 2]

A random three-way NLI model of MiniLM's size (6 layers of 384) reads random words; random weights cost what trained
ones do, and score near 0, so that every claim is under the gate and every level is read: the dearest case. The loop
is transformers alone, one pair at a time, each claim of each summary anew. What batches and shared claims save is
shown apart: one summary shares nothing. Processor seconds are of all threads; on a busy machine they are steadier
than wall seconds. Memory is the peak of a fresh process over what it held with the model loaded. OMP_NUM_THREADS
sets the threads. All loops and scores are in float32 but for the rows that say bfloat16 (the same weights, rounded; how
far their scores are from the loop's is printed).
"""

import argparse
import multiprocessing
import random
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging

from claimwise.metrics.fenice.alignment import Aligner
from claimwise.models.entailment import CheckpointOptions, SequenceClassifier

VOCABULARY = 8000
WORDS = 18  # of a sentence, as in the paper's stories (11,818 tokens in 664 sentences)
CLAIM_WORDS = 10
PRECISION = {"float32": 1e-5, "bfloat16": 0.01}  # how far a score may be from the loop's
SIZES = {"tiny": (2, 64, 2), "MiniLM": (6, 384, 12)}  # layers, width, heads


def checkpoint(folder: Path, size: str) -> str:
    """A random BERT and a tokenizer of numbered words."""
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    words = {word: i for i, word in enumerate([*specials, ".", *(f"w{i}" for i in range(VOCABULARY))])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(name, words[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", model_max_length=512
    ).save_pretrained(folder)
    torch.manual_seed(0)
    layers, width, heads = SIZES[size]
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        id2label={0: "entailment", 1: "neutral", 2: "contradiction"},
        label2id={"entailment": 0, "neutral": 1, "contradiction": 2},
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


def document(sentences: int) -> list[str]:
    draw = random.Random(sentences)
    return [
        " ".join(f"w{draw.randrange(VOCABULARY)}" for _ in range(WORDS)).capitalize() + "." for _ in range(sentences)
    ]


def claims(count: int) -> list[str]:
    draw = random.Random(0)
    return [" ".join(f"w{draw.randrange(VOCABULARY)}" for _ in range(CLAIM_WORDS)) + "." for _ in range(count)]


class Cost(NamedTuple):
    """Of one piece of work: seconds, and megabytes over what was held with the model loaded."""

    wall: float
    processor: float
    memory: float = 0.0


class Literal:
    """The equations as loops, one pair at a time; a document beyond the limit is left to the windows."""

    def __init__(self, folder: str, limit: int = 512) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self.limit = limit

    def nli_score(self, premise: str, claim: str) -> float:
        with torch.no_grad():
            logits = self.model(**self.tokenizer(premise, claim, return_tensors="pt")).logits[0]
        entails, _, contradicts = logits.softmax(-1).tolist()
        return entails - contradicts

    def score(self, sentences: Sequence[str], claim: str, window: int = 5) -> float:
        premises = list(sentences)
        premises += [" ".join(sentences[i : i + window]) for i in range(len(sentences) - window + 1)]
        whole = " ".join(sentences)
        if len(self.tokenizer(whole, claim, verbose=False)["input_ids"]) <= self.limit:
            premises.append(whole)
        return max(self.nli_score(premise, claim) for premise in premises)


def timed(work: Callable[[], object], repeats: int = 1) -> tuple[Cost, object]:
    """The least seconds of some runs, and what the last returned."""
    runs = []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        result = work()
        runs.append((time.perf_counter() - wall, time.process_time() - processor))
    return Cost(min(run[0] for run in runs), min(run[1] for run in runs)), result


def against_the_loop(folder: str, size: str, repeats: int) -> None:
    """Rows for one summary of 6 claims, and for 4 summaries of one document that share half of their claims."""
    text = document(25)
    asked = [claims(3) + claims(6 + 3 * i)[3 + 3 * i :] for i in range(4)]
    loop = Literal(folder)
    loop.score(text[:6], asked[0][0])  # warms up
    alone, first = timed(lambda: [[loop.score(text, claim) for claim in asked[0]]])
    others, rest = timed(lambda: [[loop.score(text, claim) for claim in group] for group in asked[1:]])
    every = Cost(alone.wall + others.wall, alone.processor + others.processor)
    for dtype, precision in PRECISION.items():
        model = SequenceClassifier(CheckpointOptions(checkpoint=folder, dtype=dtype))
        model.entail(text[:6], asked[0])
        for what, groups, slow, expected in (
            ("1 summary", asked[:1], alone, first),
            ("4 summaries", asked, every, first + rest),
        ):
            documents = ["\n".join(text)] * len(groups)
            fast, found = timed(
                lambda model=model, documents=documents, groups=groups: Aligner(model, gate=2).align(documents, groups),
                repeats,
            )
            off = max(
                abs(verdict.p_entail - verdict.p_contradict - score)
                for verdicts, scores in zip(found, expected, strict=True)
                for verdict, score in zip(verdicts, scores, strict=True)
            )
            assert off < precision, f"{size} in {dtype}, {what}: scores are up to {off} from the loop's"
            print(
                f"  {size:7} {dtype:9} {what:12} {slow.wall:8.2f} {fast.wall:8.2f} {slow.processor:8.2f}"
                f" {fast.processor:8.2f} {slow.wall / fast.wall:6.1f}x {slow.processor / fast.processor:6.1f}x {off:9.0e}",
                flush=True,
            )


def _peak(folder: str, sentences: int, count: int, candidates: int | None, dtype: str) -> Cost:
    logging.disable_progress_bar()
    model = SequenceClassifier(CheckpointOptions(checkpoint=folder, dtype=dtype))
    model.entail(["w1 w2."], ["w1."])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    aligner = Aligner(model, gate=2, candidates=candidates)
    cost, _ = timed(lambda: aligner.align(["\n".join(document(sentences))], [claims(count)]))
    return cost._replace(memory=(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def apart(folder: str, sentences: int, count: int, candidates: int | None = None, dtype: str = "float32") -> Cost:
    """What an alignment costs in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        return fresh.submit(_peak, folder, sentences, count, candidates, dtype).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--claims", type=int, default=15, help="of the long documents and the story")
    parser.add_argument("--repeats", type=int, default=2, help="of the alignment; the least time counts")
    options = parser.parse_args()
    logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as base:
        folders = {size: checkpoint(Path(base) / size, size) for size in SIZES}

        print(f"A document of 25 sentences, summaries of 6 claims; {torch.get_num_threads()} threads")
        print("                                   wall seconds    processor seconds    times as fast")
        print("  model   dtype     summaries      loop     ours     loop     ours    wall   proc.  apart by")
        for size, folder in folders.items():
            against_the_loop(folder, size, options.repeats)

        print(f"\nLong documents, {options.claims} claims, tiny model")
        print("  sentences  wall s  proc. s  proc. ms a sentence  MB over the model")
        for sentences in (100, 300, 1000, 3000):
            cost = apart(folders["tiny"], sentences, options.claims)
            print(
                f"  {sentences:9} {cost.wall:7.1f} {cost.processor:8.1f}"
                f" {1000 * cost.processor / sentences:20.1f} {cost.memory:18.0f}",
                flush=True,
            )

        print(f"\nA story of 664 sentences (12,000 tokens), {options.claims} claims, MiniLM's size")
        print("  read                            dtype      wall s  proc. s   MB over the model")
        for candidates, dtype in ((16, "float32"), (16, "bfloat16"), (None, "bfloat16")):
            cost = apart(folders["MiniLM"], 664, options.claims, candidates, dtype)
            which = (
                f"{candidates} sentences, {candidates} windows, all" if candidates else "every sentence and window, all"
            )
            print(
                f"  {which:31} {dtype:9} {cost.wall:7.1f} {cost.processor:8.1f} {cost.memory:18.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
