"""DECR + asynchronous write: Redis answers, a worker writes to Postgres later.

The classic of flash-sale articles: stock is loaded into Redis beforehand, a script counts it down and
leaves the order in a list, the buyer has an answer, a worker takes orders from the list and writes them:
https://dev.to/umesh_kushwaha_6655ba4c0d/designing-a-flash-sale-system-that-never-oversells-from-1-user-to-1-million-users-3fih
and https://www.besthub.dev/articles/implementing-a-redis-based-flash-sale-system-to-prevent-overselling-562f49b64af2.
A named seat is a stock of one. Seats to be found are numbered by the counter: the n-th sold is the n-th
seat. Script, so that a refusal writes nothing and an order cannot be lost between two commands; what the
worker has taken from the list and not committed when it dies is gone.
"""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import redis

from bench.strategies.sale import Answer, Booking, Means, Strategy, held, refused

ORDERS = "orders"
BATCH_SIZE_MAX = 200
WAIT_SECONDS = 1

SELL = """
local left = tonumber(redis.call('GET', KEYS[1]) or '0')
local wanted = tonumber(ARGV[1])
if left < wanted then return -1 end
redis.call('RPUSH', KEYS[2], ARGV[2] .. '|' .. (left - wanted))
return redis.call('DECRBY', KEYS[1], wanted)
"""
WRITE_SEATS = """
UPDATE seat SET status = 'held', buyer = sold.request
  FROM unnest(%(events)s::int[], %(seats)s::int[], %(requests)s::text[]) AS sold (event_id, seat_no, request)
 WHERE seat.event_id = sold.event_id AND seat.seat_no = sold.seat_no
"""
WRITE_BOOKINGS = """
INSERT INTO booking (event_id, seat_no, request)
SELECT * FROM unnest(%(events)s::int[], %(seats)s::int[], %(requests)s::text[])
"""
EVENT_SEATS = "SELECT seats FROM event WHERE id = %s"


def stock_key(event: int, seat: int | None = None) -> str:
    """A named seat's stock of one, or the event's."""
    return f"stock:{event}" if seat is None else f"stock:{event}:{seat}"


class DecrAsync(Strategy):
    name = "decr_async"
    keeps = False

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._sell = self.redis.register_script(SELL)
        self._seats: dict[int, int] = {}
        self._looking_up = asyncio.Lock()

    async def book(self, booking: Booking) -> Answer:
        seat = booking.seats[0] if booking.seats else None
        assert len(booking.seats) < 2, "a counter per seat sells seats one by one"
        wanted = 1 if booking.seats else booking.quantity
        total = await self._total(booking.event)
        order = f"{booking.event}|{-1 if seat is None else seat}|{total}|{wanted}|{booking.request}"
        left = int(await self._sell([stock_key(booking.event, seat), ORDERS], [wanted, order]))
        if left < 0:
            return refused(booking)
        return held(booking.seats or numbered(total, left, wanted))

    async def _total(self, event: int) -> int:
        if event not in self._seats:
            async with self._looking_up:  # a thousand first requests need one look
                if event not in self._seats:
                    async with self.pool.connection() as connection:
                        row = await (await connection.execute(EVENT_SEATS, (event,))).fetchone()
                    assert row is not None, f"there is no event {event}"
                    self._seats[event] = row[0]
        return self._seats[event]


def numbered(total: int, left: int, wanted: int) -> list[int]:
    """The seats that a counter's value stands for."""
    first = total - left - wanted
    return list(range(first, first + wanted))


def written(order: str) -> list[tuple[int, int, str]]:
    """(event, seat, request) rows of one order from the list."""
    event, seat, total, wanted, request, left = order.split("|")
    seats = [int(seat)] if int(seat) >= 0 else numbered(int(total), int(left), int(wanted))
    return [(int(event), each, request) for each in seats]


def work(database_url: str, redis_url: str) -> None:
    """The worker: takes orders from the list, many at a time, and writes them. Runs until ended."""
    with (
        psycopg.connect(database_url, autocommit=True, application_name="decr worker") as connection,
        redis.Redis.from_url(redis_url, decode_responses=True, socket_timeout=WAIT_SECONDS + 5) as client,
    ):
        while True:
            work_once(connection, client)


def work_once(connection: psycopg.Connection[Any], client: Any, wait_seconds: float = WAIT_SECONDS) -> int:
    """One batch; how many orders were written."""
    first = client.blpop([ORDERS], timeout=wait_seconds)
    if first is None:
        return 0
    orders = [first[1], *(client.lpop(ORDERS, BATCH_SIZE_MAX) or [])]
    rows = [row for order in orders for row in written(order)]
    columns = dict(zip(("events", "seats", "requests"), map(list, zip(*rows, strict=True)), strict=True))
    with connection.transaction():
        connection.execute(WRITE_SEATS, columns)
        connection.execute(WRITE_BOOKINGS, columns)
    return len(orders)


def stock(event: int, seats: int) -> dict[str, int]:
    """What Redis must hold before the sale: every seat once, and the event's total."""
    return {stock_key(event): seats} | {stock_key(event, seat): 1 for seat in range(seats)}
