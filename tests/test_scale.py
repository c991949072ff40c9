"""A folder of scores is the same whatever scores it and whatever is killed, and nothing is asked twice."""

import errno
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from files import write_jsonl
from typer.testing import CliRunner

import claimwise
from claimwise import models
from claimwise.cli import app
from claimwise.corpora.user import read_in_steps
from claimwise.corpora.user_rows import expanded, read_rows
from claimwise.errors import ClaimwiseError
from claimwise.metrics import DEFAULT_METRICS, evaluate, specification
from claimwise.models.cache import ResponseCache
from claimwise.params import Engine
from claimwise.scale import dask_engine, run
from claimwise.scale.parts import read, split
from claimwise.scale.run import evaluate_in_parts, merge, score_folder
from claimwise.schema import TableError
from claimwise_embedded import EmbeddedModel

TINY = 60  # tokens a part, so that a few dozen rows are several parts
TWO = Engine(kind="dask", workers=2)


def examples(n=24, documents=8):
    """Summaries of documents that do not stand together, of which every third is not its document's."""
    texts = [
        f"Ann Lee planted {i + 2} trees in Marrow. Bo Ferrer paid {i + 3} crowns for them." for i in range(documents)
    ]
    rows = [
        {
            "document": texts[i % documents],
            "summary": f"Ann Lee planted {i % documents + 2 + (i % 3 == 0)} trees." + " It was cold." * (i % 2),
            "label": int(i % 3 > 0),
            "note": f"row {i}",
        }
        for i in range(n)
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.jsonl"
    examples().to_json(path, orient="records", lines=True)
    return path


@pytest.fixture
def served(serve):
    """A server whose verdict on a prompt depends on the prompt only."""
    return serve(lambda prompt: ("Yes", {"Yes": (len(prompt) % 7 + 1) / 10, "No": 0.1}), latency=0.03)


def scored(files, out, model="lexical", metric="sentences", **options):
    params = options.pop("params", Path("params.yaml"))
    score_folder([Path(one) for one in (files if isinstance(files, list) else [files])], metric, model, out, params,
                 part_tokens=options.pop("part_tokens", TINY), **options)  # fmt: skip
    return merged(out)


def merged(folder):
    out = folder.with_suffix(".merged.parquet")
    merge(folder, out)
    return out.read_bytes()


def asking(server, **options):
    return {"options": {"base_url": server.url, "model": "m"}, "model": "openai"} | options


def prompts_of(server):
    return Counter(body["messages"][-1]["content"] for _, body, _ in server.requests)


# -- the same tables -------------------------------------------------------------------------------


def test_one_process_two_workers_and_five_shards_write_the_same(file, tmp_path):
    alone = scored(file, tmp_path / "alone")
    assert scored(file, tmp_path / "dask", engine=TWO) == alone
    for i in (4, 1, 5, 3):
        score_folder(
            [file], "sentences", "lexical", tmp_path / "shards", Path("params.yaml"), shard=(i, 5), part_tokens=TINY
        )
        with pytest.raises(ClaimwiseError, match="not finished"):
            merge(tmp_path / "shards", tmp_path / "x.parquet")
    assert scored(file, tmp_path / "shards", shard=(2, 5)) == alone


def test_a_folder_holds_what_a_file_of_scores_holds(file, tmp_path):
    scored(file, tmp_path / "folder")
    whole = CliRunner().invoke(
        app, ["score", str(file), "--metric", "sentences", "--model", "lexical", "--out", str(tmp_path / "one.jsonl")]
    )
    assert whole.exit_code == 0, whole.output
    expected = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text().splitlines()]
    found = pd.read_parquet(tmp_path / "folder").sort_values("row")
    assert found["id"].tolist() == [row["id"] for row in expected]
    assert found["score"].tolist() == [row["score"] for row in expected]
    for claims, row in zip(found["claims"], expected, strict=True):
        assert [
            {**claim, "evidence": list(claim["evidence"])} | {"reason": None, "sentences": None} for claim in claims
        ] == [claim | {"reason": None, "sentences": None} for claim in row["claims"]]


def test_a_part_whose_rows_have_no_claims_is_scored_too(tmp_path):
    rows = [
        {"document": "It rained in Rome.", "claims": ["It rained."]},
        {"document": "Ann slept all day long.", "claims": []},
    ]
    own = write_jsonl(rows, tmp_path / "own.jsonl")
    scored(own, tmp_path / "s", metric="acueval", part_tokens=1)
    found = pd.read_parquet(tmp_path / "s").sort_values("row")
    assert found["score"].fillna(-1).tolist() == [1, -1]
    assert found["reason"].fillna("").tolist() == ["", "no claims"]


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("metric", ["given", "fenice-t5"])
def test_a_metric_that_looks_claims_up_is_refused_where_no_row_has_any(file, tmp_path, metric, dry_run):
    given = {"decompose": "recorded:given", "verify": "acueval-verify-zeroshot"}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({"metrics": {"given": given}}))
    with pytest.raises(ClaimwiseError, match=rf"^'{metric}' names claims that the examples have to bring"):
        scored(file, tmp_path / "s", metric=metric, params=tmp_path / "params.yaml", dry_run=dry_run)


def test_merged_rows_stand_as_in_the_files(file, tmp_path):
    scored(file, tmp_path / "s")
    assert merge(tmp_path / "s", tmp_path / "all.csv") == 24
    # a record says that it is a result, and of what
    assert expanded([tmp_path / "all.csv", file]) == ([file], [tmp_path / "all.csv"])
    assert json.loads((tmp_path / "all.csv.run.json").read_text())["metric"]["name"] == "sentences"
    assert pd.read_csv(tmp_path / "all.csv", dtype=str)["id"].tolist() == [str(i) for i in range(1, 25)]
    merge(tmp_path / "s", tmp_path / "all.jsonl")
    first = json.loads((tmp_path / "all.jsonl").read_text().splitlines()[0])
    assert (first["claims"][0]["text"], repr(first["n_unsupported"])) == ("Ann Lee planted 3 trees.", "0")
    merge(tmp_path / "s", tmp_path / "ALL.PARQUET")
    assert pd.read_parquet(tmp_path / "ALL.PARQUET")["claims"][0][0]["text"] == "Ann Lee planted 3 trees."
    with pytest.raises(ClaimwiseError, match=r"ends in \.csv or \.jsonl or \.parquet"):
        merge(tmp_path / "s", tmp_path / "all.xlsx")


@pytest.mark.parametrize(("good", "mean"), [(1, "mean 1.000, "), (0, "")])
def test_reasons_for_no_score_are_counted_over_all_parts(good, mean, tmp_path, capsys):
    rows = [{"document": f"It rained on day {i}.", "summary": " "} for i in range(3)]
    rows += [{"document": "", "summary": "It rained."}, *[{"document": "Ann slept.", "summary": "Ann slept."}] * good]
    own = write_jsonl(rows, tmp_path / "own.jsonl")
    if good:
        scored(own, tmp_path / "s", part_tokens=1)
    else:
        with pytest.raises(ClaimwiseError, match=r"/s: none of 4 summaries could be scored.*; correct .*own\.jsonl$"):
            scored(own, tmp_path / "s", part_tokens=1)
    told = capsys.readouterr().out
    assert f"parts, {mean}4 without a score" in told
    assert told.endswith("\n  3 x empty summary\n  1 x empty document\n")


def test_claims_of_ones_own_are_verified_as_they_stand(tmp_path):
    rows = examples(6).drop(columns="summary").assign(claims=[["Ann Lee planted 2 trees.", "It snowed."]] * 6)
    rows.to_parquet(tmp_path / "mine.parquet")
    scored(tmp_path / "mine.parquet", tmp_path / "s")
    found = pd.read_parquet(tmp_path / "s")
    assert [claim["text"] for claim in found["claims"].iloc[0]] == ["Ann Lee planted 2 trees.", "It snowed."]


def test_aligned_claims_keep_their_premise(file, tmp_path):
    scored(file, tmp_path / "s", metric="fenice", part_tokens=10_000)
    claim = pd.read_parquet(tmp_path / "s")["claims"].iloc[0][0]
    assert claim["premise"] in examples()["document"].iloc[0]
    assert claim["support"] == pytest.approx((claim["p_entail"] - claim["p_contradict"] + 1) / 2)


# -- split -----------------------------------------------------------------------------------------


def steps_of(table, size=50):
    return (table.iloc[at : at + size] for at in range(0, len(table), size))


def table_of(rows):
    names = {"id": [str(i) for i in range(len(rows))], "system": "s", "origin": "o", "split": "test", "label": 1.0}
    return pd.DataFrame({**rows, **names, "claims": None}).assign(document_id=rows["document"])


def test_a_document_stands_in_one_part_and_parts_cost_nearly_the_same(tmp_path):
    rng = random.Random(0)
    documents = ["x" * rng.randint(400, 4000) + str(i) for i in range(60)]
    rows = pd.DataFrame({"document": rng.choices(documents, k=400), "summary": ["y" * 40] * 400})
    parts = split(steps_of(table_of(rows)), "rows", tmp_path / "parts", tokens=4000)
    read_back = [read(tmp_path / "parts", part) for part in parts]
    where = pd.concat([table.assign(part=number) for number, table in enumerate(read_back)])
    assert sorted(where["row"]) == list(range(400))
    assert where.groupby("document")["part"].nunique().max() == 1
    assert all(table["row"].is_monotonic_increasing for table in read_back)
    largest = (rows.groupby("document").size() * 30 + rows.groupby("document")["document"].first().str.len() / 4).max()
    assert max(abs(part.tokens - 4000) for part in parts[:-1]) <= largest
    assert parts[-1].tokens <= 4000 + largest
    assert sum(part.rows for part in parts) == 400


def test_parts_do_not_depend_on_how_many_rows_are_read_at_once(tmp_path):
    table = table_of(examples(40)[["document", "summary"]])
    parts = [split(steps_of(table, size), "rows", tmp_path / str(size), tokens=TINY) for size in (1, 7, 40)]
    assert parts[0] == parts[1] == parts[2]


def test_a_document_longer_than_a_part_is_one(tmp_path):
    rows = pd.DataFrame({"document": ["x" * 9999, "y", "z"], "summary": ["a", "b", "c"]})
    parts = split(steps_of(table_of(rows)), "rows", tmp_path / "parts", tokens=100)
    assert parts[0].rows == 1
    assert sum(part.rows for part in parts) == 3


def test_an_id_that_stands_twice_far_apart_is_named(tmp_path):
    table = table_of(examples(20)[["document", "summary"]])
    table.loc[19, "id"] = "3"
    with pytest.raises(TableError, match="the id '3' appears twice"):
        split(steps_of(table), "rows", tmp_path / "parts")


def test_files_of_any_kind_are_read_in_steps_as_at_once(tmp_path):
    rows = examples(11)
    for write in (
        lambda path: rows.to_csv(path.with_suffix(".csv"), index=False),
        lambda path: rows.to_parquet(path.with_suffix(".parquet")),
        lambda path: rows.to_json(path.with_suffix(".jsonl.gz"), orient="records", lines=True),
    ):
        write(tmp_path / "mine")
    files = sorted(tmp_path.glob("mine.*"))
    found = [pd.concat([step.examples for step in read_in_steps(files, size=size)]) for size in (4, 100)]
    pd.testing.assert_frame_equal(*(table.reset_index(drop=True) for table in found))
    assert len(found[0]) == 33
    assert found[0]["id"].is_unique


def test_a_label_under_another_name_may_stand_in_a_few_rows(tmp_path):
    rows = [{"document": "D.", "summary": "S."} | ({"gold": 1} if number == 4 else {}) for number in range(8)]
    write_jsonl(rows, tmp_path / "mine.jsonl")
    steps = read_in_steps([tmp_path / "mine.jsonl"], {"label": "gold"}, size=3)
    assert [step.examples["label"].tolist().count(1) for step in steps] == [0, 1, 0]
    with pytest.raises(TableError, match="no column 'golt', which 'label' is said to be; did you mean 'gold'"):
        list(read_in_steps([tmp_path / "mine.jsonl"], {"label": "golt"}, size=3))


def test_a_parquet_file_is_never_held_whole(tmp_path):
    chance = random.Random(0)  # texts that do not compress to nothing
    rows = [{"document": f"{chance.getrandbits(20_000):x}", "summary": "S."} for _ in range(8000)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "mine.parquet", row_group_size=200)
    before, most = pa.total_allocated_bytes(), 0
    for _ in read_rows(tmp_path / "mine.parquet"):
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < (tmp_path / "mine.parquet").stat().st_size / 3


def test_rows_that_get_claims_later_are_refused(tmp_path):
    rows = [{"document": "D.", "summary": "S."}] * 3 + [{"document": "D.", "claims": ["C."]}]
    write_jsonl(rows, tmp_path / "mine.jsonl")
    with pytest.raises(TableError, match=r"mine.jsonl, line 4: .*claims"):
        list(read_in_steps([tmp_path / "mine.jsonl"], size=3))


# -- again -----------------------------------------------------------------------------------------


def times(folder):
    return {file.name: file.stat().st_mtime_ns for file in folder.glob("part-*")}


def test_what_is_finished_is_not_asked_again(file, tmp_path, served):
    before = scored(file, tmp_path / "s", **asking(served))
    asked, written = len(served.requests), times(tmp_path / "s")
    assert not (tmp_path / "s" / "_calls").exists()
    assert not (tmp_path / "s" / "_examples").exists()
    assert scored(file, tmp_path / "s", **asking(served)) == before
    assert len(served.requests) == asked
    assert times(tmp_path / "s") == written
    (tmp_path / "s" / "part-00001.parquet").write_bytes(b"PAR1 cut off")
    assert scored(file, tmp_path / "s", **asking(served)) == before
    assert asked < len(served.requests) < 2 * asked


def test_a_changed_prompt_is_asked_and_changed_rows_are(file, tmp_path, served):
    prompt = tmp_path / "mine.txt"
    text = "---\nsource: mine\nrole: verify\nreply: yes-no\nmax_tokens: 5\n---\n{{ Document }} Is it so: {{ ACU }}"
    prompt.write_text(text)
    scored(file, tmp_path / "s", **asking(served), prompt=[str(prompt)])
    asked = len(served.requests)
    prompt.write_text(text + "?")
    scored(file, tmp_path / "s", **asking(served), prompt=[str(prompt)])
    assert len(served.requests) == 2 * asked
    rows = examples()
    rows.loc[23, "summary"] = "Ann Lee slept."
    rows.to_json(file, orient="records", lines=True)
    scored(file, tmp_path / "s", **asking(served), prompt=[str(prompt)])
    assert 2 * asked < len(served.requests) < 3 * asked


def test_with_another_context_of_the_model_every_part_is_scored_anew(file, tmp_path, served):
    scored(file, tmp_path / "s", **asking(served))
    before = times(tmp_path / "s")
    scored(file, tmp_path / "s", **asking(served, options={"base_url": served.url, "model": "m", "context": 4000}))
    assert not set(times(tmp_path / "s").items()) & set(before.items())


def test_fewer_rows_leave_no_part_of_the_earlier_ones(file, tmp_path):
    scored(file, tmp_path / "s")
    before = len(times(tmp_path / "s"))
    examples(6, 2).to_json(file, orient="records", lines=True)
    score_folder([file], "sentences", "lexical", tmp_path / "s", Path("params.yaml"), shard=(2, 2), part_tokens=TINY)
    with pytest.raises(ClaimwiseError, match="not finished"):
        merge(tmp_path / "s", tmp_path / "x.parquet")
    assert scored(file, tmp_path / "s") == scored(file, tmp_path / "new")
    assert len(times(tmp_path / "s")) < before


def test_rows_added_at_the_end_leave_the_earlier_parts_alone(file, tmp_path, served):
    scored(file, tmp_path / "s", **asking(served))
    before, asked = times(tmp_path / "s"), len(served.requests)
    more = pd.DataFrame([{"document": "Dee swam. It was cold.", "summary": "Dee swam."}])
    pd.concat([examples(), more]).to_json(file, orient="records", lines=True)
    found = scored(file, tmp_path / "s", **asking(served))
    assert len(served.requests) <= asked + 4  # of the last part
    assert sum(before[name] == now for name, now in times(tmp_path / "s").items() if name in before) >= len(before) - 1
    assert found == scored(file, tmp_path / "new", **asking(served))


def test_a_row_put_before_the_others_moves_them_all(file, tmp_path):
    rows = examples().assign(id=[f"e{i}" for i in range(24)])
    rows.to_json(file, orient="records", lines=True)
    scored(file, tmp_path / "s")
    pd.concat([rows.tail(1).assign(id="first"), rows]).to_json(file, orient="records", lines=True)
    assert scored(file, tmp_path / "s") == scored(file, tmp_path / "new")
    merge(tmp_path / "s", tmp_path / "all.csv")
    assert pd.read_csv(tmp_path / "all.csv")["id"].tolist() == ["first", *rows["id"]]


def test_a_folder_with_hidden_files_is_empty(file, tmp_path):
    """The record of a shard that started a moment ago, half written; what a file manager leaves."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / ".partial-1.json").touch()
    assert scored(file, tmp_path / "s") == scored(file, tmp_path / "new")


@pytest.mark.parametrize("what", ["files", "metric", "model", "parts", "folder"])
def test_a_folder_of_something_else_is_left_as_it_is(file, tmp_path, what):
    if what == "folder":
        (tmp_path / "s").mkdir()
        (tmp_path / "s" / "thesis.txt").write_text("mine")
    else:
        scored(file, tmp_path / "s")
    before = times(tmp_path / "s")
    other = file.with_name("other.jsonl")
    other.write_text(file.read_text())
    options = {
        "files": {"files": other},
        "metric": {"metric": "acueval"},
        "model": {"model": "embedded"},
        "parts": {"part_tokens": 99},
    }.get(what, {})
    with pytest.raises(ClaimwiseError, match="holds other files" if what == "folder" else "scores of another run"):
        scored(**{"files": file, "out": tmp_path / "s", **options})
    assert times(tmp_path / "s") == before


def test_a_full_disk_is_said_and_finished_parts_are_kept(file, tmp_path, monkeypatch):
    calm, write = scored(file, tmp_path / "calm"), pq.write_table

    def full(table, place, **options):
        if json.loads(table.schema.metadata[b"claimwise"])["part"]["name"] == "00002":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(table, place, **options)

    with monkeypatch.context() as patched:
        patched.setattr(pq, "write_table", full)
        with pytest.raises(ClaimwiseError, match=r"part-00002.parquet: .*No space left"):
            scored(file, tmp_path / "s")
    assert len(times(tmp_path / "s")) == 2
    assert scored(file, tmp_path / "s") == calm


# -- killed ----------------------------------------------------------------------------------------


def test_killed_workers_lose_nothing_and_double_nothing(tmp_path, served):
    examples(60, 30).to_json(tmp_path / "mine.jsonl", orient="records", lines=True)
    one_at_a_time = asking(served)
    one_at_a_time["options"]["concurrency"] = 1
    calm = scored(tmp_path / "mine.jsonl", tmp_path / "calm", **one_at_a_time)
    needed = prompts_of(served)
    served.requests.clear()
    served.latency = 0.2
    rng, kills, done = random.Random(0), [], threading.Event()

    def kill():
        for calls in sorted(rng.sample(range(1, sum(needed.values())), 2)):  # at random moments of the work
            while len(served.requests) < calls and not done.wait(0.01):
                pass
            if workers := workers_here():
                kills.append(rng.choice(workers))
                os.kill(kills[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        found = scored(tmp_path / "mine.jsonl", tmp_path / "s", **one_at_a_time, engine=TWO, part_tokens=200)
    finally:
        done.set()
        thread.join()
    assert kills
    assert found == calm
    asked = prompts_of(served)
    assert asked.keys() == needed.keys()
    # only what was on its way when a worker died is asked anew
    assert sum(asked.values()) - sum(needed.values()) <= len(kills)


def workers_here():
    children = psutil.Process().children(recursive=True)
    return [child.pid for child in children if "spawn_main" in " ".join(child.cmdline())]


def test_a_killed_run_goes_on_where_it_was(tmp_path, served, serve):
    examples(40, 20).to_json(tmp_path / "mine.jsonl", orient="records", lines=True)
    served.latency = 0.4
    command = [sys.executable, "-m", "claimwise", "score", tmp_path / "mine.jsonl", "--metric", "sentences"]
    command += ["--model", "openai", "--name", "m", "--base-url", served.url]
    command += ["--part-tokens", str(TINY), "--out", f"{tmp_path / 's'}/"]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while len(times(tmp_path / "s")) < 3:
        assert first.poll() is None, first.stdout.read()
        time.sleep(0.05)
    first.send_signal(signal.SIGTERM)  # as Ctrl-C, which a job in the background of a shell does not hear: a sentence
    assert b"run again to go on" in first.communicate(timeout=60)[0]
    there, before = times(tmp_path / "s"), prompts_of(served)
    served.latency = 0
    with pytest.raises(ClaimwiseError, match="not finished"):
        merge(tmp_path / "s", tmp_path / "x.parquet")
    found = scored(tmp_path / "mine.jsonl", tmp_path / "s", **asking(served))
    assert there.items() <= times(tmp_path / "s").items()
    assert found == scored(tmp_path / "mine.jsonl", tmp_path / "calm", **asking(serve(served.answer)))
    twice = [prompt for prompt, count in prompts_of(served).items() if count > 1]
    assert len(twice) <= 16  # those that were on their way
    assert before.keys() < prompts_of(served).keys()


# -- a scheduler -----------------------------------------------------------------------------------


@pytest.fixture
def scheduler():
    """A Dask scheduler in a process of its own, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = dask_command("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    yield f"tcp://127.0.0.1:{port}", process
    process.kill()


@contextmanager
def worker(address, **environment):
    process = dask_command("worker", address, "--nthreads", "1", "--memory-limit", "0", "--no-dashboard", **environment)
    try:
        yield process
    finally:
        process.terminate()


def dask_command(*arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments], stderr=subprocess.DEVNULL, env={**os.environ, **environment}
    )


def test_a_scheduler_that_dies_is_said_and_nothing_is_lost(file, tmp_path, served, scheduler):
    address, process = scheduler
    served.latency = 0.3
    threading.Thread(target=lambda: _after(lambda: len(times(tmp_path / "s")) > 1, process.kill)).start()
    with worker(address), pytest.raises(ClaimwiseError, match="the connection to the Dask scheduler is lost"):
        scored(file, tmp_path / "s", **asking(served), engine=Engine(kind="dask", scheduler=address))
    there = times(tmp_path / "s")
    assert scored(file, tmp_path / "s", **asking(served)) == scored(file, tmp_path / "calm", **asking(served))
    assert there.items() <= times(tmp_path / "s").items()


def _after(happened, act):
    while not happened():
        time.sleep(0.02)
    act()


def test_workers_in_another_folder_find_the_scores(file, tmp_path, scheduler, monkeypatch):
    with worker(scheduler[0]):
        monkeypatch.chdir(tmp_path)
        found = scored(file, Path("s"), engine=Engine(kind="dask", scheduler=scheduler[0]))
    assert found == scored(file, tmp_path / "here")


def test_a_scheduler_that_is_not_there_or_has_no_workers(file, tmp_path, scheduler, monkeypatch):
    monkeypatch.setattr(dask_engine, "_CONNECT_SECONDS", 1)
    with pytest.raises(ClaimwiseError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9 \(.* after 1 s\)"):
        scored(file, tmp_path / "s", engine=Engine(kind="dask", scheduler="tcp://127.0.0.1:9"))
    monkeypatch.setattr(dask_engine, "_WORKERS_SECONDS", 2)
    with pytest.raises(ClaimwiseError, match="has no workers; start some"):
        scored(file, tmp_path / "s", engine=Engine(kind="dask", scheduler=scheduler[0]))
    assert not times(tmp_path / "s")


def test_a_web_server_in_the_place_of_a_scheduler_is_said(file, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as dashboard:
        address = f"tcp://127.0.0.1:{dashboard.getsockname()[1]}"
        threading.Thread(target=lambda: dashboard.accept()[0].sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")).start()
        with pytest.raises(ClaimwiseError, match=f"what answers at {address} is no Dask scheduler"):
            scored(file, tmp_path / "s", engine=Engine(kind="dask", scheduler=address))


def test_workers_that_cannot_do_the_work_say_so_before_any_is_done(file, tmp_path, scheduler, monkeypatch):
    address, _ = scheduler
    with worker(address, OPENAI_API_KEY="not ascii: é"):
        asked = {"options": {"base_url": "http://127.0.0.1:9/v1", "model": "m"}, "model": "openai"}
        with pytest.raises(ClaimwiseError, match=r"the Dask worker tcp://\S+ cannot do this: .*OPENAI_API_KEY"):
            scored(file, tmp_path / "s", **asked, engine=Engine(kind="dask", scheduler=address))
        monkeypatch.setattr(dask_engine, "__version__", "9.9")
        with pytest.raises(ClaimwiseError, match=r"it has claimwise \S+, and the one who asks 9.9"):
            scored(file, tmp_path / "t", engine=Engine(kind="dask", scheduler=address))
    assert not times(tmp_path / "s")
    assert not times(tmp_path / "t")


# -- the command line ------------------------------------------------------------------------------


def test_a_folder_is_free_again_where_the_examples_could_not_be_read(folder):
    Path("mine.csv").write_text("article,summary\nIt rained.,It rained.\n")
    asked = ["score", "mine.csv", "--model", "lexical", "--out", "s/"]
    assert "column 'document' is missing" in str(CliRunner().invoke(app, asked).exception)
    corrected = CliRunner().invoke(app, [*asked, "--column", "document=article"])
    assert corrected.exit_code == 0, corrected.exception
    a_file = CliRunner().invoke(app, [*asked[:-1], "mine.csv/", "--column", "document=article"])
    assert "mine.csv is a file; name a folder" in str(a_file.exception)
    other = CliRunner().invoke(app, [*asked, "--column", "document=summary"])
    assert "s holds scores of another run: its columns" in str(other.exception)


def test_a_dry_run_of_a_folder_asks_nothing_and_splits(file, tmp_path, served):
    asked = ["score", str(file), "--metric", "sentences", "--model", "openai", "--name", "m", "--base-url", served.url]
    result = CliRunner().invoke(app, [*asked, "--out", f"{tmp_path / 's'}/", "--dry-run"])
    assert "1 part of 24 summaries: 20 calls" in result.output  # equal claims of a document are asked once
    assert not served.requests
    assert list((tmp_path / "s" / "_examples").glob("*.arrows"))


# -- from Python -----------------------------------------------------------------------------------


def test_a_frame_of_dask_is_scored_lazily_as_one_of_pandas():
    dd = pytest.importorskip("dask.dataframe")
    rows = examples()[["document", "summary", "note"]]
    whole = claimwise.score(rows, metric="sentences", model="lexical")
    assert whole["score"].tolist() == claimwise.score(rows["document"], rows["summary"], "sentences", "lexical")
    lazy = claimwise.score(dd.from_pandas(rows, npartitions=4), metric="sentences", model="lexical")
    assert list(lazy.columns) == list(whole.columns)
    pd.testing.assert_frame_equal(lazy[lazy["score"] < 1].compute(), whole[whole["score"] < 1], check_dtype=False)
    assert (lazy.dtypes == lazy.compute().dtypes).all()


@pytest.mark.parametrize(("scheduler", "place"), [("synchronous", __file__), ("threads", "sys")])
def test_a_warning_of_a_frame_of_dask_does_not_point_into_dask(scheduler, place):
    dd = pytest.importorskip("dask.dataframe")
    rows = pd.DataFrame({"document": ["It rained."], "summary": [""]})
    lazy = claimwise.score(dd.from_pandas(rows, npartitions=1), metric="word-overlap")
    with pytest.warns(UserWarning, match="1 of 1 without a score: 1 x empty summary") as caught:
        lazy.compute(scheduler=scheduler)
    assert {one.filename for one in caught} == {place}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda rows: rows.drop(columns="summary"),
            "lacks the column 'summary'; expected document and summary, got document",
        ),
        (
            lambda rows: rows.assign(score=1),
            "column 'score' would appear twice; rename it in the data frame, or give only the columns document and summary",
        ),
        (pa.Table.from_pandas, r"expected a data frame of pandas or Dask, got one of pyarrow; give its to_pandas\(\)"),
    ],
)
def test_a_frame_that_cannot_be_scored_is_said(change, said):
    with pytest.raises(ClaimwiseError, match=said):
        claimwise.score(change(examples()[["document", "summary"]]))


# -- the pipeline ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("metric", "engine"), [("sentences", TWO), ("fenice-t5", Engine()), ("holistic", Engine())])
def test_the_pipelines_tables_are_those_of_one_process(tmp_path, examples_table, metric, engine):
    rows = examples().drop(columns="note").head(9).to_dict("records")
    table = examples_table(*rows)
    recorded = [(key, "fenice-t5", 0, "Ann Lee planted trees.") for key in table["id"][:5]]
    recorded = pd.DataFrame(recorded, columns=["example_id", "decomposer", "claim_index", "claim"])
    spec, entry = specification(metric, DEFAULT_METRICS), {"kind": "embedded"}
    expected = evaluate(metric, spec, models.load(entry), table, recorded=recorded, progress=False)
    found = evaluate_in_parts(metric, spec, entry, table, recorded, tmp_path / "c.sqlite", tmp_path / "parts", engine)
    for name in ("claims", "verdicts", "scores"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(expected, name))
    assert not (tmp_path / "parts").exists()
    assert ResponseCache(tmp_path / "c.sqlite").stats()  # the next run asks nothing


def test_what_a_schedulers_workers_asked_is_kept_in_the_pipelines_file(tmp_path, examples_table, scheduler):
    table = examples_table(*examples().drop(columns="note").head(6).to_dict("records"))
    spec, entry = specification("holistic", DEFAULT_METRICS), {"kind": "embedded"}
    none = pd.DataFrame(columns=["example_id", "decomposer", "claim_index", "claim"])
    with worker(scheduler[0]):
        places = tmp_path / "calls.sqlite", tmp_path / "parts", Engine(kind="dask", scheduler=scheduler[0])
        evaluate_in_parts("holistic", spec, entry, table, none, *places)
    model = models.load(entry, tmp_path / "calls.sqlite")
    model.model.judge = lambda *_: pytest.fail("asked")
    assert evaluate("holistic", spec, model, table, progress=False).scores["score"].notna().all()
    assert not (tmp_path / "parts").exists()


def test_a_stage_in_parts_that_was_killed_asks_nothing_twice(tmp_path, examples_table, monkeypatch):
    monkeypatch.setattr(run, "_DOCUMENTS", 2)
    table = examples_table(*examples().drop(columns="note").to_dict("records"))
    asked, judge, kills = [], EmbeddedModel.judge, [KeyboardInterrupt]

    def judged(model, documents, *given):
        if asked and kills:
            raise kills.pop()
        asked.extend(zip(documents, given[0], strict=True))
        return judge(model, documents, *given)

    def score():
        spec, entry = specification("holistic", DEFAULT_METRICS), {"kind": "embedded"}
        none = pd.DataFrame(columns=["example_id", "decomposer", "claim_index", "claim"])
        places = tmp_path / "calls.sqlite", tmp_path / "parts"
        return evaluate_in_parts("holistic", spec, entry, table, none, *places, Engine())

    monkeypatch.setattr(EmbeddedModel, "judge", judged)
    with pytest.raises(KeyboardInterrupt):
        score()
    assert asked  # a part was finished
    found = score()
    assert sorted(asked) == sorted(set(zip(table["document"], table["summary"], strict=True)))
    assert found.scores["score"].notna().all()


def test_merged_rows_are_written_before_the_next_ones_are_read(file, tmp_path, monkeypatch):
    scored(file, tmp_path / "s")
    done, in_order = [], run._in_order

    def read_in_order(*given):
        for table in in_order(*given):
            done.append("read")
            yield table

    class Writer(run.pq.ParquetWriter):
        def write_table(self, table, *given):
            done.append("written")
            super().write_table(table, *given)

    monkeypatch.setattr(run, "_WINDOW", 7)
    monkeypatch.setattr(run, "_in_order", read_in_order)
    monkeypatch.setattr(run.pq, "ParquetWriter", Writer)
    merge(tmp_path / "s", tmp_path / "all.parquet")
    assert done == ["read", "written"] * 4
    assert pd.read_parquet(tmp_path / "all.parquet")["row"].tolist() == list(range(24))


def test_a_merge_writes_all_rows_or_says_what_is_missing(file, tmp_path):
    folder = tmp_path / "s"
    scored(file, folder)
    parts = sorted(folder.glob("part-*.parquet"))
    for place in (parts[0], folder / "_run.json", file):
        before = place.read_bytes()
        with pytest.raises(ClaimwiseError, match=r"would be written over|cannot be written in this form"):
            merge(folder, place)
        assert place.read_bytes() == before
    parts[1].unlink()
    with pytest.raises(ClaimwiseError, match=rf"is not finished \({len(parts) - 1} parts are there\)"):
        merge(folder, tmp_path / "all.parquet")
    (folder / "_run.json").unlink()
    with pytest.raises(ClaimwiseError, match="holds no scores"):
        merge(folder, tmp_path / "all.parquet")
