"""The embedded model in the role of NLI: its verifier reads a premise as if that were the whole document."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from claimwise.models.base import Entailment
from claimwise_embedded import EmbeddedModel, EmbeddedOptions
from claimwise_embedded.evidence import FUNCTION_STEMS, stems


class EmbeddedEntailment(Entailment):
    """P(supported by the premise alone) as p_entail; any length can be read.

    The verifier says nothing of contradiction: what it leaves (1 - p_entail) is neutral. A premise that has no content
    word of the claim is neutral without being read.

    Args:
        weights: which of the embedded model's, see ``EmbeddedOptions``.
    """

    def __init__(self, weights: str = "supervised") -> None:
        self._model = EmbeddedModel(EmbeddedOptions(weights=weights))
        self.name = self._model.name
        self.fingerprint = f"entailment:{self._model.fingerprint}:0.0"  # the end is from a version with an option more

    def scope(self, document: str) -> str:
        """See ``Entailment.scope``: the fold that has not seen the document, where it was trained on."""
        heads = self._model.verifier.heads
        unseen = heads.unseen_by(document)
        return "" if len(unseen) == heads.folds else ",".join(map(str, unseen))

    def entail(self, premises: Sequence[str], hypotheses: Sequence[str], scope: str = "") -> np.ndarray:
        """See ``Entailment.entail``; a pair without words on either side is a row of NaN."""
        verifier = self._model.verifier
        results = np.full((len(premises), 3), np.nan)
        near: list[int] = []
        for i, (premise, claim) in enumerate(zip(premises, hypotheses, strict=True)):
            said, asked = _content(premise), _content(claim)
            if said and asked and not said & asked:
                results[i, 0] = 0.0
            else:
                near.append(i)
        found = verifier.reader.read([premises[i] for i in near], [[hypotheses[i]] for i in near])
        evidence = {i: item for i, [item] in zip(near, found, strict=True) if not isinstance(item, str)}
        folds = [int(fold) for fold in scope.split(",")] if scope else list(range(verifier.heads.folds))
        logits = verifier.heads.logits("claim", list(evidence.values()), [folds] * len(evidence))
        results[list(evidence), 0] = verifier.heads.calibrations["claim"](logits)
        results[:, 1], results[:, 2] = 1 - results[:, 0], 0 * results[:, 0]  # NaN where there is no entailment
        return results


@lru_cache(maxsize=20_000)
def _content(text: str) -> frozenset[str]:
    return stems(text) - FUNCTION_STEMS
