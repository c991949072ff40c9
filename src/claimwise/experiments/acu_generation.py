"""Claims against people's claims, by prompt (ACUEval Table 2, FENICE Table 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from claimwise import text
from claimwise.analysis.easiness import easiness
from claimwise.analysis.statistics import bootstrap_mean
from claimwise.corpora import Corpus
from claimwise.metrics import claims
from claimwise.models.base import Decomposition, Model
from claimwise.progress import bar

MEASURES = ("precision", "recall", "f1")

#: Rows of ACUEval's Table 2 that stand beside ours.
PUBLISHED_ROWS = {
    "factscore-decompose-sentence": "FactScore prompt",
    "acueval-decompose-1shot": "1-shot",
    "acueval-decompose-3shot": "3-shot",
    "acueval-decompose-5shot": "5-shot",
}


def per_example(
    corpus: Corpus, decomposers: Sequence[str], model: Model, *, by_origin: bool = True, batch: int = 64
) -> pd.DataFrame:
    """Easiness of every reference summary's claims, for every decomposer.

    Args:
        corpus: references with people's claims.
        decomposers: names as ``claims.decomposer`` takes them.
        model: plays the prompted ones.
        by_origin: report the corpus's origins one by one, else the corpus as a whole.
        batch: summaries a step.

    Returns:
        One row an example and decomposer: ``decomposer, origin, split, document_id``, easiness ``precision``,
        ``recall``, ``f1`` in [0, 1] (NaN where there are no claims), ``n_claims``, ``n_gold``, ``duplicates``
        (share of claims with the words of an earlier one) and ``coverage`` (share of the summary's words that
        stand in some claim).
    """
    gold = corpus.gold_claims.sort_values(["example_id", "claim_index"]).groupby("example_id")["claim"].agg(list)
    examples = corpus.examples[corpus.examples["id"].isin(gold.index) & (corpus.examples["system"] == "reference")]
    rows = []
    for name in decomposers:
        decomposer = claims.decomposer(name, model, corpus.recorded_claims)
        steps = bar(len(examples), name, "summary")
        for start in range(0, len(examples), batch):
            part = examples.iloc[start : start + batch]
            steps.update(len(part))
            for example, made in zip(part.itertuples(), decomposer.decompose(part), strict=True):
                scores = _row(example.summary, made, gold[example.id])
                rows.append(
                    (name, example.origin if by_origin else example.corpus, example.split, example.document_id, *scores)
                )
        steps.close()
    columns = [
        "decomposer",
        "origin",
        "split",
        "document_id",
        *MEASURES,
        "n_claims",
        "n_gold",
        "duplicates",
        "coverage",
    ]
    return pd.DataFrame(rows, columns=columns)


def _row(summary: str, made: Decomposition, gold: list[str]) -> tuple:
    texts = [claim.text for claim in made.claims]
    bags = [frozenset(text.words(claim)) for claim in texts]
    wanted = set(text.words(summary))
    covered = wanted & set().union(*bags)
    duplicates = 1 - len(set(bags)) / len(bags) if bags else np.nan
    coverage = len(covered) / len(wanted) if wanted else np.nan
    return *easiness(texts, gold), len(texts), len(gold), duplicates, coverage


def table(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """Means with 95 % bootstrap intervals over documents, one row an (origin, decomposer).

    Returns:
        ``origin, decomposer, n`` (documents), for each measure m in percent ``m``, ``m_low``, ``m_high``, and the means
        of the other columns; ``no_claims`` counts the documents left out because nothing was generated.
    """
    results = []
    for (origin, name), part in rows.groupby(["origin", "decomposer"], sort=False):
        row: dict = {"origin": origin, "decomposer": name, "n": int(part["f1"].notna().sum())}
        for measure in MEASURES:
            interval = bootstrap_mean(100 * part[measure], part["document_id"], draws, seed)
            row |= {measure: interval.value, f"{measure}_low": interval.low, f"{measure}_high": interval.high}
        row |= {key: part[key].mean() for key in ("n_claims", "n_gold", "duplicates", "coverage")}
        results.append(row | {"no_claims": int(part["f1"].isna().sum())})
    return pd.DataFrame(results)


def differences(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """F1 of every decomposer less that of the best prompt, and less that of the sentence split, on the same summaries.

    All decomposers read the same summaries, some of them hard for all: the intervals of two means may overlap where
    their difference is beyond chance, so that verdicts rest on the difference's own interval.

    Args:
        rows: of ``per_example``, one split.
        draws: bootstrap samples over documents.
        seed: of the draws.

    Returns:
        ``origin, decomposer, against, n`` (documents with claims by both), ``difference`` of the mean F1 in points with
        ``low`` and ``high`` (95 %). No row against the best prompt where no prompt made a claim.
    """
    results = []
    for origin, part in rows.groupby("origin", sort=False):
        f1 = 100 * part.pivot_table(index="document_id", columns="decomposer", values="f1", dropna=False, sort=False)
        prompts = f1.loc[:, _prompts(f1.columns)].mean().dropna()
        for against in [*prompts.nlargest(1).index, claims.Sentences.name]:
            for name in f1.columns.drop(against):
                gap = (f1[name] - f1[against]).dropna()
                results.append((origin, name, against, len(gap), *bootstrap_mean(gap, gap.index, draws, seed)))
    return pd.DataFrame(results, columns=["origin", "decomposer", "against", "n", "difference", "low", "high"])


def _prompts(names: pd.Index) -> np.ndarray:
    """Which decomposers are prompts: their names hold the role."""
    return names.str.contains("decompose") & ~names.str.startswith("recorded:")


def with_published(ours: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Adds ``published_precision``: ACUEval's Table 2, where the row has a counterpart there."""
    values = published.set_index(["origin", "row"])["value"]
    keys = zip(ours["origin"], ours["decomposer"].map(PUBLISHED_ROWS), strict=True)
    return ours.assign(published_precision=[values.get(key, np.nan) for key in keys])


def long_form(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a measure, for a figure with P, R and F1 side by side; ``published`` is of precision only."""
    parts = [
        rows[["origin", "decomposer"]].assign(
            measure=measure.capitalize() if measure != "f1" else "F1",
            value=rows[measure],
            low=rows[f"{measure}_low"],
            high=rows[f"{measure}_high"],
            published=rows["published_precision"] if measure == "precision" else np.nan,
        )
        for measure in MEASURES
    ]
    return pd.concat(parts, ignore_index=True)


def decomposers(prompts: Sequence[str], corpus: Corpus) -> list[str]:
    """The two that need no model, the prompts, and the published systems on record for the corpus."""
    recorded = [f"recorded:{name}" for name in sorted(corpus.recorded_claims["decomposer"].unique())]
    return [claims.WholeSummary.name, claims.Sentences.name, *prompts, *recorded]


def display(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns that the notebook shows, an origin's decomposers together."""
    origins = list(dict.fromkeys(rows["origin"]))
    rows = rows.sort_values("origin", key=lambda column: column.map(origins.index), kind="stable")
    columns = ["origin", "decomposer", "precision", "recall", "f1", "f1_low", "f1_high", "n_claims", "n_gold"]
    return rows[[*columns, "duplicates", "coverage", "no_claims", "published_precision"]]


def _beside(gap: Mapping[str, float]) -> str:
    """Where one F1 stands to another, by the interval of their difference.

    >>> _beside({"difference": -1.2, "low": -2.0, "high": -0.4})
    '1.20 points (0.40 to 2.00) below'
    >>> _beside({"difference": 0.1, "low": -0.2, "high": 0.3})
    'not told apart (+0.10, -0.20 to +0.30) from'
    """
    value, low, high = gap["difference"], gap["low"], gap["high"]
    if low > 0:
        return f"{value:.2f} points ({low:.2f} to {high:.2f}) above"
    if high < 0:
        return f"{-value:.2f} points ({-high:.2f} to {-low:.2f}) below"
    return f"not told apart ({value:+z.2f}, {low:+z.2f} to {high:+z.2f}) from"


def findings(rows: pd.DataFrame, gaps: pd.DataFrame) -> list[str]:
    """What the tables say, in words, whichever way it came out.

    Args:
        rows: what ``table`` returned.
        gaps: what ``differences`` returned, of the same rows.
    """
    sentences = []
    for origin, part in rows.groupby("origin", sort=False):
        part, paired = part.set_index("decomposer"), gaps[gaps["origin"] == origin].set_index("against")
        best = next((name for name in paired.index if name != claims.Sentences.name), None)
        if best is None:
            sentences.append(f"**{origin}**: none of the model's replies holds claims that could be read.")
            continue
        ours, split = part.loc[best], part.loc[claims.Sentences.name]
        to_best, to_split = (paired.loc[[name]].set_index("decomposer") for name in (best, claims.Sentences.name))
        sentences.append(
            f"**{origin}**: the highest F1 of a prompt, {_f1(ours)}, is that of `{best}`, "
            f"{_beside(to_split.loc[best])} the sentence split's {split['f1']:.1f}.{_others(to_best)} "
            f"`{best}` writes {ours['n_claims']:.1f} claims a summary where people wrote {ours['n_gold']:.1f}. On precision "
            f"alone the sentence split, which needs no model, has {split['precision']:.1f} against "
            f"{ours['precision']:.1f}."
        )
        recorded = part.loc[part.index.str.startswith("recorded:"), "f1"].dropna()
        if len(recorded):
            top = recorded.idxmax()
            sentences.append(
                f"**{origin}**: of the claims on record, `{top}` has F1 {_f1(part.loc[top])}, "
                f"{_beside(to_best.loc[top])} ours on the {to_best.loc[top, 'n']} summaries that both have claims for."
            )
    return sentences


def _others(to_best: pd.DataFrame) -> str:
    """The other prompts beside the best one; nothing where there is no other that could be read."""
    prompts = to_best[_prompts(to_best.index) & (to_best["n"] > 0)]
    if prompts.empty:
        return ""
    told = ", ".join(f"`{name}` is {_beside(gap)} it" for name, gap in prompts.iterrows())
    alike = ((prompts["low"] <= 0) & (prompts["high"] >= 0)).all()
    return f" On the same summaries, {told}" + (": this run does not say which prompt is best." if alike else ".")


def _f1(row: pd.Series) -> str:
    return f"{row['f1']:.1f} ({row['f1_low']:.1f} to {row['f1_high']:.1f})"
