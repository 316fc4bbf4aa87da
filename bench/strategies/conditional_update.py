"""Atomic conditional UPDATE: … WHERE status = 'available'; the number of rows says who won.

One statement, one round trip for one seat, which is why many call it the best plain answer:
https://lyte-code.pages.dev/system-design/c4-94-ticketmaster-build and
https://preproom.ai/learn/inventory.html. The booking row is written by the same statement. Several
seats need a transaction that is rolled back when fewer rows were won than wanted; whoever searches
and loses a seat on the way searches again.
"""

from __future__ import annotations

from typing import Any

from bench.strategies.sale import (
    TAKE_AND_BOOK_IF_AVAILABLE,
    Answer,
    Booking,
    Connection,
    Strategy,
    busy,
    candidates,
    held,
    refused,
)

TRIES_MAX = 20


class ConditionalUpdate(Strategy):
    name = "conditional_update"

    async def book(self, booking: Booking) -> Answer:
        for retries in range(TRIES_MAX):
            async with self.pool.connection() as connection:
                seats = await candidates(connection, booking)
                if not seats:
                    return refused(booking, retries)
                if await take_if_available(connection, booking, seats):
                    return held(seats, retries)
                if booking.seats:
                    return refused(booking, retries)
        return busy(TRIES_MAX)


async def take_if_available(connection: Connection, booking: Booking, seats: list[int]) -> bool:
    """All of these seats or none."""
    values: dict[str, Any] = {"request": booking.request, "event": booking.event, "seats": seats}
    if len(seats) == 1:
        return (await connection.execute(TAKE_AND_BOOK_IF_AVAILABLE, values)).rowcount == 1
    async with connection.transaction() as transaction:
        won = (await connection.execute(TAKE_AND_BOOK_IF_AVAILABLE, values)).rowcount == len(seats)
        transaction.force_rollback = not won
    return won
