"""Files are found, verified, downloaded and resumed; the server is a real one on the loopback interface."""

import hashlib
import http.server
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest

from claimwise.corpora.registry import (
    AlteredFileError,
    MissingFileError,
    Registry,
    RemoteFile,
    published_files,
)

CONTENT = bytes(range(256)) * 2000  # 512,000 bytes
CHUNK = 1 << 16  # what the downloader writes at once
KEY = "owner/repo/c0ffee/data/retrieval=oracle,a b.jsonl"


def described(**known):
    return RemoteFile("toy", "owner/repo", "c0ffee", "data/retrieval=oracle,a b.jsonl", **known)


SHA = described(bytes=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())
BLOB = described(git_blob=hashlib.sha1(b"blob 512000\0" + CONTENT).hexdigest())


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves one file; may ignore ranges, break off, lie about the content, or refuse."""

    def do_GET(self):
        plan = self.server.plan
        plan.requests.append((self.path, self.headers.get("Range")))
        if plan.status != 200:
            self.send_error(plan.status)
            return
        asked = self.headers.get("Range") if plan.ranges else None
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        if start >= len(plan.content):
            self.send_error(416)
            return
        body = plan.content[start:]
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(body)))
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{len(plan.content) - 1}/{len(plan.content)}")
        self.end_headers()
        self.wfile.write(body[: plan.break_after.pop(0)] if plan.break_after else body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)  # no pause between attempts
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.plan = SimpleNamespace(content=CONTENT, ranges=True, status=200, break_after=[], requests=[])
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        running.plan.base = f"http://127.0.0.1:{running.server_port}"
        yield running.plan
        running.shutdown()
        thread.join()


def registry(folder, plan, file=SHA, mirror=None):
    return Registry([file], raw=folder / "raw", mirror=mirror, base=plan.base, progress=False)


def leftovers(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.name != ".lock")


@pytest.mark.parametrize("file", [SHA, BLOB], ids=["sha256", "git blob"])
def test_a_file_is_downloaded_once_into_the_mirrors_layout(tmp_path, server, file):
    files = registry(tmp_path, server, file)
    local = files.fetch("toy", file.path)
    assert local == tmp_path / "raw" / KEY
    assert local.read_bytes() == CONTENT
    assert files.fetch("toy", file.path) == local
    assert server.requests == [("/owner/repo/c0ffee/data/retrieval%3Doracle%2Ca%20b.jsonl", None)]
    assert leftovers(tmp_path) == [local.name]


def test_processes_that_need_the_same_file_download_it_once(tmp_path, server):
    with ThreadPoolExecutor() as pool:
        fetched = [pool.submit(registry(tmp_path, server).fetch, "toy", SHA.path) for _ in range(4)]
    assert {job.result().read_bytes() for job in fetched} == {CONTENT}
    assert len(server.requests) == 1


def test_a_broken_transfer_goes_on_where_it_stopped(tmp_path, server):
    server.break_after = [3 * CHUNK, CHUNK]
    assert registry(tmp_path, server).fetch("toy", SHA.path).read_bytes() == CONTENT
    [first, second, third] = [asked for _, asked in server.requests]
    assert first is None
    assert [second, third] == [f"bytes={3 * CHUNK}-", f"bytes={4 * CHUNK}-"]


def test_a_part_of_an_earlier_run_is_used(tmp_path, server):
    part = tmp_path / "raw" / (KEY + ".part")
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT[:1000])
    assert registry(tmp_path, server).fetch("toy", SHA.path).read_bytes() == CONTENT
    assert [asked for _, asked in server.requests] == ["bytes=1000-"]
    assert not part.exists()


def test_a_server_without_ranges_sends_all_again(tmp_path, server):
    server.ranges, server.break_after = False, [200_000]
    assert registry(tmp_path, server).fetch("toy", SHA.path).read_bytes() == CONTENT


@pytest.mark.parametrize("junk", [b"x" * 1000, b"x" * len(CONTENT), b"x" * (len(CONTENT) + 5)])
def test_a_part_that_is_junk_is_dropped_and_fetched_anew(tmp_path, server, junk):
    part = tmp_path / "raw" / (KEY + ".part")
    part.parent.mkdir(parents=True)
    part.write_bytes(junk)
    assert registry(tmp_path, server).fetch("toy", SHA.path).read_bytes() == CONTENT


def test_a_truncated_publication_is_refused_and_deleted(tmp_path, server):
    server.content = CONTENT[:-1]
    with pytest.raises(AlteredFileError, match="truncated: expected 512000 bytes, got 511999") as error:
        registry(tmp_path, server).fetch("toy", SHA.path)
    assert server.base in str(error.value)
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(("file", "kind"), [(SHA, "sha256"), (BLOB, "git blob id")])
def test_altered_content_is_refused_with_expected_and_got(tmp_path, server, file, kind):
    server.content = b"!" + CONTENT[1:]
    with pytest.raises(AlteredFileError, match=f"expected {kind} [0-9a-f]+, got [0-9a-f]+"):
        registry(tmp_path, server, file).fetch("toy", file.path)
    assert leftovers(tmp_path) == []


def test_a_missing_address_is_asked_once_and_the_error_says_both_ways_out(tmp_path, server):
    server.status = 404
    with pytest.raises(MissingFileError) as error:
        registry(tmp_path, server).fetch("toy", SHA.path)
    assert len(server.requests) == 1
    message = str(error.value)
    for part in (
        SHA.path,
        SHA.address(server.base),
        "512000 bytes",
        SHA.sha256,
        "404",
        "network access",
        "<folder>/" + KEY,
    ):
        assert part in message
    assert "CLAIMWISE_MIRROR is not set" in message


def test_a_failing_server_is_asked_three_times(tmp_path, server):
    server.status = 503
    with pytest.raises(MissingFileError, match="503"):
        registry(tmp_path, server).fetch("toy", SHA.path)
    assert len(server.requests) == 3


def test_no_server_at_all_is_a_missing_file(tmp_path, server):
    nowhere = SimpleNamespace(base="http://127.0.0.1:9")
    with pytest.raises(MissingFileError, match=r"could not be downloaded .*run again with network access"):
        registry(tmp_path, nowhere).fetch("toy", SHA.path)


def test_the_mirror_comes_first(tmp_path, server):
    copy = tmp_path / "mirror" / KEY
    copy.parent.mkdir(parents=True)
    copy.write_bytes(CONTENT)
    assert registry(tmp_path, server, mirror=tmp_path / "mirror").fetch("toy", SHA.path) == copy
    assert server.requests == []


def test_an_altered_copy_in_the_mirror_is_an_error_and_stays(tmp_path, server):
    copy = tmp_path / "mirror" / KEY
    copy.parent.mkdir(parents=True)
    copy.write_bytes(CONTENT[:-7])
    with pytest.raises(AlteredFileError, match=r"expected 512000 bytes, got 511993.*Nothing was removed") as error:
        registry(tmp_path, server, mirror=tmp_path / "mirror").fetch("toy", SHA.path)
    assert str(copy) in str(error.value)
    assert copy.read_bytes() == CONTENT[:-7]
    assert server.requests == []


def test_a_file_that_the_mirror_lacks_is_downloaded_beside_it(tmp_path, server):
    (tmp_path / "mirror").mkdir()
    local = registry(tmp_path, server, mirror=tmp_path / "mirror").fetch("toy", SHA.path)
    assert local == tmp_path / "raw" / KEY
    assert leftovers(tmp_path / "mirror") == []


def test_a_spoilt_download_of_an_earlier_run_is_replaced(tmp_path, server):
    kept = tmp_path / "raw" / KEY
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"half")
    assert registry(tmp_path, server).fetch("toy", SHA.path).read_bytes() == CONTENT


def test_a_path_that_the_registry_lacks_names_the_nearest(tmp_path, server):
    with pytest.raises(KeyError, match=r"nearest: \['data/retrieval=oracle,a b\.jsonl'\]"):
        registry(tmp_path, server).fetch("toy", "data/retrieval=oracle,ab.jsonl")


def test_the_environment_names_the_folders(tmp_path, monkeypatch):
    file = replace(published_files()[0], bytes=None)
    monkeypatch.setenv("CLAIMWISE_MIRROR", str(tmp_path))
    monkeypatch.setenv("CLAIMWISE_RAW", str(tmp_path / "raw"))
    copy = tmp_path / file.key
    copy.parent.mkdir(parents=True)
    copy.write_bytes(b"not it")
    with pytest.raises(AlteredFileError, match="got 6"):
        Registry.from_environment().fetch(file.dataset, file.path)


def test_every_registered_file_can_be_verified_and_is_pinned_to_a_commit():
    for file in published_files():
        assert file.sha256 or file.git_blob
        assert len(file.commit) == 40
    keys = [file.key for file in published_files()]
    assert len(set(keys)) == len(keys)
