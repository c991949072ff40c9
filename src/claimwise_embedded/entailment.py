"""The embedded model in the role of NLI: its verifier reads a premise as the whole document."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from claimwise.models.base import Entailment
from claimwise_embedded import EmbeddedModel, EmbeddedOptions
from claimwise_embedded.evidence import FUNCTION_STEMS, stems


class EmbeddedEntailment(Entailment):
    """p_entail is the probability that the premise alone supports the hypothesis. Texts may have any length.

    The verifier does not detect contradictions, so p_neutral is 1 - p_entail. A premise without a content word of the
    hypothesis is neutral and is not read.

    Args:
        weights: see ``EmbeddedOptions``.
    """

    def __init__(self, weights: str = "supervised") -> None:
        self._model = EmbeddedModel(EmbeddedOptions(weights=weights))
        self.name = self._model.name
        self.fingerprint = f"entailment:{self._model.fingerprint}:0.0"  # the end comes from an option that was removed

    def scope(self, document: str) -> str:
        """See ``Entailment.scope``: the fold that has not seen a training document; empty for other documents."""
        heads = self._model.verifier.heads
        unseen = heads.unseen_by(document)
        return "" if len(unseen) == heads.folds else ",".join(map(str, unseen))

    def entail(self, premises: Sequence[str], hypotheses: Sequence[str], scope: str = "") -> np.ndarray:
        """See ``Entailment.entail``. A pair with a text without words is a row of NaN."""
        verifier = self._model.verifier
        results = np.full((len(premises), 3), np.nan)
        to_read: list[int] = []
        for i, (premise, hypothesis) in enumerate(zip(premises, hypotheses, strict=True)):
            premise_stems, hypothesis_stems = _content(premise), _content(hypothesis)
            if premise_stems and hypothesis_stems and not premise_stems & hypothesis_stems:
                results[i, 0] = 0.0
            else:
                to_read.append(i)
        read = verifier.reader.read([premises[i] for i in to_read], [[hypotheses[i]] for i in to_read])
        evidence = {i: item for i, [item] in zip(to_read, read, strict=True) if not isinstance(item, str)}
        folds = [int(fold) for fold in scope.split(",")] if scope else list(range(verifier.heads.folds))
        logits = verifier.heads.logits("claim", list(evidence.values()), [folds] * len(evidence))
        results[list(evidence), 0] = verifier.heads.calibrations["claim"](logits)
        results[:, 1], results[:, 2] = 1 - results[:, 0], 0 * results[:, 0]  # NaN stays NaN
        return results


@lru_cache(maxsize=20_000)
def _content(text: str) -> frozenset[str]:
    return stems(text) - FUNCTION_STEMS
