"""The options of each kind of model in params.yaml. A misspelt option is an error that names it.

docs/models.md explains each option in a table. A test compares these tables with the fields here.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    HttpUrl,
    JsonValue,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from claimwise.errors import ClaimwiseError, near

#: The server of a model whose entry names no `base_url`.
VENDOR = "https://api.openai.com/v1"


class ModelError(ClaimwiseError):
    """An entry of params.yaml is malformed, or its model cannot be loaded or reached, or its budget is spent."""


class Options(BaseModel):
    """The base class of the options of all kinds."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Prices(BaseModel):
    """The prices of a million prompt tokens and of a million reply tokens, in any one currency.

    >>> Prices(prompt=2.5, reply=10).cost(2_000_000, 50)
    5.0005
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: float = Field(ge=0)
    reply: float = Field(ge=0)

    def cost(self, prompt_tokens: int, reply_tokens: int) -> float:
        """Return the cost of this many tokens."""
        return (prompt_tokens * self.prompt + reply_tokens * self.reply) / 1e6


class LanguageModelOptions(Options):
    """The options that all language models have."""

    model: str
    prices: Prices | None = None
    context: int | None = Field(default=None, gt=0)
    recorded: str | None = None
    only_verifies: bool = False
    only_decomposes: bool = False
    calibration: tuple[Annotated[float, Field(gt=0)], float] | None = None
    averaged_with: Literal["embedded", "embedded-zero-shot"] | None = None

    @field_validator("only_decomposes")
    @classmethod
    def _plays_one_role(cls, value: bool, others: ValidationInfo) -> bool:
        if value and others.data.get("only_verifies"):
            raise ValueError("it cannot go with `only_verifies: true`")
        return value

    @field_validator("calibration", "averaged_with")
    @classmethod
    def _verifies(cls, value: Any, others: ValidationInfo) -> Any:
        if value and not others.data.get("only_verifies"):
            raise ValueError("it goes with `only_verifies: true`")
        return value


class TransformersOptions(LanguageModelOptions):
    """The options of ``kind: transformers``."""

    revision: str | None = None
    file: str | None = None
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    adapter: str | None = None
    contradiction: str | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device: str = "auto"
    template: Literal["auto", "none", "stablebeluga2"] = "auto"
    system: str | None = None
    template_options: dict[str, JsonValue] = Field(default_factory=dict)
    batch_tokens: int | None = Field(default=None, gt=0)
    share_prefix: bool = True

    @model_validator(mode="before")
    @classmethod
    def _split_file(cls, given: Any) -> Any:
        """Read a ``model`` that is a GGUF file as its folder and ``file``."""
        model = given.get("model") if isinstance(given, Mapping) else None
        if not isinstance(model, str) or not model.lower().endswith(".gguf") or given.get("file"):
            return given
        return {**given, "model": str(Path(model).parent), "file": Path(model).name}


def without_credentials(address: str) -> str:
    """Return an address without user and password, as messages show it.

    >>> without_credentials("https://user:secret@example.org/v1")
    'https://example.org/v1'
    """
    return re.sub("//[^/]*@", "//", address)


_HTTP = TypeAdapter(HttpUrl)


def _addresses(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """Check the addresses and return them unchanged, since the first one is a part of cache keys."""
    if len(set(addresses)) < len(addresses):
        raise ValueError("an address appears twice; keep one")
    for address in addresses:
        if "://" not in address:
            raise ValueError("expected an address that begins with http:// or https://")
        try:
            _HTTP.validate_python(address)
        except ValidationError as error:
            raise ValueError(error.errors()[0]["msg"]) from None
        if not address.isprintable() or set(address) & set("?# "):
            raise ValueError("expected an address without blanks and without what follows a ? or #")
    return addresses


class OpenAIOptions(LanguageModelOptions):
    """The options of ``kind: openai``. They never hold the key, only the name of its environment variable."""

    base_url: Annotated[
        tuple[str, ...],
        BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
        Field(min_length=1),
        AfterValidator(_addresses),
    ] = (VENDOR,)
    identity: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    api: Literal["chat", "completions"] = "chat"
    system: str | None = None
    start: str = ""
    concurrency: int = Field(default=16, gt=0)
    timeout_seconds: float = Field(default=120, gt=0)
    retries: int = Field(default=12, ge=0)
    max_calls: int | None = Field(default=None, gt=0)
    max_total_tokens: int | None = Field(default=None, gt=0)
    temperature: float | None = 0.0
    seed: int | None = None
    token_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    logprobs: bool = True
    top_logprobs: int = Field(default=20, ge=2, le=20)
    json_schema: bool = True
    extra_body: dict[str, JsonValue] = Field(default_factory=dict)


#: The kinds of language models, by their names in params.yaml.
LANGUAGE_MODELS: dict[str, type[LanguageModelOptions]] = {"transformers": TransformersOptions, "openai": OpenAIOptions}


def read_kind(
    part: str, settings: Mapping[str, Any], kinds: Mapping[str, type[Options]], error: type[ClaimwiseError] = ModelError
) -> Options:
    """Return the options of an entry, checked by its ``kind``.

    Args:
        part: what the entry describes, for messages, such as "model".
        settings: the entry: ``kind`` and the options of that kind.
        kinds: the options' class of every kind.
        error: raised if the kind is not one of ``kinds``.

    Raises:
        ModelError: an option is unknown, missing or malformed; one line for each.
        ClaimwiseError: the kind is unknown; this is ``error``.

    >>> read_kind("example", {"kind": "plane"}, {"plain": Options, "other": Options})
    Traceback (most recent call last):
    ...
    claimwise.models.options.ModelError: unknown kind of example 'plane'; did you mean 'plain'? expected plain or other
    """
    kind, options = settings.get("kind"), {key: value for key, value in settings.items() if key != "kind"}
    if kind not in list(kinds):  # a list: the kind may be unhashable, such as a list from YAML
        *others, last = kinds
        expected = f"{', '.join(others)} or {last}" if others else last
        raise error(f"unknown kind of {part} {kind!r}{near(str(kind), kinds) or ';'} expected {expected}")
    try:
        return kinds[kind].model_validate(options)
    except ValidationError as invalid:
        label = kind if part == "model" else f"{kind} ({part})"
        lines = [f"kind {label}: {_explained(one, kinds[kind].model_fields)}" for one in invalid.errors()]
        raise ModelError("\n".join(lines)) from None


def _explained(error: Mapping[str, Any], fields: Collection[str]) -> str:
    name = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        expected = f"; expected one of {', '.join(fields)}" if fields else "; this kind has none"
        return f"unknown option {name!r}{near(name, fields) or expected}"
    if error["type"] == "missing":
        return f"option {name!r} is missing"
    shown = re.sub(r"//\S*@", "//", repr(error["input"]))  # a malformed address may hold a password, too
    return f"option {name!r}: found {shown}; {error['msg'].removeprefix('Value error, ')}"
