"""Users' files: what is filled in, and one test for each way in which a file can be wrong."""

import json
import math

import pandas as pd
import pytest

from claimwise.corpora import ExamplesError, read_examples

GOOD = {"id": "a", "document": "It rained.", "summary": "Rain.", "label": 1}


def jsonl(folder, *rows):
    file = folder / "mine.jsonl"
    file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n")
    return file


def test_missing_columns_are_filled(tmp_path):
    other = {
        "id": 7,
        "document": "It rained.",
        "summary": "",
        "system": "lead",
        "origin": "news",
        "split": "validation",
    }
    table = read_examples(jsonl(tmp_path, GOOD, "", other))
    assert table[["id", "corpus", "split", "origin", "system", "summary"]].to_numpy().tolist() == [
        ["a", "mine", "test", "user", "user", "Rain."],
        ["7", "mine", "validation", "news", "lead", ""],
    ]
    assert table.label.iloc[0] == 1
    assert math.isnan(table.label.iloc[1])
    assert table.document_id.iloc[0] == table.document_id.iloc[1]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_csv_and_parquet_read_like_json_lines(tmp_path, suffix):
    rows = [GOOD, {**GOOD, "id": "b", "document": 'He said: "no",\nthen left.', "label": None}]
    file = tmp_path / f"mine.{suffix}"
    table = pd.DataFrame(rows)
    table.to_csv(file, index=False) if suffix == "csv" else table.to_parquet(file)
    pd.testing.assert_frame_equal(read_examples(file), read_examples(jsonl(tmp_path, *rows)))


def test_a_csv_field_that_says_nan_or_null_is_text(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("id,document,summary\nNA,null,nan\n")
    assert read_examples(file)[["id", "document", "summary"]].to_numpy().tolist() == [["NA", "null", "nan"]]


def test_a_byte_order_mark_is_not_part_of_the_first_column(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_bytes(b"\xef\xbb\xbfid,document,summary\na,b,c\n")
    assert read_examples(file).id.tolist() == ["a"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (['{"id": "a", "docu'], r"mine\.jsonl, line 1, column 13: not JSON"),
        ([GOOD, "[1, 2]"], r"line 2: expected an object with id, document, summary, got \[1, 2\]"),
        ([{"id": "a", "document": "b"}], "line 1: column 'summary' is missing, got id, document"),
        ([{"id": "a", "docment": "b", "summary": "c"}], "line 1: column 'document' is missing.*did you mean 'docment'"),
        ([{**GOOD, "lable": 1}], "line 1: unknown column 'lable', expected id.*did you mean 'label'"),
        ([{**GOOD, "zzz": 1}], "line 1: unknown column 'zzz'.*remove it"),
        ([GOOD, "", GOOD], "line 3, field 'id': 'a' stands in line 1 too"),
        ([{**GOOD, "id": None}], "line 1, field 'id': expected text, got null"),
        ([{**GOOD, "id": ""}], "line 1, field 'id': is empty"),
        ([{**GOOD, "label": 0.5}], r"line 1, field 'label': expected 1 \(faithful\), 0 \(not\) or nothing, got 0.5"),
        ([{**GOOD, "label": "yes"}], "line 1, field 'label': expected 1 .* got 'yes'"),
        ([{**GOOD, "document": "a\x00b"}], "line 1, field 'document': a NUL byte at character 1; remove it"),
        ([{**GOOD, "document": None}], "line 1, field 'document': expected text, got null"),
        ([{**GOOD, "summary": 12}], "line 1, field 'summary': expected text, got 12"),
        ([{**GOOD, "system": ["x"]}], "line 1, field 'system': expected text, got"),
        ([], "no examples in the file"),
    ],
)
def test_a_wrong_json_line_is_named_by_file_line_and_field(tmp_path, rows, message):
    with pytest.raises(ExamplesError, match=message):
        read_examples(jsonl(tmp_path, *rows))


def test_bad_json_on_line_7_is_named_so(tmp_path):
    rows = [{**GOOD, "id": str(index)} for index in range(6)]
    with pytest.raises(ExamplesError, match="line 7, column 1: not JSON"):
        read_examples(jsonl(tmp_path, *rows, "oops"))


def test_a_csv_row_is_counted_as_an_editor_does(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("id,document,summary,label\na,b,c,1\nb,b,c,2\n")
    with pytest.raises(ExamplesError, match=r"mine\.csv, row 3, field 'label': expected 1 .* got '2'"):
        read_examples(file)


def test_a_parquet_null_document_is_named(tmp_path):
    file = tmp_path / "mine.parquet"
    pd.DataFrame([GOOD, {**GOOD, "id": "b", "document": None}]).to_parquet(file)
    with pytest.raises(ExamplesError, match="row 2, field 'document': expected text, got"):
        read_examples(file)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("mine.txt", b"x", r"expected a name that ends in \.jsonl, \.csv or \.parquet, got '\.txt'"),
        ("mine.parquet", b"not parquet", "not a parquet file"),
        ("mine.csv", b"", "not a csv file with a header"),
        (
            "mine.csv",
            b"id,document,summary\na,caf\xe9,c\n",
            r"byte 25: not UTF-8 \(byte 0xe9\); save the file as UTF-8",
        ),
        ("mine.jsonl", b'{"id": "\xff"}', "not UTF-8"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ExamplesError, match=message):
        read_examples(tmp_path / name)


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file; expected a"):
        read_examples(tmp_path / "absent.csv")
