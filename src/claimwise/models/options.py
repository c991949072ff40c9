"""Options of a kind of model, from params.yaml: a misspelt one is an error that names it.

What each option means says the table of its kind in docs/models.md; a test holds the tables to these fields.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

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
)

from claimwise.errors import ClaimwiseError, near

#: Where a model is asked whose entry names no server.
VENDOR = "https://api.openai.com/v1"


class ModelError(ClaimwiseError):
    """An entry of params.yaml is malformed, or the model that it describes cannot be loaded, reached or asked further."""


class Options(BaseModel):
    """Base of the kinds' options."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

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
        found = re.sub(r"//\S*@", "//", repr(error["input"]))  # an address that is no address may hold a password
        return f"option {name!r}: found {found}; {error['msg'].removeprefix('Value error, ')}"


class Prices(BaseModel):
    """What a million tokens cost, of prompts and of replies, in any one currency.

    >>> Prices(prompt=2.5, reply=10).cost(2_000_000, 50)
    5.0005
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: float = Field(ge=0)
    reply: float = Field(ge=0)

    def cost(self, prompt_tokens: int, reply_tokens: int) -> float:
        """Of so many tokens."""
        return (prompt_tokens * self.prompt + reply_tokens * self.reply) / 1e6


class LanguageModelOptions(Options):
    """Options of any language model."""

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
    def _plays_one_role(cls, found: bool, others: ValidationInfo) -> bool:
        if found and others.data.get("only_verifies"):
            raise ValueError("it cannot go with `only_verifies: true`")
        return found

    @field_validator("calibration", "averaged_with")
    @classmethod
    def _verifies(cls, found: Any, others: ValidationInfo) -> Any:
        if found and not others.data.get("only_verifies"):
            raise ValueError("it goes with `only_verifies: true`")
        return found


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


def without_credentials(address: str) -> str:
    """An address as messages show it.

    >>> without_credentials("https://user:secret@example.org/v1")
    'https://example.org/v1'
    """
    return re.sub("//[^/]*@", "//", address)


_HTTP = TypeAdapter(HttpUrl)


def _addresses(found: tuple[str, ...]) -> tuple[str, ...]:
    """The addresses as they were given, for the first is a part of cache keys."""
    if len(set(found)) < len(found):
        raise ValueError("an address stands twice; keep one")
    for address in found:
        if "://" not in address:
            raise ValueError("expected an address that begins with http:// or https://")
        try:
            _HTTP.validate_python(address)
        except ValidationError as error:
            raise ValueError(error.errors()[0]["msg"]) from None
        if not address.isprintable() or set(address) & set("?# "):
            raise ValueError("expected an address without blanks and without what follows a ? or #")
    return found


class OpenAIOptions(LanguageModelOptions):
    """The options of ``kind: openai``. No key is ever stored: the options name the environment variable that holds it."""

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


#: The kinds of language models, by what params.yaml calls them.
LANGUAGE_MODELS: dict[str, type[LanguageModelOptions]] = {"transformers": TransformersOptions, "openai": OpenAIOptions}


def read_kind(
    part: str, settings: Mapping[str, Any], kinds: Mapping[str, type[Options]], error: type[ClaimwiseError] = ModelError
) -> Options:
    """The options of an entry by its ``kind``; ``part`` says in messages what the entry is for.

    Raises:
        ModelError: an option is unknown or malformed; where the kind is none of these, the given error.

    >>> read_kind("example", {"kind": "plane"}, {"plain": Options, "other": Options})
    Traceback (most recent call last):
    ...
    claimwise.models.options.ModelError: unknown kind of example 'plane'; did you mean 'plain'? expected plain or other
    """
    kind, options = settings.get("kind"), {key: value for key, value in settings.items() if key != "kind"}
    if kind not in list(kinds):  # a list from YAML is no kind either, and no mapping can be asked for it
        *others, last = kinds
        raise error(
            f"unknown kind of {part} {kind!r}{near(str(kind), kinds) or ';'} expected {', '.join(others)} or {last}"
        )
    return kinds[kind].read(kind if part == "model" else f"{kind} ({part})", options)
