"""Pessimistic lock: SELECT … FOR UPDATE the seat, look, write, commit.

https://www.techinterview.org/post/3233467045/lld-ticket-booking/ and
https://zulfafalah.my.id/blog/preventing-double-booking. Several seats are locked in the order of their
numbers, so that two buyers cannot wait for each other. Whoever searches finds first, locks then, and
looks again: somebody else may have locked the same seats a moment before.
"""

from __future__ import annotations

from bench.strategies.sale import (
    Answer,
    Booking,
    Strategy,
    all_available,
    busy,
    candidates,
    held,
    refused,
    take,
)

TRIES_MAX = 20


class Pessimistic(Strategy):
    name = "pessimistic"

    async def book(self, booking: Booking) -> Answer:
        for retries in range(TRIES_MAX):
            async with self.pool.connection() as connection, connection.transaction():
                seats = await candidates(connection, booking)
                if not seats:
                    return refused(booking, retries)
                if await all_available(connection, booking.event, seats, lock=True):
                    await take(connection, booking, seats)
                    break
                if booking.seats:
                    return refused(booking, retries)
        else:
            return busy(TRIES_MAX)
        return held(seats, retries)
