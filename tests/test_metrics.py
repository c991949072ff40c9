"""Metrics: specifications, aggregation, and the one flow over examples."""

import math

import numpy as np
import pandas as pd
import pytest
from fakes import FakeModel, Scripted, prompted
from hypothesis import given, settings
from hypothesis import strategies as st

from claimwise import models, prompts, schema
from claimwise import paths as store
from claimwise.errors import ClaimwiseError
from claimwise.metrics import DEFAULT_METRICS, Evaluation, MetricError, MetricSpec, aggregate, evaluate, specification
from claimwise.metrics.fenice.alignment import Aligner
from claimwise.models.base import Claim, Decomposition, Verdict, needs_language_model
from claimwise.reasons import Reason

ACUEVAL = MetricSpec(**DEFAULT_METRICS["acueval"])
FACTORED = MetricSpec(**DEFAULT_METRICS["factored"])
HOLISTIC = MetricSpec(**DEFAULT_METRICS["holistic"])
OVERLAP = MetricSpec(**DEFAULT_METRICS["word-overlap"])

#: A verification prompt that asks for reasons before the answer.
REASONED = next(name for name in prompts.names("verify") if needs_language_model(prompts.load(name)))

SUPPORTS = st.lists(st.one_of(st.just(math.nan), st.floats(0, 1), st.sampled_from([0.0, 1.0])), max_size=12)


def run(spec, table, model=None, **options):
    return evaluate("m", spec, model or FakeModel(), table, progress=False, **options)


def frames(evaluation):
    return evaluation.claims, evaluation.verdicts, evaluation.scores


def same(one, two):
    for first, second in zip(frames(one), frames(two), strict=True):
        pd.testing.assert_frame_equal(first, second)


# ---------------------------------------------------------------- aggregation


def test_aggregates_by_hand():
    supports = np.array([0.5, 1.0, math.nan, 0.25])
    assert aggregate(supports, "mean") == pytest.approx(1.75 / 3)
    assert aggregate(supports, "product") == pytest.approx(0.125)
    assert aggregate(supports, "geometric") == pytest.approx(0.5)  # the third root of an eighth
    assert aggregate(supports, "min") == 0.25
    assert aggregate(supports, "all") == 0
    assert aggregate(np.array([0.5, 1.0, math.nan]), "all") == 1
    assert math.isnan(aggregate(np.array([math.nan]), "all"))


@given(SUPPORTS)
def test_aggregates_are_ordered_and_bounded(supports):
    supports = np.array(supports, float)
    known = supports[~np.isnan(supports)]
    ways = ("mean", "product", "geometric", "min")
    mean, product, geometric, smallest = (aggregate(supports, how) for how in ways)
    if not len(known):
        assert all(math.isnan(value) for value in (mean, product, geometric, smallest))
    else:
        assert 0 <= product <= smallest * (1 + 1e-9)
        assert smallest - 1e-12 <= mean <= known.max() + 1e-12
        assert smallest * (1 - 1e-9) <= geometric <= mean + 1e-12
        assert geometric == pytest.approx(aggregate(np.tile(known, 2), "geometric"), rel=1e-9)  # not of their number
        assert product == pytest.approx(np.prod(known), rel=1e-9, abs=1e-300)


@given(SUPPORTS, st.randoms())
def test_aggregates_do_not_depend_on_order_or_on_unparsed_claims(supports, random):
    mixed = [*supports, math.nan]
    random.shuffle(mixed)
    for how in ("mean", "product", "geometric", "min"):
        expected = aggregate(np.array(supports, float), how)
        assert aggregate(np.array(mixed, float), how) == pytest.approx(expected, nan_ok=True)


def test_one_impossible_claim_makes_the_product_zero_without_a_warning(recwarn):
    assert aggregate(np.array([0.0, 0.9]), "product") == 0
    assert aggregate(np.full(2000, 0.5), "product") == 0  # beneath the smallest float, not an error
    assert not recwarn.list


# ---------------------------------------------------------------- specifications


@pytest.mark.parametrize("name", DEFAULT_METRICS)
def test_the_default_metrics_are_well_formed(name):
    assert isinstance(specification(name, DEFAULT_METRICS), MetricSpec)


def test_of_an_unknown_metric_those_that_there_are_are_listed():
    with pytest.raises(MetricError, match=r"unknown metric 'zzz'\. There are: acueval, factored"):
        specification("zzz", DEFAULT_METRICS)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "either `judge`, or both `decompose` and `verify`"),
        ({"decompose": "sentences"}, "either `judge`, or both"),
        ({"judge": "j", "decompose": "d", "verify": "v"}, "either `judge`, or both"),
        ({"verify": "v"}, "either `judge`, or both"),
        ({"judge": "j", "decompose": "d"}, "either `judge`, or both"),
        ({"judge": "j", "verify": "v"}, "either `judge`, or both"),
        ({"decompose": "d", "verify": "v", "aggregate": "median"}, "aggregate: .*'mean', 'product'"),
        ({"decompose": "d", "verfy": "v"}, "verfy: unknown key; did you mean 'verify'"),
        (None, "metric 'mine' in the settings"),
    ],
)
def test_a_malformed_metric_is_named(entry, message):
    with pytest.raises(MetricError, match=message) as caught:
        specification("mine", {"mine": entry})
    assert "metric 'mine' in the settings" in str(caught.value)


# ---------------------------------------------------------------- evaluate


def test_a_score_by_hand(examples_table):
    # Claims "The cat sat." 3 of 3 words, "A dog barked." 0 of 3, "The cat flew." 2 of 3.
    table = examples_table({"summary": "The cat sat. A dog barked. The cat flew."})
    found = run(ACUEVAL, table)
    assert found.claims["claim"].tolist() == ["The cat sat.", "A dog barked.", "The cat flew."]
    assert found.claims[["start", "end"]].to_numpy().tolist() == [[0, 12], [13, 26], [27, 40]]
    assert found.verdicts["support"].tolist() == pytest.approx([1, 0, 2 / 3])
    assert found.scores.to_dict("records") == [
        {
            "example_id": "e0",
            "metric": "m",
            "score": pytest.approx(5 / 9),
            "n_claims": 3,
            "n_unparsed": 0,
            "reason": None,
        }
    ]
    assert run(FACTORED, table).scores["score"].tolist() == [0]
    assert run(HOLISTIC, table).scores["score"].tolist() == pytest.approx([3 / 7])


def test_unparsed_claims_are_left_out_and_counted(examples_table):
    class Mumbling(FakeModel):
        def verify(self, documents, claims, prompt, extras=None):
            found = super().verify(documents, claims, prompt, extras)
            return [
                [
                    Verdict(math.nan, "no answer") if "dog" in claim else verdict
                    for claim, verdict in zip(*pair, strict=True)
                ]
                for pair in zip(claims, found, strict=True)
            ]

    table = examples_table(
        {"summary": "The cat sat. A dog barked. The cat flew."},
        {"summary": "A dog. The dog."},
        {"summary": "The cat sat."},
    )
    scores = run(ACUEVAL, table, Mumbling()).scores
    assert scores["score"].tolist() == pytest.approx([(1 + 2 / 3) / 2, math.nan, 1], nan_ok=True)
    assert scores["n_claims"].tolist() == [3, 2, 1]
    assert scores["n_unparsed"].tolist() == [1, 2, 0]
    assert scores["reason"].tolist() == ["some claims have no verdict and do not count", "no answer", None]


def test_a_list_that_was_cut_off_and_a_claim_without_a_verdict_are_both_said(examples_table):
    class Cut(FakeModel):
        def decompose(self, passages, prompt):
            return [Decomposition((Claim("The cat sat."), Claim("A mumble.")), Reason.CUT) for _ in passages]

    [row] = run(ACUEVAL, examples_table({}), Cut()).scores.to_dict("records")
    assert (row["score"], row["n_unparsed"]) == (1, 1)
    assert row["reason"] == "cut off at its length limit; some claims have no verdict and do not count"


class Letters:
    """An NLI model whose probabilities the claim names; a token is a character."""

    name, fingerprint, limit = "letters", "letters", 60

    def count(self, texts):
        return [len(text) for text in texts]

    def scope(self, document):
        return ""

    def entail(self, premises, hypotheses, scope):
        known = {"W": (0.85, 0.1, 0.05), "N": (0.2, 0.7, 0.1), "X": (math.nan,) * 3}
        return np.array([known[claim[0]] for claim in hypotheses])


@pytest.fixture
def aligned(monkeypatch, examples_table):
    """Scores of summaries by alignment: of a claim in W the support is 0.9, in N 0.55, and in X there is none."""
    monkeypatch.setattr(Aligner, "from_settings", lambda settings, cache=None: Aligner(Letters()))

    def scores(how, *summaries):
        spec = MetricSpec(decompose="sentences", verify="alignment", aggregate=how)
        return run(spec, examples_table(*({"summary": summary} for summary in summaries))).scores

    return scores


def test_all_aligned_claims_are_supported_where_all_are_entailed(aligned):
    """The support of a claim that the document says nothing of is one half and more."""
    assert aligned("all", "Won it. Wept.", "Won it. No one.", "Won it. Xerxes.")["score"].tolist() == [1, 0, 1]
    assert aligned("min", "Won it. No one.")["score"].tolist() == pytest.approx([0.55])
    assert aligned("mean", "Won it. No one.")["score"].tolist() == pytest.approx([(0.9 + 0.55) / 2])


def test_a_contradicted_claim_lowers_nli_further_than_an_absent_one(examples_table):
    """Worked by hand: support is 0.2 in all; contradicted are 0.8 * 0.75 of the first, and none of the others."""

    class Telling(FakeModel):
        @staticmethod
        def _verdict(document, claim):
            return Verdict(0.2, contradicted={"W": 0.75, "N": 0.0, "X": math.nan}[claim[0]])

    table = examples_table(*({"summary": summary} for summary in ("Won it.", "No one.", "Xerxes.", "Won it. No one.")))
    spec = MetricSpec(decompose="sentences", verify="acueval-verify-zeroshot", aggregate="nli")
    found = run(spec, table, Telling())
    assert found.scores["score"].tolist() == pytest.approx([0.3, 0.6, 0.6, 0.45])
    assert found.verdicts["support"].tolist() == [0.2] * 5
    assert found.verdicts["p_contradict"].tolist() == pytest.approx([0.6, 0, math.nan, 0.6, 0], nan_ok=True)


def test_aligned_claims_have_nlis_score_already(aligned):
    summary = "Won it. No one."
    assert aligned("nli", summary)["score"].tolist() == aligned("mean", summary)["score"].tolist()


def test_what_was_never_read_is_no_lost_reply(aligned):
    endless = f"Wh{'y' * 60}."
    scores = aligned("mean", f"Won it. {endless}", "Won it. Xerxes.", endless)
    assert scores["n_claims"].tolist() == [2, 2, 1]
    assert scores["n_unparsed"].tolist() == [0, 1, 0]
    assert set(scores["reason"][:2]) == {"some claims have no verdict and do not count"}
    assert scores["reason"].tolist()[2].startswith("a claim of 63 tokens leaves no room for a premise")


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"judge": "chatgpt-judge-cot"}, "this model does not reason in words"),
        ({"judge": "belugaeval-judge-consistency"}, None),
        ({"decompose": "sentences", "verify": REASONED}, "this model does not reason in words"),
    ],
)
def test_a_model_that_cannot_do_what_a_prompt_asks_was_not_asked(examples_table, spec, reason):
    table = examples_table({"summary": "The cat sat. A cat ran."})
    scores = run(MetricSpec(**spec), table, models.load({"kind": "lexical"})).scores
    assert scores["reason"].tolist() == [reason]
    assert scores["score"].isna().tolist() == [reason is not None]
    assert scores["n_unparsed"].tolist() == [0]


def test_what_does_not_fit_into_the_context_was_not_asked(examples_table):
    model = prompted(Scripted(lambda prompt: "Yes", context=10))
    scores = run(MetricSpec(decompose="sentences", verify=ACUEVAL.verify), examples_table({}), model).scores
    assert scores["reason"].tolist() == ["longer than the model's context"]
    assert (scores["n_claims"].tolist(), scores["n_unparsed"].tolist()) == ([1], [0])


def test_sentences_that_a_language_model_made_no_claims_of_are_counted(examples_table):
    """Of three sentences one has claims: the score is of that one, and the table says that two are missing."""

    def answer(prompt: str) -> str:
        if "facts: " not in prompt:
            return "Yes."
        return "- The cat sat." if prompt.endswith("The cat sat.") else "I'm sorry, I cannot do that."

    model = prompted(Scripted(answer))
    spec = MetricSpec(decompose="factscore-decompose-sentence", verify=ACUEVAL.verify)
    table = examples_table(
        {"summary": "The cat sat. A dog barked. A bird sang."},
        {"summary": "The cat sat."},
        {"summary": "A dog barked."},
    )
    scores = run(spec, table, model).scores
    assert scores["score"].tolist() == pytest.approx([1, 1, math.nan], nan_ok=True)
    assert scores["n_claims"].tolist() == [1, 1, 0]
    assert scores["n_unparsed"].tolist() == [2, 0, 1]
    assert scores["reason"].tolist() == ["refusal", None, "refusal"]


def test_bad_input_is_nan_with_a_reason(examples_table):
    table = examples_table(
        {"document": ""},
        {"document": " \n"},
        {"summary": ""},
        {"summary": "\t"},
        {"summary": "mumble"},
        {"summary": "雨が降った。"},
    )
    found = run(ACUEVAL, table).scores
    assert found["reason"].tolist() == [
        "empty document",
        "empty document",
        "empty summary",
        "empty summary",
        "no bullet in the reply",
        None,
    ]
    assert found["score"].isna().tolist() == [True] * 5 + [False]
    assert found["score"].iloc[5] == 0
    assert found["n_claims"].tolist() == [1, 1, 0, 0, 0, 1]
    assert found["n_unparsed"].tolist() == [0] * 6  # of the blank ones nothing was asked


@pytest.mark.parametrize("spec", [HOLISTIC, OVERLAP], ids=["prompted", "word-overlap"])
def test_a_judge_has_no_claims_and_a_blank_text_is_no_lost_reply(spec, examples_table):
    found = run(spec, examples_table({}, {"document": ""}, {"summary": " "}))
    assert len(found.claims) == len(found.verdicts) == 0
    assert found.scores["score"].tolist() == pytest.approx([1, math.nan, math.nan], nan_ok=True)
    assert found.scores["n_claims"].tolist() == [0, 0, 0]
    assert found.scores["n_unparsed"].tolist() == [0, 0, 0]
    assert found.scores["reason"].tolist() == [None, "empty document", "empty summary"]


def test_a_judges_lost_reply_is_counted(examples_table):
    found = run(HOLISTIC, examples_table({}, {"summary": "mumble"})).scores
    assert found["n_unparsed"].tolist() == [0, 1]
    assert found["reason"].tolist() == [None, "no rating in the reply"]


def test_a_frame_of_ones_own_needs_document_and_summary_only(examples_table):
    table = examples_table({"summary": "The cat sat."}, {"document": "A dog."}, {"summary": "A dog barked."})
    expected = run(ACUEVAL, table).scores
    pd.testing.assert_frame_equal(run(ACUEVAL, table[["id", "document", "summary"]]).scores, expected)
    bare = run(ACUEVAL, table[["document", "summary"]].set_axis([7, 7, 7])).scores
    pd.testing.assert_frame_equal(bare, expected.assign(example_id=["1", "2", "3"]))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda table: table.drop(columns="summary"),
            "examples lack the column 'summary'; expected document, summary and",
        ),
        (lambda table: table.assign(id="x"), "the id 'x' appears twice"),
        (lambda table: table.to_dict("records"), r"expected a data frame .*pd\.DataFrame\(rows\) makes one"),
        (lambda table: table.assign(document=[None, "It rained."]), r"row 0 \(from 0\), column 'document': .*got nan"),
    ],
)
def test_a_frame_that_is_none_of_examples_is_named(examples_table, spoil, message):
    with pytest.raises(MetricError, match=message):
        run(ACUEVAL, spoil(examples_table({}, {})))


def test_ids_of_documents_may_be_missing_and_of_any_kind(examples_table):
    table = examples_table({}, {}, {})
    plain = run(ACUEVAL, table).scores["score"].tolist()
    assert run(ACUEVAL, table.assign(document_id=[None, 3, "x"])).scores["score"].tolist() == plain


@pytest.mark.parametrize(
    ("spec", "role", "example"),
    [
        ({"decompose": "acueval-verify-zeroshot", "verify": "acueval-verify-zeroshot"}, "decompose", "5shot"),
        ({"decompose": "sentences", "verify": "belugaeval-judge-consistency"}, "verify", "acueval-verify-zeroshot"),
        ({"judge": "acueval-verify-zeroshot"}, "judge", "belugaeval-judge-consistency"),
    ],
)
def test_a_prompt_for_another_role_is_refused_before_anything_is_asked(examples_table, spec, role, example):
    model = FakeModel()
    with pytest.raises(ClaimwiseError, match=f"prompt '.*' is for .*, expected one for {role}: .*{example}"):
        run(MetricSpec(**spec), examples_table({}), model)
    assert not model.calls


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"decompose": "sentences", "verify": "sentences"}, {"verify": "sentences"}),
        ({"decompose": "alignment", "verify": "alignment"}, {"decompose": "alignment"}),
        ({"decompose": "word-overlap", "verify": "alignment"}, {"decompose": "word-overlap"}),
        ({"decompose": "recorded:t5", "verify": "alignment"}, {}),
        ({"judge": "summary"}, {"judge": "summary"}),
        ({"judge": "word-overlap"}, {}),
    ],
)
def test_what_is_no_prompt_in_one_role_is_one_in_another(spec, wrong):
    assert MetricSpec(**spec).prompt_names == wrong


def test_recorded_claims_are_scored_in_place_of_the_models(examples_table):
    recorded = pd.DataFrame(
        {"example_id": ["e1", "e1"], "decomposer": "t5", "claim_index": [0, 1], "claim": ["The cat sat.", "It flew."]}
    )
    model = FakeModel()
    spec = MetricSpec(decompose="recorded:t5", verify=ACUEVAL.verify, aggregate="min")
    scores = run(spec, examples_table({}, {}), model, recorded=recorded).scores
    assert scores["score"].tolist() == pytest.approx([math.nan, 0], nan_ok=True)
    assert scores["reason"].tolist() == ["no claims", None]
    assert model.calls["decompose"] == 0


def test_claims_that_the_examples_bring_are_verified_and_missing_ones_asked_for(examples_table):
    spec = MetricSpec(decompose="recorded:given", verify=ACUEVAL.verify, aggregate="min")
    rows = examples_table({}, {})
    brought = rows.assign(claims=[["The cat sat.", "It flew."], []])
    assert run(spec, brought, FakeModel()).claims["claim"].tolist() == ["The cat sat.", "It flew."]
    for lacking in (rows, rows.assign(claims=None)):
        with pytest.raises(ClaimwiseError, match="'given' names claims that the examples have to bring"):
            run(spec, lacking, FakeModel())


def test_no_examples_no_rows(examples_table):
    for spec in (ACUEVAL, OVERLAP):
        assert [len(frame) for frame in frames(run(spec, examples_table({}).iloc[:0]))] == [0, 0, 0]


TEXT = st.sampled_from(
    ["The cat sat.", "The cat sat. It rained.", "It rained on Lee. The mat!", "", "mumble", "雨が降った。"]
)
ROWS = st.lists(st.fixed_dictionaries({"document": TEXT, "summary": TEXT}), min_size=1, max_size=8)


@settings(max_examples=15)
@given(rows=ROWS, batch=st.integers(1, 9))
def test_the_batch_size_changes_nothing(examples_table, rows, batch):
    table = examples_table(*rows)
    same(run(ACUEVAL, table, batch=batch), run(ACUEVAL, table, batch=1000))
    same(run(HOLISTIC, table, batch=batch), run(HOLISTIC, table, batch=1000))


@settings(max_examples=15)
@given(rows=ROWS, random=st.randoms())
def test_the_order_of_examples_is_that_of_the_rows_and_changes_no_value(examples_table, rows, random):
    table = examples_table(*rows)
    order = list(range(len(table)))
    random.shuffle(order)
    one, mixed = run(ACUEVAL, table), run(ACUEVAL, table.iloc[order].reset_index(drop=True))
    assert mixed.scores["example_id"].tolist() == table["id"].iloc[order].tolist()
    expected = one.scores.set_index("example_id").loc[table["id"].iloc[order]].reset_index()
    pd.testing.assert_frame_equal(mixed.scores, expected)
    key = ["example_id", "claim_index"]
    pd.testing.assert_frame_equal(
        mixed.verdicts.sort_values(key, ignore_index=True), one.verdicts.sort_values(key, ignore_index=True)
    )


def test_summaries_of_one_document_reach_the_model_together(examples_table):
    class Watching(FakeModel):
        def verify(self, documents, claims, prompt, extras=None):
            asked.append(list(documents))
            return super().verify(documents, claims, prompt, extras)

    asked = []
    table = examples_table(*({"document": f"Number {number % 3}."} for number in range(6)))
    run(ACUEVAL, table, Watching(), batch=2)
    assert sorted(asked) == [[f"Number {number}."] * 2 for number in range(3)]


# ---------------------------------------------------------------- on disk


def test_what_was_written_is_read(tmp_path, examples_table):
    for spec in (ACUEVAL, OVERLAP):
        found = run(spec, examples_table({"summary": "The cat sat. It flew."}, {"summary": ""}))
        found.write(tmp_path / "deep" / "m")
        again = Evaluation.read(tmp_path / "deep" / "m")
        for name, one, two in zip(("claims", "verdicts", "scores"), frames(found), frames(again), strict=True):
            assert schema.validate(two, name).equals(two)
            assert one.drop(columns="evidence", errors="ignore").equals(two.drop(columns="evidence", errors="ignore"))
        assert [list(e) for e in again.verdicts["evidence"]] == [list(e) for e in found.verdicts["evidence"]]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["m"]


def test_a_write_that_is_killed_leaves_no_half_folder(tmp_path, examples_table, monkeypatch):
    folder = tmp_path / "m"
    found = run(ACUEVAL, examples_table({}))
    to_parquet = pd.DataFrame.to_parquet

    def die(self, path, **options):
        if path.stem == "scores":  # the last of the three
            path.write_bytes(b"PAR1 and no more")
            raise KeyboardInterrupt
        return to_parquet(self, path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(pd.DataFrame, "to_parquet", die)
        with pytest.raises(KeyboardInterrupt):
            found.write(folder)
        assert not folder.exists()
    found.write(folder)
    better = run(ACUEVAL, examples_table({"summary": "It flew."}))
    with monkeypatch.context() as patch:
        patch.setattr(pd.DataFrame, "to_parquet", die)
        with pytest.raises(KeyboardInterrupt):
            better.write(folder)
        assert Evaluation.read(folder).scores.equals(found.scores)  # the old tables stay until the new are complete
    better.write(folder)
    assert Evaluation.read(folder).scores.equals(better.scores)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_person_s_folder_beside_is_left_alone(tmp_path):
    for name in ("m", "m.old", "m.partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").write_text(name)
    with store.replaced(tmp_path / "m") as new:
        (new / "one").write_text("1")
    assert (tmp_path / "m.old" / "mine").read_text() == "m.old"
    assert (tmp_path / "m.partial" / "mine").read_text() == "m.partial"


def test_a_missing_table_says_which_stage_makes_it(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"claims\.parquet is not there; `make repro` \(or `dvc repro`\) makes it"
    ):
        Evaluation.read(tmp_path / "m")
