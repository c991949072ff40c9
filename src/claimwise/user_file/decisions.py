"""From scores to decisions: by a threshold (given, or tuned on labelled rows), or else by the embedded model's bounds.

``rows`` are scored rows of a user's file: the columns of the examples table, and ``score``. The bounds (bands.csv) were fitted on
public validation rows by ``tools/bands.py``. Other models and metrics have none.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from claimwise.analysis.bootstrap import bootstrap_interval
from claimwise.analysis.measures import auc, balanced_accuracy, mean, tuned_threshold
from claimwise.corpora.user import VALIDATION, our_split
from claimwise.errors import counted, printable
from claimwise.metrics import DEFAULT_METRICS, MetricSpec
from claimwise.metrics.verify import SUPPORTED, probability
from claimwise.user_file.warnings import english

#: The column of verdicts by bounds.
VERDICT = "verdict"

YES, NO = "faithful", "not faithful"

#: A claim's verdict, yes and no.
SUPPORT = ("supported", "unsupported")

#: The column of decisions: 1 above the threshold, 0 not, empty without a score.
DECISION = "faithful"

_CHANCE = 0.5 + 1e-9  # balanced accuracy of a coin, and its rounding
_DIGITS = 3  # fewest digits of a tuned threshold; scores move by some thousandths anyway
_SYSTEMS = 20  # the means of so many systems are shown, the best
FEWEST_DOCUMENTS = 10  # a bootstrap over fewer says little


#: Said of models and metrics without bounds.
NO_BOUNDS = "  no verdicts: this model and metric have no bounds. Give labels, which tune a threshold, or --threshold"
#: The verdict between the bounds.
NOT_SURE = "not sure"


class Band(NamedTuple):
    """Two bounds. Below ``low`` the verdict is no, from ``high`` on it is yes, and between them not sure.

    Attributes:
        low, high: the bounds.
        n: how many validation rows they were fitted on.
        fitted_on: the corpora of these rows.
        decided: the share of rows that they decided, on a corpus that they were not fitted on.
        right: the share of these that was right, with both labels equally frequent.
    """

    low: float
    high: float
    n: int = 0
    fitted_on: str = ""
    decided: float = float("nan")
    right: float = float("nan")

    def word(self, value: float, yes: str, no: str) -> str:
        """The verdict of a value; empty for NaN.

        >>> band = Band(0.2, 0.9)
        >>> [band.word(value, "yes", "no") for value in (0.1, 0.5, 0.9, float("nan"))]
        ['no', 'not sure', 'yes', '']
        """
        if pd.isna(value):
            return ""
        return no if value < self.low else yes if value >= self.high else NOT_SURE


_DENIES = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|hardly|barely"
    r"|(?:den|fail|refus|declin|reject)(?:y|ies|ied|e|es|s|ed|ing)?)\b|n['’]t\b",
    re.IGNORECASE,
)


def only_one_denies(claim: str, sentence: str) -> bool:
    """Whether only one of two sentences has a "not" or the like, which the embedded model often overlooks.

    >>> only_one_denies("The suspect had confessed.", "Police denied that the suspect had confessed.")
    True
    >>> only_one_denies("It did not rain.", "It never rained.")
    False
    """
    return bool(_DENIES.search(claim)) != bool(_DENIES.search(sentence))


#: For claims by any model but the embedded one.
HALF = Band(SUPPORTED, SUPPORTED)


@cache
def _fitted() -> dict[str, Band]:
    with resources.files("claimwise.user_file").joinpath("bands.csv").open(encoding="utf-8") as file:
        table = pd.read_csv(file).set_index("metric")
    return {name: Band(**row) for name, row in table.to_dict("index").items()}


def _is_measured(entry: Mapping[str, Any]) -> bool:
    return entry.get("kind") == "embedded" and entry.get("weights", "supervised") == "supervised"


def of_summaries(metric: str, spec: MetricSpec, entry: Mapping[str, Any]) -> Band | None:
    """The bounds for scores of a metric by a model (its entry in params.yaml); None if none were fitted.

    ``spec`` is the metric's specification: with another prompt or aggregate, its scores mean something else.

    >>> acueval = MetricSpec(**DEFAULT_METRICS["acueval"])
    >>> of_summaries("acueval", acueval, {"kind": "embedded"}).n, of_summaries("acueval", acueval, {"kind": "lexical"})
    (1722, None)
    """
    shipped = metric in DEFAULT_METRICS and spec == MetricSpec(**DEFAULT_METRICS[metric])
    return _fitted().get(metric) if shipped and _is_measured(entry) else None


def of_claims(spec: MetricSpec, entry: Mapping[str, Any]) -> Band:
    """The bounds for the support of claims by a model: those of bands.csv, or 0.5 for all others.

    >>> of_claims(MetricSpec(**DEFAULT_METRICS["acueval"]), {"kind": "lexical"})[:2]
    (0.5, 0.5)
    """
    measured = _is_measured(entry) and spec.verify == DEFAULT_METRICS["acueval"]["verify"]
    return _fitted()["claim"] if measured else HALF


def in_english(rows: pd.DataFrame) -> pd.Series:
    """Whether document and summary of each row seem to be English, as far as their length allows to tell."""
    return english(rows["document"]) & english(rows["summary"])


def verdicts(rows: pd.DataFrame, band: Band, claims: pd.DataFrame) -> list[str]:
    """The verdicts of scored rows by bounds: faithful, not faithful, not sure, or empty.

    Rows without a score, or not in English, have none. Whatever its score, a row is not sure instead of faithful if none of its claims
    (``output.claim_table``) is supported, or one has a support below 0.5, or only one of a claim and its nearest sentence
    has a "not".

    >>> rows = pd.DataFrame({"id": ["a", "b", "c", "d"], "score": 0.95})
    >>> rows = rows.assign(document=["It rained."] * 3 + ["雨が降った。"], summary="It rained.")
    >>> claims = pd.DataFrame({"example_id": ["a", "a", "b", "b", "c"], "support": [0.9, 0.6, 0.9, 0.4, 0.8]})
    >>> claims = claims.assign(verdict=["supported", "not sure", "supported", "not sure", "not sure"], one_denies=False)
    >>> verdicts(rows, Band(0.2, 0.9), claims)
    ['faithful', 'not sure', 'not sure', '']
    """
    known = rows["score"].where(in_english(rows))
    doubts = (probability(claims) < SUPPORTED) | claims["one_denies"]
    doubted = rows["id"].isin(claims.loc[doubts, "example_id"])
    supported = rows["id"].isin(claims.loc[claims["verdict"] == SUPPORT[0], "example_id"])
    doubted |= rows["id"].isin(claims["example_id"]) & ~supported
    words = (band.word(score, YES, NO) for score in known)
    return [NOT_SURE if word == YES and doubt else word for word, doubt in zip(words, doubted, strict=True)]


def held_back(words: Sequence[str], scores: Sequence[float], band: Band) -> int:
    """How many rows are not sure because of their claims, though their score says faithful (``verdicts``)."""
    return sum(word == NOT_SURE and score >= band.high for word, score in zip(words, scores, strict=True))


def band_report(words: Sequence[str], scores: Sequence[float], band: Band) -> str:
    """How many verdicts there are of each kind, where their bounds come from, and how often they were right.

    ``words`` are the verdicts of rows with a score; an empty one is of a row that is not in English. If all are empty, the
    bounds were not used, and nothing is said of them.

    >>> print(band_report(["faithful", "not sure", ""], [0.95, 0.92, 0.5], Band(0.2, 0.9, 1722, "news", 0.5, 0.7)))
      verdicts: 1 faithful (0.9 or more), 0 not faithful (below 0.2), 1 not sure
      1 not sure in spite of a score of 0.9 or more: none of the claims is supported, or one has a support below 0.5,
      or only one of a claim and its nearest sentence says "not"
      1 without a verdict: not English, it seems, and the embedded model reads nothing else
      The bounds were fitted on 1722 public validation rows. On a corpus left out they decided 50 % of the rows,
      and 70 % of these rightly (a coin: 50). For your kind of text, give labels or --threshold
    >>> print(band_report([""], [0.5], Band(0.2, 0.9, 1722, "news", 0.5, 0.7)))
      1 without a verdict: not English, it seems, and the embedded model reads nothing else
    """
    count, lines = Counter(words), []
    if any_verdict := count[""] < len(words):
        below = f"{count['not faithful']} not faithful (below {band.low:g}), " if band.low else ""  # nothing is below 0
        lines.append(
            f"  verdicts: {count['faithful']} faithful ({band.high:g} or more), {below}{count[NOT_SURE]} not sure"
        )
    if held := held_back(words, scores, band):
        lines.append(
            f"  {held} not sure in spite of a score of {band.high:g} or more: none of the claims is supported, or one has a "
            'support below 0.5,\n  or only one of a claim and its nearest sentence says "not"'
        )
    if count[""]:
        lines.append(
            f"  {count['']} without a verdict: not English, it seems, and the embedded model reads nothing else"
        )
    if any_verdict:
        lines.append(
            f"  The bounds were fitted on {band.n} public validation rows. On a corpus left out they decided "
            f"{100 * band.decided:.0f} % of the rows,\n  and {100 * band.right:.0f} % of these rightly (a coin: 50). For your "
            "kind of text, give labels or --threshold"
        )
    return "\n".join(lines)


def claim_report(band: Band) -> list[str]:
    """How often labels of single claims were right, if that was measured.

    >>> claim_report(Band(0.2, 0.9, 709, "QAGS; WiCE", 0.95, 0.53)), claim_report(HALF)
    (["  Read a claim's evidence, not its label: with bounds from QAGS or WiCE, 53 % were right on the other (a coin: 50)"], [])
    """
    if not band.n:
        return []
    corpora = band.fitted_on.replace("; ", " or ")
    return [
        f"  Read a claim's evidence, not its label: with bounds from {corpora}, {100 * band.right:.0f} % were right on the "
        "other (a coin: 50)"
    ]


def _labelled(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.dropna(subset=["score", "label"])


def _validation(rows: pd.DataFrame) -> pd.DataFrame:
    """The labelled rows that a threshold is tuned on."""
    rows = _labelled(rows)
    return rows[our_split(rows["split"]) == VALIDATION[0]]


def tuned(rows: pd.DataFrame, carried: Collection[str]) -> tuple[float | None, str]:
    """Tune a threshold on the file's labelled validation rows; or None, and the message why not.

    There is no threshold without rows of both labels, if unfaithful rows mostly score higher than faithful ones (the labels may be
    the wrong way round), or if the best one is no better than a coin. A file without labels gets no message. ``carried`` are
    the file's columns.

    AggreFact's search (``measures.tuned_threshold``) takes the highest of equally good thresholds, just below a faithful row's
    score. Rows of other files that score nearly as high would be rejected. So the middle to the next lower score is
    taken, which decides the validation rows alike.

    >>> rows = pd.DataFrame({"split": "validation", "label": [0, 1, 1, None], "score": [0.2, 0.6, 0.9, 0.4]})
    >>> tuned(rows, ["split"])
    (0.4, '')
    >>> tuned(rows.assign(label=1 - rows["label"]), ["split"])[1].split("; ")[1]
    'label 1 means faithful: are the labels the other way round?'
    >>> tuned(rows.assign(split="test"), ["split"])[1].split("; ")[1]
    "labelled rows found: 3 of split 'test'"
    """
    labelled, known = _labelled(rows), _validation(rows)
    if labelled.empty:
        return None, ""
    if known["label"].nunique() == 2:
        best, area = tuned_threshold(known["score"], known["label"]), auc(known["label"], known["score"])
        if area >= 0.5 and balanced_accuracy(known["label"], known["score"] > best) >= _CHANCE:
            return shortened(centred(best, known["score"]), rows["score"].dropna()), ""
        turned = "label 1 means faithful: are the labels the other way round?"
        other = "give more of them, take another metric or model, or say a threshold with --threshold"
        return None, (  # all scores equal: an area of 0.5
            f"  no threshold: the scores do not separate your {len(known)} labelled validation rows (AUC {area:.3f}); "
            f"{turned if area < 0.5 else other}"
        )
    split = f"{VALIDATION[0]!r} (or {', '.join(VALIDATION[1:])})"
    if "split" not in carried:
        return None, (
            f"  no threshold: none is tuned on the rows that it is reported on. Give the file a column 'split', "
            f"{split} in some labelled rows of both kinds, or say one with --threshold"
        )
    found = ", ".join(f"{count} of split {name!r}" for name, count in labelled["split"].value_counts().items())
    return None, (
        f"  no threshold: to tune one give some labelled rows of both kinds the split {split}, or say "
        f"one with --threshold; labelled rows found: {found}"
    )


def is_below(score: float, least: float) -> bool:
    """Whether a score is below the least that is wanted, by more than rounding; NaN is.

    >>> is_below((0.7 + 0.7 + 0.7) / 3, 0.7), is_below(0.69, 0.7), is_below(float("nan"), 0)
    (False, True, True)
    """
    return not (score >= least or math.isclose(score, least))


def centred(threshold: float, scores: pd.Series) -> float:
    """The middle between the two scores around a threshold, which decides all scores alike.

    >>> centred(0.717, pd.Series([0.3, 0.7, 0.9, 0.2]))
    0.8
    """
    above = scores[scores > threshold].min()
    middle = (scores[scores <= threshold].max() + above) / 2
    return float(middle) if middle < above else threshold  # of neighbouring floats the middle is one of them


def shortened(threshold: float, scores: pd.Series) -> float:
    """The threshold rounded to as few digits as decide every score alike, at least three.

    >>> shortened(0.5092311, pd.Series([0.3004, 0.718])), shortened(0.33333, pd.Series([0.3332, 0.3334]))
    (0.509, 0.3333)
    """
    rounded = (float(f"{threshold:.{digits}g}") for digits in range(_DIGITS, 18))
    return next(near for near in rounded if np.array_equal(scores > near, scores > threshold))


def report(rows: pd.DataFrame, threshold: float, *, tuned: bool) -> str:
    """What the threshold decided, and how right that is on labelled rows that it was not tuned on.

    ``tuned``: whether it was tuned on the labelled validation rows, or given.

    >>> rows = pd.DataFrame({"split": "test", "label": [0, 1, 1], "document_id": ["a", "b", "c"], "score": [0.2, 0.6, 0.9]})
    >>> print(report(rows, 0.5, tuned=False))
      2 of 3 above the threshold 0.5
      balanced accuracy on 3 labelled rows: 100.0 % (50 is chance)
        2 of 2 faithful rows decided rightly, 15.8 to 100.0 % (exact 95 % interval, if the rows are independent)
        1 of 1 unfaithful rows decided rightly, 2.5 to 100.0 % (exact 95 % interval, if the rows are independent)
    """
    scored, known, reported = rows["score"].dropna(), _validation(rows), _labelled(rows)
    line = f"  {(scored > threshold).sum()} of {len(scored)} above the threshold {threshold!r}"
    if tuned:
        reported = reported.drop(known.index)
        right = 100 * balanced_accuracy(known["label"], known["score"] > threshold)
        line += (
            f", tuned on {len(known)} labelled validation rows (balanced accuracy on these {right:.1f} %; for other "
            "files: --threshold)"
        )
    if reported["label"].nunique() < 2:
        return f"{line}; how right that is only labelled {'rows of another split' if tuned else 'rows'} can say"
    line += f"\n  balanced accuracy on {len(reported)} labelled {'other ' if tuned else ''}rows: "
    line += _accuracy(reported, threshold)
    shared = set(reported["document_id"]) & set(known["document_id"])
    if tuned and shared:
        line += f"\n  {len(shared)} of their documents have validation rows too: the accuracy on new ones may be lower"
    return line


def _accuracy(rows: pd.DataFrame, threshold: float) -> str:
    """Balanced accuracy with its interval; if the bootstrap gives none, exact intervals of each class."""
    columns = rows["label"], rows["score"] > threshold
    accuracy = bootstrap_interval(balanced_accuracy, *columns, groups=rows["document_id"])
    value, low, high = (100 * part for part in accuracy)
    if low != high:  # both NaN if there is one document
        return f"{value:.1f} % ({_interval(rows, f'{low:.1f} to {high:.1f}, 95 % bootstrap over documents')}; 50 is chance)"
    from scipy import stats  # takes half a second, and few files need it

    # All of a class are decided alike: so they are in every draw, however few there are.
    lines = [f"{value:.1f} % (50 is chance)"]
    for label, name in ((1, "faithful"), (0, "unfaithful")):
        right = (rows.loc[rows["label"] == label, "score"] > threshold) == bool(label)
        exact = stats.binomtest(int(right.sum()), len(right)).proportion_ci(0.95)  # Clopper and Pearson's
        lines.append(
            f"    {right.sum()} of {len(right)} {name} rows decided rightly, {100 * exact.low:.1f} to "
            f"{100 * exact.high:.1f} % (exact 95 % interval, if the rows are independent)"
        )
    return "\n".join(lines)


def _interval(rows: pd.DataFrame, interval: str) -> str:
    """Return a bootstrap interval as given, or that the rows have too few documents for one."""
    documents = rows["document_id"].nunique()
    few = f"{counted(documents, 'document')}: too few for an interval"
    return few if documents < FEWEST_DOCUMENTS else interval


def ranking(rows: pd.DataFrame) -> list[str]:
    """How well scores rank the labelled rows, if there are both labels.

    >>> ranking(pd.DataFrame({"score": [0.2, 0.6, None], "label": [0, 1, 1]}))[0].partition("; ")[0]
    '  AUC against your labels: 1.000 (tune a threshold on other rows than you report)'
    """
    labelled, scored = _labelled(rows), rows["score"].notna().sum()
    if labelled["label"].nunique() < 2:
        return []
    over = "" if len(labelled) == scored else f" over the {len(labelled)} summaries that have a label and a score"
    area = auc(labelled["label"], labelled["score"])
    return [f"  AUC against your labels{over}: {area:.3f} (tune a threshold on other rows than you report)"]


def by_system(rows: pd.DataFrame) -> list[str]:
    """Each system's mean score, best first, if the file names several."""
    scored = rows.dropna(subset="score")
    if scored["system"].nunique() < 2:
        return []
    found = []
    for system, part in scored.groupby("system"):
        own = bootstrap_interval(mean, part["score"], groups=part["document_id"])
        interval = _interval(part, f"{own.low:.3f} to {own.high:.3f}")
        found.append((own.value, f"  {printable(system)}: {own.value:.3f} ({interval}), {len(part)} scored"))
    lines = [line for _, line in sorted(found, key=lambda item: -item[0])]
    more = [f"  and {len(lines) - _SYSTEMS} systems more"] if len(lines) > _SYSTEMS else []
    differ = "  `claimwise compare` says which of these systems differ"
    return ["  mean by system (95 % bootstrap over documents):", *lines[:_SYSTEMS], *more, differ]
