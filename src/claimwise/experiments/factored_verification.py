"""Hallucinated summaries told from faithful ones by the product of their claims' probabilities (Factored Verification).

P_summary is the product of the claims' supports (eq. 1, as a sum of logs). A summary counts as hallucinated where
P_summary is *below* theta, the midpoint of the faithful and the hallucinated training summaries' means (sec. 2.3; the
text of sec. 2.2 says "greater", which contradicts the method). Every other method's score is cut by the same rule.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

import numpy as np
import pandas as pd
from sklearn.metrics import roc_curve

from claimwise import metrics
from claimwise.analysis import significance, statistics
from claimwise.corpora import Corpus
from claimwise.metrics.judge import WordOverlap
from claimwise.models.base import Model

#: Rows of the paper's Table 1 that stand beside ours, by its two models: the same method by a far larger model.
PUBLISHED_ROWS = {
    "factored": ("GPT-4 factored", None),
    "factored, reasoned 0/1": (None, "ChatGPT factored"),
    "few-shot": ("GPT-4 few-shot", "ChatGPT few-shot"),
    "chain of thought": ("GPT-4 chain of thought", "ChatGPT chain of thought"),
    "single prompt": (None, "ChatGPT factored in a single prompt"),
}
PUBLISHED_MODELS, PUBLISHED_CORPUS = ("GPT-4", "ChatGPT"), "halueval"

TRAINING, TEST = "validation", "test"

#: A method that scores a smaller share of the summaries is shown with the reason and not compared: the others would be
#: compared on what it happened to score.
ENOUGH = 0.5


def score(corpus: Corpus, methods: Mapping[str, Mapping], model: Model) -> pd.DataFrame:
    """Every labelled example scored by every method.

    Args:
        corpus: labelled examples with a validation split (the paper's training part) and a test split.
        methods: a metric's definition by name, as in the ``metrics`` section of params.yaml.
        model: plays the roles.

    Returns:
        ``method, id, document_id, split, label, score, n_claims, reason, trained_on``, one row an example and method;
        ``trained_on`` is missing: nothing was learned here (``style.score`` has rows of methods that did).
    """
    examples = corpus.examples.dropna(subset=["label"])
    examples = examples[examples["split"].isin([TRAINING, TEST])].reset_index(drop=True)
    frames = []
    for name in methods:
        scores = metrics.evaluate(name, metrics.specification(name, methods), model, examples).scores
        frames.append(
            examples[["id", "document_id", "split", "label"]].assign(
                method=name, **{column: scores[column].to_numpy() for column in ("score", "n_claims", "reason")}
            )
        )
    return pd.concat(frames, ignore_index=True).assign(trained_on=np.nan)


def theta(training: pd.DataFrame) -> float:
    """The midpoint of the two classes' mean scores (sec. 2.3).

    >>> theta(pd.DataFrame({"label": [1, 1, 0], "score": [0.9, 0.7, 0.2]}))
    0.5
    """
    means = training.dropna(subset=["score"]).groupby("label")["score"].mean()
    if set(means.index) != {0.0, 1.0}:
        raise ValueError(
            f"theta needs scored training summaries of both labels, got {sorted(means.index)}: give more documents"
        )
    return float(means.mean())


def right(rows: pd.DataFrame, cut: float) -> pd.Series:
    """Whether each summary is told rightly: hallucinated where its score is below the cut."""
    return (rows["score"] >= cut) == (rows["label"] == 1)


def compared(first: pd.Series, second: pd.Series, seed: int) -> float:
    """Two-sided p that two methods are ``right`` equally often on the same summaries, of the documents in the index."""
    return significance.paired_bootstrap(first, second, first.index, seed=seed)[1]


def _able(rows: pd.DataFrame) -> pd.Series:
    """By method, whether it scored enough of the summaries to be compared."""
    return rows["score"].notna().groupby(rows["method"], sort=False).mean() >= ENOUGH


def scored_by_all(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the examples that every compared method scored (one that scored too few is not compared)."""
    rows = rows[rows["method"].map(_able(rows))]
    without = rows.loc[rows["score"].isna(), "id"].unique()
    return rows[~rows["id"].isin(without)]


def table(rows: pd.DataFrame, baseline: str, draws: int, seed: int) -> pd.DataFrame:
    """One row a method, best first, on the test summaries that all methods scored; last those that scored too few.

    Args:
        rows: what ``score`` returned, and where wanted ``style.score`` below.
        baseline: the method that every other one is tested against, besides the next best.
        draws: bootstrap samples of every interval; a document's summaries are drawn together.
        seed: of the draws.

    Returns:
        ``method, trained_on`` (validation summaries that a method learned from), ``n, unscored, claims`` (mean number),
        ``theta``, ``accuracy`` with ``low`` and ``high``, the share
        ``found`` of the hallucinated summaries and the share ``kept`` of the faithful ones, all in percent, ``auc``,
        ``next_best`` (the method below; of methods that did not learn here only, and for those that did the best of these)
        and the two-sided ``p`` against it (paired bootstrap over documents, each method's theta held), ``p_baseline`` against
        the baseline, ``p_holm`` and ``p_baseline_holm`` corrected for all comparisons in their column (Holm), and the
        commonest ``reason`` why summaries have no score. A method that scored less than ``ENOUGH`` of the summaries has
        no numbers but ``unscored``.
    """
    common = scored_by_all(rows)
    if common.empty:
        raise ValueError(f"no method scored {ENOUGH:.0%} of the summaries: {rows['reason'].value_counts().to_dict()}")
    results, answers = [], {}
    for name, part in common.groupby("method", sort=False):
        test = part[part["split"] == TEST]
        cut = theta(part[part["split"] == TRAINING])
        answers[name] = right(test, cut).set_axis(test["document_id"])
        accuracy = statistics.bootstrap_mean(100 * answers[name], test["document_id"], draws, seed)
        hits = 100 * answers[name].groupby(test["label"].to_numpy()).mean()
        results.append(
            {
                "method": name,
                "trained_on": part["trained_on"].iloc[0],
                "n": len(test),
                "claims": test["n_claims"].mean() if test["n_claims"].any() else np.nan,
                "theta": cut,
                "accuracy": accuracy.value,
                "low": accuracy.low,
                "high": accuracy.high,
                "found": hits[0.0],
                "kept": hits[1.0],
                "auc": statistics.auc(test["label"], test["score"]),
            }
        )
    result = pd.DataFrame(results).sort_values("accuracy", ascending=False, kind="stable", ignore_index=True)
    untaught = result.loc[result["trained_on"].isna(), "method"]
    below = dict.fromkeys(set(answers) - set(untaught), next(iter(untaught), None)) | dict(pairwise(untaught))
    below = {method: other for method, other in below.items() if other is not None}
    against = dict.fromkeys(set(answers) - {baseline}, baseline) if baseline in answers else {}
    for column, other in (("p", below), ("p_baseline", against)):
        result[column] = [
            compared(answers[m], answers[other[m]], seed) if m in other else np.nan for m in result["method"]
        ]
        result[f"{column}_holm"] = significance.holm(result[column])
    result.insert(result.columns.get_loc("p"), "next_best", result["method"].map(below))
    return _with_unscored(result, rows)


def _with_unscored(result: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The table with the methods that scored too few summaries below, how many have no score, and why."""
    methods = rows["method"].unique()
    result = result.set_index("method").reindex(
        [*result["method"], *(m for m in methods if m not in set(result["method"]))]
    )
    without = rows[(rows["split"] == TEST) & rows["score"].isna()].groupby("method")["reason"]
    result["trained_on"] = rows.groupby("method")["trained_on"].first().reindex(result.index).astype("Int64")
    result.insert(2, "unscored", without.size().reindex(result.index, fill_value=0))
    result["n"] = result["n"].fillna(0).astype(int)
    result["reason"] = without.agg(lambda reasons: reasons.mode().get(0)).reindex(result.index)
    return result.reset_index()


def curves(rows: pd.DataFrame, methods: Collection[str], steps: int = 200) -> pd.DataFrame:
    """The ROC curve of some methods, and their test accuracy at every theta in [0, 1], with the theta used marked.

    Args:
        rows: what ``score`` returned, and where wanted ``style.score``.
        methods: which to draw; those without a result are left out.
        steps: thetas between 0 and 1.

    Returns:
        ``panel`` (``ROC`` or ``effect of theta``), ``method, x, y, mark``. Positive is a hallucinated summary.
    """
    parts = []
    common = scored_by_all(rows)
    for name, part in common[common["method"].isin(methods)].groupby("method", sort=False):
        test, cut = part[part["split"] == TEST], theta(part[part["split"] == TRAINING])
        false_alarms, found, _ = roc_curve(test["label"] == 0, -test["score"])
        flagged = test["score"] < cut
        used = flagged[test["label"] == 1].mean(), flagged[test["label"] == 0].mean()
        places = np.append(np.linspace(0, 1, steps + 1), cut)
        heights = [100 * right(test, place).mean() for place in places]
        for panel, x, y, marked in (
            ("ROC", np.append(false_alarms, used[0]), np.append(found, used[1]), len(found)),
            ("effect of theta", places, heights, steps + 1),
        ):
            frame = pd.DataFrame({"panel": panel, "method": name, "x": x, "y": y, "mark": np.arange(len(x)) == marked})
            parts.append(frame.sort_values(["x", "y"], kind="stable"))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["panel", "method", "x", "y", "mark"])


#: The axes of ``curves``' panels.
AXES = {
    "ROC": ("faithful summaries flagged (share)", "hallucinated summaries found (share)"),
    "effect of theta": ("theta", "accuracy on the test split (%)"),
}


def best_thetas(rows: pd.DataFrame, baseline: str, seed: int = 0, steps: int = 200) -> pd.DataFrame:
    """What the midpoint costs: test accuracy at theta, and at the theta that is best on the *training* part.

    Returns:
        ``method, theta, accuracy, best_training_theta, its_accuracy``, accuracies in percent on the test part, and
        ``its_p_baseline``: p against the baseline (as in ``table``) with both at their best training theta, and
        ``its_p_baseline_holm``, corrected for all of these comparisons.
    """
    results, answers = [], {}
    for name, part in scored_by_all(rows).groupby("method", sort=False):
        training, test = part[part["split"] == TRAINING], part[part["split"] == TEST]
        cut = theta(training)
        places = np.linspace(0, 1, steps + 1)
        best = float(places[int(np.argmax([right(training, place).mean() for place in places]))])
        answers[name] = right(test, best).set_axis(test["document_id"])
        results.append((name, cut, 100 * right(test, cut).mean(), best, 100 * answers[name].mean()))
    result = pd.DataFrame(results, columns=["method", "theta", "accuracy", "best_training_theta", "its_accuracy"])
    others = set(answers) - {baseline} if baseline in answers else set()
    tested = [compared(answers[m], answers[baseline], seed) if m in others else np.nan for m in result["method"]]
    return result.assign(its_p_baseline=tested, its_p_baseline_holm=significance.holm(tested))


def constant(rows: pd.DataFrame) -> float:
    """Accuracy in percent of giving every test summary the answer that is right more often."""
    common = scored_by_all(rows)
    share = common.loc[common["split"] == TEST, "label"].mean()
    return 100 * max(share, 1 - share)


def with_published(ours: pd.DataFrame, published: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """Adds ``GPT-4`` and ``ChatGPT``: the accuracies that the paper's Table 1 gives for the method of the same kind.

    They are of HaluEval: on another ``corpus`` there is nothing to compare and the columns are empty.
    """
    values = published.set_index("row")["value"] if corpus.startswith(PUBLISHED_CORPUS) else pd.Series(dtype=float)
    rows = [PUBLISHED_ROWS.get(method, (None, None)) for method in ours["method"]]
    columns = zip(PUBLISHED_MODELS, zip(*rows, strict=True), strict=True)
    return ours.assign(**{name: [values.get(row, np.nan) for row in column] for name, column in columns})


def headline(rows: pd.DataFrame) -> Mapping[str, Mapping[str, float]]:
    """Accuracy and AUC by method, for ``dvc metrics show``; not of methods that were not scored."""
    return {row.method: {"accuracy": row.accuracy, "auc": row.auc} for row in rows[rows["n"] > 0].itertuples()}


def sizes(rows: pd.DataFrame) -> Mapping[str, str]:
    """Documents and summaries by part."""
    first = rows[rows["method"] == rows["method"].iloc[0]].groupby("split")
    return {name: f"{part['document_id'].nunique()} documents, {len(part)} summaries" for name, part in first}


def asking(methods: Mapping[str, Mapping]) -> list[str]:
    """The methods that ask the model something.

    >>> asking({"factored": {"aggregate": "product"}, "word-overlap": {"judge": "word-overlap"}})
    ['factored']
    """
    return [name for name, method in methods.items() if method.get("judge") != WordOverlap.name]
