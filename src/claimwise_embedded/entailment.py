"""The embedded model in the role of NLI: its verifier reads a premise as if that were the whole document."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
from pydantic import Field

from claimwise_embedded import EmbeddedModel, EmbeddedOptions
from claimwise_embedded.contradiction import contradicts
from claimwise_embedded.evidence import FUNCTION_STEMS, stems
from claimwise_embedded.reading import Reader
from claimwise_embedded.verifier import Heads


class VerifierOptions(EmbeddedOptions):
    """The options of ``kind: embedded``: those of the embedded model, and the share of ``EmbeddedEntailment``."""

    contradiction: float = Field(default=0.0, ge=0, le=1)


class EmbeddedEntailment:
    """P(supported by the premise alone) as p_entail; any length can be read.

    The verifier says nothing of contradiction. What it leaves (1 - p_entail) counts as contradiction where a rule
    finds one, in the share ``contradiction``, and as neutral otherwise; see ``contradiction.contradicts``. A
    premise that has no content word of the claim is neutral without being read.

    Premises of a document that the verifier was trained on are read by the part of it that has not seen that
    document, as the verifier itself does.

    Args:
        contradiction: share of the unsupported probability that a contradiction found by rule gets, in [0, 1].
        weights: which of the embedded model's, see ``EmbeddedOptions``.
    """

    limit = None

    def __init__(self, contradiction: float = 0.0, weights: str = "supervised") -> None:
        options = VerifierOptions(contradiction=contradiction, weights=weights)
        model = EmbeddedModel(options)
        self.name = model.name
        self.fingerprint = f"entailment:{model.fingerprint}:{options.contradiction}"
        self._share = options.contradiction
        self._folder = options.folder

    @cached_property
    def _heads(self) -> Heads:
        return Heads.read(self._folder)

    @cached_property
    def _reader(self) -> Reader:
        return Reader(checkers=self._heads.checkers)

    def count(self, texts: Sequence[str]) -> list[int]:
        """See ``Entailment.count``; nothing is counted where any length can be read."""
        return [0] * len(texts)

    def scope(self, document: str) -> str:
        """See ``Entailment.scope``: the fold that has not seen the document, where it was trained on."""
        unseen = self._heads.unseen_by(document)
        return "" if len(unseen) == self._heads.folds else ",".join(map(str, unseen))

    def entail(self, premises: Sequence[str], hypotheses: Sequence[str], scope: str = "") -> np.ndarray:
        """See ``Entailment.entail``; a pair without words on either side is a row of NaN."""
        results = np.full((len(premises), 3), np.nan)
        places: dict[str, list[int]] = {}
        for i, (premise, claim) in enumerate(zip(premises, hypotheses, strict=True)):
            said, asked = _content(premise), _content(claim)
            if said and asked and not said & asked:
                results[i, 0] = 0.0
            else:
                places.setdefault(premise, []).append(i)
        found = self._reader.read(list(places), [[hypotheses[i] for i in at] for at in places.values()])
        evidence = {
            i: item
            for at, items in zip(places.values(), found, strict=True)
            for i, item in zip(at, items, strict=True)
            if not isinstance(item, str)
        }
        if evidence:
            folds = [int(fold) for fold in scope.split(",")] if scope else list(range(self._heads.folds))
            logits = self._heads.logits("claim", list(evidence.values()), [folds] * len(evidence))
            results[list(evidence), 0] = self._heads.calibrations["claim"](logits)
        rest = 1 - results[:, 0]
        pairs = zip(premises, hypotheses, strict=True)
        found_by_rule = [bool(self._share) and contradicts(premise, claim) for premise, claim in pairs]
        results[:, 2] = self._share * np.array(found_by_rule, float) * rest
        results[:, 1] = rest - results[:, 2]
        return results


@lru_cache(maxsize=20_000)
def _content(text: str) -> frozenset[str]:
    return stems(text) - FUNCTION_STEMS
