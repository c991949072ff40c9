"""How many (document, summary) pairs a second the embedded model scores, end to end, in one process without a cache.

    python benchmarks/embedded.py [--documents 200] [--corpus sample] [--csv data/embedded/speed.csv]

Decomposing, reading and verifying, by metric, each on documents of its own; word overlap, which needs no model, stands beside
them. Memory is the process's peak after everything. Public corpora (aggrefact_ftsota) need CLAIMWISE_MIRROR
or the network. ``--csv`` writes the table that the notebook ``embedded_model`` shows.
"""

import argparse
import os
import resource
import subprocess
import sys
import time

import pandas as pd

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
    parser.add_argument("--csv", help="where to write the table, beside the screen")
    options = parser.parse_args()

    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", _FIRST], check=True)
    first = time.perf_counter() - start

    model = models.load({"kind": "embedded"})
    examples = corpora.load(options.corpus).first(options.documents * len(_METRICS)).examples
    part = examples["document_id"].rank(method="dense").astype(int) % len(_METRICS)  # words once read are remembered
    rows: list[dict] = []
    for number, name in enumerate(_METRICS):
        own = examples[part == number]
        spec = metrics.specification(name, metrics.DEFAULT_METRICS)
        metrics.evaluate(name, spec, model, own.head(1), progress=False)  # loads what it needs
        start = time.perf_counter()
        metrics.evaluate(name, spec, model, own, progress=False)
        seconds = (time.perf_counter() - start) / len(own)
        rows.append({"metric": name, "summaries": len(own), "pairs_per_second": 1 / seconds})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    table = pd.DataFrame(rows).assign(start_seconds=first, peak_gib=peak, cores=os.cpu_count(), corpus=options.corpus)
    print(table.round(1).to_string(index=False))
    if options.csv:
        table.round(1).to_csv(options.csv, index=False)


if __name__ == "__main__":
    main()
