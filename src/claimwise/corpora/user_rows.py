"""Rows of a user's file as they stand in it: JSON lines or a JSON array, csv, tsv (any of them gzipped) or parquet.

A row that a lenient reader would guess at (a field too many, a quote that is never closed) is an error here: a guess
puts a document where the summary belongs, and every score that follows is about something else.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import zlib
from pathlib import Path
from typing import Any

import pandas as pd

from claimwise import errors

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
KINDS = (".jsonl", ".json", *_SEPARATORS, ".parquet")
EXPECTED = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"

# The csv module refuses fields of more than 131,072 characters; documents may be longer. (A C long, 32 bits on Windows.)
csv.field_size_limit(2**31 - 1)


class ExamplesError(errors.ClaimwiseError):
    """A user's file cannot be read as examples; the message names file, line and field, and what to do."""


def stem(path: Path) -> str:
    """The file's name without what says its kind.

    >>> stem(Path("data/mine.csv.gz")), stem(Path("v1.2.jsonl"))
    ('mine', 'v1.2')
    """
    return Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem


def read_rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Every row with its place as an editor shows it, e.g. ``line 3``; of a record over several lines, the first.

    A ``.json`` file holds an array of objects (a row's place is then ``item 3``), or, as many do, JSON lines.

    Fields of csv and tsv are text: nothing becomes a number, an empty field is an empty text.

    Raises:
        ExamplesError: the file is none of these kinds, or not what its name says.
    """
    packed = path.suffix.lower() == ".gz"
    kind = Path(path.stem if packed else path.name).suffix.lower()
    if kind in (".jsonl", ".json"):
        text = _decoded(path, packed)
        read = _json_array if kind == ".json" and _is_one_value(text) else _json_lines
        return read(text, path)
    if kind in _SEPARATORS:
        return _separated(_decoded(path, packed), path, _SEPARATORS[kind])
    if kind == ".parquet" and not packed:
        try:
            table = pd.read_parquet(path)
        except (ValueError, OSError) as error:
            raise ExamplesError(f"{path}: not a parquet file ({error})") from None
        named = [name for name in table.index.names if name and name not in table]  # by set_index("id") and such
        table = table.reset_index(named) if named else table
        return [(f"row {index}", row) for index, row in enumerate(table.to_dict("records"), start=1)]
    raise ExamplesError(f"{path}: expected a name that ends in {EXPECTED}, got {path.suffix!r}")


def _json_lines(text: str, path: Path) -> list[tuple[str, dict[str, Any]]]:
    rows = []
    # not splitlines(): JSON strings may hold line separators such as U+2028
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ExamplesError(
                f"{path}, line {number}, column {error.colno}: not JSON ({error.msg}); expected one object a line{_array(path)}"
            ) from None
        rows.append((f"line {number}", _object(row, f"{path}, line {number}", _array(path))))
    return rows


def _is_one_value(text: str) -> bool:
    """Whether it is an array, if a broken one, or else no object a line: another value over several lines."""
    if text.lstrip().startswith("["):
        return True
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return "\n" in text.strip()


def _json_array(text: str, path: Path) -> list[tuple[str, dict[str, Any]]]:
    try:
        items = json.loads(text)
    except json.JSONDecodeError as error:
        raise ExamplesError(
            f"{path}, line {error.lineno}, column {error.colno}: not JSON ({error.msg}); expected an array of objects"
        ) from None
    if not isinstance(items, list):
        found = f"one object with {shorten(', '.join(items))}" if isinstance(items, dict) else shorten(items)
        raise ExamplesError(f"{path}: expected an array of objects, [{{...}}, {{...}}], got {found}")
    return [(f"item {n}", _object(item, f"{path}, item {n}")) for n, item in enumerate(items, start=1)]


def _object(row: Any, where: str, hint: str = "") -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ExamplesError(f"{where}: expected an object with names and values, got {shorten(row)}{hint}")
    return row


def _array(path: Path) -> str:
    return ", or an array of objects" if ".json" in path.suffixes else "; an array of objects goes into a .json file"


def _separated(text: str, path: Path, separator: str) -> list[tuple[str, dict[str, str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    header: list[str] = []
    rows = []
    while True:
        line = reader.line_num + 1  # where the record begins: one with line breaks in quotes ends further down
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise ExamplesError(
                f"{path}, line {line}: not a row of {path.suffix.lstrip('.')} ({error}); put a field that holds "
                f"{separator!r}, quotes or line breaks between quotes, and double the quotes within"
            ) from None
        if fields is None:
            break
        if not header:
            header = _header(fields, path, separator)
        elif any(field.strip() for field in fields) or len(fields) > 1:  # a blank line is no row
            if len(fields) != len(header):
                long = f"put a field that holds {separator!r} between quotes"
                short = f"write a {separator!r} for each of the others, also where it is empty"
                raise ExamplesError(
                    f"{path}, line {line}: expected {len(header)} fields ({', '.join(header)}), got {len(fields)}; "
                    f"{long if len(fields) > len(header) else short}"
                )
            rows.append((f"line {line}", dict(zip(header, fields, strict=True))))
    if not header:
        raise ExamplesError(f"{path}: no header; the first line must name the columns")
    return rows


def _header(fields: list[str], path: Path, separator: str) -> list[str]:
    if len(fields) == 1 and (other := next((mark for mark in ";\t,|" if mark in fields[0]), None)):
        kind = next((kind for kind, mark in _SEPARATORS.items() if mark == other), None)
        what = f"name the file {kind}, or save it" if kind else "save it"
        raise ExamplesError(
            f"{path}, line 1: expected columns with {separator!r} between them, got {shorten(fields[0])}; the file "
            f"seems to have {other!r} there: {what} with {separator!r}"
        )
    for name in fields:
        if fields.count(name) > 1:
            raise ExamplesError(f"{path}, line 1: column {name!r} stands twice in the header; rename or remove one")
    return fields


def _decoded(path: Path, packed: bool) -> str:
    content = path.read_bytes()
    try:
        return (gzip.decompress(content) if packed else content).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise ExamplesError(f"{path}: not a gzip file, or a truncated one ({error})") from None
    except UnicodeDecodeError as error:
        wide = error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        found = "it is UTF-16, Excel's 'Unicode text'" if wide else f"byte 0x{error.object[error.start]:02x}"
        raise ExamplesError(f"{path}, byte {error.start}: not UTF-8 ({found}); save the file as UTF-8") from None


def shorten(value: object) -> str:
    """A value as an error shows it; nothing is ``null``, as users' files have it.

    >>> shorten(None), shorten("x")
    ('null', "'x'")
    """
    return "null" if value is None else errors.shorten(value)
