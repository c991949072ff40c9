"""``claimwise score``: a metric over a user's own file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import typer

from claimwise import models, prompts
from claimwise.analysis import statistics
from claimwise.asking import Asking
from claimwise.corpora import read_file
from claimwise.errors import ClaimwiseError, near
from claimwise.metrics import MetricSpec, evaluate, specification
from claimwise.metrics.judge import WordOverlap
from claimwise.schema import TableError
from claimwise.user_file import advice as own_advice
from claimwise.user_file import decisions as deciding
from claimwise.user_file import output as own_output
from claimwise.user_file import page as pages
from claimwise.user_file import settings as own_settings
from claimwise.user_file import warnings as own_warnings

#: Of the model that was asked the name is ``scorer``: a file's own ``model`` is who wrote the summary.
_COLUMNS = ("id", "metric", "scorer", "score", "n_claims", "n_unparsed", "reason")
_SYSTEMS = 20  # systems whose means are shown, the best


class NothingScoredError(ClaimwiseError):
    """A file without a single score: a script that goes on with it must know."""


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
    threshold: float | None = None,
    prompt: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> pd.DataFrame | None:
    """Score every example of a file and write the csv; returns what was written.

    Args:
        file: examples with document, summary and, where there are any, id, label, system; see ``corpora.read_file``.
        metric: a metric of the settings.
        model: a model of the settings; the one that they choose, if not given.
        out: the csv (or JSON lines, with each row's claims, where it ends in .jsonl) of scores, and after them the file's
            columns but id, document and summary, as they stood (one of ``columns`` under the name of its field); if not
            given, beside the file, named after it, the metric and, where they are not the usual ones, the model and the
            prompts.
        claims: where to write every claim with its support and evidence, if anywhere; see ``own_output.claim_report``.
        page: where to write a page of HTML to read claims and evidence on, if anywhere.
        params: the settings file; what it leaves out, or all of it where there is no params.yaml, is as in
            ``own_settings``.
        dry_run: only say what would be asked of the model; None is returned.
        threshold: a summary is ``faithful`` (a further column, 1 or 0) where its score is above it. If not given, the
            one with the best balanced accuracy on the file's labelled rows whose split is one of ``VALIDATION``
            (``deciding.tuned``); without such rows of both labels, or where it is right of them no more often than a
            coin, nothing is decided.
        prompt: prompts, by name or by path, that take the place of the metric's of the same role.
        columns: the column that holds a field, where the file has another name for it: ``{"document": "article"}``.
        limit: score the first so many rows only; all of them are read and checked.

    Raises:
        NothingScoredError: not one of the summaries has a score; all is written all the same.
        ClaimwiseError: the file, the metric, the model or a name to write to is wrong; nothing is asked or written.
    """
    deciding.check(threshold)
    chosen = own_settings.read(params)
    spec = _specification(metric, chosen.metrics, prompt)
    model, entries = model or chosen.model, chosen.models
    if model not in entries:
        place = f"{params} has" if params.is_file() else f"there is no {params}, and without one there are"
        raise models.ModelError(f"unknown model {model!r}{near(model, entries)}; {place}: {', '.join(entries)}")
    asked = "" if spec.judge == WordOverlap.name else model
    usual = asked in ("", own_settings.DEFAULT_MODEL)
    out = out or own_output.beside(file, metric, [*([] if usual else [asked]), *prompt])
    own_output.check(file, out, claims, page)
    found = read_file(file, columns)
    count = len(found.examples)
    examples, carried = found.examples[:limit], found.carried[:limit]
    if len(examples) < count:
        typer.echo(f"{file}: only the first {len(examples)} of {count} rows (--limit)")
    ours = (*_COLUMNS, deciding.DECISION, *(["claims"] if own_output.nests(out) else []))
    if twice := [name for name in carried if name in ours]:
        raise TableError(f"{file}: column {twice[0]!r} would stand twice in {out}; rename it in {file}")
    for hint in found.hints:
        typer.echo(hint, err=True)
    engine = models.load(entries[model], chosen.cache)
    asking = Asking(metric, spec, engine, entries, model, chosen.cache)
    if dry_run:
        typer.echo(asking.forecast([(examples, None)]))
        return None
    for warning in own_warnings.of(entries[model]["kind"], examples, prompt) if asked else ():
        typer.echo(warning, err=True)
    with asking.watched("score", [(examples, None)]) as progress:
        evaluation = evaluate(metric, spec, engine, examples, progress=progress)
    scores = evaluation.scores.rename(columns={"example_id": "id"}).assign(scorer=asked)[list(_COLUMNS)]
    cut = threshold if threshold is not None else deciding.tuned(scores, examples)
    if cut is not None:
        scores[deciding.DECISION] = deciding.decisions(scores["score"], cut)
    written = pd.concat([scores, carried], axis=1)
    own_output.write(own_output.with_claims(written, evaluation, examples) if own_output.nests(out) else written, out)
    if claims is not None:
        own_output.write(own_output.claim_report(evaluation, examples), claims)
        if spec.judge:
            typer.echo(f"{claims}: empty, for {metric} judges whole summaries and makes no claims", err=True)
    if page is not None:
        html = pages.render(evaluation, examples, metric=metric, model=asked, source=file.name, threshold=cut)
        with own_output.whole(page) as new:
            new.write_text(html, encoding="utf-8")
    _tell(scores, examples, f" by model {asked}" if asked else "", out)
    if cut is not None:
        typer.echo(deciding.report(scores, examples, cut, tuned=threshold is None))
    elif lacking := deciding.untuned(scores, examples):
        typer.echo(lacking)
    if scores["score"].isna().all():
        advice = own_advice.of(scores["reason"].value_counts().index, file, spec)
        raise NothingScoredError(
            f"{out}: none of {len(scores)} summaries could be scored, for the reasons above; {advice}"
        )
    return scores


def falls_short(scores: pd.DataFrame, least: float) -> bool:
    """Whether the mean score is below the least that a file must have, and a line on standard error that says so.

    Here a row without a score counts as 0: a file of which nearly nothing could be scored must not pass.
    """
    mean, without = scores["score"].fillna(0).mean(), scores["score"].isna().sum()
    if mean >= least:
        return False
    zeros = f" ({without} without a score, counted as 0)" if without else ""
    typer.echo(f"failed: the mean of {len(scores)} rows{zeros}, {mean:.6g}, is below --fail-under {least:g}", err=True)
    return True


def _specification(metric: str, metrics: Mapping[str, Mapping], names: Sequence[str]) -> MetricSpec:
    """The metric's specification, with these prompts in the place of its own."""
    spec = specification(metric, metrics)
    if names and spec.judge == WordOverlap.name:
        raise prompts.PromptError(f"metric {metric!r} has no prompt, it counts words; leave out --prompt {names[0]}")
    entry, chosen = dict(metrics[metric]), {}
    for name in names:
        role = prompts.load(name).role
        if role in chosen:
            raise prompts.PromptError(f"--prompt: {chosen[role]} and {name} are both for {role}; give one")
        chosen[role] = name
        if getattr(spec, role, None) is None:
            has = [known for known in prompts.ROLES if getattr(spec, known, None) is not None]
            raise prompts.PromptError(
                f"prompt {name!r} is for {role}; metric {metric!r} has {' and '.join(has)}: name a metric that has {role}"
            )
        entry[role] = name
    return specification(metric, {metric: entry})


def _tell(scores: pd.DataFrame, examples: pd.DataFrame, by: str, out: Path) -> None:
    scored = scores["score"].notna()
    mean = f"mean {scores['score'].mean():.3f}, " if scored.any() else ""
    typer.echo(f"{out}: {len(scores)} summaries{by}, {mean}{(~scored).sum()} without a score")
    for reason, count in scores.loc[~scored, "reason"].value_counts().items():
        typer.echo(f"  {count} x {reason}")
    for line in _by_system(scores, examples):
        typer.echo(line)
    both = deciding.labelled(scores, examples)
    labels = examples.loc[both, "label"]
    if labels.nunique() == 2:
        area = statistics.auc(labels, scores.loc[both, "score"])
        over = "" if both.equals(scored) else f" over the {both.sum()} summaries that have a label and a score"
        typer.echo(f"  AUC against your labels{over}: {area:.3f} (tune a threshold on other rows than you report)")


def _by_system(scores: pd.DataFrame, examples: pd.DataFrame) -> list[str]:
    """Each system's mean score, best first, where the file names several."""
    found = []
    for system, rows in examples[scores["score"].notna()].groupby("system"):
        mean = statistics.bootstrap_mean(scores.loc[rows.index, "score"], rows["document_id"].to_numpy())
        several = len(set(rows["document_id"])) > 1  # a bootstrap over one document has no width, and knows nothing
        interval = f"({mean.low:.3f} to {mean.high:.3f})" if several else "(one document: no interval)"
        found.append((mean, f"  {system}: {mean.value:.3f} {interval}, {len(rows)} scored"))
    if len(found) < 2:
        return []
    lines = [line for _, line in sorted(found, key=lambda item: -item[0].value)]
    more = [f"  and {len(lines) - _SYSTEMS} systems more"] if len(lines) > _SYSTEMS else []
    return ["  mean by system (95 % bootstrap over documents):", *lines[:_SYSTEMS], *more]
