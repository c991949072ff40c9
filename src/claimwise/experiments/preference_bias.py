"""Does a metric score the model's summary higher whatever people preferred (ACUEval sec. 5.2, Figure 2)?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from claimwise import text
from claimwise.corpora import Corpus
from claimwise.statistics import bootstrap_mean

#: The raters' verdict on the model's summary, in the order of ACUEval's figure.
CASES = {"first": "model worse", "equal": "equal", "second": "model better"}


def pairs(corpus: Corpus, scores: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row a judgment and metric.

    Returns:
        ``metric, document_id, case, writer`` and ``model`` (the two summaries' scores), ``difference`` (model minus
        writer) and ``log_length`` (log of the model summary's words over the writer's). Judgments with an unscored
        summary have NaN there.
    """
    examples = corpus.examples.set_index("id")
    words = examples["summary"].map(text.word_count).clip(lower=1)
    frames = []
    for metric, table in scores.items():
        score = table.set_index("example_id")["score"]
        judgments = corpus.preferences
        first, second = judgments["first_id"], judgments["second_id"]
        writer, model = first.map(score), second.map(score)
        frames.append(
            pd.DataFrame(
                {
                    "metric": metric,
                    "document_id": first.map(examples["document_id"]),
                    "case": judgments["preferred"].map(CASES),
                    "writer": writer,
                    "model": model,
                    "difference": model - writer,
                    "log_length": np.log(second.map(words) / first.map(words)),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def table(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """Mean scores by case: one row a (metric, case).

    Returns:
        ``metric, case, n, unscored, writer, model, difference`` with its 95 % interval ``low``, ``high``, and
        ``at_equal_length``: the mean difference that is left at equal length (intercept of a least-squares line of
        the difference on ``log_length`` with one slope for all cases).
    """
    results = []
    for metric, every in rows.groupby("metric", sort=False):
        scored = every.dropna(subset=["difference"])
        slope = _length_slope(scored)
        for case in CASES.values():
            part = scored[scored["case"] == case]
            interval = bootstrap_mean(part["difference"], part["document_id"], draws, seed)
            results.append(
                {
                    "metric": metric,
                    "case": case,
                    "n": len(part),
                    "unscored": int((every["case"] == case).sum()) - len(part),
                    "writer": part["writer"].mean(),
                    "model": part["model"].mean(),
                    "difference": interval.value,
                    "low": interval.low,
                    "high": interval.high,
                    "at_equal_length": (part["difference"] - slope * part["log_length"]).mean(),
                }
            )
    return pd.DataFrame(results)


def _length_slope(rows: pd.DataFrame) -> float:
    """Slope of difference on log length with an intercept per case (within-case least squares)."""
    centred = rows[["difference", "log_length"]] - rows.groupby("case")[["difference", "log_length"]].transform("mean")
    spread = float((centred["log_length"] ** 2).sum())
    return float((centred["difference"] * centred["log_length"]).sum() / spread) if spread else 0.0


def agreement(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """How often each metric orders a pair as the raters did, among the pairs that they did not call equal.

    Returns:
        ``metric, n, ordered`` (share, equal scores count half) with ``low`` and ``high``, ``model_higher`` (share of
        all pairs in which the model's summary scores higher: .5 plus a bias or a merit), ``bias`` (mean difference over
        the three cases, each with the same weight: 0 for a metric that only follows the raters).
    """
    results = []
    for metric, every in rows.groupby("metric", sort=False):
        scored = every.dropna(subset=["difference"])
        decided = scored[scored["case"] != "equal"]
        sign = np.where(decided["case"] == "model better", 1, -1)
        order = (np.sign(decided["difference"] * sign) + 1) / 2
        interval = bootstrap_mean(order, decided["document_id"], draws, seed)
        results.append(
            {
                "metric": metric,
                "n": len(decided),
                "ordered": interval.value,
                "low": interval.low,
                "high": interval.high,
                "model_higher": float(((np.sign(scored["difference"]) + 1) / 2).mean()),
                "bias": float(scored.groupby("case")["difference"].mean().mean()),
            }
        )
    return pd.DataFrame(results)


def headline(cases: pd.DataFrame, ordered: pd.DataFrame) -> Mapping[str, Mapping[str, float]]:
    """Mean differences by case and the agreement, for ``dvc metrics show``."""
    values = {m: dict(zip(part["case"], part["difference"], strict=True)) for m, part in cases.groupby("metric")}
    for row in ordered.itertuples():
        values[row.metric] |= {"ordered as raters": row.ordered}
    return values


def sizes(rows: pd.DataFrame) -> Mapping[str, int]:
    """Judgments by case."""
    return rows.groupby("case", sort=False)["n"].max().to_dict()


def long_form(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a bar: ``metric, case, author, score``."""
    parts = [rows[["metric", "case"]].assign(author=author, score=rows[author]) for author in ("writer", "model")]
    return pd.concat(parts, ignore_index=True)


def findings(cases: pd.DataFrame, ordered: pd.DataFrame) -> list[str]:
    """What the tables say, in words, whichever way they came out."""
    sentences = []
    for metric, part in cases.groupby("metric", sort=False):
        part, row = part.set_index("case"), ordered.set_index("metric").loc[metric]
        signs = np.sign(part["difference"])
        if (signs > 0).all():
            shape = "scores the model's summary higher in all three cases: the pattern of a preference bias"
        elif (signs < 0).all():
            shape = (
                "scores the person's summary higher in all three cases: no bias towards the model, rather against it"
            )
        elif part.loc["model better", "difference"] > part.loc["model worse", "difference"]:
            shape = "moves with the raters: its difference is larger where they preferred the model"
        else:
            shape = "moves against the raters"
        clear = [case for case in part.index if part.loc[case, "low"] > 0 or part.loc[case, "high"] < 0]
        gaps = ", ".join(f"{gap:+.3f} when {case}" for case, gap in part["difference"].items())
        certain = "the interval leaves out zero for: " + ", ".join(clear) if clear else "every interval includes zero"
        sentences.append(
            f"**{metric}** {shape} (model minus writer {gaps}; {certain}). It orders {100 * row['ordered']:.0f} % of the "
            f"{int(row['n'])} decided judgments as the raters did ({100 * row['low']:.0f} to {100 * row['high']:.0f})."
        )
    shares = ordered.set_index("metric")["model_higher"]
    sentences.append(
        "The metrics' scales differ, so their gaps do not compare; the share of judgments in which the model's summary "
        "scores higher does: " + ", ".join(f"{100 * share:.0f} % for {name}" for name, share in shares.items()) + "."
    )
    return sentences
