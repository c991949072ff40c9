"""Checks weights by their checksums: a flipped byte would change scores unnoticed."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from claimwise.errors import ClaimwiseError

WEIGHTS = Path(__file__).with_name("weights")
#: In the form of ``sha256sum --check``. It is not in the folder of weights, whose files are in the model's fingerprint.
_SUMS = "SHA256SUMS"


class WeightsError(ClaimwiseError):
    """Weights differ from what was shipped or published."""


def checked(file: Path) -> Path:
    """Return the file, after a check that it exists and, if it is in ``WEIGHTS``, that it is as shipped.

    Raises:
        FileNotFoundError: it does not exist.
        WeightsError: it was changed or is incomplete.

    >>> checked(WEIGHTS / "decomposer-verbs.json").name
    'decomposer-verbs.json'
    """
    if not file.is_file():
        raise FileNotFoundError(f"{file} is missing; train it: python -m training")
    if file.is_relative_to(WEIGHTS):
        lines = (line.split() for line in WEIGHTS.with_name(_SUMS).read_text(encoding="utf-8").splitlines())
        shipped = {name: digest for digest, name in lines}
        if shipped.get(_name(file)) != _digest(file):
            raise WeightsError(
                f"{file}: the file was changed or is only a part: its checksum is not the one in {_SUMS}; install "
                "claimwise again (in a checkout: git checkout)"
            )
    return file


def write() -> None:
    """Write the checksums of the weights, after training has written the weights."""
    files = sorted(path for path in WEIGHTS.rglob("*") if path.is_file())
    lines = [f"{_digest(file)}  {_name(file)}\n" for file in files]
    WEIGHTS.with_name(_SUMS).write_text("".join(lines), encoding="utf-8")


def published(files: Iterable[Path], sha256: str, requirement: str) -> None:
    """Raise ``WeightsError`` if the joined files of an installed package do not have the published SHA-256."""
    if (found := _digest(*files)) != sha256:
        raise WeightsError(f"{requirement}: its weights have sha256 {found}, expected {sha256}; reinstall it")


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _name(file: Path) -> str:
    return file.relative_to(WEIGHTS.parent).as_posix()
