"""The plots of the notebooks, from score tables: seaborn and matplotlib only, no torch, byte-stable PNGs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

#: A palette that colour-blind readers can tell apart; published values are drawn in grey.
PALETTE = "colorblind"
PUBLISHED = "0.45"
#: Lines after so many are dashed: the palette's later colours are near its first ones.
SOLID_LINES = 5
#: More panels than this go on further rows.
MOST_PANELS_A_ROW = 4
#: Inches of a figure of one panel, whose title would else be wider than the figure.
ONE_PANEL = 7.5
#: Where a panel has values on a smaller share of the lines, every panel has only its own lines, with their names.
SHARED_LINES = 0.75


def style() -> None:
    """Set the look of all figures; called once at the top of every notebook."""
    sns.set_theme(style="whitegrid", context="notebook", palette=PALETTE)
    mpl.rcParams.update(
        {"figure.dpi": 110, "savefig.dpi": 150, "axes.titlelocation": "left", "svg.hashsalt": "claimwise"}
    )


def save(figure: Figure, path: str | Path) -> Figure:
    """Write a PNG without date or version in it and return the figure, for the notebook to show."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    return figure


def dots(
    table: pd.DataFrame,
    *,
    value: str,
    label: str,
    panel: str,
    low: str | None = None,
    high: str | None = None,
    hue: str | None = None,
    kind: str | None = None,
    published: str | None = None,
    xlabel: str = "",
    title: str = "",
    chance: float | None = None,
    one_scale: bool = True,
) -> Figure:
    """Values with intervals as dots on horizontal lines, one panel a corpus, published values as grey diamonds.

    Args:
        table: one row a dot.
        value: column of the dot's place; ``low`` and ``high`` of its interval's ends.
        label: column that names the line (metric, prompt, system); lines keep the table's order. All panels have the same
            lines, unless one has values on less than ``SHARED_LINES`` of them: then each has its own.
        panel: column that names the panel.
        low: see ``value``.
        high: see ``value``.
        hue: column that separates dots on one line (P, R, F1).
        kind: column that gives the dots of a line their colour and name (ours, recorded); not with ``hue``.
        published: column of the published value, NaN where there is none; with ``hue`` it is of the row's own series.
        xlabel: name and unit of the value.
        title: what the figure shows.
        chance: where a value without information lies, drawn as a dashed line.
        one_scale: whether all panels have the same axis; not where each has a quantity of its own.
    """
    panels = list(dict.fromkeys(table[panel]))
    table = table.reset_index(drop=True)
    lines_of, shared = _lines(table, panels, panel, label, [value, *([published] if published else [])])
    series_column = hue or kind
    hues = list(dict.fromkeys(table[series_column])) if series_column else ["ours"]
    colours = sns.color_palette(PALETTE, len(hues))
    of_series = table[series_column] if series_column else pd.Series("ours", index=table.index)
    with_interval = set(of_series[table[low].notna()]) if low and high and not hue else set()
    names = {series: f"{series}, 95 % interval" if series in with_interval else series for series in hues}
    columns = max(1, min(len(panels), MOST_PANELS_A_ROW))  # without a row, an empty figure
    rows_of_panels = max(1, -(-len(panels) // columns))
    size = (
        _width(columns, lines_of, shared),
        rows_of_panels * (0.36 * max(map(len, lines_of.values()), default=1) + 1.6),
    )
    figure, grid = plt.subplots(rows_of_panels, columns, figsize=size, sharey=shared, sharex=one_scale, squeeze=False)
    if not shared:
        figure.set_layout_engine("constrained")  # gives each column of panels the room that its own names take
    for spare in grid.flat[len(panels) :]:
        spare.set_visible(False)
    axes = grid.flat[: len(panels)]
    for axis, name in zip(axes, panels, strict=True):
        labels = lines_of[name]
        part = table[(table[panel] == name) & table[label].isin(labels)]
        heights = part[label].map(labels.index).astype(float)
        if hue:
            heights += (part[hue].map(hues.index) - (len(hues) - 1) / 2) * 0.18
        for series, colour in zip(hues, colours, strict=True):
            rows = part[of_series[part.index] == series]
            if rows.empty:
                continue  # a panel need not have every kind, nor a legend a kind that is not there
            y = heights[rows.index]
            if low and high:
                axis.hlines(y, rows[low], rows[high], color=colour, linewidth=2, alpha=0.7)
            axis.plot(rows[value], y, "o", color=colour, label=names[series], zorder=3)
        if published and (known := part[published].notna()).any():
            # On a line of several series it is said whose the published values are.
            whose = ", ".join(dict.fromkeys(part.loc[known, hue])) + ", published" if hue else "published"
            axis.plot(
                part.loc[known, published], heights[known], "D", color=PUBLISHED, markersize=5, label=whose, zorder=2
            )
        if chance is not None:
            axis.axvline(chance, color="0.6", linestyle="--", linewidth=1)
        axis.set(title=name, xlabel=xlabel)
        axis.tick_params(labelbottom=True)  # also above another row of panels
        axis.set_yticks(range(len(labels)), labels)
        axis.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    _legend(figure, axes)
    finished = _finished(figure, title)
    if not shared:
        _at_one_height_a_line(axes)
    return finished


def _lines(
    table: pd.DataFrame, panels: Sequence[str], panel: str, label: str, values: Sequence[str]
) -> tuple[dict[str, list[str]], bool]:
    """The names of each panel's lines from above, and whether all panels have the same."""
    every = list(dict.fromkeys(table[label]))
    known = table[table[values].notna().any(axis=1)]
    found = {name: set(known.loc[known[panel] == name, label]) for name in panels}
    if all(len(own) >= SHARED_LINES * len(every) for own in found.values()):
        return dict.fromkeys(panels, every), True
    return {name: [text for text in every if text in own] for name, own in found.items()}, False


def _width(columns: int, lines_of: dict[str, list[str]], shared: bool) -> float:
    """Inches of a figure of panels side by side: names stand left of all panels, or left of each."""
    if shared:
        return max(3.4 * columns + 1.8, ONE_PANEL)
    longest = [max((len(str(text)) for text in labels), default=0) for labels in lines_of.values()]
    return max(3 * columns + 0.09 * sum(max(longest[place::columns]) for place in range(columns)), ONE_PANEL)


def _at_one_height_a_line(axes: Sequence[Axes]) -> None:
    """Panels with fewer lines than others become less high, so that lines are as far apart in all."""
    most = max(axis.get_ylim()[0] for axis in axes) + 0.5
    for axis in axes:
        box, share = axis.get_position(), (axis.get_ylim()[0] + 0.5) / most
        axis.set_position((box.x0, box.y1 - share * box.height, box.width, share * box.height))


def pairs(
    table: pd.DataFrame, *, x: str, y: str, hue: str, panel: str, note: str, ylabel: str = "", title: str = ""
) -> Figure:
    """Two values a group as dots joined by a line, one panel a metric, each panel with its own scale.

    Args:
        table: one row a dot.
        x: column of the groups, in the table's order.
        y: column of the values.
        hue: column that tells the two dots of a group apart.
        panel: column that names the panel.
        note: column of what is written below the group's name, e.g. how far its dots are apart.
        ylabel: name and unit of the values.
        title: what the figure shows.
    """
    panels = list(dict.fromkeys(table[panel]))
    figure, axes = plt.subplots(1, len(panels), figsize=(5 * len(panels), 3.8), squeeze=False)
    for axis, name in zip(axes[0], panels, strict=True):
        part = table[table[panel] == name]
        wide = part.pivot_table(index=x, columns=hue, values=y, sort=False)
        notes = part.groupby(x)[note].first()
        axis.vlines(range(len(wide)), wide.min(axis=1), wide.max(axis=1), color="0.7", linewidth=2, zorder=1)
        for column, marker in zip(wide.columns, "os", strict=False):
            axis.plot(range(len(wide)), wide[column], marker, markersize=9, label=column)
            for place, value in enumerate(wide[column]):
                axis.annotate(f"{value:.3f}", (place, value), (9, 0), textcoords="offset points", va="center", size=9)
        axis.set_xticks(range(len(wide)), [f"{group}\n{notes[group]}" for group in wide.index], size=10)
        axis.margins(x=0.25, y=0.15)
        axis.set(title=name, ylabel=ylabel)
    _legend(figure, axes[0])
    return _finished(figure, title)


def lines(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    hue: str,
    panel: str,
    mark: str | None = None,
    labels: dict[str, tuple[str, str]] | None = None,
    diagonal: Sequence[str] = (),
    one_scale: bool = False,
    title: str = "",
) -> Figure:
    """Curves, one panel a kind of curve, e.g. a ROC curve beside the accuracy at every threshold.

    Args:
        table: one row a point, in the order of its line.
        x: column of the points' places.
        y: column of their values.
        hue: column that names the line; lines keep the table's order and their colour in every panel.
        panel: column that names the panel.
        mark: column that is true for the points to mark with a dot.
        labels: the axes' labels of each panel.
        diagonal: the panels in which a line without information is the diagonal.
        one_scale: whether all panels have the same vertical axis: they show the same quantity.
        title: what the figure shows.
    """
    panels, names = list(dict.fromkeys(table[panel])), list(dict.fromkeys(table[hue]))
    colours = dict(zip(names, sns.color_palette(PALETTE, len(names)), strict=True))
    columns = max(1, len(panels))  # without a line, an empty panel
    figure, axes = plt.subplots(1, columns, figsize=(4.8 * columns, 4.2), sharey=one_scale, squeeze=False)
    for axis, name_of_panel in zip(axes[0], panels, strict=False):
        for name, part in table[table[panel] == name_of_panel].groupby(hue, sort=False):
            dash = "-" if names.index(name) < SOLID_LINES else (0, (4, 1.5))
            axis.plot(part[x], part[y], color=colours[name], linestyle=dash, label=name, linewidth=1.8)
            if mark:
                marked = part[part[mark].astype(bool)]
                axis.plot(marked[x], marked[y], "o", color=colours[name], markersize=7, zorder=3)
        if name_of_panel in diagonal:
            axis.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1)
        xlabel, ylabel = (labels or {}).get(name_of_panel, (x, y))
        axis.set(title=name_of_panel, xlabel=xlabel, ylabel=ylabel)
        if one_scale:
            axis.label_outer()
    _legend(figure, axes[0])
    return _finished(figure, title)


def matrix(
    table: pd.DataFrame,
    *,
    row: str,
    column: str,
    panel: str,
    value: str,
    digits: int = 2,
    label: str = "",
    title: str = "",
) -> Figure:
    """A table of numbers as shaded squares, one panel a table; an empty square is a value that is not there.

    Args:
        table: one row a square.
        row: column that names the line, in the table's order.
        column: column that names the column.
        panel: column that names the panel; all panels share one scale.
        value: column of the numbers.
        digits: decimals shown.
        label: name and unit of the values.
        title: what the figure shows.
    """
    panels = list(dict.fromkeys(table[panel]))
    rows, columns = (list(dict.fromkeys(table[name])) for name in (row, column))
    names = max(len(str(name)) for name in rows)
    size = (1.4 + 0.1 * names + (1.1 * len(columns) + 0.5) * len(panels), max(1.9 + 0.5 * len(rows), 3.8))
    figure, axes = plt.subplots(1, len(panels), figsize=size, sharey=True, squeeze=False)
    for axis, name in zip(axes[0], panels, strict=True):
        part = (
            table[table[panel] == name]
            .pivot_table(index=row, columns=column, values=value)
            .reindex(index=rows, columns=columns)
        )
        sns.heatmap(
            part,
            ax=axis,
            annot=True,
            fmt=f".{digits}f",
            cmap="rocket_r",
            vmin=0,
            vmax=table[value].max(),
            cbar=name == panels[-1],
            cbar_kws={"label": label},
            linewidths=1,
        )
        axis.set(title=name, xlabel=column.replace("_", " "), ylabel=row.replace("_", " ") if name == panels[0] else "")
        axis.tick_params(axis="both", labelrotation=0)
        axis.set_xticklabels([str(name).replace("-", "-\n") for name in columns])
    return _finished(figure, title)


def spans(
    table: pd.DataFrame,
    *,
    first: str,
    last: str,
    label: str,
    hue: str,
    value: str,
    size: int,
    hues: Sequence[str],
    heading: str = "",
    xlabel: str = "",
    title: str = "",
) -> Figure:
    """Where rows stand in something of ``size`` units, as bars on one axis, each with its value at the right.

    Args:
        table: one row a bar, drawn from above in the table's order.
        first: column of the first unit, counted from 0.
        last: column of the last unit, included.
        label: column that names the row.
        hue: column that gives the colour.
        value: column of the number written beside the bar.
        size: units in all.
        hues: everything that the column of the colour may say, so that a colour means the same in every figure.
        heading: what stands above the numbers.
        xlabel: what the units are.
        title: what the figure shows.
    """
    colours = dict(zip(hues, sns.color_palette(PALETTE, len(hues)), strict=True))
    figure, axis = plt.subplots(figsize=(7.5, 0.42 * len(table) + 1.3))
    for place, row in enumerate(table.to_dict("records")):
        width = row[last] - row[first] + 1
        axis.barh(place, width, left=row[first] + 0.5, height=0.6, color=colours[row[hue]], label=row[hue])
        axis.annotate(f"{row[value]:+.2f}", (size + 0.6, place), va="center", size=9, annotation_clip=False)
    axis.annotate(heading, (size + 0.6, -0.5), va="bottom", size=9, annotation_clip=False)
    axis.set_yticks(range(len(table)), table[label])
    axis.set(xlim=(0.5, size + 0.5), ylim=(len(table) - 0.5, -0.5), xlabel=xlabel)
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.grid(axis="y", visible=False)
    entries = dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    figure.legend(entries.values(), entries.keys(), loc="center left", bbox_to_anchor=(1.05, 0.5), frameon=False)
    return _finished(figure, title)


def _finished(figure: Figure, title: str) -> Figure:
    """The figure with its title at the left, the panels as near below it at any height."""
    if figure.get_layout_engine() is None:
        figure.tight_layout()
    else:
        figure.draw_without_rendering()  # lays the panels out once: what is done to them from here on stays
        figure.set_layout_engine("none")
    inches = figure.get_figheight()
    figure.suptitle(title, x=0.01, ha="left", va="bottom", y=1 + 0.06 / inches)
    return figure


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend for all panels, right of them."""
    entries = {}
    for axis in axes:
        entries.update(dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True)))
    if entries:
        figure.legend(entries.values(), entries.keys(), loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
