"""Reads what the judge judges, by statements of its own: they know the tables and none of the code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import psycopg

from bench.payments.storming.evidence import HoldRow, OutboxRow, PaymentRow, RefundRow
from bench.target import StageEvent

FEE_MINOR: Final = 150
FEE_BASIS_POINTS: Final = 250
"""The terms of a storm's events; tax is in the price."""

PAYMENTS: Final = """
SELECT id, event_id, hold_id, order_id, buyer, intent, state, currency, amount_minor, quantity,
       succeeded_at IS NOT NULL, refund_due_minor, refunded_minor, provider_fee_minor
  FROM payment WHERE event_id = ANY (%(events)s::int[]) ORDER BY id
"""
HOLDS: Final = """
SELECT event_id, hold_id, buyer, state, quantity FROM hold WHERE event_id = ANY (%(events)s::int[])
 ORDER BY event_id, hold_id
"""
SEATS: Final = """
-- Sold by the seat's own row: what an order is said to keep and is not sold to it counts for nothing.
SELECT event_id, hold_id, seat_no FROM seat
 WHERE event_id = ANY (%(events)s::int[]) AND state = 'sold' ORDER BY seat_no
"""
REFUNDS: Final = """
SELECT id, payment_id, event_id, amount_minor, state, provider_refund
  FROM refund WHERE event_id = ANY (%(events)s::int[]) ORDER BY id
"""
OUTBOX: Final = """
SELECT id, event_id, kind, (body ->> 'payment')::bigint, (body ->> 'refund')::bigint, body ->> 'order',
       (body ->> 'amount_minor')::bigint
  FROM outbox WHERE event_id = ANY (%(events)s::int[]) ORDER BY id
"""
UNFINISHED: Final = """
-- Money on its way: late payments that ask for seats, refunds that are not given.
SELECT (SELECT count(*) FROM payment WHERE state IN ('late', 'refund_due')
           AND event_id = ANY (%(events)s::int[]))
     + (SELECT count(*) FROM refund WHERE state = 'due' AND event_id = ANY (%(events)s::int[]))
"""
MESSAGES: Final = "SELECT id FROM outbox WHERE event_id = ANY (%(events)s::int[])"
PAID_DURING: Final = """
SELECT count(*) FROM payment
 WHERE succeeded_at BETWEEN to_timestamp(%(began)s) AND to_timestamp(%(ended)s)
   AND event_id = ANY (%(events)s::int[])
"""
REASONS: Final = """
SELECT coalesce(reason, '-'), count(*) FROM payment
 WHERE state = 'refunded' AND event_id = ANY (%(events)s::int[]) GROUP BY 1 ORDER BY 2 DESC
"""
NOTICES: Final = """
SELECT count(*) FROM payment_notice JOIN payment ON payment.id = payment_id
 WHERE event_id = ANY (%(events)s::int[])
"""

Conn = psycopg.Connection[Any]


def payments(conn: Conn, events: Sequence[StageEvent]) -> list[PaymentRow]:
    return [PaymentRow(*row) for row in conn.execute(PAYMENTS, _of(events)).fetchall()]


def refunds(conn: Conn, events: Sequence[StageEvent]) -> list[RefundRow]:
    return [RefundRow(*row) for row in conn.execute(REFUNDS, _of(events)).fetchall()]


def outbox(conn: Conn, events: Sequence[StageEvent]) -> list[OutboxRow]:
    return [OutboxRow(*row) for row in conn.execute(OUTBOX, _of(events)).fetchall()]


def holds(conn: Conn, events: Sequence[StageEvent]) -> list[HoldRow]:
    """Each with the seats that are sold to it, and what these cost."""
    plans = {event.id: event.plan for event in events}
    sold: dict[tuple[int, int], list[int]] = defaultdict(list)
    for event, hold, seat in conn.execute(SEATS, _of(events)).fetchall():
        sold[event, hold].append(seat)
    found = []
    for event, hold, buyer, state, quantity in conn.execute(HOLDS, _of(events)).fetchall():
        seats, plan = sold[event, hold], plans[event]
        prices = [plan.categories[plan.seats[seat].category].price_minor for seat in seats]
        worth = sum(price_with_fee(price) for price in prices)
        found.append(HoldRow(event, hold, buyer, state, quantity, tuple(seats), worth))
    return found


def price_with_fee(price_minor: int) -> int:
    """What a seat costs with its fee, half a unit upwards."""
    return price_minor + FEE_MINOR + (price_minor * FEE_BASIS_POINTS + 5_000) // 10_000


def unfinished(conn: Conn, events: Sequence[StageEvent]) -> int:
    """How many payments and refunds are not at their end."""
    return int(conn.execute(UNFINISHED, _of(events)).fetchall()[0][0])


def messages(conn: Conn, events: Sequence[StageEvent]) -> set[str]:
    """The ids of what subscribers must get."""
    return {f"msg_{number}" for (number,) in conn.execute(MESSAGES, _of(events)).fetchall()}


def paid_during(conn: Conn, events: Sequence[StageEvent], began_at: float, ended_at: float) -> int:
    """Payments that became orders, or came late, between two moments (Unix seconds)."""
    values = _of(events) | {"began": began_at, "ended": ended_at}
    return int(conn.execute(PAID_DURING, values).fetchall()[0][0])


def reasons(conn: Conn, events: Sequence[StageEvent]) -> dict[str, int]:
    """Why money went back."""
    return dict(conn.execute(REASONS, _of(events)).fetchall())


def notices(conn: Conn, events: Sequence[StageEvent]) -> int:
    """Different notices of the provider that were acted on."""
    return int(conn.execute(NOTICES, _of(events)).fetchall()[0][0])


def _of(events: Sequence[StageEvent]) -> dict[str, Any]:
    return {"events": [event.id for event in events]}
