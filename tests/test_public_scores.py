"""The committed scores of each summary of the public run, and the tables that follow from them."""

import pandas as pd
import pytest
import yaml
from imports import ROOT
from sklearn.metrics import roc_auc_score

PUBLIC = ROOT / "tables" / "public" / "embedded"


@pytest.mark.parametrize("corpus", ["aggrefact_ftsota", "summeval"])
@pytest.mark.parametrize("notebook", ["meta_evaluation", "verifier"])
def test_a_metrics_auc_is_that_of_the_committed_scores_and_the_published_labels(published_corpus, corpus, notebook):
    table = pd.read_csv(PUBLIC / notebook / "balanced_accuracy.csv").query("corpus == @corpus")
    scores = pd.read_csv(PUBLIC / "by_summary" / f"{corpus}.csv", index_col="example_id")
    examples = published_corpus(corpus).examples.set_index("id").query("split == 'test'").dropna(subset="label")
    assert set(examples.index) <= set(scores.index)
    for group, part in table.groupby("group"):
        metrics = [metric for metric in part["metric"] if metric in scores]
        rows = examples if group == "all" else examples[examples["origin"] == group]
        rows = rows.join(scores[metrics]).dropna(subset=metrics)
        assert (part["n"] == len(rows)).all()
        found = {metric: roc_auc_score(rows["label"], rows[metric]) for metric in metrics}
        assert part.set_index("metric").loc[metrics, "auc"].to_dict() == pytest.approx(found, abs=1e-5)
        assert len(metrics) >= 6


def test_every_metric_of_the_public_run_has_its_column():
    wanted = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["datasets"]["public"]["score"]
    for corpus, scored in wanted.items():
        scores = pd.read_csv(PUBLIC / "by_summary" / f"{corpus}.csv", index_col="example_id")
        assert list(scores) == scored["metrics"]
        assert scores.min().min() >= 0
        assert scores.max().max() <= 1
        assert scores.index.is_unique
