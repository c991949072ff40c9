"""The progress bar: one line that moves on a terminal, a line now and then in a log."""

import os
import subprocess
import sys

import pytest

WORK = """
import logging, sys, time
from claimwise import progress
progress.LINE_SECONDS = float(sys.argv[1])
start = time.monotonic()
steps = progress.bar(40, "work", "call", show=sys.argv[2] == "show")
for step in range(40):
    time.sleep(0.02)
    steps.update()
    if step == 20:
        logging.warning("half")
steps.close()
print(time.monotonic() - start)
"""


def log(seconds, show="show"):
    """What the work writes to a standard error that is no terminal, and how many seconds it took."""
    done = subprocess.run([sys.executable, "-c", WORK, str(seconds), show], capture_output=True, check=True)
    return done.stderr.decode(), float(done.stdout)


def test_a_log_has_a_line_now_and_then_and_warnings_on_lines_of_their_own():
    text, took = log(0.2)
    assert "\r" not in text
    assert text.endswith("\n")
    lines = text.splitlines()
    assert "WARNING:root:half" in lines
    bars = [line for line in lines if line != "WARNING:root:half"]
    assert 1 <= len(bars) <= took / 0.2
    assert all(line.startswith("work: ") and "/40 [" in line and line.endswith("call/s]") for line in bars)
    counts = [int(line.split("| ")[1].split("/")[0]) for line in bars]
    assert counts == sorted(set(counts))


def test_a_log_has_no_bar_of_what_is_soon_done_or_not_to_be_shown():
    assert log(60)[0] == "WARNING:root:half\n"
    assert log(0.01, "hide")[0] == "WARNING:root:half\n"


KERNEL = """
import sys, nbformat, papermill
code = f"import time; from claimwise.progress import bar\\nwith bar(2, 'work', 'call') as b: time.sleep(1.1); b.update()"
nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), sys.argv[1])
papermill.execute_notebook(sys.argv[1], sys.argv[1], kernel_name="python3", progress_bar=False)
"""


@pytest.mark.parametrize("code", [WORK, KERNEL])
def test_a_terminal_has_a_bar_that_moves_also_from_within_a_kernel(tmp_path, code):
    termios = pytest.importorskip("termios", reason="this system has no pseudo-terminals")
    ours, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (24, 80))  # in no columns there is no bar
    argument = "60" if code == WORK else str(tmp_path / "book.ipynb")
    process = subprocess.Popen([sys.executable, "-c", code, argument, "show"], stderr=terminal)
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # how Linux says that nobody writes any more
        pass
    os.close(ours)
    assert process.wait() == 0
    assert b"\rwork: " in shown
