"""Files that tests write: a user's rows, and settings."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml


def write_jsonl(rows: Iterable[Mapping[str, Any] | str], file: str | Path = "mine.jsonl") -> Path:
    """A file with an object a line; a row that is a text stands as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    Path(file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return Path(file)


@contextmanager
def changed_params() -> Iterator[dict[str, Any]]:
    """The settings of the working folder, to change."""
    params = yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8"))
    yield params
    Path("params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
