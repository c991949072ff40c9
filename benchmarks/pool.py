"""What a pool of four servers does of what it could, when one is killed in the middle and one is slow.

    python benchmarks/pool.py [--documents 400] [--claims 6] [--latency 0.5] [--slow 3] [--concurrency 8]

Every server answers each call after its latency, in a process of its own; the slow one takes ``--slow`` times as
long. When a quarter of the claims are verified, one is killed (SIGKILL). The ideal of a server is concurrency /
latency calls a second; "of the ideal of those that are left" is over the claims verified after the kill, up to the
last one. Servers note what they are asked, so that lost, doubled and scattered calls are counted, not assumed.
"""

import argparse
import asyncio
import json
import logging
import multiprocessing
import selectors
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from claimwise import prompts
from claimwise.models.cache import ResponseCache
from claimwise.models.language import PromptedModel
from claimwise.models.openai import OpenAILanguageModel, OpenAIOptions

_WORDS = ["Yes", "No", *map(str, range(18))]
_LOG_PROBABILITIES = [{"token": word, "logprob": -1.0 - i, "bytes": None} for i, word in enumerate(_WORDS)]
_BODY = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Yes"},
                "logprobs": {"content": [{**_LOG_PROBABILITIES[0], "top_logprobs": _LOG_PROBABILITIES}]},
            }
        ],
        "usage": {"prompt_tokens": 999, "completion_tokens": 1, "total_tokens": 1000},
    }
).encode()
_REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)


class Server(asyncio.Protocol):
    """Answers every request ``latency`` seconds after its last byte, and writes down what it is asked."""

    def __init__(self, latency: float, notes: Path):
        self.latency, self.notes, self.received = latency, notes, b""

    def connection_made(self, transport) -> None:
        self.transport, self.loop = transport, asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, end, content = self.received.partition(b"\r\n\r\n")
        if not end:
            return
        length = next(line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        if len(content) == int(length):
            self.received = b""
            with self.notes.open("a") as file:
                file.write(json.dumps(json.loads(content)["messages"][-1]["content"]) + "\n")
            self.loop.call_later(self.latency, self.transport.write, _REPLY)


def serve(latency: float, notes: Path, port) -> None:
    async def run():
        server = await asyncio.get_running_loop().create_server(lambda: Server(latency, notes), "127.0.0.1", 0)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    # Python's epoll sleeps whole milliseconds, 5 % of the latency; select does not.
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
        runner.run(run())


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
            servers.append(context.Process(target=serve, args=(latency, file, ports), daemon=True))
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
