"""Who is let in, and whose place ends: what the event's owner reads of its waiting room, and writes.

Everything is read first, with no lock. What was decided by it is written in one short transaction, whose
first statement changes the room's row from the version that was read: who decided by an older one changes
nothing. Each of the others counts what it changed, and where that is less than was decided (a buyer left, or
began, in that moment) all of it is rolled back and decided again.

Lock order: the room's row, then places. Joins take the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import psycopg
from msgspec import Struct

from store.errors import ShortWrite
from store.lost_time import RUN_BY
from store.room.telling import write_mails
from store.room.words import DUE, Admission, Lane, PlaceState
from store.words import Arrival, EventState, Micros

Conn = psycopg.Connection[Any]

ENDS_MAX: Final = 1_000
"""Most places that end in one step, and most who left that it counts."""
ORDERS_MAX: Final = 1_000
"""Most rows of the outbox that are read for one step."""
GONE_MAX: Final = 10_000
"""Most positions of who left that are passed over in one step."""
WRITE_MS_MAX: Final = 5_000
"""Joins wait for a step's transaction: it is ended then."""

_US: Final = "(extract(epoch FROM {}) * 1000000)::bigint"

READ: Final = f"""
SELECT version, event.state, admission, pace, shopping_max, room.ballot, lobby_ended_at IS NOT NULL,
       drawn_at IS NOT NULL, ballot_ended_at IS NOT NULL, serving, serving_priority, next_position,
       next_priority, admitted, credit, factor, rate, reason, told, event_cursor.arrival,
       {_US.format("clock.now")}, {_US.format("greatest(decided_at, drawn_at, ballot_ended_at)")},
       {_US.format(RUN_BY)}
  FROM room JOIN event ON event.id = event_id JOIN event_cursor USING (event_id),
       (SELECT clock_timestamp() AS now) AS clock
 WHERE event_id = %(event)s
"""

INSIDE: Final = """
-- Counted no further than it matters.
SELECT count(*)
  FROM (SELECT FROM place WHERE event_id + 0 = %(event)s AND state = 'admitted' LIMIT %(most)s) AS counted
"""

GIVING_BACK: Final = f"""
-- Who left after being called and before beginning, and is not counted yet.
SELECT id FROM place WHERE event_id = %(event)s AND gives_back LIMIT {ENDS_MAX}
"""

RETURNERS: Final = """
-- Who was called first is first again; of those called in one moment, as they stand in line.
SELECT id FROM place WHERE event_id = %(event)s AND state = 'waiting' AND returned
 ORDER BY admitted_at, (SELECT position FROM line WHERE place_id = place.id), id LIMIT %(most)s
"""

NEXT: Final = """
-- A stretch of the line, however many of it have left.
SELECT line.place_id, line.position FROM line JOIN place ON place.id = line.place_id
 WHERE line.event_id = %(event)s AND line.lane = %(lane)s
   AND line.position > %(serving)s AND line.position <= %(through)s AND place.state || '' = 'waiting'
 ORDER BY line.position LIMIT %(most)s
"""

DUE_NOW: Final = f"""
-- Who holds seats, or may still pay, is inside until that is over.
WITH busy AS MATERIALIZED (
  SELECT buyer FROM hold WHERE event_id = %(event)s AND state = 'active'
  UNION ALL
  SELECT buyer FROM payment WHERE event_id = %(event)s AND state IN ('created', 'failed'))
SELECT place.id, CASE WHEN bought_at IS NOT NULL THEN 'finished' ELSE 'expired' END, begun_at IS NULL
  FROM place
 WHERE event_id + 0 = %(event)s AND state = 'admitted' AND {DUE} <= to_timestamp(%(run_by)s / 1000000.0)
   AND NOT EXISTS (SELECT FROM busy WHERE busy.buyer = place.buyer)
 LIMIT {ENDS_MAX}
"""

ANY_DUE: Final = f"""
-- Whether it is worth asking who is busy.
SELECT EXISTS (
  SELECT FROM place
   WHERE event_id + 0 = %(event)s AND state = 'admitted' AND {DUE} <= to_timestamp(%(run_by)s / 1000000.0))
"""

ORDERS: Final = f"""
-- What buyers bought, of the outbox after the row that was read last; numbers have no gaps.
SELECT max(number), array_agg(body->>'buyer') FILTER (WHERE paid), array_agg(at) FILTER (WHERE paid)
  FROM (SELECT number, body, at, kind = 'order.paid' AND body->>'kind' = 'buyer' AS paid FROM outbox
         WHERE event_id = %(event)s AND number > %(told)s ORDER BY number LIMIT {ORDERS_MAX}) AS rows
"""

CHANGE: Final = """
-- From the version that was read, while the organiser still wants it so. Joins wait for the row.
UPDATE room SET version = version + 1, serving = %(serving)s, serving_priority = %(serving_priority)s,
       admitted = admitted + %(called)s, credit = %(credit)s, factor = %(factor)s, rate = %(rate)s,
       reason = %(reason)s, told = %(told)s, step_ms = %(step_ms)s,
       decided_at = to_timestamp(%(now)s / 1000000.0)
 WHERE event_id = %(event)s AND version = %(version)s AND admission = %(admission)s
"""

# `state || ''`, in statements that find places by key: where statistics know of none who are inside yet, the
# index of those would answer `state = 'admitted'`, and all who are inside would be read.
END: Final = f"""
-- Who began in this moment has begun, and who was given more time has it.
UPDATE place SET state = ended.state, ended_at = clock_timestamp(), version = %(version)s + 1
  FROM unnest(%(ids)s::uuid[], %(states)s::text[], %(unbegun)s::bool[]) AS ended (id, state, unbegun)
 WHERE place.id = ended.id AND place.state || '' = 'admitted' AND (begun_at IS NULL) = unbegun
   AND {DUE} <= to_timestamp(%(run_by)s / 1000000.0)
"""

GIVE_BACK: Final = """
-- With the decision that counts them, or not at all: each is counted once.
UPDATE place SET gives_back = false WHERE id = ANY (%(ids)s::uuid[]) AND gives_back
"""

ADMIT: Final = """
-- One moment for all of them: in a nested loop the clock would be read for each.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
UPDATE place SET state = 'admitted', admitted_at = clock.now, version = %(version)s + 1,
       begin_by = clock.now + begin_seconds * interval '1 second'
  FROM room, clock
 WHERE room.event_id = %(event)s AND place.id = ANY (%(ids)s::uuid[]) AND state || '' = 'waiting'
"""

BOUGHT: Final = """
-- What was bought before a buyer was admitted (in the ballot, say) is no reason to end their place.
UPDATE place SET bought_at = paid.at
  FROM unnest(%(buyers)s::text[], %(times)s::timestamptz[]) AS paid (buyer, at)
 WHERE event_id = %(event)s AND place.buyer = paid.buyer AND state IN ('waiting', 'admitted')
   AND state || '' = 'admitted' AND admitted_at < paid.at
"""


class Standing(Struct, frozen=True):
    """A room as its owner reads it, in the order of `READ`."""

    version: int
    state: EventState
    admission: Admission
    pace: int | None
    shopping_max: int | None
    ballot: bool
    lobby_ended: bool
    drawn: bool
    ballot_ended: bool
    serving: int
    serving_priority: int
    next_position: int
    next_priority: int
    admitted: int
    credit: float
    factor: float
    rate: float | None
    reason: str | None
    told: int
    arrival: Arrival
    """The cursor: what is above it in the event's stream is undecided."""
    now: Micros
    decided_at: Micros | None
    """When the last decision was made, or admission could begin."""
    run_by: Micros
    """The time that the event's holds run out by, and places with them: what a pause or an outage takes from
    them comes back."""


class Ending(Struct, frozen=True):
    """A place that ends."""

    place: UUID
    state: PlaceState
    unbegun: bool


class Orders(Struct, frozen=True):
    """Who bought something, by the outbox up to row `told`."""

    told: int
    buyers: Sequence[str] = ()
    times: Sequence[Any] = ()


class Change(Struct, frozen=True, kw_only=True):
    """What one step makes of a room."""

    ended: Sequence[Ending] = ()
    left: Sequence[UUID] = ()
    """Who left before beginning, and is counted by this."""
    returners: Sequence[UUID] = ()
    called: Sequence[UUID] = ()
    """Of the lanes, in no order."""
    serving: int
    serving_priority: int
    credit: float
    factor: float
    rate: float | None
    reason: str | None
    orders: Orders
    step_ms: float | None = None
    """How long the step before this one took its owner."""


def read(conn: Conn, event_id: int) -> Standing | None:
    """The room of an event, if it has one."""
    row = conn.execute(READ, {"event": event_id}).fetchone()
    if row is None:
        return None
    version, state, admission, *rest = row
    return Standing(version, EventState(state), Admission(admission), *rest)


def inside(conn: Conn, event_id: int, most: int) -> int:
    """How many are admitted and not gone, counted up to `most`."""
    return int(_one(conn, INSIDE, {"event": event_id, "most": most}))


def returners(conn: Conn, event_id: int, most: int) -> list[UUID]:
    """Who was called before, did not begin, and waits again."""
    return [place for (place,) in conn.execute(RETURNERS, {"event": event_id, "most": most})]


def giving_back(conn: Conn, event_id: int) -> list[UUID]:
    """Who left after being called and before beginning, and was not counted yet, at most `ENDS_MAX`."""
    return [place for (place,) in conn.execute(GIVING_BACK, {"event": event_id})]


def due(conn: Conn, event_id: int, run_by: Micros) -> list[Ending]:
    """Places that end now, at most `ENDS_MAX`."""
    values = {"event": event_id, "run_by": run_by}
    if not _one(conn, ANY_DUE, values):
        return []
    rows = conn.execute(DUE_NOW, values).fetchall()
    return [Ending(place, PlaceState(state), unbegun) for place, state, unbegun in rows]


def orders(conn: Conn, event_id: int, told: int) -> Orders:
    """What the outbox tells after row `told`, at most `ORDERS_MAX` rows of it."""
    row = conn.execute(ORDERS, {"event": event_id, "told": told}).fetchone()
    assert row is not None, "an aggregate is one row"
    last, buyers, times = row
    return Orders(told) if last is None else Orders(last, buyers or (), times or ())


def next_of(conn: Conn, event_id: int, standing: Standing, lane: Lane, most: int) -> tuple[list[UUID], int]:
    """The next `most` who wait in a lane, and up to which position it is called with them."""
    was, stands = standing.serving, standing.next_position - 1
    if lane is Lane.PRIORITY:
        was, stands = standing.serving_priority, standing.next_priority - 1
    if most == 0:
        return [], was
    through = min(stands, was + most + GONE_MAX)
    values = {"event": event_id, "lane": lane.value, "serving": was, "through": through, "most": most}
    rows = conn.execute(NEXT, values).fetchall()
    return [place for place, _ in rows], rows[-1][1] if len(rows) == most else through


def write(conn: Conn, event_id: int, standing: Standing, change: Change) -> int:
    """Make it true: the room's new version. Raises `ShortWrite` where something is not as it was read by now:
    nothing was changed then."""
    values: dict[str, Any] = {"event": event_id, "version": standing.version, "now": standing.now}
    values |= {
        "admission": standing.admission.value,
        "called": len(change.called),
        "told": change.orders.told,
    }
    kept = ("serving", "serving_priority", "credit", "factor", "rate", "reason", "step_ms")
    values |= {name: getattr(change, name) for name in kept}
    with conn.transaction():
        conn.execute(f"SET LOCAL statement_timeout = {WRITE_MS_MAX}")
        _counted(conn, CHANGE, values, 1, "room")
        if change.ended:
            ended: dict[str, Any] = {"version": standing.version, "run_by": standing.run_by}
            ended["ids"] = [one.place for one in change.ended]
            ended["states"] = [one.state.value for one in change.ended]
            ended["unbegun"] = [one.unbegun for one in change.ended]
            _counted(conn, END, ended, len(change.ended), "places that end")
        if change.left:
            _counted(conn, GIVE_BACK, {"ids": change.left}, len(change.left), "who left before beginning")
        ids = [*change.returners, *change.called]
        if ids:
            admitted = {"event": event_id, "version": standing.version, "ids": ids}
            _counted(conn, ADMIT, admitted, len(ids), "places that are admitted")
            write_mails(conn, ids)
        if change.orders.buyers:
            paid = {"event": event_id, "buyers": change.orders.buyers, "times": change.orders.times}
            conn.execute(BOUGHT, paid)
    return standing.version + 1


def _counted(conn: Conn, statement: str, values: dict[str, Any], count: int, what: str) -> None:
    changed = conn.execute(statement, values).rowcount
    if changed != count:
        raise ShortWrite(f"{changed} of {count} {what} are as they were read")


def _one(conn: Conn, statement: str, values: dict[str, Any]) -> Any:
    row = conn.execute(statement, values).fetchone()
    assert row is not None, "the statement returns one row"
    return row[0]
