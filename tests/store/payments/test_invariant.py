"""Every payment has its seats or goes back, and what costs is paid for; what is not so is named, and left."""

from __future__ import annotations

import psycopg
import pytest

from store import events
from store.payments.invariant import mismatches
from tests.store import test_holds
from tests.store.calling_off.calling import paid_event
from tests.store.payments import test_settle
from tests.store.test_holds import HOLD, hold
from tests.store.test_settlement import FREE, a_sale

conn, free_event, event = test_holds.conn, test_holds.event, test_settle.event


def test_what_onsale_writes_adds_up(conn, event):
    a_sale(conn, event)
    assert mismatches(conn, event) == []


TWICE = f"""
DROP INDEX payment_order;
UPDATE payment SET state = 'succeeded', refund_due_minor = 0, buyer = 'ann', order_id = {HOLD} WHERE id = 2;
DELETE FROM refund WHERE payment_id = 2
"""
A_CENT_LESS = """
ALTER TABLE payment DROP CONSTRAINT payment_all_refunded;
UPDATE refund SET amount_minor = amount_minor - 1 WHERE payment_id = 2;
UPDATE payment SET refund_due_minor = refund_due_minor - 1 WHERE id = 2
"""
WRONG = {
    "money without an order": (
        f"UPDATE hold SET state = 'refunded' WHERE hold_id = {HOLD}",
        {("payment", 1)},
    ),
    "money with an order that is not there": (
        "UPDATE payment SET order_id = 99 WHERE id = 1",
        {("payment", 1), ("order", HOLD)},
    ),
    "money of one buyer for another's order": (
        f"UPDATE hold SET buyer = 'zoe' WHERE hold_id = {HOLD}",
        {("payment", 1)},
    ),
    "an order paid for twice": (
        TWICE,
        {("order", HOLD)},
    ),
    "an order that nobody paid for": (
        "DELETE FROM payment WHERE id = 1",
        {("order", HOLD)},
    ),
    "money that is owed in no refund": (
        "DELETE FROM refund WHERE payment_id = 1 AND state = 'due'",
        {("payment", 1)},
    ),
    "money that was given back in no refund": (
        "DELETE FROM refund WHERE payment_id = 1 AND state = 'refunded'",
        {("payment", 1)},
    ),
    "a refund given that its payment does not know of": (
        "UPDATE refund SET state = 'refunded', refunded_at = now() WHERE payment_id = 2",
        {("payment", 2)},
    ),
    "less in the refunds than is to go back": (
        A_CENT_LESS,
        {("payment", 2)},
    ),
}


@pytest.mark.parametrize(("hand", "found"), list(WRONG.values()), ids=list(WRONG))
def test_what_does_not_add_up_is_told(new_database, hand, found):
    with psycopg.connect(new_database(), autocommit=True) as own:
        event = paid_event(own)
        a_sale(own, event)
        for statement in hand.split(";"):
            own.execute(statement)
        told = mismatches(own, event)
        assert {(one.what, one.number) for one in told} == found
        assert all(one.story for one in told)


def test_orders_that_cost_nothing_need_no_payment(conn, event):
    hold(conn, event, hold_id=FREE, buyer="kim", seats=(30,), places=1)
    conn.execute("UPDATE hold SET state = 'paid', paid_at = now() WHERE hold_id = %s", (FREE,))
    assert [one.number for one in mismatches(conn, event)] == [FREE]
    conn.execute(
        "UPDATE venue SET plan = regexp_replace(plan, '\"price_minor\":[0-9]+', '\"price_minor\":0', 'g')"
    )
    conn.execute("UPDATE event_price SET fee_minor = 0")
    assert mismatches(conn, event) == []


def test_where_nothing_is_paid_for_no_order_needs_a_payment(conn, free_event):
    hold(conn, free_event)
    conn.execute("UPDATE hold SET state = 'paid', paid_at = now()")
    assert mismatches(conn, free_event) == []
    assert events.get_event(conn, "gig").payment == "none"
