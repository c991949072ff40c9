"""What a run would ask, before it asks: calls and tokens, without those already remembered.

A rehearsal plays the roles like the model that it stands for, with made-up replies, so the same code that runs
an experiment counts it. What depends on replies is an assumption: every decomposition gives ``CLAIMS`` claims, and
no two replies are alike.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from claimwise.models.cache import ResponseCache
from claimwise.models.language import PromptedModel
from claimwise.models.replies import LanguageModel, Reply, Tally

CLAIMS = 8  # a three-sentence news summary, as ACUEval's demonstrations break one up

#: With a value, ``models.load`` gives rehearsals, also in a notebook's kernel.
VARIABLE = "CLAIMWISE_REHEARSAL"


@dataclass(frozen=True)
class Estimate:
    """What a run would ask of the model.

    Attributes:
        calls: replies that are not yet remembered.
        prompt_tokens: what they read, each prompt in full; an engine that shares prefixes reads less.
        reply_tokens: the most that they may write.
    """

    calls: int
    prompt_tokens: int
    reply_tokens: int


class _Aside:
    """A response cache that is asked and never told: what is put stays here, so that it is counted once."""

    def __init__(self, cache: ResponseCache):
        self._cache = cache
        self._made_up: dict[str, Any] = {}

    def get(self, keys: Sequence[str]) -> dict[str, Any]:
        made_up = {key: dict(self._made_up[key]) for key in keys if key in self._made_up}
        return made_up | self._cache.get([key for key in keys if key not in made_up])

    def put(self, values: Mapping[str, Any], *, model: str, role: str) -> None:
        self._made_up.update(values)


class _Rehearsed:
    """A language model that counts what it is asked."""

    def __init__(self, name: str, fingerprint: str, context: int | None, count: Callable[[str], int]):
        self.name, self.fingerprint, self.context, self.count = name, fingerprint, context, count
        self.tally = Tally()

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Iterator[tuple[int, Reply]]:
        yield from self._replies(prompts, None, max_tokens)

    def choice_probabilities(
        self, prompts: Sequence[str], choices: Sequence[str], *, max_tokens: int
    ) -> Iterator[tuple[int, Reply]]:
        yield from self._replies(prompts, Reply(probabilities=(1.0 / len(choices),) * len(choices)), 1)

    def _replies(self, prompts: Sequence[str], reply: Reply | None, tokens: int) -> Iterator[tuple[int, Reply]]:
        for index, prompt in enumerate(prompts):
            self.tally.calls += 1
            self.tally.prompt_tokens += self.count(prompt)
            self.tally.reply_tokens += tokens
            yield index, reply or Reply(_claims(self.tally.calls))


def _claims(call: int) -> str:
    return "\n".join(f"- This is claim number {k} of reply number {call}." for k in range(1, CLAIMS + 1))


class Rehearsal(PromptedModel):
    """A model that plays the roles of another without asking it anything; see ``estimate``.

    >>> from claimwise import prompts
    >>> from claimwise.models.replies import RecordedReplies
    >>> rehearsal = Rehearsal(RecordedReplies("m", {}), ResponseCache(":memory:"))
    >>> claims = rehearsal.decompose(["It rained."], prompts.load("acueval-decompose-5shot"))[0].claims
    >>> texts = [claim.text for claim in claims]
    >>> _ = rehearsal.verify(["It rained."], [texts], prompts.load("acueval-verify-zeroshot"))
    >>> rehearsal.estimate.calls
    9
    """

    def __init__(self, language_model: LanguageModel, cache: ResponseCache):
        stand_in = _Rehearsed(
            language_model.name, language_model.fingerprint, language_model.context, language_model.count
        )
        super().__init__(stand_in, _Aside(cache))

    @property
    def estimate(self) -> Estimate:
        """What has been asked of the rehearsal so far."""
        tally = self.language_model.tally
        return Estimate(tally.calls, tally.prompt_tokens, tally.reply_tokens)


def or_rehearsal(model: PromptedModel) -> PromptedModel:
    """The model, or while the environment variable CLAIMWISE_REHEARSAL has a value, its rehearsal."""
    return Rehearsal(model.language_model, model.cache) if os.environ.get(VARIABLE) else model
