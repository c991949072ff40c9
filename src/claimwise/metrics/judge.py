"""Holistic judges: one look at the whole summary, one score. What claim-level metrics are compared with."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from claimwise import prompts, text
from claimwise.metrics.claims import no_summary
from claimwise.models.base import NAN, Judgement, Model
from claimwise.reasons import Reason


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
    reason = no_summary(summary) if document.strip() else Reason.EMPTY_DOCUMENT
    return Judgement(NAN, reason) if reason else None


def judge(name: str, model: Model) -> Callable[[Sequence[str], Sequence[str]], list[Judgement]]:
    """The judge of that name: ``word-overlap``, or a judging prompt put to the model.

    The prompted one is BelugaEval's (ACUEval Fig. 5): the expected rating sum k p(k), scaled to [0, 1]. Pairs that lack a
    text are NaN with a reason.

    Raises:
        prompts.PromptError: there is no such prompt, or it is for another role.
    """
    return WordOverlap().judge if name == WordOverlap.name else partial(_prompted, model, prompts.load(name, "judge"))


def _prompted(
    model: Model, prompt: prompts.Prompt, documents: Sequence[str], summaries: Sequence[str]
) -> list[Judgement]:
    results = [_blank(document, summary) for document, summary in zip(documents, summaries, strict=True)]
    asked = [i for i, known in enumerate(results) if known is None]
    found = model.judge([documents[i] for i in asked], [summaries[i] for i in asked], prompt)
    for i, judgement in zip(asked, found, strict=True):
        results[i] = judgement
    return results
