"""SERIALIZABLE: the naive code, and Postgres ends a transaction that could not have run alone; try again.

As PostgreSQL's manual asks: retry the complete transaction on 40001, and on deadlock 40P01:
https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html. The pause between tries
grows and is random, as with any published retry decorator; after ten tries it gives up.
"""

from __future__ import annotations

import asyncio
import random

from psycopg.errors import DeadlockDetected, SerializationFailure

from bench.strategies.sale import (
    Answer,
    Booking,
    Connection,
    Strategy,
    all_available,
    busy,
    candidates,
    held,
    refused,
    take,
)

TRIES_MAX = 10
PAUSE_SECONDS = 0.002


class Serializable(Strategy):
    name = "serializable"
    over_websocket = False

    async def book(self, booking: Booking) -> Answer:
        deadlocks = 0
        for retries in range(TRIES_MAX):
            try:
                async with self.pool.connection() as connection:
                    seats = await self._try(connection, booking)
            except (SerializationFailure, DeadlockDetected) as error:
                deadlocks += isinstance(error, DeadlockDetected)
                await asyncio.sleep(PAUSE_SECONDS * 2 ** min(retries, 5) * random.random())
                continue
            return held(seats, retries, deadlocks) if seats else refused(booking, retries, deadlocks)
        return busy(TRIES_MAX, deadlocks)

    async def _try(self, connection: Connection, booking: Booking) -> list[int]:
        await connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
        try:
            seats = await candidates(connection, booking)
            if seats and await all_available(connection, booking.event, seats):
                await take(connection, booking, seats)
            else:
                seats = []
            await connection.execute("COMMIT")
        except BaseException:
            await connection.execute("ROLLBACK")
            raise
        return seats
