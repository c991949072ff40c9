"""Every notebook's code with a language model that knows nothing.

A local server gives fixed replies. In the two notebooks that make the model write, a random checkpoint writes noise. So the
numbers mean nothing: the test is that every experiment runs to its end, whatever a language model replies.
"""

import json
import re
import shutil
import zlib
from dataclasses import replace
from functools import cache
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import tiny_nli
import yaml
from imports import ROOT
from servers import Server
from tiny_checkpoints import make

from claimwise import corpora, params, paths, prompts, stages
from claimwise.prompts import Prompt, parsers


def _code(name: str) -> list[str]:
    cells = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


#: Those that run with whichever model params.yaml chooses.
NOTEBOOKS = [path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if "\nmodel = " in _code(path.stem)[0]]
DOCUMENTS = {"sample": 2, "sample_presence": 2, "sample_papers": 2}


def _share(text: str) -> float:
    """A number in (0, 1) that hangs on the text."""
    return 0.05 + 0.9 * zlib.crc32(text.encode()) / 2**32


def _two(prompt: str) -> list[str]:
    words = prompt.rsplit(": ", 1)[-1].split()[:40]
    return [" ".join(words[:8]) or "It rained.", " ".join(words[8:16]) or "We left."]


def _answer(yes: str, no: str):
    def reply(prompt: str):
        p = _share(prompt)
        return (yes if p > 0.5 else no), {yes: p, no: 1 - p}

    return reply


def _said(prompt: str) -> str:
    return "Yes" if _share(prompt) > 0.5 else "No"


#: A reply of every kind that a prompt may ask for.
REPLIES = {
    "list": lambda prompt: "\n".join(f"- {claim}" for claim in _two(prompt)),
    "json-claims": lambda prompt: json.dumps({"claims": _two(prompt)}),
    "sentences": lambda prompt: ". ".join(_two(prompt)),
    "yes-no": _answer("Yes", "No"),
    "hallucinated-yes-no": _answer("Yes", "No"),
    "true-false": _answer("True", "False"),
    "final-yes-no": lambda prompt: f"Let me see. Answer: {_said(prompt)}",
    "supported-reasoning": lambda prompt: f"Reasoning: it is so. Supported: {_said(prompt)}",
    "supported-label": lambda prompt: "<answer>supported</answer>",
    "claims-supported": lambda prompt: f"- It rained. Supported: Yes\n- We left. Supported: {_said(prompt)}",
    "rating-1-5": lambda prompt: ("3", {"3": _share(prompt), "5": 1 - _share(prompt)}),
    "stars": lambda prompt: f"{round(1 + 4 * _share(prompt))} stars",
    "rating-0-100": lambda prompt: str(round(100 * _share(prompt))),
    "choice-a-e": lambda prompt: "ABCDE"[int(5 * _share(prompt))],
    "critique-block": lambda prompt: f"Critique: hm. Supported: {_said(prompt)}. Revised Claim: It rained.",
    "rating-comment": lambda prompt: f"{round(1 + 4 * _share(prompt))}\nIt omits a name.",
    "feedback": lambda prompt: "Feedback: leave the first sentence out.",
    "corrected-summary": lambda prompt: "Corrected summary: It rained.",
    "text": lambda prompt: "It rained (Ling, 2009).",
}


@cache
def own_words(name: str) -> list[str]:
    return [piece.strip() for piece in re.split(r"{{.*?}}|{%.*?%}", prompts.load(name).template)]


def canned(prompt: str):
    """The reply to whichever prompt this text was rendered from: the one whose own words it holds."""

    def match(name: str) -> int:
        return sum(len(piece) if piece in prompt else -len(piece) for piece in own_words(name))

    return REPLIES[prompts.load(max(prompts.names(), key=match)).reply](prompt)


def test_there_is_a_canned_reply_of_every_kind():
    assert set(REPLIES) == set(parsers.KINDS)
    for kind, reply in REPLIES.items():
        said = reply("Summary: The cat sat on the mat and the dog ran away.")
        text = said if isinstance(said, str) else said[0]
        assert parsers.parse(kind, text).value is not None, kind


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    server = Server(canned)
    yield {
        "transformers": {
            "kind": "transformers",
            # A seed by which it says Yes to some claims and No to others.
            "model": make(tmp_path_factory.mktemp("tiny"), chat=True, seed=4),
            "device": "cpu",
            "dtype": "float32",
        },
        "openai": {"kind": "openai", "model": "m", "base_url": server.url},
    }
    server.kill()


@pytest.fixture(scope="module")
def short_replies():
    """A random checkpoint never ends its reply: a few tokens of noise are as good as many."""
    with pytest.MonkeyPatch.context() as patch:
        decoding = Prompt.decoding.fget
        few = property(lambda prompt: replace(decoding(prompt), max_tokens=min(decoding(prompt).max_tokens, 6)))
        patch.setattr(Prompt, "decoding", few)
        yield


def small(kind: str, entries: dict, nli: str) -> dict:
    """params.yaml, with few draws and little to do."""
    given = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    quick = {name: {"kind": "lexical"} for name, entry in given["models"].items() if entry["kind"] == "embedded"}
    given |= {"data": "sample", "model": kind, "models": given["models"] | quick | entries}
    if kind == "transformers":  # noise holds no list of claims, without which most experiments have nothing to look at
        for metric in ("acueval", "factored", "fenice"):
            given["metrics"][metric]["decompose"] = "sentences"
    for metric in given["metrics"].values():
        metric.pop("model", None)  # all are of the one that is tested
        if metric.get("verify") == "alignment":  # by a random NLI model, which is quicker than the embedded one
            metric["alignment"] = {"entailment": {"kind": "transformers", "checkpoint": nli, "device": "cpu"}}
    for name in NOTEBOOKS:
        given[name] |= {key: 20 for key in ("draws",) if key in given[name]}
    given["acu_verification"] |= {"shots": 2, "others": ["lexical"]}
    given["datasets"]["sample"]["acu_generation"]["others"] = ["lexical"]
    given["refinement"]["per_origin"] = 2
    given["verifier"] |= {"tuned": kind, "nli": kind}
    backbones = {"by words": {"kind": "model", "model": {"kind": "lexical"}}}
    given["nli_alignment"]["backbones"] = backbones
    given["alignment_settings"] |= {"windows": [1, 5], "gates": [0.8]}
    given["self_preference"] |= {"authors": [kind, "lexical"], "documents": 2}
    given["datasets"]["sample"]["nli_alignment"]["documents"] = None
    given["datasets"]["sample"]["alignment_settings"]["documents"] = 2
    given["datasets"]["sample"]["academic_summaries"]["documents"] = {"prevalence": 3, "revision": 2}
    given["datasets"]["sample"]["who_judges_whom"]["documents"] = 1
    given["academic_summaries"] |= {"judges": [kind, "lexical"], "rounds": 1}
    given["who_judges_whom"] |= {"models": [kind, "lexical"]}
    return given


@pytest.fixture(scope="module")
def project(request, entries, short_replies, tmp_path_factory):
    """A folder with a cut of the sample, scored by a language model."""
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("MPLBACKEND", "Agg")
        shutil.copytree(ROOT / "notebooks", "notebooks")
        for name in ("embedded", "published", "sample"):
            shutil.copytree(ROOT / "data" / name, folder / "data" / name)
        nli = tiny_nli.make(folder / "nli", positions=512, words=tiny_nli.sample_words())
        given = yaml.safe_dump(small(request.param, entries, nli))
        (folder / "params.yaml").write_text(given, encoding="utf-8")
        for name, documents in DOCUMENTS.items():
            corpora.write(cut(name, documents), paths.corpus_folder("sample", name))
        given = params.read(folder / "params.yaml")
        # Of what a checkpoint runs only `refinement` reads scores.
        known = given.dataset.score["sample"].metrics
        for metric in known if request.param == "openai" else ["acueval"]:
            stages.score(given, metric)
        yield given


def cut(name: str, documents: int) -> corpora.Corpus:
    """So many documents of each split."""
    corpus = corpora.load(name)
    examples = corpus.examples
    kept = [
        key
        for _, part in examples.groupby("split", sort=False)
        for key in part.loc[part["label"].notna() | examples["label"].isna().all(), "document_id"].unique()[:documents]
    ]
    return replace(corpus, examples=examples[examples["document_id"].isin(kept)].reset_index(drop=True))


def run(project, name: str) -> None:
    cells = _code(name)
    space: dict = {"display": lambda *_: None}
    exec(cells[0], space)
    space |= project.parameters(name)
    for number, cell in enumerate(cells[1:], start=1):
        exec(compile(cell, f"{name}, cell {number}", "exec"), space)
    assert list(Path("tables/sample", project.model, name).glob("*.csv"))


# With the scope of its fixture: else the project is made anew for every notebook.
served = pytest.mark.parametrize("project", ["openai"], indirect=True, scope="module")
loaded = pytest.mark.parametrize("project", ["transformers"], indirect=True, scope="module")


#: Those that ask further models, with a table that has a row of each, and the column that names it.
FURTHER = {"acu_generation": ("easiness", "decomposer"), "acu_verification": ("prompts", "prompt")}


@served
@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if name not in FURTHER])
def test_a_notebooks_code_runs_with_a_server(project, name):
    run(project, name)


@served
@pytest.mark.parametrize("name", FURTHER)
def test_it_runs_with_a_server_and_a_further_model_has_a_row_of_its_own(project, name):
    run(project, name)
    table, column = FURTHER[name]
    rows = pd.read_csv(Path("tables/sample", project.model, name, f"{table}.csv"))
    assert (rows[column] == "lexical").any()


@served
def test_a_stage_as_it_is_run(project):
    """The same by way of a kernel of its own, with its report."""
    report = stages.notebook(project, "acu_verification")
    assert all(cell.get("execution_count") for cell in nbformat.read(report, 4).cells if cell.cell_type == "code")


@loaded
@pytest.mark.parametrize("name", ["acu_generation", "refinement"])
def test_a_notebooks_code_runs_with_a_checkpoint(project, name):
    run(project, name)
