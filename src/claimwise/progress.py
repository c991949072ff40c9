"""A progress bar with an estimate of the time left, also from within a notebook that papermill runs."""

import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import pandas as pd
from tqdm import tqdm

LINE_SECONDS = 60.0


def bar(total: int | None, what: str, unit: str, *, show: bool = True) -> tqdm:
    """A bar on the process's own standard error, which a notebook kernel passes through to the terminal.

    Where that is no terminal but a log, a line at most every ``LINE_SECONDS``, and none for what is done sooner. ``total``
    is how many units there are to do, None where nobody knows; ``what`` is shown in front, e.g. the metric's name.
    """
    stream = sys.__stderr__
    if not show or stream is None:  # a service may have none
        return tqdm(total=total, disable=True)
    pace: dict[str, Any] = {"file": stream, "mininterval": 1}
    if not is_terminal(stream):
        # miniters is fixed: tqdm's monitor would show a bar of its own choice of iterations sooner. The delay: a bar of
        # nothing done says nothing.
        pace = {"file": _Lines(stream), "mininterval": LINE_SECONDS, "miniters": 1, "delay": LINE_SECONDS}
    return tqdm(total=total, desc=what, unit=unit, leave=False, **pace)


def batches(
    rows: pd.DataFrame, what: str, unit: str = "summary", size: int = 64, *, show: bool = True
) -> Iterator[pd.DataFrame]:
    """Rows of a table, so many (``size``) at a time, under a ``bar``.

    Finished parts are in the response cache whatever happens later.

    >>> [len(part) for part in batches(pd.DataFrame({"id": range(5)}), "toy", size=2)]
    [2, 2, 1]
    """
    with bar(len(rows), what, unit, show=show) as steps:
        for start in range(0, len(rows), size):
            part = rows.iloc[start : start + size]
            yield part
            steps.update(len(part))


def is_terminal(stream: TextIO) -> bool:
    """Whether what is written ends on a terminal; a notebook kernel puts a pipe between, and keeps what was there."""
    passed_on = getattr(sys.stderr, "_original_stdstream_copy", None)
    return stream.isatty() if passed_on is None else os.isatty(passed_on)


class _Lines:
    """A stream for tqdm, to which every state of a bar is a line: tqdm overwrites the last one, which a log keeps."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> None:
        if line := text.strip():
            self._stream.write(f"{line}\n")

    def flush(self) -> None:
        self._stream.flush()
