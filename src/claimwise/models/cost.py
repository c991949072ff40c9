"""What models are asked, and what that costs: counted in this process, and estimated before a run."""

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

#: Claims that an estimate gives a summary. A three-sentence news summary has so many, as ACUEval's demonstrations break
#: one up; one of a single sentence has two or three. The cost is to be overestimated rather than the other way round.
CLAIMS = 8


@dataclass(frozen=True)
class Usage:
    """What was asked of a model.

    Attributes:
        asked: values given (replies, verdicts, judgements), fewer than were wanted where an error ended a run.
        cached: how many of them were in the response cache.
        calls: how many the model was asked for; values wanted twice are asked for once.
        prompt_tokens: that it read, where it counts tokens.
        reply_tokens: that it wrote.
        unparsed: values wanted for which there is a reason instead.
        unread: how many replies were cached under ``unread_name``.
        seconds: spent waiting for it.
        cost: in the currency of its prices; 0 where it has none.

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
    """What a run would ask; ``claims_assumed`` where it asks for claims, for then their number can only be assumed."""

    usage: Usage
    claims_assumed: bool = False


def unread_name(model: str) -> str:
    """The name under which a model's replies are cached of which nothing could be read, so that they can go alone.

    They stay under it if a later parser reads them: whether a reply is readable is not for the cache to know.

    >>> unread_name("llama3:8b")
    'llama3:8b:unread'
    """
    return f"{model}:unread"


#: By model and role, since this process began.
_USAGE: dict[tuple[str, str], Usage] = {}


def note(model: str, role: str, usage: Usage) -> None:
    """Add to what this process has asked of a model in a role."""
    _USAGE[model, role] = _USAGE.get((model, role), Usage()) + usage


def used() -> Usage:
    """What this process has asked of all models, in all roles."""
    return sum(_USAGE.values(), Usage())


def usage() -> pd.DataFrame:
    """What this process has asked of models, one row a model and role, with the columns of ``Usage``."""
    rows = [(model, role, *astuple(used)) for (model, role), used in sorted(_USAGE.items())]
    return pd.DataFrame(rows, columns=["model", "role", *(field.name for field in fields(Usage))])


@contextmanager
def watched(title: str, model: Model, estimate: Estimate | None) -> Iterator[bool]:
    """Say on standard error what will be asked within, show a bar of the calls, and say what was asked.

    Args:
        title: what asks, e.g. a metric's name.
        model: what is asked.
        estimate: of the calls; None of a model that is no language model.

    Yields:
        Whether the block should show a bar of its own.
    """
    before, start = dict(_USAGE), time.monotonic()
    try:
        if estimate is None:
            yield True
        else:
            if estimate.usage.calls:  # else all is in the cache
                typer.echo(f"{title}: {forecast(estimate)}", err=True)
            with bar(estimate.usage.calls, title, "call") as steps:
                model.on_reply = steps.update
                try:
                    yield False
                finally:
                    model.on_reply = None
    finally:
        found = {key: used - before.get(key, Usage()) for key, used in _USAGE.items()}
        if any(used.calls or used.cached for used in found.values()):
            typer.echo(f"{title}: {_told(found, time.monotonic() - start)}", err=True)


def forecast(estimate: Estimate | None) -> str:
    """An estimate in a line.

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


def _told(used: Mapping[tuple[str, str], Usage], seconds: float) -> str:
    total = sum(used.values(), Usage())
    parts = [f"{counted(total.asked, 'answer')} ({total.cached} from the cache, {counted(total.calls, 'call')})"]
    if total.prompt_tokens or total.reply_tokens:
        parts.append(f"{total.prompt_tokens} + {total.reply_tokens} tokens")
    if total.cost:
        parts.append(f"cost {total.cost:.2f}")
    parts += [f"{total.unparsed} unparsed", f"{seconds:.0f} s"]
    if total.unread:  # or the cache would answer as unreadably for ever
        names = sorted({unread_name(model) for (model, _), one in used.items() if one.unread})
        commands = " and ".join(f"`claimwise cache prune --model {shlex.quote(name)}`" for name in names)
        parts[-1] += f"; replies that could not be read are kept ({total.unread}); to ask them again: {commands}"
    return ", ".join(parts)
