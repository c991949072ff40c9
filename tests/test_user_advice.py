"""The advice to a user when nothing could be scored, by reason; and that a stopped run can continue."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import yaml
from files import changed_params, write_jsonl
from typer.testing import CliRunner

from claimwise import cli
from claimwise.errors import ClaimwiseError
from claimwise.metrics import DEFAULT_METRICS, specification
from claimwise.reasons import Reason
from claimwise.user_file.score import advice
from claimwise.user_file.score import score as score_file

ROWS = [{"id": str(n), "document": f"It rained on day {n}.", "summary": f"It rained {n} times."} for n in range(6)]


def advised(*reasons, metric="acueval"):
    return advice(reasons, Path("mine.csv"), specification(metric, DEFAULT_METRICS))


def test_the_file_is_blamed_for_empty_texts_only():
    assert advised(Reason.EMPTY_SUMMARY, Reason.EMPTY_CLAIM) == "correct mine.csv"
    for reason in (
        "refusal",
        Reason.NO_LIST,
        Reason.CUT,
        Reason.TOO_LONG,
        "the server sent no text (length)",
        "neither yes nor no",
    ):
        assert "mine.csv" not in advised(reason)
    assert advised(Reason.NO_LIST, Reason.EMPTY_SUMMARY, "refusal") == (
        "take another prompt (--prompt) or another model (--model); correct mine.csv"
    )


def test_of_a_prompt_that_is_too_long_a_shorter_one_is_named():
    for reason in (Reason.TOO_LONG, "the server refused the prompt as too long"):
        assert "`context`" in advised(reason)
        assert "--prompt acueval-decompose-0shot" in advised(reason)
    assert "0shot" not in advised(Reason.TOO_LONG, metric="sentences")


@pytest.fixture
def served(folder, serve):
    """A file of six rows and a model behind a loopback server."""
    server = serve(lambda prompt: "- It rained." if "breakdown" in prompt else ("Yes", {"Yes": 0.75, "No": 0.25}))
    entry = {"kind": "openai", "model": "m", "base_url": server.url, "concurrency": 1}
    params = {"model": "served", "models": {"served": entry}, "cache": "calls.sqlite"}
    Path("params.yaml").write_text(yaml.safe_dump(params))
    write_jsonl(ROWS)
    return server


def score():
    return score_file([Path("mine.jsonl")], "acueval", None, None, None, None, Path("params.yaml"))


def test_a_model_that_refuses_is_not_the_files_fault(served):
    served.answer = lambda prompt: "I'm sorry, but I cannot help with that."
    with pytest.raises(ClaimwiseError, match=r"none of 6 .* above; take another prompt \(--prompt\) or another mod"):
        score()


def test_a_context_that_the_prompt_does_not_fit_is_told_of(served):
    with changed_params() as params:
        params["models"]["served"]["context"] = 400
    with pytest.raises(
        ClaimwiseError, match=r"demonstrations, must fit: .*`context`.*--prompt acueval-decompose-0shot"
    ):
        score()
    assert served.requests == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_says_that_it_can_go_on_and_does(served, sent):
    served.latency = 0.3
    # A shell that starts a command in the background has it ignore Ctrl-C, and whatever that starts.
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{heeding}; from claimwise.cli import main; main()", "score", "mine.jsonl"]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    end = time.monotonic() + 600
    while len(served.requests) < 5 and run.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    run.send_signal(sent)
    _, printed = run.communicate(timeout=600)
    assert run.returncode == 130, printed
    assert printed.endswith("stopped. Finished replies are kept: run again to go on.\n")
    assert "Traceback" not in printed
    served.latency, asked = 0, len(served.requests)
    assert score()["score"].tolist() == [0.75] * 6
    assert len(served.requests) - asked < 12  # two calls a summary, of which some are kept
    assert len(pd.read_csv("mine.acueval.served.csv")) == 6


def test_a_stage_that_is_stopped_says_so_too(monkeypatch, served):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("claimwise.stages.score", stop)
    monkeypatch.setattr("claimwise.project.settings", lambda: None)
    done = CliRunner().invoke(cli.app, ["evaluate", "acueval"])
    assert done.exit_code == 130
    assert "Finished replies are kept: run again to go on." in done.stderr
