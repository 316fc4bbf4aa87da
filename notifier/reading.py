"""What lanes read, together: whoever asks in the same moment shares one round trip to Postgres.

Names of seats are read once for each event and kept: of at most `EVENTS_MAX` events, and about `NAMES_MAX`.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any, Final

import psycopg

from notifier.payloads import Names, names_of
from store.outbox import Row
from store.subscribers import lanes

Conn = psycopg.AsyncConnection[Any]

EVENTS_MAX: Final = 256
NAMES_MAX: Final = 2_000_000
"""In all, unless one event alone has more: some 150 MB."""
TOGETHER_MAX: Final = 64


class Reading:
    """A `notifier.lane.Source` on one connection."""

    def __init__(self, connection: Conn) -> None:
        self._connection = connection
        self._turn = asyncio.Lock()
        self._asked: list[tuple[tuple[int, int], asyncio.Future[list[Row]]]] = []
        self._something = asyncio.Event()
        self._limit = 1
        self._names: OrderedDict[int, tuple[str, Names]] = OrderedDict()

    async def rows(self, event_id: int, after: int, limit: int) -> list[Row]:
        """The next rows of an event; raises `psycopg.Error` when Postgres is away."""
        answer: asyncio.Future[list[Row]] = asyncio.get_running_loop().create_future()
        self._asked.append(((event_id, after), answer))
        self._limit = limit
        self._something.set()
        return await answer

    async def run(self) -> None:
        """Answers until it is cancelled."""
        while True:
            await self._something.wait()
            together, self._asked = self._asked[:TOGETHER_MAX], self._asked[TOGETHER_MAX:]
            if not self._asked:
                self._something.clear()
            async with self._turn:
                found = await lanes.read(self._connection, [wanted for wanted, _ in together], self._limit)
            for (_, answer), rows in zip(together, found, strict=True):
                if not answer.done():
                    answer.set_result(rows)

    async def names(self, event_id: int) -> tuple[str, Names]:
        """An event's slug and names."""
        if event_id not in self._names:
            async with self._turn:
                cursor = await self._connection.execute(lanes.NAMES, {"event": event_id})
                row = await cursor.fetchone()
            assert row is not None, "what is told is of an event, and an event has a venue"
            self._names[event_id] = (row[0], await asyncio.to_thread(names_of, row[1]))
            self._forget()
        self._names.move_to_end(event_id)
        return self._names[event_id]

    def _forget(self) -> None:
        """Those that were asked for longest ago, where too many are kept."""
        kept = sum([len(names.seats) for _, names in self._names.values()])
        while len(self._names) > 1 and (len(self._names) > EVENTS_MAX or kept > NAMES_MAX):
            _, (_, names) = self._names.popitem(last=False)
            kept -= len(names.seats)
