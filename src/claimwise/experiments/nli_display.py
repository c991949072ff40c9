"""What the notebook on FENICE's alignment shows of its tables: columns, words, one example."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from claimwise.analysis import published
from claimwise.analysis.tables import p_value
from claimwise.corpora import Corpus
from claimwise.experiments.nli_alignment import FULL, SENTENCES, STEPS
from claimwise.metrics import Evaluation, MetricSpec
from claimwise.metrics.fenice.alignment import AlignmentSettings
from claimwise.metrics.judge import WordOverlap

#: A step of more points of balanced accuracy than this, and of less AUC than that, is the threshold's.
MUCH, LITTLE = 5, 0.01


def what_was_cut(documents: int | Mapping[str, int | None] | None) -> str:
    """What the ablation leaves out, in words.

    >>> what_was_cut({"validation": 500, "test": None})
    'The ablation reads the first 500 validation documents by id, and all others.'
    >>> what_was_cut(None)
    'The ablation reads every document of its corpora.'
    """
    named = documents if isinstance(documents, Mapping) else {"": documents}
    parts = [f"the first {count} {split} documents".replace("  ", " ") for split, count in named.items() if count]
    if not parts:
        return "The ablation reads every document of its corpora."
    others = ", and all others" if None in named.values() else ""
    return f"The ablation reads {' and '.join(parts)} by id{others}."


def sizes(corpora: Mapping[str, Corpus]) -> dict[str, str]:
    """Documents that are read, by corpus and split.

    >>> from claimwise.corpora.base import Rows
    >>> rows = Rows("toy")
    >>> _ = rows.example(1, "a", document="It rained.", summary="Rain.")
    >>> sizes({"toy": rows.corpus()})
    {'toy': '1 test'}
    """
    counts = {name: corpus.examples.groupby("split")["document_id"].nunique() for name, corpus in corpora.items()}
    return {name: ", ".join(f"{n} {split}" for split, n in part.items()) for name, part in counts.items()}


def display(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns that the notebook shows."""
    columns = ["corpus", "group", "metric", "n", "threshold", "balanced_accuracy", "low", "high"]
    steps = ["step", "step_p", "step_p_holm", "auc", "auc_step", "auc_step_p_holm"]
    return rows[[*columns, *steps, "published"]]


def findings(rows: pd.DataFrame, levels: pd.DataFrame) -> list[str]:
    """What the tables say, in words, whichever way it came out.

    Args:
        rows: what ``nli_alignment.corrected`` returned, of all corpora.
        levels: ``nli_alignment.granularity`` of all corpora.
    """
    made = rows["step_p"].notna().sum()
    sentences = []
    for (corpus, group), part in rows.groupby(["corpus", "group"], sort=False):
        part = part.set_index("metric")
        title = f"**{corpus}{'' if group == 'all' else ', ' + group}**"
        if part.loc[list(STEPS), "balanced_accuracy"].isna().any():
            sentences.append(f"{title}: too few labelled summaries that every row scored to compare the rows.")
            continue
        values = [part.loc[step, "balanced_accuracy"] for step in STEPS]
        rising = "no row below the one above it, as in FENICE's Table 4"
        order = rising if values == sorted(values) else "FENICE's Table 4 rises row by row, this does not"
        sure = [step for step in STEPS[1:] if part.loc[step, "step_p_holm"] < 0.05]
        alone = [step for step in STEPS[1:] if part.loc[step, "step_p"] < 0.05 and step not in sure]
        sentences.append(
            f"{title}: "
            + ", ".join(f"{step} {value:.1f}" for step, value in zip(STEPS, values, strict=True))
            + f" ({order}). "
            + (
                f"Told apart from the row above (p < .05, corrected for the table's {made} steps): {', '.join(sure)}."
                if sure
                else f"No step is significant once corrected for the table's {made}."
            )
            + (f" Uncorrected only: {', '.join(alone)}." if alone else "")
            + f" All parts together are {part.loc[FULL, 'difference']:+.1f} points beside plain {SENTENCES} (p "
            f"{p_value(part.loc[FULL, 'p'])}, {p_value(part.loc[FULL, 'whole_p_holm'])} corrected for such comparisons). "
            + _areas(part)
            + _moved_thresholds(part)
        )
    claims = levels.groupby("label")["n"].sum()
    beyond = levels[levels["level"].isin(["window", "document"])].groupby("label")["n"].sum()
    wide = beyond.reindex(claims.index, fill_value=0) / claims
    sentences.append(
        "Claims, of all corpora, that find their best premise beyond one sentence: "
        + ", ".join(f"{100 * share:.0f} % ({label} summaries)" for label, share in wide.items())
        + ". Only claims under the gate are given the chance, so that those of a low score are more: the difference says as "
        "much about the gate as about the claims."
    )
    return sentences


def _areas(part: pd.DataFrame) -> str:
    """The same of the areas under the ROC curve, in words; ``part`` is one group's rows by metric."""
    sure = part.loc[list(STEPS[1:])].query("auc_step_p_holm < 0.05")["auc_step"]
    told = [f"{step} ({value:+.3f})" for step, value in sure.items()]
    whole = part.loc[FULL]
    return (
        "Without a threshold, AUC is "
        + ", ".join(f"{part.loc[step, 'auc']:.3f}" for step in STEPS)
        + f"; told apart from the row above, corrected: {', '.join(told) or 'none'}"
        + f"; all parts together {whole['auc_difference']:+.3f} ({whole['auc_difference_low']:+.3f} to "
        f"{whole['auc_difference_high']:+.3f}, p {p_value(whole['auc_p'])}, {p_value(whole['auc_whole_p_holm'])} corrected)."
    )


def _moved_thresholds(part: pd.DataFrame) -> str:
    """Steps that only a threshold can have made, in words; ``part`` is one group's rows by metric.

    >>> part = pd.DataFrame(index=list(STEPS)).assign(threshold=[0.6, 0.6, 0.7, 0.8], step=[None, 1, -8, 9])
    >>> print(_moved_thresholds(part.assign(auc_step=[None, 0, -0.002, 0.05])))
     At claims + coref balanced accuracy moves by -8.0 points and AUC by -0.002: that is mostly the threshold's doing (0.600 \
in the row above, 0.700 here), and the next step (+9.0) starts from there.
    """
    told = []
    for before, step, after in zip(STEPS, STEPS[1:], [*STEPS[2:], None], strict=False):
        row = part.loc[step]
        if not (abs(row["step"]) > MUCH and abs(row["auc_step"]) < LITTLE):
            continue
        told.append(
            f" At {step} balanced accuracy moves by {row['step']:+.1f} points and AUC by {row['auc_step']:+.3f}: that is mostly "
            f"the threshold's doing ({part.loc[before, 'threshold']:.3f} in the row above, {row['threshold']:.3f} here)"
            + (f", and the next step ({part.loc[after, 'step']:+.1f}) starts from there." if after else ".")
        )
    return "".join(told)


def about_grid(rows: pd.DataFrame) -> list[str]:
    """What windows and gates move, in words, a sentence a corpus.

    Args:
        rows: ``nli_alignment.sensitivity`` of all corpora.
    """
    sentences = []
    for corpus, part in rows.dropna(subset=["auc"]).groupby("corpus", sort=False):
        worst, best = (part.loc[part["auc"] == end].iloc[0] for end in (part["auc"].min(), part["auc"].max()))
        places = (f"j = {row['window']:g}, T = {row['gate']:g}" for row in (worst, best))
        sentences.append(
            "**{}**: over {} windows and gates AUC on {} validation summaries goes from {:.3f} ({}) to {:.3f} ({}; {:.3f} to "
            "{:.3f}). No cell is tested against another, and the highest of so many flatters itself; the lowest lies "
            "{} its interval.".format(
                *(corpus, len(part), best["n"], worst["auc"], next(places), best["auc"], next(places)),
                *(best["low"], best["high"]),
                "in" if worst["auc"] >= best["low"] else "below",
            )
        )
    return sentences


def about_long(rows: pd.DataFrame) -> list[str]:
    """Whether the metric follows people's ratings of long documents better than word overlap does, in words.

    Args:
        rows: ``nli_alignment.rated`` of all corpora.
    """
    sentences = []
    for corpus, part in rows.groupby("corpus", sort=False):
        base = part[part["metric"] == WordOverlap.name].iloc[0]
        compared = part.dropna(subset=["difference"])
        told = (compared["difference_low"] > 0) | (compared["difference_high"] < 0)
        sentences.append(
            f"**{corpus}**, {base['n']} summaries of long documents: Spearman's rho with people's ratings is "
            f"{base['spearman']:.2f} for word overlap; "
            + "; ".join(
                f"`{row.metric}` {row.spearman:.2f}, {row.difference:+.2f} ({row.difference_low:+.2f} to "
                f"{row.difference_high:+.2f}), {'told' if sure else 'not told'} apart from it"
                for row, sure in zip(compared.itertuples(), told, strict=True)
            )
            + "."
        )
    return sentences


def title(data: str, corpus: str, chosen: str) -> str:
    """The title of the example's figure; the ids of public corpora are often hashes that tell nothing.

    >>> title("sample", "sample", "moth:best"), title("public", "aggrefact_ftsota", "0a1f")
    ('Best premise of every claim, moth:best', 'Best premise of every claim, a test summary of aggrefact_ftsota')
    """
    return f"Best premise of every claim, {chosen if data == 'sample' else f'a test summary of {corpus}'}"


def settings(spec: MetricSpec) -> dict:
    """The alignment's settings, for the table of what was run."""
    return (spec.alignment or AlignmentSettings()).model_dump()


def grid(rows: pd.DataFrame) -> pd.DataFrame:
    """``sensitivity`` with one row a window and one column a gate, and the share of gated claims below."""
    if rows.empty:
        return pd.DataFrame({"window": ["no labelled validation summaries"]})
    parts = []
    for name, part in rows.groupby("corpus", sort=False):
        wide = part.pivot_table(index="window", columns="gate", values="auc")
        wide.index = [f"AUC, j = {window}" for window in wide.index]
        wide.loc["share gated"] = part.groupby("gate")["gated"].first()
        wide.columns = [f"T = {gate:g}" for gate in wide.columns]
        parts.append(wide.reset_index(names="window").assign(corpus=name, n=part["n"].max()))
    return corpus_first(pd.concat(parts, ignore_index=True))


def corpus_first(rows: pd.DataFrame) -> pd.DataFrame:
    """The table with its corpus before all else."""
    return rows[["corpus", *rows.columns.drop("corpus")]]


def labels(rows: pd.DataFrame, data: str) -> list[str]:
    """Numbers of the claims, with shortened texts where they may be shown: a public corpus's are not ours to print.

    >>> labels(pd.DataFrame({"claim": ["It rained.", "It poured."]}), "sample")
    ['1. It rained.', '2. It poured.']
    """
    if data != "sample":
        return [f"claim {number}" for number in range(1, len(rows) + 1)]
    texts = [claim if len(claim) <= 60 else claim[:57] + "..." for claim in rows["claim"]]
    return [f"{number}. {text}" for number, text in enumerate(texts, start=1)]


def shown(rows: pd.DataFrame, data: str) -> pd.DataFrame:
    """``example`` as a table, with the figure's numbers of the claims, and with texts where they may be shown."""
    places = zip(rows["first"], rows["last"], strict=True)
    shown = rows.assign(
        text=rows["claim"],
        claim=range(1, len(rows) + 1),
        sentences=[f"{a + 1}" if a == b else f"{a + 1}-{b + 1}" for a, b in places],
        entailment=rows["p_entail"],
        neutral=rows["p_neutral"],
        contradiction=rows["p_contradict"],
    )
    columns = ["claim", "text", "level", "sentences", "entailment", "neutral", "contradiction", "premise"]
    return shown[columns if data == "sample" else [name for name in columns if name not in ("text", "premise")]]


def published_tables(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Published balanced accuracies by the number of their table: metrics down, benchmarks across."""
    rows = pd.concat(rows.assign(number=number) for number, rows in tables.items())
    rows = rows.assign(benchmark=rows["number"] + ": " + rows["corpus"] + ", " + rows["origin"])
    return published.printed(rows, "benchmark")


def example(corpus: Corpus, full: Evaluation) -> tuple[str, pd.DataFrame]:
    """The summary whose claims use most levels, of equals the one with fewest claims, of these the first by id.

    Of the test split, unless that has no aligned claims.

    Returns:
        Its id, and one row a claim: ``claim, level, first, last`` (sentences of the document, last included),
        ``score`` (NLIScore), ``p_entail, p_neutral, p_contradict`` and ``premise``.
    """
    rows = full.verdicts.dropna(subset=["support"]).merge(full.claims, on=["example_id", "claim_index"])
    test = rows["example_id"].isin(corpus.examples.loc[corpus.examples["split"] == "test", "id"])
    rows = rows[test] if test.any() else rows
    order = rows.groupby("example_id").agg(levels=("level", "nunique"), claims=("claim", "size")).reset_index()
    chosen = order.sort_values(["levels", "claims", "example_id"], ascending=[False, True, True]).iloc[0]["example_id"]
    rows = rows[rows["example_id"] == chosen].sort_values("claim_index")
    rows = rows.assign(
        first=[evidence[0] for evidence in rows["evidence"]],
        last=[evidence[-1] for evidence in rows["evidence"]],
        score=2 * rows["support"] - 1,
    )
    columns = ["claim", "level", "first", "last", "score", "p_entail", "p_neutral", "p_contradict", "premise"]
    return chosen, rows[columns].reset_index(drop=True)
