"""Thresholds are chosen on the validation split and reported on the test split."""

from types import SimpleNamespace

import pandas as pd

from claimwise.corpora.base import Rows
from claimwise.experiments import nli_alignment


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
