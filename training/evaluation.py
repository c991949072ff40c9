"""What the verifier's training alone can measure: by ingredient, by kind of error, and on corpora that it left out.

Areas under the ROC curve over summaries, whose label stands against the minimum or the mean of the log odds of their
statements. Only summaries of one origin are compared: four of five of AggreFact's from CNN/DM are faithful and one of ten of
EXF's from XSum, so that whoever tells the two apart would have .88 there. No test document is in them. ``training`` writes the
tables to ``data/embedded``.
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
#: The column of evidence features that is the share of a claim's content words, by rarity, that the document has.
_OVERLAP = 6


def features_alone(table: Table) -> np.ndarray:
    """Cross-fitted log odds, (n,), of trees that do not read the checkers' findings: nothing that ships, a comparison."""
    return fit_trees(replace(table, features=table.features[:, :VERDICT]))[1]


def ablation(rows: Sequence[Row], table: Table, logits: np.ndarray, alone: np.ndarray) -> pd.DataFrame:
    """AUC of checkers alone, of trees with and without their findings, and of what ships (their mean).

    Args:
        rows: what was learned from.
        table: its statements.
        logits: their cross-fitted log odds, (n, 2): of checkers, of trees.
        alone: the same, (n,), of trees on evidence features alone.

    Returns:
        ``corpus, n, model, pooling, auc``.
    """
    found = [
        one_auc(part, corpus=corpus, model=model, pooling=pooling)
        for (corpus, model, pooling), part in pooled(rows, table.row, {"features": alone, **_columns(logits)})
    ]
    return as_table(found, ["corpus", "n", "model", "pooling", "auc"])


def edit_types(rows: Sequence[Row], table: Table, logits: np.ndarray, alone: np.ndarray) -> pd.DataFrame:
    """AUC on each type of SummEdits' edits: how often an edited summary has less support than a consistent one of the
    same domain, mean over edited summaries. A summary with two types counts for both. Arguments as of ``ablation``."""
    found: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for (corpus, model, pooling), part in pooled(rows, table.row, {"features": alone, **_columns(logits)}):
        if corpus.startswith("summedits_"):
            wrong = part[part["label"] == 0]
            kinds = wrong["kind"].str.split(", ")
            for kind in sorted(set(kinds.explode()) - {""}):
                mine = wrong[[kind in several for several in kinds]]
                both = pd.concat([part[part["label"] == 1], mine])
                found.setdefault((kind, model, pooling), []).append((len(mine), auc(both["label"], both["support"])))
    means = []
    for (kind, model, pooling), parts in found.items():
        sizes, areas = zip(*parts, strict=True)
        means.append((kind, sum(sizes), model, pooling, np.average(areas, weights=sizes)))
    return as_table(means, ["error", "n", "model", "pooling", "auc"]).sort_values(["error", "model"], kind="stable")


def held_out(group: str, asked: Material, heads: Heads) -> pd.DataFrame:
    """AUC on corpora that training left out, and of word overlap, which needs none; calibration of what ships.

    ``group`` is their name, ``asked`` are their judged rows; ``heads`` learned without them.

    Returns:
        ``corpus, held_out_with, n, model, pooling, auc, low, high, ece``: ``low`` and ``high`` are the ends of the 95 %
        interval over documents (bootstrap; the luck of training is not in it). ``ece``, of the shipped model only, is
        the calibration error over statements of known truth, one by one, whatever the pooling; NaN where there is none.
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
    found = []
    for (corpus, model, pooling), part in pooled(rows, row_of, columns):
        if model != "word overlap" or pooling == "mean":  # it has words, whatever the statements
            error = errors.get(corpus, np.nan) if model == "shipped" else np.nan
            one = one_auc(part, corpus=corpus, held_out_with=group, model=model, pooling=pooling)
            found.append(one | interval(part) | {"ece": error})
    return as_table(found, ["corpus", "held_out_with", "n", "model", "pooling", "auc", "low", "high", "ece"])


def judge_held_out(asked: Material, heads: Heads) -> pd.DataFrame:
    """AUC of the judge of whole summaries, of checkers alone and of word overlap, on corpora that training left out.

    Returns:
        ``corpus, n, model, auc, low, high``; the arguments are those of ``held_out``.
    """
    row_of, logits, overlap = _unseen("whole", asked.wholes, heads)
    columns = {"checker": logits[:, 0], "judge": decided("whole", logits), "word overlap": overlap}
    found = [
        one_auc(part, corpus=c, model=model) | interval(part)
        for (c, model, _), part in pooled(asked.rows, row_of, columns, ("mean",))
    ]
    return as_table(found, ["corpus", "n", "model", "auc", "low", "high"])


def _unseen(kind: str, read: Found, heads: Heads) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of what could be read to which row each belongs, (n,), log odds by all checkers and trees, (n, 2), overlap (n,)."""
    chosen = [(i, e) for i, items in enumerate(read) for e in items if not isinstance(e, str)]
    evidence = [item for _, item in chosen]
    ask_all(heads.checkers, evidence)
    logits = heads.both_logits(kind, evidence, [list(range(heads.folds))] * len(evidence))
    overlap = np.array([item.claim[_OVERLAP] for item in evidence])
    return np.array([i for i, _ in chosen]), logits, overlap


def _truths(rows: Sequence[Row], statements: Found) -> np.ndarray:
    """Of each readable statement whether it is true; NaN where that is not known of right and wrong ones alike.

    It is known of a statement that is all of its summary, and in a corpus that tells which words are wrong. Of other
    summaries only the faithful ones tell: the statements whose truth is known are all true.
    """
    telling = {row.corpus for row in rows if row.wrong}
    truths = []
    for row, items in zip(rows, statements, strict=True):
        truth = statement_labels(row, items)[1][[not isinstance(item, str) for item in items]]
        told = not row.decomposed and (row.corpus in telling or len(row.statements) == 1)
        truths.append(truth if told else np.full(len(truth), np.nan))
    return np.concatenate(truths)


def _columns(logits: np.ndarray) -> dict[str, np.ndarray]:
    return {"checker": logits[:, 0], "features and checker": logits[:, 1], "shipped": decided("claim", logits)}


def pooled(
    rows: Sequence[Row],
    row_of: np.ndarray,
    columns: Mapping[str, np.ndarray],
    poolings: Sequence[str] = _POOLINGS,
) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """For each corpus, model and pooling its summaries (columns of ``Row``, and ``support``), each once, by its
    sentences: rows with recorded claims come after those with sentences."""
    once = each_summary(rows)
    about = pd.DataFrame([rows[i] for i in once], index=once)
    for model, support in columns.items():
        by_row = pd.Series(support).groupby(row_of)
        for pooling in poolings:
            summaries = about.join(by_row.agg(pooling).rename("support"), how="inner")
            for corpus, part in summaries.groupby("corpus"):
                yield (str(corpus), model, pooling), part


def one_auc(part: pd.DataFrame, **names: str) -> dict:
    """A row of a table: its names, how many summaries, and their AUC within origins."""
    return {**names, "n": len(part), "auc": auc(part["label"], part["support"], part["origin"])}


def interval(part: pd.DataFrame) -> dict[str, float]:
    """The ends of the AUC's 95 % interval over documents."""
    columns = (part[name] for name in ("label", "support", "origin"))
    found = bootstrap_interval(auc, *columns, groups=part["document"])
    return {"low": found.low, "high": found.high}


def as_table(found: Sequence[Mapping], columns: Sequence[str]) -> pd.DataFrame:
    """Rows in the order of the first column, to three digits."""
    return pd.DataFrame(found, columns=columns).sort_values(columns[0], kind="stable").round(3)
