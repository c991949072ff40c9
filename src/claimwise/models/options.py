"""Options of a kind of model, from params.yaml: a misspelt one is an error that names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

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


class LanguageModelOptions(Options):
    """Options of any language model.

    Attributes:
        model: its name, folder or hub id.
        context: most tokens of a prompt and its reply.
        recorded: a file of finished calls that `claimwise cache export` made, in the project's folder or an absolute path;
            what stands there is not asked again.
    """

    model: str
    context: int | None = Field(default=None, gt=0)
    recorded: str | None = None


def of_kind(
    part: str,
    settings: Mapping[str, Any],
    kinds: Mapping[str, Callable[[], tuple[Callable[..., Any], type[Options]]]],
    error: type[ClaimwiseError],
) -> Any:
    """What an entry of a metric's settings describes; for equal entries the same one.

    Args:
        part: what the entry is for, in messages.
        settings: ``kind`` and the options of that kind.
        kinds: by name what returns a kind's class and its options: they are imported when an entry names them.
        error: raised for another kind.

    Raises:
        ModelError: an option is unknown or malformed.

    >>> kinds = {"plain": lambda: (dict, Options)}
    >>> of_kind("example", {"kind": "plain"}, kinds, ModelError)
    {}
    >>> of_kind("example", {"kind": "plane"}, kinds, ModelError)
    Traceback (most recent call last):
    ...
    claimwise.models.options.ModelError: unknown kind of example 'plane'; expected plain
    """
    kind, options = settings.get("kind"), {key: value for key, value in settings.items() if key != "kind"}
    if kind not in list(kinds):  # a list from YAML is no kind either, and no mapping can be asked for it
        raise error(f"unknown kind of {part} {kind!r}; expected {' or '.join(kinds)}")
    made, known = kinds[kind]()
    return _made(made, known.read(f"{kind} ({part})", options))


@lru_cache(maxsize=6)  # the variants of an ablation share a large checkpoint
def _made(kind: Callable[..., Any], options: Options) -> Any:
    return kind(**options.model_dump())
