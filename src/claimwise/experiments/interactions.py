"""Who summarises, who criticises, who judges: every combination of some models (Factored Verification Table 3)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from claimwise.analysis.easiness import rouge_l_f1
from claimwise.analysis.statistics import bootstrap_mean, bootstrap_ratio
from claimwise.experiments.academic_summaries import revisions, round_name
from claimwise.experiments.hallucinations import judge, per_summary, versions, with_any
from claimwise.models.base import Model

NO_CRITIQUE = "none"

_CELL = ["judge", "summary", "critique"]


def cube(
    examples: pd.DataFrame, models: Mapping[str, Model], *, critique: str, revise: str, verify: str
) -> pd.DataFrame:
    """Every summariser's summaries with no critique and revised by each model's, judged by each model.

    Args:
        examples: summaries of one system or several (``academic_summaries.summaries``).
        models: each criticises and judges.
        critique: name of the critique prompt (A.3.1).
        revise: name of the revision prompt (A.3.2).
        verify: name of the verification prompt.

    Returns:
        ``judge, summary, critique, id, document_id, hallucinations, rouge_l`` (to the original), one row a summary,
        critic (or ``none``) and judge; replies that are no summary are left out.
    """
    drafts = {NO_CRITIQUE: versions(examples, examples["summary"], NO_CRITIQUE)}
    for name, model in models.items():
        made, _ = revisions(examples, model, critique=critique, revise=revise, rounds=1)
        drafts[name] = made[made["version"] == round_name(1)].assign(version=name)
    table = pd.concat(drafts.values(), ignore_index=True)
    table["rouge_l"] = [rouge_l_f1(r.original, r.summary) for r in table.itertuples()]
    counted = [per_summary(table, judge(table, model, verify)).assign(judge=name) for name, model in models.items()]
    rows = pd.concat(counted, ignore_index=True)
    rows = rows[rows["answered"]].drop(columns="summary").rename(columns={"system": "summary", "version": "critique"})
    return rows[[*_CELL, "id", "document_id", "hallucinations", "rouge_l"]].reset_index(drop=True)


def cells(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """Table 3, one row a cell.

    Args:
        rows: what ``cube`` returned.
        draws: bootstrap samples over documents.
        seed: of the draws.

    Returns:
        ``judge, summary, critique, n`` (summaries whose sentences all have a verdict), ``found`` (hallucinations in all of them), ``reported`` (per
        summary) with ``reported_low`` and ``reported_high``, ``with_any`` (percent of summaries), ``rouge_l``.
    """
    results = []
    for key, part in rows.groupby(_CELL, sort=False):
        wrong = part["hallucinations"]
        mean = bootstrap_mean(wrong, part["document_id"], draws, seed)
        numbers = (wrong.count(), int(wrong.sum()), *mean, with_any(wrong).mean(), part["rouge_l"].mean())
        results.append((*key, *numbers))
    columns = [*_CELL, "n", "found", "reported", "reported_low", "reported_high", "with_any", "rouge_l"]
    return pd.DataFrame(results, columns=columns).sort_values(["judge", "summary"], kind="stable", ignore_index=True)


def across(table: pd.DataFrame) -> pd.DataFrame:
    """``cells``, or ``published_cells``, with one column a judge: hallucinations per summary, with their 95 % interval
    where there is one, and the percentage of summaries with any.

    >>> across(pd.DataFrame({"summary": "a", "critique": "none", "judge": ["j"], "reported": 0.5, "with_any": 37.5}))
      summary critique      judge: j
    0       a     none  0.50, 37.5 %
    """
    ends = "reported_low" in table
    cells = [
        f"{r.reported:.2f}{f' ({r.reported_low:.2f} to {r.reported_high:.2f})' if ends else ''}, {r.with_any:.3g} %"
        for r in table.itertuples()
    ]
    wide = table.assign(judge="judge: " + table["judge"], cell=cells).pivot_table(
        index=[name for name in ("summary", "critique", "n") if name in table],
        columns="judge",
        values="cell",
        aggfunc="first",
        sort=False,
    )
    return wide.reset_index().rename_axis(columns=None)


def self_preference(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """How much more each judge sees gained by its own critiques than by the others', over all summarisers.

    Args:
        rows: what ``cube`` returned.
        draws: bootstrap samples over documents.
        seed: of the draws.

    Returns:
        ``judge, before`` (hallucinations that it finds in the originals), ``own_critique`` and ``other_critiques``
        (share of them that the revisions are without, by this judge), and their ``difference`` with ``low`` and
        ``high``; where judges summarise too, ``own_summaries`` and ``other_summaries`` (hallucinations per summary).
        NaN where there is no other critic, or nothing to remove.
    """
    results = []
    for name, part in rows.groupby("judge", sort=False):
        wide = part.pivot_table(index=["document_id", "id"], columns="critique", values="hallucinations").dropna()
        before, documents = wide[NO_CRITIQUE], wide.index.get_level_values("document_id")
        others = wide.drop(columns=[name, NO_CRITIQUE]).mean(axis=1)
        shares = {
            column: bootstrap_ratio(gained, before, documents, draws, seed)
            for column, gained in (
                ("own_critique", before - wide[name]),
                ("other_critiques", before - others),
                ("difference", others - wide[name]),
            )
        }
        row = {"judge": name, "before": int(before.sum())} | {column: one.value for column, one in shares.items()}
        row |= {"low": shares["difference"].low, "high": shares["difference"].high}
        originals = part[part["critique"] == NO_CRITIQUE].groupby("summary")["hallucinations"].mean()
        if name in originals.index and len(originals) > 1:
            row |= {"own_summaries": originals[name], "other_summaries": originals.drop(name).mean()}
        results.append(row)
    return pd.DataFrame(results)


def published_cells(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's Table 3 as ``cells`` returns ours: ``summary, critique, judge, reported, with_any``. The twelfth cell,
    which the paper lacks, is not there."""
    parts = rows["row"].str.extract(r"summary (?P<summary>.+), critique (?P<critique>.+), judge (?P<judge>.+)")
    measures = rows["measure"].replace("percent_with_any", "with_any")
    wide = parts.assign(measure=measures, value=rows["value"]).pivot_table(
        index=["summary", "critique", "judge"], columns="measure", values="value", sort=False
    )
    return wide.reset_index().rename_axis(columns=None)


def note(table: pd.DataFrame, preference: pd.DataFrame) -> list[str]:
    """What the cube's figure shows: each judge's findings after its own critiques and after the others'.

    Args:
        table: what ``cells`` returned.
        preference: what ``self_preference`` returned.
    """
    sentences = []
    for name, part in table.groupby("judge", sort=False):
        whose = part["critique"].map({NO_CRITIQUE: NO_CRITIQUE, name: "own"}).fillna("others")
        sums = part.groupby(whose)[["found", "n"]].sum()
        per = (sums["found"] / sums["n"]).map("{:.2f}".format)
        after = f"{per['own']} after its own critiques"
        others = f", {per['others']} after the others'" if "others" in per else ""
        sentences.append(f"`{name}` finds {per[NO_CRITIQUE]} per summary in the originals, {after}{others}")
    known = preference.dropna(subset=["difference"])
    sure = known.loc[known["low"] > 0, "judge"]
    if known.empty:
        conclusion = "Whether a judge favours its own critiques cannot be told here."
    elif len(sure) == len(preference):
        conclusion = (
            "Each judge finds more gone after its own critiques than after the others', beyond chance: that a model sees "
            "fewer hallucinations in what it revised by its own verdicts is no evidence that there are fewer."
        )
    elif len(sure):
        conclusion = (
            f"Beyond chance more is gone after its own critiques for {', '.join(f'`{name}`' for name in sure)}."
        )
    else:
        conclusion = "No judge finds more gone after its own critiques than after the others', beyond chance."
    return [f"Darker is more hallucinations: {'; '.join(sentences)}.", conclusion]


def findings(table: pd.DataFrame, preference: pd.DataFrame) -> list[str]:
    """What the cube says, in words, whichever way it came out.

    Args:
        table: what ``cells`` returned.
        preference: what ``self_preference`` returned.
    """
    sizes = {name: table[name].nunique() for name in _CELL}
    low, high = table["n"].min(), table["n"].max()
    sentences = [
        f"{len(table)} of {np.prod(list(sizes.values()))} cells are complete: {sizes['summary']} summarisers, "
        f"{sizes['critique'] - 1} critics and none, {sizes['judge']} judges. A cell rests on "
        f"{low if low == high else f'{low} to {high}'} summaries and {table['found'].min()} to {table['found'].max()} "
        "hallucinations."
    ]
    for row in preference.itertuples():
        if row.difference == row.difference:
            more = "more" if row.difference > 0 else "less"
            sure = "beyond chance" if row.low > 0 or row.high < 0 else "no more than chance"
            sentences.append(
                f"Judged by `{row.judge}`, which finds {row.before} hallucinations in the originals, its own critiques "
                f"{_removed(row.own_critique)}, the others' {_removed(row.other_critiques)}: "
                f"{100 * abs(row.difference):.0f} points {more} ({100 * row.low:+.0f} to {100 * row.high:+.0f}: {sure})."
            )
    return sentences


def _removed(share: float) -> str:
    """A share of the hallucinations that are gone, in words.

    >>> _removed(0.25), _removed(-0.5)
    ('remove 25 %', 'add 50 %')
    """
    return f"{'remove' if share >= 0 else 'add'} {100 * abs(share):.0f} %"
