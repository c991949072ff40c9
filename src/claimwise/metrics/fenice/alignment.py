"""FENICE's alignment: each claim is aligned with the passage of the document that entails it best (sections 3.2 to 3.4).

The levels, from small to large: sentences, coreference variants of the best sentence, windows of sentences, the whole
document. The last two are only read for claims whose score is still below the gate.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from claimwise.metrics import verify as verification
from claimwise.metrics.fenice import coreference
from claimwise.metrics.fenice.premises import Passages, Premise
from claimwise.models import chunks, entailment
from claimwise.models.base import NAN, Entailment, Verdict
from claimwise.models.cache import ResponseCache, cached, call_key

#: The fewest tokens that a claim must leave for its premises.
LEAST_ROOM = 16
#: A claim's length is rounded up to a multiple of this, so that claims of similar length share their premises.
ROUND = 32
#: The pairs that an entailment model gets in one call, after sorting by length.
BLOCK = 4096

NO_PROBABILITY = "no premise had a probability"


class AlignmentSettings(BaseModel):
    """The ``alignment`` entry of a metric in params.yaml.

    Attributes:
        entailment: the NLI model, see ``entailment.load``.
        coreference: the resolver, see ``coreference.load``; None for no such level.
        window: sentences of a window (j); None leaves out windows and the whole document.
        gate: windows and document are read for claims that score under this (T).
        candidates: of a document with more sentences than this, a claim is aligned only with so many sentences,
            those that share most words with it, and with so many windows, those that hold most of them. None
            aligns with all, as the paper does.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    entailment: dict = Field(default_factory=lambda: {"kind": "embedded"})
    coreference: dict | None = Field(default_factory=lambda: {"kind": "rules"})
    window: int | None = Field(5, ge=1)
    gate: float = 0.8
    candidates: int | None = Field(None, ge=1)


@dataclass(frozen=True, slots=True)
class AlignedVerdict(Verdict):
    """A verdict and the alignment that it comes from.

    ``support`` is (p_entail - p_contradict + 1) / 2, which is NLIScore, in [-1, 1], on the scale of other verifiers. It is
    0.5 for a claim that the document neither supports nor contradicts. ``premise_start`` and ``premise_end`` are characters
    of the document, and ``premise`` is the text that was read (at level ``coreference`` with a mention replaced).
    """

    level: str | None = None
    premise: str | None = None
    premise_start: int | None = None
    premise_end: int | None = None
    p_entail: float = NAN
    p_neutral: float = NAN
    p_contradict: float = NAN


@dataclass(slots=True)
class _Claim:
    """A claim of a document, with its best premise so far."""

    text: str
    passages: Passages
    scope: str
    room: int | None  # the most tokens of a premise; None if there is no limit
    near: tuple[int, ...] | None  # the sentences that it is aligned with; None for all
    best: Premise | None = None
    score: float = -math.inf  # NLIScore of the best premise
    verdict: AlignedVerdict = AlignedVerdict(NAN, NO_PROBABILITY)


class Aligner:
    """Aligns claims with documents.

    Settings are ``window``, ``gate`` and ``candidates`` of ``AlignmentSettings``. ``cache`` keeps the best premise of every
    (claim, document, level); None is one in memory.

    >>> class Same:
    ...     name, fingerprint, limit = "same", "same", None
    ...     def count(self, texts): return [0] * len(texts)
    ...     def scope(self, document): return ""
    ...     def entail(self, premises, hypotheses, scope):
    ...         return np.array([[h in p, h not in p, 0] for p, h in zip(premises, hypotheses)], float)
    >>> [[verdict]] = Aligner(Same()).align(["It rained. Ann won."], [["Ann won."]])
    >>> verdict.level, verdict.evidence, verdict.premise, verdict.premise_start, verdict.support
    ('sentence', (1,), 'Ann won.', 11, 1.0)
    """

    name = "alignment"

    def __init__(
        self,
        model: Entailment,
        resolver: coreference.Resolver | None = None,
        *,
        cache: ResponseCache | None = None,
        **settings: Any,
    ) -> None:
        self._model, self._resolver, self._settings = model, resolver, AlignmentSettings(**settings)
        self._cache = cache or ResponseCache(":memory:")

    @classmethod
    def from_settings(cls, settings: AlignmentSettings, cache: ResponseCache | None = None) -> Aligner:
        """The aligner that settings describe.

        Raises:
            ClaimwiseError: the entailment model or the resolver is unknown or cannot be loaded.
        """
        resolver = coreference.load(settings.coreference) if settings.coreference else None
        rest = settings.model_dump(include={"window", "gate", "candidates"})
        return cls(entailment.load(settings.entailment, cache), resolver, cache=cache, **rest)

    def align(self, documents: Sequence[str], claims: Sequence[Sequence[str]]) -> list[list[Verdict]]:
        """Return FENICE_cl of every claim of each document (equation 7); blank texts get a reason instead."""
        pairs = [(document, claim) for document, group in zip(documents, claims, strict=True) for claim in group]
        verdicts: dict[tuple[str, str], Verdict | None] = {pair: verification.blank(*pair) for pair in pairs}
        readable = [pair for pair, blank in verdicts.items() if blank is None]
        unique_documents = dict.fromkeys(document for document, _ in readable)
        passages = {document: Passages(document, self._model.count, self._resolver) for document in unique_documents}
        scopes = {document: self._model.scope(document) for document in unique_documents}
        sizes = self._model.count([claim for _, claim in readable])
        aligned: dict[tuple[str, str], _Claim] = {}
        candidates = self._settings.candidates
        for (document, claim), size in zip(readable, sizes, strict=True):
            room = self._room(size)
            if room is not None and room < LEAST_ROOM:
                reason = f"a claim of {size} tokens leaves no room for a premise: the model reads {self._model.limit}"
                verdicts[document, claim] = AlignedVerdict(NAN, reason)
            else:
                near = chunks.retrieve(document, claim, candidates).sentences if candidates else None
                aligned[document, claim] = _Claim(claim, passages[document], scopes[document], room, near)
        self._levels(list(aligned.values()))
        verdicts |= {pair: claim.verdict for pair, claim in aligned.items()}
        return [
            [verdicts[document, claim] for claim in group] for document, group in zip(documents, claims, strict=True)
        ]

    def _room(self, size: int) -> int | None:
        """Return the tokens that a claim of this size leaves for a premise; None if there is no limit."""
        if self._model.limit is None:
            return None
        room = self._model.limit - -(-size // ROUND) * ROUND
        return room if room >= LEAST_ROOM else self._model.limit - size

    def _levels(self, claims: list[_Claim]) -> None:
        self._improve("sentence", [(c, c.passages.windows(1, c.room, c.near)) for c in claims])
        if self._resolver:
            found = [c for c in claims if c.best]
            self._improve("coreference", [(c, c.passages.variants(c.best, c.room)) for c in found])
        if size := self._settings.window:
            # Gated once, before either level: equation 7 takes the larger of windows and document.
            doubtful = [c for c in claims if c.score < self._settings.gate]
            longer = [c for c in doubtful if len(c.passages.spans) > size]  # else one window is all of it
            self._improve("window", [(c, c.passages.windows(size, c.room, c.near)) for c in longer])
            self._improve("document", [(c, c.passages.whole(c.room)) for c in doubtful])

    def _improve(self, level: str, tasks: list[tuple[_Claim, tuple[Premise, ...]]]) -> None:
        """Find the best premise of every claim at a level, and take it if it is better than the claim's best so far.

        ``tasks`` are the claims with their premises at this level. The first of equally good premises is taken.
        """
        keys = [
            call_key(model=self._model.fingerprint, scope=claim.scope, premises=_digest(premises), claim=claim.text)
            for claim, premises in tasks
        ]

        def compute(positions: list[int]) -> Iterable[tuple[int, list | None]]:
            return enumerate(self._entail([tasks[i] for i in positions]))

        values = cached(self._cache, keys, compute, model=self._model.name, role="align")
        for (claim, premises), value in zip(tasks, values, strict=True):
            if value and (score := value[1] - value[3]) > claim.score:
                claim.best, claim.score = premises[value[0]], score
                claim.verdict = _verdict(level, claim.best, *value[1:])

    def _entail(self, tasks: list[tuple[_Claim, tuple[Premise, ...]]]) -> list[list | None]:
        """Return [index of the best premise, p_entail, p_neutral, p_contradict] of each task, or None without any.

        Pairs that several claims or documents share are read once.
        """
        numbers: dict[tuple[str, str, str], int] = {}  # the number of each different pair
        task_pairs = [
            np.array([numbers.setdefault((claim.scope, one.text, claim.text), len(numbers)) for one in premises], int)
            for claim, premises in tasks
        ]
        probabilities = self._read(list(numbers))
        scores = probabilities[:, 0] - probabilities[:, 2]
        results: list[list | None] = []
        for pairs in task_pairs:
            if not len(pairs) or np.isnan(scores[pairs]).all():
                results.append(None)
                continue
            best = int(np.nanargmax(scores[pairs]))
            results.append([best, *probabilities[pairs[best]].tolist()])
        return results

    def _read(self, pairs: list[tuple[str, str, str]]) -> np.ndarray:
        """Return the (n, 3) probabilities of n pairs (scope, premise, claim), read in order of length."""
        probabilities = np.zeros((len(pairs), 3))
        order = sorted(range(len(pairs)), key=lambda i: (pairs[i][0], len(pairs[i][1]) + len(pairs[i][2])))
        for scope, group in groupby(order, key=lambda i: pairs[i][0]):
            indices = list(group)
            for block in (indices[start : start + BLOCK] for start in range(0, len(indices), BLOCK)):
                _, premises, claims = zip(*(pairs[i] for i in block), strict=True)
                probabilities[block] = self._model.entail(premises, claims, scope)
        return probabilities


def _digest(premises: Sequence[Premise]) -> str:
    """Return a hash of the premises' texts in their order."""
    content = b"".join(premise.text.encode("utf-8", "surrogatepass") + b"\0" for premise in premises)
    return hashlib.sha256(content).hexdigest()


def _verdict(level: str, premise: Premise, entails: float, neutral: float, contradicts: float) -> AlignedVerdict:
    return AlignedVerdict(
        support=min(max((entails - contradicts + 1) / 2, 0.0), 1.0),
        evidence=tuple(range(premise.first, premise.last)),
        level=level,
        premise=premise.text,
        premise_start=premise.start,
        premise_end=premise.end,
        p_entail=entails,
        p_neutral=neutral,
        p_contradict=contradicts,
    )
