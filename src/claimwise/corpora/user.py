"""Users' own examples: JSON lines, csv or parquet with a document and a summary a row."""

from __future__ import annotations

import difflib
import json
import math
from pathlib import Path
from typing import Any

import pandas as pd

from claimwise import schema
from claimwise.errors import ClaimwiseError

_REQUIRED = ("id", "document", "summary")
_DEFAULTS = {"label": math.nan, "system": "user", "origin": "user", "split": "test"}
_LABELS = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "": math.nan}


class ExamplesError(ClaimwiseError):
    """A user's file cannot be read as examples; the message names file, line and field, and what to do."""


def read_examples(path: str | Path) -> pd.DataFrame:
    """Read a user's examples as a validated ``examples`` table.

    Args:
        path: a .jsonl, .csv or .parquet file with the columns ``id``, ``document`` and ``summary`` and, if you have
            them, ``label`` (1 faithful, 0 not, empty unknown), ``system``, ``origin`` and ``split``. A summary may
            be empty.

    Returns:
        The table; ``corpus`` is the file's name, ``document_id`` is computed.

    Raises:
        FileNotFoundError: there is no such file.
        ExamplesError: bad JSON, a missing or unknown column, an id that stands twice or is empty, a label that is
            neither 0 nor 1, text that is missing or holds NUL bytes; names file, line and field.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.jsonl")
    >>> _ = file.write_text('{"id": "a", "document": "It rained.", "summary": "Rain.", "label": 1}')
    >>> read_examples(file)[["id", "corpus", "system", "label"]].values.tolist()
    [['a', 'mine', 'user', 1.0]]
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; expected a .jsonl, .csv or .parquet file of examples")
    rows = _read(path)
    if not rows:
        raise ExamplesError(f"{path}: no examples in the file; expected rows with {', '.join(_REQUIRED)}")
    first_line: dict[str, str] = {}
    examples = []
    for place, row in rows:
        _check_columns(row, f"{path}, {place}")
        example = _example(row, f"{path}, {place}")
        if example["id"] in first_line:
            raise ExamplesError(
                f"{path}, {place}, field 'id': {example['id']!r} stands in {first_line[example['id']]} too; ids must "
                "be unique, give one of them another"
            )
        first_line[example["id"]] = place
        examples.append({**example, "corpus": path.stem})
    return schema.validate(pd.DataFrame(examples), "examples", str(path))


def _read(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Rows with their place in the file, as an editor shows it."""
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        return _read_jsonl(path)
    if suffix == ".csv":
        table = _read_csv(path)
        return [(f"row {index}", row) for index, row in enumerate(table.to_dict("records"), start=2)]
    if suffix == ".parquet":
        try:
            table = pd.read_parquet(path)
        except (ValueError, OSError) as error:
            raise ExamplesError(f"{path}: not a parquet file ({error})") from None
        return [(f"row {index}", row) for index, row in enumerate(table.to_dict("records"), start=1)]
    raise ExamplesError(f"{path}: expected a name that ends in .jsonl, .csv or .parquet, got {path.suffix!r}")


def _read_jsonl(path: Path) -> list[tuple[str, dict[str, Any]]]:
    rows = []
    for number, line in enumerate(_decoded(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ExamplesError(
                f"{path}, line {number}, column {error.colno}: not JSON ({error.msg}); expected one object a line"
            ) from None
        if not isinstance(row, dict):
            raise ExamplesError(
                f"{path}, line {number}: expected an object with {', '.join(_REQUIRED)}, got {_shorten(row)}"
            )
        rows.append((f"line {number}", row))
    return rows


def _read_csv(path: Path) -> pd.DataFrame:
    _decoded(path)
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ExamplesError(f"{path}: not a csv file with a header ({error})") from None


def _decoded(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ExamplesError(
            f"{path}, byte {error.start}: not UTF-8 (byte 0x{error.object[error.start]:02x}); save the file as UTF-8"
        ) from None


def _check_columns(row: dict[str, Any], where: str) -> None:
    known = (*_REQUIRED, *_DEFAULTS)
    missing = [name for name in _REQUIRED if name not in row]
    unknown = [str(name) for name in row if name not in known]
    if missing:
        near = difflib.get_close_matches(missing[0], unknown, n=1, cutoff=0.6)
        hint = f"; did you mean {near[0]!r}? Rename it" if near else ""
        raise ExamplesError(f"{where}: column {missing[0]!r} is missing, got {', '.join(map(str, row))}{hint}")
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}?" if near else "remove it"
        raise ExamplesError(f"{where}: unknown column {unknown[0]!r}, expected {', '.join(known)}; {hint}")


def _example(row: dict[str, Any], where: str) -> dict[str, Any]:
    example = {name: _text(row[name], name, where) for name in ("document", "summary")}
    identity = row["id"] if not isinstance(row["id"], int) else str(row["id"])
    example["id"] = _text(identity, "id", where)
    for name in ("id", *(set(_DEFAULTS) - {"label"})):
        value = example["id"] if name == "id" else row.get(name)
        missing = value is None or value == "" or (isinstance(value, float) and math.isnan(value))
        if missing and name == "id":
            raise ExamplesError(f"{where}, field 'id': is empty; expected a text, unique in the file")
        example[name] = _DEFAULTS[name] if missing else _text(value, name, where)
    example["label"] = _label(row.get("label"), where)
    example["document_id"] = schema.document_id(example["document"])
    return example


def _text(value: Any, name: str, where: str) -> str:
    if not isinstance(value, str):
        raise ExamplesError(f"{where}, field {name!r}: expected text, got {_shorten(value)}")
    if "\x00" in value:
        raise ExamplesError(
            f"{where}, field {name!r}: a NUL byte at character {value.index(chr(0))}; remove it, it ends strings in "
            "many tools"
        )
    return value


def _label(value: Any, where: str) -> float:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return math.nan
    label = _LABELS.get(str(value).strip()) if not isinstance(value, bool) else float(value)
    if label is None:
        raise ExamplesError(f"{where}, field 'label': expected 1 (faithful), 0 (not) or nothing, got {_shorten(value)}")
    return label


def _shorten(value: object) -> str:
    shown = "null" if value is None else repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
