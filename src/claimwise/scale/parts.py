"""Split examples by document into parts of nearly equal cost, and score a part; the same for every engine.

Examples are read once, some rows at a time, and copied into one file in their order. A part reads its rows from there. All
rows about a document are in the same part, so that a model reads the document once. The result of a part is one parquet
file: a row is an example with its score and, nested, its claims and verdicts. The file appears only when it is complete. Its
manifest says by which examples, metric and model it was made.
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

#: Tokens of a part: tens of seconds of work for the embedded model, minutes for a language model.
PART_TOKENS = 100_000
#: Characters of a token, on average.
_CHARACTERS = 4
#: Times that a summary's tokens count: it is read to be decomposed, written as claims, and read as claims.
_PASSES = 3

_FIELDS = ("id", "document_id", "system", "origin", "split", "label", "document", "summary")
_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        *((name, pa.float64() if name == "label" else pa.large_string()) for name in _FIELDS),
        ("claims", pa.list_(pa.large_string())),
    ]
)
#: Subfolders of a folder of scores until all is scored: the examples, and the finished calls of a language model.
EXAMPLES, CALLS = "_examples", "_calls"
#: Files in ``EXAMPLES``: the list of parts, the examples' rows, and the number of each row's part.
_PLAN, _ROWS, _PART_OF = "plan.json", "rows.arrows", "places.npy"


@dataclass(frozen=True)
class Part:
    """Rows that are scored together.

    Attributes:
        name: the part's number, with zeros in front.
        rows: the number of rows.
        tokens: the tokens that they cost, about.
        claims: whether any of them has claims already.
        digest: a hash of the rows and their numbers: equal examples in equal rows have equal digests.
    """

    name: str
    rows: int
    tokens: int
    claims: bool
    digest: str


def read(folder: Path, part: Part) -> pd.DataFrame:
    """Return a part's examples with their ``claims`` and the number of their ``row`` (from 0)."""
    with pa.memory_map(str(folder / _ROWS)) as file:
        return _part(pa.ipc.open_file(file).read_all(), np.load(folder / _PART_OF, mmap_mode="r"), int(part.name))


def _part(rows: pa.Table, part_of: np.ndarray, number: int) -> pd.DataFrame:
    """Return the rows of one part; ``part_of`` has the number of each row's part."""
    own = np.flatnonzero(part_of == number)
    span = slice(own[0], own[-1] + 1)  # in most files the rows of a part are near each other
    part = rows[span].filter(pa.array(part_of[span] == number)).to_pandas()
    return part.astype({name: "str" for name in _FIELDS if name != "label"})


def split(steps: Iterable[pd.DataFrame], origin: Any, folder: Path, tokens: int = PART_TOKENS) -> list[Part]:
    """Split examples into parts, or return the parts that an earlier call made of the same examples.

    Args:
        steps: the examples, some rows at a time: ``_FIELDS``, and ``claims``: a list, or None if there are none yet. They
            are not read if the parts exist already.
        origin: what the examples come from, in JSON types (files with their sizes and times). If it is the same, so are
            the examples.
        folder: the parts' folder. It may be from an earlier run, or another process may be making it right now.
        tokens: the tokens that a part should have. A part of a single long document may have more.

    Returns:
        The parts.

    Raises:
        TableError: a row cannot be read, or an id occurs twice.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp(), "parts")
    >>> rows = pd.DataFrame({"document": ["Rain.", "Sun.", "Rain."], "summary": ["It rained.", "It shone.", "Snow."]})
    >>> rows = rows.assign(id=["a", "b", "c"], document_id=["1", "2", "1"], system="s", origin="o", split="test", label=1.0)
    >>> parts = split([rows.assign(claims=None)], "rows", folder, tokens=12)
    >>> [read(folder, part)["row"].tolist() for part in parts]
    [[0, 2], [1]]
    """
    source = {"origin": origin, "tokens": tokens}
    if earlier := _earlier(folder, source):
        return earlier
    if folder.exists():  # it has other examples
        shutil.rmtree(folder)
    # Several processes may do this at once. They all make the same parts, and the first one to finish names the folder.
    new = folder.with_name(f"{folder.name}.{uuid4().hex}")
    new.mkdir(parents=True)
    try:
        parts = _write(steps, new, tokens)
        plan = {**source, "parts": [asdict(part) for part in parts]}
        (new / _PLAN).write_text(json.dumps(plan) + "\n", encoding="utf-8")
        try:
            new.rename(folder)
        except OSError:
            if earlier := _earlier(folder, source):
                return earlier
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return parts


def _earlier(folder: Path, source: Mapping[str, Any]) -> list[Part] | None:
    """Return the parts in the folder if they were made from this source, otherwise None."""
    try:
        plan = json.loads((folder / _PLAN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    parts = [Part(**part) for part in plan.pop("parts")]
    return parts if plan == source else None


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
    """Copy the rows into the folder; return the number of each row's part, and its share of the cost in tokens."""
    steps_seen, start = [], 0  # hashes of ids and lengths of texts, which suffice to divide the rows
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
            steps_seen.append(pd.DataFrame(hashes | costs))
    rows = pd.concat(steps_seen, ignore_index=True)
    if rows["id"].duplicated().any():
        with pa.memory_map(str(folder / _ROWS)) as file:
            key = pa.ipc.open_file(file).read_all()["id"][int(rows["id"].duplicated().argmax())].as_py()
        raise TableError(f"the id {key!r} appears twice in the examples; give one of them another")
    document_of = pd.factorize(rows["document_id"])[0]  # documents numbered by their first rows
    # A document is read once, so its cost counts with the first of its summaries.
    costs = rows["summary"] + rows["document"].mask(rows["document_id"].duplicated(), 0)
    document_costs = np.bincount(document_of, costs)
    # A document's part follows from the cost up to its middle, so rows that are added at the end do not change earlier parts.
    part_of_document = ((document_costs.cumsum() - document_costs / 2) // tokens).astype(np.int32)
    # A document longer than a part leaves gaps in the numbers; ``unique`` closes them.
    part_of = np.unique(part_of_document[document_of], return_inverse=True)[1]
    np.save(folder / _PART_OF, part_of.astype(np.int32))
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
#: The columns of a part's file; the claims follow them.
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


#: The sums of a part: rows, unscored, score, claims, unparsed, calls, tokens, cost (in the currency of the model's prices),
#: seconds (of one worker), and after ``WHY`` how often each reason for having no score occurs. ``update`` adds.
Counts = Counter[str]
WHY = "unscored: "


@dataclass(frozen=True)
class Job:
    """All that is the same for every part, in values that can be sent to a worker.

    Attributes:
        folder: the folder of the parts' scores, with their examples in ``EXAMPLES``.
        metric: the metric's name.
        spec: the metric.
        entry: the model's entry in params.yaml.
        scorer: the model's name.
        made_by: what made the scores (``user_file.score.made_by``), for the record.
    """

    folder: Path
    metric: str
    spec: MetricSpec
    entry: Mapping[str, Any]
    scorer: str
    made_by: Mapping[str, Any]

    def place(self, part: Part) -> Path:
        """Return the file of a part's scores."""
        return self.folder / f"part-{part.name}.parquet"

    def finished(self, part: Part) -> Counts | None:
        """Return a part's sums if it was scored already, by the same metric and model; otherwise None."""
        try:
            manifest = json.loads(pq.read_metadata(self.place(part)).metadata[_MANIFEST])
        except (FileNotFoundError, KeyError, ValueError, pa.ArrowException):  # no file, or not one of ours
            return None
        return Counts(manifest["counts"]) if manifest["key"] == self._key(part) else None

    def _key(self, part: Part) -> str:
        settings = {name: self.made_by.get(name) for name in ("metric", "prompts", "fingerprint")}
        settings["context"] = self.entry.get("context")  # decides how a document is divided, and which is too long
        return call_key(examples=part.digest, scorer=self.scorer, version=__version__, **settings)

    def write(self, part: Part, table: pa.Table, counts: Counts) -> None:
        """Write a part's scores; the file appears only when it is complete.

        Raises:
            ClaimwiseError: the file cannot be written.
        """
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
    """Score a part, write its file, and return its sums. A part that is finished is not scored again.

    Raises:
        ClaimwiseError: as ``evaluate``, or a language model's call fails after all retries.
    """
    if (earlier := job.finished(part)) is not None:
        return earlier
    examples = read(job.folder / EXAMPLES, part)
    start, before = time.monotonic(), cost.used()
    # Each part has its own file of a language model's calls. If this worker is lost, another one continues from it.
    prompted = isinstance(models.loaded(job.entry), PromptedModel)
    calls = job.folder / CALLS / f"{part.name}.sqlite" if prompted else ":memory:"
    evaluation = evaluate_part(job.metric, job.spec, job.entry, (examples, calls))
    used = cost.used() - before
    scores = evaluation.scores["score"]
    counts = Counts(
        rows=len(scores),
        unscored=int(scores.isna().sum()),
        score=float(scores.sum()),
        claims=len(evaluation.claims),
        unparsed=int(evaluation.scores["n_unparsed"].sum()),
        calls=used.calls,
        tokens=used.prompt_tokens + used.reply_tokens,
        cost=used.cost,
        seconds=time.monotonic() - start,
    )
    reasons = evaluation.scores.loc[scores.isna(), "reason"].value_counts()
    counts.update({WHY + reason: int(count) for reason, count in reasons.items()})
    job.write(part, nested(evaluation, examples, job), counts)
    return counts


def evaluate_part(
    metric: str, spec: MetricSpec, entry: Mapping[str, Any], part: tuple[pd.DataFrame, str | Path]
) -> Evaluation:
    """Evaluate a part, which is given as its examples and the file of its finished calls."""
    examples, file = part
    with closing(ResponseCache(file)) as calls:
        model = models.loaded_with(entry, calls)
        # All in one batch, so that servers stay busy. Finished calls are kept one level below.
        return evaluate(metric, spec, model, examples, batch=len(examples), progress=False)


def nested(evaluation: Evaluation, examples: pd.DataFrame, job: Job) -> pa.Table:
    """Return the scores of a part's examples: a row for each, with its claims and verdicts as a list."""
    claim_band = decisions.of_claims(job.spec, job.entry)
    claims = output.claim_table(evaluation, examples, claim_band)
    claims = claims.assign(sentences=evaluation.judged_claims()["evidence"])
    band = decisions.of_summaries(job.metric, job.spec, job.entry)
    rows = examples.assign(**output.score_table(evaluation.scores, claims, job.scorer).drop(columns="id"))
    rows["verdict"] = decisions.verdicts(rows, band, claims) if band else None
    contradicted = _ALIGNED[-1:] if job.entry.get("contradiction") else []
    columns = _CLAIM + (_ALIGNED if job.spec.verify == Aligner.name else contradicted)
    rows = output.with_claims(rows, claims, [name for name, _ in columns])
    schema = pa.schema([*_COLUMNS, ("claims", pa.list_(pa.struct(columns)))])
    return pa.Table.from_pandas(rows, schema, preserve_index=False)
