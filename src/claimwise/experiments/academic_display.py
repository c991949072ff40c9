"""What the notebook ``academic_summaries`` shows of its tables, and what it says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from claimwise.analysis.statistics import Interval
from claimwise.experiments.academic_summaries import ORIGINAL, PEOPLE, SELF_CRITIQUE


def before_and_after(prevalence: pd.DataFrame, last: str) -> pd.DataFrame:
    """``hallucinations.prevalence`` as the paper's Table 2: one row a system, the original beside the last round."""
    columns = ["n", "reported", "adjusted", "with_any"]
    sides = [prevalence[prevalence["version"] == version].set_index("system") for version in (ORIGINAL, last)]
    frame = sides[0][["n"]].assign(
        **{
            f"{name} {when}": side[name]
            for name in columns[1:]
            for when, side in zip(("before", "after"), sides, strict=True)
        }
    )
    return frame.reset_index()


def dots(prevalence: pd.DataFrame) -> pd.DataFrame:
    """One row a dot: ``system, measure, value, low, high, panel``, best system first."""
    rows = prevalence.sort_values("reported", kind="stable")
    parts = [
        rows[["system"]].assign(
            measure=name, value=rows[name], low=rows[f"{name}_low"], high=rows[f"{name}_high"], panel="before revision"
        )
        for name in ("reported", "adjusted")
    ]
    return pd.concat(parts, ignore_index=True)


def rounds_dots(rows: pd.DataFrame, judges: Sequence[str]) -> pd.DataFrame:
    """One row a dot: ``version, judge, value, low, high``."""
    parts = [
        rows[["version"]].assign(judge=name, value=rows[name], low=rows[f"{name}_low"], high=rows[f"{name}_high"])
        for name in judges
    ]
    return pd.concat(parts, ignore_index=True)


def headline(prevalence: pd.DataFrame, rounds: pd.DataFrame, judges: Sequence[str]) -> dict:
    """Hallucinations per summary by system, and by version and judge, for ``dvc metrics show``."""
    return {
        "per summary": dict(zip(prevalence["system"], prevalence["reported"], strict=True)),
        "versions": {row["version"]: {name: row[name] for name in judges} for _, row in rounds.iterrows()},
    }


def versions_note(rounds: pd.DataFrame, last: str, critic: str, judges: Sequence[str]) -> list[str]:
    """What the figure of the versions shows: whose panel is evidence, and what it says.

    Args:
        rounds: what ``by_version`` returned.
        last: the name of the version after the last round.
        critic: the judge that is the same model as the critic.
        judges: all of them.

    >>> rounds = pd.DataFrame({"version": [ORIGINAL, "round 1"], "a": [0.8, 0.2], "b": [1.0, 0.5]})
    >>> versions_note(rounds, "round 1", "a", ["a", "b"])[1]
    'By the judges that gave no critique: `b` 1.00 to 0.50 (50 % fewer). The critic itself sees the largest part gone.'
    """
    rows = rounds.set_index("version")
    before, after = rows.loc[ORIGINAL], rows.loc[last]
    gone = {name: 1 - after[name] / before[name] for name in judges if before[name]}

    def fall(name: str) -> str:
        share = f" ({100 * abs(gone[name]):.0f} % {'fewer' if gone[name] >= 0 else 'more'})" if name in gone else ""
        return f"{before[name]:.2f} to {after[name]:.2f}{share}"

    note = (
        f"`{critic}` is the critic, and its own panel no evidence: the revisions were made by its verdicts. From the "
        f"original to {last} it goes from {fall(critic)} hallucinations per summary."
    )
    if not (others := [name for name in judges if name != critic]):
        return [f"{note} No other model judges here."]
    told = f"By the judges that gave no critique: {', '.join(f'`{name}` {fall(name)}' for name in others)}."
    largest = critic in gone and set(others) & set(gone) and all(gone[critic] > gone[n] for n in others if n in gone)
    return [note, told + (" The critic itself sees the largest part gone." if largest else "")]


def caveats(entries: Mapping[str, Mapping[str, Any]], judges: Sequence[str], critic: str) -> list[str]:
    """The limits that follow from who criticises and who judges.

    Args:
        entries: ``models`` of params.yaml, by name.
        judges: all of them.
        critic: the judge that is the same model as the critic.
    """
    others = [name for name in judges if name != critic]
    sentences = [
        f"`{critic}` also judges its own revisions: its numbers fall by construction. "
        + (
            "The judges beside it are the evidence."
            if others
            else "No other model judges here, so that is no evidence."
        )
    ]
    embedded = entries[critic].get("kind") == "embedded"
    for name in others:
        if entries[name].get("kind") == "lexical":
            sentences.append(
                f"`{name}` compares words: a weak judge, which rewards copying."
                + (
                    " Of the self-critique it is not independent: the embedded model makes it of the words that the "
                    "document lacks, and of its judge of the whole."
                    if embedded
                    else ""
                )
            )
        elif embedded and entries[name].get("kind") == "embedded":
            sentences.append(
                f"`{name}` is a relative of `{critic}`, no stranger: the same encoder and kind of verifier, trained on much "
                "of the same rows, so that it shares errors with it; where they agree is less than two opinions."
            )
    if embedded:
        sentences.append(
            "The embedded reviser deletes, replaces numbers and names by ones from the evidence, or quotes the document; "
            "it cannot rewrite."
        )
    return sentences


def findings(
    prevalence: pd.DataFrame,
    rounds: pd.DataFrame,
    changes: Mapping[str, Mapping[str, Interval]],
    critic: str,
    standing_by: str,
    entries: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    """What the tables say, in words, whichever way it came out.

    Args:
        prevalence: of the originals.
        rounds: what ``by_version`` returned.
        changes: by version and judge, the change of hallucinations per summary (``change``).
        critic: the judge that is the same model as the critic.
        standing_by: who says which sentences are supported, in words (``standing_judge``).
        entries: ``models`` of params.yaml, by name.
    """
    per_summary, apart = _extremes(prevalence, "reported", " reported hallucinations per summary")
    per_sentence, still = _extremes(prevalence, "per_sentence", "")
    length = "; what is told apart per summary may be length alone" if apart and not still else ""
    sentences = [
        f"Judged by `{critic}`, {per_summary}. Per checked sentence {per_sentence}{length}. Adjusted by precision, over all systems: "
        f"{_mean(prevalence, 'adjusted'):.2f} of {_mean(prevalence, 'reported'):.2f} reported per summary. Sentences that "
        f"cite a paper that is not among the sources: {(prevalence['missing'] * prevalence['n']).sum():.0f}."
    ]
    told: dict[str, list[str]] = {}  # by sentence the versions: rounds that changed nothing are told with those before
    versions = rounds.set_index("version")
    kinds = {name: entries[name].get("kind") for name in entries}
    for version, by_judge in changes.items():
        for sentence in [
            *_judged(versions, version, by_judge, critic, kinds),
            _stands(versions.loc[version], version, kinds[critic], standing_by),
        ]:
            told.setdefault(sentence, []).append(version)
    return sentences + [f"**{' and '.join(versions)}**: {sentence}" for sentence, versions in told.items()]


def _extremes(prevalence: pd.DataFrame, column: str, what: str) -> tuple[str, bool]:
    """The systems with the fewest and the most, in words, and whether their intervals are apart.

    >>> rows = pd.DataFrame({"system": ["a", "b"], "per_sentence": [0.2, 0.4], "per_sentence_low": [0.1, 0.3]})
    >>> _extremes(rows.assign(per_sentence_high=[0.2, 0.5]), "per_sentence", "")[0]
    '`a` has the fewest, 0.20 (0.10 to 0.20), `b` the most, 0.40 (0.30 to 0.50): their intervals do not overlap'
    """
    rows = prevalence.dropna(subset=[column]).sort_values(column, kind="stable").to_dict("records")
    values = [
        f"{row[column]:.2f} ({row[f'{column}_low']:.2f} to {row[f'{column}_high']:.2f})"
        + (f" in {row['checked']:.1f} checked sentences" if column == "reported" else "")
        for row in rows
    ]
    if not rows:
        return "nothing was checked", False
    if len(rows) == 1:
        return f"`{rows[0]['system']}` has {values[0]}{what}", False
    apart = rows[0][f"{column}_high"] < rows[-1][f"{column}_low"]
    return (
        f"`{rows[0]['system']}` has the fewest{what}, {values[0]}, `{rows[-1]['system']}` the most, {values[-1]}: their "
        f"intervals {'do not overlap' if apart else 'overlap'}",
        apart,
    )


def _judged(
    versions: pd.DataFrame, version: str, by_judge: Mapping[str, Interval], critic: str, kinds: Mapping[str, str | None]
) -> list[str]:
    """What a version changed by each judge that is not the critic, if there are others."""
    sentences = []
    for name, change in by_judge.items():
        if name == critic and len(by_judge) > 1:
            continue
        of_words = version == SELF_CRITIQUE and (kinds[critic], kinds[name]) == ("embedded", "lexical")
        moved = "fewer" if change.high < 0 else "more" if change.low > 0 else "no change beyond chance"
        sentences.append(
            f"judged by `{name}`{', which compares words as this critique does,' if of_words else ','} hallucinations per "
            f"summary go from {versions.loc[ORIGINAL, name]:.2f} to {versions.loc[version, name]:.2f} "
            f"({change.value:+.2f}, {change.low:+.2f} to {change.high:+.2f}: {moved})."
        )
    return sentences


def _stands(row: pd.Series, version: str, kind: str | None, standing_by: str) -> str:
    """What of the original stands in a version, and where the critic's verdicts decide, what that is worth."""
    note = ""
    if standing_by != PEOPLE and version != SELF_CRITIQUE:
        edits = kind in ("embedded", "lexical")
        note = " (by construction: only what it rejects is edited)" if edits else " (it chose what was criticised)"
    return (
        f"by {standing_by}, {100 * row['supported_kept']:.0f} % of the supported sentences still stand{note} and "
        f"{100 * row['wrong_left']:.0f} % of the unsupported ones are left as they were."
    )


def _mean(rows: pd.DataFrame, column: str) -> float:
    return float((rows[column] * rows["n"]).sum() / rows["n"].sum())
