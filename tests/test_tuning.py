"""Thresholds, and the answer that is always the same, are chosen on the validation split and reported on the test split."""

import numpy as np
import pandas as pd
import pytest

from claimwise.experiments import acu_verification


def checked(test_labels):
    """Verdicts on sixteen claims; six of the eight validation claims are supported, and rank above the others."""
    support = [*np.linspace(0.95, 0.2, 8), *np.linspace(0.05, 0.9, 8)]
    keys = [str(number) for number in range(16)]
    claims = pd.DataFrame({"example_id": keys, "document_id": keys, "claim_index": 0, "claim": "It rained."})
    return claims.assign(
        task="support",
        prompt="plain",
        split=["validation"] * 8 + ["test"] * 8,
        label=[1] * 6 + [0] * 2 + test_labels,
        support=support,
        shown=False,
    )


def test_verdicts_are_cut_and_the_constant_answer_chosen_by_the_validation_labels():
    for labels in ([1, 0] * 4, [0] * 7 + [1]):
        table = acu_verification.table(checked(labels), "plain", draws=20, seed=0).set_index("prompt")
        assert table.index.tolist() == ["plain", "always Yes"]
        # Between the supports of the last supported and the first unsupported validation claim.
        assert 0.3 < table.loc["plain", "threshold"] < 0.42
        assert table.loc["always Yes", "accuracy"] == 100 * np.mean(labels)
        correct = (np.linspace(0.05, 0.9, 8) >= 0.5) == labels
        assert table.loc["plain", "gain"] == pytest.approx(100 * (np.mean(correct) - np.mean(labels)))
