"""The embedded model in the role of NLI: its verifier reads a premise as if that were the whole document."""

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from claimwise_embedded import EmbeddedModel, EmbeddedOptions
from claimwise_embedded.evidence import FUNCTION_STEMS, stems
from claimwise_embedded.verifier import Verifier


class EmbeddedEntailment:
    """P(supported by the premise alone) as p_entail; any length can be read.

    The verifier says nothing of contradiction: what it leaves (1 - p_entail) is neutral. A premise that has no content
    word of the claim is neutral without being read.

    Premises of a document that the verifier was trained on are read by the part of it that has not seen that
    document, as the verifier itself does.

    Args:
        weights: which of the embedded model's, see ``EmbeddedOptions``.
    """

    limit = None

    def __init__(self, weights: str = "supervised") -> None:
        options = EmbeddedOptions(weights=weights)
        model = EmbeddedModel(options)
        self.name = model.name
        self.fingerprint = f"entailment:{model.fingerprint}:0.0"  # the end is from a version with an option more
        self._folder = options.folder

    @cached_property
    def _verifier(self) -> Verifier:
        return Verifier(self._folder)

    def count(self, texts: Sequence[str]) -> list[int]:
        """See ``Entailment.count``; nothing is counted where any length can be read."""
        return [0] * len(texts)

    def scope(self, document: str) -> str:
        """See ``Entailment.scope``: the fold that has not seen the document, where it was trained on."""
        unseen = self._verifier.heads.unseen_by(document)
        return "" if len(unseen) == self._verifier.heads.folds else ",".join(map(str, unseen))

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
        found = self._verifier.reader.read(list(places), [[hypotheses[i] for i in at] for at in places.values()])
        evidence = {
            i: item
            for at, items in zip(places.values(), found, strict=True)
            for i, item in zip(at, items, strict=True)
            if not isinstance(item, str)
        }
        if evidence:
            folds = [int(fold) for fold in scope.split(",")] if scope else list(range(self._verifier.heads.folds))
            logits = self._verifier.heads.logits("claim", list(evidence.values()), [folds] * len(evidence))
            results[list(evidence), 0] = self._verifier.heads.calibrations["claim"](logits)
        results[:, 1], results[:, 2] = 1 - results[:, 0], 0 * results[:, 0]  # NaN where there is no entailment
        return results


@lru_cache(maxsize=20_000)
def _content(text: str) -> frozenset[str]:
    return stems(text) - FUNCTION_STEMS
