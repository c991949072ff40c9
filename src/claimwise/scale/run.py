"""``claimwise score FILE --out FOLDER/``: split the file, score unfinished parts (here or by Dask), print a summary."""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import typer
from pyarrow.dataset import dataset

from claimwise import models, paths
from claimwise.corpora.user import read_in_steps
from claimwise.corpora.user_rows import FOLDER_RECORD, STDIN
from claimwise.errors import ClaimwiseError, counted
from claimwise.metrics import Evaluation, MetricSpec, estimate, own_claims
from claimwise.metrics.claims import GIVEN, decomposer, on_record
from claimwise.models import cost
from claimwise.models.cache import ResponseCache
from claimwise.params import Engine
from claimwise.progress import bar
from claimwise.scale.parts import (
    CALLS,
    EXAMPLES,
    PART_TOKENS,
    WHY,
    Counts,
    Job,
    Part,
    evaluate_part,
    read,
    score_part,
    split,
)
from claimwise.user_file import output
from claimwise.user_file.score import advice, chosen, examples_in, made_by
from claimwise.user_file.warnings import warnings

_WINDOW = 100_000  # rows in memory at once while parts are merged
_DOCUMENTS = 20  # documents of a part of a table that is in memory


def parse_shard(text: str) -> tuple[int, int]:
    """Read a share of the parts from the command line.

    Raises:
        ClaimwiseError: the text is not a share.

    >>> parse_shard("2/5")
    (2, 5)
    """
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
    share, shares = map(int, match.groups()) if match else (0, 0)
    if not 1 <= share <= shares:
        raise ClaimwiseError(f"--shard: expected I/N with I from 1 to N, as in 2/5, got {text!r}")
    return share, shares


def score_folder(
    files: Sequence[Path],
    metric: str,
    model: str | None,
    out: Path,
    params: Path,
    *,
    engine: Engine | None = None,
    shard: tuple[int, int] = (1, 1),
    part_tokens: int = PART_TOKENS,
    dry_run: bool = False,
    prompt: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Score files of any size into a folder of parquet files, one for each part. Finished parts are not scored again.

    Arguments are those of ``user_file.score.score``, except that ``out`` is a folder, ``engine`` scores the parts (None:
    this process), and ``part_tokens`` is the size of a part (see ``split``). With ``shard`` (i, n), only the i-th (from 1)
    of n nearly equal shares of the parts is scored, for job arrays.

    Raises:
        ClaimwiseError: a file, the metric or the model is wrong, the folder holds something else, or a part failed.
    """
    if STDIN in files:
        raise ClaimwiseError("the standard input is read once, and a folder of scores takes two readings; name a file")
    prompt = [str(Path(name).resolve()) if Path(name).is_file() else name for name in prompt]  # workers start elsewhere
    spec, entry, scorer, _ = chosen(metric, model, params, prompt, options or {})
    files = examples_in(files)
    asks = {
        "files": [str(file.resolve()) for file in files],
        "columns": dict(columns or {}),
        "metric": metric,
        "scorer": scorer,
        "part_tokens": part_tokens,
    }
    _take(out, asks)

    origin = [asks["files"], [[file.stat().st_size, file.stat().st_mtime_ns] for file in files], asks["columns"]]
    examples = out / EXAMPLES
    parts = split(_rows(files, columns), origin, examples, part_tokens)
    if parts[0].claims:
        spec = own_claims(metric, spec, prompt)
    elif on_record(spec.decompose):
        decomposer(spec.decompose, models.loaded(entry))(read(examples, parts[0]))  # raises: no claims are on record
    made = made_by(metric, spec, entry if scorer else None, models.loaded(entry))
    job = Job(out, metric, spec, entry, scorer, made)
    waiting = {part for part in parts if job.finished(part) is None}
    ours = [part for part in parts[shard[0] - 1 :: shard[1]] if part in waiting]
    if waiting:
        output.write_record({"asked": asks}, out / FOLDER_RECORD)  # without counts: the folder is not finished
    if ours and scorer:
        for warning in warnings(entry.get("kind"), read(examples, ours[0]), prompt):
            typer.echo(f"warning: {warning}", err=True)
    if len(waiting) < len(parts):
        typer.echo(f"{out}: {len(parts) - len(waiting)} of {len(parts)} parts are finished already", err=True)
    if dry_run:
        tables = (read(examples, part) for part in ours)
        forecast = cost.forecast(estimate(spec, models.loaded(entry), ((rows, None) for rows in tables)))
        size = f"{counted(len(ours), 'part')} of {counted(sum(part.rows for part in ours), 'summary')}"
        typer.echo(f"{size}: {forecast}. Nothing was asked.")
        return
    _score_parts(job, ours, engine or Engine())
    _end(job, parts, asks)


def evaluate_in_parts(
    name: str,
    spec: MetricSpec,
    entry: Mapping[str, Any],
    examples: pd.DataFrame,
    recorded: pd.DataFrame,
    cache: Path,
    folder: Path,
    engine: Engine,
) -> Evaluation:
    """Evaluate a table as ``metrics.evaluate`` does, by the workers of an engine.

    Workers on this machine share the file of finished calls. Those of a scheduler may be elsewhere: each part has a file of
    its own, whose calls are added to the shared one at the end.

    Args:
        name: the metric's name.
        spec: the metric.
        entry: the model's entry in params.yaml.
        examples: the table.
        recorded: the claims on record, for metrics that use them.
        cache: the file of finished calls, which has the entry's recorded ones already.
        folder: for the files of the parts, with a scheduler.
        engine: the engine.

    Raises:
        ClaimwiseError: as ``evaluate``, or a part failed; run again to go on.
    """
    if on_record(spec.decompose):
        decompositions = decomposer(spec.decompose, models.loaded(entry), recorded)(examples)
        examples = examples.assign(claims=[[claim.text for claim in one.claims] for one in decompositions])
        spec = spec.model_copy(update={"decompose": GIVEN})
    part_of = examples.groupby("document_id", sort=False).ngroup() // _DOCUMENTS
    apart = engine.scheduler is not None
    if not apart:  # else each part would read the recorded calls into the shared file again
        entry = {option: value for option, value in entry.items() if option != "recorded"}
    parts = {
        f"{number:05}": (rows, folder / f"{number:05}.sqlite" if apart else cache)
        for number, rows in examples.groupby(part_of)
    }
    results = _run(partial(evaluate_part, name, spec, entry), parts, entry, engine)
    evaluations = []
    with closing(results), bar(len(examples), name, "summary") as done:
        for evaluation in results:
            evaluations.append(evaluation)
            done.update(len(evaluation.scores))
    if apart:
        with closing(ResponseCache(cache)) as calls:
            for _, file in parts.values():
                calls.add(file)
        shutil.rmtree(folder)
    return Evaluation.joined(evaluations, examples["id"])


def _score_parts(job: Job, parts: Sequence[Part], engine: Engine) -> None:
    """Score the parts, with a progress bar that shows summaries, claims, tokens and cost."""
    total = Counts()
    job = replace(job, folder=job.folder.resolve())  # workers may have another working directory
    results = _run(partial(score_part, job), {part.name: part for part in parts}, job.entry, engine)
    with closing(results), bar(sum(part.rows for part in parts), job.metric, "summary") as done:
        for counts in results:
            total.update(counts)
            done.set_postfix_str(_sums(total), refresh=False)
            done.update(counts["rows"])


def _run(work: Callable[[Any], Any], parts: Mapping[str, Any], entry: Mapping[str, Any], engine: Engine) -> Iterator:
    """Run ``work`` on every part, and yield the results in any order; ``entry`` is the model that it uses."""
    if engine.kind == "here" or not parts:
        yield from map(work, parts.values())
        return
    try:
        from claimwise.scale import dask_engine
    except ImportError as error:
        raise ClaimwiseError(
            f"the engine dask needs the packages of the extra `dask` ({error}): pip install 'claimwise[dask]'"
        ) from None
    yield from dask_engine.run(work, parts, entry, engine)


def _sums(counts: Counts) -> str:
    """Return the number of claims, and the tokens and the cost if there are any.

    >>> _sums(Counts(claims=3, tokens=900, cost=0.5)), _sums(Counts())
    ('3 claims, 900 tokens, cost 0.50', '0 claims')
    """
    tokens = f", {counts['tokens']} tokens" if counts["tokens"] else ""
    price = f", cost {counts['cost']:.2f}" if counts["cost"] else ""
    return f"{counted(counts['claims'], 'claim')}{tokens}{price}"


def _rows(files: Sequence[Path], columns: Mapping[str, str] | None) -> Iterator[pd.DataFrame]:
    """Yield the files' examples in steps, for ``split``."""
    for number, step in enumerate(read_in_steps(files, columns)):
        for hint in step.hints if number == 0 else ():
            typer.echo(hint, err=True)
        yield step.examples if "claims" in step.examples else step.examples.assign(claims=None)


def _take(folder: Path, asks: Mapping[str, Any]) -> None:
    """Make the folder, or continue with it if an earlier run made it for the same scores.

    Raises:
        ClaimwiseError: it is a file, or holds other files or the scores of another run. Nothing is changed.
    """
    if folder.is_file():
        raise ClaimwiseError(f"{folder} is a file; name a folder, or leave out the slash at the end of --out")
    # Only a record: an earlier run could not read its examples, or another shard is starting just now.
    if folder.is_dir() and any(path.name != FOLDER_RECORD for path in folder.glob("[!.]*")):
        record = _record(folder)
        if record is None:
            raise ClaimwiseError(f"{folder} holds other files; name a new folder for the scores")
        earlier = record["asked"]
        if other := [name for name in asks if earlier.get(name) != asks[name]]:
            raise ClaimwiseError(
                f"{folder} holds scores of another run: its {other[0]} {earlier.get(other[0])!r}, here "
                f"{asks[other[0]]!r}; name another folder for --out, or delete that one"
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    output.write_record({"asked": asks}, folder / FOLDER_RECORD)  # first, so that the folder is marked as ours


def _end(job: Job, parts: Sequence[Part], asks: Mapping[str, Any]) -> None:
    """Print a summary of the scores; if all parts are finished, write the record and delete what is no longer needed.

    Raises:
        ClaimwiseError: no summary has a score.
    """
    part_counts = [job.finished(part) for part in parts]
    if None in part_counts:
        typer.echo(
            f"{job.folder}: {len(parts) - part_counts.count(None)} of {len(parts)} parts are finished; the others are scored by "
            "other shards, or by this command once more"
        )
        return
    total = Counts()
    for counts in part_counts:
        total.update(counts)
    for name in (EXAMPLES, CALLS):
        shutil.rmtree(job.folder / name, ignore_errors=True)
    # Files of workers that were killed while writing, and of parts that the examples no longer have.
    for old in {*job.folder.glob(".*.parquet"), *job.folder.glob("part-*.parquet")} - set(map(job.place, parts)):
        old.unlink(missing_ok=True)
    record = {"asked": asks, "made_by": job.made_by, "parts": len(parts), "counts": total}
    output.write_record(record, job.folder / FOLDER_RECORD)
    scored = total["rows"] - total["unscored"]
    mean = f"mean {total['score'] / scored:.3f}, " if scored else ""
    by = f" by model {job.scorer}" if job.scorer else ""
    typer.echo(
        f"{job.folder}: {counted(total['rows'], 'summary')}{by} in {counted(len(parts), 'part')}, {mean}"
        f"{total['unscored']} without a score, {_sums(total)}, {total['unparsed']} unparsed"
    )
    reasons = {key.removeprefix(WHY): count for key, count in total.most_common() if key.startswith(WHY)}
    for reason, count in reasons.items():
        typer.echo(f"  {count} x {reason}")
    if not scored:
        files = Path(asks["files"][0] if len(asks["files"]) == 1 else "the files")
        raise ClaimwiseError(
            f"{job.folder}: none of {total['rows']} summaries could be scored, for the reasons above; "
            f"{advice(list(reasons), files, job.spec)}"
        )


def merge(folder: Path, out: Path) -> int:
    """Write the parts of a finished run as one file, in the order of the examples, and a record beside it.

    Args:
        folder: the folder that ``score_folder`` wrote.
        out: a .parquet file, written some rows at a time; or a .csv (without claims) or .jsonl, made in memory.

    Returns:
        The number of rows.

    Raises:
        ClaimwiseError: the folder holds no scores, or not all of them yet; or the file's name has another ending, or is
            that of a part or of the examples.
    """
    record = _record(folder)
    if record is None:
        raise ClaimwiseError(f"{folder} holds no scores; expected the folder of `claimwise score --out`")
    files = sorted(folder.glob("part-*.parquet"))
    if len(files) != record.get("parts"):
        raise ClaimwiseError(
            f"{folder} is not finished ({len(files)} parts are there); run the same command or shards again"
        )
    asked, rows = record["asked"], record["counts"]["rows"]
    own = dict.fromkeys([*files, folder / FOLDER_RECORD], "a part of the run")
    output.check(dict.fromkeys(map(Path, asked["files"]), "the examples") | own, out)
    tables = _in_order(files, rows)
    form = output.form(out)
    if form == "parquet":
        schema = pq.read_schema(files[0]).remove_metadata()
        with paths.whole(out) as new, pq.ParquetWriter(new, schema, compression="zstd") as writer:
            for table in tables:
                writer.write_table(table)
    else:
        dropped = ["row"] if form == "jsonl" else ["row", "claims"]
        cells = [row for table in tables for row in table.drop_columns(dropped).to_pylist()]
        output.write(pd.DataFrame(cells, dtype=object if form == "jsonl" else None), out)
    if (record_file := output.record_beside(out)) is not None:
        merged = {
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "files": dict.fromkeys(asked["files"]),
            "columns": asked["columns"],
            "examples": rows,
        }
        output.write_record(record["made_by"] | merged, record_file)
    return rows


def _record(folder: Path) -> dict[str, Any] | None:
    """Return the record of a folder of scores, or None if it has no readable one."""
    try:
        return json.loads((folder / FOLDER_RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _in_order(files: Sequence[Path], count: int) -> Iterator[pa.Table]:
    """Yield tables of the parts' rows in the order of the examples, ``_WINDOW`` rows at a time."""
    parts = dataset(files)
    for start in range(0, count, _WINDOW):
        span = (pc.field("row") >= start) & (pc.field("row") < start + _WINDOW)
        yield parts.to_table(filter=span).replace_schema_metadata(None).sort_by("row")
