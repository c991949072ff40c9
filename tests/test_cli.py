"""The command line end to end on users' files, without a model: what is written, and the messages for mistakes."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from files import changed_params, write_jsonl
from servers import odd
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from claimwise import cli
from claimwise.metrics import DEFAULT_METRICS
from claimwise.models.cache import ResponseCache
from claimwise.models.cost import CLAIMS
from claimwise.prompts import load, names

GOOD = [
    {"id": "a", "document": "The cat sat on the mat.", "summary": "The cat sat.", "label": 1},
    {"id": "b", "document": "The cat sat on the mat.", "summary": "The dog ran off.", "label": 0},
    {"id": "c", "document": "It rained.", "summary": "", "label": 1},
    {"id": "d", "document": " ", "summary": "It rained.", "label": 0},
    {"id": "é", "document": "It rained.", "summary": "雨が降った。", "label": 0},
]

COLUMNS = "id metric scorer score min_support n_claims n_unsupported n_unparsed reason".split()


@pytest.fixture(autouse=True)
def project(folder):
    """A folder with a params.yaml of its own."""
    params = {
        "data": "sample",
        "model": "embedded",
        "models": {"embedded": {"kind": "embedded"}, "other": {"kind": "lexical"}},
        "cache": "calls.sqlite",
        "notebooks": [],
        "datasets": {"sample": {"corpora": []}},
        "metrics": DEFAULT_METRICS | {"broken": {"decompose": "no-such-prompt", "verify": "acueval-verify-zeroshot"}},
        "score": {"metrics": []},
    }
    Path("params.yaml").write_text(yaml.safe_dump(params))
    Path("magic.yaml").write_text("models: {other: {kind: magic}}")


def write(rows, name="mine.jsonl"):
    return str(write_jsonl((json.dumps(row, ensure_ascii=False) for row in rows), name))


def run(*arguments, **options):
    """The result of a command, which must succeed."""
    done = CliRunner().invoke(cli.app, arguments, **options)
    assert done.exit_code == 0, done.output
    return done


def score(*arguments):
    return CliRunner().invoke(cli.app, ["score", *arguments, "--metric", "word-overlap"])


@pytest.fixture
def fail(monkeypatch, capsys):
    """Runs the program as a shell would; returns its error message."""

    def told(*arguments):
        monkeypatch.setattr(sys, "argv", ["claimwise", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        printed = capsys.readouterr().err
        assert caught.value.code == 2
        assert "Traceback" not in printed
        assert printed.startswith(("error: ", "acueval: ", "warning: ", "word-overlap: ", "2 files: "))
        return printed[printed.index("error: ") :]  # a forecast, a warning of repeated calls may come before

    return told


def test_scores_of_a_file_and_what_the_screen_says():
    result = score(write(GOOD))
    assert result.exit_code == 0, result.output
    area = roc_auc_score([1, 0, 0], [1, 0.25, 0])
    assert "mine.word-overlap.csv: 5 summaries, mean 0.417, 2 without a score" in result.output
    assert "1 x empty summary" in result.output
    assert "1 x empty document" in result.output
    assert f"AUC against your labels: {area:.3f}" in result.output
    table = pd.read_csv("mine.word-overlap.csv")
    assert list(table.columns) == [*COLUMNS, "label"]
    assert table["id"].tolist() == ["a", "b", "c", "d", "é"]
    assert table["score"].tolist() == pytest.approx([1, 0.25, np.nan, np.nan, 0], nan_ok=True)
    assert table["n_unparsed"].tolist() == [0, 0, 0, 0, 0]
    assert table["reason"].fillna("").tolist() == ["", "", "empty summary", "empty document", ""]


def test_a_file_with_other_column_names():
    file = write({"article": row["document"], "highlights": row["summary"]} for row in GOOD)
    named = ["--column", "document=article", "--column", "summary=highlights"]
    run("score", file, "--metric", "word-overlap", *named)
    found = pd.read_csv("mine.word-overlap.csv")["score"]
    assert found.tolist() == pytest.approx([1, 0.25, np.nan, np.nan, 0], nan_ok=True)


def test_a_file_without_a_single_score_is_written_and_fails(fail):
    error = fail("score", write([GOOD[2]]), "--metric", "word-overlap")
    assert error == (
        "error: mine.word-overlap.csv: none of 1 summaries could be scored, for the reasons above; correct mine.jsonl\n"
    )
    found = pd.read_csv("mine.word-overlap.csv")
    assert found["score"].isna().all()
    assert found["reason"].tolist() == ["empty summary"]


def test_a_trial_scores_the_first_rows_only():
    before = datetime.now(UTC).replace(microsecond=0)
    score(write(GOOD))
    trial = score("mine.jsonl", "--limit", "2")
    assert trial.exit_code == 0, trial.output
    assert "mine.jsonl: only the first 2 of 5 rows (--limit)\n" in trial.stdout
    assert "mine.word-overlap.first-2.csv: 2 summaries, mean 0.625" in trial.stdout
    assert pd.read_csv("mine.word-overlap.first-2.csv")[["id", "label"]].to_numpy().tolist() == [["a", 1], ["b", 0]]
    assert len(pd.read_csv("mine.word-overlap.csv")) == 5  # those of the whole file stay
    record = json.loads(Path("mine.word-overlap.csv.run.json").read_text())
    assert record["limit"] is None
    assert record["files"] == {"mine.jsonl": hashlib.sha256(Path("mine.jsonl").read_bytes()).hexdigest()}
    assert before <= datetime.fromisoformat(record["made"]) <= datetime.now(UTC)
    assert "(--limit)" not in score("mine.jsonl", "--limit", "5").stdout
    assert score("mine.jsonl", "--limit", "0").exit_code == 2


def test_a_mean_below_the_least_fails_with_exit_code_1():
    scored = [GOOD[0], GOOD[1], GOOD[4]]
    enough = score(write(scored), "--fail-under", "0.41")
    assert (enough.exit_code, "failed" in enough.stderr) == (0, False)
    short = score(write(scored), "--fail-under", "0.42")
    assert short.exit_code == 1
    assert short.stderr.endswith("failed: the mean of 3 rows, 0.416667, is below --fail-under 0.42\n")
    assert score(write(GOOD), "--fail-under", "0.25").exit_code == 0
    assert len(pd.read_csv("mine.word-overlap.csv")) == 5
    assert score(write(GOOD), "--fail-under", "0.42", "--dry-run").exit_code == 0
    assert score(write(GOOD), "--fail-under", "42").exit_code == 2


def test_rows_without_a_score_count_as_zero_for_the_least_mean():
    rows = [GOOD[0], *[GOOD[2] | {"id": f"c{n}"} for n in range(4)]]
    short = score(write(rows), "--fail-under", "0.5")
    assert short.exit_code == 1
    assert "mean 1.000, 4 without a score" in short.stdout
    assert short.stderr.endswith(
        "failed: the mean of 5 rows (4 without a score, counted as 0), 0.2, is below --fail-under 0.5\n"
    )


def test_the_folder_of_the_result_is_made_and_claims_of_a_judge_are_an_empty_table():
    result = score(write(GOOD), "--out", "deep/down/scores.csv", "--claims", "deep/claims.csv")
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv("deep/down/scores.csv")) == 5
    assert len(pd.read_csv("deep/claims.csv")) == 0


LEXICAL = ["score", "mine.jsonl", "--model", "lexical"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (
            ["score", "mine.jsonl", "--metric", "acuevel"],
            [
                "unknown metric 'acuevel'; did you mean 'acueval'? There are: acueval, factored, sentences, weakest, nli, fenice, holistic, word-overlap, broken\n"
            ],
        ),
        (
            ["score", "mine.jsonl", "--model", "gpt"],
            [
                "unknown model 'gpt'",
                "params.yaml has: embedded, embedded-zero-shot, lexical, claimwise-0.5b, claimwise-1.5b, claimwise-nli, claimwise-1.5b-zero-shot, claimwise-ensemble, claimwise-ensemble-zero-shot, claim-extractor, other",
            ],
        ),
        (
            ["score", "mine.jsonl", "--params", "magic.yaml", "--model", "other"],
            ["magic.yaml, models.other: unknown kind of model 'magic'"],
        ),
        (
            ["score", "mine.jsonl", "--metric", "broken"],
            ["no prompt named 'no-such-prompt'", "`claimwise prompts` lists"],
        ),
        (
            ["score", "mine.jsonl", "--metric", "fenice", "--model", "claimwise-nli"],
            [
                "metric 'fenice' aligns claims with an NLI model of its own, and this model only verifies",
                "Take the metric 'nli'",
            ],
        ),
        (["score", "mine.jsonl", "--metric", "acueval,fenice"], ["metric 'acueval,fenice': one run scores one metric"]),
        (
            [*LEXICAL, "--metric", "weakest", "--metric", "sentences"],
            ["error: --metric appears twice: one run takes one; run it again for the other\n"],
        ),
        ([*LEXICAL, "--model", "embedded"], ["--model appears twice"]),
        ([*LEXICAL, "--out", "a.csv", "--out=b.csv"], ["--out appears twice"]),
        ([*LEXICAL, "--threshold", "0.5", "--threshold", "0.5"], ["--threshold appears twice"]),
        (["score", "absent.jsonl"], ["absent.jsonl", "no such file"]),
        (["score", "mine.txt"], ["mine.txt", "expected a name that ends in .jsonl"]),
        (["evaluate", "acuevel"], ["unknown metric 'acuevel'"]),
        (["score", "mine.jsonl", "--params", "absent.yaml"], ["absent.yaml is not there"]),
        (
            ["score", "twice.jsonl"],
            ["error: twice.jsonl, line 2, column 'id': 'a' stands in line 1 too; make it unique\n"],
        ),
        (
            ["score", "https://example.org/mine.csv"],
            ["https://example.org/mine.csv: expected a file on this machine, got an address; download it first"],
        ),
        (["score", "none"], ["none: no file of examples in this folder; expected .jsonl"]),
        # options that do not go together
        ([*LEXICAL, "--out", "s/", "--workers", "2"], ["--workers is for --engine dask"]),
        ([*LEXICAL, "--out", "s.jsonl", "--safe-csv"], ["--safe-csv is for csv"]),
        ([*LEXICAL, "--engine", "dask"], ["a folder has a slash at its end"]),
        ([*LEXICAL, "--out", "x.csv", "--shard", "1/2"], ["a folder has a slash at its end"]),
        ([*LEXICAL, "--out", "s/", "--page", "x.html"], ["--page is for scores in a file; s/ is a folder"]),
        (
            [*LEXICAL, "--out", "s/", "--shard", "3/2"],
            ["--shard: expected I/N with I from 1 to N, as in 2/5, got '3/2'"],
        ),
    ],
)
def test_a_wrong_argument_is_a_message_and_exit_code_2(fail, arguments, parts):
    write(GOOD)
    write(GOOD, "mine.txt")
    write(GOOD[:1] * 2, "twice.jsonl")
    Path("none").mkdir()
    error = fail(*arguments)
    assert all(part in error for part in parts), error
    assert not list(Path().glob("*.csv"))
    assert not Path("s").exists()


@pytest.fixture
def served(project, serve):
    """params.yaml with a model behind a loopback server that says yes to everything."""
    server = serve(lambda prompt: "- The cat sat." if "breakdown" in prompt else ("Yes", {"Yes": 0.75, "No": 0.25}))
    entry = {"kind": "openai", "model": "m", "base_url": server.url, "prices": {"prompt": 1e5, "reply": 0}}
    with changed_params() as params:
        params["models"]["served"] = entry
    return server


def test_a_file_is_scored_by_a_server_after_a_dry_run(served):
    file = write(GOOD[:2])
    dry = run("score", file, "--model", "served", "--dry-run")
    assert dry.output.startswith(
        f"{2 + 2 * CLAIMS} calls (assuming {CLAIMS} claims a summary"
    )  # two summaries of one document, no claim of both
    assert dry.output.endswith(". Nothing was asked.\n")
    assert (served.requests, list(Path().glob("*.csv"))) == ([], [])
    done = run("score", file, "--model", "served")
    assert pd.read_csv("mine.acueval.served.csv")["score"].tolist() == [0.75, 0.75]
    assert "acueval: 4 answers (0 from the cache, 3 calls), 30 + 6 tokens, cost 3.00, 0 unparsed, " in done.output
    again = run("score", file, "--model", "served")
    assert "acueval: 4 answers (4 from the cache, 0 calls), 0 unparsed, " in again.output
    assert len(served.requests) == 3


def test_a_list_that_was_cut_off_is_scored_and_said(served):
    served.faults = iter([odd({"content": "- The cat sat.\n- The cat"}, finish_reason="length")])
    done = run("score", write(GOOD[:1]), "--model", "served")
    assert "  1 scored, but: cut off at its length limit\n" in done.output
    [row] = pd.read_csv("mine.acueval.served.csv").to_dict("records")
    assert (row["score"], row["n_claims"], row["reason"]) == (0.75, 1, "cut off at its length limit")


def test_a_score_without_some_of_its_claims_is_said(served):
    served.faults = iter([odd({"content": "- The cat sat.\n- It purred."}), None, odd({"content": "Perhaps."})])
    with changed_params() as params:
        params["models"]["served"]["concurrency"] = 1
    done = run("score", write(GOOD[:1]), "--model", "served")
    assert "  1 scored, but: some claims have no verdict and do not count\n" in done.output
    [row] = pd.read_csv("mine.acueval.served.csv").to_dict("records")
    assert (row["score"], row["n_claims"], row["n_unparsed"]) == (0.75, 2, 1)
    assert row["reason"] == "some claims have no verdict and do not count"


def test_a_summary_in_another_language_among_others_gets_no_verdict_and_is_counted():
    german = "Der Bürgermeister hat am Dienstag gesagt, dass die alte Brücke für ein Jahr nicht mehr befahren wird."
    english = "The mayor said on Tuesday that the old bridge would be closed to all of the traffic for a year."
    other = "Police said that the man was seen in the park in the morning, and that he had a dog with him."
    rows = [{"document": text, "summary": text} for text in (english, german, other)]
    done = run("score", write(rows))
    assert pd.read_csv("mine.acueval.csv", keep_default_na=False)["verdict"].tolist() == ["faithful", "", "faithful"]
    assert "2 faithful (0.86 or more), 0 not faithful (below 0.18), 0 not sure" in done.output
    assert "  1 without a verdict: not English, it seems" in done.output


def test_what_the_embedded_model_cannot_tell_it_says():
    rows = [
        {"document": "It rained in Rome.", "summary": "It snowed."},
        {"document": "Jensen beat Ferrer in two sets on Sunday.", "summary": "Ferrer beat Jensen."},
        {"document": "It rained in Rome.", "summary": "It rained in Rome."},
        {"document": "It rained in Rome.", "summary": ""},
    ]
    arguments = ["score", write(rows), "--claims", "claims.csv", "--page", "mine.html"]
    done = run(*arguments)
    found = pd.read_csv("mine.acueval.csv", keep_default_na=False)["verdict"].tolist()
    assert found == ["not sure", "not sure", "faithful", ""]
    assert "1 faithful (0.86 or more), 0 not faithful (below 0.18), 2 not sure" in done.output
    told = " ".join(done.output.split())
    assert "On a corpus left out they decided 58 % of the rows, and 70 % of these rightly" in told
    assert max(map(len, done.output.splitlines())) <= 120
    claims = pd.read_csv("claims.csv")
    assert claims["verdict"].tolist() == ["not sure", "not sure", "supported"]
    factored = run("score", "mine.jsonl", "--metric", "factored")
    # Its lower bound is 0, nothing is below; the first two have 0.43 and more, and no claim that is supported.
    assert "1 faithful (0.43 or more), 2 not sure" in factored.output
    assert "2 not sure in spite of a score of 0.43 or more: none of the claims is supported" in factored.output
    page = Path("mine.html").read_text(encoding="utf-8")
    assert '<span class="decision not-sure">not sure</span>' in page
    assert page.count('<li class="not-sure"') == 2
    run(*arguments, "--threshold", "0.1")
    told = pd.read_csv("mine.acueval.csv")
    assert told["faithful"].tolist()[:3] == [1, 1, 1]  # as was asked for
    assert "verdict" not in told


def test_a_server_needs_no_settings(served):
    Path("params.yaml").unlink()
    arguments = ["score", write(GOOD[:2]), "--model", "openai", "--base-url", served.url, "--name", "org/m"]
    run(*arguments)
    table = pd.read_csv("mine.acueval.org-m.csv")
    assert table["score"].tolist() == [0.75, 0.75]
    assert table["scorer"].tolist() == ["org/m"] * 2
    assert {body["model"] for _, body, _ in served.requests} == {"org/m"}
    run(*arguments[:2], *arguments[4:], "--out", "other.csv")


def test_several_servers_of_one_model_share_the_work(served, serve):
    other = serve(served.answer)
    rows = [{**row, "document": f"{row['document']} {k}."} for k, row in enumerate(GOOD[:2] * 6)]
    rows = [{**row, "id": str(k)} for k, row in enumerate(rows)]
    servers = ["--base-url", served.url, "--base-url", other.url.replace("//", "//ann:geheim@")]
    run("score", write(rows), "--model", "openai", *servers, "--name", "org/m")
    assert pd.read_csv("mine.acueval.org-m.csv")["score"].tolist() == [0.75] * 12
    assert served.requests
    assert other.requests
    record = json.loads(Path("mine.acueval.org-m.csv.run.json").read_text())
    assert record["model"] == f"org/m at {served.url}, {other.url}"
    assert "geheim" not in json.dumps(record)


def test_a_metric_with_a_model_of_its_own_is_asked_of_that_model(served):
    with changed_params() as params:
        params["metrics"]["yes"] = DEFAULT_METRICS["sentences"] | {"model": "served"}
    run("score", write(GOOD[:1]), "--metric", "yes")
    found = pd.read_csv("mine.yes.served.csv").loc[0]
    assert (found["scorer"], found["score"]) == ("served", 0.75)
    assert json.loads(Path("mine.yes.served.csv.run.json").read_text())["model"] == f"m at {served.url}"
    assert "mean of the sentences, verified by acueval-verify-zeroshot; model served" in run("metrics").output


def test_half_an_entry_of_params_yaml_is_listed_or_named(project, fail):
    with changed_params() as params:
        params["metrics"]["half"] = {"decompose": "sentences"}
        params["metrics"]["mine"] = {"judge": "word-overlap", "model": None}
        params["models"] = {"served": {"kind": "openai"}, "embedded": {"kind": "embedded"}}
    listed = run("metrics").output.splitlines()
    assert listed[-2].startswith("half          wrong: metric 'half' in the settings: ")
    assert listed[-1].split(maxsplit=1) == ["mine", "share of the summary's words that the document has"]
    assert "params.yaml, models.served: kind openai: option 'model' is missing" in fail("models")


def test_a_name_takes_the_place_of_the_one_in_the_settings(served):
    run("score", write(GOOD[:2]), "--model", "served", "--name", "other")
    assert {body["model"] for _, body, _ in served.requests} == {"other"}


def test_a_prompt_is_printed_as_it_stands_to_copy_and_edit(fail):
    printed = run("prompts", "acueval-verify-fewshot").output
    Path("mine.txt").write_text(printed, encoding="utf-8")
    assert load("./mine.txt").fingerprint == load("acueval-verify-fewshot").fingerprint
    assert "did you mean 'acueval-verify-fewshot'" in fail("prompts", "acueval-verify-fewshots")


def test_what_there_is_is_listed_a_line_each():
    def lines(*arguments):
        return run(*arguments).output.splitlines()

    assert "word-overlap  share of the summary's words that the document has" in lines("metrics")
    told = "mean of claims by recorded:fenice-t5, aligned with the document by NLI; needs claims on record"
    assert f"fenice-t5     {told}" in lines("metrics")
    acueval = "mean of claims by acueval-decompose-5shot, verified by acueval-verify-zeroshot"
    assert f"acueval       {acueval}" in lines("metrics")
    listed = lines("prompts")
    assert len(listed) == len(names())
    assert any(line.startswith("acueval-verify-zeroshot ") and " verify " in line for line in listed)
    Path("params.yaml").unlink()
    listed = [line.split()[0] for line in lines("models")]
    assert listed == [
        "embedded",
        "embedded-zero-shot",
        "lexical",
        "claimwise-0.5b",
        "claimwise-1.5b",
        "claimwise-nli",
        "claimwise-1.5b-zero-shot",
        "claimwise-ensemble",
        "claimwise-ensemble-zero-shot",
        "claim-extractor",
        "openai",
        "transformers",
    ]
    assert ["lexical", "lexical (word overlap, nothing learned)"] in [
        line.split(maxsplit=1) for line in lines("models")
    ]


def test_several_files_and_a_folder_are_one_table_with_a_system_a_file():
    Path("runs").mkdir()
    rows = [{key: row[key] for key in ("document", "summary")} for row in GOOD]
    write(rows[:2], "runs/gpt.jsonl")
    write(rows[1:2], "runs/t5.jsonl")
    done = score("runs")
    assert done.exit_code == 0, done.output
    assert "2 files: runs/gpt.jsonl, runs/t5.jsonl" in done.stderr
    table = pd.read_csv("runs.word-overlap.csv")
    assert table["id"].tolist() == ["runs/gpt.jsonl:1", "runs/gpt.jsonl:2", "runs/t5.jsonl:1"]
    assert table["file"].tolist() == ["runs/gpt.jsonl"] * 2 + ["runs/t5.jsonl"]
    assert table["system"].tolist() == ["gpt", "gpt", "t5"]
    assert table["score"].tolist() == pytest.approx([1, 0.25, 0.25])
    assert "gpt: 0.625" in done.stdout
    several = score("runs/gpt.jsonl", "runs/t5.jsonl")
    assert several.exit_code == 0, several.output
    assert Path("scores.word-overlap.csv").read_bytes() == Path("runs.word-overlap.csv").read_bytes()


@pytest.mark.parametrize("stray", ['{"lr": 1}', "{", ""])
def test_a_file_of_a_folder_that_holds_no_examples_is_named_with_what_to_do(fail, stray):
    Path("runs").mkdir()
    write(GOOD, "runs/gpt.jsonl")
    Path("runs/config.json").write_text(stray)
    error = fail("score", "runs", "--metric", "word-overlap")
    assert error.startswith("error: runs/config.json")
    told = "If runs/config.json holds no examples, move it out of the folder, or name the other files one by one\n"
    assert error.endswith(told)
    assert "If " not in fail("score", "runs/config.json")


def test_a_system_of_the_file_stands_beside_the_score_and_files_of_one_name_are_two_systems():
    Path("runs").mkdir()
    pd.DataFrame(GOOD[:2]).assign(system=["bart", None]).to_parquet("runs/a.parquet")
    write(GOOD[:2], "runs/b.jsonl")
    pd.DataFrame(GOOD[:2]).to_csv("runs/b.csv", index=False)
    done = score("runs")
    assert done.exit_code == 0, done.output
    systems = pd.read_csv("runs.word-overlap.csv")["system"].tolist()
    assert systems == ["bart", "a", "runs/b.csv", "runs/b.csv", "runs/b.jsonl", "runs/b.jsonl"]


def test_a_mean_that_is_the_least_but_for_rounding_is_not_below_it():
    words = [f"alpha{i}" for i in range(7)]
    row = {"document": " ".join(words), "summary": " ".join([*words, "beta0", "beta1", "beta2"])}
    file = write([{"id": str(i)} | row for i in range(3)])
    assert [score(file, "--fail-under", least).exit_code for least in ("0.7", "0.71")] == [0, 1]


def test_claims_on_the_standard_output_are_nothing_but_csv():
    done = run("score", write(GOOD[:2]), "--metric", "sentences", "--model", "lexical", "--claims", "-")
    assert len(pd.read_csv(io.StringIO(done.stdout))) == 2
    assert "2 summaries by model lexical" in done.stderr
    # and the standard input, named by the same sign, is read among others afterwards
    given = "document,summary\nIt rained.,It rained.\n"
    run("score", "-", "mine.jsonl", "--metric", "word-overlap", "--out", "both.csv", input=given)
    assert len(pd.read_csv("both.csv")) == 3


def test_the_program_itself_writes_utf_8_whatever_the_terminal_is():
    """In a process of its own: what is printed to the standard output goes through Python's own stream."""
    command = [sys.executable, "-m", "claimwise", "score", "--metric", "word-overlap"]
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    told = "document,summary,note\nIt rained.,It rained.,🎉\n".encode()
    done = subprocess.run([*command, "-"], input=told, capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(io.BytesIO(done.stdout))["note"].tolist() == ["🎉"]
    assert b"standard input: 1 summary" in done.stderr


@pytest.mark.parametrize("stage", [["corpora"], ["evaluate", "acueval"], ["notebook", "leaderboard"]])
def test_a_stage_outside_of_a_project_is_refused(fail, monkeypatch, tmp_path, stage):
    Path("params.yaml").unlink()
    assert "no params.yaml in" in fail(*stage)
    monkeypatch.setattr("claimwise.paths.root", lambda: tmp_path)  # as where the package is installed without a project
    assert "params.yaml is not there; run from the project's folder" in fail(*stage)


def test_a_folder_leaves_out_no_file_whose_name_only_goes_on():
    Path("runs").mkdir()
    for name in ("gpt-4.csv", "gpt-4.1.csv", "._gpt-4.csv"):
        pd.DataFrame(GOOD[:1])[["document", "summary"]].to_csv(f"runs/{name}", index=False)
    assert score("runs").exit_code == 0
    assert pd.read_csv("runs.word-overlap.csv")["system"].tolist() == ["gpt-4.1", "gpt-4"]


def test_a_message_names_the_file_and_not_the_standard_input_where_scores_go_to_the_standard_output():
    done = score(write(GOOD[:1]), "--out", "-")
    assert "mine.jsonl: 1 summary, mean 1.000" in done.stderr
    assert "standard input" not in done.output
    for options, told in (("--page", "--page -: the page goes into a file"), ("--claims", "only one of them")):
        wrong = score("mine.jsonl", "--out", "-", options, "-")
        assert told in str(wrong.exception)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json"])
def test_the_standard_input_is_scored_to_the_standard_output(kind):
    frame = pd.DataFrame(GOOD)
    given = frame.to_csv(index=False) if kind == "csv" else frame.to_json(orient="records", lines=kind == "jsonl")
    done = run("score", "-", "--metric", "word-overlap", input=given)
    table = pd.read_csv(io.StringIO(done.stdout))
    assert table["score"].tolist() == pytest.approx([1, 0.25, np.nan, np.nan, 0], nan_ok=True)
    assert "standard input: 5 summaries, mean 0.417" in done.stderr
    assert not list(Path().glob("*.csv"))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("document,text\na,b\n", "standard input, line 1: column 'summary' is missing"),
        ("document,summary\na,b".encode("utf-16"), "standard input, line 1: not UTF-8"),
        ('a,b\n"c', "standard input, line 2: not a row of csv"),
    ],
)
def test_a_wrong_standard_input_is_called_so(given, told):
    assert told in str(CliRunner().invoke(cli.app, ["score", "-"], input=given).exception)


def test_claims_of_ones_own_are_verified_and_nothing_is_decomposed():
    rows = [{"document": ["It rained in Rome.", "Ann slept."], "claims": ["It rained.", "The dog ran off."], "n": 7}]
    run("score", write(rows), "--model", "lexical")
    scored, claims = pd.read_csv("mine.acueval.lexical.csv"), pd.read_csv("mine.acueval.lexical.claims.csv")
    assert scored[["n_claims", "n"]].to_numpy().tolist() == [[2, 7]]
    assert claims[["claim", "verdict"]].to_numpy().tolist() == [
        ["It rained.", "supported"],
        ["The dog ran off.", "unsupported"],
    ]
    assert claims["evidence"][0] == "It rained in Rome."


def test_a_column_of_claims_beside_other_texts_is_named():
    pd.DataFrame({"document": ["It rained in Rome."], "claim": ["It rained. Ann slept."]}).to_csv(
        "mine.csv", index=False
    )
    told = CliRunner().invoke(cli.app, ["score", "mine.csv"])
    assert "are these claims of your own? Say so: --column claims=claim" in str(told.exception)
    run("score", "mine.csv", "--column", "claims=claim", "--model", "lexical")
    assert pd.read_csv("mine.acueval.lexical.claims.csv")["claim"].tolist() == ["It rained. Ann slept."]


def test_a_server_that_is_not_there_is_a_message_within_seconds(served, fail):
    served.kill()
    error = fail("score", write(GOOD), "--model", "served")
    assert f"m at {served.url} cannot be used: no connection" in error
    assert "correct the model's `base_url`" in error
    assert "params.yaml" not in error
    assert not list(Path().glob("*.csv"))


def test_cache_stats_and_prune():
    ResponseCache("calls.sqlite").put({"k": "v" * 10}, model="embedded", role="verify")
    assert run("cache", "stats").output == "embedded\tverify\t1 calls\t0.0 MB\n"
    assert run("cache", "prune", "--all").output == "calls.sqlite: 1 calls deleted\n"
    assert run("cache", "stats").output == "no calls\n"


def test_exported_calls_are_read_back_and_a_wrong_name_empties_no_file(fail):
    ResponseCache("calls.sqlite").put({"k": {"text": "é"}}, model="embedded", role="verify")
    ResponseCache("calls.sqlite").put({"other": 1}, model="lexical", role="verify")
    export = ["cache", "export"]
    assert run(*export, "embedded", "kept/e.jsonl").output == "kept/e.jsonl: 1 calls\n"
    assert "no calls of a model 'embeded'" in fail(*export, "embeded", "kept/e.jsonl")
    again = ResponseCache(":memory:")
    again.read(Path("kept/e.jsonl"))
    assert again.get(["k", "other"]) == {"k": {"text": "é"}}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "calls.sqlite: say what to delete, either --model NAME (`cache stats` lists them) or --all"),
        (["--all", "--model", "embedded"], "calls.sqlite: say what to delete, either --model NAME"),
        (["--all", "--params", "parms.yaml"], "parms.yaml is not there"),
        (
            ["--model", "embeded"],
            "calls.sqlite: no calls of a model 'embeded'; did you mean 'embedded'? there are those of",
        ),
    ],
)
def test_nothing_is_deleted_that_was_not_named(fail, arguments, message):
    files = ("calls.sqlite", "home/claimwise/calls.sqlite")
    for file in files:
        ResponseCache(file).put({"k": "v"}, model="embedded", role="verify")
    assert message in fail("cache", "prune", *arguments)
    assert all(ResponseCache(file).get(["k"]) == {"k": "v"} for file in files)


def test_replies_that_could_not_be_read_are_asked_again_after_the_command_that_the_summary_names(served):
    file = write(GOOD[:2])
    good, served.answer = served.answer, lambda prompt: "- The cat sat." if "breakdown" in prompt else "Hm."
    for _ in range(2):
        garbage = CliRunner().invoke(cli.app, ["score", file, "--model", "served"])
        assert "kept (1); to ask them again: `claimwise cache prune --model m:unread`" in garbage.output
    assert "(4 from the cache, 0 calls)" in garbage.output
    served.answer = good
    assert run("cache", "prune", "--model", "m:unread").output.endswith(": 1 calls deleted\n")
    mended = run("score", file, "--model", "served")
    assert "(2 from the cache, 1 call), 10 + 2 tokens, cost 1.00, 0 unparsed, " in mended.output
    assert pd.read_csv("mine.acueval.served.csv")["score"].tolist() == [0.75, 0.75]


def test_without_a_file_of_calls_there_is_nothing_to_tell_and_none_is_made():
    empty = run("cache", "stats")
    assert (empty.stdout, empty.stderr) == ("no calls\n", "calls.sqlite is not there yet\n")
    assert run("cache", "prune", "--all").stdout == "calls.sqlite: 0 calls deleted\n"
    assert not Path("calls.sqlite").exists()


def test_without_settings_the_cache_is_that_of_score():
    Path("params.yaml").unlink()
    ResponseCache("home/claimwise/calls.sqlite").put({"k": "v"}, model="embedded", role="verify")
    pruned = run("cache", "prune", "--all")
    assert pruned.output == f"{Path('home/claimwise/calls.sqlite')}: 1 calls deleted\n"


def test_a_cache_that_is_a_folder_is_a_message(fail):
    Path("calls.sqlite").mkdir()
    for command in (["cache", "stats"], ["score", write(GOOD), "--metric", "sentences"]):
        assert "calls.sqlite: expected the file of finished calls" in fail(*command)


@pytest.mark.parametrize("options", [[], ["--model", "lexical"], ["--metric", "word-overlap"]])
def test_without_a_place_for_finished_calls_what_costs_nothing_is_scored(options):
    Path("params.yaml").unlink()
    Path("home").write_text("no folder can be made here")
    done = run("score", write(GOOD[:1]), *options)
    assert "warning: finished calls are not kept. home/claimwise/calls.sqlite: expected the file" in done.stderr
    assert "XDG_CACHE_HOME" in done.stderr
    assert "1 summary" in done.stdout


def test_without_a_place_for_finished_calls_a_language_model_is_not_asked(served, fail):
    Path("params.yaml").unlink()
    Path("home").write_text("no folder can be made here")
    error = fail("score", write(GOOD[:1]), "--model", "openai", "--base-url", served.url, "--name", "m")
    assert "another folder in the environment variable XDG_CACHE_HOME" in error
    assert served.requests == []


PROMPT = """---
source: me
role: verify
reply: yes-no
---
Is it so? {{ Document }} / {{ ACU }} Yes or No?
"""


def test_a_prompt_of_the_users_own_takes_the_place_of_the_metrics(served, fail):
    Path("prompts").mkdir()
    Path("prompts/mine.txt").write_text(PROMPT)
    command = ["score", write(GOOD[:1]), "--model", "served"]
    run(*command)
    before = len(served.requests)
    run(*command, "--prompt", "prompts/mine.txt")
    assert len(served.requests) == before + 1  # the claims are remembered, verified anew
    assert sorted(path.name for path in Path().glob("*.csv")) == [
        "mine.acueval.served.csv",
        "mine.acueval.served.mine.csv",
    ]
    assert "Is it so? The cat sat on the mat. / The cat sat. Yes or No?" in json.dumps(served.requests[-1])
    error = fail(*command, "--metric", "holistic", "--prompt", "prompts/mine.txt")
    assert "prompt 'prompts/mine.txt' is for verify; metric 'holistic' has judge" in error


def test_settings_may_name_a_prompt_by_its_path(served):
    Path("mine.txt").write_text(PROMPT)
    with changed_params() as params:
        params["metrics"]["own"] = {"decompose": "sentences", "verify": "mine.txt"}
    run("score", write(GOOD[:1]), "--model", "served", "--metric", "own")
    assert pd.read_csv("mine.own.served.csv")["score"].tolist() == [0.75]


@pytest.mark.parametrize(("metric", "warned"), [("sentences", True), ("word-overlap", False)])
def test_the_embedded_model_warns_of_summaries_in_another_script(metric, warned):
    rows = [GOOD[0], GOOD[4], GOOD[4] | {"id": "f", "summary": "Шёл дождь."}]
    done = run("score", write(rows), "--metric", metric)
    assert ("warning: 2 of 3 summaries are mostly not in Latin script" in done.stderr) == warned
    assert len(pd.read_csv(f"mine.{metric}.csv")) == 3


def test_an_unknown_corpus_is_said_before_any_is_written(fail):
    with changed_params() as params:
        params["datasets"]["sample"] = {"corpora": ["sample", "sampel"]}
    assert "no corpus named 'sampel'; did you mean 'sample'?" in fail("corpora")
    assert not Path("data").exists()


def test_version():
    assert run("--version").output == f"claimwise {version('claimwise')}\n"


def test_help_says_what_there_is():
    output = run("--help").output
    assert set(re.findall(r"^\W*(\w+)  ", output, re.MULTILINE)) >= {
        *("score", "compare", "corpora", "evaluate", "notebook", "cache")
    }
    assert "Break summaries into claims" in output


@pytest.mark.parametrize("command", [["score"], ["compare"], ["evaluate"], ["notebook"], ["cache", "prune"]])
def test_help_says_what_every_argument_is(command):
    output = run(*command, "--help").output
    rows = [line.strip("│ \n") for line in output.splitlines() if "<str>" in line or "<path>" in line]
    assert rows
    assert all(re.search(r"<(str|path)>\s+\w", row) for row in rows), rows
