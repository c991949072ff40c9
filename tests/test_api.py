"""The calls from Python: a number for a text, a list for a list, and the messages for wrong calls."""

import math
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fakes import FakeModel

import claimwise
from claimwise import metrics, models
from claimwise.errors import ClaimwiseError
from claimwise.models.base import Verdict
from claimwise.models.replies import Reply
from claimwise.testing import assert_faithful
from claimwise.user_file import decisions
from claimwise.user_file.score import score as score_file

CAT, RAIN = "The cat sat on the mat.", "It rained in Rome."


def test_texts_give_a_number_and_lists_a_list_in_order():
    assert claimwise.score(CAT, "The cat sat.", model=FakeModel()) == 1
    pairs = [(RAIN, "It rained in Rome."), (CAT, "The dog ran off."), (CAT, "The cat sat. The dog sat.")]
    documents, summaries = zip(*pairs, strict=True)
    found = claimwise.score(documents, summaries, model=FakeModel())
    assert found == pytest.approx([1, 1 / 4, (1 + 2 / 3) / 2])
    frame = pd.DataFrame(pairs, columns=["document", "summary"])
    assert claimwise.score(frame["document"], frame["summary"], model=FakeModel()) == found
    assert claimwise.score(CAT, list(summaries[1:]), model=FakeModel()) == found[1:]  # one document of all
    assert claimwise.score([], []) == []


def test_a_model_is_named_described_or_given():
    summary = "The cat sat. A dog barked."
    assert claimwise.score(CAT, summary, "sentences", "lexical") == claimwise.score(
        CAT, summary, "sentences", {"kind": "lexical"}
    )
    with pytest.raises(
        ClaimwiseError, match=r"unknown model 'gpt'; there are: embedded, .*; for another give its kind and options"
    ) as caught:
        claimwise.score(CAT, summary, model="gpt")
    assert "params.yaml" not in str(caught.value)  # which Python does not read
    with pytest.raises(ClaimwiseError, match="unknown metric 'acuevel'; did you mean 'acueval'"):
        claimwise.score(CAT, summary, metric="acuevel")
    for metric in ({"judge": "x"}, None):
        with pytest.raises(ClaimwiseError, match="unknown metric"):
            claimwise.score(CAT, summary, metric)
    with pytest.raises(
        ClaimwiseError, match=r"^metric \['acueval', 'fenice'\]: one run scores one metric; run it again"
    ):
        claimwise.score(CAT, summary, metric=["acueval", "fenice"])


def test_the_embedded_model_is_what_a_call_asks():
    right, wrong = claimwise.score(CAT, ["The cat sat on the mat.", "The dog ran off to Paris."])
    assert 0 <= wrong < 0.5 < right <= 1


def test_another_language_is_warned_of_as_in_a_file():
    german = "Am Montag kündigte der Bürgermeister von Köln an, dass die Schule im Dorf nicht geöffnet wird."
    with pytest.warns(UserWarning, match="the summaries seem not to be English.* in Python model="):
        claimwise.score(german, german, "sentences")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        claimwise.score(german, german, "word-overlap")


def test_contexts_in_the_place_of_a_document_are_read_as_one():
    contexts = [RAIN, CAT]
    assert claimwise.score(contexts, "The cat sat in Rome.", model=FakeModel()) == 1
    assert claimwise.score([contexts, RAIN], ["The cat sat in Rome."] * 2, model=FakeModel()) == [1, 2 / 5]


def test_no_summary_is_called_faithful_of_whose_claims_none_is_supported():
    document = "The council met. Five electric vans will be bought for the parks department."
    found = claimwise.explain(document, "Vans", "factored")
    assert found.score > 0.43  # from which on a product is called faithful
    assert found.claims["verdict"].tolist() == [found.verdict] == ["not sure"]


def test_of_no_claims_there_are_no_verdicts():
    found = claimwise.check(RAIN, [], model="lexical")
    assert list(found) == list(claimwise.check(RAIN, [RAIN], model="lexical"))
    assert found.empty


def test_claims_of_ones_own_are_verified_as_they_stand():
    model = FakeModel()
    claims = ["The cat sat on the mat. It rained in Rome.", "The dog ran far off.", " "]
    found = claimwise.check([CAT, RAIN], claims, model=model)
    assert found["claim"].tolist() == claims
    assert found["support"].tolist() == pytest.approx([1, 1 / 5, math.nan], nan_ok=True)
    assert found["verdict"].tolist() == ["supported", "unsupported", ""]
    assert found["reason"].tolist() == [None, None, "empty claim"]
    assert found["evidence"][0][0] == CAT
    assert model.calls["decompose"] == 0
    assert claimwise.check(RAIN, "It rained.", "fenice")["verdict"].item() == "supported"
    with pytest.raises(
        ClaimwiseError, match="'holistic' judges whole summaries and verifies no claims; take one of acue"
    ):
        claimwise.check(RAIN, "It rained.", "holistic")


def test_a_score_that_says_little_is_not_called_faithful():
    score = claimwise.score(RAIN, "It snowed.")
    assert claimwise.verdict(score) == "not sure"
    assert claimwise.check(RAIN, ["It snowed.", RAIN])["verdict"].tolist() == ["not sure", "supported"]
    assert claimwise.verdict([score, 0.95, float("nan"), pd.NA]) == ["not sure", "faithful", "", ""]
    for wrong in ("much", [[0.5]]):
        with pytest.raises(ClaimwiseError, match="score: expected a number or several, got"):
            claimwise.verdict(wrong)
    for wrong in (1.7, [0.5, -1]):
        with pytest.raises(ClaimwiseError, match="score: expected a number from 0 to 1"):
            claimwise.verdict(wrong)
    with pytest.raises(ClaimwiseError, match="metric 'word-overlap': no bounds are known; tune a threshold"):
        claimwise.verdict(0.5, "word-overlap")


def test_the_bounds_are_of_what_was_measured_and_of_nothing_else():
    acueval = metrics.specification("acueval", metrics.DEFAULT_METRICS)
    shipped = {"kind": "embedded"}
    band = decisions.of_summaries("acueval", acueval, shipped)
    assert 0 < band.low < band.high < 1
    assert band.right > 0.6
    other = acueval.model_copy(update={"aggregate": "min"})
    assert decisions.of_summaries("acueval", other, shipped) is None
    assert decisions.of_summaries("acueval", acueval, {"kind": "embedded", "weights": "zero-shot"}) is None
    assert decisions.of_claims(acueval, {"kind": "openai"}) == decisions.HALF


def test_an_explanation_is_the_score_with_its_claims_and_what_a_file_would_be_told(tmp_path, monkeypatch):
    """The same score, verdict and claims as `claimwise score` writes of the row."""
    document, summary = (
        "The mayor opened the bridge on Monday. It rained in Rome.",
        "The mayor opened the bridge. It snowed.",
    )
    found = claimwise.explain(document, summary)
    assert found.score == claimwise.score(document, summary)
    claims = claimwise.check(document, found.claims["claim"].tolist())
    pd.testing.assert_frame_equal(found.claims, claims)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.jsonl"
    pd.DataFrame([{"document": document, "summary": summary}]).to_json(file, orient="records", lines=True)
    [row] = score_file([file], "acueval", None, None, None, None, Path("params.yaml")).to_dict("records")
    assert (found.verdict, found.reason) == (row["verdict"], row["reason"])
    assert found.score == pytest.approx(row["score"])


def test_of_a_judge_an_explanation_has_no_claims_and_of_other_models_no_verdict():
    found = claimwise.explain(RAIN, "It rained.", "holistic", "lexical")
    assert (len(found.claims), found.verdict) == (0, "")
    with pytest.warns(UserWarning, match="empty summary"):
        empty = claimwise.explain(RAIN, " ", model="lexical")
    assert (empty.reason, empty.verdict, math.isnan(empty.score)) == ("empty summary", "", True)
    with pytest.raises(ClaimwiseError, match="summary: expected one text, got "):
        claimwise.explain(RAIN, ["It rained."])


def test_what_the_package_offers_is_listed():
    import claimwise.metrics  # what is imported is not offered with it

    assert dir(claimwise) == ["Metric", "__version__", "check", "explain", "score", "verdict"]


def test_an_unfaithful_summary_fails_a_test_with_the_claims_that_are_not_supported():
    summary = "The cat sat. It rained in Paris."
    assert_faithful([CAT, RAIN], summary, 0.8, model=FakeModel())
    with pytest.raises(AssertionError) as failure:
        assert_faithful([CAT, RAIN], summary, 0.9, model=FakeModel())
    assert str(failure.value) == "acueval 0.875 is below 0.9"  # three quarters of a claim's words are not unsupported
    with pytest.raises(AssertionError) as failure:
        assert_faithful(CAT, summary, 0.9, model=FakeModel())
    assert str(failure.value).splitlines() == [
        "acueval 0.5 is below 0.9",
        "  unsupported (0.00): It rained in Paris.",
        f"    nearest in the document: {CAT}",
    ]
    with pytest.raises(AssertionError, match=r"^no acueval score: empty summary$"):
        assert_faithful(CAT, " ", 0, model=FakeModel())
    with pytest.raises(ClaimwiseError, match=r"summary: expected a text, got .*one summary at a time"):
        assert_faithful(CAT, ["The cat sat."], 0.5, model=FakeModel())
    with pytest.raises(ClaimwiseError, match="claims: expected a text or several, got 3"):
        claimwise.check(CAT, ["The cat sat.", 3], model=FakeModel())
    with pytest.raises(
        ClaimwiseError, match=r"expected an entry of `models`, such as .'kind': 'embedded'., got 'embedded'"
    ):
        models.load("embedded")


def test_a_test_fails_by_claims_however_high_their_mean_is():
    summary = "The cat sat. The cat sat on the mat. It rained in Paris."
    assert_faithful(CAT, summary, 0.5, model=FakeModel(), max_unsupported=1)
    with pytest.raises(AssertionError) as failure:
        assert_faithful(CAT, summary, 0.5, model=FakeModel(), max_unsupported=0)
    assert str(failure.value).splitlines()[:2] == [
        "unsupported claims: 1, at most 0 expected",
        "  unsupported (0.00): It rained in Paris.",
    ]
    with pytest.raises(
        AssertionError, match=r"^acueval 0\.666667 is below 0\.9\nunsupported claims: 1, at most 0 expected\n"
    ):
        assert_faithful(CAT, summary, 0.9, model=FakeModel(), max_unsupported=0)
    for wrong in ("2", -1):
        with pytest.raises(
            ClaimwiseError, match=f"max_unsupported: expected a number of claims, 0 or more, got {wrong!r}"
        ):
            assert_faithful(CAT, summary, 0.5, model=FakeModel(), max_unsupported=wrong)
    with pytest.raises(ClaimwiseError, match="max_unsupported: holistic judges the whole summary and makes no claims"):
        assert_faithful(CAT, summary, 0, "holistic", model=FakeModel(), max_unsupported=0)


class Halting(FakeModel):
    """Of every summary the second claim has no verdict."""

    def verify(self, documents, claims, prompt, extras=None):
        found = super().verify(documents, claims, prompt, extras)
        return [[*group[:1], Verdict(math.nan, "empty reply"), *group[2:]] for group in found]


def test_a_claim_that_nobody_judged_is_said_and_passes_no_test_of_claims():
    summary = "The cat sat. It rained in Paris."
    with pytest.warns(UserWarning, match="^1 of 1 scored, but: 1 x some claims have no verdict and do not count$"):
        assert claimwise.score(CAT, summary, model=Halting()) == 1
    assert claimwise.explain(CAT, summary, model=Halting()).reason == "some claims have no verdict and do not count"
    assert_faithful(CAT, summary, 0.5, model=Halting(), max_unsupported=1)
    with pytest.raises(AssertionError) as failure:
        assert_faithful(CAT, summary, 0.5, model=Halting(), max_unsupported=0)
    assert str(failure.value).splitlines() == [
        "unsupported claims: 0 (and 1 without a verdict), at most 0 expected",
        "  empty reply: It rained in Paris.",
    ]
    with warnings.catch_warnings():  # each claim has its reason beside it
        warnings.simplefilter("error")
        assert claimwise.check(CAT, ["The cat sat.", "Paris."], model=Halting())["reason"][1] == "empty reply"


def test_an_explanation_is_a_table_in_a_notebook_and_its_texts_are_escaped():
    shown = claimwise.explain("The cat <3 sat.", "The cat sat. It rained.", model="lexical")._repr_html_()
    assert "<table>" in shown
    assert "unsupported" in shown
    assert "The cat &lt;3 sat." in shown
    assert "<3" not in shown


def test_what_the_embedded_model_is_not_sure_of_is_named_in_a_failure():
    with pytest.raises(AssertionError, match=r"acueval 0\.\d+ is below 0\.86\n  not sure \(0\.\d\d\): It snowed"):
        assert_faithful(RAIN, "It snowed.", min_score=0.86)


def test_a_metric_object_computes_what_score_does_over_batches():
    metric = claimwise.Metric(model=FakeModel())
    metric.add_batch(predictions=["It rained in Rome."], references=[[RAIN, CAT]])
    metric.add_batch(predictions=["The dog ran off."], references=[CAT])
    found = metric.compute(predictions=["The cat sat. The dog sat."], references=[CAT])
    assert found["scores"] == pytest.approx([1, 1 / 4, (1 + 2 / 3) / 2])
    assert found["acueval"] == pytest.approx(sum(found["scores"]) / 3)
    assert metric.compute(predictions=[RAIN], references=[RAIN]) == {"acueval": 1, "scores": [1]}  # begins anew
    with pytest.warns(UserWarning, match="1 of 2 without a score"):
        claimwise.score(pd.DataFrame({"document": [RAIN, RAIN], "summary": [RAIN, ""]}), model=FakeModel())
    with pytest.warns(UserWarning, match="1 of 2 without a score"):
        assert metric.compute(predictions=["", RAIN], references=[RAIN, RAIN])["acueval"] == 1
    with pytest.raises(ClaimwiseError, match="as many references as predictions are expected, got 1 and 2"):
        metric.compute(predictions=[RAIN] * 2, references=[RAIN])
    with pytest.raises(ClaimwiseError, match="got 2 and 1"):
        metric.add_batch(predictions=[RAIN], references=[RAIN] * 2)
    with pytest.raises(ClaimwiseError, match="unknown metric 'acuevel'"):
        claimwise.Metric("acuevel")
    with pytest.raises(ClaimwiseError, match="nothing to compute: give predictions"):
        metric.compute()


def test_what_no_file_can_hold_is_refused_before_anything_is_asked():
    for name, call in (
        ("summary", partial(claimwise.score, RAIN, "Rome\0")),
        ("document", partial(claimwise.score, "Rome\ud83d", RAIN)),
        ("claims", partial(claimwise.check, RAIN, ["It rained.", "Rome\0"])),
    ):
        with pytest.raises(ClaimwiseError, match=rf"{name}: half a character .* or a NUL byte stands in 'Rome"):
            call(model=FakeModel())


@pytest.mark.parametrize("least", ["0.5", None, 86])
def test_a_bound_that_is_no_score_is_refused(least):
    with pytest.raises(ClaimwiseError, match=f"min_score: expected a number from 0 to 1, as scores are, got {least!r}"):
        assert_faithful(RAIN, RAIN, least, model=FakeModel())


def test_contexts_of_a_parquet_file_are_joined_as_in_the_terminal(tmp_path):
    pd.DataFrame({"document": [[RAIN, CAT]], "summary": ["The cat sat."]}).to_parquet(tmp_path / "contexts.parquet")
    read = pd.read_parquet(tmp_path / "contexts.parquet")
    assert claimwise.score(read, model=FakeModel())["score"].tolist() == [1.0]


def test_a_second_metric_goes_beside_the_first_score_of_a_frame():
    rows = pd.DataFrame({"document": [RAIN, CAT], "summary": [RAIN, RAIN]}, index=[5, 9])
    rows = claimwise.score(rows, model="lexical")
    rows["overlap"] = claimwise.score(rows[["document", "summary"]], metric="word-overlap")["score"]
    assert rows.loc[5, ["score", "overlap"]].tolist() == [1, 1]
    assert rows.loc[9, "overlap"] < 1


def test_a_warning_points_at_the_line_of_the_user():
    rows = pd.DataFrame({"document": [RAIN], "summary": ["雨が降った"]})
    for call in (
        partial(claimwise.score, RAIN, "雨が降った"),
        partial(claimwise.check, RAIN, "雨が降った"),
        partial(claimwise.score, rows),
        partial(claimwise.Metric().compute, predictions=rows["summary"], references=rows["document"]),
    ):
        with warnings.catch_warnings(record=True, action="always") as caught:
            call()
        assert {(one.category, one.filename) for one in caught} == {(UserWarning, __file__)}


@pytest.mark.parametrize("missing", ["", None, math.nan, pd.NA])
def test_a_missing_text_among_several_is_an_empty_one_as_in_files(missing):
    with pytest.warns(UserWarning, match="2 of 3 without a score: 1 x empty document; 1 x empty summary"):
        found = claimwise.score([CAT, missing, CAT], ["The cat sat.", "It rained.", missing], "word-overlap")
    assert found[0] == 1
    assert [math.isnan(value) for value in found] == [False, True, True]


@pytest.mark.parametrize("model", [3, None, object(), ["lexical"]])
def test_what_is_no_model_is_told_what_is(model):
    with pytest.raises(
        ClaimwiseError, match=r"model: expected a name \(embedded, .* or what models\.load made of one, got "
    ) as caught:
        claimwise.score(CAT, "The cat sat.", model=model)
    assert "params.yaml" not in str(caught.value)  # which Python does not read


@pytest.mark.parametrize(
    ("document", "summary", "message"),
    [
        ([CAT, 3], "The cat sat.", "document: expected a text, or a list of texts that are read as one, got ..The cat"),
        ([CAT, RAIN], ["The cat sat."], "as many documents as summaries are expected, got 2 and 1"),
        (CAT, ["The cat sat.", 3], "row 1 .*column 'summary': expected text, got 3"),
        (CAT, None, "summary: expected a text or several .*, got None"),
        (None, ["The cat sat."], "document: expected a text or several .*, got None"),
        (CAT, np.array("The cat sat."), "summary: expected a text or several .*, got array"),
        (CAT, b"The cat sat.", "summary: expected a text or several .*, got b'The"),
        (CAT, {"a": "The cat sat."}, "summary: expected a text or several .*, got {'a'"),
        (
            pd.DataFrame({"a": [CAT]}),
            ["The cat sat."],
            "document: .* got a whole data frame; name the column",
        ),
        ([b"bytes"], ["The cat sat."], "row 0 .*column 'document': expected text, got b'bytes'"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(document, summary, message):
    with pytest.raises(ClaimwiseError, match=message):
        claimwise.score(document, summary, "word-overlap")


def test_the_package_imports_nothing_for_it_before_it_is_asked_for():
    code = (
        "import sys, claimwise; assert 'pandas' not in sys.modules; claimwise.score; import claimwise.user_file.score; "
        "sys.exit(bool({'torch', 'nltk'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    with pytest.raises(AttributeError, match="module 'claimwise' has no attribute 'scor'"):
        claimwise.scor  # noqa: B018


@pytest.mark.parametrize("model", ["claimwise-nli", {"kind": "transformers", "model": "m", "only_verifies": True}])
def test_a_model_that_would_have_no_part_in_the_scores_is_refused_before_it_is_loaded(model):
    for texts in (
        (RAIN, "It rained in Rome."),
        (pd.DataFrame({"document": [RAIN], "summary": ["It rained in Rome."]}),),
    ):
        with pytest.raises(metrics.MetricError, match=r"this model only verifies.* Take the metric 'nli'"):
            claimwise.score(*texts, metric="fenice", model=model)


def test_recorded_calls_of_an_entry_are_not_asked_again(tmp_path):
    entry = {"kind": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1", "retries": 0}
    asked = models.load(entry)
    asked.language_model.replies = lambda prompts, how: enumerate([Reply(probabilities=(0.9, 0.1)) for _ in prompts])
    texts = (RAIN, "It rained in Rome.", "sentences")
    assert claimwise.score(*texts, asked) == pytest.approx(0.9)
    asked.cache.export("m", tmp_path / "calls.jsonl")
    assert claimwise.score(*texts, entry | {"recorded": str(tmp_path / "calls.jsonl")}) == pytest.approx(0.9)


def test_threads_that_ask_for_a_model_at_once_get_the_same():
    models._loaded.cache_clear()
    with ThreadPoolExecutor(4) as threads:
        assert len(set(map(id, threads.map(models.loaded, [{"kind": "embedded"}] * 8)))) == 1
