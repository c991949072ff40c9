"""A progress bar with an estimate of the time left, also from within a notebook that papermill runs."""

from __future__ import annotations

import sys

from tqdm import tqdm


def bar(total: int, what: str, unit: str, *, show: bool = True) -> tqdm:
    """A bar on the process's own standard error, which a notebook kernel passes through to the terminal.

    Args:
        total: units to do.
        what: shown in front, e.g. the metric's name.
        unit: what is counted.
        show: False for none.
    """
    return tqdm(total=total, desc=what, unit=unit, disable=not show, file=sys.__stderr__, mininterval=1, leave=False)
