"""Result tables: written byte-stably as csv and json, shown in notebooks as escaped HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import HTML

from claimwise.statistics import Interval


def save(table: pd.DataFrame, path: str | Path) -> pd.DataFrame:
    """Write a table as csv (six significant digits, LF, UTF-8) and return it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
    return table


def save_metrics(values: Mapping, path: str | Path) -> None:
    """Write nested numbers as json, for ``dvc metrics show``; NaN becomes null."""

    def plain(value):
        if isinstance(value, Mapping):
            return {str(key): plain(item) for key, item in value.items()}
        if isinstance(value, float | np.floating):
            return None if np.isnan(value) else float(f"{value:.6g}")
        return int(value) if isinstance(value, np.integer) else value

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(plain(values), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def plus_minus(interval: Interval, scale: float = 100, digits: int = 1) -> str:
    """An interval as people write it.

    >>> plus_minus(Interval(0.704, 0.68, 0.72))
    '70.4 ± 2.0'
    >>> plus_minus(Interval(float("nan"), float("nan"), float("nan")))
    '–'
    """
    if np.isnan(interval.value):
        return "–"
    return f"{scale * interval.value:.{digits}f} ± {scale * interval.half:.{digits}f}"


def p_value(value: float) -> str:
    """A p-value as people write it, with its sign.

    >>> p_value(0.0004), p_value(0.25)
    ('< .001', '= 0.250')
    """
    return "< .001" if value < 0.001 else f"= {value:.3f}"


def show(table: pd.DataFrame, caption: str = "", digits: int = 3) -> HTML:
    """A table for a notebook: no index, escaped text, numbers with ``digits`` decimals, gaps as an en dash.

    A column of p-values (``p`` is a word of its name, as in ``p_holm``) has three decimals or ``< .001``, never a zero.
    Plain HTML without the random ids of ``DataFrame.style``, so that a rerun gives the same bytes.
    """

    def cell(value, significance: bool) -> str:
        if value is None or (isinstance(value, float | np.floating) and np.isnan(value)) or value is pd.NA:
            return "–"
        if isinstance(value, float | np.floating):
            return p_value(value).removeprefix("= ") if significance else f"{value:.{digits}f}"
        return str(value)

    shown = table.rename(columns=lambda name: str(name).replace("_", " "))
    shown = shown.apply(lambda column: column.map(partial(cell, significance="p" in column.name.split())))
    numeric = [pd.api.types.is_numeric_dtype(table[column]) for column in table]
    header = "".join(_cell("th", escape(str(name)), right) for name, right in zip(shown.columns, numeric, strict=True))
    rows = (
        "".join(_cell("td", escape(value), right) for value, right in zip(row, numeric, strict=True))
        for row in shown.itertuples(index=False)
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    title = f"<p><b>{escape(caption)}</b></p>" if caption else ""
    return HTML(f"{title}<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>")


def _cell(tag: str, content: str, right: bool) -> str:
    """Numbers line up at the right, words at the left."""
    return f'<{tag} style="text-align:{"right" if right else "left"}">{content}</{tag}>'
