"""What the embedded verifier's training measured: on corpora left out, by share of the documents, by ingredient, by kind of
edit; and what its benchmark measured: speed. The tables are in ``data/embedded``, whose README has the columns.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

MEASURED = Path("data/embedded")


def measured(name: str, pooling: str) -> pd.DataFrame:
    """A table of ``data/embedded`` with the rows of one pooling of sentence supports (``min`` or ``mean``).

    Word overlap has no sentences: its one row stands in both.
    """
    table = pd.read_csv(MEASURED / f"{name}.csv")
    return table[(table["pooling"] == pooling) | (table["model"] == "word overlap")].reset_index(drop=True)


def speed() -> pd.DataFrame:
    """What ``benchmarks/embedded.py`` measured: ``metric, summaries, pairs_per_second, times_word_overlap, ...``."""
    return pd.read_csv(MEASURED / "speed.csv")


def judge_left_out() -> pd.DataFrame:
    """What training measured of the judge of whole summaries: ``corpus, n, model, auc, low, high``."""
    return pd.read_csv(MEASURED / "judge.csv")


#: The groups of corpora that training left out together, as data/embedded/README.md has them.
_GROUPS = {
    "A": "left out: AggreFact, SummaC, WiCE, HaluEval",
    "B": "left out: SummEdits, GenAudit, USB, Factcheck-GPT",
}


def learning_curve(pooling: str) -> pd.DataFrame:
    """Mean AUC on the corpora left out by how many of the other documents were learned from.

    Args:
        pooling: as in ``measured``.

    Returns:
        ``panel`` (the group left out), ``model, share`` (percent), ``corpora`` (how many), ``auc``.
    """
    table = pd.concat([measured("learning_curve", pooling), measured("held_out", pooling).assign(share=1.0)])
    means = table.groupby(["held_out_with", "model", "share"], sort=False, as_index=False).agg(
        corpora=("corpus", "nunique"), auc=("auc", "mean")
    )
    return means.assign(panel=means["held_out_with"].map(_GROUPS), share=100 * means["share"])[
        ["panel", "model", "share", "corpora", "auc"]
    ].sort_values(["panel", "share"], ignore_index=True)


def by_share(curve: pd.DataFrame) -> pd.DataFrame:
    """The learning curve with shares of the documents across."""
    wide = curve.pivot_table(index=["panel", "model"], columns="share", values="auc", sort=False)
    return wide.rename(columns="{:g} %".format).reset_index()


def by_corpus(table: pd.DataFrame) -> pd.DataFrame:
    """AUC with models across and corpora down, and their mean in the last row."""
    wide = table.pivot_table(index="corpus", columns="model", values="auc", sort=False)
    wide.loc["mean"] = wide.mean()
    return wide.reset_index()


def with_calibration(table: pd.DataFrame) -> pd.DataFrame:
    """``by_corpus`` with the calibration error of what ships behind it, where the truth of single statements is known.

    >>> rows = [("wice", "shipped", 0.7, 0.04), ("wice", "word overlap", 0.6, None)]
    >>> with_calibration(pd.DataFrame(rows, columns=["corpus", "model", "auc", "ece"])).columns.tolist()
    ['corpus', 'shipped', 'word overlap', 'ECE of shipped']
    """
    wide = by_corpus(table)
    errors = table.groupby("corpus")["ece"].first()
    return wide.assign(**{"ECE of shipped": wide["corpus"].map(errors).where(wide["corpus"] != "mean", errors.mean())})


#: In a figure only these have intervals: those of all could not be told apart.
_WITH_INTERVALS = ("shipped", "judge", "word overlap")


def left_out_panels(held_out: pd.DataFrame, judge: pd.DataFrame) -> pd.DataFrame:
    """Rows of a figure of corpora left out: a panel of sentences' supports, one of whole summaries.

    >>> held_out = pd.DataFrame([("wice", "shipped", 0.7, 0.6, 0.8)], columns=["corpus", "model", "auc", "low", "high"])
    >>> judge = held_out.assign(model=["judge"])
    >>> left_out_panels(held_out, judge)[["panel", "model"]].to_numpy().tolist()
    [['sentences', 'shipped'], ['whole summaries, zero-shot', 'judge']]
    """
    both = pd.concat(
        [
            held_out.assign(panel="sentences"),
            judge.assign(panel="whole summaries, zero-shot"),
        ],
        ignore_index=True,
    )
    kept = both["model"].isin(_WITH_INTERVALS)
    return both.assign(low=both["low"].where(kept), high=both["high"].where(kept))


def by_kind(table: pd.DataFrame) -> pd.DataFrame:
    """AUC with models across and types of edit down, the most frequent first."""
    wide = table.pivot_table(index=["error", "n"], columns="model", values="auc", sort=False)
    return wide.reset_index().sort_values("n", ascending=False, kind="stable")


def findings(held_out: pd.DataFrame, judge: pd.DataFrame, curve: pd.DataFrame, ablation: pd.DataFrame) -> list[str]:
    """What the tables say, in words, whichever way they came out."""
    return [_held_out(held_out), _judge(judge), _curve(curve), _ablation(ablation)]


def _held_out(table: pd.DataFrame) -> str:
    wide = by_corpus(table).set_index("corpus").drop("mean")
    below = [name for name in wide.index if wide.loc[name, "shipped"] <= wide.loc[name, "word overlap"]]
    rest = f"; `shipped` is not above word overlap on {', '.join(below)}" if below else ""
    errors = table.groupby("corpus")["ece"].first().dropna()
    calibrated = (
        f" Where the truth of single statements is known ({len(errors)} of them), the calibration error of `shipped` is "
        f"{errors.mean():.2f} on average ({errors.min():.2f} on {errors.idxmin()} to {errors.max():.2f} on "
        f"{errors.idxmax()})."
        if len(errors)
        else ""
    )
    beside = ", ".join(f"`{name}` {wide[name].mean():.2f}" for name in wide if name != "shipped")
    own = table[table["model"] == "shipped"]
    guessed = own[(own["low"] <= 0.5) & (own["high"] >= 0.5)]["corpus"]
    chance = f" Its interval holds .50, mere chance, on {', '.join(guessed)}." if len(guessed) else ""
    return (
        f"On corpora left out of training, `shipped` has a mean AUC of {wide['shipped'].mean():.2f} over {len(wide)} "
        f"corpora; {beside}{rest}.{chance}{_in_parts(wide)}{calibrated}"
    )


def _in_parts(wide: pd.DataFrame) -> str:
    """The same means on SummEdits' domains, whose edited words a document mostly has, and on the other corpora.

    >>> made = pd.DataFrame({"shipped": [0.6, 0.8], "word overlap": [0.4, 0.75]}, index=["summedits_news", "qags"])
    >>> _in_parts(made)
    " On SummEdits' domains (1) that is 0.60 against word overlap's 0.40, on the others (1) 0.80 against 0.75."
    """
    domains = wide.index.str.startswith("summedits")
    if domains.all() or not domains.any():
        return ""
    parts = (
        f"({len(part)}) {lead}{part['shipped'].mean():.2f} against {whose}{part['word overlap'].mean():.2f}"
        for part, lead, whose in ((wide[domains], "that is ", "word overlap's "), (wide[~domains], "", ""))
    )
    return " On SummEdits' domains {}, on the others {}.".format(*parts)


def _curve(table: pd.DataFrame) -> str:
    """What learning from more documents brings.

    >>> rows = [("left out: a", "shipped", share, 3, auc) for share, auc in ((50, 0.66), (100, 0.67))]
    >>> _curve(pd.DataFrame(rows, columns=["panel", "model", "share", "corpora", "auc"]))
    'With 50, 100 % of the other documents to learn from, `shipped` has a mean AUC of 0.66, 0.67 (left out: a).'
    """
    own = table[table["model"] == "shipped"]
    told = [
        f"{', '.join(f'{auc:.2f}' for auc in part['auc'])} ({panel})"
        for panel, part in own.groupby("panel", sort=False)
    ]
    shares = ", ".join(f"{share:g}" for share in own["share"].unique())
    return f"With {shares} % of the other documents to learn from, `shipped` has a mean AUC of {'; '.join(told)}."


def _judge(table: pd.DataFrame) -> str:
    wide = by_corpus(table).set_index("corpus").drop("mean")
    means = wide.mean()
    below = [name for name in wide.index if wide.loc[name, "judge"] <= wide.loc[name, "word overlap"]]
    return (
        f"The judge of whole summaries has a mean AUC of {means['judge']:.2f} over the {len(wide)} corpora that the "
        f"zero-shot variant left out, word overlap {means['word overlap']:.2f}"
        f"{'; it is not above it on ' + ', '.join(below) if below else ''}."
    )


def _ablation(table: pd.DataFrame) -> str:
    means = by_corpus(table).set_index("corpus").loc["mean"].sort_values(ascending=False)
    told = ", ".join(f"`{name}` {value:.2f}" for name, value in means.items())
    return f"With every corpus in training and every document scored by models that have not seen it, mean AUC: {told}."
