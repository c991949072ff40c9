"""How busy the openai engine keeps a loopback server that answers after a fixed latency.

    python benchmarks/throughput.py [--calls 2000] [--latency 0.02] [--concurrency 64]

The ideal is concurrency / latency calls a second. The server is an asyncio protocol in a process of its own, and
a client without any library, which sends the same bytes again after every reply, shows what the server itself
leaves of the ideal. "claims to remembered verdicts" is a whole verification: prompts rendered, replies with 20
log probabilities read, every reply stored in SQLite. The best of several repeats counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import selectors
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from claimwise import prompts
from claimwise.models.cache import ResponseCache
from claimwise.models.language import PromptedModel
from claimwise.models.openai import OpenAILanguageModel, OpenAIOptions
from claimwise.prompts import Decoding


def _response(logprobs: list[dict] | None) -> bytes:
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Yes"},
                "logprobs": logprobs and {"content": [{**logprobs[0], "top_logprobs": logprobs}]},
            }
        ],
        "usage": {"prompt_tokens": 999, "completion_tokens": 1, "total_tokens": 1000},
    }
    data = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data)


_TEXT = _response(None)
_WORDS = ["Yes", "No", *map(str, range(18))]
_PROBABILITIES = _response([{"token": word, "logprob": -1.0 - i, "bytes": None} for i, word in enumerate(_WORDS)])


class Server(asyncio.Protocol):
    """Answers every request ``latency`` seconds after its last byte."""

    def __init__(self, latency: float):
        self.latency, self.received, self.expected = latency, b"", None

    def connection_made(self, transport) -> None:
        self.transport, self.loop = transport, asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        self.received += data
        if self.expected is None:
            head, end, _ = self.received.partition(b"\r\n\r\n")
            if not end:
                return
            length = next(line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            self.expected = len(head) + 4 + int(length)
        if len(self.received) == self.expected:
            reply = self.reply(self.received)
            self.received, self.expected = b"", None
            self.loop.call_later(self.latency, self.transport.write, reply)

    def reply(self, request: bytes) -> bytes:
        return _PROBABILITIES if b'"logprobs"' in request else _TEXT


def serve(protocol: Callable[[], Server], port) -> None:
    async def run():
        server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, backlog=1024)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    # Python's epoll sleeps whole milliseconds, 5 % of the latency; select does not.
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
        runner.run(run())


class Bare(asyncio.Protocol):
    """A client that sends the same bytes again at once after every reply: the most that any client can reach."""

    def __init__(self, request: bytes, left: list[int], done: asyncio.Event):
        self.request, self.left, self.done, self.received = request, left, done, 0

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        if self.left[0]:
            self.left[0] -= 1
            self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        if self.received == len(_TEXT):
            self.received = 0
            self.left[1] -= 1
            if self.left[1]:
                self.send()
            else:
                self.done.set()


def bare(port: int, body: bytes, calls: int, concurrency: int) -> float:
    """Seconds of the same calls without a client library."""
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"

    async def run() -> float:
        done = asyncio.Event()
        client = partial(Bare, head.encode() + body, [calls, calls], done)
        start = time.perf_counter()
        opened = [
            await asyncio.get_running_loop().create_connection(client, "127.0.0.1", port) for _ in range(concurrency)
        ]
        await done.wait()
        seconds = time.perf_counter() - start
        for transport, _ in opened:
            transport.close()
        return seconds

    return asyncio.run(run())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--latency", type=float, default=0.02)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ports = context.Queue()
    server = context.Process(target=serve, args=(partial(Server, options.latency), ports), daemon=True)
    server.start()
    port = ports.get()
    model = OpenAILanguageModel(
        OpenAIOptions(model="m", base_url=f"http://127.0.0.1:{port}/v1", concurrency=options.concurrency)
    )
    document = "It rained all day. " * 150
    claims = [f"It rained for {number} hours." for number in range(options.calls)]
    prompt = prompts.load("acueval-verify-zeroshot")
    rendered = [prompt.render(Document=document, ACU=claim) for claim in claims]
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": rendered[0]}]}).encode()

    def engine() -> float:
        start = time.perf_counter()
        found = {index for index, reply in model.replies(rendered, Decoding(5)) if reply.text == "Yes"}
        assert len(found) == options.calls
        return time.perf_counter() - start

    def verification() -> float:
        with tempfile.TemporaryDirectory() as folder:
            cache = ResponseCache(Path(folder, "calls.sqlite"))
            start = time.perf_counter()
            (verdicts,) = PromptedModel(model, cache).verify([document], [claims], prompt)
            seconds = time.perf_counter() - start
            cache.close()
        assert all(verdict.support > 0.5 and verdict.reason is None for verdict in verdicts)
        return seconds

    engine()  # the connections, and the memory of a first run
    before, cpu = _resident(), time.process_time()
    ours = min(engine() for _ in range(options.repeats))
    cpu, grown = (time.process_time() - cpu) / options.repeats, _resident() - before
    whole = min(verification() for _ in range(options.repeats))
    reference = min(bare(port, body, options.calls, options.concurrency) for _ in range(options.repeats))
    server.terminate()
    ideal = options.calls * options.latency / options.concurrency
    print(f"{options.calls} calls, {options.concurrency} in flight, {1000 * options.latency:g} ms latency: "
          f"ideal {options.calls / ideal:.0f}/s")  # fmt: skip
    rows = {"no client library": reference, "engine, texts": ours, "claims to remembered verdicts": whole}
    for name, seconds in rows.items():
        print(f"{name:30} {options.calls / seconds:6.0f}/s, {100 * ideal / seconds:3.0f} % of the ideal, "
              f"{100 * reference / seconds:3.0f} % of no client library")  # fmt: skip
    print(f"engine: {1000 * cpu / options.calls:.2f} ms of processor time a call; memory grew by {grown:.1f} MiB in "
          f"{options.repeats * options.calls} calls")  # fmt: skip


def _resident() -> float:
    """Peak resident MiB of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
