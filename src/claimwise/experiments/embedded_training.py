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
    """What ``benchmarks/embedded.py`` measured: ``metric, summaries, pairs_per_second``, and what is the same in every row:
    ``start_seconds, peak_gib, cores, corpus``."""
    return pd.read_csv(MEASURED / "speed.csv")


def rates(measured: pd.DataFrame) -> pd.DataFrame:
    """The columns of ``speed`` that differ from row to row."""
    return measured[["metric", "summaries", "pairs_per_second"]]


def about_speed(measured: pd.DataFrame) -> list[str]:
    """What ``speed`` says of all metrics at once, in words.

    >>> rows = [("word-overlap", 240, 2400.0, 4.0, 1.7, 2, "wice"), ("acueval", 250, 12.9, 4.0, 1.7, 2, "wice")]
    >>> columns = ["metric", "summaries", "pairs_per_second", "start_seconds", "peak_gib", "cores", "corpus"]
    >>> for sentence in about_speed(pd.DataFrame(rows, columns=columns)):
    ...     print(sentence)
    Measured on 2 cores with summaries of wice: 4.0 seconds from a new process to its first verdict, 1.7 GiB after all metrics.
    Word overlap, which needs no model, is about 190 (`acueval`) times as fast; its own 0.1 seconds tell no more digits.
    """
    run, base = measured.iloc[0], measured[measured["metric"] == "word-overlap"].iloc[0]
    others = measured.drop(base.name)
    times = base["pairs_per_second"] / others["pairs_per_second"]
    told = ", ".join(f"{float(f'{t:.2g}'):g} (`{name}`)" for t, name in zip(times, others["metric"], strict=True))
    return [
        f"Measured on {run['cores']} cores with summaries of {run['corpus']}: {run['start_seconds']:.1f} seconds from a new "
        f"process to its first verdict, {run['peak_gib']:.1f} GiB after all metrics.",
        f"Word overlap, which needs no model, is about {told} times as fast; its own "
        f"{base['summaries'] / base['pairs_per_second']:.1f} seconds tell no more digits.",
    ]


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
    table = measured("learning_curve", pooling)
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
    return [_held_out(held_out), _judge(judge), _curve(curve), _ablation(ablation, held_out)]


def _held_out(table: pd.DataFrame) -> str:
    wide = by_corpus(table).set_index("corpus").drop("mean")
    below = [name for name in wide.index if wide.loc[name, "shipped"] <= wide.loc[name, "word overlap"]]
    rest = f"; `shipped` is not above word overlap on {', '.join(below)}" if below else ""
    errors = table.groupby("corpus")["ece"].first().dropna()
    calibrated = (
        f" Where the truth of single statements is known (on {len(errors)} corpora), the calibration error of `shipped` is "
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

    >>> rows = [("left out: a", "shipped", share, 3, auc) for share, auc in ((25, 0.62), (50, 0.66), (100, 0.67))]
    >>> print(_curve(pd.DataFrame(rows, columns=["panel", "model", "share", "corpora", "auc"])))
    With 25, 50, 100 % of the other documents to learn from, `shipped` has a mean AUC of 0.62, 0.66, 0.67 (left out: a). \
Beyond 50 %, more documents bring at most +0.010 (+0.010); that is one run with one seed, and fewer documents also made a \
shorter training.
    """
    own = table[table["model"] == "shipped"]
    shares = sorted(own["share"].unique())
    groups = [part.set_index("share")["auc"] for _, part in own.groupby("panel", sort=False)]
    told = [
        f"{', '.join(f'{auc:.2f}' for auc in part)} ({panel})"
        for part, panel in zip(groups, own["panel"].unique(), strict=True)
    ]
    said = (
        f"With {', '.join(f'{share:g}' for share in shares)} % of the other documents to learn from, `shipped` has a mean AUC "
        f"of {'; '.join(told)}."
    )
    if len(shares) < 3:
        return said
    gains = [part.loc[shares[2] :].max() - part.loc[shares[1]] for part in groups]
    most = f"at most {max(gains):+.3f}" if max(gains) > 0 else "no gain"
    return (
        f"{said} Beyond {shares[1]:g} %, more documents bring {most} ({', '.join(f'{gain:+.3f}' for gain in gains)}); that is "
        "one run with one seed, and fewer documents also made a shorter training."
    )


def _judge(table: pd.DataFrame) -> str:
    wide = by_corpus(table).set_index("corpus").drop("mean")
    means = wide.mean()
    below = [name for name in wide.index if wide.loc[name, "judge"] <= wide.loc[name, "word overlap"]]
    return (
        f"The judge of whole summaries has a mean AUC of {means['judge']:.2f} over the {len(wide)} corpora that the "
        f"zero-shot variant left out, word overlap {means['word overlap']:.2f}"
        f"{'; it is not above it on ' + ', '.join(below) if below else ''}."
    )


def _ablation(table: pd.DataFrame, held_out: pd.DataFrame) -> str:
    means = by_corpus(table).set_index("corpus").loc["mean"].sort_values(ascending=False)
    told = ", ".join(f"`{name}` {value:.2f}" for name, value in means.items())
    return (
        f"With every corpus in training and every document scored by models that have not seen it, mean AUC: {told}."
        f"{_trees(table, held_out)}"
    )


def _trees(known: pd.DataFrame, left_out: pd.DataFrame) -> str:
    """What trees on the checkers' findings bring beside what ships, on corpora in training and on the same ones left out.

    >>> columns = ["corpus", "model", "auc"]
    >>> known = pd.DataFrame([("a", "features and checker", 0.8), ("a", "shipped", 0.7)], columns=columns)
    >>> print(_trees(known, known.assign(auc=[0.5, 0.6])))
     On the 1 corpora that were also left out, `features and checker` is +0.100 beside `shipped` where they are in training (above it on 1) and -0.100 where they are left out (above it on 0): the trees gain on corpora that they know and lose on others, so that the mean of both ships.
    >>> _trees(known[:1], known)
    ''
    """
    gaps = []
    for table in (known, left_out):
        wide = table.pivot_table(index="corpus", columns="model", values="auc")
        if not {"shipped", "features and checker"} <= set(wide):
            return ""
        gaps.append(wide["features and checker"] - wide["shipped"])
    inside, outside = (gap[gaps[0].index.intersection(gaps[1].index)] for gap in gaps)
    if inside.empty:
        return ""
    follows = (
        ": the trees gain on corpora that they know and lose on others, so that the mean of both ships"
        if inside.mean() > 0 > outside.mean()
        else ""
    )
    return (
        f" On the {len(inside)} corpora that were also left out, `features and checker` is {inside.mean():+.3f} beside `shipped` "
        f"where they are in training (above it on {(inside > 0).sum()}) and {outside.mean():+.3f} where they are left out "
        f"(above it on {(outside > 0).sum()}){follows}."
    )
