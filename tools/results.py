"""Write docs/results.md: prose by hand, whose numbers are taken out of the committed tables of the public run."""

import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE, PAGE = Path("docs/results.md.j2"), Path("docs/results.md")


class ResultsError(ValueError):
    """The template names a table, column or row that is not there."""


@cache
def _read(file: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """A table's columns and rows; a page asks for cells of the same table many times."""
    table = pd.read_csv(file)
    return list(table), table.to_dict("records")


def _rows(tables: Path, table: str, names: set[str]) -> list[dict[str, Any]]:
    """A table's rows.

    Raises:
        ResultsError: there is no such table, or no column of one of these names.
    """
    file = tables / f"{table}.csv"
    if not file.is_file():
        raise ResultsError(f"{TEMPLATE}: found the table {table!r}, expected {file} to be there")
    columns, rows = _read(file)
    if missing := names - set(columns):
        raise ResultsError(f"{TEMPLATE}: {table} has no column {missing.pop()!r}; it has {', '.join(columns)}")
    return rows


def cell(tables: Path, table: str, column: str, **where: Any) -> Any:
    """The value of a column in the one row of a table whose other columns are as given.

    Raises:
        ResultsError: there is no such table or column, or not exactly one such row.
    """
    found = [
        row
        for row in _rows(tables, table, {column, *where})
        if all(str(row[name]) == str(wanted) for name, wanted in where.items())
    ]
    if len(found) != 1:
        raise ResultsError(f"{TEMPLATE}: {table} has {len(found)} rows with {where}, expected one")
    return found[0][column]


def value(tables: Path, table: str, column: str, digits: int = 1, **where: Any) -> str:
    """A number with so many decimals."""
    return f"{cell(tables, table, column, **where):.{digits}f}"


def signed(tables: Path, table: str, column: str, digits: int = 1, **where: Any) -> str:
    """A difference with its sign."""
    return f"{cell(tables, table, column, **where):+.{digits}f}"


def below(tables: Path, table: str, column: str, limit: float) -> str:
    """How many rows of a table have a value below a limit, such as a p below .05."""
    return str(sum(row[column] < limit for row in _rows(tables, table, {column})))


def interval(
    tables: Path, table: str, column: str, low: str = "", high: str = "", digits: int = 1, **where: Any
) -> str:
    """A number with its interval, ``65.6 (58.5 to 72.4)``; the ends stand in ``COLUMN_low`` and ``COLUMN_high``."""
    names = column, low or f"{column}_low", high or f"{column}_high"
    found, *ends = (value(tables, table, name, digits, **where) for name in names)
    return f"{found} ({ends[0]} to {ends[1]})"


def render(template: str, tables: Path) -> str:
    """The page, its numbers from a folder of tables, ``tables/public``.

    Raises:
        ResultsError: the template asks for what is not there.
    """
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False)
    environment.globals |= {call.__name__: partial(call, tables) for call in (value, signed, below, interval)}
    try:
        return environment.from_string(template).render()
    except jinja2.TemplateError as error:
        raise ResultsError(f"{TEMPLATE}, line {getattr(error, 'lineno', '?')}: {error}") from error


if __name__ == "__main__":
    try:
        page = render((ROOT / TEMPLATE).read_text(encoding="utf-8"), ROOT / "tables" / "public")
    except ResultsError as wrong:
        sys.exit(f"error: {wrong}")
    (ROOT / PAGE).write_text(page, encoding="utf-8")
