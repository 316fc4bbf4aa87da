"""Does every payment have its seats, or go back? And is every seat that costs something paid for?

Reads only, in one snapshot, like `store.invariant`, whose form a mismatch has; it is told, never repaired.
`store.payments.settlement` checks each payment's amounts to the cent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import psycopg

from store import event_prices, lookups
from store.figures.read import plan_of
from store.invariant import ROWS_MAX, STATEMENT_MS_MAX, Mismatch
from store.payments.charges import charge
from store.prices import PlanMove
from store.words import WasOf

Conn = psycopg.Connection[Any]

BOUGHT: Final = """
-- A payment that succeeded has bought a paid hold of its buyer's in its event.
SELECT payment.id, order_id, hold.state, hold.buyer = payment.buyer FROM payment
  LEFT JOIN hold ON hold.event_id = payment.event_id AND hold.hold_id = payment.order_id
 WHERE payment.event_id = %(event)s AND payment.state = 'succeeded'
   AND (hold.state IS DISTINCT FROM 'paid' OR hold.buyer <> payment.buyer)
 ORDER BY payment.id LIMIT %(limit)s
"""

GOES_BACK: Final = """
-- What a payment says is owed and was given back is what its refunds say; of one that is to go back, all.
SELECT payment.id, payment.state, amount_minor, refund_due_minor, refunded_minor, its.due, its.given
  FROM payment CROSS JOIN LATERAL (
    SELECT coalesce(sum(refund.amount_minor) FILTER (WHERE refund.state = 'due'), 0)::bigint AS due,
           coalesce(sum(refund.amount_minor) FILTER (WHERE refund.state = 'refunded'), 0)::bigint AS given
      FROM refund WHERE refund.payment_id = payment.id) AS its
 WHERE payment.event_id = %(event)s
   AND (refund_due_minor <> its.due OR refunded_minor <> its.given
        OR payment.state IN ('refund_due', 'refunded') AND its.due + its.given <> amount_minor)
 ORDER BY payment.id LIMIT %(limit)s
"""

TWICE: Final = """
-- No order has two payments whose money stays here.
SELECT order_id, count(*), min(id), max(id) FROM payment
 WHERE event_id = %(event)s AND state = 'succeeded'
 GROUP BY order_id HAVING count(*) > 1 ORDER BY order_id LIMIT %(limit)s
"""

UNPAID: Final = """
-- Orders that buyers asked for themselves, where holds are bought with money, and no payment bought: they
-- must have cost nothing.
SELECT hold_id,
       ARRAY (SELECT seat_no FROM hold_seat WHERE hold_seat.event_id = hold.event_id
               AND hold_seat.hold_id = hold.hold_id) AS seats,
       (SELECT coalesce(json_object_agg(area_no, quantity), '{}') FROM hold_area
         WHERE hold_area.event_id = hold.event_id AND hold_area.hold_id = hold.hold_id)::text
  FROM hold JOIN event ON event.id = hold.event_id
 WHERE hold.event_id = %(event)s AND hold.state = 'paid' AND hold.kind = 'buyer'
   AND event.payment = 'required'
   AND NOT EXISTS (SELECT FROM payment WHERE payment.event_id = hold.event_id
        AND payment.order_id = hold.hold_id AND payment.state = 'succeeded')
 ORDER BY hold_id
"""

_decode_areas = msgspec.json.Decoder(dict[int, int]).decode
_decode_was = msgspec.json.Decoder(WasOf).decode


def mismatches(conn: Conn, event_id: int) -> list[Mismatch]:
    """What does not add up between payments, refunds and orders. `conn` has no transaction open."""
    values = {"event": event_id, "limit": ROWS_MAX}
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        conn.execute(f"SET LOCAL statement_timeout = {STATEMENT_MS_MAX}")
        return [
            *_bought(conn.execute(BOUGHT, values).fetchall()),
            *_goes_back(conn.execute(GOES_BACK, values).fetchall()),
            *_twice(conn.execute(TWICE, values).fetchall()),
            *_unpaid(conn, event_id),
        ]


def _bought(rows: list[tuple[Any, ...]]) -> Iterator[Mismatch]:
    for payment, order, state, is_buyers in rows:
        found = "which is not there" if state is None else f"which is {state}"
        whose = "" if is_buyers is None or is_buyers else " and another buyer's"
        yield Mismatch("payment", payment, f"succeeded for order {order}, {found}{whose}")


def _goes_back(rows: list[tuple[Any, ...]]) -> Iterator[Mismatch]:
    for payment, state, amount, due, given, due_rows, given_rows in rows:
        says = f"is {state}, of {amount} says {due} due and {given} given back"
        yield Mismatch("payment", payment, f"{says}; its refunds say {due_rows} and {given_rows}")


def _twice(rows: list[tuple[Any, ...]]) -> Iterator[Mismatch]:
    for order, count, first, last in rows:
        yield Mismatch("order", order, f"has {count} payments, {first} to {last}")


def _unpaid(conn: Conn, event_id: int) -> Iterator[Mismatch]:
    rows = conn.execute(UNPAID, {"event": event_id}).fetchall()
    if not rows:
        return
    plan, terms = plan_of(conn, event_id), event_prices.read(conn, event_id).terms
    moved = conn.execute(lookups.READ_MOVES, (event_id,)).fetchall()
    moves = [PlanMove(str(at), (was := _decode_was(text)).seats, was.areas) for at, text in moved]
    told = 0
    for hold_id, seats, areas in rows:
        costs = charge(plan, moves, terms, hold_id, seats, _decode_areas(areas)).amount_minor
        if costs and told < ROWS_MAX:
            told += 1
            yield Mismatch("order", hold_id, f"costs {costs}, and no payment bought it")
