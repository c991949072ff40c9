"""What the notebook ``refinement`` shows of its tables, and what it says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from claimwise.experiments.refinement import CLAIMS, HOLISTIC, ORIGINAL, over_all
from claimwise.metrics import MetricSpec
from claimwise.metrics.fenice.alignment import Aligner
from claimwise.metrics.judge import WordOverlap

#: What is nearer to zero than this many decimals show is zero: a bootstrap's rounding error.
_MOST_DECIMALS = 6

#: Panels of the figure, with what they are measured in; a metric's is its score.
_UNITS = {
    "kept": "kept (ROUGE-L F1)",
    "words": "words a summary",
    "errors_left": "errors left (support)",
    "facts_kept": "facts kept (support)",
}


def display(rows: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    """The means without their intervals, which the csv and the figure have."""
    return rows[["origin", "feedback", "n", "changed", *measures]]


def legend(measures: list[str], metric: str) -> list[str]:
    """What the columns that were measured mean, and which way is better.

    >>> legend(["acueval", "kept", "words"], "acueval")[0]
    'Scores are from 0 to 1, higher is better. `acueval` gave the claim-level feedback.'
    """
    beside = ", ".join(f"`{name}`" for name in _scores(measures) if name != metric)
    sentences = [
        f"Scores are from 0 to 1, higher is better. `{metric}` gave the claim-level feedback"
        + (f"; how independent of the feedback the others are ({beside}), *What follows* says." if beside else "."),
        "`changed` is the share of summaries that differ from the original, `kept` the ROUGE-L F1 to it (higher is "
        "better), `words` the length.",
    ]
    if "errors_left" in measures:
        sentences.append(
            "`errors left` and `facts kept` are the mean support that the version itself gives to the claims of the "
            "original that people labelled wrong (lower is better) and right (higher is better)."
        )
    return sentences


def _scores(measures: list[str]) -> list[str]:
    """The measures that are metrics' scores."""
    return [name for name in measures if name not in _UNITS]


def gaps_display(gaps: pd.DataFrame) -> pd.DataFrame:
    """``difference`` with one row an origin and one column a measure: three decimals, of words one.

    >>> columns = ["origin", "measure", "difference", "low", "high", "same", "one_sentence"]
    >>> gaps = [("news", "kept", -0.0132, -0.02, 0, 0.5, 1), ("news", "words", 0.01, -0.97, 1.1, 0.5, 1)]
    >>> gaps_display(pd.DataFrame(gaps, columns=columns)).to_dict("list")
    {'origin': ['news'], 'same': ['50 %'], 'kept': ['-0.013 (-0.020 to +0.000)'], 'words': ['+0.0 (-1.0 to +1.1)']}
    """
    cells = []
    for row in gaps.itertuples():
        decimals = 1 if row.measure == "words" else 3
        value, low, high = (f"{round(v, decimals) + 0.0:+.{decimals}f}" for v in (row.difference, row.low, row.high))
        cells.append(f"{value} ({low} to {high})" if row.difference == row.difference else "–")
    wide = gaps.assign(cell=cells, same=gaps["same"].map(lambda share: f"{100 * share:.0f} %")).pivot_table(
        index=["origin", "same"], columns="measure", values="cell", aggfunc="first", sort=False
    )
    return wide.reset_index().rename_axis(columns=None)


def long_form(rows: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    """One row a measure and feedback, over all origins: ``feedback, measure, value, low, high``."""
    rows = over_all(rows)
    parts = [
        rows[["feedback"]].assign(
            measure=_UNITS.get(m, f"{m} (score)"), value=rows[m], low=rows[f"{m}_low"], high=rows[f"{m}_high"]
        )
        for m in measures
    ]
    return pd.concat(parts, ignore_index=True)


def findings(
    rows: pd.DataFrame, gaps: pd.DataFrame, metric: str, specs: Mapping[str, MetricSpec], model: Mapping[str, Any]
) -> list[str]:
    """What the table says, in words, whichever way it came out.

    Args:
        rows: what ``table`` returned.
        gaps: what ``difference`` returned.
        metric: the one that gave the claim-level feedback.
        specs: the metrics that scored the versions.
        model: the entry of ``models`` that criticised and revised.
    """
    means, gaps_of = over_all(rows).set_index("feedback"), over_all(gaps).set_index("measure")
    before, holistic, by_claims = means.loc[ORIGINAL], means.loc[HOLISTIC], means.loc[CLAIMS]
    kind, gap = model.get("kind"), gaps_of.loc[metric]
    sentences = [
        *_origins(gaps[gaps["measure"] == metric], metric, kind),
        f"By {metric}, over all, revisions score {by_claims[metric]:.3f} after claim-level "
        f"feedback and {holistic[metric]:.3f} after a holistic critique, {before[metric]:.3f} before: {_difference(gap)}. They keep "
        f"{100 * by_claims['kept']:.0f} % and {100 * holistic['kept']:.0f} % of the original (ROUGE-L); for "
        f"{100 * gap['same']:.0f} % of the summaries the two versions are the same, revised or not.",
    ]
    sentences += [
        f"By `{name}`, {_relation(specs[name], kind)}: {before[name]:.3f} before, {by_claims[name]:.3f} after claim-level "
        f"feedback, {holistic[name]:.3f} after a holistic critique: {_difference(gaps_of.loc[name])}."
        for name in _scores(list(gaps_of.index))
        if name != metric
    ]
    if "errors_left" not in means:
        return [*sentences, _unlabelled(kind)]
    return [
        _by_labels(gaps_of),
        *sentences,
        f"By people's labels, which gave no feedback: support for the wrong claims goes from {before['errors_left']:.2f} "
        f"to {by_claims['errors_left']:.2f} (claim-level) and {holistic['errors_left']:.2f} (holistic); support for the "
        f"right ones from {before['facts_kept']:.2f} to {by_claims['facts_kept']:.2f} and {holistic['facts_kept']:.2f}. "
        "A method is better when the first falls more than the second: "
        f"{_spared(before, by_claims, 'claim-level')}, {_spared(before, holistic, 'holistic')}.",
    ]


def _origins(gaps: pd.DataFrame, metric: str, kind: str | None) -> list[str]:
    """Where the two kinds of feedback make different versions, and what comes of it there.

    Args:
        gaps: rows of ``difference`` for the metric that gave the feedback.
        metric: its name.
        kind: of the model.
    """
    parts = gaps if len(gaps) == 1 else gaps.iloc[1:]
    sentences = []
    if len(parts) > 1 and (parts["same"] < 1).any():
        told = (
            f"on {row['origin']} {_difference(row)}, with {100 * row['same']:.0f} % of the versions the same"
            for _, row in parts[parts["same"] < 1].iterrows()
        )
        sentences.append(
            f"By the metric that gave the feedback ({metric}), claim-level minus holistic: {'; '.join(told)}."
        )
    if len(alike := parts.loc[parts["same"] == 1, "origin"]):
        sentences.append(
            f"On {' and '.join(alike)} both kinds of feedback end in the same words: no comparison"
            + (", and only zeros for the difference over all origins." if len(parts) > 1 else ".")
        )
    if kind == "embedded" and parts["one_sentence"].any():
        single = ", ".join(f"{row.origin}: {100 * row.one_sentence:.0f} %" for row in parts.itertuples())
        sentences.append(
            "The embedded reviser reads which sentence the feedback is about, not what is wrong with it: a summary of "
            f"one sentence ({single}) ends the same after both kinds of feedback, wherever both find fault with it."
        )
    return sentences


def _relation(spec: MetricSpec, kind: str | None) -> str:
    """How independent of the feedback a metric is, in words.

    >>> overlap, judge = MetricSpec(judge="word-overlap"), MetricSpec(judge="belugaeval-judge-consistency")
    >>> _relation(judge, "openai"), _relation(judge, "embedded")
    ('which gave no feedback', 'the judge behind the holistic critique (independent of the claim-level feedback only)')
    >>> _relation(overlap, "embedded").split(" (")[0]
    "which counts the document's words, as the holistic critique does"
    """
    if spec.verify == Aligner.name or kind not in ("embedded", "lexical"):
        return "which gave no feedback"
    if kind == "lexical":
        return "which counts the document's words, as the feedback does (not independent of it)"
    if spec.judge == WordOverlap.name:
        return "which counts the document's words, as the holistic critique does (independent of the claim-level feedback only)"
    if spec.judge:
        return "the judge behind the holistic critique (independent of the claim-level feedback only)"
    return "whose verifier also accepts or refuses the reviser's edits (not independent of it)"


def _unlabelled(kind: str | None) -> str:
    """What cannot be shown where nobody labelled the originals' claims."""
    if kind == "embedded":
        return (
            "Nobody labelled these claims, and no score here is independent of the embedded reviser: it takes only edits "
            "that its verifier accepts, the judge sees the same features, and quoting the document raises word overlap. "
            "So no gain in faithfulness is shown: **a working loop, not evidence**."
        )
    return "Nobody labelled these claims: whether a revision is more faithful is the word of metrics alone."


def caveats(model: Mapping[str, Any], measures: list[str]) -> list[str]:
    """The limits that follow from the model and from what was measured.

    Args:
        model: the entry of ``models`` that criticised and revised.
        measures: the measured columns.

    >>> caveats({"kind": "openai"}, ["acueval", "kept", "words"])[-1]
    'What was kept is the only column that no metric decides; it says nothing of faithfulness.'
    """
    sentences = [
        "The metric that gave the feedback also chose the summaries: its score rises by regression to the mean alone."
    ]
    if model.get("kind") == "embedded":
        sentences.append(
            "The embedded reviser takes an edit only if its own verifier accepts it. Its holistic critique quotes the "
            "sentence with the largest share of words that the document lacks, and calls a summary consistent where the "
            "judge of the whole gives at least 0.5 and no word is missing: the holistic score and word overlap are "
            "independent of the claim-level feedback only, and word overlap rises wherever the reviser quotes the document."
        )
        sentences.append(
            "The embedded reviser deletes, replaces numbers and names by ones from the evidence, or quotes the document; "
            "it cannot rewrite."
        )
    if model.get("kind") == "lexical":
        sentences.append(
            "The lexical reviser drops the sentences that the feedback lists and reads no comment: a holistic critique "
            "changes nothing."
        )
    if "errors_left" in measures:
        sentences.append(
            "What was kept and people's labels are the independent columns; whether a version states a labelled claim is "
            "the model's verdict."
        )
    else:
        sentences.append("What was kept is the only column that no metric decides; it says nothing of faithfulness.")
    return sentences


def _by_labels(gaps: pd.DataFrame) -> str:
    """What people's labels say of claim-level beside holistic feedback: the only columns that the reviser cannot please.

    Args:
        gaps: ``difference`` with ``measure`` as its index.

    >>> rows = [("errors_left", -0.02, -0.07, 0.03), ("facts_kept", -0.06, -0.08, -0.04)]
    >>> gaps = pd.DataFrame(rows, columns=["measure", "difference", "low", "high"]).set_index("measure")
    >>> _by_labels(gaps).split(",")[0]
    "**By people's labels** claim-level feedback takes more of what is true than a holistic critique"
    """
    errors, facts = gaps.loc["errors_left"], gaps.loc["facts_kept"]
    fewer_errors, fewer_facts = errors["high"] < 0, facts["high"] < 0
    if fewer_errors and fewer_facts:
        verdict = "takes more of what is wrong than a holistic critique, and more of what is true"
    elif fewer_errors:
        verdict = "takes more of what is wrong than a holistic critique, and not demonstrably more of what is true"
    elif fewer_facts:
        verdict = "takes more of what is true than a holistic critique, and not demonstrably more of what is wrong"
    else:
        verdict = "is not shown to take more of what is wrong than a holistic critique"
    return (
        f"**By people's labels** claim-level feedback {verdict}: claim-level minus holistic, the support that versions give "
        f"to the wrong claims has {_difference(errors)}, that to the right ones {_difference(facts)}."
    )


def _difference(gap: pd.Series) -> str:
    """A row of ``difference`` in words, with three decimals or as many as an end takes that is near zero but not zero.

    >>> _difference(pd.Series({"difference": 0.01, "low": -0.002, "high": 0.024}))
    'a difference of +0.010 (-0.002 to +0.024), not clear of zero'
    >>> _difference(pd.Series({"difference": 0.009, "low": 0.00026, "high": 0.017}))
    'a difference of +0.0090 (+0.0003 to +0.0170), clear of zero'
    """
    value, low, high = (round(gap[name], _MOST_DECIMALS) + 0.0 for name in ("difference", "low", "high"))  # no -0.0
    clear = "clear of" if low > 0 or high < 0 else "not clear of"
    decimals = next(n for n in range(3, _MOST_DECIMALS + 1) if all(round(end, n) for end in (low, high) if end))
    return f"a difference of {value:+.{decimals}f} ({low:+.{decimals}f} to {high:+.{decimals}f}), {clear} zero"


def _spared(before: pd.Series, after: pd.Series, name: str) -> str:
    """What a version took away of the wrong claims beside what it took of the right ones.

    >>> before, after = ({"errors_left": e, "facts_kept": f} for e, f in ((0.7, 0.65), (0.5, 0.4)))
    >>> _spared(pd.Series(before), pd.Series(after), "holistic")
    'holistic feedback took 0.20 of the wrong and 0.25 of the right ones'
    """
    wrong, right = (before[column] - after[column] for column in ("errors_left", "facts_kept"))
    return f"{name} feedback took {wrong:.2f} of the wrong and {right:.2f} of the right ones"
