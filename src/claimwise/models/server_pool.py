"""Servers of one model: which of them is asked about a document, which is down, which is back.

All requests of a document go to one server, which remembers what it has read of it; a new document goes to the server
with the least to do, once it has room. A server that does not serve is taken out while another is left, and its
documents move; the last one is never taken out. All of it runs in one event loop, so nothing is locked.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from claimwise.models.openai_replies import Server
from claimwise.models.options import OpenAIOptions

_log = logging.getLogger(__name__)
_PROBE_SECONDS = 5.0  # between looks at a server that is out
_REMEMBERED = 4096  # documents; a server has forgotten most of them by then


@dataclass
class Place:
    """Where a document is asked about, and how many of its calls are not answered."""

    server: Server
    calls: int = 0


class ServerPool:
    """Gives every call its server.

    Args:
        options: of the model. ``concurrency`` calls of one server are assigned at once, more only where one document has
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
        """Choose a document's server as soon as one has room: that of the last time, if it has, or the least loaded.

        ``done`` must follow once for each of these calls.
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
        """A document's server, when it can take a further call; where it is out by then, the document moves."""
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
        """Note that one of a document's calls has ended, one way or another."""
        place.calls -= 1
        place.server.load -= 1
        self._changed.set()

    def replace(self, server: Server) -> bool:
        """Take a server out that does not serve; False where no other is left to be asked in its place."""
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
        """Every server and what it was last in trouble with."""
        return "; ".join(f"{server.address} ({server.problem})" for server in self._servers)

    async def close(self) -> None:
        """End what is still asked, for a loop that closes under it would print so, and let go of all connections."""
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
