"""How the cells of a csv are quoted, so that each is read back as it was written."""

from __future__ import annotations

import csv

import pandas as pd


def quoting(table: pd.DataFrame) -> int:
    r"""What ``to_csv`` wants: quotes where they are needed, or everywhere.

    By itself Python's writer leaves a bare carriage return unquoted, and every reader takes it for the end of the row.

    >>> quoting(pd.DataFrame({"a": ["x", 1]})), quoting(pd.DataFrame({"a": ["x\ry", 1]})) == csv.QUOTE_ALL
    (0, True)
    """
    texts = [*table, *(cell for column in table.select_dtypes(["object", "str"]) for cell in table[column])]
    return csv.QUOTE_ALL if any("\r" in cell for cell in texts if isinstance(cell, str)) else csv.QUOTE_MINIMAL
