"""The tables of claimwise: their columns, and validation whose errors name file, row and column.

================  ==================================================================================
examples          one (document, summary) pair per row, with a label if people gave one
gold_claims       claims of a summary written or labelled by people
gold_evidence     sentences of the document that people chose as evidence for the summary
preferences       which of two summaries of one document people preferred
claims            the claims that a decomposer made from a summary
recorded_claims   claims that a published system made, read from public files
recorded_replies  replies of language models to published prompts, read from public files
spans             parts of a summary that people marked as unsupported
verdicts          a verifier's result for each claim
scores            one number per summary and metric
================  ==================================================================================

All are pandas frames, and parquet files on disk. ``validate`` checks a table when it is read (from a corpus or a user's
file) and before it is written.
"""

import csv
import hashlib
from collections.abc import Mapping, Sequence

import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaErrors

from claimwise.errors import ClaimwiseError, shorten


class TableError(ClaimwiseError):
    """A table or its file cannot be read, lacks a column or has a wrong value; the message says where and what to do."""


_no_nul = pa.Check(lambda text: "\x00" not in text, element_wise=True, error="no NUL byte")
_not_blank = pa.Check(lambda text: bool(text.strip()), element_wise=True, error="not blank")
# These parsers correct what pandas and parquet infer: the wrong type for an empty column, and NaN for a missing text.
_texts = pa.Parser(lambda values: values.astype("str") if values.empty else values)
_objects = pa.Parser(lambda values: values.astype(object).where(values.notna(), None))


def _name(description: str) -> pa.Column:
    return pa.Column(str, [_no_nul, _not_blank], parsers=_texts, description=description)


def _text(description: str) -> pa.Column:
    """A text that may be empty: an empty summary is valid, and its score is NaN with a reason."""
    return pa.Column(str, _no_nul, parsers=_texts, description=f"a text ({description})")


def _optional(description: str) -> pa.Column:
    return pa.Column(object, parsers=_objects, nullable=True, required=False, description=description)


def _count(description: str) -> pa.Column:
    return pa.Column(int, pa.Check.ge(0), coerce=True, description=description)


def _probability(description: str, **options) -> pa.Column:
    return pa.Column(float, pa.Check.in_range(0, 1), nullable=True, coerce=True, description=description, **options)


def _table(*, key: list[str], **columns: pa.Column) -> pa.DataFrameSchema:
    return pa.DataFrameSchema(columns, strict=True, unique=key, report_duplicates="exclude_first")


_EXAMPLE = {"example_id": _name("an id of the examples table")}
_CLAIM = _EXAMPLE | {"claim_index": _count("0, 1, 2, ... within its example")}
_LABEL = pa.Column(
    float,
    pa.Check.isin([0.0, 1.0]),
    nullable=True,
    coerce=True,
    description="1 (faithful), 0 (not faithful) or empty (no label)",
)

SCHEMAS: dict[str, pa.DataFrameSchema] = {
    "examples": _table(
        key=["id"],
        id=_name("a text, unique in the table"),
        corpus=_name("the corpus, e.g. sample"),
        split=_name("validation or test, or another split's name"),
        origin=_name("where the documents come from, e.g. cnndm, xsum, dialogue"),
        system=_name("what wrote the summary"),
        document_id=_name("equal for the examples that share a document"),
        document=_text("the source"),
        summary=_text("the summary"),
        label=_LABEL,
    ),
    "gold_claims": _table(
        key=[*_CLAIM],
        **_CLAIM,
        claim=_text("the claim"),
        label=_LABEL,
        error=_optional("an error type if the label is 0, else empty"),
        passage=_optional("the text the claim was labelled against, if it is not the example's document"),
        extra=_optional("another text that a prompt may show, which must not be used as evidence"),
    ),
    "gold_evidence": _table(
        key=["example_id", "alternative", "start"],
        **_EXAMPLE,
        alternative=_count("0, 1, 2, ...: the sentences of one were chosen together"),
        start=_count("first character of the document's sentence"),
        end=_count("the character after the last"),
    ),
    "preferences": _table(
        key=["first_id", "second_id", "rater"],
        first_id=_name("the example id of the person's summary"),
        second_id=_name("the example id of the model's summary"),
        rater=_name("who judged"),
        preferred=pa.Column(
            str,
            pa.Check.isin(["first", "second", "equal"]),
            parsers=_texts,
            description="first (the person's summary), second (the model's) or equal",
        ),
    ),
    "claims": _table(
        key=[*_CLAIM],
        **_CLAIM,
        claim=_text("the claim"),
        start=_optional("first character of the summary that the claim came from, or empty"),
        end=_optional("one past the last character, or empty"),
    ),
    "recorded_claims": _table(
        key=["example_id", "decomposer", "claim_index"],
        **_EXAMPLE,
        decomposer=_name("what wrote the claims, e.g. fenice-t5"),
        claim_index=_count("0, 1, 2, ... within its example and decomposer"),
        claim=_text("the claim"),
    ),
    "recorded_replies": _table(
        key=["example_id", "model", "template"],
        **_EXAMPLE,
        model=_name("what replied, e.g. gpt-4-0314"),
        template=_name("the published name of its prompt, e.g. mcq"),
        prompt=_name("our prompt that reads such replies, e.g. recorded-judge-letter"),
        reply=_text("the reply, as it came"),
    ),
    "spans": _table(
        key=["example_id", "start"],
        **_EXAMPLE,
        start=_count("first character of the summary that people marked as unsupported"),
        end=_count("the character after the last"),
    ),
    "verdicts": _table(
        key=[*_CLAIM],
        **_CLAIM,
        support=_probability("a probability in [0, 1], or empty if the reply had none"),
        reason=_optional("why there is no support value, or empty"),
        evidence=_optional(
            "indices of the document's sentences that were read: best first, or in the document's order if they were read as "
            "one text; empty if the whole document was read"
        ),
        level=_optional("sentence, coreference, window or document, if the claim was aligned"),
        premise=_optional("the text that entails the claim best, with a mention replaced at level coreference"),
        premise_start=_optional("first character of the premise in the document, or empty"),
        premise_end=_optional("one past the last character, or empty"),
        p_entail=_probability("in [0, 1] (of the premise and the claim)", required=False),
        p_neutral=_probability("in [0, 1] (of the premise and the claim)", required=False),
        p_contradict=_probability(
            "in [0, 1] (if claims were aligned, of the premise; support is (p_entail - p_contradict + 1) / 2 then)",
            required=False,
        ),
    ),
    "scores": _table(
        key=["example_id", "metric"],
        **_EXAMPLE,
        metric=_name("the metric"),
        score=pa.Column(float, nullable=True, coerce=True, description="a number, or empty if there is none"),
        n_claims=_count("number of claims"),
        n_unparsed=_count(
            "number of replies (a claim's verdict, the claims of the summary or of a sentence of it, a judge's rating) "
            "without a value; 0 if no model was asked"
        ),
        reason=_optional("why there is no score, or what is doubtful about it, or empty"),
    ),
}


def validate(
    table: pd.DataFrame,
    name: str,
    source: str = "table",
    places: Sequence[str] | None = None,
    theirs: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Check a table against its schema, and return it with the schema's types and order of columns.

    ``source`` (a file's path), ``places`` (of the rows, e.g. ``line 7``) and ``theirs`` (the names of columns in that file,
    if they are others) are used in errors. Without ``places``, rows are numbered as in a csv file with a header, so the first
    one is ``row 2``.

    Raises:
        TableError: the table breaks its schema. The message names the source, the row, the column, what was found and
            what was expected.

    >>> table = pd.DataFrame({"example_id": ["a"], "metric": ["m"], "score": [0.5], "n_claims": [2],
    ...                       "n_unparsed": [0]})
    >>> validate(table, "scores").shape
    (1, 5)
    >>> validate(table.assign(n_claims=-1), "scores", "scores.csv")
    Traceback (most recent call last):
    ...
    claimwise.schema.TableError: scores.csv, row 2, column 'n_claims': found -1, expected number of claims...
    """
    schema = SCHEMAS[name]
    table = table.reset_index(drop=True)
    try:
        table = schema.validate(table, lazy=True)
    except SchemaErrors as error:
        places = places or [f"row {number}" for number in range(2, len(table) + 2)]
        names = {column: f"{other!r} ({column})" for column, other in (theirs or {}).items() if other != column}
        raise TableError(_explain(error.failure_cases, table, schema, source, places, names)) from None
    return table[[column for column in schema.columns if column in table.columns]]


#: The most errors of a table that are reported.
_MAX_ERRORS = 5


def _explain(
    failures: pd.DataFrame,
    table: pd.DataFrame,
    schema: pa.DataFrameSchema,
    source: str,
    places: Sequence[str],
    names: Mapping[str, str],
) -> str:
    """The first few of pandera's failure cases, as sentences that tell a user what to do."""
    required = [name for name, column in schema.columns.items() if column.required]
    messages: list[str] = []
    # If a column has errors with a row, its errors without a row (a check failed on a value of a wrong type) add nothing.
    columns_with_row = set(failures.loc[failures["index"].notna(), "column"])
    for case in failures.itertuples():
        if case.check == "column_in_dataframe":
            messages.append(f"{source}: column {case.failure_case!r} is missing; expected {', '.join(required)}")
        elif case.check == "column_in_schema":
            messages.append(f"{source}: unknown column {case.failure_case!r}; expected {', '.join(schema.columns)}")
        elif case.check == "multiple_fields_uniqueness":
            row = int(case.index)
            messages.append(f"{source}, {places[row]}, {_duplicate_key(table, schema.unique, row, places, names)}")
        elif not pd.isna(case.index):
            column, found = schema.columns[case.column], case.failure_case
            if pd.api.types.is_scalar(found) and pd.isna(found):  # pandas turns None among texts into NaN
                found = None
            kind, expected = " (no text)" if case.check.startswith("dtype('str") else "", column.description
            if case.check == _no_nul.error:
                kind = f" (a NUL byte at character {found.index(chr(0))})"
                expected += " without NUL bytes"
            messages.append(
                f"{source}, {places[int(case.index)]}, column {names.get(case.column, repr(case.column))}: found "
                f"{shorten(found)}{kind}, expected {expected}"
            )
        elif case.column not in columns_with_row:
            messages.append(f"{source}, column {case.column!r}: {case.failure_case} ({case.check})")
    messages = list(dict.fromkeys(messages))
    more = f"\n... and {len(messages) - _MAX_ERRORS} more" if len(messages) > _MAX_ERRORS else ""
    return "\n".join(messages[:_MAX_ERRORS]) + more


def _duplicate_key(
    table: pd.DataFrame, key: list[str], row: int, places: Sequence[str], names: Mapping[str, str]
) -> str:
    """The message about a row that has the same key as an earlier row."""
    first = places[int((table[key] == table.loc[row, key]).all(axis=1).idxmax())]
    columns = ", ".join(names.get(name, repr(name)) for name in key)
    values = ", ".join(map(repr, table.loc[row, key]))
    if len(key) == 1:
        return f"column {columns}: {values} stands in {first} too; make it unique"
    return f"columns {columns}: {values} stand together in {first} too; change one of them, or leave one row out"


def quoting(table: pd.DataFrame) -> int:
    r"""The ``quoting`` that ``to_csv`` needs so that each cell is read back unchanged: where needed, or everywhere.

    Python's csv writer does not quote a cell for a carriage return in it, which readers take for the end of the row.

    >>> quoting(pd.DataFrame({"a": ["x", 1]})), quoting(pd.DataFrame({"a": ["x\ry", 1]})) == csv.QUOTE_ALL
    (0, True)
    """
    texts = [*table, *(cell for column in table.select_dtypes(["object", "str"]) for cell in table[column])]
    return csv.QUOTE_ALL if any("\r" in cell for cell in texts if isinstance(cell, str)) else csv.QUOTE_MINIMAL


def document_id(document: str) -> str:
    """A short id of a document, so that splits and bootstraps can keep its examples together.

    White space and case are ignored: copies of the same article in public files differ in both.

    >>> document_id("One  text.") == document_id("one text.")
    True
    """
    return hashlib.sha256(" ".join(document.lower().split()).encode()).hexdigest()[:16]
