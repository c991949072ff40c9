"""An OpenAI-compatible server and its answers: failed attempts, refusals, texts, probabilities, token counts."""

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
# Attempts at a server that has never sent a completion (does it exist?), or before another server takes over.
_FIRST_ATTEMPTS = 3
_CONNECT_SECONDS = 5.0
_PROBE_TIMEOUT = 5.0  # seconds
_WARN_SECONDS = 30.0
_SECRET = 8  # the fewest characters of a key to hide; shorter ones ("none", "EMPTY") may be words of a reply
# Errors that do not pass, although their status says so: a spent quota (429), a field that llama-cpp-python does not
# know (500).
_FINAL = ("insufficient_quota", "exceeded your current quota", "validation error")

_TOO_LONG = Reason.REFUSED_AS_TOO_LONG
_FILTERED = "the server's content filter refused the prompt"
# How servers refuse a prompt, in messages and codes (context_length_exceeded, exceed_context_size_error,
# content_policy_violation).
_SIGNS = {
    re.compile(
        r"context.(?:length|window|size)|maximum context|too many tokens"
        r"|\b(?:prompt|input|context|request|messages?|sequence)\b.{0,80}\btoo (?:long|large)\b"
        r"|\btoo (?:long|large)\b.{0,80}\b(?:prompt|input|context)\b"
    ): _TOO_LONG,
    re.compile(r"content.(?:filter|policy|management)|usage polic|\bmoderation\b|\bsafety\b|\bflagged\b"): _FILTERED,
}
# An error about the reply's limit that also names the prompt's size is about their sum (vLLM).
_SIZED = re.compile(
    r"context.(?:length|window|size)|maximum context|(?:input|prompt) tokens|tokens (?:in|from) (?:the|your) (?:input|messages|prompt)"
)
_ROOM = re.compile(r"context (?:length|window|size)[^\d.]{0,20}(\d[\d,]*)")
_LIMITS = ("max_tokens", "max_completion_tokens")
_PROMPTS = {"model", "prompt", "messages"}
_CUT = ("length", "model_length", "content_filter")  # finish reasons of a reply that was stopped before its end
_FAILED = ("error", "abort")  # finish reasons of a server that failed during a reply


class ServerError(ModelError):
    """A server cannot be reached or does not answer; another server of the same model may.

    ``failed`` says that it was reached and had an internal error. The prompt may be to blame.
    """

    def __init__(self, message: str, failed: bool = False):
        super().__init__(message)
        self.failed = failed


class Server(openai.DefaultAsyncHttpxClient):
    """A server: the HTTP client under its ``openai.AsyncOpenAI``, which repeats failed attempts.

    This class ends a call that cannot succeed. It also reads completions, so that an answer without a completion counts
    as a failed attempt. The completion is in the response's ``extensions``.

    Args:
        base_url: the server's address.
        options: the model's options. ``timeout_seconds`` is for one attempt, up to the last byte of its answer.
            ``AsyncOpenAI`` makes the ``retries``.
        key: the key. It is removed from answers and messages, since some servers repeat it; so is a password in the
            address.
        replace: called when several attempts of a call have failed; returns whether another server takes over.

    Attributes:
        address: the address without user and password.
        where: the model and the address, for messages.
        client: sends the requests.
        problem: the problem of the last failed attempt.
        slots: limits the calls in flight.
        load: the number of unfinished calls, in flight or waiting.
        out: whether the server is down; it gets no calls until it answers again.
    """

    def __init__(self, base_url: str, options: OpenAIOptions, key: str, replace: Callable[[Server], bool]):
        self.address = without_credentials(base_url)
        self.where = f"{options.model} at {self.address}"
        # The caller limits the calls in flight. A redirected POST would become a GET.
        settings = {"limits": httpx2.Limits(max_connections=None), "follow_redirects": False}
        try:
            super().__init__(**settings)
        except (ImportError, ValueError) as error:  # a SOCKS proxy needs a further package
            _log.warning("%s: the environment's proxies are not used: %s", self.where, error)
            super().__init__(**settings, trust_env=False)
        self.client = openai.AsyncOpenAI(
            api_key=key or "none",  # AsyncOpenAI needs one; ``send`` removes it
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
        self._few_retries = min(_FIRST_ATTEMPTS - 1, self._retries)  # after these another server may take over
        self._served = False  # whether the server has ever sent a completion
        self.problem = ""
        self._replace, self._alone = replace, len(options.base_url) == 1
        self._warned = -_WARN_SECONDS

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Make one attempt.

        Raises:
            httpx2.RequestError: the attempt failed, and another may succeed.
            ServerError: other attempts at this server would fail, too, or another server takes over.
            ModelError: no attempt at any server would succeed.
        """
        attempt = int(request.headers["x-stainless-retry-count"])
        if not self._key:
            request.headers.pop("authorization", None)
        try:
            async with asyncio.timeout(self._seconds):
                answer = self._checked(await super().send(request, **options))
            if may_pass(answer):
                self._failed(attempt, self._retries)
            return answer
        except (TimeoutError, httpx2.RequestError) as error:
            late = isinstance(error, TimeoutError | httpx2.ReadTimeout)
            self.problem = f"no answer within {self._seconds:g} s" if late else self._explained(error)
            unknown = not late and not self._served  # there may be no server at all: give up soon
            self._failed(attempt, self._few_retries if unknown else self._retries)
            if unknown and attempt >= self._few_retries:
                raise self._unusable(f"{self.problem}, after {counted(attempt, 'retry')}") from None
            raise httpx2.RequestError(self.problem, request=request) from None

    async def answers(self) -> bool:
        """Whether a server answers at the address, even with an error such as a missing key or an unknown path."""
        try:
            async with asyncio.timeout(_PROBE_TIMEOUT):
                response = await super().send(self.build_request("GET", f"{self.client.base_url}models"))
        except (TimeoutError, httpx2.RequestError):
            return False
        return response.status_code < 500

    def _failed(self, attempt: int, max_retries: int) -> None:
        """After a few failed attempts, end the call if another server takes over; otherwise warn of the next attempt.

        The warning explains why the progress bar does not move.
        """
        if attempt >= self._few_retries and self._replace(self):
            raise ServerError(f"{self.where}: {self.problem}", self.problem.endswith("(status 500)"))
        first = 0 if self._alone else self._few_retries
        if first <= attempt < max_retries and time.monotonic() - self._warned >= _WARN_SECONDS:
            self._warned = time.monotonic()
            limit = counted(max_retries, "time")
            _log.warning("%s: %s; trying again, up to %s a call", self.where, self.problem, limit)

    def _without_secrets(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, "***")
        return text

    def _checked(self, response: httpx2.Response) -> httpx2.Response:
        """Return the answer without secrets: with its completion, or with its problem noted.

        The header ``x-should-retry`` tells the ``openai`` package whether to try again.
        """
        text = response.content.decode("utf-8", "surrogateescape")
        if self._forms:
            with suppress(ValueError, RecursionError):  # not JSON: a web page, or half a body
                text = json.dumps(json.loads(text))  # the escapes of JSON could hide a secret
        body = self._without_secrets(text).encode("utf-8", "surrogateescape")
        names = ("retry-after", "retry-after-ms", "x-should-retry")
        headers = {name: self._without_secrets(response.headers[name]) for name in names if name in response.headers}
        answer = httpx2.Response(response.status_code, headers=headers, content=body, request=response.request)
        if answer.is_success:
            answer.extensions["completion"] = self._completion(body)
            self._served = True
            return answer
        self.problem = self.message(answer)
        if any(sign in answer.text for sign in _FINAL):
            answer.headers["x-should-retry"] = "false"
        return answer

    def _completion(self, body: bytes) -> dict[str, Any]:
        """Return the completion; its first choice is an object, and nothing else is certain."""
        try:
            completion = json.loads(body)
            completion["choices"][0].keys()
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):  # half a body, or a proxy's page
            text = self.shortened(body.decode("utf-8", "replace"))
            if text.startswith("<") and not self._served:
                raise self._unusable(f"a web page came instead of a completion: {text}") from None
            raise httpx2.DecodingError(f"an answer that is no completion: {text}") from None
        return completion

    def _explained(self, error: httpx2.RequestError) -> str:
        """Return the root cause of an error; the outer errors only say that all attempts to connect failed."""
        if isinstance(error, httpx2.ConnectTimeout):  # its root cause is the event loop's, and says nothing
            return "no connection: timed out"
        cause: BaseException = error
        while deeper := cause.__cause__ or cause.__context__:
            cause = deeper
        if isinstance(cause, BaseExceptionGroup):  # one error for each address of the host
            cause = cause.exceptions[0]
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise ModelError(
                f"{self.where}: the server's certificate is not trusted ({cause}). Name the file of the authority that "
                "signed it in the environment variable SSL_CERT_FILE"
            ) from None
        if isinstance(error, httpx2.DecodingError):
            return str(error)
        kind = "no connection: " if isinstance(error, httpx2.ConnectError) else ""
        return f"{kind}{type(cause).__name__}: {cause}".removesuffix(": ")  # a time-out has no message

    def _unusable(self, problem: str) -> ServerError:
        self.problem = problem
        return ServerError(
            f"{self.where} cannot be used: {problem}. Start the server, or correct the model's `base_url`, which "
            "usually ends in /v1. Nothing was answered."
        )

    def message(self, response: httpx2.Response) -> str:
        """Return the message of an error, or all of the answer if it has none, and the status."""
        said = None
        with suppress(ValueError, AttributeError, RecursionError):  # no JSON object: a web page, or half a body
            body = json.loads(response.text)
            error = body.get("error", body)
            said = error.get("message") if isinstance(error, dict) else error
        return f"{self.shortened(str(said or response.text))} (status {response.status_code})"

    def shortened(self, text: str) -> str:
        """Return the beginning of a text on one line, without secrets and terminal commands."""
        return printable(self._without_secrets(text))[:300]


def _forms(secret: str) -> list[str]:
    """Return the forms in which an answer may hold a secret: as it is, in JSON, or within a text in base64.

    >>> text = base64.b64encode(b"Bearer sk-4242-4242!").decode()
    >>> [form in text for form in _forms("sk-4242-4242")]
    [False, False, False, True, False]
    """
    # Base64 makes four characters of three bytes, so the secret's characters depend on how many bytes come before it
    # (modulo 3). Characters that also depend on the bytes before or after the secret are left out.
    key = secret.encode()
    encoded = [(base64.b64encode(bytes(before) + key).decode(), before) for before in range(3)]
    return [
        secret,
        json.dumps(secret)[1:-1],
        *(text[(4 * before + 2) // 3 : (len(key) + before) // 3 * 4] for text, before in encoded),
    ]


def may_pass(response: httpx2.Response) -> bool:
    """Whether the same request may succeed later: the server is overloaded, or limits the rate of calls."""
    status = response.status_code
    return (status in (408, 409, 429) or status >= 500) and response.headers.get("x-should-retry") != "false"


def refusal(
    message: str, request: Mapping[str, Any], status: int = 400, codes: Collection[str] = (), parameter: str = ""
) -> str | None:
    """Return why a server refused this prompt, or None if it would refuse other prompts, too.

    Args:
        message: the message of the server's error.
        request: the request's body.
        status: the HTTP status.
        codes: the code and the type of the error, if there are any.
        parameter: the field of the request that the error names, if any.

    >>> request = {"model": "m", "prompt": "It rained.", "max_tokens": 20_000, "temperature": 0}
    >>> refusal("the prompt is too long", request)
    'the server refused the prompt as too long'
    >>> refusal("max_tokens is too large: 20000", request)
    """
    message = message.lower()
    room = _ROOM.search(message)
    if room and (reply_limit(request) or 0) >= int(room[1].replace(",", "")):
        return None  # the reply's limit alone fills the context
    if reason := _sign(" ".join(codes)):
        return reason
    reason = _sign(message)
    if _names_field(message, parameter, request) and not (reason == _TOO_LONG and _SIZED.search(message)):
        return None
    return _TOO_LONG if status == 413 else reason


def _sign(said: str) -> str | None:
    return next((reason for sign, reason in _SIGNS.items() if sign.search(said)), None)


def _names_field(message: str, parameter: str, fields: Collection[str]) -> bool:
    """Whether an error is about a field of the request other than the prompt.

    >>> fields = {"seed"}
    >>> _names_field("invalid 'seed'", "", fields), _names_field("the seed of it", "", fields), _names_field("no", "seed", fields)
    (True, False, True)
    """
    names = {*fields, *_LIMITS, "temperature", "logprobs", "top_logprobs"} - _PROMPTS
    unmistakable = [name for name in names if "_" in name or name in ("temperature", "logprobs")]
    return (
        parameter in names
        or any(re.search(rf"\b{re.escape(name.lower())}\b", message) for name in unmistakable)
        or any(re.search(rf"""['"`]{re.escape(name.lower())}['"`]""", message) for name in names)
    )


def reply_limit(request: Mapping[str, Any]) -> int | None:
    """Return the most tokens that a request allows its reply, or None if it sets no limit.

    >>> reply_limit({"max_tokens": 5, "max_completion_tokens": 4000}), reply_limit({"max_tokens": None})
    (4000, None)
    """
    return max((request[name] for name in _LIMITS if isinstance(request.get(name), int)), default=None)


def read_text(choice: Mapping[str, Any]) -> Reply:
    """Return the reply in a choice, whose content is a text or a list of parts.

    >>> read_text({"message": {"content": [{"type": "thinking", "text": "Hm"}, {"type": "text", "text": "Yes."}]}}).text
    'Yes.'
    >>> read_text({"message": {"content": 5}}).reason
    'the server sent content that is no text (int)'
    >>> read_text({"message": {"content": None, "refusal": "I'm sorry."}}).reason
    'refusal'
    """
    message = choice.get("message")
    content = message.get("content") if isinstance(message, dict) else choice.get("text")
    if isinstance(content, list):  # parts that are not text are reasoning, refusals or images
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
    r"""Return the text with surrogate pairs joined, and lone surrogates replaced, which no file can hold.

    >>> well_formed("\ud83d\ude00 \ud83d.") == "\U0001f600 \ufffd."
    True
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def read_tokens(usage: Any, name: str) -> int:
    """Return a token count from a completion's usage, or 0 if the server gives no valid count.

    >>> read_tokens({"prompt_tokens": 12}, "prompt_tokens"), read_tokens("lots", "prompt_tokens")
    (12, 0)
    """
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and 0 <= count < 1 << 40 else 0


def read_alternatives(choice: Mapping[str, Any]) -> dict[str, float] | None:
    r"""Return the log probabilities of the first token that holds a letter or digit, and of its alternatives.

    They are empty if the server gives none, and None if they do not have the protocol's shape.

    >>> tokens = [{"token": "\n", "logprob": 0.0}, {"token": "Yes", "logprob": -0.1}]
    >>> tokens[1]["top_logprobs"] = [{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -2.5}]
    >>> read_alternatives({"logprobs": {"content": tokens}})
    {'Yes': -0.1, 'No': -2.5}
    """
    found: dict[str, float] = {}
    try:
        for token, alternatives in _positions(choice.get("logprobs") or {}):
            found = dict(alternatives)
            # A log probability of 0 may be rounded up a little.
            if not all(isinstance(one, str) and logprob <= 0.01 for one, logprob in found.items()):
                return None
            if any(character.isalnum() for character in token):
                break
        return {one: float(logprob) for one, logprob in found.items()}
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return None


def _positions(logprobs: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Yield each token with the log probabilities of its alternatives and itself.

    The chat API gives a list of objects, the completions API parallel lists.
    """
    for position in logprobs.get("content") or ():
        alternatives = (*(position.get("top_logprobs") or ()), position)
        yield position["token"], [(one["token"], one["logprob"]) for one in alternatives]
    tokens = logprobs.get("tokens") or []
    tops = logprobs.get("top_logprobs") or [{}] * len(tokens)
    for token, logprob, top in zip(tokens, logprobs.get("token_logprobs") or [], tops, strict=False):
        if logprob is not None:  # the first token of a prompt has no probability
            yield token, [*(top or {}).items(), (token, logprob)]


def probabilities(alternatives: Mapping[str, float], choices: Sequence[str]) -> tuple[float, ...]:
    """Return the probability of each choice, summed over all its spellings among a position's alternatives.

    >>> probabilities({" Yes": math.log(0.5), "Yes,": math.log(0.2), "Hm": math.log(0.3)}, ["Yes", "No"])
    (0.7, 0.0)
    """
    words = [
        (token.strip(" \n\t▁Ġ*\"'.,:;!()").casefold(), math.exp(logprob)) for token, logprob in alternatives.items()
    ]
    return tuple(math.fsum(p for word, p in words if word == choice.casefold()) for choice in choices)
