"""A language model that was trained for one role: what it is asked, and what another model does for it."""

import math

import pandas as pd
import pytest
from fakes import FakeModel, Scripted, prompted

from claimwise import models, prompts
from claimwise.metrics import MetricSpec, estimate, evaluate
from claimwise.models.base import Verdict, needs_language_model
from claimwise.models.cache import ResponseCache
from claimwise.models.language import Decomposer, Verifier, dry_run
from claimwise.models.options import ModelError
from claimwise.models.replies import Reply

ZERO = prompts.load("acueval-verify-zeroshot")
JUDGE = prompts.load("belugaeval-judge-consistency")
DECOMPOSE = prompts.load("acueval-decompose-5shot")
DOCUMENT = "Lee stayed at home. It rained in Rome."
CLAIMS = ["It rained.", "It snowed."]
ENTRY = {"kind": "openai", "base_url": "http://localhost:1/v1", "model": "m"}  # nobody is asked
SUPPORT = {"It rained.": 0.9, "It snowed.": 0.2, "It rained. It snowed.": 0.3}


def answers():
    def reply(prompt):
        [statement] = [line for line in prompt.splitlines() if line.startswith("Statement: ")]
        yes = SUPPORT[statement.removeprefix("Statement: ")]
        return Reply(probabilities=(yes, 1 - yes))

    return Scripted(reply)


def verifier(language_model=None, other=None, cache=None, **options):
    """What such a model is: the answers of the one, what the other does, and finished calls."""
    cache = cache or ResponseCache(":memory:")
    return Verifier(language_model or answers(), cache, None, other or FakeModel(), **options)


@pytest.fixture
def model():
    return verifier()


def test_it_verifies_and_the_other_names_the_evidence(model):
    assert model.verify([DOCUMENT], [CLAIMS], ZERO) == [
        [Verdict(pytest.approx(0.9), None, (1,)), Verdict(pytest.approx(0.2), None, (1,))]
    ]


def test_a_summary_is_judged_as_one_claim(model):
    [judgement] = model.judge([DOCUMENT], [" ".join(CLAIMS)], JUDGE)
    assert judgement.score == pytest.approx(0.3)
    assert model.language_model.asked == [ZERO.render(Document=DOCUMENT, ACU=" ".join(CLAIMS))]


@pytest.mark.parametrize("name", ["chatgpt-judge-cot", "factored-judge-single", "halueval-judge-fewshot"])
def test_what_asks_a_whole_summary_for_more_than_a_verdict_has_a_reason(model, name):
    examples = pd.DataFrame({"document": [DOCUMENT], "summary": CLAIMS[:1]})
    judged = evaluate("m", MetricSpec(judge=name), model, examples, progress=False)
    reason = needs_language_model(prompts.load(name))
    [row] = judged.scores.itertuples()
    assert (math.isnan(row.score), row.reason, row.n_unparsed) == (True, reason, 0)
    assert model.language_model.asked == []


def test_the_other_decomposes_and_nothing_of_that_is_asked_of_the_language_model(model):
    examples = pd.DataFrame({"document": [DOCUMENT], "summary": [" ".join(CLAIMS)]})
    spec = MetricSpec(decompose=DECOMPOSE.name, verify=ZERO.name)

    assert estimate(spec, model, [(examples, None)]).usage.calls == 2  # its claims, not so many as are assumed of one
    assert model.language_model.asked == []
    found = evaluate("acueval", spec, model, examples, progress=False)
    assert found.claims["claim"].tolist() == CLAIMS
    assert found.scores["score"].tolist() == pytest.approx([0.55])
    assert len(model.language_model.asked) == 2


def test_it_answers_from_the_same_finished_calls_as_the_language_model_alone():
    store = ResponseCache(":memory:")
    prompted(answers(), store).verify([DOCUMENT], [CLAIMS], ZERO)
    model = verifier(cache=store)
    model.verify([DOCUMENT], [CLAIMS], ZERO)
    assert model.language_model.asked == []


def test_log_odds_are_calibrated_and_nothing_is_asked_anew():
    store = ResponseCache(":memory:")
    plain = verifier(cache=store)
    plain.verify([DOCUMENT], [CLAIMS], ZERO)
    model = verifier(cache=store, calibration=(2.0, 1.0))
    [supports] = [[verdict.support for verdict in group] for group in model.verify([DOCUMENT], [CLAIMS], ZERO)]
    # odds of 9 and 1/4, squared and times e
    assert supports == pytest.approx([81 * math.e / (1 + 81 * math.e), math.e / 16 / (1 + math.e / 16)])
    assert model.language_model.asked == []
    assert model.fingerprint != plain.fingerprint


@pytest.mark.parametrize("calibration", [[0.0, 1.0], [1.0], "high"])
def test_a_calibration_that_is_none_is_refused(calibration):
    with pytest.raises(ModelError, match="option 'calibration"):
        models.check(ENTRY | {"only_verifies": True, "calibration": calibration})


@pytest.mark.parametrize("option", [{"calibration": [1.0, 0.0]}, {"averaged_with": "embedded"}])
def test_options_of_a_model_that_only_verifies_go_with_that_alone(option):
    with pytest.raises(ModelError, match="it goes with `only_verifies: true`"):
        models.check(ENTRY | option)


def test_two_models_log_odds_are_averaged():
    [[theirs, others]] = FakeModel().verify([DOCUMENT], [CLAIMS], ZERO)
    assert (theirs.support, others.support) == (1.0, 0.5)
    [[rained, snowed]] = verifier(averaged=True).verify([DOCUMENT], [CLAIMS], ZERO)
    assert snowed.support == pytest.approx(1 / 3)  # odds of 1/4 and 1, whose geometric mean is 1/2
    assert rained.support == pytest.approx(1 / (1 + math.exp(-(math.log(9) + 14) / 2)))  # certainty counts as 14
    assert rained.evidence == theirs.evidence


def test_a_summary_as_one_claim_is_averaged_with_the_other_ones_judgement():
    [judgement] = verifier(averaged=True).judge([DOCUMENT], [" ".join(CLAIMS)], JUDGE)
    [other] = FakeModel().judge([DOCUMENT], [" ".join(CLAIMS)], JUDGE)
    odds = math.sqrt(0.3 / 0.7 * other.score / (1 - other.score))
    assert judgement.score == pytest.approx(odds / (1 + odds))


def test_what_one_of_two_averaged_models_cannot_say_has_no_mean():
    class Silent(FakeModel):
        def verify(self, documents, claims, prompt, extras=None):
            return [[Verdict(math.nan, "no words") for _ in group] for group in claims]

    model = verifier(other=Silent(), averaged=True)
    [[verdict]] = model.verify([DOCUMENT], [CLAIMS[:1]], ZERO)
    assert math.isnan(verdict.support)
    assert verdict.reason == "no words"
    written = verifier(Scripted(lambda prompt: "Yes."), Silent(), averaged=True)
    [[verdict]] = written.verify([DOCUMENT], [CLAIMS[:1]], ZERO)
    assert verdict.reason == "no words"  # why there is none, not how the other one answered


def test_a_written_verdict_does_not_silence_the_other_model():
    sure = verifier(Scripted(lambda prompt: "Yes."), averaged=True)
    [[rained, snowed]] = sure.verify([DOCUMENT], [CLAIMS], ZERO)
    [[theirs, others]] = FakeModel().verify([DOCUMENT], [CLAIMS], ZERO)
    assert (rained.support > snowed.support) == (theirs.support > others.support)
    assert rained.reason == "sampled"


def test_an_entry_names_the_model_that_it_is_averaged_with():
    entry = ENTRY | {"only_verifies": True}
    ensemble = entry | {"averaged_with": "embedded-zero-shot"}
    assert models.load(ensemble).other.name == "embedded-zero-shot"
    assert models.load(entry | {"averaged_with": "embedded"}).other.name == "embedded"
    assert "it verifies, averaged with embedded-zero-shot, and the embedded model does the rest" in models.describe(
        ensemble
    )
    with pytest.raises(ModelError, match="option 'averaged_with': found 'lexical'"):
        models.check(entry | {"averaged_with": "lexical"})


def test_with_other_finished_calls_neither_it_nor_the_other_keeps_the_first_ones():
    model, calls = models.load(ENTRY | {"only_verifies": True}), ResponseCache(":memory:")
    models.remembering(model, calls).decompose(["It rained in Rome."], DECOMPOSE)
    assert [role for _, role, *_ in calls.stats()] == ["decompose"]
    assert model.cache.stats() == []


def test_its_fingerprint_depends_on_both():
    made = {verifier(other=FakeModel(name)).fingerprint for name in "ab"}
    assert len({*made, "scripted"}) == 3


def test_an_entry_of_any_language_model_may_only_verify():
    entry = ENTRY | {"only_verifies": True}
    model = models.load(entry)
    [claims] = model.decompose(["It rained in Rome."], DECOMPOSE)
    assert [claim.text for claim in claims.claims] == ["It rained in Rome"]
    assert models.describe(entry) == "m at http://localhost:1/v1; it verifies, and the embedded model does the rest"


def test_a_model_that_only_decomposes_reads_the_bare_summary_and_the_other_verifies():
    model = Decomposer(Scripted(lambda prompt: "It rained. It snowed."), ResponseCache(":memory:"), None, FakeModel())
    examples = pd.DataFrame({"document": [DOCUMENT], "summary": ["Rain, then snow."]})
    found = evaluate("a", MetricSpec(decompose=DECOMPOSE.name, verify=ZERO.name), model, examples, progress=False)
    assert found.claims["claim"].tolist() == CLAIMS
    assert model.language_model.asked == ["Rain, then snow."]  # no demonstrations, and nothing else
    others = FakeModel().verify([DOCUMENT], [CLAIMS], ZERO)
    assert found.verdicts["support"].tolist() == [verdict.support for verdict in others[0]]
    assert model.judge([DOCUMENT], ["It rained."], JUDGE) == FakeModel().judge([DOCUMENT], ["It rained."], JUDGE)
    assert len(model.language_model.asked) == 1


def test_an_entry_may_only_decompose_but_not_verify_as_well():
    entry = ENTRY | {"only_decomposes": True}
    model = models.load(entry)
    [[verdict]] = model.verify(["It rained in Rome."], [["It rained in Rome."]], ZERO)
    assert verdict.support > 0.5
    assert (
        models.describe(entry) == "m at http://localhost:1/v1; it writes claims, and the embedded model does the rest"
    )
    with pytest.raises(
        ModelError, match="option 'only_decomposes': found True; it cannot go with `only_verifies: true`"
    ):
        models.check(entry | {"only_verifies": True})


def test_what_it_would_ask_is_counted_without_a_verdict_on_claims_that_nobody_made():
    class Unasked(FakeModel):
        def verify(self, *_):
            raise AssertionError("asked for a verdict")

    model = Decomposer(Scripted(lambda prompt: "It rained."), ResponseCache(":memory:"), None, Unasked())
    dry = dry_run(model)
    claims = [[claim.text for claim in found.claims] for found in dry.decompose(["It rained."], DECOMPOSE)]
    assert all(math.isnan(verdict.support) for verdict in dry.verify([DOCUMENT], claims, ZERO)[0])
    assert (dry.cache.usage.calls, model.language_model.asked) == (1, [])


def test_a_dry_run_stores_nothing_of_the_other_model_either():
    store = ResponseCache(":memory:")
    other = models.load({"kind": "embedded"}, store)
    dry = dry_run(Verifier(Scripted(lambda prompt: pytest.fail("asked")), store, None, other))
    assert dry.decompose(["It rained."], DECOMPOSE)[0].claims
    assert (store.stats(), dry.cache.usage.calls) == ([], 0)
