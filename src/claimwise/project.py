"""Load what a notebook needs: the settings, models, and the tables that the stages ``corpora`` and ``score`` wrote."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pandas as pd

from claimwise import corpora, models, params, paths, text
from claimwise.corpora import Corpus
from claimwise.metrics import Evaluation, MetricSpec, evaluate, specification
from claimwise.models.base import Model


def settings() -> params.Settings:
    """The settings in the project's params.yaml."""
    return params.read(paths.root() / paths.PARAMS)


def load_model(name: str) -> Model:
    """The model of an entry of ``models`` in params.yaml, with the response cache.

    Raises:
        ParamsError: there is no such entry.
    """
    project_settings = settings()
    return models.load(project_settings.model_entry(name), project_settings.cache_file)


def load_metrics(names: Iterable[str]) -> dict[str, MetricSpec]:
    """The specifications of metrics of params.yaml, by name."""
    entries = settings().metrics
    return {name: specification(name, entries) for name in names}


def load_corpus(data: str, name: str) -> Corpus:
    """A corpus that the stage ``corpora`` wrote.

    Raises:
        FileNotFoundError: the stage did not write it; the message says how to run it.
    """
    return corpora.read(paths.corpus_folder(data, name))


def load_evaluation(data: str, model: str, corpus: str, metric: str) -> Evaluation:
    """Claims, verdicts and scores of a model's metric on a corpus, which the stage ``score`` wrote.

    Raises:
        FileNotFoundError: the stage did not write them; the message says how to run it.
    """
    return Evaluation.read(paths.scores_folder(data, model, metric) / paths.plain(corpus))


def load_scores(data: str, model: str, corpus: str, metric: str) -> pd.DataFrame:
    """The ``score`` of each ``example_id`` by a model's metric; NaN if the metric gave no score.

    These are the scores that the stage ``score`` wrote. If it wrote none by this model, the committed scores are used, and
    a line is printed about it. So a question about the scores of a public run needs the public corpora, but no new run.

    Raises:
        FileNotFoundError: there are neither; the message says how to make them.
    """
    folder = paths.scores_folder(data, model, metric)
    committed = paths.by_summary_folder(data, model) / f"{paths.plain(corpus)}.csv"
    if not folder.parent.is_dir() and committed.is_file():
        table = pd.read_csv(committed, dtype=str, keep_default_na=False)
        if metric in table:
            _say_committed(committed.parent.relative_to(paths.root()))
            rows = table[table[metric] != ""].reset_index(drop=True)  # an empty cell: the metric was not run on it
            return pd.DataFrame({"example_id": rows["example_id"], "score": rows[metric].astype(float)})
    return Evaluation.read(folder / paths.plain(corpus)).scores[["example_id", "score"]]


@cache
def _say_committed(folder: Path) -> None:
    """Print, once per folder, that scores are the committed ones: on standard output, which reports keep."""
    print(f"Scores are read from {folder}, as an earlier run left them; `dvc repro` makes them anew.")


#: A summary of the shipped sample with one claim that its document does not support.
EXAMPLE = "sample:dialogue-09:abstract"


def worked_example(model: str, metric: str, example: str = EXAMPLE) -> tuple[pd.Series, pd.DataFrame]:
    """Run a metric on one summary of the shipped sample, and return its claims, verdicts and evidence.

    It is from the sample whatever ``data`` is, because the texts of public corpora are not ours to print. ``model`` is an
    entry of ``models`` in params.yaml, ``metric`` a claim-level one of ``metrics``, ``example`` the summary's id.

    Returns:
        The example (``document``, ``summary``, ``label`` and more), and its claims: ``claim``, ``support`` in [0, 1],
        ``evidence``, the document's sentence that decided (empty if the verifier named none).
    """
    rows = corpora.load("sample").examples.query("id == @example")
    row = rows.iloc[0]
    judged = evaluate(metric, load_metrics([metric])[metric], load_model(model), rows, progress=False).judged_claims()
    sentences = [span.text for span in text.sentences(row["document"])]
    evidence = [sentences[indices[0]] if len(indices) else "" for indices in judged["evidence"]]
    return row, judged[["claim", "support"]].assign(evidence=evidence)
