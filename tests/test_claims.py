"""Decomposers: prompted, without a model, and recorded."""

import pandas as pd
import pytest
from fakes import FakeModel
from hypothesis import given
from hypothesis import strategies as st

from claimwise import prompts
from claimwise.errors import ClaimwiseError
from claimwise.metrics import claims
from claimwise.models.base import Claim, Decomposition


def summaries(*texts):
    return pd.DataFrame({"id": [f"e{number}" for number in range(len(texts))], "summary": list(texts)})


def texts(decompositions):
    return [[claim.text for claim in decomposition.claims] for decomposition in decompositions]


def prompted(model):
    return claims.decomposer("acueval-decompose-5shot", model)


def test_a_blank_summary_is_not_put_to_the_model():
    model = FakeModel()
    made = prompted(model)(summaries("It rained. We left.", "", " \n"))
    assert texts(made) == [["It rained.", "We left."], [], []]
    assert [d.reason for d in made] == [None, "empty summary", "empty summary"]
    assert model.calls["decompose"] == 1


def test_a_reply_without_claims_keeps_the_models_reason_or_gets_one():
    class Silent(FakeModel):
        def decompose(self, passages, prompt):
            return [Decomposition((), "refused"), Decomposition(())]

    made = prompted(Silent())(summaries("One.", "Two."))
    assert [d.reason for d in made] == ["refused", "no claims"]


def test_no_summaries_no_claims():
    assert prompted(FakeModel())(summaries()) == []


@given(st.lists(st.sampled_from(["It rained. ", "", "雨が降った。", "Dr. Ames won. Lee lost. ", "\n"]), max_size=5))
def test_model_free_claims_are_spans_of_the_summary(parts):
    for name in ("sentences", "summary"):
        for summary, made in zip(parts, claims.decomposer(name, FakeModel())(summaries(*parts)), strict=True):
            assert all(summary[claim.start : claim.end] == claim.text for claim in made.claims)
            assert (made.reason == "empty summary") == (not made.claims) == (not summary.strip())


def test_the_whole_summary_is_one_claim():
    assert texts(claims.decomposer("summary", FakeModel())(summaries("It rained. We left."))) == [
        ["It rained. We left."]
    ]


def test_recorded_claims_come_by_example_in_their_order_and_from_one_system():
    recorded = pd.DataFrame(
        [("e1", "t5", 1, "b"), ("e1", "gpt", 0, "x"), ("e1", "t5", 0, "a"), ("e0", "t5", 0, "c")],
        columns=["example_id", "decomposer", "claim_index", "claim"],
    )
    made = claims.decomposer("recorded:t5", FakeModel(), recorded)(summaries("s", "s", "s"))
    assert texts(made) == [["c"], ["a", "b"], []]
    assert [d.reason for d in made] == [None, None, "no claims"]
    assert made[0].claims[0] == Claim("c", None, None)


def test_an_unknown_decomposer_lists_the_prompts():
    with pytest.raises(
        prompts.PromptError, match=r"no prompt named 'sentence'; `claimwise prompts` lists .* for decompose"
    ):
        claims.decomposer("sentence", FakeModel())


def test_a_misspelt_recorded_decomposer_is_told_which_there_are():
    recorded = pd.DataFrame({"example_id": ["e0", "e1", "e0"], "decomposer": ["fenice-t5", "gpt", "fenice-t5"]})
    with pytest.raises(
        ClaimwiseError,
        match=r"no claims by 'fenice-t6' are recorded; did you mean 'fenice-t5'\? there are those by fenice-t5, gpt$",
    ):
        claims.decomposer("recorded:fenice-t6", FakeModel(), recorded)


@pytest.mark.parametrize("recorded", [None, pd.DataFrame({"decomposer": []})])
def test_recorded_claims_that_are_not_there(recorded):
    with pytest.raises(
        ValueError, match=r"'t5' names claims that the examples have to bring, and these bring none; take a metric that"
    ):
        claims.decomposer("recorded:t5", FakeModel(), recorded)
