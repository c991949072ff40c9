"""The servers of one model: which server is asked about a document, which are down, which are back.

All requests about a document go to one server, whose prefix cache then has the document. A new document goes to the server
with the least to do, as soon as one has room. A server that does not answer is taken out if another is left, and its
documents move. The last one is never taken out. All of it runs in one event loop, so nothing is locked.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from claimwise.models.openai_replies import Server
from claimwise.models.options import OpenAIOptions

_log = logging.getLogger(__name__)
_PROBE_SECONDS = 5.0  # between attempts to reach a server that is out
_REMEMBERED = 4096  # documents; older ones have left the servers' caches


@dataclass
class Place:
    """The server of a document, and the number of its calls that are not finished."""

    server: Server
    calls: int = 0


class ServerPool:
    """Gives every call its server.

    Args:
        options: the model's options. A server is assigned at most ``concurrency`` calls at once, unless one document has
            more.
        key: see ``Server``.
    """

    def __init__(self, options: OpenAIOptions, key: str):
        self._servers = [Server(address, options, key, self.replace) for address in options.base_url]
        self._room = options.concurrency
        self._places: dict[int, Place] = {}  # by the document's hash, the latest last
        self._changed = asyncio.Event()
        self._watches: set[asyncio.Task] = set()

    async def assign(self, document: str, calls: int) -> Place:
        """Wait until a server has room, and choose the document's server: the same as last time, or the least loaded.

        Args:
            document: its text.
            calls: the number of calls about it. ``done`` must follow once for each.
        """
        while not (free := [server for server in self._serving() if server.load < self._room]):
            self._changed.clear()
            await self._changed.wait()
        place = self._places.pop(hash(document), None) or Place(_least_loaded(free))
        if not place.calls and place.server not in free:
            place.server = _least_loaded(free)
        place.calls += calls
        place.server.load += calls
        self._places[hash(document)] = place
        if len(self._places) > _REMEMBERED:
            del self._places[next(iter(self._places))]
        return place

    @asynccontextmanager
    async def turn(self, place: Place) -> AsyncIterator[Server]:
        """Wait until the document's server can take a further call; if the server is out by then, the document moves."""
        while True:
            server = place.server
            async with server.slots:
                if not server.out:
                    yield server
                    return
            if place.server is server:  # no other call has moved the document
                place.server = _least_loaded(self._serving())
                server.load -= place.calls
                place.server.load += place.calls

    def done(self, place: Place) -> None:
        """Note that one of a document's calls has ended, with or without an answer."""
        place.calls -= 1
        place.server.load -= 1
        self._changed.set()

    def replace(self, server: Server) -> bool:
        """Take out a server that does not answer; return False if no other is left to take its place."""
        if all(other.out for other in self._servers if other is not server):
            return False
        if not server.out:
            server.out = True
            _log.warning(
                "%s does not serve: %s. Its calls are asked elsewhere; it is asked again when it answers",
                server.where, server.problem,
            )  # fmt: skip
            watch = asyncio.get_running_loop().create_task(self._watch(server))
            self._watches.add(watch)
            watch.add_done_callback(self._watches.discard)
        return True

    def problems(self) -> str:
        """Return every server's address and its last problem, for messages."""
        return "; ".join(f"{server.address} ({server.problem})" for server in self._servers)

    async def close(self) -> None:
        """Cancel unfinished calls and close all connections. A loop that closes with unfinished calls prints warnings."""
        pending = asyncio.all_tasks() - {asyncio.current_task()}
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        for server in self._servers:
            await server.client.close()

    def _serving(self) -> list[Server]:
        return [server for server in self._servers if not server.out]

    async def _watch(self, server: Server) -> None:
        while server.out:
            await asyncio.sleep(_PROBE_SECONDS)
            server.out = not await server.answers()
        _log.info("%s answers again", server.where)
        self._changed.set()


def _least_loaded(servers: Sequence[Server]) -> Server:
    return min(servers, key=lambda server: server.load)
