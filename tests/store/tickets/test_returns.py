"""Buyers return what they bought: only their own, only where it is allowed, once, for what it cost."""

from __future__ import annotations

import pytest

from store import audit, sales
from store.errors import Conflicted, NotFound
from store.invariant import mismatches, read_capacity
from store.payments.states import PaymentState
from store.tickets import returns
from store.words import HoldState
from tests.allocator.waiting import held_up, is_free
from tests.store.payments.paying import begun, money_is_answered_for, notice, read
from tests.store.payments.paying import told as pay
from tests.store.test_blocks import all_of, locking
from tests.store.test_holds import HOLD, PLAN, conn, everything, hold  # noqa: F401
from tests.store.test_holds import event as open_event  # noqa: F401
from tests.store.tickets.holding import (
    PLACES,
    SEAT_3,
    SEAT_4,
    allow,
    at_once,
    check_in,
    claim,
    give_back,
    items,
    offer,
    order,
    told,
)

SAID = audit.said("Olga", "a broken seat")


@pytest.fixture
def event(conn, open_event):  # noqa: F811
    """An event that allows everything; whatever a test did to it, in the end everything adds up."""
    allow(conn)
    yield open_event
    assert mismatches(conn, open_event, read_capacity(conn, open_event)) == []


def refused(*given, kind=Conflicted, **named):
    with pytest.raises(kind) as error:
        give_back(*given, **named)
    return error.value.code


def paid(conn, event):  # noqa: F811
    """The order's payment."""
    conn.execute("UPDATE event SET payment = 'required'")
    hold(conn, event)
    payment = begun(conn, event)
    pay(conn, notice(payment))
    conn.execute("DELETE FROM fact")
    return payment


def test_an_order_that_is_returned_is_free_again_and_told_to_everybody(conn, event):  # noqa: F811
    order(conn, event)
    assert give_back(conn, event) is HoldState.REFUNDED
    stands = everything(conn)
    assert (stands["hold"], stands["seats"], stands["hold_seat"]) == ([("refunded",)], [], [])
    assert (stands["area"], stands["hold_area"]) == ([(0, 0)], [])
    assert stands["facts"] == [("returned", HOLD)]
    [(body,)] = conn.execute("SELECT body FROM fact").fetchall()
    assert body == {"buyer": "ann", "counted": True, "blocked": False, "seats": [3, 4], "areas": [[0, 2]]}
    assert [row for row in stands["history"] if row[1] == "available"] == [
        (3, "available", HOLD, "buyer"),
        (4, "available", HOLD, "buyer"),
    ]
    kind, body = told(conn)[-1]
    assert (kind, body["order"], body["refund_minor"]) == ("order.refunded", str(HOLD), 0)
    assert items(conn, event) == []


def test_some_tickets_are_returned_and_the_others_keep_their_numbers(conn, event):  # noqa: F811
    order(conn, event, places=4)
    assert give_back(conn, event, SEAT_3, PLACES[0], PLACES[2]) is HoldState.PAID
    assert items(conn, event) == [SEAT_4, PLACES[1], PLACES[3]]
    assert everything(conn)["seats"] == [(4, "sold", HOLD)]
    assert everything(conn)["hold_area"] == [(HOLD, 2)]
    kind, body = told(conn)[-1]
    assert (kind, body["seats"], body["areas"]) == ("order.changed", [3], [[0, 2]])


def test_returning_again_changes_nothing_and_what_is_gone_already_is_left_out(conn, event):  # noqa: F811
    order(conn, event)
    give_back(conn, event, SEAT_3, PLACES[0])
    before = all_of(conn)
    assert give_back(conn, event, SEAT_3, PLACES[0]) is HoldState.PAID
    assert all_of(conn) == before
    assert give_back(conn, event, PLACES[0], PLACES[1]) is HoldState.PAID
    assert items(conn, event) == [SEAT_4]
    assert give_back(conn, event) is HoldState.REFUNDED
    before = all_of(conn)
    assert give_back(conn, event) is HoldState.REFUNDED
    assert give_back(conn, event, SEAT_4) is HoldState.REFUNDED
    assert all_of(conn) == before


def test_what_was_paid_for_it_is_owed_to_the_cent(conn, event):  # noqa: F811
    payment = paid(conn, event)
    costs = {line.seat: line.total_minor for line in payment.lines}
    place = next(line.total_minor for line in payment.lines if line.area is not None)
    give_back(conn, event, SEAT_3, PLACES[1])
    now = read(conn, payment)
    assert (now.state, now.refund_due_minor) == (PaymentState.SUCCEEDED, costs[3] + place)
    assert told(conn)[-1][1]["refund_minor"] == costs[3] + place
    give_back(conn, event)
    assert read(conn, payment).refund_due_minor == payment.amount_minor
    assert conn.execute("SELECT DISTINCT reason FROM refund").fetchall() == [("returned",)]
    assert money_is_answered_for(conn)


def test_somebody_elses_order_is_no_order(conn, event):  # noqa: F811
    order(conn, event)
    before = all_of(conn)
    assert refused(conn, event, buyer="bob", kind=NotFound) == "order_not_found"
    assert refused(conn, event, SEAT_3, buyer="bob", kind=NotFound) == "order_not_found"
    assert refused(conn, event, order_id=HOLD + 1, kind=NotFound) == "order_not_found"
    assert all_of(conn) == before


def test_a_ticket_the_order_never_had_is_none_and_nothing_is_returned(conn, event):  # noqa: F811
    order(conn, event)
    order(conn, event, HOLD + 1, seats=(7,), places=0)
    before = all_of(conn)
    for item in (SEAT_3._replace(number=7), PLACES[2], SEAT_3._replace(area=1)):
        assert refused(conn, event, SEAT_3, item, kind=NotFound) == "ticket_not_found"
    assert all_of(conn) == before


def test_where_the_organiser_takes_nothing_back_nothing_is_returned(conn, event):  # noqa: F811
    order(conn, event)
    allow(conn, returns_allowed=False)
    before = all_of(conn)
    assert refused(conn, event) == "returns_not_allowed"
    assert refused(conn, event, SEAT_3) == "returns_not_allowed"
    assert all_of(conn) == before


def test_a_return_is_answered_again_when_nothing_more_is_taken_back(conn, event):  # noqa: F811
    order(conn, event)
    give_back(conn, event, SEAT_3)
    allow(conn, returns_allowed=False)
    assert give_back(conn, event, SEAT_3) is HoldState.PAID
    assert refused(conn, event, SEAT_4) == "returns_not_allowed"


def test_a_hold_is_not_returned(conn, event):  # noqa: F811
    hold(conn, event)
    before = all_of(conn)
    assert refused(conn, event) == "not_an_order"
    assert all_of(conn) == before


def test_what_was_given_away_is_its_holders(conn, event):  # noqa: F811
    order(conn, event)
    claim(conn, offer(conn, event))
    before = all_of(conn)
    assert refused(conn, event) == "given_away"
    assert refused(conn, event, SEAT_3) == "given_away"
    assert refused(conn, event, SEAT_3, buyer="bob", kind=NotFound) == "order_not_found"
    assert all_of(conn) == before
    assert give_back(conn, event, SEAT_4, *PLACES[:2]) is HoldState.PAID
    assert items(conn, event, "bob") == [SEAT_3]


def test_who_came_in_with_a_ticket_cannot_return_it(conn, event):  # noqa: F811
    order(conn, event)
    check_in(conn, event, PLACES[0])
    before = all_of(conn)
    assert refused(conn, event) == "checked_in"
    assert refused(conn, event, PLACES[0]) == "checked_in"
    assert all_of(conn) == before
    assert give_back(conn, event, PLACES[1]) is HoldState.PAID
    assert items(conn, event) == [SEAT_3, SEAT_4, PLACES[0]]


def test_an_operator_who_takes_places_back_leaves_those_that_somebody_was_given(conn, event):  # noqa: F811
    order(conn, event, places=3)
    claim(conn, offer(conn, event, PLACES[2]))
    sales.take_back(conn, event, PLAN, HOLD, SAID, areas={PLAN.areas[0].guid: 1}, quantity=5)
    assert items(conn, event) == [SEAT_3, SEAT_4, PLACES[0], PLACES[2]]
    assert items(conn, event, "bob") == [PLACES[2]]


def test_what_an_operator_took_back_cannot_be_returned_as_well(conn, event):  # noqa: F811
    order(conn, event)
    sales.take_back(conn, event, PLAN, HOLD, SAID, seats=[PLAN.seats[3].guid])
    before = all_of(conn)
    assert give_back(conn, event, SEAT_3) is HoldState.PAID
    assert all_of(conn) == before


# --- at once ---


def test_of_many_returns_at_once_one_counts(conn, event, database_url):  # noqa: F811
    payment = paid(conn, event)
    answers = at_once(database_url, *[lambda own: give_back(own, event)] * 4)
    assert answers == [HoldState.REFUNDED] * 4
    assert everything(conn)["facts"] == [("returned", HOLD)]
    assert read(conn, payment).refund_due_minor == payment.amount_minor
    assert money_is_answered_for(conn)


def test_a_return_and_a_take_back_at_once_give_the_money_back_once(conn, event, database_url):  # noqa: F811
    payment = paid(conn, event)

    def by_operator(own):
        return sales.take_back(own, event, PLAN, HOLD, SAID).state

    def by_buyer(own):
        return give_back(own, event)

    answers = at_once(database_url, by_operator, by_buyer, by_operator, by_buyer)
    assert answers == [HoldState.REFUNDED] * 4
    assert conn.execute("SELECT count(*), sum(amount_minor) FROM refund").fetchone() == (
        1,
        payment.amount_minor,
    )
    assert everything(conn)["facts"] == [("returned", HOLD)]


@pytest.mark.parametrize("_", range(4))
def test_of_a_return_and_a_claim_at_once_one_is_refused(conn, event, database_url, _):  # noqa: F811
    order(conn, event)
    code = offer(conn, event)
    at_once(database_url, lambda own: give_back(own, event, SEAT_3), lambda own: claim(own, code))
    there = SEAT_3 in items(conn, event)
    assert (items(conn, event, "bob") == [SEAT_3]) is there
    assert (("returned", HOLD) in everything(conn)["facts"]) is not there
    assert ("ticket.transferred" in [kind for kind, _ in told(conn)]) is there


# --- each guard alone ---


def test_the_lock_finds_only_ones_own_order(conn, event):  # noqa: F811
    order(conn, event)
    values = {"event": event, "hold": HOLD, "buyer": "ann"}
    assert conn.execute(returns.LOCK_MINE, values).fetchone() == ("paid", 4, "buyer", True)
    for other in ({"buyer": "bob"}, {"hold": HOLD + 1}, {"event": event + 1}):
        assert conn.execute(returns.LOCK_MINE, values | other).fetchone() is None


def test_a_return_locks_the_cursor_then_the_order_then_its_seats(conn, event, database_url):  # noqa: F811
    order(conn, event)
    with held_up(
        database_url, locking("FROM event_cursor"), lambda: give_back(conn, event, PLACES[0])
    ) as other:
        assert is_free(other, f"FROM hold WHERE hold_id = {HOLD}")
    there = f"FROM hold WHERE hold_id = {HOLD}"
    with held_up(database_url, locking(there), lambda: give_back(conn, event, SEAT_3)) as other:
        assert is_free(other, "FROM seat WHERE seat_no = 3")
        assert is_free(other, "FROM area")
