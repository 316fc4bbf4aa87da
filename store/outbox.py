"""What the world outside is told: rows of the transaction that made it true, in an order that holds.

An event's rows are numbered 1, 2, 3 … without gaps, by a counter that the transaction which writes keeps
locked until it commits. So they are seen in their order, whoever reads on from a number misses none, and what
follows from a change comes after it. The counter is the last thing that a transaction locks, with nothing
left to wait for; a transaction tells all it has to tell of an event in one statement.

Rows name seats and areas by their numbers in the plan; whoever tells them to people names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec
import psycopg
from psycopg.rows import tuple_row

ROWS_MAX: Final = 1_000
"""Most rows one reading gives."""

INSERT: Final = """
-- Locks the events' counters, by event. The bodies are one JSON array: in an array of texts each quote would
-- have to be escaped, which costs more than all else.
WITH told AS (
  SELECT event_id, kind, body, row_number() OVER (PARTITION BY event_id ORDER BY place) AS place
    FROM ROWS FROM (unnest(%(events)s::int[]), unnest(%(kinds)s::text[]),
                    json_array_elements(%(bodies)s::json))
         WITH ORDINALITY AS row (event_id, kind, body, place)),
counted AS (
  INSERT INTO outbox_count AS counter (event_id, rows)
  SELECT event_id, count(*) FROM told GROUP BY event_id ORDER BY event_id
  ON CONFLICT (event_id) DO UPDATE SET rows = counter.rows + excluded.rows
  RETURNING event_id, rows)
INSERT INTO outbox (event_id, number, kind, body)
SELECT event_id, counted.rows - count(*) OVER (PARTITION BY event_id) + place, kind, body
  FROM told JOIN counted USING (event_id)
"""

READ_AFTER: Final = """
SELECT number, id, kind, body::text, (extract(epoch FROM at) * 1000000)::bigint FROM outbox
 WHERE event_id = %(event)s AND number > %(after)s ORDER BY number LIMIT %(limit)s
"""


class Told(StrEnum):
    """What a row tells; its `kind`."""

    ORDER_PAID = "order.paid"
    """A hold became an order: {order, buyer, kind, seats, areas}; where it was paid for also {payment, hold,
    currency, amount_minor, fee_minor, tax_minor, lines}."""
    ORDER_CHANGED = "order.changed"
    """Some of an order was taken back. {order, buyer, kind, seats, areas}: what it has no longer;
    `refund_minor`: what its buyer gets back; where that is something, `currency`, `lines`, `reason`."""
    ORDER_REFUNDED = "order.refunded"
    """All of it was: the same."""
    PAYMENT_LATE = "payment.late"
    """Money came when the hold had run out, and the seats are asked for again: {payment, hold, buyer,
    amount_minor, currency}."""
    PAYMENT_REFUND_DUE = "payment.refund_due"
    """Money goes back: the same, with `reason`."""
    PAYMENT_REFUNDED = "payment.refunded"
    """Money went back: {payment, refund, buyer, amount_minor, currency, reason, order}."""
    TICKET_TRANSFERRED = "ticket.transferred"
    EVENT_CANCELED = "event.canceled"
    """{event, why, name, venue, starts_at}; `order.refunded` of each order follows."""
    EVENT_MOVED = "event.moved"
    """The same with {to, to_name, to_venue, to_starts_at}; of each order `order.refunded` follows: with
    `moved_to` {event, order}, `moved_minor` and `lines` where it is one of that event now, whose `order.paid`
    has `moved_from`."""


class Row(NamedTuple):
    """A row as it is read; `number` is its place in the event's order, `id` its own, `at` microseconds."""

    number: int
    id: int
    kind: str
    body: bytes
    at: int


Telling = tuple[int, Told, Mapping[str, object]]
"""(event, what, its body)"""


def telling(rows: Sequence[Telling]) -> dict[str, object]:
    """The values of `INSERT` for these rows."""
    return {
        "events": [event for event, _, _ in rows],
        "kinds": [kind.value for _, kind, _ in rows],
        "bodies": msgspec.json.encode([body for _, _, body in rows]).decode(),
    }


def write(conn: psycopg.Connection[Any], event_id: int, kind: Told, body: Mapping[str, object]) -> None:
    """A row, at the end of the caller's transaction."""
    conn.execute(INSERT, telling([(event_id, kind, body)]))


def rows_of(found: Sequence[tuple[Any, ...]]) -> list[Row]:
    """What `READ_AFTER` gave."""
    return [Row(number, row, kind, body.encode(), at) for number, row, kind, body, at in found]


def read_after(conn: psycopg.Connection[Any], event_id: int, after: int, limit: int = ROWS_MAX) -> list[Row]:
    """An event's rows above that number, in order."""
    values = {"event": event_id, "after": after, "limit": min(limit, ROWS_MAX)}
    return rows_of(conn.cursor(row_factory=tuple_row).execute(READ_AFTER, values).fetchall())
