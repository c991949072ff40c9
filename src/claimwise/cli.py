"""The command line: thin, every command calls one function of the rooms below."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from claimwise import __version__
from claimwise.errors import ClaimwiseError, counted, near
from claimwise.paths import PARAMS

if TYPE_CHECKING:
    from claimwise.params import Settings

HELP = """Break summaries into claims, verify each against its document, and score.

`score` and `compare` read your own files and need no settings. The pipeline's stages read params.yaml; `dvc repro` runs them in order.
"""


class _Command(TyperCommand):
    """A command that refuses an option given twice, and says after Ctrl-C that finished replies are kept."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:
        given = self.make_parser(ctx).parse_args(list(args))[2]
        for option in given:
            if given.count(option) > 1 and not option.multiple and not option.is_flag:
                raise ClaimwiseError(f"{option.opts[0]} appears twice: one run takes one; run it again for the other")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: typer.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("\nstopped. Finished replies are kept: run again to go on.", err=True)
            raise


app = typer.Typer(add_completion=False, no_args_is_help=True, help=HELP, pretty_exceptions_enable=False)
cache_app = typer.Typer(no_args_is_help=True, help="The file of finished calls.")
app.add_typer(cache_app, name="cache")

#: Panels of the help.
_ASKED, _WRITTEN, _FOLDER = "What is asked", "What is written", "With --out FOLDER/"
_STAGES = "Stages of the pipeline"

Params = Annotated[Path, typer.Option(help="The settings file.")]
DRY_RUN = "Ask nothing: say how many calls and tokens of a language model it takes, and what they cost."


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"claimwise {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself."""


@app.command(cls=_Command)
def score(
    file: Annotated[
        list[Path],
        typer.Argument(
            help="Files with the columns document and summary (or claims): .jsonl, .json, .csv, .tsv (also .gz) or .parquet. "
            "Or a folder of them, hf://datasets/OWNER/NAME/FILE, or - (standard input: csv or JSON)."
        ),
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="FIELD=COLUMN, if your column has another name: --column document=article. May be repeated. Fields: "
            "document, summary, claims, id, label, system, origin, split."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Only score the first so many rows, as a trial: FILE.METRIC.first-N.csv.", min=1)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=DRY_RUN)] = False,
    metric: Annotated[
        str,
        typer.Option(
            help="acueval (default), factored, weakest, ...: `claimwise metrics` lists them.",
            show_default=False,
            rich_help_panel=_ASKED,
        ),
    ] = "acueval",
    model: Annotated[
        str | None,
        typer.Option(
            help="embedded (default), claimwise-1.5b, ...: `claimwise models` lists them.", rich_help_panel=_ASKED
        ),
    ] = None,
    base_url: Annotated[
        list[str] | None,
        typer.Option(
            help="With --model openai: the address of an OpenAI-compatible server. Repeat it for servers of one model.",
            rich_help_panel=_ASKED,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="With --model openai: the model's name there. With --model transformers: a folder, a GGUF file or a hub id.",
            rich_help_panel=_ASKED,
        ),
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            help="A prompt in place of the metric's own: a name (`claimwise prompts`) or your file. May be repeated.",
            rich_help_panel=_ASKED,
        ),
    ] = None,
    params: Params = PARAMS,
    out: Annotated[
        str | None,
        typer.Option(
            help="Where to write the scores: .csv, .jsonl (with claims), .parquet, - (standard output), or FOLDER/ for files "
            "of any size. Default: FILE.METRIC.csv.",
            rich_help_panel=_WRITTEN,
        ),
    ] = None,
    claims: Annotated[
        Path | None,
        typer.Option(
            help="Also write every claim with its support and evidence to this csv. (Claims of your own are a column: "
            "--column claims=COLUMN.)",
            rich_help_panel=_WRITTEN,
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="Also write an html page that shows claims and evidence.", rich_help_panel=_WRITTEN),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Call summaries above it faithful. Default: tuned on labelled rows of the split validation.",
            rich_help_panel=_WRITTEN,
        ),
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            help="Exit with code 1 if the mean score is below it. A row without a score counts as 0.",
            min=0,
            max=1,
            rich_help_panel=_WRITTEN,
        ),
    ] = None,
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv",
            help="For spreadsheets: put a ' before cells that look like a formula (= + - @), and mark the file as UTF-8.",
            rich_help_panel=_WRITTEN,
        ),
    ] = False,
    engine: Annotated[
        Literal["here", "dask"] | None,
        typer.Option(
            help="What scores the parts: this process, or Dask's workers.", show_default=False, rich_help_panel=_FOLDER
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="The address of a Dask scheduler. Default: workers on this machine.", rich_help_panel=_FOLDER
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Workers on this machine. Default: one per core.", min=1, rich_help_panel=_FOLDER),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(help="I/N: only the I-th of N shares of the parts, for array jobs.", rich_help_panel=_FOLDER),
    ] = None,
    part_tokens: Annotated[
        int | None,
        typer.Option(help="Tokens per part, about. Default: 100,000.", min=1, rich_help_panel=_FOLDER),
    ] = None,
) -> None:
    """Score your own summaries: one row per summary with its score, then your columns."""
    from claimwise.corpora.user import parse_columns
    from claimwise.user_file.decisions import is_below
    from claimwise.user_file.score import score as score_file

    shared = {
        "files": file,
        "metric": metric,
        "model": model,
        "params": params,
        "dry_run": dry_run,
        "prompt": prompt or (),
        "columns": parse_columns(column or ()),
        "options": {
            key: value for key, value in (("base_url", base_url or None), ("model", name)) if value is not None
        },
    }
    folder = out is not None and (out.endswith("/") or Path(out).is_dir())
    of_files = {"claims": claims, "page": page, "threshold": threshold, "limit": limit, "safe_csv": safe_csv}
    of_folders = {
        "engine": engine,
        "scheduler": scheduler,
        "workers": workers,
        "shard": shard,
        "part_tokens": part_tokens,
    }
    others = of_files | {"safe_csv": safe_csv or None, "fail_under": fail_under} if folder else of_folders
    if wrong := [option.replace("_", "-") for option, value in others.items() if value is not None]:
        found = f"{out} is a folder: leave it out" if folder else "a folder has a slash at its end: --out scores/"
        raise ClaimwiseError(f"--{wrong[0]} is for scores in a {'file' if folder else 'folder'}; {found}")
    if engine != "dask" and (scheduler or workers):
        raise ClaimwiseError(f"--{'scheduler' if scheduler else 'workers'} is for --engine dask; say both, or neither")
    if folder:
        from claimwise.params import Engine
        from claimwise.scale import run

        run.score_folder(
            out=Path(out),
            engine=Engine(kind=engine or "here", scheduler=scheduler, workers=workers),
            shard=run.parse_shard(shard or "1/1"),
            part_tokens=part_tokens or run.PART_TOKENS,
            **shared,
        )
        return
    scores = score_file(out=None if out is None else Path(out), **of_files, **shared)
    if scores is None or fail_under is None:
        return
    # A row without a score counts as 0: a file of which nearly nothing could be scored must not pass.
    mean, without = scores["score"].fillna(0).mean(), scores["score"].isna().sum()
    if is_below(mean, fail_under):
        zeros = f" ({without} without a score, counted as 0)" if without else ""
        said = f"failed: the mean of {len(scores)} rows{zeros}, {mean:.6g}, is below --fail-under {fail_under:g}"
        typer.echo(said, err=True)
        raise typer.Exit(1)


@app.command(cls=_Command)
def compare(
    file: Annotated[Path, typer.Argument(help="The examples, as for `score`: a file, or a folder of files.")],
    results: Annotated[
        list[Path], typer.Argument(help="What `score` wrote about them: one file for each metric or model.")
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(help="FIELD=COLUMN, as for `score`, beside those that the results were made with."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Also write the tables as one: .csv, .jsonl, .parquet, or - (standard output)."),
    ] = None,
) -> None:
    """Compare metrics or models by your labels, and systems by their scores, with intervals and p-values."""
    from claimwise.corpora.user import parse_columns
    from claimwise.user_file.compare import compare as compare_results

    compare_results(file, results, out, parse_columns(column or ()))


@app.command()
def merge(
    folder: Annotated[Path, typer.Argument(help="What `score --out FOLDER/` wrote, finished.")],
    out: Annotated[Path, typer.Argument(help=".parquet; or .csv (without claims) or .jsonl, if it fits into memory.")],
) -> None:
    """Write a folder of scores as one file, rows in the order of the examples."""
    from claimwise.scale import run

    rows = run.merge(folder, out)
    typer.echo(f"{out}: {counted(rows, 'row')}", err=out == Path("-"))


@app.command()
def metrics(params: Params = PARAMS) -> None:
    """List the metrics: how each makes claims, verifies them, and combines the verdicts into a score."""
    from claimwise.metrics import MetricError, in_words, specification
    from claimwise.user_settings import read_settings

    found = read_settings(params).metrics
    width = max(map(len, found))
    for name in found:
        try:
            said = in_words(specification(name, found))
        except MetricError as error:  # the others are listed all the same
            said = f"wrong: {error}"
        typer.echo(f"{name:<{width}}  {said}")


@app.command("models")
def list_models(params: Params = PARAMS) -> None:
    """List the models; the first is the default."""
    from claimwise.models import check, describe
    from claimwise.user_settings import anothers, read_settings

    settings = read_settings(params)
    width = max(map(len, settings.models))
    for name in dict.fromkeys([settings.model, *settings.models]):
        if name not in settings.models:
            raise ClaimwiseError(
                f"{params}, model: there is no entry {name!r} of `models`{near(name, settings.models)}{anothers(params)}"
            )
        try:
            check(settings.models[name])
        except ClaimwiseError as error:
            raise ClaimwiseError(f"{params}, models.{name}: {error}") from None
        typer.echo(f"{name:<{width}} {describe(settings.models[name])}")
    typer.echo(f"{'openai':<{width}} any of an OpenAI-compatible server: --base-url and --name")
    typer.echo(f"{'transformers':<{width}} any checkpoint: --name, a folder, a GGUF file or a hub id")


@app.command("prompts")
def list_prompts(
    name: Annotated[str | None, typer.Argument(help="Print this prompt's file, to copy and edit.")] = None,
) -> None:
    """List the prompts: what each is for, and where it comes from."""
    from claimwise.prompts import load, names, text

    if name is not None:
        typer.echo(text(name), nl=False)
        return
    for prompt in map(load, names()):
        typer.echo(f"{prompt.name:<34} {prompt.role:<10} {prompt.source}")


@app.command(rich_help_panel=_STAGES)
def settings() -> None:
    """Write each later stage's settings to data/settings, so that DVC sees which stages a change concerns."""
    from claimwise import stages

    typer.echo(stages.write_settings(_settings()))


@app.command(rich_help_panel=_STAGES)
def corpora() -> None:
    """Load the corpora of `data` (downloads are checked by checksum) and write data/corpora."""
    from claimwise import stages

    for folder in stages.prepare_corpora(_settings()):
        typer.echo(folder)


@app.command(cls=_Command, rich_help_panel=_STAGES)
def evaluate(
    metric: Annotated[str, typer.Argument(help="A metric of params.yaml, for example acueval.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help=DRY_RUN)] = False,
) -> None:
    """Score the corpora of `data` with one metric and write data/scores."""
    from claimwise import stages

    for folder in stages.score(_settings(), metric, dry_run):
        typer.echo(folder)


@app.command("by-summary", rich_help_panel=_STAGES)
def by_summary() -> None:
    """Write every summary's score by every metric, a table per corpus, to tables/DATA/MODEL/by_summary."""
    from claimwise import stages

    typer.echo(stages.write_by_summary(_settings()))


@app.command(cls=_Command, rich_help_panel=_STAGES)
def notebook(
    name: Annotated[str, typer.Argument(help="A notebook in notebooks/, for example meta_evaluation.")],
) -> None:
    """Execute a notebook with its section of params.yaml (papermill) and write reports, tables and figures.

    It reads what `claimwise corpora` and `claimwise evaluate` wrote; `dvc repro` runs these first if needed.
    """
    from claimwise import stages

    typer.echo(stages.notebook(_settings(), name))


def _settings() -> Settings:
    """The settings of the project that the working folder is in; elsewhere a stage would write into the package's own."""
    from claimwise import paths, project

    if paths.root() not in (Path.cwd(), *Path.cwd().parents):
        raise ClaimwiseError(f"no {PARAMS} in {Path.cwd()} or above: a stage runs in a project's folder; go there")
    return project.settings()


@cache_app.command()
def stats(params: Params = PARAMS) -> None:
    """Count the finished calls, by model and role."""
    rows = _cache(params)[1].stats()
    for name, role, calls, size in rows:
        typer.echo(f"{name}\t{role}\t{calls} calls\t{size / 1e6:.1f} MB")
    if not rows:
        typer.echo("no calls")


@cache_app.command(cls=_Command)
def prune(
    model: Annotated[str | None, typer.Option(help="Only this model's calls.")] = None,
    every: Annotated[bool, typer.Option("--all", help="The calls of all models.")] = False,
    params: Params = PARAMS,
) -> None:
    """Delete a model's finished calls, or all of them. They cannot be restored: asking again takes time or money again."""
    path, cache = _cache(params, model)
    if every == (model is not None):
        raise ClaimwiseError(f"{path}: say what to delete, either --model NAME (`cache stats` lists them) or --all")
    typer.echo(f"{path}: {cache.prune(model)} calls deleted")


@cache_app.command()
def export(model: str, file: Path, params: Params = PARAMS) -> None:
    """Write a model's finished calls to a file that an entry of `models` can name under `recorded`."""
    typer.echo(f"{file}: {_cache(params, model)[1].export(model, file)} calls")


def _cache(params: Path, model: str | None = None):
    """The file that ``score`` uses with these settings, and its calls; none where it has made no such file yet.

    A model of which there are no calls is refused.
    """
    from claimwise.models.cache import ResponseCache
    from claimwise.user_settings import read_settings

    path = read_settings(params).cache
    if not path.exists():
        typer.echo(f"{path} is not there yet", err=True)
    cache = ResponseCache(path if path.exists() else ":memory:")
    known = sorted({row[0] for row in cache.stats()})
    if model is not None and model not in known:
        raise ClaimwiseError(
            f"{path}: no calls of a model {model!r}{near(model, known) or ';'} there are those of {', '.join(known) or 'none'}"
        )
    return path, cache


def main() -> None:
    """Run the command line; an error that is a message for the user is printed as one, without a traceback."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what a cluster sends stops a run as Ctrl-C does
    if sys.stdout:  # a line with a character that the terminal has not is said all the same, as on standard error
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except (ClaimwiseError, OSError) as error:
        # a name in a user's file may hold what a terminal takes for a command
        said = "".join(one if one.isprintable() or one == "\n" else "?" for one in str(error))
        typer.echo(f"error: {said}", err=True)
        raise SystemExit(2) from None
