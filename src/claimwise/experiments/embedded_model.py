"""What the embedded verifier knows, by its verdicts on labelled claims and summaries of the corpora of ``data``, with those of
other models beside them: by kind of error, supervised or not, and how well calibrated it is. What only training can measure is in
``embedded_training``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from claimwise import models, statistics
from claimwise.corpora import Corpus
from claimwise.experiments import acu_verification, meta_evaluation, report
from claimwise.metrics import MetricSpec, evaluate
from claimwise.verification import SUPPORTED


def by_variant(
    corpora: Mapping[str, Corpus],
    groups: Mapping[str, str],
    variants: Sequence[str],
    entries: Mapping[str, Mapping[str, Any]],
    verify: str,
    cache: str,
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """How well variants of the model tell faithful from unfaithful summaries by the mean support of their sentences.

    Args:
        corpora: with labelled summaries, in splits validation and test.
        groups: for each corpus ``origin`` (a threshold an origin) or ``all``.
        variants: entries of ``models`` in params.yaml; differences are to the first.
        entries: these entries.
        verify: the verification prompt.
        cache: the file of finished calls.
        draws: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        One row a corpus, group and variant: ``corpus, group, model, n, threshold, balanced_accuracy`` (percent) with
        ``low`` and ``high``, ``auc``, ``difference`` and its ``p`` (see ``meta_evaluation.table``).
    """
    parts = []
    for corpus, content in corpora.items():
        scores = summary_scores(content, variants, entries, verify, cache)
        rows = meta_evaluation.collect(content, scores, groups[corpus] == "origin")
        parts.append(meta_evaluation.table(rows, variants, variants[0], draws, seed).assign(corpus=corpus))
    columns = [
        "corpus",
        "group",
        "model",
        "n",
        "threshold",
        "balanced_accuracy",
        "low",
        "high",
        "auc",
        "difference",
        "p",
    ]
    return pd.concat(parts, ignore_index=True).rename(columns={"metric": "model"})[columns]


def summary_scores(
    corpus: Corpus, variants: Sequence[str], entries: Mapping[str, Mapping[str, Any]], verify: str, cache: str
) -> dict[str, pd.DataFrame]:
    """Of each variant the score table of a corpus's summaries: the mean support of their sentences."""
    spec = MetricSpec(decompose="sentences", verify=verify, aggregate="mean")
    return {name: evaluate(name, spec, models.load(entries[name], cache), corpus.examples).scores for name in variants}


def verdicts(
    corpora: Sequence[Corpus], checked: Sequence[str], entries: Mapping[str, Mapping[str, Any]], verify: str, cache: str
) -> pd.DataFrame:
    """Verdicts of every model on the corpora's labelled test claims: ``corpus, model, label, error, support, ...``.

    Args:
        corpora: with gold claims that have labels.
        checked: entries of ``models`` in params.yaml.
        entries: these entries.
        verify: the verification prompt.
        cache: the file of finished calls.
    """
    parts = []
    for corpus in corpora:
        claims = acu_verification.labelled_claims(corpus)
        test = claims[claims["split"] == "test"].reset_index(drop=True)
        for name in checked:
            found = acu_verification.run(test, [verify], models.load(entries[name], cache), 0, 0)
            parts.append(found.assign(corpus=corpus.examples["corpus"].iloc[0], model=name))
    return pd.concat(parts, ignore_index=True).dropna(subset=["support"])


def table(found: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """One row a corpus and model: ``n, supported, auc, balanced_accuracy`` (percent, at 0.5, with interval), ``ece`` with
    what exact probabilities would have (``report.calibration``)."""
    rows = []
    for (corpus, model), part in found.groupby(["corpus", "model"], sort=False):
        accuracy = statistics.bootstrap_accuracy(
            part["label"], part["support"], acu_verification.HALF, part["document_id"], draws, seed
        )
        rows.append(
            {
                "corpus": corpus,
                "model": model,
                "n": len(part),
                "supported": part["label"].mean(),
                "auc": statistics.auc(part["label"], part["support"]),
                "balanced_accuracy": 100 * accuracy.value,
                "low": 100 * accuracy.low,
                "high": 100 * accuracy.high,
                **report.calibration(part["label"], part["support"]),
            }
        )
    return pd.DataFrame(rows)


def by_error(found: pd.DataFrame) -> pd.DataFrame:
    """One row a corpus, model and type of error: ``n``, ``found`` (share under 0.5) and ``auc``.

    ``auc`` sets the type's unsupported claims against all supported claims of the corpus: how often one of the former
    has the lower support.

    >>> rows = [("c", "m", 1, None, 0.9), ("c", "m", 1, None, 0.4), ("c", "m", 0, "number", 0.6)]
    >>> by_error(pd.DataFrame(rows, columns=["corpus", "model", "label", "error", "support"])).to_dict("records")
    [{'corpus': 'c', 'model': 'm', 'error': 'number', 'n': 1, 'found': 0.0, 'auc': 0.5}]
    """
    rows = []
    for (corpus, model), part in found.groupby(["corpus", "model"], sort=False):
        right = part[part["label"] == 1]
        for error, wrong in part[part["label"] == 0].groupby("error"):
            both = pd.concat([right, wrong])
            rows.append(
                {
                    "corpus": corpus,
                    "model": model,
                    "error": error,
                    "n": len(wrong),
                    "found": (wrong["support"] < SUPPORTED).mean(),
                    "auc": statistics.auc(both["label"], both["support"]),
                }
            )
    return pd.DataFrame(rows)


#: Bins of fewer claims are not drawn: their share is anything.
FEWEST_IN_A_BIN = 10


def reliability(found: pd.DataFrame, model: str = "embedded") -> pd.DataFrame:
    """Reliability of one model's supports, one row a corpus and bin: ``corpus, support, supported, n, panel``.

    Bins of fewer than ``FEWEST_IN_A_BIN`` claims are left out; the ECE in the name of the corpus is over all.
    """
    parts = []
    for corpus, part in found[found["model"] == model].groupby("corpus", sort=False):
        error, bins = statistics.calibration(part["label"], part["support"])
        parts.append(
            bins[bins["n"] >= FEWEST_IN_A_BIN].assign(
                corpus=f"{corpus} (ECE {error:.2f})", panel="test claims, ten bins"
            )
        )
    return pd.concat(parts, ignore_index=True)


def confident_mistakes(found: pd.DataFrame, corpus: str, model: str = "embedded", most: int = 8) -> pd.DataFrame:
    """The unsupported claims of a corpus with the highest supports and the supported ones with the lowest."""
    part = found[(found["corpus"] == corpus) & (found["model"] == model)]
    wrong = part[part["label"] == 0].nlargest(most, "support")
    right = part[part["label"] == 1].nsmallest(most // 2, "support")
    shown = pd.concat([wrong, right])
    label = shown["label"].map({0: "unsupported", 1: "supported"})
    return shown.assign(people=label)[["claim", "people", "error", "support"]]


def headline(rows: pd.DataFrame) -> Mapping[str, Mapping[str, float]]:
    """AUC by corpus and model, for ``dvc metrics show``."""
    return {corpus: dict(zip(part["model"], part["auc"], strict=True)) for corpus, part in rows.groupby("corpus")}


def sizes(rows: pd.DataFrame) -> Mapping[str, int]:
    """Test claims by corpus."""
    return rows.groupby("corpus", sort=False)["n"].max().to_dict()


def findings(rows: pd.DataFrame, variants: pd.DataFrame) -> list[str]:
    """What the tables say, in words, whichever way they came out."""
    sentences = _variants(variants)
    for corpus, part in rows.groupby("corpus", sort=False):
        own = part[part["model"] == "embedded"].iloc[0]
        beside = ", ".join(f"{row.model} {row.auc:.2f}" for row in part.itertuples() if row.model != "embedded")
        sentences.append(
            f"**{corpus}**, {own['n']} test claims: AUC {own['auc']:.2f} ({beside}), balanced accuracy "
            f"{own['balanced_accuracy']:.1f} % ({own['low']:.1f} to {own['high']:.1f}) at 0.5; "
            f"{report.calibrated(own)}.{report.beside_chance(own['auc'])}"
        )
    return sentences


def _variants(table: pd.DataFrame) -> list[str]:
    return [
        f"**{corpus}{'' if group == 'all' else ', ' + group}**, {part['n'].max()} test summaries: balanced accuracy "
        + "; ".join(f"`{r.model}` {r.balanced_accuracy:.1f} ({r.low:.1f} to {r.high:.1f})" for r in part.itertuples())
        + "."
        for (corpus, group), part in table.groupby(["corpus", "group"], sort=False)
    ]
