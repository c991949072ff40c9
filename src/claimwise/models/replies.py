"""What a language model is: something that continues prompts and says how probable answers are.

It knows nothing of claims. ``language.PromptedModel`` turns any of these into a model with the six roles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from claimwise.models.cache import call_key
from claimwise.models.cost import Usage
from claimwise.prompts import Decoding
from claimwise.reasons import Reason


@dataclass(frozen=True, slots=True)
class Reply:
    """A raw reply: a text, or the probabilities of the choices, or neither and the reason why.

    Attributes:
        text: what the model wrote.
        probabilities: of each choice at the answer's position, as the model gives them (they need not sum to 1).
        contradicted: beside probabilities, where the model says it, see ``Verdict``.
        cut: the text was stopped before its end, by its length limit or a content filter.
        reason: why there is neither text nor probabilities; ``Reason.REFUSAL`` where the model said that it refuses.
    """

    text: str | None = None
    probabilities: tuple[float, ...] | None = None
    cut: bool = False
    reason: str | None = None
    contradicted: float | None = None

    @property
    def stored(self) -> dict[str, Any]:
        """What is remembered of it: the fields that say something.

        >>> Reply(probabilities=(0.9, 0.1)).stored
        {'probabilities': (0.9, 0.1)}
        """
        return {name: value for name, value in asdict(self).items() if value}

    @property
    def answered(self) -> bool:
        """Whether there is something to remember; a failure or a blank text is asked again in a later run.

        A refusal by the model itself is its answer.

        >>> Reply("Yes").answered, Reply(" ").answered, Reply(reason="too long").answered
        (True, False, False)
        >>> Reply(reason=Reason.REFUSAL).answered
        True
        """
        written = bool(self.text and self.text.strip())
        return written or self.probabilities is not None or self.reason == Reason.REFUSAL

    def before(self, stop: Sequence[str]) -> Reply:
        """The reply up to the first of these texts, which ends it wherever else it was cut.

        >>> Reply("- It rained. Passage: Bo", cut=True).before(["Passage:", "Summary:"])
        Reply(text='- It rained. ', probabilities=None, cut=False, reason=None, contradicted=None)
        """
        ends = [at for at in ((self.text or "").find(end) for end in stop) if at >= 0]
        return replace(self, text=self.text[: min(ends)], cut=False) if ends else self


class LanguageModel(Protocol):
    """Continues prompts. ``fingerprint`` names everything that changes a reply to a given prompt, but for rounding.

    ``tally`` is of calls and tokens so far.
    """

    name: str
    fingerprint: str
    tally: Usage

    def replies(self, prompts: Sequence[str], how: Decoding) -> Iterator[tuple[int, Reply]]:
        """With choices, how probable each is as the first word of the reply; else the prompt's greedy continuation.

        A choice's probability is over all its single-token spellings; a model that gives no probabilities replies with a
        text. A model that cannot be held to a schema does without it.

        Yields:
            (index of the prompt, its reply) as replies finish, in any order and each index once, so that the caller can
            store what is finished before a later call fails.
        """

    def fits(self, prompt: str, how: Decoding) -> bool:
        """Whether the prompt can be read beside the longest reply; so too where the context is not known."""

    def count(self, text: str) -> int:
        """Number of tokens of a prompt, with what a chat template adds; may be an estimate from above."""

    def longest_reply(self, how: Decoding) -> int:
        """The most tokens that a reply may have; options may give it another limit than ``how`` does."""


class RecordedReplies:
    """A language model that looks up what a language model once answered to each rendered prompt.

    >>> from claimwise import prompts
    >>> prompt = prompts.load("recorded-judge-rating")
    >>> asked = prompt.render(Document="It rained.", Summary="It poured.")
    >>> model = RecordedReplies("gpt-4-0314", {asked: "Final score: 4"})
    >>> [reply.text for _, reply in model.replies([asked, "other"], prompt.decoding)]
    ['Final score: 4', None]
    """

    def __init__(self, name: str, replies: Mapping[str, str]):
        self.name = name
        self.fingerprint = call_key(recorded=name, replies=dict(replies))
        self.tally = Usage()
        self._replies = replies

    def replies(self, prompts: Sequence[str], how: Decoding) -> Iterator[tuple[int, Reply]]:
        """Look each prompt up; one that was not recorded has no text, and a reason. No probabilities were recorded."""
        for index, prompt in enumerate(prompts):
            text = self._replies.get(prompt)
            yield index, Reply(text) if text is not None else Reply(reason="no recorded reply")

    def fits(self, prompt: str, how: Decoding) -> bool:
        """What was recorded was read whole."""
        return True

    def count(self, text: str) -> int:
        """Nothing is sent, so nothing is counted."""
        return 0

    def longest_reply(self, how: Decoding) -> int:
        """As of a model that gives probabilities."""
        return 1 if how.choices else how.max_tokens
