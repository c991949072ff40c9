"""Users' files: which values are filled in, and one test for each way in which a file can be wrong."""

import gzip
import json
import math
from functools import partial

import pandas as pd
import pytest
from files import write_jsonl
from hypothesis import given, settings
from hypothesis import strategies as st

from claimwise.corpora import read_examples, user
from claimwise.corpora.user import parse_columns, read_files
from claimwise.schema import TableError

GOOD = {"id": "a", "document": "It rained.", "summary": "Rain.", "label": 1}


def jsonl(folder, *rows):
    return write_jsonl(rows, folder / "mine.jsonl")


def made(folder, content, name="mine.csv"):
    """A file of this text or these bytes."""
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / name


def write_table(table, file):
    write = {".csv": table.to_csv, ".parquet": table.to_parquet, ".jsonl": partial(table.to_json, orient="records")}
    write[file.suffix](file, **({"lines": True} if file.suffix == ".jsonl" else {"index": False}))


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


def test_a_csv_field_that_says_nan_or_null_is_text(tmp_path):
    file = made(tmp_path, "id,document,summary\nNA,null,nan\n")
    assert read_examples(file)[["id", "document", "summary"]].to_numpy().tolist() == [["NA", "null", "nan"]]


def test_a_byte_order_mark_is_not_part_of_the_first_column(tmp_path):
    file = made(tmp_path, b"\xef\xbb\xbfid,document,summary\na,b,c\n")
    assert read_examples(file).id.tolist() == ["a"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([GOOD, '{"id": "a", "docu'], r"mine\.jsonl, line 2, column 13: not JSON"),
        ([GOOD, "[1, 2]"], r"line 2: expected an object with names and values, got \[1, 2\]"),
        (
            [{"id": "a", "document": "b", "output": "c"}],
            r"line 1: column 'summary' is missing, got id, document, output; add it, or say which one holds it: "
            r"columns=\{'summary': 'NAME'\}$",
        ),
        ([{"id": "a", "docment": "b", "summary": "c"}], "line 1: column 'document' is missing.*did you mean 'docment'"),
        ([GOOD, "", GOOD], "line 3, column 'id': 'a' stands in line 1 too; make it unique"),
        (
            [GOOD | {"id": "a"}, GOOD | {"id": None}],
            "line 2, column 'id': found None, expected a text, unique in the table",
        ),
        ([{**GOOD, "id": None}], "line 1, column 'id': found None, expected a text, unique in the table"),
        ([{**GOOD, "id": ""}], "line 1, column 'id': found '', expected a text"),
        ([{**GOOD, "id": True}], "line 1, column 'id': found True .no text., expected a text"),
        (
            [GOOD, {"document": "b", "summary": "c"}],
            "line 2: column 'id' is missing, got document, summary; give every",
        ),
        ([{"id": "a", "document": "b", " Summary ": "c"}], r"columns=\{'summary': ' Summary '\}$"),
        ([{"id": "a", "document": "b", " Summary": "c"}], "did you mean ' Summary'[?] Say so: columns={'summary': ' S"),
        ([GOOD, "", {**GOOD, "id": " "}], "line 3, column 'id': found ' ', expected a text"),
        (
            [{**GOOD, "label": 0.5}],
            r"line 1, column 'label': found 0.5, expected 1 \(faithful\), 0 \(not faithful\) or empty",
        ),
        ([{**GOOD, "label": "yes"}], "line 1, column 'label': found 'yes', expected 1"),
        (
            [{**GOOD, "document": "a\x00b"}],
            "line 1, column 'document': found .* .a NUL byte at character 1., expected a text .* without NUL bytes",
        ),
        ([{**GOOD, "document": ["It rained.", 1]}], "line 1, column 'document': found .* .no text., expected a text"),
        (
            [{"document": "It rained.", "claims": [1]}],
            "line 1, column 'claims': found .1., expected a text or a list of t",
        ),
        ([{"document": "It rained.", "claims": ["Rain."]}], "claims and no summary, which `claimwise score` reads"),
        ([{**GOOD, "summary": 12}], "line 1, column 'summary': found 12 .no text., expected a text"),
        ([{**GOOD, "system": ["x"]}], "line 1, column 'system': found .* .no text."),
        (
            [{**GOOD, "summary": "x \ud83d"}],
            r"line 1, column 'summary': half of a surrogate pair \(U\+D83D\); the text was cut",
        ),
        ([{**GOOD, "id": "\udc00"}], r"line 1, column 'id': half of a surrogate pair \(U\+DC00\)"),
        ([{**GOOD, "note": ["\ud83d"]}], "line 1, column 'note': half of a surrogate pair"),
        ([], "no examples in the file"),
    ],
)
def test_a_wrong_json_line_is_named_by_file_line_and_field(tmp_path, rows, message):
    with pytest.raises(TableError, match=message):
        read_examples(jsonl(tmp_path, *rows))


def test_a_csv_field_may_be_longer_than_the_csv_module_takes_by_itself(tmp_path):
    document = "word " * 40_000
    file = tmp_path / "mine.csv"
    pd.DataFrame([{**GOOD, "document": document}]).to_csv(file, index=False)
    assert read_examples(file)["document"].tolist() == [document]


@pytest.mark.parametrize(("label", "read"), [("True", 1), ("false", 0), ("1.0", 1), (" 0", 0)])
def test_how_a_csv_may_write_a_label(tmp_path, label, read):
    file = made(tmp_path, f"id,document,summary,label\na,b,c,{label}\n")
    assert read_examples(file)["label"].tolist() == [read]


@pytest.mark.parametrize("name", ["csv", "csv.gz", "tsv", "tsv.gz", "jsonl.gz", "JSONL", "parquet"])
def test_every_kind_of_file_reads_like_json_lines(tmp_path, name):
    rows = [GOOD, {**GOOD, "id": "b", "document": 'He said: "no",\n\tthen left.', "label": None}]
    lines = "\n".join(json.dumps(row) for row in rows)
    table = pd.DataFrame(rows)
    text = lines if "jsonl" in name.lower() else table.to_csv(index=False, sep="\t" if "tsv" in name else ",")
    file = tmp_path / f"mine.{name}"
    if name == "parquet":
        table.to_parquet(file)
    else:
        file.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    read = read_examples(file)
    assert set(read["corpus"]) == {"mine"}
    pd.testing.assert_frame_equal(read, read_examples(jsonl(tmp_path, *rows)))


def test_other_columns_are_carried_as_they_stand(tmp_path):
    rows = [
        {**GOOD, "n": 0.1234567891, "tags": ["é", 1], "7": True},
        {**GOOD, "id": "b", "label": "TRUE", "system": "lead", "note": "x", "n": None},
    ]
    found = read_files([jsonl(tmp_path, *rows)])
    assert found.carried.to_dict("list") == {
        "label": [1, "TRUE"],
        "system": [None, "lead"],
        "n": [0.1234567891, None],
        "tags": [["é", 1], None],
        "7": [True, None],
        "note": [None, "x"],
    }
    assert found.hints == ()
    assert list(found.examples["id"]) == ["a", "b"]
    file = tmp_path / "mine.parquet"
    pd.DataFrame([{**GOOD, "when": pd.Timestamp("2024-05-06"), "tags": ["a", "b"]}]).to_parquet(file)
    assert read_files([file]).carried.to_dict("list") == {
        "label": [1],
        "when": ["2024-05-06 00:00:00"],
        "tags": [["a", "b"]],
    }


def test_a_file_without_other_columns_carries_none(tmp_path):
    bare = {"id": "a", "document": "It rained.", "summary": "Rain."}
    assert read_files([jsonl(tmp_path, bare, {**bare, "id": "b"})]).carried.shape == (2, 0)


def test_claims_beside_summaries_and_claims_without_text_are_hinted_at(tmp_path):
    (hint,) = read_files([jsonl(tmp_path, GOOD | {"claims": ["It rained."]})]).hints
    assert "column 'claims' is carried through unread, the summaries are scored; to verify it say so: --column" in hint
    (hint,) = read_files([jsonl(tmp_path, {"document": "It rained.", "claims": ["It rained.", " ", ""]})]).hints
    assert hint.endswith("mine.jsonl: claims without words, of which nothing is asked: 2")


def test_documents_that_are_lists_written_as_texts_are_hinted_at(tmp_path):
    rows = [GOOD | {"id": key, "document": "['It rained.', 'Ann left.']"} for key in "ab"]
    (hint,) = read_files([jsonl(tmp_path, *rows)]).hints
    assert "line 1 (and 1 more), column 'document': a list written as a text, read with its brackets" in hint


def test_a_column_that_is_nearly_one_of_ours_is_hinted_at(tmp_path):
    row = {key: value for key, value in GOOD.items() if key != "label"} | {"Lable": 1, "source": "news"}
    found = read_files([jsonl(tmp_path, row)])
    (hint,) = found.hints
    assert "column 'Lable' is carried through unread; did you mean 'label'?" in hint
    assert math.isnan(found.examples["label"].iloc[0])
    bare = {key: value for key, value in row.items() if key != "Lable"}
    assert read_files([jsonl(tmp_path, bare | {"id": "first"}, row)]).hints == found.hints  # not every row has it
    for read in (read_examples, user.load):
        with pytest.warns(UserWarning, match="did you mean 'label'") as caught:
            read(jsonl(tmp_path, row))
        assert caught[0].filename == __file__
    assert read_files([jsonl(tmp_path, {**GOOD, "labels": 1})]).hints == ()  # the label is there


CNNDM = {"article": "It rained.", "highlights": "Rain.", "faithful": 1, "url": "x.org/1"}
NAMED = {"document": "article", "summary": "highlights", "label": "faithful"}


@pytest.mark.parametrize("name", ["mine.csv", "mine.jsonl", "mine.parquet"])
def test_columns_of_other_names_are_read_as_the_fields_they_are_said_to_be(tmp_path, name):
    table = pd.DataFrame([CNNDM, CNNDM | {"article": "It snowed.", "faithful": 0, "url": "x.org/2"}])
    file = tmp_path / name
    write_table(table, file)
    found = read_files([file], NAMED | {"id": "url"})
    assert found.examples[["id", "document", "summary", "label"]].to_numpy().tolist() == [
        ["x.org/1", "It rained.", "Rain.", 1],
        ["x.org/2", "It snowed.", "Rain.", 0],
    ]
    labels = ["1", "0"] if name == "mine.csv" else [1, 0]
    assert found.carried.to_dict("list") == {"label": labels}  # the texts and the id stand in the result already
    found = read_files([file], NAMED)
    assert found.examples["id"].tolist() == ["1", "2"]
    assert found.carried.to_dict("list") == {"label": labels, "url": ["x.org/1", "x.org/2"]}
    pd.testing.assert_frame_equal(read_examples(file, columns=NAMED), found.examples)


def test_a_column_may_be_another_field_than_its_name_says(tmp_path):
    row = {"id": "a", "document": "cnn/17", "text": "It rained.", "summary": "Rain."}
    found = read_files([jsonl(tmp_path, row)], {"document": "text", "origin": "document", "summary": "summary"})
    assert found.examples[["document", "origin", "summary"]].to_numpy().tolist() == [["It rained.", "cnn/17", "Rain."]]
    assert found.carried.to_dict("list") == {"origin": ["cnn/17"]}


def test_the_number_of_a_row_is_its_id_where_the_file_has_none(tmp_path):
    row = {"document": "It rained.", "summary": "Rain."}
    found = read_files([jsonl(tmp_path, row, "", row, {**row, "n": 1})])
    assert found.examples["id"].tolist() == ["1", "2", "3"]
    assert list(found.carried) == ["n"]


@pytest.mark.parametrize(
    ("row", "columns", "message"),
    [
        (
            CNNDM,
            {"documnet": "article"},
            "unknown field 'documnet'; did you mean 'document'[?] there are: id, document,",
        ),
        (
            CNNDM,
            {"document": "artcle"},
            "no column 'artcle', which 'document' is said to be; did you mean 'article'[?] the file has: article, hi",
        ),
        (
            CNNDM,
            {"document": "body"},
            "which 'document' is said to be; the file has: article, highlights, faithful, url",
        ),
        (
            GOOD | CNNDM,
            {"document": "article"},
            "the file has a column 'document', too; leave out document=article, or",
        ),
        (GOOD | CNNDM, {"label": "faithful"}, "the file has a column 'label', too"),
        (
            CNNDM,
            {"document": "article", "summary": "article"},
            "'article' is said to be 'document' and 'summary'; keep",
        ),
        (
            CNNDM,
            {"document": "article"},
            "line 1: column 'summary' is missing, got article, highlights, faithful, url; ",
        ),
    ],
)
def test_a_column_that_cannot_be_the_field_is_told_why(tmp_path, row, columns, message):
    with pytest.raises(TableError, match=message):
        read_examples(jsonl(tmp_path, row), columns)


@pytest.mark.parametrize(
    ("document", "summary"),
    [
        ("context", "response"),
        ("Article", "highlights"),
        ("source", "reference"),
        ("retrieval_context", "actual_output"),
        ("text", "prediction"),
    ],
)
def test_what_other_tools_call_the_texts_is_suggested(tmp_path, document, summary):
    row = {"question": "?", document: "It rained.", summary: "Rain."}
    file, both = jsonl(tmp_path, row), {"document": document, "summary": summary}
    with pytest.raises(TableError, match=f"did you mean '{summary}'[?] Say so: --column summary={summary}$"):
        read_files([file], {"document": document})
    asked = f"did you mean '{document}' and '{summary}'[?] Say so: "
    with pytest.raises(TableError, match=f"{asked}--column document={document} --column summary={summary}$"):
        read_files([file])
    with pytest.raises(TableError, match=f"{asked}columns={both}$"):
        read_examples(file)
    with pytest.raises(TableError, match=f"{asked}datasets: {{own: {{corpora: {{mine: {both}}}}}}} in params.yaml$"):
        user.load(file)


def test_all_near_names_are_suggested(tmp_path):
    file = made(tmp_path, "document,summary_a,summary_b,n\nIt rained.,Rain.,Snow.,1\n")
    with pytest.raises(TableError) as caught:
        read_files([file])
    assert str(caught.value) == (
        f"{file}, line 1: column 'summary' is missing, got document, summary_a, summary_b, n; did you mean 'summary_a' or "
        "'summary_b'? Say so: --column summary=summary_a"
    )


@pytest.mark.parametrize("claims", [["It rained.", "Ann's cat\nslept."], ["It rained."], []])
@pytest.mark.parametrize("written", [str, json.dumps])
def test_a_list_of_claims_that_a_csv_holds_as_a_text_is_no_claim(tmp_path, claims, written):
    file = tmp_path / "mine.csv"
    write_table(pd.DataFrame({"document": ["It rained."], "claims": [written(claims)]}), file)
    with pytest.raises(TableError, match="line 2, column 'claims': found a list written as a text"):
        read_files([file])
    write_table(pd.DataFrame({"document": ["It rained."], "claims": ["[Ann] left the [city]"]}), file)
    assert read_files([file]).examples["claims"].tolist() == [["[Ann] left the [city]"]]


def test_a_row_without_claims_beside_rows_that_have_some_is_told(tmp_path):
    rows = {"document": "It rained.", "claims": ["It rained."]}, {"document": "It rained.", "note": "x"}
    with pytest.raises(
        TableError, match="line 2: column 'claims' is missing, got document, note; add it, or say which one holds it"
    ):
        read_examples(jsonl(tmp_path, *rows))


def test_a_row_without_a_named_column_is_named_by_it(tmp_path):
    with pytest.raises(TableError, match="line 2: column 'article' is missing, got highlights; give every row one"):
        read_examples(jsonl(tmp_path, CNNDM, {"highlights": "Rain."}), NAMED)


@pytest.mark.parametrize(("column", "hinted"), [("ID", True), ("idx", True), ("kind", False), ("side", False)])
def test_an_id_of_nearly_that_name_is_hinted_at(tmp_path, column, hinted):
    found = read_files([jsonl(tmp_path, {"document": "It rained.", "summary": "Rain.", column: "a"})])
    assert [hint.endswith(f"did you mean 'id'? Say so: --column id={column}") for hint in found.hints] == [
        True
    ] * hinted


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (["article"], "--column: expected FIELD=COLUMN, as in document=article, got 'article'"),
        (["document="], "--column: expected FIELD=COLUMN"),
        (["=article"], "--column: expected FIELD=COLUMN"),
        (["document=a", "document=b"], "--column: document is said to be 'a' and 'b'; keep one of them"),
    ],
)
def test_a_wrong_entry_of_the_command_line_is_told(entries, message):
    with pytest.raises(TableError, match=message):
        parse_columns(entries)
    assert parse_columns(["document=a=b"]) == {"document": "a=b"}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_file_holds_an_array_or_json_lines(tmp_path, indent):
    rows = [GOOD, {**GOOD, "id": "b", "summary": ""}]
    expected = read_examples(jsonl(tmp_path, *rows))
    for content in (json.dumps(rows, indent=indent), "\n".join(map(json.dumps, rows))):
        pd.testing.assert_frame_equal(read_examples(made(tmp_path, content, "mine.json")), expected)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("mine.json", '[{"id": "a"},\n{"id" 1}]', r"mine\.json, line 2, column 7: not JSON .*an array of objects"),
        ("mine.json", '[{"id": "a", "document": "b", "summary": "c"}, 7]', "item 2: expected an object .*got 7"),
        ("mine.json", '[{"id": "a", "document": "b"}]', "item 1: column 'summary' is missing"),
        ("mine.json", "[]", "no examples in the file"),
        ("mine.json", '{\n"id": "a"\n}', r"mine\.json, line 1: column 'document' is missing, got id"),
        ("mine.json", '\n\n{"id": "a"}', r"mine\.json, line 3: column 'document' is missing, got id"),
        ("mine.json", '{\n"id": "a",\n}', "line 1.*expected one object a line, or an array of objects"),
        (
            "mine.json",
            '{"data": [{"id": "a"}]}',
            r"mine\.json, line 1: expected an array of objects, .*got one object with 'data'; take the array out of 'data'",
        ),
        (
            "mine.jsonl",
            '{"version": 2, "rows": [{"document": "a", "summary": "b"}]}',
            "got one object with 'version, rows'; take the array out of 'rows'",
        ),
        ("mine.json", '{"article": "a", "spans": [{"start": 1}]}', "column 'document' is missing, got article, spans"),
        ("mine.json", '{"data":\n[{"id": "a"}]}', "line 1: .*one object with 'data'; take the array out of 'data'"),
        ("mine.json", '{"data":\n[{"id": "a"}]', "line 1.*expected one object a line, or an array of objects"),
        ("mine.jsonl", '[{"id": "a"}]', r"line 1: .*; an array of objects goes into a \.json file"),
        ("mine.jsonl", '[\n{"id": "a"}\n]', r"line 1.*; an array of objects goes into a \.json file"),
        # Rows of a csv that would have to be guessed at; lines are counted as an editor does.
        (
            "mine.csv",
            'id,document,summary\na,"x\ny",z\nb,x,y,z\n',
            r"line 4: expected 3 fields \(id, document, summary\), got 4; put a field that holds ',' between",
        ),
        (
            "mine.csv",
            "id,document,summary\na,x\n",
            r"line 2: expected 3 fields .*, got 2; write a ',' for each of the others",
        ),
        (
            "mine.csv",
            'id,document,summary\na,x,y\nb,"x,y\nc,x,y\n',
            r"line 3: not a row of csv \(unexpected end of data\)",
        ),
        ("mine.csv", 'id,document,summary\na,"x"s,y\n', "line 2: not a row of csv .*double the quotes within"),
        ("mine.csv", "id,document,summary,summary\na,x,y,z\n", "line 1: 'summary' appears twice in the header"),
        (
            "mine.csv",
            'id,document,summary,label\n\na,"b\nb\nb",c,1\nb,b,c,2\n',
            r"mine\.csv, line 6, column 'label': found 2\.0, expected 1",
        ),
        # Files of another kind
        ("mine.txt", b"x", r"expected a name that ends in \.jsonl, \.json, \.csv, \.tsv or \.parquet, got '\.txt'"),
        ("mine.parquet", b"not parquet", "not a parquet file"),
        ("mine.csv", b"", "no header; the first line must name the columns"),
        ("mine.csv.gz", b"id,document,summary\n", "not a gzip file"),
        ("mine.jsonl.gz", gzip.compress(b"{}" * 99, mtime=0)[:-9], "or a truncated one"),
        (
            "mine.csv",
            b"id,document,summary\na,caf\xe9,c\n",
            r"line 2: not UTF-8 \(byte 0xe9\); save the file as UTF-8",
        ),
        ("mine.csv", "id,document,summary\n".encode("utf-16"), r"line 1: not UTF-8 \(it is UTF-16, .*save the file as"),
        (
            "mine.csv",
            b"id;document;summary\na;b;c\n",
            "line 1: expected columns with ',' .*have ';' there: save it with ','",
        ),
        ("mine.csv", b"id\tdocument\tsummary\n", r"have '\\t' there: name the file \.tsv, or save it with ','"),
        ("mine.tsv", b"id,document,summary\n", r"have ',' there: name the file \.csv, or save it with '\\t'"),
    ],
)
def test_a_wrong_file_is_told_where_and_what_to_do(tmp_path, name, content, message):
    with pytest.raises(TableError, match=message):
        read_examples(made(tmp_path, content, name))


@pytest.mark.parametrize("name", ["mine.csv", "mine.jsonl", "mine.parquet"])
def test_a_text_that_is_null_is_an_empty_one(tmp_path, name):
    table = pd.DataFrame([GOOD, {**GOOD, "id": "b", "document": None}, {**GOOD, "id": "c", "summary": None}])
    file = tmp_path / name
    write_table(table, file)
    assert read_examples(file)[["document", "summary"]].to_numpy().tolist() == [
        ["It rained.", "Rain."],
        ["", "Rain."],
        ["It rained.", ""],
    ]


def test_the_named_index_of_a_data_frame_is_a_column(tmp_path):
    file = tmp_path / "mine.parquet"
    table = pd.DataFrame([GOOD, {**GOOD, "id": "b", "system": "lead"}])
    table.set_index("id").to_parquet(file)
    assert read_examples(file)["id"].tolist() == ["a", "b"]
    table.set_index(["system", "id"]).to_parquet(file)
    assert read_examples(file)[["id", "system"]].to_numpy().tolist() == [["a", "user"], ["b", "lead"]]
    table.set_index(pd.Index(["x", "y"], name="id")).to_parquet(file)
    assert read_examples(file)["id"].tolist() == ["a", "b"]  # of two the one that stands among the columns
    table.drop(columns="id").set_index(pd.Index(["x", "y"])).to_parquet(file)
    assert read_examples(file)["id"].tolist() == ["1", "2"]


def test_a_parquet_number_is_no_text(tmp_path):
    file = tmp_path / "mine.parquet"
    pd.DataFrame([{**GOOD, "document": 7}]).to_parquet(file)
    with pytest.raises(TableError, match=r"row 1, column 'document': found 7 \(no text\), expected a text"):
        read_examples(file)


def test_a_name_that_no_program_could_print_is_refused(tmp_path):
    file = made(tmp_path, "document,summary\na,b\n", "mine\udcff.csv")  # how Python shows a byte that is no UTF-8
    with pytest.raises(TableError, match=r"mine\\udcff\.csv': expected a name of printable characters; rename"):
        read_examples(file)


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file; expected a"):
        read_examples(tmp_path / "absent.csv")


def test_a_folder_is_told_from_a_file_that_is_not_there(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name one"):
        read_examples(tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"id": "a", "document": "b", "summary": "c", "summary": "d"}',
            "line 2: 'summary' appears twice in one object",
        ),
        (
            '{"document": "b", "summary": "c", "more": {"k": 1, "k": 2}}',
            "line 2: 'k' appears twice in one object; rename or remove one",
        ),
        ('{"a": ' * 5000 + "1" + "}" * 5000, "line 2: a value that Python cannot read"),
        (
            f'{{"n": {"7" * 5000}}}',
            r"line 2: a value that Python cannot read \(Exceeds the limit .* write it as a text",
        ),
        ('{"document": "b", "summary": "c", "x\\ud83d": 1}', r"line 2, column 'x\\ud83d': half of a surrogate pair"),
        ('{"document": "b", "summary": "c", "x": {"\\ud83d": 1}}', "line 2, column 'x': half of a surrogate pair"),
    ],
    ids=["twice", "twice within", "deep", "digits", "name", "name within"],
)
def test_what_pythons_reader_of_json_lets_pass_or_breaks_on_is_an_error_with_its_line(tmp_path, line, message):
    good = '{"document": "b", "summary": "c"}'
    with pytest.raises(TableError, match=message) as error:
        read_examples(jsonl(tmp_path, good, line))
    assert "\n" not in str(error.value)
    with pytest.raises(TableError, match=message.partition(": ")[2].split(";")[0]):
        read_examples(made(tmp_path, f"[{good},\n{line}]", "mine.json"))


def test_numbers_that_json_has_no_word_for_are_carried_as_texts_and_nan_as_nothing(tmp_path):
    given = {"a": math.inf, "b": math.nan, "c": [-math.inf, math.nan], "d": {"k": math.inf}, "e": "Infinity"}
    expected = {"a": "Infinity", "b": None, "c": ["-Infinity", None], "d": {"k": "Infinity"}, "e": "Infinity"}
    assert read_files([jsonl(tmp_path, GOOD | given)]).carried[list(given)].to_dict("records") == [expected]
    file = tmp_path / "mine.parquet"
    pd.DataFrame([GOOD | {"a": math.inf}, GOOD | {"id": "b", "a": math.nan}]).to_parquet(file)
    assert read_files([file]).carried["a"].tolist() == ["Infinity", None]


def test_a_parquet_integer_beside_a_null_keeps_all_of_its_digits(tmp_path):
    file = tmp_path / "mine.parquet"
    table = pd.DataFrame([GOOD, GOOD | {"id": "b"}]).assign(n=pd.array([2**53 + 1, None], dtype="Int64"))
    table.to_parquet(file)
    assert read_files([file]).carried["n"].tolist() == [2**53 + 1, None]


def test_splits_are_the_notebooks_own_in_any_spelling_and_others_stay_as_they_are(tmp_path):
    names = ["Test", " testing ", "TEST", "test", "Dev", "valid", "Train", "tests"]
    file = jsonl(tmp_path, *({**GOOD, "id": str(i), "split": name} for i, name in enumerate(names)))
    assert user.load(file).examples["split"].tolist() == [
        *("test", "test", "test", "test"),
        *("validation", "validation"),
        *("Train", "tests"),
    ]


def test_a_document_may_be_a_list_of_contexts(tmp_path):
    several = GOOD | {"document": ["It rained.", "Ann slept."]}
    pd.DataFrame([several]).to_parquet(tmp_path / "mine.parquet")
    for file in (jsonl(tmp_path, several), tmp_path / "mine.parquet"):
        assert read_examples(file)["document"].item() == "It rained.\n\nAnn slept."


VALUE = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=3).map(repr)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=4,
)
ROW = st.dictionaries(
    st.one_of(st.sampled_from(["document", "summary", "id", "label", "system"]), st.text(max_size=3)), VALUE
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(ROW, min_size=1, max_size=3),
    st.binary(max_size=40),
    st.sampled_from(["jsonl", "json", "csv", "tsv", "parquet"]),
)
def test_any_file_is_read_or_refused_with_a_line(tmp_path_factory, rows, noise, kind):
    folder = tmp_path_factory.mktemp("any")
    contents = (
        "\n".join(map(json.dumps, rows)).encode(),
        json.dumps(rows).encode(),
        noise,
        b"document,summary\n" + noise,
    )
    for number, content in enumerate(contents):
        path = folder / f"{number}.{kind}"
        path.write_bytes(content)
        told, found = "", None
        try:
            found = read_files([path])
        except TableError as error:
            told = str(error)
        assert told.startswith(str(path)) if found is None else len(found.examples) == len(found.carried) > 0


def test_a_wrong_value_is_named_by_the_users_column(tmp_path):
    file = tmp_path / "mine.csv"
    columns = {"label": "human", "id": "key"}
    file.write_text("key,document,summary,human\na,It rained.,Rain.,faithful\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"line 2, column 'human' \(label\): found 'faithful', expected "):
        user.read_files([file], columns)
    file.write_text("key,document,summary,human\na,It rained.,Rain.,1\na,It snowed.,Snow.,1\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"line 3, column 'key' \(id\): 'a' stands in line 2 too; make it unique"):
        user.read_files([file], columns)
