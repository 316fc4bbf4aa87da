"""Find a buyer of an event: by what somebody who asks for help can say. Bounded; reads along indexes, but for
a request's id, which is looked for among all of the event's keys."""

from __future__ import annotations

from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.rows import tuple_row

from store.errors import BadRequest

Conn = psycopg.Connection[Any]

TEXT_LENGTH_MIN: Final = 3
TEXT_LENGTH_MAX: Final = 254
FOUND_MAX: Final = 50

BEGINS: Final = """
-- The next buyer after each, along the key: one look for each that is told.
WITH RECURSIVE asked AS (
  (SELECT buyer FROM ledger WHERE event_id + 0 = %(event)s AND kind = 'request' AND outcome <> 'conflict'
      AND buyer >= %(text)s ORDER BY buyer LIMIT 1)
  UNION ALL
  SELECT (SELECT buyer FROM ledger WHERE event_id + 0 = %(event)s AND kind = 'request'
             AND outcome <> 'conflict' AND buyer > asked.buyer ORDER BY buyer LIMIT 1)
    FROM asked WHERE starts_with(asked.buyer, %(text)s)),
waits AS (
  SELECT buyer FROM place WHERE event_id = %(event)s AND state IN ('waiting', 'admitted')
     AND buyer >= %(text)s ORDER BY buyer LIMIT %(limit)s),
has AS (
  SELECT buyer FROM hold WHERE event_id = %(event)s AND state IN ('paid', 'refunded')
     AND buyer >= %(text)s ORDER BY buyer LIMIT %(limit)s)
SELECT buyer FROM (
  (SELECT buyer FROM asked WHERE starts_with(buyer, %(text)s) LIMIT %(limit)s)
  UNION SELECT buyer FROM waits WHERE starts_with(buyer, %(text)s)
  UNION SELECT buyer FROM has WHERE starts_with(buyer, %(text)s)) AS found
 ORDER BY buyer LIMIT %(limit)s
"""

BY_MAIL: Final = """
SELECT buyer FROM payment WHERE lower(email) = lower(%(text)s) AND email IS NOT NULL AND event_id = %(event)s
 UNION
SELECT buyer FROM place WHERE lower(email) = lower(%(text)s) AND email IS NOT NULL AND event_id = %(event)s
 ORDER BY buyer LIMIT %(limit)s
"""

BY_REQUEST: Final = """
SELECT DISTINCT buyer FROM ledger
 WHERE event_id + 0 = %(event)s AND request_id = %(text)s AND kind = 'request' AND outcome <> 'conflict'
 ORDER BY buyer LIMIT %(limit)s
"""

BY_HOLD: Final = """
SELECT buyer, state IN ('paid', 'refunded') FROM hold WHERE event_id = %(event)s AND hold_id = %(number)s
"""
BY_PAYMENT: Final = "SELECT buyer FROM payment WHERE id = %(number)s AND event_id = %(event)s"

BY_TICKET: Final = """
-- The code under which it is offered to somebody.
SELECT coalesce(ticket.holder, hold.buyer) FROM ticket
  JOIN hold ON hold.event_id = ticket.event_id AND hold.hold_id = ticket.order_id
 WHERE offer_code = %(text)s AND ticket.event_id = %(event)s
"""


class FoundBuyer(Struct, frozen=True):
    """A buyer, and what the text was of theirs."""

    buyer: str
    by: str


class Found(Struct, frozen=True):
    """At most so many as were asked for; `more`: there are others."""

    found: list[FoundBuyer]
    more: bool


def find(conn: Conn, event_id: int, text: str, limit: int = 20) -> Found:
    """Whoever that text is of; raises `BadRequest` (find_too_short, invalid_find)."""
    text = text.strip()
    if len(text) < TEXT_LENGTH_MIN and not text.isdigit():
        story = f"Give {TEXT_LENGTH_MIN} characters or more of what you know."
        raise BadRequest("find_too_short", story)
    if len(text) > TEXT_LENGTH_MAX or not text.isprintable() or not 1 <= limit <= FOUND_MAX:
        story = f"Give at most {TEXT_LENGTH_MAX} printable characters; limit is 1 to {FOUND_MAX}."
        raise BadRequest("invalid_find", story)
    values: dict[str, Any] = {"event": event_id, "text": text, "limit": limit + 1}
    found: list[tuple[str, str]] = []
    if text.isascii() and text.isdigit() and len(text) <= 18:
        values["number"] = int(text)
        found += [(buyer, "order" if paid else "hold") for buyer, paid in _rows(conn, BY_HOLD, values)]
        found += [(buyer, "payment") for (buyer,) in _rows(conn, BY_PAYMENT, values)]
    if "@" in text:
        found += [(buyer, "mail") for (buyer,) in _rows(conn, BY_MAIL, values)]
    found += [(buyer, "ticket") for (buyer,) in _rows(conn, BY_TICKET, values)]
    found += [(buyer, "request") for (buyer,) in _rows(conn, BY_REQUEST, values)]
    found += [(buyer, "buyer") for (buyer,) in _rows(conn, BEGINS, values)]
    told = [FoundBuyer(*one) for one in dict.fromkeys(found)]
    return Found(told[:limit], len(told) > limit)


def _rows(conn: Conn, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    return conn.cursor(row_factory=tuple_row).execute(statement.encode(), values).fetchall()
