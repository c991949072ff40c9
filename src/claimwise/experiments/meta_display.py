"""What the notebook on metrics against people's labels shows of its tables, and what it says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from claimwise.analysis.tables import p_value
from claimwise.experiments.meta_evaluation import PUBLISHED_ROWS, panels
from claimwise.experiments.recorded import MARK


def sizes(rows: pd.DataFrame) -> Mapping[str, str]:
    """Test rows by corpus and group, with the share labelled faithful."""
    first = rows.sort_values("n", ascending=False, kind="stable").drop_duplicates(["corpus", "group"]).sort_index()
    return {f"{r.corpus}/{r.group}": f"{r.n} ({100 * r.faithful:.0f} % faithful)" for r in first.itertuples()}


def display(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns that the notebook shows; what is empty or zero throughout is not among them. The csv has all."""
    columns = ["corpus", "group", "metric", "n", "unscored", "threshold", "balanced_accuracy", "low", "high"]
    columns += [
        "tuned",
        "published_interval",
        "difference",
        "p_holm",
        "auc",
        "auc_difference",
        "auc_p_holm",
        "published",
    ]
    ends = zip(rows["tuned_low"], rows["tuned_high"], strict=True)
    shown = rows.assign(tuned=[f"{low:.1f} to {high:.1f}" if low == low else None for low, high in ends])[columns]
    idle = [name for name in ("unscored", "published") if not rows[name].fillna(0).any()]
    return shown.drop(columns=idle).rename(columns={"published_interval": "± as in the papers"})


def by_documents(rows: pd.DataFrame, whole: pd.DataFrame) -> pd.DataFrame:
    """Balanced accuracy and AUC on a split by documents, beside the papers' split.

    Args:
        rows: what ``table`` returned of ``split_by_documents``, with ``corpus``.
        whole: the same of the corpora's own splits.
    """
    return _beside(rows, whole, ["balanced_accuracy", "low", "high", "auc"], "_of_the_papers_split")


def at_one_threshold(rows: pd.DataFrame, whole: pd.DataFrame) -> pd.DataFrame:
    """Balanced accuracy at one threshold for all groups of a corpus, beside that at one a group.

    Args:
        rows: what ``table`` returned of ``with_one_threshold``, with ``corpus``.
        whole: the same with a threshold a group.
    """
    return _beside(rows, whole, ["balanced_accuracy", "low", "high"], "_at_one_a_group")


def _beside(rows: pd.DataFrame, whole: pd.DataFrame, measures: Sequence[str], suffix: str) -> pd.DataFrame:
    keys = ["corpus", "group", "metric"]
    again = [name for name in measures if name in ("balanced_accuracy", "auc")]
    return rows[[*keys, "n", "threshold", *measures]].merge(whole[[*keys, *again]], on=keys, suffixes=("", suffix))


def document_findings(rows: pd.DataFrame, baseline: str) -> list[str]:
    """What the other split changes, a sentence a corpus and group; ``rows``: what ``by_documents`` returned."""
    sentences = []
    rows = rows[~rows["metric"].str.contains(MARK, regex=False)].dropna(subset=["auc", "auc_of_the_papers_split"])
    for place, part in rows.groupby(panels(rows), sort=False):
        columns = ("auc", "auc_of_the_papers_split")
        ranges = [
            f"{part[column].min():.2f} to {part[column].max():.2f}"
            + "".join(f" (`{baseline}` {value:.2f})" for value in part.loc[part["metric"] == baseline, column])
            for column in columns
        ]
        moved = (part[columns[0]] - part[columns[1]]).abs()
        sentences.append(
            f"**{place}**, split by documents: our metrics' AUC is {ranges[0]}, on the papers' split {ranges[1]}. Which summaries "
            f"are reported moves `{part.loc[moved.idxmax(), 'metric']}` by {moved.max():.2f}: no order is to be taken from one "
            "split alone."
        )
    return sentences


def threshold_findings(rows: pd.DataFrame) -> list[str]:
    """What one threshold for all groups changes, a sentence a corpus and group; ``rows``: of ``at_one_threshold``."""
    sentences = []
    rows = rows[~rows["metric"].str.contains("published")].dropna(subset=["balanced_accuracy"])
    for place, part in rows.groupby(panels(rows), sort=False):
        part = part.set_index("metric")
        one, own = (part[name] for name in ("balanced_accuracy", "balanced_accuracy_at_one_a_group"))
        moved = one - own
        sentences.append(
            f"**{place}**, all groups of the corpus cut at one threshold: our metrics' balanced accuracy is {one.min():.1f} to "
            f"{one.max():.1f} (`{one.idxmax()}`), at a threshold of its own {own.min():.1f} to {own.max():.1f}; "
            f"`{moved.abs().idxmax()}` moves most, by {moved[moved.abs().idxmax()]:+.1f}."
        )
    return sentences


def pair_display(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns of ``pairs`` that the notebook shows, with the corrected p."""
    gaps = ["difference", "difference_low", "difference_high", "p_holm"]
    return rows[["corpus", "group", "metric", "against", *gaps, *(f"auc_{name}" for name in gaps)]]


def correlations(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Kendall's tau-b, where there are three systems or more, with ACUEval's values for the metric of the same kind.

    Args:
        rows: what ``table`` returned, with ``corpus``.
        published: ACUEval's Table 7.
    """
    shown = rows.dropna(subset=["systems"]).rename(columns={"kendall_documents": "documents"})
    values = published.set_index(["corpus", "row", "measure"])["value"]
    keys = list(zip(shown["corpus"], shown["metric"].map(PUBLISHED_ROWS), strict=True))
    beside = {
        f"published_{measure.removeprefix('kendall_')}": [values.get((*key, measure), np.nan) for key in keys]
        for measure in ("kendall_system", "kendall_summary")
    }
    columns = ["corpus", "group", "metric", "systems", "kendall_system", "documents", "kendall_summary", *beside]
    shown = shown.assign(**beside)[columns].astype({"systems": int, "documents": int})
    return shown.drop(columns=[name for name in beside if shown[name].isna().all()])


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


def limits(corpora: Iterable[str]) -> list[str]:
    """What the labels of some corpora cannot show, for the caveats.

    >>> limits(["sample"])
    []
    """
    summeval = [
        "SummEval: 12 of its 16 systems are at hand, the published numbers are of all. Its split is by the parity of the rows, as the "
        "papers have it: validation and test share documents, with disjoint systems.",
        "SummEval was not trained on, but of two ways to combine the embedded judge's parts its validation rows chose one, when "
        "the other's test scores had been seen (docs/development.md): the `holistic` row there is not untouched.",
    ]
    return summeval if "summeval" in corpora else []


def pair_findings(rows: pd.DataFrame) -> list[str]:
    """What the pairs say, a sentence each: by AUC, which asks no threshold, and whether either measure tells them apart.

    Args:
        rows: what ``corrected`` made of ``pairs``, of all corpora.
    """
    sentences = []
    for (metric, against), part in rows.groupby(["metric", "against"], sort=False):
        gaps = [
            f"{place} {row.auc_difference:+.3f} ({row.auc_difference_low:+.3f} to {row.auc_difference_high:+.3f})"
            for place, row in zip(panels(part), part.itertuples(), strict=True)
        ]
        sure = [
            f"{place} ({measure}, {form.format(value)}, corrected p {p_value(p)})"
            for column, measure, form in (("", "balanced accuracy", "{:+.1f}"), ("auc_", "AUC", "{:+.3f}"))
            for place, value, p in zip(panels(part), part[f"{column}difference"], part[f"{column}p_holm"], strict=True)
            if p < 0.05
        ]
        sentences.append(
            f"`{metric}` less `{against}` in AUC: {'; '.join(gaps)}. After Holm's correction for all pairs here "
            + (
                f"they are told apart on {', '.join(sure)}."
                if sure
                else "they are told apart on none, by either measure."
            )
        )
    return sentences


def tau_findings(rows: pd.DataFrame) -> list[str]:
    """Kendall's tau between the means of systems, where there are enough; ``rows`` as in ``findings``."""
    enough = rows.dropna(subset=["kendall_system"])
    return [
        f"**{place}**: between the means of {part['systems'].iloc[0]:.0f} systems Kendall's tau with people is "
        + ", ".join(f"{row.kendall_system:.2f} (`{row.metric}`)" for row in part.itertuples())
        + ", without intervals; so few systems hardly rank metrics."
        for place, part in enough.groupby(panels(enough), sort=False)
    ]


def _told_apart(rows: pd.DataFrame, baseline: str, measure: str, difference: str, p: str, form: str) -> list[str]:
    """How many metrics differ from the baseline beyond chance, and which; nothing where none was tested."""
    tested = rows.dropna(subset=[p])
    sure = tested[tested[f"{p}_holm"] < 0.05]
    named = [
        f"`{metric}` on {place} ({form.format(value)})"
        for metric, place, value in zip(sure["metric"], panels(sure), sure[difference], strict=True)
    ]
    if tested.empty:
        return []
    return [
        f"Of {len(tested)} comparisons of {measure} with {baseline}, {(tested[p] < 0.05).sum()} are significant one by one "
        f"(p < .05) and {len(sure)} after Holm's correction for all of them"
        + (f": {', '.join(named)}." if named else ".")
    ]
