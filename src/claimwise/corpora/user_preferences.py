"""Which of two summaries people preferred, from a file beside a user's examples: ``mine.preferences.csv``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from claimwise import schema
from claimwise.corpora.user_columns import nearest
from claimwise.corpora.user_rows import ExamplesError, read_rows, shorten

#: What follows the name of the examples' file, before the ending.
SUFFIX = ".preferences"

_REQUIRED = ("first_id", "second_id", "preferred")
_ANSWERS = ("first", "second", "equal")
_RATER = "user"


def read_preferences(path: Path, examples: pd.DataFrame) -> pd.DataFrame:
    """Read judgments of pairs as a validated ``preferences`` table.

    Args:
        path: a file of the kinds that examples come in, one judgment a row: ``first_id`` (the person's summary) and
            ``second_id`` (the model's) are ids of examples of one document, ``preferred`` is first, second or equal,
            and ``rater`` says who judged, if several did. Other columns are not read.
        examples: the examples table.

    Raises:
        ExamplesError: no rows, a missing column, an id of no example, two summaries of different documents, another
            answer, or a judgment that stands twice; names file, line and field.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.preferences.csv")
    >>> _ = file.write_text("first_id,second_id,preferred\\na,b,second\\n")
    >>> read_preferences(file, pd.DataFrame({"id": ["a", "b"], "document_id": ["x", "x"]})).values.tolist()
    [['a', 'b', 'user', 'second']]
    """
    rows = read_rows(path)
    if not rows:
        raise ExamplesError(f"{path}: no rows in the file; expected {', '.join(_REQUIRED)}")
    documents = dict(zip(examples["id"], examples["document_id"], strict=True))
    first_place: dict[tuple[str, ...], str] = {}
    preferences = []
    for place, row in rows:
        where = f"{path}, {place}"
        found = _preference(row, documents, where)
        key = (found["first_id"], found["second_id"], found["rater"])
        if key in first_place:
            raise ExamplesError(
                f"{where}: {key[0]!r} and {key[1]!r} were compared by rater {key[2]!r} in {first_place[key]} already; "
                "leave one of them out, or say in a column 'rater' who judged"
            )
        first_place[key] = place
        preferences.append(found)
    return schema.validate(pd.DataFrame(preferences), "preferences", str(path))


def _preference(row: dict[str, Any], documents: dict[str, str], where: str) -> dict[str, str]:
    if lacking := [name for name in _REQUIRED if name not in row]:
        near = nearest(lacking[0], [str(name) for name in row if name not in (*_REQUIRED, "rater")])
        hint = f"did you mean {near!r}? Rename it" if near else "rename the one that holds it, or add it"
        raise ExamplesError(f"{where}: column {lacking[0]!r} is missing, got {', '.join(map(str, row))}; {hint}")
    first, second = (_known(row[name], name, documents, where) for name in ("first_id", "second_id"))
    if documents[first] != documents[second]:
        raise ExamplesError(
            f"{where}: {first!r} and {second!r} are summaries of different documents; name two summaries of one document"
        )
    if first == second:
        raise ExamplesError(f"{where}: {first!r} is compared with itself; name two summaries of one document")
    answer = str(row["preferred"]).strip().lower()
    if answer not in _ANSWERS:
        raise ExamplesError(
            f"{where}, field 'preferred': expected first (the person's summary), second (the model's) or equal, got "
            f"{shorten(row['preferred'])}"
        )
    return {"first_id": first, "second_id": second, "rater": _rater(row.get("rater")), "preferred": answer}


def _known(value: Any, name: str, documents: dict[str, str], where: str) -> str:
    identity = str(value) if isinstance(value, int) else value
    if identity not in documents:
        near = nearest(identity, documents) if isinstance(identity, str) else None
        hint = (
            f"; did you mean {near!r}?"
            if near
            else "; expected the id (or, in a file without ids, the number) of a row"
        )
        raise ExamplesError(f"{where}, field {name!r}: no example {shorten(value)}{hint}")
    return identity


def _rater(value: Any) -> str:
    missing = value is None or value is pd.NA or (isinstance(value, float) and pd.isna(value)) or not str(value).strip()
    return _RATER if missing else str(value)
