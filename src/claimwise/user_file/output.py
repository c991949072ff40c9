"""What ``claimwise score`` writes, and where. Places are checked before anything is asked, which may take hours."""

import gzip
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pandas as pd
import typer

from claimwise import paths, text
from claimwise.corpora.user_rows import RECORD, files_in, results_in, stem
from claimwise.errors import ClaimwiseError
from claimwise.metrics import ALIGNMENT_COLUMNS, Evaluation
from claimwise.metrics.verify import probability
from claimwise.models.base import Verdict
from claimwise.models.chunks import ranked
from claimwise.schema import quoting
from claimwise.user_file.decisions import HALF, NOT_SURE, SUPPORT, Band, in_english, only_one_denies

#: So many sentences of a claim's evidence are shown and written, the nearest ones.
SHOWN = 3

#: What a spreadsheet takes for a formula. Numbers, which may begin with one sign, are not.
_FORMULA = re.compile(r"[=@＝＠\t\r]|[+＋－-](?![\d.,]+%?$)")

#: Refused: only csv and JSON lines are written packed.
_NEVER_PACKED = (".parquet.gz", ".html.gz", ".htm.gz")

#: Allowed endings of results: readers go by them.
_KINDS = {
    "the scores": (".csv", ".jsonl", ".parquet"),
    "the comparison": (".csv", ".jsonl", ".parquet"),
    "the claims": (".csv",),
    "the page": (".html", ".htm"),
}

#: In place of a file: the standard output.
STDOUT = Path("-")


def beside(file: Path, metric: str, others: Sequence[str]) -> Path:
    """The default place of the scores: beside the file, under a name that says what made them.

    ``others`` are the model and the prompts, by name or path, if they are not the defaults, so that scores of different models
    do not replace each other. If another file has the same name with a different ending, the ending is kept. A folder has none,
    and its scores are called ``-all``.

    >>> beside(Path("data/mine.csv.gz"), "acueval", ["org/gpt", "prompts/v1.2.txt"]).name
    'mine.acueval.org-gpt.v1.2.csv'
    """
    names = [Path(name).stem if name.endswith(".txt") else name for name in others]
    parts = [re.sub(r"[^\w.-]+", "-", name).strip(".-") for name in (metric, *names)]
    called = stem(file)
    if any(stem(other) == called for other in files_in(file.parent) if other != file):
        called = file.name if file.name != called else f"{called}-all"
    return file.parent / ".".join([called, *parts, "csv"])


def record_beside(*results: Path | None) -> Path | None:
    """The place of the record of what made the results: beside the first that is a file; None if none is.

    >>> record_beside(STDOUT, None, Path("mine.html")).name, record_beside(Path("/dev/null")), record_beside(STDOUT)
    ('mine.html.run.json', None, None)
    """
    files = (out for out in results if out not in (None, STDOUT) and (out.is_file() or not out.exists()))
    return next((out.with_name(out.name + RECORD) for out in files), None)


def check(
    taken: Mapping[Path, str],
    out: Path | None,
    claims: Path | None = None,
    page: Path | None = None,
    scores: str = "the scores",
) -> None:
    """Refuse a place for scores, claims or page that is taken or cannot be written to.

    ``taken`` are files that must not be overwritten, each with a name for messages, such as "the examples". Results of an
    earlier run and empty files are replaced. All other existing files are refused. ``scores`` is the name of ``out`` in messages.

    Raises:
        ClaimwiseError: a result would overwrite the examples, another result or somebody's file, or cannot be written there.
        IsADirectoryError: one of the places is a folder.

    >>> check({Path("mine.csv"): "the examples"}, Path("scores.csv"), Path("scores.csv"))
    Traceback (most recent call last):
    ...
    claimwise.errors.ClaimwiseError: scores.csv: the claims would be written over the scores; name another file for the claims
    """
    if page == STDOUT:
        raise ClaimwiseError("--page -: the page goes into a file; name one that ends in .html")
    if out == claims == STDOUT:
        raise ClaimwiseError(
            "--out - --claims -: only one of them can go to the standard output; name a file for the other"
        )
    taken = {file.resolve(): what for file, what in taken.items()}
    for path, what in ((out, scores), (claims, "the claims"), (page, "the page")):
        if path in (None, STDOUT):
            continue
        if not path.name.isprintable():
            raise ClaimwiseError(f"{str(path)!a}: expected a name of printable characters for {what}")
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; name a file to write")
        if other := taken.get(path.resolve()):
            raise ClaimwiseError(f"{path}: {what} would be written over {other}; name another file for {what}")
        earlier = {file.resolve() for folder in {out.parent, path.parent} for file in results_in(folder)}
        if path.is_file() and path.stat().st_size and path.resolve() not in earlier:
            own = "; claims of your own are a column: --column claims=COLUMN" if what == "the claims" else ""
            raise ClaimwiseError(f"{path} exists and is no result of claimwise: delete it or name another{own}")
        place = next(parent for parent in (path, *path.parents) if parent.exists())
        if place != path and not place.is_dir():
            raise ClaimwiseError(f"{path}: {what} cannot be written there, {place} is a file; name another folder")
        if not os.access(place, os.W_OK):
            raise ClaimwiseError(
                f"{path}: {what} cannot be written, {place} is read-only; name another place for {what}"
            )
        name, kinds = path.name.lower(), _KINDS[what]
        kind = next((end for end in _NEVER_PACKED if name.endswith(end)), Path(name.removesuffix(".gz")).suffix)
        special = path.is_relative_to("/dev") or (path.exists() and not path.is_file())  # these need no ending
        if kind not in kinds and (kind or not special):
            raise ClaimwiseError(
                f"{path}: {what} cannot be written in this form; name a file that ends in {' or '.join(kinds)}"
                + (f", got {kind!r}" if kind else "")
            )
        taken[path.resolve()] = what
    record = record_beside(out, claims, page)
    if record and (other := taken.get(record.resolve())):
        raise ClaimwiseError(f"{record}: what made {scores} would be written over {other}; give {scores} another name")


def form(path: Path) -> str:
    """The format of a place for scores, by its name: ``jsonl`` (which also holds claims), ``parquet``, or else ``csv``.

    >>> [form(Path(name)) for name in ("scores.JSONL.gz", "scores.parquet", "scores.csv.gz", "-")]
    ['jsonl', 'parquet', 'csv', 'csv']
    """
    ending = Path(path.name.lower().removesuffix(".gz")).suffix.removeprefix(".")
    return ending if ending in ("jsonl", "parquet") else "csv"


def write_record(record: Mapping[str, Any], path: Path) -> None:
    """Write the record of what made the scores. They are written already, so a failure is only a warning."""
    try:
        with paths.whole(path) as new:
            new.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        typer.echo(f"warning: what made the scores is not written: {error}", err=True)


def write(table: pd.DataFrame, path: Path, safe: bool = False) -> None:
    """Write a csv with six digits per score, or JSON lines or parquet, by the name. Missing values are empty or null.

    Spreadsheets compute a cell that begins with ``=``. ``safe`` puts a ``'`` before such cells, and marks the file as UTF-8,
    which Excel needs.

    >>> import tempfile
    >>> table, folder = pd.DataFrame({"id": ["a", "b"], "score": [2 / 3, None]}), Path(tempfile.mkdtemp())
    >>> for name in ("scores.csv", "scores.jsonl"):
    ...     write(table, folder / name)
    >>> (folder / "scores.csv").read_text().split(), (folder / "scores.jsonl").read_text().splitlines()[1]
    (['id,score', 'a,0.666667', 'b,'], '{"id": "b", "score": null}')
    """
    encoding = "utf-8-sig" if safe else "utf-8"
    if path == STDOUT:  # a terminal or a pipe may take fewer characters; what stands in its place may be neither
        with suppress(AttributeError):
            sys.stdout.reconfigure(encoding=encoding)
    with nullcontext(sys.stdout) if path == STDOUT else paths.whole(path) as new:
        if form(path) == "jsonl":
            with (gzip.open if path.name.lower().endswith(".gz") else open)(new, "wt", encoding="utf-8") as lines:
                for row in none_for_nan(table).to_dict("records"):
                    lines.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
            return
        mixed = {name: column for name, column in table.items() if column.dtype == object}
        if form(path) == "parquet":
            several = {name: column.map(_cell) for name, column in mixed.items() if not _of_one_type(column)}
            table.assign(**several).to_parquet(new, index=False)
            return
        cells = table.assign(**{name: column.map(_cell) for name, column in mixed.items()})
        if safe:
            cells = cells.rename(columns=_inert).map(_inert)
        cells.to_csv(new, index=False, encoding=encoding, float_format="%.6g", quoting=quoting(cells))


def _inert(text: Any) -> Any:
    """The text, changed so that a spreadsheet shows it instead of computing it."""
    return f"'{text}" if isinstance(text, str) and _FORMULA.match(text) else text


def _cell(value: Any) -> Any:
    """A value as a text: texts and missing values unchanged, others as JSON."""
    missing = not isinstance(value, list | dict) and pd.isna(value)
    return value if missing or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _of_one_type(column: pd.Series) -> bool:
    """Whether a column has only texts, only numbers or only truth values, which parquet can hold unchanged.

    >>> [_of_one_type(pd.Series(values, dtype=object)) for values in ([1, None], [1, "a"], [{}], [2**70])]
    [True, False, False, False]
    """
    kind = pd.api.types.infer_dtype(column, skipna=True)
    small = kind != "integer" or bool(column.dropna().between(-(2**63), 2**63 - 1).all())
    return small and kind in ("string", "integer", "floating", "mixed-integer-float", "boolean", "empty")


def none_for_nan(table: pd.DataFrame) -> pd.DataFrame:
    """The table with None for missing values, because JSON has no NaN."""
    return table.astype(object).where(table.notna(), None)


def claim_table(evaluation: Evaluation, examples: pd.DataFrame, band: Band = HALF) -> pd.DataFrame:
    """Every claim with its verdict in words and its ``evidence``: the nearest sentences, best first.

    ``evaluation`` is what ``metrics.evaluate`` returned for the examples. Between the band's bounds a verdict is "not sure". The
    embedded model's verdict is also "not sure" if only one of claim and nearest sentence has a "not" (``one_denies``), and
    empty for texts that are not English. Further columns: ``nearest`` has the places of the sentences in the document,
    ``singled_out`` says whether the model named any sentence.

    >>> from claimwise import metrics, models
    >>> examples = pd.DataFrame({"id": ["1"], "document": ["It rained."], "summary": ["It rained. Ann left."]})
    >>> spec, model = metrics.specification("sentences", metrics.DEFAULT_METRICS), models.load({"kind": "lexical"})
    >>> claims = claim_table(metrics.evaluate("sentences", spec, model, examples, progress=False), examples)
    >>> claims[["claim", "support", "verdict", "evidence"]].values.tolist()
    [['It rained.', 1.0, 'supported', ['It rained.']], ['Ann left.', 0.0, 'unsupported', ['It rained.']]]
    >>> claim_report(claims)[["id", "claim_index", "claim", "evidence"]].values.tolist()[1]
    ['1', 1, 'Ann left.', 'It rained.']
    >>> with_claims(pd.DataFrame({"id": ["1"], "score": [0.5]}), claims)["claims"][0][0]
    {'text': 'It rained.', 'support': 1.0, 'verdict': 'supported', 'reason': None, 'evidence': ['It rained.'], 'start': 0, 'end': 10}
    """
    rows = evaluation.judged_claims()
    documents = examples.set_index("id")["document"]
    places, evidence = [], []
    for row in rows.itertuples():
        sentences = text.sentences(documents[row.example_id])
        places.append(nearest(documents[row.example_id], row.claim, row))
        evidence.append([sentences[i].text for i in places[-1]])
    claims = rows.assign(
        verdict=[band.word(value, *SUPPORT) for value in probability(rows)],
        one_denies=False,
        singled_out=[len(named) > 0 for named in rows["evidence"]],
        nearest=pd.Series(places, rows.index, dtype=object),
        evidence=pd.Series(evidence, rows.index, dtype=object),
    )
    if band != HALF:
        both = zip(claims["claim"], evidence, strict=True)
        claims["one_denies"] = [bool(read) and only_one_denies(claim, read[0]) for claim, read in both]
        overlooked = claims["one_denies"] & (claims["verdict"] == SUPPORT[0])
        english = claims["example_id"].isin(examples.loc[in_english(examples), "id"])
        claims["verdict"] = claims["verdict"].mask(overlooked, NOT_SURE).where(english, "")
    return claims


#: The model that was asked is called ``scorer``: a file's own column ``model`` is what wrote the summary.
SCORE_COLUMNS = "id metric scorer score min_support n_claims n_unsupported n_unparsed reason".split()


def score_table(scores: pd.DataFrame, claims: pd.DataFrame, scorer: str) -> pd.DataFrame:
    """An evaluation's scores with what a mean hides: the lowest support of a claim, and the number of unsupported claims.

    One row per example, in order. ``claims`` is the evaluation's ``claim_table``. The two columns are empty if no claim has
    a support, or none has a verdict.

    >>> scores = pd.DataFrame({"example_id": ["a", "b"], "metric": "m", "score": [0.5, None], "n_claims": [2, 0]})
    >>> claims = pd.DataFrame({"example_id": ["a", "a"], "support": [0.9, 0.1], "verdict": ["supported", "unsupported"]})
    >>> found = score_table(scores.assign(n_unparsed=0, reason=None), claims, "embedded")
    >>> found[["id", "score", "min_support", "n_unsupported"]].values.tolist()
    [['a', 0.5, 0.1, 1], ['b', nan, nan, <NA>]]
    """
    unsupported = (claims["verdict"] == SUPPORT[1]).astype("Int64").mask(claims["verdict"] == "")
    group = claims.assign(unsupported=unsupported).groupby("example_id")
    hidden = pd.DataFrame(
        {"min_support": group["support"].min(), "n_unsupported": group["unsupported"].sum(min_count=1)}
    )
    found = scores.rename(columns={"example_id": "id"}).assign(scorer=scorer)
    return found.join(hidden, on="id")[SCORE_COLUMNS]


#: The fields of a claim in JSON lines. An aligned claim is supported or not by ``p_entail`` (``verify.probability``).
_OF_A_CLAIM = ("text", "support", "p_entail", "p_contradict", "verdict", "reason", "evidence", "start", "end")


def with_claims(scores: pd.DataFrame, claims: pd.DataFrame, columns: Sequence[str] = _OF_A_CLAIM) -> pd.DataFrame:
    """Scores (one row per example, with ``id``) with each row's claims as a list in a further column."""
    claims = claims.rename(columns={"claim": "text"})
    cells = none_for_nan(claims[[name for name in columns if name in claims]])
    nested: dict[str, list] = {key: [] for key in scores["id"]}
    for key, cell in zip(claims["example_id"], cells.to_dict("records"), strict=True):
        nested[key].append(cell)
    return scores.assign(claims=list(nested.values()))


def claim_report(claims: pd.DataFrame) -> pd.DataFrame:
    """Claims for a csv: the sentences of the evidence are in one cell."""
    columns = ["example_id", "claim_index", "claim", "support", "verdict", "reason", "start", "end"]
    columns += [column for column in ALIGNMENT_COLUMNS if column in claims]
    return claims[columns].assign(evidence=claims["evidence"].map(" | ".join)).rename(columns={"example_id": "id"})


def spelled(claims: pd.DataFrame) -> list[str]:
    """A ``claim_table`` as lines of text: each claim with its verdict, or why there is none, and its nearest sentence.

    >>> claims = pd.DataFrame({"claim": ["It rained."], "verdict": ["supported"], "support": [0.9], "reason": [None]})
    >>> spelled(claims.assign(evidence=[["It rained all day.", "Ann left."]]))
    ['  supported (0.90): It rained.', '    nearest in the document: It rained all day.']
    """
    lines = []
    for claim in claims.itertuples():
        word = (
            claim.reason or "unread"
            if pd.isna(claim.support)
            else f"{claim.verdict or 'no verdict'} ({claim.support:.2f})"
        )
        lines.append(f"  {word}: {claim.claim}")
        lines += [f"    nearest in the document: {sentence}" for sentence in claim.evidence[:1]]
    return lines


def nearest(document: str, claim: str, verdict: Verdict) -> list[int]:
    """The nearest of the sentences that a claim was checked against, at most ``SHOWN``, best first.

    Most models name the best first. If many sentences were read as one text (a window, a chunk, the whole document), they are
    in the document's order or not named at all. Then words decide (``chunks.ranked``).

    ``verdict`` may be a row with ``support`` and ``evidence``.

    >>> document = "It rained. Bo slept. They left. Ann won the race. All slept."
    >>> [nearest(document, "Ann slept.", Verdict(0.9, None, read)) for read in ((1, 2, 3, 4), (), (4, 2, 3, 1), (0, 1))]
    [[3, 1, 4], [3, 1, 4], [4, 2, 3], [0, 1]]
    """
    evidence = [int(i) for i in verdict.evidence]
    whole_document = not evidence and not pd.isna(verdict.support)
    if whole_document or (len(evidence) > SHOWN and evidence == sorted(evidence)):
        evidence = [i for i in ranked(document, claim) if whole_document or i in evidence]
    return evidence[:SHOWN]
