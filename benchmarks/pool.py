"""What a pool of four servers does of what it could, when one is killed in the middle and one is slow.

    python benchmarks/pool.py [--documents 400] [--claims 6] [--latency 0.5] [--slow 3] [--concurrency 8]

Every server answers each call after its latency, in a process of its own; the slow one takes ``--slow`` times as
long. When a quarter of the claims are verified, one is killed (SIGKILL). The ideal of a server is concurrency /
latency calls a second; "of the ideal of those that are left" is over the claims verified after the kill, up to the
last one. Servers note what they are asked, so that lost, doubled and scattered calls are counted, not assumed.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import tempfile
import time
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path

from throughput import Server, serve

from claimwise import prompts
from claimwise.models.cache import ResponseCache
from claimwise.models.language import PromptedModel
from claimwise.models.openai import OpenAILanguageModel, OpenAIOptions


class Noting(Server):
    """Writes down what it is asked."""

    def __init__(self, latency: float, notes: Path):
        super().__init__(latency)
        self.notes = notes

    def reply(self, request: bytes) -> bytes:
        body = json.loads(request.partition(b"\r\n\r\n")[2])
        with self.notes.open("a") as file:
            file.write(json.dumps(body["messages"][-1]["content"]) + "\n")
        return super().reply(request)


def run(latencies: list[float], options: argparse.Namespace, kill: bool) -> None:
    """Verify all claims with servers of these latencies, and say how; with ``kill`` the first is killed."""
    prompt = prompts.load("acueval-verify-zeroshot")
    documents = [f"Document {k}. " + "It rained all day. " * 50 for k in range(options.documents)]
    claims = [[f"It rained for {j} hours." for j in range(options.claims)] for _ in documents]
    calls = options.documents * options.claims
    context = multiprocessing.get_context("spawn")
    killed: list[tuple[float, int]] = []
    with tempfile.TemporaryDirectory() as folder:
        notes = [Path(folder, f"asked-{number}.jsonl") for number in range(len(latencies))]
        servers, addresses = [], []
        for latency, file in zip(latencies, notes, strict=True):
            ports = context.Queue()
            servers.append(context.Process(target=serve, args=(partial(Noting, latency, file), ports), daemon=True))
            servers[-1].start()
            addresses.append(f"http://127.0.0.1:{ports.get()}/v1")
        engine = OpenAILanguageModel(OpenAIOptions(model="m", base_url=addresses, concurrency=options.concurrency))
        cache = ResponseCache(Path(folder, "calls.sqlite"))
        model = PromptedModel(engine, cache)
        seen = 0

        def note() -> None:
            nonlocal seen
            seen += 1
            if kill and seen == calls // 4:
                servers[0].kill()
                killed.append((time.perf_counter(), seen))

        model.on_reply = note
        model.verify(["Warm up."], [[f"Call {j}." for j in range(options.concurrency)]], prompt)
        start, before = time.perf_counter(), seen
        verdicts = model.verify(documents, claims, prompt)
        end = time.perf_counter()
        kept = sum(row[2] for row in cache.stats()) - before
        cache.close()
        for server in servers:
            server.kill()
        rates = [options.concurrency / latency for latency in latencies]
        since, done = killed[0] if kill else (start, before)
        ideal = sum(rates[1:] if kill else rates)
        found = (calls + before - done) / (end - since)
        asked = [[line for line in file.read_text().splitlines() if "It rained" in line] for file in notes]
    left = asked[1:] if kill else asked
    where = defaultdict(set)
    for number, lines in enumerate(left):
        for line in lines:
            where[line[: line.index("It rained")]].add(number)
    sound = sum(verdict.reason is None for group in verdicts for verdict in group)
    twice = sum(count - 1 for count in Counter(line for lines in left for line in lines).values())
    scattered = sum(len(numbers) > 1 for numbers in where.values())
    title = "one killed, one slow" if kill else "all sound, one slow"
    print(f"{title}: {found:.0f} calls/s, {100 * found / ideal:.0f} % of the ideal of those that are left "
          f"({ideal:.0f}/s), {end - start:.1f} s")  # fmt: skip
    print(f"  {calls} claims: {calls - sound} lost, {kept - calls + twice} doubled, "
          f"{engine.tally.calls - before - calls} more replies than claims, {scattered} documents on two living servers; "
          f"calls by server: {', '.join(str(len(lines)) for lines in asked)}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--claims", type=int, default=6)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--slow", type=float, default=3)
    parser.add_argument("--concurrency", type=int, default=8)
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="  %(message)s")
    latencies = [options.latency] * 3 + [options.latency * options.slow]
    run(latencies, options, kill=False)
    run(latencies, options, kill=True)


if __name__ == "__main__":
    main()
