"""Numbers and links in the README, docs/results.md and the model card agree with the committed tables."""

import re

import nbformat
import pandas as pd
import pytest
from imports import ROOT
from sklearn.metrics import roc_auc_score

from claimwise import project
from claimwise.metrics.verify import SUPPORTED, labelled_claims
from claimwise.models.weights import learned_documents
from tools import results

README = (ROOT / "README.md").read_text(encoding="utf-8")
PUBLIC = ROOT / "tables" / "public" / "embedded"


def _row(start: str) -> str:
    return next(line for line in README.splitlines() if line.startswith(f"| {start}"))


def _cell(found: pd.Series) -> str:
    return f"{found['balanced_accuracy']:.1f} ({found['low']:.1f}–{found['high']:.1f}), {found['auc']:.2f} |"


@pytest.mark.parametrize(
    ("row", "metrics"),
    [
        ("**ACUEval**", ["acueval"] * 3),
        ("**Factored Verification**", ["factored"] * 3),
        ("**FENICE**", ["fenice-t5", "fenice-t5", "fenice"]),
        ("sentences instead", ["sentences"] * 3),
        ("the whole summary at once", ["holistic"] * 3),
        ("word overlap", ["word-overlap"] * 3),
        ("rating of the whole, *recorded*", [None, None, "llama-2-70b-chat-hf rts (recorded)"]),
        ("the whole summary, *fine-tuned* and embedded", ["holistic-claimwise-ensemble"] * 3),
        ("sentences, *fine-tuned* and embedded", ["sentences-claimwise-ensemble"] * 3),
        ("sentences, *fine-tuned* |", ["sentences-claimwise-1-5b"] * 3),
        ("sentences, nothing fine-tuned", ["sentences-qwen"] * 3),
    ],
)
def test_the_results_are_the_committed_ones(row, metrics):
    of_notebook = "verifier" if str(metrics[-1]).endswith(("-ensemble", "-1-5b", "-qwen")) else "meta_evaluation"
    table = pd.read_csv(PUBLIC / of_notebook / "balanced_accuracy.csv").set_index(["corpus", "group", "metric"])
    columns = (("aggrefact_ftsota", "cnndm"), ("aggrefact_ftsota", "xsum"), ("summeval", "all"))
    cells = [
        "– |" if name is None else _cell(table.loc[(*at, name)]) for at, name in zip(columns, metrics, strict=True)
    ]
    by_documents = pd.read_csv(PUBLIC / of_notebook / "split_by_documents.csv").set_index("metric")
    assert _row(row).endswith(" ".join(["|", *cells, _cell(by_documents.loc[metrics[-1]])]))


def test_thresholds_are_of_the_rows_that_are_said():
    every = pd.read_csv(PUBLIC / "meta_evaluation" / "balanced_accuracy.csv").set_index(["group", "metric"])
    assert f"(ACUEval on CNN/DM: {every.loc[('cnndm', 'acueval'), 'tuned_low']:.1f})" in README


def test_how_few_unfaithful_summaries_decide_is_of_the_table():
    table = pd.read_csv(PUBLIC / "meta_evaluation" / "balanced_accuracy.csv").set_index(["group", "metric"])
    cnndm, summeval = (
        f"{round(row['n'] * (1 - row['faithful']))} of {row['n']}"
        for row in (table.loc[(group, "acueval")] for group in ("cnndm", "all"))
    )
    assert f"{cnndm} summaries on CNN/DM and {summeval} in ACUEval's split of SummEval" in README


def test_fine_tuned_models_are_tuned_on_what_none_of_them_learned_from(published_corpus):
    validation = published_corpus("aggrefact_ftsota").examples.query("split == 'validation'")
    adapters = ["claimwise-0.5b", "claimwise-1.5b", "claimwise-1.5b-zero-shot"]
    learned = frozenset().union(*map(learned_documents, adapters))
    rows = validation["origin"].value_counts()
    left = validation.loc[~validation["document_id"].isin(learned), "origin"].value_counts()
    said = f"({left['cnndm']} of {rows['cnndm']} on CNN/DM, {left['xsum']} of {rows['xsum']} on XSum)"
    assert said in README


def test_what_the_other_half_of_summeval_says_is_of_the_committed_scores(published_corpus):
    labelled = published_corpus("summeval").examples.dropna(subset=["label"]).set_index("id")
    scores = pd.read_csv(PUBLIC / "by_summary" / "summeval.csv", index_col="example_id")
    errata = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    halves = []
    for split in ("test", "validation"):
        half = labelled[labelled["split"] == split]
        count = f"({(half['label'] == 0).sum()} of {len(half)}"
        metrics = ("word-overlap", "acueval", "sentences", "sentences-claimwise-1-5b")
        areas = [roc_auc_score(half["label"], scores.loc[half.index, name]) for name in metrics]
        halves.append((count, *(f"{area:.2f}".removeprefix("0") for area in areas)))
        if split == "validation":  # nothing embedded is ahead of words there
            embedded = ["acueval", "factored", "sentences", "holistic", "fenice"]
            assert all(roc_auc_score(half["label"], scores.loc[half.index, name]) < areas[0] for name in embedded)
    (count, overlap, acueval, sentences, larger), (other, *areas) = halves
    assert (
        f"{count} unfaithful), word overlap has an AUC of {overlap}, ACUEval {acueval} and sentences {sentences} by"
        in errata
    )
    assert f"`claimwise-1.5b`'s sentences {larger}. In the other half {other}) they have" in errata
    assert "they have {}, {}, {} and {}:".format(*areas) in errata


@pytest.mark.parametrize(
    ("row", "paper", "table", "name"),
    [
        ("ACUEval, *published*", "acueval", 1, "ACUEval"),
        ("BelugaEval (a rating), *published*", "acueval", 1, "BelugaEval"),
        ("FENICE, *published*", "fenice", 3, "FENICE (gpt-3.5 claims)"),
    ],
)
def test_the_published_numbers_are_those_that_were_typed_in(row, paper, table, name):
    numbers = pd.read_csv(ROOT / "data" / "published" / f"{paper}.csv")
    numbers = numbers[(numbers["table"] == table) & (numbers["row"] == name)]
    for place in (("aggrefact_ftsota", "cnndm"), ("aggrefact_ftsota", "xsum"), ("summeval", "cnndm")):
        found = numbers[(numbers["corpus"] == place[0]) & (numbers["origin"] == place[1])]["value"]
        assert found.empty or f"| {found.item()} |" in _row(row)


def test_what_is_said_of_few_documents_is_of_the_corpora(published_corpus):
    rows = published_corpus("aggrefact_ftsota").examples.query("origin == 'cnndm'").dropna(subset=["label"])
    validation, test = (rows[rows["split"] == split] for split in ("validation", "test"))
    shared = test[test["document_id"].isin(validation["document_id"])]
    count, wrong = len(shared), (shared["label"] == 0).sum()
    assert f"On CNN/DM, {count} test rows ({wrong} of them unfaithful) are of documents" in README
    said = f"{shared['document_id'].nunique()} documents in both splits: {count} of its {len(test)} test rows, of which {wrong} "
    for name in ("meta_evaluation", "verifier"):
        notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
        assert any(said in " ".join(cell.source.split()) for cell in notebook.cells)
    documents = labelled_claims(published_corpus("wice_subclaims"))["document_id"].nunique()
    page = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    assert f"sub-claims (of {documents} documents: rough intervals)" in page
    assert f"on WiCE's {documents} documents, barely, the ensemble" in page


def test_how_much_models_prefer_their_own_summaries_is_of_the_table():
    file = ROOT / "tables" / "public_small" / "qwen2.5-coder-1.5b" / "self_preference" / "self_preference.csv"
    table = pd.read_csv(file).set_index("metric")
    whole, claims, gap = (
        "{:.2f} ({:.2f} to {:.2f})".format(*table.loc[name, ["self_preference", "low", "high"]])
        for name in ("holistic", "acueval", "difference")
    )
    articles, judged = table["n"][["holistic", "acueval"]]
    own, others = table.loc["holistic", ["by a", "by b"]]
    said = (
        f"in {own:.2f} of {articles} articles. The 0.5B, rating the same pairs, puts the 1.5B's first in {others:.2f}: "
    )
    assert f"{said}a difference of {whole}. By claims it is {claims}, on {judged} articles." in README
    assert f"is not shown ({gap})" in README


def test_preferences_are_of_all_judgments(published_corpus):
    judgments = len(published_corpus("llmsummeval_pairwise").preferences)
    for run in ("public/embedded", "public_small/embedded", "public_small/qwen2.5-coder-1.5b"):
        file = ROOT / "tables" / run / "preference_bias" / "claim_level_against_holistic.csv"
        assert pd.read_csv(file)["n"].tolist() == [judgments]


def test_subtle_errors_are_those_of_the_sample():
    found = []
    for notebook, metric in (("meta_evaluation", "sentences-qwen"), ("verifier", "sentences-claimwise-1-5b")):
        tables = ROOT / "tables" / "sample" / "embedded" / notebook
        auc = pd.read_csv(tables / "balanced_accuracy.csv").set_index("metric")["auc"]
        pair = pd.read_csv(tables / "pairs.csv").set_index(["metric", "against"]).loc[(metric, "sentences")]
        found.append((auc["sentences"], auc[metric], pair["auc_p_holm"]))
    (chance, qwen, qwen_p), (_, taught, taught_p) = found
    assert f"at chance (AUC {chance:.2f})" in README
    assert (
        f"Qwen's sentences ({qwen:.2f}, p {qwen_p:.2f}) and `claimwise-1.5b`'s ({taught:.2f}, p {taught_p:.3f})"
        in README
    )


def test_how_often_the_evidence_is_what_people_chose_is_of_the_public_run():
    tables = ROOT / "tables" / "public" / "embedded" / "embedded_model"
    table = pd.read_csv(tables / "evidence.csv").set_index("model")
    found, overlap = table.loc["embedded"], table.loc["lexical"]
    told = f"chose for {found['first']:.2f} ({found['first_low']:.2f} to {found['first_high']:.2f}) of WiCE's claims that have such sentences"
    assert f"{told} (by word overlap {overlap['first']:.2f};" in README


def test_one_language_model_asked_in_four_ways():
    tables = ROOT / "tables" / "public_small" / "qwen2.5-coder-1.5b" / "meta_evaluation"
    table = pd.read_csv(tables / "balanced_accuracy.csv").set_index(["group", "metric"])
    groups = ("cnndm", "xsum", "all")
    named = {"claims that it": "acueval", "sentences |": "sentences", "the whole summary as": "summary-qwen"}
    for start, metric in (named | {"a rating": "holistic"}).items():
        assert _row(start).endswith(" ".join(["|", *(_cell(table.loc[(group, metric)]) for group in groups)]))
    n = table["n"].xs("acueval", level="metric")
    cnndm, xsum, summeval = ((1 - table["faithful"].xs("acueval", level="metric")) * n).round().astype(int)[[*groups]]
    said = f"on {n['cnndm']}, {n['xsum']} and {n['all']} of these rows (unfaithful: {cnndm}, {xsum} and {summeval})"
    assert said in README
    p = pd.read_csv(tables / "pairs.csv").query("metric == 'acueval'").set_index(["group", "against"])["auc_p_holm"]
    assert f"(p {p['cnndm', 'holistic']:.3f} on CNN/DM, {p['xsum', 'holistic']:.2f} on XSum)" in README
    assert f"on SummEval, where sentences are better (p {p['all', 'sentences']:.2f})" in README
    others = [p[group, name] for group in groups[:2] for name in ("geval-qwen", "points-qwen", "reasons-qwen")]
    assert f"(p {max(others):.3f} at most)" in README
    told = {
        ("all", "sentences"),
        *((group, f"{judge}-qwen") for group in groups[:2] for judge in ("geval", "points", "reasons")),
    }
    assert set(p[p < 0.05].index) == told


def test_what_is_better_than_word_overlap_is_of_the_public_run():
    table = pd.read_csv(PUBLIC / "verifier" / "balanced_accuracy.csv").set_index(["group", "metric"])
    apart = pd.read_csv(PUBLIC / "verifier" / "split_by_documents.csv").set_index("metric")["auc_p_holm"]
    auc_p = table["auc_p_holm"]
    fine_tuned = ["sentences-claimwise-ensemble", "holistic-claimwise-ensemble", "sentences-claimwise-1-5b"]
    assert max(auc_p.loc[(["xsum", "all"], fine_tuned)].max(), apart[fine_tuned].max()) < 0.02
    alone = auc_p["cnndm", "holistic-claimwise-ensemble"]
    assert f"only the ensemble's verdict of the whole summary is (p {alone:.3f})" in README
    assert alone < 0.05 < auc_p["cnndm"].drop(["word-overlap", "holistic-claimwise-ensemble"]).min()
    others = pd.read_csv(PUBLIC / "meta_evaluation" / "balanced_accuracy.csv").set_index(["group", "metric"])[
        "auc_p_holm"
    ]
    named = ["sentences", "holistic", "llama-2-70b-chat-hf rts (recorded)"]
    assert max(auc_p["all", "sentences-qwen"], others["all"][named].max()) < 0.05
    assert others["cnndm"].drop("word-overlap").min() > 0.05


def test_what_the_results_page_says_to_be_better_than_word_overlap_is_of_the_public_run():
    every = pd.read_csv(PUBLIC / "meta_evaluation" / "balanced_accuracy.csv").set_index(["group", "metric"])
    llama, gpt = "llama-2-70b-chat-hf rts (recorded)", "gpt-4-0314 rts (recorded)"
    assert sorted(every.index[every["p_holm"] < 0.05]) == [("all", gpt), ("all", llama)]
    assert sorted(every.index[every["auc_p_holm"] < 0.05]) == [
        ("all", name) for name in ("holistic", llama, "sentences")
    ]
    verified = pd.read_csv(PUBLIC / "verifier" / "balanced_accuracy.csv").set_index(["group", "metric"])["p_holm"]
    told = [
        ("all", "sentences-qwen"),
        ("xsum", "holistic-claimwise-ensemble"),
        ("xsum", "sentences-claimwise-ensemble"),
    ]
    assert sorted(verified[verified < 0.05].index) == told
    apart = pd.read_csv(PUBLIC / "verifier" / "split_by_documents.csv").set_index("metric")["p_holm"]
    assert apart.index[apart < 0.05].tolist() == ["sentences-claimwise-1-5b"]


def test_what_fine_tuning_brings_is_of_the_public_run():
    pairs, apart = (pd.read_csv(PUBLIC / "verifier" / f"{name}.csv") for name in ("pairs", "pairs_by_documents"))
    told = []
    for name, table in (("papers", pairs), ("documents", apart)):
        untaught = table[table["metric"].str.contains("claimwise-1-5b") & table["against"].str.endswith("-qwen")]
        assert untaught["p_holm"].min() > 0.05
        found = untaught[untaught["auc_p_holm"] < 0.05]
        told += [(name, one.group, one.metric) for one in found.itertuples()]
        for one in found[found["metric"].str.startswith("sentences")].itertuples():
            gain = f"{one.auc_difference:.2f} ({one.auc_difference_low:.2f} to {one.auc_difference_high:.2f})"
            assert re.search(rf"by {re.escape(gain)} on [^;]*?\(p {one.auc_p_holm:.3f}\)", README)
    both = ["sentences-claimwise-1-5b", "summary-claimwise-1-5b"]
    assert told == [("papers", "xsum", name) for name in both] + [("documents", "all", name) for name in both]
    embedded = pairs.query("metric == 'sentences-claimwise-ensemble' and against == 'sentences'").set_index("group")
    assert embedded.loc[["xsum", "all"], "auc_p_holm"].max() < 0.05
    embedded = apart.query("against in ('sentences', 'holistic')").set_index("metric")["auc_p_holm"]
    assert embedded[["sentences-claimwise-1-5b", "sentences-claimwise-ensemble"]].max() < 0.05
    left_out = pd.read_csv(ROOT / "data" / "embedded" / "held_out_adapter.csv").query("pooling == 'mean'")
    untaught, taught = (
        left_out[left_out["model"] == strength].set_index("corpus")["auc"] for strength in ("0.0", "0.5")
    )
    assert (len(untaught), (taught > untaught).sum()) == (14, 13)
    assert (
        f"On fourteen corpora left out it rises on thirteen, on average from {untaught.mean():.3f} to {taught.mean():.3f}"
        in README
    )


def test_what_the_model_card_says_of_corpora_left_out_is_of_the_table():
    tables = [pd.read_csv(ROOT / "data" / "embedded" / f"held_out{name}.csv") for name in ("_adapter", "")]
    means = pd.concat(tables).query("pooling == 'mean'").groupby(["model", "held_out_with"])["auc"].mean()
    (half_a, half_b), (whole_a, whole_b), (untaught_a, untaught_b), (embedded_a, embedded_b) = (
        means[model] for model in ("0.5", "1.0", "0.0", "shipped")
    )
    card = " ".join((ROOT / "docs" / "model_card.md").read_text(encoding="utf-8").replace(" .", " 0.").split())
    half, whole = (half_a + half_b) / 2, (whole_a + whole_b) / 2  # seven corpora each
    assert f"half has a mean AUC of {half:.3f}, all of it {whole:.3f}" in card
    said = f"its mean AUC is {half_a:.3f} (sentences, mean). Its untaught weights have {untaught_a:.3f}"
    assert f"{said}, and the embedded model without the same corpora {embedded_a:.3f}" in card
    assert f"has {half_b:.3f} on them, untaught {untaught_b:.3f}, embedded {embedded_b:.3f}." in card


def test_what_the_model_card_says_of_the_second_head_is_of_the_table():
    table = pd.read_csv(ROOT / "data" / "embedded" / "contradiction.csv").set_index(["corpus", "split"])
    card = " ".join((ROOT / "docs" / "model_card.md").read_text(encoding="utf-8").split())
    frank = table.loc["frank", "test"]
    auc, low, high = (f"{frank[name]:.2f}".lstrip("0") for name in ("auc", "auc_low", "auc_high"))
    assert f"with an AUC of {auc} ({low} to {high}) ({frank['n']:.0f})" in card
    anli, control = (table.loc[(name, "test"), "accuracy"] for name in ("anli", "control"))
    assert f"right on {anli:.1f} % of ANLI's round 3 and {control:.1f} % of ConTRoL's test part" in card


@pytest.mark.parametrize("adapter", ["claimwise-1.5b", "claimwise-1.5b-zero-shot"])
def test_so_many_documents_were_learned_from_as_the_model_card_says(adapter):
    card = (ROOT / "docs" / "model_card.md").read_text(encoding="utf-8")
    assert f"{len(learned_documents(adapter)):,} documents" in card


def test_what_size_brings_is_of_the_public_run():
    sizes, steps, ways = (
        pd.read_csv(PUBLIC / "model_size" / f"{name}.csv")
        for name in ("by_size", "larger_less_smaller", "sentences_less_whole")
    )
    sentences = steps[steps["asked"] == "sentences"]
    told = sentences[sentences["p_holm"] < 0.05].query("difference > 0").groupby("smaller")["group"].agg(set)
    assert told.to_dict() == {"smollm2-135m": {"cnndm", "xsum", "all"}, "qwen2.5-coder-0.5b": {"xsum", "all"}}
    told = sizes[sizes["p_holm"] < 0.05].set_index(["group", "made_by", "asked"])["difference"]
    better = told[told > 0].index
    assert sorted(better) == [
        ("all", "claimwise-1.5b", "sentences"),
        ("all", "embedded", "sentences"),
        ("all", "llama-2-70b-chat-hf", "rating"),
        ("all", "qwen2.5-coder-1.5b", "sentences"),
        ("xsum", "claimwise-1.5b", "sentences"),
    ]
    assert {(group, made_by) for group, made_by, _ in told.index.difference(better)} == {("xsum", "smollm2-135m")}
    assert ways["p_holm"].min() > 0.05


def test_the_default_is_as_fast_as_was_measured():
    speed = pd.read_csv(ROOT / "data" / "embedded" / "speed.csv").set_index("metric").loc["acueval"]
    assert f"{speed['pairs_per_second']:.0f} summaries a second on {speed['cores']} cores" in README


def test_the_first_picture_shows_what_is_said_of_it():
    cells = nbformat.read(ROOT / "notebooks" / "scoreboard.ipynb", as_version=4).cells
    drawn = next(name for cell in cells for name in re.findall(r'"(sample:[\w:-]+)"', cell.source))
    example, claims = project.worked_example("embedded", "acueval", drawn)
    assert "One of my dogs has eaten chocolate." in example["document"]
    assert claims["claim"].str.startswith("Both of Fergus Loan's dogs").tolist() == [True, True, False, False]
    assert claims["evidence"][:2].str.contains("One of my dogs").all()  # the sentence below each
    assert claims["support"][0] < SUPPORTED < claims["support"][1]  # doubts the first, believes the second
    assert "doubts the first claim but believes the second, which is just as wrong" in README


def test_it_is_one_screen_and_a_half():
    assert len(README.splitlines()) <= 130


def test_the_results_page_is_what_its_template_makes_of_the_tables():
    template = (ROOT / results.TEMPLATE).read_text(encoding="utf-8")
    assert (ROOT / results.PAGE).read_text(encoding="utf-8") == results.render(template, PUBLIC.parent)


def test_a_template_takes_numbers_and_intervals_out_of_tables(tmp_path):
    (tmp_path / "t.csv").write_text("metric,auc,auc_low,auc_high\na,0.751,0.7,0.8\nb,0.5,0.4,0.6\n")
    template = "{{ value('t', 'auc', 2, metric='b') }}, {{ interval('t', 'auc', digits=2, metric='a') }}"
    assert results.render(template, tmp_path) == "0.50, 0.75 (0.70 to 0.80)"
    assert results.render("{{ below('t', 'auc', 0.751) }} {{ below('t', 'auc', 0.8) }}", tmp_path) == "1 2"
    for wanted, told in (("below('u', 'auc', 1)", "found the table 'u'"), ("below('t', 'p', 1)", "no column 'p'")):
        with pytest.raises(results.ResultsError, match=told):
            results.render(f"{{{{ {wanted} }}}}", tmp_path)
    with pytest.raises(results.ResultsError, match="t has no column 'f1'; it has metric, auc, auc_low, auc_high"):
        results.render("{{ value('t', 'f1', metric='a') }}", tmp_path)


def test_how_often_the_shipped_bounds_decide_is_of_the_committed_scores():
    usage = " ".join((ROOT / "docs" / "scores.md").read_text(encoding="utf-8").split())
    bounds = pd.read_csv(ROOT / "src" / "claimwise" / "user_file" / "bands.csv").set_index("metric").loc["acueval"]
    decided, denied = {}, {}
    for name in ("aggrefact_ftsota", "summeval", "vectara"):
        scores = pd.read_csv(PUBLIC / "by_summary" / f"{name}.csv")["acueval"].dropna()
        denied[name] = (scores < bounds["low"]).mean()
        decided[name] = denied[name] + (scores >= bounds["high"]).mean()
    assert round(decided["aggrefact_ftsota"], 2) == 0.25
    summeval, vectara = (f"{100 * decided[name]:.0f} %" for name in ("summeval", "vectara"))
    said = f"a quarter of AggreFact's summaries, {summeval} of SummEval's and {vectara} of 13 language models' news summaries"
    assert said in usage
    assert max(denied["summeval"], denied["vectara"]) < 0.01  # "hardly ever"


def test_what_is_said_of_fenices_settings_and_of_the_samples_errors_is_of_the_tables():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    grid = pd.read_csv(PUBLIC / "alignment_settings" / "window_and_gate.csv")
    papers = grid.query("window == 5 and gate == 0.8").set_index("corpus")
    ends = grid["corpus"].map(papers["low"]), grid["corpus"].map(papers["high"])
    assert grid["auc"].between(*ends).all()
    assert "Every other choice lies within these intervals" in page
    errors = pd.read_csv(ROOT / "tables" / "sample" / "embedded" / "embedded_model" / "errors.csv")
    own = errors[errors["model"] == "embedded"].set_index("error")
    assert set(own[own["low"] > 0.5].index) == {"out-of-article", "circumstance"}
    assert len(own) == 7
    assert "of seven types it finds two" in page


def test_what_contradiction_brings_fenice_is_of_the_tables():
    page = (ROOT / "docs" / "fenice.md").read_text(encoding="utf-8")

    def cells(table: str, metric: str) -> list[str]:
        rows = pd.read_csv(PUBLIC / f"{table}.csv").query(f"corpus == 'aggrefact_ftsota' and metric == '{metric}'")
        return [
            f"{row.balanced_accuracy:.1f} ({row.low:.1f} to {row.high:.1f}), {row.auc:.3f}".replace(" 0.", " .")
            for row in rows.itertuples()
        ]

    verifier, alignment = "verifier/balanced_accuracy", "nli_alignment/ablation"
    for start, table, metric in [
        ("FENICE's score: mean NLIScore", verifier, "nli-t5-claimwise-nli"),
        ("ACUEval's: mean p(supported)", verifier, "claims-t5-claimwise-nli"),
        ("sentences instead of claims", verifier, "sentences-claimwise-1-5b"),
        ("FENICE with the embedded NLI", alignment, "full"),
        ("FENICE's authors' scores", alignment, "fenice-t5 (published)"),
    ]:
        line = next(line for line in page.splitlines() if line.startswith(f"| {start}"))
        assert line.split(" | ", 1)[1] == " | ".join(cells(table, metric)) + " |"
    pairs = pd.read_csv(PUBLIC / "verifier" / "pairs.csv").set_index(["group", "metric"])
    for group in ("cnndm", "xsum"):
        for metric in ("nli-t5-claimwise-nli", "claims-t5-claimwise-nli"):
            gap = pairs.loc[(group, metric)]
            ends = (gap[f"auc_difference{end}"] for end in ("", "_low", "_high"))
            assert "{:.3f} ({:.3f} to {:.3f})".format(*ends).replace("0.", ".") in page
            assert gap["auc_p_holm"] > 0.05
