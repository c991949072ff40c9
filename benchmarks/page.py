"""How long a page of a thousand examples takes to open in a browser, and how large it is.

    python benchmarks/page.py [--rows 1000] [--runs 5] [--browser chromium]

The page is made up: documents as long as CNN/DM's, about eight claims a summary, two sentences of evidence each, and two
words marked where it is not supported. Every run opens it after a small one, which pays for the browser's start. ``loaded``
is the end of the load event, ``painted`` the first picture.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from claimwise.metrics import Evaluation
from claimwise.user_file import output, page

_TIMES = """(() => { const [load] = performance.getEntriesByType("navigation");
const [paint] = performance.getEntriesByType("paint");
return load && load.loadEventEnd && paint ? [load.loadEventEnd, paint.startTime] : null; })()"""


class Marker:
    words_measured = "made up"

    def unsupported_words(self, documents: list[str], texts: list[str]) -> list[list[tuple[int, int]]]:
        return [[found.span() for found in islice(re.finditer(r"\w+", text), 2)] for text in texts]


def write(rows: int, file: Path) -> None:
    chance = random.Random(0)
    words = [f"word{number}" for number in range(2000)]
    documents = [" ".join(_sentence(chance, words, 20) for _ in range(30)) for _ in range(rows)]
    claims = [(row, number) for row in range(rows) for number in range(chance.randint(5, 12))]
    table = pd.DataFrame(claims, columns=["example_id", "claim_index"])
    table["example_id"] = table["example_id"].astype(str)
    scores = [chance.random() for _ in range(rows)]
    result = Evaluation(
        table.assign(claim=[_sentence(chance, words, 9) for _ in claims]),
        table.assign(
            support=[chance.random() for _ in claims],
            reason=None,
            evidence=[chance.sample(range(30), 3) for _ in claims],
        ),
        pd.DataFrame({"example_id": map(str, range(rows)), "score": scores, "n_unparsed": 0, "reason": None}),
    )
    examples = pd.DataFrame(
        {"id": result.scores["example_id"], "document": documents, "system": "made up", "label": None}
    )
    examples["summary"] = [_sentence(chance, words, 55) for _ in range(rows)]
    told = output.claim_table(result, examples)
    html = page.render(
        result.scores, told, examples, metric="acueval", model="made up", source=file.name, marker=Marker()
    )
    file.write_text(html, encoding="utf-8")


def _sentence(chance: random.Random, words: list[str], count: int) -> str:
    return " ".join(chance.choices(words, k=count)).capitalize() + "."


class Browser:
    """A headless Chromium, spoken to through its pipe."""

    def __init__(self, program: str, folder: str) -> None:
        (theirs, self._to), (self._from, back) = os.pipe(), os.pipe()
        command = [program, "--headless", "--no-sandbox", "--remote-debugging-pipe", f"--user-data-dir={folder}"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{theirs} 4>&{back}', "bash", *command],
            pass_fds=(theirs, back),
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        os.close(back)
        self._rest, self._calls = b"", 0

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        self.ask("Browser.close")
        self._process.wait()

    def ask(self, method: str, session: str | None = None, **params: Any) -> dict:
        self._calls += 1
        call = {"id": self._calls, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._to, json.dumps(call).encode() + b"\0")
        while True:
            while b"\0" not in self._rest:
                self._rest += os.read(self._from, 1 << 20)
            message, _, self._rest = self._rest.partition(b"\0")
            answer = json.loads(message)
            if answer.get("id") == self._calls:
                return answer["result"]

    def open(self, file: Path) -> str:
        """The session of a new tab, once the file is there: till then it shows an empty page, loaded as well."""
        target = self.ask("Target.createTarget", url=file.resolve().as_uri())["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        while self.value(session, "location.protocol + document.readyState") != "file:complete":
            time.sleep(0.05)
        return session

    def value(self, session: str, script: str) -> Any:
        return self.ask("Runtime.evaluate", session, expression=script, returnByValue=True)["result"].get("value")

    def times(self, file: Path) -> list[float]:
        """Seconds to the end of loading and to the first picture."""
        session = self.open(file)
        while not (found := self.value(session, _TIMES)):
            time.sleep(0.05)
        self.ask("Page.close", session)
        return [milliseconds / 1000 for milliseconds in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--browser", default="chromium")
    options = parser.parse_args()
    if shutil.which(options.browser) is None:
        print(f"not measured: {options.browser} is not installed; --browser names another Chromium")
        return
    with tempfile.TemporaryDirectory() as folder:
        ours, small = Path(folder, "page.html"), Path(folder, "small.html")
        write(options.rows, ours)
        write(1, small)
        rows = []
        for _ in range(options.runs):
            with Browser(options.browser, str(Path(folder, "profile"))) as browser:
                browser.times(small)
                rows.append(browser.times(ours))
        seconds = pd.DataFrame(rows, columns=["loaded", "painted"]).agg(["median", "min", "max"])
        print(f"{ours.stat().st_size / 1e6:.1f} MB; seconds:\n{seconds.round(2).to_string()}")


if __name__ == "__main__":
    main()
