"""What an OpenAI-compatible server's answers say: texts, probabilities, counts, and why it refused a prompt."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from claimwise.models.openai_transport import Refused
from claimwise.models.replies import Reply
from claimwise.reasons import Reason

_TOO_LONG = "the server refused the prompt as too long"
_FILTERED = "the server's content filter refused the prompt"
_CODES = {
    "context_length_exceeded": _TOO_LONG,
    "exceed_context_size_error": _TOO_LONG,  # llama.cpp
    "content_filter": _FILTERED,
    "content_policy_violation": _FILTERED,
}
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


def refusal(error: Refused, request: Mapping[str, Any]) -> str | None:
    """Why a server refused this prompt, where others may still be served; None where it is the request's form.

    Args:
        error: what came.
        request: what was sent.

    >>> request = {"model": "m", "prompt": "It rained.", "max_tokens": 20_000, "temperature": 0}
    >>> refusal(Refused(400, "the prompt is too long"), request)
    'the server refused the prompt as too long'
    >>> refusal(Refused(400, "max_tokens is too large: 20000"), request)
    """
    message = str(error).lower()
    room = _ROOM.search(message)
    if room and (reply_limit(request) or 0) >= int(room[1].replace(",", "")):
        return None  # not even an empty prompt leaves room for such a reply
    for code in error.codes:
        if code in _CODES:
            return _CODES[code]
    reason = next((reason for sign, reason in _SIGNS.items() if sign.search(message)), None)
    if _named(message, error.parameter, request) and not (reason == _TOO_LONG and _SIZED.search(message)):
        return None
    return _TOO_LONG if error.status == 413 else reason


def reply_limit(request: Mapping[str, Any]) -> int | None:
    """The most tokens that a request lets its reply have; None where it says nothing of that.

    >>> reply_limit({"max_tokens": 5, "max_completion_tokens": 4000}), reply_limit({"max_tokens": None})
    (4000, None)
    """
    return max((request[name] for name in _LIMITS if isinstance(request.get(name), int)), default=None)


def stop_refused(error: Refused) -> bool:
    """Whether a server refuses to be told of texts that end a reply.

    >>> stop_refused(Refused(400, "Unsupported parameter: 'stop' is not supported with this model."))
    True
    """
    return error.parameter == "stop" or bool(re.search(r"\bstop\b", str(error).lower()))


def _named(message: str, parameter: str | None, fields: Collection[str]) -> bool:
    """Whether a message is about a field of the request beside the prompt.

    >>> _named("invalid 'seed'", None, {"seed"}), _named("the seed of it", None, {"seed"}), _named("no", "seed", {"seed"})
    (True, False, True)
    """
    names = {*fields, *_LIMITS, "temperature", "logprobs", "top_logprobs"} - _PROMPTS
    bare = [name for name in names if "_" in name or name in ("temperature", "logprobs")]  # no words of prose
    return (
        parameter in names
        or any(re.search(rf"\b{re.escape(name.lower())}\b", message) for name in bare)
        or any(re.search(rf"""['"`]{re.escape(name.lower())}['"`]""", message) for name in names)
    )


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
    if isinstance(content, list):
        content = "".join(_parts(content)) or None
    if not content and isinstance(message, dict) and message.get("refusal"):
        return Reply(reason=Reason.REFUSAL)
    if content is None:
        return Reply(reason=f"the server sent no text ({choice.get('finish_reason')})")
    if not isinstance(content, str):
        return Reply(reason=f"the server sent content that is no text ({type(content).__name__})")
    return Reply(content, cut=choice.get("finish_reason") in ("length", "content_filter"))


def _parts(content: list[Any]) -> Iterator[str]:
    """The texts among the parts; others are thoughts, refusals, images."""
    for part in content:
        text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
        if isinstance(text, str):
            yield text


def read_tokens(usage: Any, name: str) -> int:
    """A count of a completion's usage; 0 where the server gives none, or something else.

    >>> read_tokens({"prompt_tokens": 12}, "prompt_tokens"), read_tokens("lots", "prompt_tokens")
    (12, 0)
    """
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) else 0


def positions(choice: Mapping[str, Any]) -> list[tuple[str, dict[str, float]]]:
    """(token, log probabilities of it and its alternatives) for every position of the reply.

    Empty where the server gives none, or any that cannot be read: nothing follows from half of them.

    >>> positions({"logprobs": {"content": [{"token": "Yes", "logprob": -0.5}]}})
    [('Yes', {'Yes': -0.5})]
    >>> positions({"logprobs": {"content": [{"token": "Yes"}]}})
    []
    """
    try:
        return list(_given(choice.get("logprobs") or {}))
    except (AttributeError, KeyError, TypeError, ValueError):  # of another shape than the protocol's
        return []


def _given(logprobs: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    """See ``positions``. Chat gives objects a position, completions give parallel lists."""
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


def alternatives(found: Sequence[tuple[str, dict[str, float]]]) -> dict[str, float] | None:
    """The log probabilities at the first position that holds a word.

    None where it has one token only: its probability says nothing of the answers that were not given.

    >>> alternatives([("\\n", {"\\n": 0.0}), ("Yes", {"Yes": -0.1, "No": -2.5})])
    {'Yes': -0.1, 'No': -2.5}
    >>> alternatives([("Yes", {"Yes": -0.1})])
    """
    if not found:
        return None
    place = next((top for token, top in found if any(c.isalnum() for c in token)), found[-1][1])
    return place if len(place) > 1 else None


def probabilities(place: Mapping[str, float], choices: Sequence[str]) -> tuple[float, ...]:
    """Of the choices among a position's tokens, all spellings of each summed.

    >>> probabilities({" Yes": math.log(0.5), "yes": math.log(0.2), "Hm": math.log(0.3)}, ["Yes", "No"])
    (0.7, 0.0)
    """
    words = [(token.strip(" \n\t▁Ġ*\"'.").casefold(), math.exp(logprob)) for token, logprob in place.items()]
    return tuple(math.fsum(p for word, p in words if word == choice.casefold()) for choice in choices)
