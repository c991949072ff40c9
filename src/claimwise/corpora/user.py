"""Users' own examples: a file with a document and a summary a row, and whatever else stands beside them."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from claimwise import schema
from claimwise.corpora.user_columns import how, missing, nearest, rename
from claimwise.corpora.user_rows import EXPECTED, ExamplesError, read_rows, shorten, stem

_TEXTS = ("document", "summary")
_REQUIRED = ("id", *_TEXTS)
_DEFAULTS = {"label": math.nan, "system": "user", "origin": "user", "split": "test"}
_LABELS = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "false": 0.0, "true": 1.0, "": math.nan}


@dataclass(frozen=True)
class UserFile:
    """What a user's file holds.

    Attributes:
        examples: a table of schema ``examples``.
        carried: the file's columns beside id, document and summary (its own label, system, split and origin too, as
            they stand there, if under another name in the file by ours), a row an example in the same order: texts of a
            csv, of other files any JSON value; None where the row has none.
        hints: what to look at again: columns that are read by nobody and whose name is nearly one that claimwise knows.
    """

    examples: pd.DataFrame
    carried: pd.DataFrame
    hints: tuple[str, ...]


def read_examples(path: str | Path, columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read a user's examples as a validated ``examples`` table; see ``read_file``, which keeps other columns too.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.jsonl")
    >>> _ = file.write_text('{"article": "It rained.", "summary": "Rain.", "label": 1}')
    >>> read_examples(file, {"document": "article"})[["id", "corpus", "document", "system", "label"]].values.tolist()
    [['1', 'mine', 'It rained.', 'user', 1.0]]
    """
    found = read_file(path, columns)
    for hint in found.hints:
        warnings.warn(hint, stacklevel=2)
    return found.examples


def read_file(path: str | Path, columns: Mapping[str, str] | None = None) -> UserFile:
    """Read a user's examples, and the columns beside them.

    Args:
        path: a .jsonl, .json, .csv, .tsv (any of them also as .gz) or .parquet file with the columns ``document`` and
            ``summary`` and, if you have them, ``id``, ``label`` (1 or true: faithful, 0 or false: not, empty: unknown),
            ``system``, ``origin`` and ``split``. A text may be empty or null. Where no row has an ``id``, it is the row's
            number as text: 1, 2, 3, ... in the file's order, of the examples only (header and blank lines do not count).
        columns: the column that holds a field, where the file has another name for it: ``{"document": "article"}``.

    Returns:
        The examples (``corpus`` is the file's name, ``document_id`` is computed) and the other columns.

    Raises:
        FileNotFoundError: there is no such file.
        IsADirectoryError: it is a folder.
        ExamplesError: bad JSON or csv, a row with more or fewer fields than the header, a missing column, one named
            for a field that it cannot be (``user_columns.rename``), an id that stands twice or is empty, a label that is
            neither 0 nor 1, a value that is no text, text that holds NUL bytes or is no Unicode; names file, line and field.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name one {EXPECTED} file of examples")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; expected a {EXPECTED} file of examples")
    rows = read_rows(path)
    if not rows:
        raise ExamplesError(f"{path}: no examples in the file; expected rows with {' and '.join(_TEXTS)}")
    columns = columns or {}
    _refuse_wrapped(rows, columns, path)
    rows = rename(rows, columns, path)
    known = {name for _, row in rows for name in row if name in (*_REQUIRED, *_DEFAULTS)}
    required = _REQUIRED if "id" in known else _TEXTS
    first_place: dict[str, str] = {}
    examples, carried = [], []
    for number, (place, row) in enumerate(rows, start=1):
        where = f"{path}, {place}"
        if lacking := [name for name in required if name not in row]:
            raise ExamplesError(f"{where}: {missing(lacking[0], columns, row, path)}")
        example = _example({"id": number} | row, where)
        if example["id"] in first_place:
            raise ExamplesError(
                f"{where}, field 'id': {example['id']!r} stands in {first_place[example['id']]} too; ids must "
                "be unique, give one of them another"
            )
        first_place[example["id"]] = place
        examples.append({**example, "corpus": stem(path)})
        carried.append({str(name): _carried(value, str(name), where) for name, value in _others(row)})
    beside = pd.DataFrame(carried, index=range(len(carried)), dtype=object)
    return UserFile(
        examples=schema.validate(pd.DataFrame(examples), "examples", str(path)),
        carried=beside.where(beside.notna(), None),
        hints=tuple(_hints([name for name in beside if name not in _DEFAULTS], {"id", *_DEFAULTS} - known, path)),
    )


def _refuse_wrapped(rows: list[tuple[str, dict[str, Any]]], columns: Mapping[str, str], path: Path) -> None:
    """On one line an object around the array passes for a row of JSON lines; what is wrong is not its column's name."""
    place, row = rows[0]
    texts = {columns.get(name, name) for name in _TEXTS}
    if len(rows) > 1 or texts & row.keys():
        return
    for name, value in row.items():
        objects = isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)
        if objects and (len(row) == 1 or texts & value[0].keys()):  # a row may have a list, too, of claims or spans
            raise ExamplesError(
                f"{path}, {place}: expected an array of objects, [{{...}}, {{...}}], got one object with "
                f"{shorten(', '.join(map(str, row)))}; take the array out of {name!r}"
            )


def _others(row: dict[str, Any]) -> list[tuple[Any, Any]]:
    return [(name, value) for name, value in row.items() if name not in _REQUIRED]


def _hints(columns: Iterable[str], absent: set[str], path: Path) -> Iterable[str]:
    """A misspelt optional column would silently be none: its label would be missing, its system ``user``."""
    for column in columns:
        # so short a name as id is nearly too many others
        near = nearest(column, sorted(absent - {"id"})) or nearest(column, absent & {"id"}, cutoff=0.75)
        if near:
            said = f"{path}: column {column!r} is carried through unread; did you mean {near!r}?"
            yield f"{said} Say so: {how(near, column, path)}"


def _example(row: dict[str, Any], where: str) -> dict[str, Any]:
    # null is what an empty field of a csv becomes on its way through a data frame: no text, unscored with that reason
    example = {name: "" if _absent(row[name]) else _text(row[name], name, where) for name in _TEXTS}
    is_number = isinstance(row["id"], int) and not isinstance(row["id"], bool)
    identity = str(row["id"]) if is_number else row["id"]
    example["id"] = _text(identity, "id", where)
    for name in ("id", *(set(_DEFAULTS) - {"label"})):
        value = example["id"] if name == "id" else row.get(name)
        missing = _absent(value) or (isinstance(value, str) and not value.strip())
        if missing and name == "id":
            raise ExamplesError(f"{where}, field 'id': is empty; expected a text, unique in the file")
        example[name] = _DEFAULTS[name] if missing else _text(value, name, where)
    example["label"] = _label(row.get("label"), where)
    example["document_id"] = schema.document_id(example["document"])
    return example


def _text(value: Any, name: str, where: str) -> str:
    if not isinstance(value, str):
        raise ExamplesError(f"{where}, field {name!r}: expected text, got {shorten(value)}")
    if "\x00" in value:
        raise ExamplesError(
            f"{where}, field {name!r}: a NUL byte at character {value.index(chr(0))}; remove it, it ends strings in "
            "many tools"
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ExamplesError(
            f"{where}, field {name!r}: half of a surrogate pair (U+{ord(value[error.start]):04X}) at character "
            f"{error.start}; the text was cut within a character: write both halves or neither"
        ) from None
    return value


def _label(value: Any, where: str) -> float:
    if _absent(value):
        return math.nan
    label = _LABELS.get(str(value).strip().lower())
    if label is None:
        raise ExamplesError(f"{where}, field 'label': expected 1 (faithful), 0 (not) or nothing, got {shorten(value)}")
    return label


def _carried(value: Any, name: str, where: str) -> Any:
    if _absent(value):
        return None
    if isinstance(value, bool | int | float | list | dict) or hasattr(value, "tolist"):
        return json.loads(_text(json.dumps(value, ensure_ascii=False, default=_plain), name, where))
    return _text(str(value), name, where)


def _plain(value: Any) -> Any:
    """What parquet gives and JSON has no word for: arrays and times."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _absent(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))
