"""A language model behind one or more OpenAI-compatible servers (``kind: openai`` in params.yaml).

The servers may be vLLM, SGLang, llama.cpp, Ollama, ``transformers serve`` or a vendor's. The ``openai`` package does HTTP
and repeats failed attempts, and ``server_pool`` chooses the server. This module keeps the budget and adapts requests to
what a server accepts.
"""

import asyncio
import logging
import os
import queue
import re
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx2
import openai

from claimwise.errors import counted, printable
from claimwise.models.cache import call_key
from claimwise.models.cost import Usage
from claimwise.models.openai_replies import (
    Server,
    ServerError,
    may_pass,
    probabilities,
    read_alternatives,
    read_text,
    read_tokens,
    refusal,
    reply_limit,
    well_formed,
)
from claimwise.models.options import VENDOR, ModelError, OpenAIOptions, without_credentials
from claimwise.models.replies import Reply
from claimwise.models.server_pool import Place, ServerPool
from claimwise.prompts import Decoding, Rendered

_log = logging.getLogger(__name__)
_KEPT = "Finished replies are kept: run again to go on."
_KEY_NAME = re.compile("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH", re.IGNORECASE)
_FEW = 5  # alternative tokens that a server may still give if it refuses more
_PROBE = "Is the sky blue? Answer Yes or No."
_SAMPLED = "verdicts without probabilities are 0 or 1, as the server writes them, and are marked 'sampled'"
# Fields that some servers refuse: a pattern of their errors, what the field is, and what happens without it.
_OPTIONAL = {
    "logprobs": ("logprob", "the request for logprobs", _SAMPLED),
    "response_format": ("response_format|schema", "to hold replies to a schema", "JSON is read as it is written"),
    "stop": (r"\bstop\b", "texts that end a reply", "replies are ended here"),
}
# Words in the errors of newer models, and the setting that helps.
_SETTINGS = {"max_completion_tokens": "token_limit: max_completion_tokens", "temperature": "temperature: null"}
# The options that change a reply; they are part of the cache's keys.
_REPLY_OPTIONS = set("model api system start temperature seed logprobs top_logprobs json_schema extra_body".split())


class OpenAILanguageModel:
    """See ``replies.LanguageModel``.

    A call that fails after all retries stops the run, so that a server that is down does not become a table of missing
    scores. A prompt has a reason instead of a reply if the server refuses it (too long, filtered), or fails on it while it
    answers another prompt.

    Raises:
        ModelError: the key's environment variable holds no key, or one that cannot be sent.
    """

    def __init__(self, options: OpenAIOptions):
        self._options = options
        self.name = options.model
        self.fingerprint = call_key(
            server=options.identity or options.base_url[0], **options.model_dump(include=_REPLY_OPTIONS)
        )
        self.tally = Usage()
        self._where = f"{self.name} at {', '.join(map(without_credentials, options.base_url))}"
        self._started = 0
        tops = [options.top_logprobs, *([_FEW] if options.top_logprobs > _FEW else [])]
        #: The forms of the optional fields that no server has refused so far, the best first.
        self._forms: dict[str, list] = {
            "logprobs": tops if options.logprobs else [],
            "response_format": ["json_schema", "json_object"] if options.json_schema else [],
            "stop": ["stop"],
        }
        self._warned: set[str] = set()
        self._key = _key(options)
        self._pool = ServerPool(options, self._key)
        # An event loop in its own thread: a notebook's kernel already runs a loop in the main thread.
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=_run_loop, args=(self._loop, self._pool), name="openai", daemon=True)
        thread.start()
        weakref.finalize(self, _close, self._loop, thread)

    def count(self, text: str) -> int:
        """Return an estimate that is not too low for prose; the server has the tokenizer."""
        text = ((self._options.system if self._options.api == "chat" else self._options.start) or "") + text
        return _tokens(text) + 64

    def longest_reply(self, how: Decoding) -> int:
        """See ``LanguageModel``; a limit in ``extra_body`` replaces ours, even if probabilities are asked for."""
        ours = 1 if how.choices and self._options.logprobs else how.max_tokens
        return reply_limit({self._options.token_limit: ours, **self._options.extra_body}) or ours

    def fits(self, prompt: str, how: Decoding) -> bool:
        """See ``LanguageModel``; room for a written answer is left, since the server may give no probabilities."""
        reply_tokens = self.longest_reply(replace(how, choices=()))
        return self._options.context is None or self.count(prompt) <= self._options.context - reply_tokens

    def replies(self, prompts: Sequence[str], how: Decoding) -> Iterator[tuple[int, Reply]]:
        """See ``LanguageModel``; after an error, calls in flight still finish.

        Prompts are sent document by document and in order, so that a server can use its prefix cache.
        """
        finished: queue.SimpleQueue[tuple[int, Reply] | None] = queue.SimpleQueue()
        errors: list[Exception] = []
        documents: dict[str, list[int]] = {}
        for index, prompt in enumerate(prompts):
            documents.setdefault(prompt.document if isinstance(prompt, Rendered) else prompt, []).append(index)

        async def call(index: int, place: Place) -> None:
            untried = len(self._options.base_url)  # servers that have not failed on this prompt yet
            while not errors:
                async with self._pool.turn(place) as server:
                    if errors:
                        return
                    try:
                        finished.put((index, await self._ask(prompts[index], how, server)))
                        return
                    except ServerError as error:
                        untried -= 1
                        if error.failed and untried <= 0 and await self._serves(server, how):
                            finished.put((index, Reply(reason="the server failed on it (status 500)")))
                            return
                        if self._pool.replace(server):
                            self._started -= 1  # another server gets it: this is one call of the budget, not two
                        else:
                            errors.append(self._none_left(error))
                    except Exception as error:
                        errors.append(error)

        async def run() -> None:
            async with asyncio.TaskGroup() as calls:
                for document, indices in documents.items():
                    if errors:
                        return
                    place = await self._pool.assign(document, len(indices))
                    for index in indices:
                        task = calls.create_task(call(index, place))
                        # A callback, because a task that is cancelled before its first step runs none of its code.
                        task.add_done_callback(lambda _, place=place: self._pool.done(place))

        task = asyncio.run_coroutine_threadsafe(run(), self._loop)
        task.add_done_callback(lambda _: finished.put(None))
        try:
            yield from iter(finished.get, None)
        finally:
            task.cancel()
        if errors:
            raise errors[0]
        task.result()

    async def _ask(self, prompt: str, how: Decoding, server: Server) -> Reply:
        """Return the choices' probabilities if they are asked for and the server gives some; otherwise a text."""
        choice = await self._create(server, prompt, how)
        if isinstance(choice, Reply):
            return choice
        if not how.choices:
            return read_text(choice).before(how.stop)
        alternatives = read_alternatives(choice)
        if alternatives and len(alternatives) > 1:  # the token alone says nothing about the other choices
            return Reply(probabilities=probabilities(alternatives, how.choices))
        reply = read_text(choice)
        if self._forms["logprobs"] and reply.answered and reply.reason is None:  # a refusal never has probabilities
            if alternatives is None:
                problem = "unreadable logprobs"
            elif alternatives:
                problem = "no alternatives to the token of an answer"
            else:
                problem = "no logprobs with some replies or all"
            self._warn("logprobs", f"sends {problem}: {_SAMPLED}")
        return reply

    # -- servers differ ------------------------------------------------------------------------------

    def _fields(self, how: Decoding) -> dict[str, Any]:
        """Return the optional fields of this call, each in the best form that no server has refused."""
        wanted = {"logprobs": how.choices, "response_format": how.schema, "stop": how.stop and not how.choices}
        return {name: self._forms[name][0] for name, value in wanted.items() if value and self._forms[name]}

    def _refuses(self, fields: Mapping[str, Any], said: str, parameter: str) -> bool:
        """Whether an error is about one of these fields; if so, its form is not sent again.

        ``said`` is the error's message, and ``parameter`` the field that it names, if any.
        """
        for name, form in fields.items():
            pattern, what, instead = _OPTIONAL[name]
            if parameter == name or re.search(pattern, said.lower()):
                forms = self._forms[name]
                if form in forms:  # another call in flight may have removed it
                    forms.remove(form)
                    if forms:
                        noun = " alternatives" if name == "logprobs" else ""
                        instead = f"asking again for {forms[0]} instead of {form}{noun}"
                    _log.warning("%s refuses %s (%s): %s", self._where, what, said, instead)
                return True
        return False

    def _warn(self, about: str, warning: str) -> None:
        if about not in self._warned:
            self._warned.add(about)
            _log.warning("%s %s", self._where, warning)

    # -- one call ------------------------------------------------------------------------------------

    async def _create(self, server: Server, prompt: str, how: Decoding) -> dict[str, Any] | Reply:
        """Return the server's first choice, or a ``Reply`` with the reason why it refused this prompt."""
        self._spend()
        fields = self._fields(how)
        path, request = self._request(prompt, how, fields)
        try:
            response = await server.client.post(path, cast_to=httpx2.Response, body=request)
        except openai.APIStatusError as error:
            said = server.message(error.response)
            parameter = error.param if isinstance(error.param, str) else ""
            if may_pass(error.response):
                retries = int(error.request.headers.get("x-stainless-retry-count", 0))
                after = f", after {counted(retries, 'retry')}" if retries else ""
                wait = error.response.headers.get("retry-after")
                asks = f"; it asks to wait {printable(wait)} s" if wait else ""
                failed = error.status_code == 500 and not wait
                raise ServerError(self._ended(f"{server.where}: {said}{after}{asks}"), failed) from None
            if self._refuses(fields, said, parameter):
                return await self._create(server, prompt, how)
            codes = [code for code in (error.code, error.type) if isinstance(code, str)]
            if reason := refusal(said, request, error.status_code, codes, parameter):
                return Reply(reason=reason)
            why = self._explained(server, error.status_code, said)
            raise ModelError(self._ended(why)) from None
        except openai.APIConnectionError as error:
            after = f"after {counted(self._options.retries, 'retry')}"
            raise ServerError(self._ended(f"{server.where}: {error.__cause__}, {after}")) from None
        completion = response.extensions["completion"]
        self._count(prompt, completion)
        return completion["choices"][0]

    async def _serves(self, server: Server, how: Decoding) -> bool:
        """Whether the server answers another prompt; if so, the prompt that it failed on is to blame."""
        path, request = self._request(_PROBE, how, self._fields(how))
        try:
            self._spend()
            response = await server.client.with_options(max_retries=0).post(path, cast_to=httpx2.Response, body=request)
        except (openai.APIError, ModelError):
            return False
        self._count(_PROBE, response.extensions["completion"])
        return True

    def _ended(self, why: str) -> str:
        """Return why a run ended, and that its replies are kept if there are any."""
        return f"{why.removesuffix('.')}. {_KEPT}" if self.tally.calls else why

    def _explained(self, server: Server, status: int, said: str) -> str:
        variable = self._options.key_variable
        if status in (401, 403):
            key = f"refused the key in {variable}" if self._key else f"wants a key, and {variable} is not set"
            return f"{server.where} {key}: {said}"
        if status in (404, 405):
            return (
                f"{server.where} knows no such model or path: {said}. {server.address}/models lists its models; "
                "`base_url` usually ends in /v1."
            )
        if 300 <= status < 400:
            return f"{server.where} sends the request on to another address (status {status}); write that address under `base_url`"
        message = said.lower()
        refused = f"token_limit: {self._options.token_limit}"  # never advise the setting that was just refused
        advice = [
            f". Write `{setting}` beside the model in params.yaml"
            for word, setting in _SETTINGS.items()
            if word in message and setting != refused and "too large" not in message
        ]
        return f"{server.where} refused the request: {said}{''.join(advice[:1])}"

    def _request(self, prompt: str, how: Decoding, fields: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        options, chat = self._options, self._options.api == "chat"
        body = {"model": self.name, options.token_limit: how.max_tokens, **options.extra_body}
        for name in ("temperature", "seed"):
            if getattr(options, name) is not None:
                body[name] = getattr(options, name)
        if top := fields.get("logprobs"):
            body |= {"logprobs": True, "top_logprobs": top} if chat else {"logprobs": top}
        if kind := fields.get("response_format"):
            body["response_format"] = _format(kind, how.schema)
        if "stop" in fields:
            body["stop"] = list(how.stop)
        prompt = well_formed(prompt)
        if not chat:
            return "/completions", body | {"prompt": options.start + prompt}
        messages = [{"role": "system", "content": options.system}] if options.system else []
        return "/chat/completions", body | {"messages": [*messages, {"role": "user", "content": prompt}]}

    def _spend(self) -> None:
        calls, tokens = self._options.max_calls, self._options.max_total_tokens
        if calls is not None and self._started >= calls:
            raise ModelError(self._ended(f"the budget of {calls} calls (max_calls) is spent"))
        spent = self.tally.prompt_tokens + self.tally.reply_tokens
        if tokens is not None and spent >= tokens:
            raise ModelError(self._ended(f"the budget of {tokens} tokens (max_total_tokens) is spent"))
        self._started += 1

    def _count(self, prompt: str, completion: Mapping[str, Any]) -> None:
        usage = completion.get("usage")
        read, written = (read_tokens(usage, name) for name in ("prompt_tokens", "completion_tokens"))
        words = len(prompt.split())
        if 0 < read < words:  # the only sign that a server truncates prompts
            self._warn(
                "cutting",
                f"counts {read} tokens in a prompt of {words} words: it seems to cut prompts, unless it leaves out what "
                "it remembers of earlier ones. Raise its context (num_ctx of Ollama), and write the same number as "
                "`context` beside the model in params.yaml: longer documents are then read in chunks",
            )
        if not read and self._options.max_total_tokens is not None:  # without counts the budget would never be spent
            self._warn("usage", "does not say how many tokens it reads: max_total_tokens is of estimates")
            choice = completion["choices"][0]
            read = self.count(prompt)
            written = written or _tokens(str(choice.get("message", choice.get("text"))))  # reasoning included, if sent
        self.tally += Usage(calls=1, prompt_tokens=read, reply_tokens=written)

    def _none_left(self, error: ServerError) -> ModelError:
        if len(self._options.base_url) == 1:
            return error
        return ModelError(
            self._ended(
                f"{self.name}: no server is left: {self._pool.problems()}. Start them, or correct `base_url` of this model "
                "in params.yaml"
            )
        )


def _key(options: OpenAIOptions) -> str:
    """Return the key from the environment, without the line end that ``export KEY=$(cat file)`` may leave."""
    key = os.environ.get(options.key_variable, "").strip()
    if not key and VENDOR in options.base_url:
        raise ModelError(f"kind openai: the environment variable {options.key_variable} holds no key for {VENDOR}")
    if not all("!" <= character <= "~" for character in key):
        raise ModelError(
            f"kind openai: the environment variable {options.key_variable} holds no key: expected one word of ASCII "
            "characters"
        )
    if key and not _KEY_NAME.search(options.key_variable):
        _log.warning(
            "kind openai: what the environment variable %s holds is sent to the server as the key; name another under "
            "`key_variable` if that is none", options.key_variable,
        )  # fmt: skip
    return key


def _run_loop(loop: asyncio.AbstractEventLoop, pool: ServerPool) -> None:
    loop.run_forever()
    loop.run_until_complete(pool.close())
    loop.close()


def _close(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    # The last reference to the model may be dropped in this very thread, which cannot join itself.
    if threading.current_thread() is not thread:
        thread.join(5)  # not longer on a busy machine; the system closes what is left


def _tokens(text: str) -> int:
    """Return an estimate of a text's tokens: one for each digit and for every three other bytes; not too low for prose.

    >>> _tokens("It rained in 1999.")
    8
    """
    digits = len(re.findall(r"\d", text))
    return (len(text.encode("utf-8", "surrogatepass")) - digits) // 3 + digits


def _format(kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field that makes a reply follow a schema, in the vendor's form or that of llama-cpp-python."""
    if kind == "json_schema":
        return {"type": kind, kind: {"name": "reply", "schema": schema, "strict": True}}
    return {"type": kind, "schema": schema}
