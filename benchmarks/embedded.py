"""How many (document, summary) pairs a second the embedded model scores, end to end, in one process without a cache.

    python benchmarks/embedded.py [--documents 200] [--corpus sample]

Decomposing, reading and verifying, by metric, each on documents of its own; the ratio is to word overlap in the same run,
which needs no model. Memory is the process's peak after everything. Public corpora (aggrefact_ftsota) need CLAIMWISE_MIRROR
or the network.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

from claimwise import corpora, metrics, models

_FIRST = """
from claimwise import models, prompts
model = models.load({"kind": "embedded"})
model.verify(["It rained all day."], [["It rained."]], prompts.load("acueval-verify-zeroshot"))
"""
_METRICS = ("word-overlap", "sentences", "acueval", "holistic")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=200, help="a metric, each its own")
    parser.add_argument("--corpus", default="sample")
    options = parser.parse_args()

    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", _FIRST], check=True)
    print(f"a fresh process that gives one verdict, from start to end: {time.perf_counter() - start:.1f} s")

    model = models.load({"kind": "embedded"})
    examples = corpora.load(options.corpus).first(options.documents * len(_METRICS)).examples
    part = examples["document_id"].rank(method="dense").astype(int) % len(_METRICS)  # words once read are remembered
    print(f"{'metric':>12} | summaries | pairs/s | x word overlap's time")
    floor = None
    for number, name in enumerate(_METRICS):
        own = examples[part == number]
        spec = metrics.specification(name, metrics.DEFAULT_METRICS)
        metrics.evaluate(name, spec, model, own.head(1), progress=False)  # loads what it needs
        start = time.perf_counter()
        metrics.evaluate(name, spec, model, own, progress=False)
        took = (time.perf_counter() - start) / len(own)
        floor = floor or took
        print(f"{name:>12} | {len(own):9} | {1 / took:7.1f} | {took / floor:.0f}")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")


if __name__ == "__main__":
    main()
