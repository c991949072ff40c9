"""``claimwise.score``: a metric in one call, for a notebook or another program; and the settings that a user may have.

Neither this nor ``claimwise score`` needs a project: metrics, models and the cache have defaults.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, overload

import pandas as pd
import pooch
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from claimwise import models, prompts
from claimwise.errors import ClaimwiseError, near, shorten
from claimwise.metrics import DEFAULT_METRICS, evaluate, specification
from claimwise.models.base import Model
from claimwise.params import ParamsError, read_yaml
from claimwise.paths import PARAMS

#: What is asked where no other model is named.
DEFAULT_MODEL = "embedded"
#: The models that need no settings.
DEFAULT_MODELS: dict[str, dict[str, str]] = {
    DEFAULT_MODEL: {"kind": "embedded"},
    "embedded-zero-shot": {"kind": "embedded", "weights": "zero-shot"},
    "lexical": {"kind": "lexical"},
}


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
        model: one of ``DEFAULT_MODELS`` (it is loaded once), an entry as params.yaml has them, e.g.
            ``{"kind": "openai", "model": "gpt-4.1-mini"}``, or what ``models.load`` made of one: a second call then knows
            what the first one asked.

    Returns:
        NaN where there is no score, and a warning with the reason.

    Raises:
        ClaimwiseError: there is no such metric or model, a text is none, or there are not as many documents as summaries.

    >>> score("The cat sat on the mat.", "The cat sat.", model="lexical")
    1.0
    >>> score("The cat sat on the mat.", ["The cat sat.", "The dog ran."], metric="word-overlap")
    [1.0, 0.3333333333333333]
    """
    summaries = _texts("summary", summary)
    documents = [document] * len(summaries) if isinstance(document, str) else _texts("document", document)
    if isinstance(summary, str) and not isinstance(document, str):
        raise ClaimwiseError(
            f"expected one document for one summary, got {len(documents)}; join them, or give summaries, too"
        )
    if len(documents) != len(summaries):
        raise ClaimwiseError(
            f"{len(documents)} documents and {len(summaries)} summaries; give each summary its document"
        )
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
    raise ClaimwiseError(f"{name}: expected a text or several (a list, a column of a data frame), got {found}")


def _model(model: str | Mapping[str, Any] | Model) -> Model:
    if isinstance(model, str):
        return _named(model)
    if isinstance(model, Mapping):
        return models.load(model)
    if not any(callable(getattr(model, role, None)) for role in prompts.ROLES):
        raise ClaimwiseError(
            f"model: expected a name ({', '.join(DEFAULT_MODELS)}), an entry as params.yaml has them, or what "
            f"models.load made of one, got {shorten(model)}"
        )
    return model


@lru_cache  # loading takes seconds, and the calls of a notebook are many
def _named(name: str) -> Model:
    if name not in DEFAULT_MODELS:
        raise models.ModelError(
            f"unknown model {name!r}{near(name, DEFAULT_MODELS)}; there are: {', '.join(DEFAULT_MODELS)}; for another "
            "give its entry, as params.yaml has them: model={'kind': 'openai', 'model': ...}"
        )
    return models.load(DEFAULT_MODELS[name])


class UserSettings(BaseModel):
    """What ``claimwise score`` takes of params.yaml, each given or its default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = DEFAULT_MODEL
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)
    metrics: dict[str, dict[str, Any]] = Field(default_factory=dict)
    #: Of the user's own where no file names one.
    cache: Path = Field(default_factory=lambda: Path(pooch.os_cache("claimwise"), "calls.sqlite"))


def read_settings(params: Path = Path(PARAMS)) -> UserSettings:
    """Read what there is of a settings file; its models and metrics are added to the default ones.

    Args:
        params: where there is no params.yaml, and no other file is named, all is default.

    Raises:
        ParamsError: a file of another name is not there, the file is malformed, or it has an unknown key. Of the
            pipeline's file (it has ``data``) other sections are not read, but a key that is nearly a missing one is wrong.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "params.yaml")
    >>> _ = file.write_text("model: gpt\\nmodels: {gpt: {kind: openai, model: gpt-4.1-mini}}")
    >>> found = read_settings(file)
    >>> found.model, list(found.models), "acueval" in found.metrics
    ('gpt', ['embedded', 'embedded-zero-shot', 'lexical', 'gpt'], True)
    """
    given = read_yaml(params) if params.is_file() or params != Path(PARAMS) else {}
    if "data" in given:
        absent = UserSettings.model_fields.keys() - given.keys()
        given = {
            key: value for key, value in given.items() if key in UserSettings.model_fields or near(str(key), absent)
        }
    try:
        found = UserSettings.model_validate(given)
    except ValidationError as error:
        raise ParamsError("\n".join(_wrong(params, found) for found in error.errors())) from None
    return found.model_copy(
        update={
            "models": DEFAULT_MODELS | found.models,
            "metrics": DEFAULT_METRICS | found.metrics,
            "cache": params.parent / found.cache if "cache" in given else found.cache,
        }
    )


def _wrong(path: Path, error: Mapping[str, Any]) -> str:
    place = ".".join(map(str, error["loc"]))
    if error["type"] != "extra_forbidden":
        return f"{path}, {place}: {error['msg']}, found {shorten(error['input'])}"
    known = list(UserSettings.model_fields)
    return f"{path}, {place}: unknown key{near(place, known) or ';'} expected {', '.join(known)}"
