"""The imports between the project's modules, found without running them."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = {"claimwise": ROOT / "src", "claimwise_embedded": ROOT / "src", "training": ROOT}


def source(module: str) -> Path | None:
    """The file of a module of the project; None of any other."""
    folder = PACKAGES.get(module.split(".")[0])
    if folder is None:
        return None
    base = folder / module.replace(".", "/")
    return next((file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()), None)


def imported(code: str, module: str) -> set[str]:
    """The project's modules that code imports, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name for name in found if source(name)} - {module}


def every_module() -> set[str]:
    """The modules of the package and of the embedded model."""
    files = [file for name in ("claimwise", "claimwise_embedded") for file in (ROOT / "src" / name).rglob("*.py")]
    return {".".join(file.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__") for file in files}
