"""The strategies' load generator opens its connections against servers that close theirs at any moment."""

from __future__ import annotations

import asyncio

from bench.strategies.load import Line
from bench.strategies.orders import Open


class Unlucky(Line):
    """Its first connection is gone by the time the second is open, once."""

    opened = 0

    async def _open_one(self, number: int) -> None:
        await super()._open_one(number)
        self.opened += 1
        first = self.connections[0]
        if self.opened == 2 and first is not None:
            first.close()
            while first.open:  # noqa: ASYNC110 - the loop tells it in its next turn, and only the connection
                await asyncio.sleep(0)


class Served(asyncio.Protocol):
    """The server's end of a connection."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()


def test_a_connection_that_is_closed_while_others_open_is_opened_again():
    async def run() -> tuple[int, bool]:
        served: list[Served] = []

        def serve() -> Served:
            served.append(Served())
            return served[-1]

        server = await asyncio.get_running_loop().create_server(serve, "127.0.0.1", 0)
        line = Unlucky(Open("one", "http", [server.sockets[0].getsockname()[1]], "/book"))
        await line.open(2)
        all_open = all(one is not None and one.open for one in line.connections)
        line.close()
        server.close()
        for one in served:
            await one.gone.wait()
        return line.opened, all_open

    assert asyncio.run(run()) == (3, True)
