"""What a small language model of params.yaml costs: verifying the claims of one document, and writing many replies.

    python benchmarks/language_models.py [--entry smollm2-135m ...] [--words 600] [--claims 15] [--documents 1] [--server]
    python benchmarks/language_models.py --replies 36 [--entry smollm2-135m ...]

``alone``: one claim at a time; ``padded``: in padded batches; ``shared``: the document read once, as the engine does;
``server`` (with ``--server``): llama.cpp's server on the same file, with its prompt cache (a word of its own begins every
repeat, so that no earlier one helps). With as many documents as claims nothing but the instructions is shared. Times are
of one thread for all ways; the best of several repeats counts.

With ``--replies`` so many of the sample's summaries are decomposed (five demonstrations, replies of up to 200 tokens):
by the engine, by ``generate`` in batches of as many rows that wait for their longest reply, and, for a bound, by
``generate`` of one such batch whose replies are all of 60 tokens. What all prompts begin with is computed once in all three.
Tokens a second are of the processor's time, which others on the machine disturb less.
"""

import argparse
import copy
import math
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from claimwise import corpora, models, paths, project, prompts
from claimwise.models import weights
from claimwise.models.continuous import GREEDY
from claimwise.models.replies import LanguageModel
from claimwise.prompts import Decoding

sys.path.insert(0, str(paths.root() / "tests"))
from servers import llama_cpp


def asked(words: int, claims: int, documents: int, repeat: int) -> list[str]:
    """Verification prompts about documents of so many words, made of the sample's documents."""
    examples = corpora.load("sample").examples
    said = " ".join(examples["document"].unique()).split()
    shown = [" ".join([str(repeat), *said[start : start + words]]) for start in range(documents)]
    prompt = prompts.load("acueval-verify-zeroshot")
    summaries = examples["summary"].unique()[:claims]
    return [prompt.render(Document=shown[i % documents], ACU=claim) for i, claim in enumerate(summaries)]


def seconds(model: LanguageModel, words: int, claims: int, documents: int, repeats: int) -> float:
    """The shortest time that the model takes for all claims."""
    how, best = prompts.load("acueval-verify-zeroshot").decoding, math.inf
    for repeat in range(repeats + 1):  # the first loads and warms up
        rendered = asked(words, claims, documents, repeat)
        start = time.perf_counter()
        found = dict(model.replies(rendered, how))
        assert len(found) == claims
        best = min(best, time.perf_counter() - start) if repeat else best
    return best


def generated(model: LanguageModel, rows: list[list[int]], how: Decoding, **options) -> int:
    """Tokens that ``generate`` writes after rows that begin alike, until the longest reply ends."""
    checkpoint, known = model.engine.checkpoint, model.engine._shared.beginning(rows)
    shared, cache = known.get_seq_length(), copy.deepcopy(known)
    for layer in cache.layers:
        layer.keys, layer.values = (kept.expand(len(rows), -1, -1, -1) for kept in (layer.keys, layer.values))
    tokenizer = checkpoint.tokenizer
    rest = tokenizer.pad({"input_ids": [row[shared:] for row in rows]}, padding_side="left", return_tensors="pt")
    same = torch.tensor([rows[0][:shared]] * len(rows))
    tokens = torch.cat([same, rest.input_ids], 1)
    written = checkpoint.model.generate(
        tokens,
        attention_mask=torch.cat([torch.ones_like(same), rest.attention_mask], 1),
        past_key_values=cache,
        stop_strings=list(how.stop),
        tokenizer=tokenizer,
        max_new_tokens=how.max_tokens,
        pad_token_id=tokenizer.pad_token_id,
        **GREEDY,
        **options,
    )[:, tokens.shape[1] :]
    ends = [(row == tokenizer.eos_token_id).nonzero() for row in written]
    return sum(int(end[0]) if len(end) else len(row) for row, end in zip(written, ends, strict=True))


@torch.inference_mode()
def writing(model: LanguageModel, replies: int, repeats: int) -> dict[str, float]:
    """Tokens written in a second of the processor's time, the best of several repeats, by each way."""
    prompt = prompts.load("acueval-decompose-5shot")
    how = replace(prompt.decoding, max_tokens=200)
    summaries = corpora.load("sample").examples["summary"].unique()[:replies]
    asked = [prompt.render(Summary=summary) for summary in summaries]
    ids = sorted(map(model.engine.checkpoint.encode, asked), key=len, reverse=True)
    shared = model.engine._shared.beginning(ids).get_seq_length()
    size = model.engine._reply_tokens // (len(ids[0]) + how.max_tokens - shared)

    def ours() -> int:
        before = model.tally.reply_tokens
        dict(model.replies(asked, how))
        return model.tally.reply_tokens - before

    ways = {
        "full": ours,
        "waiting": lambda: sum(generated(model, ids[at : at + size], how) for at in range(0, len(ids), size)),
        "bound": lambda: generated(model, ids[:size], replace(how, max_tokens=60), min_new_tokens=60),
    }
    best = dict.fromkeys(ways, 0.0)
    for _ in range(repeats):
        for way, write in ways.items():
            start = time.process_time()
            best[way] = max(best[way], write() / (time.process_time() - start))
    return best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--entry", nargs="+", default=["smollm2-135m"])
    parser.add_argument("--words", type=int, default=600)
    parser.add_argument("--claims", type=int, default=15)
    parser.add_argument("--documents", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--server", action="store_true")
    parser.add_argument("--replies", type=int)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.replies:
        print("model  dtype | tokens a second: full  waiting  bound | x waiting  x bound")
        for name in options.entry:
            entry = project.settings().model_entry(name) | {"recorded": None, "dtype": options.dtype, "device": "cpu"}
            model = models.load(entry).language_model
            dtype = str(model.engine.checkpoint.model.dtype).removeprefix("torch.")
            full, waiting, bound = writing(model, options.replies, options.repeats).values()
            print(
                f"{name}  {dtype} | {full:21.1f} {waiting:8.1f} {bound:6.1f} | {full / waiting:9.2f} {full / bound:8.2f}"
            )
        return
    print(
        "model  dtype | document  all prompts (tokens) | alone s  shared s | x alone  x padded  x server | tokens read a second"
    )
    size = options.words, options.claims, options.documents
    for name in options.entry:
        entry = project.settings().model_entry(name) | {"recorded": None, "dtype": options.dtype, "device": "cpu"}
        ways: dict[str, Callable[[], LanguageModel]] = {
            "alone": lambda entry=entry: models.load(entry | {"share_prefix": False, "batch_tokens": 1}).language_model,
            "padded": lambda entry=entry: models.load(entry | {"share_prefix": False}).language_model,
            "shared": lambda entry=entry: models.load(entry).language_model,
        }
        best = {}
        for way, make in ways.items():
            model = make()
            best[way] = seconds(model, *size, options.repeats)
            dtype = str(model.engine.checkpoint.model.dtype).removeprefix("torch.")
            sizes = [model.count(one) for one in asked(*size, 0)]
        del model
        if options.server:
            file = weights.gguf_file(entry["model"], entry["revision"], entry["file"])
            with llama_cpp(file, Path(tempfile.mkdtemp(), "log.txt")) as address:
                served = models.load({"kind": "openai", "model": name, "base_url": address, "concurrency": 1})
                best["server"] = seconds(served.language_model, *size, options.repeats)
        ours = best["shared"]
        print(f"{name}  {dtype} | {min(sizes):8} {sum(sizes):8} | {best['alone']:7.1f} {ours:8.2f} | "
              f"{best['alone'] / ours:7.1f} {best['padded'] / ours:8.1f} {best.get('server', math.nan) / ours:8.1f} | "
              f"{sum(sizes) / best['alone']:.0f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
