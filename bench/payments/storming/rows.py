"""Reads what the judge judges, by statements of its own: they know the tables and none of the code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import psycopg

from bench.payments.storming.evidence import (
    AreaRow,
    HoldRow,
    OutboxRow,
    PaymentRow,
    RefundRow,
    Settled,
)
from bench.target import StageEvent
from store.payments.settlement import settlement

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
PLACES: Final = """
SELECT event_id, hold_id, area_no, hold_area.quantity FROM hold_area JOIN hold USING (event_id, hold_id)
 WHERE event_id = ANY (%(events)s::int[]) AND hold.state = 'paid'
"""
AREAS: Final = """
SELECT event_id, area_no, capacity, held, sold FROM area WHERE event_id = ANY (%(events)s::int[])
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
-- Money on its way: late payments that ask for seats, refunds that are not given; events half called off.
SELECT (SELECT count(*) FROM payment WHERE state IN ('late', 'refund_due')
           AND event_id = ANY (%(events)s::int[]))
     + (SELECT count(*) FROM refund WHERE state = 'due' AND event_id = ANY (%(events)s::int[]))
     + (SELECT count(*) FROM called_off WHERE done_at IS NULL AND event_id = ANY (%(events)s::int[]))
"""
MESSAGES: Final = "SELECT count(*) FROM outbox"
PAID_DURING: Final = """
-- Orders, each in the moment in which it was made: who asks for seats again is an order later.
SELECT count(*) FROM payment
 WHERE order_id = hold_id AND succeeded_at BETWEEN to_timestamp(%(began)s) AND to_timestamp(%(ended)s)
   AND event_id = ANY (%(events)s::int[])
"""
PAID_LATE: Final = """
-- By the end that the hold had in the end: an outage's time is given back.
SELECT count(*) FROM payment
  JOIN hold ON hold.event_id = payment.event_id AND hold.hold_id = payment.hold_id
 WHERE succeeded_at > hold.expires_at AND payment.order_id IS DISTINCT FROM payment.hold_id
   AND payment.event_id = ANY (%(events)s::int[])
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


def areas(conn: Conn, events: Sequence[StageEvent]) -> list[AreaRow]:
    return [AreaRow(*row) for row in conn.execute(AREAS, _of(events)).fetchall()]


def holds(conn: Conn, events: Sequence[StageEvent]) -> list[HoldRow]:
    """Each with the seats and places that are sold to it, and what these cost."""
    plans = {event.id: event.plan for event in events}
    sold: dict[tuple[int, int], list[int]] = defaultdict(list)
    for event, hold, seat in conn.execute(SEATS, _of(events)).fetchall():
        sold[event, hold].append(seat)
    places: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for event, hold, area, count in conn.execute(PLACES, _of(events)).fetchall():
        places[event, hold][area] = count
    found = []
    for event, hold, buyer, state, quantity in conn.execute(HOLDS, _of(events)).fetchall():
        seats, standing, plan = sold[event, hold], places[event, hold], plans[event]
        each = [plan.seats[seat].category for seat in seats]
        each += [plan.areas[area].category for area, count in standing.items() for _ in range(count)]
        worth = sum(price_with_fee(plan.categories[category].price_minor) for category in each)
        found.append(HoldRow(event, hold, buyer, state, quantity, tuple(seats), standing, worth))
    return found


def price_with_fee(price_minor: int) -> int:
    """What a seat costs with its fee, half a unit upwards."""
    return price_minor + FEE_MINOR + (price_minor * FEE_BASIS_POINTS + 5_000) // 10_000


def unfinished(conn: Conn, events: Sequence[StageEvent]) -> int:
    """How many payments and refunds are not at their end."""
    return int(conn.execute(UNFINISHED, _of(events)).fetchall()[0][0])


def messages(conn: Conn) -> int:
    """How many messages subscribers must get."""
    return int(conn.execute(MESSAGES).fetchall()[0][0])


def settled(conn: Conn, events: Sequence[StageEvent]) -> list[Settled]:
    """What the product's own settlement says, for the judge to compare."""
    found = []
    for event in events:
        told = settlement(conn, event.slug)
        stories = [f"payment {one.payment}: {one.story}" for one in told.imbalances]
        found.append(
            Settled(
                event.id,
                told.balances,
                stories,
                told.orders,
                told.money_in_minor,
                told.refunded_minor,
                told.refund_due_minor,
                told.standing_minor,
                told.provider_fee_minor,
                told.payout_minor,
            )
        )
    return found


def paid_during(conn: Conn, events: Sequence[StageEvent], began_at: float, ended_at: float) -> int:
    """Holds that became orders between two moments (Unix seconds)."""
    values = _of(events) | {"began": began_at, "ended": ended_at}
    return int(conn.execute(PAID_DURING, values).fetchall()[0][0])


def paid_late(conn: Conn, events: Sequence[StageEvent]) -> int:
    """Payments whose money came when their hold had run out."""
    return int(conn.execute(PAID_LATE, _of(events)).fetchall()[0][0])


def reasons(conn: Conn, events: Sequence[StageEvent]) -> dict[str, int]:
    """Why money went back."""
    return dict(conn.execute(REASONS, _of(events)).fetchall())


def notices(conn: Conn, events: Sequence[StageEvent]) -> int:
    """Different notices of the provider that were acted on."""
    return int(conn.execute(NOTICES, _of(events)).fetchall()[0][0])


def _of(events: Sequence[StageEvent]) -> dict[str, Any]:
    return {"events": [event.id for event in events]}
