"""SET NX gate + UPDATE: one Redis key per seat with a time to live; only who sets it asks Postgres.

The usual answer to "design Ticketmaster": https://www.vetoralabs.com/system-design/ticketmaster-v1-seats,
https://getreqflow.com/systems/ticketmaster; with FastAPI and Postgres as the last word:
https://github.com/tusharb05/seat-allocation-engine. Those refused never reach the database. What is
set and never written (the process died in between) keeps the seat from everybody until it runs out.
"""

from __future__ import annotations

from bench.strategies.conditional_update import take_if_available
from bench.strategies.sale import HOLD_SECONDS, Answer, Booking, Strategy, held, refused


def seat_key(event: int, seat: int) -> str:
    return f"seat:{event}:{seat}"


class SetNx(Strategy):
    name = "set_nx"
    finds_seats = False

    async def book(self, booking: Booking) -> Answer:
        mine: list[str] = []
        for seat in booking.seats:
            key = seat_key(booking.event, seat)
            if not await self.redis.set(key, booking.request, nx=True, ex=HOLD_SECONDS):
                if mine:
                    await self.redis.delete(*mine)
                return refused(booking)
            mine.append(key)
        async with self.pool.connection() as connection:
            won = await take_if_available(connection, booking, booking.seats)
        return held(booking.seats) if won else refused(booking)
