"""Thresholds, and the answer that is always the same, are chosen on the validation split and reported on the test split."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from claimwise.corpora.base import Rows
from claimwise.experiments import acu_verification, nli_alignment


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


def test_a_step_of_the_alignment_is_taken_at_thresholds_of_the_validation_split():
    rows = Rows("made")
    for number in range(40):
        split = "validation" if number < 20 else "test"
        rows.example(number, "s", document=f"D {number}.", summary="S.", split=split, origin="o", label=number % 2)
    corpus = rows.corpus()
    exact = corpus.examples["label"]
    moved = exact + 2 * (corpus.examples["split"] == "test")  # tells as much, but at other thresholds in the test split
    steps = dict(zip(nli_alignment.STEPS, (exact, moved, moved, exact), strict=True))
    runs = {
        name: SimpleNamespace(scores=pd.DataFrame({"example_id": corpus.examples["id"], "score": score}))
        for name, score in steps.items()
    }
    table = nli_alignment.table(corpus, runs, by_origin=True, draws=50, seed=0)
    assert table["balanced_accuracy"].tolist() == [100, 50, 50, 100]
    assert table["step"].tolist()[1:] == [-50, 0, 50]
    assert (table["step_p"] < 0.001).tolist() == [False, True, False, True]
    assert table["auc_step"].tolist()[1:] == [0, 0, 0]
