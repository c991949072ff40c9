"""Measurements that only training can make: by part of the verifier, by kind of error, and on corpora left out.

All are areas under the ROC curve over summaries: of the minimum or the mean of the log odds of their statements. Only
summaries of one origin are compared with each other. (Four of five summaries of AggreFact's from CNN/DM are faithful, but
only one of ten of EXF's from XSum. A model that recognises the origin would have .88 there.) No test document is used.
``training`` writes the tables to ``data/embedded``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from claimwise.analysis.bootstrap import bootstrap_interval
from claimwise.analysis.calibration import expected_calibration_error
from claimwise.analysis.measures import auc
from claimwise_embedded.heads import VERDICT, Heads, decided
from training.data import Found, Row, each_summary
from training.learning import Table, ask_all, fit_trees, statement_labels
from training.material import Material

_POOLINGS = ("min", "mean")
#: The evidence feature "share present": the share of a claim's content words, weighted by rarity, that the document has.
_OVERLAP = 6


def features_alone(table: Table) -> np.ndarray:
    """Return the cross-fitted log odds, (n,), of trees without the checkers' findings, for comparison."""
    return fit_trees(replace(table, features=table.features[:, :VERDICT]))[1]


def ablation(rows: Sequence[Row], table: Table, logits: np.ndarray, alone: np.ndarray) -> pd.DataFrame:
    """Return the AUC of checkers, of trees with and without the checkers' findings, and of the shipped mean.

    Args:
        rows: the training rows.
        table: their statements.
        logits: the statements' cross-fitted log odds, (n, 2): of checkers, of trees.
        alone: the log odds, (n,), of trees without the checkers' findings.

    Returns:
        ``corpus, n, model, pooling, auc``.
    """
    areas = [
        one_auc(part, corpus=corpus, model=model, pooling=pooling)
        for (corpus, model, pooling), part in pooled(rows, table.row, {"features": alone, **_columns(logits)})
    ]
    return as_table(areas, ["corpus", "n", "model", "pooling", "auc"])


def edit_types(rows: Sequence[Row], table: Table, logits: np.ndarray, alone: np.ndarray) -> pd.DataFrame:
    """Return the AUC on each type of SummEdits' edits, with the arguments of ``ablation``.

    It says how often an edited summary has less support than a consistent one of its domain (mean over edited summaries). A
    summary with two types counts for both.
    """
    by_domain: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for (corpus, model, pooling), part in pooled(rows, table.row, {"features": alone, **_columns(logits)}):
        if corpus.startswith("summedits_"):
            wrong = part[part["label"] == 0]
            kinds = wrong["kind"].str.split(", ")
            for kind in sorted(set(kinds.explode()) - {""}):
                edited = wrong[[kind in own for own in kinds]]
                both = pd.concat([part[part["label"] == 1], edited])
                area = auc(both["label"], both["support"])
                by_domain.setdefault((kind, model, pooling), []).append((len(edited), area))
    means = []
    for (kind, model, pooling), parts in by_domain.items():
        sizes, areas = zip(*parts, strict=True)
        means.append((kind, sum(sizes), model, pooling, np.average(areas, weights=sizes)))
    return as_table(means, ["error", "n", "model", "pooling", "auc"]).sort_values(["error", "model"], kind="stable")


def held_out(group: str, asked: Material, heads: Heads) -> pd.DataFrame:
    """Return the AUC of the verifier and of word overlap on corpora that training left out, and its calibration error.

    Args:
        group: the name of the corpora.
        asked: their judged rows.
        heads: the verifier's parts, which learned without them.

    Returns:
        ``corpus, held_out_with, n, model, pooling, auc, low, high, ece``. ``low`` and ``high`` are the ends of the 95 %
        interval over documents (bootstrap; without the chance in training). ``ece``, of the shipped model only, is
        the calibration error over single statements of known truth; NaN if there are none.
    """
    rows = asked.rows
    row_of, logits, overlap = _unseen("claim", asked.statements, heads)
    columns = {**_columns(logits), "word overlap": overlap}
    support = heads.calibrations["claim"](columns["shipped"])
    corpora = [rows[i].corpus for i in row_of]
    known = pd.DataFrame({"corpus": corpora, "truth": _truths(rows, asked.statements), "support": support}).dropna()
    errors = {
        corpus: expected_calibration_error(part["truth"], part["support"])[0]
        for corpus, part in known.groupby("corpus")
    }
    results = []
    for (corpus, model, pooling), part in pooled(rows, row_of, columns):
        if model != "word overlap" or pooling == "mean":  # word overlap has one pooling
            error = errors.get(corpus, np.nan) if model == "shipped" else np.nan
            area = one_auc(part, corpus=corpus, held_out_with=group, model=model, pooling=pooling)
            results.append(area | interval(part) | {"ece": error})
    return as_table(results, ["corpus", "held_out_with", "n", "model", "pooling", "auc", "low", "high", "ece"])


def judge_held_out(asked: Material, heads: Heads) -> pd.DataFrame:
    """Return the AUC of the judge of whole summaries, of checkers and of word overlap on corpora that training left out.

    Returns:
        ``corpus, n, model, auc, low, high``. The arguments are those of ``held_out``.
    """
    row_of, logits, overlap = _unseen("whole", asked.wholes, heads)
    columns = {"checker": logits[:, 0], "judge": decided("whole", logits), "word overlap": overlap}
    results = [
        one_auc(part, corpus=corpus, model=model) | interval(part)
        for (corpus, model, _), part in pooled(asked.rows, row_of, columns, ("mean",))
    ]
    return as_table(results, ["corpus", "n", "model", "auc", "low", "high"])


def _unseen(kind: str, read: Found, heads: Heads) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For all evidence: its row, (n,), the log odds of all checkers and of all trees, (n, 2), and word overlap, (n,)."""
    chosen = [(i, e) for i, items in enumerate(read) for e in items if not isinstance(e, str)]
    evidence = [item for _, item in chosen]
    ask_all(heads.checkers, evidence)
    logits = heads.both_logits(kind, evidence, [list(range(heads.folds))] * len(evidence))
    overlap = np.array([item.claim[_OVERLAP] for item in evidence])
    return np.array([i for i, _ in chosen]), logits, overlap


def _truths(rows: Sequence[Row], statements: Found) -> np.ndarray:
    """Return for each statement that could be read whether it is true; NaN if that is not known for true and false ones alike.

    It is known of a statement that is its whole summary, and in corpora with wrong words. In other corpora the truth is known
    only for statements of faithful summaries, which are all true.
    """
    with_wrong_words = {row.corpus for row in rows if row.wrong}
    truths = []
    for row, items in zip(rows, statements, strict=True):
        truth = statement_labels(row, items)[1][[not isinstance(item, str) for item in items]]
        usable = not row.decomposed and (row.corpus in with_wrong_words or len(row.statements) == 1)
        truths.append(truth if usable else np.full(len(truth), np.nan))
    return np.concatenate(truths)


def _columns(logits: np.ndarray) -> dict[str, np.ndarray]:
    return {"checker": logits[:, 0], "features and checker": logits[:, 1], "shipped": decided("claim", logits)}


def pooled(
    rows: Sequence[Row],
    row_of: np.ndarray,
    columns: Mapping[str, np.ndarray],
    poolings: Sequence[str] = _POOLINGS,
) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Yield the summaries of each corpus, model and pooling, as columns of ``Row`` and ``support``.

    Each summary is there once, with the support of its sentences (not of its recorded claims, whose rows come later).
    """
    first = each_summary(rows)
    table = pd.DataFrame([rows[i] for i in first], index=first)
    for model, support in columns.items():
        by_row = pd.Series(support).groupby(row_of)
        for pooling in poolings:
            summaries = table.join(by_row.agg(pooling).rename("support"), how="inner")
            for corpus, part in summaries.groupby("corpus"):
                yield (str(corpus), model, pooling), part


def one_auc(part: pd.DataFrame, **names: str) -> dict:
    """Return a row of a table: its names, the number of summaries, and their AUC within origins."""
    return {**names, "n": len(part), "auc": auc(part["label"], part["support"], part["origin"])}


def interval(part: pd.DataFrame) -> dict[str, float]:
    """Return the ends of the AUC's 95 % interval over documents."""
    columns = (part[name] for name in ("label", "support", "origin"))
    area = bootstrap_interval(auc, *columns, groups=part["document"])
    return {"low": area.low, "high": area.high}


def as_table(rows: Sequence[Mapping], columns: Sequence[str]) -> pd.DataFrame:
    """Return the rows as a table, sorted by the first column, to three digits."""
    return pd.DataFrame(rows, columns=columns).sort_values(columns[0], kind="stable").round(3)
