"""Every public file that a loader reads: where it is, what it must hash to, and how to get it.

``registry.csv`` names each file by repository, commit and path; ``datasets.yaml`` says whose it is. A file is taken
from the folder that the environment variable ``CLAIMWISE_MIRROR`` names, where it is there, else downloaded once
into ``data/raw`` (or the folder ``CLAIMWISE_RAW``); both lay files out as ``<owner>/<repository>/<commit>/<path>``.
"""

from __future__ import annotations

import csv
import difflib
import fnmatch
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from urllib.parse import quote

import pooch
import requests
import yaml
from filelock import FileLock
from pydantic import BaseModel, ConfigDict

from claimwise.corpora.download import GoneError, ResumingDownloader
from claimwise.errors import ClaimwiseError

BASE = "https://raw.githubusercontent.com"

_PROJECT = Path(__file__).resolve().parents[3]

#: The project's folder: the checkout this package is installed from, else the working directory.
ROOT = _PROJECT if (_PROJECT / "pyproject.toml").is_file() else Path.cwd()


class MissingFileError(ClaimwiseError):
    """A public file is neither in a mirror nor downloadable; the message says both ways to provide it."""


class AlteredFileError(ClaimwiseError):
    """A file is not the one that was published: it is truncated or changed."""


class Dataset(BaseModel):
    """Whose a dataset is and on what terms; ``corpora`` are the loaders that read it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    homepage: str
    licence: str
    citation: str
    corpora: tuple[str, ...]


@dataclass(frozen=True)
class RemoteFile:
    """A file at a commit of a public repository, and what is known of its content."""

    dataset: str
    repository: str
    commit: str
    path: str
    bytes: int | None = None
    sha256: str | None = None
    git_blob: str | None = None

    @property
    def key(self) -> str:
        """Where it lies below a mirror folder or below the base address."""
        return f"{self.repository}/{self.commit}/{self.path}"

    def address(self, base: str = BASE) -> str:
        """Its address; commas, equals signs and the like in the path are quoted.

        >>> RemoteFile("d", "owner/repo", "c0ffee", "a/b,c=d e.txt").address()
        'https://raw.githubusercontent.com/owner/repo/c0ffee/a/b%2Cc%3Dd%20e.txt'
        """
        return f"{base.rstrip('/')}/{quote(self.key)}"

    def problem(self, local: Path) -> str | None:
        """What is wrong with a local copy (expected and got), or None where it is the published file.

        The sha256 decides, or, where only that is known, the git blob id: the sha1 of ``blob <size>\\0`` and content.
        """
        content = local.read_bytes()
        if self.bytes is not None and len(content) != self.bytes:
            kind = "truncated" if len(content) < self.bytes else "too long"
            return f"{kind}: expected {self.bytes} bytes, got {len(content)}"
        if self.sha256:
            got = hashlib.sha256(content).hexdigest()
            return None if got == self.sha256 else f"expected sha256 {self.sha256}, got {got}"
        if self.git_blob:
            got = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            return None if got == self.git_blob else f"expected git blob id {self.git_blob}, got {got}"
        return None

    def __str__(self) -> str:
        size = f"{self.bytes} bytes" if self.bytes is not None else "size not known"
        known = f"sha256 {self.sha256}" if self.sha256 else f"git blob id {self.git_blob}"
        return f"{self.path} of {self.repository} ({size}, {known})"


class Registry:
    """Files by dataset and path, and the two places that may hold them.

    Args:
        files: what there is.
        mirror: a folder with copies; never written to.
        raw: where downloads are kept.
        base: the address below which repositories lie.
        progress: show a bar while downloading.
    """

    def __init__(
        self,
        files: Iterable[RemoteFile],
        *,
        mirror: Path | None = None,
        raw: Path = ROOT / "data" / "raw",
        base: str = BASE,
        progress: bool = True,
    ) -> None:
        self.files = tuple(files)
        self.mirror, self.raw, self.base, self.progress = mirror, raw, base, progress

    @classmethod
    def from_environment(cls) -> Registry:
        """The package's registry with the folders that the environment names."""
        mirror = os.environ.get("CLAIMWISE_MIRROR")
        raw = os.environ.get("CLAIMWISE_RAW")
        folders = {"raw": Path(raw)} if raw else {}
        return cls(published_files(), mirror=Path(mirror) if mirror else None, **folders)

    def paths(self, dataset: str, pattern: str = "*") -> list[str]:
        """A dataset's paths that match a shell pattern, in the registry's order."""
        matches = [file.path for file in self.files if file.dataset == dataset]
        return [path for path in matches if fnmatch.fnmatchcase(path, pattern)]

    def fetch(self, dataset: str, path: str) -> Path:
        """A verified local copy of a file.

        Args:
            dataset: a dataset of the registry, e.g. ``aggrefact``.
            path: the file's path in its repository.

        Raises:
            KeyError: the registry has no such file; the message lists the nearest.
            MissingFileError: there is no copy and none can be downloaded.
            AlteredFileError: a copy or a download is not the published file. A mirror is left as it is; a bad
                download is deleted.
        """
        file = self._find(dataset, path)
        if self.mirror is not None and (copy := self.mirror / file.key).is_file():
            problem = file.problem(copy)
            if problem:
                raise AlteredFileError(
                    f"{copy} is not {file}: {problem}. Replace it by {file.address(self.base)}, or take it out of "
                    "CLAIMWISE_MIRROR to have it downloaded. Nothing was removed."
                )
            return copy
        kept = self.raw / file.key
        if kept.is_file():
            if not file.problem(kept):
                return kept
            kept.unlink()
        return self._download(file, kept)

    def _find(self, dataset: str, path: str) -> RemoteFile:
        for file in self.files:
            if file.dataset == dataset and file.path == path:
                return file
        near = difflib.get_close_matches(path, self.paths(dataset), n=3)
        raise KeyError(f"no file {path!r} in dataset {dataset!r} of the registry; nearest: {near}")

    def _download(self, file: RemoteFile, target: Path) -> Path:
        address = file.address(self.base)
        part = target.with_name(target.name + ".part")
        keeper = pooch.create(
            self.raw, base_url="", registry={file.key: None}, urls={file.key: address}, retry_if_failed=2
        )
        downloader = ResumingDownloader(part, file.problem, file.bytes, self.progress)
        self.raw.mkdir(parents=True, exist_ok=True)
        try:
            # stages run in parallel and may need the same file: one downloads, the others then find it there
            with FileLock(self.raw / ".lock"):
                return Path(keeper.fetch(file.key, downloader=downloader))
        except (requests.RequestException, GoneError) as error:
            mirror = f"it is not in CLAIMWISE_MIRROR={self.mirror}" if self.mirror else "CLAIMWISE_MIRROR is not set"
            raise MissingFileError(
                f"{file} is missing: {mirror}, and {address} could not be downloaded ({error}). Either run again "
                f"with network access (a broken download goes on where it stopped), or put the file at "
                f"<folder>/{file.key} and set CLAIMWISE_MIRROR=<folder>."
            ) from error
        except ValueError as error:
            raise AlteredFileError(
                f"what {address} sent is not {file}: {error}. The download was deleted; run again, or put the file "
                f"at <folder>/{file.key} and set CLAIMWISE_MIRROR=<folder>."
            ) from error


@cache
def published_files() -> tuple[RemoteFile, ...]:
    """The files of ``registry.csv``."""
    with (resources.files(__package__) / "registry.csv").open(encoding="utf-8", newline="") as stream:
        return tuple(
            RemoteFile(
                row["dataset"],
                row["repository"],
                row["commit"],
                row["path"],
                int(row["bytes"]) if row["bytes"] else None,
                row["sha256"] or None,
                row["git_blob"] or None,
            )
            for row in csv.DictReader(stream)
        )


@cache
def datasets() -> dict[str, Dataset]:
    """Licence, citation and homepage of each dataset.

    >>> datasets()["fave"].licence
    'MIT'
    """
    text = (resources.files(__package__) / "datasets.yaml").read_text(encoding="utf-8")
    return {name: Dataset.model_validate(entry) for name, entry in yaml.safe_load(text).items()}
