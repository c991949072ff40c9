"""Which column of a user's file holds which field, where the file calls it something else: ``{"document": "article"}``."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from claimwise.corpora.user_rows import ExamplesError, stem

#: What a row of a user's file may say of its example, by the names that claimwise gives it.
FIELDS = ("id", "document", "summary", "label", "system", "origin", "split")

#: What other tools and corpora call the two texts; a name is suggested, never taken unasked.
_ALIASES = {"document": ("article", "source", "context"), "summary": ("highlights", "response", "reference")}


def parse(entries: Iterable[str]) -> dict[str, str]:
    """The columns by field, of the command line's ``FIELD=COLUMN``.

    Raises:
        ExamplesError: an entry has no ``=`` with something on both sides, or a field stands twice.

    >>> parse(["document=article", "summary=highlights"])
    {'document': 'article', 'summary': 'highlights'}
    """
    columns: dict[str, str] = {}
    for entry in entries:
        field, _, column = entry.partition("=")
        if not field or not column:
            raise ExamplesError(f"--column: expected FIELD=COLUMN, as in document=article, got {entry!r}")
        if field in columns:
            raise ExamplesError(f"--column: {field} is said to be {columns[field]!r} and {column!r}; keep one of them")
        columns[field] = column
    return columns


def rename(
    rows: list[tuple[str, dict[str, Any]]], columns: Mapping[str, str], path: Path
) -> list[tuple[str, dict[str, Any]]]:
    """The rows with the fields' names in the place of the columns'; all other columns as they stand.

    Args:
        rows: of ``user_rows.read_rows``.
        columns: the column of each field that the file has another name for.
        path: the file, named in errors.

    Raises:
        ExamplesError: a field that there is not, a column that no row has or that is said to be two fields, or one
            beside which the file has a column of the field's own name: whichever was taken, the other would be lost.

    >>> rename([("line 1", {"article": "It rained.", "n": 1})], {"document": "article"}, Path("mine.jsonl"))
    [('line 1', {'document': 'It rained.', 'n': 1})]
    """
    there = list(dict.fromkeys(str(name) for _, row in rows for name in row))
    _check(columns, there, path)
    fields = {column: field for field, column in columns.items()}
    return [(place, {fields.get(str(name), name): value for name, value in row.items()}) for place, row in rows]


def _check(columns: Mapping[str, str], there: list[str], path: Path) -> None:
    for field, column in columns.items():
        if field not in FIELDS:
            raise ExamplesError(
                f"{path}: unknown field {field!r}{_meant(field, FIELDS)}; there are: {', '.join(FIELDS)}"
            )
        if column not in there:
            raise ExamplesError(
                f"{path}: no column {column!r}, which {field!r} is said to be{_meant(column, there)}; the file has: "
                f"{', '.join(there)}"
            )
        if twice := [other for other in columns if columns[other] == column and other != field]:
            raise ExamplesError(f"{path}: column {column!r} is said to be {field!r} and {twice[0]!r}; keep one of them")
        if field in there and field not in columns.values():
            raise ExamplesError(
                f"{path}: {field!r} is said to be column {column!r}, but the file has a column {field!r}, too; leave out "
                f"{field}={column}, or rename that column in the file"
            )


def _meant(name: str, known: Iterable[str]) -> str:
    near = nearest(name, known)
    return f"; did you mean {near!r}?" if near else ""


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The name that is nearly this one, if there is one; case and blanks around do not count.

    >>> nearest(" Artikle", ["article", "highlights"])
    'article'
    """
    names = {str(one).strip().lower(): str(one) for one in known}
    near = difflib.get_close_matches(name.strip().lower(), names, n=1, cutoff=cutoff)
    return names[near[0]] if near else None


def missing(field: str, columns: Mapping[str, str], row: Mapping[str, Any], path: Path) -> str:
    """What to say of a row that has no column for a field, and what to do.

    Args:
        field: one of ``FIELDS``.
        columns: the columns that were named by field.
        row: after ``rename``.
        path: the user's file.
    """
    column = columns.get(field, field)
    said = f"column {column!r} is missing, got {', '.join(columns.get(str(name), str(name)) for name in row)}"
    if field in columns or field == "id":  # which other rows have
        return (
            f"{said}; give every row one{'' if field in columns else ', or none: the number of a row is its id then'}"
        )
    others = [str(name) for name in row if name not in FIELDS]
    near = nearest(field, others) or _alias(field, others)
    asked = f"did you mean {near!r}? Say so" if near else "say which one holds it"
    return f"{said}; {asked}: {how(field, near or 'NAME', path)}, or add it"


def _alias(field: str, names: Iterable[str]) -> str | None:
    """The column that other tools call what the field is.

    >>> _alias("document", ["Context", "response"])
    'Context'
    """
    known = {name.strip().casefold(): name for name in names}
    return next((known[alias] for alias in _ALIASES.get(field, ()) if alias in known), None)


def how(field: str, column: str, path: Path) -> str:
    """How a user says which column holds a field, on the command line, in params.yaml and in Python.

    >>> how("id", "the key", Path("mine.csv"))
    "--column 'id=the key' (in params.yaml corpora: {own: {mine: {id: 'the key'}}}, in Python columns={'id': 'the key'})"
    """
    option = shlex.quote(f"{field}={column}")
    setting = f"corpora: {{own: {{{stem(path)}: {{{field}: {column!r}}}}}}}"
    return f"--column {option} (in params.yaml {setting}, in Python columns={{{field!r}: {column!r}}})"
