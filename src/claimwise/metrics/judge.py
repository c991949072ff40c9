"""Holistic judges: one look at the whole summary, one score. What claim-level metrics are compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from claimwise import prompts, text
from claimwise.models.base import NAN, Judgement, Model
from claimwise.reasons import Reason


class PromptedJudge:
    """A model and a judging prompt (BelugaEval, ACUEval Fig. 5: the expected rating sum k p(k), scaled to [0, 1])."""

    def __init__(self, model: Model, prompt: prompts.Prompt):
        self.name, self._model, self._prompt = prompt.name, model, prompt

    def judge(self, documents: Sequence[str], summaries: Sequence[str]) -> list[Judgement]:
        """Judge the pairs that have both texts; the others are NaN with a reason."""
        results = [_blank(document, summary) for document, summary in zip(documents, summaries, strict=True)]
        asked = [i for i, known in enumerate(results) if known is None]
        found = self._model.judge([documents[i] for i in asked], [summaries[i] for i in asked], self._prompt)
        for i, judgement in zip(asked, found, strict=True):
            results[i] = judgement
        return results


class WordOverlap:
    """Share of the summary's words that stand in the document: the baseline without a model (ROUGE-1 precision).

    >>> WordOverlap().judge(["the cat sat"], ["the dog sat sat"])
    [Judgement(score=0.5, reason=None)]
    """

    name = "word-overlap"

    def judge(self, documents: Sequence[str], summaries: Sequence[str]) -> list[Judgement]:
        """Clipped unigram precision, as ROUGE counts it."""
        results = []
        for document, summary in zip(documents, summaries, strict=True):
            wanted, known = Counter(text.words(summary)), Counter(text.words(document))
            share = Judgement((wanted & known).total() / wanted.total()) if wanted else Judgement(NAN, Reason.NO_WORDS)
            results.append(_blank(document, summary) or share)
        return results


def _blank(document: str, summary: str) -> Judgement | None:
    if not document.strip():
        return Judgement(NAN, Reason.EMPTY_DOCUMENT)
    return None if summary.strip() else Judgement(NAN, Reason.EMPTY_SUMMARY)


def judge(name: str, model: Model) -> PromptedJudge | WordOverlap:
    """The judge of that name: ``word-overlap``, or a judging prompt put to the model.

    Raises:
        prompts.PromptError: there is no such prompt, or it is for another role.
    """
    return WordOverlap() if name == WordOverlap.name else PromptedJudge(model, prompts.load(name, "judge"))
