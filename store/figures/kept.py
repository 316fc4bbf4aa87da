"""What forgotten rows of an event's outbox came to, so that figures can be counted anew without them.

Promises:
- rows are forgotten from the first on, without gaps, in the transaction that adds up what they come to: a row
  is there, or it is in what is kept, never both and never neither;
- only rows are forgotten that the event's figures have counted by then (`FOR SHARE`: nobody puts figures that
  counted fewer in their place meanwhile).

The sum stands for its rows exactly, because changes are added up (`store.figures.fold`).
"""

from __future__ import annotations

import logging
from typing import Any, Final

import msgspec
import psycopg
from msgspec import Struct

from store.errors import NotFound
from store.figures.fold import NOTHING, Figures, plus
from store.figures.rows import UNREADABLE, Plans, change_of_rows
from store.outbox import Row, rows_of

log = logging.getLogger("onsale.figures")

Conn = psycopg.Connection[Any]

READ: Final = "SELECT outbox_number, figures::text FROM figures_kept WHERE event_id = %(event)s"

LOCK_ROWS: Final = """
-- The event's first rows. Where somebody else forgets them just now, these are not its first.
SELECT number, id, kind, body::text, (extract(epoch FROM at) * 1000000)::bigint,
       (SELECT min(number) FROM outbox WHERE event_id = %(event)s)
  FROM outbox WHERE event_id = %(event)s AND number <= %(through)s
 ORDER BY number FOR UPDATE SKIP LOCKED
"""

LOCK_FIGURES: Final = """
-- How far they are; they do not become fewer until this commits.
SELECT outbox_number FROM figures WHERE event_id = %(event)s FOR SHARE
"""

KEEP: Final = """
INSERT INTO figures_kept (event_id, outbox_number, figures) VALUES (%(event)s, %(number)s, %(figures)s)
ON CONFLICT (event_id) DO UPDATE SET outbox_number = excluded.outbox_number, figures = excluded.figures
"""

FORGET: Final = "DELETE FROM outbox WHERE event_id = %(event)s AND number <= %(number)s"

decode: Final = msgspec.json.Decoder(Figures).decode


class Kept(Struct, frozen=True):
    """What the rows came to up to that number."""

    outbox_number: int = 0
    figures: Figures = NOTHING


def read(conn: Conn, event_id: int) -> Kept:
    """What is kept of an event; nothing of one of which nothing was forgotten."""
    row = conn.execute(READ, {"event": event_id}).fetchone()
    return Kept() if row is None else Kept(row[0], decode(row[1]))


def forget(conn: Conn, event_id: int, through: int, plans: Plans) -> int:
    """Forget an event's first rows up to that number and keep what they came to; how many.

    Fewer, or none, where somebody else does it just now, where the figures have not counted them yet, and
    where a row cannot be read. Of an event that is not there nothing is kept.
    """
    with conn.transaction():
        values: dict[str, Any] = {"event": event_id, "through": through}
        rows = _first_rows(conn, values)
        if not rows:
            return 0
        try:
            plan = plans.of(conn, event_id)
        except NotFound:
            return conn.execute(FORGET, values | {"number": rows[-1].number}).rowcount
        counted = conn.execute(LOCK_FIGURES, values).fetchone()
        rows = [row for row in rows if counted is not None and row.number <= counted[0]]
        if not rows:
            return 0
        was = read(conn, event_id)
        try:
            figures = plus(was.figures, change_of_rows(conn, event_id, rows, plan))
        except UNREADABLE:
            log.exception("ALERT: rows of event %d stay: one cannot be counted", event_id)
            return 0
        values |= {"number": rows[-1].number, "figures": msgspec.json.encode(figures).decode()}
        if rows[0].number == was.outbox_number + 1:  # else the first are lost: no sum
            conn.execute(KEEP, values)
        return conn.execute(FORGET, values).rowcount


def _first_rows(conn: Conn, values: dict[str, Any]) -> list[Row]:
    """Locked, one after the other without a gap; none where these are not the event's first."""
    found = conn.execute(LOCK_ROWS, values).fetchall()
    rows = rows_of([row[:-1] for row in found])
    if not rows or rows[0].number != found[0][-1]:
        return []
    return [row for place, row in enumerate(rows) if row.number == rows[0].number + place]
