"""The papers' own numbers, typed from their tables into ``data/published``, to stand beside ours."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

FOLDER = Path("data/published")


@cache
def _read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"table": str})


def table(paper: str, number: str, measure: str | None = None, folder: Path = FOLDER) -> pd.DataFrame:
    """Rows of one table of a paper.

    Args:
        paper: ``acueval``, ``factored_verification`` or ``fenice``.
        number: the table's number in the paper.
        measure: only this measure.
        folder: where the csv files are.

    Returns:
        Columns ``corpus, origin, row, measure, value, plus_minus``.
    """
    rows = _read(folder / f"{paper}.csv")
    rows = rows[rows["table"] == str(number)]
    if measure is not None:
        rows = rows[rows["measure"] == measure]
    return rows.drop(columns="table").reset_index(drop=True)
