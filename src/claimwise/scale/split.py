"""Examples split by document into parts of nearly equal cost, however many there are.

They are read once, some rows at a time, and copied as they come; when it is known what each document costs, every row is
copied into its part. Rows of one document stand in one part, wherever they stood before, so that a model reads it once.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa

from claimwise.errors import ClaimwiseError, first_line
from claimwise.progress import bar
from claimwise.schema import TableError

#: Tokens a part: tens of seconds of work for the embedded model, minutes for a language model.
PART_TOKENS = 100_000
#: Characters a token, about.
_CHARACTERS = 4
#: A summary is read to be broken into claims, written as claims, and read as claims.
_PASSES = 3
#: Text that is held before it is appended to the parts' files.
_HELD_BYTES = 16e6

_FIELDS = ("id", "document_id", "system", "origin", "split", "label", "document", "summary")
_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        *((name, pa.float64() if name == "label" else pa.large_string()) for name in _FIELDS),
        ("claims", pa.list_(pa.large_string())),
    ]
)
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")
_PLAN = "plan.json"

_ROWS = "rows.arrows"


@dataclass(frozen=True)
class Part:
    """Examples that are scored together.

    Attributes:
        name: of its files.
        rows: how many examples.
        tokens: about how many tokens of documents and summaries they have.
        claims: whether they have claims already.
        digest: a hash of all of them, and of where they stand; equal examples in equal rows, equal digests.
    """

    name: str
    rows: int
    tokens: int
    claims: bool
    digest: str


def read(folder: Path, part: Part) -> pd.DataFrame:
    """A part's examples, with their ``claims`` and the number of their ``row`` (from 0)."""
    tables = []
    with pa.OSFile(str(_file(folder, part.name))) as stream:
        while stream.tell() < stream.size():
            tables.append(pa.ipc.open_stream(stream).read_all())
    return pa.concat_tables(tables).to_pandas().astype({name: "str" for name in _FIELDS if name != "label"})


def remove_examples(folder: Path) -> None:
    """Delete the copy of the examples; the plan of the parts stays."""
    for file in folder.glob("*.arrows"):
        file.unlink(missing_ok=True)


def _file(folder: Path, part: str) -> Path:
    return folder / f"{part}.arrows"


def split(
    steps: Iterable[pd.DataFrame], origin: Any, folder: Path, tokens: int = PART_TOKENS, *, examples: bool = True
) -> list[Part]:
    """Split examples into parts, or find the parts that an earlier call made of the same ones.

    Args:
        steps: the examples, some rows at a time: ``_FIELDS``, and the ``claims`` that a summary has already (a list), or None;
            not looked at where the parts are there.
        origin: what the examples come from, as JSON can say it (files with their sizes and times): while it is the same,
            so are they.
        folder: where the parts lie; it may be there from an earlier run, or be made by another process right now.
        tokens: that a part should have; one of a single long document may have more.
        examples: whether the parts' examples are needed, too, or only their digests.

    Raises:
        TableError: a row cannot be read, or an id stands twice.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp(), "parts")
    >>> rows = pd.DataFrame({"document": ["Rain.", "Sun.", "Rain."], "summary": ["It rained.", "It shone.", "Snow."]})
    >>> rows = rows.assign(id=["a", "b", "c"], document_id=["1", "2", "1"], system="s", origin="o", split="test", label=1.0)
    >>> parts = split([rows.assign(claims=None)], "rows", folder, tokens=12)
    >>> [read(folder, part)["row"].tolist() for part in parts]
    [[0, 2], [1]]
    """
    made_of = {"origin": origin, "tokens": tokens}
    if found := _earlier(folder, made_of, examples):
        return found
    if folder.exists():  # of other examples, or without them
        shutil.rmtree(folder)
    # Several processes may do this at once: they all make the same, and the first one's takes its place.
    new = folder.with_name(f"{folder.name}.{uuid4().hex}")
    new.mkdir(parents=True)
    try:
        parts = _write(steps, new, tokens)
        plan = {**made_of, "parts": [asdict(part) for part in parts]}
        (new / _PLAN).write_text(json.dumps(plan) + "\n", encoding="utf-8")
        try:
            new.rename(folder)
        except OSError:
            if found := _earlier(folder, made_of, examples):
                return found
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return parts


def _earlier(folder: Path, made_of: Mapping[str, Any], examples: bool) -> list[Part] | None:
    try:
        plan = json.loads((folder / _PLAN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    parts = [Part(**part) for part in plan.pop("parts")]
    there = not examples or all(_file(folder, part.name).is_file() for part in parts)
    return parts if plan == made_of and there else None


def _write(steps: Iterable[pd.DataFrame], folder: Path, tokens: int) -> list[Part]:
    part_of, costs = _copied(steps, folder / _ROWS, tokens)
    names = [f"{part:05}" for part in range(part_of.max() + 1)]
    digests = [hashlib.sha256() for _ in names]
    claims = [False] * len(names)
    held: dict[str, list[pa.Table]] = defaultdict(list)
    size = 0
    for step in _shown(_read_back(folder / _ROWS), "splitting", len(part_of)):
        for part, rows in step.groupby(part_of[step["row"]]):
            for row in rows.itertuples(index=False, name=None):
                digests[part].update(repr(row).encode("utf-8", "surrogatepass"))
            claims[part] |= bool(rows["claims"].notna().any())
            table = pa.Table.from_pandas(rows, _SCHEMA, preserve_index=False)
            held[names[part]].append(table)
            size += table.nbytes
        if size > _HELD_BYTES:
            _append(held, folder)
            size = 0
    _append(held, folder)
    (folder / _ROWS).unlink()
    counts, sums = np.bincount(part_of), np.bincount(part_of, costs)
    return [
        Part(name, int(counts[at]), int(sums[at]), claims[at], digests[at].hexdigest()) for at, name in enumerate(names)
    ]


def _copied(steps: Iterable[pd.DataFrame], file: Path, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """Of every row the number of its part, and its share of the cost in tokens; the rows are copied into the file."""
    found, start = [], 0
    with pa.OSFile(str(file), "wb") as out, pa.ipc.new_stream(out, _SCHEMA, options=_COMPRESSED) as stream:
        for step in _shown(steps, "reading"):
            step = step[[*_FIELDS, "claims"]].assign(row=range(start, start + len(step)))
            with _said_if_full(file.parent):
                stream.write_table(pa.Table.from_pandas(step, _SCHEMA, preserve_index=False))
            start += len(step)
            found.append(
                (
                    pd.util.hash_array(step["id"].to_numpy(object)),
                    pd.util.hash_array(step["document_id"].to_numpy(object)),
                    step["document"].str.len().to_numpy(np.float32) / _CHARACTERS,
                    step["summary"].str.len().to_numpy(np.float32) * (_PASSES / _CHARACTERS),
                )
            )
    ids, documents, lengths, costs = map(np.concatenate, zip(*found, strict=True))
    del found
    _refuse_twice(ids, file)
    document = pd.factorize(documents)[0]  # numbered in the order in which they come
    first = ~pd.Series(document).duplicated().to_numpy()
    costs[first] += lengths[first]  # a document is read with the first of its summaries
    whole = np.bincount(document, costs)
    # By the middle of each document, counted from the first one: rows that are added at the end leave earlier parts alone.
    part_of_document = ((whole.cumsum() - whole / 2) // tokens).astype(np.int32)
    # a document longer than a part leaves numbers without rows
    return np.unique(part_of_document[document], return_inverse=True)[1], costs


def _read_back(file: Path) -> Iterator[pd.DataFrame]:
    with pa.OSFile(str(file)) as rows:
        for batch in pa.ipc.open_stream(rows):
            yield batch.to_pandas()


def _refuse_twice(ids: np.ndarray, file: Path) -> None:
    """Hashes tell that an id may stand twice; whether it does, the copied rows say."""
    repeated = pd.Series(ids).duplicated(keep=False).to_numpy()
    if not repeated.any():
        return
    alike = pd.concat([step.loc[repeated[step["row"]], "id"] for step in _read_back(file)])
    for key in alike[alike.duplicated()]:
        raise TableError(f"the id {key!r} stands twice in the examples; give one of them another")


def _shown(steps: Iterable[pd.DataFrame], what: str, rows: int | None = None) -> Iterator[pd.DataFrame]:
    with bar(rows, what, "row") as done:
        for step in steps:
            yield step
            done.update(len(step))


def _append(held: dict[str, list[pa.Table]], folder: Path) -> None:
    """Tables are appended as streams of Arrow's, one after the other: no file stays open, and none is written twice."""
    with _said_if_full(folder):
        for part, tables in held.items():
            with (
                _file(folder, part).open("ab") as file,
                pa.ipc.new_stream(file, _SCHEMA, options=_COMPRESSED) as stream,
            ):
                stream.write_table(pa.concat_tables(tables))
    held.clear()


@contextmanager
def _said_if_full(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ClaimwiseError(
            f"{folder}: the examples cannot be copied there ({first_line(error)}); a folder of scores takes twice as much "
            "room as the files, while it is written"
        ) from None
