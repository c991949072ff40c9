"""Tables of a notebook: the same bytes every time, gaps shown as gaps, everything escaped."""

import csv
import io
import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from traitlets.config import PyFileConfigLoader

from claimwise.analysis import tables
from claimwise.analysis.results import Results


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project's folder: where a notebook's results go."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path / "notebooks")
    return tmp_path


def test_a_csv_has_six_digits_and_unix_lines(project):
    frame = pd.DataFrame({"name": ["é, x", None], "value": [1 / 3, math.nan]})
    assert Results("sample", "embedded", "toy").table(frame, "t") is frame
    file = project / "tables" / "sample" / "embedded" / "toy" / "t.csv"
    assert file.read_bytes() == 'name,value\n"é, x",0.333333\n,\n'.encode()


def test_metrics_as_json(project):
    values = {"é": np.float64(2 / 3), "n": np.int64(4), "p": math.nan}
    Results("sample", "embedded", "toy").metrics(values)
    text = (project / "tables" / "sample" / "embedded" / "toy.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"é": 0.666667, "n": 4, "p": None}
    assert "NaN" not in text
    assert "é" in text


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
    [found] = BeautifulSoup(tables.show(empty, caption).data, "html.parser").div.contents
    assert str(found) == f"<p><b>{told}</b></p>"


def test_dollars_make_no_formula():
    frame = pd.DataFrame({"claim": ["The fee went from $19 to $23."]})
    shown = BeautifulSoup(tables.show(frame, "From $1 to $2").data, "html.parser")
    assert len(shown.contents) == 1
    assert {"mathjax_ignore", "tex2jax_ignore"} <= set(shown.div["class"])  # MathJax 3's name and MathJax 2's
    assert "from $19 to $23" in shown.get_text()


EVIL = (
    "`</code>[x](javascript:alert(1))`",
    "<img src=http://e.example/x onerror=alert(1)>",
    "<script>alert(1)</script>",
)


def test_texts_in_a_report_run_nothing_and_fetch_nothing_as_a_web_page():
    config = PyFileConfigLoader("nbconvert_config.py", path=str(Path(__file__).parents[1] / "tools")).load_config()
    shown = tables.show(pd.DataFrame({"system": EVIL, "auc": [0.5, 0.6, 0.7]})).data
    outputs = [{"text/html": shown}, {"text/html": "".join(EVIL)}, {"text/markdown": "\n".join(EVIL)}]
    cells = [new_code_cell("1", outputs=[new_output("display_data", data=data) for data in outputs])]
    html, _ = HTMLExporter(config=config).from_notebook_node(new_notebook(cells=cells))
    whole = BeautifulSoup(html, "html.parser")
    assert not whole.select("[src^=http], link[href^=http]")
    page = whole.body
    cells = [cell.get_text() for cell in page.select("td")]
    assert cells == [text for pair in zip(EVIL, ("0.500", "0.600", "0.700"), strict=True) for text in pair]
    assert page.select("td[style*=right]")
    assert not page.select("img, a[href*=javascript], [onerror]")
    assert not [script for script in page.select("script") if "alert" in script.get_text()]


def test_a_bare_carriage_return_in_a_csv_ends_no_row(project):
    Results("sample", "embedded", "halueval").table(pd.DataFrame({"system": ["a\rb", "c"], "n": [1, 2]}), "t")
    text = (project / "tables" / "sample" / "embedded" / "halueval" / "t.csv").read_bytes().decode()
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["system", "n"], ["a\rb", "1"], ["c", "2"]]
