"""Finished calls on disk: a run that is killed and started again repeats none of them.

One SQLite file in WAL mode, one row a call, each committed as it is finished: safe under several processes, of which only
one asks a call at a time, and under ``kill -9``. The key is a hash over everything that changes the answer.
"""

import functools
import hashlib
import json
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

try:
    import fcntl
except ImportError:  # Windows: processes that ask the same at once both ask it
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

#: Of values that were written by hand, by a defect or by a program of another version.
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
#: How the keys of values begin that are set aside.
_ASIDE = "unreadable "
_POLL_SECONDS = 0.2


class CacheError(ClaimwiseError):
    """The file of finished calls cannot be opened, read or written; nothing in it was changed."""


def call_key(**parts: Any) -> str:
    """Hash of the named parts of a call; equal parts give equal keys, whatever their order.

    >>> call_key(model="m", text="t") == call_key(text="t", model="m")
    True
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class ResponseCache:
    """A persistent mapping from call keys to JSON values.

    Args:
        path: the SQLite file, made with its folder if it is not there; ``:memory:`` for none.

    Raises:
        CacheError: the file is a folder, no SQLite database, a damaged one, or one of another program; any method may
            find that out.

    >>> cache = ResponseCache(":memory:")
    >>> cache.put({"k": [1, None]}, model="m", role="verify")
    >>> cache.get(["k", "other"])
    {'k': [1, None]}
    """

    def __init__(self, path: str | Path):
        self._path = path
        self._waited = False
        in_a_file = str(path) != ":memory:"
        with self._explained():
            if in_a_file:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            # A writer waits for another process's commit instead of failing; commits take milliseconds.
            self._connection = sqlite3.connect(path, timeout=120, isolation_level="IMMEDIATE", check_same_thread=False)
            # A damaged text must not make all others unreadable; values are read as bytes, and set aside one by one.
            self._connection.text_factory = lambda found: found.decode(errors="replace")
            columns = [row[1] for row in self._connection.execute("PRAGMA table_info(calls)")]
            if columns not in ([], _COLUMNS):
                raise self._error(f"a table of calls with the columns {', '.join(columns)}")
            _write_ahead(self._connection)
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(_CREATE)
            self._connection.execute(_INSERT, ("", "", "", "null"))  # nothing is asked whose answer could not be stored
            self._connection.rollback()
            # A call that is being asked is a byte of this file that its process has locked; the system unlocks it at its end.
            self._locks = open(f"{path}-asked", "ab") if fcntl and in_a_file else None  # noqa: SIM115

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, OSError) as error:
            if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                raise  # a defect of ours, not of the file
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise CacheError(f"{self._path}: {error}. Finished calls are kept: make room, and run again") from error
            # Of a path within a folder that may not be looked into ``Path.is_dir`` is an error.
            raise self._error("a folder" if os.path.isdir(self._path) else str(error)) from error

    def _error(self, found: str) -> CacheError:
        return CacheError(
            f"{self._path}: expected the file of finished calls (an SQLite database that can be written), found: "
            f"{found}. Name another file under `cache` in params.yaml (without one, another folder in the environment "
            "variable XDG_CACHE_HOME), or move this one away"
        )

    def get(self, keys: Sequence[str], read: Callable[[Any], Any] = lambda value: value) -> dict[str, Any]:
        """The values that are there, by key, as ``read`` makes them of what is stored; what it fails at is set aside."""
        found: dict[str, Any] = {}
        unreadable = []
        query = "SELECT key, CAST(value AS BLOB) FROM calls WHERE key IN (SELECT value FROM json_each(?))"
        with self._explained():
            for key, value in self._connection.execute(query, [json.dumps(list(keys))]):
                try:
                    found[key] = read(json.loads(value))
                except _UNREADABLE:
                    unreadable.append(key)
        self._set_aside(unreadable)
        return found

    def _set_aside(self, keys: Sequence[str]) -> None:
        """Keep values that cannot be read under ``unread_name``, where no call finds them: it is made again."""
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
        """Those of the keys that no other process has reserved; it cannot have them until ``release``, or this one's end."""
        if self._locks is None:
            return set(keys)
        free = set()
        for key in keys:
            # A byte's place has 63 bits.
            place = int(hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:15], 16)
            try:
                fcntl.lockf(self._locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except (BlockingIOError, PermissionError):
                continue
            except OSError:  # a file system that knows no locks: asked by both
                pass
            free.add(key)
        return free

    def wait(self) -> None:
        """Give the processes that have reserved calls a little time, and say so once."""
        if not self._waited:
            _log.warning(
                "%s: another process is asking some of the same calls: their answers are waited for", self._path
            )
        self._waited = True
        time.sleep(_POLL_SECONDS)

    def release(self) -> None:
        """Let other processes reserve all that this one has."""
        if self._locks is not None:
            with suppress(OSError):
                fcntl.lockf(self._locks, fcntl.LOCK_UN)

    def put(self, values: Mapping[str, Any], *, model: str, role: str) -> None:
        """Store values in one transaction; a key that is there keeps its value, and gets this model and role.

        Of processes that ask the same at once, all that look again after this have the value of the first.
        """
        rows = [(key, model, role, json.dumps(value, ensure_ascii=True)) for key, value in values.items()]
        self._insert(rows)

    def _insert(self, rows: Sequence[tuple[str, ...]]) -> None:
        with self._explained(), self._connection:  # all or none
            self._connection.executemany(_INSERT, rows)

    def note(self, model: str, role: str, usage: Usage) -> None:
        """Count what a model was asked; see ``cost.usage``."""
        cost.note(model, role, usage)

    def stats(self) -> list[tuple[str, str, int, int]]:
        """(model, role, calls, bytes) of what is stored, largest first."""
        query = "SELECT model, role, COUNT(*), SUM(LENGTH(value)) FROM calls GROUP BY model, role ORDER BY 4 DESC"
        with self._explained():
            return self._connection.execute(query).fetchall()

    def export(self, model: str, file: Path) -> int:
        """Write a model's finished calls, an object a line, for ``read``; returns how many.

        They hold hashes of prompts, no prompt's text. Replies in which nothing could be read are among them: they are not
        asked for again, either.

        Raises:
            CacheError: the file is there and holds something else, such as the cache itself.
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
        """Take in what ``export`` wrote; a call that is here already keeps its value.

        Raises:
            CacheError: the file cannot be read; names its line.
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

    def prune(self, model: str | None = None) -> int:
        """Delete the calls of one model, or all; returns how many, and gives the space back.

        The calls of a model include those under its ``cost.unread_name``, which is also a model of its own here.
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
    """A line of what ``export`` wrote, as it is stored."""
    row = json.loads(line)
    texts = [str(row[name]) for name in _COLUMNS[:-1]]
    "".join(texts).encode()  # half a character (a lone surrogate) cannot be stored
    return (*texts, json.dumps(row["value"]))


def _holds_calls(file: Path) -> bool:
    """Whether a file is one that ``export`` wrote; so is an empty one."""
    with file.open("rb") as lines:
        try:
            return not (first := lines.readline()) or bool(_row(first))
        except _UNREADABLE:
            return False


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL: the one statement that does not wait by itself when several processes open a new file at once."""
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
    """Rebuilds a result from what is stored of it; a value of another shape is an error.

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
    """Values for the keys: those stored, and the others from ``compute``, which are stored as they are finished.

    Each is stored at once (it takes a tenth of a millisecond), so that a run that is killed repeats only what was in
    flight. What another process is asking for is waited for, and asked for here only if that process ends without it.

    Args:
        cache: where values are looked up and stored.
        keys: of the n values wanted, see ``call_key``.
        compute: gets the positions among ``keys`` of the first occurrence of every missing one, and gives pairs of a place
            among these positions and its value, in any order.
        model: whose calls these are.
        role: what it does in them.
        read: makes a value of what is stored of it, also of one just computed, so that a resumed run and an uninterrupted
            one give the same; see ``reader``. What it fails at is set aside as unreadable.
        keep: whether a value is remembered; others are asked for again in a later run.

    >>> cache = ResponseCache(":memory:")
    >>> def squares(positions):
    ...     print("asked for", positions)
    ...     return enumerate([position**2 for position in positions])
    >>> [cached(cache, list(keys), squares, model="m", role="r") for keys in ("aba", "ab")]
    asked for [0, 1]
    [[0, 1, 0], [0, 1]]
    """
    start = time.monotonic()
    first: dict[str, int] = {}
    for position, key in enumerate(keys):
        first.setdefault(key, position)

    def stored(wanted: list[str]) -> dict[str, Any]:
        return {key: value for key, value in cache.get(wanted, read).items() if keep(value)}

    values = stored(list(first))
    found = sum(key in values for key in keys)
    calls = 0
    try:
        while missing := [key for key in first if key not in values]:
            reserved = cache.reserve(missing)
            values |= stored(missing)  # the process that had reserved some may have stored them
            asked = [key for key in missing if key in reserved and key not in values]
            for place, value in compute([first[key] for key in asked]) if asked else ():
                calls += 1
                key = asked[place]
                values[key] = read(value)
                if keep(values[key]):
                    cache.put({key: value}, model=model, role=role)
            cache.release()
            computed = {key: values[key] for key in asked}  # an error where one is left out: it would be asked for ever
            values |= computed | stored(asked)  # without locks two processes may have asked: both take the first one's
            if len(reserved) < len(missing):
                cache.wait()
    finally:
        cache.release()
        given = sum(key in values for key in keys)
        cache.note(model, role, Usage(given, found, calls, seconds=time.monotonic() - start))
    return [values[key] for key in keys]
