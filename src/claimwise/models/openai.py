"""A server that speaks the OpenAI protocol as a language model (``kind: openai`` in params.yaml), or several of one model.

vLLM, SGLang, llama.cpp, Ollama, ``transformers serve`` or a vendor. The ``openai`` package does HTTP and repeats
attempts that fail, ``server_pool`` chooses the server; here are the budget, and what is asked of servers that differ.
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

from claimwise.errors import printable
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
_FEW = 5  # alternatives that a server may still give where it refuses more
_PROBE = "Is the sky blue? Answer Yes or No."
_SAMPLED = "verdicts without probabilities are 0 or 1, as the server writes them, and are marked 'sampled'"
# Fields that some servers refuse: how their errors name one, what it is, and what is done without it.
_OPTIONAL = {
    "logprobs": ("logprob", "the request for logprobs", _SAMPLED),
    "response_format": ("response_format|schema", "to hold replies to a schema", "JSON is read as it is written"),
    "stop": (r"\bstop\b", "texts that end a reply", "replies are ended here"),
}
# What newer models say of a field of every request, and the setting that helps.
_SETTINGS = {"max_completion_tokens": "token_limit: max_completion_tokens", "temperature": "temperature: null"}
# What changes a reply: the parts of the cache's keys.
_REPLY_OPTIONS = set("model api system start temperature seed logprobs top_logprobs json_schema extra_body".split())


class OpenAILanguageModel:
    """See ``replies.LanguageModel``.

    What fails after all retries stops the run: a server that is down must not become a table of missing scores.
    A prompt that the server refuses (too long, filtered), or fails on while it answers another, has no reply and a reason.

    Raises:
        ModelError: the key's environment variable holds none, or none that can be sent.
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
        #: Of the fields that some servers refuse, the forms that were not refused so far, the best first.
        self._forms: dict[str, list] = {
            "logprobs": tops if options.logprobs else [],
            "response_format": ["json_schema", "json_object"] if options.json_schema else [],
            "stop": ["stop"],
        }
        self._told: set[str] = set()
        self._key = _key(options)
        self._pool = ServerPool(options, self._key)
        # A loop of its own in a thread of its own: a notebook's kernel already runs one in the main thread.
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=_turn, args=(self._loop, self._pool), name="openai", daemon=True)
        thread.start()
        weakref.finalize(self, _close, self._loop, thread)

    def count(self, text: str) -> int:
        """An estimate from above for prose: the tokenizer is the server's."""
        text = ((self._options.system if self._options.api == "chat" else self._options.start) or "") + text
        return _tokens(text) + 64

    def longest_reply(self, how: Decoding) -> int:
        """See ``LanguageModel``; a limit in ``extra_body`` takes the place of ours, also where probabilities are asked for."""
        ours = 1 if how.choices and self._options.logprobs else how.max_tokens
        return reply_limit({self._options.token_limit: ours, **self._options.extra_body}) or ours

    def fits(self, prompt: str, how: Decoding) -> bool:
        """See ``LanguageModel``; a server that gives no probabilities writes its answer, so room for that is left."""
        written = self.longest_reply(replace(how, choices=()))
        return self._options.context is None or self.count(prompt) <= self._options.context - written

    def replies(self, prompts: Sequence[str], how: Decoding) -> Iterator[tuple[int, Reply]]:
        """See ``LanguageModel``; after an error, calls in flight still finish.

        Prompts are sent by document and in order, so that a server's prefix cache hits.
        """
        finished: queue.SimpleQueue[tuple[int, Reply] | None] = queue.SimpleQueue()
        errors: list[Exception] = []
        documents: dict[str, list[int]] = {}
        for index, prompt in enumerate(prompts):
            documents.setdefault(prompt.document if isinstance(prompt, Rendered) else prompt, []).append(index)

        async def call(index: int, place: Place) -> None:
            servers = len(self._options.base_url)  # that have not failed yet
            while not errors:
                async with self._pool.turn(place) as server:
                    if errors:
                        return
                    try:
                        finished.put((index, await self._ask(prompts[index], how, server)))
                        return
                    except ServerError as error:
                        servers -= 1
                        if error.failed and servers <= 0 and await self._serves(server, how):
                            finished.put((index, Reply(reason="the server failed on it (status 500)")))
                            return
                        if self._pool.replace(server):
                            self._started -= 1  # it is asked elsewhere: one call for the budget
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
                        # not in the call itself: one that is cancelled before its first step runs no line of it
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
        """Probabilities, where choices are asked for and the server gives some; else a text."""
        choice = await self._create(server, prompt, how)
        if isinstance(choice, Reply):
            return choice
        if not how.choices:
            return read_text(choice).before(how.stop)
        alternatives = read_alternatives(choice)
        if alternatives and len(alternatives) > 1:  # one alone says nothing of the answers that were not given
            return Reply(probabilities=probabilities(alternatives, how.choices))
        reply = read_text(choice)
        if self._forms["logprobs"] and reply.answered and reply.reason is None:  # a refusal has none anywhere
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
        """The fields that some servers refuse and this call has, in the best form that was not refused."""
        wanted = {"logprobs": how.choices, "response_format": how.schema, "stop": how.stop and not how.choices}
        return {name: self._forms[name][0] for name, value in wanted.items() if value and self._forms[name]}

    def _refuses(self, fields: Mapping[str, Any], said: str, parameter: str) -> bool:
        """Whether an error is about one of these fields, whose form is then asked for no more."""
        for name, form in fields.items():
            sign, what, instead = _OPTIONAL[name]
            if parameter == name or re.search(sign, said.lower()):
                forms = self._forms[name]
                if form in forms:  # several calls may find out at once
                    forms.remove(form)
                    if forms:
                        noun = " alternatives" if name == "logprobs" else ""
                        instead = f"asking again for {forms[0]} instead of {form}{noun}"
                    _log.warning("%s refuses %s (%s): %s", self._where, what, said, instead)
                return True
        return False

    def _warn(self, about: str, warning: str) -> None:
        if about not in self._told:  # several calls may find out at once; one warning
            self._told.add(about)
            _log.warning("%s %s", self._where, warning)

    # -- one call ------------------------------------------------------------------------------------

    async def _create(self, server: Server, prompt: str, how: Decoding) -> dict[str, Any] | Reply:
        """The server's first choice, or a ``Reply`` with the reason why it refused this prompt."""
        self._spend()
        fields = self._fields(how)
        path, request = self._request(prompt, how, fields)
        try:
            response = await server.client.post(path, cast_to=httpx2.Response, body=request)
        except openai.APIStatusError as error:
            said = server.message(error)
            parameter = error.param if isinstance(error.param, str) else ""
            if may_pass(error.response):
                asked = error.response.headers.get("retry-after")
                after = (
                    f"; it asks to wait {printable(asked)} s" if asked else f", after {self._options.retries} retries"
                )
                failed = error.status_code == 500 and not asked
                raise ServerError(f"{server.where}: {said}{after}. {_KEPT}", failed) from None
            if self._refuses(fields, said, parameter):
                return await self._create(server, prompt, how)
            codes = [code for code in (error.code, error.type) if isinstance(code, str)]
            if reason := refusal(said, request, error.status_code, codes, parameter):
                return Reply(reason=reason)
            why = self._explained(server, error.status_code, said)
            raise ModelError(f"{why.removesuffix('.')}. {_KEPT}" if self.tally.calls else why) from None
        except openai.APIConnectionError as error:
            raise ServerError(
                f"{server.where}: {error.__cause__}, after {self._options.retries} retries. {_KEPT}"
            ) from None
        completion = response.extensions["completion"]
        self._count(prompt, completion)
        return completion["choices"][0]

    async def _serves(self, server: Server, how: Decoding) -> bool:
        """Whether the server answers another prompt: what it failed on, again and again, is then this one."""
        path, request = self._request(_PROBE, how, self._fields(how))
        try:
            self._spend()
            response = await server.client.with_options(max_retries=0).post(path, cast_to=httpx2.Response, body=request)
        except (openai.APIError, ModelError):
            return False
        self._count(_PROBE, response.extensions["completion"])
        return True

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
        asked = f"token_limit: {self._options.token_limit}"  # what is refused is no advice
        advice = [
            setting
            for word, setting in _SETTINGS.items()
            if word in message and setting != asked and "too large" not in message
        ]
        told = f". Write `{advice[0]}` beside the model in params.yaml" if advice else ""
        return f"{server.where} refused the request: {said}{told}"

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
            raise ModelError(f"the budget of {calls} calls (max_calls) is spent. {_KEPT}")
        spent = self.tally.prompt_tokens + self.tally.reply_tokens
        if tokens is not None and spent >= tokens:
            raise ModelError(f"the budget of {tokens} tokens (max_total_tokens) is spent. {_KEPT}")
        self._started += 1

    def _count(self, prompt: str, completion: Mapping[str, Any]) -> None:
        usage = completion.get("usage")
        read, written = (read_tokens(usage, name) for name in ("prompt_tokens", "completion_tokens"))
        words = len(prompt.split())
        if 0 < read < words:  # nothing else shows that a server cuts
            self._warn(
                "cutting",
                f"counts {read} tokens in a prompt of {words} words: it seems to cut prompts, unless it leaves out what "
                "it remembers of earlier ones. Raise its context (num_ctx of Ollama), and write the same number as "
                "`context` beside the model in params.yaml: longer documents are then read in chunks",
            )
        if not read and self._options.max_total_tokens is not None:  # a budget that counts nothing bounds nothing
            self._warn("usage", "does not say how many tokens it reads: max_total_tokens is of estimates")
            choice = completion["choices"][0]
            read = self.count(prompt)
            written = written or _tokens(str(choice.get("message", choice.get("text"))))  # with its thoughts, if sent
        self.tally += Usage(calls=1, prompt_tokens=read, reply_tokens=written)

    def _none_left(self, error: ServerError) -> ModelError:
        if len(self._options.base_url) == 1:
            return error
        return ModelError(
            f"{self.name}: no server is left: {self._pool.problems()}. Start them, or correct `base_url` of this model in "
            f"params.yaml. {_KEPT}"
        )


def _key(options: OpenAIOptions) -> str:
    """The key that the environment holds; a line's end after it, as ``export KEY=$(cat file)`` may leave, is no part."""
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


def _turn(loop: asyncio.AbstractEventLoop, pool: ServerPool) -> None:
    loop.run_forever()
    loop.run_until_complete(pool.close())
    loop.close()


def _close(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    if threading.current_thread() is not thread:  # a call may be the last to let go of its model
        thread.join(5)  # not for longer, on a busy machine: the system lets go of the rest


def _tokens(text: str) -> int:
    """An estimate from above for prose: a token a digit and every three other bytes.

    >>> _tokens("It rained in 1999.")
    8
    """
    digits = len(re.findall(r"\d", text))
    return (len(text.encode("utf-8", "surrogatepass")) - digits) // 3 + digits


def _format(kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """How a reply is held to a schema: as the vendor has it, or as llama-cpp-python does."""
    if kind == "json_schema":
        return {"type": kind, kind: {"name": "reply", "schema": schema, "strict": True}}
    return {"type": kind, "schema": schema}
