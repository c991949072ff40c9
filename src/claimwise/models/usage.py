"""What a run asks of its models: noted where the asking is done, added up by the stage (``claimwise.runs``).

A stage may ask from another process (a notebook's kernel) and may be killed, so notes are lines appended to the file
that the environment variable CLAIMWISE_RUN names. Without it nothing is noted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from claimwise.errors import ClaimwiseError

VARIABLE = "CLAIMWISE_RUN"


class PricesError(ClaimwiseError):
    """``prices`` of a model in params.yaml are malformed."""


class Prices(BaseModel):
    """What a million tokens cost, of prompts and of replies, in any one currency.

    >>> Prices(prompt=2.5, reply=10).cost(2_000_000, 50)
    5.0005
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: float = Field(ge=0)
    reply: float = Field(ge=0)

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Prices | None:
        """The ``prices`` of an entry of ``models`` in params.yaml, if it has any.

        Raises:
            PricesError: they are not two numbers, ``prompt`` and ``reply``.
        """
        given = entry.get("prices")
        try:
            return None if given is None else cls.model_validate(given)
        except ValidationError:
            raise PricesError(
                f"params.yaml, models: expected `prices: {{prompt: 2.5, reply: 10}}`, per million tokens; got {given!r}"
            ) from None

    def cost(self, prompt_tokens: int, reply_tokens: int) -> float:
        """Of so many tokens."""
        return (prompt_tokens * self.prompt + reply_tokens * self.reply) / 1e6


@dataclass(frozen=True)
class Usage:
    """What was asked of a model.

    Attributes:
        asked: values wanted (replies, verdicts, judgements).
        remembered: how many of them were in the response cache.
        calls: how many the model was asked for; values wanted twice are asked for once.
        prompt_tokens: that it read, where it counts tokens.
        reply_tokens: that it wrote.
        unparsed: values wanted for which there is a reason instead.
        unread: how many replies are in the response cache of which nothing could be read.
        seconds: spent waiting for it.

    >>> Usage(asked=2, remembered=1) + Usage(asked=1, calls=1)
    Usage(asked=3, remembered=1, calls=1, prompt_tokens=0, reply_tokens=0, unparsed=0, unread=0, seconds=0.0)
    """

    asked: int = 0
    remembered: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    unparsed: int = 0
    unread: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    @property
    def tokens(self) -> int:
        """Read and written."""
        return self.prompt_tokens + self.reply_tokens


def note(model: str, role: str, usage: Usage) -> None:
    """Append a line, if a run is being recorded: one small write, so that lines of several processes stay whole."""
    if path := os.environ.get(VARIABLE):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"model": model, "role": role} | asdict(usage)) + "\n")


def read(path: Path) -> dict[tuple[str, str], Usage]:
    """The sums of a run's notes by model and role, in this order."""
    sums: dict[tuple[str, str], Usage] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        given = json.loads(line)
        key = given.pop("model"), given.pop("role")
        sums[key] = sums.get(key, Usage()) + Usage(**given)
    return dict(sorted(sums.items()))
