"""How far an event's calling off is: canceled or moved, by whom and why, what is done and what is left."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import psycopg
from msgspec import Struct

from store.errors import NotFound
from store.events import get_event

Conn = psycopg.Connection[Any]

READ: Final = """
SELECT target.slug, who, why, begun_at, done_at, holds, waiting, refunded, rebooked,
       (SELECT count(*) FROM hold WHERE hold.event_id = called_off.event_id AND hold.state = 'active'),
       (SELECT count(*) FROM waiting WHERE waiting.event_id = called_off.event_id
           AND waiting.state = 'waiting'),
       (SELECT count(*) FROM hold WHERE hold.event_id = called_off.event_id AND hold.state = 'paid')
  FROM called_off LEFT JOIN event AS target ON target.id = to_event_id
 WHERE called_off.event_id = %(event)s
"""


class Left(Struct, frozen=True):
    """What is still to be ended, taken off the list, taken back or moved."""

    holds: int
    waiting: int
    orders: int


class CalledOff(Struct, frozen=True):
    """An event that does not take place."""

    event: str
    to: str | None
    """The event its orders go to; null: it is canceled."""
    who: str
    why: str
    begun_at: datetime
    done_at: datetime | None
    holds: int
    """That were ended."""
    waiting: int
    """Requests that were taken off the waiting list."""
    refunded: int
    """Orders that were taken back, with what was paid for them owed."""
    rebooked: int
    """Orders that were moved."""
    left: Left


def read(conn: Conn, slug: str) -> CalledOff:
    """Raises `NotFound` (unknown_event), (not_called_off)."""
    row = conn.execute(READ, {"event": get_event(conn, slug).id}).fetchone()
    if row is None:
        raise NotFound("not_called_off", f"Event {slug!r} is neither canceled nor moved.")
    to, who, why, begun_at, done_at, holds, waiting, refunded, rebooked, *left = row
    done = (holds, waiting, refunded, rebooked)
    return CalledOff(slug, to, who, why, begun_at, done_at, *done, Left(*left))
