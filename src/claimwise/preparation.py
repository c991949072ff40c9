"""The ``corpora`` stage: public or shipped files to tables."""

from __future__ import annotations

from pathlib import Path

from claimwise import corpora, store
from claimwise.settings import Settings


def prepare_corpora(settings: Settings) -> list[Path]:
    """Load the corpora of ``data`` and write their tables; returns the folders."""
    folders = []
    for name in settings.corpora[settings.data]:
        folder = store.corpus_folder(settings.data, name)
        corpora.write(corpora.load(name), folder)
        folders.append(folder)
    return folders
