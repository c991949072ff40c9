"""An OpenAI-compatible server as a language model: bounded concurrency, retries, budgets, probabilities."""

from __future__ import annotations

import asyncio
import logging
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
from claimwise.models.openai_replies import (
    alternatives,
    positions,
    probabilities,
    read_text,
    read_tokens,
    refusal,
    reply_limit,
    stop_refused,
)
from claimwise.models.openai_transport import NeverReached, Refused, Transport, Unreachable
from claimwise.models.options import ModelError
from claimwise.models.replies import Reply, Tally

_log = logging.getLogger(__name__)
_DELIVERY_SECONDS = 0.01
_DIGIT = re.compile(r"\d")
_KEPT = "Finished replies are kept: run again to go on."
_FEW = 5  # alternatives that a server may still give where it refuses more
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
        self.fingerprint = call_key(
            server=options.identity or options.base_url,
            **options.model_dump(
                include={
                    "model",
                    "api",
                    "system",
                    "start",
                    "temperature",
                    "seed",
                    "logprobs",
                    "top_logprobs",
                    "json_schema",
                    "extra_body",
                }
            ),
        )
        self.tally = Tally()
        self._started = 0
        self._top = options.top_logprobs if options.logprobs else 0  # alternatives to ask for
        self._given = False  # whether the server has ever sent probabilities
        self._told: set[str] = set()
        self._stops = True  # whether it takes texts that end a reply
        self._formats = ["json_schema", "json_object"] if options.json_schema else []  # not refused so far
        self._transport = Transport(options.base_url, key, options.timeout_seconds, options.retries)
        # A loop of its own in a thread of its own: a notebook's kernel already runs one in the main thread.
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=_turn, args=(self._loop,), name="openai", daemon=True).start()
        weakref.finalize(self, _close, self._transport, self._loop)

    def count(self, text: str) -> int:
        """An estimate from above for prose: the tokenizer is the server's."""
        text = ((self._options.system if self._options.api == "chat" else self._options.start) or "") + text
        return _tokens(text) + 64

    def longest_reply(self, max_tokens: int, choices: Sequence[str] = ()) -> int:
        """See ``LanguageModel``; a limit in ``extra_body`` takes the place of ours, also where probabilities are asked for."""
        ours = 1 if choices and self._options.logprobs else max_tokens
        return reply_limit({self._options.token_limit: ours, **self._options.extra_body}) or ours

    def room(self, max_tokens: int) -> int | None:
        """See ``LanguageModel``; where the context is given."""
        context = self._options.context
        return None if context is None else context - self.longest_reply(max_tokens)

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
            options = {"stop": list(stop)} if stop and self._stops else {}
            choice = await self._create(prompt, max_tokens, options, schema)
            return choice if isinstance(choice, Reply) else read_text(choice).before(stop)

        return self._each(prompts, one)

    def choice_probabilities(
        self, prompts: Sequence[str], choices: Sequence[str], *, max_tokens: int
    ) -> Iterator[tuple[int, Reply]]:
        """See ``LanguageModel``; texts where the server gives no probabilities, after one warning."""

        async def one(prompt: str) -> Reply:
            choice = await self._create(prompt, max_tokens, self._wanted(self._top))
            if isinstance(choice, Reply):
                return choice
            found = positions(choice)
            if place := alternatives(found):
                self._given = True
                return Reply(probabilities=probabilities(place, choices))
            reply = read_text(choice)
            if self._top and reply.answered and reply.reason is None:  # a refusal has none anywhere
                self._miss_logprobs(choice, bool(found))
            return reply

        return self._each(prompts, one)

    # -- one call ----------------------------------------------------------------------------------

    def _wanted(self, top: int) -> dict[str, Any]:
        if not top:
            return {}
        return {"logprobs": top} if self._options.api == "completions" else {"logprobs": True, "top_logprobs": top}

    def _miss_logprobs(self, choice: Mapping[str, Any], alone: bool) -> None:
        """Note that a reply has no probabilities; where none ever had, no more are asked for."""
        if alone:
            self._tell_of_sampling("sends no alternatives to the token of an answer")
        elif choice.get("logprobs"):
            self._tell_of_sampling("sends unreadable logprobs")
        elif self._given:  # a gateway to several servers, of which some know none
            self._tell_of_sampling("sends no logprobs with some replies")
        else:
            self._top = 0
            self._tell_of_sampling("ignores the request for logprobs")

    def _fewer(self, options: Mapping[str, Any], error: Refused) -> int:
        """How many alternatives to ask for after a refusal to give as many: a few, then none."""
        fewer = _FEW if options.get("top_logprobs", options["logprobs"]) > _FEW else 0
        if not self._given:
            self._top = min(self._top, fewer)
        if fewer:
            self._tell("fewer", f"{self._where()} refuses the request for logprobs ({error}): it is asked for {fewer}")
        else:
            self._tell_of_sampling(f"refuses the request for logprobs ({error})")
        return fewer

    def _tell_of_sampling(self, why: str) -> None:
        self._tell(
            "sampling",
            f"{self._where()} {why}: verdicts without probabilities are 0 or 1, as the server writes them, and are "
            "marked 'sampled'",
        )

    def _tell(self, about: str, warning: str) -> None:
        if about not in self._told:  # several calls may find out at once; one warning
            self._told.add(about)
            _log.warning("%s", warning)

    async def _create(
        self, prompt: str, max_tokens: int, options: dict[str, Any], schema: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | Reply:
        """The server's first choice, or a ``Reply`` with the reason why it refused this prompt."""
        self._spend()
        start = time.monotonic()
        path, body = self._request(prompt, max_tokens)
        kind = self._formats[0] if schema and self._formats else None
        request = body | options | ({"response_format": _format(kind, schema)} if kind else {})
        try:
            completion = await self._transport.post(path, request)
        except NeverReached as error:
            raise ModelError(
                f"{self._where()} cannot be reached: {error}. Start the server, or correct `base_url` of this model in "
                "params.yaml. Nothing was asked."
            ) from None
        except Unreachable as error:
            raise ModelError(f"{self._where()}: {error}. {_KEPT}") from None
        except Refused as error:
            message = str(error).lower()
            if "logprobs" in options and "logprob" in message:
                return await self._create(prompt, max_tokens, self._wanted(self._fewer(options, error)))
            if kind and ("response_format" in message or "schema" in message):
                if kind in self._formats:  # several calls may find out at once
                    self._formats.remove(kind)  # parsers read JSON that no schema held together, too
                return await self._create(prompt, max_tokens, options, schema)
            if reason := refusal(error, request):
                return Reply(reason=reason)
            if "stop" in options and stop_refused(error):
                self._stops = False
                self._tell("stop", f"{self._where()} refuses texts that end a reply ({error}): replies are ended here")
                others = {name: value for name, value in options.items() if name != "stop"}
                return await self._create(prompt, max_tokens, others, schema)
            raise self._explained(error) from None
        self._count(prompt, completion, start)
        self._compare(prompt, completion.get("usage"))
        return completion["choices"][0]

    def _explained(self, error: Refused) -> ModelError:
        if error.status in (401, 403):
            return ModelError(f"{self._where()} refused the key in {self._options.key_variable}: {error}")
        if error.status == 404:
            return ModelError(
                f"{self._where()} knows no such model or path: {error}. {self._options.base_url}/models lists its models; "
                "`base_url` usually ends in /v1."
            )
        message = str(error).lower()
        advice = [setting for word, setting in _SETTINGS.items() if word in message and "too large" not in message]
        told = f". Write `{advice[0]}` beside the model in params.yaml" if advice else ""
        return ModelError(f"{self._where()} refused the request: {error}{told}")

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

    def _count(self, prompt: str, completion: Mapping[str, Any], start: float) -> None:
        usage = completion.get("usage")
        read, written = read_tokens(usage, "prompt_tokens"), read_tokens(usage, "completion_tokens")
        if not read and self._options.max_total_tokens is not None:  # a budget that counts nothing bounds nothing
            self._tell(
                "usage", f"{self._where()} does not say how many tokens it reads: max_total_tokens is of estimates"
            )
            choice = completion["choices"][0]
            read = self.count(prompt)
            written = written or _tokens(str(choice.get("message", choice.get("text"))))  # with its thoughts, if sent
        self.tally.calls += 1
        self.tally.seconds += time.monotonic() - start
        self.tally.prompt_tokens += read
        self.tally.reply_tokens += written

    def _compare(self, prompt: str, usage: Any) -> None:
        """Say once where a server has read fewer tokens than a prompt has words: nothing else shows that it cuts."""
        read, words = read_tokens(usage, "prompt_tokens"), len(prompt.split())
        if 0 < read < words:
            self._tell(
                "cutting",
                f"{self._where()} counts {read} tokens in a prompt of {words} words: it seems to cut prompts, unless it "
                "leaves out what it remembers of earlier ones. Raise its context (num_ctx of Ollama), and write the same "
                "number as `context` beside the model in params.yaml: longer documents are then read in chunks",
            )

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


def _tokens(text: str) -> int:
    """An estimate from above for prose: a token a digit and every three other bytes.

    >>> _tokens("It rained in 1999.")
    8
    """
    digits = len(_DIGIT.findall(text))
    return (len(text.encode("utf-8", "surrogatepass")) - digits) // 3 + digits


def _format(kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """How a reply is held to a schema: as the vendor has it, or as llama-cpp-python does."""
    if kind == "json_schema":
        return {"type": kind, kind: {"name": "reply", "schema": schema, "strict": True}}
    return {"type": kind, "schema": schema}
