"""Systems ranked by the faithfulness of their summaries (ACUEval Tables 5 and 6)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from claimwise import text
from claimwise.analysis.significance import holm
from claimwise.analysis.statistics import bootstrap_mean
from claimwise.analysis.tables import p_value
from claimwise.corpora import Corpus
from claimwise.errors import ClaimwiseError

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


def summaries(corpus: Corpus, scores: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The summaries that are compared, each with its scores.

    Args:
        corpus: its examples; those that the first metric looked at, on the documents that all systems summarised.
        scores: score tables of our metrics; the first ranks.

    Returns:
        The examples with ``answered, words`` and a column a metric, ours and published.

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
    return examples.assign(
        answered=examples["summary"].map(answered),
        words=examples["summary"].map(text.word_count),
        **{name: examples["id"].map(t.set_index("example_id")["score"]) for name, t in scores.items()},
        **{name: examples["id"].map(t.set_index("example_id")["score"]) for name, t in corpus.scores.groupby("metric")},
    )


def table(corpus: Corpus, scores: Mapping[str, pd.DataFrame], draws: int, seed: int) -> pd.DataFrame:
    """One row a system, best first by the first metric.

    Args:
        corpus: see ``summaries``.
        scores: score tables of our metrics; the first ranks.
        draws: bootstrap draws.
        seed: of the draws.

    Returns:
        ``system, ranks`` (see ``ranks``; missing for a system without a scored answer), ``n`` (summaries), ``answered``
        (percent), ``scored`` (answers with a score by the first metric), ``words`` (mean of the answers), and for every
        metric, ours and published, the mean over answers with ``<metric>_low`` and ``<metric>_high`` for the first one;
        ``faithful``: share of summaries that people labelled faithful, where there are labels.
    """
    first, frame = next(iter(scores)), summaries(corpus, scores)
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
                "scored": int(kept[first].notna().sum()),
                "words": kept["words"].mean(),
                f"{first}_low": interval.low,
                f"{first}_high": interval.high,
                **{name: kept[name].mean() for name in metrics},
                "faithful": kept["label"].mean(),
            }
        )
    result = pd.DataFrame(rows).sort_values(first, ascending=False, ignore_index=True)
    places = ranks(pairs(frame, first))
    found = result["system"].map(lambda system: places.get(system, "1"))  # a system alone is in no pair
    result["ranks"] = found.where(result[first].notna())
    counted = ["system", "ranks", "n", "answered", "scored", "words"]
    ordered = [*counted, first, f"{first}_low", f"{first}_high", *metrics[1:], "faithful"]
    return result[ordered].dropna(axis=1, how="all")


def pairs(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Every two systems compared on the documents that both answered (paired t-test).

    Args:
        frame: what ``summaries`` returned.
        metric: one of its columns.

    Returns:
        ``system, other, documents, difference`` (mean score of the first minus that of the other on these), ``p``, NaN
        where they share fewer than two documents, and ``p_holm``, corrected for all pairs.

    >>> frame = pd.DataFrame({"document_id": list("xyzxyz"), "system": list("aaabbb"), "answered": True})
    >>> pairs(frame.assign(m=[0.9, 0.8, 0.9, 0.1, 0.2, 0.1]), "m").round(3).to_dict("records")
    [{'system': 'a', 'other': 'b', 'documents': 3, 'difference': 0.733, 'p': 0.008, 'p_holm': 0.008}]
    """
    wide = frame[frame["answered"]].pivot_table(index="document_id", columns="system", values=metric)
    rows = []
    for one, other in combinations(wide.columns, 2):
        gaps = (wide[one] - wide[other]).dropna().round(12)  # equal gaps, whatever their rounding
        constant = len(gaps) > 1 and np.ptp(gaps) == 0  # no spread: nothing or everything is certain
        p = float(not gaps.any()) if constant else stats.ttest_1samp(gaps, 0).pvalue if len(gaps) > 1 else np.nan
        rows.append((one, other, len(gaps), gaps.mean(), p))
    result = pd.DataFrame(rows, columns=["system", "other", "documents", "difference", "p"])
    return result.assign(p_holm=holm(result["p"]))


def ranks(compared: pd.DataFrame) -> dict[str, str]:
    """By system, the ranks that it may have: below those that are surely better, above those that are surely worse.

    Args:
        compared: what ``pairs`` returned. Sure is a corrected p below 0.05: with 95 % certainty no rank is wrong.

    >>> ranks(pd.DataFrame({"system": list("aab"), "other": list("bcc"), "difference": 0.1, "p_holm": [0.2, 0.01, 0.5]}))
    {'a': '1 to 2', 'b': '1 to 3', 'c': '2 to 3'}
    """
    names = pd.unique(pd.concat([compared["system"], compared["other"]]))
    sure = compared[compared["p_holm"] < 0.05]
    better = pd.concat(
        [sure.loc[sure["difference"] > 0, "system"], sure.loc[sure["difference"] < 0, "other"]]
    ).value_counts()
    worse = pd.concat(
        [sure.loc[sure["difference"] > 0, "other"], sure.loc[sure["difference"] < 0, "system"]]
    ).value_counts()
    found = {}
    for name in names:
        first, last = 1 + worse.get(name, 0), len(names) - better.get(name, 0)
        found[str(name)] = str(first) if first == last else f"{first} to {last}"
    return found


def neighbours(rows: pd.DataFrame, compared: pd.DataFrame) -> pd.DataFrame:
    """The systems in rank order, each with those that no test tells from it.

    Args:
        rows: what ``table`` returned; systems without a scored answer are left out.
        compared: what ``pairs`` returned for the same summaries.

    Returns:
        ``place, system, ranks`` and ``not_told_from``: the places of those systems.

    >>> compared = pd.DataFrame({"system": list("aab"), "other": list("bcc"), "p_holm": [0.01, 0.2, 0.01]})
    >>> rows = pd.DataFrame({"system": list("abc"), "ranks": ["1 to 2", "2", "1 to 3"]})
    >>> neighbours(rows, compared)["not_told_from"].tolist()
    ['3', 'none', '1']
    """
    ranked = rows.dropna(subset=["ranks"])[["system", "ranks"]].reset_index(drop=True)
    places = {name: str(place) for place, name in enumerate(ranked["system"], start=1)}
    tied = [", ".join(places[other] for other in _tied(ranked, compared, name)) or "none" for name in ranked["system"]]
    return ranked.assign(not_told_from=tied).reset_index(names="place").assign(place=lambda frame: frame["place"] + 1)


def agreement(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Kendall's tau-b and Pearson's r between the metric's system means and every other column's.

    Returns:
        ``beside, systems`` (how many have both), ``kendall, p, pearson``.
    """
    skipped = {"system", "ranks", "n", "answered", "scored", metric, f"{metric}_low", f"{metric}_high"}
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


def published_table(rows: pd.DataFrame) -> pd.DataFrame:
    """ACUEval's Table 6 as it is printed, systems down: people's mean rating and ACUEval's score by corpus; last Kendall's
    tau-b of the two over the systems that a corpus has both of."""
    wide = rows.pivot_table(index="row", columns=["origin", "measure"], values="value", sort=False)
    taus = {}
    for origin in wide.columns.unique("origin"):
        both = wide[origin].dropna()
        taus[origin, "acueval"] = stats.kendalltau(both["acueval"], both["human"]).statistic
    wide.loc["Kendall's tau of both"] = pd.Series(taus)
    wide.columns = [f"{origin}, {measure}" for origin, measure in wide.columns]
    return wide.reset_index(names="system")


def findings(rows: pd.DataFrame, compared: pd.DataFrame, metric: str) -> list[str]:
    """What the table says, in words, whichever way it came out.

    Args:
        rows: what ``table`` returned.
        compared: what ``pairs`` returned for the same summaries.
        metric: that ranks.
    """
    partly = _partly_scored(rows)
    rows = rows.dropna(subset=[metric])
    best, last = rows.iloc[0], rows.iloc[-1]
    if len(rows) == 1:
        return [
            f"`{best['system']}`, the only system with scored answers, has a mean {metric} score of {best[metric]:.3f}: nothing to rank."
        ]
    tied = _tied(rows, compared, best["system"])
    sure = int((compared["p_holm"] < 0.05).sum())
    sentences = [
        f"`{best['system']}` has the highest mean {metric} score, {best[metric]:.3f}, `{last['system']}` the lowest, "
        f"{last[metric]:.3f}.{partly} Of {len(compared)} pairs of systems {sure} are told apart (paired t-tests, p < .05 after "
        "Holm's correction); "
        + (
            f"nothing tells these from the first: {', '.join(f'`{name}`' for name in tied)}."
            if tied
            else "the first is told apart from every other system."
        )
    ]
    sentences += _against_people(rows, compared)
    for row in agreement(rows, metric).itertuples():
        if row.beside != "words":
            sentences.append(
                f"Kendall's tau with `{row.beside}` over {row.systems} systems is {row.kendall:.2f} (p {p_value(row.p)})."
            )
    return sentences


def _partly_scored(rows: pd.DataFrame) -> str:
    """Which systems' means are not over all of their summaries, in words; nothing if all are.

    >>> _partly_scored(pd.DataFrame({"system": ["a", "b"], "n": 9, "scored": [8, 9]}))
    ' Means are over answers with a score: of `a` over 8 of 9 summaries, of the others over all.'
    """
    short = rows[rows["scored"] < rows["n"]]
    if short.empty:
        return ""
    told = ", ".join(f"of `{row.system}` over {row.scored} of {row.n} summaries" for row in short.itertuples())
    return (
        f" Means are over answers with a score: {told}{', of the others over all' if len(short) < len(rows) else ''}."
    )


def _tied(rows: pd.DataFrame, compared: pd.DataFrame, system: str) -> list[str]:
    """The systems that no test tells from one. ``ranks`` would not say: a system may be surely worse than the
    second and yet not told from the first, where their scores differ less evenly.

    >>> compared = pd.DataFrame({"system": list("aab"), "other": list("bcc"), "p_holm": [0.01, 0.2, 0.01]})
    >>> _tied(pd.DataFrame({"system": list("abc")}), compared, "a")
    ['c']
    """
    sure = compared[compared["p_holm"] < 0.05]
    with_it = sure[(sure["system"] == system) | (sure["other"] == system)]
    apart = {system, *with_it["system"], *with_it["other"]}
    return [name for name in rows["system"] if name not in apart]


def _against_people(rows: pd.DataFrame, compared: pd.DataFrame) -> list[str]:
    """The two systems that people's labels set furthest apart, and what the metric says of them."""
    known = rows.dropna(subset=["faithful"]) if "faithful" in rows else rows.iloc[:0]
    if len(known) < 2 or np.ptp(known["faithful"]) == 0:
        return []
    best, worst = known.loc[known["faithful"].idxmax()], known.loc[known["faithful"].idxmin()]
    names = {best["system"], worst["system"]}
    [pair] = [row for row in compared.itertuples() if {row.system, row.other} == names]
    gap = pair.difference if pair.system == best["system"] else -pair.difference
    sure = pair.p_holm < 0.05
    verdict = (
        "the metric tells them apart, too"
        if sure and gap > 0
        else "**the metric has them the wrong way round**"
        if sure
        else "**the metric does not tell them apart**: its order is no evidence here"
    )
    return [
        f"People found {100 * best['faithful']:.0f} % of the summaries of `{best['system']}` faithful and "
        f"{100 * worst['faithful']:.0f} % of those of `{worst['system']}`; {verdict} ({gap:+.3f}, corrected p "
        f"{p_value(pair.p_holm)})."
    ]
