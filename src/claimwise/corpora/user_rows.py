"""Read the rows of a user's file: JSON lines or a JSON array, csv, tsv (all of these also gzipped) or parquet.

Rows that a lenient reader would guess at (a field too many, a name that occurs twice) are errors here. A guess could take
a document for the summary, and every score would be about the wrong text. Everything that is read can be written again: halves
of surrogate pairs and numbers of thousands of digits are errors, too.
"""

import codecs
import csv
import gzip
import io
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from claimwise.errors import shorten
from claimwise.schema import TableError

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
KINDS = (".jsonl", ".json", *_SEPARATORS, ".parquet")
EXPECTED = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"

#: In place of a file: the standard input, and its name in messages.
STDIN, STDIN_NAME = Path("-"), "standard input"
#: The record of what made a file of scores has the file's name and this ending; the record of a folder has this name.
RECORD, FOLDER_RECORD = ".run.json", "_run.json"

#: A row and its place in the file, for example ``line 3``; a record of several lines has the first.
Row = tuple[str, dict[str, Any]]

_LINE = "\n"  # what ends a line of JSON: its texts may hold other separators, such as U+2028
_BATCH = 1000  # rows of a parquet file that are Python objects at once

# The csv module refuses fields of more than 131,072 characters; documents may be longer. (A C long, 32 bits on Windows.)
csv.field_size_limit(2**31 - 1)


def stem(path: Path) -> str:
    """The file's name without its kind.

    >>> stem(Path("data/mine.csv.gz")), stem(Path("v1.2.jsonl"))
    ('mine', 'v1.2')
    """
    return Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem


def expanded(given: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Replace folders by their files, and separate files of examples from results of `claimwise score`.

    Returns:
        The files of examples, and the results that are left out. A single file is always taken.

    Raises:
        FileNotFoundError: a folder has no files, or only results.
        TableError: a folder is a folder of scores, or a file is named twice.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("a.csv", "a.acueval.csv", "claims.csv", "a.1.csv", "notes.txt"):
    ...     (folder / name).touch()
    >>> record = {"metric": {}, "made": "", "files": {}, "beside": ["claims.csv"]}
    >>> _ = (folder / "a.acueval.csv.run.json").write_text(json.dumps(record))
    >>> [[path.name for path in files] for files in expanded([folder])]
    [['a.1.csv', 'a.csv'], ['a.acueval.csv', 'a.acueval.csv.run.json', 'claims.csv']]
    """
    found: list[Path] = []
    for path in given:
        if path.is_dir() and (path / FOLDER_RECORD).is_file():
            raise TableError(f"{path} is a folder of scores, expected examples; `claimwise merge` makes one file of it")
        found += files_in(path) if path.is_dir() else [path]
    times = Counter(path.resolve() for path in found)
    if twice := [path for path in found if times[path.resolve()] > 1]:
        raise TableError(f"{twice[0]}: the file is named twice; name it once")
    results = {result for folder in {path.parent for path in found} for result in results_in(folder)}
    examples = [path for path in found if path not in results]
    for folder in given:
        if folder.is_dir() and not any(path.parent == folder for path in examples):
            only = " beside results of earlier runs" if results else ""
            raise FileNotFoundError(f"{folder}: no file of examples in this folder{only}; expected {EXPECTED}")
    if len(found) == 1 or not examples:  # named on purpose, and not by `*.csv`
        return found, []
    return examples, [path for path in found if path in results]


def results_in(folder: Path) -> set[Path]:
    """Results in a folder: records, their scores, and the claims and pages that they name."""
    return {result for file in folder.glob(f"*{RECORD}") for result in results_of(file)}


def results_of(file: Path) -> set[Path]:
    """A record and the results that it names; nothing if the file is not such a record."""
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    if not (isinstance(record, dict) and {"metric", "made", "files"} <= set(record)):
        return set()
    scores = file.with_name(file.name.removesuffix(RECORD))
    return {file, scores, *(file.parent / str(name) for name in record.get("beside", ()))}


def files_in(folder: Path) -> list[Path]:
    """The files of a folder that can be read here, sorted by name, without hidden ones."""
    found = (path for path in sorted(folder.glob("[!.]*")) if path.is_file())
    return [path for path in found if path.name.lower().removesuffix(".gz").endswith(KINDS)]


def read_rows(path: Path) -> Iterator[Row]:
    """Yield every row with its place. The file may be larger than memory, except a ``.json`` file and the
    standard input.

    ``-`` is the standard input: JSON if it begins like JSON, else csv. A ``.json`` file holds an array of objects (a row's
    place is then ``item 3``) or JSON lines. Fields of csv and tsv stay texts, and an empty field is an empty text.

    Raises:
        IsADirectoryError: the path is a folder.
        FileNotFoundError: the file does not exist.
        TableError: the file is of another kind, or not what its name says.
    """
    if path == STDIN:
        path = Path(STDIN_NAME)
        text = _utf_8(sys.stdin.buffer.read(), path)
        json_text = text.lstrip()[:1] in ("{", "[")
        yield from _json(text, path) if json_text else _separated(io.StringIO(text, newline=""), path, ",")
        return
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name one {EXPECTED} file of examples")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; expected a {EXPECTED} file of examples")
    if not path.name.isprintable():
        raise TableError(f"{str(path)!a}: expected a name of printable characters; rename the file")
    packed = path.suffix.lower() == ".gz"
    kind = Path(path.stem if packed else path.name).suffix.lower()
    if kind not in KINDS or (packed and kind == ".parquet"):
        saved = "; save the sheet as csv" if kind in (".xlsx", ".xls", ".ods") else ""
        raise TableError(f"{path}: expected a name that ends in {EXPECTED}, got {path.suffix!r}{saved}")
    if kind == ".parquet":
        yield from _parquet(path)
        return
    with _opened(path, packed, _LINE if kind == ".jsonl" else "") as stream:
        if kind in _SEPARATORS:
            yield from _separated(stream, path, _SEPARATORS[kind])
        else:
            yield from _json_lines(stream, path) if kind == ".jsonl" else _json(stream.read(), path)


@contextmanager
def _opened(path: Path, packed: bool, newline: str) -> Iterator[TextIO]:
    try:
        with (gzip.open if packed else open)(path, "rt", encoding="utf-8-sig", newline=newline) as stream:
            yield stream
    except UnicodeDecodeError:
        with (gzip.open if packed else open)(path, "rb") as stream:
            _utf_8(stream.read(), path)  # says where in the file
        raise
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TableError(f"{path}: not a gzip file, or a truncated one ({error})") from None


def _utf_8(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wide = error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        found = "it is UTF-16, Excel's 'Unicode text'" if wide else f"byte 0x{error.object[error.start]:02x}"
        line = error.object.count(b"\n", 0, error.start) + 1
        raise TableError(f"{path}, line {line}: not UTF-8 ({found}); save the file as UTF-8") from None


def _json(text: str, path: Path) -> Iterator[Row]:
    """An array, or one object per line, or a single object over several lines."""
    begun = text.lstrip()
    if begun.startswith("["):
        return _json_array(text, path)
    lines: Iterable[str] = io.StringIO(text, newline=_LINE)
    with suppress(ValueError, RecursionError):
        json.loads(text)
        lines = ["\n"] * text.count("\n", 0, len(text) - len(begun)) + [begun]
    return _json_lines(lines, path)


def _json_lines(lines: Iterable[str], path: Path) -> Iterator[Row]:
    array = "; an array of objects goes into a .json file"
    expected = "one object a line" + (", or an array of objects" if ".json" in path.suffixes else array)
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _row(f"line {number}", _value(line.removesuffix("\n"), path, number, expected), path, expected)


def _json_array(text: str, path: Path) -> Iterator[Row]:
    for number, item in enumerate(_value(text, path, 1, "an array of objects"), start=1):
        yield _row(f"item {number}", item, path, "an array of objects")


def _value(text: str, path: Path, line: int, expected: str) -> Any:
    """A JSON value that begins on this line of the file."""
    where = f"{path}, line {line}"
    try:
        return json.loads(text, object_pairs_hook=partial(_object, where))
    except json.JSONDecodeError as error:
        place = f"{path}, line {line + error.lineno - 1}, column {error.colno}"
        raise TableError(f"{place}: not JSON ({error.msg}); expected {expected}") from None
    except TableError:
        raise
    except (ValueError, RecursionError) as error:  # thousands of digits, or of lists in one another
        raise TableError(f"{where}: a value that Python cannot read ({error}); write it as a text, in quotes") from None


def _object(where: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _once([name for name, _ in pairs], where, "one object")
    return dict(pairs)


def _once(names: list[str], where: str, what: str) -> list[str]:
    """Refuse a name that occurs twice: Python's readers silently keep the last of two values."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TableError(f"{where}: {twice!r} appears twice in {what}; rename or remove one")
    return names


def _row(place: str, row: Any, path: Path, expected: str) -> Row:
    where = f"{path}, {place}"
    if not isinstance(row, dict):
        raise TableError(
            f"{where}: expected an object with names and values, got {shorten(row)}; a file holds {expected}"
        )
    for name, value in row.items():
        try:
            json.dumps([name, value], ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise TableError(
                f"{where}, column {name!r}: half of a surrogate pair (U+{ord(error.object[error.start]):04X}); the text was "
                "cut within a character: write both halves or neither"
            ) from None
    return place, row


def _separated(lines: Iterable[str], path: Path, separator: str) -> Iterator[Row]:
    reader = csv.reader(lines, delimiter=separator, strict=True)
    header: list[str] = []
    line = 1  # where the record begins: one with line breaks in quotes ends further down
    try:
        for fields in reader:
            if not header:
                header = _header(fields, path, separator)
            elif any(field.strip() for field in fields) or len(fields) > 1:  # a blank line is no row
                if len(fields) != len(header):
                    long = f"put a field that holds {separator!r} between quotes"
                    short = f"write a {separator!r} for each of the others, also where it is empty"
                    raise TableError(
                        f"{path}, line {line}: expected {len(header)} fields ({', '.join(header)}), got {len(fields)}; "
                        f"{long if len(fields) > len(header) else short}"
                    )
                yield f"line {line}", dict(zip(header, fields, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        raise TableError(
            f"{path}, line {line}: not a row of {path.suffix.lstrip('.') or 'csv'} ({error}); put a field that holds "
            f"{separator!r}, quotes or line breaks between quotes, and double the quotes within"
        ) from None
    if not header:
        raise TableError(f"{path}: no header; the first line must name the columns")


def _header(fields: list[str], path: Path, separator: str) -> list[str]:
    if len(fields) == 1 and (other := next((mark for mark in ";\t,|" if mark in fields[0]), None)):
        kind = next((kind for kind, mark in _SEPARATORS.items() if mark == other), None)
        what = f"name the file {kind}, or save it" if kind else "save it"
        raise TableError(
            f"{path}, line 1: expected columns with {separator!r} between them, got {shorten(fields[0])}; the file "
            f"seems to have {other!r} there: {what} with {separator!r}"
        )
    return _once(fields, f"{path}, line 1", "the header")


def _parquet(path: Path) -> Iterator[Row]:
    """Not read by pandas, which turns integers beside a null into floats and so loses digits."""
    try:
        file = pq.ParquetFile(path, pre_buffer=False)  # or it holds what it has read ahead: in the end all of the file
        # pandas writes a named index as a column, and one without a name (or of a column's name) under this one
        names = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]
        _once(names, str(path), "the header")
        rows = (row for batch in file.iter_batches(_BATCH) for row in batch.select(names).to_pylist())
        for number, row in enumerate(rows, start=1):
            yield f"row {number}", row
    except TableError:
        raise
    except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
        raise TableError(f"{path}: not a parquet file, or one that cannot be read ({error})") from None
