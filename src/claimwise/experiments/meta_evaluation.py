"""Metrics against people's labels of whole summaries (ACUEval Tables 1 and 7, FENICE Table 3).

One threshold per group (an origin, or a whole corpus) is tuned on its validation rows; the test rows are only
reported. Metrics are compared on the rows that all of them scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from claimwise import correlation, significance, statistics
from claimwise.corpora import Corpus
from claimwise.experiments.recorded import MARK
from claimwise.published import printed
from claimwise.tables import p_value

#: Rows of ACUEval's Table 1 that stand beside ours, by metric.
PUBLISHED_ROWS = {
    "acueval": "ACUEval",
    "holistic": "BelugaEval",
    "fenice": "FENICE (gpt-3.5 claims)",
    "fenice-t5": "FENICE (T5 claims)",
    "fenice-t5 (published)": "FENICE (T5 claims)",
}

HUMAN = "human"

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


def table(rows: pd.DataFrame, metrics: Sequence[str], baseline: str, draws: int, seed: int) -> pd.DataFrame:
    """One row a (group, metric).

    Returns:
        ``group, metric, n`` (test rows), ``faithful`` (share), ``unscored`` (test rows without a score by this metric,
        left out for all), ``threshold``, ``balanced_accuracy`` in percent with ``low`` and ``high`` (95 %, bootstrap
        over documents), ``tuned_low`` and ``tuned_high`` (the same with the threshold tuned anew on each draw of
        validation documents) and ``published_interval`` (the papers' narrower ±), ``auc``, ``difference`` to the baseline in
        points with ``_low`` and ``_high`` and its two-sided ``p`` (both thresholds tuned anew on each draw, too),
        ``auc_difference`` with the same and ``auc_p``; of test and validation rows, for no threshold is asked, Kendall's ``kendall_system`` over ``systems`` and ``kendall_summary`` over ``kendall_documents`` with the human rating.
        A metric that scored too little to have a threshold has no numbers, and does not narrow the others' rows;
        where no row has all the others' scores, no metric has numbers.
    """
    results = []
    for group, part in rows.groupby("group"):
        everything = part[part["split"] == "test"]
        # A metric that did not score enough (its replies cannot be read) would leave no row to compare the others on.
        usable = [metric for metric in metrics if _has_threshold(part.dropna(subset=[metric]))]
        if not _has_threshold(part.dropna(subset=usable)):
            usable = []  # each scored some rows, none scored the same ones
        scored = part.dropna(subset=usable)
        test, validation = scored[scored["split"] == "test"], scored[scored["split"] == "validation"]
        thresholds = {m: statistics.best_threshold(validation[m], validation["label"]) for m in usable}
        systems = scored["system"].nunique()
        for metric in metrics:
            row = {"group": group, "metric": metric, "n": 0, "unscored": int(everything[metric].isna().sum())}
            if metric in usable:
                row |= _agreement(test, metric, thresholds[metric], draws, seed)
                tuned = statistics.bootstrap_tuned(validation, test, metric, draws, seed)
                row |= {"tuned_low": 100 * tuned.low, "tuned_high": 100 * tuned.high}
            if {metric, baseline} <= set(usable):
                difference, p = significance.paired_tuned(validation, test, metric, baseline, seed=seed)
                names = ("difference", "difference_low", "difference_high")
                row |= dict(zip(names, 100 * np.array(difference), strict=True))
                area, area_p = significance.paired_auc(test, metric, baseline, seed=seed)
                row |= dict(zip(("auc_" + name for name in names), area, strict=True))
                row |= {"p": p, "auc_p": area_p} if metric != baseline else {}
            if metric in usable and systems > 2:
                values, ratings = scored[metric], scored["rating"]
                within, documents = correlation.kendall_summary(values, ratings, scored["document_id"])
                row |= {
                    "systems": systems,
                    "kendall_system": correlation.kendall_system(values, ratings, scored["system"]),
                    "kendall_summary": within,
                    "kendall_documents": documents,
                }
            results.append(row)
    return pd.DataFrame(results, columns=COLUMNS)


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
        published: rows of ``claimwise.published.table``.
    """
    values = published.drop_duplicates(["corpus", "origin", "row"]).set_index(["corpus", "origin", "row"])["value"]
    rows = ours["metric"].map(PUBLISHED_ROWS)
    keys = zip(ours["corpus"], ours["group"].replace("all", "cnndm"), rows, strict=True)
    return ours.assign(published=[values.get(key, np.nan) for key in keys])


def headline(rows: pd.DataFrame) -> Mapping[str, Mapping[str, float]]:
    """Balanced accuracy by corpus, group and metric, for ``dvc metrics show``."""
    return {
        f"{corpus}/{group}": dict(zip(part["metric"], part["balanced_accuracy"], strict=True))
        for (corpus, group), part in rows.groupby(["corpus", "group"])
    }


def columns(rows: pd.DataFrame) -> list[str]:
    """The metrics among the columns of ``collect``."""
    fixed = {"id", "group", "split", "system", "document_id", "label", "rating"}
    return [name for name in rows.columns if name not in fixed]


def sizes(rows: pd.DataFrame) -> Mapping[str, str]:
    """Test rows by corpus and group, with the share labelled faithful."""
    first = rows.sort_values("n", ascending=False, kind="stable").drop_duplicates(["corpus", "group"]).sort_index()
    return {f"{r.corpus}/{r.group}": f"{r.n} ({100 * r.faithful:.0f} % faithful)" for r in first.itertuples()}


def panels(rows: pd.DataFrame) -> pd.Series:
    """Titles of the figure's panels."""
    return rows["corpus"] + np.where(rows["group"] == "all", "", ", " + rows["group"])


def display(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns that the notebook shows."""
    columns = ["corpus", "group", "metric", "n", "unscored", "threshold", "balanced_accuracy", "low", "high"]
    return rows[
        [
            *(*columns, "tuned_low", "tuned_high", "published_interval", "difference", "p", "p_holm"),
            *("auc", "auc_difference", "auc_p_holm", "published"),
        ]
    ].rename(columns={"published_interval": "published ±"})


def correlations(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Kendall's tau-b, where there are enough systems, with ACUEval's values for the metric of the same kind.

    Args:
        rows: what ``table`` returned, with ``corpus``.
        published: ACUEval's Table 7.
    """
    shown = rows.dropna(subset=["kendall_system"]).rename(columns={"kendall_documents": "documents"})
    values = published.set_index(["corpus", "row", "measure"])["value"]
    keys = list(zip(shown["corpus"], shown["metric"].map(PUBLISHED_ROWS), strict=True))
    beside = {
        f"published_{measure.removeprefix('kendall_')}": [values.get((*key, measure), np.nan) for key in keys]
        for measure in ("kendall_system", "kendall_summary")
    }
    columns = ["corpus", "group", "metric", "systems", "kendall_system", "documents", "kendall_summary", *beside]
    shown = shown.assign(**beside)[columns].astype({"systems": int, "documents": int})
    return shown.drop(columns=[name for name in beside if shown[name].isna().all()])


def published_table(rows: pd.DataFrame, digits: int = 1) -> pd.DataFrame:
    """A published table as it is printed, with its ± and the corpora that are not at hand: metrics down, the rest across.

    Args:
        rows: of ``claimwise.published.table``, each metric, corpus, origin and measure once.
        digits: decimals that the paper prints.

    >>> row = {"corpus": "a", "origin": "xsum", "row": "DAE", "measure": "balanced_accuracy", "value": 70.2}
    >>> published_table(pd.DataFrame([row | {"plus_minus": 2.3}, row | {"corpus": "b"}])).to_dict("list")
    {'row': ['DAE'], 'a, xsum': ['70.2 ± 2.3'], 'b, xsum': ['70.2']}
    """
    value, spread = (rows[name].map(f"{{:.{digits}f}}".format) for name in ("value", "plus_minus"))
    across = ["corpus", "origin"] + ["measure"] * (len(set(rows["measure"])) > 1)
    return printed(rows.assign(value=value.where(rows["plus_minus"].isna(), value + " ± " + spread)), *across)


def findings(rows: pd.DataFrame, baseline: str) -> list[str]:
    """What the table says, in words, whichever way it came out.

    Args:
        rows: what ``corrected`` returned, of all corpora.
        baseline: the metric that the others were tested against.
    """
    sentences = []
    for (corpus, group), part in rows.groupby(["corpus", "group"], sort=False):
        read = part["metric"].str.contains(MARK, regex=False)
        ours = part[~part["metric"].str.contains("published") & ~read].set_index("metric")
        ours = ours.dropna(subset=["balanced_accuracy"])
        if ours.empty:
            sentences.append(f"**{corpus}**: none of our metrics can be compared with people's labels here.")
            continue
        best = ours["balanced_accuracy"].idxmax()
        row = ours.loc[best]
        if best == baseline:
            against = "is the baseline itself"
        elif pd.isna(row["difference"]):
            against = f"cannot be compared with {baseline}, which has no result"
        else:
            against = (
                f"is {row['difference']:+.1f} points beside {baseline} ({row['difference_low']:+.1f} to "
                f"{row['difference_high']:+.1f}, p {p_value(row['p'])}; corrected for the "
                f"table's {rows['p'].notna().sum()} comparisons {p_value(row['p_holm'])})"
            )
        tied = [m for m in ours.index if m != best and ours.loc[m, "high"] >= row["low"] and m != baseline]
        sentences.append(
            f"**{corpus}{'' if group == 'all' else ', ' + group}**: `{best}` has the highest balanced accuracy of our "
            f"metrics, {row['balanced_accuracy']:.1f} ({row['low']:.1f} to {row['high']:.1f}), AUC {row['auc']:.2f}; it "
            f"{against}."
            + (
                " No metric's scores rank faithful above unfaithful summaries much better than chance; a balanced accuracy "
                "above 50 beside it comes from one end of the scores."
                if ours["auc"].max() < 0.6
                else ""
            )
            + (f" The interval of `{best}` overlaps with that of {', '.join(tied)}." if tied else "")
        )
        if part.loc[read, "balanced_accuracy"].notna().any():
            top = part.loc[part.loc[read, "balanced_accuracy"].idxmax()]
            sentences.append(
                f"**{corpus}**: of the language models' replies on record, `{top['metric']}` reaches "
                f"{top['balanced_accuracy']:.1f} ({top['low']:.1f} to {top['high']:.1f}), AUC {top['auc']:.2f}."
            )
    return [
        *sentences,
        *_told_apart(rows, baseline, "balanced accuracy", "difference", "p", "{:+.1f}"),
        *_told_apart(rows, baseline, "AUC, for which no threshold is tuned,", "auc_difference", "auc_p", "{:+.3f}"),
    ]


def _told_apart(rows: pd.DataFrame, baseline: str, measure: str, difference: str, p: str, form: str) -> list[str]:
    """How many metrics differ from the baseline beyond chance, and which; nothing where none was tested."""
    tested = rows.dropna(subset=[p])
    sure = tested[tested[f"{p}_holm"] < 0.05]
    places = sure["corpus"] + np.where(sure["group"] == "all", "", ", " + sure["group"])
    named = [
        f"`{metric}` on {place} ({form.format(value)})"
        for metric, place, value in zip(sure["metric"], places, sure[difference], strict=True)
    ]
    if tested.empty:
        return []
    return [
        f"Of {len(tested)} comparisons of {measure} with {baseline}, {(tested[p] < 0.05).sum()} are significant one by one "
        f"(p < .05) and {len(sure)} after Holm's correction for all of them"
        + (f": {', '.join(named)}." if named else ".")
    ]
