"""A user's file as a corpus of the pipeline: ``data: own`` in params.yaml reads the files of ``data/own`` by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from claimwise.corpora.base import Corpus, CorpusError, Rows
from claimwise.corpora.user import read_examples
from claimwise.corpora.user_rows import EXPECTED, KINDS, stem

#: Where the pipeline looks for a user's files; the stage ``corpora`` depends on the folder.
FOLDER = Path("data/own")

#: What people call the part of their data that a threshold is tuned on, in a file's column ``split``.
VALIDATION = ("validation", "valid", "val", "dev")


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
    files = [path for path in sorted(Path(folder).glob("*")) if path.name.lower().removesuffix(".gz").endswith(KINDS)]
    found = [path for path in files if stem(path) == name]
    if len(found) > 1:
        raise CorpusError(
            f"{folder} has {len(found)} files named {name!r}: {', '.join(path.name for path in found)}; rename or "
            "remove all but one"
        )
    if not found:
        known = [stem(path) for path in files]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise CorpusError(
            f"no file named {name!r} in {folder}; {hint}expected {name} with the ending {EXPECTED} (text also "
            f"as .gz). There are: {', '.join(known) or 'none'}"
        )
    return found[0]


def load(path: str | Path, columns: Mapping[str, str] | None = None) -> Corpus:
    """A user's file as a corpus: its examples, and no other table.

    Args:
        path: see ``user.read_file``. A ``split`` that is one of ``VALIDATION`` becomes ``validation``, on which the
            notebooks tune.
        columns: the column that holds a field, where the file has another name for it; see ``user.read_file``, too.

    Raises:
        FileNotFoundError: there is no such file.
        ExamplesError: it cannot be read; names file, line and field.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.csv")
    >>> _ = file.write_text("id,document,summary,label,split\\na,It rained.,Rain.,1,dev\\n")
    >>> load(file).examples[["id", "corpus", "split"]].values.tolist()
    [['a', 'mine', 'validation']]
    """
    examples = read_examples(path, columns)
    split = examples["split"].where(~examples["split"].isin(VALIDATION), "validation")
    return replace(Rows(stem(Path(path))).corpus(), examples=examples.assign(split=split))
