"""The record of a run: what was asked in this process and in others, what it cost, what a repetition writes again."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakes import MUMBLE, FakeModel
from test_language import Scripted

from claimwise import models, prompts, runs
from claimwise.models.cache import ResponseCache
from claimwise.models.caching import CachedModel
from claimwise.models.language import PromptedModel
from claimwise.models.replies import Reply
from claimwise.models.usage import VARIABLE, Prices, PricesError, Usage, note, read
from claimwise.runs import Run

ZERO = prompts.load("acueval-verify-zeroshot")
ENTRIES = {"big": {"kind": "openai", "model": "org/scripted", "prices": {"prompt": 10.0, "reply": 1e6}}}


class Counting(Scripted):
    """Ten tokens a prompt, two a reply."""

    def _replies(self, asked):
        for index, reply in super()._replies(asked):
            self.tally.prompt_tokens += 10
            self.tally.reply_tokens += 2
            yield index, reply


def record(folder):
    [file] = (folder / "runs").glob("*.json")
    return json.loads(file.read_text())


def test_a_language_models_calls_tokens_and_unread_replies(tmp_path, capsys):
    model = PromptedModel(
        Counting(lambda prompt: "Hm." if "C." in prompt else "Yes"), ResponseCache(tmp_path / "c.sqlite")
    )
    model.verify(["D."], [["A."]], ZERO)  # before the run: not counted, but remembered
    with Run("stage", tmp_path / "c.sqlite", ENTRIES) as run:
        model.verify(["D."], [["A.", "B.", "B.", "C."]], ZERO)
    usage = run.usage["scripted", "verify"]
    assert (usage.asked, usage.remembered, usage.calls, usage.unparsed) == (4, 1, 2, 1)
    assert (usage.prompt_tokens, usage.reply_tokens) == (20, 4)
    told = record(tmp_path)
    assert (told["stage"], told["finished"], told["cost"]) == ("stage", True, pytest.approx(4 + 2e-4))
    assert told["versions"]["torch"].count(".") == 2
    line = capsys.readouterr().err
    assert line.startswith("stage: 4 answers (1 from the cache, 2 calls), 20 + 4 tokens, cost 4.00, 1 unparsed, ")
    assert line.endswith(
        " s; replies that could not be read are kept (1); to ask them again: "
        "`claimwise cache prune --model scripted:unread`\n"
    )
    assert not list((tmp_path / "runs").glob("*.notes"))


def test_what_is_asked_again_anyway_needs_no_advice(tmp_path, capsys):
    replies = {"A.": Reply(reason="content filter"), "B.": Reply(" \n"), "C.": Reply("Yes")}
    model = PromptedModel(
        Counting(lambda prompt: next(reply for claim, reply in replies.items() if f"Statement: {claim}" in prompt)),
        ResponseCache(":memory:"),
    )
    with Run("stage", tmp_path / "c.sqlite", {}) as run:
        model.verify(["D."], [list(replies)], ZERO)
    usage = run.usage["scripted", "verify"]
    assert (usage.unparsed, usage.unread) == (2, 0)
    assert capsys.readouterr().err.endswith(" s\n")


def test_other_models_are_counted_by_value(tmp_path):
    model = CachedModel(FakeModel(), ResponseCache(":memory:"))
    with Run("stage", tmp_path / "c.sqlite", {}) as run:
        model.verify(["D."], [["A.", f"{MUMBLE}.", "A."]], ZERO)
        model.judge(["D."], ["S."], prompts.load("belugaeval-judge-consistency"))
    counts = {role: (u.asked, u.remembered, u.calls, u.unparsed) for (_, role), u in run.usage.items()}
    assert counts == {"judge": (1, 0, 1, 0), "verify": (3, 0, 2, 1)}
    assert record(tmp_path)["cost"] is None


def test_a_record_whose_writing_was_killed_does_not_stop_the_forecasts_of_others(tmp_path, monkeypatch):
    def die(path, text, **options):
        with path.open("w") as file:
            file.write(text[: len(text) // 2])
        raise KeyboardInterrupt

    model = CachedModel(FakeModel(), ResponseCache(":memory:"))
    run = Run("killed", tmp_path / "c.sqlite", {})
    run.__enter__()
    model.verify(["D."], [["A."]], ZERO)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", die)
        with pytest.raises(KeyboardInterrupt):
            run.__exit__(None, None, None)
    assert runs.pace(tmp_path / "c.sqlite", "fake") is None
    with Run("stage", tmp_path / "c.sqlite", {}):
        model.verify(["D."], [["B."]], ZERO)
    assert runs.pace(tmp_path / "c.sqlite", "fake") > 0


def test_what_was_spent_before_a_failure_is_on_record(tmp_path):
    model = PromptedModel(Counting(lambda prompt: "Yes", fail_after=2), ResponseCache(":memory:"))
    with pytest.raises(ConnectionError), Run("stage", tmp_path / "c.sqlite", {}):
        model.verify(["D."], [["A.", "B.", "C."]], ZERO)
    told = record(tmp_path)
    assert not told["finished"]
    assert told["usage"][0]["calls"] == 2
    assert VARIABLE not in os.environ


def test_processes_started_from_a_run_are_counted(tmp_path):
    code = "from claimwise.models.usage import Usage, note; note('m', 'verify', Usage(asked=2, calls=1))"
    with Run("stage", tmp_path / "c.sqlite", {}) as run:
        note("m", "verify", Usage(asked=1))
        subprocess.run([sys.executable, "-c", code], check=True)
    assert run.usage == {("m", "verify"): Usage(asked=3, calls=1)}


def test_what_stands_beside_the_tables_is_equal_in_a_repetition(tmp_path):
    cache = ResponseCache(tmp_path / "c.sqlite")
    for name in ("first.json", "second.json"):
        model = PromptedModel(Counting(lambda prompt: "Yes"), cache)
        with Run("stage", tmp_path / "c.sqlite", ENTRIES) as run:
            model.verify(["D."], [["A.", "B."]], ZERO)
        run.beside(tmp_path / name, ENTRIES["big"])
    first, second = ((tmp_path / name).read_text() for name in ("first.json", "second.json"))
    assert first == second
    assert json.loads(first)["asked"] == [{"model": "scripted", "role": "verify", "asked": 2, "unparsed": 0}]
    assert json.loads(first)["model"] == "org/scripted at the vendor"


def test_a_run_that_asks_nothing_says_nothing(tmp_path, capsys):
    with Run("stage", tmp_path / "c.sqlite", {}):
        pass
    assert capsys.readouterr().err == ""
    assert not list((tmp_path / "runs").iterdir())


def test_without_a_run_nothing_is_noted(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    note("m", "verify", Usage(asked=1))
    assert read(tmp_path / "none.notes") == {}


def test_the_pace_is_that_of_the_latest_run_with_the_model(tmp_path):
    cache = tmp_path / "c.sqlite"
    assert runs.pace(cache, "m") is None
    for stage, calls in (("one", 10), ("two", 30)):
        with Run(stage, cache, {}):
            note("m", "verify", Usage(asked=calls, calls=calls, seconds=2.0))
        newest = max((tmp_path / "runs").glob(f"{stage}-*.json"))
        os.utime(newest, (calls, calls))
    assert runs.pace(cache, "m") == 15
    assert runs.pace(cache, "other") is None


def test_prices_are_checked_before_anything_is_asked():
    with pytest.raises(PricesError, match=r"expected `prices: .*got \{'prompt': 1\}"):
        models.load({"kind": "embedded", "prices": {"prompt": 1}})
    assert Prices.of({"prices": {"prompt": 1, "reply": 2}}).cost(10**6, 10**6) == 3
    assert Prices.of({}) is None


def test_probabilities_that_hold_no_answer_are_unparsed(tmp_path):
    model = PromptedModel(Counting(lambda prompt: Reply(probabilities=(0.0, 0.0))), ResponseCache(":memory:"))
    with Run("stage", tmp_path / "c.sqlite", {}) as run:
        model.verify(["D."], [["A."]], ZERO)
    assert run.usage["scripted", "verify"].unparsed == 1
