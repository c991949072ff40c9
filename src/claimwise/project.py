"""What a notebook loads: the settings, a model of them, and the tables that the stages ``corpora`` and ``score`` wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import pandas as pd

from claimwise import corpora, models, params, paths, text
from claimwise.corpora import Corpus
from claimwise.metrics import Evaluation, MetricSpec, specification
from claimwise.models.base import Model

#: Columns of an example that stand beside its scores.
_BESIDE = ["id", "document_id", "origin", "system", "split", "label"]


def settings() -> params.Settings:
    """params.yaml of the project."""
    return params.read(paths.root() / paths.PARAMS)


@lru_cache  # loading takes seconds, and a notebook may ask in several cells
def load_model(name: str) -> Model:
    """An entry of ``models`` in params.yaml, with the response cache behind it.

    Raises:
        ParamsError: there is no such entry.
    """
    found = settings()
    return models.load(found.model_entry(name), paths.root() / found.cache)


def load_metrics(names: Iterable[str]) -> dict[str, MetricSpec]:
    """What metrics of params.yaml are made of, by name."""
    known: Mapping[str, Any] = settings().metrics
    return {name: specification(name, known) for name in names}


def load_corpus(data: str, name: str) -> Corpus:
    """A corpus as the stage ``corpora`` wrote it.

    Raises:
        FileNotFoundError: it did not; the message says how.
    """
    return corpora.read(paths.corpus_folder(data, name))


def load_evaluation(data: str, corpus: str, metric: str) -> Evaluation:
    """Claims, verdicts and scores of a metric on a corpus, as the stage ``score`` wrote them.

    Raises:
        FileNotFoundError: it did not; the message says how.
    """
    return Evaluation.read(paths.scores_folder(data, metric) / paths.plain(corpus))


def load_scores(data: str, corpus: str, metrics: Iterable[str]) -> pd.DataFrame:
    """Scores of metrics on a corpus, one row an (example, metric), in the examples' order.

    Returns:
        ``example_id, document_id, origin, system, split, label`` (1 faithful, 0 not, NaN unlabelled), ``metric``,
        ``score`` (NaN with a ``reason``), ``n_claims``, ``n_unparsed``.
    """
    examples = load_corpus(data, corpus).examples[_BESIDE].rename(columns={"id": "example_id"})
    scores = [load_evaluation(data, corpus, metric).scores for metric in metrics]
    return examples.merge(pd.concat(scores), on="example_id") if scores else examples.assign(metric=None)[:0]


def with_evidence(claims: pd.DataFrame, document: str) -> pd.DataFrame:
    """Claims of one summary with the sentence of the document that decided, for a reader.

    Args:
        claims: rows of ``Evaluation.judged_claims`` of one example.
        document: its document.

    Returns:
        ``claim``, ``support`` in [0, 1], ``evidence`` (the first sentence; empty where the verifier named none).

    >>> rows = pd.DataFrame({"claim": ["It rained."], "support": [0.9], "evidence": [[1]]})
    >>> with_evidence(rows, "Ann left. It rained all day.").values.tolist()
    [['It rained.', 0.9, 'It rained all day.']]
    """
    sentences = [span.text for span in text.sentences(document)]
    first = [sentences[found[0]] if len(found) else "" for found in claims["evidence"]]
    return claims[["claim", "support"]].assign(evidence=first)
