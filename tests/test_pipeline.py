"""The contracts that hold the compendium together: names, dependencies, parameters, clean notebooks, environments."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import nbformat
import papermill
import pytest
import yaml
from imports import ROOT, _file, _imported, dependencies, notebook_dependencies

from claimwise import params as settings
from claimwise.metrics import DEFAULT_METRICS

NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
PARAMS = settings.read(ROOT / "params.yaml")


def _code_dependencies(stage: str) -> set[str]:
    return {path for path in STAGES[stage]["deps"] if path.startswith(("src/", "notebooks/"))}


def test_stage_notebook_and_section_have_one_name():
    assert set(STAGES) - {"corpora", "score", "train_embedded"} == set(NOTEBOOKS) == set(PARAMS.sections)
    for name in NOTEBOOKS:
        assert STAGES[name]["cmd"] == f"claimwise notebook {name}"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_stage_depends_on_exactly_what_its_notebook_imports(name):
    assert _code_dependencies(name) == notebook_dependencies(name)


@pytest.mark.parametrize(("stage", "module"), [("corpora", "claimwise.preparation"), ("score", "claimwise.scoring")])
def test_the_other_stages_depend_on_exactly_what_they_import(stage, module):
    assert _code_dependencies(stage) == dependencies({module})


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_stage_names_only_its_own_section_of_the_params(name):
    others = set(NOTEBOOKS) - {name}
    assert not others & {str(entry).split(".")[0] for entry in STAGES[name]["params"]}
    assert name in STAGES[name]["params"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_source_notebooks_are_clean_and_take_exactly_their_section(name):
    path = ROOT / "notebooks" / f"{name}.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    for cell in cells:
        if cell.cell_type == "code":
            assert not cell.outputs
            assert cell.execution_count is None
    assert cells[0].source.startswith("# ")
    declared = set(papermill.inspect_notebook(path))
    shared = {"data", "model", "cache", "definitions", "entries"}
    assert declared - shared == set(PARAMS.sections[name])


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_stage_writes_its_report_tables_and_figures_under_its_own_name(name):
    outs = [next(iter(out)) for key in ("outs", "metrics", "plots") for out in STAGES[name][key]]
    assert {f"reports/${{data}}/{name}.ipynb", f"reports/${{data}}/{name}.html"} <= set(outs)
    assert all(Path(out).stem.startswith(name) for out in outs)


def _every_module() -> set[str]:
    files = (ROOT / "src/claimwise").rglob("*.py")
    return {".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__") for path in files}


def test_imports_have_no_circle():
    every = _every_module()
    # A package imports its modules to re-export them; that a module imports its package's siblings is no circle.
    graph = {
        name: {other for other in _imported(_file(name).read_text(), name) if not name.startswith(other + ".")}
        for name in every
    }
    for name in graph:
        seen, left = set(), set(graph[name])
        while left:
            other = left.pop()
            seen.add(other)
            left |= graph[other] - seen
        assert name not in seen, f"{name} imports itself by way of {sorted(seen)}"


#: What each of these rooms may import of the rest of the package.
_BELOW = {
    "prompts": {"errors", "strict_yaml", "text"},
    "corpora": {"errors", "prompts", "schema"},
    "models": {"citations", "easiness", "errors", "prompts", "text"},
}


def test_rooms_import_only_what_stands_below_them_and_nobody_imports_training_or_experiments():
    room = {name: name.split(".")[1] for name in _every_module() - {"claimwise"}}
    for name, own in room.items():
        others = {room[other] for other in _imported(_file(name).read_text(), name) & room.keys()} - {own}
        assert others <= _BELOW.get(own, others), name
        assert not others & {"training", "experiments"}, name


_ONE_AFTER_THE_OTHER = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(f"claimwise.{name}")
    if found := {"torch", "transformers"} & set(sys.modules):
        sys.exit(f"{name} imports {found}")
"""


def test_imports_without_torch():
    names = ["metrics", "statistics", "figures", "tables", "scoring", "experiments.refinement"]
    command = [sys.executable, "-c", _ONE_AFTER_THE_OTHER, *names]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_command_line_knows_the_metrics_of_the_params_without_them():
    assert PARAMS.metrics == DEFAULT_METRICS


def _requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["dev"]]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=!\[ ]", name)[0]).lower()


def _packages(code: ast.AST) -> set[str]:
    """What is imported outside the standard library, but for what the code does without (``except ImportError``)."""
    found = set()
    for node in ast.iter_child_nodes(code):
        if isinstance(node, ast.Try) and any(getattr(h.type, "id", None) == "ImportError" for h in node.handlers):
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.split(".")[0])
        found |= _packages(node)
    return found - sys.stdlib_module_names


def test_every_package_that_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {_normal(entry) for entry in project["dependencies"]}
    distributions = packages_distributions()
    for path in (ROOT / "src/claimwise").rglob("*.py"):
        for package in _packages(ast.parse(path.read_text(encoding="utf-8"))) - {"claimwise"}:
            assert declared & {_normal(name) for name in distributions.get(package, [])}, f"{path.name}: {package}"


def test_environment_yml_is_in_step_with_pyproject():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    pip = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert sorted(pip) == sorted(["-e .", *_requirements()])
    assert "python=3.11" in environment["dependencies"]


def test_the_lock_pins_every_requirement_and_nothing_is_local_to_a_machine():
    from packaging.requirements import Requirement

    lock = (ROOT / "requirements.lock").read_text().splitlines()
    pins = dict(line.split("==") for line in lock if line and not line.startswith("#"))
    pins = {_normal(name): version for name, version in pins.items()}
    for entry in _requirements():
        requirement = Requirement(entry)
        assert pins[_normal(requirement.name)] in requirement.specifier, entry
    assert not any("+" in version or "@" in version for version in pins.values())


@pytest.mark.parametrize(
    "path", sorted((ROOT / "reports").glob("*/*.ipynb")), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_committed_reports_ran_to_their_end(path):
    cells = nbformat.read(path, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    assert path.with_suffix(".html").is_file()
    # They are of the notebooks as they stand: nothing else would notice a public report that is not.
    source = nbformat.read(ROOT / "notebooks" / path.name, as_version=4).cells
    executed = [cell for cell in cells if "injected-parameters" not in cell.metadata.get("tags", [])]
    assert [(c.cell_type, c.source) for c in executed] == [(c.cell_type, c.source) for c in source]


def test_the_public_results_hold_no_text_of_the_corpora(published_corpus):
    """No ten words in a row of any public document stand in what is committed of the public run."""
    from claimwise import text

    results = [
        p for folder in ("reports", "tables") for p in (ROOT / folder / "public").glob("*.*") if p.suffix != ".html"
    ]
    assert results
    seen = set()
    for path in results:
        words = text.words(_strings(path))
        seen.update(zip(*(words[i:] for i in range(10)), strict=False))
    for name in ("aggrefact_ftsota", "rose", "llmsummeval_pairwise", "qags"):
        examples = published_corpus(name).examples
        for passage in [*examples["document"].unique(), *examples["summary"]]:
            words = text.words(passage)
            found = seen.intersection(zip(*(words[i:] for i in range(10)), strict=False))
            assert not found, f"{name}: {found}"


def _strings(path: Path) -> str:
    """The text of a result: of a notebook its sources and outputs, without the figures' bytes."""
    if path.suffix != ".ipynb":
        return path.read_text(encoding="utf-8")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("image/png", None)
    return json.dumps(cells)


def test_the_other_data_are_for_one_command_only(tmp_path):
    """`make public` leaves params.yaml and dvc.lock as they were, whether its command succeeds or not."""
    for name in ("params.yaml", "dvc.lock"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    script = ["sh", str(ROOT / "scripts/with_data.sh"), "public"]
    shown = subprocess.run([*script, "cat", "params.yaml"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert yaml.safe_load(shown.stdout)["data"] == "public"
    failed = subprocess.run([*script, "sh", "-c", "echo other > dvc.lock; exit 3"], cwd=tmp_path, check=False)
    assert failed.returncode == 3
    for name in ("params.yaml", "dvc.lock"):
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()


@pytest.mark.parametrize("data", ["sample", "public"])
def test_every_notebook_has_been_run(data):
    notebooks = {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {path.name for path in (ROOT / "reports" / data).glob("*.ipynb")} == notebooks
