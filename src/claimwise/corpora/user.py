"""Users' own files: a document and a summary a row, and whatever else stands beside them.

``read_files`` is what `claimwise score` reads; ``find`` and ``load`` make a file of ``data/own`` a corpus of the pipeline
(``data: own`` in params.yaml), with the preferences beside it.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from claimwise import paths, schema
from claimwise.corpora.base import Corpus, CorpusError, Rows
from claimwise.corpora.user_rows import EXPECTED, STDIN, STDIN_NAME, Row, files_in, read_rows, stem
from claimwise.errors import near, nearest, printable, shorten, warn
from claimwise.schema import TableError

#: What a row of a user's file may say of its example, by the names that claimwise gives it.
FIELDS = ("id", "document", "summary", "claims", "label", "system", "origin", "split")

_TEXTS, _OPTIONAL = FIELDS[1:3], FIELDS[4:]
_DEFAULTS = {"system": "user", "origin": "user", "split": "test"}
_LABELS = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "false": 0.0, "true": 1.0, "": math.nan}

#: What other tools and corpora call the texts; a name is suggested, never taken unasked.
_ALIASES = {
    "document": ("article", "source", "text", "context", "contexts", "retrieved_contexts", "retrieval_context"),
    "summary": ("highlights", "response", "reference", "answer", "actual_output", "prediction"),
}

#: A list of texts as Python, numpy or JSON write it into a csv.
_LIST_AS_TEXT = re.compile(r"""\s*\[\s*(?:['"].*['"]\s*)?\]\s*""", re.DOTALL)

#: What people call the part of their data that a threshold is tuned on, in a file's column ``split``, in any case.
VALIDATION = ("validation", "valid", "val", "dev")
#: The same of the part that notebooks report on, which is also all of a file without this column.
TEST = ("test", "testing")
#: What follows the name of the examples' file, before the ending, in that of the file of preferences beside it.
PREFERENCES = ".preferences"
_COMPARED = ("first_id", "second_id", "preferred")


@dataclass(frozen=True)
class UserFile:
    """What a user's file holds.

    Attributes:
        examples: a table of schema ``examples``.
        carried: the file's columns beside id, document and summary (its own label, system, split and origin too, as
            they stand there, if under another name in the file by ours), a row an example in the same order: texts of a
            csv, of other files any JSON value; None where the row has none.
        hints: what to look at again: columns that are read by nobody and whose name is nearly one that claimwise knows,
            and documents that are lists written as texts.
        claims: by example, where the rows have claims of their own, else None.
    """

    examples: pd.DataFrame
    carried: pd.DataFrame
    hints: tuple[str, ...]
    claims: Mapping[str, list[str]] | None = None


def joined(document: Any) -> Any:
    """A document that is given as a list of texts (retrieved contexts, pages) as one; any other value as it is.

    >>> joined(["It rained.", "Ann left."])
    'It rained.\\n\\nAnn left.'
    """
    parts = document.tolist() if isinstance(document, np.ndarray) else document  # as pandas reads parquet
    texts = isinstance(parts, list | tuple) and all(isinstance(part, str) for part in parts)
    return "\n\n".join(parts) if texts else document


def read_examples(path: str | Path, columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read a user's examples as a validated ``examples`` table; see ``read_files``, which keeps other columns too.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.jsonl")
    >>> _ = file.write_text('{"article": "It rained.", "summary": "Rain.", "label": 1}')
    >>> read_examples(file, {"document": "article"})[["id", "corpus", "document", "system", "label"]].values.tolist()
    [['1', 'mine', 'It rained.', 'user', 1.0]]
    """
    found = read_files([Path(path)], columns)
    if found.claims is not None:
        raise TableError(
            f"{path}: rows with claims and no summary, which `claimwise score` reads; add a column 'summary'"
        )
    for hint in found.hints:
        warn(hint)
    return found.examples


def _user_file(rows: list[Row], path: Path, columns: Mapping[str, str], before: int) -> UserFile:
    """What rows of a file hold, before which there are so many others; what a row lacks that others have is nothing."""
    path = Path(STDIN_NAME) if path == STDIN else path
    if not rows:
        raise TableError(f"{path}: no examples in the file; expected rows with {' and '.join(_TEXTS)}")
    table = pd.DataFrame([row for _, row in rows], dtype=object)
    places, there = [place for place, _ in rows], list(table)
    _check_columns(columns, there, path)
    table = table.rename(columns={column: field for field, column in columns.items()})
    own = "claims" in table and ("claims" in columns or "summary" not in table)
    texts = ("document", "claims") if own else _TEXTS
    if lacking := [name for name in texts if name not in table]:
        raise TableError(f"{path}, {places[0]}: {_missing(lacking[0], columns, there, path)}")
    carried = {name: _as_json(table[name]) for name in table if name not in ("id", *_TEXTS, *texts)}
    hints = []
    for column in carried:  # a misspelt label would silently be none; of an id the row's number does as well
        close = None if column in FIELDS else nearest(column, set(_OPTIONAL) - set(table))
        if close:
            said = f"{path}: column {column!r} is carried through unread; did you mean {close!r}?"
            hints.append(f"{said} Say so: {_how(close, column, path)}")
    if listed := [place for place, text in zip(places, table["document"], strict=True) if _is_list_as_text(text)]:
        more = f" (and {len(listed) - 1} more)" if listed[1:] else ""
        hints.append(
            f"{path}, {listed[0]}{more}, column 'document': a list written as a text, read with its brackets; write JSON "
            "lines, which hold lists"
        )
    claims = None
    if own:
        claims = [_claims(value, f"{path}, {place}") for place, value in zip(places, table["claims"], strict=True)]
        if "summary" not in table:  # what is shown as one
            table["summary"] = [" ".join(group) for group in claims]
    examples = _examples(table, places, path, before)
    return UserFile(
        examples=examples,
        carried=pd.DataFrame(carried, index=examples.index, dtype=object),
        hints=tuple(hints),
        claims=None if claims is None else dict(zip(examples["id"], claims, strict=True)),
    )


def read_files(paths: Sequence[Path], columns: Mapping[str, str] | None = None) -> UserFile:
    """Read users' examples, and the columns beside them.

    Several files are read as one: an id begins with its file, a system without name is its file's; it and ``file`` are
    carried.

    Args:
        paths: each a .jsonl, .json, .csv, .tsv (any of them also as .gz) or .parquet file with the fields of
            data/own/README.md; ``-`` is the standard input, csv or JSON. A document may be a list of texts, which are read
            as one. In the place of ``summary`` there may be ``claims`` of your own, a text or a list of texts (with both,
            ``claims`` is read where ``columns`` names it).
        columns: the column that holds a field, where the file has another name for it: ``{"document": "article"}``.

    Returns:
        The examples (``corpus`` is the file's name, ``document_id`` is computed) and the other columns.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file, or it is a folder.
        TableError: it cannot be read, lacks a column or holds a value it must not hold; the message names file, line and
            column.

    >>> import tempfile
    >>> files = [Path(tempfile.mkdtemp(), name) for name in ("gpt.csv", "t5.csv")]
    >>> _ = [file.write_text("document,summary\\nIt rained.,Rain.\\n") for file in files]
    >>> found = read_files(files)
    >>> found.examples["system"].tolist(), [Path(key).name for key in found.examples["id"]]
    (['gpt', 't5'], ['gpt.csv:1', 't5.csv:1'])
    """
    found = list(read_in_steps(paths, columns, size=None))
    beside = pd.concat([one.carried for one in found], ignore_index=True)
    return UserFile(
        examples=pd.concat([one.examples for one in found], ignore_index=True),
        carried=beside.astype(object).where(beside.notna(), None),
        hints=tuple(hint for one in found for hint in one.hints),
        claims=None if found[0].claims is None else {key: own for one in found for key, own in one.claims.items()},
    )


def _among_others(found: UserFile, path: Path, name: str) -> UserFile:
    """What one of several files holds, under ids that no other has; ``name`` is the system of a file that has none."""
    if "file" in found.carried:
        raise TableError(f"{path}: column 'file' would stand twice; rename it")
    system = found.examples["system"] if "system" in found.carried else name
    return replace(
        found,
        examples=found.examples.assign(id=f"{path}:" + found.examples["id"], system=system),
        carried=found.carried.assign(system=found.carried.get("system", name), file=str(path)),
        claims=found.claims and {f"{path}:{key}": claims for key, claims in found.claims.items()},
    )


def read_in_steps(
    paths: Sequence[Path], columns: Mapping[str, str] | None = None, size: int | None = 2000
) -> Iterator[UserFile]:
    """What ``read_files`` reads, so many rows at a time: files may be larger than memory. None: a file at a time.

    That no id stands twice is checked within a step only.

    Raises:
        TableError: as ``read_files``; or some rows of the files have claims of their own, and others do not.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.csv")
    >>> _ = file.write_text("document,summary\\n" + "It rained.,Rain.\\n" * 5)
    >>> [step.examples["id"].tolist() for step in read_in_steps([file], size=3)]
    [['1', '2', '3'], ['4', '5']]
    """
    columns, own = columns or {}, None
    stems = Counter(map(stem, paths))
    for path in paths:
        name = STDIN_NAME if path == STDIN else stem(path) if stems[stem(path)] == 1 else str(path)
        rows, before = read_rows(path), 0
        while (step := list(islice(rows, size))) or not before:
            found = _user_file(step, path, columns, before)
            if own not in (None, found.claims is not None):
                raise TableError(
                    f"{path}, {step[0][0]}: from here on rows differ in whether they have claims; score them apart"
                )
            own, before = found.claims is not None, before + len(step)
            yield _among_others(found, path, name) if len(paths) > 1 else found


def _claims(value: Any, where: str) -> list[str]:
    """A row's claims of its own; none where the cell is empty."""
    if _is_list_as_text(value):
        raise TableError(
            f"{where}, column 'claims': found a list written as a text, {shorten(value)}, which would be one claim; write "
            "JSON lines, which hold lists, or one claim a row"
        )
    claims = value if isinstance(value, list) else [] if _blank(value) else [value]
    if not all(isinstance(claim, str) for claim in claims):
        raise TableError(f"{where}, column 'claims': found {shorten(value)}, expected a text or a list of texts")
    return claims


def parse_columns(entries: Iterable[str]) -> dict[str, str]:
    """The columns by field, of the command line's ``FIELD=COLUMN``.

    Raises:
        TableError: an entry has no ``=`` with something on both sides, or a field stands twice.

    >>> parse_columns(["document=article", "summary=highlights"])
    {'document': 'article', 'summary': 'highlights'}
    """
    columns: dict[str, str] = {}
    for entry in entries:
        field, _, column = entry.partition("=")
        if not field or not column or field in columns:
            raise TableError(f"--column: expected FIELD=COLUMN, once a field, as in document=article, got {entry!r}")
        columns[field] = column
    return columns


def _examples(table: pd.DataFrame, places: list[str], path: Path, before: int) -> pd.DataFrame:
    """The rows as a validated ``examples`` table; what cannot be filled in or read is left for the schema to refuse."""
    numbers = [str(number) for number in range(before + 1, before + len(table) + 1)]
    found = table.reindex(columns=[name for name in FIELDS if name != "claims"]).astype(object)
    found["id"] = [str(key) if type(key) is int else key for key in table.get("id", numbers)]
    # null is what an empty field of a csv becomes on its way through a data frame: no text, unscored with that reason
    for name in _TEXTS:
        found[name] = ["" if _absent(value) else value for value in map(joined, found[name])]
    for name, default in _DEFAULTS.items():
        found[name] = [default if _blank(value) else value for value in found[name]]
    found["label"] = [
        math.nan if _absent(value) else _LABELS.get(str(value).strip().lower(), value) for value in found["label"]
    ]
    found = found.assign(corpus=stem(path), document_id="computed below, of valid documents")
    found = schema.validate(found, "examples", str(path), places)
    return found.assign(document_id=found["document"].map(schema.document_id)).astype(
        {name: "str" for name in found if name != "label"}
    )


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _blank(value: Any) -> bool:
    return _absent(value) or (isinstance(value, str) and not value.strip())


def _as_json(values: Iterable[Any]) -> list[Any]:
    """Values as JSON can say them: of parquet's arrays lists, of its times and of infinities texts."""

    def said(value: Any) -> Any:
        return value.tolist() if hasattr(value, "tolist") else str(value)

    return [None if _absent(one) else json.loads(json.dumps(one, default=said), parse_constant=str) for one in values]


def _check_columns(columns: Mapping[str, str], there: Sequence[str], path: Path) -> None:
    """Refuse columns that are said to be fields and cannot be.

    Also where the file has a column of the field's own name: whichever was taken, the other would be lost.
    """
    for field, column in columns.items():
        said = f"{path}: {field!r} is said to be column {column!r}"
        if field not in FIELDS:
            raise TableError(f"{said}; unknown field{near(field, FIELDS) or ';'} there are: {', '.join(FIELDS)}")
        if column not in there:
            raise TableError(f"{said}; no such column{near(column, there) or ';'} the file has: {', '.join(there)}")
        if twice := [other for other in columns if columns[other] == column and other != field]:
            raise TableError(f"{said}, and so is {twice[0]!r}; keep one of them")
        if field in there and field not in columns.values():
            raise TableError(
                f"{said}, but the file has a column {field!r}, too; leave out {field}={column}, or rename that column"
            )


def _missing(field: str, columns: Mapping[str, str], there: Sequence[str], path: Path) -> str:
    """What to say of a file that has no column for a text, and what to do."""
    said = f"column {field!r} is missing, got {', '.join(there)}"
    others = [name for name in there if name not in (*FIELDS, *columns.values())]
    if field == "summary" and "claim" in others:
        return f"{said}; are these claims of your own? Say so: {_how('claims', 'claim', path)}"
    guesses = {}
    for name in _TEXTS:
        aliases = [other for other in others if other.strip().lower() in _ALIASES[name]]
        if name not in (*there, *columns):
            guesses[name] = nearest(name, others) or next(iter(aliases), None)
    close = guesses.pop(field, None)
    asked = f"did you mean {close!r}? Say so" if close else "say which one holds it"
    also = "".join(f", and --column {shlex.quote(f'{name}={guess}')}" for name, guess in guesses.items() if guess)
    return f"{said}; {asked}: {_how(field, close or 'NAME', path)}{also}, or add it"


def _is_list_as_text(value: Any) -> bool:
    return isinstance(value, str) and bool(_LIST_AS_TEXT.fullmatch(value))


def _how(field: str, column: str, path: Path) -> str:
    """How a user says which column holds a field, on the command line, in params.yaml and in Python.

    >>> _how("id", "the key", Path("mine.csv"))
    "--column 'id=the key' (in params.yaml datasets: {own: {corpora: {mine: {id: 'the key'}}}}, in Python columns={'id': 'the key'})"
    """
    option = shlex.quote(printable(f"{field}={column}"))
    setting = f"datasets: {{own: {{corpora: {{{stem(path)}: {{{field}: {column!r}}}}}}}}}"
    return f"--column {option} (in params.yaml {setting}, in Python columns={{{field!r}: {column!r}}})"


# -- as a corpus of the pipeline -------------------------------------------------------------------


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

    For the arguments see ``read_files``. A ``split`` that is one of ``VALIDATION`` or ``TEST``, in any case, becomes the
    first of them, on which notebooks tune or report; other names stay.

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

    The file is of the kinds that examples come in, one judgment a row (its fields: data/own/README.md). Other columns are
    not read.

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
    places = [place for place, _ in rows]
    table = pd.DataFrame([row for _, row in rows], dtype=object).filter([*_COMPARED, "rater"])
    table = table.assign(rater=["user" if _blank(name) else name for name in table.get("rater", [None] * len(rows))])
    table = table.map(lambda value: value if value is None else str(value))
    table = table.assign(**{name: table[name].str.strip().str.lower() for name in table if name == "preferred"})
    table = schema.validate(table, "preferences", str(path), places)
    documents = dict(zip(examples["id"], examples["document_id"], strict=True))
    for place, first, second in zip(places, table["first_id"], table["second_id"], strict=True):
        for name, key in (("first_id", first), ("second_id", second)):
            if key not in documents:
                close = nearest(key, documents)
                hint = f"did you mean {close!r}?" if close else "expected a row's id (or number, in a file without ids)"
                raise TableError(f"{path}, {place}, column {name!r}: no example {shorten(key)}; {hint}")
        if first == second or documents[first] != documents[second]:
            raise TableError(
                f"{path}, {place}: {first!r} and {second!r} are not two summaries of one document; name two that are"
            )
    return table
