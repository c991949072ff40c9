"""The openai backend over real HTTP, with a local server that makes errors."""

import asyncio
import base64
import itertools
import logging
import math
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import pytest
from fakes import openai_model
from servers import cut, failing_on, half, last, nowhere, odd, page, reset, slow, status

from claimwise import prompts
from claimwise.models import ModelError, cost
from claimwise.models.cache import ResponseCache
from claimwise.models.language import PromptedModel
from claimwise.models.openai import OpenAILanguageModel
from claimwise.models.options import OpenAIOptions
from claimwise.prompts import Decoding

ZERO = prompts.load("acueval-verify-zeroshot")
DECOMPOSE = prompts.load("acueval-decompose-0shot")


def connect(server, cache=None, **options) -> PromptedModel:
    return openai_model(cache, **{"model": "m", "base_url": server.url, **options})


def ask(model):
    """The verdict on one claim."""
    return model.verify(["D."], [["A."]], ZERO)[0][0]


def test_support_is_read_from_log_probabilities(serve):
    server = serve(lambda prompt: ("Yes", {"Yes": 0.5, " yes": 0.1, "No": 0.2, "Maybe": 0.1}))
    verdict = ask(connect(server))
    assert verdict.support == pytest.approx(0.6 / 0.8)
    assert verdict.reason is None
    _, body, _ = server.requests[0]
    assert (body["logprobs"], body["top_logprobs"], body["temperature"], body["max_tokens"]) == (True, 20, 0.0, 5)


def test_base_models_are_asked_for_completions(serve):
    server = serve(lambda prompt: (" No", {" No": 0.75, " Yes": 0.25}))
    model = connect(server, api="completions")
    verdict = model.verify(["D."], [["C."]], prompts.load("factored-verify-fewshot"))[0][0]
    assert verdict.support == pytest.approx(0.25)
    assert server.requests[0][1]["prompt"].endswith("Supported:")


@pytest.mark.parametrize(
    ("logprobs", "told"),
    [
        ("ignored", "sends no logprobs with some replies or all: verdicts without"),
        ("refused", "(logprobs are not supported with this model (status 400)): verdicts without"),
    ],
)
def test_a_server_without_probabilities_is_warned_of_once(serve, caplog, logprobs, told):
    server = serve(lambda prompt: "No." if "Statement: It rained." in prompt else "Yes", logprobs=logprobs)
    with caplog.at_level(logging.WARNING):
        verdicts = connect(server, concurrency=4).verify(["D."], [["It rained.", *map(str, range(9))]], ZERO)[0]
    assert [v.support for v in verdicts] == [0.0] + [1.0] * 9
    assert {v.reason for v in verdicts} == {"sampled"}
    [warning] = [r.message for r in caplog.records if "marked 'sampled'" in r.message]
    assert told in warning


def test_a_server_of_few_alternatives_is_asked_for_as_many_as_it_gives(serve, caplog):
    server = serve(lambda prompt: ("Yes", {"Yes": 0.6, "No": 0.2}), logprobs="five")
    verdicts = connect(server, concurrency=1).verify(["D."], [["A.", "B."]], ZERO)[0]
    assert [v.support for v in verdicts] == pytest.approx([0.75, 0.75])
    assert [v.reason for v in verdicts] == [None, None]
    assert [body.get("top_logprobs") for _, body, _ in server.requests] == [20, 5, 5]
    assert "(top_logprobs must be <= 5 (status 400)): asking again for 5 instead of 20 alternatives" in caplog.text


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_one_probability_without_an_alternative_is_no_support(serve, caplog, api):
    server = serve(lambda prompt: ("Yes", {"Yes": 0.55}))
    verdicts = connect(server, concurrency=1, api=api).verify(["D."], [["A.", "B."]], ZERO)[0]
    assert [(v.support, v.reason) for v in verdicts] == [(1.0, "sampled")] * 2
    assert len([r for r in caplog.records if "sends no alternatives" in r.message]) == 1
    assert all(body["logprobs"] for _, body, _ in server.requests)  # the next reply may have some


def test_a_reply_without_probabilities_among_others_is_marked_and_the_next_are_asked_for_them(serve, caplog):
    server = serve(lambda prompt: ("Yes", {"Yes": 0.6, "No": 0.2}), faults=[None, odd(), None])
    verdicts = connect(server, concurrency=1).verify(["D."], [["A.", "B.", "C."]], ZERO)[0]
    assert [v.support for v in verdicts] == pytest.approx([0.75, 1.0, 0.75])
    assert [v.reason for v in verdicts] == [None, "sampled", None]
    assert "sends no logprobs with some replies" in caplog.text


@pytest.mark.parametrize("asked", [{"logprobs": True}, {"top_logprobs": 5}])
def test_a_sampled_reply_is_no_answer_to_a_run_that_asks_for_other_probabilities(serve, asked):
    cache, server = ResponseCache(":memory:"), serve(lambda prompt: ("Yes", {"Yes": 0.6, "No": 0.2}))
    sampled = ask(connect(server, cache, logprobs=False))
    assert (sampled.support, sampled.reason) == (1.0, "sampled")
    found = ask(connect(server, cache, **asked))
    assert (found.support, found.reason) == (pytest.approx(0.75), None)


def test_neither_answer_among_the_alternatives_is_nan(serve):
    verdict = ask(connect(serve(lambda prompt: ("Hm", {"Hm": 0.9, "Well": 0.1}))))
    assert math.isnan(verdict.support)
    assert "none of Yes, No" in verdict.reason


def test_content_in_parts_is_the_text_of_its_parts(serve):
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "N"}, {"type": "text", "text": "o."}]
    cache = ResponseCache(":memory:")
    for _ in range(2):  # fresh, and from the cache
        server = serve(faults=[odd({"content": parts})])
        verdict = ask(connect(server, cache, identity="here"))
        assert (verdict.support, verdict.reason) == (0.0, "sampled")
    assert len(server.requests) == 0


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"content": 5}, "the server sent content that is no text (int)"),
        ({"content": [{"type": "image"}, "Yes", {"type": "text", "text": 5}]}, "the server sent no text (stop)"),
        ({"content": None}, "the server sent no text (stop)"),
        ({"content": "\n"}, "the server sent no text (stop)"),  # as where thoughts took all the room
        ("Yes", "the server sent no text (stop)"),
    ],
)
def test_content_that_is_no_text_has_a_reason_and_is_asked_again_in_a_later_run(serve, message, reason):
    server, cache = serve(faults=[odd(message)]), ResponseCache(":memory:")
    verdict = ask(connect(server, cache))
    assert math.isnan(verdict.support)
    assert verdict.reason == reason
    assert cache.stats() == []
    assert ask(connect(server, cache)).support == 1.0


@pytest.mark.parametrize(
    "logprobs",
    [
        "zzz",
        {"content": [{"token": "No"}]},
        {"content": [{"token": "No", "logprob": None}]},
        {"content": [{"token": "No", "logprob": 1000}]},
        {"content": [{"token": "No", "logprob": -(10**400)}]},
        {"content": [{"token": 5, "logprob": -0.1}]},
        {"content": [{"token": "No", "logprob": -0.1, "top_logprobs": 5}]},
        {"tokens": ["No"], "token_logprobs": 5},
        {"tokens": ["No"], "token_logprobs": [-0.1], "top_logprobs": ["zzz"]},
    ],
)
def test_unreadable_logprobs_are_as_none(serve, caplog, logprobs):
    verdict = ask(connect(serve(faults=[odd(logprobs=logprobs)])))
    assert (verdict.support, verdict.reason) == (1.0, "sampled")
    assert "sends unreadable logprobs: verdicts without" in caplog.text


def test_a_refusal_in_a_field_of_its_own_is_remembered_and_says_nothing_of_probabilities(serve, caplog):
    refusal = odd({"content": None, "refusal": "I'm sorry, I cannot assist with that."})
    server = serve(lambda prompt: ("Yes", {"Yes": 0.6, "No": 0.2}), faults=[refusal])
    model = connect(server, concurrency=1)
    for _ in range(2):
        first, second = model.verify(["D."], [["A.", "B."]], ZERO)[0]
        assert (first.reason, second.reason, second.support) == ("refusal", None, pytest.approx(0.75))
    assert len(server.requests) == 2
    assert "logprobs" not in caplog.text


@pytest.mark.parametrize(
    ("end", "claims"), [("stop", 2), ("length", 1), ("model_length", 1), ("content_filter", 1), ("error", 0)]
)
def test_the_claim_at_which_a_reply_was_stopped_is_left_out(serve, end, claims):
    server = serve(faults=[odd({"content": "- It rained.\n- Ann wo"}, finish_reason=end)])
    [found] = connect(server).decompose(["P."], DECOMPOSE)
    assert len(found.claims) == claims


@pytest.mark.parametrize(
    "error",
    [{"message": "This model does not support parameter stop."}, {"message": "Bad parameter.", "param": "stop"}],
)
def test_a_server_that_refuses_stop_texts_is_asked_without_and_its_replies_end_there(serve, caplog, error):
    prompt = prompts.load("acueval-decompose-5shot")
    written = f"- It rained.\n\n{prompt.stop[0]}: Bo left.\n- Bo left."
    server = serve(lambda _: written, faults=[lambda h: h.reply(400, {"error": error})])
    found = connect(server, concurrency=1).decompose(["A.", "B."], prompt)
    assert [[claim.text for claim in one.claims] for one in found] == [["It rained."]] * 2
    assert [body.get("stop") for _, body, _ in server.requests] == [list(prompt.stop), None, None]
    assert len([r for r in caplog.records if "refuses texts that end a reply" in r.message]) == 1


@pytest.mark.parametrize("usage", ["lots", None, {}, {"prompt_tokens": "12", "completion_tokens": None}])
def test_calls_and_tokens_are_counted_and_a_usage_that_cannot_be_read_counts_nothing(serve, usage):
    model = connect(serve(faults=[odd(usage=usage)]))
    verdicts = model.verify(["D."], [["A.", "B.", "C."]], ZERO)[0]
    assert [v.support for v in verdicts] == [1.0] * 3
    tally = model.language_model.tally
    assert (tally.calls, tally.prompt_tokens, tally.reply_tokens) == (3, 20, 4)


def test_a_server_that_never_sends_a_completion_is_an_error_that_shows_what_came(serve, waits):
    server = serve(faults=itertools.repeat(odd(choices=["hi"])))
    with pytest.raises(ModelError, match=r'an answer that is no completion: .*"choices": \["hi"\].*after 2 retries'):
        ask(connect(server, retries=2))
    assert len(server.requests) == 3


FAULTS = {
    "rate limit": status(429, Retry_After="0.1"),
    "server error": status(500),
    "overloaded": status(503),
    "a completion without choices": lambda handler: handler.reply(200, {"choices": []}),
    "a choice that is no object": odd(choices=["hi"]),
    "choices that are no list": odd(choices={"0": {"text": "hi"}}),
    "cut connection": cut,
    "half a body": half,
    "a connection reset": reset,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_retried_and_nothing_is_lost_or_scored_twice(serve, waits, fault):
    server = serve(lambda prompt: "- " + prompt.rsplit("facts: ", 1)[1], faults=[FAULTS[fault]] * 2)
    passages = [f"Fact {k} holds." for k in range(12)]
    found = connect(server, concurrency=3).decompose(passages, DECOMPOSE)
    assert [[c.text for c in d.claims] for d in found] == [[p] for p in passages]
    assert len(server.requests) == 14


def test_in_a_storm_of_faults_nothing_is_lost_or_counted_twice(serve, waits, tmp_path):
    storm = random.Random(0).choices([*FAULTS.values(), page, None], k=70)
    server = serve(lambda prompt: "- " + prompt.rsplit("facts: ", 1)[1], faults=[None, *storm])
    passages = [f"Fact {k} holds." for k in range(90)]
    cache = ResponseCache(tmp_path / "calls.sqlite")
    model = connect(server, cache, concurrency=16, retries=40)
    expected = [[passage] for passage in passages]
    model.decompose(passages[:1], DECOMPOSE)
    assert [[c.text for c in d.claims] for d in model.decompose(passages, DECOMPOSE)] == expected
    assert len(server.requests) == 90 + sum(fault is not None for fault in storm)
    assert model.language_model.tally.calls == 90
    assert [row[2] for row in cache.stats()] == [90]
    again = connect(server, cache)
    assert [[c.text for c in d.claims] for d in again.decompose(passages, DECOMPOSE)] == expected
    assert again.language_model.tally.calls == 0


def test_a_slow_reply_times_out_and_is_asked_again(serve):
    server = serve(faults=[slow])
    assert ask(connect(server, timeout_seconds=1)).support == 1.0
    assert len(server.requests) >= 2


def test_a_server_that_asks_for_more_than_minutes_stops_the_run_at_once(serve, waits):
    server = serve(faults=[status(429, Retry_After="3600")])
    with pytest.raises(ModelError, match=r"fault 429 \(status 429\); it asks to wait 3600 s$"):
        ask(connect(server))
    assert waits == []


@pytest.mark.parametrize("code", [429, 500])
def test_a_server_that_never_answers_gets_all_retries_and_nothing_is_said_to_be_kept(serve, waits, caplog, code):
    fault = status(code, **({"Retry_After": "1"} if code == 429 else {}))
    server = serve(faults=itertools.repeat(fault))
    asks = "; it asks to wait 1 s" if code == 429 else ""
    with pytest.raises(ModelError, match=rf": fault {code} \(status {code}\), after 12 retries{asks}$"):
        ask(connect(server))
    assert len(waits) == 12
    [warning] = [record.getMessage() for record in caplog.records]
    assert warning.endswith(f": fault {code} (status {code}); trying again, up to 12 times a call")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"error": {"message": "busy", "type": "x"}}, "busy"),
        ({"error": "busy"}, "busy"),
        ({"message": "busy"}, "busy"),
        ({"error": {"code": 1}}, '{"error": {"code": 1}}'),
        (["busy"], '["busy"]'),
        (b"<html>busy", "<html>busy"),
    ],
)
def test_an_error_is_shown_by_its_message_or_else_as_it_came(serve, waits, body, shown):
    server = serve(faults=itertools.repeat(lambda handler: handler.reply(503, body)))
    with pytest.raises(ModelError) as caught:
        ask(connect(server, retries=1))
    assert str(caught.value) == f"m at {server.url}: {shown} (status 503), after 1 retry"


def test_a_server_that_stays_down_stops_the_run_and_a_second_run_goes_on(serve):
    down = itertools.chain([None] * 3, itertools.repeat(status(500)))
    cache = ResponseCache(":memory:")
    broken = serve(faults=down)
    claims = [[f"Claim {k}." for k in range(6)]]
    with pytest.raises(ModelError, match=r"status 500\), after 1 retry\. Finished replies are kept"):
        connect(broken, cache, retries=1, concurrency=1, identity="here").verify(["D."], claims, ZERO)
    healthy = serve()
    found = connect(healthy, cache, identity="here").verify(["D."], claims, ZERO)[0]
    assert [v.support for v in found] == [1.0] * 6
    assert len(healthy.requests) == 3


def test_a_prompt_that_a_server_fails_on_has_no_reply_while_others_are_answered(serve, waits):
    cache, claims = ResponseCache(":memory:"), [["A.", "A trap.", "B."]]
    for calls in (2, 0):  # what was answered is kept; the other one is asked again, now alone
        server = serve(faults=failing_on("trap"))
        model = connect(server, cache, retries=3, concurrency=1, identity="here")
        verdicts = model.verify(["D."], claims, ZERO)[0]
        assert [v.reason for v in verdicts] == ["sampled", "the server failed on it (status 500)", "sampled"]
        assert len(server.requests) == calls + 4 + 1  # one shows that it serves
        assert model.language_model.tally.calls == calls + 1
    assert [row[2] for row in cache.stats()] == [2]


def test_a_field_that_is_refused_is_not_advised(serve):
    server = serve(faults=[lambda h: h.reply(422, {"detail": "unknown field max_completion_tokens"})])
    with pytest.raises(ModelError, match=r"unknown field max_completion_tokens\W+\(status 422\)$"):
        ask(connect(server, token_limit="max_completion_tokens"))


TOO_LONG, FILTERED = "the server refused the prompt as too long", "the server's content filter refused the prompt"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        # What servers say of one prompt: OpenAI, vLLM (two versions), SGLang, llama.cpp, Mistral, Anthropic, Azure.
        (
            {
                "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000.",
                "code": "context_length_exceeded",
                "param": "messages",
            },
            TOO_LONG,
        ),
        (
            {
                "message": "'max_tokens' or 'max_completion_tokens' is too large: 5. This model's maximum context length is "
                "8192 tokens and your request has 8190 input tokens (5 > 8192 - 8190).",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            },
            TOO_LONG,
        ),
        ({"message": "maximum context length is 10 tokens"}, TOO_LONG),
        ({"message": "You passed 8190 input tokens; the model's context length is only 8192 tokens."}, TOO_LONG),
        ({"message": "The input (5000 tokens) is longer than the model's context length (4096 tokens)."}, TOO_LONG),
        ({"message": "too big", "code": 400, "type": "exceed_context_size_error"}, TOO_LONG),
        ({"message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"}, TOO_LONG),
        ({"message": "prompt is too long: 210000 tokens > 200000 maximum"}, TOO_LONG),
        ({"message": "tokens (prompt + max_tokens) 5000 exceed the maximum context length 4096"}, TOO_LONG),
        ({"message": "The sequence is too long for this model (5000 > 4096)"}, TOO_LONG),
        ({"message": "The response was filtered", "code": "content_filter", "param": "prompt"}, FILTERED),
        ({"message": "Blocked for reasons of safety."}, FILTERED),
        # What they say of the form of every request.
        ({"message": "max_tokens is too large: 20000", "param": "max_tokens", "code": "invalid_value"}, None),
        ({"message": "Request value of max_completion_tokens is too large"}, None),
        ({"message": "The image is too large"}, None),
        ({"message": "This prompt has a temperature that is too large"}, None),
        ({"message": "Invalid 'safety_identifier': expected a hash"}, None),
        ({"message": "Invalid 'seed' for the input: too large", "param": "seed"}, None),
        ({"message": "max_tokens: 5 input tokens, and the context length is 5 tokens"}, None),
    ],
)
def test_a_refusal_is_of_the_prompt_and_the_others_go_on_or_of_the_requests_form(serve, error, reason):
    server = serve(faults=[lambda h: h.reply(400, {"error": error})])
    model = connect(server, concurrency=1, seed=1, extra_body={"safety_identifier": "me"})
    if reason is None:
        with pytest.raises(ModelError, match="refused the request") as caught:
            ask(model)
        assert error["message"] in str(caught.value)
        assert "token_limit" not in str(caught.value)
    else:
        first, second = model.verify(["D."], [["A.", "B."]], ZERO)[0]
        assert math.isnan(first.support)
        assert (first.reason, second.support) == (reason, 1.0)


def test_a_body_that_is_too_large_for_the_server_is_a_prompt_that_is(serve):
    server = serve(faults=[lambda h: h.reply(413, b"<html>413 Request Entity</html>")])
    assert ask(connect(server)).reason == TOO_LONG


@pytest.mark.parametrize("retries", [1, 8])
def test_a_server_that_is_not_there_is_known_after_few_attempts(waits, caplog, retries):
    address = nowhere()
    model = openai_model(model="m", base_url=address, concurrency=1, retries=retries)
    with pytest.raises(
        ModelError, match=r"no connection: ConnectionRefusedError: .*Start the server, or corr"
    ) as caught:
        model.verify(["D."], [["A.", "B."]], ZERO)
    assert address in str(caught.value)
    assert "Nothing was answered" in str(caught.value)
    assert len(waits) == min(retries, 2)
    assert "trying again" in caplog.text


def test_what_is_tried_again_is_told_with_its_own_problem(serve, caplog):
    second = threading.Event()

    def busy(handler):
        handler.reply(503, {"error": {"message": "busy"}})
        second.set()

    def broken(handler):  # while the first call waits to be made again
        second.wait()
        time.sleep(0.1)
        reset(handler)

    model = connect(serve(faults=[busy, broken]), concurrency=2, retries=3)
    model.verify(["D."], [["A.", "B."]], ZERO)
    (told,) = [record.getMessage() for record in caplog.records if "trying again" in record.getMessage()]
    assert "busy" in told


def test_a_server_that_takes_no_connection_in_time_is_said_so(waits, monkeypatch):
    monkeypatch.setattr("claimwise.models.openai_replies._CONNECT_SECONDS", 0.05)
    with ExitStack() as sockets:
        full = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):  # nobody accepts these, and there is no room for more
            waiting = sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        address = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        model = openai_model(model="m", base_url=address, concurrency=1)
        with pytest.raises(ModelError, match="cannot be used: no connection: timed out, after 2 retries"):
            ask(model)


@pytest.mark.parametrize("frame", [{"system": "word " * 400}, {"api": "completions", "start": "word " * 400}])
def test_a_document_leaves_room_for_what_stands_before_every_prompt(serve, frame):
    document = " ".join(f"Sentence {k} says little." for k in range(100))
    server = serve()
    connect(server, context=1200, **frame).verify([document], [["A claim."]], ZERO)
    assert len(server.requests) > 1
    for _, body, _ in server.requests:
        sent = body["prompt"] if "prompt" in body else "".join(m["content"] for m in body["messages"])
        assert len(sent.split()) > 400
        assert len(sent.encode()) / 3 + sum(map(str.isdigit, sent)) * 2 / 3 + ZERO.max_tokens <= 1200


@pytest.mark.parametrize(("tokens", "warnings"), [(20, 1), (4096, 0), (0, 0)])
def test_a_server_that_reads_fewer_tokens_than_a_prompt_has_words_is_told_of_once(serve, caplog, tokens, warnings):
    usage = {"prompt_tokens": tokens, "completion_tokens": 1}
    server = serve(faults=[odd(usage=usage)] * 2)
    connect(server).verify(["It rained. " * 100], [["A.", "B."]], ZERO)
    told = [r.getMessage() for r in caplog.records if "seems to cut prompts" in r.getMessage()]
    assert len(told) == warnings
    assert all(f"counts {tokens} tokens in a prompt of 2" in one and "num_ctx" in one for one in told)


def test_a_server_that_has_answered_before_is_waited_for(serve, waits):
    server = serve(faults=[last])
    model = connect(server, retries=5)
    ask(model)
    server.kill()
    with pytest.raises(ModelError, match=r"no connection: .*after 5 retries\. Finished replies are kept"):
        model.verify(["D."], [["B."]], ZERO)
    assert len(waits) == 5


def test_a_wrong_key_is_an_error_that_does_not_show_it(serve, monkeypatch, caplog):
    monkeypatch.setenv("SOME_KEY", "sk-very-secret")
    server = serve(faults=[lambda h: h.reply(401, {"error": {"message": "Incorrect API key: sk-very-secret"}})])
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelError, match="refused the key in SOME_KEY") as caught:
        ask(connect(server, key_variable="SOME_KEY"))
    assert server.requests[0][2]["authorization"] == "Bearer sk-very-secret"
    assert "very-secret" not in str(caught.value)
    assert "very-secret" not in caplog.text


@pytest.mark.parametrize(("code", "error"), [(401, {"message": "no"}), (429, {"message": "insufficient_quota"})])
def test_what_was_answered_before_a_key_or_a_quota_ends_a_run_is_said_to_be_kept(serve, capsys, code, error):
    def ended(handler):
        handler.reply(code, {"error": error})

    for answered in (2, 0):
        model = connect(serve(faults=[*[None] * answered, *[ended] * 9]), concurrency=1)
        with pytest.raises(ModelError) as caught, cost.watched("stage", model, None):
            model.verify(["D."], [["A.", "B.", "C.", "D."]], ZERO)
        assert str(caught.value).endswith(". Finished replies are kept: run again to go on.") == bool(answered)
    assert capsys.readouterr().err.startswith("stage: 2 answers (0 from the cache, 2 calls), ")


SECRET = "sk-very-secret-4242"
IN_BASE64 = [base64.b64encode(before + SECRET.encode()).decode() for before in (b"", b"Bearer ", b"ab")]


@pytest.mark.parametrize("echoed", [SECRET, *IN_BASE64])
def test_a_key_that_a_server_echoes_goes_nowhere(serve, monkeypatch, tmp_path, echoed):
    monkeypatch.setenv("SOME_KEY", SECRET)
    faults = [
        odd(message={"content": None}, finish_reason=echoed),
        lambda h: h.reply(400, {"error": {"message": echoed}}),
    ]
    model = connect(
        serve(lambda prompt: f"- It says {echoed} too.", faults=faults),
        ResponseCache(tmp_path / "calls.sqlite"),
        key_variable="SOME_KEY",
    )
    reason = model.decompose(["It rained."], DECOMPOSE)[0].reason
    with pytest.raises(ModelError) as caught:
        model.decompose(["It rained."], DECOMPOSE)
    [claim] = model.decompose(["It rained."], DECOMPOSE)[0].claims
    assert claim.text.startswith("It says ")
    shown = f"{reason} {caught.value} {claim.text} {(tmp_path / 'calls.sqlite-wal').read_bytes()}"
    assert not any(form[4:20] in shown for form in (SECRET, *IN_BASE64))


def test_a_key_in_the_escapes_of_json_goes_nowhere_either(serve, monkeypatch):
    monkeypatch.setenv("SOME_KEY", SECRET)
    escaped = "".join(f"\\u{ord(one):04x}" for one in SECRET)
    body = f'{{"choices": [{{"message": {{"content": "- It says {escaped} too."}}, "finish_reason": "stop"}}]}}'
    model = connect(serve(faults=[lambda h: h.reply(200, body.encode())]), key_variable="SOME_KEY")
    [claim] = model.decompose(["It rained."], DECOMPOSE)[0].claims
    assert claim.text == "It says *** too."


def test_a_word_in_the_place_of_a_key_may_stand_in_replies(serve, monkeypatch):
    monkeypatch.setenv("SOME_KEY", "EMPTY")
    model = connect(serve(lambda prompt: "- The EMPTY room."), key_variable="SOME_KEY")
    [claim] = model.decompose(["It rained."], DECOMPOSE)[0].claims
    assert claim.text == "The EMPTY room."


def test_a_variable_that_seems_to_hold_no_key_is_warned_of(serve, monkeypatch, caplog):
    connect(serve(), key_variable="HOME")
    assert "what the environment variable HOME holds is sent to the server as the key" in caplog.text
    caplog.clear()
    monkeypatch.setenv("MY_API_KEY", SECRET)
    connect(serve(), key_variable="MY_API_KEY")
    assert caplog.text == ""


def test_what_a_server_says_is_no_command_to_the_terminal(serve):
    fault = status(500, retry_after="\x1b[2J9999")
    for answer in (lambda h: h.reply(400, {"error": {"message": "\x1b]0;no\x07 \x9b31m"}}), fault):
        with pytest.raises(ModelError) as caught:
            ask(connect(serve(faults=[answer] * 2), retries=1))
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"choices": ' + b"[" * 200_000])
def test_a_body_of_any_depth_is_no_completion(serve, waits, body):
    server = serve(faults=[lambda handler: handler.reply(200, body)] * 3)
    with pytest.raises(ModelError, match="an answer that is no completion"):
        ask(connect(server, retries=2))


def test_a_key_does_not_change_or_enter_the_fingerprint(serve, monkeypatch):
    server = serve()
    monkeypatch.setenv("OPENAI_API_KEY", "one")
    first = connect(server)
    monkeypatch.setenv("OPENAI_API_KEY", "two")
    assert connect(server).fingerprint == first.fingerprint
    assert connect(server, temperature=0.7).fingerprint != first.fingerprint
    assert connect(server, identity="x").fingerprint != first.fingerprint
    assert len({connect(server, **o).fingerprint for o in ({}, {"logprobs": False}, {"top_logprobs": 5})}) == 3


def test_the_vendor_needs_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="environment variable OPENAI_API_KEY holds no key"):
        openai_model(model="gpt")


@pytest.mark.parametrize(("budget", "calls"), [({"max_calls": 4}, 4), ({"max_total_tokens": 25}, 3)])
def test_a_budget_stops_the_run(serve, budget, calls):
    server = serve()
    with pytest.raises(ModelError, match=r"is spent\. Finished replies are kept"):
        connect(server, concurrency=1, **budget).verify(["D."], [[f"C{k}." for k in range(9)]], ZERO)
    assert len(server.requests) == calls


def test_a_budget_of_tokens_counts_an_estimate_where_the_server_sends_no_usage(serve, caplog):
    server = serve(faults=itertools.repeat(odd(usage=None)))
    model = connect(server, concurrency=1, max_total_tokens=700)
    with pytest.raises(ModelError, match=r"700 tokens \(max_total_tokens\) is spent"):
        model.verify(["D."], [[f"C{k}." for k in range(50)]], ZERO)
    tally, asked = model.language_model.tally, len(server.requests)
    assert 1 < asked < 10
    assert tally.prompt_tokens >= asked * model.language_model.count("D.")
    assert 700 <= tally.prompt_tokens + tally.reply_tokens < 700 * asked / (asked - 1)
    assert 0 < tally.reply_tokens < tally.prompt_tokens
    assert len([r for r in caplog.records if "max_total_tokens is of estimates" in r.getMessage()]) == 1


def test_a_limit_in_extra_body_leaves_a_document_less_of_the_context(serve):
    document = " ".join(f"Sentence {k} says little." for k in range(60))
    sent = []
    for limit in ({}, {"extra_body": {"max_tokens": 1500}}):
        server = serve()
        model = connect(server, context=2000, **limit)
        model.verify([document], [["A claim."]], ZERO)
        sent.append([body["messages"][-1]["content"] for _, body, _ in server.requests])
    assert len(sent[0]) == 1
    assert max(map(model.language_model.count, sent[1])) + 1500 <= 2000


def test_calls_are_sent_in_order(serve):
    server = serve()
    documents = [f"Document {k}." for k in range(4)]
    connect(server, concurrency=1).verify(documents, [["A.", "B."]] * 4, ZERO)
    sent = [body["messages"][-1]["content"].split("Passage: ")[1][:11] for _, body, _ in server.requests]
    assert sent == [f"Document {k}."[:11] for k in range(4) for _ in range(2)]


def test_json_replies_are_held_to_a_schema_where_asked(serve):
    server = serve(lambda prompt: '{"claims": ["It rained."]}')
    prompt = prompts.load("fenice-decompose-json")
    assert connect(server).decompose(["It rained."], prompt)[0].claims[0].text == "It rained."
    connect(server, json_schema=False).decompose(["It rained."], prompt)
    form = server.requests[0][1]["response_format"]
    assert form["json_schema"]["schema"]["properties"] == {"claims": {"type": "array", "items": {"type": "string"}}}
    assert "response_format" not in server.requests[1][1]


@pytest.mark.parametrize(
    ("refusals", "sent"),
    [(1, ["json_schema", "json_object", "json_object"]), (2, ["json_schema", "json_object", None, None])],
)
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Invalid parameter: 'response_format' of this type is not supported"),
        (500, "1 validation error: {'loc': ('body', 'response_format', 'type')"),  # llama-cpp-python
    ],
)
def test_a_server_is_asked_for_json_in_the_form_it_knows(serve, refusals, sent, status, message):
    def refuse(handler):
        handler.reply(status, {"error": {"message": message}})

    server = serve(lambda prompt: "```json\n{'claims': ['It rained.']}\n```", faults=[refuse] * refusals)
    found = connect(server, concurrency=1).decompose(["A.", "B."], prompts.load("fenice-decompose-json"))
    assert [d.claims[0].text for d in found] == ["It rained.", "It rained."]
    forms = [body.get("response_format") for _, body, _ in server.requests]
    assert [form and form["type"] for form in forms] == sent
    assert forms[1]["schema"] == forms[0]["json_schema"]["schema"]


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_the_environments_proxy_is_used_but_not_for_its_exceptions(serve, monkeypatch, scheme):
    proxy, server = serve(), serve()
    monkeypatch.setenv("http_proxy", f"{scheme}127.0.0.1:{proxy.server_port}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    ask(connect(server, base_url="http://far.invalid/v1"))
    assert [headers["host"] for _, _, headers in proxy.requests] == ["far.invalid"]
    ask(connect(server))
    assert (len(proxy.requests), len(server.requests)) == (1, 1)


def test_a_proxy_of_another_kind_is_warned_of(serve, monkeypatch, caplog):
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert ask(connect(serve())).support == 1.0
    assert "the environment's proxies are not used: Using SOCKS proxy" in caplog.text


def test_it_runs_inside_a_running_event_loop(serve):
    async def cell():  # a notebook's cell
        return ask(connect(serve())).support

    assert asyncio.run(cell()) == 1.0


def test_a_model_that_its_own_thread_lets_go_of_closes_its_connections(serve):
    options, others = OpenAIOptions(model="m", base_url=serve().url), threading.enumerate()
    held = [OpenAILanguageModel(options)]
    [thread] = (one for one in threading.enumerate() if one not in others)
    assert [reply.text for _, reply in held[0].replies(["P."], Decoding(max_tokens=5))] == ["Yes"]
    [server] = held[0]._pool._servers
    held[0]._loop.call_soon_threadsafe(held.clear)
    thread.join(600)
    assert not thread.is_alive()
    assert server.client.is_closed()


# ---------------------------------------------------------------- what no repetition helps is told at once


def test_a_web_page_instead_of_a_completion_is_told_of_at_once(serve, waits):
    with pytest.raises(ModelError, match=r"a web page came .*<html>Bad gateway</html>.*usually ends in /v1"):
        connect(serve(faults=itertools.repeat(page)), concurrency=1).verify(["D."], [["A.", "B."]], ZERO)
    assert waits == []


def test_a_web_page_after_completions_is_a_fault_that_passes(serve, waits):
    server = serve(faults=[None, page])
    assert len(connect(server, concurrency=1).verify(["D."], [["A.", "B."]], ZERO)[0]) == 2
    assert len(server.requests) == 3


def test_an_error_with_status_200_is_known_after_few_attempts(serve, waits):
    """As LM Studio answers at an address without /v1."""
    server = serve(faults=itertools.repeat(lambda h: h.reply(200, {"error": "Unexpected endpoint. (POST /chat)"})))
    with pytest.raises(ModelError, match=r"Unexpected endpoint.*after 2 retries.*usually ends in /v1"):
        ask(connect(server, concurrency=1))


QUOTA = {"message": "You exceeded your current quota", "code": "insufficient_quota"}


@pytest.mark.parametrize(
    ("status", "error", "told"),
    [
        (429, QUOTA, r"refused the request: .* \(status 429\)"),
        (500, {"message": "1 validation error: {'loc': ('body', 'seed')"}, r"refused the request: .* \(status 500\)"),
        (307, {}, r"sends the request on to another address \(status 307\)"),
        # where to look, and the setting that helps
        (
            404,
            {"message": "model 'm' not found, try pulling it first"},
            "no such model or path: model 'm' not found.*URL/models lists",
        ),
        (
            400,
            {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."},
            "Write `token_limit: max_completion_tokens`",
        ),
        (400, {"message": "'temperature' does not support 0 with this model"}, "Write `temperature: null`"),
    ],
)
def test_an_error_that_does_not_pass_is_not_asked_again(serve, waits, status, error, told):
    server = serve(faults=itertools.repeat(lambda h: h.reply(status, {"error": error})))
    with pytest.raises(ModelError, match=told.replace("URL", server.url)):
        ask(connect(server, concurrency=1))
    assert len(server.requests) == 1


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_certificate_that_is_not_trusted_is_the_cause_that_is_named(serve, waits, monkeypatch, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate]
    subprocess.run([*made, "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    server, context = serve(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    address = server.url.replace("http:", "https:")
    with pytest.raises(ModelError, match=r"certificate is not trusted \(.*self-signed certificate.*SSL_CERT_FILE"):
        ask(connect(server, base_url=address))
    assert waits == []
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert ask(connect(server, base_url=address)).support == 1.0


def test_https_where_http_is_spoken_is_the_cause_that_is_named(serve, waits):
    with pytest.raises(ModelError, match=r"no connection: SSLError: .*correct the model's `base_url`"):
        ask(connect(server := serve(), base_url=server.url.replace("http:", "https:")))


def test_a_key_is_sent_without_the_line_end_of_its_file_and_none_is_sent_where_there_is_none(serve, monkeypatch):
    server = serve()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-key\n")
    ask(connect(server))
    monkeypatch.delenv("OPENAI_API_KEY")
    ask(connect(server))
    assert [headers.get("authorization") for _, _, headers in server.requests] == ["Bearer sk-key", None]
    unset = serve(faults=[lambda h: h.reply(401, {"error": {"message": "who are you?"}})])
    with pytest.raises(ModelError, match="wants a key, and OPENAI_API_KEY is not set: who are you"):
        ask(connect(unset))


@pytest.mark.parametrize("key", ["two\nlines", "ключ", "a b"])
def test_what_cannot_be_a_key_is_told_of_before_anything_is_asked(serve, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ModelError, match="OPENAI_API_KEY holds no key: expected one word") as caught:
        connect(serve())
    assert key not in str(caught.value)


# ---------------------------------------------------------------- texts that no file can hold


def test_half_a_surrogate_pair_is_replaced_where_it_arrives(serve, tmp_path):
    server = serve(lambda prompt: "- It rained \ud83d\ude00.\n- It poured \ud83d.")
    model = connect(server, ResponseCache(tmp_path / "calls.sqlite"))
    for _ in range(2):  # fresh, and remembered
        claims = model.decompose(["It \udc00 rained."], DECOMPOSE)[0].claims
        assert [claim.text for claim in claims] == ["It rained \U0001f600.", "It poured \ufffd."]
    [(_, body, _)] = server.requests
    assert "It \ufffd rained." in body["messages"][-1]["content"]


# ---------------------------------------------------------------- stopped runs


RUN = """
import sys
from claimwise import models, prompts
model = models.load({"kind": "openai", "model": "m", "base_url": sys.argv[1], "concurrency": 4}, sys.argv[2])
model.verify(["D."], [[f"Claim {k}." for k in range(16)]], prompts.load("acueval-verify-zeroshot"))
"""


def test_what_has_come_is_kept_by_a_run_that_is_killed_while_it_waits_for_the_rest(serve, tmp_path):
    silent = threading.Event()  # one call is never answered
    server = serve(faults=[*[None] * 15, lambda handler: silent.wait(60)])
    path = tmp_path / "calls.sqlite"
    run = subprocess.Popen([sys.executable, "-c", RUN, server.url, str(path)])
    end = time.monotonic() + 600
    while (len(server.requests) < 16 or kept(path) < 15) and time.monotonic() < end and run.poll() is None:
        time.sleep(0.05)
    run.send_signal(signal.SIGKILL)
    assert run.wait(600) == -signal.SIGKILL
    silent.set()
    assert kept(path) == 15
    asked = len(server.requests)
    assert len(connect(server, ResponseCache(path)).verify(["D."], [[f"Claim {k}." for k in range(16)]], ZERO)[0]) == 16
    assert len(server.requests) == asked + 1


def kept(path):
    return sum(calls for _, _, calls, _ in ResponseCache(path).stats())


# ---------------------------------------------------------------- wrong options


@pytest.mark.parametrize(
    ("option", "found", "message"),
    [
        ("base_url", "http://localhost:80000/v1", "found 'http://localhost:80000/v1'; .*port number"),
        ("base_url", "localhost:8000/v1", "found 'localhost:8000/v1'; .*http:// or https://"),
        ("base_url", "http://localhost/v1\n", "without blanks"),
        ("base_url", "http://local host/v1", "domain"),
        ("base_url", "http://localhost/v1?api_key=1", r"without what follows a \?"),
        ("base_url", [], "at least 1 item"),
        ("base_url", ["http://a.invalid/v1", 5], "found 5; Input should be a valid string"),
        ("base_url", ["http://a.invalid/v1", "http://a.invalid/v1"], "an address appears twice; keep one"),
        ("base_url", 5, "found 5"),
        ("top_logprobs", 1, "found 1"),  # one alternative alone says nothing of the other answer
        ("temperature", float("nan"), "found nan"),
        ("extra_body", {"a": {1, 2}}, "found"),  # no JSON holds it
        ("extra_body", {"a": b"x"}, "found"),
    ],
)
def test_a_wrong_option_is_told_of_before_anything_is_asked(option, found, message):
    with pytest.raises(ModelError, match=rf"kind openai: option '{option}\S*: .*{message}"):
        openai_model(**{"model": "m", "base_url": "http://localhost/v1", option: found})
