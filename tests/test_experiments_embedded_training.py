"""What the notebook on the embedded model says of the tables that its training and its benchmark left."""

import numpy as np
import pandas as pd
import pytest
from imports import ROOT

from claimwise.experiments import embedded_training


@pytest.mark.parametrize("name", ["held_out", "ablation"])
@pytest.mark.parametrize("pooling", ["min", "mean"])
def test_measured_tables_have_one_value_a_corpus_and_model(name, pooling, monkeypatch):
    monkeypatch.chdir(ROOT)
    table = embedded_training.measured(name, pooling)
    assert not table.duplicated(["corpus", "model"]).any()
    assert table["auc"].between(0, 1).all()
    wide = embedded_training.by_corpus(table)
    assert wide["corpus"].iloc[-1] == "mean"
    assert wide.drop(columns="corpus").iloc[:-1].mean().tolist() == pytest.approx(
        wide.drop(columns="corpus").iloc[-1].tolist()
    )


def test_calibration_on_corpora_left_out_stands_behind_their_auc():
    table = pd.DataFrame(
        [
            ("a", "shipped", 0.7, 0.1),
            ("a", "word overlap", 0.4, None),
            ("b", "shipped", 0.5, 0.3),
            ("c", "shipped", 0.9, None),
        ],
        columns=["corpus", "model", "auc", "ece"],
    )
    wide = embedded_training.with_calibration(table).set_index("corpus")["ECE of shipped"]
    assert wide.to_dict() == pytest.approx({"a": 0.1, "b": 0.3, "c": float("nan"), "mean": 0.2}, nan_ok=True)
    assert (
        "the calibration error of `shipped` is 0.20 on average (0.10 on a to 0.30 on b)"
        in embedded_training._held_out(table)
    )


def test_types_of_edit_stand_once_with_the_most_frequent_first(monkeypatch):
    monkeypatch.chdir(ROOT)
    table = embedded_training.by_kind(embedded_training.measured("edit_types", "min"))
    assert table["error"].is_unique
    assert table["n"].is_monotonic_decreasing
    assert table["shipped"].between(0, 1).all()


@pytest.fixture
def left_out():
    return pd.DataFrame(
        [("a", "shipped", 0.7), ("a", "word overlap", 0.4), ("b", "shipped", 0.5), ("b", "word overlap", 0.6)],
        columns=["corpus", "model", "auc"],
    ).assign(ece=np.nan)


def test_the_figure_of_corpora_left_out_has_intervals_of_what_ships_and_of_word_overlap(left_out):
    held_out = pd.concat([left_out, left_out.iloc[:1].assign(model="checker")]).assign(low=0.1, high=0.9)
    judge = left_out.replace("shipped", "judge").assign(low=0.2, high=0.8)
    shown = embedded_training.left_out_panels(held_out, judge)
    assert shown["panel"].value_counts().to_dict() == {"supports of sentences": 5, "judge of whole summaries": 4}
    assert shown.loc[shown["low"].isna(), "model"].tolist() == ["checker"]
    assert shown["high"].isna().equals(shown["low"].isna())


def write(folder, name, rows):
    columns = ["corpus", "held_out_with", "model", "pooling", "auc", "share"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / f"{name}.csv", index=False)


def test_the_learning_curve_ends_at_what_was_left_out_of_the_whole_training(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded_training, "MEASURED", tmp_path)
    write(tmp_path, "held_out", [("a", "B", "shipped", "min", 0.8, None), ("b", "B", "shipped", "min", 0.7, None)])
    write(
        tmp_path,
        "learning_curve",
        [
            ("a", "B", "shipped", "min", 0.6, 0.5),
            ("b", "B", "shipped", "min", 0.5, 0.5),
            ("b", "B", "shipped", "mean", 0.9, 0.5),  # of another pooling
        ],
    )
    curve = embedded_training.learning_curve("min")
    assert curve["share"].tolist() == [50, 100]
    assert curve["auc"].tolist() == pytest.approx([0.55, 0.75])
    [row] = embedded_training.by_share(curve).to_dict("records")
    assert (row["50 %"], row["100 %"]) == pytest.approx((0.55, 0.75))


def test_the_committed_learning_curve_asks_the_same_corpora_at_every_share(monkeypatch):
    monkeypatch.chdir(ROOT)
    curve = embedded_training.learning_curve("min")
    assert sorted(curve["share"].unique()) == [12.5, 25, 50, 100]
    assert len(curve[["panel", "corpora"]].drop_duplicates()) == 2
    overlap = curve[curve["model"] == "word overlap"]
    assert len(overlap[["panel", "auc"]].drop_duplicates()) == 2  # it learns nothing


def test_findings_name_the_corpora_where_word_overlap_is_not_beaten(left_out):
    curve = left_out.assign(panel="left out: a", share=100)
    first, judge, _, ablation = embedded_training.findings(
        left_out, left_out.replace("shipped", "judge"), curve, left_out
    )
    assert judge == (
        "The judge of whole summaries has a mean AUC of 0.60 over the 2 corpora that the zero-shot variant left out, word "
        "overlap 0.50; it is not above it on b."
    )
    assert "mean AUC of 0.60 over 2 corpora; `word overlap` 0.50; `shipped` is not above word overlap on b." in first
    assert ablation.endswith("mean AUC: `shipped` 0.60, `word overlap` 0.50.")


def test_speed_is_of_every_kind_of_metric(monkeypatch):
    monkeypatch.chdir(ROOT)
    table = embedded_training.speed().set_index("metric")
    assert table.index.tolist() == ["word-overlap", "sentences", "acueval", "holistic"]
    assert (table["pairs_per_second"] > 0).all()
