"""The pipeline's stages.

``settings`` writes the settings of each other stage, ``corpora`` prepares tables, ``score`` runs a metric over them,
``by_summary`` writes all metrics' scores side by side, and ``notebook`` executes a notebook.
"""

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import typer

from claimwise import corpora, models, paths
from claimwise.corpora import Corpus, user
from claimwise.errors import near
from claimwise.metrics import Evaluation, estimate, evaluate, specification
from claimwise.models import cost
from claimwise.models.weights import learned_documents
from claimwise.params import OWN, ParamsError, Settings
from claimwise.scale.run import evaluate_in_parts

# settings


def write_settings(settings: Settings) -> Path:
    """Write the settings of each stage ``score`` and ``notebook``, one file per stage; return the folder.

    DVC compares these files, not params.yaml. So a stage runs again only if its own settings change, and not if those of
    another metric or model do.

    Raises:
        ParamsError: a notebook's section has a wrong value. Only sections for the chosen ``data`` are checked.
    """
    folder = paths.settings_folder(settings.data, settings.model)
    with paths.replaced(folder) as new:
        for metric in settings.score.metrics:
            _write(new / "score" / f"{metric}.json", _of_score(settings, metric), settings)
        for name in dict.fromkeys([*settings.notebooks, *settings.dataset.sections]):
            if name in settings.notebooks or _source(name).is_file():
                _write(new / "notebook" / f"{name}.json", _of_notebook(settings, name), settings)
    return folder


def _of_score(settings: Settings, metric: str) -> dict[str, Any]:
    """What a metric's scores depend on: the model and the documents."""
    values = {"metric": metric, "model": settings.metrics[metric].get("model") or settings.model, "corpora": {}}
    for name, scored in settings.dataset.score.items():
        if metric in scored.metrics:
            limits = scored.document_limits()
            values["corpora"][name] = {"documents": scored.documents}
            # The documents of a slow metric also depend on what the other slow metrics' models learned from.
            if any(metric in counts for counts in limits.values()):
                values["corpora"][name] |= limits
    return values


def _of_notebook(settings: Settings, name: str) -> dict[str, Any]:
    """A notebook's parameters, and the metrics and models that its code names.

    Without a section for the chosen ``data`` it has no parameters. Its own stage reports that; other stages still run.
    """
    values = {"parameters": settings.parameters(name) if name in settings.dataset.sections else None}
    if _source(name).is_file():
        cells = json.loads(_source(name).read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells)
        names = sorted({*settings.metrics, *settings.models})
        values["in_code"] = [name for name in names if re.search(rf"""["']{re.escape(name)}["']""", code)]
    return values


def _write(file: Path, values: dict[str, Any], settings: Settings) -> None:
    """Write a stage's values, with the entries of the metrics and models that they name."""
    file.parent.mkdir(exist_ok=True)
    values |= settings.entries_named_in(values)
    file.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# corpora


def prepare_corpora(settings: Settings) -> list[Path]:
    """Load the corpora of ``data`` and write their tables; return the folders.

    Raises:
        CorpusError: there is no corpus of a name or, if ``data`` is ``own``, no file in ``data/own``. All names are
            checked before the first corpus is downloaded or read.
        ParamsError: a corpus does not have a split for which a number of documents is given.
        TableError: a user's file cannot be read; the message names file, line and field.
    """
    own, wanted = settings.data == OWN, settings.dataset.corpora
    sources = {name: user.find(name) if own else corpora.loader(name) for name in wanted}
    folders = []
    for name, details in wanted.items():
        folder = paths.corpus_folder(settings.data, name)
        if own:
            corpus = user.load(sources[name], details)
            for lack in lacks(corpus.examples, corpus.preferences):
                typer.echo(f"{folder}: {lack}", err=True)
        else:
            corpus = corpora.load(name)
            splits = sorted(corpus.examples["split"].unique())
            if unknown := sorted(set(details) - set(splits)):
                raise ParamsError(
                    f"params.yaml, datasets.{settings.data}.corpora.{name}: found {', '.join(map(repr, unknown))}, expected "
                    f"splits that it has: {', '.join(splits)}"
                )
            corpus = corpus.first(None, details)
        corpora.write(corpus, folder)
        folders.append(folder)
    _keep_only(folders, paths.corpus_folder(settings.data, "any").parent)
    return folders


def _keep_only(folders: list[Path], base: Path) -> None:
    """Remove the folders of an earlier run that this one did not write: with ``persist``, DVC does not remove them."""
    for folder in set(filter(Path.is_dir, base.glob("*"))) - set(folders):
        shutil.rmtree(folder)


def lacks(examples: pd.DataFrame, preferences: pd.DataFrame) -> list[str]:
    """Messages about what notebooks need and a user's examples lack. Such examples are still prepared and scored.

    >>> rows = {"document_id": ["x", "x"], "system": ["a", "b"], "split": ["validation", "test"], "label": [1.0, 0.0]}
    >>> for lack in lacks(pd.DataFrame(rows).assign(corpus="mine"), pd.DataFrame()):
    ...     print(lack)
    not both labels among rows whose split is validation: meta_evaluation cannot tune a threshold
    not both labels among rows whose split is test: meta_evaluation cannot say how right a metric is
    no file mine.preferences.csv (or of another kind) beside it: preference_bias has nothing to compare
    """
    messages = []
    for split, what in (("validation", "tune a threshold"), ("test", "say how right a metric is")):
        if examples.loc[examples["split"] == split, "label"].nunique() < 2:
            messages.append(f"not both labels among rows whose split is {split}: meta_evaluation cannot {what}")
    systems = examples["system"].nunique()
    if systems < 2:
        messages.append("one system: leaderboard has nothing to rank")
    elif examples.groupby("document_id")["system"].nunique().max() < systems:
        messages.append(f"no document that all {systems} systems summarised: leaderboard cannot compare them")
    if preferences.empty:
        file = f"{examples['corpus'].iloc[0]}{user.PREFERENCES}.csv"
        messages.append(f"no file {file} (or of another kind) beside it: preference_bias has nothing to compare")
    return messages


# score


def score(settings: Settings, metric: str, dry_run: bool = False) -> list[Path]:
    """Run one metric over the corpora that ``datasets`` names; return the folders written.

    A metric of no corpus leaves a file that says so: params.yaml lists each metric once, for all choices of ``data``.

    Finished calls are in the response cache. After an interruption no call is repeated (unless its reply was blank), and
    the tables of every corpus are written anew. A language model's forecast of calls is printed first, and a bar counts
    its calls. A dry run only prints the forecast, asks nothing and returns no folders.
    """
    spec = specification(metric, settings.metrics)
    entry = settings.model_entry(spec.model or settings.model)
    base = paths.scores_folder(settings.data, settings.model, metric)
    nothing = base / "nothing_to_score.txt"  # DVC would warn of an empty folder
    if not any(metric in wanted.metrics for wanted in settings.dataset.score.values()):
        message = (
            f"no corpus of `data: {settings.data}` is scored by {metric} (params.yaml, datasets.{settings.data}.score)"
        )
        typer.echo(message, err=True)
        if not dry_run:
            base.mkdir(parents=True, exist_ok=True)
            nothing.write_text(f"{message}\n", encoding="utf-8")
            _keep_only([], base)
        return []
    model = models.load(entry, settings.cache_file)
    here = settings.engine.kind == "here"  # Dask has a bar of its own
    wanted = ((corpus.examples, corpus.recorded_claims) for _, corpus in _scored(settings, metric))
    estimated = estimate(spec, model, wanted) if here or dry_run else None
    if dry_run:
        typer.echo(f"{cost.forecast(estimated)}. Nothing was asked.")
        return []
    base.mkdir(parents=True, exist_ok=True)
    nothing.unlink(missing_ok=True)
    folders = []
    with cost.watched(metric, model, estimated) as progress:
        for name, corpus in _scored(settings, metric):
            examples, recorded = corpus.examples, corpus.recorded_claims
            if here:
                evaluation = evaluate(metric, spec, model, examples, recorded=recorded, progress=progress)
            else:
                parts = base.with_name(f".{metric}.{name}.parts")
                places = settings.cache_file, parts
                evaluation = evaluate_in_parts(metric, spec, entry, examples, recorded, *places, settings.engine)
            scores = evaluation.scores
            unscored = scores.loc[scores["score"].isna(), "reason"]
            record = {  # without time stamps, so that reruns give the same bytes
                "model": models.describe(entry),
                "fingerprint": model.fingerprint,
                "versions": models.versions(),
                "metric": spec.model_dump(exclude_none=True),
                "examples": len(scores),
                "unscored": len(unscored),
                "claims": len(evaluation.verdicts),
                "unparsed": int(scores["n_unparsed"].sum()),
            }
            evaluation.write(base / name, record)
            folders.append(base / name)
            # If most have no score, say so at once: perhaps a wrong template, or a model that does not follow the prompt.
            if 2 * len(unscored) > len(scores):
                why = "; ".join(f"{count} x {reason}" for reason, count in unscored.value_counts().head(3).items())
                message = f"{len(unscored)} of {len(scores)} summaries have no score ({why})"
                typer.echo(f"{metric} on {name}: {message}", err=True)
    _keep_only(folders, base)
    return folders


def _scored(settings: Settings, metric: str) -> Iterator[tuple[str, Corpus]]:
    """Yield the corpora that the metric is run on, each with the chosen documents."""
    for name, wanted in settings.dataset.score.items():
        if metric in wanted.metrics:
            corpus = corpora.read(paths.corpus_folder(settings.data, name))
            limits = wanted.document_limits()
            split_limits = {split: counts[metric] for split, counts in limits.items() if metric in counts}
            learned = _learned(settings, set().union(*limits.values())) if split_limits else ()
            yield name, corpus.first(wanted.documents, split_limits, learned)


def _learned(settings: Settings, metrics: Iterable[str]) -> frozenset[str]:
    """The documents that the model of any of these metrics learned from. Without them, all metrics have the same documents."""
    models = [specification(metric, settings.metrics).model or settings.model for metric in metrics]
    return frozenset().union(*(learned_documents(settings.model_entry(model).get("adapter")) for model in models))


# by_summary


def write_by_summary(settings: Settings) -> Path:
    """Write the scores of each summary, one table per corpus and one column per metric; return the folder.

    The tables are committed and contain no texts, so that a question about a run's scores does not need the run. A cell is
    ``nan`` if the metric gave no score, and empty if it was not run on the summary. Nothing is rounded.

    Raises:
        FileNotFoundError: a metric was not run on a corpus; the message says how to run it.
    """
    folder = paths.by_summary_folder(settings.data, settings.model)
    with paths.replaced(folder) as new:
        for corpus, scored in settings.dataset.score.items():
            columns = {}
            for metric in scored.metrics:
                evaluation = Evaluation.read(paths.scores_folder(settings.data, settings.model, metric) / corpus)
                columns[metric] = evaluation.scores.set_index("example_id")["score"].map(repr)
            if columns:
                pd.concat(columns, axis=1).rename_axis("example_id").to_csv(new / f"{corpus}.csv")
    return folder


# notebook

_ADDRESS = re.compile(r"at 0x[0-9a-f]+")


def notebook(settings: Settings, name: str) -> Path:
    """Execute a notebook with its parameters, write the executed copy to ``reports/DATA/MODEL``, and return its path.

    The copy is papermill's, without what differs between identical runs (time stamps, random ids, progress bars). A failed
    run leaves a copy, too, with its traceback.

    Raises:
        ParamsError: there is no such notebook or section, or a parameter is unknown or missing.
        papermill.PapermillExecutionError: a cell failed.
    """
    import papermill

    root = paths.root()
    source = _source(name)
    reports, tables, figures = (
        paths.results_folder(kind, settings.data, settings.model) for kind in ("reports", "tables", "figures")
    )
    copy = reports / source.name
    parameters = _parameters(settings, name, source)
    copy.parent.mkdir(parents=True, exist_ok=True)
    before = {
        file: file.stat().st_mtime_ns
        for kind in (tables, figures)
        for file in (kind / f"{name}.json", *kind.glob(f"{name}/**/*"))
        if file.is_file()
    }
    try:
        papermill.execute_notebook(
            source,
            copy,
            parameters=parameters,
            kernel_name="python3",
            cwd=root,
            progress_bar=False,
            start_timeout=600,  # on a busy machine a kernel takes longer to start than papermill's default of a minute
            # The kernel warns on every start that its loopback socket is not encrypted.
            extra_arguments=["--IPKernelApp.log_level=ERROR"],
        )
    finally:
        if copy.is_file():
            normalise(copy)
    for file, written in before.items():  # remove files of an earlier run that this one did not write
        if file.stat().st_mtime_ns == written:
            file.unlink()
    for kind in (tables, figures):
        (kind / name).mkdir(parents=True, exist_ok=True)  # all of these are outputs of the stage
    headline = tables / f"{name}.json"
    if not headline.exists():
        headline.write_text("{}\n", encoding="utf-8")
    record = {"parameters": parameters, "model": settings.model_entry(settings.model), "versions": models.versions()}
    (tables / name / "run.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return copy


def _source(name: str) -> Path:
    return paths.root() / "notebooks" / f"{paths.plain(name)}.ipynb"


def _parameters(settings: Settings, name: str, source: Path) -> dict[str, Any]:
    """A notebook's parameters, checked against those that its parameter cell declares (papermill itself only warns)."""
    import papermill

    if not source.is_file():
        names = sorted(path.stem for path in source.parent.glob("*.ipynb"))
        raise ParamsError(f"{source} is not there{near(name, names) or ';'} notebooks: {', '.join(names) or 'none'}")
    parameters = settings.parameters(name)
    try:
        declared = set(papermill.inspect_notebook(source))
    except ValueError as error:  # no kernel is named
        raise ParamsError(f"{source}: {error}; save it once in JupyterLab with the kernel python3") from None
    if not declared:
        raise ParamsError(
            f"{source}: no cell has the tag `parameters`, or that cell sets nothing; it needs data and model"
        )
    if unknown := sorted(set(parameters) - declared):
        raise ParamsError(
            f"params.yaml, {name}: unknown parameter {', '.join(map(repr, unknown))}; "
            f"the notebook takes {', '.join(sorted(declared))}"
        )
    if missing := sorted(declared - set(parameters)):
        raise ParamsError(f"params.yaml, {name}: parameter {', '.join(map(repr, missing))} is missing")
    return parameters


def normalise(file: Path) -> None:
    """Remove from an executed notebook what differs between identical runs, so that `dvc repro -f` gives the same bytes."""
    import nbformat

    notebook = nbformat.read(file, as_version=4)
    notebook.metadata.pop("papermill", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for output in cell.outputs:
                if "text/plain" in output.get("data", {}):
                    output.data["text/plain"] = _ADDRESS.sub("at 0x0", output.data["text/plain"])
    nbformat.write(notebook, file)
