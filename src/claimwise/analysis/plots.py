"""The plot that several notebooks draw: values with their intervals, beside the papers' published values."""

import re
import textwrap
from collections.abc import Mapping
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from claimwise.analysis.results import COLOURS, PUBLISHED

#: Width in inches: a forge shows it without zooming.
WIDTH = 8.5
#: Corpora and origins as papers write them.
_CORPORA = {
    "aggrefact_ftsota": "AggreFact FtSota",
    "aggrefact_exf": "AggreFact EXF",
    "cnndm": "CNN/DM",
    "xsum": "XSum",
    "samsum": "SAMSum",
    "summeval": "SummEval",
    "rose": "ROSE",
    "qags": "QAGS",
    "wice": "WiCE",
    "wice_chunks": "WiCE excerpts",
    "wice_subclaims": "WiCE sub-claims",
    "sample_presence": "sample, presence",
    "frank": "FRANK",
    "halueval": "HaluEval",
    "vectara": "Vectara",
    "factcheck_gpt": "Factcheck-GPT",
    "genaudit_usb": "GenAudit and USB",
    "summac_cogensumm": "SummaC CoGenSumm",
    "summac_factcc": "SummaC FactCC",
    "summac_xsumfaith": "SummaC XSumFaith",
    "summedits_ectsum": "SummEdits earnings calls",
    "summedits_podcast": "SummEdits podcasts",
    "summedits_qmsumm": "SummEdits meetings",
    "summedits_sales_call": "SummEdits sales calls",
    "summedits_sales_email": "SummEdits sales emails",
}
#: Characters that fit on one line in the titles of all panels together.
_TITLE_WIDTH = 60


def long_form(table: pd.DataFrame, measures: Mapping[str, str]) -> pd.DataFrame:
    """A table for ``interval_plot``, with one row per dot, from one that has columns ``x, x_low, x_high`` per measure x.

    ``measures`` maps each x to its name in the figure. For each x the result repeats all rows of the table, with the
    columns ``measure, value, low, high``.

    >>> rows = pd.DataFrame({"system": ["a"], "f1": [0.5], "f1_low": [0.4], "f1_high": [0.6]})
    >>> long_form(rows, {"f1": "F1"})[["system", "measure", "value", "low", "high"]].values.tolist()
    [['a', 'F1', 0.5, 0.4, 0.6]]
    """
    parts = [
        table.assign(measure=name, value=table[x], low=table[f"{x}_low"], high=table[f"{x}_high"])
        for x, name in measures.items()
    ]
    return pd.concat(parts, ignore_index=True)


def in_words(label: str) -> str:
    """A label with the names of corpora and origins as papers write them.

    >>> in_words("aggrefact_ftsota\\ncnndm"), in_words("support: wice_subclaims"), in_words("sample")
    ('AggreFact FtSota\\nCNN/DM', 'support: WiCE sub-claims', 'sample')
    """
    return re.sub(r"\w+", lambda word: _CORPORA.get(word[0], word[0]), str(label))


def interval_plot(
    table: pd.DataFrame,
    *,
    row: str,
    value: str = "value",
    low: str = "low",
    high: str = "high",
    panel: str | None = None,
    hue: str | None = None,
    published: str | None = None,
    chance: float | None = None,
    xlabel: str = "",
    title: str = "",
    colours: Mapping[str, Any] | None = None,
) -> Figure:
    """A figure of values as dots with intervals on horizontal lines, panels side by side, published values as diamonds.

    The table has one row per dot; lines and panels are in its order. ``row`` (method, prompt, system), ``panel``, ``hue``
    (the colours of the dots on one line), ``value``, ``low``, ``high`` and ``published`` (may be NaN) are names of its
    columns. ``chance`` is the value of a metric without information. ``colours`` adds the colours of lines to
    ``results.COLOURS``. Corpora have the names that papers give them.
    """
    table = table.assign(_panel=table[panel] if panel else "")
    panels, rows = list(dict.fromkeys(table["_panel"])), list(dict.fromkeys(table[row]))
    hues = list(dict.fromkeys(table[hue])) if hue else []
    shades = dict(zip(hues, sns.color_palette("colorblind", len(hues)), strict=True))
    colours = {**COLOURS, **(colours or {})}
    # Beside methods that have a colour, the others must not have the first of these.
    other = "0.2" if any(name in colours for name in rows) else "C0"
    height = len(rows) * max(1, len(hues) * 0.6)
    apart = min(0.2, 0.6 / max(1, len(hues) - 1))  # so that the dots of one line stand closer than two lines
    figure, axes = plt.subplots(
        1, max(1, len(panels)), figsize=(WIDTH, 0.36 * height + 1.7), sharey=True, sharex=True, squeeze=False
    )
    for axis, name in zip(axes[0], panels, strict=False):
        for entry in table[table["_panel"] == name].to_dict("records"):
            colour = shades[entry[hue]] if hue else colours.get(entry[row], other)
            y = rows.index(entry[row]) + ((hues.index(entry[hue]) - (len(hues) - 1) / 2) * apart if hue else 0)
            axis.hlines(y, entry[low], entry[high], color=colour, linewidth=2, alpha=0.7)
            axis.plot(entry[value], y, "o", color=colour, label=entry[hue] if hue else None, zorder=3)
            if published and pd.notna(entry[published]):
                axis.plot(entry[published], y, "D", color=PUBLISHED, markersize=5, label="published", zorder=2)
        if chance is not None:
            axis.axvline(chance, color="0.6", linestyle="--", linewidth=1)
        lines = (textwrap.fill(line, _TITLE_WIDTH // len(panels)) for line in in_words(name).split("\n"))
        axis.set_title("\n".join(lines))
        axis.set_yticks(range(len(rows)), map(in_words, rows))
        axis.set_ylim(len(rows) - 0.5, -0.5)
    legend(figure)
    figure.supxlabel(xlabel, size="medium")
    figure.suptitle(title, x=0.01, ha="left", weight="bold")
    figure.tight_layout()
    return figure


def legend(figure: Figure) -> None:
    """Add one legend below all panels, with each name once. A single name needs none, unless it is "published"."""
    handles = {
        label: handle for axis in figure.axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    if len(handles) > 1 or "published" in handles:
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0)}
        figure.legend(handles.values(), handles.keys(), **place, ncol=4, frameon=False)
