"""Running a notebook: parameters are checked, the copy is byte-stable, a failure leaves its traceback."""

from __future__ import annotations

import nbformat
import papermill
import pytest
import yaml
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


def test_the_command_runs_a_notebook(project, monkeypatch):
    monkeypatch.chdir(project)
    (project / "params.yaml").write_text(yaml.safe_dump(_settings(below=2).model_dump()), encoding="utf-8")
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
