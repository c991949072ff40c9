"""The ``corpora`` stage: public files, shipped files or the user's own to tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from claimwise import corpora, store
from claimwise.corpora import Corpus, user_corpus
from claimwise.settings import OWN, Settings


def prepare_corpora(settings: Settings) -> list[Path]:
    """Load the corpora of ``data`` and write their tables; returns the folders.

    Raises:
        CorpusError: a name is that of no corpus, or of no file in ``data/own`` where ``data`` is ``own``; said before
            the first one is downloaded or read.
        ExamplesError: a file of the user's cannot be read; names file, line and field.
    """
    loaders = {name: _loader(settings.data, name) for name in settings.corpora[settings.data]}
    folders = []
    for name, load in loaders.items():
        folder = store.corpus_folder(settings.data, name)
        corpora.write(load(), folder)
        folders.append(folder)
    return folders


def _loader(data: str, name: str) -> Callable[[], Corpus]:
    if data == OWN:
        return partial(user_corpus.load, user_corpus.find(name))
    corpora.loader(name)
    return partial(corpora.load, name)
