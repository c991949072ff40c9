"""Running a notebook: parameters are checked, the copy is byte-stable, a failure leaves its traceback."""

from __future__ import annotations

import shutil

import nbformat
import papermill
import pytest
import yaml
from imports import ROOT
from nbformat.v4 import new_code_cell, new_notebook
from typer.testing import CliRunner

from claimwise import cli, notebook
from claimwise.params import ParamsError, Settings


def _settings(**section) -> Settings:
    return Settings.model_validate(
        {
            "data": "sample",
            "model": "embedded",
            "models": {"embedded": {"kind": "embedded"}},
            "cache": "cache.sqlite",
            "corpora": {"sample": [], "public": []},
            "metrics": {},
            "score": {"metrics": [], "corpora": {"sample": {}, "public": {}}},
            "toy": section,
        }
    )


@pytest.fixture
def project(tmp_path):
    """A project with one notebook that prints, warns, shows an object's address and divides."""
    cells = [
        new_code_cell('data = "sample"\nmodel = {}\nbelow = 1', metadata={"tags": ["parameters"]}),
        new_code_cell("import sys\nprint('progress', file=sys.stderr)\nprint(data, model)\nobject()"),
        new_code_cell("1 / below"),
    ]
    (tmp_path / "notebooks").mkdir()
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), tmp_path / "notebooks" / "toy.ipynb")
    return tmp_path


def test_two_runs_give_the_same_bytes_and_leave_the_source_alone(project):
    source = (project / "notebooks" / "toy.ipynb").read_bytes()
    first = notebook.run("toy", _settings(below=2), project)
    copy, page = first.read_bytes(), first.with_suffix(".html").read_bytes()
    assert notebook.run("toy", _settings(below=2), project).read_bytes() == copy
    assert first.with_suffix(".html").read_bytes() == page
    assert (project / "notebooks" / "toy.ipynb").read_bytes() == source
    outputs = [output for cell in nbformat.read(first, 4).cells for output in cell.get("outputs", [])]
    assert "progress" not in str(outputs)
    assert outputs[0].text == "sample {'kind': 'embedded'}\n"
    assert outputs[-1].data["text/plain"] == "0.5"


def test_the_command_runs_a_notebook_or_says_what_it_would_ask(project, monkeypatch):
    monkeypatch.chdir(project)
    (project / "params.yaml").write_text(yaml.safe_dump(_settings(below=2).model_dump()), encoding="utf-8")
    dry = CliRunner().invoke(cli.app, ["notebook", "toy", "--dry-run"])
    assert (dry.exit_code, dry.output) == (0, "no calls: no language model takes part\n")
    assert not (project / "reports").exists()
    done = CliRunner().invoke(cli.app, ["notebook", "toy"])
    assert done.exit_code == 0
    assert "reports/sample/toy.ipynb" in done.output.splitlines()
    assert (project / "reports" / "sample" / "toy.html").is_file()


def test_a_failed_run_leaves_the_traceback_to_read_and_no_page(project):
    with pytest.raises(papermill.PapermillExecutionError, match="ZeroDivisionError"):
        notebook.run("toy", _settings(below=0), project)
    copy = nbformat.read(project / "reports" / "sample" / "toy.ipynb", 4)
    assert any(o.get("ename") == "ZeroDivisionError" for c in copy.cells for o in c.get("outputs", []))
    assert "papermill" not in copy.metadata


def test_an_unknown_parameter_is_an_error_that_names_it(project):
    with pytest.raises(ParamsError, match="toy: unknown parameter 'bellow'; the notebook takes below"):
        notebook.run("toy", _settings(bellow=2), project)
    assert not (project / "reports").exists()


def test_an_unknown_notebook_lists_those_there_are(project):
    with pytest.raises(ParamsError, match=r"toi\.ipynb is not there; did you mean 'toy'\? notebooks: toy"):
        notebook.run("toi", _settings(below=2), project)


def test_a_missing_parameter_is_an_error_that_names_it(project):
    with pytest.raises(ParamsError, match="toy: parameter 'below' is missing"):
        notebook.run("toy", _settings(), project)


ASKING = """
from claimwise import models, prompts
engine = models.load(model, cache)
engine.verify(["It rained."], [["It rained.", "It poured.", "It rained."]], prompts.load("prompts/mine.txt"))
open("result", "w").close()
"""


@pytest.fixture
def asking(project):
    """The project, whose notebook asks a model of nobody knows where, with a prompt of its own, and then divides."""
    path = project / "notebooks" / "toy.ipynb"
    toy = nbformat.read(path, 4)
    toy.cells[0].source += '\ncache = ""'
    toy.cells[1].source = ASKING
    nbformat.write(toy, path)
    (project / "data").mkdir()
    (project / "prompts").mkdir()
    shutil.copy(ROOT / "src/claimwise/prompts/acueval-verify-zeroshot.txt", project / "prompts" / "mine.txt")

    def given(below: int) -> Settings:
        entry = {"kind": "openai", "base_url": "http://localhost:9/v1", "model": "m"}
        entry["prices"] = {"prompt": 1e6, "reply": 1.0}
        return _settings(below=below).model_copy(update={"model": "openai", "models": {"openai": entry}})

    return project, given


def test_a_rehearsal_counts_and_asks_and_writes_nothing(asking):
    project, given = asking
    before = sorted(project.rglob("*"))
    told = notebook.rehearse("toy", given(below=2), project)
    assert told.startswith("m: 2 calls (")
    tokens = int(told.split(" prompt tokens")[0].split()[-1])
    assert f"cost about {tokens}.00" in told
    assert "\n" not in told
    after = sorted(project.rglob("*"))
    assert [path for path in after if path not in before and not path.name.startswith("cache.sqlite")] == []


def test_a_rehearsal_that_cannot_go_on_says_so_with_what_it_counted(asking):
    project, given = asking
    told = notebook.rehearse("toy", given(below=0), project)
    assert told.startswith("m: 2 calls (")
    assert "at least: made-up replies end in ZeroDivisionError" in told


def test_models_that_cost_nothing_are_not_rehearsed(project):
    assert notebook.rehearse("toy", _settings(below=0), project) == "no calls: no language model takes part"


def test_a_paid_model_that_a_parameter_names_beside_one_that_costs_nothing_is_rehearsed(asking):
    project, given = asking
    path = project / "notebooks" / "toy.ipynb"
    toy = nbformat.read(path, 4)
    toy.cells[0].source += "\nentries = {}\nbeside = []"
    toy.cells[1].source = ASKING.replace("load(model,", "load(entries[beside[-1]],")
    nbformat.write(toy, path)
    entries = {"embedded": {"kind": "embedded"}, "paid": given(below=2).model_settings}
    settings = _settings(below=2, beside=["embedded", "paid"]).model_copy(update={"models": entries})
    assert notebook.rehearse("toy", settings, project).startswith("m: 2 calls (")
    settings = _settings(below=2, beside=["embedded"]).model_copy(update={"models": entries})
    assert notebook.rehearse("toy", settings, project).startswith("no calls")
