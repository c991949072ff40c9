"""What a run would ask, before it asks: calls and tokens, without those already remembered.

A rehearsal plays the roles like the model that it stands for, with made-up replies, so the same code that runs
an experiment counts it. What depends on replies is an assumption: every decomposition gives ``CLAIMS`` claims, a summary
of papers as many sentences, each citing one paper; a critic finds one statement in ``SUSPECT`` unsupported; a revision
changes the statements that it is told of; and no two replies are alike.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

from claimwise import text
from claimwise.models.base import Critique, Feedback, Source, Text
from claimwise.models.cache import ResponseCache
from claimwise.models.language import PromptedModel
from claimwise.models.replies import LanguageModel, Reply, Tally
from claimwise.prompts import Prompt

#: A three-sentence news summary, as ACUEval's demonstrations break one up; one of a single sentence has two or three, and
#: the calls that verify them are so many fewer. The cost is to be overestimated rather than the other way round.
CLAIMS = 8

SUSPECT = 4  # as in Factored Verification's Table 2: one to two of the seven or so cited sentences of a summary

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
        made_up = {key: copy(self._made_up[key]) for key in keys if key in self._made_up}  # a reader may change its own
        return made_up | self._cache.get([key for key in keys if key not in made_up])

    def put(self, values: Mapping[str, Any], *, model: str, role: str) -> None:
        self._made_up.update(values)


class _Rehearsed:
    """A language model that counts what it is asked in another's place."""

    def __init__(self, model: LanguageModel):
        self.name, self.fingerprint = model.name, model.fingerprint
        self.count, self.longest_reply, self.room = model.count, model.longest_reply, model.room
        self.tally = Tally()

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Iterator[tuple[int, Reply]]:
        yield from self._replies(prompts, None, self.longest_reply(max_tokens))

    def choice_probabilities(
        self, prompts: Sequence[str], choices: Sequence[str], *, max_tokens: int
    ) -> Iterator[tuple[int, Reply]]:
        made_up = Reply(probabilities=(1.0 / len(choices),) * len(choices))
        yield from self._replies(prompts, made_up, self.longest_reply(max_tokens, choices))

    def _replies(self, prompts: Sequence[str], reply: Reply | None, tokens: int) -> Iterator[tuple[int, Reply]]:
        for index, prompt in enumerate(prompts):
            self.tally.calls += 1
            self.tally.prompt_tokens += self.count(prompt)
            self.tally.reply_tokens += tokens
            yield index, reply or Reply(_claims(self.name, self.tally.calls))


def _claims(model: str, call: int) -> str:
    return "\n".join(f"- This is claim number {k} of reply number {call} by {model}." for k in range(1, CLAIMS + 1))


def _citing(reply: str, references: Sequence[str]) -> str:
    """A made-up reply as sentences that cite one paper each, in turn.

    >>> _citing("- It is so.\\n- It was.\\n- It may be.", ["Ling (2009)", "Roy (2011)"])
    'By Ling (2009), it is so. By Roy (2011), it was. By Ling (2009), it may be.'
    """
    lines = [line.removeprefix("- ") for line in reply.splitlines()]
    named = zip(lines, cycle(references), strict=False)
    return " ".join(f"By {reference}, {line[0].lower()}{line[1:]}" for line, reference in named)


def _changed(summary: str, unsupported: Sequence[str]) -> str:
    """The summary with the unsupported sentences changed; all of it, where none of these stands in it.

    >>> _changed("It rained. It snowed.", ["It snowed."])
    'It rained. In other words, It snowed.'
    """
    lines = [span.text for span in text.sentences(summary)]
    told = set(unsupported) & set(lines) or set(lines)
    return " ".join(f"In other words, {line}" if line in told else line for line in lines)


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
        super().__init__(_Rehearsed(language_model), _Aside(cache))

    def summarise(self, sources: Sequence[Sequence[Source]], questions: Sequence[str], prompt: Prompt) -> list[Text]:
        """See ``Model.summarise``; without sources to cite, nothing that a check of citations would look at is there."""
        found = super().summarise(sources, questions, prompt)
        return [
            replace(one, text=_citing(one.text, [source.reference for source in group])) if one.text and group else one
            for one, group in zip(found, sources, strict=True)
        ]

    def critique(self, documents: Sequence[str], statements: Sequence[str], prompt: Prompt) -> list[Critique]:
        """See ``Model.critique``."""
        super().critique(documents, statements, prompt)
        told = "The papers do not say so."
        return [Critique(told, float(zlib.crc32(statement.encode()) % SUSPECT > 0)) for statement in statements]

    def revise(
        self, documents: Sequence[str], summaries: Sequence[str], feedback: Sequence[Feedback], prompt: Prompt
    ) -> list[Text]:
        """See ``Model.revise``."""
        super().revise(documents, summaries, feedback, prompt)
        return [Text(_changed(summary, told.unsupported)) for summary, told in zip(summaries, feedback, strict=True)]

    @property
    def estimate(self) -> Estimate:
        """What has been asked of the rehearsal so far."""
        tally = self.language_model.tally
        return Estimate(tally.calls, tally.prompt_tokens, tally.reply_tokens)


def or_rehearsal(model: PromptedModel) -> PromptedModel:
    """The model, or while the environment variable CLAIMWISE_REHEARSAL has a value, its rehearsal."""
    return Rehearsal(model.language_model, model.cache) if os.environ.get(VARIABLE) else model
