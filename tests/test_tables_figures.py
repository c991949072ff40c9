"""Tables and figures: the same bytes every time, gaps shown as gaps, nothing unescaped."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from claimwise.analysis import figures, tables
from claimwise.analysis.statistics import Interval

ROWS = pd.DataFrame(
    {
        "metric": ["a", "b", "a", "b"],
        "panel": ["cnndm", "cnndm", "xsum", "xsum"],
        "value": [60.0, 70.0, 65.0, 55.0],
        "low": [58.0, 66.0, 60.0, 50.0],
        "high": [62.0, 74.0, 70.0, 60.0],
        "published": [61.0, math.nan, math.nan, math.nan],
    }
)


def test_a_csv_has_six_digits_and_unix_lines(tmp_path):
    path = tmp_path / "deep" / "t.csv"
    frame = pd.DataFrame({"name": ["é, x", None], "value": [1 / 3, math.nan]})
    assert tables.save(frame, path) is frame
    assert path.read_bytes() == 'name,value\n"é, x",0.333333\n,\n'.encode()


def test_metrics_as_json(tmp_path):
    path = tmp_path / "m.json"
    tables.save_metrics({"xsum": {"f1": np.float64(2 / 3), "n": np.int64(4), "p": math.nan}, 7: "é"}, path)
    assert json.loads(path.read_text()) == {"xsum": {"f1": 0.666667, "n": 4, "p": None}, "7": "é"}
    assert "NaN" not in path.read_text()
    assert "é" in path.read_text(encoding="utf-8")


def cells(html):
    return re.findall(r"<t[dh] [^>]*>(.*?)</t[dh]>", html)


def test_a_shown_table_is_escaped_and_marks_gaps():
    frame = pd.DataFrame({"a_name": ["<script>&", None], "value": [0.12345, np.nan], "n": [3, 4]})
    html = tables.show(frame, "A <b>caption</b>", digits=2).data
    assert "&lt;script&gt;&amp;" in html
    assert "<script>" not in html
    assert "A &lt;b&gt;caption&lt;/b&gt;" in html
    assert cells(html) == ["a name", "value", "n", "&lt;script&gt;&amp;", "0.12", "3", "–", "–", "4"]
    assert re.findall(r"<t[dh] style=\"text-align:(\w+)", html) == ["left", "right", "right"] * 3
    assert tables.show(frame).data == tables.show(frame).data


def test_a_shown_p_value_is_never_zero():
    frame = pd.DataFrame({"p": [0.004, 0.0004], "its_p_holm": [1.0, np.nan], "step": [0.004, 1.0]})
    frame = frame.assign(p_baseline=0.0004, p_entail=0.0)  # the latter is no p-value
    assert re.findall(r"<td[^>]*>([^<]*)", tables.show(frame, digits=2).data) == [
        *("0.004", "1.000", "0.00", "&lt; .001", "0.00"),
        *("&lt; .001", "–", "1.00", "&lt; .001", "0.00"),
    ]


def test_an_interval_stands_with_its_value_and_large_numbers_have_fewer_decimals():
    frame = pd.DataFrame(
        {
            "bias": [0.1234, -0.00001],
            "accuracy": [64.478, np.nan],
            "accuracy_low": [57.6, np.nan],
            "accuracy_high": [71.25, np.nan],
            "words": [1.25, 3.0],
            "bias_low": [0.1, np.nan],
            "bias_high": [0.2, np.nan],
            "low": [5, 6],  # without a "high" it is a column like any other
        },
        index=[7, 7],
    )
    assert cells(tables.show(frame).data) == [
        *("bias (95 %)", "accuracy (95 %)", "words", "low"),
        *("0.123 (0.100 to 0.200)", "64.5 (57.6 to 71.2)", "1.25", "5"),
        *("0.000", "–", "3.00", "6"),
    ]


@pytest.mark.parametrize(
    ("caption", "told"),
    [("", "None in this run."), ("Words <b>", "Words &lt;b&gt;: none in this run."), ("No replies.", "No replies.")],
)
def test_of_a_table_without_rows_only_the_caption_is_shown(caption, told):
    empty = pd.DataFrame({"p": [], "name": []})
    assert tables.show(empty, caption).data == f"<p><b>{told}</b></p>"


def test_plus_minus():
    assert tables.plus_minus(Interval(0.5, 0.4, 0.7)) == "50.0 ± 15.0"
    assert tables.plus_minus(Interval(0.5, 0.4, 0.7), scale=1, digits=2) == "0.50 ± 0.15"


@pytest.fixture(autouse=True)
def _clean():
    figures.style()
    yield
    plt.close("all")


def dots(**options):
    return figures.dots(ROWS, value="value", label="metric", panel="panel", low="low", high="high", **options)


def test_dots_stand_where_the_values_are():
    figure = dots(published="published", chance=50, xlabel="balanced accuracy, %", title="Agreement")
    assert [axis.get_title() or axis.get_title("left") for axis in figure.axes] == ["cnndm", "xsum"]
    assert {axis.get_xlabel() for axis in figure.axes} == {"balanced accuracy, %"}
    for axis, values in zip(figure.axes, ([60, 70], [65, 55]), strict=True):
        [circles] = [line for line in axis.lines if line.get_marker() == "o"]
        assert circles.get_xdata().tolist() == values
        assert circles.get_ydata().tolist() == [0, 1]
        assert [line.get_xdata() for line in axis.lines if line.get_linestyle() == "--"] == [[50, 50]]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["a", "b"]
    diamonds = [[line.get_xdata().tolist() for line in axis.lines if line.get_marker() == "D"] for axis in figure.axes]
    assert diamonds == [[[61.0]], []]
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["ours, 95 % interval", "published"]


def test_intervals_span_low_to_high():
    figure = dots()
    segments = [segment for collection in figure.axes[0].collections for segment in collection.get_segments()]
    assert [sorted(segment[:, 0]) for segment in segments] == [[58, 62], [66, 74]]


def test_series_on_one_line_do_not_hide_each_other():
    rows = pd.concat([ROWS.assign(measure="P"), ROWS.assign(measure="R")])
    figure = figures.dots(rows, value="value", label="metric", panel="panel", hue="measure")
    first, second = (line.get_ydata() for line in figure.axes[0].lines)
    assert (second - first).tolist() == pytest.approx([0.18, 0.18])


def test_a_published_value_stands_at_the_height_of_the_series_that_it_is_of():
    series = [ROWS.assign(measure=name, published=math.nan) for name in ("P", "R", "F")]
    series[0]["published"] = [61.0, math.nan, math.nan, 62.0]
    rows = pd.concat(series)  # the same index three times
    figure = figures.dots(rows, value="value", label="metric", panel="panel", hue="measure", published="published")
    places = [[line.get_xydata().tolist() for line in axis.lines if line.get_marker() == "D"] for axis in figure.axes]
    assert places == [[[[61.0, pytest.approx(-0.18)]]], [[[62.0, pytest.approx(1 - 0.18)]]]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["P", "R", "F", "P, published"]


def _heights(figure):
    """Inches of each panel."""
    return [axis.get_position().height * figure.get_figheight() for axis in figure.axes]


def test_panels_with_few_of_the_lines_have_only_these_as_far_apart_as_elsewhere():
    many = pd.DataFrame({"metric": list("abcdef"), "panel": "many", "value": range(6)})
    few = pd.DataFrame({"metric": list("fab"), "panel": "few", "value": [1.0, 2.0, math.nan]})
    figure = figures.dots(pd.concat([many, few]), value="value", label="metric", panel="panel")
    names = [[text.get_text() for text in axis.get_yticklabels()] for axis in figure.axes]
    assert names == [list("abcdef"), list("af")]  # in the order of all, without what has no value there
    [dots_of_few] = [line for line in figure.axes[1].lines if line.get_marker() == "o"]
    assert dots_of_few.get_xydata().tolist() == [[1, 1], [2, 0]]
    first, second = _heights(figure)
    assert second == pytest.approx(first / 3)
    tops = [axis.get_position().y1 for axis in figure.axes]
    assert tops[0] == pytest.approx(tops[1])


def test_panels_with_nearly_all_lines_keep_them_in_common():
    many = pd.DataFrame({"metric": list("abcd"), "panel": "many", "value": range(4)})
    figure = figures.dots(
        pd.concat([many, many[:3].assign(panel="three")]), value="value", label="metric", panel="panel"
    )
    assert figure.axes[1].get_ylim() == figure.axes[0].get_ylim() == (3.5, -0.5)


def test_a_figure_of_one_panel_has_room_for_its_title_and_one_of_none_is_empty():
    one = figures.dots(ROWS[:2], value="value", label="metric", panel="panel")
    assert one.get_figwidth() == figures.ONE_PANEL
    assert not any(
        axis.get_visible() for axis in figures.dots(ROWS[:0], value="value", label="metric", panel="panel").axes
    )


def test_kinds_have_colours_and_names_and_stay_on_their_lines():
    rows = ROWS.assign(kind=["ours", "recorded", "ours", "ours"])
    rows.loc[rows["kind"] == "recorded", ["low", "high"]] = np.nan
    columns = {"value": "value", "low": "low", "high": "high", "label": "metric", "panel": "panel", "kind": "kind"}
    figure = figures.dots(rows, **columns, published="published")
    first, second = figure.axes
    assert [line.get_ydata().tolist() for line in first.lines if line.get_marker() == "o"] == [[0], [1]]
    colours = [line.get_color() for line in first.lines if line.get_marker() == "o"]
    assert colours[0] != colours[1]
    assert [line.get_ydata().tolist() for line in second.lines] == [[0, 1]]
    assert second.lines[0].get_color() == colours[0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "ours, 95 % interval",
        "recorded",  # without an interval the legend names none
        "published",
    ]


def test_panels_have_one_scale_unless_their_quantities_differ():
    columns = {"value": "value", "label": "metric", "panel": "panel"}
    left, right = figures.dots(ROWS, **columns).axes
    assert left.get_xlim() == right.get_xlim()
    left, right = figures.dots(ROWS, **columns, one_scale=False).axes
    assert left.get_xlim() != right.get_xlim()


def test_pairs_stand_at_their_values_joined_by_a_line():
    rows = pd.DataFrame(
        {
            "metric": ["m"] * 4,
            "case": ["worse", "worse", "better", "better"],
            "author": ["writer", "model"] * 2,
            "score": [0.6, 0.7, 0.65, 0.9],
            "apart": ["+0.1", "+0.1", "+0.25", "+0.25"],
        }
    )
    figure = figures.pairs(rows, x="case", y="score", hue="author", panel="metric", note="apart", ylabel="score")
    [axis] = figure.axes
    assert {line.get_label(): line.get_ydata().tolist() for line in axis.lines} == {
        "writer": [0.6, 0.65],
        "model": [0.7, 0.9],
    }
    assert [segment[:, 1].tolist() for segment in axis.collections[0].get_segments()] == [[0.6, 0.7], [0.65, 0.9]]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["worse\n+0.1", "better\n+0.25"]
    assert [text.get_text() for text in axis.texts] == ["0.600", "0.650", "0.700", "0.900"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["writer", "model"]


def test_a_line_has_its_points_its_marks_and_the_diagonal():
    rows = pd.DataFrame(
        {
            "kind": ["roc"] * 3 + ["accuracy"] * 2,
            "metric": ["m"] * 5,
            "x": [0.0, 0.2, 1.0, 0.0, 1.0],
            "y": [0.0, 0.9, 1.0, 0.5, 0.6],
            "chosen": [False, True, False, False, True],
        }
    )
    labels = {"roc": ("false", "true")}
    figure = figures.lines(
        rows, x="x", y="y", hue="metric", panel="kind", mark="chosen", labels=labels, diagonal=["roc"]
    )
    roc, accuracy = figure.axes
    assert [line.get_xydata().tolist() for line in roc.lines] == [
        [[0, 0], [0.2, 0.9], [1, 1]],
        [[0.2, 0.9]],
        [[0, 0], [1, 1]],
    ]
    assert [line.get_xydata().tolist() for line in accuracy.lines] == [[[0, 0.5], [1, 0.6]], [[1, 0.6]]]
    assert (roc.get_xlabel(), roc.get_ylabel(), accuracy.get_xlabel()) == ("false", "true", "x")


def test_a_matrix_shows_its_values_and_leaves_gaps_empty():
    rows = pd.DataFrame(
        {"judge": ["a", "a", "b"], "writer": ["x", "y", "x"], "table": ["ours"] * 3, "value": [0.5, 1.25, 2.0]}
    )
    figure = figures.matrix(rows, row="judge", column="writer", panel="table", value="value")
    assert [text.get_text() for text in figure.axes[0].texts] == ["0.50", "1.25", "2.00"]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["a", "b"]


def test_a_png_has_the_same_bytes_every_time_and_names_no_program(tmp_path):
    for name in ("one", "two"):
        figures.save(dots(title="Agreement"), tmp_path / "deep" / f"{name}.png")
    one, two = ((tmp_path / "deep" / f"{name}.png").read_bytes() for name in ("one", "two"))
    assert one == two
    assert one.startswith(b"\x89PNG")
    assert b"Software" not in one
    assert not plt.get_fignums()


def test_curves_of_one_quantity_share_their_axis():
    curves = pd.DataFrame(
        [(0, 0.7, "a", "one"), (1, 0.8, "a", "one"), (0, 0.2, "a", "two"), (1, 0.3, "a", "two")],
        columns=["x", "y", "name", "panel"],
    )
    drawn = figures.lines(curves, x="x", y="y", hue="name", panel="panel", one_scale=True)
    first, second = (axis.get_ylim() for axis in drawn.axes)
    assert first == second
    assert first[0] < 0.2 < 0.8 < first[1]
    apart = figures.lines(curves, x="x", y="y", hue="name", panel="panel")
    assert apart.axes[0].get_ylim()[0] > 0.6
