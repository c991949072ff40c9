"""A user's file as a corpus of the pipeline: ``data: own`` in params.yaml reads the files of ``data/own`` by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from claimwise.corpora.base import Corpus, CorpusError, Rows
from claimwise.corpora.user import read_examples
from claimwise.corpora.user_preferences import SUFFIX, read_preferences
from claimwise.corpora.user_rows import EXPECTED, KINDS, stem
from claimwise.errors import near

#: Where the pipeline looks for a user's files; the stage ``corpora`` depends on the folder.
FOLDER = Path("data/own")

#: What people call the part of their data that a threshold is tuned on, in a file's column ``split``, in any case.
VALIDATION = ("validation", "valid", "val", "dev")

#: The same of the part that notebooks report on, which is also all of a file without this column.
TEST = ("test", "testing")


def is_validation(split: pd.Series) -> pd.Series:
    """Which rows a threshold is tuned on.

    >>> is_validation(pd.Series(["Validation", " dev", "train", "test"])).tolist()
    [True, True, False, False]
    """
    return _is_one_of(split, VALIDATION)


def _is_one_of(split: pd.Series, names: tuple[str, ...]) -> pd.Series:
    return split.str.strip().str.casefold().isin(names)


def find(name: str, folder: str | Path = FOLDER) -> Path:
    """The file of examples of that name, whatever its kind; it is not read yet.

    Args:
        name: the file's, without what says its kind: ``mine`` for ``mine.csv.gz``.
        folder: where it lies.

    Raises:
        CorpusError: there is no such file, or two that differ in their kind only; the message has the nearest name.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = Path(folder, "mine.csv.gz").touch(), Path(folder, "README.md").touch()
    >>> find("mine", folder).name
    'mine.csv.gz'
    """
    files = _files(folder)
    found = _only(name, files)
    if not found:
        known = [stem(path) for path in files if not stem(path).endswith(SUFFIX)]
        raise CorpusError(
            f"no file named {name!r} in {folder}{near(name, known) or ';'} expected {name} with the ending {EXPECTED} (text also "
            f"as .gz). There are: {', '.join(known) or 'none'}"
        )
    return found


def _files(folder: str | Path) -> list[Path]:
    return [path for path in sorted(Path(folder).glob("*")) if path.name.lower().removesuffix(".gz").endswith(KINDS)]


def _only(name: str, files: list[Path]) -> Path | None:
    found = [path for path in files if stem(path) == name]
    if len(found) > 1:
        raise CorpusError(
            f"{found[0].parent} has {len(found)} files named {name!r}: {', '.join(path.name for path in found)}; rename or "
            "remove all but one"
        )
    return found[0] if found else None


def load(path: str | Path, columns: Mapping[str, str] | None = None) -> Corpus:
    """A user's file as a corpus: its examples, and where there is a file of preferences beside it, these.

    Args:
        path: see ``user.read_file``. A ``split`` that is one of ``VALIDATION``, in any case, becomes ``validation``, on
            which the notebooks tune; one of ``TEST``, in any case, becomes ``test``, on which they report. Other
            names stay.
        columns: the column that holds a field, where the file has another name for it; see ``user.read_file``, too.

    Raises:
        FileNotFoundError: there is no such file.
        ExamplesError: it, or the preferences, cannot be read; names file, line and field.
        CorpusError: there are two files of preferences.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.csv")
    >>> _ = file.write_text("id,document,summary,label,split\\na,It rained.,Rain.,1,dev\\nb,It rained.,Rain.,1,Test\\n")
    >>> load(file).examples[["id", "corpus", "split"]].values.tolist()
    [['a', 'mine', 'validation'], ['b', 'mine', 'test']]
    """
    path = Path(path)
    examples = read_examples(path, columns)
    split = examples["split"].mask(is_validation(examples["split"]), VALIDATION[0])
    split = split.mask(_is_one_of(split, TEST), TEST[0])
    corpus = replace(Rows(stem(path)).corpus(), examples=examples.assign(split=split))
    asked = _only(stem(path) + SUFFIX, _files(path.parent))
    return replace(corpus, preferences=read_preferences(asked, examples)) if asked else corpus
