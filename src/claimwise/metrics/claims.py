"""Decomposers: from a summary to its claims.

A decomposer is any object with a ``name`` and ``decompose(examples) -> list[Decomposition]``. Besides the
prompted models there are two that need none (the sentences, the whole summary), which every table of claims
must be read against, and one that looks up claims that a published system made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pandas as pd

from claimwise import prompts, text
from claimwise.errors import ClaimwiseError, near
from claimwise.models.base import Claim, Decomposition, Model
from claimwise.reasons import Reason


class Decomposer(Protocol):
    """What turns the summaries of an examples table into claims, one result a row, in order."""

    name: str

    def decompose(self, examples: pd.DataFrame) -> list[Decomposition]:
        """Claims of every row's ``summary``."""
        ...


class PromptedDecomposer:
    """A model and a decomposition prompt (ACUEval sec. 3, Fig. 3)."""

    def __init__(self, model: Model, prompt: prompts.Prompt):
        self.name, self._model, self._prompt = prompt.name, model, prompt

    def decompose(self, examples: pd.DataFrame) -> list[Decomposition]:
        """Ask the model about the summaries that have words; the others have no claims."""
        summaries = examples["summary"].tolist()
        asked = [i for i, summary in enumerate(summaries) if summary.strip()]
        results = [Decomposition((), Reason.EMPTY_SUMMARY)] * len(summaries)
        for i, result in zip(asked, self._model.decompose([summaries[i] for i in asked], self._prompt), strict=True):
            results[i] = result if result.claims or result.reason else Decomposition((), Reason.NO_CLAIMS)
        return results


class Sentences:
    """Every sentence is a claim: no model at all, and hard to beat on precision."""

    name = "sentences"

    def decompose(self, examples: pd.DataFrame) -> list[Decomposition]:
        """The sentences of every summary, with their spans.

        >>> frame = pd.DataFrame({"summary": ["It rained. We left.", ""]})
        >>> [[c.text for c in d.claims] for d in Sentences().decompose(frame)]
        [['It rained.', 'We left.'], []]
        """
        return [_spans(text.sentences(summary)) for summary in examples["summary"]]


class WholeSummary:
    """The whole summary is the one claim."""

    name = "summary"

    def decompose(self, examples: pd.DataFrame) -> list[Decomposition]:
        """One claim a summary, none for a blank one.

        >>> frame = pd.DataFrame({"summary": ["It rained. We left.", " "]})
        >>> [[c.text for c in d.claims] for d in WholeSummary().decompose(frame)]
        [['It rained. We left.'], []]
        """
        return [
            _spans([text.Span(0, len(summary), summary)] if summary.strip() else []) for summary in examples["summary"]
        ]


class RecordedClaims:
    """Claims that a published system made, by example id.

    Args:
        recorded: a table of schema ``recorded_claims``.
        decomposer: whose claims, a value of its ``decomposer`` column.

    >>> rows = [("a", "t5", 1, "We left."), ("a", "t5", 0, "It rained."), ("a", "gpt", 0, "It rained and we left.")]
    >>> recorded = pd.DataFrame(rows, columns=["example_id", "decomposer", "claim_index", "claim"])
    >>> [c.text for c in RecordedClaims(recorded, "t5").decompose(pd.DataFrame({"id": ["a"]}))[0].claims]
    ['It rained.', 'We left.']
    """

    def __init__(self, recorded: pd.DataFrame, decomposer: str):
        self.name = decomposer
        rows = recorded[recorded["decomposer"] == decomposer].sort_values(["example_id", "claim_index"])
        self._claims = rows.groupby("example_id")["claim"].agg(list).to_dict()

    def decompose(self, examples: pd.DataFrame) -> list[Decomposition]:
        """The recorded claims; an example without any has the reason ``no claims``."""
        found = [self._claims.get(key, []) for key in examples["id"]]
        return [
            Decomposition(tuple(Claim(claim) for claim in claims), None if claims else Reason.NO_CLAIMS)
            for claims in found
        ]


def _spans(spans: Sequence[text.Span]) -> Decomposition:
    claims = tuple(Claim(span.text, span.start, span.end) for span in spans)
    return Decomposition(claims, None if claims else Reason.EMPTY_SUMMARY)


def decomposer(name: str, model: Model, recorded: pd.DataFrame | None = None) -> Decomposer:
    """The decomposer of that name: ``sentences``, ``summary``, ``recorded:NAME``, or a decomposition prompt.

    Raises:
        prompts.PromptError: there is no such prompt, or it is for another role.
        ClaimwiseError: recorded claims were asked for and none were given, or none by that decomposer.

    >>> from claimwise import models
    >>> model = models.load({"kind": "lexical"})
    >>> [type(decomposer(name, model)).__name__ for name in ("summary", "acueval-decompose-5shot")]
    ['WholeSummary', 'PromptedDecomposer']
    """
    if name == Sentences.name:
        return Sentences()
    if name == WholeSummary.name:
        return WholeSummary()
    if name.startswith("recorded:"):
        if recorded is None or recorded.empty:
            raise ClaimwiseError(
                f"decomposer {name!r} needs recorded claims, and these examples have none; take a metric whose "
                "`decompose` is a prompt, `sentences` or `summary`"
            )
        wanted, known = name.removeprefix("recorded:"), sorted(set(recorded["decomposer"]))
        if wanted not in known:
            raise ClaimwiseError(
                f"decomposer {name!r}: no claims by {wanted!r} are recorded{near(wanted, known)}; there are those by "
                f"{', '.join(known)}"
            )
        return RecordedClaims(recorded, wanted)
    return PromptedDecomposer(model, prompts.load_for("decompose", name))
