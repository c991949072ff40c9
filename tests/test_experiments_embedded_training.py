"""What the notebook on the embedded model says of the tables that its training and its benchmark left."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from imports import ROOT

from claimwise.experiments import embedded_training
from training.data import HELD_OUT, SHARES


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
    ).assign(low=np.nan, high=np.nan)
    wide = embedded_training.with_calibration(table).set_index("corpus")["ECE of shipped"]
    assert wide.to_dict() == pytest.approx({"a": 0.1, "b": 0.3, "c": float("nan"), "mean": 0.2}, nan_ok=True)
    assert (
        "(on 2 corpora), the calibration error of `shipped` is 0.20 on average (0.10 on a to 0.30 on b)"
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
    ).assign(ece=np.nan, low=np.nan, high=np.nan)


def test_the_figure_of_corpora_left_out_has_intervals_of_what_ships_and_of_word_overlap(left_out):
    held_out = pd.concat([left_out, left_out.iloc[:1].assign(model="checker")]).assign(low=0.1, high=0.9)
    judge = left_out.replace("shipped", "judge").assign(low=0.2, high=0.8)
    shown = embedded_training.left_out_panels(held_out, judge)
    assert shown["panel"].value_counts().to_dict() == {"sentences": 5, "whole summaries, zero-shot": 4}
    assert shown.loc[shown["low"].isna(), "model"].tolist() == ["checker"]
    assert shown["high"].isna().equals(shown["low"].isna())


def write(folder, name, rows):
    columns = ["corpus", "held_out_with", "model", "pooling", "auc", "share"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / f"{name}.csv", index=False)


def test_the_learning_curve_ends_at_the_whole_training(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded_training, "MEASURED", tmp_path)
    write(
        tmp_path,
        "learning_curve",
        [
            ("a", "B", "shipped", "min", 0.8, 1.0),
            ("b", "B", "shipped", "min", 0.7, 1.0),
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


def test_the_committed_learning_curve_asks_the_same_corpora_at_every_share():
    curve = pd.read_csv(ROOT / "data" / "embedded" / "learning_curve.csv")
    whole = curve[curve["share"] == 1]
    assert set(curve["share"]) == {1.0, *SHARES}
    assert set(curve["held_out_with"]) == set(HELD_OUT) == set(embedded_training._GROUPS)
    asked = ["corpus", "held_out_with", "n", "model", "pooling"]
    for _, part in curve.groupby("share"):
        assert sorted(part[asked].itertuples(index=False)) == sorted(whole[asked].itertuples(index=False))
    overlap = curve[curve["model"] == "word overlap"].groupby("corpus")["auc"]
    assert (overlap.max() == overlap.min()).all()  # it learns nothing
    # The corpora that are left out of what ships, whichever run the curve is of.
    left_out = pd.read_csv(ROOT / "data" / "embedded" / "held_out.csv")
    keys = ["corpus", "held_out_with", "model", "pooling"]
    assert sorted(left_out[keys].itertuples(index=False)) == sorted(whole[keys].itertuples(index=False))


@pytest.mark.parametrize(
    ("later", "told"),
    [
        ((0.72, 0.73, 0.60, 0.62), "Beyond 25 %, more documents bring at most +0.020 (-0.010, +0.020);"),
        ((0.72, 0.73, 0.60, 0.59), "Beyond 25 %, more documents bring no gain (-0.010, +0.000);"),
    ],
)
def test_findings_say_what_more_documents_brought_beyond_the_second_share(later, told):
    values = {"a": (0.5, 0.74, *later[:2]), "b": (0.5, 0.60, *later[2:])}
    rows = [
        (panel, "shipped", share, 7, auc)
        for panel, aucs in values.items()
        for share, auc in zip((12.5, 25, 50, 100), aucs, strict=True)
    ]
    curve = pd.DataFrame(rows, columns=["panel", "model", "share", "corpora", "auc"])
    assert told in embedded_training._curve(curve)


@pytest.mark.parametrize(("outside", "follows"), [(-0.25, True), (0.125, False)])
def test_findings_say_what_trees_bring_where_the_corpus_is_known_and_where_it_is_not(outside, follows):
    def made(gap, corpora):
        rows = [(c, "shipped", 0.5) for c in corpora] + [(c, "features and checker", 0.5 + gap) for c in corpora]
        return pd.DataFrame(rows, columns=["corpus", "model", "auc"])

    said = embedded_training._ablation(made(0.125, "abc"), made(outside, "bcd"))
    assert "On the 2 corpora that were also left out, `features and checker` is +0.125 beside `shipped` where" in said
    assert f"(above it on 2) and {outside:+.3f} where they are left out (above it on {0 if follows else 2})" in said
    assert ("gain on corpora that they know and lose on others, so that the mean of both ships." in said) == follows


def test_speed_has_one_place_for_each_number(monkeypatch):
    monkeypatch.chdir(ROOT)
    measured = embedded_training.speed()
    rates = embedded_training.rates(measured).set_index("metric")["pairs_per_second"]
    assert rates.is_unique
    _, beside = embedded_training.about_speed(measured)
    for name, rate in rates.drop("word-overlap").items():
        times = float(beside.split(f" (`{name}`)")[0].split()[-1])
        assert times == pytest.approx(rates["word-overlap"] / rate, rel=0.05)
    for column in ("start_seconds", "peak_gib", "cores", "corpus"):
        assert (measured[column] == measured[column][0]).all()


def test_findings_name_the_corpora_where_word_overlap_is_not_beaten(left_out):
    curve = pd.concat([left_out.iloc[:1].assign(panel=panel, share=share) for panel in "ab" for share in (50, 100)])
    first, judge, learned, ablation = embedded_training.findings(
        left_out, left_out.replace("shipped", "judge"), curve, left_out
    )
    assert judge == (
        "The judge of whole summaries has a mean AUC of 0.60 over the 2 corpora that the zero-shot variant left out, word "
        "overlap 0.50; it is not above it on b."
    )
    assert "mean AUC of 0.60 over 2 corpora; `word overlap` 0.50; `shipped` is not above word overlap on b." in first
    assert learned.endswith("learn from, `shipped` has a mean AUC of 0.70, 0.70 (a); 0.70, 0.70 (b).")
    assert ablation.endswith("mean AUC: `shipped` 0.60, `word overlap` 0.50.")


def test_findings_name_the_corpora_where_chance_is_within_the_interval(left_out):
    first, *_ = embedded_training.findings(
        left_out.assign(low=[0.6, 0.3, 0.4, 0.5], high=[0.8, 0.6, 0.6, 0.7]),
        left_out.replace("shipped", "judge"),
        left_out.assign(panel="a", share=100),
        left_out,
    )
    assert "Its interval holds .50, mere chance, on b." in first


def test_the_committed_speed_is_what_the_benchmark_writes(tmp_path):
    command = [sys.executable, "benchmarks/embedded.py", "--documents", "2", "--csv", str(tmp_path / "speed.csv")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    fresh, committed = (pd.read_csv(folder / "speed.csv") for folder in (tmp_path, ROOT / "data" / "embedded"))
    assert fresh.columns.tolist() == committed.columns.tolist()
    assert fresh["metric"].tolist() == committed["metric"].tolist()
    assert committed["corpus"].unique().tolist() == ["aggrefact_ftsota"]
