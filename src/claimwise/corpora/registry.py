"""Every public file that a loader reads: where it is, what it must hash to, and how to get it.

``registry.csv`` names each file by repository, commit, path and git's own id of its content; ``datasets.yaml`` says whose it
is. A file is taken from the folder that the environment variable ``CLAIMWISE_MIRROR`` names, where it is there, else
downloaded once into ``data/raw``; both lay files out as ``<owner>/<repository>/<commit>/<path>``.
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
    """A file is not the one that was published: it is truncated or changed."""


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
        """Where it lies below a mirror folder or below the base address."""
        return f"{self.repository}/{self.commit}/{self.path}"

    def address(self, base: str = BASE) -> str:
        """Its address; commas, equals signs and the like in the path are quoted.

        >>> RemoteFile("d", "owner/repo", "c0ffee", "a/b,c=d e.txt", "b10b").address()
        'https://raw.githubusercontent.com/owner/repo/c0ffee/a/b%2Cc%3Dd%20e.txt'
        """
        return f"{base.rstrip('/')}/{quote(self.key)}"

    def __str__(self) -> str:
        return f"{self.path} of {self.repository} (git blob id {self.git_blob})"


def git_blob(content: bytes) -> str:
    """What git calls a file with this content, as in ``git hash-object``.

    >>> git_blob(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Registry:
    """Files by dataset and path, and the two places that may hold them: ``mirror``, never written to, and ``raw``.

    ``raw`` is the project's ``data/raw``, if not given.
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
        """A verified local copy of a file of a dataset, which ``path`` names in its repository.

        Raises:
            KeyError: the registry has no such file.
            MissingFileError: there is no copy and none can be downloaded.
            AlteredFileError: a copy or a download is not the published file. A mirror is left as it is; a bad
                download is deleted.
        """
        file = self.files[dataset, path]
        if self.mirror is not None and (copy := self.mirror / file.key).is_file():
            if (got := git_blob(copy.read_bytes())) != file.git_blob:
                raise AlteredFileError(
                    f"{copy} is not {file}: got git blob id {got}. Replace it by {file.address(self.base)}, or take it out "
                    "of CLAIMWISE_MIRROR to have it downloaded. Nothing was removed."
                )
            return copy
        kept = self.raw / file.key
        self.raw.mkdir(parents=True, exist_ok=True)
        # stages run in parallel and may need the same file: one downloads, the others then find it there
        with FileLock(self.raw / ".lock"):
            if not kept.is_file():
                self._download(file)
            if (got := git_blob(kept.read_bytes())) != file.git_blob:
                kept.unlink()
                raise AlteredFileError(
                    f"{kept} is not {file}: got git blob id {got}. It was deleted; run again, or put the file into a mirror "
                    "(CLAIMWISE_MIRROR)."
                )
        return kept

    def read_json(self, dataset: str, path: str) -> Any:
        """The JSON value of a file, gzipped or not."""
        return json.loads(self._text(dataset, path))

    def read_jsonl(self, dataset: str, path: str) -> list[dict[str, Any]]:
        """The values of a file of JSON lines, gzipped or not."""
        # not splitlines(): JSON strings may hold line separators such as U+2028
        return [json.loads(line) for line in self._text(dataset, path).split("\n") if line.strip()]

    def read_csv(self, dataset: str, path: str, **options: Any) -> list[dict[str, str]]:
        """The rows of a csv file as texts: nothing becomes a number, an empty field is an empty text."""
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
