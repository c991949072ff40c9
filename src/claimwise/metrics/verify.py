"""Verifiers: from a document and claims to the probability that the document supports each."""

from collections.abc import Callable, Sequence

import pandas as pd

from claimwise import prompts
from claimwise.models.base import NAN, Model, Texts, Verdict
from claimwise.reasons import Reason

#: A claim that is supported with less probability counts as unsupported (the papers do not say; decided here).
SUPPORTED = 0.5


def verify(
    model: Model, prompt: prompts.Prompt, documents: Texts, claims: Sequence[Texts], extras: Texts | None = None
) -> list[list[Verdict]]:
    """A model's verdicts on every claim, in order (ACUEval Fig. 4; Factored Verification appendix A.1.2, A.1.3).

    s_i = p(Yes) / (p(Yes) + p(No)) for claim i; NaN with a reason for blank documents and claims. ``extras`` are further
    texts, one a document, for a prompt that shows the model another document beside.

    >>> from claimwise import models
    >>> model, prompt = models.load({"kind": "lexical"}), prompts.load("acueval-verify-zeroshot")
    >>> [[v.support for v in group] for group in verify(model, prompt, ["It rained."], [["It rained.", "Ann left.", " "]])]
    [[1.0, 0.0, nan]]
    """

    def ask(at: list[int], groups: list[list[str]]) -> list[list[Verdict]]:
        shown = [extras[i] for i in at] if extras is not None else None
        return model.verify([documents[i] for i in at], groups, prompt, shown)

    return skip_blank(documents, claims, ask)


def probability(verdicts: pd.DataFrame) -> pd.Series:
    """The probability that the document supports each claim, NaN where nothing could be read.

    That is the verdict's ``support``, but ``p_entail`` where claims were aligned (FENICE): there ``support`` is
    (NLIScore + 1) / 2, one half already where the document says nothing of the claim.

    >>> probability(pd.DataFrame({"support": [0.9, 0.2]})).tolist()
    [0.9, 0.2]
    >>> probability(pd.DataFrame({"support": [0.9, 0.6], "p_entail": [0.8, 0.2]})).tolist()
    [0.8, 0.2]
    """
    return verdicts.get("p_entail", verdicts["support"])


def skip_blank(
    documents: Texts,
    claims: Sequence[Texts],
    ask: Callable[[list[int], list[list[str]]], Sequence[Sequence[Verdict]]],
) -> list[list[Verdict]]:
    """Verdicts on every claim, in order, where blank documents and claims need no asking.

    ``ask`` gets the positions of the documents that have claims to be asked about, and these claims.

    >>> def ask(at, groups):
    ...     return [[Verdict(1.0) for _ in group] for group in groups]
    >>> [[v.reason or v.support for v in group] for group in skip_blank(["It rained.", ""], [["Rain.", " "], ["Sun."]], ask)]
    [[1.0, 'empty claim'], ['empty document']]
    """
    results = [[_blank(document, claim) for claim in group] for document, group in zip(documents, claims, strict=True)]
    asked = [i for i, group in enumerate(results) if None in group]
    groups = [[claim for claim, known in zip(claims[i], results[i], strict=True) if known is None] for i in asked]
    for i, verdicts in zip(asked, ask(asked, groups), strict=True):
        fresh = iter(verdicts)
        results[i] = [next(fresh) if known is None else known for known in results[i]]
    return results


def _blank(document: str, claim: str) -> Verdict | None:
    if not document.strip():
        return Verdict(NAN, Reason.EMPTY_DOCUMENT)
    return None if claim.strip() else Verdict(NAN, Reason.EMPTY_CLAIM)
