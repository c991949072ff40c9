"""All weights, held to their checksums: a flipped byte would move scores, and nobody would see it."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from claimwise.errors import ClaimwiseError

WEIGHTS = Path(__file__).with_name("weights")
#: As ``sha256sum --check`` reads it. It lies beside the weights: what is among them is in the model's fingerprint.
_SUMS = "SHA256SUMS"


class WeightsError(ClaimwiseError):
    """Files of weights that are not what was shipped or published."""


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
        if known.get(_name(file)) != _digest(file):
            raise WeightsError(
                f"{file}: the file was changed or is only a part: its checksum is not the one in {_SUMS}; install "
                "claimwise again (in a checkout: git checkout)"
            )
    return file


def write() -> None:
    """Note the checksums of the weights as they lie there: what training does when it has written them."""
    files = sorted(path for path in WEIGHTS.rglob("*") if path.is_file())
    lines = [f"{_digest(file)}  {_name(file)}\n" for file in files]
    WEIGHTS.with_name(_SUMS).write_text("".join(lines), encoding="utf-8")


def published(files: Iterable[Path], sha256: str, requirement: str) -> None:
    """Hold the files of an installed package, one after the other, to the SHA-256 of what was published, or raise."""
    if (found := _digest(*files)) != sha256:
        raise WeightsError(f"{requirement}: its weights have sha256 {found}, expected {sha256}; reinstall it")


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _name(file: Path) -> str:
    return file.relative_to(WEIGHTS.parent).as_posix()
