"""The ``score`` stage: one metric over the pipeline's corpora."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import typer

from claimwise import corpora, models
from claimwise import paths as store
from claimwise.corpora import Corpus
from claimwise.metrics import Evaluation, MetricSpec, estimate, evaluate, specification
from claimwise.models import cost
from claimwise.models.base import Model
from claimwise.params import Settings


def score_corpora(settings: Settings, metric: str) -> list[Path]:
    """Run one metric over the corpora that the ``score`` section names; returns the folders written.

    Finished calls are in the response cache: killed and started again, none is made twice (but what got a blank
    reply), and the tables of every corpus are written anew from them. A language model is asked after a line on what
    that will take, under a bar that counts its calls.
    """
    spec, model = _chosen(settings, metric)
    base = store.scores_folder(settings.data, metric)
    base.mkdir(parents=True, exist_ok=True)
    folders = []
    with cost.watched(metric, model, estimate(spec, model, _parts(settings, metric))) as progress:
        for name, corpus in _scored(settings, metric):
            evaluation = evaluate(
                metric, spec, model, corpus.examples, recorded=corpus.recorded_claims, progress=progress
            )
            evaluation.write(base / name, _record(evaluation, model, settings, spec))
            _warn(metric, name, evaluation)
            folders.append(base / name)
    return folders


def _warn(metric: str, corpus: str, evaluation: Evaluation) -> None:
    """Say at once where most summaries have no score: a wrong template, a model that does not follow the prompt."""
    scores = evaluation.scores
    unscored = scores[scores["score"].isna()]
    if 2 * len(unscored) > len(scores):
        reasons = unscored["reason"].value_counts().head(3)
        why = "; ".join(f"{count} x {reason}" for reason, count in reasons.items())
        typer.echo(f"{metric} on {corpus}: {len(unscored)} of {len(scores)} summaries have no score ({why})", err=True)


def dry_run(settings: Settings, metric: str) -> str:
    """What ``score_corpora`` would ask of a language model that is not remembered yet, in a line; nothing is asked."""
    return cost.forecast(estimate(*_chosen(settings, metric), _parts(settings, metric)))


def _chosen(settings: Settings, metric: str) -> tuple[MetricSpec, Model]:
    return specification(metric, settings.metrics), models.load(settings.model_settings, settings.cache)


def _parts(settings: Settings, metric: str) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    for _, corpus in _scored(settings, metric):
        yield corpus.examples, corpus.recorded_claims


def _scored(settings: Settings, metric: str) -> Iterator[tuple[str, Corpus]]:
    """The corpora that the metric is run on, each cut to the documents asked for."""
    for name, wanted in settings.score.corpora[settings.data].items():
        if wanted.metrics is None or metric in wanted.metrics:
            yield name, corpora.read(store.corpus_folder(settings.data, name)).first(wanted.documents)


def _record(evaluation: Evaluation, model: Model, settings: Settings, spec: MetricSpec) -> dict[str, Any]:
    """What made the tables, and how much of it could not be read: no time stamps, so that reruns agree."""
    return {
        "model": models.describe(settings.model_settings),
        "fingerprint": model.fingerprint,
        "versions": models.versions(),
        "metric": spec.model_dump(exclude_none=True),
        "examples": len(evaluation.scores),
        "unscored": int(evaluation.scores["score"].isna().sum()),
        "claims": len(evaluation.verdicts),
        "unparsed": int(evaluation.scores["n_unparsed"].sum()),
    }
