"""Calls, tokens and cost of models: counted in this process, and estimated before a run."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields

import pandas as pd
import typer

from claimwise.errors import counted
from claimwise.models.base import Model
from claimwise.progress import bar

#: The claims of a summary in an estimate. ACUEval's demonstrations break a news summary of three sentences into so many;
#: a single sentence gives two or three. An estimate should be too high rather than too low.
CLAIMS = 8


@dataclass(frozen=True)
class Usage:
    """How a model was used.

    Attributes:
        asked: the values that were returned (replies, verdicts, judgements); fewer than wanted if an error ended the run.
        cached: the values among them that were in the response cache.
        calls: the values that the model was asked for. A value that is wanted twice is asked for once.
        prompt_tokens: the tokens that it read, if it counts tokens.
        reply_tokens: the tokens that it wrote.
        unparsed: the wanted values that have a reason instead.
        unread: the replies that were cached under ``unread_name``.
        seconds: the time spent waiting for the model.
        cost: in the currency of its prices; 0 if it has no prices.

    >>> Usage(asked=2, cached=1) + Usage(asked=1, calls=1) == Usage(asked=3, cached=1, calls=1)
    True
    """

    asked: int = 0
    cached: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    unparsed: int = 0
    unread: int = 0
    seconds: float = 0.0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*(mine - its for mine, its in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Estimate:
    """The usage that a run would have. ``claims_assumed`` says whether it asks for claims, whose number is then assumed."""

    usage: Usage
    claims_assumed: bool = False


def unread_name(model: str) -> str:
    """Return the name under which a model's unreadable replies are cached, so that they can be deleted alone.

    They stay under this name even if a later parser can read them, since the cache does not parse replies.

    >>> unread_name("llama3:8b")
    'llama3:8b:unread'
    """
    return f"{model}:unread"


#: The usage by model and role since this process began.
_USAGE: dict[tuple[str, str], Usage] = {}


def note(model: str, role: str, usage: Usage) -> None:
    """Add to this process's usage of a model in a role."""
    _USAGE[model, role] = _USAGE.get((model, role), Usage()) + usage


def used() -> Usage:
    """Return this process's usage of all models in all roles."""
    return sum(_USAGE.values(), Usage())


def usage() -> pd.DataFrame:
    """Return this process's usage as a table: a row for each model and role, with the columns of ``Usage``."""
    rows = [(model, role, *astuple(used)) for (model, role), used in sorted(_USAGE.items())]
    return pd.DataFrame(rows, columns=["model", "role", *(field.name for field in fields(Usage))])


@contextmanager
def watched(title: str, model: Model, estimate: Estimate | None) -> Iterator[bool]:
    """Print an estimate of the calls in this context, show a progress bar of them, and print what was used at the end.

    All of it goes to standard error.

    Args:
        title: a name for these calls, such as the metric's.
        model: the model that is called.
        estimate: the estimate of the calls; None if the model is not a language model.

    Yields:
        Whether the block should show a bar of its own.
    """
    before, start = dict(_USAGE), time.monotonic()
    try:
        if estimate is None:
            yield True
        else:
            if estimate.usage.calls:  # otherwise all is in the cache
                typer.echo(f"{title}: {forecast(estimate)}", err=True)
            with bar(estimate.usage.calls, title, "call") as steps:
                model.on_reply = steps.update
                try:
                    yield False
                finally:
                    model.on_reply = None
    finally:
        new = {key: used - before.get(key, Usage()) for key, used in _USAGE.items()}
        if any(used.calls or used.cached for used in new.values()):
            typer.echo(f"{title}: {_report(new, time.monotonic() - start)}", err=True)


def forecast(estimate: Estimate | None) -> str:
    """Return an estimate as one line of text.

    >>> forecast(Estimate(Usage(calls=9000, prompt_tokens=10**6, reply_tokens=10**5, cost=2.4), claims_assumed=True))
    '9000 calls (assuming 8 claims a summary where they are not known yet; short summaries have a third of that), 1000000 prompt tokens in full, at most 100000 reply tokens, cost about 2.40'
    >>> forecast(Estimate(Usage(calls=30, prompt_tokens=9000, reply_tokens=30)))
    '30 calls, 9000 prompt tokens in full, at most 30 reply tokens'
    """
    if estimate is None:
        return "no calls: this model is no language model"
    usage, calls = estimate.usage, counted(estimate.usage.calls, "call")
    if not usage.calls:
        return calls
    if estimate.claims_assumed:
        calls += (
            f" (assuming {CLAIMS} claims a summary where they are not known yet; short summaries have a third of that)"
        )
    return f"{calls}, {usage.prompt_tokens} prompt tokens in full, at most {usage.reply_tokens} reply tokens" + (
        f", cost about {usage.cost:.2f}" if usage.cost else ""
    )


def _report(used: Mapping[tuple[str, str], Usage], seconds: float) -> str:
    total = sum(used.values(), Usage())
    parts = [f"{counted(total.asked, 'answer')} ({total.cached} from the cache, {counted(total.calls, 'call')})"]
    if total.prompt_tokens or total.reply_tokens:
        parts.append(f"{total.prompt_tokens} + {total.reply_tokens} tokens")
    if total.cost:
        parts.append(f"cost {total.cost:.2f}")
    parts += [f"{total.unparsed} unparsed", f"{seconds:.0f} s"]
    if total.unread:  # the cache would return the same unreadable replies for ever
        names = sorted({unread_name(model) for (model, _), one in used.items() if one.unread})
        commands = " and ".join(f"`claimwise cache prune --model {shlex.quote(name)}`" for name in names)
        parts[-1] += f"; replies that could not be read are kept ({total.unread}); to ask them again: {commands}"
    return ", ".join(parts)
