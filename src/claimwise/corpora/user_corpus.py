"""A user's file as a corpus of the pipeline: ``data: own`` in params.yaml reads the files of ``data/own`` by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from claimwise import paths, schema
from claimwise.corpora.base import Corpus, CorpusError, Rows
from claimwise.corpora.user import read_examples
from claimwise.corpora.user_rows import EXPECTED, files_in, read_rows, stem
from claimwise.errors import near, nearest, shorten
from claimwise.schema import TableError

#: What people call the part of their data that a threshold is tuned on, in a file's column ``split``, in any case.
VALIDATION = ("validation", "valid", "val", "dev")

#: The same of the part that notebooks report on, which is also all of a file without this column.
TEST = ("test", "testing")

#: What follows the name of the examples' file, before the ending, in that of the file of preferences beside it.
PREFERENCES = ".preferences"

_COMPARED = ("first_id", "second_id", "preferred")


def is_validation(split: pd.Series) -> pd.Series:
    """Which rows a threshold is tuned on.

    >>> is_validation(pd.Series(["Validation", " dev", "train", "test"])).tolist()
    [True, True, False, False]
    """
    return split.str.strip().str.casefold().isin(VALIDATION)


def find(name: str) -> Path:
    """The file of examples of that name in ``data/own``, whatever its kind; it is not read yet.

    Raises:
        CorpusError: there is no such file, or two that differ in their kind only; the message has the nearest name.
    """
    folder = paths.root() / "data" / "own"
    files = files_in(folder)
    found = _only(name, files)
    if not found:
        known = [stem(path) for path in files if not stem(path).endswith(PREFERENCES)]
        raise CorpusError(
            f"no file named {name!r} in {folder}{near(name, known) or ';'} expected {name} with the ending {EXPECTED} "
            f"(text also as .gz). There are: {', '.join(known) or 'none'}"
        )
    return found


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

    For the arguments see ``user.read_files``. A ``split`` that is one of ``VALIDATION``, in any case, becomes
    ``validation``, on which the notebooks tune; one of ``TEST``, in any case, becomes ``test``, on which they report.
    Other names stay.

    Raises:
        FileNotFoundError: there is no such file.
        TableError: it, or the preferences, cannot be read; names file, line and field.
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
    split = split.mask(split.str.strip().str.casefold().isin(TEST), TEST[0])
    corpus = replace(Rows(stem(path)).corpus(), examples=examples.assign(split=split))
    beside = _only(stem(path) + PREFERENCES, files_in(path.parent))
    return replace(corpus, preferences=read_preferences(beside, examples)) if beside else corpus


def read_preferences(path: Path, examples: pd.DataFrame) -> pd.DataFrame:
    """Read judgments of pairs as a validated ``preferences`` table.

    The file is of the kinds that examples come in, one judgment a row: ``first_id`` (the person's summary) and
    ``second_id`` (the model's) are ids of examples of one document, ``preferred`` is first, second or equal, and
    ``rater`` says who judged, if several did. Other columns are not read.

    Raises:
        TableError: no rows, a missing column, an id of no example, two summaries of different documents, another answer,
            or a judgment that stands twice; the message names file, line and column.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.preferences.csv")
    >>> _ = file.write_text("first_id,second_id,preferred\\na,b,second\\n")
    >>> read_preferences(file, pd.DataFrame({"id": ["a", "b"], "document_id": ["x", "x"]})).values.tolist()
    [['a', 'b', 'user', 'second']]
    """
    rows = list(read_rows(path))
    if not rows:
        raise TableError(f"{path}: no rows in the file; expected {', '.join(_COMPARED)}")
    documents = dict(zip(examples["id"], examples["document_id"], strict=True))
    found = []
    for place, row in rows:
        where = f"{path}, {place}"
        if lacking := [name for name in _COMPARED if name not in row]:
            close = nearest(lacking[0], [name for name in row if name not in (*_COMPARED, "rater")])
            hint = f"did you mean {close!r}? Rename it" if close else "rename the one that holds it, or add it"
            raise TableError(f"{where}: column {lacking[0]!r} is missing, got {', '.join(row)}; {hint}")
        first, second = (_known(row[name], documents, f"{where}, column {name!r}") for name in _COMPARED[:2])
        if first == second:
            raise TableError(f"{where}: {first!r} is compared with itself; name two summaries of one document")
        if documents[first] != documents[second]:
            raise TableError(
                f"{where}: {first!r} and {second!r} are summaries of different documents; name two of one document"
            )
        rater = row.get("rater")
        found.append(
            {
                "first_id": first,
                "second_id": second,
                "rater": "user" if pd.isna(rater) or not str(rater).strip() else str(rater),
                "preferred": str(row["preferred"]).strip().lower(),
            }
        )
    return schema.validate(pd.DataFrame(found), "preferences", str(path), [place for place, _ in rows])


def _known(value: object, documents: Mapping[str, str], where: str) -> str:
    key = str(value)
    if key not in documents:
        close = nearest(key, documents)
        hint = f"did you mean {close!r}?" if close else "expected a row's id (or number, in a file without ids)"
        raise TableError(f"{where}: no example {shorten(value)}; {hint}")
    return key
