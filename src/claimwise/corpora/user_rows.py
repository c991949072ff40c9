"""Rows of a user's file as they stand in it: JSON lines or a JSON array, csv, tsv (any of them gzipped) or parquet.

A row that a lenient reader would guess at (a field too many, a name that stands twice) is an error here: a guess puts a
document where the summary belongs, and every score that follows is about something else. Whatever is read can be
written again: no halves of surrogate pairs, no numbers of thousands of digits.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from claimwise.errors import shorten
from claimwise.schema import TableError

KINDS = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
EXPECTED = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"

#: The standard input where a file is expected, and what messages call it.
STDIN, STDIN_NAME = Path("-"), "standard input"
#: What a file of scores is called, and this, is the record of what made them.
RECORD = ".run.json"

#: A row and its place as an editor shows it, e.g. ``line 3``; of a record over several lines, the first.
Row = tuple[str, dict[str, Any]]

_JSON = "one object a line, or an array of objects"
_SEPARATORS = ",;\t|"  # of columns; where a header has several of them, the first one of these
_BATCH = 1000  # rows of a parquet file that are Python objects at once

# The csv module refuses fields of more than 131,072 characters; documents may be longer. (A C long, 32 bits on Windows.)
csv.field_size_limit(2**31 - 1)


def stem(path: Path) -> str:
    """The file's name without what says its kind.

    >>> stem(Path("data/mine.csv.gz")), stem(Path("v1.2.jsonl"))
    ('mine', 'v1.2')
    """
    return Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem


def expanded(given: Sequence[Path]) -> list[Path]:
    """The files that are given, each once, a folder as those in it, without results: scores with their record, their claims.

    Raises:
        FileNotFoundError: a folder has none.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("a.csv", "a.acueval.csv", "a.acueval.csv.run.json", "a.acueval.claims.csv", "a.1.csv", "notes.txt"):
    ...     (folder / name).touch()
    >>> [path.name for path in expanded([folder])]
    ['a.1.csv', 'a.csv']
    """
    found = []
    for path in given:
        files = files_in(path) if path.is_dir() else [path]
        if not files:
            raise FileNotFoundError(f"{path}: no file of examples in this folder; expected {EXPECTED}")
        scores = [file for file in files if file.with_name(file.name + RECORD).exists()]
        theirs = tuple(f"{stem(file)}." for file in scores)
        found += [file for file in files if file not in scores and not file.name.startswith(theirs)]
    return list(dict.fromkeys(found))


def files_in(folder: Path) -> list[Path]:
    """The files of a folder that are of a kind that is read here, by name; none that begins with a dot."""
    found = (path for path in sorted(folder.glob("[!.]*")) if path.is_file())
    return [path for path in found if path.name.lower().removesuffix(".gz").endswith(KINDS)]


def read_rows(path: Path) -> Iterator[Row]:
    """Every row with its place, one after the other, so that a file may be larger than memory; an array of JSON may not.

    ``-`` is the standard input: JSON where it begins as JSON does, else csv. A file of JSON holds an object a line, or an
    array of objects (a row's place is then ``item 3``). Fields of csv and tsv are text: nothing becomes a number, an empty
    field is an empty text; in the place of commas there may be semicolons, tabs or bars.

    Raises:
        IsADirectoryError: it is a folder.
        FileNotFoundError: there is no such file.
        TableError: the file is none of these kinds, or not what its name says.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name one {EXPECTED} file of examples")
    if path != STDIN and not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; expected a {EXPECTED} file of examples")
    name = path.name.lower()
    kind = Path(name.removesuffix(".gz")).suffix
    if path != STDIN and (kind not in KINDS or name.endswith(".parquet.gz")):
        saved = "; save the sheet as csv" if kind in (".xlsx", ".xls", ".ods") else ""
        raise TableError(f"{path}: expected a name that ends in {EXPECTED}, got {path.suffix!r}{saved}")
    if kind == ".parquet":
        yield from _parquet(path)
        return
    with _opened(path) as stream:
        if path == STDIN:
            path, text = Path(STDIN_NAME), stream.read()
            stream, kind = io.StringIO(text, newline=""), ".json" if text.lstrip()[:1] in ("{", "[") else ".csv"
        yield from _json(stream, path) if kind.startswith(".json") else _separated(stream, path, kind)


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """The text of a file, whose lines end as they stand there."""
    packed = path.suffix.lower() == ".gz"
    try:
        with (
            io.BytesIO(sys.stdin.buffer.read())
            if path == STDIN
            else (gzip.open if packed else open)(path, "rb") as file,
            io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as stream,
        ):
            yield stream
    except UnicodeDecodeError as error:
        byte, before = error.object[error.start], error.object[max(0, error.start - 20) : error.start]
        raise TableError(
            f"{STDIN_NAME if path == STDIN else path}: not UTF-8 (byte 0x{byte:02x} after "
            f"{before.decode('utf-8', 'replace')!r}); save the file as UTF-8 (in Excel: CSV UTF-8)"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TableError(f"{path}: not a gzip file, or a truncated one ({error})") from None


def _json(lines: Iterator[str], path: Path) -> Iterator[Row]:
    begun = False
    for number, line in enumerate(lines, start=1):
        if not begun and line.lstrip().startswith("["):
            for item, value in enumerate(_value("".join([line, *lines]), path, number), start=1):
                yield _row(f"item {item}", value, path)
        elif line.strip():
            begun = True
            yield _row(f"line {number}", _value(line.rstrip(), path, number), path)


def _value(text: str, path: Path, line: int) -> Any:
    """A JSON value that begins on this line of the file."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        place, said = f"line {line + error.lineno - 1}, column {error.colno}", error.msg
    except (ValueError, RecursionError) as error:  # a name twice, thousands of digits, or of lists in one another
        place, said = f"line {line}", str(error)
    raise TableError(f"{path}, {place}: not JSON that can be read ({said}); expected {_JSON}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(zip(_once([name for name, _ in pairs]), (value for _, value in pairs), strict=True))


def _once(names: list[str]) -> list[str]:
    """Names of which none stands twice: Python's readers keep the last of two values of one name, without a word."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} stands twice; rename or remove one")
    return names


def _row(place: str, row: Any, path: Path) -> Row:
    where = f"{path}, {place}"
    if not isinstance(row, dict):
        raise TableError(f"{where}: expected an object with names and values, got {shorten(row)}; a file holds {_JSON}")
    for name, value in row.items():
        try:
            json.dumps([name, value], ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise TableError(
                f"{where}, column {name!r}: half of a surrogate pair (U+{ord(error.object[error.start]):04X}); the text was "
                "cut within a character: write both halves or neither"
            ) from None
    return place, row


def _separated(lines: Iterator[str], path: Path, kind: str) -> Iterator[Row]:
    first = next(lines, "")
    usual = "\t" if kind == ".tsv" else ","
    separator = next((mark for mark in usual + _SEPARATORS if mark in first), usual)
    reader = csv.reader(chain([first], lines), delimiter=separator, strict=True)
    header: list[str] = []
    line = 1  # where the record begins: one with line breaks in quotes ends further down
    try:
        for fields in reader:
            if not header:
                header = _once(fields)
            elif any(field.strip() for field in fields) or len(fields) > 1:  # a blank line is no row
                if len(fields) != len(header):
                    raise ValueError(f"expected {len(header)} fields ({', '.join(header)}), got {len(fields)}")
                yield f"line {line}", dict(zip(header, fields, strict=True))
            line = reader.line_num + 1
    except UnicodeDecodeError:
        raise
    except (csv.Error, ValueError) as error:
        raise TableError(
            f"{path}, line {line}: not a row of {kind[1:]}: {error}; put a field that holds {separator!r}, "
            f"quotes or line breaks between quotes, double the quotes within, and write a {separator!r} for an empty one, too"
        ) from None
    if not header:
        raise TableError(f"{path}: no header; the first line must name the columns")


def _parquet(path: Path) -> Iterator[Row]:
    """Not by way of pandas, where an integer column with a null becomes floats, which cannot hold all integers."""
    number = 0
    try:
        file = pq.ParquetFile(path, pre_buffer=False)  # or it holds what it has read ahead: in the end all of the file
        # pandas writes a named index as a column, and one without a name (or of a column's name) under this one
        names = _once([name for name in file.schema_arrow.names if not name.startswith("__index_level_")])
        for batch in file.iter_batches(_BATCH):
            for row in batch.select(names).to_pylist():
                number += 1
                yield f"row {number}", row
    except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
        raise TableError(f"{path}: not a parquet file, or one that cannot be read ({error})") from None
