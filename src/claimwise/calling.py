"""``claimwise.score``: a metric in one call, for a notebook or another program."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, overload

import pandas as pd

from claimwise import models, prompts
from claimwise.errors import ClaimwiseError, near, shorten
from claimwise.metrics import DEFAULT_METRICS, evaluate, specification
from claimwise.models.base import Model
from claimwise.user_file.settings import DEFAULT_MODEL, DEFAULT_MODELS


class CallError(ClaimwiseError):
    """Documents and summaries that do not belong together, or something else in the place of them or of a model."""


@overload
def score(document: str, summary: str, metric: str = ..., model: str | Mapping[str, Any] | Model = ...) -> float: ...
@overload
def score(
    document: str | Iterable[str],
    summary: Iterable[str],
    metric: str = ...,
    model: str | Mapping[str, Any] | Model = ...,
) -> list[float]: ...
def score(document, summary, metric="acueval", model=DEFAULT_MODEL):
    """How faithful a summary is to its document, in [0, 1]; of several summaries a list.

    ``metrics.evaluate`` gives claims and verdicts, too.

    Args:
        document: a text, or one for each summary.
        summary: a text, or several (a list, a column of a data frame). A missing one among several (None, NaN) is an
            empty text, as in files; so is a missing document.
        metric: one of ``metrics.DEFAULT_METRICS``.
        model: one of ``own_settings.DEFAULT_MODELS`` (it is loaded once), an entry as params.yaml has them, e.g.
            ``{"kind": "openai", "model": "gpt-4.1-mini"}``, or what ``models.load`` made of one: a second call then knows
            what the first one asked.

    Returns:
        NaN where there is no score, and a warning with the reason.

    Raises:
        CallError: not as many documents as summaries, or what should be a text, several or a model is none of it.
        ClaimwiseError: there is no such metric or model, or a text is none.

    >>> score("The cat sat on the mat.", "The cat sat.", model="lexical")
    1.0
    >>> score("The cat sat on the mat.", ["The cat sat.", "The dog ran."], metric="word-overlap")
    [1.0, 0.3333333333333333]
    """
    summaries = _texts("summary", summary)
    documents = [document] * len(summaries) if isinstance(document, str) else _texts("document", document)
    if isinstance(summary, str) and not isinstance(document, str):
        raise CallError(
            f"expected one document for one summary, got {len(documents)}; join them, or give summaries, too"
        )
    if len(documents) != len(summaries):
        raise CallError(f"{len(documents)} documents and {len(summaries)} summaries; give each summary its document")
    ids = [str(number) for number in range(len(summaries))]
    examples = pd.DataFrame({"id": ids, "document": documents, "summary": summaries}, dtype=object)
    spec = specification(metric, DEFAULT_METRICS)
    scores = evaluate(metric, spec, _model(model), examples, progress=False).scores
    if reasons := scores.loc[scores["score"].isna(), "reason"].tolist():
        warnings.warn(
            f"{len(reasons)} of {len(scores)} without a score: {', '.join(sorted(set(reasons)))}", stacklevel=2
        )
    found = scores["score"].tolist()
    return found[0] if isinstance(summary, str) else found


def _texts(name: str, given: str | Iterable[str]) -> list:
    """One text or several as a list; a missing one is an empty text, as a user's file has it."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, Iterable) and not isinstance(given, bytes | Mapping | pd.DataFrame):
        return ["" if pd.api.types.is_scalar(text) and pd.isna(text) else text for text in given]
    found = "a whole data frame; name the column" if isinstance(given, pd.DataFrame) else shorten(given)
    raise CallError(f"{name}: expected a text or several (a list, a column of a data frame), got {found}")


def _model(model: str | Mapping[str, Any] | Model) -> Model:
    if isinstance(model, str):
        return _named(model)
    if isinstance(model, Mapping):
        return models.load(model)
    if not any(callable(getattr(model, role, None)) for role in prompts.ROLES):
        raise CallError(
            f"model: expected a name ({', '.join(DEFAULT_MODELS)}), an entry as params.yaml has them, or what "
            f"models.load made of one, got {shorten(model)}"
        )
    return model


@lru_cache  # loading takes seconds, and the calls of a notebook are many
def _named(name: str) -> Model:
    if name not in DEFAULT_MODELS:
        raise models.ModelError(
            f"unknown model {name!r}{near(name, DEFAULT_MODELS)}; there are: {', '.join(DEFAULT_MODELS)}; for another give its entry, as params.yaml "
            "has them: model={'kind': 'openai', 'model': ...}"
        )
    return models.load(DEFAULT_MODELS[name])
