"""The interface of all models: six roles, each from a batch of inputs to a batch of results.

A *model* decomposes, verifies, judges, critiques, revises and summarises. Notebooks and metrics use a ``Model`` and never
ask which kind it is. Every role takes sequences of equal length n and a ``Prompt``, and returns a list of n results in the
same order. A result without a value has a reason. Inside, a backend may batch, sort and cache as it likes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from claimwise.prompts import Prompt
from claimwise.prompts.parsers import REASONED
from claimwise.prompts.sources import Source
from claimwise.reasons import Reason

NAN = math.nan

#: Several texts: documents, their summaries, or the claims of one document.
Texts = Sequence[str]


def needs_language_model(prompt: Prompt) -> Reason | None:
    """Return why a judging or verifying prompt needs a language model, or None if any model can answer it.

    Other models return NaN and this reason, so that nobody takes their plain judgement for the prompt's method.

    >>> from claimwise import prompts
    >>> [needs_language_model(prompts.load(f"chatgpt-judge-{name}")) for name in ("cot", "zs")]
    ['this model does not reason in words', None]
    """
    if prompt.reply in REASONED:
        return Reason.NO_REASONING
    if prompt.role == "judge" and prompt.demonstrations:
        return Reason.NO_EXAMPLES
    return None


@dataclass(frozen=True, slots=True)
class Claim:
    """An atomic fact (the papers' ACU). ``start:end`` is the span of the summary that it came from, if known."""

    text: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The claims of one passage. ``reason`` says why there are none, or why some may be missing.

    ``unread`` is the number of replies that could not be read. Each was about a part of the passage (a sentence, a chunk, or
    all of it), and no claim covers that part.
    """

    claims: tuple[Claim, ...]
    reason: str | None = None
    unread: int = field(default=0, repr=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The probability in [0, 1] that the document supports the claim; NaN and a reason if the reply had none.

    ``evidence`` are indices into ``text.sentences(document)``: the best first, or in the document's order if it was read as
    one text. ``contradicted`` is the probability that an unsupported claim is contradicted, not just absent from the
    document. It is NaN for models that cannot tell.
    """

    support: float
    reason: str | None = None
    evidence: tuple[int, ...] = ()
    contradicted: float = field(default=NAN, kw_only=True)

    @property
    def p_contradict(self) -> float:
        """Return the probability that the document contradicts the claim; NaN for models that cannot tell."""
        return (1 - self.support) * self.contradicted


@dataclass(frozen=True, slots=True)
class Judgement:
    """A score in [0, 1] of a whole summary (a rating s from 1 to 5 becomes (s - 1) / 4), or NaN and a reason."""

    score: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Critique:
    """What is wrong with a statement (a claim, a sentence, a whole summary).

    ``support`` is the critic's own verdict (1, 0 or a probability), or NaN if it gave none.
    """

    text: str
    support: float = NAN
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """Instructions for a reviser: unsupported statements, a free comment, or both."""

    unsupported: tuple[str, ...] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A text that a model wrote, or None and a reason."""

    text: str | None
    reason: str | None = None


class Model(Protocol):
    """The six roles. ``fingerprint`` identifies everything that changes a result, for cache keys and run records."""

    name: str
    fingerprint: str

    def decompose(self, passages: Texts, prompt: Prompt) -> list[Decomposition]:
        """Break each passage into claims (ACUEval sec. 3, "ACU generation")."""

    def verify(
        self, documents: Texts, claims: Sequence[Texts], prompt: Prompt, extras: Texts | None = None
    ) -> list[list[Verdict]]:
        """Give the probability that each document supports each of its claims.

        ``extras`` are the second documents that a prompt with context ``document+extra`` shows.
        """

    def judge(self, documents: Texts, summaries: Texts, prompt: Prompt) -> list[Judgement]:
        """Score each whole summary at once (ACUEval appendix A, BelugaEval)."""

    def critique(self, documents: Texts, statements: Texts, prompt: Prompt) -> list[Critique]:
        """Say what is wrong with each statement, given its document (Factored Verification, Algorithm 1)."""

    def revise(self, documents: Texts, summaries: Texts, feedback: Sequence[Feedback], prompt: Prompt) -> list[Text]:
        """Revise each summary as its feedback asks, and change nothing else (ACUEval sec. 5.4)."""

    def summarise(self, sources: Sequence[Sequence[Source]], questions: Texts, prompt: Prompt) -> list[Text]:
        """Answer each question from its sources, citing them (Factored Verification sec. 3.1)."""


class WordMarker(Protocol):
    """An ability that some models have: to mark the words of a text that its document does not support.

    ``words_measured`` says how often the marks were right. If it is empty, no words are marked.
    """

    words_measured: str

    def unsupported_words(self, documents: Texts, texts: Texts) -> list[list[tuple[int, int]]]:
        """Return the unsupported words of each text, as characters (start, end), in order."""


class Entailment(Protocol):
    """A model of natural language inference (NLI). ``fingerprint`` identifies everything that changes a probability.

    ``limit`` is the most tokens that a premise and its hypothesis may have together; None if there is no limit.
    """

    name: str
    fingerprint: str
    limit: int | None = None

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; joined texts have at most the sum. Zeros if there is no limit."""
        return [0] * len(texts)

    def scope(self, document: str) -> str:
        """Return the name of the model's part that may read this document; empty if all of the model may.

        A model that learned from some documents names the part that has not learned from this one.
        """
        return ""

    def entail(self, premises: Sequence[str], hypotheses: Sequence[str], scope: str = "") -> np.ndarray:
        """Return p_entail, p_neutral and p_contradict of n pairs, (n, 3); rows sum to 1.

        No pair may be longer than ``limit``. ``scope`` is what the method of that name returned for the premises' document.
        """
