"""Options of a kind of model, from params.yaml: a misspelt one is an error that names it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from claimwise.errors import ClaimwiseError


class ModelError(ClaimwiseError):
    """An entry of params.yaml names no kind of model, or an option that its kind does not have."""


class Options(BaseModel):
    """Base of the kinds' options."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    @classmethod
    def read(cls, kind: str, settings: Mapping[str, Any]) -> Self:
        """Validate.

        Raises:
            ModelError: one line for every unknown, missing or malformed option.
        """
        try:
            return cls.model_validate(dict(settings))
        except ValidationError as error:
            raise ModelError("\n".join(f"kind {kind}: {cls._explain(e)}" for e in error.errors())) from None

    @classmethod
    def _explain(cls, error: Mapping[str, Any]) -> str:
        name = ".".join(map(str, error["loc"]))
        if error["type"] == "extra_forbidden":
            close = difflib.get_close_matches(name, cls.model_fields, 1)
            known = f"expected one of {', '.join(cls.model_fields)}" if cls.model_fields else "this kind has none"
            hint = f"did you mean {close[0]!r}?" if close else known
            return f"unknown option {name!r}; {hint}"
        if error["type"] == "missing":
            return f"option {name!r} is missing"
        return f"option {name!r}: found {error['input']!r}; {error['msg']}"
