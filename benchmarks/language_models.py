"""What verifying the claims of one document costs by a small language model of params.yaml, asked in four ways.

    python benchmarks/language_models.py [--entry smollm2-135m ...] [--words 600] [--claims 15] [--server]

``alone``: one claim at a time; ``padded``: in padded batches; ``shared``: the document read once, as the engine does;
``server`` (with ``--server``): llama.cpp's server on the same file, with its prompt cache (a word of its own begins every
repeat, so that no earlier one helps). Times are of one thread for all ways; the best of several repeats counts.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from claimwise import corpora, models, paths, project, prompts
from claimwise.models import gguf_file
from claimwise.models.replies import LanguageModel

sys.path.insert(0, str(paths.root() / "tests"))
from servers import llama_cpp


def asked(words: int, claims: int, repeat: int) -> list[str]:
    """Verification prompts about one document of so many words, made of the sample's documents."""
    examples = corpora.load("sample").examples
    document = " ".join([str(repeat), *" ".join(examples["document"].unique()).split()[:words]])
    prompt = prompts.load("acueval-verify-zeroshot")
    return [prompt.render(Document=document, ACU=claim) for claim in examples["summary"].unique()[:claims]]


def seconds(model: LanguageModel, words: int, claims: int, repeats: int) -> float:
    """The shortest time that the model takes for all claims."""
    how, best = prompts.load("acueval-verify-zeroshot").decoding, math.inf
    for repeat in range(repeats + 1):  # the first loads and warms up
        rendered = asked(words, claims, repeat)
        start = time.perf_counter()
        found = dict(model.replies(rendered, how))
        assert len(found) == claims
        best = min(best, time.perf_counter() - start) if repeat else best
    return best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--entry", nargs="+", default=["smollm2-135m"])
    parser.add_argument("--words", type=int, default=600)
    parser.add_argument("--claims", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--server", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(
        "model  dtype | document  all prompts (tokens) | alone s  shared s | x alone  x padded  x server | tokens read a second"
    )
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
            best[way] = seconds(model, options.words, options.claims, options.repeats)
            dtype = str(model._model.dtype).removeprefix("torch.")
            sizes = [model.count(one) for one in asked(options.words, options.claims, 0)]
        del model
        if options.server:
            file = gguf_file._located(entry["model"], entry["revision"], entry["file"])
            with llama_cpp(file, Path(tempfile.mkdtemp(), "log.txt")) as address:
                served = models.load({"kind": "openai", "model": name, "base_url": address, "concurrency": 1})
                best["server"] = seconds(served.language_model, options.words, options.claims, options.repeats)
        ours = best["shared"]
        print(f"{name}  {dtype} | {min(sizes):8} {sum(sizes):8} | {best['alone']:7.1f} {ours:8.2f} | "
              f"{best['alone'] / ours:7.1f} {best['padded'] / ours:8.1f} {best.get('server', math.nan) / ours:8.1f} | "
              f"{sum(sizes) / best['alone']:.0f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
