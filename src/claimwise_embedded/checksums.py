"""The shipped weights, each held to its checksum: a flipped byte would move scores, and nobody would see it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from claimwise.errors import ClaimwiseError

WEIGHTS = Path(__file__).with_name("weights")
#: As ``sha256sum --check`` reads it. It lies beside the weights: what is among them is in the model's fingerprint.
_SUMS = "SHA256SUMS"


class WeightsError(ClaimwiseError):
    """Files of weights that are not what training writes."""


def checked(file: Path) -> Path:
    """The file; if it is one of ``WEIGHTS``, as it was shipped.

    Raises:
        FileNotFoundError: it is not there.
        WeightsError: it was changed, or is only a part.

    >>> checked(WEIGHTS / "decomposer-verbs.json").name
    'decomposer-verbs.json'
    """
    if not file.is_file():
        raise FileNotFoundError(f"{file} is missing; train it: python -m training")
    if file.is_relative_to(WEIGHTS):
        lines = (line.split() for line in WEIGHTS.with_name(_SUMS).read_text(encoding="utf-8").splitlines())
        known = {name: written for written, name in lines}
        if known.get(_name(file)) != digest(file):
            raise WeightsError(
                f"{file}: the file was changed or is only a part: its checksum is not the one in {_SUMS}; install "
                "claimwise again (in a checkout: git checkout)"
            )
    return file


def write() -> None:
    """Note the checksums of the weights as they lie there: what training does when it has written them."""
    files = sorted(path for path in WEIGHTS.rglob("*") if path.is_file())
    lines = [f"{digest(file)}  {_name(file)}\n" for file in files]
    WEIGHTS.with_name(_SUMS).write_text("".join(lines), encoding="utf-8")


def digest(file: Path) -> str:
    """The file's SHA-256."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _name(file: Path) -> str:
    return file.relative_to(WEIGHTS.parent).as_posix()
