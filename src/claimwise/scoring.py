"""The ``score`` stage: one metric over the pipeline's corpora."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from claimwise import corpora, models, store
from claimwise.corpora import Corpus
from claimwise.metrics import Evaluation, evaluate, specification
from claimwise.models.base import Model
from claimwise.models.language import PromptedModel
from claimwise.models.rehearsal import Estimate, Rehearsal
from claimwise.settings import Settings


def score_corpora(settings: Settings, metric: str) -> list[Path]:
    """Run one metric over the corpora that the ``score`` section names; returns the folders written.

    Finished calls are in the response cache, finished corpora on disk: killed and started again, nothing is
    computed twice.
    """
    spec = specification(metric, settings.metrics)
    model = models.load(settings.model_settings, settings.cache)
    base = store.scores_folder(settings.data, metric)
    base.mkdir(parents=True, exist_ok=True)
    folders = []
    for name, corpus in _scored(settings, metric):
        evaluation = evaluate(metric, spec, model, corpus.examples, recorded=corpus.recorded_claims)
        evaluation.write(base / name)
        _write_record(evaluation, model, spec.model_dump(exclude_none=True), base / name / "run.json")
        folders.append(base / name)
    return folders


def rehearse(settings: Settings, metric: str) -> Estimate | None:
    """What ``score_corpora`` would ask of a language model that is not remembered yet; None for other models.

    Nothing is asked. The number of claims is assumed (``rehearsal.CLAIMS`` a summary), the rest counted.
    """
    spec = specification(metric, settings.metrics)
    model = models.load(settings.model_settings, settings.cache)
    if not isinstance(model, PromptedModel):
        return None
    rehearsal = Rehearsal(model.language_model, model.cache)
    for _, corpus in _scored(settings, metric):
        evaluate(metric, spec, rehearsal, corpus.examples, recorded=corpus.recorded_claims, progress=False)
    return rehearsal.estimate


def _scored(settings: Settings, metric: str) -> Iterator[tuple[str, Corpus]]:
    """The corpora that the metric is run on, each cut to the documents asked for."""
    for name, wanted in settings.score.corpora[settings.data].items():
        if wanted.metrics is None or metric in wanted.metrics:
            yield name, corpora.read(store.corpus_folder(settings.data, name)).first(wanted.documents)


def _write_record(evaluation: Evaluation, model: Model, spec: dict, path: Path) -> None:
    """What made the tables beside it, and how much of it could not be read: no time stamps, so that reruns agree."""
    record = {
        "model": model.name,
        "fingerprint": model.fingerprint,
        "metric": spec,
        "examples": len(evaluation.scores),
        "unscored": int(evaluation.scores["score"].isna().sum()),
        "claims": len(evaluation.verdicts),
        "unparsed": int(evaluation.scores["n_unparsed"].sum()),
    }
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
