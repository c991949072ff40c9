"""Systems ranked by the faithfulness of their summaries (ACUEval Tables 5 and 6)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from claimwise import text
from claimwise.corpora import Corpus
from claimwise.errors import ClaimwiseError
from claimwise.statistics import bootstrap_mean
from claimwise.tables import p_value

#: A reply of fewer words than this, or one that says that it will not, is no answer.
FEWEST_WORDS = 5
REFUSALS = ("i am unable", "i'm unable", "i cannot", "i can't", "i'm sorry", "sorry", "unable to", "cannot summarize")


def answered(summary: str) -> bool:
    """Whether a reply is a summary at all, the leaderboard's answer rate.

    >>> answered("I am unable to summarize this text."), answered("The council voted to close two schools.")
    (False, True)
    """
    start = summary.strip().lower().replace("’", "'")
    return text.word_count(summary) >= FEWEST_WORDS and not start.startswith(REFUSALS)


def table(corpus: Corpus, scores: Mapping[str, pd.DataFrame], draws: int, seed: int) -> pd.DataFrame:
    """One row a system, best first by the first metric.

    Args:
        corpus: its examples; those that the first metric looked at, on the documents that all systems summarised.
        scores: score tables of our metrics; the first ranks.
        draws: bootstrap draws.
        seed: of the draws.

    Returns:
        ``system, n`` (summaries), ``answered`` (percent), ``words`` (mean of the answers), and for every metric, ours
        and published, the mean over answers with ``<metric>_low`` and ``<metric>_high`` for the first one;
        ``faithful``: share of summaries that people labelled faithful, where there are labels.

    Raises:
        ClaimwiseError: the first metric scored none of the summaries.
    """
    first = next(iter(scores))
    if scores[first]["score"].isna().all():
        reasons = scores[first]["reason"].value_counts()
        why = "; ".join(f"{count} x {reason}" for reason, count in reasons.items())
        raise ClaimwiseError(f"{first} scored none of {len(scores[first])} summaries ({why}): choose another model")
    examples = corpus.examples[corpus.examples["id"].isin(scores[first]["example_id"])]
    # Means over different documents are not comparable: only documents that every system summarised count.
    by_document = examples.groupby("document_id")["system"].nunique()
    common = by_document.index[by_document == examples["system"].nunique()]
    examples = examples[examples["document_id"].isin(common)]
    frame = examples.assign(
        answered=examples["summary"].map(answered),
        words=examples["summary"].map(text.word_count),
        **{name: examples["id"].map(t.set_index("example_id")["score"]) for name, t in scores.items()},
        **{name: examples["id"].map(t.set_index("example_id")["score"]) for name, t in corpus.scores.groupby("metric")},
    )
    metrics = [*scores, *corpus.scores["metric"].unique()]
    rows = []
    for system, part in frame.groupby("system"):
        kept = part[part["answered"]]
        interval = bootstrap_mean(kept[first], kept["document_id"], draws, seed)
        rows.append(
            {
                "system": system,
                "n": len(part),
                "answered": 100 * part["answered"].mean(),
                "words": kept["words"].mean(),
                f"{first}_low": interval.low,
                f"{first}_high": interval.high,
                **{name: kept[name].mean() for name in metrics},
                "faithful": kept["label"].mean(),
            }
        )
    result = pd.DataFrame(rows).sort_values(first, ascending=False, ignore_index=True)
    ordered = ["system", "n", "answered", "words", first, f"{first}_low", f"{first}_high", *metrics[1:], "faithful"]
    return result[ordered].dropna(axis=1, how="all")


def agreement(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Kendall's tau-b and Pearson's r between the metric's system means and every other column's.

    Returns:
        ``beside, systems`` (how many have both), ``kendall, p, pearson``.
    """
    skipped = {"system", "n", "answered", metric, f"{metric}_low", f"{metric}_high"}
    results = []
    for name in [column for column in rows.columns if column not in skipped]:
        both = rows[[metric, name]].dropna()
        if len(both) > 2:
            tau = stats.kendalltau(both[metric], both[name])
            results.append(
                {
                    "beside": name,
                    "systems": len(both),
                    "kendall": tau.statistic,
                    "p": tau.pvalue,
                    "pearson": np.corrcoef(both[metric], both[name])[0, 1],
                }
            )
    return pd.DataFrame(results)


def headline(rows: pd.DataFrame, metric: str) -> Mapping[str, float]:
    """The metric's mean by system, for ``dvc metrics show``."""
    return dict(zip(rows["system"], rows[metric], strict=True))


#: Names of the Vectara folders' models in ACUEval's Table 5.
PUBLISHED_ROWS = {
    "meta-llama/Llama-2-70b-chat-hf": "Llama-2 70B",
    "meta-llama/Llama-2-13b-chat-hf": "Llama-2 13B",
    "meta-llama/Llama-2-7b-chat-hf": "Llama-2 7B",
    "anthropic/claude-2.0": "Claude 2",
    "CohereLabs/command": "Cohere",
    "CohereLabs/command-chat": "Cohere-Chat",
}


def with_published(ours: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Adds ACUEval's Table 5 (its score and HEM) for the systems that it lists; no columns where it lists none."""
    wide = published.pivot_table(index="row", columns="measure", values="value")
    rows = ours["system"].map(PUBLISHED_ROWS)
    added = {f"{name} (published)": rows.map(wide[name]) for name in ("acueval", "hem")}
    return ours.assign(**added).dropna(axis=1, how="all")


def sizes(rows: pd.DataFrame) -> str:
    """How many summaries a system has."""
    low, high = rows["n"].min(), rows["n"].max()
    return str(low) if low == high else f"{low} to {high}"


def findings(rows: pd.DataFrame, metric: str) -> list[str]:
    """What the table says, in words, whichever way it came out."""
    best, last = rows.iloc[0], rows.iloc[-1]
    tied = rows.loc[rows[f"{metric}_high"] >= best[f"{metric}_low"], "system"].tolist()
    sentences = [
        f"`{best['system']}` has the highest mean {metric} score, {best[metric]:.3f}, `{last['system']}` the lowest, "
        f"{last[metric]:.3f}. "
        + (
            f"The intervals of {len(tied) - 1} other systems overlap with the first one's: {', '.join(tied[1:])}."
            if len(tied) > 1
            else "No other system's interval overlaps with the first one's."
        )
    ]
    for row in agreement(rows, metric).itertuples():
        if row.beside != "words":
            sentences.append(
                f"Kendall's tau with `{row.beside}` over {row.systems} systems is {row.kendall:.2f} (p {p_value(row.p)})."
            )
    return sentences
