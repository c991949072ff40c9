"""Summaries revised after claim-level feedback and after a holistic critique (ACUEval sec. 5.4, Table 4).

The same model revises with the same prompt; only the feedback differs. A revision is also scored by other
metrics, and by how much of the summary it kept, so that deleting cannot win. How independent of the feedback the other
metrics are depends on the model: the embedded one makes its holistic critique of what some of them measure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from claimwise import metrics, prompts, text
from claimwise.analysis.easiness import rouge_l_f1
from claimwise.analysis.statistics import bootstrap_mean
from claimwise.errors import ClaimwiseError
from claimwise.metrics import Evaluation, MetricSpec
from claimwise.metrics.factored.revise import revised
from claimwise.metrics.verify import SUPPORTED, probability
from claimwise.models.base import Feedback, Model

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


def _by_origin(scored: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """All rows first, where there are several origins; then those of each."""
    if len(scored["origin"].unique()) > 1:
        yield "all", scored
    yield from scored.groupby("origin")


def table(scored: pd.DataFrame, measures: list[str], draws: int, seed: int) -> pd.DataFrame:
    """Means by origin and feedback, those over all origins first.

    Returns:
        ``origin, feedback, n, changed`` and for each measure ``m`` its mean with ``m_low`` and ``m_high`` (95 %,
        bootstrap over documents).
    """
    results = []
    for origin, every in _by_origin(scored):
        for feedback, part in every.groupby("feedback", sort=False):
            row: dict = {"origin": origin, "feedback": feedback, "n": len(part), "changed": part["changed"].mean()}
            for measure in measures:
                interval = bootstrap_mean(part[measure], part["document_id"], draws, seed)
                row |= {measure: interval.value, f"{measure}_low": interval.low, f"{measure}_high": interval.high}
            results.append(row)
    return pd.DataFrame(results)


def difference(scored: pd.DataFrame, measures: list[str], draws: int, seed: int) -> pd.DataFrame:
    """What claim-level feedback changes beside a holistic critique, summary by summary.

    Returns:
        By origin, all of them first: ``origin, measure, difference`` (claim-level minus holistic) with ``low`` and
        ``high`` (95 %, bootstrap over documents), ``same``: the share of summaries that both revised to the same words,
        and ``one_sentence``: the share of originals that are a single sentence.
    """
    rows = []
    for origin, part in _by_origin(scored):
        both = part.set_index("id")
        ours, theirs, before = (both[both["feedback"] == name] for name in (CLAIMS, HOLISTIC, ORIGINAL))
        same = float((ours["summary"] == theirs["summary"]).mean())
        single = float(before["summary"].map(lambda summary: len(text.sentences(summary)) == 1).mean())
        for measure in measures:
            interval = bootstrap_mean(ours[measure] - theirs[measure], ours["document_id"], draws, seed)
            rows.append((origin, measure, *interval, same, single))
    columns = ["origin", "measure", "difference", "low", "high", "same", "one_sentence"]
    return pd.DataFrame(rows, columns=columns)


def headline(rows: pd.DataFrame, measures: list[str]) -> Mapping[str, Mapping[str, float]]:
    """Means over all origins by feedback, for ``dvc metrics show``."""
    return over_all(rows).set_index("feedback")[measures].T.to_dict()


def over_all(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows over all origins, which come first, or those of the only one."""
    return rows[rows["origin"] == rows["origin"].iloc[0]]


def with_stated(scored: pd.DataFrame, gold: pd.DataFrame, model: Model, prompt: str) -> pd.DataFrame:
    """Adds ``errors_left`` and ``facts_kept`` where people labelled the originals' claims."""
    labelled = gold[gold["label"].notna() & gold["example_id"].isin(scored["id"])]
    if labelled.empty:
        return scored
    return scored.merge(stated(scored, labelled, model, prompt), on=["id", "feedback"], how="left")


def measures(scored: pd.DataFrame, specs: Mapping[str, MetricSpec]) -> list[str]:
    """The measured columns, the metric that gave the feedback first."""
    return [*specs, "kept", "words", *(c for c in ("errors_left", "facts_kept") if c in scored)]
