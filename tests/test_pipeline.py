"""The rules of the whole project: names, imports, packages, committed results, environments."""

import ast
import graphlib
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import nbformat
import pytest
import yaml
from imports import ROOT, every_module, imported, source

from claimwise import params

NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
PARAMS = params.read(ROOT / "params.yaml")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_notebook_is_a_stage_and_has_a_section_of_its_name():
    # The scoreboard reads what the others wrote, and has a stage of its own.
    assert sorted([*PARAMS.notebooks, "scoreboard"]) == NOTEBOOKS == sorted(PARAMS.sections)
    assert STAGES["notebook"]["cmd"] == "claimwise notebook ${item.name}"
    assert STAGES["scoreboard"]["cmd"] == "claimwise notebook scoreboard"


@pytest.mark.parametrize("data", PARAMS.datasets)
def test_every_dependency_of_a_stage_is_there(data):
    # What other stages make is not there before they run; of the sample all tables are.
    made = ("data/corpora", "data/scores", "data/settings", *([] if data == "sample" else [f"tables/{data}/"]))
    for stage in STAGES.values():
        for path in stage["deps"]:
            path = (
                path.replace("${item.name}", "leaderboard")
                .replace("${item.data}", data)
                .replace("${item.model}", "embedded")
            )
            assert (ROOT / path).exists() or path.startswith(made), path


#: Modules that may change without a result: they say, find or show something, and compute nothing. (What ``params`` reads is a
#: dependency itself.)
SAYS = {"errors", "hub", "params", "paths", "progress", "strict_yaml"}


@pytest.mark.parametrize("stage", ["corpora", "score", "notebook", "scoreboard"])
def test_what_a_stage_computes_with_is_among_its_dependencies(stage):
    paths = {Path(path).with_suffix("").as_posix() for path in STAGES[stage]["deps"] if path.startswith("src/")}
    rooms = {path.removeprefix("src/").replace("/", ".") for path in paths}

    def within(name, rooms):
        return any(name == room or name.startswith(room + ".") for room in rooms)

    listed = rooms | {
        f"claimwise.{name}" for name in (*SAYS, "corpora")
    }  # what the corpora's code made is listed itself
    computing = {name: source(name).read_text() for name in every_module() if within(name, rooms)}
    for notebook in {"notebook": PARAMS.notebooks, "scoreboard": ["scoreboard"]}.get(stage, ()):
        cells = nbformat.read(ROOT / "notebooks" / f"{notebook}.ipynb", as_version=4).cells
        computing[notebook] = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    used = set().union(*(imported(code, name) for name, code in computing.items()))
    assert {name for name in used if name.startswith("claimwise.") and not within(name, listed)} == set()


def test_imports_have_no_circle():
    # A package imports its modules to re-export them; that a module imports its package's siblings is no circle.
    graph = {
        name: {other for other in imported(source(name).read_text(), name) if not name.startswith(other + ".")}
        for name in every_module()
    }
    for name in graph:
        seen, left = set(), set(graph[name])
        while left:
            other = left.pop()
            seen.add(other)
            left |= graph.get(other, set()) - seen
        assert name not in seen, f"{name} imports itself by way of {sorted(seen)}"


#: What each room may import of the others; every room may import the plain modules on top (errors, text, words, schema).
BELOW = {
    "prompts": set(),
    "corpora": {"prompts"},
    "models": {"prompts", "claimwise_embedded"},
    "metrics": {"corpora", "models", "prompts"},
    "analysis": {"corpora", "prompts"},  # the prompts for what a refusal is
    "user_settings": {"metrics", "params"},
    "user_file": {"analysis", "corpora", "metrics", "models", "prompts", "user_settings"},
    "api": {"analysis", "corpora", "metrics", "models", "prompts", "user_file", "user_settings"},
    "claimwise_embedded": {"analysis", "metrics", "models", "prompts"},
}
PLAIN = {
    "errors",
    "hub",
    "paths",
    "progress",
    "reasons",
    "schema",
    "strict_yaml",
    "text",
    "words",
}


def _room(name: str) -> str:
    parts = name.split(".")
    return parts[0] if parts[0] != "claimwise" or len(parts) == 1 else parts[1]


def test_rooms_import_only_what_stands_below_them():
    for name in every_module():
        if _room(name) in BELOW:
            others = {_room(other) for other in imported(source(name).read_text(), name)} - {_room(name), "claimwise"}
            assert others <= BELOW[_room(name)] | PLAIN, name


def test_rooms_have_no_circle():
    # The embedded model is a plug-in: it plays the roles that `models` names, and `models` loads it by its kind.
    below = {_room(name): set() for name in every_module()}
    for name in every_module():
        below[_room(name)] |= {_room(other) for other in imported(source(name).read_text(), name)} - {_room(name)}
    below["models"].remove("claimwise_embedded")
    below["claimwise"] = set()  # its front page, which knows what the API offers by name
    assert list(graphlib.TopologicalSorter(below).static_order())


def test_only_the_doors_of_models_know_the_embedded_model_and_nothing_imports_training():
    for name in every_module():
        found = {other.split(".")[0] for other in imported(source(name).read_text(), name)}
        assert "training" not in found, name
        if "claimwise_embedded" in found and not name.startswith("claimwise_embedded"):
            assert name in ("claimwise.models", "claimwise.models.entailment"), name


_ONE_AFTER_THE_OTHER = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(f"claimwise.{name}")
    if found := {"torch", "transformers"} & set(sys.modules):
        sys.exit(f"{name} imports {found}")
"""


def test_imports_without_torch():
    names = ["metrics", "stages", "project", "analysis.bootstrap", "analysis.plots", "analysis.report"]
    command = [sys.executable, "-c", _ONE_AFTER_THE_OTHER, *names]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


_ON_RECORD = """
import sys
from claimwise import corpora, models, params, prompts
examples = corpora.load("sample").examples.head(3)
model = models.load(params.read("params.yaml").models["qwen2.5-coder-1.5b"])
prompt = prompts.load("belugaeval-judge-consistency")
judged = model.judge(examples["document"].tolist(), examples["summary"].tolist(), prompt)
assert all(0 < one.score < 1 for one in judged), judged
assert not {"torch", "transformers"} & set(sys.modules)
"""


def test_what_a_checkpoint_answered_on_record_is_read_without_torch():
    done = subprocess.run([sys.executable, "-c", _ON_RECORD], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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


#: What draws, shows and runs notebooks; a user who scores a file does without.
COMPENDIUM = ("claimwise.analysis.", "claimwise.stages")
DASK = "claimwise.scale.dask_engine"


def test_every_package_that_is_imported_is_declared():
    distributions = packages_distributions()
    core = {_normal(entry) for entry in PROJECT["dependencies"]}
    notebooks = core | {_normal(entry) for entry in PROJECT["optional-dependencies"]["compendium"]}
    dask = core | {_normal(entry) for entry in PROJECT["optional-dependencies"]["dask"]}
    for name in every_module():
        declared = notebooks if name.startswith(COMPENDIUM) else dask if name == DASK else core
        packages = _packages(ast.parse(source(name).read_text(encoding="utf-8")))
        for package in packages - {"claimwise", "claimwise_embedded", "training"}:
            assert declared & {_normal(found) for found in distributions.get(package, [])}, f"{name}: {package}"


def test_environment_yml_is_what_make_lock_writes():
    from tools import lock

    assert (ROOT / "environment.yml").read_text(encoding="utf-8") == lock.environment()


def test_the_lock_pins_every_requirement_and_nothing_is_local_to_a_machine():
    from packaging.requirements import Requirement

    from tools import lock

    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    pins = {_normal(name): version for name, version in pins.items()}
    for entry in lock.requirements():
        requirement = Requirement(entry)
        assert pins[_normal(requirement.name)] in requirement.specifier, entry
    assert not any("+" in version or "@" in version for version in pins.values())


@pytest.mark.parametrize(
    "path", sorted((ROOT / "reports").glob("*/*/*.ipynb")), ids=lambda p: "-".join([*p.parts[-3:-1], p.stem])
)
def test_committed_reports_ran_to_their_end(path):
    cells = nbformat.read(path, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    # They are of the notebooks as they stand: nothing else would notice a public report that is not.
    source = nbformat.read(ROOT / "notebooks" / path.name, as_version=4).cells
    executed = [cell for cell in cells if "injected-parameters" not in cell.metadata.get("tags", [])]
    assert [(c.cell_type, c.source) for c in executed] == [(c.cell_type, c.source) for c in source]


def test_the_public_results_hold_no_text_of_the_corpora(published_corpus):
    """No ten words in a row of any public document stand in what is committed of the public run."""
    from claimwise import text

    results = [*(ROOT / "reports/public").rglob("*.ipynb"), *(ROOT / "tables/public").rglob("*.*")]
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


def test_every_notebook_has_been_run_on_the_sample():
    assert sorted(path.stem for path in (ROOT / "reports" / "sample" / "embedded").glob("*.ipynb")) == NOTEBOOKS


def test_every_notebook_has_tables_of_the_public_run():
    for name in NOTEBOOKS:
        assert list((ROOT / "tables" / "public" / "embedded" / name).glob("*.csv")), name
