"""Files are found, verified and downloaded; the server is a real one on this machine."""

import http.server
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from claimwise.corpora.registry import (
    AlteredFileError,
    MissingFileError,
    Registry,
    RemoteFile,
    published_files,
)

CONTENT = b"It rained in Ham.\n" * 30_000
#: Of these lines, as ``git hash-object`` says.
BLOB = "838c9680f4691986fb52a8beb5b0f4795a90e5ef"
FILE = RemoteFile("toy", "owner/repo", "c0ffee", "data/retrieval=oracle,a b.jsonl", BLOB)
KEY = FILE.key


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves one file; may break off, lie about the content, or refuse."""

    def do_GET(self):
        plan = self.server.plan
        plan.requests.append(self.path)
        if plan.status != 200:
            self.send_error(plan.status)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(plan.content)))
        self.end_headers()
        self.wfile.write(plan.content[: plan.break_after.pop(0)] if plan.break_after else plan.content)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)  # no pause between attempts
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.plan = SimpleNamespace(content=CONTENT, status=200, break_after=[], requests=[])
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        running.plan.base = f"http://127.0.0.1:{running.server_port}"
        yield running.plan
        running.shutdown()
        thread.join()


def registry(folder, plan, mirror=None):
    return Registry([FILE], raw=folder / "raw", mirror=mirror, base=plan.base)


def leftovers(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.name != ".lock")


def test_a_file_is_downloaded_once_into_the_mirrors_layout(tmp_path, server):
    files = registry(tmp_path, server)
    local = files.fetch("toy", FILE.path)
    assert local == tmp_path / "raw" / KEY
    assert local.read_bytes() == CONTENT
    assert files.fetch("toy", FILE.path) == local
    assert server.requests == ["/owner/repo/c0ffee/data/retrieval%3Doracle%2Ca%20b.jsonl"]
    assert leftovers(tmp_path) == [local.name]


def test_processes_that_need_the_same_file_download_it_once(tmp_path, server):
    with ThreadPoolExecutor() as pool:
        fetched = [pool.submit(registry(tmp_path, server).fetch, "toy", FILE.path) for _ in range(4)]
    assert {job.result().read_bytes() for job in fetched} == {CONTENT}
    assert len(server.requests) == 1


def test_a_broken_transfer_is_begun_again(tmp_path, server):
    server.break_after = [200_000, 10]
    assert registry(tmp_path, server).fetch("toy", FILE.path).read_bytes() == CONTENT
    assert len(server.requests) == 3


@pytest.mark.parametrize("content", [CONTENT[:-1], b"!" + CONTENT[1:]])
def test_another_file_than_the_published_one_is_refused_and_deleted(tmp_path, server, content):
    server.content = content
    with pytest.raises(
        AlteredFileError, match=rf"\(git blob id {BLOB}\): got git blob id [0-9a-f]{{40}}. It was deleted"
    ):
        registry(tmp_path, server).fetch("toy", FILE.path)
    assert leftovers(tmp_path) == []
    server.content = CONTENT
    assert registry(tmp_path, server).fetch("toy", FILE.path).read_bytes() == CONTENT


@pytest.mark.parametrize("status", [404, 503])
def test_an_address_that_does_not_answer_is_an_error_that_says_both_ways_out(tmp_path, server, status):
    server.status = status
    with pytest.raises(MissingFileError) as error:
        registry(tmp_path, server).fetch("toy", FILE.path)
    message = str(error.value)
    for part in (FILE.path, FILE.address(server.base), BLOB, str(status), "network access", "<folder>/" + KEY):
        assert part in message
    assert "CLAIMWISE_MIRROR is not set" in message


def test_no_server_at_all_is_a_missing_file(tmp_path, server):
    nowhere = SimpleNamespace(base="http://127.0.0.1:9")
    with pytest.raises(MissingFileError, match=r"could not be downloaded .*run again with network access"):
        registry(tmp_path, nowhere).fetch("toy", FILE.path)


def test_the_mirror_comes_first(tmp_path, server):
    copy = tmp_path / "mirror" / KEY
    copy.parent.mkdir(parents=True)
    copy.write_bytes(CONTENT)
    assert registry(tmp_path, server, mirror=tmp_path / "mirror").fetch("toy", FILE.path) == copy
    assert server.requests == []


def test_an_altered_copy_in_the_mirror_is_an_error_and_stays(tmp_path, server):
    copy = tmp_path / "mirror" / KEY
    copy.parent.mkdir(parents=True)
    copy.write_bytes(CONTENT[:-7])
    with pytest.raises(AlteredFileError, match=r"got git blob id .* Nothing was removed") as error:
        registry(tmp_path, server, mirror=tmp_path / "mirror").fetch("toy", FILE.path)
    assert str(copy) in str(error.value)
    assert copy.read_bytes() == CONTENT[:-7]
    assert server.requests == []


def test_a_file_that_the_mirror_lacks_is_downloaded_beside_it(tmp_path, server):
    (tmp_path / "mirror").mkdir()
    local = registry(tmp_path, server, mirror=tmp_path / "mirror").fetch("toy", FILE.path)
    assert local == tmp_path / "raw" / KEY
    assert leftovers(tmp_path / "mirror") == []


def test_the_environment_names_the_mirror(tmp_path, monkeypatch):
    file = published_files()[0]
    monkeypatch.setenv("CLAIMWISE_MIRROR", str(tmp_path))
    copy = tmp_path / file.key
    copy.parent.mkdir(parents=True)
    copy.write_bytes(b"not it")
    with pytest.raises(AlteredFileError, match=str(copy)):
        Registry.from_environment().fetch(file.dataset, file.path)


def test_every_registered_file_can_be_verified_and_is_pinned_to_a_commit():
    for file in published_files():
        assert (len(file.commit), len(file.git_blob)) == (40, 40)
    keys = [file.key for file in published_files()]
    assert len(set(keys)) == len(keys)
