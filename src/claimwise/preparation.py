"""The ``corpora`` stage: public files, shipped files or the user's own to tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pandas as pd
import typer

from claimwise import corpora
from claimwise import paths as store
from claimwise.corpora import Corpus, user_corpus
from claimwise.params import OWN, Settings


def prepare_corpora(settings: Settings) -> list[Path]:
    """Load the corpora of ``data`` and write their tables; returns the folders.

    Raises:
        CorpusError: a name is that of no corpus, or of no file in ``data/own`` where ``data`` is ``own``; said before
            the first one is downloaded or read.
        TableError: a file of the user's cannot be read; names file, line and field.
    """
    loaders = {name: _loader(settings.data, name, columns) for name, columns in settings.corpora[settings.data].items()}
    folders = []
    for name, load in loaders.items():
        folder = store.corpus_folder(settings.data, name)
        corpus = load()
        corpora.write(corpus, folder)
        folders.append(folder)
        if settings.data == OWN:
            for lack in lacks(corpus.examples, corpus.preferences):
                typer.echo(f"{folder}: {lack}", err=True)
    return folders


def lacks(examples: pd.DataFrame, preferences: pd.DataFrame) -> list[str]:
    """What notebooks need that a user's examples do not have, in words; they are prepared and scored all the same.

    >>> rows = {"document_id": ["x", "x"], "system": ["a", "b"], "split": ["validation", "test"], "label": [1.0, 0.0]}
    >>> for lack in lacks(pd.DataFrame(rows).assign(corpus="mine"), pd.DataFrame()):
    ...     print(lack)
    not both labels among rows whose split is validation: meta_evaluation cannot tune a threshold
    not both labels among rows whose split is test: meta_evaluation cannot say how right a metric is
    no file mine.preferences.csv (or of another kind) beside it: preference_bias has nothing to compare
    """
    found = []
    for split, what in (("validation", "tune a threshold"), ("test", "say how right a metric is")):
        if examples.loc[examples["split"] == split, "label"].nunique() < 2:
            found.append(f"not both labels among rows whose split is {split}: meta_evaluation cannot {what}")
    systems = examples["system"].nunique()
    if systems < 2:
        found.append("one system: leaderboard has nothing to rank")
    elif examples.groupby("document_id")["system"].nunique().max() < systems:
        found.append(f"no document that all {systems} systems summarised: leaderboard cannot compare them")
    if preferences.empty:
        file = f"{examples['corpus'].iloc[0]}{user_corpus.PREFERENCES}.csv"
        found.append(f"no file {file} (or of another kind) beside it: preference_bias has nothing to compare")
    return found


def _loader(data: str, name: str, columns: Mapping[str, str]) -> Callable[[], Corpus]:
    if data == OWN:
        return partial(user_corpus.load, user_corpus.find(name), columns)
    corpora.loader(name)
    return partial(corpora.load, name)
