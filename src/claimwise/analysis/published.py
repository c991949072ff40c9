"""The papers' own numbers, typed from their tables into ``data/published``, to compare with ours."""

import pandas as pd

from claimwise import paths


def published_table(paper: str, number: str) -> pd.DataFrame:
    """The rows of a numbered table of ``acueval``, ``factored_verification`` or ``fenice``.

    Returns:
        Columns ``corpus, origin, row, measure, value, plus_minus``.
    """
    rows = pd.read_csv(paths.root() / "data" / "published" / f"{paper}.csv", dtype={"table": str})
    return rows[rows["table"] == str(number)].drop(columns="table").reset_index(drop=True)


def printed(rows: pd.DataFrame, *across: str, digits: int | None = None) -> pd.DataFrame:
    """A published table in the layout of the paper.

    ``across`` names columns of a ``published_table``, such as ``origin`` and ``measure``, whose values become the headings
    of columns. With ``digits``, the number of decimals that the paper prints, the cells are texts, with their ± if any.

    Returns:
        ``row`` and a column for each combination of the values of ``across``, joined by commas, in the paper's order.

    >>> rows = pd.DataFrame({"row": ["b", "b", "a"], "measure": ["hem", "words", "hem"], "value": [0.9, 81.0, 0.8]})
    >>> printed(rows, "measure").fillna(0).to_dict("list")
    {'row': ['b', 'a'], 'hem': [0.9, 0.8], 'words': [81.0, 0.0]}
    >>> printed(rows.assign(plus_minus=[0.25, None, None])[:1], "measure", digits=2).to_dict("list")
    {'row': ['b'], 'hem': ['0.90 ± 0.25']}
    """
    if digits is not None:
        value, spread = (rows[name].map(f"{{:.{digits}f}}".format) for name in ("value", "plus_minus"))
        rows = rows.assign(value=value.where(rows["plus_minus"].isna(), value + " ± " + spread))
    rows = rows.assign(column=rows[list(across)].agg(", ".join, axis=1))
    wide = rows.pivot_table(index="row", columns="column", values="value", aggfunc="first", sort=False)
    return wide.rename_axis(columns=None).reset_index()
