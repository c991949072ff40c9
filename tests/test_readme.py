"""The README's numbers are those of the committed tables, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
import yaml
from imports import ROOT

from claimwise.experiments import embedded_training

README = (ROOT / "README.md").read_text(encoding="utf-8")
PUBLIC = ROOT / "tables" / "public"


@pytest.mark.parametrize(
    ("row", "metric"),
    [
        ("**ACUEval**", "acueval"),
        ("**Factored Verification**", "factored"),
        ("sentences instead of claims", "sentences"),
        ("holistic judge", "holistic"),
        ("word overlap (baseline)", "word-overlap"),
    ],
)
def test_the_results_table_is_the_committed_one(row, metric):
    line = next(line for line in README.splitlines() if line.startswith(f"| {row}"))
    table = pd.read_csv(PUBLIC / "meta_evaluation.csv")
    table = table[table["metric"] == metric]
    for corpus, group in (("aggrefact_ftsota", "cnndm"), ("aggrefact_ftsota", "xsum"), ("summeval", "all")):
        [found] = table[(table["corpus"] == corpus) & (table["group"] == group)].to_dict("records")
        assert f"{found['balanced_accuracy']:.1f} ({found['low']:.1f}–{found['high']:.1f})" in line


def test_fenices_row_is_of_the_metric_that_each_corpus_has():
    line = next(line for line in README.splitlines() if line.startswith("| **FENICE**"))
    table = pd.read_csv(PUBLIC / "meta_evaluation.csv").set_index(["corpus", "group", "metric"])
    for key in (
        ("aggrefact_ftsota", "cnndm", "fenice-t5"),
        ("aggrefact_ftsota", "xsum", "fenice-t5"),
        ("summeval", "all", "fenice"),
    ):
        found = table.loc[key]
        assert f"{found['balanced_accuracy']:.1f} ({found['low']:.1f}–{found['high']:.1f})" in line


@pytest.mark.parametrize(
    ("row", "decomposer"),
    [
        ("embedded, 5 demonstrations", "acueval-decompose-5shot"),
        ("embedded, FActScore-style", "factscore-decompose-sentence"),
        ("gpt-3.5's claims on record", "recorded:gpt-3.5-turbo"),
        ("FENICE T5's claims on record", "recorded:fenice-t5"),
        ("every sentence a claim", "sentences"),
    ],
)
def test_the_claims_table_is_the_committed_one(row, decomposer):
    line = next(line for line in README.splitlines() if line.startswith(f"| {row}"))
    table = pd.read_csv(PUBLIC / "acu_generation.csv")
    table = table[table["decomposer"] == decomposer].set_index("origin")
    for origin in ("cnndm", "xsum", "samsum"):
        found = table.loc[origin]
        assert f"{found['precision']:.1f} / {found['recall']:.1f} / **{found['f1']:.1f}**" in line


def _short(value: float, digits: int) -> str:
    """Without the zero before the point, as the README writes."""
    return f"{value:.{digits}f}".replace("0.", ".") if abs(value) < 1 else f"{value:.{digits}f}"


def test_paired_differences_are_the_committed_ones():
    text = " ".join(README.split())
    table = pd.read_csv(PUBLIC / "acu_generation_differences.csv")
    table = table[(table["decomposer"] == "recorded:gpt-3.5-turbo") & (table["against"] != "sentences")]
    gaps = {row.origin: row for row in table.itertuples()}
    cnndm, xsum, samsum = gaps["cnndm"], gaps["xsum"], gaps["samsum"]
    assert (
        f"{-cnndm.difference:.1f} points lower than the best prompt's on CNN/DM ({-cnndm.high:.1f} to {-cnndm.low:.1f})"
        in text
    )
    assert f"{-samsum.difference:.1f} lower on SamSum ({_short(-samsum.high, 1)} to {-samsum.low:.1f})" in text
    assert f"({xsum.difference:.1f} higher, {_short(xsum.low, 1)} to {xsum.high:.1f})" in text
    [shares] = pd.read_csv(PUBLIC / "preference_bias_shares.csv").itertuples()
    assert f"({100 * shares.difference:+.1f} points, {100 * shares.low:.1f} to {100 * shares.high:+.1f}, on" in text
    every = pd.read_csv(PUBLIC / "nli_alignment.csv")
    assert (every["step_p_holm"].dropna() > 0.05).all()
    whole = every[(every["metric"] == "full") & (every["corpus"] == "aggrefact_ftsota")]
    whole = whole.set_index("group")
    both = " and ".join(f"{whole.loc[group, 'difference']:+.1f}" for group in ("cnndm", "xsum"))
    assert f"all parts together ({both} points, corrected p = {_short(whole['whole_p_holm'].min(), 2)})" in text
    beside = pd.read_csv(PUBLIC / "meta_evaluation.csv")
    sure = beside[beside["p_holm"] < 0.05].sort_values("difference")
    assert sure["corpus"].tolist() == ["summeval", "summeval"]
    points = " and ".join(sure["difference"].map("{:+.1f}".format))
    assert f"after Holm's correction for all {beside['p'].notna().sum()} comparisons of the report, are two" in text
    assert f"({points} points; p = {_short(sure['p_holm'].iloc[0], 2)} and {_short(sure['p_holm'].iloc[1], 3)}," in text
    areas = beside[beside["auc_p_holm"] < 0.05].set_index(["corpus", "group", "metric"])
    assert len(areas) == 3
    for key, words in (
        (("summeval", "all", "holistic"), "on SummEval for the judge ({}, p = {})"),
        (("summeval", "all", "sentences"), "for sentences ({}, p = {})"),
    ):
        told = f"+{_short(areas.loc[key, 'auc_difference'], 2)}", _short(areas.loc[key, "auc_p_holm"], 3)
        assert words.format(*told) in text
    steps = every[every["auc_step_p_holm"] < 0.05].set_index(["corpus", "group", "metric"])["auc_step"]
    assert len(steps) == 3
    assert f"help on XSum (+{_short(steps['aggrefact_ftsota', 'xsum', 'full'], 3)}," in text
    for group, words in (("cnndm", "CNN/DM (-{} AUC,"), ("xsum", "XSum (-{} AUC,")):
        assert words.format(_short(-steps["aggrefact_exf", group, "claims"], 3)) in text
    found = pd.read_csv(PUBLIC / "factored_verification.csv").set_index("method").loc["word-overlap"]
    assert found["next_best"] == "factored"
    assert found["p_holm"] < 0.05
    assert f"more than the best of them (corrected p = {_short(found['p_holm'], 3)})" in text
    gain = (
        pd.read_csv(PUBLIC / "acu_verification.csv")
        .set_index(["task", "prompt"])
        .loc[("support: wice", "acueval-verify-zeroshot")]
    )
    assert f"{gain['gain']:.1f} points more, {gain['gain_low']:.1f} to {gain['gain_high']:.1f})" in text


def bullet(name):
    """One of the other experiments, its lines joined."""
    text = re.search(rf"^- \*\[{re.escape(name)}\].*?(?=^- |^## )", README, re.MULTILINE | re.DOTALL)
    return " ".join(text[0].split())


def test_detection_is_the_committed_table():
    found = pd.read_csv(PUBLIC / "factored_verification.csv").set_index("method")["accuracy"]
    told = bullet("Detection")
    assert f"classifies {found['document-blind']:.1f} % correctly" in told
    assert f"factored verification {found['factored']:.1f} %, its holistic judge {found['holistic']:.1f}" in told
    assert f"word overlap, which learned nothing, {found['word-overlap']:.1f}" in told


def test_the_alignments_steps_are_the_committed_ones():
    table = pd.read_csv(PUBLIC / "nli_alignment.csv").set_index(["corpus", "group", "metric"])["balanced_accuracy"]
    parts = ("sentences", "claims", "claims + coref", "full")
    steps = {
        group: ", ".join(f"{table['aggrefact_ftsota', group, part]:.1f}" for part in parts)
        for group in ("cnndm", "xsum")
    }
    assert f"CNN/DM {steps['cnndm']}, XSum {steps['xsum']}" in bullet("FENICE's alignment")


def test_preference_bias_and_refinement_are_the_committed_tables():
    higher = pd.read_csv(PUBLIC / "preference_bias_agreement.csv").set_index("metric")["model_higher"]
    told = bullet("Preference bias")
    for metric, words in (
        ("acueval", "claim-level metric"),
        ("holistic", "holistic judge"),
        ("word-overlap", "word overlap"),
    ):
        assert re.search(rf"{100 * higher[metric]:.0f} %[\w ]* by(?: the)? {words}", told), metric
    same = pd.read_csv(PUBLIC / "refinement_difference.csv")["same"].iloc[0]
    assert f"{100 * same:.0f} % of both versions" in bullet("Refinement")


def test_corpora_left_out_are_the_committed_table(monkeypatch):
    monkeypatch.chdir(ROOT)
    pooling = yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8"))["embedded_model"]["pooling"]
    table = embedded_training.by_corpus(embedded_training.measured("held_out", pooling))
    means = table.iloc[-1]
    told = f"its AUC is {means['shipped']:.2f}, weighted overlap's {means['word overlap']:.2f}".replace("0.", ".")
    assert f"On {len(table) - 1} corpora left out of training {told}. " in bullet("The embedded model")
    wide = table.set_index("corpus").drop("mean")
    domains = wide.index.str.startswith("summedits")
    assert (domains.sum(), (~domains).sum()) == (5, 9)
    for part, words in (
        (wide[domains], "On SummEdits' five domains it is {} (weighted overlap {})"),
        (wide[~domains], "on the other nine corpora {} ({})"),
    ):
        pair = (f"{part[model].mean():.2f}".removeprefix("0") for model in ("shipped", "word overlap"))
        assert words.format(*pair) in bullet("The embedded model")
    rest = wide[~domains].drop(["summac_factcc", "summac_cogensumm"])
    pair = (f"{rest[model].mean():.2f}".removeprefix("0") for model in ("shipped", "word overlap"))
    assert "without them {} ({})".format(*pair) in bullet("The embedded model")
    told = "With half of the training documents the means are within .010 of those with all, with a quarter within .024"
    assert told in bullet("The embedded model")
    for pooling in ("min", "mean"):
        curve = embedded_training.learning_curve(pooling)
        curve = curve[curve["model"] == "shipped"].set_index(["share", "panel"])["auc"]
        assert (curve[100] - curve[50]).abs().max() <= 0.010
        assert (curve[100] - curve[25]).abs().max() <= 0.024


def test_pairs_and_the_split_by_documents_are_the_committed_tables():
    text = " ".join(README.split())
    pairs = pd.read_csv(PUBLIC / "meta_evaluation_pairs.csv")
    assert (pairs[["p_holm", "auc_p_holm"]] > 0.05).all(axis=None)
    assert f"corrected for {len(pairs)} pairs each" in text
    apart = pd.read_csv(PUBLIC / "meta_evaluation_documents.csv").set_index("metric")["auc"]
    one = pd.read_csv(PUBLIC / "meta_evaluation_one_threshold.csv")
    one = one.pivot_table(index="metric", columns="group", values="balanced_accuracy")
    for metric, words in (
        ("fenice-t5 (published)", "its published scores have {:.1f} and {:.1f}"),
        ("holistic", "our judge {:.1f} and {:.1f}"),
        ("factored", "`factored` {:.1f} and {:.1f}"),
    ):
        assert words.format(*one.loc[metric, ["cnndm", "xsum"]]) in text
    rest = one["cnndm"].drop(["fenice-t5 (published)", "holistic", "factored"])
    assert len(rest) == 4
    assert f"the other four, word overlap among them, fall to {rest.min():.0f} to {rest.max():.0f}" in text
    whole = pd.read_csv(PUBLIC / "meta_evaluation.csv").query("corpus == 'summeval'").set_index("metric")["auc"]
    for metric, words in (
        ("word-overlap", "word overlap has an AUC of {} ({} on the papers' split)"),
        ("holistic", "the judge {} ({})"),
        ("acueval", "`acueval` {} ({})"),
    ):
        assert words.format(_short(apart[metric], 2), _short(whole[metric], 2)) in text


def test_the_zero_shot_variant_is_the_committed_table():
    table = pd.read_csv(PUBLIC / "embedded_model_variants.csv").set_index(["model", "group"])
    text = " ".join(README.split())
    cnndm, xsum = (table.loc["embedded-zero-shot", group] for group in ("cnndm", "xsum"))
    told = [f"{row['balanced_accuracy']:.1f} ({row['low']:.1f} to {row['high']:.1f})" for row in (cnndm, xsum)]
    assert f"sentences reach {told[0]} on CNN/DM and {told[1]} on XSum" in text
    gains = (f"{-row['difference']:+.1f}".replace("0.", ".") for row in (cnndm, xsum))
    assert "changes that by {} and {} points".format(*gains) in text
    assert min(cnndm["p"], xsum["p"]) > 0.05  # "may be chance"


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) > 20
    for link in links:
        assert (ROOT / link).exists(), link


def test_nothing_was_left_to_fill_in():
    assert "@@" not in README
