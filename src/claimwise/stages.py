"""The pipeline's stages.

``settings`` writes what each other one is told, ``corpora`` prepares tables, ``score`` runs a metric over them,
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
    """Write what each stage ``score`` and ``notebook`` is told, a file each; returns the folder.

    DVC compares these files, not params.yaml: a stage runs again when what concerns it changes, and not when another
    metric or model does.

    Raises:
        ParamsError: a notebook that has a section for the chosen ``data`` has a wrong value in it.
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
    """What decides a metric's scores: the model that is asked, and the documents."""
    told = {"metric": metric, "model": settings.metrics[metric].get("model") or settings.model, "corpora": {}}
    for name, scored in settings.dataset.score.items():
        if metric in scored.metrics:
            few = scored.few_documents()
            told["corpora"][name] = {"documents": scored.documents}
            if any(metric in counts for counts in few.values()):  # then what the others' models learned decides, too
                told["corpora"][name] |= few
    return told


def _of_notebook(settings: Settings, name: str) -> dict[str, Any]:
    """A notebook's parameters, and the metrics and models that its code names besides.

    One that has no section for the chosen ``data`` has no parameters: its own stage says so, and stops no other's.
    """
    told = {"parameters": settings.parameters(name) if name in settings.dataset.sections else None}
    if _source(name).is_file():
        cells = json.loads(_source(name).read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells)
        known = sorted({*settings.metrics, *settings.models})
        told["in_code"] = [one for one in known if re.search(rf"""["']{re.escape(one)}["']""", code)]
    return told


def _write(file: Path, told: dict[str, Any], settings: Settings) -> None:
    file.parent.mkdir(exist_ok=True)
    told |= settings.entries_named_in(told)
    file.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# corpora


def prepare_corpora(settings: Settings) -> list[Path]:
    """Load the corpora of ``data`` and write their tables; returns the folders.

    Raises:
        CorpusError: a name is that of no corpus, or of no file in ``data/own`` where ``data`` is ``own``; said before
            the first one is downloaded or read.
        ParamsError: a corpus is to be cut in a split that it does not have.
        TableError: a file of the user's cannot be read; names file, line and field.
    """
    own, wanted = settings.data == OWN, settings.dataset.corpora
    found = {name: user.find(name) if own else corpora.loader(name) for name in wanted}
    folders = []
    for name, more in wanted.items():
        folder = paths.corpus_folder(settings.data, name)
        if own:
            corpus = user.load(found[name], more)
            for lack in lacks(corpus.examples, corpus.preferences):
                typer.echo(f"{folder}: {lack}", err=True)
        else:
            corpus = corpora.load(name)
            splits = sorted(corpus.examples["split"].unique())
            if unknown := sorted(set(more) - set(splits)):
                raise ParamsError(
                    f"params.yaml, datasets.{settings.data}.corpora.{name}: found {', '.join(map(repr, unknown))}, expected "
                    f"splits that it has: {', '.join(splits)}"
                )
            corpus = corpus.first(None, more)
        corpora.write(corpus, folder)
        folders.append(folder)
    _keep_only(folders, paths.corpus_folder(settings.data, "any").parent)
    return folders


def _keep_only(folders: list[Path], base: Path) -> None:
    """Remove what an earlier run wrote and this one did not: DVC leaves a stage's results to the stage (``persist``)."""
    for other in set(filter(Path.is_dir, base.glob("*"))) - set(folders):
        shutil.rmtree(other)


def lacks(examples: pd.DataFrame, preferences: pd.DataFrame) -> list[str]:
    """What notebooks need that a user's examples do not have, in words; they are prepared and scored all the same.

    >>> rows = {"document_id": ["x", "x"], "system": ["a", "b"], "split": ["validation", "test"], "label": [1.0, 0.0]}
    >>> for lack in lacks(pd.DataFrame(rows).assign(corpus="mine"), pd.DataFrame()):
    ...     print(lack)
    not both labels among rows whose split is validation: meta_evaluation cannot tune a threshold
    not both labels among rows whose split is test: meta_evaluation cannot say how right a metric is
    no file mine.preferences.csv (or of another kind) beside it: preference_bias has nothing to compare
    """
    found = []
    for split, what in (("validation", "tune a threshold"), ("test", "say how right a metric is")):
        if examples.loc[examples["split"] == split, "label"].nunique() < 2:
            found.append(f"not both labels among rows whose split is {split}: meta_evaluation cannot {what}")
    systems = examples["system"].nunique()
    if systems < 2:
        found.append("one system: leaderboard has nothing to rank")
    elif examples.groupby("document_id")["system"].nunique().max() < systems:
        found.append(f"no document that all {systems} systems summarised: leaderboard cannot compare them")
    if preferences.empty:
        file = f"{examples['corpus'].iloc[0]}{user.PREFERENCES}.csv"
        found.append(f"no file {file} (or of another kind) beside it: preference_bias has nothing to compare")
    return found


# score


def score(settings: Settings, metric: str, dry_run: bool = False) -> list[Path]:
    """Run one metric over the corpora that ``datasets`` names; returns the folders written, of a dry run none.

    Finished calls are in the response cache: killed and started again, none is made twice (but what got a blank
    reply), and the tables of every corpus are written anew from them. A language model is asked after a line on what
    that will take, under a bar that counts its calls; of a dry run there is that line only, and nothing is asked.
    """
    spec = specification(metric, settings.metrics)
    entry = settings.model_entry(spec.model or settings.model)
    model = models.load(entry, paths.root() / settings.cache)
    here = settings.engine.kind == "here"  # an engine has a bar of its own
    wanted = ((corpus.examples, corpus.recorded_claims) for _, corpus in _scored(settings, metric))
    estimated = estimate(spec, model, wanted) if here or dry_run else None
    if dry_run:
        typer.echo(f"{cost.forecast(estimated)}. Nothing was asked.")
        return []
    base = paths.scores_folder(settings.data, settings.model, metric)
    base.mkdir(parents=True, exist_ok=True)
    folders = []
    with cost.watched(metric, model, estimated) as progress:
        for name, corpus in _scored(settings, metric):
            examples, recorded = corpus.examples, corpus.recorded_claims
            if here:
                evaluation = evaluate(metric, spec, model, examples, recorded=recorded, progress=progress)
            else:
                parts = base.with_name(f".{metric}.{name}.parts")
                evaluation = evaluate_in_parts(metric, spec, entry, examples, recorded, parts, settings.engine)
            scores = evaluation.scores
            unscored = scores.loc[scores["score"].isna(), "reason"]
            record = {  # what made it and what came of it; no time stamps, so that reruns agree
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
            # Said at once where most have no score: a wrong template, a model that does not follow the prompt.
            if 2 * len(unscored) > len(scores):
                why = "; ".join(f"{count} x {reason}" for reason, count in unscored.value_counts().head(3).items())
                said = f"{len(unscored)} of {len(scores)} summaries have no score ({why})"
                typer.echo(f"{metric} on {name}: {said}", err=True)
    _keep_only(folders, base)
    return folders


def _scored(settings: Settings, metric: str) -> Iterator[tuple[str, Corpus]]:
    """The corpora that the metric is run on, each cut to the documents asked for."""
    for name, wanted in settings.dataset.score.items():
        if metric in wanted.metrics:
            corpus = corpora.read(paths.corpus_folder(settings.data, name))
            few = wanted.few_documents()
            of_split = {split: counts[metric] for split, counts in few.items() if metric in counts}
            learned = _learned(settings, set().union(*few.values())) if of_split else ()
            yield name, corpus.first(wanted.documents, of_split, learned)


def _learned(settings: Settings, metrics: Iterable[str]) -> frozenset[str]:
    """Documents that the models of any of these metrics learned from: so all of them are tuned on the same others."""
    models = [specification(metric, settings.metrics).model or settings.model for metric in metrics]
    return frozenset().union(*(learned_documents(settings.model_entry(model).get("adapter")) for model in models))


# by_summary


def write_by_summary(settings: Settings) -> Path:
    """Write the scores of each summary, a table a corpus and a column a metric; returns the folder.

    They are committed and hold no text, so that a question about a run's scores does not need the run. A cell is ``nan``
    where a metric was asked and has no score, and empty where it was not asked. Nothing is rounded.

    Raises:
        FileNotFoundError: a metric was not run on a corpus; the message says how.
    """
    folder = paths.by_summary_folder(settings.data, settings.model)
    with paths.replaced(folder) as new:
        for corpus, scored in settings.dataset.score.items():
            columns = {}
            for metric in scored.metrics:
                found = Evaluation.read(paths.scores_folder(settings.data, settings.model, metric) / corpus)
                columns[metric] = found.scores.set_index("example_id")["score"].map(repr)
            if columns:
                pd.concat(columns, axis=1).rename_axis("example_id").to_csv(new / f"{corpus}.csv")
    return folder


# notebook

_ADDRESS = re.compile(r"at 0x[0-9a-f]+")


def notebook(settings: Settings, name: str) -> Path:
    """Execute a notebook with its parameters and write the copy to ``reports/DATA/MODEL``; returns the copy's path.

    The copy is papermill's, without what differs between two identical runs (time stamps, random ids, progress bars),
    also after a failure: a failed run leaves the copy with its traceback, which is what one wants to read.

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
    given = _parameters(settings, name, source)
    copy.parent.mkdir(parents=True, exist_ok=True)
    before = {
        file: file.stat().st_mtime_ns
        for kind in (tables, figures)
        for file in kind.glob(f"{name}/**/*")
        if file.is_file()
    }
    try:
        papermill.execute_notebook(
            source,
            copy,
            parameters=given,
            kernel_name="python3",
            cwd=root,
            progress_bar=False,
            start_timeout=600,  # papermill waits a minute, in which a kernel on a busy machine does not start
            # The kernel warns on every start that its loopback socket is not encrypted.
            extra_arguments=["--IPKernelApp.log_level=ERROR"],
        )
    finally:
        if copy.is_file():
            normalise(copy)
    for file, written in before.items():  # of an earlier run, and not written by this one
        if file.stat().st_mtime_ns == written:
            file.unlink()
    (tables / name).mkdir(parents=True, exist_ok=True)
    record = {"parameters": given, "model": settings.model_entry(settings.model), "versions": models.versions()}
    (tables / name / "run.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return copy


def _source(name: str) -> Path:
    return paths.root() / "notebooks" / f"{paths.plain(name)}.ipynb"


def _parameters(settings: Settings, name: str, source: Path) -> dict[str, Any]:
    """What a notebook is run with, checked against what its parameter cell declares (papermill itself only warns)."""
    import papermill

    if not source.is_file():
        known = sorted(path.stem for path in source.parent.glob("*.ipynb"))
        raise ParamsError(f"{source} is not there{near(name, known) or ';'} notebooks: {', '.join(known) or 'none'}")
    declared, given = set(papermill.inspect_notebook(source)), settings.parameters(name)
    if unknown := sorted(set(given) - declared):
        raise ParamsError(
            f"params.yaml, {name}: unknown parameter {', '.join(map(repr, unknown))}; "
            f"the notebook takes {', '.join(sorted(declared))}"
        )
    if missing := sorted(declared - set(given)):
        raise ParamsError(f"params.yaml, {name}: parameter {', '.join(map(repr, missing))} is missing")
    return given


def normalise(file: Path) -> None:
    """Remove from an executed notebook what changes between identical runs, so that `dvc repro -f` gives the same bytes."""
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
