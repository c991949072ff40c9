"""Every notebook as a user runs it, in the folder `notebooks`, with the parameters that it shows.

The test makes a small project whose models are word overlap under the shipped names. So nothing is slow, and the numbers
mean nothing.
"""

import ast
import json
import re
import shutil
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from imports import ROOT
from nbclient import NotebookClient

from claimwise import corpora, params, stages
from claimwise.analysis.easiness import easiness
from claimwise.corpora import Corpus
from claimwise.text import sentences

PARAMS = params.read(ROOT / "params.yaml").model_copy(update={"data": "sample"})
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
#: Reads what the others wrote.
LAST = "scoreboard"


def code(name: str) -> list[nbformat.NotebookNode]:
    cells = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells
    return [cell for cell in cells if cell.cell_type == "code"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_is_clean(name):
    assert nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells[0].source.startswith("# ")
    for cell in code(name):
        assert not cell.outputs
        assert cell.execution_count is None


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_its_parameters_are_those_of_the_sample(name):
    [cell] = [cell for cell in code(name) if "parameters" in cell.metadata.get("tags", [])]
    shown: dict = {}
    exec(cell.source, {}, shown)
    assert shown == PARAMS.parameters(name)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_holds_its_analysis_and_no_more_than_one_can_read(name):
    """In lines of code: at most 200 in all, and at least 60 besides imports and parameters."""

    def lines(source):
        return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in source.splitlines())

    analysis = "\n".join(cell.source for cell in code(name) if "parameters" not in cell.metadata.get("tags", []))
    imports = [node for node in ast.parse(analysis).body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert lines(analysis) - sum(node.end_lineno - node.lineno + 1 for node in imports) >= 60
    assert sum(lines(cell.source) for cell in code(name)) <= 200


def cut(corpus: Corpus) -> Corpus:
    """A document of each origin to test on, two to tune on: aligning claims with all passages of a document takes time."""
    documents = corpus.examples.drop_duplicates("document_id")
    number = documents.groupby(["origin", "split"]).cumcount()
    few = documents[number < documents["split"].map({"test": 1, "validation": 2})]
    examples = corpus.examples[corpus.examples["document_id"].isin(few["document_id"])]
    return replace(corpus, examples=examples.reset_index(drop=True))


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """A project beside the checkout, with the sample's corpora and the scores of models that know little."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "notebooks", folder / "notebooks")
    (folder / "data").mkdir()
    for name in ("embedded", "published", "recorded", "sample"):
        (folder / "data" / name).symlink_to(ROOT / "data" / name)
    given = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    given["data"] = "sample"
    for name, entry in given["models"].items():
        if entry["kind"] == "embedded" or entry.get("only_verifies"):  # whose evidence is the embedded model's
            given["models"][name] = {"kind": "lexical"}
    for metric in given["metrics"].values():
        if metric.get("verify") == "alignment":
            metric["alignment"] = {"entailment": {"kind": "model", "model": {"kind": "lexical"}}}
    (folder / "params.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        settings = params.read(folder / "params.yaml")
        for corpus in stages.prepare_corpora(settings):
            corpora.write(cut(corpora.read(corpus)), corpus)
        for metric in settings.dataset.score["sample"].metrics:
            stages.score(settings, metric)
    return folder


@pytest.fixture(scope="session")
def executed(project, request):
    """By name the executed notebooks that tests ask for, as something to wait for: two run at a time."""

    asked = [item.callspec.params["name"] for item in request.session.items if "executed" in item.fixturenames]
    if LAST in asked:
        asked = [*PARAMS.notebooks, LAST]
    running: dict[str, Future] = {}

    def execute(name: str) -> nbformat.NotebookNode:
        if name == LAST:
            wait([running[other] for other in PARAMS.notebooks])
        notebook = nbformat.read(project / "notebooks" / f"{name}.ipynb", as_version=4)
        where = {"metadata": {"path": project / "notebooks"}}
        return NotebookClient(notebook, kernel_name="python3", startup_timeout=600, resources=where).execute()

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setenv("OMP_NUM_THREADS", "1")
        for name in dict.fromkeys(asked):
            running[name] = pool.submit(execute, name)
        yield running
        for run in running.values():
            run.cancel()


def assert_few_in_words(file):
    """Of the numbers that `dvc exp show` prints, a column each."""
    values = json.loads(file.read_text(encoding="utf-8"))
    assert 1 <= len(values) <= 6, file
    for name, value in values.items():
        assert " " in name, name
        assert value is None or isinstance(value, int | float), name


def test_committed_headlines_are_few():
    files = list((ROOT / "tables").glob("*/*/*.json"))
    assert files
    for file in files:
        assert_few_in_words(file)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_runs_where_it_stands(name, executed, project):
    outputs = [output for cell in executed[name].result().cells if cell.cell_type == "code" for output in cell.outputs]
    # A progress bar shows of what takes a while; an executed report has none.
    written = [output for output in outputs if output.get("name") == "stderr"]
    said = [
        output for output in written if output["text"].strip("\x1b[A \r\n") and not re.search(r"\d%\|", output["text"])
    ]
    assert said + [output for output in outputs if output.output_type == "error"] == []
    shown = set().union(*(output.get("data", {}) for output in outputs))
    assert {"text/html", "image/png"} <= shown
    assert list((project / "tables" / "sample" / "embedded" / name).glob("*.csv"))
    assert_few_in_words(project / "tables" / "sample" / "embedded" / f"{name}.json")
    assert list((project / "figures" / "sample" / "embedded" / name).glob("*.png"))


@pytest.mark.parametrize("name", ["acu_generation"])
def test_a_row_that_needs_no_model_is_as_computed_here(name, executed, project):
    executed[name].result()
    corpus = corpora.read(project / "data" / "corpora" / "sample" / "sample")
    gold = corpus.gold_claims.groupby("example_id")["claim"].agg(list)
    references = corpus.examples.query("system == 'reference' and split == 'test'")
    expected = [
        easiness([span.text for span in sentences(row.summary)], gold[row.id]) for row in references.itertuples()
    ]
    table = pd.read_csv(project / f"tables/sample/embedded/{name}/easiness.csv").set_index("decomposer")
    found = table.loc["sentences", ["n", "precision", "recall", "f1"]]
    assert found.tolist() == pytest.approx([len(references), *100 * np.mean(expected, axis=0)], rel=1e-5)
