"""``claimwise score``: a metric over a user's own file."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import typer

from claimwise import deciding, models, own_settings, pages, prompts, statistics, text
from claimwise.asking import Asking
from claimwise.corpora import ExamplesError, read_file
from claimwise.corpora.user_rows import KINDS, stem
from claimwise.errors import ClaimwiseError
from claimwise.holistic import WordOverlap
from claimwise.metrics import ALIGNMENT_COLUMNS, Evaluation, MetricSpec, evaluate, specification

_COLUMNS = ("id", "metric", "score", "n_claims", "n_unparsed", "reason")
_SYSTEMS = 20  # systems whose means are shown, the best

#: What a csv must not be named: a reader would take it for what its name says.
_TABLES = (*(kind for kind in KINDS if kind != ".csv"), ".xls", ".xlsx")


class OutputError(ClaimwiseError):
    """A result cannot be written, or only over the examples or another result; said before anything is asked."""


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
) -> pd.DataFrame | None:
    """Score every example of a file and write the csv; returns what was written.

    Args:
        file: examples with document, summary and, where there are any, id, label, system; see ``corpora.read_file``.
        metric: a metric of the settings.
        model: a model of the settings; the one that they choose, if not given.
        out: the csv of scores, and after them the file's columns but id, document and summary, as they stood (one of
            ``columns`` under the name of its field); if not given, beside the file, named after it and the metric.
        claims: where to write every claim with its support and evidence, if anywhere.
        page: where to write a page of HTML to read claims and evidence on, if anywhere.
        params: the settings file; what it leaves out, or all of it where it is not there, is as in ``own_settings``.
        dry_run: only say what would be asked of the model; None is returned.
        threshold: a summary is ``faithful`` (a further column, 1 or 0) where its score is above it. If not given, the
            one with the best balanced accuracy on the file's labelled rows whose split is one of ``VALIDATION``
            (AggreFact's search, ``statistics.best_threshold``); without such rows of both labels, nothing is decided.
        prompt: prompts, by name or by path, that take the place of the metric's of the same role.
        columns: the column that holds a field, where the file has another name for it: ``{"document": "article"}``.

    Raises:
        ClaimwiseError: the file, the metric, the model or a name to write to is wrong; nothing is asked or written.
    """
    out = out or file.parent / f"{stem(file)}.{metric}.csv"
    _check_outputs(file, out, claims, page)
    deciding.check(threshold)
    chosen = own_settings.read(params)
    spec = _specification(metric, chosen.metrics, prompt)
    model, entries = model or chosen.model, chosen.models
    if model not in entries:
        place = f"{params} has" if params.is_file() else f"there is no {params}, and without one there are"
        raise models.ModelError(f"unknown model {model!r}; {place}: {', '.join(entries)}")
    found = read_file(file, columns)
    examples = found.examples
    if twice := [name for name in found.carried if name in (*_COLUMNS, deciding.DECISION)]:
        raise ExamplesError(f"{file}: column {twice[0]!r} would stand twice in {out}; rename it in {file}")
    for hint in found.hints:
        typer.echo(hint, err=True)
    engine = models.load(entries[model], chosen.cache)
    asking = Asking(metric, spec, engine, entries, model, chosen.cache)
    if dry_run:
        typer.echo(asking.forecast([(examples, None)]))
        return None
    if entries[model].get("kind") == "embedded" and spec.judge != WordOverlap.name:
        _warn_of_languages(examples["summary"])
    with asking.watched("score", [(examples, None)]) as progress:
        evaluation = evaluate(metric, spec, engine, examples, progress=progress)
    scores = evaluation.scores.rename(columns={"example_id": "id"})[list(_COLUMNS)]
    cut = threshold if threshold is not None else deciding.tuned(scores, examples)
    if cut is not None:
        scores[deciding.DECISION] = deciding.decisions(scores["score"], cut)
    _write(pd.concat([scores, found.carried], axis=1), out)
    if claims is not None:
        _write(claim_report(evaluation, examples), claims)
        if spec.judge:
            typer.echo(f"{claims}: empty, for {metric} judges whole summaries and makes no claims", err=True)
    if page is not None:
        page.parent.mkdir(parents=True, exist_ok=True)
        written = pages.render(evaluation, examples, metric=metric, model=model, source=file.name, threshold=cut)
        page.write_text(written, encoding="utf-8")
    _tell(scores, examples, "" if spec.judge == WordOverlap.name else f" by model {model}", out)
    if cut is not None:
        typer.echo(deciding.report(scores, examples, cut, tuned=threshold is None))
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
        _check_place(path, what)
        kind = Path(path.name.lower().removesuffix(".gz")).suffix
        if kind in _TABLES and what != "the page":
            raise OutputError(f"{path}: {what} are written as csv; name a file that ends in .csv, got {kind!r}")
        taken[path.resolve()] = what


def _check_place(path: Path, what: str) -> None:
    """Whether a file can be made there: after an hour of calls is too late to learn that it cannot."""
    place = next(parent for parent in (path, *path.parents) if parent.exists())
    if place != path and not place.is_dir():
        raise OutputError(f"{path}: {what} cannot be written there, {place} is a file; name another folder")
    if not os.access(place, os.W_OK):
        raise OutputError(f"{path}: {what} cannot be written, {place} is read-only; name another place for {what}")


def _specification(metric: str, metrics: Mapping[str, Mapping], names: Sequence[str]) -> MetricSpec:
    """The metric's specification, with these prompts in the place of its own."""
    spec = specification(metric, metrics)
    entry = dict(metrics[metric])
    for name in names:
        role = prompts.load(name).role
        if getattr(spec, role, None) is None:
            has = [known for known in prompts.ROLES if getattr(spec, known, None) is not None]
            raise prompts.PromptError(
                f"prompt {name!r} is for {role}; metric {metric!r} has {' and '.join(has)}: name a metric that has {role}"
            )
        entry[role] = name
    return specification(metric, {metric: entry})


def _warn_of_languages(summaries: pd.Series) -> None:
    if count := sum(map(_not_latin, summaries)):
        typer.echo(
            f"warning: {count} of {len(summaries)} summaries are mostly not in Latin script; the embedded model is "
            "English only, do not trust its scores of these; --model chooses a language model that reads them",
            err=True,
        )


def _not_latin(summary: str) -> bool:
    """Whether most letters are of another script.

    >>> _not_latin("Café 雨"), _not_latin("雨が降った (AP)"), _not_latin("2026")
    (False, True, False)
    """
    letters = [letter for letter in summary if letter.isalpha()]
    return 2 * sum("LATIN" in unicodedata.name(letter, "") for letter in letters) < len(letters)


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
