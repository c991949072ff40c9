"""Public and shipped corpora as tables: ``load("sample").examples``.

Each loader reads published files (``registry``: download, checksum, mirror) into the tables of ``claimwise.schema``.
"""

from collections.abc import Mapping

from claimwise.corpora import aggrefact, news, papers, sample, wice
from claimwise.corpora.base import Corpus, CorpusError, Loader, Rows, read, write
from claimwise.corpora.registry import Registry
from claimwise.corpora.user import read_examples
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
    "write",
]

#: The corpora by name, those that ship with the project first.
LOADERS: dict[str, Loader] = {
    "sample": sample.load,
    "sample_presence": sample.load_presence,
    "sample_papers": sample.load_papers,
    "aggrefact_ftsota": aggrefact.ftsota,
    "aggrefact_exf": aggrefact.exf,
    "frank": aggrefact.frank,
    "rose": news.rose,
    "summeval": news.summeval,
    "halueval": news.halueval,
    "llmsummeval_pairwise": news.llmsummeval_pairwise,
    "llmsummeval": news.llmsummeval,
    "wice": wice.load,
    "wice_chunks": wice.load_chunks,
    "wice_subclaims": wice.load_subclaims,
    "wice_spans": wice.load_spans,
    "qags": news.qags,
    "vectara": news.vectara,
    "fave": papers.fave,
    "longsciverify": papers.longsciverify,
    "longeval": papers.longeval,
    "genaudit_usb": news.genaudit_usb,
}


def load(name: str, files: Registry | None = None, loaders: Mapping[str, Loader] = LOADERS) -> Corpus:
    """Load a corpus by name. Its files come from ``files``, by default from ``Registry.from_environment()``.

    Raises:
        CorpusError: no corpus has this name. For other errors see ``Registry.fetch``.
    """
    rows = Rows(name)
    loader(name, loaders)(rows, files or Registry.from_environment())
    return rows.corpus()


def loader(name: str, loaders: Mapping[str, Loader] = LOADERS) -> Loader:
    """The function that loads the corpus of this name; nothing is read yet.

    Raises:
        CorpusError: no corpus has this name; the message has the nearest name and all names.

    >>> loader("sampel")
    Traceback (most recent call last):
    ...
    claimwise.corpora.base.CorpusError: no corpus named 'sampel'; did you mean 'sample'? There are: sample, ...
    """
    if name not in loaders:
        raise CorpusError(
            f"no corpus named {name!r}{near(name, loaders) or '.'} There are: {', '.join(loaders)}. Files of yours are read with "
            "`data: own`"
        )
    return loaders[name]
