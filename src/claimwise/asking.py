"""A metric put to a language model: what that will take beforehand, a bar of its calls meanwhile, a record afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import typer

from claimwise.metrics import MetricSpec, claims, evaluate
from claimwise.metrics.fenice.alignment import Aligner
from claimwise.models.base import Model
from claimwise.models.language import PromptedModel
from claimwise.models.rehearsal import Estimate, Rehearsal
from claimwise.models.usage import Prices
from claimwise.progress import bar
from claimwise.runs import Run, forecast, pace


class Asking:
    """What a metric asks of a model.

    Args:
        metric: its name.
        spec: what it is made of.
        model: what is asked.
        entries: ``models`` of params.yaml.
        chosen: the model's key there.
        cache: the response cache's file.
    """

    def __init__(
        self,
        metric: str,
        spec: MetricSpec,
        model: Model,
        entries: Mapping[str, Mapping[str, Any]],
        chosen: str,
        cache: str | Path,
    ):
        self._metric, self._spec, self._model = metric, spec, model
        self._entries, self._chosen, self._cache = entries, chosen, cache

    def forecast(self, parts: Iterable[tuple[pd.DataFrame, pd.DataFrame | None]]) -> str:
        """Calls that are not remembered yet, their tokens, cost and time, in a line; nothing is asked.

        The number of claims is assumed (``rehearsal.CLAIMS`` a summary), the rest counted. The time is that of the
        latest run with this model, where there was one.

        Args:
            parts: examples, and the claims recorded of them, if any.
        """
        if not isinstance(self._model, PromptedModel):
            return "no calls: this model is no language model"
        return self._line(self._rehearsed(parts))

    @contextmanager
    def watched(self, stage: str, parts: Iterable[tuple[pd.DataFrame, pd.DataFrame | None]]) -> Iterator[bool]:
        """Forecast, count and record what is asked within; gives whether ``evaluate`` should show its own bar."""
        if not isinstance(self._model, PromptedModel):
            with Run(stage, self._cache, self._entries):
                yield True
            return
        estimate = self._rehearsed(parts)
        typer.echo(f"{self._metric}: {self._line(estimate)}", err=True)
        with Run(stage, self._cache, self._entries), bar(estimate.calls, self._metric, "call") as steps:
            self._model.on_reply = steps.update
            try:
                yield False
            finally:
                self._model.on_reply = None

    def _rehearsed(self, parts: Iterable[tuple[pd.DataFrame, pd.DataFrame | None]]) -> Estimate:
        rehearsal = Rehearsal(self._model.language_model, self._model.cache)
        for examples, recorded in parts:
            if self._spec.verify == Aligner.name:  # no language model verifies
                claims.decomposer(self._spec.decompose, rehearsal, recorded).decompose(examples)
            else:
                evaluate(self._metric, self._spec, rehearsal, examples, recorded=recorded, progress=False)
        return rehearsal.estimate

    def _line(self, estimate: Estimate) -> str:
        return forecast(estimate, Prices.of(self._entries[self._chosen]), pace(self._cache, self._model.name))
