"""Buyers see their orders and what others gave them, and nothing else."""

from __future__ import annotations

import pytest

from store import audit, sales
from store.tickets import reads
from store.tickets.items import SEAT, Item
from store.words import HoldKind, HoldState
from tests.store.payments.paying import begun, notice
from tests.store.payments.paying import told as pay
from tests.store.test_holds import HOLD, PLAN, conn, hold  # noqa: F401
from tests.store.test_holds import event as open_event  # noqa: F401
from tests.store.tickets.holding import (
    PLACES,
    SEAT_3,
    SEAT_4,
    allow,
    claim,
    give_back,
    items,
    mine,
    offer,
    order,
    seen,
)

SAID = audit.said("Olga", "a broken seat")


@pytest.fixture
def event(conn, open_event):  # noqa: F811
    allow(conn)
    return open_event


def test_a_buyers_orders_are_told_newest_first_with_what_they_have(conn, event):  # noqa: F811
    order(conn, event, HOLD + 5)
    order(conn, event, HOLD, seats=(7,), places=0)
    sold = sales.sell(
        conn, event, PLAN, [PLAN.seats[9].guid], {PLAN.areas[0].guid: 1}, "ann", HoldKind.BOX_OFFICE, SAID
    )
    order(conn, event, HOLD + 6, "bob", seats=(20,), places=0)
    hold(conn, event, hold_id=HOLD + 7, seats=(30,), places=0)
    found = mine(conn, event)
    assert [(one.id, one.kind) for one in found] == [
        (int(sold.hold), HoldKind.BOX_OFFICE), (HOLD, HoldKind.BUYER), (HOLD + 5, HoldKind.BUYER),
    ]  # fmt: skip
    assert [[item for item, _ in one.items] for one in found] == [
        [Item(SEAT, 9), PLACES[0]], [Item(SEAT, 7)], [SEAT_3, SEAT_4, *PLACES[:2]],
    ]  # fmt: skip
    assert mine(conn, event + 1) == []


def test_orders_are_told_a_page_at_a_time(conn, event):  # noqa: F811
    for number in range(5):
        order(conn, event, HOLD + number, seats=(number,), places=0)
    first = mine(conn, event, limit=2)
    then = mine(conn, event, limit=2, before=first[-1].id)
    last = mine(conn, event, limit=2, before=then[-1].id)
    assert [one.id - HOLD for one in [*first, *then, *last]] == [4, 3, 2, 1, 0]
    assert len(mine(conn, event, limit=10**6)) == 5


def test_an_order_that_was_returned_is_told_with_nothing_in_it(conn, event):  # noqa: F811
    order(conn, event)
    give_back(conn, event)
    [one] = mine(conn, event)
    assert (one.state, one.items, one.mine) == (HoldState.REFUNDED, (), True)


def test_what_was_paid_and_what_came_back_is_told_to_who_paid(conn, event):  # noqa: F811
    conn.execute("UPDATE event SET payment = 'required'")
    hold(conn, event)
    payment = begun(conn, event)
    pay(conn, notice(payment))
    give_back(conn, event, SEAT_4)
    claim(conn, offer(conn, event))
    [one] = mine(conn, event)
    assert one.payment is not None
    assert (one.payment.id, one.payment.amount_minor) == (payment.id, payment.amount_minor)
    cost = reads.paid_for(one.payment.lines, SEAT_4)
    assert one.payment.refund_due_minor == cost
    assert reads.paid_for(one.payment.lines, PLACES[1]) == payment.lines[-1].total_minor
    assert reads.paid_for(one.payment.lines, Item(SEAT, 50)) is None
    [given] = mine(conn, event, "bob")
    assert (given.payment, given.mine) == (None, False)


def test_who_was_given_a_ticket_sees_it_and_nothing_else_of_the_order(conn, event):  # noqa: F811
    order(conn, event)
    assert seen(conn, event, "bob") is None
    claim(conn, offer(conn, event, PLACES[1]))
    assert items(conn, event, "bob") == [PLACES[1]]
    assert [one.id for one in mine(conn, event, "bob")] == [HOLD]
    assert seen(conn, event, "carl") is None
    assert items(conn, event) == [SEAT_3, SEAT_4, *PLACES[:2]]
    claim(conn, offer(conn, event, PLACES[1], "bob"), "carl")
    assert (seen(conn, event, "bob"), mine(conn, event, "bob")) == (None, [])


def test_whose_a_ticket_is_is_known_of_each(conn, event):  # noqa: F811
    order(conn, event)
    claim(conn, offer(conn, event))
    ann, bob = seen(conn, event), seen(conn, event, "bob")
    assert [ann.has(item) for item in (SEAT_3, SEAT_4, Item(SEAT, 7))] == [False, True, False]
    assert [bob.has(item) for item in (SEAT_3, SEAT_4)] == [True, False]


def test_a_hold_is_no_order(conn, event):  # noqa: F811
    hold(conn, event)
    assert seen(conn, event) is None


MANY = """
INSERT INTO hold (event_id, hold_id, buyer, request_id, state, quantity, expires_at, paid_at)
SELECT %(event)s, 1000000 + n, 'b' || n, 'r', 'paid', 1, now(), now() FROM generate_series(1, 5000) AS n;
INSERT INTO hold_seat SELECT %(event)s, 1000 + n, 1000000 + n FROM generate_series(1, 5000) AS n;
INSERT INTO ticket (event_id, order_id, area_no, number, holder)
SELECT %(event)s, 1000000 + n, -1, 1000 + n, 'c' || n FROM generate_series(1, 5000) AS n;
INSERT INTO ledger (event_id, batch_no, position, kind, input, outcome, result)
SELECT %(event)s, 100 + n, 0, 'fact', '{}', 'paid', '{}' FROM generate_series(1, 5000) AS n;
ANALYZE hold; ANALYZE hold_seat; ANALYZE ticket; ANALYZE ledger
"""


def test_orders_are_found_along_their_index_and_seats_along_their_key(conn, event):  # noqa: F811
    for statement in MANY.split(";"):
        conn.execute(statement, {"event": event})
    values = {"event": event, "buyer": "b7", "before": 0, "limit": 50, "hold": 1_000_007}
    values |= {"holds": [1_000_007], "among": [1007]}

    def plan(statement):
        rows = conn.execute(f"EXPLAIN (COSTS OFF) {statement}", values).fetchall()
        return "\n".join(line for (line,) in rows)

    whole = plan(reads.ORDERS)
    assert "hold_order" in whole
    assert "ticket_holder" in whole
    assert "hold_seat_pkey" in plan(reads.SEATS_AMONG)
    assert "ledger_pkey" in plan(reads.DECIDED)
    for statement in (reads.ORDERS, reads.ORDER, reads.SEATS_AMONG, reads.DECIDED, reads.TICKETS):
        for table in ("hold", "hold_seat", "ledger", "ticket"):
            assert f"Seq Scan on {table} " not in f"{plan(statement)} "
