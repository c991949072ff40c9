"""Servers to test against: a local one that makes errors, and real third-party ones as child processes."""

import http.server
import itertools
import json
import math
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest


@contextmanager
def running(command: Sequence[str], ready: str, log: Path) -> Iterator[str]:
    """The address of a server that answers at the path ``ready``; its command is given ``--host`` and ``--port``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        )
    try:
        _wait(process, f"http://127.0.0.1:{port}{ready}", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:  # a machine under load
            process.kill()


def llama_cpp(file: Path, log: Path) -> AbstractContextManager[str]:
    """llama.cpp's server on a GGUF file; the context holds its address."""
    return running([sys.executable, str(Path(__file__).with_name("llama_server.py")), str(file)], "/v1/models", log)


def _wait(process: subprocess.Popen, address: str, log: Path, seconds: float = 600) -> None:
    """Wait as long as the process lives: on a machine under load, importing alone takes minutes."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(address, timeout=2)
            return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            if process.poll() is not None:
                pytest.fail(f"the server ended: {log.read_text()[-2000:]}")
            time.sleep(0.5)
    pytest.fail(f"the server did not start: {log.read_text()[-2000:]}")


def nowhere():
    """An address of this machine at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


class Server(http.server.ThreadingHTTPServer):
    """Speaks the protocol. ``faults`` are served first, one a call; then ``answer(prompt)`` to every call."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, answer, faults=(), logprobs="given", latency=0.0, port=0, models=200):
        super().__init__(("127.0.0.1", port), Handler)
        self.gone, self.models, self.probes = False, models, []  # its answer to the path /models, and what asked
        self.answer, self.faults, self.logprobs, self.latency = answer, iter(faults), logprobs, latency
        self.requests, self.lock, self.flying, self.most = [], threading.Lock(), 0, 0
        # It looks for a shutdown so often (in seconds); at the default of half a second tests wait for it.
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def kill(self):
        """End as a process does: nothing listens at its address, and what it has not answered is reset."""
        self.gone = True
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """A client that hangs up is part of the test."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.server.probes.append(self.path)
        self.reply(self.server.models, {"object": "list", "data": []})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        if server.gone:
            return reset(self)
        with server.lock:
            server.requests.append((time.monotonic(), body, {k.lower(): v for k, v in self.headers.items()}))
            fault = next(server.faults, None)
            server.flying += 1
            server.most = max(server.most, server.flying)
        try:
            time.sleep(server.latency)
            if server.gone:
                reset(self)
            elif fault is not None:
                fault(self)
            elif server.logprobs == "refused" and "logprobs" in body:
                self.reply(400, {"error": {"message": "logprobs are not supported with this model"}})
            elif server.logprobs == "five" and body.get("top_logprobs", 0) > 5:
                self.reply(400, {"error": {"message": "top_logprobs must be <= 5"}})
            else:
                self.reply(200, self.completion(body))
        finally:
            with server.lock:
                server.flying -= 1

    def completion(self, body):
        chat = "messages" in body
        answer = self.server.answer(body["messages"][-1]["content"] if chat else body["prompt"])
        text, top = answer if isinstance(answer, tuple) else (answer, None)
        choice = {"index": 0, "finish_reason": "stop", "logprobs": None}
        if body.get("logprobs") and self.server.logprobs in ("given", "five") and top:
            rows = [{"token": token, "logprob": math.log(p), "bytes": None} for token, p in top.items()]
            if chat:
                choice["logprobs"] = {"content": [{**rows[0], "top_logprobs": rows}]}
            else:
                logprobs = {row["token"]: row["logprob"] for row in rows}
                choice["logprobs"] = {
                    "tokens": [rows[0]["token"]],
                    "token_logprobs": [rows[0]["logprob"]],
                    "top_logprobs": [logprobs],
                    "text_offset": [0],
                }
        choice |= {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        return {
            "id": "x",
            "object": "chat.completion" if chat else "text_completion",
            "created": 0,
            "model": body["model"],
            "choices": [choice],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
        }

    def reply(self, status, value, headers=()):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, content in {"Content-Type": "application/json", "Content-Length": len(data), **dict(headers)}.items():
            self.send_header(name, str(content))
        self.end_headers()
        self.wfile.write(data)


def status(code, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.reply(code, {"error": {"message": f"fault {code}"}}, named)


def failing_on(word):
    """Faults without end: an internal error where the last prompt that came has the word, else an answer."""

    def fault(handler):
        body = handler.server.requests[-1][1]
        failed = word in body["messages"][-1]["content"]
        status(500)(handler) if failed else handler.reply(200, handler.completion(body))

    return itertools.repeat(fault)


def cut(handler):
    """Announce more than is sent, and hang up."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "500")
    handler.end_headers()
    handler.wfile.write(b'{"id": "x", "choices": [')
    handler.close_connection = True


def half(handler):
    handler.reply(200, b'{"id": "x", "choices": [{"index": 0, "mess')


def page(handler):
    handler.reply(200, b"<html>Bad gateway</html>", {"Content-Type": "text/html"})


def last(handler):
    handler.reply(200, handler.completion({"model": "m", "messages": [{"content": ""}]}), {"Connection": "close"})
    handler.close_connection = True


def reset(handler):
    """Hang up without a word."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


def die(handler):
    """The server is killed by this call."""
    handler.server.kill()
    reset(handler)


def slow(handler):
    """Say nothing until the client hangs up."""
    handler.rfile.read(1)
    handler.close_connection = True


def odd(message=(), **changes):
    """A fault: a completion of "Yes" but for these changes to its message, its choice (``choices`` for all) or usage."""

    def fault(handler):
        completion = handler.completion({"model": "m", "messages": [{"content": ""}]})
        choice = completion["choices"][0]
        choice["message"] = {**choice["message"], **dict(message)} if not isinstance(message, str) else message
        for name, value in changes.items():
            (choice if name in choice else completion)[name] = value
        handler.reply(200, completion)

    return fault
