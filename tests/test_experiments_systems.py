"""meta_evaluation and leaderboard: from score tables to results, worked by hand."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from claimwise.analysis import significance, statistics
from claimwise.analysis.published import table as published
from claimwise.corpora.base import Rows
from claimwise.errors import ClaimwiseError
from claimwise.experiments import leaderboard, meta_display, meta_evaluation

PUBLISHED = Path(__file__).parent.parent / "data" / "published"


def scores(values, metric="m"):
    return pd.DataFrame(
        [(key, metric, value, 1, 0, None) for key, value in values.items()],
        columns=["example_id", "metric", "score", "n_claims", "n_unparsed", "reason"],
    )


# ---------------------------------------------------------------- meta_evaluation


def labelled_corpus(documents=30, human=False):
    """Three systems a document; ``good`` is always faithful, ``bad`` never, ``odd`` in every other document."""
    rows = Rows("made")
    for number in range(documents):
        for system, label in (("good", 1), ("odd", number % 2), ("bad", 0)):
            example = rows.example(
                str(number),
                system,
                document=f"Document {number}.",
                summary="A summary.",
                split="validation" if number < documents // 3 else "test",
                origin="news" if number % 3 else "talk",
                label=label,
            )
            rows.gold(example, [{"claim": "a", "label": label}, {"claim": "b", "label": 1}])
            rows.score(example, "fenice-t5 (published)", 0.9 * label + 0.01 * (number % 7))
            if human:
                rows.score(example, "human consistency", 1 + 4 * label)
    return rows.corpus()


def noisy(corpus, share, seed=0):
    """Scores that follow the label in this share of the rows."""
    generator = np.random.default_rng(seed)
    labels = corpus.examples["label"].to_numpy()
    right = generator.random(len(labels)) < share
    values = np.where(right, labels, 1 - labels) + 0.1 * generator.random(len(labels))
    return scores(dict(zip(corpus.examples["id"], values, strict=True)))


@pytest.fixture(scope="module")
def corpus():
    return labelled_corpus()


def test_one_column_a_metric_with_the_published_ones(corpus):
    rows = meta_evaluation.collect(corpus, {"ours": noisy(corpus, 0.8)}, by_origin=True)
    assert meta_evaluation.columns(rows) == ["ours", "fenice-t5 (published)"]
    assert set(rows["group"]) == {"news", "talk"}
    assert set(meta_evaluation.collect(corpus, {}, by_origin=False)["group"]) == {"all"}
    # The rating is the share of the summary's claims that people found supported.
    assert rows["rating"].tolist() == ((rows["label"] + 1) / 2).tolist()


def test_a_human_rating_is_the_rating_and_no_metric():
    corpus = labelled_corpus(human=True)
    rows = meta_evaluation.collect(corpus, {}, by_origin=False)
    assert meta_evaluation.columns(rows) == ["fenice-t5 (published)"]
    assert rows["rating"].tolist() == (1 + 4 * rows["label"]).tolist()


def test_thresholds_are_tuned_on_validation_and_reported_on_test(corpus):
    ours = noisy(corpus, 0.8)
    rows = meta_evaluation.collect(corpus, {"ours": ours, "base": noisy(corpus, 0.6, seed=1)}, by_origin=False)
    metrics = meta_evaluation.columns(rows)
    table = meta_evaluation.table(rows, metrics, "base", draws=300, seed=0).set_index("metric")
    test, validation = rows[rows["split"] == "test"], rows[rows["split"] == "validation"]
    assert table["n"].tolist() == [len(test)] * 3 == [60] * 3
    for metric in metrics:
        threshold = statistics.best_threshold(validation[metric], validation["label"])
        accuracy = 100 * statistics.balanced_accuracy(test["label"], test[metric], threshold)
        row = table.loc[metric]
        assert (row["threshold"], row["balanced_accuracy"]) == pytest.approx((threshold, accuracy))
        assert row["low"] <= accuracy <= row["high"]
        assert row["auc"] == pytest.approx(statistics.auc(test["label"], test[metric]))
        assert row["difference"] == pytest.approx(accuracy - table.loc["base", "balanced_accuracy"])
        tuned, p = significance.paired_tuned(validation, test, metric, "base")
        assert row[["difference_low", "difference_high"]].tolist() == pytest.approx([100 * tuned.low, 100 * tuned.high])
        assert metric == "base" or row["p"] == p
    assert table.loc["fenice-t5 (published)", "balanced_accuracy"] == 100
    assert math.isnan(table.loc["base", "p"])
    assert table.loc["fenice-t5 (published)", "p"] <= 0.01


def test_changing_test_labels_does_not_move_a_threshold(corpus):
    rows = meta_evaluation.collect(corpus, {"ours": noisy(corpus, 0.8)}, by_origin=False)
    flipped = rows.assign(label=rows["label"].where(rows["split"] == "validation", 1 - rows["label"]))
    metrics = meta_evaluation.columns(rows)
    one, two = (meta_evaluation.table(r, metrics, "ours", 50, 0)["threshold"].tolist() for r in (rows, flipped))
    assert one == two


def test_metrics_are_compared_on_the_rows_that_all_scored(corpus):
    gaps = noisy(corpus, 0.8)
    test = corpus.examples.index[corpus.examples["split"] == "test"]
    gaps.loc[test[:7], "score"] = np.nan
    rows = meta_evaluation.collect(corpus, {"gaps": gaps, "full": noisy(corpus, 0.8)}, by_origin=False)
    table = meta_evaluation.table(rows, ["gaps", "full"], "full", draws=50, seed=0)
    assert table["n"].tolist() == [53, 53]
    assert table["unscored"].tolist() == [7, 0]


def test_an_unlabelled_example_is_left_out():
    corpus = labelled_corpus(6)
    examples = corpus.examples.assign(label=corpus.examples["label"].where(corpus.examples["system"] != "odd"))
    rows = meta_evaluation.collect(type(corpus)(**{**vars(corpus), "examples": examples}), {}, by_origin=False)
    assert len(rows) == 12


def test_published_values_stand_beside_metrics_of_the_same_kind():
    ours = pd.DataFrame(
        {
            "corpus": ["aggrefact_ftsota", "aggrefact_ftsota", "summeval", "sample", "aggrefact_ftsota"],
            "group": ["xsum", "cnndm", "all", "all", "cnndm"],
            "metric": ["acueval", "word-overlap", "holistic", "acueval", "fenice-t5"],
        }
    )
    rows = pd.concat(
        [published(paper, number, folder=PUBLISHED) for paper, number in (("acueval", "1"), ("fenice", "3"))]
    )
    values = meta_evaluation.with_published(ours, rows)["published"].tolist()
    assert values == pytest.approx([74.5, math.nan, 81.1, math.nan, 67.1], nan_ok=True)


def test_published_tables_are_shown_as_printed_with_the_corpora_that_are_not_at_hand():
    first = meta_evaluation.published_table(published("acueval", "1", folder=PUBLISHED)).set_index("row")
    assert first.loc["DAE"].tolist() == ["64.8 ± 2.4", "65.4 ± 4.4", "70.2 ± 2.3", "84.6 ± 1.7", "72.9 ± 1.6"]
    assert first.loc["G-Eval"].dropna().to_dict() == {"summeval, cnndm": "81.9 ± 1.5"}
    last = meta_evaluation.published_table(published("acueval", "7", folder=PUBLISHED), digits=3).set_index("row")
    assert list(last.index) == ["QuestEval", "UniEval", "G-Eval", "BelugaEval", "ACUEval"]
    assert last.loc["UniEval", "llmsummeval, xsum, kendall_system"] == "0.346"
    assert last.notna().sum().sum() == 26
    fenice = meta_evaluation.published_table(published("fenice", "3", folder=PUBLISHED)).set_index("row")
    assert fenice.loc["AlignScore"].tolist() == ["67.0", "60.3"]


def test_findings_of_the_meta_evaluation(corpus):
    rows = meta_evaluation.collect(corpus, {"ours": noisy(corpus, 0.9), "base": noisy(corpus, 0.6, 1)}, by_origin=False)
    table = meta_evaluation.table(rows, meta_evaluation.columns(rows), "base", 200, 0).assign(corpus="made")
    table = meta_evaluation.corrected(table)
    [sentence, family, areas] = meta_display.findings(table, "base")
    best = table[~table["metric"].str.contains("published")].sort_values("balanced_accuracy").iloc[-1]
    assert sentence.startswith(f"**made**: `{best['metric']}` has the highest balanced accuracy of our metrics")
    assert f"{best['balanced_accuracy']:.1f}" in sentence
    assert family.startswith("Of 2 comparisons of balanced accuracy with base, ")
    assert areas.startswith("Of 2 comparisons of AUC, for which no threshold is tuned, with base, ")


def test_significance_is_corrected_for_every_comparison_of_the_table():
    rows = pd.DataFrame(
        {
            "corpus": ["x", "x", "x", "y", "y"],
            "group": "all",
            "metric": ["base", "a", "b", "base", "a"],
            "n": 9,
            "balanced_accuracy": [50.0, 60.0, 55.0, 50.0, 58.0],
            "low": 40.0,
            "high": 70.0,
            "auc": 0.7,
            "difference": [0.0, 10.0, 5.0, 0.0, 8.0],
            "difference_low": -2.0,
            "difference_high": 12.0,
            "p": [math.nan, 0.01, 0.04, math.nan, 0.03],
            "auc_difference": [0.0, 0.1, 0.05, 0.0, -0.08],
            "auc_p": [math.nan, 0.3, 0.4, math.nan, 0.003],
        }
    )
    table = meta_evaluation.corrected(rows)
    assert table["p_holm"].tolist() == pytest.approx([math.nan, 0.03, 0.06, math.nan, 0.06], nan_ok=True)
    found = meta_display.findings(table, "base")
    assert (
        "+10.0 points beside base (-2.0 to +12.0, p = 0.010; corrected for the table's 3 comparisons = 0.030)"
        in found[0]
    )
    assert found[-2] == (
        "Of 3 comparisons of balanced accuracy with base, 3 are significant one by one (p < .05) and 1 after Holm's correction for all of "
        "them: `a` on x (+10.0)."
    )
    assert found[-1].endswith(
        "1 are significant one by one (p < .05) and 1 after Holm's correction for all of them: `a` on y (-0.080)."
    )


# ---------------------------------------------------------------- leaderboard


@pytest.fixture(scope="module")
def systems():
    rows = Rows("made")
    for number in range(20):
        document = f"Document {number}."
        rows.example(str(number), "best", document=document, summary="A summary of seven words is here.", label=1)
        refusal = "I'm unable to summarize this text, sorry." if number < 5 else "Five words are just enough."
        rows.example(str(number), "shy", document=document, summary=refusal, label=number % 2)
        rows.example(str(number), "poor", document=document, summary="Another made up summary of eight words.", label=0)
    return rows.corpus()


def ours(systems):
    base = systems.examples["system"].map({"best": 0.9, "shy": 0.6, "poor": 0.2})
    wobble = [0.01 * (number % 5) for number in range(len(base))]
    values = dict(zip(systems.examples["id"], base + wobble, strict=True))
    refused = systems.examples.loc[systems.examples["summary"].str.startswith("I'm"), "id"]
    return values | dict.fromkeys(refused, 1.0)  # a refusal that a metric likes


def test_systems_are_ranked_by_their_answers(systems):
    first = ours(systems)
    table = leaderboard.table(systems, {"m": scores(first), "other": scores(dict.fromkeys(first, 0.5))}, 200, 0)
    assert table["system"].tolist() == ["best", "shy", "poor"]
    assert table["n"].tolist() == [20, 20, 20]
    assert table["answered"].tolist() == [100, 75, 100]
    assert table["words"].tolist() == [7, 5, 7]
    answers = systems.examples[systems.examples["summary"].map(leaderboard.answered)]
    expected = answers["id"].map(first).groupby(answers["system"]).mean()
    assert table["m"].tolist() == pytest.approx(expected[table["system"]].tolist())
    assert ((table["m_low"] <= table["m"]) & (table["m"] <= table["m_high"])).all()
    assert table["other"].tolist() == [0.5] * 3
    assert table["faithful"].tolist() == pytest.approx([1, 8 / 15, 0])


def test_only_scored_examples_are_counted(systems):
    some = {key: value for number, (key, value) in enumerate(ours(systems).items()) if number < 30}
    assert leaderboard.table(systems, {"m": scores(some)}, 50, 0)["n"].tolist() == [10, 10, 10]


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ("", False),
        ("Four words are few.", False),
        ("I cannot provide a summary of this.", False),
        ("I’m unable to answer that question, sorry.", False),
        ("The mayor resigned on Monday after the vote. " * 3 + "He said: I cannot go on.", True),
    ],
)
def test_what_counts_as_an_answer(summary, expected):
    assert leaderboard.answered(summary) == expected


def test_a_metric_that_scored_nothing_ranks_nothing(systems):
    silent = {"acueval": scores(ours(systems), "acueval").assign(score=np.nan, reason="no claims")}
    with pytest.raises(ClaimwiseError, match=r"acueval scored none of \d+ summaries \(\d+ x no claims\)"):
        leaderboard.table(systems, silent, draws=10, seed=0)


def test_agreement_between_columns():
    rows = pd.DataFrame(
        {
            "system": list("abcd"),
            "n": 5,
            "answered": 100.0,
            "m": [4.0, 3.0, 2.0, 1.0],
            "m_low": 0.0,
            "m_high": 9.0,
            "same": [8.0, 6.0, 4.0, 2.0],
            "swapped": [4.0, 3.0, 1.0, 2.0],
            "few": [1.0, 2.0, math.nan, math.nan],
        }
    )
    found = leaderboard.agreement(rows, "m").set_index("beside")
    assert found.index.tolist() == ["same", "swapped"]
    assert found.loc["same", ["kendall", "pearson"]].tolist() == pytest.approx([1, 1])
    assert found.loc["swapped", "kendall"] == pytest.approx(4 / 6)


def test_published_rows_of_the_leaderboard():
    rows = pd.DataFrame({"system": ["anthropic/claude-2.0", "mine/model"], "m": [0.9, 0.8]})
    found = leaderboard.with_published(rows, published("acueval", "5", folder=PUBLISHED))
    assert found["acueval (published)"].tolist() == pytest.approx([0.988, math.nan], nan_ok=True)
    assert found["hem (published)"].tolist() == pytest.approx([0.915, math.nan], nan_ok=True)


def test_the_published_table_as_it_is_printed():
    table = leaderboard.published_table(published("acueval", "6", folder=PUBLISHED)).set_index("system")
    assert table["xsum, acueval"].isna().sum() == 1  # the paper has no few-shot GPT-3 350M there
    assert table.loc["Kendall's tau of both"].drop(["cnndm, human", "xsum, human"]).tolist() == pytest.approx(
        [0.608, 0.480], abs=5e-4
    )


def test_a_published_tau_is_over_the_systems_that_a_corpus_has_both_of():
    # Of a, b and c two pairs are in order and one is not: (2 - 1) / 3. Without b there is one pair, in order.
    rows = pd.DataFrame(
        [
            (system, origin, measure, value)
            for origin in ("cnndm", "xsum")
            for system, *both in (("a", 0.9, 3.0), ("b", 0.8, 1.0), ("c", 0.7, 2.0))
            for measure, value in zip(("acueval", "human"), both, strict=True)
            if (system, origin) != ("b", "xsum")
        ],
        columns=["row", "origin", "measure", "value"],
    )
    table = leaderboard.published_table(rows).set_index("system").loc["Kendall's tau of both"]
    assert table[["cnndm, acueval", "xsum, acueval"]].tolist() == pytest.approx([1 / 3, 1])


def test_findings_of_the_leaderboard(systems):
    found = {"m": scores(ours(systems))}
    table = leaderboard.table(systems, found, 200, 0)
    compared = leaderboard.pairs(leaderboard.summaries(systems, found), "m")
    sentence = leaderboard.findings(table, compared, "m")[0]
    assert sentence.startswith("`best` has the highest mean m score")
    assert "Of 3 pairs of systems 3 are told apart" in sentence
    assert sentence.endswith("the first is told apart from every other system.")
    assert table["ranks"].tolist() == ["1", "2", "3"]
    # People's labels stand against the metric: told apart the right way, the wrong way, or not at all.
    for shares, p, verdict in (
        ([1.0, 0.9, 0.2], 0.01, "the metric tells them apart, too (+"),
        ([0.2, 0.9, 1.0], 0.01, "**the metric has them the wrong way round** (-"),
        ([1.0, 0.9, 0.2], 0.4, "**the metric does not tell them apart**"),
    ):
        told = leaderboard.findings(table.assign(faithful=shares), compared.assign(p_holm=p), "m")[1]
        assert verdict in told
        assert told.startswith(
            f"People found 100 % of the summaries of `{table['system'][np.argmax(shares)]}` faithful"
        )
    assert len(leaderboard.findings(table.drop(columns="faithful", errors="ignore"), compared, "m")) == 1
    # "best" is told from "shy" and "shy" from "poor", but not "best" from "poor": no rank says so, the pair does.
    of_both = (compared["system"] == "best") & (compared["other"] == "poor")
    tied = leaderboard.findings(table, compared.assign(p_holm=of_both.map({True: 0.2, False: 0.01})), "m")[0]
    assert "Of 3 pairs of systems 2 are told apart" in tied
    assert tied.endswith("nothing tells these from the first: `poor`.")


def test_each_system_has_those_that_nothing_tells_from_it_by_their_places(systems):
    found = {"m": scores(ours(systems))}
    table = leaderboard.table(systems, found, 200, 0)
    compared = leaderboard.pairs(leaderboard.summaries(systems, found), "m")
    shown = leaderboard.neighbours(table, compared)
    assert shown.to_dict("list") == {
        "place": [1, 2, 3],
        "system": ["best", "shy", "poor"],
        "ranks": ["1", "2", "3"],
        "not_told_from": ["none"] * 3,
    }
    # "best" and "poor" are not told apart, whichever of the two the pair names first.
    of_both = (compared["system"] == "best") & (compared["other"] == "poor")
    open_pair = compared.assign(p_holm=of_both.map({True: math.nan, False: 0.01}))
    assert leaderboard.neighbours(table, open_pair)["not_told_from"].tolist() == ["3", "none", "1"]
    assert leaderboard.neighbours(table, compared.assign(p_holm=1.0))["not_told_from"].tolist() == [
        "2, 3",
        "1, 3",
        "1, 2",
    ]


def test_a_mean_over_a_part_of_the_summaries_says_so(systems):
    values = ours(systems)
    table = leaderboard.table(systems, {"m": scores(values)}, 50, 0)
    assert table["scored"].tolist() == [20, 15, 20]  # five of shy's are refusals
    compared = leaderboard.pairs(leaderboard.summaries(systems, {"m": scores(values)}), "m")
    said = leaderboard.findings(table, compared, "m")[0]
    assert (
        "0.220. Means are over answers with a score: of `shy` over 15 of 20 summaries, of the others over all. Of"
        in said
    )
    lost = scores(values | {next(key for key in values if key.endswith("best")): math.nan})
    assert leaderboard.table(systems, {"m": lost}, 50, 0)["scored"].tolist() == [19, 15, 20]
    every = leaderboard.findings(table.assign(scored=20), compared, "m")[0]
    assert "Means are over" not in every


def test_a_system_alone_is_the_first_of_one(systems):
    alone = replace(systems, examples=systems.examples[systems.examples["system"] == "best"].reset_index(drop=True))
    found = {"m": scores({key: value for key, value in ours(systems).items() if key in set(alone.examples["id"])})}
    table = leaderboard.table(alone, found, 50, 0)
    assert table["ranks"].tolist() == ["1"]
    [sentence] = leaderboard.findings(table, leaderboard.pairs(leaderboard.summaries(alone, found), "m"), "m")
    assert sentence.endswith("nothing to rank.")


def test_a_system_that_answered_nothing_has_no_rank(systems):
    refusing = systems.examples["summary"].where(systems.examples["system"] != "shy", "I cannot summarise this, sorry.")
    silent = replace(systems, examples=systems.examples.assign(summary=refusing))
    found = {"m": scores(ours(systems))}
    table = leaderboard.table(silent, found, 50, 0)
    assert table["system"].tolist() == ["best", "poor", "shy"]
    assert table["ranks"].fillna("none").tolist() == ["1", "2", "none"]
    told = leaderboard.findings(table, leaderboard.pairs(leaderboard.summaries(silent, found), "m"), "m")
    assert "`poor` the lowest" in told[0]
    assert told[0].endswith("the first is told apart from every other system.")


def test_systems_are_compared_on_the_documents_that_both_answered(systems):
    values = ours(systems)
    compared = leaderboard.pairs(leaderboard.summaries(systems, {"m": scores(values)}), "m")
    pair = compared.set_index(["system", "other"]).loc[("best", "shy")]
    wide = pd.Series(values).groupby(lambda key: key.rsplit(":", 1)[1]).agg(list)
    gaps = np.subtract(wide["best"], wide["shy"])[5:]  # the first five of shy are refusals
    assert pair["documents"] == 15
    assert pair["difference"] == pytest.approx(gaps.mean())
    assert pair["p"] == pytest.approx(stats.ttest_rel(gaps, np.zeros(15)).pvalue)
    assert compared["p_holm"].tolist() == pytest.approx(significance.holm(compared["p"]).tolist())


def test_equal_scores_tie_and_what_cannot_be_compared_is_not_told_apart():
    frame = pd.DataFrame(
        {
            "document_id": ["x", "y", "z"] * 3 + ["x"],
            "system": ["a"] * 3 + ["b"] * 3 + ["c"] * 3 + ["lone"],
            "answered": True,
            "m": [0.5, 0.6, 0.7] * 2 + [0.1, 0.2, 0.31] + [0.9],
        }
    )
    compared = leaderboard.pairs(frame, "m").set_index(["system", "other"])
    assert compared.loc[("a", "b"), ["p", "difference"]].tolist() == [1, 0]
    assert compared.loc[("a", "c"), "p"] == pytest.approx(7.06e-5, rel=0.01)
    assert compared.loc[["lone" in pair for pair in compared.index], "p"].isna().all()
    assert leaderboard.ranks(compared.reset_index()) == {"a": "1 to 3", "b": "1 to 3", "c": "3 to 4", "lone": "1 to 4"}
