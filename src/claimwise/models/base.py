"""What a model is to the rest of claimwise: six roles, batch in, batch out, a reason wherever there is no value.

A *model* decomposes, verifies, judges, critiques, revises and summarises. Notebooks and metrics hold a
``Model`` and never ask which kind it is. Every role takes sequences of equal length n and a ``Prompt``, and
returns a list of n results in the same order: a backend may batch, sort and cache as it likes inside.
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

#: Several texts: documents, their summaries, or the claims of one.
Texts = Sequence[str]


def needs_language_model(prompt: Prompt) -> Reason | None:
    """Why only a model that reads prose can do what a judging or verifying prompt asks; None where any can.

    Another gives NaN and this reason instead of its plain judgement under another method's name.

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
    """An atomic fact (the papers' ACU); ``start:end`` is the span of the summary it came from, where known."""

    text: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The claims of one passage, or none and the reason why; beside claims the reason why there may be more.

    ``unread`` replies about a part of the passage (a sentence, a chunk, all of it) gave none: what stands there is in no
    claim, and a score says nothing of it.
    """

    claims: tuple[Claim, ...]
    reason: str | None = None
    unread: int = field(default=0, repr=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Probability in [0, 1] that the document supports the claim; NaN and a reason where the reply had none.

    ``evidence`` are indices into ``text.sentences(document)``, best first, or in the document's order where it was read as
    one text. ``contradicted``: if the document does not support the claim, how probable it is that it says otherwise, and is
    not only silent about it; NaN of models that cannot tell the two apart.
    """

    support: float
    reason: str | None = None
    evidence: tuple[int, ...] = ()
    contradicted: float = field(default=NAN, kw_only=True)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A whole-summary score in [0, 1] (a 1-5 rating s is shown as (s - 1) / 4), or NaN and a reason."""

    score: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Critique:
    """What is wrong with a statement (a claim, a sentence, a whole summary).

    ``support`` is the critic's own verdict (1 or 0, or a probability), NaN where it gave none.
    """

    text: str
    support: float = NAN
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a reviser is told: the statements found unsupported, or a comment in free form, or both."""

    unsupported: tuple[str, ...] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A text that a model wrote, or None and the reason why there is none."""

    text: str | None
    reason: str | None = None


class Model(Protocol):
    """The roles. ``fingerprint`` names everything that changes a result, for cache keys and run records."""

    name: str
    fingerprint: str

    def decompose(self, passages: Texts, prompt: Prompt) -> list[Decomposition]:
        """Break each passage into claims (ACUEval sec. 3, "ACU generation")."""

    def verify(
        self, documents: Texts, claims: Sequence[Texts], prompt: Prompt, extras: Texts | None = None
    ) -> list[list[Verdict]]:
        """For each document, say of each of its claims how probable it is that the document supports it.

        ``extras`` are the other documents that a prompt with context ``document+extra`` shows beside.
        """

    def judge(self, documents: Texts, summaries: Texts, prompt: Prompt) -> list[Judgement]:
        """Score each whole summary at once (ACUEval appendix A, BelugaEval)."""

    def critique(self, documents: Texts, statements: Texts, prompt: Prompt) -> list[Critique]:
        """Say what is wrong with each statement given its document (Factored Verification, Algorithm 1)."""

    def revise(self, documents: Texts, summaries: Texts, feedback: Sequence[Feedback], prompt: Prompt) -> list[Text]:
        """Revise each summary as the feedback asks, changing nothing else (ACUEval sec. 5.4)."""

    def summarise(self, sources: Sequence[Sequence[Source]], questions: Texts, prompt: Prompt) -> list[Text]:
        """Answer each question from its sources, citing them (Factored Verification sec. 3.1)."""


class WordMarker(Protocol):
    """What a model may offer beside its roles: which words of a text its document does not support.

    ``words_measured`` says how right it was where that was measured; without it (or empty) no word is shown as marked.
    """

    words_measured: str

    def unsupported_words(self, documents: Texts, texts: Texts) -> list[list[tuple[int, int]]]:
        """For each text the characters (start, end) of such words, in order."""


class Entailment(Protocol):
    """Reads pairs of texts. ``fingerprint`` names everything that changes a probability.

    ``limit`` is the most tokens of a premise and its hypothesis together, or None where any length can be read.
    """

    name: str
    fingerprint: str
    limit: int | None = None

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; of texts joined by spaces at most the sum. Nothing is counted where there is no limit."""
        return [0] * len(texts)

    def scope(self, document: str) -> str:
        """The part of the model that may read premises of a document; empty where that is all of it.

        A model that was trained on some documents names the part here that has not seen this one.
        """
        return ""

    def entail(self, premises: Sequence[str], hypotheses: Sequence[str], scope: str = "") -> np.ndarray:
        """(n, 3) p_entail, p_neutral, p_contradict of n pairs, rows summing to 1; no pair is longer than ``limit``."""
