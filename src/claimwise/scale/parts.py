"""Examples split by document into parts of nearly equal cost, and a part scored; the same in every engine.

Examples are read once, some rows at a time, and copied as they come into one file, of which a part then takes its rows
wherever they stand. Rows of one document are of one part, so that a model reads it once. What a part gives is one parquet
file: a row is an example with its score and, nested, its claims and verdicts. It takes its place under its name at once, so
that one that is there is whole, and its manifest says whether what it holds is what would be asked now.
"""

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from claimwise import __version__, models, paths
from claimwise.errors import ClaimwiseError, first_line
from claimwise.metrics import Evaluation, MetricSpec, evaluate
from claimwise.metrics.fenice.alignment import Aligner
from claimwise.models import cost
from claimwise.models.cache import ResponseCache, call_key
from claimwise.models.language import PromptedModel
from claimwise.progress import bar
from claimwise.schema import TableError
from claimwise.user_file import decisions, output

# split

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
#: In a folder of scores, until all of it is scored: the parts' examples, and the finished calls of a language model.
EXAMPLES, CALLS = "_examples", "_calls"
#: In the former: what the parts are, the examples, and the part of every row.
_PLAN, _ROWS, _PLACES = "plan.json", "rows.arrows", "places.npy"


@dataclass(frozen=True)
class Part:
    """So many rows that are scored together, of about so many tokens; ``claims`` says whether they have claims already.

    ``digest`` is a hash of all of them, and of where they stand: equal examples in equal rows, equal digests.
    """

    name: str
    rows: int
    tokens: int
    claims: bool
    digest: str


def read(folder: Path, part: Part) -> pd.DataFrame:
    """A part's examples, with their ``claims`` and the number of their ``row`` (from 0)."""
    with pa.memory_map(str(folder / _ROWS)) as file:
        return _part(pa.ipc.open_file(file).read_all(), np.load(folder / _PLACES, mmap_mode="r"), int(part.name))


def _part(rows: pa.Table, part_of: np.ndarray, number: int) -> pd.DataFrame:
    """The rows of a part, of all rows and the part of each."""
    own = np.flatnonzero(part_of == number)
    span = slice(own[0], own[-1] + 1)  # the rows of one part stand near each other in most files
    found = rows[span].filter(pa.array(part_of[span] == number)).to_pandas()
    return found.astype({name: "str" for name in _FIELDS if name != "label"})


def split(steps: Iterable[pd.DataFrame], origin: Any, folder: Path, tokens: int = PART_TOKENS) -> list[Part]:
    """Split examples into parts, or find the parts that an earlier call made of the same ones.

    Args:
        steps: the examples, some rows at a time: ``_FIELDS``, and the ``claims`` that a summary has already (a list), or None;
            not looked at where the parts are there.
        origin: what the examples come from, as JSON can say it (files with their sizes and times): while it is the same,
            so are they.
        folder: where the parts lie; it may be there from an earlier run, or be made by another process right now.
        tokens: that a part should have; one of a single long document may have more.

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
    if found := _earlier(folder, made_of):
        return found
    if folder.exists():  # of other examples
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
            if found := _earlier(folder, made_of):
                return found
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return parts


def _earlier(folder: Path, made_of: Mapping[str, Any]) -> list[Part] | None:
    """The parts that are in the folder, if they were made of this."""
    try:
        plan = json.loads((folder / _PLAN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    parts = [Part(**part) for part in plan.pop("parts")]
    return parts if plan == made_of else None


def _write(steps: Iterable[pd.DataFrame], folder: Path, tokens: int) -> list[Part]:
    part_of, costs = _copied(steps, folder, tokens)
    parts = []
    with pa.memory_map(str(folder / _ROWS)) as file, bar(len(part_of), "splitting", "row") as done:
        table = pa.ipc.open_file(file).read_all()
        for number, cost in enumerate(np.bincount(part_of, costs)):
            rows = _part(table, part_of, number)
            digest = hashlib.sha256()
            for row in rows.itertuples(index=False, name=None):
                digest.update(repr(row).encode("utf-8", "surrogatepass"))
            claims = bool(rows["claims"].notna().any())
            parts.append(Part(f"{number:05}", len(rows), int(cost), claims, digest.hexdigest()))
            done.update(len(rows))
    return parts


def _copied(steps: Iterable[pd.DataFrame], folder: Path, tokens: int) -> tuple[np.ndarray, pd.Series]:
    """Of every row the number of its part, and its share of the cost in tokens; the rows are copied into the folder."""
    copied, start = [], 0  # of each step what is needed to divide all rows: not the texts
    with (
        pa.OSFile(str(folder / _ROWS), "wb") as out,
        pa.ipc.new_file(out, _SCHEMA) as copy,
        bar(None, "reading", "row") as done,
    ):
        for step in steps:
            step = step[[*_FIELDS, "claims"]].assign(row=range(start, start + len(step)))
            copy.write_batch(pa.RecordBatch.from_pandas(step, _SCHEMA, preserve_index=False))
            start += len(step)
            done.update(len(step))
            hashes = {name: pd.util.hash_array(step[name].to_numpy(object)) for name in ("id", "document_id")}
            costs = {
                "document": step["document"].str.len().to_numpy(np.float32) / _CHARACTERS,
                "summary": step["summary"].str.len().to_numpy(np.float32) * (_PASSES / _CHARACTERS),
            }
            copied.append(pd.DataFrame(hashes | costs))
    rows = pd.concat(copied, ignore_index=True)
    if rows["id"].duplicated().any():
        with pa.memory_map(str(folder / _ROWS)) as file:
            key = pa.ipc.open_file(file).read_all()["id"][int(rows["id"].duplicated().argmax())].as_py()
        raise TableError(f"the id {key!r} stands twice in the examples; give one of them another")
    document_of = pd.factorize(rows["document_id"])[0]  # the documents numbered in the order in which they come
    # a document is read with the first of its summaries
    costs = rows["summary"] + rows["document"].mask(rows["document_id"].duplicated(), 0)
    document_costs = np.bincount(document_of, costs)
    # By the middle of each document, counted from the first one: rows that are added at the end leave earlier parts alone.
    part_of_document = ((document_costs.cumsum() - document_costs / 2) // tokens).astype(np.int32)
    # a document longer than a part leaves numbers without rows
    part_of = np.unique(part_of_document[document_of], return_inverse=True)[1]
    np.save(folder / _PLACES, part_of.astype(np.int32))
    return part_of, costs


# score

_MANIFEST = b"claimwise"
_TEXT, _TEXTS = pa.large_string(), pa.list_(pa.large_string())
_CLAIM = [
    ("text", _TEXT),
    ("start", pa.int64()),
    ("end", pa.int64()),
    ("support", pa.float64()),
    ("verdict", _TEXT),
    ("reason", _TEXT),
    ("evidence", _TEXTS),
    ("sentences", pa.list_(pa.int64())),
]
_ALIGNED = [
    ("level", _TEXT),
    ("premise", _TEXT),
    ("premise_start", pa.int64()),
    ("premise_end", pa.int64()),
    ("p_entail", pa.float64()),
    ("p_neutral", pa.float64()),
    ("p_contradict", pa.float64()),
]
#: Of a part's file; after them come the claims.
_COLUMNS = [
    ("row", pa.int64()),
    *((name, _TEXT) for name in ("id", "document_id", "system", "origin", "split")),
    ("label", pa.float64()),
    ("metric", _TEXT),
    ("scorer", _TEXT),
    ("score", pa.float64()),
    ("min_support", pa.float64()),
    ("n_claims", pa.int64()),
    ("n_unsupported", pa.int64()),
    ("n_unparsed", pa.int64()),
    ("reason", _TEXT),
    ("verdict", _TEXT),
]


#: What scoring took and gave: rows, unscored, score (the sum), claims, unparsed, calls, tokens, cost (in the currency of the
#: model's prices), seconds (of one worker), and after ``WHY`` each reason for having no score. ``update`` adds.
Counts = Counter[str]
WHY = "unscored: "


@dataclass(frozen=True)
class Job:
    """What every part is asked, in values that can be sent to a worker.

    ``folder`` is where the parts' scores go, and in ``EXAMPLES`` their examples are; ``entry`` is the model's in params.yaml,
    ``scorer`` its name, and ``made_by`` what the scores are traced by (``user_file.score.made_by``).
    """

    folder: Path
    metric: str
    spec: MetricSpec
    entry: Mapping[str, Any]
    scorer: str
    made_by: Mapping[str, Any]

    def place(self, part: Part) -> Path:
        """Where a part's scores stand."""
        return self.folder / f"part-{part.name}.parquet"

    def finished(self, part: Part) -> Counts | None:
        """What a part gave, if its scores are there and are what would be asked now."""
        try:
            manifest = json.loads(pq.read_metadata(self.place(part)).metadata[_MANIFEST])
        except (FileNotFoundError, KeyError, ValueError, pa.ArrowException):  # not there, or not ours
            return None
        return Counts(manifest["counts"]) if manifest["key"] == self._key(part) else None

    def _key(self, part: Part) -> str:
        decides = {name: self.made_by.get(name) for name in ("metric", "prompts", "fingerprint")}
        decides["context"] = self.entry.get("context")  # how a document is divided, and which is too long
        return call_key(examples=part.digest, scorer=self.scorer, version=__version__, **decides)

    def write(self, part: Part, table: pa.Table, counts: Counts) -> None:
        """Put a part's scores into their place, all at once."""
        manifest = {"key": self._key(part), "part": asdict(part), "counts": counts, "made_by": self.made_by}
        table = table.replace_schema_metadata({_MANIFEST: json.dumps(manifest)})
        try:
            with paths.whole(self.place(part)) as new:
                pq.write_table(table, new, compression="zstd")
        except OSError as error:
            raise ClaimwiseError(
                f"{self.place(part)}: the scores cannot be written ({error.strerror or first_line(error)}); make room, and run "
                "again: finished parts are kept"
            ) from None


def score_part(job: Job, part: Part) -> Counts:
    """Score a part and write its file; of a part that is finished only say what it gave.

    Raises:
        ClaimwiseError: as ``evaluate``, or what a language model is asked fails after all retries.
    """
    if (earlier := job.finished(part)) is not None:
        return earlier
    examples = read(job.folder / EXAMPLES, part)
    start, before = time.monotonic(), cost.used()
    # A language model's calls are kept in a file, a part its own, which another worker finds if this one is lost.
    prompted = isinstance(models.loaded(job.entry), PromptedModel)
    calls = job.folder / CALLS / f"{part.name}.sqlite" if prompted else ":memory:"
    found = evaluate_part(job.metric, job.spec, job.entry, (examples, calls))
    used = cost.used() - before
    scores = found.scores["score"]
    counts = Counts(
        rows=len(scores),
        unscored=int(scores.isna().sum()),
        score=float(scores.sum()),
        claims=len(found.claims),
        unparsed=int(found.scores["n_unparsed"].sum()),
        calls=used.calls,
        tokens=used.prompt_tokens + used.reply_tokens,
        cost=used.cost,
        seconds=time.monotonic() - start,
    )
    reasons = found.scores.loc[scores.isna(), "reason"].value_counts()
    counts.update({WHY + reason: int(count) for reason, count in reasons.items()})
    job.write(part, nested(found, examples, job), counts)
    return counts


def evaluate_part(
    metric: str, spec: MetricSpec, entry: Mapping[str, Any], part: tuple[pd.DataFrame, str | Path]
) -> Evaluation:
    """What ``evaluate`` gives of a part: its examples, and the file of its finished calls."""
    examples, file = part
    with closing(ResponseCache(file)) as calls:
        if recorded := entry.get("recorded"):
            calls.read(paths.located(recorded))
        model = models.remembering(models.loaded(entry), calls)
        # One step for all of it: a pool of servers stays busy, and finished calls are kept below this level.
        return evaluate(metric, spec, model, examples, batch=len(examples), progress=False)


def nested(found: Evaluation, examples: pd.DataFrame, job: Job) -> pa.Table:
    """Scores of a part's examples, one row each, with their claims and verdicts."""
    claim_band = decisions.of_claims(job.spec, job.entry)
    claims = output.claim_table(found, examples, claim_band)
    claims = claims.assign(sentences=found.judged_claims()["evidence"])
    band = decisions.of_summaries(job.metric, job.spec, job.entry)
    rows = examples.assign(**output.score_table(found.scores, claims, job.scorer).drop(columns="id"))
    rows["verdict"] = decisions.verdicts(rows, band, claims) if band else None
    told = _ALIGNED[-1:] if job.entry.get("contradiction") else []
    columns = _CLAIM + (_ALIGNED if job.spec.verify == Aligner.name else told)
    rows = output.with_claims(rows, claims, [name for name, _ in columns])
    schema = pa.schema([*_COLUMNS, ("claims", pa.list_(pa.struct(columns)))])
    return pa.Table.from_pandas(rows, schema, preserve_index=False)
