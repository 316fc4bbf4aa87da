"""Money that goes back: owed in the transaction of what it is owed for, given by whoever asks the provider.

A refund is `due → refunded`, once. Who gives it takes it for a while (`take`), asks the provider under an
idempotency key that is the refund's (`key_of`) with no transaction open, and writes the answer down: whoever
is killed in between, the next one asks the provider the same and the money goes back once.

Lock order: holds, seats, areas; then payments, then refunds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.rows import tuple_row

from store import outbox
from store.holds import Conn, in_transaction
from store.outbox import Told
from store.payments.begin import decode_charged
from store.payments.charges import Line, lines_of

TAKEN_SECONDS: Final = 60
"""So long nobody else asks the provider about a refund that somebody took."""
TAKE_MAX: Final = 100
BACKOFF_SECONDS_MAX: Final = 3_600

LOCK_OF_ORDER: Final = """
-- The payment that bought the order, if one did.
SELECT id, amount_minor - refunded_minor - refund_due_minor, charged::text FROM payment
 WHERE event_id = %(event)s AND order_id = %(hold)s AND state = 'succeeded' FOR NO KEY UPDATE
"""

OWE: Final = """
-- `payment_refunds` bounds what is owed by what came in; all of it: the payment itself is due.
UPDATE payment SET refund_due_minor = refund_due_minor + %(amount)s, reason = coalesce(%(reason)s, reason),
       state = CASE WHEN refund_due_minor + refunded_minor + %(amount)s = amount_minor
                    THEN 'refund_due' ELSE state END
 WHERE id = %(payment)s
"""

INSERT: Final = """
INSERT INTO refund (payment_id, event_id, amount_minor, reason)
VALUES (%(payment)s, %(event)s, %(amount)s, %(reason)s) RETURNING id
"""

DUE: Final = """
SELECT id FROM refund WHERE state = 'due' AND next_at <= clock_timestamp() ORDER BY next_at LIMIT %(limit)s
"""

TAKE: Final = f"""
-- Nobody waits for anybody: who takes others' refunds in this moment leaves them out.
WITH due AS ({DUE} FOR UPDATE SKIP LOCKED)
UPDATE refund SET next_at = clock_timestamp() + interval '{TAKEN_SECONDS} seconds', attempts = attempts + 1
  FROM due, payment, event
 WHERE refund.id = due.id AND payment.id = refund.payment_id AND event.id = refund.event_id
RETURNING refund.id, refund.payment_id, refund.event_id, event.slug, payment.provider, payment.intent,
          payment.buyer, refund.amount_minor, payment.currency, refund.reason, refund.attempts
"""

LOCK_PAYMENT: Final = """
-- Before its refund, as who owes or moves does. With its order it may be another event's by now.
SELECT event_id, order_id FROM payment WHERE id = %(payment)s FOR NO KEY UPDATE
"""

GIVEN: Final = """
UPDATE refund SET state = 'refunded', refunded_at = clock_timestamp(), provider_refund = %(told)s,
       last_error = NULL
 WHERE id = %(refund)s AND state = 'due'
"""

PAYMENT_GIVEN: Final = """
UPDATE payment SET refund_due_minor = refund_due_minor - %(amount)s,
       refunded_minor = refunded_minor + %(amount)s,
       state = CASE WHEN refunded_minor + %(amount)s = amount_minor THEN 'refunded' ELSE state END
 WHERE id = %(payment)s
"""

NOT_GIVEN: Final = """
UPDATE refund SET last_error = %(error)s,
       next_at = clock_timestamp() + make_interval(secs => %(seconds)s)
 WHERE id = %(refund)s AND state = 'due'
"""


class Due(Struct, frozen=True):
    """A refund that was taken, with what a provider must know."""

    id: int
    payment: int
    event_id: int
    slug: str
    provider: str
    intent: str
    buyer: str
    amount_minor: int
    currency: str
    reason: str
    attempts: int


class Owed(Struct, frozen=True):
    """What goes back for what was taken of an order: how much, in the smallest unit, and for what."""

    amount_minor: int = 0
    currency: str = ""
    lines: tuple[Line, ...] = ()


def key_of(refund_id: int) -> str:
    """The idempotency key under which a provider is asked to give it."""
    return f"onsale-refund-{refund_id}"


def owe_for_order(
    conn: psycopg.Connection[Any],
    event_id: int,
    order_id: int,
    reason: str,
    *,
    seats: Iterable[int] = (),
    areas: Mapping[int, int] | None = None,
    whole: bool = False,
) -> Owed:
    """Owe an order's buyer what these seats and places cost, or with `whole` all that is left of it.

    In the caller's transaction, which has locked the order. Nothing for an order nobody paid for.
    """
    row = (
        conn.cursor(row_factory=tuple_row)
        .execute(LOCK_OF_ORDER, {"event": event_id, "hold": order_id})
        .fetchone()
    )
    if row is None:
        return Owed()
    payment, left, charged = row
    paid = decode_charged(charged)
    lines = lines_of(paid.lines, seats, areas or {})
    part = sum([line.count * line.total_minor for line in lines])
    amount = left if whole else min(left, part)
    if amount > 0:
        values = {"payment": payment, "event": event_id, "amount": amount, "reason": reason}
        conn.execute(OWE, values)
        conn.execute(INSERT, values)
    return Owed(int(amount), paid.currency, lines) if amount else Owed()


async def take(connection: Conn, limit: int = TAKE_MAX) -> list[Due]:
    """Refunds to give now; nobody else takes them for `TAKEN_SECONDS`."""
    rows = await (await connection.execute(TAKE, {"limit": min(limit, TAKE_MAX)})).fetchall()
    return [Due(*row) for row in rows]


async def given(connection: Conn, due: Due, provider_refund: str) -> bool:
    """The provider gave it. False: that was known already."""

    async def attempt() -> bool:
        values = {
            "refund": due.id,
            "payment": due.payment,
            "amount": due.amount_minor,
            "told": provider_refund,
        }
        where = await (await connection.execute(LOCK_PAYMENT, values)).fetchone()
        assert where is not None, "a refund is of a payment"
        event_id, order_id = where
        if (await connection.execute(GIVEN, values)).rowcount == 0:
            return False
        changed = await connection.execute(PAYMENT_GIVEN, values)
        assert changed.rowcount == 1, "the payment is locked"
        body: dict[str, object] = {"payment": due.payment, "refund": due.id, "buyer": due.buyer}
        body["reason"] = due.reason
        body |= {"amount_minor": due.amount_minor, "currency": due.currency}
        body["order"] = None if order_id is None else str(order_id)
        rows = [(event_id, Told.PAYMENT_REFUNDED, body)]
        await connection.execute(outbox.INSERT, outbox.telling(rows))
        return True

    return await in_transaction(connection, attempt)


async def not_given(connection: Conn, due: Due, error: str) -> None:
    """The provider did not, for now: it is tried again, later each time."""
    seconds = min(5.0 * 2 ** min(due.attempts, 20), BACKOFF_SECONDS_MAX)
    values = {"refund": due.id, "error": error[:500], "seconds": seconds}
    await connection.execute(NOT_GIVEN, values)
