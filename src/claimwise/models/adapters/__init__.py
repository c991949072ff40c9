"""Adapters that ship (a folder each) or that a user's folder holds: weights that are added to a checkpoint's."""

from __future__ import annotations

import hashlib
from pathlib import Path

from claimwise import paths
from claimwise.models.options import ModelError

_HERE = Path(__file__).parent
#: Beside an adapter's weights: the ids (``schema.document_id``) of the documents that it learned from, a line each.
DOCUMENTS = "documents.txt"


def adapter_folder(name: str) -> Path:
    """The folder of an adapter that ships, or of the user's.

    Raises:
        ModelError: the weights, as peft writes them, are not there; or of what ships a file was changed.
    """
    folder = _HERE / name if (_HERE / name).is_dir() else paths.located(name)
    for file in ("adapter_config.json", "adapter_model.safetensors"):  # peft would read pickled weights, too
        if not (folder / file).is_file():
            shipped = sorted(file.parent.name for file in _HERE.glob("*/adapter_config.json"))
            raise ModelError(
                f"kind transformers: adapter {name!r}: there is no {folder / file}; expected a folder that peft's "
                f"save_pretrained wrote, or one of {', '.join(shipped)}"
            )
    if folder.parent == _HERE:
        _check(folder)
    return folder


def _check(folder: Path) -> None:
    """Hold what ships to its checksums: a flipped byte would move scores, and nobody would see it."""
    for line in (_HERE / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        known, name = line.split()
        file = _HERE / name
        if file.parent == folder and hashlib.sha256(file.read_bytes()).hexdigest() != known:
            raise ModelError(
                f"{file}: the file was changed or is only a part: its checksum is not the one in SHA256SUMS; install "
                "claimwise again (in a checkout: git checkout)"
            )


def learned_documents(name: str | None) -> frozenset[str]:
    """Ids of the documents that an adapter learned from: no threshold is tuned on them. None where it does not say.

    >>> len(learned_documents("claimwise-0.5b")) > 1000, learned_documents(None)
    (True, frozenset())
    """
    file = adapter_folder(name) / DOCUMENTS if name else None
    return frozenset(file.read_text(encoding="utf-8").split() if file and file.is_file() else ())
