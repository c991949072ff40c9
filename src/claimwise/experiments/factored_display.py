"""What the notebook on hallucinated summaries shows of its tables, and what it says of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from claimwise.analysis.tables import p_value
from claimwise.experiments.factored_verification import PUBLISHED_MODELS

#: What a method has learned of the labels of the corpus.
FITTED, ITS_MODEL, NOTHING = "fitted to its labels", "model trained on its labels", "nothing learned of it"


def taught(result: pd.DataFrame, supervised: Collection[str]) -> list[str]:
    """What each method of ``table`` has learned of the corpus.

    Args:
        result: what ``table`` returned.
        supervised: methods whose model learned from the validation split elsewhere.
    """
    return [
        FITTED if learned else ITS_MODEL if method in supervised else NOTHING
        for method, learned in zip(result["method"], result["trained_on"].notna(), strict=True)
    ]


def dots(result: pd.DataFrame, supervised: Collection[str]) -> pd.DataFrame:
    """The scored methods as the figure of accuracies takes them: one more row a published value, without a dot.

    Args:
        result: what ``with_published`` returned.
        supervised: see ``taught``.
    """
    scored = result[result["n"] > 0]
    blank = dict.fromkeys(("accuracy", "low", "high"), np.nan)
    parts = [scored.assign(published=np.nan), *(scored.assign(published=scored[m], **blank) for m in PUBLISHED_MODELS)]
    kinds = pd.Series(taught(scored, supervised), index=scored["method"])
    every = pd.concat(parts, ignore_index=True)
    return every.assign(panel="accuracy, test split", kind=every["method"].map(kinds))


def display(result: pd.DataFrame, supervised: Collection[str]) -> pd.DataFrame:
    """The scored methods as the notebook shows them: corrected p-values only, the published accuracies in one column.

    The csv has every column. ``supervised``: see ``taught``.
    """
    scored = result[result["n"] > 0]
    scored = scored.assign(learned_of_this_corpus=taught(scored, supervised))
    columns = [
        "method",
        "learned_of_this_corpus",
        "n",
        "unscored",
        "theta",
        "accuracy",
        "low",
        "high",
        "found",
        "kept",
        "auc",
    ]
    shown = scored[[*columns, "next_best", "p_holm", "p_baseline_holm"]]
    values = _published(scored)
    return shown.assign(published=values) if any(values) else shown


def unscored(result: pd.DataFrame) -> pd.DataFrame:
    """The methods without a result: the commonest reason, and what the paper's models reach with them."""
    without = result[result["n"] == 0]
    return without[["method", "unscored", "reason"]].assign(published=_published(without))


def _published(rows: pd.DataFrame) -> list[str | None]:
    """The paper's accuracies with the names of its models.

    >>> _published(pd.DataFrame({"GPT-4": [76.2, np.nan], "ChatGPT": [np.nan, np.nan]}))
    ['76.2 (GPT-4)', None]
    """
    told = ([f"{row[m]:.1f} ({m})" for m in PUBLISHED_MODELS if row[m] == row[m]] for _, row in rows.iterrows())
    return [", ".join(values) or None for values in told]


def _against(gap: float, p: float) -> str:
    """What a test says of two methods' accuracies: only a significant gap has a direction.

    >>> _against(5.3, 0.004), _against(-0.2, 0.9)
    ('significantly above', 'not told apart from')
    """
    return "not told apart from" if not p < 0.05 else f"significantly {'above' if gap > 0 else 'below'}"


def beside_constant(result: pd.DataFrame, common: float) -> str:
    """Which methods tell more, or less, than one answer to all summaries; ``common``: what ``constant`` returned.

    >>> table = pd.DataFrame({"method": ["a", "b"], "n": 9, "low": [70.0, 40.0], "high": [80.0, 55.0]})
    >>> beside_constant(table, 60)
    'Always the commoner answer is right of 60.0 %. Above it with their whole interval: `a`; below it: `b`.'
    """
    parts = ("Above it with their whole interval", result["low"] > common), ("below it", result["high"] < common)
    told = [f"{words}: {', '.join(f'`{m}`' for m in result.loc[who, 'method']) or 'none'}" for words, who in parts]
    return f"Always the commoner answer is right of {common:.1f} %. {'; '.join(told)}."


def findings(result: pd.DataFrame, thetas: pd.DataFrame, baseline: str, factored: Sequence[str]) -> list[str]:
    """What the tables say of the methods that were not fitted to labels here, in words, whichever way they came out."""
    result = result[result["trained_on"].isna()]
    unscored, result = result[result["n"] == 0], result[result["n"] > 0]
    best = result.iloc[0]
    told = f"told apart from it (corrected p {p_value(best['p_holm'])})"
    sentences = [
        f"Of the methods that were not fitted to labels here, `{best['method']}` is the most accurate, {best['accuracy']:.1f} % ({best['low']:.1f} to {best['high']:.1f}); "
        + (
            "it is the only one."
            if len(result) == 1
            else f"the next, `{best['next_best']}`, is {told}."
            if best["p_holm"] < 0.05
            else f"the next, `{best['next_best']}`, is not {told}: a tie."
        )
    ]
    if result["auc"].between(0.4, 0.6).all():
        sentences.append(
            f"No method's scores rank hallucinated below faithful summaries much better than chance (AUC "
            f"{result['auc'].min():.2f} to {result['auc'].max():.2f}), whatever its accuracy."
        )
    by_method, tuned = result.set_index("method"), thetas.set_index("method")
    for name in (name for name in factored if {name, baseline} <= set(by_method.index)):
        row, base, own, others = by_method.loc[name], by_method.loc[baseline], tuned.loc[name], tuned.loc[baseline]
        middle = _against(row["accuracy"] - base["accuracy"], row["p_baseline_holm"])
        moved = _against(own["its_accuracy"] - others["its_accuracy"], own["its_p_baseline_holm"])
        sentences.append(
            f"`{name}` is {middle} `{baseline}` where both are cut at the midpoint ({row['accuracy']:.1f} against "
            f"{base['accuracy']:.1f} %, corrected p {p_value(row['p_baseline_holm'])}), and {moved} it at the theta "
            f"that is best on the validation split ({own['its_accuracy']:.1f} against {others['its_accuracy']:.1f} %, "
            f"corrected p {p_value(own['its_p_baseline_holm'])}); AUC, which needs no theta, {row['auc']:.3f} against "
            f"{base['auc']:.3f}."
            + (" So the difference is the cut's as much as the method's." if middle != moved else "")
        )
    costs = (
        thetas[thetas["method"].isin(result["method"])]
        .assign(cost=thetas["its_accuracy"] - thetas["accuracy"])
        .set_index("method")["cost"]
    )
    worst = costs.abs().idxmax()
    sentences.append(
        f"Cutting at the midpoint of the means instead of at the validation split's most accurate theta changes `{worst}` "
        f"most: {-costs[worst]:+.1f} points on the test split."
    )
    for reason, part in unscored.groupby("reason", sort=False):
        names = ", ".join(f"`{name}`" for name in part["method"])
        sentences.append(f"Without a result: {names} ({reason}).")
    return sentences
