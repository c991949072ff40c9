"""Where the embedded model can tell and where it is not sure, for those who have no labels to tune a threshold on.

bands.csv is what ``tools/bands.py`` fitted on public validation rows; of another model or metric nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import pandas as pd

from claimwise.metrics import DEFAULT_METRICS, MetricSpec
from claimwise.metrics.verify import SUPPORTED

#: What a score or a support between the bounds says.
NOT_SURE = "not sure"


class Band(NamedTuple):
    """Bounds between which nothing is said.

    Attributes:
        low, high: below the one a verdict is no, from the other on it is yes.
        n: validation rows that it was fitted on.
        fitted_on: of which corpora.
        decided: share of rows that it decides, on a corpus that it was not fitted on.
        right: share of these that it decides rightly there, both labels equally frequent.
    """

    low: float
    high: float
    n: int = 0
    fitted_on: str = ""
    decided: float = float("nan")
    right: float = float("nan")

    def word(self, value: float, yes: str, no: str) -> str:
        """What a value says; nothing where there is none.

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
    """Whether one of two sentences has a "not" or the like that the other lacks: the embedded model overlooks it often.

    >>> only_one_denies("The suspect had confessed.", "Police denied that the suspect had confessed.")
    True
    >>> only_one_denies("It did not rain.", "It never rained.")
    False
    """
    return bool(_DENIES.search(claim)) != bool(_DENIES.search(sentence))


#: Of a claim by any other model than that of bands.csv.
HALF = Band(SUPPORTED, SUPPORTED)


@cache
def _fitted() -> dict[str, Band]:
    with resources.files("claimwise.user_file").joinpath("bands.csv").open(encoding="utf-8") as file:
        table = pd.read_csv(file).set_index("metric")
    return {name: Band(**row) for name, row in table.to_dict("index").items()}


def _is_measured(entry: Mapping[str, Any]) -> bool:
    return entry.get("kind") == "embedded" and entry.get("weights", "supervised") == "supervised"


def of_summaries(metric: str, spec: MetricSpec, entry: Mapping[str, Any]) -> Band | None:
    """The band of a metric's scores by a model (its entry in params.yaml); None where none was fitted.

    ``spec`` is what the metric is made of: with another prompt or aggregate its scores are others.

    >>> acueval = MetricSpec(**DEFAULT_METRICS["acueval"])
    >>> of_summaries("acueval", acueval, {"kind": "embedded"}).n, of_summaries("acueval", acueval, {"kind": "lexical"})
    (1722, None)
    """
    shipped = metric in DEFAULT_METRICS and spec == MetricSpec(**DEFAULT_METRICS[metric])
    return _fitted().get(metric) if shipped and _is_measured(entry) else None


def of_claims(spec: MetricSpec, entry: Mapping[str, Any]) -> Band:
    """The band of claims' support by a model: that of bands.csv, or one half for all else.

    >>> of_claims(MetricSpec(**DEFAULT_METRICS["acueval"]), {"kind": "lexical"})[:2]
    (0.5, 0.5)
    """
    measured = _is_measured(entry) and spec.verify == DEFAULT_METRICS["acueval"]["verify"]
    return _fitted()["claim"] if measured else HALF
