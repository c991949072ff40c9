"""A cache of finished calls on disk: a run that is killed and started again repeats none of them.

The cache is one SQLite file in WAL mode with a row for each call. Each call is committed as soon as it is finished, so the
file survives ``kill -9``. Several processes may share it: only one of them makes the same call at a time. A call's key is
a hash of everything that changes the answer.
"""

import functools
import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

try:
    import fcntl
except ImportError:  # Windows: two processes may make the same call at once
    fcntl = None

from claimwise import paths
from claimwise.errors import ClaimwiseError
from claimwise.models import cost
from claimwise.models.cost import Usage, unread_name

_log = logging.getLogger(__name__)
_COLUMNS = ["key", "model", "role", "value"]
_CREATE = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, role TEXT NOT NULL, value TEXT NOT NULL
) WITHOUT ROWID
"""
_INSERT = """
INSERT INTO calls VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET model = excluded.model, role = excluded.role
"""

#: Errors that unreadable values raise: those written by hand, by a defect, or by another version of the program.
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
#: The beginning of the keys of values that were set aside.
_ASIDE = "unreadable "
_POLL_SECONDS = 0.2


class CacheError(ClaimwiseError):
    """The file of finished calls cannot be opened, read or written. Nothing in it was changed."""


def call_key(**parts: Any) -> str:
    """Return a hash of the named parts of a call; equal parts give equal keys in any order.

    >>> call_key(model="m", text="t") == call_key(text="t", model="m")
    True
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class ResponseCache:
    """A persistent mapping from call keys to JSON values.

    Args:
        path: the SQLite file. It and its folder are made if they do not exist. ``:memory:`` keeps all in memory.

    Raises:
        CacheError: the file is a folder, not an SQLite database, damaged, or of another program. Any method may find
            this out.

    >>> cache = ResponseCache(":memory:")
    >>> cache.put({"k": [1, None]}, model="m", role="verify")
    >>> cache.get(["k", "other"])
    {'k': [1, None]}
    """

    def __init__(self, path: str | Path):
        self._path = path
        self._waited = False
        self._lock = threading.RLock()  # threads share the connection, and a transaction is one thread's
        in_a_file = str(path) != ":memory:"
        with self._explained():
            if in_a_file:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            # A writer waits for another process's commit instead of failing; commits take milliseconds.
            self._connection = sqlite3.connect(path, timeout=120, isolation_level="IMMEDIATE", check_same_thread=False)
            # One damaged text must not make all others unreadable. Values are read as bytes and set aside one by one.
            self._connection.text_factory = lambda stored: stored.decode(errors="replace")
            columns = [row[1] for row in self._connection.execute("PRAGMA table_info(calls)")]
            if columns not in ([], _COLUMNS):
                raise self._error(f"a table of calls with the columns {', '.join(columns)}")
            _write_ahead(self._connection)
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(_CREATE)
            # Try to write now: no call shall be made if its answer could not be stored.
            self._connection.execute(_INSERT, ("", "", "", "null"))
            self._connection.rollback()
            # A process that makes a call locks one byte of this file. The system unlocks it when the process ends.
            self._locks = open(f"{path}-asked", "ab") if fcntl and in_a_file else None  # noqa: SIM115

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Let one thread in at a time, and say what SQLite's errors mean."""
        try:
            with self._lock:
                yield
        except (sqlite3.DatabaseError, OSError) as error:
            if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                raise  # a defect of this module, not of the file
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise CacheError(f"{self._path}: {error}. Finished calls are kept: make room, and run again") from error
            # ``Path.is_dir`` raises an error in a folder without permission; ``os.path.isdir`` does not.
            raise self._error("a folder" if os.path.isdir(self._path) else str(error)) from error

    def _error(self, found: str) -> CacheError:
        return CacheError(
            f"{self._path}: expected the file of finished calls (an SQLite database that can be written), found: "
            f"{found}. Name another file under `cache` in params.yaml (without one, another folder in the environment "
            "variable XDG_CACHE_HOME), or move this one away"
        )

    def get(self, keys: Sequence[str], read: Callable[[Any], Any] = lambda value: value) -> dict[str, Any]:
        """Return the values of the keys that are stored, by key.

        Args:
            keys: see ``call_key``.
            read: makes a value from its stored form. If it fails, the stored value is set aside and not returned.
        """
        values: dict[str, Any] = {}
        unreadable = []
        query = "SELECT key, CAST(value AS BLOB) FROM calls WHERE key IN (SELECT value FROM json_each(?))"
        with self._explained():
            for key, value in self._connection.execute(query, [json.dumps(list(keys))]):
                try:
                    values[key] = read(json.loads(value))
                except _UNREADABLE:
                    unreadable.append(key)
        self._set_aside(unreadable)
        return values

    def _set_aside(self, keys: Sequence[str]) -> None:
        """Move unreadable values to other keys, under ``unread_name``. Their calls do not find them and are made again."""
        if not keys:
            return
        with self._explained(), self._connection:
            self._connection.executemany(
                "UPDATE OR REPLACE calls SET key = ? || key, model = model || ? WHERE key = ?",
                [(_ASIDE, unread_name(""), key) for key in keys],
            )
        _log.warning(
            "%s: %d finished calls cannot be read: they are set aside (`claimwise cache stats` shows them as unread) and "
            "made again", self._path, len(keys),
        )  # fmt: skip

    def reserve(self, keys: Iterable[str]) -> set[str]:
        """Reserve the keys that no other process has reserved, and return them.

        Other processes cannot reserve them until ``release`` or the end of this process.
        """
        if self._locks is None:
            return set(keys)
        free = set()
        for key in keys:
            # The number of the byte that stands for this key; it may have 63 bits.
            offset = int(hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:15], 16)
            try:
                fcntl.lockf(self._locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
            except (BlockingIOError, PermissionError):
                continue
            except OSError:  # a file system without locks: both processes make the call
                pass
            free.add(key)
        return free

    def wait(self) -> None:
        """Sleep a little while other processes make the calls that they reserved; warn the first time."""
        if not self._waited:
            _log.warning(
                "%s: another process is asking some of the same calls: their answers are waited for", self._path
            )
        self._waited = True
        time.sleep(_POLL_SECONDS)

    def release(self) -> None:
        """Give up all that this process has reserved."""
        if self._locks is not None:
            with suppress(OSError):
                fcntl.lockf(self._locks, fcntl.LOCK_UN)

    def put(self, values: Mapping[str, Any], *, model: str, role: str) -> None:
        """Store values in one transaction. A key that is there already keeps its value, and gets this model and role.

        So if two processes make the same call at once, the first one's value stays, and both get it when they look again.
        """
        rows = [(key, model, role, json.dumps(value, ensure_ascii=True)) for key, value in values.items()]
        self._insert(rows)

    def _insert(self, rows: Sequence[tuple[str, ...]]) -> None:
        with self._explained(), self._connection:  # all or none
            self._connection.executemany(_INSERT, rows)

    def note(self, model: str, role: str, usage: Usage) -> None:
        """Add to the usage of a model in a role; see ``cost.usage``."""
        cost.note(model, role, usage)

    def stats(self) -> list[tuple[str, str, int, int]]:
        """Return (model, role, calls, bytes) of all stored calls, largest first."""
        query = "SELECT model, role, COUNT(*), SUM(LENGTH(value)) FROM calls GROUP BY model, role ORDER BY 4 DESC"
        with self._explained():
            return self._connection.execute(query).fetchall()

    def export(self, model: str, file: Path) -> int:
        """Write a model's finished calls for ``read``, one JSON object a line, and return their number.

        The file holds hashes of prompts, not their texts. Replies in which nothing could be read are included, so that
        they are not asked for again, either.

        Raises:
            CacheError: the file exists and holds something else, such as the cache itself.
        """
        if file.exists() and not _holds_calls(file):
            raise CacheError(f"{file} holds something else than finished calls; name a new file")
        query = "SELECT key, model, role FROM calls WHERE model IN (?, ?) AND key NOT LIKE ? ORDER BY role, key"
        with self._explained():
            calls = self._connection.execute(query, (model, unread_name(model), f"{_ASIDE}%")).fetchall()
        values = self.get([key for key, _, _ in calls])
        rows = [(key, name, role, values[key]) for key, name, role in calls if key in values]
        lines = [json.dumps(dict(zip(_COLUMNS, row, strict=True))) + "\n" for row in rows]
        with paths.whole(file) as new:
            new.write_text("".join(lines), encoding="utf-8")
        return len(lines)

    def read(self, file: Path) -> None:
        """Add the calls in a file that ``export`` wrote. A call that is here already keeps its value.

        Raises:
            CacheError: the file cannot be read; the message names the line.
        """
        try:
            lines = file.read_bytes().split(b"\n")
        except OSError as error:
            raise CacheError(f"{file}: the file of recorded calls cannot be read ({error.strerror})") from error
        rows = []
        for number, line in enumerate(lines[:-1] if not lines[-1] else lines, 1):
            try:
                rows.append(_row(line))
            except _UNREADABLE as error:
                raise CacheError(
                    f"{file}, line {number}: found {line[:60].decode(errors='replace')!r}, expected an object with {', '.join(_COLUMNS)}; take the "
                    "file from the repository again"
                ) from error
        self._insert(rows)

    def add(self, file: Path) -> None:
        """Add the calls of another cache's file. A call that is here already keeps its value.

        Raises:
            CacheError: the file is not there or cannot be read.
        """
        if not file.is_file():
            raise CacheError(f"{file}: finished calls are not there; workers need the same folder (docs/scale.md)")
        other = ResponseCache(file)
        with closing(other), other._explained():
            rows = other._connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM calls").fetchall()
        self._insert(rows)

    def prune(self, model: str | None = None) -> int:
        """Delete the calls of one model, or all calls; free the space, and return the number of calls.

        The calls of a model include those under its ``cost.unread_name``. That name may also be given itself.
        """
        where, values = ("WHERE model IN (?, ?)", (model, unread_name(model))) if model else ("", ())
        with self._explained():
            with self._connection:
                count = self._connection.execute(f"DELETE FROM calls {where}", values).rowcount
            self._connection.execute("VACUUM")
        return count

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        self._connection.close()
        if self._locks is not None:
            self._locks.close()


def _row(line: bytes) -> tuple[str, ...]:
    """Return a line of an exported file as a row of the table."""
    row = json.loads(line)
    texts = [str(row[name]) for name in _COLUMNS[:-1]]
    "".join(texts).encode()  # half a character (a lone surrogate) cannot be stored
    return (*texts, json.dumps(row["value"]))


def _holds_calls(file: Path) -> bool:
    """Whether ``export`` may have written the file: it is empty, or its first line is a call."""
    with file.open("rb") as lines:
        try:
            return not (first := lines.readline()) or bool(_row(first))
        except _UNREADABLE:
            return False


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL, and try again while the file is locked.

    Only this statement does not wait by itself if several processes open a new file at once.
    """
    deadline = time.monotonic() + 60
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@functools.cache
def reader(result: type) -> Callable[[Any], Any]:
    """Return a function that rebuilds a result of this type from its stored form, or raises an error.

    >>> reader(tuple[int, ...])([1, 2])
    (1, 2)
    """
    return TypeAdapter(result).validate_python


def cached(
    cache: ResponseCache,
    keys: Sequence[str],
    compute: Callable[[list[int]], Iterable[tuple[int, Any]]],
    *,
    model: str,
    role: str,
    read: Callable[[Any], Any] = lambda value: value,
    keep: Callable[[Any], bool] = lambda value: True,
) -> list[Any]:
    """Return the values of the keys: stored values, and the others from ``compute``.

    Computed values are stored at once (each takes a tenth of a millisecond), so a killed run repeats only unfinished calls.
    If another process is making a call, this one waits for it, and makes the call itself only if that process ends without
    an answer.

    Args:
        cache: where values are looked up and stored.
        keys: the keys of the n values, see ``call_key``.
        compute: gets the positions in ``keys`` of the missing keys, each once. It yields pairs: an index into these
            positions, and the value there. They may come in any order.
        model: the name of the model.
        role: the role that it plays in these calls.
        read: makes a value from its stored form, see ``reader``. It also reads values that were just computed, so that a
            resumed run gives the same as an uninterrupted one. Stored values at which it fails are set aside.
        keep: whether a value is stored. Others are asked for again in a later run.

    Returns:
        The n values, in the order of ``keys``.

    >>> cache = ResponseCache(":memory:")
    >>> def squares(positions):
    ...     print("asked for", positions)
    ...     return enumerate([position**2 for position in positions])
    >>> [cached(cache, list(keys), squares, model="m", role="r") for keys in ("aba", "ab")]
    asked for [0, 1]
    [[0, 1, 0], [0, 1]]
    """
    start = time.monotonic()
    first_position: dict[str, int] = {}
    for position, key in enumerate(keys):
        first_position.setdefault(key, position)

    def stored(wanted: list[str]) -> dict[str, Any]:
        return {key: value for key, value in cache.get(wanted, read).items() if keep(value)}

    values = stored(list(first_position))
    cached_count = sum(key in values for key in keys)
    calls = 0
    try:
        while missing := [key for key in first_position if key not in values]:
            reserved = cache.reserve(missing)
            values |= stored(missing)  # the process that had reserved some may have stored them
            asked = [key for key in missing if key in reserved and key not in values]
            for index, value in compute([first_position[key] for key in asked]) if asked else ():
                calls += 1
                key = asked[index]
                values[key] = read(value)
                if keep(values[key]):
                    cache.put({key: value}, model=model, role=role)
            cache.release()
            # A KeyError if ``compute`` left out a key: this loop would ask for it for ever.
            computed = {key: values[key] for key in asked}
            # Without locks two processes may have made the same call: both take the value that was stored first.
            values |= computed | stored(asked)
            if len(reserved) < len(missing):
                cache.wait()
    finally:
        cache.release()
        available = sum(key in values for key in keys)
        cache.note(model, role, Usage(available, cached_count, calls, seconds=time.monotonic() - start))
    return [values[key] for key in keys]
