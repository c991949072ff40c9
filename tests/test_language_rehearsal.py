"""Counting a run before it runs: what is remembered is not counted, and nothing made up is remembered."""

import shutil

import pytest
import yaml
from imports import ROOT
from test_language import Scripted

from claimwise import corpora, notebook, prompts, text
from claimwise import params as settings
from claimwise import paths as store
from claimwise.corpora.base import Rows
from claimwise.metrics.factored import citations
from claimwise.metrics.factored import revise as refinement
from claimwise.models import openai_model
from claimwise.models.cache import ResponseCache, cached
from claimwise.models.language import PromptedModel
from claimwise.models.rehearsal import CLAIMS, Rehearsal
from claimwise.models.replies import Reply
from claimwise.prompts.sources import Source, joined

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


@pytest.mark.parametrize(
    ("options", "reply_tokens"),
    [
        ({}, 1),
        ({"logprobs": False}, ZERO.max_tokens),
        ({"extra_body": {"max_completion_tokens": 4000}}, 4000),
        ({"logprobs": False, "extra_body": {"max_completion_tokens": 4000}}, 4000),
    ],
)
def test_a_forecast_counts_the_longest_reply_that_a_request_allows(options, reply_tokens):
    cache, address = ResponseCache(":memory:"), "http://localhost:9/v1"  # nobody is asked
    model = openai_model(cache, model="m", base_url=address, token_limit="max_completion_tokens", **options)
    rehearsal = Rehearsal(model.language_model, cache)
    rehearsal.verify(["D."], [["A."]], ZERO)
    assert rehearsal.estimate.reply_tokens == reply_tokens
    decompose = prompts.load("acueval-decompose-0shot")
    rehearsal.decompose(["D."], decompose)
    limit = decompose.max_tokens if "extra_body" not in options else 4000
    assert rehearsal.estimate.reply_tokens == reply_tokens + limit


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


@pytest.mark.parametrize("value", [{"text": "It rained."}, [0.5, [1, 2]], None])
def test_what_else_is_computed_beside_a_rehearsal_is_kept_whatever_its_shape(value):
    """An alignment keeps its chains and probabilities in the cache of the model that wrote the claims."""
    aside = Rehearsal(Scripted(None), ResponseCache(":memory:")).cache
    for _ in range(2):
        assert cached(aside, ["key"], lambda at: [value], model="nli", role="align") == [value]


PAPERS = [Source(f"{name} (2001)", "Rain", "It rained.") for name in ("Ling", "Roy et al.", "Ek and Bo")]


def test_a_rehearsed_summary_cites_its_papers_so_that_there_is_something_to_check():
    rehearsal = Rehearsal(Scripted(None), ResponseCache(":memory:"))
    [summary] = rehearsal.summarise([PAPERS], ["Does it rain?"], prompts.load("factored-summarise"))
    lines = [span.text for span in text.sentences(summary.text)]
    assert len(lines) == CLAIMS
    found = [citations.resolve(line, [paper.reference for paper in PAPERS]) for line in lines]
    assert [one.sources for [one] in found] == [(n % 3,) for n in range(CLAIMS)]


def test_a_rehearsed_critique_and_revision_are_counted_round_by_round():
    """Worked by hand: what is criticised first, the changed sentences, once more, nothing twice."""
    rehearsal = Rehearsal(Scripted(None), ResponseCache(":memory:"))
    document = joined(PAPERS)
    [summary] = rehearsal.summarise([PAPERS], ["Does it rain?"], prompts.load("factored-summarise"))
    [drafts] = refinement.refine(
        rehearsal,
        [document],
        [summary.text],
        critique="factored-critique-claim",
        revise="factored-revise-critiques",
        rounds=3,
    )
    assert 0 < drafts[0].unsupported < CLAIMS
    assert len(drafts) > 1
    revisions, criticised = len(drafts) - 1, CLAIMS + sum(draft.unsupported for draft in drafts[:-1])
    # A draft that turned out no better is no draft of the result, but was asked about.
    assert rehearsal.estimate.calls >= 1 + criticised + revisions
    assert rehearsal.estimate.calls <= 1 + 2 * criticised + revisions + 1


def test_two_models_do_not_write_the_same_summary():
    made = []
    for name in ("one", "other"):
        model = Scripted(None)
        model.name = name
        rehearsal = Rehearsal(model, ResponseCache(":memory:"))
        made += rehearsal.summarise([PAPERS], ["Does it rain?"], prompts.load("factored-summarise"))
    first, second = ({span.text for span in text.sentences(one.text)} for one in made)
    assert not first & second


def test_summaries_that_two_models_are_to_write_are_forecast_question_by_question(tmp_path):
    """FAVE with two language models that nobody serves: what `--dry-run` tells of the notebook before a run."""
    rows = Rows("fave")
    for number in range(2):
        example = rows.example(str(number), document=joined(PAPERS), summary="", system="none", split="test")
        rows.questions[example] = f"Does it rain, {number}?"
    corpora.write(rows.corpus(), tmp_path / store.corpus_folder("public", "fave"))
    labelled = corpora.load("sample_papers")
    corpora.write(labelled, tmp_path / store.corpus_folder("public", "sample_papers"))
    for folder in ("notebooks", "data/published"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    entry = {"kind": "openai", "base_url": "http://localhost:9/v1"}
    params |= {"data": "public", "model": "one", "models": {name: entry | {"model": name} for name in ("one", "other")}}
    params["academic_summaries"] |= {
        "corpora": {"public": "fave"},
        "labelled": {"public": "sample_papers"},
        "systems": {"public": []},
        "documents": {"public": {"prevalence": None, "revision": 1, "cube": 1}},
        "models_in_cube": ["one", "other"],
        "draws": 20,
    }
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    told = notebook.rehearse("academic_summaries", settings.read(tmp_path / "params.yaml"), tmp_path)
    calls = {line.split(":")[0]: int(line.split()[1]) for line in told.splitlines()}
    gold = labelled.gold_claims.dropna(subset=["label"])
    known = gold["example_id"].isin(labelled.examples.loc[labelled.examples["split"] == "validation", "id"]).sum()
    # Two summaries each, and every sentence of all four before the judge; of the revised pair, both models look at all.
    assert calls["one"] >= 2 + 4 * CLAIMS + 0.9 * known + 2 * CLAIMS
    assert calls["other"] >= 2 + 2 * CLAIMS + 0.9 * known + 2 * CLAIMS
    assert sum(calls.values()) < 3 * (4 + 8 * CLAIMS + 2 * known)
    assert "at least" not in told
