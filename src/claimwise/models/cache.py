"""Finished calls on disk: a run that is killed and started again repeats none of them.

One SQLite file in WAL mode, one row a call, committed in batches: safe under several processes and under
``kill -9`` (at most the batch in flight is lost). The key is a hash over everything that changes the answer.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from claimwise.errors import ClaimwiseError
from claimwise.models.usage import Usage, note

_CREATE = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, role TEXT NOT NULL, value TEXT NOT NULL
) WITHOUT ROWID
"""
_INSERT = """
INSERT INTO calls VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET model = excluded.model, role = excluded.role
"""


class CacheError(ClaimwiseError):
    """The file of finished calls cannot be opened, read or written; nothing in it was changed."""


def call_key(**parts: Any) -> str:
    """Hash of the named parts of a call; equal parts give equal keys, whatever their order.

    >>> call_key(model="m", text="t") == call_key(text="t", model="m")
    True
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def unread(model: str) -> str:
    """The name under which a model's replies are kept of which nothing could be read, so that they can go alone.

    They stay under it if a later parser reads them: whether a reply is readable is not for the cache to know.

    >>> unread("llama3:8b")
    'llama3:8b:unread'
    """
    return f"{model}:unread"


class ResponseCache:
    """A persistent mapping from call keys to JSON values.

    Args:
        path: the SQLite file, made with its folder if it is not there; ``:memory:`` for none.

    Raises:
        CacheError: the file is a folder, no SQLite database, or a damaged one; any method may find that out.

    >>> cache = ResponseCache(":memory:")
    >>> cache.put({"k": [1, None]}, model="m", role="verify")
    >>> cache.get(["k", "other"])
    {'k': [1, None]}
    """

    def __init__(self, path: str | Path):
        if str(path) != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        with self._explained():
            # A writer waits for another process's commit instead of failing; commits take milliseconds.
            self._connection = sqlite3.connect(path, timeout=120, isolation_level=None, check_same_thread=False)
            _write_ahead(self._connection)
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(_CREATE)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                raise  # a defect of ours, not of the file
            found = "a folder" if Path(self._path).is_dir() else str(error)
            raise CacheError(
                f"{self._path}: expected the file of finished calls (an SQLite database that can be written), found: "
                f"{found}. Name another file under `cache` in params.yaml, or move this one away"
            ) from error

    def get(self, keys: Sequence[str]) -> dict[str, Any]:
        """The values that are there, by key."""
        found: dict[str, Any] = {}
        unique = list(dict.fromkeys(keys))
        for at in range(0, len(unique), 500):  # SQLite's limit on variables in one statement is 999 in old builds
            part = unique[at : at + 500]
            marks = ",".join("?" * len(part))
            with self._explained():
                rows = self._connection.execute(f"SELECT key, value FROM calls WHERE key IN ({marks})", part)
                found.update((key, json.loads(value)) for key, value in rows)
        return found

    def put(self, values: Mapping[str, Any], *, model: str, role: str) -> None:
        """Store values in one transaction; a key that is there keeps its value, and gets this model and role.

        Of processes that ask the same at once, all that look again after this have the value of the first.
        """
        rows = [(key, model, role, json.dumps(value, ensure_ascii=True)) for key, value in values.items()]
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany(_INSERT, rows)
                self._connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself after some failures (a full disk), and would hide them here.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def stats(self) -> list[tuple[str, str, int, int]]:
        """(model, role, calls, bytes) of what is stored, largest first."""
        query = "SELECT model, role, COUNT(*), SUM(LENGTH(value)) FROM calls GROUP BY model, role ORDER BY 4 DESC"
        with self._explained():
            return [tuple(row) for row in self._connection.execute(query)]

    def prune(self, model: str | None = None) -> int:
        """Delete the calls of one model, or all; returns how many, and gives the space back.

        The calls of a model include those of ``unread(model)``, which is also a model of its own here.
        """
        where, values = ("WHERE model IN (?, ?)", (model, unread(model))) if model else ("", ())
        with self._explained():
            count = self._connection.execute(f"DELETE FROM calls {where}", values).rowcount
            self._connection.execute("VACUUM")
        return count

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        self._connection.close()


def _write_ahead(connection: sqlite3.Connection, patience: float = 60) -> None:
    """Switch to WAL: the one statement that does not wait by itself when several processes open a new file at once."""
    deadline = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def cached(
    cache: ResponseCache,
    keys: Sequence[str],
    compute: Callable[[list[int]], list[Any]],
    *,
    model: str,
    role: str,
) -> list[Any]:
    """Values for the keys: those stored, and the others from ``compute(positions)``, which are then stored.

    ``compute`` gets the positions of the first occurrence of every missing key and returns their values in
    that order, so that equal calls within a batch are made once.
    """
    known = cache.get(keys)
    missing: dict[str, int] = {}
    remembered = 0
    for position, key in enumerate(keys):
        if key in known:
            remembered += 1
        else:
            missing.setdefault(key, position)
    start = time.monotonic()
    if missing:
        fresh = dict(zip(missing, compute(list(missing.values())), strict=True))
        cache.put(fresh, model=model, role=role)
        known |= fresh | cache.get(list(fresh))  # another process may have been the first
    values = [known[key] for key in keys]
    unparsed = sum(isinstance(value, dict) and bool(value.get("reason")) for value in values)
    seconds = time.monotonic() - start
    note(model, role, Usage(len(keys), remembered, len(missing), unparsed=unparsed, seconds=seconds))
    return values
