"""The experiment's tables, worked by hand from an NLI model of transparent rules."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from fakes import FakeModel
from imports import ROOT
from scipy import stats

from claimwise.analysis import published, tables
from claimwise.corpora.base import Rows
from claimwise.experiments import nli_alignment, nli_claims, nli_display
from claimwise.experiments.nli_alignment import CLAIMS, COREFERENCE, FULL, SENTENCES
from claimwise.metrics import MetricSpec, evaluate, specification
from claimwise.metrics.fenice import alignment

SPEC = MetricSpec(decompose="recorded:hand", verify="alignment", alignment={"window": 2})


class Words:
    """p_entail is 1 where the premise has all the claim's words (marks aside), else half their share; the rest neutral."""

    name = fingerprint = "words"
    limit = None

    def count(self, texts):
        return [0] * len(texts)

    def scope(self, document):
        return ""

    def entail(self, premises, hypotheses, scope):
        rows = np.zeros((len(premises), 3))
        for row, premise, claim in zip(rows, premises, hypotheses, strict=True):
            wanted, found = ({*text.replace(".", "").split()} for text in (claim, premise))
            share = len(wanted & found) / len(wanted)
            row[0] = share if share == 1 else share / 2
        rows[:, 1] = 1 - rows[:, 0]
        return rows


@pytest.fixture(autouse=True)
def words(monkeypatch):
    monkeypatch.setattr(alignment.entailment, "load", lambda settings: Words())


DOCUMENT = "Ann Lee won the race.\nIt rained.\nLee left early.\nThe road closed."


def _corpus(copies=6):
    """Four kinds of summaries with claims entailed at each level, or none; half of the copies are validation."""
    rows = Rows("made")
    kinds = {
        "sentence": (1, ["Ann Lee won the race.", "It rained."]),
        "coreference": (1, ["Ann Lee left early."]),
        "window": (1, ["It rained early."]),
        "document": (1, ["Ann closed the road."]),
        "wrong": (0, ["Ann Lee won the race today."]),  # nearer to the document than what no level has found yet
    }
    for copy in range(copies):
        split = "validation" if copy % 2 else "test"
        for system, (label, claims) in kinds.items():
            document = f"{DOCUMENT}\nNumber {copy} ended."
            example = rows.example(
                copy, system, document=document, summary=" ".join(claims), split=split, origin="made", label=label
            )
            rows.recorded(example, "hand", claims)
            rows.score(example, "fenice-t5 (published)", 0.9 if label else 0.1)
    return rows.corpus()


@pytest.fixture
def corpus():
    return _corpus()


def test_the_ablation_adds_one_part_a_row():
    specs = nli_alignment.ablation(SPEC, {"other": {"kind": "transformers", "checkpoint": "x"}})
    assert list(specs) == [SENTENCES, CLAIMS, COREFERENCE, FULL, "full, other"]
    parts = {name: (s.decompose, s.alignment.coreference is not None, s.alignment.window) for name, s in specs.items()}
    assert parts[SENTENCES] == ("sentences", False, None)
    assert parts[CLAIMS] == ("recorded:hand", False, None)
    assert parts[COREFERENCE] == ("recorded:hand", True, None)
    assert parts[FULL] == parts["full, other"] == ("recorded:hand", True, 2)
    assert specs["full, other"].alignment.entailment["checkpoint"] == "x"


def test_every_part_finds_what_the_one_before_could_not(corpus):
    runs = nli_alignment.run(corpus, nli_alignment.ablation(SPEC), FakeModel())
    system = corpus.examples.set_index("id")["system"]
    found = {
        name: run.scores.groupby(run.scores["example_id"].map(system))["score"].mean() for name, run in runs.items()
    }
    supported = {name: set(series[series == 1].index) for name, series in found.items()}
    assert supported[CLAIMS] == {"sentence"}
    assert supported[COREFERENCE] == {"sentence", "coreference"}
    assert supported[FULL] == {"sentence", "coreference", "window", "document"}
    assert found[FULL]["wrong"] == pytest.approx((5 / 12 + 1) / 2)  # five of six words


def test_rows_that_go_through_blocks_of_documents_equal_rows_that_read_all_at_once(corpus, monkeypatch):
    monkeypatch.setattr(nli_alignment, "BLOCK", 7)
    [found] = nli_alignment.run(corpus, {FULL: SPEC}, FakeModel()).values()
    expected = evaluate(FULL, SPEC, FakeModel(), corpus.examples, recorded=corpus.recorded_claims)
    for name in ("claims", "verdicts", "scores"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(expected, name))


def test_the_table_has_the_step_from_the_row_above_and_the_published_scores(corpus):
    runs = nli_alignment.run(corpus, nli_alignment.ablation(SPEC), FakeModel())
    rows = nli_alignment.table(corpus, runs, by_origin=True, draws=50, seed=0).set_index("metric")
    # One of the four faithful kinds is found by claims, two with coreference, all with everything.
    assert rows.loc[[CLAIMS, COREFERENCE, FULL], "balanced_accuracy"].tolist() == [62.5, 75, 100]
    assert rows.loc["fenice-t5 (published)", "balanced_accuracy"] == 100
    assert rows.loc[[COREFERENCE, FULL], "step"].tolist() == [12.5, 25]
    assert np.isnan(rows.loc[SENTENCES, "step"])
    assert (rows["n"] == 15).all()
    rows = nli_alignment.corrected(rows.reset_index().assign(corpus="made"))
    sentences = nli_display.findings(rows, nli_alignment.granularity(corpus, runs[FULL]))
    assert "full 100.0 (no row below the one above it, as in FENICE's Table 4)" in sentences[0]
    assert "(faithful summaries)" in sentences[1]


def test_published_values_stand_beside_their_rows():
    rows = [("ftsota", "xsum", CLAIMS), ("ftsota", "xsum", FULL), ("exf", "xsum", CLAIMS), ("exf", "xsum", FULL)]
    ours = pd.DataFrame([*rows, ("exf", "all", FULL)], columns=["corpus", "group", "metric"])
    columns = ["corpus", "origin", "row", "value"]
    ablated = pd.DataFrame([("ftsota", "xsum", CLAIMS, 63.2), ("ftsota", "xsum", FULL, 73.7)], columns=columns)
    whole = [("ftsota", "xsum", 70.1), ("exf", "xsum", 73.3)]
    others = [("exf", "xsum", "FENICE (gpt-3.5 claims)", 73.5)]
    benchmarks = pd.DataFrame(
        [*((*at, nli_alignment.TABLE_2, value) for *at, value in whole), *others], columns=columns
    )
    found = nli_alignment.with_published(ours, ablated, benchmarks)["published"].tolist()
    # The steps of Table 4 where it has them, else Table 2 beside the whole metric and nothing beside its parts.
    assert found == pytest.approx([63.2, 73.7, np.nan, 73.3, np.nan], nan_ok=True)


def test_a_step_is_told_apart_only_when_corrected_for_the_tables_steps():
    made = [(SENTENCES, np.nan), (CLAIMS, 0.02), (COREFERENCE, 0.5), (FULL, 0.001)]
    rows = pd.DataFrame(made, columns=["metric", "step_p"]).assign(corpus="made", group="all")
    rows = rows.assign(balanced_accuracy=[50, 52, 52, 60], difference=[0, 2, 2, 10], p=[np.nan, 0.02, 0.6, 0.03])
    rows = rows.assign(
        step=[np.nan, 2, 0, 8],
        auc=[0.6, 0.61, 0.61, 0.75],
        auc_step=[np.nan, 0.01, 0.0, 0.14],
        auc_step_p=[np.nan, 0.03, 0.9, 0.004],
        auc_difference=[0, 0.01, 0.01, 0.15],
        auc_difference_low=-0.02,
        auc_difference_high=0.2,
        auc_p=[np.nan, 0.03, 0.2, 0.006],
    )
    rows = nli_alignment.corrected(rows)
    assert rows["step_p_holm"].tolist() == pytest.approx([np.nan, 0.04, 0.5, 0.003], nan_ok=True)
    levels = pd.DataFrame(
        {"level": ["window", "sentence"], "label": ["faithful"] * 2, "n": [1, 3], "share": [0.25, 0.75]}
    )
    said = nli_display.findings(rows, levels)[0]
    assert "corrected for the table's 3 steps): claims, full. " in said
    assert rows["auc_step_p_holm"].tolist() == pytest.approx([np.nan, 0.06, 0.9, 0.012], nan_ok=True)
    assert "AUC is 0.600, 0.610, 0.610, 0.750; told apart from the row above, corrected: full (+0.140); all" in said
    assert "+0.150 (-0.020 to +0.200, p = 0.006, = 0.006 corrected)." in said
    assert "+10.0 points beside plain sentences (p = 0.030, = 0.030 corrected for such comparisons). " in said
    two = pd.concat([rows.assign(group="cnndm"), rows.assign(group="xsum")], ignore_index=True)
    found = nli_display.findings(nli_alignment.corrected(two), levels)
    # The second smallest p of six is .001 x 5, the third .02 x 4.
    assert ["steps): full. Uncorrected only: claims. All" in sentence for sentence in found[:2]] == [True] * 2
    # Of the whole there are two comparisons in the table, not six: .03 x 2.
    assert ["= 0.060 corrected for such" in sentence for sentence in found[:2]] == [True] * 2


@pytest.mark.parametrize(
    ("step", "auc_step", "told"),
    [
        (
            -10.3,
            -0.004,
            "moves by -10.3 points and AUC by -0.004: that is mostly the threshold's doing (0.610 in the row above",
        ),
        (-10.3, -0.01, ""),  # the order of the summaries changed, too
        (5.0, 0.0, ""),
        (np.nan, np.nan, ""),
    ],
)
def test_a_step_that_only_the_threshold_made_is_told(step, auc_step, told):
    part = pd.DataFrame(index=list(nli_alignment.STEPS)).assign(threshold=[0.6, 0.61, 0.763, 0.8])
    part = part.assign(step=[np.nan, 2, step, 13.6], auc_step=[np.nan, 0.0, auc_step, 0.09])
    said = nli_display._moved_thresholds(part)
    assert told in said
    assert said.endswith("0.763 here), and the next step (+13.6) starts from there.") == bool(told)
    assert bool(said) == bool(told)


def test_claims_beyond_one_sentence_are_counted_over_all_corpora():
    rows = [("a", "faithful", "sentence", 3, 0.75), ("a", "faithful", "document", 1, 0.25)]
    rows += [("b", "faithful", "window", 4, 1.0), ("b", "not faithful", "coreference", 2, 1.0)]
    levels = pd.DataFrame(rows, columns=["corpus", "label", "level", "n", "share"])
    [said] = nli_display.findings(pd.DataFrame(columns=["corpus", "group", "step_p"]), levels)
    assert "beyond one sentence: 62 % (faithful summaries), 0 % (not faithful summaries)." in said


def test_granularity_counts_claims_by_their_smallest_level(corpus):
    full = evaluate("m", SPEC, FakeModel(), corpus.examples, recorded=corpus.recorded_claims)
    rows = nli_alignment.granularity(corpus, full).set_index(["label", "level"])
    faithful = rows.loc["faithful"]
    assert faithful["n"].to_dict() == {"sentence": 12, "coreference": 6, "window": 6, "document": 6}
    assert faithful["share"].sum() == pytest.approx(1)
    assert (faithful["score"] == 1).all()
    assert rows.loc[("not faithful", "sentence"), "n"] == 6


def test_sensitivity_equals_running_every_setting(corpus):
    rows = nli_alignment.sensitivity(corpus, SPEC, FakeModel(), [1, 2], [-1.0, 0.8], documents=None)
    assert list(zip(rows["window"], rows["gate"], strict=True)) == [(1, -1.0), (1, 0.8), (2, -1.0), (2, 0.8)]
    assert rows["n"].unique().tolist() == [15]
    # Without the wider levels two of four faithful kinds are told from the wrong one. "It rained early." needs two
    # sentences, which with j = 1 the whole document still has.
    assert rows["auc"].tolist() == [0.5, 1.0, 0.5, 1.0]
    assert rows[["low", "high"]].to_numpy()[1].tolist() == [1, 1]
    assert rows["gated"].tolist() == [0.0, 0.5, 0.0, 0.5]


def test_sensitivity_reads_only_the_first_documents(corpus):
    rows = nli_alignment.sensitivity(corpus, SPEC, FakeModel(), [2], [0.8], documents=1)
    assert rows["n"].tolist() == [5]
    wide = nli_display.grid(rows.assign(corpus="made"))
    assert wide.columns[0] == "corpus"
    assert wide["window"].tolist() == ["AUC, j = 2", "share gated"]


@pytest.mark.parametrize(("number", "told"), [("1", "79.2 / 68.8 / 73.4"), ("6", "95.5 / 93.9 / 94.7")])
def test_published_easiness_stands_as_it_is_printed(number, told, monkeypatch):
    monkeypatch.chdir(ROOT)
    rows = pd.DataFrame({"decomposer": ["recorded:fenice-t5", "sentences"]})
    found = nli_claims.easiness_published(rows, published.table("fenice", number))
    assert found[nli_claims.PUBLISHED_EASINESS].fillna("none").tolist() == [told, "none"]


def test_easiness_by_states_is_a_mean_over_test_references(monkeypatch):
    class Letters:  # the state of a word is its first letter
        def encode(self, texts, word_spans):
            states = np.eye(26)
            return [
                SimpleNamespace(words=states[[ord(text[a].lower()) - 97 for a, _ in spans]])
                for text, spans in zip(texts, word_spans, strict=True)
            ]

    rows = Rows("gold")
    for number, split in enumerate(("test", "test", "validation")):
        example = rows.example(number, "reference", document=f"D {number}.", summary="x", split=split, origin="o")
        rows.gold(example, [{"claim": "Ann won."}])
        rows.recorded(example, "hand", ["Andy wept."] if number else ["Bo sang.", "Ann won."])
    [row] = nli_claims.easiness_by_states(rows.corpus(), ["recorded:hand"], FakeModel(), encoder=Letters()).to_dict(
        "records"
    )
    # The first: P 1/2, R 1; the second: the same letters.
    assert (row["states_precision"], row["states_recall"]) == (75, 100)
    assert row["states_f1"] == pytest.approx(100 * (2 / 3 + 1) / 2)


def test_ratings_of_long_documents_are_correlated_over_documents():
    rows = Rows("long")
    for number in range(6):
        words = ["Ann won.", "It rained.", "Bo left."]
        example = rows.example(number, "s", document="\n".join([*words, f"Day {number}."]), summary="x", origin="o")
        rows.recorded(example, "hand", [*words[: number % 4], "Bo sang."])
        rows.score(example, "human", number % 4 / 4)
    corpus = rows.corpus()
    runs = nli_alignment.run(corpus, {FULL: SPEC}, FakeModel())
    [row] = nli_alignment.rated(corpus, runs, draws=50, seed=0).to_dict("records")
    assert row["spearman"] == pytest.approx(1)
    assert (row["n"], row["sentences"], row["kendall"]) == (6, 4, pytest.approx(1))
    assert row["low"] <= row["spearman"]
    assert np.isnan(row["difference"])


def _rated(columns, human, documents):
    """A corpus with these ratings and runs with these scores."""
    rows = Rows("long")
    for number, (rating, document) in enumerate(zip(human, documents, strict=True)):
        example = rows.example(document, str(number), document=f"Day {document}.", summary="x", origin="o")
        rows.score(example, "human", rating)
    runs = {name: SimpleNamespace(scores=pd.DataFrame({"score": values})) for name, values in columns.items()}
    return rows.corpus(), runs


def test_the_difference_to_word_overlap_is_drawn_over_documents_for_both_alike():
    generator = np.random.default_rng(1)
    human = generator.integers(1, 6, 40).astype(float)
    columns = {"word-overlap": human + 3 * generator.random(40), CLAIMS: human + 2 * generator.random(40)}
    columns[CLAIMS][7] = np.nan  # left out for both
    corpus, runs = _rated(columns, human, np.repeat(range(20), 2))
    base, row = nli_alignment.rated(corpus, runs, draws=200, seed=5).to_dict("records")
    kept = [k for k in range(40) if k != 7]
    rho = {name: stats.spearmanr(values[kept], human[kept]).statistic for name, values in columns.items()}
    assert (base["n"], row["n"]) == (39, 39)
    assert base["spearman"] == pytest.approx(rho["word-overlap"])
    assert row["difference"] == pytest.approx(rho[CLAIMS] - rho["word-overlap"])
    assert np.isnan(base["difference"])
    # The same documents, drawn and correlated one after the other.
    generator, gaps = np.random.default_rng(5), []
    members = [list(part) for _, part in pd.Series(kept, kept).groupby(corpus.examples["document_id"])]
    for _ in range(200):
        drawn = [k for i in generator.integers(20, size=20) for k in members[i]]
        one, other = (
            stats.spearmanr(columns[name][drawn], human[drawn]).statistic for name in (CLAIMS, "word-overlap")
        )
        gaps.append(one - other)
    found = [row["difference_low"], row["difference_high"]]
    assert found == pytest.approx(np.percentile(gaps, [2.5, 97.5]))


def test_what_is_said_of_long_documents_follows_the_interval_of_the_difference():
    columns = ["corpus", "metric", "n", "spearman", "difference", "difference_low", "difference_high"]
    made = [("x", "word-overlap", 9, 0.5, np.nan, np.nan, np.nan), ("x", CLAIMS, 9, 0.6, 0.1, -0.1, 0.3)]
    rows = pd.DataFrame([*made, ("x", FULL, 9, 0.8, 0.3, 0.1, 0.5)], columns=columns)
    assert nli_display.about_long(rows) == [
        "**x**, 9 summaries of long documents: Spearman's rho with people's ratings is 0.50 for word overlap; `claims` 0.60, "
        "+0.10 (-0.10 to +0.30), not told apart from it; `full` 0.80, +0.30 (+0.10 to +0.50), told apart from it."
    ]
    assert nli_display.about_long(pd.DataFrame(columns=["corpus"])) == []


@pytest.mark.parametrize(("low", "place"), [(0.6, "in"), (0.75, "below")])
def test_what_is_said_of_windows_and_gates_is_how_far_they_move_auc(low, place):
    columns = ["window", "gate", "auc", "low", "high", "gated", "n"]
    rows = pd.DataFrame([(1, 0.0, 0.7, 0.5, 0.8, 0, 9), (5, 0.8, 0.8, low, 0.9, 0.5, 9)], columns=columns)
    assert nli_display.about_grid(rows.assign(corpus="x")) == [
        "**x**: over 2 windows and gates AUC on 9 validation summaries goes from 0.700 (j = 1, T = 0) to 0.800 (j = 5, "
        f"T = 0.8; {low:.3f} to 0.900). No cell is tested against another, and the highest of so many flatters itself; the "
        f"lowest lies {place} its interval."
    ]
    assert nli_display.about_grid(rows.assign(corpus="x", auc=np.nan)) == []


def test_long_documents_have_prompted_claims_where_none_are_on_record_and_only_candidates():
    rows = nli_alignment.long_form(nli_alignment.ablation(SPEC), 16)
    assert list(rows) == ["word-overlap", CLAIMS, FULL]
    assert rows.pop("word-overlap").judge == "word-overlap"
    assert {row.decompose for row in rows.values()} == {"fenice-decompose-json"}
    assert {row.alignment.candidates for row in rows.values()} == {16}
    assert [row.alignment.window for row in rows.values()] == [None, 2]
    own = SPEC.model_copy(update={"decompose": "sentences"})
    assert nli_alignment.long_form(nli_alignment.ablation(own), None)[FULL].decompose == "sentences"


def test_the_example_is_a_test_summary_and_says_where_each_claim_stands(corpus):
    full = evaluate("m", SPEC, FakeModel(), corpus.examples, recorded=corpus.recorded_claims)
    chosen, rows = nli_display.example(corpus, full)
    assert corpus.examples.set_index("id").loc[chosen, "split"] == "test"
    assert rows["claim"].tolist() == ["Ann Lee left early."]  # of the summaries with one claim the first
    assert rows[["level", "first", "last"]].to_numpy().tolist() == [["coreference", 2, 2]]
    assert nli_display.shown(rows, "sample")["sentences"].tolist() == ["3"]


def test_texts_of_public_corpora_are_not_shown(corpus):
    full = evaluate("m", SPEC, FakeModel(), corpus.examples, recorded=corpus.recorded_claims)
    _, rows = nli_display.example(corpus, full)
    assert nli_display.labels(rows, "public") == ["claim 1"]
    assert not {"text", "premise"} & set(nli_display.shown(rows, "public"))
    assert {"text", "premise"} <= set(nli_display.shown(rows, "sample"))


def test_claims_have_the_same_numbers_in_figure_and_table_and_probabilities_are_no_p_values():
    alike = "It rained on the harbour town for the whole of the long night, "
    rows = pd.DataFrame(
        {"claim": [alike + "they said.", alike + "Ann said."], "level": "sentence", "premise": "It rained."}
    )
    rows = rows.assign(first=[0, 1], last=[0, 3], p_entail=[0.75, 0.5], p_neutral=[0.25, 0.5], p_contradict=[0.0, 0.0])
    assert nli_display.labels(rows, "sample") == [f"{number}. {alike[:57]}..." for number in (1, 2)]
    shown = nli_display.shown(rows, "public")
    assert shown[["claim", "sentences"]].to_numpy().tolist() == [[1, "1"], [2, "2-4"]]
    assert shown.columns.tolist()[-3:] == ["entailment", "neutral", "contradiction"]
    assert tables.show(shown).data.count(">0.000<") == 2  # not "< .001"
    assert nli_display.shown(rows, "sample")["text"].tolist() == rows["claim"].tolist()


def test_verdicts_of_the_metric_name_level_premise_place_and_probabilities(corpus, tmp_path):
    full = evaluate("m", SPEC, FakeModel(), corpus.examples, recorded=corpus.recorded_claims)
    full.write(tmp_path / "m")
    verdicts = type(full).read(tmp_path / "m").verdicts
    documents = corpus.examples.set_index("id")["document"]
    for row in verdicts.itertuples():
        there = documents[row.example_id][int(row.premise_start) : int(row.premise_end)].split("\n")
        assert row.level == "coreference" or row.premise == " ".join(there)
        assert row.support == (row.p_entail - row.p_contradict + 1) / 2
        assert tuple(row.evidence) == tuple(sorted(row.evidence))


def test_other_verifiers_have_no_columns_of_alignments(corpus):
    spec = MetricSpec(decompose="sentences", verify="acueval-verify-zeroshot")
    assert "level" not in evaluate("m", spec, FakeModel(), corpus.examples).verdicts


def test_alignment_settings_without_alignment_are_refused():
    with pytest.raises(ValueError, match="goes with `verify: alignment`"):
        specification(
            "m", {"m": {"decompose": "sentences", "verify": "acueval-verify-zeroshot", "alignment": {"window": 3}}}
        )
    with pytest.raises(ValueError, match=r"alignment\.window"):
        specification("m", {"m": {"decompose": "sentences", "verify": "alignment", "alignment": {"window": 0}}})


def _without(corpus, **columns):
    return replace(corpus, examples=corpus.examples.assign(**columns))


@pytest.mark.parametrize(
    "columns",
    [{"label": np.nan}, {"split": "test"}, {"split": "validation"}, {"label": 1.0}],
    ids=["no labels", "no validation", "no test", "one class"],
)
def test_a_corpus_without_what_thresholds_need_gives_rows_without_numbers(corpus, columns):
    corpus = _without(corpus, **columns)
    runs = nli_alignment.run(corpus, nli_alignment.ablation(SPEC), FakeModel())
    rows = nli_alignment.table(corpus, runs, by_origin=False, draws=20, seed=0)
    assert {SENTENCES, CLAIMS, COREFERENCE, FULL} <= set(rows["metric"])
    assert (rows["n"] == 0).all()
    assert rows[["balanced_accuracy", "step"]].isna().all(axis=None)
    levels = nli_alignment.granularity(corpus, runs[FULL])
    [said, _] = nli_display.findings(nli_alignment.corrected(rows.assign(corpus="made")), levels)
    assert "too few labelled summaries" in said
    assert len(nli_display.example(corpus, runs[FULL])[1])


def test_rows_that_scored_nothing_in_common_have_no_numbers(corpus):
    runs = nli_alignment.run(corpus, nli_alignment.ablation(SPEC), FakeModel())
    half = corpus.examples.groupby("split").cumcount() % 2 == 0
    for name, lost in ((SENTENCES, half), (FULL, ~half)):
        scores = runs[name].scores.assign(score=runs[name].scores["score"].mask(lost))
        runs[name] = replace(runs[name], scores=scores)
    rows = nli_alignment.table(corpus, runs, by_origin=True, draws=20, seed=0)
    assert (rows["n"] == 0).all()
    assert rows["balanced_accuracy"].isna().all()
    assert rows.set_index("metric").loc[FULL, "unscored"] > 0


def test_a_row_that_scored_nothing_has_no_step_and_leaves_the_others_theirs(corpus):
    runs = nli_alignment.run(corpus, nli_alignment.ablation(SPEC), FakeModel())
    runs[SENTENCES] = replace(runs[SENTENCES], scores=runs[SENTENCES].scores.assign(score=np.nan))
    rows = nli_alignment.table(corpus, runs, by_origin=True, draws=20, seed=0).set_index("metric")
    assert np.isnan(rows.loc[CLAIMS, "step"])
    assert rows.loc[[COREFERENCE, FULL], "step"].tolist() == [12.5, 25]
    assert rows.loc[[SENTENCES, CLAIMS, FULL], "n"].tolist() == [0, 15, 15]


def test_windows_and_gates_need_labelled_validation_summaries(corpus):
    rows = nli_alignment.sensitivity(_without(corpus, split="test"), SPEC, FakeModel(), [2], [0.8], None)
    assert rows.empty
    assert len(nli_display.grid(rows.assign(corpus="made"))) == 1


def test_a_cut_keeps_the_first_documents_of_each_split_that_it_names(corpus):
    def kept(limit):
        examples = nli_alignment.cut(corpus, limit).examples
        return examples.groupby("split")["document_id"].agg(lambda ids: sorted(ids.unique())).to_dict()

    every = kept(None)
    assert [len(ids) for ids in every.values()] == [3, 3]
    assert kept({"validation": 1, "test": None}) == every | {"validation": every["validation"][:1]}
    assert kept({"validation": 2}) == every | {"validation": every["validation"][:2]}
    assert sum(map(len, kept(4).values())) == 4
