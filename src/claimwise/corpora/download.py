"""Download with resume: an interrupted transfer goes on where it stopped, in this run or the next."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import requests
from tqdm import tqdm

_TIMEOUT = 30  # seconds without a byte
_RETRY = {408, 416, 425, 429}  # the other 4xx statuses will not change by asking again


class GoneError(Exception):
    """The server says that the address will not answer; asking again is of no use."""


class ResumingDownloader:
    """A downloader for pooch that keeps what has come in a ``.part`` file and asks for the rest.

    pooch hands it a temporary file, deletes that on failure, and tries again on ``ValueError`` and on what
    ``requests`` raises. The part file therefore lives elsewhere and only a complete, verified file is handed over.

    Args:
        part: where the bytes are kept until all are there.
        check: says what is wrong with a complete file, or None; a bad one is deleted.
        size: expected bytes, where known.
        progress: show a bar, where the standard error stream is a terminal.
    """

    def __init__(
        self, part: Path, check: Callable[[Path], str | None], size: int | None = None, progress: bool = True
    ) -> None:
        self.part, self.check, self.size, self.progress = part, check, size, progress

    def __call__(self, url: str, output_file: str, pooch: object) -> None:
        """Download ``url`` to ``output_file``.

        Raises:
            GoneError: a status that asking again will not change, e.g. 404.
            ValueError: the file came whole but is not the expected one.
            requests.RequestException: the transfer broke; what came stays in the part file.
        """
        self.part.parent.mkdir(parents=True, exist_ok=True)
        done = self.part.stat().st_size if self.part.exists() else 0
        if not done or done != self.size:
            self._transfer(url, done)
        problem = self.check(self.part)
        if problem:
            self.part.unlink()
            raise ValueError(problem)
        shutil.move(self.part, output_file)

    def _transfer(self, url: str, done: int) -> None:
        # a Range counts stored bytes, which compression on the way would change
        headers = {"Accept-Encoding": "identity"}
        if done:
            headers["Range"] = f"bytes={done}-"
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
            if response.status_code == 416:  # the part is longer than the file: begin again
                self.part.unlink()
            if 400 <= response.status_code < 500 and response.status_code not in _RETRY:
                raise GoneError(f"HTTP status {response.status_code} {response.reason}")
            response.raise_for_status()
            resumed = response.status_code == 206
            done = done if resumed else 0
            bar = tqdm(
                total=self.size,
                initial=done,
                unit="B",
                unit_scale=True,
                desc=self.part.stem,
                file=sys.__stderr__,
                disable=None if self.progress else True,
            )
            with bar, self.part.open("ab" if resumed else "wb") as stream:
                for chunk in response.iter_content(1 << 16):
                    stream.write(chunk)
                    bar.update(len(chunk))
