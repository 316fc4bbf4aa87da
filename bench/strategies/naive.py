"""Naive: read whether the seat is free, then write that it is yours. Sells seats twice.

The "before" picture of nearly every article on the subject, and what a first version looks like; it
is here to show that the judge sees an oversold seat when there is one. As told in:
https://datafield.dev/sql/part-04/chapter-27/case-study-01.html (overselling the last ticket, a lost
update in spite of transactions) and https://www.rahulnr.com/blog/redis-traffic (20 sold for one seat).
"""

from __future__ import annotations

from bench.strategies.sale import Answer, Booking, Strategy, all_available, candidates, held, refused, take


class Naive(Strategy):
    name = "naive"
    keeps = False
    over_websocket = False

    async def book(self, booking: Booking) -> Answer:
        async with self.pool.connection() as connection, connection.transaction():
            seats = await candidates(connection, booking)
            if not seats or not await all_available(connection, booking.event, seats):
                return refused(booking)
            await take(connection, booking, seats)
        return held(seats)
