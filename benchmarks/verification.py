"""What shared-prefix verification costs, next to the ways it replaces and to what arithmetic allows.

    python benchmarks/verification.py [--device cpu] [--repeats 3]

One random Llama (58 M parameters, fp32, CPU) reads a document and claims about it; random weights cost what
trained ones do. ``bound`` is the time of one claim at a time, scaled by the multiplications that remain when
the document is read once: 100 % would be the perfect engine. The ways that read the document with every claim are
timed on at most 16,000 tokens, and scaled to all claims. Memory is the peak of a fresh process, which holds the
model too, next to that of one claim at a time without a cache, and as the library does it if nobody says
otherwise, with one.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast, pipeline

from claimwise.models.prefix import SharedPrefix

SHAPES = [(800, 15), (450, 5), (300, 6), (4000, 20)]
CLAIM = 25
SAMPLE = 16_200  # most tokens for the ways whose time grows with the number of claims
VOCABULARY = 16_000


def sample(rows: list[list[int]]) -> list[list[int]]:
    return rows[: max(1, SAMPLE // len(rows[0]))]


def model_on(device: str) -> torch.nn.Module:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=14,
        num_attention_heads=8,
        num_key_value_heads=8,
        max_position_embeddings=8192,
        tie_word_embeddings=False,
    )
    return AutoModelForCausalLM.from_config(config).eval().to(device)


def prompts(document: int, claims: int) -> list[list[int]]:
    draw = np.random.default_rng(0)
    shared = draw.integers(3, VOCABULARY, document).tolist()
    return [shared + draw.integers(3, VOCABULARY, CLAIM).tolist() for _ in range(claims)]


@torch.inference_mode()
def one_at_a_time(model, rows, use_cache: bool = False) -> torch.Tensor:
    options = {"use_cache": use_cache, "logits_to_keep": 1}
    return torch.stack([model(torch.tensor([row], device=model.device), **options).logits[0, -1] for row in rows])


@torch.inference_mode()
def padded_batch(model, rows) -> torch.Tensor:
    """All prompts in one batch; with one spare token in the first, so that there is something to pad."""
    longest = max(map(len, rows)) + 1
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows], device=model.device)
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows], device=model.device)
    return model(ids, attention_mask=mask, use_cache=False, logits_to_keep=2).logits[:, 0]


def shared(engine: SharedPrefix, rows) -> torch.Tensor:
    found = dict(engine.logits(rows))
    return torch.stack([found[i] for i in range(len(rows))])


def decision(model) -> Callable[[list[list[int]]], object]:
    """transformers' own way to label probabilities from next-token logits, over a tokenizer of numbered words."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {f"w{i}": i for i in range(VOCABULARY - 300)}
    for word in ["[UNK]", *map(chr, range(33, 127)), "Yes", "No"]:
        words.setdefault(word, len(words))
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[UNK]")
    fast.chat_template = "{% for m in messages %}{{ m['content'] }}\n{% endfor %}"
    pipe = pipeline("decision", model=model, tokenizer=fast)

    def run(rows):
        document = len(rows[0]) - CLAIM
        text = [" ".join(f"w{i}" for i in row) for row in rows]
        state = " ".join(text[0].split()[:document])
        return [
            pipe({"state": state, "questions": {"q": {"type": "noul", "instructions": " ".join(t.split()[document:])}}})
            for t in text
        ]

    return run


def multiplications(model, spans: list[tuple[int, int]]) -> float:
    """Of the tokens ``start:stop`` of each span: every weight of a layer once, and attention to what is before."""
    config = model.config
    weights = sum(p.numel() for name, p in model.named_parameters() if "layers" in name and p.ndim == 2)
    tokens = sum(stop - start for start, stop in spans)
    attended = sum((stop * (stop + 1) - start * (start + 1)) / 2 for start, stop in spans)
    return tokens * weights + attended * 2 * config.hidden_size * config.num_hidden_layers


def seconds(runs: dict[str, Callable[[], object]], repeats: int, clock: Callable[[], float]) -> dict[str, float]:
    """The shortest time of each, taken in turns, so that what else the machine does falls on all of them."""
    best = dict.fromkeys(runs, math.inf)
    for _ in range(repeats):
        for name, run in runs.items():
            start = clock()
            run()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            best[name] = min(best[name], clock() - start)
    return best


def _peak(kind: str, shape: tuple[int, int], out) -> None:
    torch.set_num_threads(1)
    model, rows = model_on("cpu"), prompts(*shape)
    engine = SharedPrefix(model, rows[:2])
    one_at_a_time(model, [[3, 4, 5]])
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of loading the model (Linux)
    if kind == "shared":
        shared(engine, rows)
    else:
        one_at_a_time(model, sample(rows), use_cache=kind == "cached")
    out.put(_resident("VmHWM") / 1024)


def _resident(name: str) -> int:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(name))


def peak(kind: str, shape: tuple[int, int]) -> float:
    """Peak resident MiB of a fresh process while it answers the prompts."""
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    process = context.Process(target=_peak, args=(kind, shape, out))
    process.start()
    found = out.get()
    process.join()
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cpu-time", action="store_true", help="processor instead of wall time, for a busy machine")
    parser.add_argument("--skip-memory", action="store_true")
    options = parser.parse_args()
    model = model_on(options.device)
    engine = SharedPrefix(model, prompts(60, 2), chunk_tokens=512 if options.device == "cpu" else 16_384)
    decide = decision(model)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.0f} M parameters, {model.dtype}, {options.device}, "
          f"{torch.get_num_threads()} threads, claims of {CLAIM} tokens")  # fmt: skip
    print(
        "document claims |  alone s  shared s | x alone  x padded  x decision | % of bound | max difference | memory: x alone, x alone with cache"
    )
    for document, claims in SHAPES:
        rows = prompts(document, claims)
        some = sample(rows)
        expected = one_at_a_time(model, some).log_softmax(-1)
        difference = (expected - shared(engine, rows)[: len(some)].log_softmax(-1)).abs().max()
        runs = {
            "shared": lambda rows=rows: shared(engine, rows),
            "alone": lambda some=some: one_at_a_time(model, some),
            "padded": lambda some=some: padded_batch(model, some),
            "decision": lambda some=some: decide(some),
        }
        best = seconds(runs, options.repeats, time.process_time if options.cpu_time else time.perf_counter)
        ours = best.pop("shared")
        alone, padded, peer = (took * claims / len(some) for took in best.values())
        length = document + CLAIM
        bound = alone * (
            multiplications(model, [(0, document)] + [(document, length)] * claims)
            / multiplications(model, [(0, length)] * claims)
        )
        memory = "-"
        if not options.skip_memory and options.device == "cpu":
            least, usual, held = (peak(kind, (document, claims)) for kind in ("alone", "cached", "shared"))
            memory = f"{held:.0f} MiB: {held / least:.2f}x, {held / usual:.2f}x"
        print(f"{document:8} {claims:6} | {alone:8.3f} {ours:9.3f} | {alone / ours:7.1f} {padded / ours:9.1f} "
              f"{peer / ours:11.1f} | {100 * bound / ours:9.0f}% | {difference:14.1e} | {memory}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
