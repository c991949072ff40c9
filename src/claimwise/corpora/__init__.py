"""Public and shipped corpora as tables: ``load("sample").examples``.

Each loader reads published files (``registry``: download, checksum, mirror) into the tables of ``claimwise.schema``.
"""

from __future__ import annotations

from claimwise.corpora import (
    aggrefact,
    fave,
    frank,
    genaudit,
    halueval,
    llmsummeval,
    longdoc,
    qags,
    rose,
    sample,
    summeval,
    vectara,
    wice,
)
from claimwise.corpora.base import Corpus, CorpusError, Loader, filled, read, write
from claimwise.corpora.registry import Registry
from claimwise.corpora.user import read_examples, read_file
from claimwise.errors import near

__all__ = [
    "LOADERS",
    "Corpus",
    "CorpusError",
    "Registry",
    "load",
    "loader",
    "read",
    "read_examples",
    "read_file",
    "write",
]

#: The corpora by name, those that ship with the project first.
LOADERS: dict[str, Loader] = {
    "sample": sample.load,
    "sample_presence": sample.load_presence,
    "sample_papers": sample.load_papers,
    "aggrefact_ftsota": aggrefact.load_ftsota,
    "aggrefact_exf": aggrefact.load_exf,
    "frank": frank.load,
    "rose": rose.load,
    "summeval": summeval.load,
    "halueval": halueval.load,
    "llmsummeval_pairwise": llmsummeval.load_pairwise,
    "llmsummeval": llmsummeval.load,
    "wice": wice.load,
    "wice_chunks": wice.load_chunks,
    "wice_subclaims": wice.load_subclaims,
    "wice_spans": wice.load_spans,
    "qags": qags.load,
    "vectara": vectara.load,
    "fave": fave.load,
    "longsciverify": longdoc.load,
    "longeval": longdoc.load_longeval,
    "genaudit_usb": genaudit.load,
}


def load(name: str, files: Registry | None = None) -> Corpus:
    """Load a corpus by name, its files from the registry or else from the package's (``Registry.from_environment``).

    Raises:
        CorpusError: no corpus has this name.
        MissingFileError: a file is neither in the mirror nor downloadable.
        AlteredFileError: a file is not the published one.
    """
    return filled(name, loader(name), files or Registry.from_environment())


def loader(name: str) -> Loader:
    """What loads the corpus of that name; nothing is read yet.

    Raises:
        CorpusError: no corpus has this name; the message has the nearest and all of them.

    >>> loader("sampel")
    Traceback (most recent call last):
    ...
    claimwise.corpora.base.CorpusError: no corpus named 'sampel'; did you mean 'sample'? There are: sample, ...
    """
    if name not in LOADERS:
        raise CorpusError(f"no corpus named {name!r}{near(name, LOADERS) or '.'} There are: {', '.join(LOADERS)}")
    return LOADERS[name]
