"""What the embedded verifier knows, by its verdicts on labelled claims and summaries of the corpora of ``data``, with those of
other models beside them: by kind of error, supervised or not, and how well calibrated it is. What only training can measure is in
``embedded_training``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from claimwise import models
from claimwise.analysis import calibration, statistics
from claimwise.corpora import Corpus
from claimwise.experiments import acu_verification, meta_evaluation, report
from claimwise.metrics import MetricSpec, evaluate
from claimwise.metrics.verify import SUPPORTED


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
    """Verdicts of every model on the corpora's labelled test claims that all of them have a verdict on.

    Returns:
        ``corpus, model, label, error, support, ...`` and ``unread``, how many claims of the corpus the model had none on.

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
    found = pd.concat(parts, ignore_index=True)
    lost = found["support"].isna()
    found["unread"] = lost.groupby([found["corpus"], found["model"]]).transform("sum")
    read = ~lost.groupby([found[key] for key in ("corpus", "example_id", "claim_index")]).transform("any")
    return found[read].reset_index(drop=True)


def table(found: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """One row a corpus and model: ``n, unread, supported, auc, balanced_accuracy`` (percent, at 0.5, with interval), ``ece`` with
    what exact probabilities would have (``calibration.columns``)."""
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
                "unread": part["unread"].iloc[0],
                "supported": part["label"].mean(),
                "auc": statistics.auc(part["label"], part["support"]),
                "balanced_accuracy": 100 * accuracy.value,
                "low": 100 * accuracy.low,
                "high": 100 * accuracy.high,
                **calibration.columns(part["label"], part["support"], acu_verification.asked(part)),
            }
        )
    return pd.DataFrame(rows)


#: Of fewer claims no bin is drawn, and no interval told: they say nothing.
FEW = 10


def by_error(found: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """One row a corpus, model and type of error: ``n``, ``found`` (share under 0.5) and ``auc`` with ``low`` and ``high``.

    ``auc`` sets the type's unsupported claims against all supported claims of the corpus: how often one of the former
    has the lower support. It has no interval where there are fewer than ``FEW`` of either.

    Args:
        found: what ``verdicts`` returned.
        draws: of the bootstrap over documents.
        seed: of the draws.

    >>> rows = [("c", "m", 1, None, 0.9, "d"), ("c", "m", 1, None, 0.4, "d"), ("c", "m", 0, "number", 0.6, "d")]
    >>> rows = pd.DataFrame(rows, columns=["corpus", "model", "label", "error", "support", "document_id"])
    >>> by_error(rows, 9, 0)[["error", "n", "found", "auc", "low"]].to_dict("records")
    [{'error': 'number', 'n': 1, 'found': 0.0, 'auc': 0.5, 'low': nan}]
    """
    columns = ["corpus", "model", "error", "n", "found", "auc", "low", "high"]
    rows = []
    for (corpus, model), part in found.groupby(["corpus", "model"], sort=False):
        right = part[part["label"] == 1]
        for error, wrong in part[part["label"] == 0].groupby("error"):
            both = pd.concat([right, wrong])
            area = statistics.bootstrap_auc(both["label"], both["support"], both["document_id"], draws, seed)
            ends = (area.low, area.high) if min(len(right), len(wrong)) >= FEW else (np.nan, np.nan)
            share = (wrong["support"] < SUPPORTED).mean()
            rows.append((corpus, model, error, len(wrong), share, area.value, *ends))
    return pd.DataFrame(rows, columns=columns)


def error_lines(errors: pd.DataFrame) -> pd.DataFrame:
    """``by_error`` with the names of a figure's lines, which have the number of claims in them, in ``line``.

    >>> errors = pd.DataFrame({"corpus": ["c", "c"], "model": ["m", "o"], "error": ["number"] * 2, "n": [3, 3]})
    >>> error_lines(errors)["line"].tolist()
    ['number (3)', 'number (3)']
    """
    most = errors.groupby(["corpus", "error"])["n"].transform("max")
    return errors.assign(line=[f"{error} ({n})" for error, n in zip(errors["error"], most, strict=True)])


def reliability(found: pd.DataFrame, model: str = "embedded") -> pd.DataFrame:
    """Reliability of one model's supports, one row a corpus and bin: ``corpus, support, supported, n, panel``.

    Bins of fewer than ``FEW`` claims are left out; the ECE in the name of the corpus is over all.
    """
    parts = []
    for corpus, part in found[found["model"] == model].groupby("corpus", sort=False):
        error, bins = calibration.expected_calibration_error(part["label"], part["support"])
        parts.append(bins[bins["n"] >= FEW].assign(corpus=f"{corpus} (ECE {error:.2f})", panel="test claims, ten bins"))
    return pd.concat(parts, ignore_index=True)


def about_reliability(found: pd.DataFrame, draws: int, seed: int, model: str = "embedded") -> list[str]:
    """How many claims stand behind the bins, and on which side supports are off on average, in words.

    Args:
        found: what ``verdicts`` returned.
        draws: of the bootstrap over documents.
        seed: of the draws.
        model: whose supports.
    """
    sentences = []
    for corpus, part in found[found["model"] == model].groupby("corpus", sort=False):
        _, bins = calibration.expected_calibration_error(part["label"], part["support"])
        drawn = bins.loc[bins["n"] >= FEW, "n"]
        behind = f", of {drawn.min()} to {drawn.max()} claims each" if len(drawn) else ""
        off = statistics.bootstrap_mean(part["support"] - part["label"], part["document_id"], draws, seed)
        side = (
            "too high on average"
            if off.low > 0
            else "too low on average"
            if off.high < 0
            else "not told from it on average"
        )
        sentences.append(
            f"**{corpus}**: {len(drawn)} of the {len(bins)} bins that hold claims are drawn{behind}. The mean support is "
            f"{part['support'].mean():.2f}, the share that people accepted {part['label'].mean():.2f}: supports are {side} "
            f"({off.value:+.2f}, {off.low:+.2f} to {off.high:+.2f})."
        )
    return sentences


def confident_mistakes(found: pd.DataFrame, corpus: str, model: str = "embedded", most: int = 8) -> pd.DataFrame:
    """The unsupported claims of a corpus with the highest supports and the supported ones with the lowest."""
    part = found[(found["corpus"] == corpus) & (found["model"] == model)]
    wrong = part[part["label"] == 0].nlargest(most, "support")
    right = part[part["label"] == 1].nsmallest(most // 2, "support")
    shown = pd.concat([wrong, right])
    label = shown["label"].map({0: "unsupported", 1: "supported"})
    return shown.assign(people=label)[["claim", "people", "error", "support"]]


def findings(rows: pd.DataFrame, variants: pd.DataFrame) -> list[str]:
    """What the tables say, in words, whichever way they came out."""
    sentences = _variants(variants)
    for corpus, part in rows.groupby("corpus", sort=False):
        own = part[part["model"] == "embedded"].iloc[0]
        others = ", ".join(f"{row.model} {row.auc:.2f}" for row in part.itertuples() if row.model != "embedded")
        beside = f" ({others})" if others else ""
        sentences.append(
            f"**{corpus}**, {own['n']} test claims: AUC {own['auc']:.2f}{beside}.{report.beside_chance(own['auc'])} Balanced "
            f"accuracy is {own['balanced_accuracy']:.1f} % ({own['low']:.1f} to {own['high']:.1f}) at 0.5; "
            f"{calibration.told(own)}."
        )
    return sentences


def _variants(table: pd.DataFrame) -> list[str]:
    return [
        f"**{corpus}{'' if group == 'all' else ', ' + group}**, {part['n'].max()} test summaries: balanced accuracy "
        + "; ".join(f"`{r.model}` {r.balanced_accuracy:.1f} ({r.low:.1f} to {r.high:.1f})" for r in part.itertuples())
        + "."
        for (corpus, group), part in table.groupby(["corpus", "group"], sort=False)
    ]
