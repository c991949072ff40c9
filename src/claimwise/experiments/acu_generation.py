"""Claims against people's claims, by prompt (ACUEval Table 2, FENICE Table 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from claimwise import claims, text
from claimwise.corpora import Corpus
from claimwise.easiness import easiness
from claimwise.models.base import Decomposition, Model
from claimwise.progress import bar
from claimwise.statistics import bootstrap_mean

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


def headline(rows: pd.DataFrame) -> Mapping[str, Mapping[str, float]]:
    """F1 by origin and decomposer, for ``dvc metrics show``."""
    return {origin: dict(zip(part["decomposer"], part["f1"], strict=True)) for origin, part in rows.groupby("origin")}


def decomposers(prompts: Sequence[str], corpus: Corpus) -> list[str]:
    """The two that need no model, the prompts, and the published systems on record for the corpus."""
    recorded = [f"recorded:{name}" for name in sorted(corpus.recorded_claims["decomposer"].unique())]
    return [claims.WholeSummary.name, claims.Sentences.name, *prompts, *recorded]


def sizes(rows: pd.DataFrame) -> Mapping[str, int]:
    """Test summaries by origin."""
    return rows.groupby("origin", sort=False)["n"].max().to_dict()


def display(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns that the notebook shows, an origin's decomposers together."""
    origins = list(dict.fromkeys(rows["origin"]))
    rows = rows.sort_values("origin", key=lambda column: column.map(origins.index), kind="stable")
    columns = ["origin", "decomposer", "precision", "recall", "f1", "f1_low", "f1_high", "n_claims", "n_gold"]
    return rows[[*columns, "duplicates", "coverage", "no_claims", "published_precision"]]


def _beside(recorded: pd.Series, ours: pd.Series) -> str:
    """What intervals say of two F1s.

    >>> row = pd.Series({"f1": 73.0, "f1_low": 70.0, "f1_high": 76.0})
    >>> _beside(row, row), _beside(row, pd.Series({"f1": 79.0, "f1_low": 77.0, "f1_high": 81.0}))
    ('not told apart from ours by their intervals', 'below ours')
    """
    if recorded["f1_low"] > ours["f1_high"]:
        return "above ours"
    return "below ours" if recorded["f1_high"] < ours["f1_low"] else "not told apart from ours by their intervals"


def findings(rows: pd.DataFrame) -> list[str]:
    """What the table says, in words, whichever way it came out."""
    sentences = []
    for origin, part in rows.groupby("origin", sort=False):
        part = part.set_index("decomposer")
        ours = part[part.index.str.contains("decompose")]
        if ours["f1"].isna().all():
            sentences.append(f"**{origin}**: none of the model's replies holds claims that could be read.")
            continue
        best, split = ours["f1"].idxmax(), part.loc[claims.Sentences.name]
        above, below = ours.loc[best, "f1_low"] > split["f1_high"], ours.loc[best, "f1_high"] < split["f1_low"]
        verdict = "clearly above" if above else "clearly below" if below else "not told apart (by intervals) from"
        others = ours["f1"].drop(best).dropna()
        within = [name for name in others.index if ours.loc[name, "f1_high"] >= ours.loc[best, "f1_low"]]
        matter = (
            f" The other prompts' F1 is {others.min():.1f} to {others.max():.1f}"
            + (
                ": their intervals all overlap with its own, so that this run does not say which prompt is best."
                if len(within) == len(others)
                else "."
            )
            if len(others)
            else ""
        )
        sentences.append(
            f"**{origin}**: the highest F1 of a prompt, {ours.loc[best, 'f1']:.1f} "
            f"({ours.loc[best, 'f1_low']:.1f} to {ours.loc[best, 'f1_high']:.1f}), is that of `{best}`, {verdict} the "
            f"sentence split's {split['f1']:.1f}.{matter} It writes {ours.loc[best, 'n_claims']:.1f} claims a summary where people wrote "
            f"{ours.loc[best, 'n_gold']:.1f}. On precision alone the sentence split, which needs no model, has "
            f"{split['precision']:.1f} against {ours.loc[best, 'precision']:.1f}."
        )
        recorded = part[part.index.str.startswith("recorded:")]
        if len(recorded):
            top = recorded["f1"].idxmax()
            sentences.append(
                f"**{origin}**: of the claims on record, `{top}` has F1 {recorded.loc[top, 'f1']:.1f} "
                f"({recorded.loc[top, 'f1_low']:.1f} to {recorded.loc[top, 'f1_high']:.1f}), {_beside(recorded.loc[top], ours.loc[best])}."
            )
    return sentences
