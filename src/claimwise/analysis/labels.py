"""How well metrics agree with people's labels of whole summaries: one table per corpus, thresholds tuned on validation rows.

ACUEval Tables 1 and 7, FENICE Tables 2 to 4. Rows are examples and columns are metrics (``labelled_scores``). Each group
has one threshold per metric, tuned on the validation rows; the test rows are reported. Metrics are compared on the rows
that all of them scored.
"""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from claimwise.analysis.agreement import kendall_summary, kendall_system
from claimwise.analysis.bootstrap import bootstrap_interval, paired_bootstrap, published_interval
from claimwise.analysis.measures import auc, balanced_accuracy, tuned_accuracy, tuned_threshold
from claimwise.corpora import Corpus
from claimwise.errors import ClaimwiseError
from claimwise.schema import document_id

#: With fewer systems, the order of their means is not reported: it says too little.
LEAST_SYSTEMS = 8

_COLUMNS = [
    *("group", "metric", "n", "faithful", "unscored", "threshold"),
    *("balanced_accuracy", "low", "high", "tuned_low", "tuned_high", "published_interval", "auc"),
    *("difference", "difference_low", "difference_high", "p"),
    *("auc_difference", "auc_difference_low", "auc_difference_high", "auc_p"),
    *("systems", "kendall_system", "kendall_summary", "kendall_documents"),
]


def labelled_scores(
    corpus: Corpus, scores: Mapping[str, pd.DataFrame], by_origin: bool
) -> tuple[pd.DataFrame, list[str]]:
    """A table with one row per labelled example and one column per metric, and the names of these columns.

    Args:
        corpus: the corpus. Its published scores become metrics of their own.
        scores: score tables (schema ``scores``) by the metric's name.
        by_origin: whether each origin is a ``group``; else all rows are one group, ``all``.

    Returns:
        The corpus's columns, ``group``, ``rating`` (people's mean rating if there is one, else the share of the summary's
        claims that people found supported, else the label) and the metrics' columns.

    Raises:
        ClaimwiseError: no summary has a label.
    """
    columns = {name: table.set_index("example_id")["score"] for name, table in scores.items()}
    published = {name: table.set_index("example_id")["score"] for name, table in corpus.scores.groupby("metric")}
    ratings = [published.pop(name) for name in list(published) if name.startswith("human")]
    supported = corpus.gold_claims.groupby("example_id")["label"].mean()
    columns |= published
    examples = corpus.examples.dropna(subset=["label"])
    if examples.empty:
        raise ClaimwiseError(
            f"corpus {corpus.examples['corpus'].iloc[0]!r}: none of {len(corpus.examples)} summaries has a label, expected "
            "1 (faithful) or 0 of some; where it is a file of yours, add the column 'label' (data/own/README.md)"
        )
    rows = examples.assign(
        group=examples["origin"] if by_origin else "all",
        rating=examples["id"].map(ratings[-1] if ratings else supported).fillna(examples["label"]),
        **{name: examples["id"].map(column) for name, column in columns.items()},
    )
    return rows, list(columns)


def validation_and_test(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The validation rows and the test rows."""
    return rows[rows["split"] == "validation"], rows[rows["split"] == "test"]


def split_by_documents(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a new split: about half of the documents, chosen by a hash, are validation, the others test.

    >>> rows = pd.DataFrame({"document_id": ["a", "d", "a"], "split": "test"})
    >>> split_by_documents(rows)["split"].tolist()
    ['validation', 'test', 'validation']
    """
    half = rows["document_id"].map(lambda key: int(document_id(key), 16) % 2)
    return rows.assign(split=half.map({0: "validation", 1: "test"}))


def comparable(rows: pd.DataFrame, metrics: Sequence[str]) -> tuple[list[str], pd.DataFrame]:
    """The metrics that scored enough of a group's rows to have a threshold, and the rows that all of these scored.

    A metric that scored too few (its replies cannot be read) is left out: it would leave no rows to compare the others
    on. If too few rows are scored by all metrics, no metric can be compared.

    >>> rows = pd.DataFrame({"split": ["validation", "validation", "test"], "label": [1, 0, 1], "a": [0.9, 0.1, 0.8]})
    >>> names, scored = comparable(rows.assign(b=[0.5, None, 0.5]), ["a", "b"])
    >>> names, len(scored)
    (['a'], 3)
    """

    def enough(part: pd.DataFrame) -> bool:
        validation, test = validation_and_test(part)
        return len(test) > 0 and validation["label"].nunique() == 2

    usable = [metric for metric in metrics if enough(rows.dropna(subset=[metric]))]
    usable = usable if enough(rows.dropna(subset=usable)) else []
    return usable, rows.dropna(subset=usable)


def difference(
    rows: pd.DataFrame, metric: str, against: str, seed: int, rule: Callable = tuned_threshold
) -> dict[str, float]:
    """How much better a metric agrees with the labels of the test rows than another.

    ``rows`` are validation and test rows that both metrics scored. ``rule`` chooses a threshold, as in
    ``measures.tuned_accuracy``.

    Returns:
        ``difference`` in points of balanced accuracy, with both thresholds tuned anew on each draw, and
        ``auc_difference``, which needs no threshold; their intervals (``_low``, ``_high``) and two-sided ``p`` and
        ``auc_p``. If both metrics are the same, there is no p.
    """
    validation, test = validation_and_test(rows)
    both = pd.concat([validation, test])
    columns = ((both["label"], both[name], both["split"] == "validation") for name in (metric, against))
    gap = paired_bootstrap(tuned_accuracy, *columns, both["document_id"], seed=seed, rule=rule)
    columns = ((test["label"], test[name]) for name in (metric, against))
    area = paired_bootstrap(auc, *columns, test["document_id"], seed=seed)
    row = {"difference": 100 * gap.value, "difference_low": 100 * gap.low, "difference_high": 100 * gap.high}
    row |= {"auc_difference": area.value, "auc_difference_low": area.low, "auc_difference_high": area.high}
    return row | ({"p": gap.p, "auc_p": area.p} if metric != against else {})


def agreement_table(
    rows: pd.DataFrame,
    metrics: Sequence[str],
    baseline: str,
    draws: int = 2000,
    seed: int = 0,
    rule: Callable = tuned_threshold,
) -> pd.DataFrame:
    """How well each metric agrees with the labels, one row per group and metric.

    ``rows`` and ``metrics`` are what ``labelled_scores`` returns. Every metric is compared with the ``baseline``.

    Returns:
        ``group, metric, n`` (test rows), ``faithful`` (share), ``unscored`` (test rows without a score by this metric, left
        out for all), ``threshold``, ``balanced_accuracy`` in percent with ``low`` and ``high`` (95 %, bootstrap over
        documents), ``tuned_low`` and ``tuned_high`` (the same with the threshold tuned anew on each draw),
        ``published_interval`` (the papers' narrower ±), ``auc``, and the columns of ``difference`` to the baseline.
        Kendall's tau with people's ratings needs no threshold, so it is over test and validation rows:
        ``kendall_system`` over ``systems`` (``LEAST_SYSTEMS`` or more), ``kendall_summary`` over ``kendall_documents``.

        A metric that ``comparable`` leaves out has no numbers, and its ``n`` is 0. If the validation rows do not have both
        labels, no metric has a threshold, but each has its ``auc`` over the test rows that it scored.
    """
    table = []
    for group, part in rows.groupby("group"):
        usable, scored = comparable(part, metrics)
        untuned = validation_and_test(part)[0]["label"].nunique() < 2
        unscored = part[part["split"] == "test"][list(metrics)].isna().sum()
        for metric in metrics:
            row = {"group": group, "metric": metric, "n": 0, "unscored": int(unscored[metric])}
            if metric in usable:
                row |= _agreement(scored, metric, draws, seed, rule) | _order(scored, metric)
                row |= difference(scored, metric, baseline, seed, rule) if baseline in usable else {}
            elif untuned:
                row |= _without_threshold(part, metric) | _order(part.dropna(subset=[metric]), metric)
            table.append(row)
    return pd.DataFrame(table, columns=_COLUMNS)


def _agreement(scored: pd.DataFrame, metric: str, draws: int, seed: int, rule: Callable) -> dict[str, float]:
    """One metric's threshold, balanced accuracy and AUC."""
    validation, test = validation_and_test(scored)
    threshold = rule(validation[metric], validation["label"])
    labels, predicted, documents = test["label"], test[metric] > threshold, test["document_id"]
    accuracy = bootstrap_interval(balanced_accuracy, labels, predicted, groups=documents, draws=draws, seed=seed)
    both = pd.concat([validation, test])
    columns, documents = (both["label"], both[metric], both["split"] == "validation"), both["document_id"]
    tuned = bootstrap_interval(tuned_accuracy, *columns, groups=documents, draws=draws, seed=seed, rule=rule)
    return {
        "n": len(test),
        "faithful": labels.mean(),
        "threshold": threshold,
        "balanced_accuracy": 100 * accuracy.value,
        "low": 100 * accuracy.low,
        "high": 100 * accuracy.high,
        "tuned_low": 100 * tuned.low,
        "tuned_high": 100 * tuned.high,
        "published_interval": 100 * published_interval(labels, predicted, seed=seed),
        "auc": auc(labels, test[metric]),
    }


def _without_threshold(rows: pd.DataFrame, metric: str) -> dict[str, float]:
    """One metric's AUC over the test rows that it scored; nothing if these have only one label."""
    test = validation_and_test(rows)[1].dropna(subset=[metric])
    if test["label"].nunique() < 2:
        return {}
    return {"n": len(test), "faithful": test["label"].mean(), "auc": auc(test["label"], test[metric])}


def _order(scored: pd.DataFrame, metric: str) -> dict[str, float]:
    """One metric's Kendall's tau with people's ratings; nothing if there are not more than two systems."""
    systems = scored["system"].nunique()
    if systems <= 2:
        return {}
    within, documents = kendall_summary(scored[metric], scored["rating"], scored["document_id"])
    row = {"systems": systems, "kendall_summary": within, "kendall_documents": documents}
    if systems >= LEAST_SYSTEMS:
        row["kendall_system"] = kendall_system(scored[metric], scored["rating"], scored["system"])
    return row
