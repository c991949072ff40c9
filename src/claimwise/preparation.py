"""The ``corpora`` stage: public or shipped files to tables."""

from __future__ import annotations

from pathlib import Path

from claimwise import corpora, store
from claimwise.settings import Settings


def prepare_corpora(settings: Settings) -> list[Path]:
    """Load the corpora of ``data`` and write their tables; returns the folders.

    Raises:
        CorpusError: a name is that of no corpus; said before the first one is downloaded.
    """
    wanted = settings.corpora[settings.data]
    for name in wanted:
        corpora.loader(name)
    folders = []
    for name in wanted:
        folder = store.corpus_folder(settings.data, name)
        corpora.write(corpora.load(name), folder)
        folders.append(folder)
    return folders
