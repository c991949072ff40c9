"""``claimwise score``: a metric over a user's own file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import typer

from claimwise import models, pages, settings, statistics, text
from claimwise.asking import Asking
from claimwise.corpora import ExamplesError, read_file
from claimwise.corpora.user_rows import stem
from claimwise.errors import ClaimwiseError
from claimwise.metrics import ALIGNMENT_COLUMNS, DEFAULT_METRICS, Evaluation, evaluate, specification

_COLUMNS = ("id", "metric", "score", "n_claims", "n_unparsed", "reason")


class OutputError(ClaimwiseError):
    """A result would be written over the examples or over another result; said before anything is asked."""


def score(
    file: Path,
    metric: str,
    model: str | None,
    out: Path | None,
    claims: Path | None,
    page: Path | None,
    params: Path,
    *,
    dry_run: bool = False,
) -> pd.DataFrame | None:
    """Score every example of a file and write the csv; returns what was written.

    Args:
        file: examples with id, document, summary and, where there are any, label, system.
        metric: a metric of the settings.
        model: a model of the settings; the one that they choose, if not given.
        out: the csv of scores, and after them the file's columns that claimwise has no use for, as they stood; if not
            given, beside the file, named after it and the metric.
        claims: where to write every claim with its support and evidence, if anywhere.
        page: where to write a page of HTML to read claims and evidence on, if anywhere.
        params: the settings file; where it is not there, the metrics of the sample run with the models that need none
            (embedded, lexical).
        dry_run: only say what would be asked of the model; None is returned.

    Raises:
        ClaimwiseError: the file, the metric, the model or a name to write to is wrong; nothing is asked or written.
    """
    out = out or file.with_name(f"{stem(file)}.{metric}.csv")
    _check_outputs(file, out, claims, page)
    metrics, entries, chosen, cache = _settings(params)
    spec = specification(metric, metrics)
    model = model or chosen
    if model not in entries:
        place = f"{params} has" if params.is_file() else f"there is no {params}, and without one there are"
        raise models.ModelError(f"unknown model {model!r}; {place}: {', '.join(entries)}")
    found = read_file(file)
    examples = found.examples
    if twice := [name for name in found.carried if name in _COLUMNS]:
        raise ExamplesError(f"{file}: column {twice[0]!r} would stand twice in {out}; rename it in {file}")
    for hint in found.hints:
        typer.echo(hint, err=True)
    engine = models.load(entries[model], cache)
    asking = Asking(metric, spec, engine, entries, model, cache)
    if dry_run:
        typer.echo(asking.forecast([(examples, None)]))
        return None
    with asking.watched("score", [(examples, None)]) as progress:
        evaluation = evaluate(metric, spec, engine, examples, progress=progress)
    scores = evaluation.scores.rename(columns={"example_id": "id"})[list(_COLUMNS)]
    _write(pd.concat([scores, found.carried], axis=1), out)
    if claims is not None:
        _write(claim_report(evaluation, examples), claims)
        if spec.judge:
            typer.echo(f"{claims}: empty, for {metric} judges whole summaries and makes no claims", err=True)
    if page is not None:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(
            pages.render(evaluation, examples, metric=metric, model=model, source=file.name), encoding="utf-8"
        )
    _tell(scores, examples, model, out)
    return scores


def _write(table: pd.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, float_format="%.6g")


def _check_outputs(file: Path, out: Path, claims: Path | None, page: Path | None) -> None:
    taken = {file.resolve(): "the examples"}
    for path, what in ((out, "the scores"), (claims, "the claims"), (page, "the page")):
        if path is None:
            continue
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; name a file to write")
        if other := taken.get(path.resolve()):
            raise OutputError(f"{path}: {what} would be written over {other}; name another file for {what}")
        taken[path.resolve()] = what


def _settings(params: Path) -> tuple[dict, dict, str, Path]:
    cache = settings.cache_file(params)
    if params.is_file():
        read = settings.read(params)
        return read.metrics, read.models, read.model, cache
    return DEFAULT_METRICS, {kind: {"kind": kind} for kind in ("embedded", "lexical")}, "embedded", cache


def claim_report(evaluation: Evaluation, examples: pd.DataFrame) -> pd.DataFrame:
    """Every claim with its support and the document's sentences it was checked against, best first."""
    documents = examples.set_index("id")["document"]
    rows = evaluation.judged_claims()
    evidence = [
        " | ".join(text.sentences(documents[key])[i].text for i in indices)
        for key, indices in zip(rows["example_id"], rows["evidence"], strict=True)
    ]
    columns = ["example_id", "claim_index", "claim", "support", "reason", "start", "end"]
    columns += [column for column in ALIGNMENT_COLUMNS if column in rows]
    return rows[columns].assign(evidence=evidence).rename(columns={"example_id": "id"})


def _tell(scores: pd.DataFrame, examples: pd.DataFrame, model: str, out: Path) -> None:
    scored = scores["score"].notna()
    mean = f"mean {scores['score'].mean():.3f}, " if scored.any() else ""
    typer.echo(f"{out}: {len(scores)} summaries by model {model}, {mean}{(~scored).sum()} without a score")
    for reason, count in scores.loc[~scored, "reason"].value_counts().items():
        typer.echo(f"  {count} x {reason}")
    both = scored & examples["label"].notna()
    labels = examples.loc[both, "label"]
    if labels.nunique() == 2:
        area = statistics.auc(labels, scores.loc[both, "score"])
        over = "" if both.equals(scored) else f" over the {both.sum()} summaries that have a label and a score"
        typer.echo(f"  AUC against your labels{over}: {area:.3f} (tune a threshold on other rows than you report)")
