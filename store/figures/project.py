"""The projector: counts what is new in the outbox and in the ledger, and writes it down with how far it is.

Promises:
- each row counts once: figures and positions are one row, written only from the positions that were read.
  Of two projectors at once one wins a step and the other counts on from there;
- no row is missed: the outbox is read as `store.outbox` says, the ledger batch by batch, without gaps;
- killed anywhere, it goes on from what is written. `rebuild` counts from the first row and gives the same.

It reads without locking and has no transaction open; nobody waits for it, and no decision depends on it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
import psycopg

from store import lookups, outbox
from store import plan as plans
from store.database import OPTIONS
from store.errors import NotFound
from store.figures.fold import NOTHING, Figures, Known, change_of, change_of_ledger, needed, plus, total
from store.outbox import Row, Told
from store.payments.charges import Line
from store.plan import Plan

log = logging.getLogger("onsale.figures")

Conn = psycopg.Connection[Any]
LEDGER_ROWS_MAX: Final = 50_000
"""About so many rows of the ledger one step counts: at least one batch of them."""
BATCHES_MAX: Final = 2_000
EVENTS_MAX: Final = 500
"""Most events one look finds; there are more looks."""
PLANS_MAX: Final = 16
"""So many plans are kept in memory."""
LOOK_SECONDS: Final = 0.5
AWAY_SECONDS: Final = 1.0

NEWS: Final = f"""
-- Events of which something is not counted yet; the longest neglected first.
SELECT event.id FROM event
  JOIN event_cursor ON event_cursor.event_id = event.id
  LEFT JOIN figures ON figures.event_id = event.id
 WHERE figures.event_id IS NULL OR event_cursor.batch_no > figures.batch_no
    OR EXISTS (SELECT FROM outbox
                WHERE outbox.event_id = event.id AND outbox.number > figures.outbox_number)
 ORDER BY figures.changed_at NULLS FIRST, event.id LIMIT {EVENTS_MAX}
"""

YET_TO_COUNT: Final = """
EXISTS (SELECT 1 FROM event LEFT JOIN figures ON figures.event_id = event.id
         WHERE event.id = o.event_id AND coalesce(figures.outbox_number, 0) < o.number)
"""
"""The condition that row `o` of the outbox is not counted yet, for whoever forgets rows."""

READ: Final = "SELECT outbox_number, batch_no, figures::text FROM figures WHERE event_id = %(event)s"

BEGIN: Final = """
INSERT INTO figures (event_id, capacity, figures) VALUES (%(event)s, %(capacity)s, '{}')
ON CONFLICT (event_id) DO NOTHING
"""

COUNT_ON: Final = """
-- From the positions that were read, or not at all. Locks the one row.
UPDATE figures SET outbox_number = %(number)s, batch_no = %(batch)s, figures = %(figures)s,
       changed_at = clock_timestamp()
 WHERE event_id = %(event)s AND (outbox_number, batch_no) = (%(was_number)s, %(was_batch)s)
"""

PUT: Final = """
-- What was counted from the first row, in the place of whatever is there.
INSERT INTO figures (event_id, outbox_number, batch_no, capacity, figures)
VALUES (%(event)s, %(number)s, %(batch)s, %(capacity)s, %(figures)s)
ON CONFLICT (event_id) DO UPDATE SET outbox_number = excluded.outbox_number,
       batch_no = excluded.batch_no, capacity = excluded.capacity, figures = excluded.figures,
       changed_at = clock_timestamp()
"""

NEXT_BATCHES: Final = f"""
-- The last batch of a step. A batch has 16 bytes of digests for each of its rows.
SELECT max(batch_no) FROM (
  SELECT batch_no, sum(length(row_digests) / 16) OVER (ORDER BY batch_no) - length(row_digests) / 16 AS before
    FROM ledger_batch WHERE event_id = %(event)s AND batch_no > %(batch)s
   ORDER BY batch_no LIMIT {BATCHES_MAX}) AS coming
 WHERE before < {LEDGER_ROWS_MAX}
"""

COUNT_LEDGER: Final = """
-- Along the key. Of the rest of the rows no figure is made.
SELECT kind, outcome, other, count(*) FROM (
  SELECT kind, outcome,
         CASE WHEN outcome = 'held' THEN result ->> 'moved' IS NOT NULL
              WHEN outcome = 'released' THEN input ->> 'body' IS NOT NULL ELSE false END AS other
    FROM ledger WHERE event_id = %(event)s AND batch_no > %(batch)s AND batch_no <= %(last)s
     AND (kind IN ('offer', 'expired') OR outcome IN ('held', 'released'))) AS rows
 GROUP BY kind, outcome, other
"""

CHARGED: Final = """
-- What these orders were paid for with: it never changes while they are this event's.
SELECT order_id, charged -> 'lines' FROM payment
 WHERE event_id = %(event)s AND order_id = ANY (%(orders)s::bigint[])
"""

PAID_BEFORE: Final = f"""
-- The same of orders that went to another event with their payment: from the row that told of them.
SELECT (body ->> 'order')::bigint, body -> 'lines' FROM outbox
 WHERE event_id = %(event)s AND kind = '{Told.ORDER_PAID}'
   AND (body ->> 'order')::bigint = ANY (%(orders)s::bigint[])
"""

BATCH_TIMES: Final = """
SELECT batch_no, (extract(epoch FROM batch_time) * 1000000)::bigint FROM ledger_batch
 WHERE event_id = %(event)s AND batch_no = ANY (%(batches)s::bigint[])
"""


_UNREADABLE = (msgspec.MsgspecError, LookupError, AssertionError)
"""A row that is not as it must be: its event's figures grow old, and say so; the others go on."""


class _At(NamedTuple):
    """How far something is counted."""

    number: int = 0
    """Of the outbox."""
    batch_no: int = 0


class _Step(NamedTuple):
    """What one step found."""

    at: _At
    change: Figures
    rows: int
    """Outbox rows and batches; 0: nothing is left for now."""


class Plans:
    """Plans of events, the last used ones: sections and capacities never change."""

    def __init__(self) -> None:
        self._kept: dict[int, Plan] = {}

    def of(self, conn: Conn, event_id: int) -> Plan:
        """Raises `NotFound` for no such event."""
        plan = self._kept.pop(event_id, None)
        if plan is None:
            row = conn.execute(lookups.READ_PLAN, (event_id,)).fetchone()
            if row is None:
                raise NotFound("unknown_event", f"There is no event number {event_id}.")
            plan = plans.decode(row[0].encode())
        self._kept[event_id] = plan
        while len(self._kept) > PLANS_MAX:
            del self._kept[next(iter(self._kept))]
        return plan


def capacity_of(plan: Plan) -> int:
    """Seats and places."""
    return len(plan.seats) + sum([area.capacity for area in plan.areas])


def step(conn: Conn, event_id: int, plan: Plan) -> int:
    """Count what is next, one bounded piece; how much that was, 0 when all is counted.

    `conn` commits by itself.
    """
    row = conn.execute(READ, {"event": event_id}).fetchone()
    if row is None:
        conn.execute(BEGIN, {"event": event_id, "capacity": capacity_of(plan)})
        return 1
    was = _At(row[0], row[1])
    found = _next(conn, event_id, was, plan)
    if found.rows:
        after = plus(decode(row[2]), found.change)
        values = _values(event_id, found.at, after)
        values |= {"was_number": was.number, "was_batch": was.batch_no}
        conn.execute(COUNT_ON, values)  # if somebody else counted this, the next step goes on from there
    return found.rows


def rebuild(conn: Conn, event_id: int, plan: Plan) -> Figures:
    """Count an event anew, from the first row there is; what was counted stays until all of it is."""
    at, figures = _At(), NOTHING
    while True:
        found = _next(conn, event_id, at, plan)
        if not found.rows:
            break
        at, figures = found.at, plus(figures, found.change)
    conn.execute(PUT, _values(event_id, at, figures) | {"capacity": capacity_of(plan)})
    return figures


def run(database_url: str, stop: threading.Event) -> None:
    """Keep every event's figures up to date until told to stop; returns within a second of that."""
    while not stop.is_set():
        try:
            with _connect(database_url) as conn:
                _follow(conn, stop)
        except psycopg.OperationalError as error:
            log.warning("figures wait for the database: %s", error)
            stop.wait(AWAY_SECONDS)


def _connect(database_url: str) -> Conn:
    return psycopg.connect(
        database_url, autocommit=True, application_name="onsale figures", options=OPTIONS, connect_timeout=3
    )


def _follow(conn: Conn, stop: threading.Event) -> None:
    kept, unreadable = Plans(), set[int]()
    while not stop.is_set():
        counted = 0
        for (event_id,) in conn.execute(NEWS).fetchall():
            if stop.is_set():
                return
            try:
                counted += step(conn, event_id, kept.of(conn, event_id))
            except _UNREADABLE:
                if event_id not in unreadable:
                    log.exception("ALERT: figures of event %d stay: a row cannot be counted", event_id)
                unreadable.add(event_id)
        if not counted:
            stop.wait(LOOK_SECONDS)


def _next(conn: Conn, event_id: int, at: _At, plan: Plan) -> _Step:
    rows = outbox.read_after(conn, event_id, at.number)
    known = _known(conn, event_id, rows)
    change = total([change_of(row, known, plan) for row in rows])
    values = {"event": event_id, "batch": at.batch_no}
    last = conn.execute(NEXT_BATCHES, values).fetchall()[0][0] or at.batch_no
    if last > at.batch_no:
        counted = conn.execute(COUNT_LEDGER, values | {"last": last}).fetchall()
        change = plus(change, change_of_ledger(counted))
    number = rows[-1].number if rows else at.number
    return _Step(_At(number, last), change, len(rows) + last - at.batch_no)


def _known(conn: Conn, event_id: int, rows: Sequence[Row]) -> Known:
    orders, batches = needed(rows)
    lines: dict[int, tuple[Line, ...]] = {}
    for statement in (CHARGED, PAID_BEFORE):
        missing = sorted(orders - lines.keys())
        if missing:
            found = conn.execute(statement, {"event": event_id, "orders": missing}).fetchall()
            lines |= {order: msgspec.convert(told or [], tuple[Line, ...]) for order, told in found}
    times: dict[int, int] = {}
    if batches:
        values = {"event": event_id, "batches": sorted(batches)}
        times = dict(conn.execute(BATCH_TIMES, values).fetchall())
    return Known(lines, times)


def _values(event_id: int, at: _At, figures: Figures) -> dict[str, object]:
    body = msgspec.json.encode(figures).decode()
    return {"event": event_id, "number": at.number, "batch": at.batch_no, "figures": body}


decode: Final = msgspec.json.Decoder(Figures).decode
