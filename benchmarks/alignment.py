"""What FENICE's alignment costs next to the literal loop over its equations, and how it grows with the document.

    python benchmarks/alignment.py [--claims 15] [--repeats 3]

A random three-way NLI model of MiniLM's size (6 layers of 384, fp32) reads random words; random weights cost what
trained ones do, and score near 0, so that every claim passes the gate: the dearest case. The loop reads one pair
at a time and every level of every claim, without gate, cache or batches. Memory is the peak of a fresh process
over what it held with the model loaded.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from claimwise.alignment import Aligner
from claimwise.models.entailment import SequenceClassifier

VOCABULARY = 8000
WORDS = 18  # of a sentence, as in the paper's stories (11,818 tokens in 664 sentences)
CLAIM_WORDS = 10
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


class Counted(SequenceClassifier):
    """Counts forward passes and pairs."""

    calls = pairs = 0

    def entail(self, premises, hypotheses, scope=""):
        self.pairs += len(premises)
        return super().entail(premises, hypotheses, scope)


def literal(model: SequenceClassifier, sentences: list[str], asked: list[str], window: int = 5) -> list[float]:
    """The equations as loops, one pair at a time; a document beyond the limit is left to the windows."""
    scores = []
    for claim in asked:
        premises = list(sentences)
        premises += [" ".join(sentences[i : i + window]) for i in range(len(sentences) - window + 1)]
        whole = " ".join(sentences)
        if sum(model.count([whole, claim])) <= model.limit:
            premises.append(whole)
        rows = np.concatenate([model.entail([premise], [claim]) for premise in premises])
        scores.append(float((rows[:, 0] - rows[:, 2]).max()))
    return scores


def seconds(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def _peak(folder: str, sentences: int, count: int, candidates: int | None, out) -> None:
    model = Counted(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    Aligner(model, gate=2, candidates=candidates).align(["\n".join(document(sentences))], [claims(count)])
    took = time.perf_counter() - begin
    out.put((took, model.pairs, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024))


def apart(folder: str, sentences: int, count: int, candidates: int | None = None) -> tuple[float, int, float]:
    """Seconds, pairs and MB of an alignment in a process of its own."""
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    process = context.Process(target=_peak, args=(folder, sentences, count, candidates, out))
    process.start()
    found = out.get()
    process.join()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        folders = {size: checkpoint(Path(base) / size, size) for size in SIZES}

        print("CNN/DM length (25 sentences), 4 summaries of 6 claims that share half of them, against the literal loop")
        text, asked = document(25), [claims(3) + claims(6 + i)[3 + i :] for i in range(4)]
        for size, folder in folders.items():
            model = Counted(folder)
            slow = seconds(lambda model=model: [literal(model, text, group) for group in asked], 1)
            loop = model.pairs
            model.pairs = 0
            fast = seconds(
                lambda model=model: Aligner(model, gate=2).align(["\n".join(text)] * 4, asked), options.repeats
            )
            pairs = model.pairs // options.repeats
            print(f"  {size:8} {loop} -> {pairs} pairs, {slow:.2f} -> {fast:.2f} s: {slow / fast:.1f} times as fast")

        print(f"\nlong documents, {options.claims} claims, tiny model: seconds, pairs, MB over the loaded model")
        for sentences in (100, 300, 1000, 3000):
            took, pairs, memory = apart(folders["tiny"], sentences, options.claims)
            print(
                f"  {sentences:5} sentences {took:7.2f} s  {1000 * took / sentences:6.2f} ms a sentence  {pairs} pairs  {memory:.0f} MB"
            )

        print(f"\na story of 12,000 tokens (664 sentences), {options.claims} claims, MiniLM size")
        for candidates in (16, None):
            took, pairs, memory = apart(folders["MiniLM"], 664, options.claims, candidates)
            which = f"{candidates} candidates a level" if candidates else "every sentence and window"
            print(f"  {which:26} {took:7.1f} s  {pairs} pairs  {memory:.0f} MB")


if __name__ == "__main__":
    main()
