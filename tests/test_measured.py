"""The tables in data/embedded: what training and the benchmark write, and what a notebook may rely on."""

import runpy

import pandas as pd
import pytest
from imports import ROOT

from training.data import HELD_OUT, SHARES

MEASURED = ROOT / "data" / "embedded"


@pytest.mark.parametrize(
    ("name", "keys"), [("held_out", ["corpus"]), ("ablation", ["corpus"]), ("edit_types", ["error", "n"])]
)
@pytest.mark.parametrize("pooling", ["min", "mean"])
def test_there_is_one_area_a_corpus_or_type_and_model_of_each_pooling(name, keys, pooling):
    table = pd.read_csv(MEASURED / f"{name}.csv")
    table = table[(table["pooling"] == pooling) | (table["model"] == "word overlap")]
    assert not table.duplicated([*keys, "model"]).any()
    assert table["auc"].between(0, 1).all()
    assert "shipped" in set(table["model"])


def test_the_learning_curve_asks_the_same_corpora_at_every_share():
    curve = pd.read_csv(MEASURED / "learning_curve.csv")
    whole = curve[curve["share"] == 1]
    assert set(curve["share"]) == {1.0, *SHARES}
    assert set(curve["held_out_with"]) == set(HELD_OUT)
    asked = ["corpus", "held_out_with", "n", "model", "pooling"]
    for _, part in curve.groupby("share"):
        assert sorted(part[asked].itertuples(index=False)) == sorted(whole[asked].itertuples(index=False))
    overlap = curve[curve["model"] == "word overlap"].groupby("corpus")["auc"]
    assert (overlap.max() == overlap.min()).all()  # it learns nothing
    # The corpora that are left out of what ships, whichever run the curve is of.
    left_out = pd.read_csv(MEASURED / "held_out.csv")
    keys = ["corpus", "held_out_with", "model", "pooling"]
    assert sorted(left_out[keys].itertuples(index=False)) == sorted(whole[keys].itertuples(index=False))


def test_the_committed_speed_is_what_the_benchmark_writes(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", ["embedded.py", "--documents", "1", "--csv", str(tmp_path / "speed.csv")])
    runpy.run_path(str(ROOT / "benchmarks" / "embedded.py"), run_name="__main__")
    fresh, committed = (pd.read_csv(folder / "speed.csv") for folder in (tmp_path, MEASURED))
    assert fresh.columns.tolist() == committed.columns.tolist()
    assert fresh["metric"].tolist() == committed["metric"].tolist()
    assert committed["corpus"].unique().tolist() == ["aggrefact_ftsota"]
    assert committed["metric"].is_unique
