"""An OpenAI-compatible server and what it answers: failed attempts, refusals, texts, probabilities, counts."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import math
import re
import ssl
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx2
import openai

from claimwise.errors import counted, printable
from claimwise.models.options import ModelError, OpenAIOptions, without_credentials
from claimwise.models.replies import Reply
from claimwise.reasons import Reason

_log = logging.getLogger(__name__)
_FIRST_ATTEMPTS = 3  # at a server that has never sent a completion (is it there at all?), or that has others beside it
_CONNECT_SECONDS = 5.0
_PROBE_TIMEOUT = 5.0  # seconds
_WARN_SECONDS = 30.0
_SECRET = 8  # characters; "none" or "EMPTY" in the place of a key may be words of a reply
# Errors that no repetition mends, though their status says so: a spent quota (429), a field that llama-cpp-python does
# not know (500).
_FINAL = ("insufficient_quota", "exceeded your current quota", "validation error")

_TOO_LONG = Reason.REFUSED_AS_TOO_LONG
_FILTERED = "the server's content filter refused the prompt"
# What servers say of a prompt, also in codes: context_length_exceeded, exceed_context_size_error, content_policy_violation.
_SIGNS = {
    re.compile(
        r"context.(?:length|window|size)|maximum context|too many tokens"
        r"|\b(?:prompt|input|context|request|messages?|sequence)\b.{0,80}\btoo (?:long|large)\b"
        r"|\btoo (?:long|large)\b.{0,80}\b(?:prompt|input|context)\b"
    ): _TOO_LONG,
    re.compile(r"content.(?:filter|policy|management)|usage polic|\bmoderation\b|\bsafety\b|\bflagged\b"): _FILTERED,
}
# With the prompt's own size, a complaint of the limit on its reply is of the two together (vLLM).
_SIZED = re.compile(
    r"context.(?:length|window|size)|maximum context|(?:input|prompt) tokens|tokens (?:in|from) (?:the|your) (?:input|messages|prompt)"
)
_ROOM = re.compile(r"context (?:length|window|size)[^\d.]{0,20}(\d[\d,]*)")
_LIMITS = ("max_tokens", "max_completion_tokens")
_PROMPTS = {"model", "prompt", "messages"}
_CUT = ("length", "model_length", "content_filter")  # how servers say that a reply was stopped before its end
_FAILED = ("error", "abort")  # or that they failed within it


class ServerError(ModelError):
    """A server cannot be reached, or does not serve; another of the same model may.

    It has ``failed`` where it was reached and had an error within: the prompt may be to blame.
    """

    def __init__(self, message: str, failed: bool = False):
        super().__init__(message)
        self.failed = failed


class Server(openai.DefaultAsyncHttpxClient):
    """A server: the HTTP client under its ``openai.AsyncOpenAI``, which repeats attempts that fail.

    It ends a call that cannot succeed. Completions are read here, so that an answer that is none counts as a failed
    attempt. The completion is in the response's ``extensions``.

    Args:
        base_url: its address.
        options: the seconds of an attempt are up to the last byte of its answer; ``AsyncOpenAI`` makes the retries.
        key: is kept out of answers and messages, as is a password in the address; some servers repeat it.
        replace: whether other servers take over; asked when several attempts of a call have failed.

    Attributes:
        address: without a name and password.
        where: the model and the address, for messages.
        client: sends what the server is asked.
        problem: of the last attempt that failed.
        slots: its calls in flight.
        load: calls that it is to answer and has not, in flight or waiting.
        out: it does not serve, and is not asked until it answers again.
    """

    def __init__(self, base_url: str, options: OpenAIOptions, key: str, replace: Callable[[Server], bool]):
        self.address = without_credentials(base_url)
        self.where = f"{options.model} at {self.address}"
        # The caller bounds what is in flight. A redirected POST would become a GET.
        settings = {"limits": httpx2.Limits(max_connections=None), "follow_redirects": False}
        try:
            super().__init__(**settings)
        except (ImportError, ValueError) as error:  # SOCKS needs a further package
            _log.warning("%s: the environment's proxies are not used: %s", self.where, error)
            super().__init__(**settings, trust_env=False)
        self.client = openai.AsyncOpenAI(
            api_key=key or "none",  # it wants one; none is sent
            base_url=base_url,
            timeout=openai.Timeout(options.timeout_seconds, connect=min(options.timeout_seconds, _CONNECT_SECONDS)),
            max_retries=options.retries,
            http_client=self,
        )
        self.slots = asyncio.Semaphore(options.concurrency)
        self.load = 0
        self.out = False
        self._seconds, self._retries, self._key = options.timeout_seconds, options.retries, key
        password = unquote(urlsplit(base_url).password or "")
        self._forms = [form for secret in (key, password) if len(secret) >= _SECRET for form in _forms(secret)]
        self._few_retries = min(_FIRST_ATTEMPTS - 1, self._retries)  # after so many another server takes over
        self._served = False  # whether the server has ever sent a completion
        self.problem = ""
        self._replace, self._alone = replace, len(options.base_url) == 1
        self._warned = -_WARN_SECONDS

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Make one attempt.

        Raises:
            httpx2.RequestError: it failed, and another may not.
            ServerError: others would fail, too, or another server takes over.
            ModelError: no other would succeed.
        """
        attempt = int(request.headers["x-stainless-retry-count"])
        if not self._key:
            request.headers.pop("authorization", None)
        try:
            async with asyncio.timeout(self._seconds):
                answer = self._judged(await super().send(request, **options))
            if may_pass(answer):
                self._failed(attempt, self._retries)
            return answer
        except (TimeoutError, httpx2.RequestError) as error:
            late = isinstance(error, TimeoutError | httpx2.ReadTimeout)
            self.problem = f"no answer within {self._seconds:g} s" if late else self._explained(error)
            unknown = not late and not self._served  # a call to a server that has never answered soon ends
            self._failed(attempt, self._few_retries if unknown else self._retries)
            if unknown and attempt >= self._few_retries:
                raise self._unusable(f"{self.problem}, after {attempt} retries") from None
            raise httpx2.RequestError(self.problem, request=request) from None

    async def answers(self) -> bool:
        """Whether something serves the address, if only to say that it wants a key or knows no such path."""
        try:
            async with asyncio.timeout(_PROBE_TIMEOUT):
                response = await super().send(self.build_request("GET", f"{self.client.base_url}models"))
        except (TimeoutError, httpx2.RequestError):
            return False
        return response.status_code < 500

    def _failed(self, attempt: int, most: int) -> None:
        """End the call here once a few attempts have failed, if another server takes over; else say that it is tried again.

        Nobody should wonder why nothing moves.
        """
        if attempt >= self._few_retries and self._replace(self):
            raise ServerError(f"{self.where}: {self.problem}", self.problem.endswith("(status 500)"))
        first = 0 if self._alone else self._few_retries
        if first <= attempt < most and time.monotonic() - self._warned >= _WARN_SECONDS:
            self._warned = time.monotonic()
            _log.warning("%s: %s; trying again, up to %s a call", self.where, self.problem, counted(most, "time"))

    def _without_secrets(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, "***")
        return text

    def _judged(self, response: httpx2.Response) -> httpx2.Response:
        """The answer without secrets, with its completion, or with its problem noted.

        ``x-should-retry`` is how a server tells ``openai`` whether to call again.
        """
        text = response.content.decode("utf-8", "surrogateescape")
        if self._forms:
            with suppress(ValueError, RecursionError):  # no JSON: a page, half a body
                text = json.dumps(json.loads(text))  # the escapes of JSON would hide a secret
        body = self._without_secrets(text).encode("utf-8", "surrogateescape")
        names = ("retry-after", "retry-after-ms", "x-should-retry")
        headers = {name: self._without_secrets(response.headers[name]) for name in names if name in response.headers}
        answer = httpx2.Response(response.status_code, headers=headers, content=body, request=response.request)
        if answer.is_success:
            answer.extensions["completion"] = self._completion(body)
            self._served = True
            return answer
        self.problem = f"{self.shortened(answer.text)} (status {answer.status_code})"
        if any(sign in answer.text for sign in _FINAL):
            answer.headers["x-should-retry"] = "false"
        return answer

    def _completion(self, body: bytes) -> dict[str, Any]:
        """An object with a first choice that is an object; the rest is read with care."""
        try:
            completion = json.loads(body)
            completion["choices"][0].keys()
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):  # half a body, a proxy's page
            text = self.shortened(body.decode("utf-8", "replace"))
            if text.startswith("<") and not self._served:
                raise self._unusable(f"a web page came instead of a completion: {text}") from None
            raise httpx2.DecodingError(f"an answer that is no completion: {text}") from None
        return completion

    def _explained(self, error: httpx2.RequestError) -> str:
        """What an error began with: the libraries in between say that all attempts to connect failed."""
        if isinstance(error, httpx2.ConnectTimeout):  # it began with how the event loop ends a wait
            return "no connection: timed out"
        cause: BaseException = error
        while deeper := cause.__cause__ or cause.__context__:
            cause = deeper
        if isinstance(cause, BaseExceptionGroup):  # of a host with several addresses
            cause = cause.exceptions[0]
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise ModelError(
                f"{self.where}: the server's certificate is not trusted ({cause}). Name the file of the authority that "
                "signed it in the environment variable SSL_CERT_FILE"
            ) from None
        if isinstance(error, httpx2.DecodingError):
            return str(error)
        kind = "no connection: " if isinstance(error, httpx2.ConnectError) else ""
        return f"{kind}{type(cause).__name__}: {cause}".removesuffix(": ")  # a time-out says nothing

    def _unusable(self, problem: str) -> ServerError:
        self.problem = problem
        return ServerError(
            f"{self.where} cannot be used: {problem}. Start the server, or correct the model's `base_url`, which "
            "usually ends in /v1. Nothing was answered."
        )

    def message(self, error: openai.APIStatusError) -> str:
        """What the server says of an error, and its status."""
        said = error.body.get("message") if isinstance(error.body, dict) else error.body
        return f"{self.shortened(str(said or error.response.text))} (status {error.status_code})"

    def shortened(self, text: str) -> str:
        """A text on one line, without secrets, and without what a terminal takes for a command."""
        return printable(self._without_secrets(text))[:300]


def _forms(secret: str) -> list[str]:
    """How a secret may stand in an answer: as it is, in base64, whatever stands before it in the same text, or as JSON.

    >>> text = base64.b64encode(b"Bearer sk-4242-4242!").decode()
    >>> [form in text for form in _forms("sk-4242-4242")]
    [False, False, False, True, False]
    """
    # Three bytes become four characters. Left out are those that bytes before the secret have a part in, and the last ones,
    # if they are of less than three bytes: what follows may have a part in them.
    key = secret.encode()
    encoded = [(base64.b64encode(bytes(before) + key).decode(), before) for before in range(3)]
    return [
        secret,
        json.dumps(secret)[1:-1],
        *(text[(4 * before + 2) // 3 : (len(key) + before) // 3 * 4] for text, before in encoded),
    ]


def may_pass(response: httpx2.Response) -> bool:
    """Whether the server may yet serve the same request: it is overloaded, or limits the rate of calls."""
    status = response.status_code
    return (status in (408, 409, 429) or status >= 500) and response.headers.get("x-should-retry") != "false"


def refusal(
    message: str, request: Mapping[str, Any], status: int = 400, codes: Collection[str] = (), parameter: str = ""
) -> str | None:
    """Why a server refused this prompt, where others may still be served; None where it is the request's form.

    The server's error has a message, a status of HTTP, perhaps ``codes`` (a code, a type), and may name a parameter, which
    is a field of the request.

    >>> request = {"model": "m", "prompt": "It rained.", "max_tokens": 20_000, "temperature": 0}
    >>> refusal("the prompt is too long", request)
    'the server refused the prompt as too long'
    >>> refusal("max_tokens is too large: 20000", request)
    """
    message = message.lower()
    room = _ROOM.search(message)
    if room and (reply_limit(request) or 0) >= int(room[1].replace(",", "")):
        return None  # not even an empty prompt leaves room for such a reply
    if reason := _sign(" ".join(codes)):
        return reason
    reason = _sign(message)
    if _names_field(message, parameter, request) and not (reason == _TOO_LONG and _SIZED.search(message)):
        return None
    return _TOO_LONG if status == 413 else reason


def _sign(said: str) -> str | None:
    return next((reason for sign, reason in _SIGNS.items() if sign.search(said)), None)


def _names_field(message: str, parameter: str, fields: Collection[str]) -> bool:
    """Whether an error is about a field of the request beside the prompt.

    >>> fields = {"seed"}
    >>> _names_field("invalid 'seed'", "", fields), _names_field("the seed of it", "", fields), _names_field("no", "seed", fields)
    (True, False, True)
    """
    names = {*fields, *_LIMITS, "temperature", "logprobs", "top_logprobs"} - _PROMPTS
    bare = [name for name in names if "_" in name or name in ("temperature", "logprobs")]  # no words of prose
    return (
        parameter in names
        or any(re.search(rf"\b{re.escape(name.lower())}\b", message) for name in bare)
        or any(re.search(rf"""['"`]{re.escape(name.lower())}['"`]""", message) for name in names)
    )


def reply_limit(request: Mapping[str, Any]) -> int | None:
    """The most tokens that a request lets its reply have; None where it says nothing of that.

    >>> reply_limit({"max_tokens": 5, "max_completion_tokens": 4000}), reply_limit({"max_tokens": None})
    (4000, None)
    """
    return max((request[name] for name in _LIMITS if isinstance(request.get(name), int)), default=None)


def read_text(choice: Mapping[str, Any]) -> Reply:
    """What a choice says, in either of the forms in which chat content comes: a text, or a list of parts.

    >>> read_text({"message": {"content": [{"type": "thinking", "text": "Hm"}, {"type": "text", "text": "Yes."}]}}).text
    'Yes.'
    >>> read_text({"message": {"content": 5}}).reason
    'the server sent content that is no text (int)'
    >>> read_text({"message": {"content": None, "refusal": "I'm sorry."}}).reason
    'refusal'
    """
    message = choice.get("message")
    content = message.get("content") if isinstance(message, dict) else choice.get("text")
    if isinstance(content, list):  # other parts are thoughts, refusals, images
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "".join(text for text in texts if isinstance(text, str)) or None
    if not content and isinstance(message, dict) and message.get("refusal"):
        return Reply(reason=Reason.REFUSAL)
    end = printable(str(choice.get("finish_reason")))[:40]
    if content is None or not str(content).strip():
        return Reply(reason=f"{Reason.NO_TEXT} ({end})")
    if not isinstance(content, str):
        return Reply(reason=f"the server sent content that is no text ({type(content).__name__})")
    if end in _FAILED:
        return Reply(reason=f"the server did not finish its reply ({end})")
    return Reply(well_formed(content), cut=end in _CUT)


def well_formed(text: str) -> str:
    r"""The text with halves of surrogate pairs joined, and one that stands alone replaced: no file can hold it.

    >>> well_formed("\ud83d\ude00 \ud83d.") == "\U0001f600 \ufffd."
    True
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def read_tokens(usage: Any, name: str) -> int:
    """A count of a completion's usage; 0 where the server gives none, or something else.

    >>> read_tokens({"prompt_tokens": 12}, "prompt_tokens"), read_tokens("lots", "prompt_tokens")
    (12, 0)
    """
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and 0 <= count < 1 << 40 else 0


def read_alternatives(choice: Mapping[str, Any]) -> dict[str, float] | None:
    r"""The log probabilities of the first token that holds a word and of its alternatives.

    Empty without any; None where they are of another shape than the protocol's.

    >>> tokens = [{"token": "\n", "logprob": 0.0}, {"token": "Yes", "logprob": -0.1}]
    >>> tokens[1]["top_logprobs"] = [{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -2.5}]
    >>> read_alternatives({"logprobs": {"content": tokens}})
    {'Yes': -0.1, 'No': -2.5}
    """
    found: dict[str, float] = {}
    try:
        for token, alternatives in _positions(choice.get("logprobs") or {}):
            found = dict(alternatives)
            if not all(isinstance(one, str) and logprob <= 0.01 for one, logprob in found.items()):  # may be rounded
                return None
            if any(character.isalnum() for character in token):
                break
        return {one: float(logprob) for one, logprob in found.items()}
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return None


def _positions(logprobs: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """(token, it and its alternatives with their log probabilities): chat gives objects, completions parallel lists."""
    for place in logprobs.get("content") or ():
        several = (*(place.get("top_logprobs") or ()), place)
        yield place["token"], [(one["token"], one["logprob"]) for one in several]
    tokens = logprobs.get("tokens") or []
    tops = logprobs.get("top_logprobs") or [{}] * len(tokens)
    for token, logprob, top in zip(tokens, logprobs.get("token_logprobs") or [], tops, strict=False):
        if logprob is not None:  # a prompt's first token has none
            yield token, [*(top or {}).items(), (token, logprob)]


def probabilities(alternatives: Mapping[str, float], choices: Sequence[str]) -> tuple[float, ...]:
    """Of the choices, by a position's tokens and their log probabilities; all spellings of each are summed.

    >>> probabilities({" Yes": math.log(0.5), "Yes,": math.log(0.2), "Hm": math.log(0.3)}, ["Yes", "No"])
    (0.7, 0.0)
    """
    words = [
        (token.strip(" \n\t▁Ġ*\"'.,:;!()").casefold(), math.exp(logprob)) for token, logprob in alternatives.items()
    ]
    return tuple(math.fsum(p for word, p in words if word == choice.casefold()) for choice in choices)
