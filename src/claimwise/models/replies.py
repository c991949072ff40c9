"""What a language model is: something that continues prompts and says how probable answers are.

It knows nothing of claims. ``language.PromptedModel`` turns any of these into a model with the six roles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from claimwise.models.cache import call_key
from claimwise.prompts import Prompt


@dataclass(frozen=True, slots=True)
class Reply:
    """A raw reply: a text, or the probabilities of the choices, or neither and the reason why.

    Attributes:
        text: what the model wrote.
        probabilities: of each choice at the answer's position, as the model gives them (they need not sum to 1).
        cut: the text was stopped by its length limit.
        reason: why there is neither text nor probabilities.
    """

    text: str | None = None
    probabilities: tuple[float, ...] | None = None
    cut: bool = False
    reason: str | None = None

    @property
    def answered(self) -> bool:
        """Whether there is something to remember; a failure or a blank text is asked again in a later run.

        >>> Reply("Yes").answered, Reply(" ").answered, Reply(reason="refused").answered
        (True, False, False)
        """
        return bool(self.text and self.text.strip()) or self.probabilities is not None


@dataclass
class Tally:
    """What a language model has done so far, for run records."""

    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    seconds: float = 0.0


class LanguageModel(Protocol):
    """Continues prompts. ``fingerprint`` names everything that changes a reply to a given prompt.

    Both methods yield (index of the prompt, reply) as replies finish, in any order and each index once, so
    that the caller can store what is finished before a later call fails.

    Attributes:
        context: most tokens that a prompt and its reply may have together, or None where that is not known.
        tally: calls and tokens so far.
    """

    name: str
    fingerprint: str
    context: int | None
    tally: Tally

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Iterator[tuple[int, Reply]]:
        """Continue each prompt greedily, up to a stop text, which is left out.

        ``schema`` is a JSON schema of the reply; a model that cannot be held to one does without it.
        """
        ...

    def choice_probabilities(
        self, prompts: Sequence[str], choices: Sequence[str], *, max_tokens: int
    ) -> Iterator[tuple[int, Reply]]:
        """How probable each choice is as the first word of the reply, over all its single-token spellings.

        A model that gives no probabilities replies with a text of at most ``max_tokens``.
        """
        ...

    def count(self, text: str) -> int:
        """Number of tokens of a prompt, with what a chat template adds; may be an estimate from above."""
        ...


class RecordedReplies:
    """A language model that looks up what a language model once answered.

    Args:
        name: whose replies, e.g. ``gpt-4-0314``.
        replies: the reply to every rendered prompt.

    >>> from claimwise import prompts
    >>> prompt = prompts.load("recorded-judge-rating")
    >>> asked = [{"Document": "It rained.", "Summary": "It poured."}]
    >>> model = RecordedReplies.of("gpt-4-0314", prompt, asked, ["Final score: 4"])
    >>> list(model.generate([prompt.render(**asked[0]), "other"], max_tokens=9))[0][1].text
    'Final score: 4'
    """

    context = None

    def __init__(self, name: str, replies: Mapping[str, str]):
        self.name = name
        self.fingerprint = call_key(recorded=name, replies=dict(replies))
        self.tally = Tally()
        self._replies = replies

    @classmethod
    def of(
        cls, name: str, prompt: Prompt, asked: Iterable[Mapping[str, Any]], replies: Iterable[str]
    ) -> RecordedReplies:
        """The recorded replies to a prompt filled with the values of ``asked``, in order."""
        return cls(name, {prompt.render(**values): text for values, text in zip(asked, replies, strict=True)})

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Iterator[tuple[int, Reply]]:
        """Look each prompt up; one that was not recorded has no text, and a reason."""
        for index, prompt in enumerate(prompts):
            text = self._replies.get(prompt)
            yield index, Reply(text) if text is not None else Reply(reason="no recorded reply")

    def choice_probabilities(
        self, prompts: Sequence[str], choices: Sequence[str], *, max_tokens: int
    ) -> Iterator[tuple[int, Reply]]:
        """Look each prompt up: texts, because no probabilities were recorded."""
        return self.generate(prompts, max_tokens=max_tokens)

    def count(self, text: str) -> int:
        """Nothing is sent, so nothing is counted."""
        return 0
