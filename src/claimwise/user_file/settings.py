"""What ``claimwise score`` needs of params.yaml: of the metrics, the models and the cache each has a default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from claimwise import params as settings
from claimwise.metrics import DEFAULT_METRICS

#: What is asked where no other model is named.
DEFAULT_MODEL = "embedded"
#: The models that need no settings.
DEFAULT_MODELS: dict[str, dict[str, str]] = {
    DEFAULT_MODEL: {"kind": "embedded"},
    "embedded-zero-shot": {"kind": "embedded", "weights": "zero-shot"},
    "lexical": {"kind": "lexical"},
}

#: What is read of params.yaml.
_KEYS = ("model", "models", "metrics", "cache")


@dataclass(frozen=True)
class OwnSettings:
    """The sections ``metrics``, ``models``, ``model`` and ``cache`` of params.yaml, each given or its default."""

    metrics: Mapping[str, Mapping[str, Any]]
    models: Mapping[str, Mapping[str, Any]]
    model: str
    cache: Path


def read(params: Path) -> OwnSettings:
    """Read what there is of params.yaml.

    A file without the pipeline's sections is enough: its models and metrics are added to the default ones.

    Args:
        params: the settings file; where there is no params.yaml, and no other file is named, all is default.

    Raises:
        ParamsError: a file of another name is not there, or the file is malformed, or has a section of another name: it
            may be a misspelt one.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "params.yaml")
    >>> _ = file.write_text("model: gpt\\nmodels: {gpt: {kind: openai, model: gpt-4.1-mini}}")
    >>> found = read(file)
    >>> found.model, list(found.models), "acueval" in found.metrics
    ('gpt', ['embedded', 'embedded-zero-shot', 'lexical', 'gpt'], True)
    """
    given: dict[str, Any] = {}
    if params.is_file() or params != settings.PARAMS:
        try:
            found = settings.read(params)
            return OwnSettings(found.metrics, found.models, found.model, Path(found.cache))
        except settings.ParamsError as error:
            if not isinstance(error.__context__, ValidationError):
                raise
            given = yaml.safe_load(params.read_text(encoding="utf-8"))  # which has been found to be a mapping
            if wrong := _wrong(error, given, params):
                raise settings.ParamsError("\n".join(wrong)) from None
    return OwnSettings(
        metrics=DEFAULT_METRICS | given.get("metrics", {}),
        models=DEFAULT_MODELS | given.get("models", {}),
        model=given.get("model", DEFAULT_MODEL),
        # the user's own, as without a params.yaml
        cache=Path(given["cache"]) if "cache" in given else settings.own_cache(),
    )


def _wrong(error: settings.ParamsError, given: Mapping[Any, Any], params: Path) -> list[str]:
    """What is wrong with a file that may leave the pipeline's sections out: all of the error but that they are missing.

    A section of another name is a notebook's, and goes with the pipeline's, or it is a misspelt one; where the error
    tells of a missing section that it may be, that is enough.
    """
    lacking = {f"{params}, {name}: Field required" for name in settings.Settings.model_fields}
    lines = [line for line in str(error).split("\n") if line not in lacking]
    others = [str(name) for name in given if name not in settings.Settings.model_fields]
    return lines or [
        f"{params}, {name}: unknown key; expected {', '.join(_KEYS)} (or, with a notebook's section, all sections of "
        "the pipeline)"
        for name in others
    ]
