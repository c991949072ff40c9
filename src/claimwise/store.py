"""Where the pipeline's files lie, relative to the project's folder; ``data`` is ``sample``, ``public`` or ``own``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from claimwise import schema


def corpus_folder(data: str, corpus: str) -> Path:
    """Tables of one corpus."""
    return Path("data/corpora") / data / corpus


def scores_folder(data: str, metric: str) -> Path:
    """What one metric said of all the corpora it was run on: one folder a corpus."""
    return Path("data/scores") / data / metric


def result(data: str, name: str) -> Path:
    """A result table, e.g. ``tables/sample/leaderboard.csv``."""
    return Path("tables") / data / name


def figure(data: str, name: str) -> Path:
    """A figure, e.g. ``figures/sample/leaderboard.png``."""
    return Path("figures") / data / name


def read_table(folder: Path, name: str) -> pd.DataFrame:
    """One parquet table, validated against its schema.

    Raises:
        FileNotFoundError: says which stage makes it.
    """
    path = folder / f"{name}.parquet"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there; `dvc repro` makes it (stages corpora and score)")
    # Spans are integers also where some are missing.
    table = pd.read_parquet(path, to_pandas_kwargs={"integer_object_nulls": True})
    return schema.validate(table, name, str(path))


def read_scores(data: str, metric: str, corpus: str) -> pd.DataFrame:
    """Scores of one metric on one corpus."""
    return read_table(scores_folder(data, metric) / corpus, "scores")
