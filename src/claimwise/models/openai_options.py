"""Options of a server that speaks the OpenAI protocol (``kind: openai`` in params.yaml).

vLLM, SGLang, llama.cpp, Ollama, ``transformers serve`` or a vendor. No key is ever stored: the options name the
environment variable that holds it.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from claimwise.models.options import Options

VENDOR = "https://api.openai.com/v1"


class OpenAIOptions(Options):
    """The options of ``kind: openai``.

    Attributes:
        model: the model's name on the server.
        base_url: the server's address, up to ``/v1``.
        identity: what names the server in cache keys; the default is its address. Give it where one model is
            served at changing addresses.
        key_variable: environment variable that holds the key; a server given by ``base_url`` may need none.
        api: ``chat``, or ``completions`` for base models.
        system: system prompt (``chat`` only).
        start: put before every prompt (``completions`` only): the start token, e.g. ``<s>``, where a server adds none,
            as llama.cpp does for a GGUF file that does not ask for it.
        concurrency: most calls in flight.
        timeout_seconds: for one attempt.
        retries: further attempts after 408, 409, 429, 5xx, time-outs, cut connections and malformed replies.
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

    model: str
    base_url: str = Field(default=VENDOR, pattern="^https?://")
    identity: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    api: Literal["chat", "completions"] = "chat"
    system: str | None = None
    start: str = ""
    concurrency: int = Field(default=16, gt=0)
    timeout_seconds: float = Field(default=120, gt=0)
    retries: int = Field(default=8, ge=0)
    max_calls: int | None = Field(default=None, gt=0)
    max_total_tokens: int | None = Field(default=None, gt=0)
    temperature: float | None = 0.0
    seed: int | None = None
    token_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    logprobs: bool = True
    top_logprobs: int = Field(default=20, ge=2, le=20)
    json_schema: bool = True
    context: int | None = Field(default=None, gt=0)
    extra_body: dict[str, Any] = Field(default_factory=dict)
