"""Write environment.yml from pyproject.toml, and requirements.lock from what a fresh environment of it installs."""

import subprocess
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

ENVIRONMENT = """\
# Made by `make lock` from pyproject.toml. For conda users: `conda env create -f environment.yml && conda activate claimwise`,
# then `dvc repro` and `pytest`, without make. `make` needs neither conda nor this file: it installs requirements.lock.
name: claimwise
channels:
  - conda-forge
dependencies:
  - python=3.11
  - git
  - make
  - pip
  - pip:
      - -e .
"""
LOCK = "# Exact versions that `make` installs, made by `make lock` from pyproject.toml on Python 3.11.\n"


def requirements() -> list[str]:
    """What the package, the compendium and its tests need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *extras["compendium"], *extras["dask"], *extras["dev"]]


def environment() -> str:
    """The text of environment.yml."""
    return ENVIRONMENT + "".join(f'      - "{requirement}"\n' for requirement in requirements())


def lock() -> str:
    """The text of requirements.lock: versions without what names a build (``2.13.0``, not ``2.13.0+cpu``)."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder, "bin", "python"))
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements()], check=True)
        frozen = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
    return LOCK + "".join(f"{line.split('+')[0]}\n" for line in frozen.splitlines() if "==" in line)


if __name__ == "__main__":
    (ROOT / "environment.yml").write_text(environment(), encoding="utf-8")
    (ROOT / "requirements.lock").write_text(lock(), encoding="utf-8")
