"""The claims that FENICE stands on against people's, by words and by meaning (FENICE Tables 1 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from claimwise.analysis import easiness_states
from claimwise.analysis.easiness import easiness
from claimwise.corpora import Corpus
from claimwise.metrics import MetricSpec, claims
from claimwise.models.base import Model

#: Decomposers of FENICE's Table 1 under the names of our tables.
PUBLISHED_CLAIMS = {"recorded:fenice-t5": "FENICE T5", "recorded:gpt-3.5-turbo": "gpt-3.5"}


def test_references(corpus: Corpus) -> Corpus:
    """The corpus with the reference summaries of its test split that have people's claims."""
    examples = corpus.examples
    kept = (examples["system"] == "reference") & (examples["split"] == "test")
    kept &= examples["id"].isin(corpus.gold_claims["example_id"])
    return replace(corpus, examples=examples[kept].reset_index(drop=True))


#: What the column with the paper's easiness is called.
PUBLISHED_EASINESS = "published P / R / F1"


def easiness_published(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Adds the paper's precision, recall and F1 as they are printed: FENICE's Table 1 (ROUGE-1) or 6 (BERTScore), which are
    over all of ROSE.

    >>> rows = pd.DataFrame({"decomposer": ["sentences", "recorded:fenice-t5"]})
    >>> values = [("FENICE T5", "easiness_precision", 79.2), ("FENICE T5", "easiness_recall", 68.8)]
    >>> values = pd.DataFrame([*values, ("FENICE T5", "easiness_f1", 73.4)], columns=["row", "measure", "value"])
    >>> easiness_published(rows, values)[PUBLISHED_EASINESS].tolist()
    [nan, '79.2 / 68.8 / 73.4']
    """
    values = published.assign(measure=published["measure"].str.rpartition("_")[2])
    wide = values.pivot_table(index="row", columns="measure", values="value")[["precision", "recall", "f1"]]
    printed = wide.apply(lambda row: " / ".join(f"{value:.1f}" for value in row), axis=1)
    return rows.assign(**{PUBLISHED_EASINESS: rows["decomposer"].map(PUBLISHED_CLAIMS).map(printed)})


def easiness_by_states(
    corpus: Corpus,
    names: Sequence[str],
    model: Model,
    documents: int | None = None,
    encoder: easiness_states.WordEncoder | None = None,
) -> pd.DataFrame:
    """FENICE Table 6 in our form: easiness in percent by matched word states instead of ROUGE-1, test references.

    Args:
        corpus: references with people's claims.
        names: decomposers, as ``claims.decomposer`` takes them.
        model: plays the prompted ones.
        documents: compare the first so many, by id; None for all.
        encoder: None takes ``easiness_states.own_encoder``.

    Returns:
        ``origin, decomposer`` and the means ``states_precision, states_recall, states_f1``.
    """
    gold = corpus.gold_claims.groupby("example_id", sort=False)["claim"].agg(list)
    examples = test_references(corpus).first(documents).examples
    wanted = [gold[key] for key in examples["id"]]
    encoder = encoder or easiness_states.own_encoder()
    rows = []
    for name in names:
        found = claims.decomposer(name, model, corpus.recorded_claims).decompose(examples)
        made = [[claim.text for claim in item.claims] for item in found]
        similarity = easiness_states.StateSimilarity((text for group in (*made, *wanted) for text in group), encoder)
        for origin, ours, theirs in zip(examples["origin"], made, wanted, strict=True):
            rows.append((origin, name, *(100 * value for value in easiness(ours, theirs, similarity))))
    columns = ["origin", "decomposer", "states_precision", "states_recall", "states_f1"]
    groups = pd.DataFrame(rows, columns=columns).groupby(columns[:2], sort=False)
    means = groups.mean()
    means.insert(0, "n", groups["states_f1"].count())  # a text without claims has none
    return means.reset_index()


def decomposers(spec: MetricSpec, corpus: Corpus) -> list[str]:
    """What the easiness table compares: sentences, the metric's claims, and the published systems on record."""
    recorded = [f"recorded:{name}" for name in sorted(corpus.recorded_claims["decomposer"].unique())]
    own = [] if spec.decompose in recorded or spec.decompose.startswith("recorded:") else [spec.decompose]
    return [claims.Sentences.name, *own, *recorded]
