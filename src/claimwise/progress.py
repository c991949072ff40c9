"""A progress bar with an estimate of the time left. It is also shown for a notebook that papermill runs."""

import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import pandas as pd
from tqdm import tqdm

LINE_SECONDS = 60.0


def bar(total: int | None, what: str, unit: str, *, show: bool = True) -> tqdm:
    """A bar on the process's own standard error, which a notebook kernel passes on to the terminal.

    If standard error is no terminal but a log, the bar is a line at most every ``LINE_SECONDS``, and work that ends sooner
    has none. ``total`` is the number of units to do (None: unknown); ``what`` is the text in front, e.g. the metric's name.
    """
    stream = sys.__stderr__
    if not show or stream is None:  # a service may have none
        return tqdm(total=total, disable=True)
    pace: dict[str, Any] = {"file": stream, "mininterval": 1}
    if not is_terminal(stream):
        # With miniters fixed, tqdm's monitor thread cannot show the bar sooner. The delay skips the bar at 0 %.
        pace = {"file": _Lines(stream), "mininterval": LINE_SECONDS, "miniters": 1, "delay": LINE_SECONDS}
    return tqdm(total=total, desc=what, unit=unit, leave=False, **pace)


def batches(
    rows: pd.DataFrame, what: str, unit: str = "summary", size: int = 64, *, show: bool = True
) -> Iterator[pd.DataFrame]:
    """Yield the rows of a table in batches of ``size``, with a ``bar``.

    If a later batch fails, the responses of earlier ones are in the response cache.

    >>> [len(part) for part in batches(pd.DataFrame({"id": range(5)}), "toy", size=2)]
    [2, 2, 1]
    """
    with bar(len(rows), what, unit, show=show) as steps:
        for start in range(0, len(rows), size):
            batch = rows.iloc[start : start + size]
            yield batch
            steps.update(len(batch))


def is_terminal(stream: TextIO) -> bool:
    """Whether a standard stream ends on a terminal, also if a notebook kernel put a pipe in between."""
    original = getattr(sys.stderr, "_original_stdstream_copy", None)  # where the kernel keeps the stream it replaced
    return stream.isatty() if original is None else os.isatty(original)


class _Lines:
    """A stream that writes each state of tqdm's bar as a line, because in a log it cannot be overwritten."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> None:
        if line := text.strip():
            self._stream.write(f"{line}\n")

    def flush(self) -> None:
        self._stream.flush()
