"""Metrics against people's labels of whole summaries (ACUEval Tables 1 and 7, FENICE Table 3).

One threshold per group (an origin, or a whole corpus) is tuned on its validation rows; the test rows are only
reported. Metrics are compared on the rows that all of them scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from claimwise import schema
from claimwise.analysis import agreement as correlation
from claimwise.analysis import significance, statistics
from claimwise.analysis.published import printed
from claimwise.corpora import Corpus

#: Rows of ACUEval's Table 1 that stand beside ours, by metric.
PUBLISHED_ROWS = {
    "acueval": "ACUEval",
    "holistic": "BelugaEval",
    "fenice": "FENICE (gpt-3.5 claims)",
    "fenice-t5": "FENICE (T5 claims)",
    "fenice-t5 (published)": "FENICE (T5 claims)",
}

HUMAN = "human"

#: Between the means of fewer systems an order says too little.
LEAST_SYSTEMS = 8

#: Of ``table``.
COLUMNS = (
    *(
        "group",
        "metric",
        "n",
        "faithful",
        "unscored",
        "threshold",
        "balanced_accuracy",
        "low",
        "high",
        "tuned_low",
        "tuned_high",
    ),
    *("published_interval", "auc", "difference", "difference_low", "difference_high", "p"),
    *("auc_difference", "auc_difference_low", "auc_difference_high", "auc_p"),
    *("systems", "kendall_system", "kendall_summary", "kendall_documents"),
)
#: Of ``pairs``.
PAIR_COLUMNS = (
    *("group", "metric", "against", "difference", "difference_low", "difference_high", "p"),
    *("auc_difference", "auc_difference_low", "auc_difference_high", "auc_p"),
)


def collect(corpus: Corpus, scores: Mapping[str, pd.DataFrame], by_origin: bool) -> pd.DataFrame:
    """One row an example, one column a metric.

    Args:
        corpus: labelled examples; its published per-example scores become metrics of their own.
        scores: our metrics' score tables.
        by_origin: tune and report every origin by itself, else the corpus as one group.

    Returns:
        ``id, group, split, system, document_id, label, rating`` and the metrics' columns. ``rating`` is the mean human
        rating where the corpus has one, else the share of the summary's claims that people found supported,
        else the label.
    """
    columns = {name: table.set_index("example_id")["score"] for name, table in scores.items()}
    human = None
    for name, table in corpus.scores.groupby("metric"):
        series = table.set_index("example_id")["score"]
        if name.startswith(HUMAN):
            human = series
        else:
            columns[name] = series
    if human is None:
        human = corpus.gold_claims.groupby("example_id")["label"].mean()
    frame = corpus.examples.dropna(subset=["label"])
    frame = frame.assign(
        group=frame["origin"] if by_origin else "all",
        rating=frame["id"].map(human).fillna(frame["label"]),
        **{name: frame["id"].map(series) for name, series in columns.items()},
    )
    return frame[["id", "group", "split", "system", "document_id", "label", "rating", *columns]]


def split_by_documents(rows: pd.DataFrame) -> pd.DataFrame:
    """The same rows split anew, about half of the documents (by a hash) on either side with all their summaries.

    Args:
        rows: what ``collect`` returned of a corpus whose own split puts summaries of one document on both sides.

    >>> rows = pd.DataFrame({"document_id": ["a", "a", "d", "d"], "split": ["validation", "test"] * 2})
    >>> split_by_documents(rows)["split"].tolist()
    ['validation', 'validation', 'test', 'test']
    """
    odd = rows["document_id"].map(lambda key: int(schema.document_id(key), 16) % 2)
    return rows.assign(split=odd.map({0: "validation", 1: "test"}))


def with_one_threshold(rows: pd.DataFrame) -> pd.DataFrame:
    """Every group's test rows beside the validation rows of all groups: ``table`` then tunes one threshold for all of them.

    So FENICE's footnote 6 has it for Table 3: one for CNN/DM and XSum. docs/errata.md says what the baselines there have.

    >>> rows = pd.DataFrame({"group": ["a", "a", "b", "b"], "split": ["validation", "test"] * 2, "label": [1, 1, 0, 0]})
    >>> [sorted(part["label"]) for _, part in with_one_threshold(rows).groupby("group")]
    [[0, 1, 1], [0, 0, 1]]
    """
    tuning, groups = rows[rows["split"] == "validation"], rows["group"].unique()
    return pd.concat(
        [rows[rows["split"] == "test"], *(tuning.assign(group=group) for group in groups)], ignore_index=True
    )


def table(rows: pd.DataFrame, metrics: Sequence[str], baseline: str, draws: int, seed: int) -> pd.DataFrame:
    """One row a (group, metric).

    Returns:
        ``group, metric, n`` (test rows), ``faithful`` (share), ``unscored`` (test rows without a score by this metric,
        left out for all), ``threshold``, ``balanced_accuracy`` in percent with ``low`` and ``high`` (95 %, bootstrap
        over documents), ``tuned_low`` and ``tuned_high`` (the same with the threshold tuned anew on each draw of
        validation documents) and ``published_interval`` (the papers' narrower ±), ``auc``, ``difference`` to the baseline in
        points with ``_low`` and ``_high`` and its two-sided ``p`` (both thresholds tuned anew on each draw, too),
        ``auc_difference`` with the same and ``auc_p``; of test and validation rows, for no threshold is asked, Kendall's
        ``kendall_system`` over ``systems`` (``LEAST_SYSTEMS`` or more) and ``kendall_summary`` over ``kendall_documents``
        with the human rating.
        A metric that scored too little to have a threshold has no numbers, and does not narrow the others' rows;
        where no row has all the others' scores, no metric has numbers.
    """
    results = []
    for group, part in rows.groupby("group"):
        everything = part[part["split"] == "test"]
        usable, scored = _comparable(part, metrics)
        test, validation = _splits(scored)
        thresholds = {m: statistics.best_threshold(validation[m], validation["label"]) for m in usable}
        systems = scored["system"].nunique()
        for metric in metrics:
            row = {"group": group, "metric": metric, "n": 0, "unscored": int(everything[metric].isna().sum())}
            if metric in usable:
                row |= _agreement(test, metric, thresholds[metric], draws, seed)
                tuned = statistics.bootstrap_tuned(validation, test, metric, draws, seed)
                row |= {"tuned_low": 100 * tuned.low, "tuned_high": 100 * tuned.high}
            if {metric, baseline} <= set(usable):
                row |= _difference(scored, metric, baseline, seed)
            if metric in usable and systems > 2:
                values, ratings = scored[metric], scored["rating"]
                within, documents = correlation.kendall_summary(values, ratings, scored["document_id"])
                row |= {"systems": systems, "kendall_summary": within, "kendall_documents": documents}
                if systems >= LEAST_SYSTEMS:
                    row["kendall_system"] = correlation.kendall_system(values, ratings, scored["system"])
            results.append(row)
    return pd.DataFrame(results, columns=COLUMNS)


def pairs(rows: pd.DataFrame, metrics: Sequence[str], named: Iterable[Sequence[str]], seed: int) -> pd.DataFrame:
    """Metrics against each other, on the rows that all metrics scored.

    Args:
        rows: what ``collect`` returned.
        metrics: all that ``table`` compares.
        named: pairs of metrics; one that is not among ``metrics``, or scored too little, is left out.
        seed: of the draws.

    Returns:
        One row a (group, pair): ``group, metric, against`` and, as in ``table``, ``difference`` and ``auc_difference`` (the
        first less the second) with their intervals and ``p``.
    """
    results = []
    for group, part in rows.groupby("group"):
        usable, scored = _comparable(part, metrics)
        for metric, against in named:
            if {metric, against} <= set(usable):
                row = {"group": group, "metric": metric, "against": against}
                results.append(row | _difference(scored, metric, against, seed))
    return pd.DataFrame(results, columns=PAIR_COLUMNS)


def _comparable(part: pd.DataFrame, metrics: Sequence[str]) -> tuple[list[str], pd.DataFrame]:
    """The metrics that scored enough of a group to have a threshold, and the rows that all of these scored."""
    # A metric that did not score enough (its replies cannot be read) would leave no row to compare the others on.
    usable = [metric for metric in metrics if _has_threshold(part.dropna(subset=[metric]))]
    if not _has_threshold(part.dropna(subset=usable)):
        usable = []  # each scored some rows, none scored the same ones
    return usable, part.dropna(subset=usable)


def _splits(scored: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Test and validation rows."""
    return scored[scored["split"] == "test"], scored[scored["split"] == "validation"]


def _difference(scored: pd.DataFrame, metric: str, against: str, seed: int) -> dict[str, float]:
    """How much more a metric has than another, in balanced accuracy and AUC; of a metric and itself there is no p."""
    test, validation = _splits(scored)
    gap, p = significance.paired_tuned(validation, test, metric, against, seed=seed)
    area, area_p = significance.paired_auc(test, metric, against, seed=seed)
    row = {"difference": 100 * gap.value, "difference_low": 100 * gap.low, "difference_high": 100 * gap.high}
    row |= {"auc_difference": area.value, "auc_difference_low": area.low, "auc_difference_high": area.high}
    return row | ({"p": p, "auc_p": area_p} if metric != against else {})


def _has_threshold(scored: pd.DataFrame) -> bool:
    """Whether there are test rows, and validation rows of both labels: all that a threshold needs."""
    return bool((scored["split"] == "test").any()) and scored[scored["split"] == "validation"]["label"].nunique() == 2


def _agreement(test: pd.DataFrame, metric: str, threshold: float, draws: int, seed: int) -> dict[str, float]:
    """One metric's columns on the test rows that all metrics scored."""
    labels, scores = test["label"], test[metric]
    interval = statistics.bootstrap_accuracy(labels, scores, threshold, test["document_id"], draws, seed)
    return {
        "n": len(test),
        "faithful": labels.mean(),
        "threshold": threshold,
        "balanced_accuracy": 100 * interval.value,
        "low": 100 * interval.low,
        "high": 100 * interval.high,
        "published_interval": 100 * statistics.published_interval(labels, scores, threshold, seed=seed),
        "auc": statistics.auc(labels, scores),
    }


def corrected(rows: pd.DataFrame) -> pd.DataFrame:
    """Adds ``p_holm`` and ``auc_p_holm``: ``p`` and ``auc_p`` corrected, each for all its comparisons with the baseline in the
    table (every group's)."""
    return rows.assign(p_holm=significance.holm(rows["p"]), auc_p_holm=significance.holm(rows["auc_p"]))


def with_published(ours: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Adds ``published``: the balanced accuracy that the papers report for the metric of the same kind.

    Args:
        ours: rows with ``corpus``, ``group`` and ``metric``.
        published: rows of ``claimwise.analysis.published.table``.
    """
    values = published.drop_duplicates(["corpus", "origin", "row"]).set_index(["corpus", "origin", "row"])["value"]
    rows = ours["metric"].map(PUBLISHED_ROWS)
    keys = zip(ours["corpus"], ours["group"].replace("all", "cnndm"), rows, strict=True)
    return ours.assign(published=[values.get(key, np.nan) for key in keys])


def columns(rows: pd.DataFrame) -> list[str]:
    """The metrics among the columns of ``collect``."""
    fixed = {"id", "group", "split", "system", "document_id", "label", "rating"}
    return [name for name in rows.columns if name not in fixed]


def headline(rows: pd.DataFrame) -> Mapping[str, Mapping[str, float]]:
    """Balanced accuracy by corpus, group and metric, for ``dvc metrics show``."""
    return {
        f"{corpus}/{group}": dict(zip(part["metric"], part["balanced_accuracy"], strict=True))
        for (corpus, group), part in rows.groupby(["corpus", "group"])
    }


def panels(rows: pd.DataFrame) -> pd.Series:
    """A corpus and its group as titles of panels and in sentences."""
    return rows["corpus"] + np.where(rows["group"] == "all", "", ", " + rows["group"])


def published_table(rows: pd.DataFrame, digits: int = 1) -> pd.DataFrame:
    """A published table as it is printed, with its ± and the corpora that are not at hand: metrics down, the rest across.

    Args:
        rows: of ``claimwise.analysis.published.table``, each metric, corpus, origin and measure once.
        digits: decimals that the paper prints.

    >>> row = {"corpus": "a", "origin": "xsum", "row": "DAE", "measure": "balanced_accuracy", "value": 70.2}
    >>> published_table(pd.DataFrame([row | {"plus_minus": 2.3}, row | {"corpus": "b"}])).to_dict("list")
    {'row': ['DAE'], 'a, xsum': ['70.2 ± 2.3'], 'b, xsum': ['70.2']}
    """
    value, spread = (rows[name].map(f"{{:.{digits}f}}".format) for name in ("value", "plus_minus"))
    across = ["corpus", "origin"] + ["measure"] * (len(set(rows["measure"])) > 1)
    return printed(rows.assign(value=value.where(rows["plus_minus"].isna(), value + " ± " + spread)), *across)
