"""Tables for notebooks, as HTML that is the same bytes in every run."""

import re
from functools import partial
from html import escape

import numpy as np
import pandas as pd
from IPython.display import HTML

#: Names of columns with p-values: ``p`` or ``..._p``, then perhaps ``_baseline``, then perhaps ``_holm`` (corrected).
_P_VALUES = re.compile(r"(?:^|_)p(?:_baseline)?(?:_holm)?$")


def show(table: pd.DataFrame, caption: str = "", digits: int | None = None) -> HTML:
    """A table for a notebook: no index, escaped text, missing values as an en dash, a value and its interval in one column.

    - ``x``, ``x_low`` and ``x_high`` become one column ``x (95 %)``. ``low`` and ``high`` belong to the column before them.
    - A column of p-values (``p``, ``step_p``, ``p_holm``, but not ``p_entail``) has three decimals or ``< .001``, never a
      zero.
    - Numbers have ``digits`` decimals, for a table that must look as it was printed. By default the decimals of a column
      depend on its largest number: one from 10 on, two above 1, else three.
    - A table without rows is shown as its caption only: unchanged if it is a sentence, else with "none in this run".
    - The HTML has no random ids (as ``DataFrame.style`` has), so that a rerun gives the same bytes. It is not read for
      formulas, as in ``$19 to $23``.

    >>> frame = pd.DataFrame({"auc": [0.7321, 0.5], "low": [0.7, None], "high": [0.76, None], "accuracy": [71.25, 9.5]})
    >>> import re
    >>> re.findall(r">([^<>]+)</t[dh]>", show(frame).data)
    ['auc (95 %)', 'accuracy', '0.732 (0.700 to 0.760)', '71.2', '0.500', '9.5']
    >>> [re.search("<b>.*</b>", show(frame[:0], caption).data)[0] for caption in ("Errors", "")]
    ['<b>Errors: none in this run.</b>', '<b>None in this run.</b>']
    """
    if table.empty:
        without_rows = f"{caption}: none in this run." if caption else "None in this run."
        return _html(_title(caption if caption.endswith(".") else without_rows))
    table = table.reset_index(drop=True)
    numeric, columns = [], {}
    ends = {end for column in table for end in _ends(table, column) or ()}
    for name in table:
        if name in ends:
            continue
        limits, title = _ends(table, name), str(name).replace("_", " ")
        decimals = _decimals(table[name]) if digits is None else digits
        write = _p if _P_VALUES.search(str(name)) else partial(_number, decimals=decimals)
        cells = table[name].map(write)
        if limits:
            low, high = (table[end].map(write) for end in limits)
            has_interval = table[limits[0]].notna() & table[name].notna()
            cells = cells.where(~has_interval, cells + " (" + low + " to " + high + ")")
        columns[f"{title} (95 %)" if limits else title] = cells
        numeric.append(pd.api.types.is_numeric_dtype(table[name]))
    shown = pd.DataFrame(columns, index=table.index)
    header = "".join(_cell("th", escape(name), right) for name, right in zip(shown.columns, numeric, strict=True))
    rows = (
        "".join(_cell("td", escape(value), right) for value, right in zip(row, numeric, strict=True))
        for row in shown.itertuples(index=False)
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return _html(f"{_title(caption)}<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>")


def _html(content: str) -> HTML:
    """The content in a block that MathJax does not read: version 3 skips the first class, version 2 the second."""
    return HTML(f'<div class="mathjax_ignore tex2jax_ignore">{content}</div>')


def _title(caption: str) -> str:
    return f"<p><b>{escape(caption)}</b></p>" if caption else ""


def _ends(table: pd.DataFrame, column: str) -> tuple[str, str] | None:
    """The two columns with the ends of a column's interval, if it has one."""
    names = list(table.columns)
    after = names.index(column) + 1
    if names[after : after + 2] == ["low", "high"]:
        return "low", "high"
    ends = f"{column}_low", f"{column}_high"
    return ends if set(ends) <= set(names) else None


def _decimals(column: pd.Series) -> int:
    """How many decimals a column needs, by its largest number."""
    sizes = [abs(value) for value in column if isinstance(value, float | np.floating) and np.isfinite(value)]
    largest = max(sizes, default=0)
    return 1 if largest >= 10 else 2 if largest > 1 else 3


def _number(value, decimals: int) -> str:
    if value is None or value is pd.NA or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "–"
    if not isinstance(value, float | np.floating):
        return str(value)
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text  # no minus before a zero


def _p(value) -> str:
    return "< .001" if isinstance(value, float) and value < 0.001 else _number(value, 3)


def _cell(tag: str, content: str, right: bool) -> str:
    """A cell: numbers are aligned right and stay on one line, texts are aligned left and keep their line breaks."""
    style = f"text-align:{'right' if right else 'left'}"
    if tag == "td":
        style += ";vertical-align:top;white-space:" + ("nowrap" if right else "pre-line")
    return f'<{tag} style="{style}">{content}</{tag}>'
