"""Process lock: the naive code inside a lock of this process. One server process, or it is worth nothing.

Published with `threading.Lock` for threads and `asyncio.Lock` for coroutines, one lock per resource:
https://leyaa.ai/codefly/learn/lld/part-3/lld-booking-conflict-resolution (a dict of locks by resource) and
https://liviaerxin.github.io/docs/fastapi-best-practices (`asyncio.Lock` in FastAPI, and that it does not
reach other processes). Named seats are locked one by one, in order; searching locks the event.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import AsyncExitStack

from bench.strategies.sale import (
    Answer,
    Booking,
    Means,
    Strategy,
    all_available,
    candidates,
    held,
    refused,
    take,
)


class ProcessLock(Strategy):
    name = "process_lock"
    processes_max = 1
    processes_usual = 1
    over_websocket = False

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._locks: defaultdict[tuple[int, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def book(self, booking: Booking) -> Answer:
        async with AsyncExitStack() as locked:
            for seat in sorted(booking.seats) or [-1]:
                await locked.enter_async_context(self._locks[booking.event, seat])
            async with self.pool.connection() as connection, connection.transaction():
                seats = await candidates(connection, booking)
                if not seats or not await all_available(connection, booking.event, seats):
                    return refused(booking)
                await take(connection, booking, seats)
        return held(seats)
