"""Examples split by document into parts of nearly equal cost, however many there are.

They are read once, some rows at a time, and copied as they come into one file, of which a part then takes its rows wherever
they stand. Rows of one document are of one part, so that a model reads it once.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
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

_FIELDS = ("id", "document_id", "system", "origin", "split", "label", "document", "summary")
_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        *((name, pa.float64() if name == "label" else pa.large_string()) for name in _FIELDS),
        ("claims", pa.list_(pa.large_string())),
    ]
)
#: In the folder of the parts: what they are, the examples, and the part and the step of every row.
_PLAN, _ROWS, _PLACES = "plan.json", "rows.arrows", "places.npy"


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
    part_of, step_of = np.load(folder / _PLACES, mmap_mode="r")
    rows = np.flatnonzero(part_of == int(part.name))
    found = []
    with pa.memory_map(str(folder / _ROWS)) as file:
        steps = pa.ipc.open_file(file)
        for number in np.unique(step_of[rows]):
            step = steps.get_batch(number)
            found.append(step.take(pa.array(rows[step_of[rows] == number] - step["row"][0].as_py())))
    return pa.Table.from_batches(found).to_pandas().astype({name: "str" for name in _FIELDS if name != "label"})


def remove_examples(folder: Path) -> None:
    """Delete the copy of the examples; the plan of the parts stays."""
    for name in (_ROWS, _PLACES):
        (folder / name).unlink(missing_ok=True)


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
    there = not examples or (folder / _ROWS).is_file()
    return parts if plan == made_of and there else None


def _write(steps: Iterable[pd.DataFrame], folder: Path, tokens: int) -> list[Part]:
    part_of, costs = _copied(steps, folder, tokens)
    parts = []
    with bar(len(part_of), "splitting", "row") as done:
        for number, cost in enumerate(np.bincount(part_of, costs)):
            part = Part(f"{number:05}", 0, int(cost), False, "")
            rows = read(folder, part)
            digest = hashlib.sha256()
            for row in rows.itertuples(index=False, name=None):
                digest.update(repr(row).encode("utf-8", "surrogatepass"))
            claims = bool(rows["claims"].notna().any())
            parts.append(replace(part, rows=len(rows), claims=claims, digest=digest.hexdigest()))
            done.update(len(rows))
    return parts


def _copied(steps: Iterable[pd.DataFrame], folder: Path, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """Of every row the number of its part, and its share of the cost in tokens; the rows are copied into the folder."""
    found, start = [], 0
    with (
        pa.OSFile(str(folder / _ROWS), "wb") as out,
        pa.ipc.new_file(out, _SCHEMA) as copy,
        bar(None, "reading", "row") as done,
    ):
        for number, step in enumerate(steps):
            step = step[[*_FIELDS, "claims"]].assign(row=range(start, start + len(step)))
            try:
                copy.write_batch(pa.RecordBatch.from_pandas(step, _SCHEMA, preserve_index=False))
            except OSError as error:
                raise ClaimwiseError(
                    f"{folder}: the examples cannot be copied there ({first_line(error)}); while a folder of scores is "
                    "written, it takes as much room as their texts"
                ) from None
            start += len(step)
            done.update(len(step))
            found.append(
                (
                    np.full(len(step), number, np.int32),
                    pd.util.hash_array(step["id"].to_numpy(object)),
                    pd.util.hash_array(step["document_id"].to_numpy(object)),
                    step["document"].str.len().to_numpy(np.float32) / _CHARACTERS,
                    step["summary"].str.len().to_numpy(np.float32) * (_PASSES / _CHARACTERS),
                )
            )
    step_of, ids, documents, lengths, costs = map(np.concatenate, zip(*found, strict=True))
    del found
    _refuse_twice(ids, folder)
    document = pd.factorize(documents)[0]  # numbered in the order in which they come
    first = ~pd.Series(document).duplicated().to_numpy()
    costs[first] += lengths[first]  # a document is read with the first of its summaries
    whole = np.bincount(document, costs)
    # By the middle of each document, counted from the first one: rows that are added at the end leave earlier parts alone.
    part_of_document = ((whole.cumsum() - whole / 2) // tokens).astype(np.int32)
    # a document longer than a part leaves numbers without rows
    part_of = np.unique(part_of_document[document], return_inverse=True)[1]
    np.save(folder / _PLACES, np.stack([part_of, step_of]).astype(np.int32))
    return part_of, costs


def _refuse_twice(ids: np.ndarray, folder: Path) -> None:
    """Hashes tell that an id may stand twice; whether it does, the copied rows say."""
    repeated = pd.Series(ids).duplicated(keep=False).to_numpy()
    if not repeated.any():
        return
    with pa.memory_map(str(folder / _ROWS)) as file:
        alike = pa.ipc.open_file(file).read_all()["id"].filter(pa.array(repeated)).to_pandas()
    for key in alike[alike.duplicated()]:
        raise TableError(f"the id {key!r} stands twice in the examples; give one of them another")
