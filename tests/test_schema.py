"""Tables: what passes, and the messages for mistakes (file, row, column, found, expected)."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise import schema
from claimwise.errors import ClaimwiseError
from claimwise.schema import TableError, document_id, validate

EXAMPLE = {
    "id": "a",
    "corpus": "made",
    "split": "test",
    "origin": "made",
    "system": "lead",
    "document_id": "d",
    "document": "It rained.",
    "summary": "Rain.",
    "label": 1.0,
}


def examples(*changes):
    return pd.DataFrame([{**EXAMPLE, "id": f"e{number}", **change} for number, change in enumerate(changes)])


def explain(table, name="examples", source="mine.csv"):
    with pytest.raises(TableError) as caught:
        validate(table, name, source)
    assert isinstance(caught.value, ClaimwiseError)
    return str(caught.value)


def test_a_good_table_comes_back_in_the_schemas_order_with_its_types():
    table = examples({}, {"label": 0}, {"label": None})[list(reversed(EXAMPLE))]
    checked = validate(table.set_axis([7, 3, 3]), "examples")
    assert list(checked.columns) == list(schema.SCHEMAS["examples"].columns)
    assert checked.index.tolist() == [0, 1, 2]
    assert checked["label"].dtype == float
    assert checked["label"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize("field", ["document", "summary"])
def test_empty_text_and_other_scripts_are_legitimate(field):
    texts = ["", "  ", "Дождь шёл весь день.", "雨が降った。", "مطر", "🌧️"]
    assert validate(examples(*({field: text} for text in texts)), "examples")[field].tolist() == texts


def test_a_misspelt_column_is_named_on_both_sides_with_the_expected_ones():
    expected = ", ".join(EXAMPLE)
    assert set(explain(examples({}).rename(columns={"summary": "sumary"})).splitlines()) == {
        f"mine.csv: unknown column 'sumary'; expected {expected}",
        f"mine.csv: column 'summary' is missing; expected {expected}",
    }


def test_a_duplicate_id_names_the_later_row():
    message = explain(examples({}, {}, {"id": "e0"}))
    assert message == "mine.csv, row 4, column 'id': 'e0' stands in row 2 too; make it unique"


def test_of_a_key_of_two_columns_the_whole_is_named():
    row = {"example_id": "a", "metric": "m", "score": 0.5, "n_claims": 1, "n_unparsed": 0}
    table = pd.DataFrame([row, row | {"metric": "n"}, row, row | {"example_id": "b"}])
    assert explain(table, "scores", "scores.csv") == (
        "scores.csv, row 4, columns 'example_id', 'metric': 'a', 'm' stand together in row 2 too; change one of "
        "them, or leave one row out"
    )


def test_values_of_a_wrong_type_are_told_once_each():
    assert explain(examples({"id": 1}, {"id": 2})).splitlines() == [
        f"mine.csv, row {row}, column 'id': found {found} (no text), expected a text, unique in the table"
        for row, found in ((2, 1), (3, 2))
    ]
    row = {"example_id": "a", "metric": "m", "score": "x", "n_claims": "two", "n_unparsed": 0}
    assert explain(pd.DataFrame([row]), "scores", "s.csv").splitlines() == [
        "s.csv, row 2, column 'score': found 'x', expected a number, or empty if there is none",
        "s.csv, row 2, column 'n_claims': found 'two', expected number of claims",
    ]
    assert "row 2, column 'example_id': found 7 (no text), expected an id of" in explain(
        pd.DataFrame([row | {"example_id": 7}]), "scores", "s.csv"
    )


@pytest.mark.parametrize("label", [2, -1, 0.5])
def test_a_label_that_is_neither_0_nor_1(label):
    message = explain(examples({}, {"label": label}))
    assert (
        f"mine.csv, row 3, column 'label': found {float(label)!r}, expected 1 (faithful), 0 (not faithful)" in message
    )


@pytest.mark.parametrize("field", ["id", "document", "summary"])
def test_a_nul_byte_is_named_by_row_and_column(field):
    message = explain(examples({}, {}, {field: "rain\x00bow"}))
    assert f"mine.csv, row 4, column '{field}': found 'rain\\x00bow' (a NUL byte at character 4), expected" in message


@pytest.mark.parametrize("field", ["id", "system", "document_id"])
def test_a_blank_name_is_refused(field):
    assert f"mine.csv, row 2, column '{field}': found ' ', expected" in explain(examples({field: " "}))


def test_a_missing_text_is_refused():
    message = explain(examples({"summary": None}))
    assert "mine.csv" in message
    assert "'summary'" in message


def test_a_long_value_is_shortened_and_many_failures_are_counted():
    message = explain(examples(*[{"document": "x" * 500 + "\x00"}] * 9))
    lines = message.splitlines()
    assert len(lines) == 6
    assert lines[-1] == "... and 4 more"
    assert all(len(line) < 200 for line in lines)


@pytest.mark.parametrize(
    ("support", "found"), [(1.5, "1.5"), (-0.1, "-0.1"), (float("inf"), "inf")], ids=["above", "below", "infinite"]
)
def test_a_support_is_a_probability(support, found):
    table = pd.DataFrame({"example_id": ["a"], "claim_index": [0], "support": [support]})
    assert f"column 'support': found {found}, expected a probability in [0, 1]" in explain(table, "verdicts")


def test_the_key_of_a_claim_is_its_example_and_index():
    table = pd.DataFrame({"example_id": ["a", "a", "b"], "claim_index": [0, 1, 0], "claim": ["x", "x", "x"]})
    assert len(validate(table, "claims")) == 3
    assert "row 4" in explain(table.assign(example_id="a"), "claims")


def test_a_preference_is_one_of_three():
    table = pd.DataFrame({"first_id": ["a"], "second_id": ["b"], "rater": ["r"], "preferred": ["A"]})
    assert "column 'preferred': found 'A', expected first (the person's summary), second" in explain(
        table, "preferences"
    )


@pytest.mark.parametrize("name", list(schema.SCHEMAS))
def test_every_column_says_what_it_holds(name):
    assert all(column.description for column in schema.SCHEMAS[name].columns.values())


@given(st.text(min_size=1, max_size=60))
def test_document_id_ignores_white_space_and_case(text):
    spaced = "\n " + text.replace(" ", "  ") + "\t"
    assert document_id(spaced) == document_id(text)
    assert len(document_id(text)) == 16
    assert document_id(text + " more") != document_id(text)
