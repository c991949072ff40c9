"""Options of a kind of model, from params.yaml: a misspelt one is an error that names it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
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
    """An entry of params.yaml names no kind of model, or an option that its kind does not have, or malformed prices."""


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


class LanguageModelOptions(Options):
    """Options of any language model.

    Attributes:
        model: its name, folder or hub id.
        context: most tokens of a prompt and its reply.
        recorded: a file of finished calls that `claimwise cache export` made, in the project's folder or an absolute path;
            what stands there is not asked again.
        only_verifies: it was taught to say whether a document supports a claim, and nothing else: it judges a summary as one
            claim, and the embedded model plays the other roles.
        calibration: of one that only verifies: slope and intercept of the log odds of its support (Platt scaling).
    """

    model: str
    context: int | None = Field(default=None, gt=0)
    recorded: str | None = None
    only_verifies: bool = False
    calibration: tuple[Annotated[float, Field(gt=0)], float] | None = None

    @field_validator("calibration")
    @classmethod
    def _verifies(cls, found: tuple[float, float] | None, others: ValidationInfo) -> tuple[float, float] | None:
        if found and not others.data.get("only_verifies"):
            raise ValueError("it goes with `only_verifies: true`")
        return found


class TransformersOptions(LanguageModelOptions):
    """The options of ``kind: transformers``.

    Attributes:
        model: a local folder or a hub id.
        revision: the hub commit to use; pin it, or results change when the hub's files do.
        file: a GGUF file of that folder or hub id, or below the folder that CLAIMWISE_WEIGHTS names; without one, the
            checkpoint is in transformers' own format.
        sha256: of that file; another is refused.
        adapter: LoRA weights that are added to the checkpoint's: a folder that the package peft wrote, or the name of one
            that ships (``claimwise-0.5b``).
        dtype: of the arithmetic; ``auto`` takes the checkpoint's, and on a CPU, for a checkpoint of half precision, what is
            faster there, bfloat16 or float32.
        device: ``auto`` takes the first accelerator, else the CPU; ``spread`` lays the layers over all accelerators,
            for checkpoints larger than one (needs the package accelerate).
        template: how prompts are framed: ``auto`` (the tokenizer's chat template where it has one), ``none``, or
            ``stablebeluga2`` (ACUEval's model, whose tokenizer has none).
        system: system prompt; the default is the template's own.
        template_options: passed to the chat template, e.g. ``{enable_thinking: false}``.
        context: most tokens of a prompt and its reply, or of a prompt alone where an encoder reads it; the default is the
            checkpoint's.
        batch_tokens: most tokens in one forward pass, and of all replies that are written at once with their prompts; the
            default follows from the free memory.
        share_prefix: compute a document once for all its claims, where the architecture allows.
    """

    revision: str | None = None
    file: str | None = None
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    adapter: str | None = None
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
    """The options of ``kind: openai``. No key is ever stored: the options name the environment variable that holds it.

    Attributes:
        model: the model's name on the server.
        base_url: the server's address, up to ``/v1``; or a list of addresses of one model.
        identity: what names the server in cache keys; the default is its address, or the first of several. Give it where
            one model is served at changing addresses.
        key_variable: environment variable that holds the key; a server given by ``base_url`` may need none.
        api: ``chat``, or ``completions`` for base models.
        system: system prompt (``chat`` only).
        start: put before every prompt (``completions`` only): the start token, e.g. ``<s>``, where a server adds none,
            as llama.cpp does for a GGUF file that does not ask for it.
        concurrency: most calls in flight at one server.
        timeout_seconds: for one attempt.
        retries: further attempts after 408, 409, 429, 5xx, time-outs, cut connections and malformed replies; at most two
            at a server while another is there to be asked.
        max_calls, max_total_tokens: budget of this process; finished replies are kept when it is reached.
        temperature: None leaves it to the server, for models that refuse to be told.
        seed: for servers that sample even at temperature 0.
        token_limit: how the server calls the limit on a reply's tokens.
        logprobs: ask for probabilities of answers; without them a verdict is 0 or 1 and marked ``sampled``.
        top_logprobs: alternatives asked for at each position; most servers allow 20 or 5, and one that refuses more is
            asked for 5.
        json_schema: hold replies to a JSON schema where a prompt asks for JSON and the server can.
        context: most tokens of a prompt and its reply; longer documents are read in chunks. Ollama cuts prompts at its
            num_ctx without an error: give that number.
        extra_body: further fields of every request.
    """

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
