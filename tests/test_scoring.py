"""Scoring with a model that makes claims, and the ``score`` stage over corpora on disk."""

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml
from fakes import FakeModel
from imports import ROOT
from test_language import Scripted
from typer.testing import CliRunner

from claimwise import cli, corpora, models, runs, scoring
from claimwise import paths as store
from claimwise.corpora.base import Rows
from claimwise.metrics import DEFAULT_METRICS, Evaluation, MetricError
from claimwise.metrics.fenice.alignment import Aligner
from claimwise.models.cache import ResponseCache
from claimwise.models.caching import CachedModel
from claimwise.models.language import PromptedModel
from claimwise.models.rehearsal import CLAIMS
from claimwise.models.replies import RecordedReplies
from claimwise.params import Settings
from claimwise.params import read as read_settings
from claimwise.user_file.score import score as score_file


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A folder of its own, and the fake in place of whatever model the settings name, with the cache they name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / name)
    fake = FakeModel()
    monkeypatch.setattr(models, "load", lambda settings, cache=None: CachedModel(fake, ResponseCache(cache)))
    return fake


def settings(**corpora_to_score):
    return Settings.model_validate(
        {
            "data": "sample",
            "model": "embedded",
            "models": {"embedded": {"kind": "embedded"}},
            "cache": "calls.sqlite",
            "corpora": {"sample": list(corpora_to_score), "public": []},
            "metrics": DEFAULT_METRICS,
            "score": {"metrics": ["acueval", "holistic"], "corpora": {"sample": corpora_to_score, "public": {}}},
        }
    )


def prepare(name, documents):
    """Two summaries a document, the second with an invented sentence."""
    rows = Rows(name)
    for number in range(documents):
        document = f"The cat sat on mat {number}. It rained."
        rows.example(str(number), "good", document=document, summary=f"The cat sat on mat {number}.", label=1)
        rows.example(str(number), "bad", document=document, summary="It rained. Dogs barked loudly.", label=0)
    corpora.write(rows.corpus(), store.corpus_folder("sample", name))


def test_claims_with_support_span_and_evidence(model, tmp_path):
    file = tmp_path / "mine.jsonl"
    rows = [
        {"id": "a", "document": "It rained. The cat sat.", "summary": "The cat sat. The dog sat."},
        {"id": "b", "document": "It rained.", "summary": "It rained. A mumble."},
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    out, claims, page = tmp_path / "scores.csv", tmp_path / "claims.csv", tmp_path / "page.html"
    written = score_file(file, "sentences", "embedded", out, claims, page, Path("params.yaml"))
    assert "sentences on mine.jsonl" in page.read_text()
    kept = ["id", "metric", "score", "n_claims", "n_unparsed"]
    pd.testing.assert_frame_equal(pd.read_csv(out)[kept], written[kept], check_dtype=False)
    assert written["score"].tolist() == pytest.approx([(1 + 2 / 3) / 2, 1])
    assert written["n_unparsed"].tolist() == [0, 1]
    report = pd.read_csv(claims)
    assert list(report.columns) == ["id", "claim_index", "claim", "support", "reason", "start", "end", "evidence"]
    assert report["id"].tolist() == ["a", "a", "b", "b"]
    assert report["evidence"].fillna("").tolist() == ["The cat sat.", "The cat sat.", "It rained.", ""]
    assert report["reason"].fillna("").tolist() == ["", "", "", "neither Yes nor No in the reply"]
    assert [rows[0]["summary"][r.start : r.end] for r in report.head(2).itertuples()] == report["claim"].tolist()[:2]


def test_the_stage_writes_every_corpus_that_the_settings_name(model):
    prepare("one", 3)
    prepare("two", 2)
    prepare("judged", 1)
    folders = scoring.score_corpora(settings(one={}, two={"documents": 1}, judged={"metrics": ["holistic"]}), "acueval")
    assert folders == [store.scores_folder("sample", "acueval") / name for name in ("one", "two")]
    one, two = (Evaluation.read(folder) for folder in folders)
    assert one.scores["score"].tolist() == pytest.approx([1, 0.5] * 3)
    assert one.scores["n_claims"].tolist() == [1, 2] * 3
    assert len(two.scores) == 2  # both summaries of one document
    assert json.loads((folders[0] / "run.json").read_text()) == {
        "model": models.describe({"kind": "embedded"}),
        "fingerprint": "fake-1",
        "versions": runs.versions(),
        "metric": DEFAULT_METRICS["acueval"],
        "examples": 6,
        "unscored": 0,
        "claims": 9,
        "unparsed": 0,
    }
    assert store.read_scores("sample", "acueval", "one").equals(one.scores)


def test_a_second_run_asks_the_model_nothing_and_writes_the_same_bytes(model):
    prepare("one", 3)

    def files():
        folder = store.scores_folder("sample", "acueval") / "one"
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    scoring.score_corpora(settings(one={}), "acueval")
    first, made = files(), model.calls.total()
    scoring.score_corpora(settings(one={}), "acueval")
    assert files() == first
    assert model.calls.total() == made


def test_a_stopped_run_goes_on_where_it_stopped(model, monkeypatch):
    prepare("one", 100)  # 200 summaries: four batches
    verify, asked = model.verify, []

    def stop_at_the_third(documents, claims, prompt, extras=None):
        asked.append(len(documents))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return verify(documents, claims, prompt, extras)

    with monkeypatch.context() as patch:
        patch.setattr(model, "verify", stop_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            scoring.score_corpora(settings(one={}), "acueval")
    assert not (store.scores_folder("sample", "acueval") / "one").exists()
    before = model.calls.copy()
    [folder] = scoring.score_corpora(settings(one={}), "acueval")
    assert model.calls["verify"] == 100 + 200  # no claim was verified twice
    assert model.calls["verify"] > before["verify"] > 0
    assert Evaluation.read(folder).scores["score"].tolist() == pytest.approx([1, 0.5] * 100)


def test_the_record_is_there_with_the_tables_or_neither_is(model, monkeypatch):
    """Killed at the moment in which the folder gets its name: whoever finds the tables knows what made them."""
    prepare("one", 1)
    seen = []
    rename = Path.rename

    def note(source, target):
        seen.append({file.name for file in source.iterdir()})
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", note)
    scoring.score_corpora(settings(one={}), "acueval")
    assert seen == [{"claims.parquet", "verdicts.parquet", "scores.parquet", "run.json"}]


def test_factored_verification_reuses_the_claims_and_verdicts_of_acueval(model):
    prepare("one", 3)
    scoring.score_corpora(settings(one={}), "acueval")
    made = model.calls.total()
    [folder] = scoring.score_corpora(settings(one={}), "factored")
    assert model.calls.total() == made
    assert Evaluation.read(folder).scores["score"].tolist() == pytest.approx([1, 0] * 3)


def test_unknown_metrics_and_corpora_that_are_not_prepared(model):
    with pytest.raises(MetricError, match="did you mean 'acueval'"):
        scoring.score_corpora(settings(one={}), "acuevall")
    with pytest.raises(FileNotFoundError, match="one"):
        scoring.score_corpora(settings(one={}), "acueval")


def test_a_dry_run_counts_the_calls_of_a_language_model_and_asks_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = Rows("sample")
    for key in ("one", "two"):
        rows.example(key, "made", document=f"It rained in {key}.", summary="It rained.")
    corpora.write(rows.corpus(), store.corpus_folder("sample", "sample"))
    cache = ResponseCache(":memory:")
    monkeypatch.setattr(models, "load", lambda *_: PromptedModel(RecordedReplies("m", {}), cache))
    settings = read_settings(ROOT / "params.yaml")
    # One decomposition of the one summary text, and a verdict on every assumed claim of both documents;
    # the longest reply of a decomposition, and one token a verdict.
    told = scoring.rehearse(settings, "acueval")
    assert told.startswith(f"{1 + 2 * CLAIMS} calls (")
    assert f"0 prompt tokens in full, at most {256 + 2 * CLAIMS} reply tokens" in told
    assert "time to be seen from the first calls" in told
    assert cache.stats() == []
    entry = settings.model_settings | {"prices": {"prompt": 1.0, "reply": 1e6}}
    priced = settings.model_copy(update={"models": {settings.model: entry}})
    assert f"cost about {256 + 2 * CLAIMS}.00" in scoring.rehearse(priced, "acueval")


def test_the_command_scores_or_says_what_it_would_ask(model):
    prepare("one", 2)
    Path("params.yaml").write_text(yaml.safe_dump(settings(one={}).model_dump()), encoding="utf-8")
    dry = CliRunner().invoke(cli.app, ["evaluate", "acueval", "--dry-run"])
    assert (dry.exit_code, dry.output.splitlines()) == (0, [scoring.rehearse(settings(one={}), "acueval")])
    assert not Path("data/scores").exists()
    done = CliRunner().invoke(cli.app, ["evaluate", "acueval"])
    assert done.exit_code == 0
    assert str(store.scores_folder("sample", "acueval") / "one") in done.output.splitlines()
    assert len(store.read_scores("sample", "acueval", "one")) == 4


def test_a_dry_run_of_aligned_claims_counts_decompositions_and_aligns_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prepare("one", 2)
    monkeypatch.setattr(models, "load", lambda *_: PromptedModel(RecordedReplies("m", {}), ResponseCache(":memory:")))
    monkeypatch.setattr(Aligner, "verify", lambda *_: pytest.fail("aligned"))
    assert scoring.rehearse(settings(one={}), "fenice").startswith("3 calls (")  # three different summaries


def test_a_dry_run_of_a_model_that_is_none(model):
    assert scoring.rehearse(settings(one={}), "acueval") == "no calls: this model is no language model"


def test_the_stage_tells_what_it_will_ask_and_what_it_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    prepare("one", 2)
    language = Scripted(lambda prompt: "- It rained." if "breakdown" in prompt else "Yes")
    monkeypatch.setattr(models, "load", lambda _, cache=None: PromptedModel(language, ResponseCache(cache)))
    scoring.score_corpora(settings(one={}), "acueval")
    told = capsys.readouterr().err
    # Four summaries, of which two are equal, and what is assumed of the claims; then one claim of each of two documents.
    assert f"acueval: {3 + 4 * CLAIMS} calls (" in told
    assert "score-acueval: 8 answers (0 from the cache, " in told
    [record] = (tmp_path / "runs").glob("score-acueval-*.json")
    usage = json.loads(record.read_text())["usage"]
    assert [(row["role"], row["asked"], row["calls"], row["unparsed"]) for row in usage] == [
        ("decompose", 4, 3, 0),
        ("verify", 4, 2, 0),
    ]
    scoring.score_corpora(settings(one={}), "acueval")
    told = capsys.readouterr().err
    assert "acueval: 0 calls (" in told
    assert "score-acueval: 8 answers (8 from the cache, 0 calls), " in told


def test_a_model_that_does_not_follow_the_prompt_is_told_of_at_once(model, capsys):
    rows = Rows("one")
    for number in range(3):
        summary = "It rained." if number == 0 else f"A mumble {number}."
        rows.example(str(number), "s", document="It rained.", summary=summary)
    corpora.write(rows.corpus(), store.corpus_folder("sample", "one"))
    scoring.score_corpora(settings(one={}), "acueval")
    told = capsys.readouterr().err
    assert "acueval on one: 2 of 3 summaries have no score (2 x no bullet in the reply)" in told


@pytest.mark.parametrize(("lost", "summaries"), [(1, 3), (2, 4)])
def test_a_model_that_follows_the_prompt_half_of_the_time_is_not_complained_of(model, capsys, lost, summaries):
    rows = Rows("one")
    for number in range(summaries):
        summary = f"A mumble {number}." if number < lost else "It rained."
        rows.example(str(number), "s", document=f"It rained {number}.", summary=summary)
    corpora.write(rows.corpus(), store.corpus_folder("sample", "one"))
    [folder] = scoring.score_corpora(settings(one={}), "acueval")
    assert Evaluation.read(folder).scores["score"].isna().sum() == lost
    assert "have no score" not in capsys.readouterr().err
