"""Holistic judges, which score a whole summary at once: the baselines of claim-level metrics."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from claimwise import prompts, text
from claimwise.metrics.claims import no_summary
from claimwise.models.base import NAN, Judgement, Model
from claimwise.reasons import Reason


class WordOverlap:
    """The share of the summary's words that are in the document (ROUGE-1 precision): the baseline without a model.

    >>> WordOverlap().judge(["the cat sat"], ["the dog sat sat"])
    [Judgement(score=0.5, reason=None)]
    """

    name = "word-overlap"

    def judge(self, documents: Sequence[str], summaries: Sequence[str]) -> list[Judgement]:
        """Return the clipped unigram precision of each summary, as ROUGE counts it."""
        results = []
        for document, summary in zip(documents, summaries, strict=True):
            words = Counter(text.words(summary))
            shared = words & Counter(text.words(document))
            share = Judgement(shared.total() / words.total()) if words else Judgement(NAN, Reason.NO_WORDS)
            results.append(_missing_text(document, summary) or share)
        return results


def _missing_text(document: str, summary: str) -> Judgement | None:
    """NaN and a reason if the document or the summary is empty; otherwise None."""
    reason = no_summary(summary) if document.strip() else Reason.EMPTY_DOCUMENT
    return Judgement(NAN, reason) if reason else None


def judge(name: str, model: Model) -> Callable[[Sequence[str], Sequence[str]], list[Judgement]]:
    """Return a judge by its name: ``word-overlap``, or the model with the judging prompt of that name.

    With a prompt it is BelugaEval's judge (ACUEval Fig. 5): the expected rating sum k p(k), scaled to [0, 1]. If the document
    or the summary is empty, the score is NaN with a reason.

    Raises:
        prompts.PromptError: there is no such prompt, or it is for another role.
    """
    return WordOverlap().judge if name == WordOverlap.name else partial(_prompted, model, prompts.load(name, "judge"))


def _prompted(
    model: Model, prompt: prompts.Prompt, documents: Sequence[str], summaries: Sequence[str]
) -> list[Judgement]:
    results = [_missing_text(document, summary) for document, summary in zip(documents, summaries, strict=True)]
    asked = [i for i, missing in enumerate(results) if missing is None]
    judgements = model.judge([documents[i] for i in asked], [summaries[i] for i in asked], prompt)
    for i, judgement in zip(asked, judgements, strict=True):
        results[i] = judgement
    return results
