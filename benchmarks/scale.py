"""What splitting, scheduling and writing cost, from a thousand rows to a million.

    python benchmarks/scale.py [--rows 1000 10000 100000] [--workers 2] [--figure docs/scale.png]

Rows are made up: two summaries a document of 60 words, scored by word overlap. Overhead is the time beyond that of scoring on
so many workers: reading, splitting, Dask, files. Its share is that of the time that a model would take for so many rows on as
many workers (``--pace`` summaries a second and worker; 15 is the embedded model's). Memory is the driver's.
"""

import argparse
import json
import multiprocessing
import random
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from claimwise.params import Engine
from claimwise.scale.run import score_folder

_STEP = 20_000


def write(rows: int, file: Path) -> None:
    chance = random.Random(0)
    words = [f"word{number}" for number in range(5000)]
    schema = pa.schema([("document", pa.large_string()), ("summary", pa.large_string())])
    with pq.ParquetWriter(file, schema) as writer:
        for start in range(0, rows, _STEP):
            documents = [chance.choices(words, k=60) for _ in range(start // 2, min(start + _STEP, rows) // 2 + 1)]
            table = [documents[number // 2] for number in range(min(_STEP, rows - start))]
            summaries = [" ".join([*document[:12], *chance.choices(words, k=4)]) for document in table]
            writer.write_table(pa.table({"document": [" ".join(one) for one in table], "summary": summaries}, schema))


def measure(rows: int, workers: int) -> tuple[float, float, int, float]:
    """Seconds, those of scoring alone, parts, and megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, "rows.parquet"), Path(folder, "scores")
        write(rows, file)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.monotonic()
        engine = Engine(kind="dask", workers=workers)
        score_folder([file], "word-overlap", "lexical", out, Path("params.yaml"), engine=engine)
        seconds = time.monotonic() - start
        run = json.loads((out / "_run.json").read_text())
        scoring = run["counts"]["seconds"] / workers
        memory = max(before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024
        return seconds, scoring, run["parts"], memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pace", type=float, default=15)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    found = []
    for rows in options.rows:
        with ProcessPoolExecutor(1, spawn) as fresh:  # whose memory is that of these rows alone
            seconds, scoring, parts, memory = fresh.submit(measure, rows, options.workers).result()
        overhead = seconds - scoring
        share = overhead / (rows / options.pace / options.workers)
        found.append((rows, seconds))
        print(
            f"{rows:>9} rows  {parts:>5} parts  {seconds:7.1f} s  {overhead / rows * 1e3:6.2f} ms a row beyond scoring  "
            f"{share:6.1%} of a model's time  {memory:5.0f} MB"
        )
    if options.figure:
        draw(found, options.figure)


def draw(found: list[tuple[int, float]], figure: Path) -> None:
    import matplotlib.pyplot as plt

    rows, seconds = zip(*sorted(found), strict=True)
    axes = plt.figure(figsize=(5, 3.4), layout="constrained").subplots()
    axes.loglog(rows, seconds, "o-")
    slope = seconds[-1] / rows[-1]
    axes.loglog(rows, [slope * count for count in rows], "--", color="grey", label="in proportion to the rows")
    axes.set(xlabel="rows", ylabel="seconds, scored by word overlap", title="Rows into a folder of scores, two workers")
    axes.legend()
    plt.savefig(figure, dpi=150)


if __name__ == "__main__":
    main()
