"""The openai engine and a real third-party server: `transformers serve` on a tiny random checkpoint (no meaning)."""

import logging
import sys

import pytest
from fakes import openai_model, transformers_model
from servers import running

from claimwise import prompts
from claimwise.prompts import Decoding

pytest.importorskip("fastapi", reason="transformers[serving] is not installed")
pytest.importorskip("uvicorn", reason="transformers[serving] is not installed")


@pytest.fixture(scope="module")
def folder(folders):
    return folders(chat=True)


@pytest.fixture(scope="module")
def address(folder, tmp_path_factory):
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", folder]
    log = tmp_path_factory.mktemp("serve") / "log.txt"
    with running([*command, "--device", "cpu", "--dtype", "float32"], "/health", log) as found:
        yield found


def test_replies_are_those_of_the_checkpoint_itself(folder, address):
    served = openai_model(model=folder, base_url=address, concurrency=2)
    local = transformers_model(model=folder, device="cpu", dtype="float32")
    asked = ["It rained.", "Ann won the race.\n\nYes or No?"]
    replies = dict(served.language_model.replies(asked, Decoding(8)))
    expected = dict(local.language_model.replies(asked, Decoding(8)))
    assert {i: reply.text.strip() for i, reply in replies.items()} == {
        i: reply.text.strip() for i, reply in expected.items()
    }
    assert served.language_model.tally.calls == 2
    assert served.language_model.tally.prompt_tokens == sum(local.language_model.count(text) for text in asked)


def test_a_server_that_ignores_logprobs_is_noticed(folder, address, caplog):
    served = openai_model(model=folder, base_url=address)
    with caplog.at_level(logging.WARNING):
        verdicts = served.verify(
            ["It rained."], [["It rained.", "It poured."]], prompts.load("acueval-verify-zeroshot")
        )
    assert len(verdicts[0]) == 2
    assert all(v.support in (0.0, 1.0) or v.reason for v in verdicts[0])
    assert "sends no logprobs with some replies or all" in caplog.text
