"""Several servers of one model, over real HTTP: which is asked, and what happens to the calls of one that dies."""

import itertools
import logging
import threading
import time
from collections import Counter, defaultdict

import pytest
from fakes import openai_model
from servers import die, failing_on, nowhere, status

from claimwise import prompts
from claimwise.models import ModelError, cost, server_pool
from claimwise.models.cache import ResponseCache
from claimwise.prompts import Decoding

ZERO = prompts.load("acueval-verify-zeroshot")
OUT = "Its calls are asked elsewhere"


def connect(servers, cache=None, **options):
    addresses = [server if isinstance(server, str) else server.url for server in servers]
    return openai_model(cache, **{"model": "m", "base_url": addresses, **options})


def work(documents, claims=3, first=0):
    """Documents, and claims of each, no two alike."""
    texts = [f"Document {k} tells of it." for k in range(first, first + documents)]
    return texts, [[f"Claim {j} of {k}." for j in range(claims)] for k in range(first, first + documents)]


def asked(server):
    """(document, claim) of every request that a server got."""
    sent = [body["messages"][-1]["content"].split("\n") for _, body, _ in server.requests]
    return [(lines[2].removeprefix("Passage: "), lines[4].removeprefix("Statement: ")) for lines in sent]


def counted():
    table = cost.usage()
    return table.loc[table["model"] == "m", "calls"].sum()


def told(caplog):
    return [record.getMessage() for record in caplog.records if OUT in record.getMessage()]


# -- the cache ---------------------------------------------------------------------------------------


def test_a_list_answers_to_the_same_keys_as_its_first_address():
    one, two, three = "http://a.invalid/v1", "http://b.invalid/v1", "http://c.invalid/v1"

    def fingerprint(base_url, **options):
        return openai_model(model="m", base_url=base_url, **options).fingerprint

    assert fingerprint(one) == fingerprint([one]) == fingerprint([one, two]) == fingerprint([one, three, two])
    assert fingerprint([two, one]) == fingerprint(two) != fingerprint(one)
    assert fingerprint([two, one], identity=one) == fingerprint(one)  # what is there stays, whatever the addresses


def test_nothing_is_asked_again_because_a_server_was_added(serve):
    cache, first, second = ResponseCache(":memory:"), serve(), serve()
    connect([first], cache).verify(*work(4), ZERO)
    connect([first, second], cache).verify(*work(6), ZERO)
    assert len(first.requests) + len(second.requests) == 6 * 3


# -- who is asked ------------------------------------------------------------------------------------


def test_all_claims_of_a_document_go_to_one_server_also_those_of_a_later_call(serve):
    servers = [serve(), serve(), serve()]
    model = connect(servers, concurrency=4)
    model.verify(*work(12, 5), ZERO)
    documents, _ = work(12)
    model.verify(documents[:4] * 2, [["Another."]] * 4 + [["One more."]] * 4, ZERO)
    places = defaultdict(set)
    for server in servers:
        assert server.requests
        for document, _ in asked(server):
            places[document].add(server)
    assert set(map(len, places.values())) == {1}
    assert len(places) == 12


def test_prompts_of_no_document_are_spread(serve):
    servers = [serve(latency=0.05), serve(latency=0.05)]
    connect(servers, concurrency=2).decompose(
        [f"Fact {k} holds." for k in range(12)], prompts.load("acueval-decompose-0shot")
    )
    assert all(len(server.requests) > 2 for server in servers)


def test_a_new_document_goes_to_the_server_with_the_least_to_do(serve):
    """One server is held up by its first document until the other has answered about all the rest."""
    documents, claims = work(10, 2)
    done, answers = threading.Event(), itertools.count(1)

    def answer(prompt):
        if next(answers) == 18:
            done.set()
        return "Yes"

    def held(prompt):
        assert done.wait(60)
        return "Yes"

    stuck, quick = serve(held), serve(answer)
    verdicts = connect([stuck, quick], concurrency=2).verify(documents, claims, ZERO)
    assert {verdict.support for group in verdicts for verdict in group} == {1.0}
    assert {document for document, _ in asked(stuck)} == {documents[0]}
    assert len(quick.requests) == 18


def test_concurrency_is_of_each_server(serve):
    servers = [serve(latency=0.2), serve(latency=0.2)]
    connect(servers, concurrency=3).verify(*work(20, 1), ZERO)
    assert all(1 < server.most <= 3 for server in servers)


def test_what_a_stopped_reader_left_unread_takes_nobodys_place(serve):
    model = connect([serve(latency=0.05)], concurrency=2).language_model
    reading = model.replies([f"Prompt {k}" for k in range(20)], Decoding(5))
    next(reading)
    reading.close()
    assert len(list(model.replies(["A", "B", "C"], Decoding(5)))) == 3


# -- a server that dies ------------------------------------------------------------------------------


def test_one_dies_and_one_is_slow_and_nothing_is_lost_or_doubled(serve, caplog, tmp_path):
    answered, lock = defaultdict(list), threading.Lock()

    def answering(name):
        def answer(prompt):
            lines = prompt.split("\n")
            with lock:
                answered[lines[2], lines[4]].append(name)
            return ("Yes", {"Yes": 0.75, "No": 0.25})

        return answer

    dying = serve(answering("dying"), faults=[*[None] * 15, die], latency=0.02)
    slow = serve(answering("slow"), latency=0.1)
    others = [serve(answering(name), latency=0.02) for name in ("third", "fourth")]
    cache = ResponseCache(tmp_path / "calls.sqlite")
    model = connect([dying, slow, *others], cache, concurrency=4, max_calls=180)
    verdicts = model.verify(*work(30, 6), ZERO)
    assert [[verdict.support for verdict in group] for group in verdicts] == [[0.75] * 6] * 30
    assert len(answered) == 180
    assert set(map(len, answered.values())) == {1}  # each was answered once, by one server
    assert [row[2] for row in cache.stats()] == [180]
    assert model.language_model.tally.calls == 180
    assert len(told(caplog)) == 1
    assert f"m at {dying.url} does not serve" in told(caplog)[0]
    assert "trying again" not in caplog.text
    places = defaultdict(set)
    for (document, _), (name,) in answered.items():
        places[document].add(name)
    assert all(len(names - {"dying"}) <= 1 for names in places.values())  # also of those that had to move


@pytest.mark.parametrize("retries", [0, 1, 12])
def test_a_server_of_errors_is_left_after_its_retries_and_each_call_is_counted_once(serve, waits, caplog, retries):
    broken, sound = serve(faults=itertools.repeat(status(503))), serve()
    before = counted()
    model = connect([broken, sound], concurrency=2, retries=retries, max_calls=24)
    verdicts = model.verify(*work(8), ZERO)
    assert {verdict.support for group in verdicts for verdict in group} == {1.0}
    assert Counter(asked(sound)).most_common(1)[0][1] == 1
    assert len(sound.requests) == model.language_model.tally.calls == counted() - before == 24
    assert all(asked(broken).count(call) <= min(retries, 2) + 1 for call in asked(broken))
    assert len(told(caplog)) == 1
    assert f"{broken.url} does not serve: " in told(caplog)[0]
    assert "(status 503)" in told(caplog)[0]


def test_a_prompt_that_every_server_fails_on_has_no_reply_and_moves_no_further(serve, waits, monkeypatch):
    monkeypatch.setattr(server_pool, "_PROBE_SECONDS", 0)

    servers = [serve(faults=failing_on("trap")) for _ in range(2)]
    [[first, second]] = connect(servers, concurrency=1).verify(["D."], [["A trap.", "B."]], ZERO)
    assert (first.reason, second.support) == ("the server failed on it (status 500)", 1)


def test_a_budget_still_ends_a_run_whose_calls_have_moved(serve, waits):
    broken, sound = serve(faults=itertools.repeat(status(503))), serve()
    with pytest.raises(ModelError, match="budget of 10 calls"):
        connect([broken, sound], concurrency=2, max_calls=10).verify(*work(8), ZERO)
    assert len(sound.requests) == 10


def test_one_that_is_not_there_at_the_start_is_warned_of_and_does_not_stop_the_run(serve, waits, caplog):
    server = serve()
    verdicts = connect([nowhere(), server], concurrency=2).verify(*work(6), ZERO)
    assert {verdict.support for group in verdicts for verdict in group} == {1.0}
    assert len(server.requests) == 18
    assert len(told(caplog)) == 1
    assert "no connection: ConnectionRefusedError" in told(caplog)[0]


def test_the_last_server_is_given_all_its_retries(serve, waits):
    shaken = serve()
    model = connect([nowhere(), shaken], concurrency=1, retries=6)
    model.verify(*work(3), ZERO)
    shaken.faults = iter([status(503)] * 5)
    verdicts = model.verify(*work(1, first=3), ZERO)
    assert {verdict.support for group in verdicts for verdict in group} == {1.0}
    assert len(shaken.requests) == 9 + 3 + 5


def test_a_server_that_comes_back_gets_work_again(serve, waits, monkeypatch, caplog):
    monkeypatch.setattr(server_pool, "_PROBE_SECONDS", 0.05)
    dying, other = serve(faults=[die]), serve(latency=0.01)
    model = connect([dying, other], concurrency=2)
    model.verify(*work(6), ZERO)
    assert len(told(caplog)) == 1
    back = serve(port=dying.server_port)
    deadline = time.monotonic() + 60
    for first in itertools.count(6, 6):
        verdicts = model.verify(*work(6, first=first), ZERO)
        assert {verdict.support for group in verdicts for verdict in group} == {1.0}
        if back.requests:
            break
        assert time.monotonic() < deadline
    assert len(told(caplog)) == 1


def test_a_server_whose_gateway_answers_for_it_with_an_error_is_not_back(serve, waits, monkeypatch):
    monkeypatch.setattr(server_pool, "_PROBE_SECONDS", 0.02)
    gateway = serve(faults=itertools.repeat(status(502)), models=502)
    model = connect([gateway, serve()], concurrency=2)
    model.verify(*work(4), ZERO)
    seen = len(gateway.requests)
    deadline = time.monotonic() + 60
    while len(gateway.probes) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    model.verify(*work(4, first=4), ZERO)
    assert len(gateway.requests) == seen
    assert set(gateway.probes) == {"/v1/models"}


# -- none is left ------------------------------------------------------------------------------------


def test_where_all_have_died_the_error_names_them_all_and_a_second_run_goes_on(serve, waits):
    cache = ResponseCache(":memory:")
    servers = [serve(faults=[*[None] * 4, die]) for _ in range(3)]
    secret = [server.url.replace("//", "//ann:geheim@") for server in servers]
    model = connect(secret, cache, concurrency=2, identity="here", retries=3)
    with pytest.raises(ModelError, match=r"m: no server is left: .*Finished replies are kept") as error:
        model.verify(*work(12), ZERO)
    assert all(f"{server.url} (" in str(error.value) for server in servers)
    assert "geheim" not in str(error.value)
    kept = sum(row[2] for row in cache.stats())
    assert 0 < kept < 36
    sound = serve()
    connect([sound], cache, identity="here").verify(*work(12), ZERO)
    assert len(sound.requests) == 36 - kept


def test_where_none_was_ever_there_few_attempts_tell(waits):
    addresses = [nowhere(), nowhere()]
    with pytest.raises(ModelError, match="no server is left") as error:
        connect(addresses).verify(*work(3), ZERO)
    assert all(address in str(error.value) for address in addresses)
    assert len(waits) < 9 * 3 * 2


def test_a_wrong_model_name_at_one_server_stops_the_run_and_names_it(serve):
    lacking = serve(faults=itertools.repeat(lambda h: h.reply(404, {"error": {"message": "model 'm' not found"}})))
    with pytest.raises(ModelError, match=f"{lacking.url} knows no such model"):
        connect([lacking, serve()]).verify(*work(4), ZERO)


# -- passwords in addresses --------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["https://ann:geheim@b.invalid:80000/v1", "https://ann:geh/eim@b.invalid/v1"])
def test_a_password_in_a_wrong_address_is_not_shown(wrong):
    for base_url in (wrong, ["https://a.invalid/v1", wrong]):
        with pytest.raises(ModelError, match="option 'base_url'") as error:
            openai_model(model="m", base_url=base_url)
        assert "eim" not in str(error.value)


def test_a_password_in_the_address_of_a_server_that_is_down_is_not_shown(serve, caplog, waits):
    down = nowhere().replace("//", "//ann:geh@eim@")
    with caplog.at_level(logging.WARNING):
        connect([down, serve()], concurrency=2).verify(*work(3), ZERO)
    assert len(told(caplog)) == 1
    assert "eim" not in caplog.text
