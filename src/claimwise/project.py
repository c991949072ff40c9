"""What a notebook loads: the settings, a model of them, and the tables that the stages ``corpora`` and ``score`` wrote."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pandas as pd

from claimwise import corpora, models, params, paths, text
from claimwise.corpora import Corpus
from claimwise.metrics import Evaluation, MetricSpec, evaluate, specification
from claimwise.models.base import Model


def settings() -> params.Settings:
    """params.yaml of the project."""
    return params.read(paths.root() / paths.PARAMS)


def load_model(name: str) -> Model:
    """An entry of ``models`` in params.yaml, with the response cache behind it.

    Raises:
        ParamsError: there is no such entry.
    """
    found = settings()
    return models.load(found.model_entry(name), paths.root() / found.cache)


def load_metrics(names: Iterable[str]) -> dict[str, MetricSpec]:
    """What metrics of params.yaml are made of, by name."""
    known = settings().metrics
    return {name: specification(name, known) for name in names}


def load_corpus(data: str, name: str) -> Corpus:
    """A corpus as the stage ``corpora`` wrote it.

    Raises:
        FileNotFoundError: it did not; the message says how.
    """
    return corpora.read(paths.corpus_folder(data, name))


def load_evaluation(data: str, model: str, corpus: str, metric: str) -> Evaluation:
    """Claims, verdicts and scores of a model's metric on a corpus, as the stage ``score`` wrote them.

    Raises:
        FileNotFoundError: it did not; the message says how.
    """
    return Evaluation.read(paths.scores_folder(data, model, metric) / paths.plain(corpus))


def load_scores(data: str, model: str, corpus: str, metric: str) -> pd.DataFrame:
    """Each summary's ``score`` by a model's metric, beside its ``example_id``; NaN where it was asked and has none.

    As the stage ``score`` wrote them; where it made none of this model's here, as they are committed, so that a question
    about the scores of a public run needs the public corpora, but no hours. That they are the committed ones is printed.

    Raises:
        FileNotFoundError: neither is there; the message says how they are made.
    """
    folder = paths.scores_folder(data, model, metric)
    committed = paths.by_summary_folder(data, model) / f"{paths.plain(corpus)}.csv"
    if not folder.parent.is_dir() and committed.is_file():
        table = pd.read_csv(committed, dtype=str, keep_default_na=False)
        if metric in table:
            _say_committed(committed.parent.relative_to(paths.root()))
            asked = table[table[metric] != ""].reset_index(drop=True)
            return pd.DataFrame({"example_id": asked["example_id"], "score": asked[metric].astype(float)})
    return Evaluation.read(folder / paths.plain(corpus)).scores[["example_id", "score"]]


@cache
def _say_committed(folder: Path) -> None:
    """Once, and where a report keeps it: on the standard output."""
    print(f"Scores are read from {folder}, as an earlier run left them; `dvc repro` makes them anew.")


#: A summary of the shipped sample with one claim that its document does not support.
EXAMPLE = "sample:dialogue-09:abstract"


def worked_example(model: str, metric: str, example: str = EXAMPLE) -> tuple[pd.Series, pd.DataFrame]:
    """One summary of the shipped sample, by its id, with its claims, verdicts and evidence, asked of a model now.

    It is of the sample whatever ``data`` is: the public corpora's texts are not ours to print. The model is an entry of
    ``models`` in params.yaml, the metric a claim-level one of ``metrics``.

    Returns:
        The example (``document``, ``summary``, ``label`` and more), and its claims: ``claim``, ``support`` in [0, 1],
        ``evidence``, the sentence of the document that decided (empty where the verifier named none).
    """
    rows = corpora.load("sample").examples.query("id == @example")
    found = rows.iloc[0]
    judged = evaluate(metric, load_metrics([metric])[metric], load_model(model), rows, progress=False).judged_claims()
    sentences = [span.text for span in text.sentences(found["document"])]
    evidence = [sentences[places[0]] if len(places) else "" for places in judged["evidence"]]
    return found, judged[["claim", "support"]].assign(evidence=evidence)
