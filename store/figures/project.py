"""The projector: counts what is new in the outbox and in the ledger, and writes it down with how far it is.

Promises:
- each row counts once: figures and positions are one row, written only from the positions that were read.
  Of two projectors at once one wins a step and the other counts on from there;
- no row is missed: the outbox's numbers and the ledger's batches have no gaps, and who finds one says so
  (`Forgotten`) instead of counting on;
- killed anywhere, it goes on from what is written. `rebuild` counts from the first row and gives the same;
  what was forgotten of the outbox stands for itself in `store.figures.kept`.

It reads without locking and has no transaction open; nobody waits for it, and no decision depends on it.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Final, NamedTuple

import msgspec
import psycopg

from store import outbox
from store.database import OPTIONS
from store.errors import Conflicted, Unavailable
from store.figures import kept
from store.figures.fold import Figures, change_of_ledger, plus
from store.figures.kept import decode
from store.figures.rows import UNREADABLE, Plans, capacity_of, change_of_rows
from store.outbox import Row
from store.plan import Plan

log = logging.getLogger("onsale.figures")

Conn = psycopg.Connection[Any]
LEDGER_ROWS_MAX: Final = 50_000
"""About so many rows of the ledger one step counts: at least one batch of them."""
BATCHES_MAX: Final = 2_000
EVENTS_MAX: Final = 500
"""Most events one look finds; there are more looks."""
REBUILDS_MAX: Final = 10
"""So often one begins again because rows were forgotten meanwhile."""
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
-- With what was forgotten of the outbox already, if anything was.
INSERT INTO figures (event_id, outbox_number, capacity, figures)
SELECT %(event)s, coalesce(kept.outbox_number, 0), %(capacity)s, coalesce(kept.figures, '{}')
  FROM (SELECT %(event)s::int AS event_id) AS this
  LEFT JOIN figures_kept AS kept ON kept.event_id = this.event_id
ON CONFLICT (event_id) DO NOTHING
"""

COUNT_ON: Final = """
-- From the positions that were read, or not at all. Locks the one row.
UPDATE figures SET outbox_number = %(number)s, batch_no = %(batch)s, figures = %(figures)s,
       changed_at = clock_timestamp()
 WHERE event_id = %(event)s AND (outbox_number, batch_no) = (%(was_number)s, %(was_batch)s)
"""

LOCK: Final = "SELECT 1 FROM figures WHERE event_id = %(event)s FOR UPDATE"

PUT: Final = """
-- What was counted from the first row, in the place of what is there. The row is locked (`LOCK`) by whoever
-- forgets rows, too, so they forget none from now on that is not in it; what was forgotten before, is.
UPDATE figures SET outbox_number = %(number)s, batch_no = %(batch)s, capacity = %(capacity)s,
       figures = %(figures)s, changed_at = clock_timestamp()
 WHERE event_id = %(event)s
   AND %(number)s >= coalesce((SELECT outbox_number FROM figures_kept WHERE event_id = %(event)s), 0)
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

TOLD_SO_FAR: Final = "SELECT coalesce((SELECT rows FROM outbox_count WHERE event_id = %(event)s), 0)"


class Forgotten(Conflicted):
    """Rows of the outbox are gone that nobody counted and nothing was kept of."""


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


def step(conn: Conn, event_id: int, plan: Plan) -> int:
    """Count what is next, one bounded piece; how much that was, 0 when all is counted.

    `conn` commits by itself. Raises `Forgotten`.
    """
    row = conn.execute(READ, {"event": event_id}).fetchone()
    if row is None:
        conn.execute(BEGIN, {"event": event_id, "capacity": capacity_of(plan)})
        return 1
    was = _At(row[0], row[1])
    try:
        found = _next(conn, event_id, was, plan)
    except Forgotten:
        if conn.execute(READ, {"event": event_id}).fetchone() != row:
            return 1  # somebody else counted these, and then they were forgotten
        raise
    if found.rows:
        after = plus(decode(row[2]), found.change)
        values = _values(event_id, found.at, after)
        values |= {"was_number": was.number, "was_batch": was.batch_no}
        conn.execute(COUNT_ON, values)  # if somebody else counted this, the next step goes on from there
    return found.rows


def rebuild(conn: Conn, event_id: int, plan: Plan) -> Figures:
    """Count an event anew, from the first row there ever was; what was counted stays until all of it is.

    `conn` commits by itself. Raises `Forgotten` where rows are gone and nothing was kept of them, and
    `Unavailable` where rows were forgotten again and again meanwhile; then nothing was changed.
    """
    values = {"event": event_id, "capacity": capacity_of(plan)}
    for _ in range(REBUILDS_MAX):
        begun = kept.read(conn, event_id)
        try:
            at, figures = _all_from(conn, event_id, plan, begun)
        except Forgotten:
            if kept.read(conn, event_id) == begun:
                raise
            continue
        counted = _values(event_id, at, figures) | values
        with conn.transaction():
            conn.execute(BEGIN, values)
            conn.execute(LOCK, values)
            put = conn.execute(PUT, counted)
        if put.rowcount:
            return figures
    raise Unavailable("Rows were being forgotten meanwhile. The figures are as before; try again.")


def _all_from(conn: Conn, event_id: int, plan: Plan, begun: kept.Kept) -> tuple[_At, Figures]:
    at, figures = _At(begun.outbox_number), begun.figures
    while True:
        found = _next(conn, event_id, at, plan)
        if not found.rows:
            return at, figures
        at, figures = found.at, plus(figures, found.change)


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
    plans, unreadable = Plans(), set[int]()
    while not stop.is_set():
        counted = 0
        for (event_id,) in conn.execute(NEWS).fetchall():
            if stop.is_set():
                return
            try:
                counted += step(conn, event_id, plans.of(conn, event_id))
            except (Forgotten, *UNREADABLE):
                if event_id not in unreadable:
                    log.exception("ALERT: figures of event %d stay: a row cannot be counted", event_id)
                unreadable.add(event_id)
        if not counted:
            stop.wait(LOOK_SECONDS)


def _next(conn: Conn, event_id: int, at: _At, plan: Plan) -> _Step:
    rows = _rows_after(conn, event_id, at.number)
    change = change_of_rows(conn, event_id, rows, plan)
    values = {"event": event_id, "batch": at.batch_no}
    last = conn.execute(NEXT_BATCHES, values).fetchall()[0][0] or at.batch_no
    if last > at.batch_no:
        counted = conn.execute(COUNT_LEDGER, values | {"last": last}).fetchall()
        change = plus(change, change_of_ledger(counted))
    return _Step(_At(at.number + len(rows), last), change, len(rows) + last - at.batch_no)


def _rows_after(conn: Conn, event_id: int, number: int) -> list[Row]:
    """An event's next rows; raises `Forgotten` unless they are the very next ones."""
    told = conn.execute(TOLD_SO_FAR, {"event": event_id}).fetchall()[0][0]
    rows = outbox.read_after(conn, event_id, number)
    whole = rows[-1].number == number + len(rows) if rows else told <= number
    if not whole:
        upto = rows[0].number - 1 if rows and rows[0].number > number + 1 else told
        story = f"Rows {number + 1} to {upto} of the event's outbox are gone, and nothing was kept of them."
        advice = "The figures stay as they are. What the sale came to is in its settlement, from the tables."
        raise Forgotten("rows_forgotten", f"{story} {advice}")
    return rows


def _values(event_id: int, at: _At, figures: Figures) -> dict[str, object]:
    body = msgspec.json.encode(figures).decode()
    return {"event": event_id, "number": at.number, "batch": at.batch_no, "figures": body}
