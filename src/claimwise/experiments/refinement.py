"""Summaries revised after claim-level feedback and after a holistic critique (ACUEval sec. 5.4, Table 4).

The same model revises with the same prompt; only the feedback differs. A revision is also scored by metrics
that did not give the feedback, and by how much of the summary it kept, so that deleting cannot win.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from claimwise import metrics, prompts, text
from claimwise.easiness import rouge_l_f1
from claimwise.errors import ClaimwiseError
from claimwise.metrics import Evaluation, MetricSpec
from claimwise.models.base import Feedback, Model
from claimwise.refinement import revised
from claimwise.statistics import bootstrap_mean
from claimwise.verification import SUPPORTED, probability

ORIGINAL, HOLISTIC, CLAIMS = "original", "holistic critique", "unsupported claims"


def choose(examples: pd.DataFrame, evaluation: Evaluation, per_origin: int, seed: int) -> pd.DataFrame:
    """Test summaries with at least one unsupported claim, up to ``per_origin`` of each origin, drawn at random.

    Raises:
        ClaimwiseError: there is none.
    """
    wrong = evaluation.verdicts.loc[probability(evaluation.verdicts) < SUPPORTED, "example_id"].unique()
    pool = examples[(examples["split"] == "test") & examples["id"].isin(wrong)]
    if pool.empty:
        raise ClaimwiseError(
            f"no test summary has an unsupported claim, of {len(evaluation.verdicts)} claims in all: there is nothing "
            "to refine. Where there are no claims at all, the model's replies could not be read; see the scores' reasons."
        )
    drawn = [part.sample(min(per_origin, len(part)), random_state=seed) for _, part in pool.groupby("origin")]
    return pd.concat(drawn).sort_values("id", ignore_index=True)


def revise(
    examples: pd.DataFrame,
    evaluation: Evaluation,
    model: Model,
    *,
    revise_claims: str,
    critique: str,
    revise_comment: str,
) -> pd.DataFrame:
    """Original and revised summaries, long: ``id, feedback, summary, comment, reason``, three rows an example.

    A reply that could not be read leaves the original summary in place, with the reason.
    """
    documents, summaries = examples["document"].tolist(), examples["summary"].tolist()
    rows = evaluation.judged_claims()
    wrong = rows[probability(rows) < SUPPORTED].groupby("example_id")["claim"].agg(tuple)
    by_claims = [Feedback(unsupported=wrong[key]) for key in examples["id"]]
    critiques = model.critique(documents, summaries, prompts.load(critique))
    by_comment = [Feedback(comment=c.text) for c in critiques]
    frames = [_frame(examples, ORIGINAL, summaries, [""] * len(examples), [None] * len(examples))]
    for name, prompt, feedback in ((HOLISTIC, revise_comment, by_comment), (CLAIMS, revise_claims, by_claims)):
        found = revised(model, documents, summaries, feedback, prompts.load(prompt))
        comments = [f.comment or "\n".join(f"- {claim}" for claim in f.unsupported) for f in feedback]
        frames.append(_frame(examples, name, [new for new, _ in found], comments, [reason for _, reason in found]))
    return pd.concat(frames, ignore_index=True)


def _frame(examples: pd.DataFrame, feedback: str, summaries: list, comments: list, reasons: list) -> pd.DataFrame:
    return pd.DataFrame(
        {"id": examples["id"], "feedback": feedback, "summary": summaries, "comment": comments, "reason": reasons}
    )


def score(
    revisions: pd.DataFrame, examples: pd.DataFrame, specs: Mapping[str, MetricSpec], model: Model
) -> pd.DataFrame:
    """Every version scored by every metric, and what it kept of the original.

    Returns:
        The revisions with one column a metric, ``kept`` (ROUGE-L F1 to the original summary), ``words``, ``changed``,
        and the example's ``origin`` and ``document_id``.
    """
    base = examples.set_index("id")
    frame = revisions.assign(
        **{name: revisions["id"].map(base[name]) for name in ("origin", "document_id")},
        kept=[rouge_l_f1(base.loc[r.id, "summary"], r.summary) for r in revisions.itertuples()],
        words=revisions["summary"].map(text.word_count),
        changed=[base.loc[r.id, "summary"] != r.summary for r in revisions.itertuples()],
    )
    versions = examples.set_index("id").loc[frame["id"]].reset_index()
    versions["summary"] = frame["summary"].to_numpy()
    versions["id"] = (frame["id"] + " | " + frame["feedback"]).to_numpy()
    for name, spec in specs.items():
        frame[name] = metrics.evaluate(name, spec, model, versions).scores["score"].to_numpy()
    return frame


def stated(revisions: pd.DataFrame, gold: pd.DataFrame, model: Model, prompt: str) -> pd.DataFrame:
    """Which of people's labelled claims a version still states: the check that needs no verdict on the document.

    The model is asked whether the *summary* supports each claim that people wrote for the original.

    Returns:
        ``id, feedback, errors_left`` and ``facts_kept``: mean support that the version gives to the claims
        labelled unsupported, and to those labelled supported.
    """
    groups = gold.groupby("example_id")
    kept = revisions[revisions["id"].isin(groups.groups)]
    parts = [groups.get_group(key) for key in kept["id"]]
    verdicts = model.verify(kept["summary"].tolist(), [p["claim"].tolist() for p in parts], prompts.load(prompt))
    rows = []
    for version, part, group in zip(kept.itertuples(), parts, verdicts, strict=True):
        support = pd.Series([v.support for v in group], index=part["label"].to_numpy())
        rows.append((version.id, version.feedback, support.get(0.0, np.nan), support.get(1.0, np.nan)))
    frame = pd.DataFrame(rows, columns=["id", "feedback", "errors_left", "facts_kept"])
    for column in ("errors_left", "facts_kept"):
        frame[column] = frame[column].map(np.mean).astype(float)
    return frame


def table(scored: pd.DataFrame, measures: list[str], draws: int, seed: int) -> pd.DataFrame:
    """Means by origin and feedback, and over all origins.

    Returns:
        ``origin, feedback, n, changed`` and for each measure ``m`` its mean with ``m_low`` and ``m_high`` (95 %,
        bootstrap over documents).
    """
    results = []
    both = pd.concat([scored, scored.assign(origin="all")]) if len(scored["origin"].unique()) > 1 else scored
    for (origin, feedback), part in both.groupby(["origin", "feedback"], sort=False):
        row: dict = {"origin": origin, "feedback": feedback, "n": len(part), "changed": part["changed"].mean()}
        for measure in measures:
            interval = bootstrap_mean(part[measure], part["document_id"], draws, seed)
            row |= {measure: interval.value, f"{measure}_low": interval.low, f"{measure}_high": interval.high}
        results.append(row)
    return pd.DataFrame(results)


def difference(scored: pd.DataFrame, measures: list[str], draws: int, seed: int) -> pd.DataFrame:
    """What claim-level feedback changes beside a holistic critique, summary by summary.

    Returns:
        ``measure, difference`` (claim-level minus holistic) with ``low`` and ``high`` (95 %, bootstrap over documents), and
        ``same``: the share of summaries that both revised to the same words.
    """
    both = scored.set_index("id")
    ours, theirs = (both[both["feedback"] == name] for name in (CLAIMS, HOLISTIC))
    same = float((ours["summary"] == theirs["summary"]).mean())
    rows = []
    for measure in measures:
        gaps = ours[measure] - theirs[measure]
        interval = bootstrap_mean(gaps, ours["document_id"], draws, seed)
        rows.append((measure, interval.value, interval.low, interval.high, same))
    return pd.DataFrame(rows, columns=["measure", "difference", "low", "high", "same"])


def headline(rows: pd.DataFrame, measures: list[str]) -> Mapping[str, Mapping[str, float]]:
    """Means over all origins by feedback, for ``dvc metrics show``."""
    rows = rows[rows["origin"] == "all"] if (rows["origin"] == "all").any() else rows
    return rows.set_index("feedback")[measures].T.to_dict()


def with_stated(scored: pd.DataFrame, gold: pd.DataFrame, model: Model, prompt: str) -> pd.DataFrame:
    """Adds ``errors_left`` and ``facts_kept`` where people labelled the originals' claims."""
    labelled = gold[gold["label"].notna() & gold["example_id"].isin(scored["id"])]
    if labelled.empty:
        return scored
    return scored.merge(stated(scored, labelled, model, prompt), on=["id", "feedback"], how="left")


def measures(scored: pd.DataFrame, specs: Mapping[str, MetricSpec]) -> list[str]:
    """The measured columns, the metric that gave the feedback first."""
    return [*specs, "kept", "words", *(c for c in ("errors_left", "facts_kept") if c in scored)]


def sizes(rows: pd.DataFrame) -> Mapping[str, int]:
    """Summaries by origin."""
    return rows.groupby("origin", sort=False)["n"].max().to_dict()


def display(rows: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    """The means without their intervals, which the csv and the figure have."""
    return rows[["origin", "feedback", "n", "changed", *measures]]


#: What is nearer to zero than this many decimals show is zero: a bootstrap's rounding error.
_MOST_DECIMALS = 6

#: Panels of the figure, with what they are measured in; a metric's is its score.
_UNITS = {
    "kept": "kept (ROUGE-L F1)",
    "words": "words a summary",
    "errors_left": "errors left (support)",
    "facts_kept": "facts kept (support)",
}


def long_form(rows: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    """One row a measure and feedback, over all origins: ``feedback, measure, value, low, high``."""
    rows = rows[rows["origin"] == "all"] if (rows["origin"] == "all").any() else rows
    parts = [
        rows[["feedback"]].assign(
            measure=_UNITS.get(m, f"{m} (score)"), value=rows[m], low=rows[f"{m}_low"], high=rows[f"{m}_high"]
        )
        for m in measures
    ]
    return pd.concat(parts, ignore_index=True)


def findings(rows: pd.DataFrame, gaps: pd.DataFrame, metric: str) -> list[str]:
    """What the table says, in words, whichever way it came out."""
    alike = _alike(rows, list(gaps["measure"]))
    rows = rows[rows["origin"] == "all"] if (rows["origin"] == "all").any() else rows
    rows = rows.set_index("feedback")
    before, holistic, by_claims = rows.loc[ORIGINAL], rows.loc[HOLISTIC], rows.loc[CLAIMS]
    gaps_of = gaps.set_index("measure")
    gap = gaps_of.loc[metric]
    sentences = [
        f"By the metric that gave the feedback ({metric}), revisions score {by_claims[metric]:.3f} after claim-level "
        f"feedback and {holistic[metric]:.3f} after a holistic critique, {before[metric]:.3f} before: {_difference(gap)}. They keep "
        f"{100 * by_claims['kept']:.0f} % and {100 * holistic['kept']:.0f} % of the original (ROUGE-L); for "
        f"{100 * gap['same']:.0f} % of the summaries the two versions are the same, revised or not."
    ]
    sentences += [
        f"On {origin} both kinds of feedback end in the same scores: there it makes no difference." for origin in alike
    ]
    others = [m for m in gaps["measure"] if m not in (metric, "kept", "words", "errors_left", "facts_kept")]
    sentences += [
        f"By `{name}`, which gave no feedback: {before[name]:.3f} before, {by_claims[name]:.3f} after claim-level "
        f"feedback, {holistic[name]:.3f} after a holistic critique: {_difference(gaps_of.loc[name])}."
        for name in others
    ]
    if "errors_left" in rows:
        sentences.insert(0, _by_labels(gaps_of))
        sentences.append(
            f"By people's labels, which gave no feedback: support for the wrong claims goes from {before['errors_left']:.2f} "
            f"to {by_claims['errors_left']:.2f} (claim-level) and {holistic['errors_left']:.2f} (holistic); support for the "
            f"right ones from {before['facts_kept']:.2f} to {by_claims['facts_kept']:.2f} and {holistic['facts_kept']:.2f}. "
            "A method is better when the first falls more than the second: "
            f"{_spared(before, by_claims, 'claim-level')}, {_spared(before, holistic, 'holistic')}."
        )
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


def _alike(rows: pd.DataFrame, measures: list[str]) -> list[str]:
    """The origins in which both kinds of feedback have the same mean of every measure."""
    parts = rows[rows["origin"] != "all"].groupby("origin", sort=False)
    both = {origin: part.set_index("feedback").loc[[CLAIMS, HOLISTIC], measures] for origin, part in parts}
    return [origin for origin, values in both.items() if np.allclose(values.iloc[0], values.iloc[1], equal_nan=True)]


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
