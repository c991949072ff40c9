"""``claimwise score``: read a user's file, evaluate a metric on it, write the scores, and print a summary of them."""

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pooch
import typer

from claimwise import models, paths, prompts
from claimwise.corpora.user import read_files
from claimwise.corpora.user_rows import RECORD, STDIN, STDIN_NAME, expanded, results_of, stem
from claimwise.errors import ClaimwiseError, check_score, counted, near
from claimwise.hub import HUB, fetched
from claimwise.metrics import MetricSpec, check_part, estimate, evaluate, own_claims, specification
from claimwise.metrics.judge import WordOverlap
from claimwise.models import cost
from claimwise.models.base import Model
from claimwise.models.cache import CacheError, call_key
from claimwise.models.options import LANGUAGE_MODELS
from claimwise.reasons import NOT_ASKED, Reason
from claimwise.schema import TableError
from claimwise.user_file import decisions, output
from claimwise.user_file.page import render
from claimwise.user_file.warnings import warnings
from claimwise.user_settings import DEFAULT_MODEL, UserSettings, anothers, default_cache, read_settings

#: Reasons that only other texts in the file can change.
_OF_THE_FILE = NOT_ASKED - {Reason.TOO_LONG, Reason.NO_REASONING, Reason.NO_EXAMPLES}
_SHORTER = "acueval-decompose-0shot"  # without demonstrations, which are most of a prompt


def score(
    files: Sequence[Path],
    metric: str,
    model: str | None,
    out: Path | None,
    claims: Path | None,
    page: Path | None,
    params: Path,
    *,
    dry_run: bool = False,
    threshold: float | None = None,
    prompt: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    options: Mapping[str, Any] | None = None,
    safe_csv: bool = False,
) -> pd.DataFrame | None:
    """Score every example and write the scores; returns them without the file's other columns, or None after a dry run.

    The arguments are the options of ``claimwise score`` (see ``--help`` and docs/usage.md), except for ``columns`` (see
    ``user.read_files``) and ``options``, which replace options of the model: ``base_url``, and ``model``, its name there.

    The file's other columns follow the scores. With a threshold, given or tuned on labelled validation rows
    (``decisions.tuned``), there is a column ``faithful`` (1 or 0); without one there is ``verdict``, if the model has bounds. A record
    of what made the scores is written beside them.

    Raises:
        ClaimwiseError: the file, the metric, the model or a place to write to is wrong: then nothing is asked or written. Or
            no summary has a score: then everything is written all the same.
    """
    if threshold is not None:
        check_score("threshold", threshold)
    spec, entry, asked, cache = chosen(metric, model, params, prompt, options or {})
    file = _called(files)
    if out is None and file == STDIN:
        out = output.STDOUT
    others = [*([asked] if asked not in ("", DEFAULT_MODEL) else []), *prompt]
    # a trial must not take the place of the whole file's scores
    out = out or output.beside(file, metric, [*others, *([f"first-{limit}"] if limit else [])])
    say = partial(typer.echo, err=output.STDOUT in (out, claims))
    read = examples_in(files)

    found = read_files(read, columns)
    # Now: at the end, perhaps hours later, a file may be another. Of a pipe there is nothing to read again.
    hashes = {str(path): pooch.file_hash(path) if path.is_file() and path != STDIN else None for path in read}
    file = Path(STDIN_NAME) if file == STDIN else file
    examples, carried = found.examples[:limit], found.carried[:limit]
    nested = output.form(out) == "jsonl"
    with_claims = "claims" in examples
    if with_claims:
        spec = own_claims(metric, spec, prompt)
        if claims is None and not nested and out != output.STDOUT:
            claims = out.with_name(f"{stem(out)}.claims.csv")
    taken = dict.fromkeys(read, "the examples") | {cache: "the finished calls", params: "the settings"}
    output.check(taken, out, claims, page)
    if safe_csv and claims is None and output.form(out) != "csv":
        raise ClaimwiseError(f"--safe-csv is for csv, which spreadsheets open, and {out} is none; leave it out")
    if len(examples) < len(found.examples):
        say(f"{file}: only the first {len(examples)} of {len(found.examples)} rows (--limit)")
    band = decisions.of_summaries(metric, spec, entry) if threshold is None else None
    claim_band = decisions.of_claims(spec, entry)
    ours = [
        *output.SCORE_COLUMNS,
        decisions.DECISION,
        *([decisions.VERDICT] if band else []),
        *(["claims"] if nested else []),
    ]
    if twice := [name for name in carried if name in ours]:
        raise TableError(f"{file}: column {twice[0]!r} would appear twice in {out}; rename it in {file}")
    doubts = warnings(entry.get("kind"), examples, prompt) if asked and not dry_run else ()
    for line in (*found.hints, *(f"warning: {doubt}" for doubt in doubts)):
        typer.echo(line, err=True)

    try:
        engine = models.load(entry, cache)
    except CacheError as error:  # a home may be read-only, as in a container
        if cache != default_cache() or (asked and entry["kind"] in LANGUAGE_MODELS):
            raise
        typer.echo(f"warning: finished calls are not kept. {error}", err=True)
        engine = models.load(entry)
    estimated = estimate(spec, engine, [(examples, None)])
    if dry_run:
        typer.echo(f"{cost.forecast(estimated)}. Nothing was asked.")
        return None
    with cost.watched(metric, engine, estimated) as progress:
        evaluation = evaluate(metric, spec, engine, examples, progress=progress)

    judged = output.claim_table(evaluation, examples, claim_band)
    scores = output.score_table(evaluation.scores, judged, asked)
    rows = examples.assign(score=scores["score"])
    cut, why_none = (threshold, "") if threshold is not None else decisions.tuned(rows, list(carried))
    band = band if cut is None else None
    called = None
    if cut is not None:
        scores[decisions.DECISION] = (scores["score"] > cut).astype("Int64").mask(scores["score"].isna())
        called = scores[decisions.DECISION].map({1: decisions.YES, 0: decisions.NO}).fillna("").tolist()
    if band:
        called = decisions.verdicts(rows, band, judged)
        scores[decisions.VERDICT] = called
    written = pd.concat([scores, carried], axis=1)
    output.write(output.with_claims(written, judged) if nested else written, out, safe_csv)
    record = output.record_beside(out, claims, page)
    if record is not None:
        others = {claims, page, *filter(Path.is_file, results_of(record))} - {None, output.STDOUT, out, record}
        made = {
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "python": platform.python_version(),
            "files": hashes,
            "columns": dict(columns or {}),
            "limit": limit,
            "examples": len(scores),
            "threshold": cut,
            "beside": sorted(
                {os.path.relpath(path.parent.resolve() / path.name, record.parent.resolve()) for path in others}
            ),
        }
        output.write_record(made_by(metric, spec, entry if asked else None, engine) | made, record)
    if claims is not None:
        output.write(output.claim_report(judged), claims, safe_csv)
        if spec.judge:
            typer.echo(f"{claims}: empty, for {metric} judges whole summaries and makes no claims", err=True)
    if page is not None:
        with paths.whole(page) as new:
            html = render(
                evaluation.scores,
                judged,
                examples,
                called,
                metric=metric,
                model=asked,
                source=file.name,
                threshold=cut,
                band=band,
                claim_band=claim_band,
                own_claims=with_claims,
                marker=engine if getattr(engine, "words_measured", "") else None,
            )
            new.write_text(html, encoding="utf-8")

    beside = [path for path in (claims, page, record) if path is not None and path.is_file()]
    shown = file if out == output.STDOUT else out
    unscored = scores.loc[scores["score"].isna(), "reason"].value_counts()
    doubtful = scores.loc[scores["score"].notna(), "reason"].value_counts()
    mean = f"mean {scores['score'].mean():.3f}, " if len(scores) > unscored.sum() else ""
    by = f" by model {asked}" if asked else ""
    what, several = ("row", "rows") if with_claims else ("summary", "summaries")
    say(f"{shown}: {counted(len(scores), what)}{by}, {mean}{unscored.sum()} without a score")
    decided = why_none if cut is None else decisions.report(rows, cut, tuned=threshold is None)
    said = scores.dropna(subset="score") if band else scores[:0]
    for line in (
        *(f"  {count} x {reason}" for reason, count in unscored.items()),
        *(f"  {count} scored, but: {reason}" for reason, count in doubtful.items()),
        *decisions.by_system(rows),
        *decisions.ranking(rows),
        *([decided] if decided else []),
        *([decisions.band_report(said[decisions.VERDICT], said["score"], band)] if len(said) else []),
        *([decisions.NO_BOUNDS] if asked and not band and not decided else []),
        *(decisions.claim_report(claim_band) if len(judged) and (claims or page or nested) else []),
        *([f"  also written: {', '.join(map(str, beside))}"] if beside else []),
    ):
        say(line)
    if unscored.sum() == len(scores):
        raise ClaimwiseError(
            f"{shown}: none of {len(scores)} {several} could be scored, for the reasons above; "
            f"{advice(unscored.index, file, spec)}"
        )
    return scores


def examples_in(files: Sequence[Path]) -> list[Path]:
    """The files of examples among the given files and folders. It prints what a folder has, and what is left out.

    Raises:
        OSError, TableError: see ``user_rows.expanded``; ClaimwiseError: see ``hub.fetched``.
    """
    found, results = expanded([fetched(path) for path in files])
    if results:
        said = ", ".join(map(str, results))
        typer.echo(f"left out, results of earlier runs by their records (*{RECORD}): {said}", err=True)
    if len(found) > len(files) or results:
        typer.echo(f"{counted(len(found), 'file')}: {', '.join(map(str, found))}", err=True)
    return found


def chosen(
    metric: str, model: str | None, params: Path, prompt: Sequence[str], options: Mapping[str, Any]
) -> tuple[MetricSpec, Mapping[str, Any], str, Path]:
    """What the command line chose; for arguments and errors see ``score``.

    Returns:
        The metric's specification, the model's entry, the model's name (empty if the metric needs none), and the file of
        finished calls.
    """
    if model is None and "model" in options and "base_url" not in options:
        # With a vendor's server as the default, documents would go there unasked.
        raise models.ModelError(
            f"--name {options['model']} needs --model: transformers (a checkpoint), openai (a model of a server), or an entry of "
            "`models`"
        )
    settings = read_settings(params)
    spec = _specification(metric, settings.metrics, prompt)
    model = model or ("openai" if options else spec.model or settings.model)
    entry = _entry(model, settings, params, options)
    check_part(metric, spec, entry)
    scorer = "" if spec.judge == WordOverlap.name else str(options.get("model", model))
    return spec, entry, scorer, settings.cache


def made_by(metric: str, spec: MetricSpec, entry: Mapping[str, Any] | None, engine: Model) -> dict[str, Any]:
    """The record of what made the scores. Addresses and further fields of requests may hold a key and are left out."""
    found = {
        "metric": {"name": metric} | spec.model_dump(exclude_none=True),
        "prompts": {name: _prompt_key(prompts.load(name)) for name in spec.prompt_names.values()},
        "versions": models.versions(),
    }
    if entry is None:
        return found
    options = {key: value for key, value in entry.items() if key not in ("base_url", "extra_body")}
    return found | {"model": models.describe(entry), "options": options, "fingerprint": engine.fingerprint}


def _prompt_key(prompt: prompts.Prompt) -> str:
    """A hash of all that a prompt says, also in a second question."""
    second = {"begin": prompt.begin, "conclude": prompt.conclude}
    return call_key(prompt=prompt.fingerprint, **second) if any(second.values()) else prompt.fingerprint


def _called(files: Sequence[Path]) -> Path:
    """The name of the examples in messages and results: the file, the folder, or ``scores`` for several."""
    if len(files) > 1:
        return Path("scores")
    if files[0].as_posix().startswith(HUB):  # the result stands here, not in the hub's cache
        return Path(files[0].name)
    # the working folder has no name of its own, and its result goes into it, not beside it
    return Path(files[0].resolve().name) if files[0].name in ("", "..") else files[0]


def _entry(model: str, settings: UserSettings, params: Path, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The model's entry of the settings, with the options of the command line."""
    if model in settings.models:
        entry = settings.models[model] | dict(options)
        try:
            models.check(entry)
        except models.ModelError as error:
            place = f"--model {model} with --base-url or --name" if options else f"{params}, models.{model}"
            raise models.ModelError(f"{place}: {error}") from None
        return entry
    if model in ("openai", "transformers"):
        if "model" in options:
            return {"kind": model, **options}
        raise models.ModelError(
            f"--model {model}: say which model with --name (the server's name for it, or the folder or hub id of a "
            f"checkpoint), or make an entry {model!r} of `models` in {params}"
        )
    place = f"{params} has" if params.is_file() else f"there is no {params}, and without one there are"
    hint = "; or --model openai (or transformers) with --name" + (anothers(params) if model == settings.model else "")
    raise models.ModelError(
        f"unknown model {model!r}{near(model, settings.models) or ';'} {place}: {', '.join(settings.models)}{hint}"
    )


def _specification(metric: str, metrics: Mapping[str, Mapping], names: Sequence[str]) -> MetricSpec:
    """The metric's specification, with these prompts in place of its own."""
    spec = specification(metric, metrics)
    if names and spec.judge == WordOverlap.name:
        raise prompts.PromptError(f"metric {metric!r} has no prompt, it counts words; leave out --prompt {names[0]}")
    chosen: dict[str, str] = {}
    for name in names:
        role = prompts.load(name).role
        if role in chosen:
            raise prompts.PromptError(f"--prompt: {chosen[role]} and {name} are both for {role}; give one")
        if getattr(spec, role, None) is None:
            has = [known for known in prompts.ROLES if getattr(spec, known, None) is not None]
            raise prompts.PromptError(
                f"prompt {name!r} is for {role}; metric {metric!r} has {' and '.join(has)}: name a metric that has {role}"
            )
        chosen[role] = name
    return specification(metric, {metric: {**metrics[metric], **chosen}})


def advice(reasons: Sequence[str], file: Path, spec: MetricSpec) -> str:
    """What to do about a file of which nothing could be scored: a remedy for each reason, in order.

    >>> advice([Reason.EMPTY_SUMMARY, Reason.EMPTY_DOCUMENT], Path("mine.csv"), MetricSpec(judge="word-overlap"))
    'correct mine.csv'
    >>> advice([Reason.REFUSAL], Path("mine.csv"), MetricSpec(judge="belugaeval-judge-consistency"))
    'take another prompt (--prompt) or another model (--model)'
    """
    return "; ".join(dict.fromkeys(_remedy(str(reason), file, spec) for reason in reasons))


def _remedy(reason: str, file: Path, spec: MetricSpec) -> str:
    if reason in _OF_THE_FILE:
        return f"correct {file}"
    if reason == Reason.CUT or reason.startswith(Reason.NO_TEXT):  # a server's thoughts may be all it sent
        return "give replies more room, or switch thinking off (docs/models.md, Models that think before they answer)"
    if reason in (Reason.TOO_LONG, Reason.REFUSED_AS_TOO_LONG):
        several = spec.decompose in prompts.names("decompose") and spec.decompose != _SHORTER
        shorter = f"--prompt {_SHORTER}, which has no demonstrations" if several else "--prompt"
        return (
            "the whole prompt, with its instructions and demonstrations, must fit: set the model's `context` in "
            f"params.yaml to all that it has, or take a shorter prompt ({shorter})"
        )
    return "take another prompt (--prompt) or another model (--model)"
