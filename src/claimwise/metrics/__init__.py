"""Metrics: claims, verdicts and their aggregation, or a judge of the whole summary; ``evaluate`` runs one over examples."""

from claimwise.metrics.evaluate import (
    ALIGNMENT_COLUMNS,
    DEFAULT_METRICS,
    Evaluation,
    MetricError,
    MetricSpec,
    aggregate,
    check_part,
    estimate,
    evaluate,
    in_words,
    own_claims,
    specification,
)

__all__ = [
    "ALIGNMENT_COLUMNS",
    "DEFAULT_METRICS",
    "Evaluation",
    "MetricError",
    "MetricSpec",
    "aggregate",
    "check_part",
    "estimate",
    "evaluate",
    "in_words",
    "own_claims",
    "specification",
]
