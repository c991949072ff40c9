"""The interface of a language model: it continues prompts and says how probable answers are.

It knows nothing of claims. ``language.PromptedModel`` turns a language model into a model with the six roles.
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
        probabilities: the probability of each choice at the answer's position; they need not sum to 1.
        contradicted: see ``Verdict``; only with probabilities, and only for some models.
        cut: whether the text was stopped before its end, by its length limit or a content filter.
        reason: why there is neither text nor probabilities; ``Reason.REFUSAL`` if the model said that it refuses.
    """

    text: str | None = None
    probabilities: tuple[float, ...] | None = None
    cut: bool = False
    reason: str | None = None
    contradicted: float | None = None

    @property
    def stored(self) -> dict[str, Any]:
        """The reply as it is stored in the cache: the fields that are not empty.

        >>> Reply(probabilities=(0.9, 0.1)).stored, Reply(probabilities=(0.9, 0.1), contradicted=0.0).stored
        ({'probabilities': (0.9, 0.1)}, {'probabilities': (0.9, 0.1), 'contradicted': 0.0})
        """
        # A probability of 0 of a contradiction is not empty.
        return {
            name: value
            for name, value in asdict(self).items()
            if value is not None and value is not False and value != ""
        }

    @property
    def answered(self) -> bool:
        """Whether the reply is kept in the cache. After a failure or a blank text, a later run asks again.

        A refusal by the model itself is an answer.

        >>> Reply("Yes").answered, Reply(" ").answered, Reply(reason="too long").answered
        (True, False, False)
        >>> Reply(reason=Reason.REFUSAL).answered
        True
        """
        written = bool(self.text and self.text.strip())
        return written or self.probabilities is not None or self.reason == Reason.REFUSAL

    def before(self, stop: Sequence[str]) -> Reply:
        """Return the reply up to the first of these texts; it then counts as complete.

        >>> Reply("- It rained. Passage: Bo", cut=True).before(["Passage:", "Summary:"])
        Reply(text='- It rained. ', probabilities=None, cut=False, reason=None, contradicted=None)
        """
        ends = [at for at in ((self.text or "").find(end) for end in stop) if at >= 0]
        return replace(self, text=self.text[: min(ends)], cut=False) if ends else self


class LanguageModel(Protocol):
    """Continues prompts.

    ``fingerprint`` identifies everything that changes a reply to a given prompt, except for rounding. ``tally`` counts calls
    and tokens so far.
    """

    name: str
    fingerprint: str
    tally: Usage

    def replies(self, prompts: Sequence[str], how: Decoding) -> Iterator[tuple[int, Reply]]:
        """Reply to each prompt: with the probabilities of the choices if there are any, otherwise with a text.

        A choice's probability is that of the reply beginning with it, summed over all its single-token spellings. A model
        that gives no probabilities replies with a text. A text is the prompt's greedy continuation. A model that cannot
        follow a schema ignores it.

        Args:
            prompts: rendered prompts.
            how: the choices, and the limits of the reply.

        Yields:
            (index of the prompt, its reply) as replies finish, each index once and in any order. So the caller can store
            finished replies before a later call fails.
        """

    def fits(self, prompt: str, how: Decoding) -> bool:
        """Whether the context has room for the prompt and the longest reply; true if the context is unknown."""

    def count(self, text: str) -> int:
        """Return the number of tokens of a prompt with its chat template, or an estimate that is not too low."""

    def longest_reply(self, how: Decoding) -> int:
        """Return the most tokens that a reply may have; options may set another limit than ``how``."""


class RecordedReplies:
    """A language model that looks up recorded replies to rendered prompts.

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
        """Look up each prompt. A prompt without a recorded reply gets a reason. No probabilities were recorded."""
        for index, prompt in enumerate(prompts):
            text = self._replies.get(prompt)
            yield index, Reply(text) if text is not None else Reply(reason="no recorded reply")

    def fits(self, prompt: str, how: Decoding) -> bool:
        """Return True: recorded prompts were read in full."""
        return True

    def count(self, text: str) -> int:
        """Return 0, since nothing is sent."""
        return 0

    def longest_reply(self, how: Decoding) -> int:
        """Return the limit as for a model that gives probabilities."""
        return 1 if how.choices else how.max_tokens
