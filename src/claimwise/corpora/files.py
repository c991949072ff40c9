"""Reading the formats that public corpora come in: JSON, JSON lines, either gzipped, and csv.

The registry has verified the files that are read here: they are what was published, to the byte.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd


def read_json(path: Path) -> Any:
    """Read one JSON value, gzipped or not."""
    return json.loads(_text(path))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines, gzipped or not; empty lines are skipped.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.jsonl.gz")
    >>> _ = file.write_bytes(gzip.compress(b'{"id": 1}\\n\\n{"id": 2}\\n'))
    >>> read_jsonl(file)
    [{'id': 1}, {'id': 2}]
    """
    # not splitlines(): JSON strings may hold line separators such as U+2028
    return [json.loads(line) for line in _text(path).split("\n") if line.strip()]


def read_csv(path: Path, **options: Any) -> list[dict[str, str]]:
    """Read a csv file as text: nothing becomes a number, an empty field is an empty string."""
    return pd.read_csv(path, dtype=str, keep_default_na=False, **options).to_dict("records")


def _text(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")
