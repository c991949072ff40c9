"""One part scored: its examples in, one parquet file out, with what made it; the same in every engine.

A row is an example with its score and, nested, its claims and verdicts. A file takes its place under its name at once,
so that one that is there is whole, and its manifest says whether what it holds is what would be asked now.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

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
from claimwise.scale.split import Part, read
from claimwise.user_file import decisions, output

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
    ("n_claims", pa.int64()),
    ("n_unparsed", pa.int64()),
    ("reason", _TEXT),
    ("verdict", _TEXT),
]


#: What scoring took and gave: rows, unscored, score (the sum), claims, unparsed, calls, tokens, cost (in the currency of the
#: model's prices), seconds (of one worker). ``update`` adds.
Counts = Counter[str]


@dataclass(frozen=True)
class Job:
    """What every part is asked, in values that can be sent to a worker.

    Attributes:
        folder: where the parts' scores go.
        examples: where the parts' examples are (``split``).
        metric: its name.
        spec: what it is made of.
        entry: of the model, as in params.yaml.
        scorer: what the model is called.
        made_by: what the scores are traced by (``user_file.score.made_by``).
    """

    folder: Path
    examples: Path
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
        return call_key(examples=part.digest, scorer=self.scorer, version=__version__, **decides)

    def calls(self, part: Part) -> Path:
        """The file of a part's finished calls, while it is under way: no two processes write to the same one."""
        return self.folder / "_calls" / f"{part.name}.sqlite"

    def write(self, part: Part, table: pa.Table, counts: Counts) -> None:
        """Put a part's scores into their place, all at once."""
        manifest = {"key": self._key(part), "part": asdict(part), "counts": counts, "made_by": self.made_by}
        new = self.folder / f".{part.name}.{uuid4().hex}.parquet"
        try:
            pq.write_table(table.replace_schema_metadata({_MANIFEST: json.dumps(manifest)}), new, compression="zstd")
            new.replace(self.place(part))
        except OSError as error:
            raise ClaimwiseError(
                f"{self.place(part)}: the scores cannot be written ({first_line(error)}); make room, and run again: "
                "finished parts are kept"
            ) from None
        finally:
            new.unlink(missing_ok=True)


def score_part(job: Job, part: Part) -> Counts:
    """Score a part and write its file; of a part that is finished only say what it gave.

    Raises:
        ClaimwiseError: as ``evaluate``, or what a language model is asked fails after all retries.
    """
    if (earlier := job.finished(part)) is not None:
        return earlier
    examples = read(job.examples, part)
    start, before = time.monotonic(), cost.used()
    # A language model's calls are kept in a file, which another worker finds if this one is lost.
    calls = job.calls(part) if isinstance(models.loaded(job.entry), PromptedModel) else ":memory:"
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
    job.write(part, nested(found, examples, job), counts)
    for file in job.calls(part).parent.glob(f"{part.name}.sqlite*"):
        file.unlink(missing_ok=True)
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
        return evaluate(
            metric, spec, model, examples, recorded=own_claims(examples), batch=len(examples), progress=False
        )


def own_claims(examples: pd.DataFrame) -> dict[str, Sequence[str]]:
    """Claims that a part's examples have already, by example; there may be none."""
    return examples.set_index("id")["claims"].dropna().to_dict()


def nested(found: Evaluation, examples: pd.DataFrame, job: Job) -> pa.Table:
    """Scores of a part's examples, one row each, with their claims and verdicts."""
    claim_band = decisions.of_claims(job.spec, job.entry)
    claims = output.claim_table(found, examples, claim_band)
    claims = claims.assign(sentences=found.judged_claims()["evidence"])
    band = decisions.of_summaries(job.metric, job.spec, job.entry)
    scores = found.scores.drop(columns=["example_id", "metric"])
    scores = examples.drop(columns=["document", "summary", "claims"]).assign(
        metric=job.metric,
        scorer=job.scorer,
        **scores,
        verdict=decisions.verdicts(examples.assign(score=scores["score"]), band, claims, claim_band) if band else None,
    )
    columns = _CLAIM + (_ALIGNED if job.spec.verify == Aligner.name else [])
    rows = output.with_claims(scores, claims, [name for name, _ in columns])
    schema = pa.schema([*_COLUMNS, ("claims", pa.list_(pa.struct(columns)))])
    return pa.Table.from_pandas(rows, schema, preserve_index=False)
