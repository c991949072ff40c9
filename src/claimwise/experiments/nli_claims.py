"""The claims that FENICE stands on against people's, by words and by meaning (FENICE Tables 1 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from claimwise import claims, easiness_states
from claimwise.corpora import Corpus
from claimwise.easiness import easiness
from claimwise.metrics import MetricSpec
from claimwise.models.base import Model

#: Decomposers of FENICE's Table 1 under the names of our tables.
PUBLISHED_CLAIMS = {"recorded:fenice-t5": "FENICE T5", "recorded:gpt-3.5-turbo": "gpt-3.5"}


def test_references(corpus: Corpus) -> Corpus:
    """The corpus with the reference summaries of its test split that have people's claims."""
    examples = corpus.examples
    kept = (examples["system"] == "reference") & (examples["split"] == "test")
    kept &= examples["id"].isin(corpus.gold_claims["example_id"])
    return replace(corpus, examples=examples[kept].reset_index(drop=True))


def easiness_published(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Adds ``published_f1``: FENICE's Table 1 (ROUGE-1) or 6 (BERTScore), which are over all of ROSE."""
    values = published[published["measure"].str.endswith("_f1")].set_index("row")["value"]
    return rows.assign(published_f1=rows["decomposer"].map(PUBLISHED_CLAIMS).map(values).astype(float))


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
    means.insert(0, "n", groups.size())
    return means.reset_index()


def decomposers(spec: MetricSpec, corpus: Corpus) -> list[str]:
    """What the easiness table compares: sentences, the metric's claims, and the published systems on record."""
    recorded = [f"recorded:{name}" for name in sorted(corpus.recorded_claims["decomposer"].unique())]
    own = [] if spec.decompose in recorded or spec.decompose.startswith("recorded:") else [spec.decompose]
    return [claims.Sentences.name, *own, *recorded]
