"""Where ``claimwise score`` writes, and what: checked before anything is asked, for it may take an hour."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from claimwise import text
from claimwise.corpora.user_rows import stem
from claimwise.errors import ClaimwiseError
from claimwise.metrics import ALIGNMENT_COLUMNS, Evaluation

#: What a result's name may end in: a reader takes it for what its name says.
_KINDS = {"the scores": (".csv", ".jsonl"), "the claims": (".csv",)}


class OutputError(ClaimwiseError):
    """A result cannot be written, or only over the examples or another result; said before anything is asked."""


def beside(file: Path, metric: str, others: Sequence[str]) -> Path:
    """Where the scores go if no place is named: beside the file, under a name that says what made them.

    Args:
        file: the examples.
        metric: what they are scored by.
        others: the model and the prompts, by name or path, where they are not the usual ones: scores of another model
            must not take the place of those that are there.

    >>> beside(Path("data/mine.csv.gz"), "acueval", ["org/gpt", "prompts/v1.2.txt"]).name
    'mine.acueval.org-gpt.v1.2.csv'
    """
    names = [Path(name).stem if name.endswith(".txt") else name for name in others]
    parts = [re.sub(r"[^\w.-]+", "-", name) for name in names]
    return file.parent / ".".join([stem(file), metric, *parts, "csv"])


def check(file: Path, out: Path, claims: Path | None, page: Path | None) -> None:
    """Refuse a place that is taken or cannot be written to.

    Args:
        file: the examples.
        out: for the scores.
        claims: for the claims, if anywhere.
        page: for the page, if anywhere.

    Raises:
        OutputError: a result would be written over the examples or another result, or cannot be written there at all.
        IsADirectoryError: one of the places is a folder.
    """
    taken = {file.resolve(): "the examples"}
    for path, what in ((out, "the scores"), (claims, "the claims"), (page, "the page")):
        if path is None:
            continue
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; name a file to write")
        if other := taken.get(path.resolve()):
            raise OutputError(f"{path}: {what} would be written over {other}; name another file for {what}")
        _check_place(path, what)
        kind, kinds = Path(path.name.lower().removesuffix(".gz")).suffix, _KINDS.get(what)
        if kind and kinds and kind not in kinds:
            raise OutputError(
                f"{path}: {what} are not written in this form; name a file that ends in {' or '.join(kinds)}, got "
                f"{kind!r}"
            )
        taken[path.resolve()] = what


def _check_place(path: Path, what: str) -> None:
    """Whether a file can be made there: after an hour of calls is too late to learn that it cannot."""
    place = next(parent for parent in (path, *path.parents) if parent.exists())
    if place != path and not place.is_dir():
        raise OutputError(f"{path}: {what} cannot be written there, {place} is a file; name another folder")
    if not os.access(place, os.W_OK):
        raise OutputError(f"{path}: {what} cannot be written, {place} is read-only; name another place for {what}")


def nests(path: Path) -> bool:
    """Whether a place for scores, by its name, takes JSON lines, which hold each row's claims, too."""
    return path.name.lower().removesuffix(".gz").endswith(".jsonl")


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a csv, six digits a score, or JSON lines where the name says so; what is missing is empty, or null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if nests(path):
        with (gzip.open if path.name.lower().endswith(".gz") else open)(path, "wt", encoding="utf-8") as lines:
            for row in table.to_dict("records"):
                lines.write(json.dumps(_nulls(row), ensure_ascii=False, allow_nan=False) + "\n")
    else:
        values = {name: column.map(_cell) for name, column in table.items() if column.dtype == object}
        table.assign(**values).to_csv(path, index=False, float_format="%.6g")


def _nulls(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, dict):
        return {key: _nulls(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_nulls(item) for item in value]
    return value if isinstance(value, str) or pd.notna(value) else None


def _cell(value: Any) -> str:
    """A cell of a csv: a value that is no text as JSON."""
    value = _nulls(value)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def with_claims(scores: pd.DataFrame, evaluation: Evaluation, examples: pd.DataFrame) -> pd.DataFrame:
    """Scores with each row's claims in a further column, as JSON lines hold them: text, support, evidence, start, end.

    Args:
        scores: one row an example with ``id``, in the order of the examples.
        evaluation: what ``metrics.evaluate`` returned for the examples.
        examples: the examples table.
    """
    claims = evaluation.judged_claims().rename(columns={"claim": "text"})
    claims = claims.assign(evidence=_evidence(claims, examples)).groupby("example_id")
    columns = ["text", "support", "evidence", "start", "end"]
    nested = {key: rows[columns].astype(object).to_dict("records") for key, rows in claims}
    return scores.assign(claims=[nested.get(key, []) for key in scores["id"]])


def claim_report(evaluation: Evaluation, examples: pd.DataFrame) -> pd.DataFrame:
    """Every claim with its support and the nearest of the sentences it was checked against, best first."""
    rows = evaluation.judged_claims()
    evidence = [" | ".join(sentences) for sentences in _evidence(rows, examples)]
    columns = ["example_id", "claim_index", "claim", "support", "reason", "start", "end"]
    columns += [column for column in ALIGNMENT_COLUMNS if column in rows]
    return rows[columns].assign(evidence=evidence).rename(columns={"example_id": "id"})


def _evidence(claims: pd.DataFrame, examples: pd.DataFrame) -> list[list[str]]:
    documents = examples.set_index("id")["document"]
    return [
        [text.sentences(documents[key])[i].text for i in indices]
        for key, indices in zip(claims["example_id"], claims["evidence"], strict=True)
    ]
