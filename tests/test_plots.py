"""Plots: dots at the values, one colour a method, one scale for panels that are compared, the same bytes each time."""

import math
from itertools import pairwise

import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb

from claimwise.analysis.plots import WIDTH, interval_plot
from claimwise.analysis.results import COLOURS, Results, set_style

ROWS = pd.DataFrame(
    {
        "metric": ["ACUEval", "b", "ACUEval", "b"],
        "panel": ["cnndm", "cnndm", "xsum", "xsum"],
        "value": [60.0, 70.0, 65.0, 55.0],
        "low": [58.0, 66.0, 60.0, 50.0],
        "high": [62.0, 74.0, 70.0, 60.0],
        "published": [61.0, math.nan, math.nan, math.nan],
    }
)


@pytest.fixture(autouse=True)
def _clean():
    set_style()
    yield
    plt.close("all")


def plot(rows=ROWS, **options):
    columns = {"value": "value", "low": "low", "high": "high", "row": "metric", "panel": "panel"}
    return interval_plot(rows, **(columns | options))


def places(axis, marker):
    """(x, y) of an axis's dots or diamonds."""
    return [tuple(line.get_xydata()[0]) for line in axis.lines if line.get_marker() == marker]


def legend(figure):
    return [text.get_text() for found in figure.legends for text in found.get_texts()]


def test_dots_stand_where_the_values_are_and_lines_from_low_to_high():
    figure = plot(published="published", chance=50, xlabel="balanced accuracy (%)", title="Agreement")
    assert [axis.get_title("left") for axis in figure.axes] == ["CNN/DM", "XSum"]
    assert figure.get_supxlabel() == "balanced accuracy (%)"
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["ACUEval", "b"]
    assert [places(axis, "o") for axis in figure.axes] == [[(60, 0), (70, 1)], [(65, 0), (55, 1)]]
    assert [places(axis, "D") for axis in figure.axes] == [[(61, 0)], []]
    segments = [collection.get_segments()[0] for collection in figure.axes[0].collections]
    assert [sorted(segment[:, 0]) for segment in segments] == [[58, 62], [66, 74]]
    for axis in figure.axes:
        assert [line.get_xdata() for line in axis.lines if line.get_linestyle() == "--"] == [[50, 50]]
    assert legend(figure) == ["published"]


def test_a_value_without_an_interval_or_a_published_one_without_ours_is_drawn_too():
    rows = ROWS[:2].assign(low=math.nan, high=math.nan, value=[60.0, math.nan], published=[math.nan, 66.0])
    [axis] = plot(rows, published="published").axes
    assert places(axis, "o")[0] == (60, 0)
    assert places(axis, "D") == [(66, 1)]


def test_a_method_has_its_colour_in_every_figure_and_others_may_be_given_one():
    first, second = (
        [to_rgb(line.get_color()) for line in figure.axes[0].lines if line.get_marker() == "o"]
        for figure in (plot(), plot(colours=COLOURS | {"b": "0.25"}))
    )
    assert first[0] == second[0] == to_rgb(COLOURS["ACUEval"])
    assert second[1] == to_rgb("0.25") != first[1]
    assert first[1] not in map(to_rgb, COLOURS.values())  # nobody takes it for another method


def test_series_on_one_line_do_not_hide_each_other_and_are_named():
    rows = pd.concat([ROWS.assign(measure="precision"), ROWS.assign(measure="recall")])
    figure = plot(rows, hue="measure")
    heights = [y for _, y in places(figure.axes[0], "o")]
    assert heights == pytest.approx([-0.1, 0.9, 0.1, 1.1])
    assert legend(figure) == ["precision", "recall"]
    many = plot(pd.concat([ROWS.assign(measure=str(number)) for number in range(6)]), hue="measure")
    heights = sorted(y for _, y in places(many.axes[0], "o"))
    gaps = [after - before for before, after in pairwise(heights)]
    assert gaps[5] > 2 * max(gaps[:5] + gaps[6:])  # between the two methods


def test_one_series_has_no_legend():
    assert not plot().legends


def test_panels_have_one_scale():
    left, right = plot().axes
    assert left.get_xlim() == right.get_xlim()


def test_titles_of_many_panels_side_by_side_do_not_run_into_each_other():
    rows = pd.concat(ROWS.assign(panel=f"ACUEval by the embedded model {k}") for k in range(5))
    figure = plot(rows)
    figure.canvas.draw()
    ends = [axis.title.get_window_extent() for axis in figure.axes]
    assert all(left.x1 < right.x0 for left, right in pairwise(ends))


def test_a_figure_fits_a_page():
    assert plot().get_figwidth() == plot(ROWS[:2]).get_figwidth() == WIDTH


def test_a_png_has_the_same_bytes_every_time_and_names_no_program(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path)
    results = Results("sample", "embedded", "toy")
    for name in ("one", "two"):
        results.figure(plot(title="Agreement"), name)
    one, two = (
        tmp_path.joinpath("figures", "sample", "embedded", "toy", f"{name}.png").read_bytes() for name in ("one", "two")
    )
    assert one == two
    assert one.startswith(b"\x89PNG")
    assert b"Software" not in one
    assert not plt.get_fignums()  # a figure that stays open would be shown twice


def test_a_figure_says_below_everything_else_which_model_made_the_scores(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path)
    figure = plot(title="Agreement")
    before = figure.get_tightbbox()
    Results("sample", "lexical", "toy").figure(figure, "one")
    [line] = [text for text in figure.texts if "scores by" in text.get_text()]
    assert line.get_text() == "scores by lexical, unless another model is named; FENICE's by its NLI model"
    box = line.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
    assert box.y1 < before.y0
    assert box.x0 == pytest.approx(before.x0)


def test_a_name_with_dollars_in_a_figure_is_no_formula(tmp_path):
    names = [r"$\href{javascript:x}{", r"$\frac$", "a $5 b $6", "x"]
    plot(ROWS.assign(metric=names)).savefig(tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 1000
