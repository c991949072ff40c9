"""Which files of the project a stage's code imports, found by walking the imports without running them."""

from __future__ import annotations

import ast
import json
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"

#: A stage depends on these rooms as a whole: their modules are found by name at run time, or are data.
ROOMS = ("src/claimwise/corpora", "src/claimwise/models", "src/claimwise/prompts")


def _file(module: str) -> Path | None:
    base = SOURCE / module.replace(".", "/")
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _imported(code: str, module: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name for name in found if name.split(".")[0] == "claimwise" and _file(name)} - {module}


def notebook_code(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def modules(start: set[str]) -> set[str]:
    """The modules and everything they import, imports inside functions too."""
    seen: set[str] = set()
    left = set(start)
    while left:
        name = left.pop()
        seen.add(name)
        path = _file(name)
        left |= _imported(path.read_text(encoding="utf-8"), name) - seen
    return seen


def dependencies(start: set[str]) -> set[str]:
    """The modules as dvc dependencies: files, or the whole room where a room is concerned."""
    found = set()
    for name in modules(start):
        path = _file(name).relative_to(ROOT).as_posix()
        room = next((room for room in ROOMS if path.startswith(room + "/")), None)
        found.add(room or path)
    return found - {"src/claimwise/__init__.py"}


def notebook_dependencies(name: str) -> set[str]:
    path = ROOT / "notebooks" / f"{name}.ipynb"
    start = _imported(notebook_code(path), "")
    return dependencies(start | {"claimwise.notebook"}) | {f"notebooks/{name}.ipynb"}
