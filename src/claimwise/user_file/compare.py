"""``claimwise compare``: which of several results agrees better with labels, and which system scores higher.

A result is a file of scores that ``claimwise score`` wrote. The tests are those of the notebooks: of meta_evaluation for labels, of
leaderboard for systems.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pooch
import typer

from claimwise import models
from claimwise.analysis.agreement import spearman
from claimwise.analysis.bootstrap import bootstrap_interval, holm, paired_bootstrap
from claimwise.analysis.labels import agreement_table, comparable, difference, labelled_scores, validation_and_test
from claimwise.analysis.measures import auc, mean
from claimwise.analysis.systems import answered, of_all_systems, paired_t_test
from claimwise.corpora.base import Rows
from claimwise.corpora.user import TEST, VALIDATION, our_split, read_files
from claimwise.corpora.user_rows import RECORD, STDIN, read_rows, results_of
from claimwise.errors import ClaimwiseError, counted, near, printable, shorten
from claimwise.schema import TableError
from claimwise.user_file import output
from claimwise.user_file.decisions import FEWEST_DOCUMENTS
from claimwise.user_file.score import examples_in

_COLUMNS = "measure result system against summaries documents threshold value low high p p_holm".split()
_AUC, _ACCURACY, _MEAN, _ORDER = "auc", "balanced_accuracy", "mean", "spearman"
_DIFFERENCE = "_difference"
#: The tables that are printed, by measure.
_TITLES = {
    _AUC: "AUC against the labels (0.5 is chance)",
    _AUC + _DIFFERENCE: "Difference in AUC, result minus against",
    _ACCURACY: "Balanced accuracy in percent (50 is chance), at AggreFact's threshold, tuned on the validation rows",
    _ACCURACY + _DIFFERENCE: "Difference in balanced accuracy, in points, with both thresholds tuned anew in each draw",
    _MEAN: "Mean score of each system",
    _MEAN + _DIFFERENCE: "Difference in mean score, system minus against, over the documents that both summarised",
    _ORDER: "Spearman's rho: how alike two results order the summaries (1: in the same order)",
}


def compare(
    file: Path, results: Sequence[Path], out: Path | None = None, columns: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Compare results on the same examples by labels and by systems, print the tables, and return them as one.

    Args:
        file: the examples, as ``claimwise score`` reads them.
        results: what ``claimwise score`` wrote about them.
        out: where to write the table; None writes nothing.
        columns: see ``user.read_files``, beside those that the results were made with.

    Returns:
        One row per ``measure`` and ``result``, for systems also per ``system``. A row with ``against`` is a difference (result
        or system minus ``against``), or Spearman's rho of both. ``low`` and ``high`` are the ends of the 95 % interval.
        ``p`` is two-sided; ``p_holm`` is corrected for all differences of the same measure.

    Raises:
        ClaimwiseError: a file cannot be read, results do not belong to the examples, or there is nothing to compare.
    """
    if twice := [path for path, times in Counter(path.resolve() for path in results).items() if times > 1]:
        raise ClaimwiseError(f"{twice[0]}: the result is named twice; name it once")
    files = examples_in([file])
    taken = dict.fromkeys(files, "the examples") | dict.fromkeys(results, "a result")
    output.check(taken, out, scores="the comparison")
    hashes = {str(path): pooch.file_hash(path) for path in files if path.is_file()}
    records = {path: _record(path) for path in results}
    for path, record in records.items():
        _check_record(path, record, file, hashes)
    recorded = _columns(records)
    examples = read_files(files, recorded | dict(columns or {})).examples
    names = {path: path.name for path in results}
    if len(set(names.values())) < len(names):
        names = {path: str(path) for path in results}
    scores = {name: _scores(path, file, set(examples["id"])) for path, name in names.items()}
    several_systems = len(set(examples["system"])) > 1
    if len(results) < 2 and not several_systems:
        raise ClaimwiseError(
            f"nothing to compare: one result, and {file} has one system; name a second result (`claimwise score {file}` with "
            "another --metric or --model), or give the examples a column 'system'"
        )

    say = partial(typer.echo, err=out == output.STDOUT)
    say(f"{file}: {counted(len(examples), 'summary')}, {counted(len(results), 'result')}")
    rows, notes = by_labels(examples, scores) if examples["label"].notna().any() else ([], [])
    if several_systems:
        more, said = by_system(examples, scores)
        rows, notes = [*rows, *more], [*notes, *said]
    if not rows:
        rows = by_order(examples, scores)
        notes.append("for more: a column 'label' shows which result is better, and a column 'system' which system")
    order = list(_TITLES)
    table = pd.DataFrame(sorted(rows, key=lambda row: order.index(row["measure"])), columns=_COLUMNS)
    table["p_holm"] = table.groupby("measure")["p"].transform(lambda p: holm(p))
    for note in notes:
        say(f"  {note}")
    for measure, part in table.groupby("measure", sort=False):
        say(f"\n{_TITLES[measure]}")
        for line in _lines(part.dropna(axis=1, how="all")):
            say(f"  {line}")
    if table["p"].notna().any():
        say("\nIn brackets: 95 % intervals over documents. p is corrected for all pairs of its table (Holm).")
    if out is not None:
        output.write(table, out)
        if (record := output.record_beside(out)) is not None:  # a later run knows by it that it may overwrite the table
            hashes |= {str(path): pooch.file_hash(path) for path in results}
            made = {"made": datetime.now(UTC).isoformat(timespec="seconds"), "files": hashes}
            output.write_record({"metric": {"name": "compare"}, "versions": models.versions()} | made, record)
    return table


def by_labels(examples: pd.DataFrame, scores: Mapping[str, pd.DataFrame]) -> tuple[list[dict[str, Any]], list[str]]:
    """AUC and balanced accuracy of each result, and the differences of each pair, on rows that all results scored.

    Rows of the split ``validation`` tune the thresholds; the others are reported. Without validation rows of both labels there is
    no balanced accuracy.

    Args:
        examples: the examples table, with a label in some rows.
        scores: score tables (``example_id`` and ``score``) by the result's name.

    Returns:
        Rows of the table, and notes to print. If too few rows are labelled, there are only notes.
    """
    validation = our_split(examples["split"]) == VALIDATION[0]
    examples = examples.assign(split=np.where(validation, VALIDATION[0], TEST[0]))
    labelled, names = labelled_scores(replace(Rows("user").corpus(), examples=examples), scores, by_origin=False)
    usable, scored = comparable(labelled, names)
    tuned = bool(usable)
    if not tuned:
        usable, scored = names, labelled.dropna(subset=names)
    test = validation_and_test(scored)[1]
    labels, documents = test["label"], test["document_id"]
    count = {"summaries": len(test), "documents": documents.nunique()}
    said = (
        f"labels: {counted(len(test), 'summary')} of {counted(count['documents'], 'document')} with a label and a score"
    )
    said += f" by {'each result' if len(names) > 1 else 'the result'}{' (without the validation rows)' if validation.any() else ''}"
    if count["documents"] < FEWEST_DOCUMENTS:
        return [], [f"{said}: nothing follows from so few; label at least {FEWEST_DOCUMENTS} documents"]
    if labels.nunique() < 2:
        return [], [
            f"{said}: all have the label {labels.iloc[0]:.0f}, and a comparison needs both; label other summaries"
        ]
    notes = [said]
    if not tuned:
        notes.append("no balanced accuracy: a threshold needs labelled rows of both labels with the split 'validation'")
    notes += [f"{name}: left out, it scored too few labelled rows" for name in names if name not in usable]

    usable = sorted(usable, key=lambda name: -auc(labels, test[name]))
    rows = []
    # Each pair is compared below, so no result is the baseline.
    for row in agreement_table(scored, usable, baseline="").itertuples():
        area = bootstrap_interval(auc, labels, test[row.metric], groups=documents)
        rows.append({"measure": _AUC, "result": row.metric} | count | area._asdict())
        if tuned:
            accuracy = {"value": row.balanced_accuracy, "low": row.low, "high": row.high, "threshold": row.threshold}
            rows.append({"measure": _ACCURACY, "result": row.metric} | count | accuracy)
    for first, second in combinations(usable, 2):
        pair = {"result": first, "against": second} | count
        if tuned:
            gap = difference(scored, first, second, seed=0)
            for measure, prefix in ((_AUC, "auc_"), (_ACCURACY, "")):
                ends = {end: gap[f"{prefix}difference_{end}"] for end in ("low", "high")}
                value = {"value": gap[f"{prefix}difference"], "p": gap[f"{prefix}p"]}
                rows.append({"measure": measure + _DIFFERENCE} | pair | value | ends)
        else:
            area = paired_bootstrap(auc, (labels, test[first]), (labels, test[second]), documents)
            rows.append({"measure": _AUC + _DIFFERENCE} | pair | area._asdict())
    return rows, notes


def by_system(examples: pd.DataFrame, scores: Mapping[str, pd.DataFrame]) -> tuple[list[dict[str, Any]], list[str]]:
    """The mean score of each system by each result, and the difference of each pair of systems.

    Means are over the documents that all systems summarised, if there are any. Two systems are compared on the documents
    that both summarised. Refusals and replies of fewer than five words are left out, as in the notebook leaderboard.

    Args:
        examples: the examples table, with several systems.
        scores: score tables (``example_id`` and ``score``) by the result's name.

    Returns:
        Rows of the table, and notes to print.
    """
    columns = {name: examples["id"].map(table.set_index("example_id")["score"]) for name, table in scores.items()}
    answers = examples.assign(**columns)[examples["summary"].map(answered)]
    shared = of_all_systems(examples)
    compared = answers[answers["id"].isin(shared["id"])] if len(shared) else answers
    said = f"systems: {examples['system'].nunique()}"
    if len(shared):
        notes = [
            f"{said}; the means are over the {counted(shared['document_id'].nunique(), 'document')} of all systems"
        ]
    else:
        notes = [
            f"{said}; no document was summarised by all: each mean is over other documents, so read the differences"
        ]
    if left_out := len(examples) - len(answers):
        notes.append(f"left out as no answer (a refusal, or fewer than five words): {counted(left_out, 'summary')}")
    rows = []
    for name in scores:
        means = []
        for system, part in compared.dropna(subset=[name]).groupby("system"):
            count = {"summaries": len(part), "documents": part["document_id"].nunique()}
            row = {"measure": _MEAN, "result": name, "system": system, "value": part[name].mean()} | count
            if count["documents"] >= FEWEST_DOCUMENTS:
                row |= bootstrap_interval(mean, part[name], groups=part["document_id"])._asdict()
            means.append(row)
        rows += sorted(means, key=lambda row: -row["value"])
        wide = answers.pivot_table(index="document_id", columns="system", values=name)
        for first, second in combinations(wide.columns, 2):
            pair = {"measure": _MEAN + _DIFFERENCE, "result": name, "system": first, "against": second}
            test = paired_t_test(wide[first], wide[second])
            if test["documents"] < FEWEST_DOCUMENTS:
                test |= {"low": np.nan, "high": np.nan, "p": np.nan}
            rows.append(pair | test | {"value": test["difference"]})
    return rows, notes


def by_order(examples: pd.DataFrame, scores: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Spearman's rho of each pair of results, over the summaries that both scored."""
    rows = []
    for first, second in combinations(scores, 2):
        both = scores[first].merge(scores[second], on="example_id").dropna()
        documents = examples.loc[examples["id"].isin(both["example_id"]), "document_id"].nunique()
        [rho] = spearman(both[["score_x", "score_y"]].to_numpy())
        pair = {"measure": _ORDER, "result": first, "against": second}
        rows.append(pair | {"summaries": len(both), "documents": documents, "value": rho})
    return rows


def _scores(path: Path, file: Path, ids: set[str]) -> pd.DataFrame:
    """A result as a table of ``example_id`` and ``score`` (NaN if there is none).

    Raises:
        TableError: it has no ids or scores, or an id that is not in the examples ``file``, or none of its rows has a score.
    """
    if path.is_dir():
        raise TableError(
            f"{path} is a folder, expected a file of scores; `claimwise merge` makes one of a folder of scores"
        )
    found: dict[str, float] = {}
    for place, row in read_rows(path):
        where = f"{path}, {place}"
        if missing := [name for name in ("id", "score") if name not in row]:
            raise TableError(
                f"{where}: column {missing[0]!r} is missing, got {', '.join(row)}{near(missing[0], row)}; expected a result of "
                "`claimwise score`"
            )
        key = str(row["id"])
        if key not in ids:
            raise TableError(
                f"{where}, column 'id': {shorten(key)} is not in {file}; name the examples that were scored, or score {file}"
            )
        if key in found:
            raise TableError(f"{where}, column 'id': {shorten(key)} occurs twice; keep one of the rows")
        found[key] = _number(row["score"], where)
    scores = pd.DataFrame({"example_id": found.keys(), "score": pd.Series(found.values(), dtype=float)})
    if scores["score"].isna().all():
        raise TableError(
            f"{path}: none of {counted(len(found), 'row')} has a score; score {file} again, or leave it out"
        )
    return scores


def _number(value: Any, where: str) -> float:
    try:
        score = float(value) if value not in (None, "") else np.nan
    except (TypeError, ValueError):
        score = np.inf
    if np.isinf(score):
        raise TableError(f"{where}, column 'score': expected a number or nothing, got {shorten(value)}; correct it")
    return score


def _record(path: Path) -> dict[str, Any]:
    """The record beside a result; empty if there is none."""
    record = path.with_name(path.name + RECORD)
    return json.loads(record.read_text(encoding="utf-8")) if results_of(record) else {}


def _columns(records: Mapping[Path, Mapping[str, Any]]) -> dict[str, str]:
    """The columns that the results were made with, by field; refuse scores of different columns.

    Of labels and such, which change no score, the first result's column is taken.
    """
    named: dict[str, tuple[str, Path]] = {}
    for path, record in records.items():
        for field, column in record.get("columns", {}).items():
            other, where = named.setdefault(field, (column, path))
            if column != other and field in ("id", "document", "summary", "claims"):
                raise ClaimwiseError(
                    f"results of different columns cannot be compared: {field} is {other!r} in {where} and {column!r} in "
                    f"{path}; score the same column twice"
                )
    return {field: column for field, (column, _) in named.items()}


def _check_record(path: Path, record: Mapping[str, Any], file: Path, hashes: Mapping[str, str]) -> None:
    """Refuse a result of another file by its record: an id may be a row's number, which other files have, too.

    If only the content has changed, as when labels were added, there is a warning.
    """
    scored = record.get("files", {})
    if not hashes or not scored or str(STDIN) in scored or set(scored.values()) == set(hashes.values()):
        return
    if {Path(name).name for name in scored} != {Path(name).name for name in hashes}:
        raise ClaimwiseError(
            f"{path}: a result of {', '.join(scored)}, expected one of {file} (its record, {path.name}{RECORD}, says so); score {file}"
        )
    if None in scored.values():  # a merged folder's record has no checksums
        return
    typer.echo(
        f"warning: {path}: {file} has changed since; if its texts have, score it again (labels may change)", err=True
    )


def _lines(table: pd.DataFrame) -> Iterator[str]:
    """The rows of one measure as aligned lines of text, below the names of their columns."""
    digits = 1 if table["measure"].iloc[0].startswith(_ACCURACY) else 3
    cells = {name: table[name].fillna("").map(printable) for name in ("result", "system", "against") if name in table}
    cells |= {name: table[name].fillna(0).astype(int).map(str) for name in ("summaries", "documents") if name in table}
    rows = table.reindex(columns=["value", "low", "high"]).itertuples(index=False)
    cells["value"] = pd.Series([_interval(*row, digits) for row in rows], table.index)
    if "p_holm" in table:
        cells["p"] = table["p_holm"].map(lambda p: "-" if pd.isna(p) else "< 0.001" if p < 0.001 else f"{p:.3f}")
    shown = [list(cells), *pd.DataFrame(cells).to_numpy().tolist()]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _interval(value: float, low: float, high: float, digits: int) -> str:
    """A value with its interval.

    >>> _interval(0.12345, 0.1, 0.2, 3), _interval(-0.00001, float("nan"), float("nan"), 1), _interval(float("nan"), 0, 0, 3)
    ('0.123 (0.100 to 0.200)', '0.0', '-')
    """
    if pd.isna(value):
        return "-"
    # + 0: no minus zero
    value, low, high = (f"{round(number, digits) + 0:.{digits}f}" for number in (value, low, high))
    return value if low == "nan" else f"{value} ({low} to {high})"
