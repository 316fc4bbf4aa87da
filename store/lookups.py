"""What gateways read of the truth: decisions by key, the cursor, events, plans, the seat map.

Async and read-only, each function one round trip on the connection it is given but `seat_map`,
which is one REPEATABLE READ snapshot. `open_pool` bounds everything: connections, the queue for
one, and how long a statement or a lock may take.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import psycopg
from msgspec import Struct
from psycopg_pool import AsyncConnectionPool

from store.database import BACKEND_ANSWERS, ENDS_IDLE, other_backend
from store.errors import NotFound
from store.prices import PlanMove, PriceTerms
from store.wire import decision_frame
from store.words import Arrival, EventState, Micros, WasOf

Conn = psycopg.AsyncConnection[tuple[Any, ...]]
Pool = AsyncConnectionPool[Conn]
Key = tuple[str, str]
"""(buyer, request id)"""

KEYS_MAX = 500
"""Most keys one look-up asks for; callers chunk."""
EVENTS_MAX = 1_000
ENDING_MAX = 5_000
"""Most holds one look for those that end soon finds; there are more looks."""
SOON_SECONDS = 60
STATEMENT_TIMEOUT_MS = 5_000
LOCK_TIMEOUT_MS = 1_000
CONNECTION_WAIT_SECONDS_MAX = 2.0
WAITING_MAX = 200
RECONNECT_SECONDS = 0.2


class TourRow(Struct, frozen=True):
    """The tour an event is a date of, as buyers see it."""

    slug: str
    name: str
    seats_per_buyer_max: int
    """Across all its dates."""


class ElsewhereRow(Struct, frozen=True):
    """The event that the orders of one that was moved go to, as buyers see it; times in microseconds."""

    slug: str
    name: str
    venue: str
    starts_at: Micros | None


class CalledOffRow(Struct, frozen=True):
    """That an event does not take place: `to` is where its orders go, None: it is canceled."""

    at: Micros
    to: ElsewhereRow | None


class EventRow(Struct, frozen=True):
    """An event as gateways need it; times in microseconds."""

    id: int
    slug: str
    name: str
    venue_id: int
    state: EventState
    hold_ttl_seconds: int
    seats_per_buyer_max: int
    fast_gate: bool
    opens_at: Micros | None
    """When its sale begins by itself."""
    lobby_opens_at: Micros | None
    """When its lobby does."""
    extensions_max: int
    extension_seconds: int
    offer_ttl_seconds: int
    limits: dict[str, int]
    """Category → most seats and places of it one buyer may have."""
    tour: TourRow | None
    price_terms: PriceTerms = PriceTerms()
    plan_sha256: str = ""
    """In hex, of the event's plan: another where seats were moved to other categories."""
    payment: str = "none"
    """How a hold becomes an order; this and the next as in `store.terms.Terms`."""
    late_payment: str = "refund"
    figures_on_page: bool = False
    starts_at: Micros | None = None
    """When it takes place, where the organiser said so."""
    venue: str = ""
    called_off: CalledOffRow | None = None


class Decided(Struct, frozen=True):
    """A decision the ledger has: the content it was for, and the frame every client gets."""

    want: str
    arrival: Arrival
    frame: bytes


class Cursor(Struct, frozen=True):
    arrival: Arrival
    batch_no: int


class Ending(Struct, frozen=True):
    """An active hold and when it runs out, with Postgres' clock of that look (of a pause: its beginning)."""

    hold_id: int
    buyer: str
    expires_at: Micros
    now: Micros


class SeatMap(Struct, frozen=True):
    """Every seat at one moment: one letter a seat (a, h, s, b) in plan order."""

    batch_no: int
    now: Micros
    """Postgres' clock at the snapshot."""
    states: str
    held_until: list[tuple[int, int]]
    """(seat number, expires_at in microseconds)"""
    areas_free: list[int]
    places_held_until: list[tuple[int, int]] = []
    """(area number, expires_at in microseconds) of holds of standing places, each pair once"""


def open_pool(url: str, *, size_max: int, size_min: int = 1) -> Pool:
    """A bounded pool, to be opened by its user. Who finds no connection in time gets `PoolTimeout`.

    While Postgres is away it goes on trying by itself. psycopg's pool does not: once its last attempt has
    failed, the next one is made for the next who asks, and nobody may ask while its queue is full, where
    those who gave up stay until there is a connection.
    """
    trying: set[asyncio.Task[None]] = set()

    async def try_again(pool: Pool) -> None:
        await asyncio.sleep(RECONNECT_SECONDS)
        if not pool.closed:
            await pool.check()  # makes an attempt if there is room for a connection and none under way

    def reconnect_failed(pool: Pool) -> None:
        task = asyncio.get_running_loop().create_task(try_again(pool))
        trying.add(task)
        task.add_done_callback(trying.discard)

    async def configure(connection: Conn) -> None:
        if await _by_way_of_a_pooler(connection):
            connection.prepare_threshold = None
            return
        await connection.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
        await connection.execute(f"SET lock_timeout = {LOCK_TIMEOUT_MS}")
        await connection.execute(PLAN_BY_KEY)

    return AsyncConnectionPool(
        url,
        kwargs={
            "autocommit": True,
            "application_name": "onsale gateway",
            "connect_timeout": 3,
            "options": ENDS_IDLE,
        },
        min_size=size_min,
        max_size=size_max,
        max_waiting=WAITING_MAX,
        timeout=CONNECTION_WAIT_SECONDS_MAX,
        reconnect_timeout=0.0,  # never wait long: each caller's own time-out decides
        reconnect_failed=reconnect_failed,
        configure=configure,
        check=AsyncConnectionPool.check_connection,
        open=False,
    )


async def _by_way_of_a_pooler(connection: Conn) -> bool:
    """Whether it is: deploy/pgbouncer.ini then sets what `configure` would."""
    return other_backend(connection, await (await connection.execute(BACKEND_ANSWERS)).fetchone())


PLAN_BY_KEY = """
-- Plans are made once, for any values, and stay while a sale goes from no rows to millions: they must be
-- right for millions. Made for an event's number they would follow statistics, which know nothing of a new
-- event; made for an empty table they would read all of it.
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off
"""

# One index probe a key: LIMIT keeps the planner from flattening the join into a scan of the ledger.
# The partial index `ledger_key` holds exactly the rows that are a key's one decision; `event_id + 0` is its
# first column: where every event known to statistics has one row, the primary key would look as good.
DECISIONS = """
SELECT asked.buyer, asked.request_id, found.input, found.arrival, found.outcome, found.result
  FROM unnest(%s::text[], %s::text[]) AS asked (buyer, request_id)
 CROSS JOIN LATERAL (
   SELECT input::text, arrival, outcome, result::text FROM ledger
    WHERE event_id + 0 = %s AND buyer = asked.buyer AND request_id = asked.request_id
      AND kind = 'request' AND outcome <> 'conflict'
    LIMIT 1) AS found
"""

PLAN_THAT_COUNTS = """
-- The event's own plan, if it has one: the last whose move decisions were made by.
  LEFT JOIN LATERAL (
    SELECT plan, plan_sha256, version FROM event_plan
     WHERE event_plan.event_id = event.id AND (version = 0 OR ledger_at IS NOT NULL)
     ORDER BY version DESC LIMIT 1) AS event_plan ON true
"""

_EVENT = f"""
SELECT event.id, event.slug, event.name, event.venue_id, event.state, event.hold_ttl_seconds,
       event.seats_per_buyer_max, event.fast_gate, (extract(epoch FROM event.opens_at) * 1000000)::bigint,
       (extract(epoch FROM event.lobby_opens_at) * 1000000)::bigint,
       event.extensions_max, event.extension_seconds, event.offer_ttl_seconds, event.limits,
       tour.slug, tour.name, tour.seats_per_buyer_max,
       fee_minor, fee_basis_points, tax_basis_points, tax_included,
       encode(coalesce(event_plan.plan_sha256, venue.plan_sha256), 'hex'), event.payment,
       event.late_payment,
       event.figures_on_page, (extract(epoch FROM event.starts_at) * 1000000)::bigint, venue.name,
       (extract(epoch FROM begun_at) * 1000000)::bigint, target.slug, target.name, target_venue.name,
       (extract(epoch FROM target.starts_at) * 1000000)::bigint
  FROM event JOIN venue ON venue.id = event.venue_id
  LEFT JOIN tour ON tour.id = event.tour_id
  LEFT JOIN event_price ON event_price.event_id = event.id
  LEFT JOIN called_off ON called_off.event_id = event.id
  LEFT JOIN event AS target ON target.id = called_off.to_event_id
  LEFT JOIN venue AS target_venue ON target_venue.id = target.venue_id
  {PLAN_THAT_COUNTS}
"""
READ_EVENT = _EVENT + " WHERE event.slug = %s"
READ_SLUGS = "SELECT id, slug FROM event WHERE id = ANY (%s::int[])"
LIST_EVENTS = _EVENT + f" ORDER BY event.id DESC LIMIT {EVENTS_MAX}"
READ_PLAN = f"""
SELECT coalesce(event_plan.plan, venue.plan),
       encode(coalesce(event_plan.plan_sha256, venue.plan_sha256), 'hex')
  FROM event JOIN venue ON venue.id = event.venue_id {PLAN_THAT_COUNTS}
 WHERE event.id = %s
"""
READ_PLAN_SHA256 = f"""
-- Which plan it is, without reading it: a large one has megabytes.
SELECT encode(coalesce(event_plan.plan_sha256, venue.plan_sha256), 'hex')
  FROM event JOIN venue ON venue.id = event.venue_id {PLAN_THAT_COUNTS}
 WHERE event.id = %s
"""
READ_MOVES = """
SELECT ledger_at, moved::text FROM event_plan
 WHERE event_id = %s AND version > 0 AND ledger_at IS NOT NULL ORDER BY version
"""
READ_CURSOR = "SELECT arrival, batch_no FROM event_cursor WHERE event_id = %s"

_ENDING = """
SELECT hold_id, buyer, (extract(epoch FROM expires_at) * 1000000)::bigint,
       (extract(epoch FROM coalesce(paused_at, now())) * 1000000)::bigint
  FROM hold JOIN event ON event.id = hold.event_id
 WHERE hold.event_id = %(event)s AND hold.state = 'active' AND expires_at > coalesce(paused_at, now())
"""
# Along the index of active holds, from where the last look ended.
ENDING_SOON = (
    _ENDING
    + f"""
   AND expires_at <= coalesce(paused_at, now()) + interval '{SOON_SECONDS} s'
   AND (expires_at, hold_id) > (to_timestamp(%(end)s / 1000000.0), %(hold)s::bigint)
 ORDER BY expires_at, hold_id LIMIT {ENDING_MAX}
"""
)
STILL_HELD = _ENDING + " AND hold_id = ANY (%(holds)s::bigint[])"

SNAPSHOT_CURSOR = """
SELECT batch_no, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
  FROM event_cursor WHERE event_id = %s
"""
SNAPSHOT_SEATS = """
SELECT coalesce(string_agg(left(state, 1), '' ORDER BY seat_no), '') FROM seat WHERE event_id = %s
"""
SNAPSHOT_HELD = """
SELECT hold_seat.seat_no, (extract(epoch FROM hold.expires_at) * 1000000)::bigint
  FROM hold_seat JOIN hold USING (event_id, hold_id)
 WHERE event_id = %s AND hold.state = 'active'
"""
SNAPSHOT_PLACES_HELD = """
SELECT DISTINCT hold_area.area_no, (extract(epoch FROM hold.expires_at) * 1000000)::bigint
  FROM hold_area JOIN hold USING (event_id, hold_id)
 WHERE event_id = %s AND hold.state = 'active'
"""
SNAPSHOT_AREAS = """
SELECT capacity - held - sold - blocked FROM area WHERE event_id = %s ORDER BY area_no
"""

_decode_was = msgspec.json.Decoder(WasOf).decode


async def decisions(connection: Conn, event_id: int, keys: Sequence[Key]) -> dict[Key, Decided]:
    """The decisions there are for these keys; a key without one is absent. At most `KEYS_MAX` keys."""
    assert len(keys) <= KEYS_MAX, "callers chunk their look-ups"
    buyers, request_ids = [key[0] for key in keys], [key[1] for key in keys]
    cursor = await connection.execute(DECISIONS, (buyers, request_ids, event_id))
    return {
        (buyer, request_id): Decided(want, arrival, decision_frame(request_id, arrival, outcome, result))
        for buyer, request_id, want, arrival, outcome, result in await cursor.fetchall()
    }


async def ending_soon(connection: Conn, event_id: int, end: int, hold: int) -> list[Ending]:
    """Active holds that run out within `SOON_SECONDS`, after (`end`, `hold`), in this order."""
    values = {"event": event_id, "end": end, "hold": hold}
    return [Ending(*row) for row in await (await connection.execute(ENDING_SOON, values)).fetchall()]


async def still_held(connection: Conn, event_id: int, holds: Sequence[int]) -> list[Ending]:
    """Those of these holds that still run."""
    values = {"event": event_id, "holds": list(holds)}
    return [Ending(*row) for row in await (await connection.execute(STILL_HELD, values)).fetchall()]


async def event_by_slug(connection: Conn, slug: str) -> EventRow:
    """Raises `NotFound` (event_not_found)."""
    row = await (await connection.execute(READ_EVENT, (slug,))).fetchone()
    if row is None:
        raise NotFound("event_not_found", f"There is no event {slug!r}. GET /v1/events lists them.")
    return _event(row)


async def slugs(connection: Conn, event_ids: Sequence[int]) -> dict[int, str]:
    """Event → its slug."""
    return dict(await (await connection.execute(READ_SLUGS, (list(event_ids),))).fetchall())


async def events(connection: Conn) -> list[EventRow]:
    """Newest first, at most `EVENTS_MAX`."""
    return [_event(row) for row in await (await connection.execute(LIST_EVENTS)).fetchall()]


def _event(row: tuple[Any, ...]) -> EventRow:
    number, slug, name, venue_id, state, *rest = row[:-5]
    *rest, sha256, payment, late_payment, on_page, starts_at, venue = rest
    tour = None if rest[-7] is None else TourRow(*rest[-7:-4])
    terms = PriceTerms() if rest[-1] is None else PriceTerms(*rest[-4:])
    off = _called_off(*row[-5:])
    rest = [*rest[:-7], tour, terms, sha256, payment, late_payment, on_page, starts_at, venue, off]
    return EventRow(number, slug, name, venue_id, EventState(state), *rest)


def _called_off(
    at: int | None, slug: str | None, name: str, venue: str, starts_at: int | None
) -> CalledOffRow | None:
    if at is None:
        return None
    when = None if starts_at is None else Micros(starts_at)
    return CalledOffRow(Micros(at), None if slug is None else ElsewhereRow(slug, name, venue, when))


async def plan_text(connection: Conn, event_id: int) -> tuple[bytes, str]:
    """(canonical JSON, its SHA-256 in hex) of an event's plan."""
    row = await (await connection.execute(READ_PLAN, (event_id,))).fetchone()
    assert row is not None, "an event's venue exists"
    return row[0].encode(), row[1]


async def plan_sha256(connection: Conn, event_id: int) -> str:
    """The SHA-256 of an event's plan, in hex."""
    row = await (await connection.execute(READ_PLAN_SHA256, (event_id,))).fetchone()
    assert row is not None, "an event's venue exists"
    return str(row[0])


async def plan_moves(connection: Conn, event_id: int) -> list[PlanMove]:
    """What was moved to other categories since the sale began, in order."""
    rows = await (await connection.execute(READ_MOVES, (event_id,))).fetchall()
    return [PlanMove(str(at), (was := _decode_was(moved)).seats, was.areas) for at, moved in rows]


async def cursor_of(connection: Conn, event_id: int) -> Cursor:
    """How far the event is decided."""
    row = await (await connection.execute(READ_CURSOR, (event_id,))).fetchone()
    assert row is not None, "an event has a cursor row from its making"
    return Cursor(*row)


async def seat_map(connection: Conn, event_id: int) -> SeatMap:
    """Seats, holds and areas of one snapshot, with the number of the last batch in it."""
    async with connection.transaction():
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        head = await (await connection.execute(SNAPSHOT_CURSOR, (event_id,))).fetchone()
        seats = await (await connection.execute(SNAPSHOT_SEATS, (event_id,))).fetchone()
        held = await (await connection.execute(SNAPSHOT_HELD, (event_id,))).fetchall()
        areas = await (await connection.execute(SNAPSHOT_AREAS, (event_id,))).fetchall()
        places = await (await connection.execute(SNAPSHOT_PLACES_HELD, (event_id,))).fetchall()
    assert head is not None, "an event has a cursor row from its making"
    assert seats is not None, "an aggregate returns one row"
    free, ends = [row[0] for row in areas], [(area, until) for area, until in places]
    return SeatMap(head[0], head[1], seats[0], [(no, until) for no, until in held], free, ends)
