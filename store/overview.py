"""How a sale stands: what an operator looks at. Reads in one snapshot, locks nobody."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from psycopg.rows import tuple_row

from store import event_prices
from store.event_prices import EventPrices
from store.events import Conn, Event, get_event
from store.words import Outcome, SeatState

_SEATS = "SELECT state, count(*) FROM seat WHERE event_id = %s GROUP BY state"
AREAS = """
SELECT area.area_no, plan.area ->> 'guid', plan.area ->> 'name', capacity, held, sold, blocked,
       capacity - held - sold - blocked
FROM area JOIN event ON event.id = area.event_id JOIN venue ON venue.id = event.venue_id
CROSS JOIN LATERAL (SELECT venue.plan::json -> 'areas' -> area.area_no AS area) AS plan
WHERE area.event_id = %s ORDER BY area.area_no
"""
_REQUESTS = "SELECT outcome, count(*) FROM ledger WHERE event_id = %s AND kind = 'request' GROUP BY outcome"
_CURSOR = """
SELECT event_cursor.batch_no, event_cursor.arrival, event_cursor.batch_time, event_cursor.epoch,
       event_cursor.owner::text, lease.worker, lease.renewed_at,
       extract(epoch FROM clock_timestamp() - lease.renewed_at)::float8,
       (SELECT count(*) FROM fact WHERE fact.event_id = event_cursor.event_id)
FROM event_cursor JOIN lease USING (event_id) WHERE event_id = %s
"""


class Places(Struct, frozen=True):
    """A standing area's counters."""

    area_no: int
    guid: str
    name: str
    capacity: int
    held: int
    sold: int
    blocked: int
    free: int


class Progress(Struct, frozen=True):
    """How far decisions are, and who makes them."""

    batch_no: int
    arrival: str
    """Everything up to here is decided."""
    batch_time: datetime
    epoch: int
    owner: str | None
    worker: str | None
    """Host and process of the owner, for people."""
    renewed_at: datetime | None
    renewed_seconds_ago: float | None
    facts_waiting: int
    """Changes by others that the allocator has not consumed."""


class Overview(Struct, frozen=True):
    """One event at one moment. Requests are counted in the ledger: a full scan of the event's rows."""

    event: Event
    seats: dict[SeatState, int]
    areas: list[Places]
    requests: dict[Outcome, int]
    progress: Progress
    prices: EventPrices


def read_overview(conn: Conn, slug: str) -> Overview:
    """The event of that slug as it stands; raises `NotFound`. `conn` has no transaction open."""
    with conn.transaction(), conn.cursor(row_factory=tuple_row) as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        event = get_event(conn, slug)
        values = (event.id,)
        seats = dict.fromkeys(SeatState, 0)
        seats.update({SeatState(state): count for state, count in cursor.execute(_SEATS, values)})
        areas = [Places(*row) for row in cursor.execute(AREAS, values)]
        requests = dict.fromkeys(Outcome, 0)
        requests.update({Outcome(outcome): count for outcome, count in cursor.execute(_REQUESTS, values)})
        progress = cursor.execute(_CURSOR, values).fetchone()
        prices = event_prices.read(conn, event.id)
    assert progress is not None, "every event has a cursor and a lease"
    return Overview(event, seats, areas, requests, Progress(*progress), prices)
