"""Hot counter FOR UPDATE: the event's row is locked first, so everything that event sells is in one line.

How a quota is guarded where one row counts what is left: pretix locked the whole event until 2023.8, and
since then each quota (https://docs.pretix.eu/en/latest/development/implementation/locking.html). The
limits are described in https://serversim.io/blog/hot-key-flash-sale: one row, one commit at a time.
"""

from __future__ import annotations

from bench.strategies.sale import (
    Answer,
    Booking,
    Connection,
    Strategy,
    all_available,
    candidates,
    held,
    refused,
    take,
)

LOCK_COUNTER = "SELECT seats_left FROM event WHERE id = %s FOR UPDATE"
READ_COUNTER = "SELECT seats_left FROM event WHERE id = %s"
COUNT_DOWN = "UPDATE event SET seats_left = seats_left - %s WHERE id = %s"


class HotCounter(Strategy):
    name = "hot_counter"
    over_websocket = False

    async def book(self, booking: Booking) -> Answer:
        async with self.pool.connection() as connection, connection.transaction():
            return await book_with_counter(connection, booking, LOCK_COUNTER)


async def book_with_counter(connection: Connection, booking: Booking, read_counter: str) -> Answer:
    """Look at the counter, then at the seats; write both. The caller keeps everybody else out."""
    left = await (await connection.execute(read_counter.encode(), (booking.event,))).fetchone()
    wanted = len(booking.seats) or booking.quantity
    if left is None or left[0] < wanted:
        return refused(booking)
    seats = await candidates(connection, booking)
    if not seats or not await all_available(connection, booking.event, seats):
        return refused(booking)
    await take(connection, booking, seats)
    await connection.execute(COUNT_DOWN, (len(seats), booking.event))
    return held(seats)
