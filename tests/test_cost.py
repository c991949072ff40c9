"""What models are asked and what it costs: counted in this process, and estimated before a run."""

import pandas as pd
import pytest
from fakes import MUMBLE, FakeModel, Scripted, by_claim, openai_model, prompted

from claimwise import metrics, models, prompts
from claimwise.models import cost
from claimwise.models.cache import ResponseCache
from claimwise.models.caching import CachedModel
from claimwise.models.cost import CLAIMS, Usage
from claimwise.models.language import dry_run
from claimwise.models.options import Prices
from claimwise.models.replies import Reply

ZERO = prompts.load("acueval-verify-zeroshot")
DECOMPOSE = prompts.load("acueval-decompose-5shot")
NOBODY = "http://localhost:9/v1"


@pytest.fixture(autouse=True)
def _nothing_asked_yet(monkeypatch):
    monkeypatch.setattr(cost, "_USAGE", {})


def asked():
    table = models.usage().set_index(["model", "role"])
    return {key: Usage(*row) for key, row in zip(table.index, table.itertuples(index=False), strict=True)}


def test_a_language_models_calls_tokens_cost_and_unread_replies(capsys):
    replies = {"A.": "Yes", "B.": "Yes", "C.": "Hm."}
    model = prompted(Scripted(by_claim(replies)), None, Prices(prompt=10, reply=1e6))
    model.verify(["D."], [["A."]], ZERO)
    with cost.watched("stage", model, None) as own_bar:
        model.verify(["D."], [["A.", "B.", "B.", "C."]], ZERO)
    assert own_bar
    [(key, found)] = asked().items()
    assert key == ("scripted", "verify")
    assert (found.asked, found.cached, found.calls, found.unparsed, found.unread) == (5, 1, 3, 1, 1)
    assert (found.prompt_tokens, found.reply_tokens) == (30, 6)
    assert found.cost == pytest.approx(6 + 3e-4)
    line = capsys.readouterr().err
    assert line.startswith("stage: 4 answers (1 from the cache, 2 calls), 20 + 4 tokens, cost 4.00, 1 unparsed, ")
    assert line.endswith(
        " s; replies that could not be read are kept (1); to ask them again: "
        "`claimwise cache prune --model scripted:unread`\n"
    )


def test_what_is_asked_again_anyway_needs_no_advice(capsys):
    replies = {"A.": Reply(reason="content filter"), "B.": Reply(" \n"), "C.": Reply("Yes")}
    model = prompted(Scripted(by_claim(replies)))
    with cost.watched("stage", model, None):
        model.verify(["D."], [list(replies)], ZERO)
    assert (asked()["scripted", "verify"].unparsed, asked()["scripted", "verify"].unread) == (2, 0)
    assert capsys.readouterr().err.endswith(" s\n")


def test_other_models_are_counted_by_value():
    model = CachedModel(FakeModel(), ResponseCache(":memory:"))
    model.verify(["D."], [["A.", f"{MUMBLE}.", "A."]], ZERO)
    model.judge(["D."], ["S."], prompts.load("belugaeval-judge-consistency"))
    counts = {role: (u.asked, u.cached, u.calls, u.unparsed, u.cost) for (_, role), u in asked().items()}
    assert counts == {"judge": (1, 0, 1, 0, 0), "verify": (3, 0, 2, 1, 0)}


def test_what_was_spent_before_a_failure_is_counted_and_told(capsys):
    model = prompted(Scripted(lambda prompt: "Yes", fail_after=2))
    with pytest.raises(ConnectionError), cost.watched("stage", model, cost.Estimate(Usage(calls=3))):
        model.verify(["D."], [["A.", "B.", "C."]], ZERO)
    assert (asked()["scripted", "verify"].calls, asked()["scripted", "verify"].prompt_tokens) == (2, 20)
    assert "(0 from the cache, 2 calls), 20 + 4 tokens" in capsys.readouterr().err
    assert model.on_reply is None


def test_a_block_that_asks_nothing_says_nothing(capsys):
    with cost.watched("stage", FakeModel(), None):
        pass
    assert capsys.readouterr().err == ""
    assert models.usage().empty


def test_prices_are_checked_before_anything_is_asked():
    with pytest.raises(models.ModelError, match=r"kind openai: option 'prices.reply' is missing"):
        models.load({"kind": "openai", "model": "m", "prices": {"prompt": 1}})
    assert Prices(prompt=1, reply=2).cost(10**6, 10**6) == 3
    assert models.check({"kind": "openai", "model": "m"}).prices is None


def test_the_prices_of_an_entry_are_those_of_its_model():
    model = openai_model(model="m", base_url=NOBODY, prices={"prompt": 0, "reply": 1e6})
    dry = dry_run(model)
    dry.verify(["D."], [["A.", "B."]], ZERO)
    assert dry.cache.usage.cost == 2


def test_a_dry_run_counts_the_calls_and_tokens_of_the_run_and_asks_and_stores_nothing():
    model = prompted(Scripted(lambda prompt: pytest.fail("asked")))
    dry = dry_run(model)
    dry.verify(["D."], [["A.", "B.", "A."]], ZERO)
    dry.verify(["D."], [["B."]], ZERO)
    texts = [ZERO.render(Document="D.", ACU=claim) for claim in ("A.", "B.")]
    assert (dry.cache.usage.calls, dry.cache.usage.prompt_tokens, dry.cache.usage.reply_tokens) == (
        2,
        sum(map(len, texts)),
        2,
    )
    assert model.cache.stats() == []
    assert models.usage().empty


@pytest.mark.parametrize(
    ("options", "reply_tokens"),
    [
        ({}, 1),
        ({"logprobs": False}, ZERO.max_tokens),
        ({"extra_body": {"max_completion_tokens": 4000}}, 4000),
        ({"logprobs": False, "extra_body": {"max_completion_tokens": 4000}}, 4000),
    ],
)
def test_an_estimate_has_the_longest_reply_that_a_request_allows(options, reply_tokens):
    dry = dry_run(openai_model(model="m", base_url=NOBODY, token_limit="max_completion_tokens", **options))
    dry.verify(["D."], [["A."]], ZERO)
    assert dry.cache.usage.reply_tokens == reply_tokens
    dry.decompose(["D."], DECOMPOSE)
    limit = DECOMPOSE.max_tokens if "extra_body" not in options else 4000
    assert dry.cache.usage.reply_tokens == reply_tokens + limit


def test_what_is_cached_is_not_counted():
    model = prompted(Scripted(lambda prompt: Reply(probabilities=(1.0, 0.0))))
    model.verify(["D."], [["A."]], ZERO)
    dry = dry_run(model)
    dry.verify(["D."], [["A.", "B."]], ZERO)
    assert dry.cache.usage.calls == 1


def test_of_no_calls_nothing_is_assumed():
    assert cost.forecast(cost.Estimate(Usage(asked=3, cached=3))) == "0 calls"


@pytest.mark.parametrize(
    ("metric", "assumed"),
    [
        (metrics.DEFAULT_METRICS["acueval"], True),
        (metrics.DEFAULT_METRICS["sentences"], False),
        ({"judge": "chatgpt-judge-cot"}, False),  # a long reply, and no claims
    ],
)
def test_claims_are_assumed_where_they_are_asked_for(metric, assumed):
    model = prompted(Scripted(None))
    examples = pd.DataFrame({"id": ["a"], "document": ["It rained."], "summary": ["It rained."]})
    estimated = metrics.estimate(metrics.specification("m", {"m": metric}), model, [(examples, None)])
    assert estimated.usage.calls > 0
    assert ("assuming 8 claims" in cost.forecast(estimated)) == assumed


@pytest.mark.parametrize("name", prompts.names("decompose"))
def test_a_decomposition_has_the_assumed_claims_and_no_two_summaries_share_one(name):
    dry = dry_run(prompted(Scripted(None)))
    first, second = dry.decompose(["It rained.", "It poured."], prompts.load(name))
    assert len(first.claims) == CLAIMS
    assert not {claim.text for claim in first.claims} & {claim.text for claim in second.claims}


def test_the_chunks_of_a_long_document_are_counted():
    document = " ".join(f"Sentence number {k} says little." for k in range(60))
    dry = dry_run(prompted(Scripted(None, context=900)))
    dry.verify([document], [["A."]], ZERO)
    assert dry.cache.usage.calls > 2


def test_a_metric_says_what_it_asks_of_a_language_model_and_counts_it(capsys):
    examples = pd.DataFrame({"document": ["It rained."], "summary": ["It rained. It poured."]})
    spec = metrics.specification("sentences", metrics.DEFAULT_METRICS)
    model = prompted(Scripted(lambda prompt: "Yes"))
    scores = metrics.evaluate("sentences", spec, model, examples).scores
    assert scores["score"].tolist() == [1.0]
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("sentences: 2 calls, ")
    assert last.startswith("sentences: 2 answers (0 from the cache, 2 calls), ")
    metrics.evaluate("sentences", spec, model, examples, progress=False)
    assert capsys.readouterr().err == ""
