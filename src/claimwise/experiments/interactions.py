"""Who summarises, who criticises, who judges: every combination of some models (Factored Verification Table 3)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from claimwise.easiness import rouge_l_f1
from claimwise.experiments.academic_summaries import revisions, round_name
from claimwise.experiments.hallucinations import judge, per_summary, versions
from claimwise.models.base import Model

NO_CRITIQUE = "none"


def cube(
    examples: pd.DataFrame, models: Mapping[str, Model], *, critique: str, revise: str, verify: str
) -> pd.DataFrame:
    """Table 3: every summariser with no critique and each model's, judged by each model; no cell is left out.

    Returns:
        ``summary, critique, judge, n, reported`` (hallucinations per summary), ``with_any`` (percent), ``rouge_l``.
    """
    drafts = {NO_CRITIQUE: versions(examples, examples["summary"], NO_CRITIQUE)}
    for name, model in models.items():
        made, _ = revisions(examples, model, critique=critique, revise=revise, rounds=1)
        drafts[name] = made[made["version"] == round_name(1)].assign(version=name)
    table = pd.concat(drafts.values(), ignore_index=True)
    near = [rouge_l_f1(r.original, r.summary) for r in table.itertuples()]
    rows = []
    for name, model in models.items():
        counted = per_summary(table.assign(rouge_l=near), judge(table, model, verify))
        for (system, critic), part in counted[counted["answered"]].groupby(["system", "version"], sort=False):
            wrong = part["hallucinations"]
            rows.append(
                (system, critic, name, len(part), wrong.mean(), 100 * (wrong > 0).mean(), part["rouge_l"].mean())
            )
    columns = ["summary", "critique", "judge", "n", "reported", "with_any", "rouge_l"]
    return pd.DataFrame(rows, columns=columns).sort_values(["judge", "summary"], kind="stable", ignore_index=True)


def self_preference(cells: pd.DataFrame) -> pd.DataFrame:
    """How much more each judge sees gained by its own critiques than by the others', mean over summarisers.

    Returns:
        ``judge, own_critique`` and ``other_critiques`` (share of the hallucinations that they remove, by this judge),
        and ``difference``; where judges summarise too, ``own_summaries`` and ``other_summaries`` (hallucinations per
        summary).
    """
    rows = []
    for name, part in cells.groupby("judge", sort=False):
        wide = part.pivot_table(index="summary", columns="critique", values="reported")
        before = wide[NO_CRITIQUE].sum()
        gains = {critic: (before - wide[critic].sum()) / before if before else np.nan for critic in wide}
        others = [gain for critic, gain in gains.items() if critic not in (name, NO_CRITIQUE)]
        row = {"judge": name, "own_critique": gains[name], "other_critiques": np.mean(others) if others else np.nan}
        row["difference"] = row["own_critique"] - row["other_critiques"]
        if name in wide.index:
            row |= {
                "own_summaries": wide.loc[name, NO_CRITIQUE],
                "other_summaries": wide[NO_CRITIQUE].drop(name).mean(),
            }
        rows.append(row)
    return pd.DataFrame(rows)


def published_cells(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's Table 3 as ``cube`` returns ours; the twelfth cell, which the paper lacks, stays empty."""
    parts = rows["row"].str.extract(r"summary (?P<summary>.+), critique (?P<critique>.+), judge (?P<judge>.+)")
    return parts.assign(reported=rows["value"])[rows["measure"] == "reported"].reset_index(drop=True)


def findings(cells: pd.DataFrame, preference: pd.DataFrame) -> list[str]:
    """What the cube says, in words, whichever way it came out."""
    sizes = {name: cells[name].nunique() for name in ("summary", "critique", "judge")}
    sentences = [
        f"{len(cells)} cells are complete: {sizes['summary']} summarisers, {sizes['critique'] - 1} critics and none, "
        f"{sizes['judge']} judges."
    ]
    for row in preference.itertuples():
        if row.difference == row.difference:
            more = "more" if row.difference > 0 else "less"
            sentences.append(
                f"Judged by `{row.judge}`, its own critiques remove {100 * row.own_critique:.0f} % of the "
                f"hallucinations, the others' {100 * row.other_critiques:.0f} %: {100 * abs(row.difference):.0f} points {more}."
            )
    return sentences
