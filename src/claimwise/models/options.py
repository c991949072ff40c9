"""Options of a kind of model, from params.yaml: a misspelt one is an error that names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from claimwise.errors import ClaimwiseError, near


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
            known = f"; expected one of {', '.join(cls.model_fields)}" if cls.model_fields else "; this kind has none"
            return f"unknown option {name!r}{near(name, cls.model_fields) or known}"
        if error["type"] == "missing":
            return f"option {name!r} is missing"
        return f"option {name!r}: found {error['input']!r}; {error['msg']}"
