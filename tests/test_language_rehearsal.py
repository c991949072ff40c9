"""Counting a run before it runs: what is remembered is not counted, and nothing made up is remembered."""

import pytest
from test_language import Scripted

from claimwise import prompts
from claimwise.models.cache import ResponseCache
from claimwise.models.language import PromptedModel
from claimwise.models.rehearsal import CLAIMS, Rehearsal
from claimwise.models.replies import Reply

ZERO = prompts.load("acueval-verify-zeroshot")


def test_a_rehearsal_counts_the_calls_and_tokens_of_the_run():
    model = Scripted(lambda prompt: Reply(probabilities=(1.0, 0.0)))
    cache = ResponseCache(":memory:")
    rehearsal = Rehearsal(model, cache)
    rehearsal.verify(["D."], [["A.", "B.", "A."]], ZERO)
    texts = [ZERO.render(Document="D.", ACU=claim) for claim in ("A.", "B.")]
    estimate = rehearsal.estimate
    assert (estimate.calls, estimate.prompt_tokens, estimate.reply_tokens) == (2, sum(map(len, texts)), 2)
    assert model.asked == []
    assert cache.stats() == []


def test_what_is_remembered_is_not_counted():
    model = Scripted(lambda prompt: Reply(probabilities=(1.0, 0.0)))
    cache = ResponseCache(":memory:")
    PromptedModel(model, cache).verify(["D."], [["A."]], ZERO)
    rehearsal = Rehearsal(model, cache)
    rehearsal.verify(["D."], [["A.", "B."]], ZERO)
    assert rehearsal.estimate.calls == 1


@pytest.mark.parametrize("name", [*prompts.names("decompose")])
def test_a_rehearsed_decomposition_has_the_assumed_claims(name):
    rehearsal = Rehearsal(Scripted(None), ResponseCache(":memory:"))
    assert len(rehearsal.decompose(["It rained."], prompts.load(name))[0].claims) == CLAIMS


def test_long_documents_are_counted_chunk_by_chunk():
    document = " ".join(f"Sentence number {k} says little." for k in range(60))
    rehearsal = Rehearsal(Scripted(None, context=900), ResponseCache(":memory:"))
    rehearsal.verify([document], [["A."]], ZERO)
    assert rehearsal.estimate.calls > 2


def test_a_call_that_a_run_makes_twice_is_counted_once_and_no_two_summaries_share_claims():
    rehearsal = Rehearsal(Scripted(None), ResponseCache(":memory:"))
    prompt = prompts.load("acueval-decompose-5shot")
    first, second = rehearsal.decompose(["It rained.", "It poured."], prompt)
    assert rehearsal.decompose(["It rained."], prompt) == [first]
    assert rehearsal.estimate.calls == 2
    assert not {claim.text for claim in first.claims} & {claim.text for claim in second.claims}
