"""The public files that loaders read: their addresses, their checksums, and how to get them.

``registry.csv`` lists each file by repository, commit, path and git's own id of its content; ``datasets.yaml`` names the
authors. A file is taken from the folder in the environment variable ``CLAIMWISE_MIRROR`` if it is there; else it is
downloaded once into ``data/raw``. In both, its path is ``<owner>/<repository>/<commit>/<path>``.
"""

from __future__ import annotations

import csv
import fnmatch
import gzip
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import pooch
import requests
from filelock import FileLock

from claimwise import paths
from claimwise.errors import ClaimwiseError

BASE = "https://raw.githubusercontent.com"


class MissingFileError(ClaimwiseError):
    """A public file is neither in a mirror nor downloadable; the message says both ways to provide it."""


class AlteredFileError(ClaimwiseError):
    """A file differs from the published one: it is truncated or changed."""


@dataclass(frozen=True)
class RemoteFile:
    """A file at a commit of a public repository; ``git_blob`` is git's id of its content."""

    dataset: str
    repository: str
    commit: str
    path: str
    git_blob: str

    @property
    def key(self) -> str:
        """The file's path below a mirror folder or below the base address."""
        return f"{self.repository}/{self.commit}/{self.path}"

    def address(self, base: str = BASE) -> str:
        """The file's address; characters such as commas and equals signs in the path are quoted.

        >>> RemoteFile("d", "owner/repo", "c0ffee", "a/b,c=d e.txt", "b10b").address()
        'https://raw.githubusercontent.com/owner/repo/c0ffee/a/b%2Cc%3Dd%20e.txt'
        """
        return f"{base.rstrip('/')}/{quote(self.key)}"

    def __str__(self) -> str:
        return f"{self.path} of {self.repository} (git blob id {self.git_blob})"


def git_blob(content: bytes) -> str:
    """Git's id of a file with this content, as ``git hash-object`` prints it.

    >>> git_blob(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Registry:
    """Files by dataset and path, and the two folders for them: ``mirror``, which is never written to, and ``raw``.

    ``raw`` is by default the project's ``data/raw``.
    """

    def __init__(
        self, files: Iterable[RemoteFile], *, mirror: Path | None = None, raw: Path | None = None, base: str = BASE
    ) -> None:
        self.files = {(file.dataset, file.path): file for file in files}
        self.mirror, self.raw, self.base = mirror, raw or paths.root() / "data" / "raw", base

    @classmethod
    def from_environment(cls) -> Registry:
        """The package's registry with the mirror that the environment names."""
        mirror = os.environ.get("CLAIMWISE_MIRROR")
        return cls(published_files(), mirror=Path(mirror) if mirror else None)

    def paths(self, dataset: str, pattern: str = "*") -> list[str]:
        """A dataset's paths that match a shell pattern, in the registry's order."""
        return [path for name, path in self.files if name == dataset and fnmatch.fnmatchcase(path, pattern)]

    def fetch(self, dataset: str, path: str) -> Path:
        """Return a verified local copy of a dataset's file; ``path`` is its path in the repository.

        Raises:
            KeyError: the registry has no such file.
            MissingFileError: there is no copy and it cannot be downloaded.
            AlteredFileError: a copy or a download differs from the published file. A bad download is deleted; a mirror
                is not changed.
        """
        file = self.files[dataset, path]
        if self.mirror is not None and (copy := self.mirror / file.key).is_file():
            if (got := git_blob(copy.read_bytes())) != file.git_blob:
                raise AlteredFileError(
                    f"{copy} is not {file}: got git blob id {got}. Replace it by {file.address(self.base)}, or take it out "
                    "of CLAIMWISE_MIRROR to have it downloaded. Nothing was removed."
                )
            return copy
        local = self.raw / file.key
        self.raw.mkdir(parents=True, exist_ok=True)
        # Stages run in parallel and may need the same file: one downloads it, the others wait.
        with FileLock(self.raw / ".lock"):
            if not local.is_file():
                self._download(file)
            if (got := git_blob(local.read_bytes())) != file.git_blob:
                local.unlink()
                raise AlteredFileError(
                    f"{local} is not {file}: got git blob id {got}. It was deleted; run again, or put the file into a mirror "
                    "(CLAIMWISE_MIRROR)."
                )
        return local

    def read_json(self, dataset: str, path: str) -> Any:
        """The JSON value of a file, gzipped or not."""
        return json.loads(self._text(dataset, path))

    def read_jsonl(self, dataset: str, path: str) -> list[dict[str, Any]]:
        """The values of a file of JSON lines, gzipped or not."""
        # Not splitlines(), which also splits at line separators within JSON strings, such as U+2028.
        return [json.loads(line) for line in self._text(dataset, path).split("\n") if line.strip()]

    def read_csv(self, dataset: str, path: str, **options: Any) -> list[dict[str, str]]:
        """The rows of a csv file. All values stay texts, and an empty field is an empty text."""
        table = pd.read_csv(self.fetch(dataset, path), dtype=str, keep_default_na=False, **options)
        return table.to_dict("records")

    def _text(self, dataset: str, path: str) -> str:
        content = self.fetch(dataset, path).read_bytes()
        return (gzip.decompress(content) if path.endswith(".gz") else content).decode("utf-8")

    def _download(self, file: RemoteFile) -> None:
        address = file.address(self.base)
        keeper = pooch.create(
            self.raw, base_url="", registry={file.key: None}, urls={file.key: address}, retry_if_failed=2
        )
        try:
            keeper.fetch(file.key, downloader=pooch.HTTPDownloader(progressbar=sys.stderr.isatty()))
        except requests.RequestException as error:
            mirror = f"it is not in CLAIMWISE_MIRROR={self.mirror}" if self.mirror else "CLAIMWISE_MIRROR is not set"
            raise MissingFileError(
                f"{file} is missing: {mirror}, and {address} could not be downloaded ({error}). Either run again "
                f"with network access, or put the file at <folder>/{file.key} and set CLAIMWISE_MIRROR=<folder>."
            ) from error


@cache
def published_files() -> tuple[RemoteFile, ...]:
    """The files of ``registry.csv``."""
    with (resources.files(__package__) / "registry.csv").open(encoding="utf-8", newline="") as stream:
        return tuple(RemoteFile(**row) for row in csv.DictReader(stream))
