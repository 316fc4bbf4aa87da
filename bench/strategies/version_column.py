"""Version column: optimistic locking. Read seat and version, write only where the version is still that.

https://shreyanshjain.dev/writing/pessimistic-vs-optimistic-slots (three attempts, measured against FOR
UPDATE) and https://brijesh.work/system-design/booking-management. No row is locked while the buyer's
request is being looked at; whoever comes second finds another version, reads again and is refused.
"""

from __future__ import annotations

from bench.strategies.sale import BOOK, Answer, Booking, Strategy, busy, held, refused

TRIES_MAX = 3
READ = "SELECT seat_no, status, version FROM seat WHERE event_id = %s AND seat_no = ANY(%s)"
WRITE = """
UPDATE seat SET status = 'held', buyer = %s, version = seat.version + 1
  FROM unnest(%s::int[], %s::int[]) AS mine (seat_no, version)
 WHERE seat.event_id = %s AND seat.seat_no = mine.seat_no AND seat.version = mine.version
"""


class VersionColumn(Strategy):
    name = "version_column"
    finds_seats = False

    async def book(self, booking: Booking) -> Answer:
        for retries in range(TRIES_MAX):
            async with self.pool.connection() as connection:
                read = await connection.execute(READ, (booking.event, booking.seats))
                seats = {seat: (status, version) for seat, status, version in await read.fetchall()}
                if len(seats) < len(booking.seats) or any(s != "available" for s, _ in seats.values()):
                    return refused(booking, retries)
                versions = [seats[seat][1] for seat in booking.seats]
                async with connection.transaction() as transaction:
                    wrote = await connection.execute(
                        WRITE, (booking.request, booking.seats, versions, booking.event)
                    )
                    if wrote.rowcount == len(booking.seats):
                        await connection.execute(BOOK, (booking.event, booking.seats, booking.request))
                        won = True
                    else:
                        won = False
                        transaction.force_rollback = True
            if won:
                return held(booking.seats, retries)
        return busy(TRIES_MAX)
