"""How busy the openai engine keeps a loopback server that answers after a fixed latency.

    python benchmarks/throughput.py [--calls 10000] [--latency 0.02] [--concurrency 64]

The ideal is concurrency / latency calls a second. The server is a bare asyncio protocol in a process of its
own, so what is missing to the ideal is the client, and what the two processes take from each other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import time

from claimwise.models.openai_engine import OpenAIOptions
from claimwise.models.openai_language import OpenAILanguageModel

_CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes"}}
_BODY = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [_CHOICE],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
).encode()
_REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)


def serve(latency: float, port) -> None:
    async def client(reader, writer):
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(length)
            await asyncio.sleep(latency)
            writer.write(_REPLY)

    async def run():
        server = await asyncio.start_server(client, "127.0.0.1", 0, backlog=1024)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--latency", type=float, default=0.02)
    parser.add_argument("--concurrency", type=int, default=64)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    port = context.Queue()
    server = context.Process(target=serve, args=(options.latency, port), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{port.get()}/v1"
    model = OpenAILanguageModel(OpenAIOptions(model="m", base_url=url, concurrency=options.concurrency))
    prompt = "Passage: " + "It rained all day. " * 150
    list(model.generate([prompt] * options.concurrency, max_tokens=5))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, cpu = time.perf_counter(), time.process_time()
    done = sum(1 for _ in model.generate([prompt] * options.calls, max_tokens=5))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    ideal = options.calls * options.latency / options.concurrency
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{done} calls in {seconds:.2f} s: {done / seconds:.0f}/s, {100 * ideal / seconds:.0f} % of the ideal "
          f"{options.concurrency / options.latency:.0f}/s; {1000 * cpu / done:.2f} ms of processor time a call; "
          f"memory grew by {grown:.0f} MiB")  # fmt: skip
    server.terminate()


if __name__ == "__main__":
    main()
