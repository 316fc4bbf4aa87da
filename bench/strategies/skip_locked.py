"""SKIP LOCKED best available: the first n free seats that nobody else is looking at.

Several writers that never wait for each other: https://www.developerscoffee.com/blog/understanding-database-locking-in-an-airline-seat-booking-system
(seats of a flight, SKIP LOCKED against the other ways) and https://skiplocked.dev. Seats are taken in the
order of the plan. What somebody else has locked looks as if it were not there: pairs are split, earlier
buyers get worse seats than later ones, and a seat can look gone that is given back a moment later.
"""

from __future__ import annotations

from typing import Any

from bench.strategies.sale import Answer, Booking, Strategy, held, refused, take

FIRST_FREE = """
SELECT seat_no FROM seat WHERE event_id = %(event)s AND status = 'available'
 ORDER BY seat_no LIMIT %(quantity)s FOR UPDATE SKIP LOCKED
"""
NAMED = """
SELECT seat_no FROM seat WHERE event_id = %(event)s AND seat_no = ANY(%(seats)s) AND status = 'available'
   FOR UPDATE SKIP LOCKED
"""


class SkipLocked(Strategy):
    name = "skip_locked"

    async def book(self, booking: Booking) -> Answer:
        values: dict[str, Any] = booking.model_dump()
        async with self.pool.connection() as connection, connection.transaction():
            found = await connection.execute(NAMED if booking.seats else FIRST_FREE, values)
            seats = [seat for (seat,) in await found.fetchall()]
            if len(seats) < (len(booking.seats) or booking.quantity):
                return refused(booking)
            await take(connection, booking, seats)
        return held(seats)
