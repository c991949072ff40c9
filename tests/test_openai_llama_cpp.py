"""The openai engine and llama.cpp's server, on a tiny random Llama as GGUF (no meaning) and on SmolLM2.

The server's answers are compared with those of the transformers engine on the same weights: two implementations of the
model, its tokenizer and its chat template that share no code.
"""

import json
from pathlib import Path

import pandas as pd
import pytest
import tiny_gguf
import torch
import yaml
from fakes import openai_model, transformers_model
from files import write_jsonl
from servers import llama_cpp
from tiny_checkpoints import CLAIMS, DOCUMENTS, ZERO, make, supports
from transformers import AutoModelForCausalLM
from typer.testing import CliRunner

from claimwise import cli, prompts
from claimwise.models.options import TransformersOptions
from claimwise.models.transformers_checkpoint import Checkpoint
from claimwise.prompts import Decoding

# Two implementations in fp32 that sum in different orders.
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A random Llama that answers Yes or No: of 600 equally likely tokens, a server's first 20 would hold neither."""
    folder = make(tmp_path_factory.mktemp("llama"), chat=True)
    model = AutoModelForCausalLM.from_pretrained(folder)
    rendered = [ZERO.render(Document=d, ACU=c) for d, group in zip(DOCUMENTS, CLAIMS, strict=True) for c in group]
    frames = [Checkpoint(TransformersOptions(model=folder, device="cpu", template=name)) for name in ("auto", "none")]
    with torch.no_grad():
        ids = [frame.encode(text) for frame in frames for text in rendered]
        last = torch.stack([model.model(torch.tensor([row])).last_hidden_state[0, -1] for row in ids])
        more = torch.linalg.lstsq(last, torch.full((len(ids), 1), 8.0)).solution[:, 0]  # adds 8 to each logit
        for choice in ("Yes", "No"):
            model.lm_head.weight[frames[0].spellings(choice)] += more
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def start(folder, tmp_path_factory):
    """Starts a server for the checkpoint, written with these options; the context holds its address."""
    made = tmp_path_factory.mktemp("llama-cpp")

    def server(**options):
        tiny_gguf.convert(Path(folder), made / "tiny.gguf", **options)
        return llama_cpp(made / "tiny.gguf", made / "log.txt")

    return server


@pytest.fixture(scope="module")
def address(start):
    with start() as found:
        yield found


def local(folder, **options):
    return transformers_model(model=folder, device="cpu", dtype="float32", **options)


def served(address, **options):
    return openai_model(**{"model": "tiny", "base_url": address, "concurrency": 4, **options})


@pytest.mark.parametrize(("api", "template"), [("chat", "auto"), ("completions", "none")])
def test_support_is_the_checkpoints_own(folder, address, api, template):
    expected = supports(local(folder, template=template))
    assert max(expected) - min(expected) > 0.05  # they could differ
    assert supports(served(address, api=api)) == pytest.approx(expected, abs=TOLERANCE)


def test_a_server_that_adds_no_start_token_is_given_it(folder, start):
    expected = supports(local(folder, template="none"))
    with start(add_start=False) as found:
        given = supports(served(found, api="completions", start="<s>"))
        bare = supports(served(found, api="completions"))
    assert given == pytest.approx(expected, abs=TOLERANCE)
    assert bare != pytest.approx(expected, abs=TOLERANCE)


def test_replies_are_those_of_the_checkpoint_itself(folder, address):
    asked = ["It rained.", "Ann won the race.\n\nYes or No?"]
    expected = dict(local(folder).language_model.replies(asked, Decoding(8)))
    model = served(address).language_model
    found = dict(model.replies(asked, Decoding(8)))
    assert sorted(found) == [0, 1]
    for i, reply in found.items():
        assert reply.text.split() == expected[i].text.split()


def test_json_is_held_to_its_schema(address):
    model = served(address)
    prompt = prompts.load("fenice-decompose-json")
    schema = {
        "type": "object",
        "properties": {"claims": {"type": "array", "items": {"enum": ["It rained.", "It poured."]}, "maxItems": 3}},
        "required": ["claims"],
    }
    reply = dict(model.language_model.replies([prompt.render(Summary="It rained.")], Decoding(200, schema=schema)))[0]
    assert set(json.loads(reply.text)["claims"]) <= {"It rained.", "It poured."}
    free = dict(served(address, json_schema=False).language_model.replies(["It rained."], Decoding(20)))[0]
    with pytest.raises(ValueError, match=r"."):
        json.loads(free.text)


def test_a_file_is_scored_and_a_second_run_asks_nothing(address, tmp_path):
    rows = [{"id": f"e{k}", "document": d, "summary": f"It rained on day {k}."} for k, d in enumerate(DOCUMENTS * 2)]
    write_jsonl(rows, tmp_path / "mine.jsonl")

    def score(**server):
        server = {"kind": "openai", "model": "tiny", "concurrency": 4, "identity": "tiny", **server}
        params = yaml.safe_load((Path(__file__).parents[1] / "params.yaml").read_text())
        params |= {"models": {"server": server}, "model": "server", "cache": str(tmp_path / "calls.sqlite")}
        (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
        named = [("--metric", "sentences"), ("--params", tmp_path / "params.yaml"), ("--out", tmp_path / "scores.csv")]
        arguments = ["score", tmp_path / "mine.jsonl", *(part for pair in named for part in pair)]
        result = CliRunner().invoke(cli.app, list(map(str, arguments)), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return pd.read_csv(tmp_path / "scores.csv")

    first = score(base_url=address)
    assert first["id"].tolist() == [row["id"] for row in rows]
    assert first["score"].notna().all()
    nowhere = score(base_url="http://127.0.0.1:9/v1", retries=0)
    pd.testing.assert_frame_equal(nowhere, first)
