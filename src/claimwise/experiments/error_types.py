"""Which types of error do metrics of whole summaries find? (FRANK's typology, Pagnoni et al. 2021, section 2.)

Each type's unfaithful summaries are set against all faithful ones of the same origin and split. A summary with several
types of error counts for each of them, so a type is never alone: the rows say which summaries are found, not by what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from claimwise.analysis import statistics
from claimwise.corpora import Corpus
from claimwise.corpora.frank import UNAGREED
from claimwise.experiments import meta_evaluation
from claimwise.experiments.embedded_model import FEW, summary_scores

#: The row in which all types stand together.
ANY = "any"
#: A type of fewer test summaries is in the table, but no finding: its AUC may be anything.
FEWEST = 20

_TOO_FEW = "too few for an interval"

#: Of ``table``.
COLUMNS = (
    *("corpus", "group", "split", "error", "n", "faithful", "model"),
    *("auc", "low", "high", "found", "false_alarms"),
)


def collect(
    corpora: Mapping[str, Corpus],
    variants: Sequence[str],
    entries: Mapping[str, Mapping[str, Any]],
    verify: str,
    cache: str,
) -> pd.DataFrame:
    """Scores of all metrics, ours and published ones, on the summaries that every metric scored.

    Args:
        corpora: labelled summaries; the types of an unfaithful one are the ``error`` of its gold claim, with commas.
        variants: entries of ``models`` in params.yaml, each scoring by the mean support of a summary's sentences.
        entries: these entries.
        verify: the verification prompt.
        cache: the file of finished calls.

    Returns:
        One row a summary and metric: ``corpus, group`` (the origin), ``split, document_id, label, error, model, score``.
    """
    parts = []
    for name, corpus in corpora.items():
        wide = meta_evaluation.collect(corpus, summary_scores(corpus, variants, entries, verify, cache), by_origin=True)
        metrics = meta_evaluation.columns(wide)
        errors = corpus.gold_claims.set_index("example_id")["error"]
        wide = wide.dropna(subset=metrics).assign(corpus=name, error=wide["id"].map(errors))
        known = ["corpus", "group", "split", "document_id", "label", "error"]
        parts.append(wide.melt(known, [*variants, *(m for m in metrics if m not in variants)], "model", "score"))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)


def table(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """One row a corpus, origin, split, type of error and metric.

    Args:
        rows: what ``collect`` returned.
        draws: of the bootstrap over documents.
        seed: of the draws.

    Returns:
        ``n`` unfaithful summaries with the type, ``faithful`` ones that they are set against, ``auc`` with its 95 %
        interval (``low``, ``high``), and, of test rows, the share of the type that is ``found``: not above the threshold
        that has the best balanced accuracy on the origin's validation rows; ``false_alarms`` is that share of the
        faithful ones.
    """
    results = []
    for (corpus, group), part in rows.groupby(["corpus", "group"], sort=False):
        for model, mine in part.groupby("model", sort=False):
            tuned = mine[mine["split"] == "validation"]
            threshold = statistics.best_threshold(tuned["score"], tuned["label"])
            for split, some in mine.groupby("split"):
                right, wrong = some[some["label"] == 1], some[some["label"] == 0]
                kinds = wrong["error"].str.split(", ")
                for error in [ANY, *sorted(set(kinds.explode()))]:
                    typed = wrong[[error in (ANY, *several) for several in kinds]]
                    both = pd.concat([right, typed])
                    area = statistics.bootstrap_auc(both["label"], both["score"], both["document_id"], draws, seed)
                    row = [corpus, group, split, error, len(typed), len(right), model, *area]
                    shares = [(s["score"] <= threshold).mean() if split == "test" else None for s in (typed, right)]
                    results.append([*row, *shares])
    found = pd.DataFrame(results, columns=COLUMNS).astype({"found": float, "false_alarms": float})
    order = ["corpus", "group", "split", "n", "error"]
    return found.sort_values(order, ascending=[True, True, True, False, True], kind="stable", ignore_index=True)


def areas(found: pd.DataFrame) -> pd.DataFrame:
    """AUC of test rows with its interval, a dash for that of few summaries, types down and metrics across."""
    test = found[found["split"] == "test"]
    return _wide(test, test.apply(_area, axis=1, result_type="reduce"))


def _area(row: pd.Series, few: str = "–") -> str:
    """An AUC with its interval, which means nothing where it rests on fewer than ``FEW`` summaries of either kind.

    >>> row = pd.Series({"auc": 0.7, "low": 0.6, "high": 0.8, "n": 12, "faithful": 30})
    >>> _area(row), _area(row.replace(12, 3))
    ('0.70 (0.60 to 0.80)', '0.70 (–)')
    """
    return f"{row.auc:.2f} ({few if min(row.n, row.faithful) < FEW else f'{row.low:.2f} to {row.high:.2f}'})"


def shares(found: pd.DataFrame) -> pd.DataFrame:
    """Share of test summaries at or under the threshold in percent: a type's, and (``/``) the faithful ones'."""
    test = found[found["split"] == "test"]
    text = test.apply(lambda r: f"{100 * r.found:.0f} / {100 * r.false_alarms:.0f}", axis=1, result_type="reduce")
    return _wide(test, text)


def _wide(found: pd.DataFrame, text: pd.Series) -> pd.DataFrame:
    down = ["corpus", "group", "error", "n", "faithful"]
    if found.empty:
        return found[down]
    wide = found.assign(text=text).pivot_table(index=down, columns="model", values="text", aggfunc="first", sort=False)
    return wide.reset_index().rename_axis(columns=None)


def findings(found: pd.DataFrame, model: str) -> list[str]:
    """For each corpus and origin, on test: what the model finds of all types and of each that is not rare, and what the best
    published metric does."""
    sentences = []
    for (corpus, group), part in found[found["split"] == "test"].groupby(["corpus", "group"], sort=False):
        own = part[part["model"] == model]
        overall = own[own["error"] == ANY].iloc[0]
        types = own[~own["error"].isin([ANY, UNAGREED]) & (own["n"] >= FEWEST)]
        told = ", ".join(f"{r.error} {_area(r, _TOO_FEW)} on {r.n}" for _, r in types.iterrows())
        by_type = (
            f"Types with at least {FEWEST} summaries, not tested against each other: {told}."
            if told
            else f"No type that annotators agreed on has {FEWEST} summaries."
        )
        others = part[(part["error"] == ANY) & part["model"].str.endswith("(published)")]
        beside = ""
        if len(others):
            best = others.loc[others["auc"].idxmax()]
            beside = f"; of the published metrics {best.model} has the highest there, {_area(best, _TOO_FEW)}"
        few = f" All AUCs rest on the same {overall.faithful} faithful ones." if overall.faithful < FEWEST else ""
        sentences.append(
            f"**Types of error, {corpus}, {group}**, {overall.n} unfaithful and {overall.faithful} faithful test "
            f"summaries: `{model}` AUC {_area(overall, _TOO_FEW)}{beside}. {by_type}{few}"
        )
    return sentences
