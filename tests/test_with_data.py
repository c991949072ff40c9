"""scripts/with_data.sh: one command with other data, and params.yaml as it is found or edited meanwhile."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "with_data.sh"
PARAMS = "# what to run on\ndata: sample  # or public\n\nmodel: embedded\nnote:\n  data: sample\n"


@pytest.fixture
def run(tmp_path):
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "dvc.lock").write_text("locked\n")
    (tmp_path / "tmp").mkdir()

    def run(command, data="public", **environment):
        return subprocess.run(
            ["sh", SCRIPT, data, "sh", "-c", command],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path / "tmp"), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_command_sees_other_data_and_nothing_else_changes(run, tmp_path):
    found = run("cat params.yaml; echo other > dvc.lock; exit 3")
    assert found.stdout == PARAMS.replace("data: sample  # or public", "data: public")
    assert found.returncode == 3
    assert (tmp_path / "params.yaml").read_text() == PARAMS
    assert (tmp_path / "dvc.lock").read_text() == "locked\n"
    assert list((tmp_path / "tmp").iterdir()) == []


def test_an_edit_while_the_command_runs_stays(run, tmp_path):
    assert run("sed -i 's/embedded/lexical/' params.yaml; echo 'more: 1' >> params.yaml").returncode == 0
    assert (tmp_path / "params.yaml").read_text() == PARAMS.replace("embedded", "lexical") + "more: 1\n"


def test_an_edit_of_the_line_itself_stays(run, tmp_path):
    assert run("sed -i 's/^data: .*/data: own/' params.yaml").returncode == 0
    assert "\ndata: own\n" in (tmp_path / "params.yaml").read_text()


@pytest.mark.parametrize("line", ["data: a&b\\\\1/c", "data: public"])
def test_any_line_is_put_back(run, tmp_path, line):
    text = PARAMS.replace("data: sample  # or public", line)
    (tmp_path / "params.yaml").write_text(text)
    assert run("grep -q '^data: public$' params.yaml").returncode == 0
    assert (tmp_path / "params.yaml").read_text() == text


def test_what_cannot_be_put_back_is_kept_and_told_of(run, tmp_path):
    found = run("rm dvc.lock; mkdir dvc.lock dvc.lock/dvc.lock")
    assert found.returncode == 1
    [kept] = (tmp_path / "tmp").iterdir()
    assert f"copies are in {kept}" in found.stderr
    assert (kept / "dvc.lock").read_text() == "locked\n"
    assert (tmp_path / "params.yaml").read_text() == PARAMS


def test_a_file_without_the_line_is_left_alone(run, tmp_path):
    (tmp_path / "params.yaml").write_text("model: embedded\n")
    found = run("touch ran")
    assert (found.returncode, (tmp_path / "ran").exists()) == (1, False)
    assert "no line begins with 'data: '" in found.stderr
    assert (tmp_path / "params.yaml").read_text() == "model: embedded\n"
