"""A language model that was taught to verify and nothing else, as a model with all roles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from scipy.special import expit, logit

from claimwise import prompts
from claimwise.models.base import Judgement, Model, Verdict
from claimwise.models.cache import ResponseCache, call_key
from claimwise.models.cost import Prices
from claimwise.models.language import PromptedModel
from claimwise.models.replies import LanguageModel
from claimwise.prompts import Prompt

#: Asks of a whole summary what is asked of a claim.
_QUESTION = "acueval-verify-zeroshot"


def _by_other(role: str) -> Callable:
    def play(self: Verifier, *given: Any) -> list:
        return getattr(self.other, role)(*given)

    return play


class Verifier(PromptedModel):
    """Verifies as a language model answers; what that was not taught, another model does.

    A summary is judged as one claim. Of the sentences that support a claim a language model does not say which: the other
    model's evidence stands in their place.

    Args:
        language_model, cache, prices: as in ``PromptedModel``.
        other: decomposes, critiques, revises and summarises, and names the evidence.
        calibration: slope and intercept of the log odds of support (Platt scaling), fitted to validation rows.
    """

    def __init__(
        self,
        language_model: LanguageModel,
        cache: ResponseCache,
        prices: Prices | None,
        other: Model,
        calibration: tuple[float, float] = (1.0, 0.0),
    ):
        super().__init__(language_model, cache, prices)
        self.fingerprint = call_key(
            verifier=language_model.fingerprint, other=other.fingerprint, calibration=calibration
        )
        self._slope, self._intercept = calibration
        self.other = other

    decompose, critique, revise, summarise = map(_by_other, ("decompose", "critique", "revise", "summarise"))

    def verify(
        self,
        documents: Sequence[str],
        claims: Sequence[Sequence[str]],
        prompt: Prompt,
        extras: Sequence[str] | None = None,
    ) -> list[list[Verdict]]:
        """See ``Model.verify``."""
        verdicts = self._calibrated(documents, claims, prompt, extras)
        read = self.other.verify(documents, claims, prompt, extras)
        return [
            [replace(ours, evidence=theirs.evidence) for ours, theirs in zip(*group, strict=True)]
            for group in zip(verdicts, read, strict=True)
        ]

    def judge(self, documents: Sequence[str], summaries: Sequence[str], prompt: Prompt) -> list[Judgement]:
        """See ``Model.judge``; the prompt is not read."""
        verdicts = self._calibrated(documents, [[summary] for summary in summaries], prompts.load(_QUESTION))
        return [Judgement(verdict.support, verdict.reason) for [verdict] in verdicts]

    def _calibrated(self, *asked: Any) -> list[list[Verdict]]:
        return [
            [replace(one, support=float(expit(self._slope * logit(one.support) + self._intercept))) for one in group]
            for group in super().verify(*asked)
        ]
