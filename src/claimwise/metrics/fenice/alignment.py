"""FENICE: a claim is aligned with the passage of the document that entails it best (sections 3.2 to 3.4).

The levels, from small to large: sentence, the best sentence's coreference variants, windows of sentences, the
whole document. The last two are only read for claims whose score so far is under the gate.
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

#: Fewest tokens that a claim must leave for its premises.
LEAST_ROOM = 16
#: Room for premises is rounded to this many tokens, so that claims of similar length share their premises.
ROUND = 32
#: Pairs that an entailment model is given at once, after sorting by length.
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
    """A verdict with the alignment it rests on.

    ``support`` is (p_entail - p_contradict + 1) / 2: NLIScore, which is in [-1, 1], on the scale of the other
    verifiers; a claim that the document says nothing of has 0.5. ``premise_start`` and ``premise_end`` are characters
    of the document, ``premise`` the text that was read there (with a mention replaced, at level ``coreference``).
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
    """A claim of a document, the tokens that it leaves for premises, the best one so far and what it says of the claim."""

    text: str
    passages: Passages
    scope: str
    room: int | None
    near: tuple[int, ...] | None
    best: Premise | None = None
    score: float = -math.inf
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
        """FENICE_cl of every claim (equation 7), where gated the larger of both levels; blank texts are not read."""
        pairs = [(document, claim) for document, group in zip(documents, claims, strict=True) for claim in group]
        verdicts: dict[tuple[str, str], Verdict | None] = {pair: verification.blank(*pair) for pair in pairs}
        read = [pair for pair, blank in verdicts.items() if blank is None]
        shown = dict.fromkeys(document for document, _ in read)
        passages = {document: Passages(document, self._model.count, self._resolver) for document in shown}
        scopes = {document: self._model.scope(document) for document in shown}
        sizes = self._model.count([claim for _, claim in read])
        asked: dict[tuple[str, str], _Claim] = {}
        most = self._settings.candidates
        for (document, claim), size in zip(read, sizes, strict=True):
            room = self._room(size)
            if room is not None and room < LEAST_ROOM:
                reason = f"a claim of {size} tokens leaves no room for a premise: the model reads {self._model.limit}"
                verdicts[document, claim] = AlignedVerdict(NAN, reason)
            else:
                near = chunks.retrieve(document, claim, most).sentences if most else None
                asked[document, claim] = _Claim(claim, passages[document], scopes[document], room, near)
        self._levels(list(asked.values()))
        verdicts |= {pair: claim.verdict for pair, claim in asked.items()}
        return [
            [verdicts[document, claim] for claim in group] for document, group in zip(documents, claims, strict=True)
        ]

    def _room(self, size: int) -> int | None:
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
        """Take for every claim the best of its premises at a level, the first of equals, where it beats the best so far."""
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
        """[index of the best premise, p_entail, p_neutral, p_contradict] a task.

        Pairs that several claims or documents share are read once; all are read in order of length.
        """
        numbers: dict[tuple[str, str, str], int] = {}
        owners = [
            np.array([numbers.setdefault((claim.scope, one.text, claim.text), len(numbers)) for one in premises], int)
            for claim, premises in tasks
        ]
        probabilities = self._read(list(numbers))
        scores = probabilities[:, 0] - probabilities[:, 2]
        results: list[list | None] = []
        for places in owners:
            if not len(places) or np.isnan(scores[places]).all():
                results.append(None)
                continue
            at = int(np.nanargmax(scores[places]))
            results.append([at, *probabilities[places[at]].tolist()])
        return results

    def _read(self, pairs: list[tuple[str, str, str]]) -> np.ndarray:
        """(n, 3) probabilities of n (scope, premise, claim)."""
        probabilities = np.zeros((len(pairs), 3))
        order = sorted(range(len(pairs)), key=lambda i: (pairs[i][0], len(pairs[i][1]) + len(pairs[i][2])))
        for scope, group in groupby(order, key=lambda i: pairs[i][0]):
            same = list(group)
            for block in (same[start : start + BLOCK] for start in range(0, len(same), BLOCK)):
                _, premises, claims = zip(*(pairs[i] for i in block), strict=True)
                probabilities[block] = self._model.entail(premises, claims, scope)
        return probabilities


def _digest(premises: Sequence[Premise]) -> str:
    """A hash of their texts in their order."""
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
