"""Runs one notebook with its section of params.yaml and makes the executed copy byte-stable.

``notebooks/NAME.ipynb`` is clean and never written to; the executed copy goes to ``reports/DATA/NAME.ipynb``
and ``.html``. What differs between two identical runs (time stamps, random ids, progress bars) is removed,
also after a failure: a failed run leaves the copy with its traceback, which is what one wants to read.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbconvert import HTMLExporter
from nbconvert.preprocessors import TagRemovePreprocessor
from nbformat import NotebookNode

from claimwise.errors import near
from claimwise.params import ParamsError, Settings

_ADDRESS = re.compile(r"at 0x[0-9a-f]+")


def parameters(settings: Settings, name: str, notebook: Path) -> dict[str, Any]:
    """What a notebook is run with: its own section, and of the shared settings those that it declares.

    Raises:
        ParamsError: there is no such notebook, or the section has a parameter that the notebook does not take, or
            lacks one that it takes (papermill itself would only warn).
    """
    if not notebook.is_file():
        known = sorted(path.stem for path in notebook.parent.glob("*.ipynb"))
        raise ParamsError(f"{notebook} is not there{near(name, known) or ';'} notebooks: {', '.join(known) or 'none'}")
    declared = set(papermill.inspect_notebook(notebook))
    shared = {
        "data": settings.data,
        "model": settings.model_settings,
        "cache": settings.cache,
        "definitions": settings.metrics,
        "entries": settings.models,
    }
    section = settings.section(name)
    if unknown := sorted(set(section) - declared):
        raise ParamsError(
            f"params.yaml, {name}: unknown parameter {', '.join(map(repr, unknown))}; "
            f"the notebook takes {', '.join(sorted(declared - set(shared)))}"
        )
    if missing := sorted(declared - set(section) - set(shared)):
        raise ParamsError(f"params.yaml, {name}: parameter {', '.join(map(repr, missing))} is missing")
    return {key: value for key, value in shared.items() if key in declared} | section


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Remove what changes between identical runs, so that `dvc repro -f` gives the same bytes."""
    notebook.metadata.pop("papermill", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = NotebookNode({k: v for k, v in cell.metadata.items() if k not in ("papermill", "execution")})
        if cell.cell_type != "code":
            continue
        kept = [output for output in cell.outputs if output.get("name") != "stderr"]
        for output in kept:
            data = output.get("data", {})
            if "text/plain" in data:
                data["text/plain"] = _ADDRESS.sub("at 0x0", data["text/plain"])
        cell.outputs = kept
    return notebook


def run(name: str, settings: Settings, folder: Path = Path()) -> Path:
    """Execute a notebook and write its normalised copy and HTML; returns the copy's path.

    Raises:
        ParamsError: a parameter is unknown or missing.
        papermill.PapermillExecutionError: a cell failed; the copy holds the traceback.
    """
    source = folder / "notebooks" / f"{name}.ipynb"
    target = folder / "reports" / settings.data / f"{name}.ipynb"
    given = parameters(settings, name, source)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _execute(source, target, given, folder)
    finally:
        if target.is_file():
            executed = normalise(nbformat.read(target, as_version=4))
            nbformat.write(executed, target)
    target.with_suffix(".html").write_text(_html(executed, name), encoding="utf-8")
    return target


def _execute(source: Path, target: Path, given: dict[str, Any], folder: Path) -> None:
    papermill.execute_notebook(
        source,
        target,
        parameters=given,
        kernel_name="python3",
        cwd=folder,
        progress_bar=False,
        start_timeout=600,  # papermill waits a minute, in which a kernel on a busy machine does not start
        # The kernel warns on every start that its loopback socket is not encrypted.
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
    )


def _html(notebook: NotebookNode, name: str) -> str:
    # The cell of defaults goes: the parameters that were used follow right after it.
    exporter = HTMLExporter(template_name="lab")
    exporter.register_preprocessor(TagRemovePreprocessor(remove_cell_tags={"parameters"}), enabled=True)
    body, _ = exporter.from_notebook_node(notebook, resources={"metadata": {"name": name}})
    return body
