"""The README's and docs/results.md's numbers are those of the committed tables, and links lead somewhere."""

import re

import pandas as pd
import pytest
from imports import ROOT

from tools import results

README = (ROOT / "README.md").read_text(encoding="utf-8")
PUBLIC = ROOT / "tables" / "public" / "embedded"


def _row(start: str) -> str:
    return next(line for line in README.splitlines() if line.startswith(f"| {start}"))


@pytest.mark.parametrize(
    ("row", "metrics"),
    [
        ("**ACUEval**", ["acueval"] * 3),
        ("**Factored Verification**", ["factored"] * 3),
        ("**FENICE**", ["fenice-t5", "fenice-t5", "fenice"]),
        ("sentences instead", ["sentences"] * 3),
        ("the whole summary at once", ["holistic"] * 3),
        ("word overlap", ["word-overlap"] * 3),
        ("whole summary by Qwen", [None, None, "holistic-qwen-0-5b"]),
        ("whole summary by SmolLM2", [None, None, "holistic-smollm2"]),
        ("whole summary, *recorded*", [None, None, "llama-2-70b-chat-hf rts (recorded)"]),
        ("sentences, *fine-tuned* and embedded, averaged", ["sentences-claimwise-ensemble"] * 3),
        ("the whole summary, *fine-tuned* and embedded, averaged", ["holistic-claimwise-ensemble"] * 3),
        ("sentences, *fine-tuned* |", ["sentences-claimwise-1-5b"] * 3),
        ("sentences by Qwen", ["sentences-qwen"] * 3),
        ("summary as one claim by Qwen", ["summary-qwen"] * 3),
    ],
)
def test_the_results_are_the_committed_ones(row, metrics):
    of_notebook = "verifier" if str(metrics[-1]).endswith(("-ensemble", "-1-5b", "-qwen")) else "meta_evaluation"
    table = pd.read_csv(PUBLIC / of_notebook / "balanced_accuracy.csv").set_index(["corpus", "group", "metric"])
    columns = (("aggrefact_ftsota", "cnndm"), ("aggrefact_ftsota", "xsum"), ("summeval", "all"))
    for place, metric in zip(columns, metrics, strict=True):
        if metric is None:
            continue
        found = table.loc[(*place, metric)]
        value = f"{found['balanced_accuracy']:.1f} ({found['low']:.1f}–{found['high']:.1f}), {found['auc']:.2f}"
        assert value in _row(row)


def test_thresholds_of_fewer_rows_cost_what_is_said():
    table = pd.read_csv(PUBLIC / "verifier" / "balanced_accuracy.csv").set_index(["group", "metric"])
    few = table["balanced_accuracy"].map("{:.1f}".format)
    told = f"the embedded whole summary has {few['cnndm', 'holistic']} on CNN/DM so, word overlap {few['xsum', 'word-overlap']} on XSum"
    assert told in " ".join(README.split())


@pytest.mark.parametrize(
    ("row", "paper", "table", "name"),
    [
        ("ACUEval, *published*", "acueval", 1, "ACUEval"),
        ("BelugaEval, *published*", "acueval", 1, "BelugaEval"),
        ("FENICE, *published*", "fenice", 3, "FENICE (gpt-3.5 claims)"),
    ],
)
def test_the_published_numbers_are_those_that_were_typed_in(row, paper, table, name):
    numbers = pd.read_csv(ROOT / "data" / "published" / f"{paper}.csv")
    numbers = numbers[(numbers["table"] == table) & (numbers["row"] == name)]
    for place in (("aggrefact_ftsota", "cnndm"), ("aggrefact_ftsota", "xsum"), ("summeval", "cnndm")):
        found = numbers[(numbers["corpus"] == place[0]) & (numbers["origin"] == place[1])]["value"]
        assert found.empty or f"| {found.item()} |" in _row(row)


def test_how_much_models_prefer_their_own_summaries_is_of_the_table():
    file = ROOT / "tables" / "public_small" / "qwen2.5-coder-1.5b" / "preference_bias" / "self_preference.csv"
    table = pd.read_csv(file).set_index("metric")[["self_preference", "low", "high"]]
    whole, claims, gap = (
        "{:.2f} ({:.2f} to {:.2f})".format(*table.loc[name]) for name in ("holistic", "acueval", "difference")
    )
    assert (
        f"{whole} more often than the other judge does; by claims {claims}. That claims lessen it is not shown (difference {gap})"
        in README
    )


@pytest.mark.parametrize(
    ("notebook", "metric", "digits"),
    [("meta_evaluation", "sentences-qwen", 2), ("verifier", "sentences-claimwise-1-5b", 3)],
)
def test_the_language_models_findings_are_those_of_the_sample(notebook, metric, digits):
    tables = ROOT / "tables" / "sample" / "embedded" / notebook
    auc = pd.read_csv(tables / "balanced_accuracy.csv").set_index("metric")["auc"]
    pair = pd.read_csv(tables / "pairs.csv").set_index(["metric", "against"]).loc[(metric, "sentences")]
    found = f"AUC {auc[metric]:.2f} against {auc['sentences']:.2f}, p {pair['auc_p_holm']:.{digits}f}"
    assert found in " ".join(README.split())
    if notebook == "verifier":
        assert f"less so ({auc['sentences-claimwise-ensemble']:.2f})" in README
    if "holistic-qwen" in auc:
        assert f"no worse ({auc['holistic-qwen']:.2f})" in README


def test_the_finding_on_claims_of_the_language_models_own_is_that_of_the_sample():
    table = pd.read_csv(ROOT / "tables" / "sample" / "embedded" / "verifier" / "balanced_accuracy.csv")
    assert f"no better ({table.set_index('metric')['auc']['acueval-qwen']:.2f})" in README


def test_what_the_language_model_makes_of_its_own_claims_is_that_of_the_part():
    tables = ROOT / "tables" / "public_small" / "qwen2.5-coder-1.5b" / "meta_evaluation"
    rows = pd.read_csv(tables / "balanced_accuracy.csv").set_index(["group", "metric"])
    row = _row("ACUEval on Qwen's own claims")
    for group in ("cnndm", "xsum", "all"):
        found = rows.loc[group, "acueval"]
        assert f"{found['balanced_accuracy']:.1f} ({found['low']:.1f}–{found['high']:.1f}), {found['auc']:.2f} |" in row
    n = rows["n"].xs("acueval", level="metric")
    assert f"on {n['cnndm']}, {n['xsum']} and {n['all']} rows" in row
    named = {"claims": "acueval", "sentences": "sentences", "rating": "holistic", "whole": "summary-qwen"}
    auc = {name: rows["auc"].xs(metric, level="metric").map("{:.2f}".format) for name, metric in named.items()}
    p = pd.read_csv(tables / "pairs.csv").query("metric == 'acueval'").set_index(["group", "against"])["auc_p_holm"]
    said = " ".join(README.split())

    def both(name):
        return f"({auc[name]['cnndm']}; {auc[name]['xsum']})"

    def beside(group, name):
        return f"{auc['claims'][group]} against {auc[name][group]}"

    assert (
        f"on CNN/DM, as ACUEval says: AUC {beside('cnndm', 'rating')} (corrected p {p['cnndm', 'holistic']:.3f})"
        in said
    )
    assert f"on XSum {beside('xsum', 'rating')} may be chance (p {p['xsum', 'holistic']:.2f})" in said
    assert p["cnndm", "holistic"] < 0.05 < p["xsum", "holistic"]
    assert f"as one claim, yes or no, is as good {both('whole')}, sentences are level {both('sentences')}" in said
    assert f"SummEval: {beside('all', 'sentences')}, corrected p {p['all', 'sentences']:.2f}" in said
    assert p["all", "sentences"] < 0.05 < p[["cnndm", "xsum"]].drop(["holistic", "geval-qwen"], level="against").min()


def test_the_finding_on_word_overlap_is_that_of_the_public_run():
    table = pd.read_csv(PUBLIC / "verifier" / "balanced_accuracy.csv").set_index(["group", "metric"])
    balanced, auc = table["balanced_accuracy"].map("{:.1f}".format), table["auc"].map("{:.2f}".format)
    p, auc_p = table["p_holm"], table["auc_p_holm"]
    ours, qwen, floor = "sentences-claimwise-ensemble", "sentences-qwen", "word-overlap"
    said = " ".join(README.split())

    def against(values, group, metric):
        return f"{values[group, metric]} against {values[group, floor]}"

    assert f"{against(balanced, 'xsum', ours)}, corrected p {p['xsum', ours]:.2f}" in said
    assert f"{against(auc, 'xsum', ours)}, p {auc_p['xsum', ours]:.3f}" in said
    assert f"{against(auc, 'all', ours)}, p {auc_p['all', ours]:.3f}" in said
    assert f"{against(balanced, 'all', qwen)}, p {p['all', qwen]:.3f}" in said
    assert sorted(p[p < 0.05].index) == [("all", qwen), ("xsum", ours)]
    assert auc_p["cnndm"].drop(floor).min() > 0.05


def test_it_is_one_screen_and_a_half():
    assert len(README.splitlines()) <= 130


def test_the_results_page_is_what_its_template_makes_of_the_tables():
    template = (ROOT / results.TEMPLATE).read_text(encoding="utf-8")
    assert (ROOT / results.PAGE).read_text(encoding="utf-8") == results.render(template, PUBLIC.parent)


def test_a_template_takes_numbers_and_intervals_out_of_tables(tmp_path):
    (tmp_path / "t.csv").write_text("metric,auc,auc_low,auc_high\na,0.751,0.7,0.8\nb,0.5,0.4,0.6\n")
    template = "{{ value('t', 'auc', 2, metric='b') }}, {{ interval('t', 'auc', digits=2, metric='a') }}"
    assert results.render(template, tmp_path) == "0.50, 0.75 (0.70 to 0.80)"
    with pytest.raises(results.ResultsError, match="t has no column 'f1'; it has metric, auc, auc_low, auc_high"):
        results.render("{{ value('t', 'f1', metric='a') }}", tmp_path)


def test_links_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", README):
        assert (ROOT / target).exists(), target
