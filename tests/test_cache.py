"""The file of finished calls: several processes, kill -9 during a run, and what a restart finds."""

import json
import math
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.models.cache import CacheError, ResponseCache, cached, call_key
from claimwise.models.cost import unread_name

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)

#: A process that opens the file at the same moment as its siblings and writes batches of ten.
WRITER = """
import sys
from claimwise.models.cache import ResponseCache
path, name, batches = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
cache = ResponseCache(path)
for batch in range(batches):
    cache.put({f"{name}-{batch}-{i}": [name, batch, i, "x" * 200] for i in range(10)}, model=name, role="verify")
    print(batch, flush=True)
"""


def start(code, *arguments):
    """A process that waits for ``go``."""
    started = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert started.stdout.readline() == "ready\n"
    return started


def go(*started):
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()


def integrity(path):
    with sqlite3.connect(path) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone()[0]


@pytest.fixture
def cache():
    return ResponseCache(":memory:")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "calls.sqlite"


# ---------------------------------------------------------------- keys


@given(st.lists(JSON, min_size=2, max_size=2, unique_by=lambda value: json.dumps(value, sort_keys=True)))
def test_other_parts_another_key(values):
    assert call_key(input=values[0]) != call_key(input=values[1])


def test_the_border_between_parts_counts():
    assert call_key(a="x", b="yz") != call_key(a="xy", b="z")
    assert call_key(input=["a", "b"]) != call_key(input=["ab"]) != call_key(input="ab")


def test_text_that_is_no_unicode_has_a_key():
    assert call_key(text="\ud800") != call_key(text="\ud801")


# ---------------------------------------------------------------- one process


@given(st.dictionaries(st.text().map(lambda text: call_key(text=text)), JSON, max_size=5))
def test_what_was_put_is_got(values):
    cache = ResponseCache(":memory:")
    cache.put(values, model="m", role="r")
    assert cache.get([*values, "no such key\x01"]) == values


def test_nan_comes_back_as_nan(cache):
    cache.put({"k": {"support": math.nan}}, model="m", role="verify")
    assert math.isnan(cache.get(["k"])["k"]["support"])


def test_more_keys_than_a_statement_takes(cache):
    cache.put({str(i): i for i in range(3000)}, model="m", role="r")
    assert len(cache.get([str(i) for i in range(3000)])) == 3000


def test_threads_share_a_cache(cache):
    def store(n):
        cache.put({f"{n}-{i}": [n, i] for i in range(5)}, model="m", role="verify")
        return cache.get([f"{n}-{i}" for i in range(5)])

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(store, range(200)))
    assert found == [{f"{n}-{i}": [n, i] for i in range(5)} for n in range(200)]


def test_the_calls_of_another_file_are_added_and_those_here_stay(cache, file):
    ResponseCache(file).put({"a": 1, "b": 2}, model="m", role="verify")
    cache.put({"a": 0}, model="m", role="judge")
    cache.add(file)
    assert cache.get(["a", "b"]) == {"a": 0, "b": 2}
    with pytest.raises(CacheError, match=r"other\.sqlite: finished calls are not there; workers need the same folder"):
        cache.add(file.with_name("other.sqlite"))
    assert not file.with_name("other.sqlite").exists()


def test_a_put_is_all_or_nothing(cache):
    with pytest.raises(TypeError):
        cache.put({"a": 1, "b": object()}, model="m", role="r")
    with pytest.raises(sqlite3.IntegrityError):
        cache.put({"a": 1, "b": 2}, model=None, role="r")
    assert cache.get(["a", "b"]) == {}
    cache.put({"a": 1}, model="m", role="r")  # and the file is not left in a transaction
    assert cache.get(["a"]) == {"a": 1}


def test_a_file_and_its_folder_are_made_and_outlive_the_process(tmp_path):
    path = tmp_path / "deep" / "down" / "calls.sqlite"
    first = ResponseCache(path)
    first.put({"k": "v"}, model="m", role="r")
    first.close()
    first.close()
    assert ResponseCache(path).get(["k"]) == {"k": "v"}


def test_stats_and_prune(file):
    cache = ResponseCache(file)
    cache.put({"a": "x" * 100, "b": "x" * 100}, model="one", role="verify")
    cache.put({"c": "x"}, model="two", role="judge")
    assert cache.stats() == [("one", "verify", 2, 204), ("two", "judge", 1, 3)]
    assert cache.prune("one") == 2
    assert cache.get(["a", "c"]) == {"c": "x"}
    assert cache.prune() == 1
    assert cache.stats() == []


def test_unread_replies_go_alone_or_with_all_of_their_model(cache):
    for _ in range(2):
        cache.put({"a": "Yes", "b": "Hm."}, model="one", role="verify")
        cache.put({"b": "Hm."}, model=unread_name("one"), role="verify")
        cache.put({"c": "No"}, model="two", role="verify")
        assert cache.prune(unread_name("one")) == 1
        assert cache.get(["a", "b"]) == {"a": "Yes"}
        cache.put({"b": "Hm."}, model=unread_name("one"), role="verify")
        assert cache.prune("one") == 2
        assert cache.get(["a", "b", "c"]) == {"c": "No"}


# ---------------------------------------------------------------- looking up before computing


def test_only_what_is_missing_is_computed_and_equal_calls_once(cache):
    cache.put({"b": "stored"}, model="m", role="r")
    asked = []

    def compute(positions):
        asked.append(positions)
        return enumerate(f"fresh {position}" for position in positions)

    keys = ["a", "b", "a", "c", "b", "c"]
    expected = ["fresh 0", "stored", "fresh 0", "fresh 3", "stored", "fresh 3"]
    assert cached(cache, keys, compute, model="m", role="r") == expected
    assert cached(cache, keys, compute, model="m", role="r") == expected
    assert asked == [[0, 3]]


def test_the_value_that_was_stored_first_stays_under_the_last_name(cache):
    cache.put({"k": "first"}, model="one", role="verify")
    cache.put({"k": "second", "l": "new"}, model="two", role="judge")
    assert cache.get(["k", "l"]) == {"k": "first", "l": "new"}
    assert [row[:3] for row in cache.stats()] == [("two", "judge", 2)]


def test_what_another_process_stored_while_this_one_computed_is_the_value(file):
    mine, other = ResponseCache(file), ResponseCache(file)

    def compute(positions):
        other.put({"a": "theirs"}, model="m", role="r")
        return enumerate(["mine"] * len(positions))

    assert cached(mine, ["a", "b"], compute, model="m", role="r") == ["theirs", "mine"]
    assert other.get(["a", "b"]) == {"a": "theirs", "b": "mine"}


def test_nothing_to_compute_asks_nothing(cache):
    assert cached(cache, [], lambda at: pytest.fail("asked"), model="m", role="r") == []


def test_a_backend_that_returns_too_few_is_an_error(cache):
    with pytest.raises(KeyError):
        cached(cache, ["a", "b"], lambda at: [(0, "one")], model="m", role="r")


def test_what_is_not_to_be_kept_is_computed_again_and_what_was_finished_before_a_failure_is_kept(cache):
    cache.put({"b": "bad"}, model="m", role="r")

    def compute(positions):
        yield 1, "bad"
        yield 0, "good"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        cached(cache, ["a", "b"], compute, model="m", role="r", keep=lambda value: value != "bad")
    asked = []
    found = cached(
        cache,
        ["a", "b"],
        lambda at: asked.append(at) or [(0, "better")],
        model="m",
        role="r",
        keep=lambda value: value != "bad",
    )
    assert (found, asked) == (["good", "better"], [[1]])


# ---------------------------------------------------------------- several processes


def test_opening_waits_while_another_process_sets_the_file_up(file):
    # What happens when parallel stages open a new file: one is writing the first page as the others arrive.
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    other.execute("CREATE TABLE first (page)")
    release = threading.Timer(0.3, other.execute, ["COMMIT"])
    release.start()
    cache = ResponseCache(file)
    release.join()
    cache.put({"k": 1}, model="m", role="r")
    assert cache.get(["k"]) == {"k": 1}


#: A process that looks up the same ten calls as its siblings, and takes a while for each that it has to make.
ASKER = """
import sys, time
from claimwise.models.cache import ResponseCache, cached
def compute(at):
    for place in range(len(at)):
        print("asked", at[place], flush=True)
        time.sleep(float(sys.argv[2]))
        yield place, sys.argv[3]
cache = ResponseCache(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
print(*cached(cache, [f"key {k}" for k in range(10)], compute, model="m", role="r"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of this kind")
def test_processes_that_want_the_same_at_once_ask_it_once_and_read_the_same(file):
    askers = [start(ASKER, file, 0.05, name) for name in ("one", "two", "three")]
    go(*askers)
    told = [asker.communicate(timeout=60)[0].splitlines() for asker in askers]
    assert sorted(line for lines in told for line in lines[:-1]) == sorted(f"asked {k}" for k in range(10))
    assert len({lines[-1] for lines in told}) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of this kind")
def test_what_a_killed_process_was_asking_for_is_asked_by_the_one_that_waits(file):
    doomed, other = start(ASKER, file, 0.5, "doomed"), start(ASKER, file, 0, "other")
    go(doomed)
    assert [doomed.stdout.readline() for _ in range(3)] == [f"asked {k}\n" for k in range(3)]
    go(other)
    with pytest.raises(subprocess.TimeoutExpired):
        other.wait(0.7)
    doomed.send_signal(signal.SIGKILL)
    lines = other.communicate(timeout=60)[0].splitlines()
    values = lines[-1].split()
    assert values == sorted(values)
    assert 2 <= values.count("doomed") <= 6
    assert lines[:-1] == [f"asked {k}" for k in range(10) if values[k] == "other"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_of_two_writers_a_killed_one_loses_at_most_the_batch_in_flight_and_the_other_nothing(file):
    doomed, other = start(WRITER, file, "doomed", 1_000_000), start(WRITER, file, "other", 40)
    go(doomed, other)
    for _ in range(25):
        doomed.stdout.readline()
    doomed.send_signal(signal.SIGKILL)
    told = 25 + len(doomed.stdout.read().split())
    assert doomed.wait(timeout=60) == -signal.SIGKILL
    other.communicate(timeout=60)
    assert other.returncode == 0

    cache = ResponseCache(file)
    counts = {model: calls for model, _, calls, _ in cache.stats()}
    assert counts["other"] == 400
    assert counts["doomed"] in (10 * told, 10 * (told + 1))  # whole batches: all that were told, and perhaps one more
    last = [f"doomed-{told - 1}-{i}" for i in range(10)]
    assert [cache.get(last)[key][:3] for key in last] == [["doomed", told - 1, i] for i in range(10)]
    cache.put({"after": 1}, model="m", role="r")
    assert integrity(file) == "ok"


def test_a_file_that_is_no_database_is_not_overwritten(file):
    file.write_text("my notes, not a database: " * 50)
    with pytest.raises(CacheError, match=r"calls\.sqlite: expected the file of finished calls .* not a database"):
        ResponseCache(file)
    assert file.read_text().startswith("my notes")


def test_a_database_of_another_program_is_not_written_to(file):
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE calls (caller TEXT, minutes REAL)")
    before = file.read_bytes()
    with pytest.raises(CacheError, match="found: a table of calls with the columns caller, minutes"):
        ResponseCache(file)
    assert file.read_bytes() == before


def test_a_folder_is_no_file_of_calls(tmp_path):
    with pytest.raises(CacheError, match=r"found: a folder\. Name another file under `cache` in params\.yaml"):
        ResponseCache(tmp_path)


def test_a_full_disk_is_no_reason_to_move_the_file_away(file):
    cache = ResponseCache(file)
    cache.put({"k": 1}, model="m", role="r")
    cache._connection.execute("PRAGMA max_page_count = 4")
    with pytest.raises(CacheError, match=r"disk is full\. Finished calls are kept: make room"):
        cache.put({"l": "x" * 100_000}, model="m", role="r")
    assert cache.get(["k", "l"]) == {"k": 1}


@pytest.mark.parametrize("name", ["home", "home" * 100])  # a file, and a name so long that no file can have it
def test_a_folder_that_cannot_be_made_is_told_as_a_file_of_calls(tmp_path, name):
    (tmp_path / "home").touch()
    with pytest.raises(CacheError, match=r"home.claimwise.calls\.sqlite: .* Name another file under `cache`"):
        ResponseCache(tmp_path / name / "claimwise" / "calls.sqlite")


def test_a_file_damaged_in_the_middle_is_a_message_when_that_is_read(file):
    cache = ResponseCache(file)
    cache.put({str(i): "x" * 1000 for i in range(100)}, model="m", role="r")
    cache.close()
    damaged = ResponseCache(file)
    content = file.read_bytes()
    file.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    for read in (lambda: damaged.get(["1"]), damaged.stats, damaged.prune, lambda: ResponseCache(file)):
        with pytest.raises(CacheError, match="malformed"):
            read()


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ("CREATE TABLE calls (key TEXT, model TEXT, role TEXT, value TEXT)", "ON CONFLICT"),
        ("CREATE VIEW calls AS SELECT 1 AS key, 2 AS model, 3 AS role, 4 AS value", "cannot"),
    ],
)
def test_a_file_that_could_not_take_an_answer_is_refused_before_anything_is_asked(file, schema, found):
    with sqlite3.connect(file) as other:
        other.execute(schema)
    with pytest.raises(CacheError, match=found):
        ResponseCache(file)


def test_opening_leaves_nothing_in_the_file(file):
    assert ResponseCache(file).stats() == []


@pytest.mark.parametrize("stored", ["?", "CAST(? AS TEXT)"])
@pytest.mark.parametrize("value", ["{", b"\xff\x00", "[" * 100_000])
def test_a_value_that_cannot_be_read_is_set_aside_and_computed_again(file, caplog, value, stored):
    cache = ResponseCache(file)
    cache.put({"a": 1, "b": 2}, model="m", role="r")
    with sqlite3.connect(file) as other:
        other.execute(f"UPDATE calls SET value = {stored} WHERE key = 'a'", [value])
    for _ in range(2):
        assert cached(cache, ["a", "b"], lambda at: [(0, 3)], model="m", role="r") == [3, 2]
    [line] = caplog.messages
    assert "calls.sqlite: 1 finished calls cannot be read: they are set aside" in line
    assert sorted(row[:3] for row in cache.stats()) == [("m", "r", 2), (unread_name("m"), "r", 1)]


def test_a_damaged_name_of_a_model_hides_no_other_calls(tmp_path, file):
    cache = ResponseCache(file)
    cache.put({"a": 1}, model="damaged", role="r")
    cache.put({"b": 2}, model="m", role="r")
    with sqlite3.connect(file) as other:
        other.execute("UPDATE calls SET model = CAST(? AS TEXT) WHERE key = 'a'", [b"\xff"])
    assert sorted(row[0] for row in cache.stats()) == ["m", "\ufffd"]
    assert cache.export("m", tmp_path / "calls.jsonl") == 1


def test_a_value_of_another_shape_is_set_aside_too(cache):
    cache.put({"a": [1], "b": {"n": 2}}, model="m", role="r")

    def read(value):
        return value["n"]

    assert cached(cache, ["a", "b"], lambda at: [(0, {"n": 3})], model="m", role="r", read=read) == [3, 2]
    assert cache.get(["a"]) == {"a": {"n": 3}}


def test_an_export_takes_the_place_of_an_export_only(tmp_path, file):
    cache = ResponseCache(file)
    cache.put({"a": "one\u2028two"}, model="m", role="r")
    (tmp_path / "mine.jsonl").write_text('{"document": "It rained."}\n')
    for name in ("calls.sqlite", "mine.jsonl"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(CacheError, match="holds something else than finished calls"):
            cache.export("m", tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    for _ in range(2):
        assert cache.export("m", tmp_path / "m.jsonl") == 1
    other = ResponseCache(":memory:")
    other.read(tmp_path / "m.jsonl")
    assert other.get(["a"]) == {"a": "one\u2028two"}


def test_an_export_leaves_out_what_cannot_be_read_and_holds_replies_that_said_nothing(tmp_path, file):
    cache = ResponseCache(file)
    cache.put({"a": 1, "b": 2}, model="m", role="r")
    cache.put({"c": "Hm."}, model=unread_name("m"), role="r")
    with sqlite3.connect(file) as other:
        other.execute("UPDATE calls SET value = '{' WHERE key = 'a'")
    for _ in range(2):  # found to be unreadable, then set aside
        assert cache.export("m", tmp_path / "m.jsonl") == 2
    other = ResponseCache(":memory:")
    other.read(tmp_path / "m.jsonl")
    assert other.get(["a", "b", "c"]) == {"b": 2, "c": "Hm."}
    assert [row[0] for row in other.stats()] == [unread_name("m"), "m"]


@pytest.mark.parametrize(
    "content", [b"\xff\n", b"[]\n", b'{"key": "\\ud83d", "model": "m", "role": "r", "value": 1}\n']
)
def test_a_file_of_recorded_calls_that_is_none_is_told_of_by_its_line(tmp_path, content):
    (tmp_path / "m.jsonl").write_bytes(b'{"key": "a", "model": "m", "role": "r", "value": 1}\n' + content)
    with pytest.raises(CacheError, match=r"m\.jsonl, line 2: found"):
        ResponseCache(":memory:").read(tmp_path / "m.jsonl")
