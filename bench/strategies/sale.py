"""What every strategy is: a booking comes in, an answer goes out. Shared words, means and statements.

A strategy gets its means (a bounded Postgres pool, a bounded Redis client) and books. It answers
`held` with the seats, `taken` when somebody has a named seat, `sold_out` when nothing that fits is
left, and `busy` when it gives up; a client may be told nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel, Field
from redis.asyncio import Redis

Connection = AsyncConnection[tuple[Any, ...]]
Pool = AsyncConnectionPool[Connection]

HOLD_SECONDS = 480


class Booking(BaseModel):
    """What a buyer sends: named seats, or how many to find together."""

    event: int
    request: str = Field(max_length=64)
    seats: list[int] = Field(default=[], max_length=50)
    quantity: int = Field(default=0, ge=0, le=50)


class Answer(BaseModel):
    """What the buyer hears."""

    outcome: str
    seats: list[int] = []
    retries: int = 0
    deadlocks: int = 0


def held(seats: list[int], retries: int = 0, deadlocks: int = 0) -> Answer:
    return Answer(outcome="held", seats=seats, retries=retries, deadlocks=deadlocks)


def refused(booking: Booking, retries: int = 0, deadlocks: int = 0) -> Answer:
    """The seats named are gone, or nothing that fits is left."""
    outcome = "taken" if booking.seats else "sold_out"
    return Answer(outcome=outcome, retries=retries, deadlocks=deadlocks)


def busy(retries: int = 0, deadlocks: int = 0) -> Answer:
    """It gave up: the buyer must ask again."""
    return Answer(outcome="busy", retries=retries, deadlocks=deadlocks)


@dataclass(frozen=True, slots=True)
class Means:
    """What a server process gives its strategies."""

    pool: Pool
    redis: Redis
    database_url: str


class Strategy(ABC):
    """One way to sell. An instance lives as long as its server process and sells any number of events."""

    name: ClassVar[str]
    processes_max: ClassVar[int] = 2
    """1 where what guards the seats lives in one process."""
    processes_usual: ClassVar[int] = 2
    """How many were faster where this was tuned; a full run tries both."""
    keeps: ClassVar[bool] = True
    """A buyer who was told `held` has a committed row by then, and so does nobody else."""
    finds_seats: ClassVar[bool] = True
    """Can find seats together; the others sell named seats only."""
    over_websocket: ClassVar[bool] = True

    def __init__(self, means: Means) -> None:
        self.pool = means.pool
        self.redis = means.redis
        self.database_url = means.database_url

    @abstractmethod
    async def book(self, booking: Booking) -> Answer:
        """One decision."""

    async def close(self) -> None:  # noqa: B027 - most keep nothing open
        """End what this strategy started."""


FIND_TOGETHER = """
SELECT seat_no FROM seat AS s
 WHERE event_id = %(event)s AND status = 'available'
   AND (SELECT count(*) FROM seat AS n
         WHERE n.event_id = s.event_id AND n.block_no = s.block_no AND n.status = 'available'
           AND n.seat_no BETWEEN s.seat_no AND s.seat_no + %(quantity)s - 1) = %(quantity)s
 ORDER BY seat_no LIMIT 1
"""
STATUS = "SELECT seat_no, status FROM seat WHERE event_id = %s AND seat_no = ANY(%s)"
STATUS_LOCKED = STATUS + " ORDER BY seat_no FOR UPDATE"
TAKE = "UPDATE seat SET status = 'held', buyer = %s WHERE event_id = %s AND seat_no = ANY(%s)"
TAKE_IF_AVAILABLE = TAKE + " AND status = 'available'"
TAKE_AND_BOOK_IF_AVAILABLE = """
WITH won AS (UPDATE seat SET status = 'held', buyer = %(request)s
              WHERE event_id = %(event)s AND seat_no = ANY(%(seats)s) AND status = 'available'
             RETURNING seat_no)
INSERT INTO booking (event_id, seat_no, request) SELECT %(event)s, seat_no, %(request)s FROM won
"""
BOOK = "INSERT INTO booking (event_id, seat_no, request) SELECT %s, unnest(%s::int[]), %s"


async def candidates(connection: Connection, booking: Booking) -> list[int]:
    """The seats named, or the best free ones together as this transaction sees them; empty for none."""
    if booking.seats:
        return booking.seats
    wanted = {"event": booking.event, "quantity": booking.quantity}
    found = await (await connection.execute(FIND_TOGETHER, wanted)).fetchone()
    return list(range(found[0], found[0] + booking.quantity)) if found else []


async def all_available(connection: Connection, event: int, seats: list[int], *, lock: bool = False) -> bool:
    """Reads the seats' state; with `lock` nobody else may change it until the transaction ends."""
    rows = await (await connection.execute(STATUS_LOCKED if lock else STATUS, (event, seats))).fetchall()
    return len(rows) == len(seats) and all(status == "available" for _, status in rows)


async def take(connection: Connection, booking: Booking, seats: list[int]) -> None:
    """Writes seats and bookings, asking nothing: whoever calls has made sure."""
    await connection.execute(TAKE, (booking.request, booking.event, seats))
    await connection.execute(BOOK, (booking.event, seats, booking.request))
