"""Real third-party servers as child processes, started on a free port and stopped again."""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
