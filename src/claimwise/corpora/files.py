"""Reading the formats that public corpora come in: JSON, JSON lines, either gzipped, and csv."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd


def read_json(path: Path) -> Any:
    """Read one JSON value, gzipped or not.

    Raises:
        ValueError: the file is not JSON; the message names file, line and column.
    """
    try:
        return json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}, line {error.lineno}, column {error.colno}: not JSON ({error.msg})") from None


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines, gzipped or not; empty lines are skipped.

    Raises:
        ValueError: a line is not JSON; the message names file and line.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.jsonl.gz")
    >>> _ = file.write_bytes(gzip.compress(b'{"id": 1}\\n\\n{"id": 2}\\n'))
    >>> read_jsonl(file)
    [{'id': 1}, {'id': 2}]
    """
    rows = []
    # not splitlines(): JSON strings may hold line separators such as U+2028
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number}: not JSON ({error.msg})") from None
    return rows


def read_csv(path: Path, **options: Any) -> list[dict[str, str]]:
    """Read a csv file as text: nothing becomes a number, an empty field is an empty string."""
    return pd.read_csv(path, dtype=str, keep_default_na=False, **options).to_dict("records")


def _text(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")
