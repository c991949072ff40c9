"""Where ``claimwise score`` writes, and what: checked before anything is asked, for it may take an hour."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import zlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from claimwise import text
from claimwise.corpora.user_rows import stem
from claimwise.errors import ClaimwiseError
from claimwise.metrics import ALIGNMENT_COLUMNS, Evaluation
from claimwise.models.base import Verdict
from claimwise.models.chunks import retrieve

#: Sentences of a claim's evidence that are shown and written, the nearest ones.
SHOWN = 3

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

    >>> check(Path("mine.csv"), Path("scores.csv"), Path("scores.csv"), None)
    Traceback (most recent call last):
    ...
    claimwise.user_file.output.OutputError: scores.csv: the claims would be written over the scores; name another file for the claims
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
    """Whether a place for scores, by its name, takes JSON lines, which hold each row's claims, too.

    >>> nests(Path("scores.JSONL.gz")), nests(Path("scores.csv"))
    (True, False)
    """
    return path.name.lower().removesuffix(".gz").endswith(".jsonl")


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Gives a file to write; at the end of the block it takes its place, so that half a result never stands there.

    What is no file (a pipe, a terminal) is written itself, and so is a file in a folder where no other can be made.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "deep", "scores.csv")
    >>> with whole(path) as new:
    ...     _, there = new.write_text("id"), path.exists()
    >>> there, path.read_text(), [found.name for found in path.parent.iterdir()]
    (False, 'id', ['scores.csv'])
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    place = path.resolve()  # a link stays one
    if (path.exists() and not path.is_file()) or not os.access(place.parent, os.W_OK):
        yield path
        return
    kind = "".join(place.suffixes[-2:])  # the end of a name says what is written
    new = place.with_name(f".partial-{zlib.crc32(place.name.encode())}{kind}")
    try:
        yield new
        if place.exists():
            shutil.copymode(place, new)
        new.replace(place)
    finally:
        new.unlink(missing_ok=True)


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a csv, six digits a score, or JSON lines where the name says so; what is missing is empty, or null.

    >>> import tempfile
    >>> table, folder = pd.DataFrame({"id": ["a", "b"], "score": [2 / 3, None]}), Path(tempfile.mkdtemp())
    >>> for name in ("scores.csv", "scores.jsonl"):
    ...     write(table, folder / name)
    >>> (folder / "scores.csv").read_text().split(), (folder / "scores.jsonl").read_text().splitlines()[1]
    (['id,score', 'a,0.666667', 'b,'], '{"id": "b", "score": null}')
    """
    with whole(path) as new:
        if nests(path):
            with (gzip.open if path.name.lower().endswith(".gz") else open)(new, "wt", encoding="utf-8") as lines:
                for row in table.to_dict("records"):
                    lines.write(json.dumps(_nulls(row), ensure_ascii=False, allow_nan=False) + "\n")
        else:
            values = {name: column.map(_cell) for name, column in table.items() if column.dtype == object}
            table.assign(**values).to_csv(new, index=False, float_format="%.6g")


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

    An aligned claim has ``p_entail`` too, by which it is supported or not (``verification.probability``).

    Args:
        scores: one row an example with ``id``, in the order of the examples.
        evaluation: what ``metrics.evaluate`` returned for the examples.
        examples: the examples table.

    >>> from claimwise import metrics, models
    >>> examples = pd.DataFrame({"id": ["a"], "document": ["It rained."], "summary": ["It rained."]})
    >>> spec = metrics.specification("sentences", metrics.DEFAULT_METRICS)
    >>> found = metrics.evaluate("m", spec, models.load({"kind": "lexical"}), examples, progress=False)
    >>> with_claims(pd.DataFrame({"id": ["a"], "score": [1.0]}), found, examples)["claims"][0]
    [{'text': 'It rained.', 'support': 1.0, 'evidence': ['It rained.'], 'start': 0, 'end': 10}]
    """
    claims = evaluation.judged_claims()
    claims = claims.assign(evidence=_evidence(claims, examples)).rename(columns={"claim": "text"})
    columns = [name for name in ("text", "support", "p_entail", "evidence", "start", "end") if name in claims]
    nested = {key: rows[columns].astype(object).to_dict("records") for key, rows in claims.groupby("example_id")}
    return scores.assign(claims=[nested.get(key, []) for key in scores["id"]])


def claim_report(evaluation: Evaluation, examples: pd.DataFrame) -> pd.DataFrame:
    """Every claim with its support and the nearest of the sentences it was checked against, best first (``nearest``).

    Args:
        evaluation: what ``metrics.evaluate`` returned for the examples.
        examples: the examples table.

    >>> from claimwise import metrics, models
    >>> examples = pd.DataFrame({"id": ["a"], "document": ["It rained."], "summary": ["It rained. Ann left."]})
    >>> spec = metrics.specification("sentences", metrics.DEFAULT_METRICS)
    >>> found = metrics.evaluate("m", spec, models.load({"kind": "lexical"}), examples, progress=False)
    >>> claim_report(found, examples)[["id", "claim", "support", "evidence"]].values.tolist()
    [['a', 'It rained.', 1.0, 'It rained.'], ['a', 'Ann left.', 0.0, 'It rained.']]
    """
    rows = evaluation.judged_claims()
    evidence = [" | ".join(sentences) for sentences in _evidence(rows, examples)]
    columns = ["example_id", "claim_index", "claim", "support", "reason", "start", "end"]
    columns += [column for column in ALIGNMENT_COLUMNS if column in rows]
    return rows[columns].assign(evidence=evidence).rename(columns={"example_id": "id"})


def _evidence(claims: pd.DataFrame, examples: pd.DataFrame) -> list[list[str]]:
    documents = examples.set_index("id")["document"]
    return [
        [text.sentences(documents[row.example_id])[i].text for i in nearest(documents[row.example_id], row.claim, row)]
        for row in claims.itertuples()
    ]


def nearest(document: str, claim: str, verdict: Verdict) -> list[int]:
    """Of the sentences that a claim was checked against the nearest ones, at most ``SHOWN``, best first.

    Most models name the best first. Where many were read as one text (a window, a chunk, the whole document) they are
    named in the document's order, or not at all, and words decide (``chunks.retrieve``).

    Args:
        document: the text.
        claim: the claim.
        verdict: of the claim, or a row with its ``support`` and ``evidence``; without a value nothing was found.

    >>> document = "It rained. Bo slept. They left. Ann won the race. All slept."
    >>> [nearest(document, "Ann slept.", Verdict(0.9, None, read)) for read in ((1, 2, 3, 4), (), (4, 2, 3, 1), (0, 1))]
    [[3, 1, 4], [3, 1, 4], [4, 2, 3], [0, 1]]
    """
    evidence = [] if verdict.evidence is None else [int(i) for i in verdict.evidence]
    if len(evidence) > SHOWN and evidence == sorted(evidence):
        return _by_words(document, claim, set(evidence))
    if not evidence and not pd.isna(verdict.support):
        return _by_words(document, claim, set(range(len(text.sentences(document)))))
    return evidence[:SHOWN]


def _by_words(document: str, claim: str, read: set[int]) -> list[int]:
    """The sentences that ``retrieve`` would find first if it looked at these only."""

    def among(most: int) -> list[int]:
        return [i for i in retrieve(document, claim, most).sentences if i in read]

    found: list[int] = []
    for size in range(1, min(SHOWN, len(read)) + 1):
        least = bisect_left(range(len(text.sentences(document))), size, key=lambda most: len(among(most)))
        found += [i for i in among(least) if i not in found]
    return found
