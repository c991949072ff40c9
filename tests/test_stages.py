"""The stages: corpora prepared, metrics run over them, notebooks executed, each in its own project."""

import json
import shutil
from pathlib import Path

import nbformat
import pandas as pd
import papermill
import pytest
import yaml
from fakes import FakeModel
from files import changed_params
from imports import ROOT
from nbformat.v4 import new_code_cell, new_notebook
from typer.testing import CliRunner

from claimwise import cli, corpora, models, params, paths, project, stages
from claimwise.corpora import CorpusError, user
from claimwise.corpora.base import Rows
from claimwise.metrics import DEFAULT_METRICS, Evaluation, MetricError
from claimwise.models.cache import ResponseCache
from claimwise.models.caching import CachedModel
from claimwise.params import ParamsError
from claimwise.schema import TableError

MINE = """id,document,summary,label,system,split
a,It rained in Tarn.,It rained.,1,one,dev
b,It rained in Tarn.,It snowed.,0,two,dev
c,The ferry stopped.,A ferry.,,one,
"""


@pytest.fixture
def settings(folder):
    """An empty project; returns a function that writes its params.yaml and reads it."""
    Path("notebooks").mkdir()

    def write(data="sample", toy=None, **dataset):
        content = {
            "data": data,
            "model": "embedded",
            "models": {"embedded": {"kind": "embedded"}},
            "cache": "calls.sqlite",
            "metrics": DEFAULT_METRICS,
            "notebooks": ["toy"],
            "score": {"metrics": list(DEFAULT_METRICS)},
            "datasets": {data: {"corpora": [], "toy": {}} | dataset},
            "toy": toy or {},
        }
        Path("params.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
        return project.settings()

    write()
    return write


# settings


def told(given):
    """The files that the stage writes, by name."""
    folder = stages.write_settings(given)
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*.json")}


def changed(before, after):
    assert before.keys() == after.keys()
    return {name for name in before if before[name] != after[name]}


def test_a_changed_model_concerns_what_asks_it_however_it_is_named(settings):
    code = [new_code_cell("model = 'embedded'  # it's shipped"), new_code_cell('project.load_model("mine")')]
    for name in ("toy", "other"):
        nbformat.write(new_notebook(cells=code[: 2 if name == "toy" else 1]), f"notebooks/{name}.ipynb")
    given = settings(score={"sample": BOTH}, corpora=["sample"])
    given.models.update(mine={"kind": "lexical"}, friend={"kind": "openai", "model": "m", "averaged_with": "mine"})
    asked = {
        name: DEFAULT_METRICS["sentences"] | {"model": name.removeprefix("by-")} for name in ("by-mine", "by-friend")
    }
    given.metrics.update(asked)
    given.score.metrics.extend(asked)
    given.dataset.score["sample"].metrics.extend(asked)
    given.model_extra["other"] = given.dataset.model_extra["other"] = {}
    before = told(given)
    assert "notebook/other.json" in before
    given.models["mine"]["kind"] = "embedded"
    assert changed(before, told(given)) == {"score/by-mine.json", "score/by-friend.json", "notebook/toy.json"}


def test_documents_and_parameters_concern_one_metric_and_one_notebook(settings):
    nbformat.write(new_notebook(cells=[]), "notebooks/toy.ipynb")

    def write(documents, below):
        few = {"validation_documents": {"factored": documents}}
        return told(settings(score={"sample": BOTH | few}, corpora=["sample"], toy={"below": below}))

    assert changed(write(2, 1), write(3, 1)) == {"score/factored.json"}
    assert changed(write(2, 1), write(2, 0)) == {"notebook/toy.json"}
    assert changed(write(2, 1), write(2, 1)) == set()


def test_a_notebook_that_is_not_for_the_data_stops_no_other(settings):
    given = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    for data in given["datasets"]:
        Path("params.yaml").write_text(yaml.safe_dump(given | {"data": data}), encoding="utf-8")
        files = told(project.settings())
        assert {f"notebook/{name}.json" for name in given["notebooks"]} <= files.keys()
        assert json.loads(files["notebook/leaderboard.json"])["parameters"]["data"] == data


# corpora


@pytest.fixture
def own(settings):
    """The project with a file in data/own; returns a function that prepares corpora."""
    Path("data/own").mkdir(parents=True)
    Path("data/own/mine.csv").write_text(MINE)

    def prepare(given=("mine",), data="own"):
        return stages.prepare_corpora(settings(data, corpora=given if isinstance(given, dict) else list(given)))

    return prepare


def test_a_file_of_ones_own_is_a_corpus(own):
    [folder] = own()
    assert folder.relative_to(Path.cwd()) == Path("data/corpora/own/mine")
    corpus = corpora.read(folder)
    assert corpus.examples[["id", "corpus", "system", "split"]].to_numpy().tolist() == [
        ["a", "mine", "one", "validation"],
        ["b", "mine", "two", "validation"],
        ["c", "mine", "one", "test"],
    ]
    assert corpus.examples["label"].tolist()[:2] == [1, 0]
    assert corpus.examples["document_id"].nunique() == 2


@pytest.mark.parametrize(
    ("systems", "told"),
    [
        (("one", "two", "one", "two"), ""),
        (("one", "one", "one", "one"), "one system: leaderboard has nothing to rank"),
        (("one", "one", "two", "two"), "no document that all 2 systems summarised: leaderboard cannot compare them"),
    ],
)
def test_what_notebooks_will_miss_is_said_and_the_file_prepared_all_the_same(own, capsys, systems, told):
    keys = (("x", "dev", 1), ("x", "dev", 0), ("y", "test", 1), ("y", "test", 0))
    rows = [
        f"{i},{d},s,{label},{s},{split}" for i, ((d, split, label), s) in enumerate(zip(keys, systems, strict=True))
    ]
    Path("data/own/mine.csv").write_text("\n".join(["id,document,summary,label,system,split", *rows]))
    Path("data/own/mine.preferences.csv").write_text("first_id,second_id,preferred\n0,1,first\n")
    assert len(own()) == 1
    assert capsys.readouterr().err.endswith(f"data/corpora/own/mine: {told}\n" if told else "")


def test_columns_of_other_names_are_named_in_the_settings(own):
    Path("data/own/mine.csv").write_text("article,highlights\nIt rained.,Rain.\n")
    [folder] = own({"mine": {"document": "article", "summary": "highlights"}})
    assert corpora.read(folder).examples[["id", "document", "summary"]].to_numpy().tolist() == [
        ["1", "It rained.", "Rain."]
    ]
    with pytest.raises(TableError, match=r"mine\.csv: no column 'title', which 'document' is said to be"):
        own({"mine": {"document": "title"}})


def test_a_corpus_is_cut_to_so_many_documents_of_each_origin_and_split(settings):
    Path("data").mkdir()
    Path("data/sample").symlink_to(ROOT / "data" / "sample")
    [folder] = stages.prepare_corpora(settings(corpora={"sample": {"test": 2}}))

    cut, whole = corpora.read(folder).examples, corpora.load("sample").examples
    documents = cut.groupby(["split", "origin"])["document_id"].nunique()
    assert set(documents["test"]) == {2}
    assert cut[cut["split"] != "test"]["id"].tolist() == whole[whole["split"] != "test"]["id"].tolist()
    of_kept = whole[(whole["split"] == "test") & whole["document_id"].isin(cut["document_id"])]
    assert set(cut.loc[cut["split"] == "test", "id"]) == set(of_kept["id"])  # all summaries of a document
    with pytest.raises(
        ParamsError, match=r"corpora\.sample: found 'tset', expected splits that it has: test, validation$"
    ):
        stages.prepare_corpora(settings(corpora={"sample": {"tset": 2}}))


def test_an_unknown_file_is_said_before_any_is_read(own):
    Path("data/own/mine.csv").write_text("not read")
    with pytest.raises(CorpusError, match=r"no file named 'mien' in .*/data/own; did you mean 'mine'\? .* are: mine"):
        own(["mine", "mien"])
    assert not Path("data/corpora").exists()


def test_a_wrong_row_is_named(own):
    Path("data/own/mine.csv").write_text("id,document,summary,label\na,b,c,maybe\n")
    with pytest.raises(TableError, match=r"data/own/mine\.csv, line 2, column 'label': found 'maybe', expected 1"):
        own()


def test_a_shipped_or_public_corpus_is_loaded_by_name(own, monkeypatch):
    monkeypatch.setattr(corpora, "load", lambda name: user.load("data/own/mine.csv"))
    [folder] = own(["sample"], data="sample")
    assert folder.name == "sample"
    with pytest.raises(CorpusError, match="no corpus named 'mine'"):
        own(["sample", "mine"], data="sample")


# score


@pytest.fixture
def model(settings, monkeypatch):
    """The fake in place of whatever model the settings name, with the cache they name."""
    fake = FakeModel()
    monkeypatch.setattr(models, "load", lambda entry, cache=None: CachedModel(fake, ResponseCache(cache or ":memory:")))
    return fake


def prepare(name, documents, split="test"):
    """Two summaries a document, the second with an invented sentence."""
    rows = Rows(name)
    for number in range(documents):
        document = f"The cat sat on mat {number}. It rained."
        both = {"document": document, "split": split}
        rows.example(str(number), "good", summary=f"The cat sat on mat {number}.", label=1, **both)
        rows.example(str(number), "bad", summary="It rained. Dogs barked loudly.", label=0, **both)
    corpora.write(rows.corpus(), paths.corpus_folder("sample", name))


def scored(settings, **corpora_to_score):
    return settings(corpora=list(corpora_to_score), score=corpora_to_score)


BOTH = {"metrics": ["acueval", "factored"]}


def test_the_stage_writes_every_corpus_that_the_settings_name(model, settings):
    prepare("one", 3)
    prepare("two", 2)
    prepare("judged", 1)
    given = scored(settings, one=BOTH, two=BOTH | {"documents": 1}, judged={"metrics": ["holistic"]})
    folders = stages.score(given, "acueval")
    assert folders == [paths.scores_folder("sample", "embedded", "acueval") / name for name in ("one", "two")]
    one, two = (Evaluation.read(folder) for folder in folders)
    assert one.scores["score"].tolist() == pytest.approx([1, 0.5] * 3)
    assert one.scores["n_claims"].tolist() == [1, 2] * 3
    assert len(two.scores) == 2  # both summaries of one document
    assert json.loads((folders[0] / "run.json").read_text()) == {
        "model": models.describe({"kind": "embedded"}),
        "fingerprint": "fake-1",
        "versions": models.versions(),
        "metric": DEFAULT_METRICS["acueval"],
        "examples": 6,
        "unscored": 0,
        "claims": 9,
        "unparsed": 0,
    }
    loaded = project.load_evaluation("sample", "embedded", "one", "acueval")
    assert loaded.scores["score"].tolist() == one.scores["score"].tolist()


def test_a_dry_run_asks_and_writes_nothing(model, settings, capsys):
    prepare("one", 1)
    assert stages.score(scored(settings, one=BOTH), "acueval", dry_run=True) == []
    assert capsys.readouterr().out == "no calls: this model is no language model. Nothing was asked.\n"
    assert model.calls.total() == 0
    assert not Path("data/scores").exists()


def test_a_metric_that_takes_long_scores_few_validation_documents(model, settings):
    prepare("one", 3, "validation")
    given = scored(settings, one=BOTH | {"validation_documents": {"factored": 2}})
    sizes = [len(Evaluation.read(stages.score(given, metric)[0]).scores) for metric in BOTH["metrics"]]
    assert sizes == [6, 4]


def test_metrics_that_are_cut_leave_out_what_a_model_of_any_of_them_learned_from(model, settings, monkeypatch):
    prepare("one", 3, "validation")
    first, second, third = sorted(corpora.read(paths.corpus_folder("sample", "one")).examples["document_id"].unique())
    monkeypatch.setattr(stages, "learned_documents", lambda name: frozenset({first} if name == "mine" else ()))
    given = scored(settings, one={"metrics": ["acueval", "factored"], "validation_documents": {"factored": 1}})
    given.models["tuned"] = {"kind": "embedded", "adapter": "mine"}  # no metric's model

    def documents():
        return set(next(stages._scored(given, "factored"))[1].examples["document_id"])

    assert documents() == {first}
    given.metrics["tuned"] = DEFAULT_METRICS["sentences"] | {"model": "tuned"}
    given.dataset.score["one"].validation_documents["tuned"] = 1
    assert documents() == {second}
    given.dataset.score["one"].validation_documents["factored"] = None
    assert documents() == {second, third}
    assert len(next(stages._scored(given, "acueval"))[1].examples) == 6


def test_a_metric_with_a_model_of_its_own_is_scored_by_it_beside_the_others(settings):
    prepare("one", 2)
    settings(corpora=["one"])
    with changed_params() as content:
        content["models"]["words"] = {"kind": "lexical"}
        content["metrics"]["mine"] = DEFAULT_METRICS["sentences"] | {"model": "words"}
        content["score"]["metrics"] = ["mine"]
        content["datasets"]["sample"]["score"] = {"one": {"metrics": ["mine"]}}
    [folder] = stages.score(project.settings(), "mine")
    assert folder == paths.scores_folder("sample", "embedded", "mine") / "one"
    assert json.loads((folder / "run.json").read_text())["model"] == models.describe({"kind": "lexical"})
    assert Evaluation.read(folder).scores["score"].tolist() == pytest.approx([1, 0.5] * 2)  # shares of words

    with changed_params() as content:
        content["metrics"]["mine"]["model"] = "wrods"
    with pytest.raises(params.ParamsError, match=r"metrics.mine: .*no entry 'wrods'; did you mean 'words'"):
        project.settings()


def test_a_second_run_asks_the_model_nothing_and_writes_the_same_bytes(model, settings):
    prepare("one", 3)

    def files():
        folder = paths.scores_folder("sample", "embedded", "acueval") / "one"
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    stages.score(scored(settings, one=BOTH), "acueval")
    first, made = files(), model.calls.total()
    stages.score(scored(settings, one=BOTH), "acueval")
    assert files() == first
    assert model.calls.total() == made


def test_a_stopped_run_goes_on_where_it_stopped(model, settings, monkeypatch):
    prepare("one", 100)  # 200 summaries: four batches
    verify, asked = model.verify, []

    def stop_at_the_third(documents, claims, prompt, extras=None):
        asked.append(len(documents))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return verify(documents, claims, prompt, extras)

    given = scored(settings, one=BOTH)
    with monkeypatch.context() as patch:
        patch.setattr(model, "verify", stop_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            stages.score(given, "acueval")
    assert not (paths.scores_folder("sample", "embedded", "acueval") / "one").exists()
    before = model.calls.copy()
    [folder] = stages.score(given, "acueval")
    assert model.calls["verify"] == 100 + 200  # no claim was verified twice
    assert model.calls["verify"] > before["verify"] > 0
    assert Evaluation.read(folder).scores["score"].tolist() == pytest.approx([1, 0.5] * 100)


def test_factored_verification_reuses_the_claims_and_verdicts_of_acueval(model, settings):
    prepare("one", 3)
    given = scored(settings, one=BOTH)
    stages.score(given, "acueval")
    made = model.calls.total()
    [folder] = stages.score(given, "factored")
    assert model.calls.total() == made
    assert Evaluation.read(folder).scores["score"].tolist() == pytest.approx([1, 0] * 3)


def test_unknown_metrics_and_corpora_that_are_not_prepared(model, settings):
    given = scored(settings, one=BOTH)
    with pytest.raises(MetricError, match="did you mean 'acueval'"):
        stages.score(given, "acuevall")
    with pytest.raises(FileNotFoundError, match="one"):
        stages.score(given, "acueval")


def test_a_metrics_name_that_is_a_path_is_refused_and_nothing_removed(settings, tmp_path):
    beside = tmp_path / "beside"
    beside.mkdir()
    scored(settings)
    done = CliRunner().invoke(cli.app, ["evaluate", "../../../beside"])
    assert done.exit_code
    assert beside.is_dir()


@pytest.mark.parametrize(("lost", "summaries", "told"), [(2, 3, True), (1, 3, False), (2, 4, False)])
def test_a_model_that_mostly_does_not_follow_the_prompt_is_told_of_at_once(
    model, settings, capsys, lost, summaries, told
):
    rows = Rows("one")
    for number in range(summaries):
        summary = f"A mumble {number}." if number < lost else "It rained."
        rows.example(str(number), "s", document=f"It rained {number}.", summary=summary)
    corpora.write(rows.corpus(), paths.corpus_folder("sample", "one"))
    [folder] = stages.score(scored(settings, one=BOTH), "acueval")
    assert Evaluation.read(folder).scores["score"].isna().sum() == lost
    said = "acueval on one: 2 of 3 summaries have no score (2 x no bullet in the reply)" in capsys.readouterr().err
    assert said == told


def test_what_the_settings_no_longer_name_is_removed(model, settings):
    prepare("one", 1)
    prepare("two", 1)
    stages.score(scored(settings, one=BOTH, two=BOTH), "acueval")
    [folder] = stages.score(scored(settings, two=BOTH), "acueval")
    assert [path.name for path in folder.parent.iterdir()] == ["two"]


def test_a_metric_of_no_corpus_says_so_until_there_is_one(model, settings, capsys):
    prepare("one", 1)
    folder = paths.scores_folder("sample", "embedded", "acueval")
    said = "no corpus of `data: sample` is scored by acueval (params.yaml, datasets.sample.score)\n"
    stages.score(scored(settings, one=BOTH), "acueval")
    assert stages.score(scored(settings, one={"metrics": []}), "acueval") == []
    assert capsys.readouterr().err.endswith(said)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"nothing_to_score.txt": said}
    stages.score(scored(settings, one=BOTH), "acueval")
    assert [path.name for path in folder.iterdir()] == ["one"]


# by_summary


def test_scores_of_all_metrics_stand_side_by_side_and_are_read_where_none_were_made(model, settings, capsys):
    prepare("one", 3)
    prepare("judged", 1)
    given = scored(settings, one=BOTH, judged={"metrics": ["holistic"]}, two={"metrics": []})
    for metric in (*BOTH["metrics"], "holistic"):
        stages.score(given, metric)
    made = project.load_scores("sample", "embedded", "one", "factored")
    folder = stages.write_by_summary(given)
    assert [path.name for path in sorted(folder.iterdir())] == ["judged.csv", "one.csv"]
    assert list(pd.read_csv(folder / "one.csv")) == ["example_id", *BOTH["metrics"]]
    shutil.rmtree("data/scores")
    capsys.readouterr()
    read = [project.load_scores("sample", "embedded", "one", metric) for metric in BOTH["metrics"]]
    pd.testing.assert_frame_equal(read[1], made, check_exact=True)
    said = capsys.readouterr().out
    assert said.startswith("Scores are read from tables/sample/embedded/by_summary, ")
    assert said.count("\n") == 1  # of both metrics
    with pytest.raises(FileNotFoundError, match="dvc repro"):
        project.load_scores("sample", "embedded", "one", "holistic")  # was not run on it


def test_what_was_not_asked_is_not_what_has_no_score(model, settings):
    prepare("one", 3)
    given = scored(settings, one=BOTH | {"test_documents": {"factored": 1}})
    for metric in BOTH["metrics"]:
        folder = stages.score(given, metric)[0]
    table = pd.read_parquet(folder / "scores.parquet")
    table.loc[0, "score"] = float("nan")  # its claims could not be read
    table.to_parquet(folder / "scores.parquet")
    stages.write_by_summary(given)
    shutil.rmtree("data/scores")
    read = project.load_scores("sample", "embedded", "one", "factored")
    assert read["example_id"].tolist() == table["example_id"].tolist()
    assert read["score"].isna().tolist() == [True, False]


def test_scores_of_this_run_come_before_the_committed_ones(model, settings):
    prepare("one", 1)
    given = scored(settings, one=BOTH)
    for metric in BOTH["metrics"]:
        stages.score(given, metric)
    file = stages.write_by_summary(given) / "one.csv"
    file.write_text(file.read_text().replace(",1.0", ",0.0"))
    assert project.load_scores("sample", "embedded", "one", "acueval")["score"].tolist() == pytest.approx([1, 0.5])


def test_a_metric_that_was_not_run_is_said_and_earlier_scores_stay(model, settings):
    prepare("one", 1)
    given = scored(settings, one=BOTH)
    stages.score(given, "acueval")
    file = paths.by_summary_folder("sample", "embedded") / "one.csv"
    file.parent.mkdir(parents=True)
    file.write_text("example_id\n")
    with pytest.raises(FileNotFoundError, match="factored"):
        stages.write_by_summary(given)
    assert file.read_text() == "example_id\n"


# notebook


@pytest.mark.parametrize("command", [["settings"], ["corpora"], ["evaluate", "acueval"], ["notebook", "leaderboard"]])
def test_a_wrong_value_stops_every_stage_before_it_removes_anything(tmp_path, monkeypatch, capsys, command):
    given = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    given["leaderboard"]["draws"] = "many"
    Path(tmp_path, "params.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    kept = [
        Path(f"{kind}/sample/{name}/a.csv") for kind, name in [("tables", "leaderboard"), ("data/corpora", "sample")]
    ]
    for file in kept:
        file.parent.mkdir(parents=True)
        file.write_text("a")
    monkeypatch.setattr("sys.argv", ["claimwise", *command])
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    line = "params.yaml, leaderboard.draws: Input should be a valid integer, found 'many'"
    assert capsys.readouterr().err == f"error: {tmp_path / line}\n"
    assert all(file.read_text() == "a" for file in kept)


KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


@pytest.fixture
def toy(settings):
    """A notebook that prints, warns, shows an object's address and divides; returns a function that runs it."""
    cells = [
        new_code_cell('data = "sample"\nmodel = ""\nbelow = 1', metadata={"tags": ["parameters"]}),
        new_code_cell("import sys\nprint('progress', file=sys.stderr)\nprint(data, model)\nobject()"),
        new_code_cell("1 / below"),
    ]
    nbformat.write(new_notebook(cells=cells, metadata=KERNEL), "notebooks/toy.ipynb")
    return lambda name="toy", **section: stages.notebook(settings(toy=section), name)


def test_two_runs_give_the_same_bytes_and_leave_the_source_alone(toy):
    source = Path("notebooks/toy.ipynb").read_bytes()
    first = toy(below=2)
    copy = first.read_bytes()
    assert toy(below=2).read_bytes() == copy
    assert Path("notebooks/toy.ipynb").read_bytes() == source
    outputs = [output for cell in nbformat.read(first, 4).cells for output in cell.get("outputs", [])]
    assert "progress" not in str(outputs)
    assert outputs[0].text == "sample embedded\n"
    assert outputs[-1].data["text/plain"] == "0.5"
    record = json.loads(Path("tables/sample/embedded/toy/run.json").read_text())
    assert record["parameters"] == {"data": "sample", "model": "embedded", "below": 2}
    assert record["model"] == {"kind": "embedded"}


def test_tables_of_an_earlier_run_do_not_stay_and_no_output_is_missing(toy):
    stale = [Path(f"{kind}/sample/embedded/toy/old.csv") for kind in ("tables", "figures")]
    for file in stale:
        file.parent.mkdir(parents=True)
        file.touch()
    headline = Path("tables/sample/embedded/toy.json")
    headline.write_text('{"old": 1}')
    toy(below=2)
    assert not any(file.exists() for file in stale)
    assert json.loads(headline.read_text()) == {}  # this notebook has no headline numbers
    assert Path("figures/sample/embedded/toy").is_dir()


@pytest.mark.parametrize(
    ("metadata", "tags", "told"),
    [({}, ["parameters"], "with the kernel python3"), (KERNEL, [], "no cell has the tag `parameters`")],
)
def test_a_notebook_that_cannot_take_parameters_says_what_it_lacks(toy, metadata, tags, told):
    cells = [new_code_cell("below = 1", metadata={"tags": tags})]
    nbformat.write(new_notebook(cells=cells, metadata=metadata), "notebooks/toy.ipynb")
    with pytest.raises(ParamsError, match=rf"toy\.ipynb: .*{told}"):
        toy(below=2)


def test_a_failed_run_leaves_the_traceback_to_read_and_the_earlier_tables(toy):
    kept = Path("tables/sample/embedded/toy/a.csv")
    kept.parent.mkdir(parents=True)
    kept.write_text("a")
    with pytest.raises(papermill.PapermillExecutionError, match="ZeroDivisionError"):
        toy(below=0)
    copy = nbformat.read("reports/sample/embedded/toy.ipynb", 4)
    assert any(o.get("ename") == "ZeroDivisionError" for c in copy.cells for o in c.get("outputs", []))
    assert kept.read_text() == "a"
    assert "papermill" not in copy.metadata


@pytest.mark.parametrize(
    ("name", "section", "told"),
    [
        ("toy", {"bellow": 2}, "toy: unknown parameter 'bellow'; the notebook takes below"),
        ("toy", {}, "toy: parameter 'below' is missing"),
        ("toi", {"below": 2}, r"toi\.ipynb is not there; did you mean 'toy'\? notebooks: toy"),
    ],
)
def test_wrong_parameters_and_notebooks_are_named_before_anything_is_run(toy, name, section, told):
    with pytest.raises(ParamsError, match=told):
        toy(name, **section)
    assert not Path("reports/sample/embedded/toy.ipynb").exists()


def test_the_root_is_the_nearest_project_and_else_this_checkout(settings, tmp_path, monkeypatch):
    settings()
    assert paths.root() == tmp_path
    monkeypatch.chdir("notebooks")
    assert paths.root() == tmp_path
    monkeypatch.chdir("/")
    assert paths.root() == ROOT


def test_the_shipped_settings_are_found_from_the_notebooks_folder(monkeypatch):
    monkeypatch.chdir(ROOT / "notebooks")
    assert project.settings() == params.read(ROOT / "params.yaml")


def test_the_worked_example_is_of_the_sample_whoever_answers():
    example, claims = project.worked_example("lexical", "sentences")
    assert example["summary"] == claims["claim"].item()
    assert claims["evidence"].item() in example["document"]
    assert isinstance(claims, pd.DataFrame)
