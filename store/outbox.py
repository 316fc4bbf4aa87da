"""What the world outside is told: rows of the transaction that made it true, read in an order that holds.

Promises: whoever reads on from a `Position` misses no row, however long a transaction takes to commit. Rows
are numbered when they are written and seen when they are committed, so a lower number may come later;
therefore an event's rows are read in (xid, id) order and only below the oldest transaction that still runs.
A change that began after another was committed has a higher xid: what follows from it comes after it.

Rows name seats and areas by their numbers in the plan; whoever tells them to people names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec
import psycopg

ROWS_MAX: Final = 1_000
"""Most rows one reading gives."""

INSERT: Final = "INSERT INTO outbox (event_id, kind, body) VALUES (%(event)s, %(outbox)s, %(told)s)"
INSERT_MANY: Final = """
INSERT INTO outbox (event_id, kind, body)
SELECT * FROM unnest(%(events)s::int[], %(kinds)s::text[], %(bodies)s::json[])
"""

READ_AFTER: Final = """
SELECT xid, id, kind, body::text, (extract(epoch FROM at) * 1000000)::bigint FROM outbox
 WHERE event_id = %(event)s AND (xid, id) > (%(xid)s::bigint, %(id)s::bigint)
   AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
 ORDER BY xid, id LIMIT %(limit)s
"""


class Told(StrEnum):
    """What a row tells; its `kind`."""

    ORDER_PAID = "order.paid"
    """A hold became an order: {order, buyer, kind, seats, areas}; where it was paid for also {payment, hold,
    currency, amount_minor, fee_minor, tax_minor, lines}."""
    ORDER_CHANGED = "order.changed"
    """Some of an order was taken back. {order, buyer, kind, seats, areas}: what it has no longer;
    `refund_minor`: what its buyer gets back."""
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
    """{event, why}; `order.refunded` of each order follows."""
    EVENT_MOVED = "event.moved"
    """{event, to, why}; of each order `order.refunded` follows: with `moved_to` {event, order}, `moved_minor`
    and `lines` where it is one of that event now, whose `order.paid` has `moved_from`."""


class Position(NamedTuple):
    """How far somebody has read an event's rows."""

    xid: int = 0
    id: int = 0


class Row(NamedTuple):
    """A row as it is read; `body` is JSON, `at` microseconds of Postgres' clock."""

    position: Position
    kind: str
    body: bytes
    at: int


def write(conn: psycopg.Connection[Any], event_id: int, kind: Told, body: Mapping[str, object]) -> None:
    """A row, in the caller's transaction."""
    told = {"event": event_id, "outbox": kind.value, "told": msgspec.json.encode(body).decode()}
    conn.execute(INSERT, told)


def rows_of(found: Sequence[tuple[Any, ...]]) -> list[Row]:
    """What `READ_AFTER` gave."""
    return [Row(Position(xid, number), kind, body.encode(), at) for xid, number, kind, body, at in found]


def read_after(
    conn: psycopg.Connection[Any], event_id: int, after: Position, limit: int = ROWS_MAX
) -> list[Row]:
    """An event's next rows, in order; none now does not mean none later."""
    values = {"event": event_id, "xid": after.xid, "id": after.id, "limit": min(limit, ROWS_MAX)}
    return rows_of(conn.execute(READ_AFTER, values).fetchall())
