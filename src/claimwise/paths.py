"""Where the pipeline's files lie, relative to the project's folder; ``data`` is ``sample``, ``public`` or ``own``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from claimwise import schema


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """Gives an empty folder to fill; at the end of the block it takes the place of the other, all of it at once.

    Nothing is lost and nothing half written is taken for whole, whenever the process is killed. Killed while the folders
    change places, the earlier one stands beside as ``.NAME.replaced``, and the next block puts it back first.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp(), "m")
    >>> for text in ("one", "two"):
    ...     with replaced(folder) as new:
    ...         _ = (new / text).write_text(text)
    >>> [path.name for path in folder.iterdir()], [path.name for path in folder.parent.iterdir()]
    (['two'], ['m'])
    """
    # Names that no person gives a folder: what lies there is deleted.
    partial, old = (folder.with_name(f".{folder.name}.{state}") for state in ("partial", "replaced"))
    if old.exists() and not folder.exists():
        old.rename(folder)
    for left in (partial, old):
        shutil.rmtree(left, ignore_errors=True)
    partial.mkdir(parents=True)
    yield partial
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def corpus_folder(data: str, corpus: str) -> Path:
    """Tables of one corpus.

    >>> corpus_folder("sample", "news").as_posix(), scores_folder("sample", "acueval").as_posix()
    ('data/corpora/sample/news', 'data/scores/sample/acueval')
    """
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
