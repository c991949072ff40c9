"""An OpenAI-compatible server as a language model: bounded concurrency, retries, budgets, probabilities."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import queue
import re
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from claimwise.models.cache import call_key
from claimwise.models.openai_options import VENDOR, OpenAIOptions
from claimwise.models.openai_transport import NeverReached, Refused, Transport, Unreachable
from claimwise.models.options import ModelError
from claimwise.models.replies import Reply, Tally

_log = logging.getLogger(__name__)
_DELIVERY_SECONDS = 0.01
_DIGIT = re.compile(r"\d")
_KEPT = "Finished replies are kept: run again to go on."
# What servers say of a prompt that others need not share, and what tables say of it.
_REFUSALS = {
    re.compile(r"context.length|maximum context|context.(?:window|size)|too (?:long|large)|too many tokens", re.I): (
        "the server refused the prompt as too long"
    ),
    re.compile(r"content.(?:filter|policy|management)|moderation|safety", re.I): (
        "the server's content filter refused the prompt"
    ),
}
# What servers of newer models say of a field of every request, and the setting that helps.
_SETTINGS = {"max_completion_tokens": "token_limit: max_completion_tokens", "temperature": "temperature: null"}


class BudgetError(ModelError):
    """The budget of calls or tokens is spent."""


class OpenAILanguageModel:
    """See ``replies.LanguageModel``.

    What fails after all retries stops the run: a server that is down must not become a table of missing scores.
    A prompt that the server refuses (too long, filtered) has no reply and a reason.

    Raises:
        ModelError: the vendor's server was asked for, and the key's environment variable is not set.
    """

    def __init__(self, options: OpenAIOptions):
        self._options = options
        key = os.environ.get(options.key_variable, "")
        if not key and options.base_url == VENDOR:
            raise ModelError(f"kind openai: the environment variable {options.key_variable} holds no key for {VENDOR}")
        self.name = options.model
        self.context = options.context
        self.fingerprint = call_key(
            server=options.identity or options.base_url,
            **options.model_dump(
                include={"model", "api", "system", "start", "temperature", "seed", "json_schema", "extra_body"}
            ),
        )
        self.tally = Tally()
        self._started = 0
        self._logprobs, self._told = options.logprobs, False
        self._formats = ["json_schema", "json_object"] if options.json_schema else []  # not refused so far
        self._transport = Transport(options.base_url, key, options.timeout_seconds, options.retries)
        # A loop of its own in a thread of its own: a notebook's kernel already runs one in the main thread.
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=_turn, args=(self._loop,), name="openai", daemon=True).start()
        weakref.finalize(self, _close, self._transport, self._loop)

    def count(self, text: str) -> int:
        """An estimate from above for prose (a token a digit and every three other bytes): the tokenizer is the server's."""
        digits = len(_DIGIT.findall(text))
        return (len(text.encode("utf-8", "surrogatepass")) - digits) // 3 + digits + 64

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Iterator[tuple[int, Reply]]:
        """See ``LanguageModel``; prompts are sent in order, so that a server's prefix cache hits."""

        async def one(prompt: str) -> Reply:
            choice = await self._create(prompt, max_tokens, {"stop": list(stop)} if stop else {}, schema)
            return choice if isinstance(choice, Reply) else _text(choice)

        return self._each(prompts, one)

    def choice_probabilities(
        self, prompts: Sequence[str], choices: Sequence[str], *, max_tokens: int
    ) -> Iterator[tuple[int, Reply]]:
        """See ``LanguageModel``; texts where the server gives no probabilities, after one warning."""

        async def one(prompt: str) -> Reply:
            choice = await self._create(prompt, max_tokens, self._wanted())
            if isinstance(choice, Reply):
                return choice
            positions = _positions(choice)
            if positions:
                return Reply(probabilities=_probabilities(positions, choices))
            text = _text(choice)
            if self._logprobs and text.answered:
                if choice.get("logprobs"):  # this once: the next ones may be as they should
                    self._tell_of_sampling("sends unreadable logprobs")
                else:
                    self._give_up_logprobs("ignores the request for logprobs")
            return text

        return self._each(prompts, one)

    # -- one call ----------------------------------------------------------------------------------

    def _wanted(self) -> dict[str, Any]:
        if not self._logprobs:
            return {}
        if self._options.api == "completions":
            return {"logprobs": self._options.top_logprobs}
        return {"logprobs": True, "top_logprobs": self._options.top_logprobs}

    def _give_up_logprobs(self, why: str) -> None:
        self._logprobs = False
        self._tell_of_sampling(why)

    def _tell_of_sampling(self, why: str) -> None:
        if not self._told:  # several calls may find out at once; one warning
            self._told = True
            _log.warning(
                "%s at %s %s: verdicts are 0 or 1, as it writes them, and are marked 'sampled'",
                self.name,
                self._options.base_url,
                why,
            )

    async def _create(
        self, prompt: str, max_tokens: int, options: dict[str, Any], schema: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | Reply:
        """The server's first choice, or a ``Reply`` with the reason why it refused this prompt."""
        self._spend()
        start = time.monotonic()
        path, body = self._request(prompt, max_tokens)
        kind = self._formats[0] if schema and self._formats else None
        form = {"response_format": _format(kind, schema)} if kind else {}
        try:
            completion = await self._transport.post(path, body | options | form)
        except NeverReached as error:
            raise ModelError(
                f"{self._where()} cannot be reached: {error}. Start the server, or correct `base_url` of this model in "
                "params.yaml. Nothing was asked."
            ) from None
        except Unreachable as error:
            raise ModelError(f"{self._where()}: {error}, after {self._options.retries} retries. {_KEPT}") from None
        except Refused as error:
            message = str(error).lower()
            if "logprobs" in options and "logprob" in message:
                self._give_up_logprobs("refuses the request for logprobs")
                return await self._create(prompt, max_tokens, {})
            if kind and ("response_format" in message or "schema" in message):
                if kind in self._formats:  # several calls may find out at once
                    self._formats.remove(kind)  # parsers read JSON that no schema held together, too
                return await self._create(prompt, max_tokens, options, schema)
            for sign, reason in _REFUSALS.items():
                if sign.search(message):
                    return Reply(reason=reason)
            if error.status in (401, 403):
                raise ModelError(f"{self._where()} refused the key in {self._options.key_variable}: {error}") from None
            if error.status == 404:
                raise ModelError(
                    f"{self._where()} knows no such model or path: {error}. {self._options.base_url}/models lists its "
                    "models; `base_url` usually ends in /v1."
                ) from None
            advice = [
                f". Write `{setting}` beside the model in params.yaml"
                for word, setting in _SETTINGS.items()
                if word in message
            ]
            raise ModelError(f"{self._where()} refused the request: {error}{''.join(advice[:1])}") from None
        self._count(completion.get("usage"), start)
        return completion["choices"][0]

    def _request(self, prompt: str, max_tokens: int) -> tuple[str, dict[str, Any]]:
        body = {"model": self.name, self._options.token_limit: max_tokens, **self._options.extra_body}
        for name in ("temperature", "seed"):
            if getattr(self._options, name) is not None:
                body[name] = getattr(self._options, name)
        if self._options.api == "completions":
            return "completions", {**body, "prompt": self._options.start + prompt}
        messages = [{"role": "system", "content": self._options.system}] if self._options.system else []
        return "chat/completions", {**body, "messages": [*messages, {"role": "user", "content": prompt}]}

    def _spend(self) -> None:
        calls, tokens = self._options.max_calls, self._options.max_total_tokens
        if calls is not None and self._started >= calls:
            raise BudgetError(f"the budget of {calls} calls (max_calls) is spent. {_KEPT}")
        spent = self.tally.prompt_tokens + self.tally.reply_tokens
        if tokens is not None and spent >= tokens:
            raise BudgetError(f"the budget of {tokens} tokens (max_total_tokens) is spent. {_KEPT}")
        self._started += 1

    def _count(self, usage: Any, start: float) -> None:
        self.tally.calls += 1
        self.tally.seconds += time.monotonic() - start
        self.tally.prompt_tokens += _tokens(usage, "prompt_tokens")
        self.tally.reply_tokens += _tokens(usage, "completion_tokens")

    def _where(self) -> str:
        return f"{self.name} at {self._options.base_url}"

    # -- many calls --------------------------------------------------------------------------------

    def _each(self, prompts: Sequence[str], one: Callable[[str], Awaitable[Reply]]) -> Iterator[tuple[int, Reply]]:
        """Run the calls, as many at once as allowed; after an error, those in flight still finish."""
        finished: queue.SimpleQueue[list[tuple[int, Reply]] | None] = queue.SimpleQueue()
        ready: list[tuple[int, Reply]] = []
        errors: list[BaseException] = []
        waiting = iter(enumerate(prompts))

        def deliver() -> None:
            finished.put(ready.copy())
            ready.clear()

        async def worker() -> None:
            for index, prompt in waiting:
                if errors:
                    return
                try:
                    reply = await one(prompt)
                except Exception as error:
                    errors.append(error)
                    continue
                if not ready:  # several at a time: waking the other thread costs more than a call
                    self._loop.call_later(_DELIVERY_SECONDS, deliver)
                ready.append((index, reply))

        async def run() -> None:
            try:
                await asyncio.gather(*[worker() for _ in range(min(self._options.concurrency, len(prompts)))])
            finally:
                deliver()

        task = asyncio.run_coroutine_threadsafe(run(), self._loop)
        task.add_done_callback(lambda _: finished.put(None))
        try:
            for several in iter(finished.get, None):
                yield from several
        finally:
            task.cancel()
        if errors:
            raise errors[0]
        task.result()


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


def _close(transport: Transport, loop: asyncio.AbstractEventLoop) -> None:
    asyncio.run_coroutine_threadsafe(transport.close(), loop).result(5)
    loop.call_soon_threadsafe(loop.stop)


def _format(kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """How a reply is held to a schema: as the vendor has it, or as llama-cpp-python does."""
    if kind == "json_schema":
        return {"type": kind, kind: {"name": "reply", "schema": schema, "strict": True}}
    return {"type": kind, "schema": schema}


def _text(choice: Mapping[str, Any]) -> Reply:
    """What a choice says, in either of the forms in which chat content comes: a text, or a list of parts.

    >>> _text({"message": {"content": [{"type": "thinking", "text": "Hm"}, {"type": "text", "text": "Yes."}]}}).text
    'Yes.'
    >>> _text({"message": {"content": 5}}).reason
    'the server sent content that is no text (int)'
    """
    message = choice.get("message")
    content = message.get("content") if isinstance(message, dict) else choice.get("text")
    if isinstance(content, list):
        content = "".join(_parts(content)) or None
    if content is None:
        return Reply(reason=f"the server sent no text ({choice.get('finish_reason')})")
    if not isinstance(content, str):
        return Reply(reason=f"the server sent content that is no text ({type(content).__name__})")
    return Reply(content, cut=choice.get("finish_reason") == "length")


def _parts(content: list[Any]) -> Iterator[str]:
    """The texts among the parts; others are thoughts, refusals, images."""
    for part in content:
        text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
        if isinstance(text, str):
            yield text


def _tokens(usage: Any, name: str) -> int:
    """A count of a completion's usage; 0 where the server gives none, or something else.

    >>> _tokens({"prompt_tokens": 12}, "prompt_tokens"), _tokens("lots", "prompt_tokens")
    (12, 0)
    """
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) else 0


def _positions(choice: Mapping[str, Any]) -> list[tuple[str, dict[str, float]]]:
    """(token, log probabilities of it and its alternatives) for every position of the reply.

    Empty where the server gives none, or any that cannot be read: nothing follows from half of them.

    >>> _positions({"logprobs": {"content": [{"token": "Yes", "logprob": -0.5}]}})
    [('Yes', {'Yes': -0.5})]
    >>> _positions({"logprobs": {"content": [{"token": "Yes"}]}})
    []
    """
    try:
        return list(_given(choice.get("logprobs") or {}))
    except (AttributeError, KeyError, TypeError, ValueError):  # of another shape than the protocol's
        return []


def _given(logprobs: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    """See ``_positions``. Chat gives objects a position, completions give parallel lists."""
    if logprobs.get("content"):
        for place in logprobs["content"]:
            several = (*(place.get("top_logprobs") or ()), place)
            yield place["token"], dict(_pair(one["token"], one["logprob"]) for one in several)
        return
    tokens = logprobs.get("tokens") or []
    tops = logprobs.get("top_logprobs") or [{}] * len(tokens)
    for token, logprob, top in zip(tokens, logprobs.get("token_logprobs") or [], tops, strict=False):
        if logprob is not None:
            yield token, dict(_pair(*one) for one in (*(top or {}).items(), (token, logprob)))


def _pair(token: str, logprob: float) -> tuple[str, float]:
    """The two, where they are a token and the logarithm of a probability, which may be rounded to a little over 1."""
    if isinstance(token, str) and logprob <= 0.01:
        return token, logprob
    raise ValueError(f"expected a token and its log probability, got {token!r}, {logprob!r}")


def _probabilities(positions: list[tuple[str, dict[str, float]]], choices: Sequence[str]) -> tuple[float, ...]:
    """Of the choices at the first position that holds a word, all spellings of each summed.

    >>> _probabilities([("\\n", {"\\n": 0.0}), (" Yes", {" Yes": math.log(0.5), "yes": math.log(0.2)})], ["Yes", "No"])
    (0.7, 0.0)
    """
    place = next((top for token, top in positions if any(c.isalnum() for c in token)), positions[-1][1])
    words = [(token.strip(" \n\t▁Ġ*\"'.").casefold(), math.exp(logprob)) for token, logprob in place.items()]
    return tuple(math.fsum(p for word, p in words if word == choice.casefold()) for choice in choices)
