"""Operators sell by hand and take back: all or nothing, once, with fact, history and audit."""

from __future__ import annotations

import threading

import psycopg
import pytest
from msgspec import json

from store import audit, blocks, holds, sales
from store.errors import BadRequest, Conflicted, NotFound, Unavailable
from store.events import get_event
from store.invariant import mismatches, read_capacity
from store.words import OPERATORS_HOLDS, Blocks, HoldKind, HoldState
from tests.allocator.waiting import WAITING, held_up, is_free
from tests.store.test_blocks import (
    FLOOR,
    GUID,
    SAID,
    all_of,
    audited,
    block,
    facts_of,
    locking,
    make_event,
    places_of,
    seats_of,
)
from tests.store.test_holds import HOLD, PLAN, change, everything, hold

FIRST = OPERATORS_HOLDS


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def event(conn):
    """An event; whatever a test did to it, in the end everything adds up."""
    number = make_event(conn, "gig")
    yield number
    assert mismatches(conn, number, read_capacity(conn, number)) == []


def sell(conn, event, *seats, places=0, buyer="ann", kind=HoldKind.BOX_OFFICE, **more):
    areas = {FLOOR: places} if places else {}
    guids = [GUID[seat] for seat in seats]
    return sales.sell(conn, event, PLAN, guids, areas, buyer, kind, SAID, **more)


def take_back(conn, event, order, *seats, places=0, **more):
    areas = {FLOOR: places} if places else {}
    guids = [GUID[seat] for seat in seats]
    return sales.take_back(conn, event, PLAN, int(order), SAID, seats=guids, areas=areas, **more)


def paid_hold(conn, event, **given):
    hold(conn, event, **given)
    change(conn, holds.confirm, event)
    conn.execute("DELETE FROM fact")
    return HOLD


# --- selling ---


def test_blocked_seats_and_places_become_an_order_with_fact_history_and_audit(conn, event):
    block(conn, event, 2, 4, places=5)
    order = sell(conn, event, 4, 2, places=3, kind=HoldKind.COMPLIMENTARY)
    assert (order.hold, order.state, order.buyer, order.kind) == (
        str(FIRST), HoldState.PAID, "ann", HoldKind.COMPLIMENTARY,
    )  # fmt: skip
    assert (order.seats, order.areas) == ([GUID[2], GUID[4]], {FLOOR: 3})
    stands = everything(conn)
    assert stands["seats"] == [(2, "sold", FIRST), (4, "sold", FIRST)]
    assert stands["hold_seat"] == [(2, FIRST), (4, FIRST)]
    assert stands["hold_area"] == [(FIRST, 3)]
    assert places_of(conn) == [(0, 3, 2)]
    assert [row for row in stands["history"] if row[1] == "sold"] == [
        (2, "sold", FIRST, "Olga"),
        (4, "sold", FIRST, "Olga"),
    ]
    row = conn.execute("SELECT buyer, state, kind, quantity, paid_at IS NOT NULL FROM hold").fetchall()
    assert row == [("ann", "paid", "complimentary", 5, True)]
    _, kind, hold_id, body = facts_of(conn)[-1]
    assert (kind, hold_id) == ("sold", FIRST)
    assert body == {
        "buyer": "ann", "request_id": body["request_id"], "kind": "complimentary", "seats": [2, 4],
        "areas": [[0, 3]],
    }  # fmt: skip
    assert audited(conn)[-1][1:] == ("Olga", "a broken chair", {
        "change": "sell", "as": "complimentary", "hold": str(FIRST), "buyer": "ann", "taken_off_sale": 0,
        "seats": [GUID[2], GUID[4]], "areas": {FLOOR: 3},
    })  # fmt: skip


def test_what_is_on_sale_is_blocked_first_and_blocked_places_go_before_free_ones(conn, event):
    block(conn, event, 2, places=2)
    sell(conn, event, 1, 2, places=5)
    told = [(kind, body) for _, kind, _, body in facts_of(conn)]
    assert [kind for kind, _ in told] == ["blocked", "blocked", "sold"]
    assert told[1][1] == {"seats": [1], "areas": [[0, 3]]}
    assert places_of(conn) == [(0, 5, 0)]
    assert audited(conn)[-1][3]["taken_off_sale"] == 4
    assert len(audited(conn)) == 2


def test_orders_are_numbered_one_after_the_other_where_no_decision_is(conn, event):
    hold(conn, event, seats=(7,), places=0)
    orders = [sell(conn, event, seat).hold for seat in (1, 2, 3)]
    assert orders == [str(FIRST), str(FIRST + 1), str(FIRST + 2)]
    other = make_event(conn, "gig-2")
    assert sell(conn, other, 1).hold == str(FIRST)


@pytest.mark.parametrize("values", [(FIRST, "buyer"), (FIRST - 1, "box_office")])
def test_a_number_of_the_other_kind_is_refused_by_the_table(conn, event, values):
    with pytest.raises(psycopg.errors.CheckViolation, match="hold_numbered_by_kind"):
        conn.execute(
            "INSERT INTO hold (event_id, hold_id, buyer, request_id, kind, quantity, expires_at)"
            " VALUES (1, %s, 'ann', 'r1', %s, 1, now())",
            values,
        )


def test_the_same_sale_again_is_the_same_order_and_nothing_is_changed(conn, event):
    first = sell(conn, event, 1, places=5)
    before = all_of(conn)
    assert sell(conn, event, 1, places=5) == first
    assert all_of(conn) == before


def test_two_alike_are_told_apart_by_a_reference_a_buyer_or_a_kind(conn, event):
    made = [
        sell(conn, event, places=5),
        sell(conn, event, places=5, reference="second"),
        sell(conn, event, places=5, buyer="bob"),
        sell(conn, event, places=5, kind=HoldKind.COMPLIMENTARY),
        sell(conn, event, places=6),
    ]
    assert len({order.hold for order in made}) == 5
    assert places_of(conn) == [(0, 26, 0)]


def test_what_was_taken_back_whole_can_be_sold_again_in_the_same_words(conn, event):
    first = sell(conn, event, 1)
    take_back(conn, event, first.hold)
    second = sell(conn, event, 1)
    assert second.hold != first.hold
    assert seats_of(conn, event) == [(1, "sold")]


def test_two_operators_at_once_sell_once(conn, event, database_url):
    made = []

    def one():
        with psycopg.connect(database_url, autocommit=True) as own:
            made.append(sell(own, event, 1, places=5).hold)

    sellers = [threading.Thread(target=one) for _ in range(4)]
    with psycopg.connect(database_url) as other:
        other.execute("SELECT 1 FROM event FOR UPDATE")
        for seller in sellers:
            seller.start()
        while conn.execute(WAITING).fetchone()[0] < 4:
            assert all(seller.is_alive() for seller in sellers)
    for seller in sellers:
        seller.join(timeout=30)
    assert made == [str(FIRST)] * 4
    assert len(audited(conn)) == 1
    assert places_of(conn) == [(0, 5, 0)]


def test_a_seat_that_somebody_has_is_refused_by_name_and_nothing_is_sold(conn, event):
    hold(conn, event, seats=(3,), places=0)
    sold = sell(conn, event, 5)
    before = all_of(conn)
    with pytest.raises(Conflicted) as refused:
        sell(conn, event, 2, 3, 5, places=1)
    assert refused.value.code == "seats_not_free"
    for part in (f"{GUID[3]} (held by hold {HOLD})", f"{GUID[5]} (sold by hold {sold.hold})"):
        assert part in str(refused.value)
    assert GUID[2] not in str(refused.value)
    assert all_of(conn) == before


def test_no_more_places_are_sold_than_are_free_or_blocked(conn, event):
    hold(conn, event, seats=(3,), places=20)
    block(conn, event, places=10)
    before = all_of(conn)
    with pytest.raises(Conflicted, match="has 20 free and 10 blocked places, not 31") as refused:
        sell(conn, event, 1, places=31)
    assert refused.value.code == "places_not_free"
    assert all_of(conn) == before
    sell(conn, event, places=30)
    assert places_of(conn) == [(20, 30, 0)]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"seats": [GUID[1]], "buyer": ""}, "buyer_required"),
        ({"seats": [GUID[1]], "buyer": "x" * 129}, "buyer_required"),
        ({"seats": [GUID[1]], "buyer": 'a"b'}, "buyer_required"),
        ({"seats": [GUID[1]], "buyer": "a\\b"}, "buyer_required"),
        ({"seats": [GUID[1]], "buyer": "a\nb"}, "buyer_required"),
        ({"seats": [GUID[1]], "kind": HoldKind.BUYER}, "invalid_kind"),
        ({"seats": [GUID[1]], "reference": "x" * 65}, "invalid_reference"),
        ({"seats": [GUID[1]], "reference": "a\0b"}, "invalid_reference"),
        ({"areas": {FLOOR: sales.QUANTITY_MAX + 1}}, "too_many_asked"),
        ({}, "nothing_asked"),
        ({"seats": [GUID[1], GUID[1]]}, "seat_twice"),
        ({"seats": ["nowhere"]}, "unknown_seat"),
    ],
)
def test_a_sale_that_cannot_be_is_refused(conn, event, asked, code):
    given = {"seats": [], "areas": {}, "buyer": "ann", "kind": HoldKind.BOX_OFFICE} | asked
    with pytest.raises((BadRequest, NotFound)) as refused:
        sales.sell(conn, event, PLAN, said=SAID, **given)
    assert refused.value.code == code
    assert audited(conn) == []


def test_a_buyer_sees_an_order_that_an_operator_made_and_cannot_give_it_back(conn, event):
    order = int(sell(conn, event, 1).hold)
    assert change(conn, holds.confirm, event, hold_id=order) is HoldState.PAID
    with pytest.raises(Conflicted) as refused:
        change(conn, holds.release, event, hold_id=order)
    assert refused.value.code == "hold_paid"
    with pytest.raises(NotFound):
        change(conn, holds.confirm, event, buyer="bob", hold_id=order)


# --- taking back ---


@pytest.mark.parametrize("block_it", [False, True])
def test_an_order_that_is_taken_back_whole_is_refunded_and_all_it_had_is_free_or_off_sale(
    conn, event, block_it
):
    order = paid_hold(conn, event)
    before = len(everything(conn)["history"])
    left = take_back(conn, event, order, block=block_it)
    assert (left.state, left.seats, left.areas) == (HoldState.REFUNDED, [], {})
    becomes = "blocked" if block_it else "available"
    stands = everything(conn)
    assert seats_of(conn, event) == ([(3, "blocked"), (4, "blocked")] if block_it else [])
    assert (stands["hold"], stands["hold_seat"], stands["hold_area"]) == ([("refunded",)], [], [])
    assert places_of(conn) == [(0, 0, 2 if block_it else 0)]
    assert len(stands["history"]) == before + 2
    assert {row for row in stands["history"] if row[1] == becomes} == {
        (3, becomes, HOLD, "Olga"),
        (4, becomes, HOLD, "Olga"),
    }
    body = {"buyer": "ann", "counted": True, "blocked": block_it, "seats": [3, 4], "areas": [[0, 2]]}
    assert facts_of(conn) == [(event, "returned", HOLD, body)]
    what = {"change": "return", "hold": str(HOLD), "buyer": "ann", "blocked": block_it}
    assert audited(conn)[-1][3] == what | {"seats": [GUID[3], GUID[4]], "areas": {FLOOR: 2}}


def test_taking_back_again_gives_the_same_answer_and_changes_nothing(conn, event):
    order = paid_hold(conn, event)
    first = take_back(conn, event, order)
    before = all_of(conn)
    assert take_back(conn, event, order) == first
    assert all_of(conn) == before


def test_some_of_an_order_is_taken_back_and_the_rest_stays_sold(conn, event):
    order = paid_hold(conn, event)
    left = take_back(conn, event, order, 3, places=1, quantity=4)
    assert (left.state, left.seats, left.areas) == (HoldState.PAID, [GUID[4]], {FLOOR: 1})
    assert seats_of(conn, event) == [(4, "sold")]
    assert places_of(conn) == [(0, 1, 0)]
    assert conn.execute("SELECT state, quantity FROM hold").fetchall() == [("paid", 2)]
    assert facts_of(conn)[0][3]["seats"] == [3]
    last = take_back(conn, event, order, 4, places=1, quantity=2)
    assert last.state is HoldState.REFUNDED
    assert everything(conn)["hold_area"] == []


def test_what_operators_sold_does_not_count_when_it_comes_back_either(conn, event):
    order = sell(conn, event, 1)
    take_back(conn, event, order.hold)
    assert facts_of(conn)[-1][3]["counted"] is False


def test_a_part_that_is_named_again_is_refused_and_taken_once(conn, event):
    order = paid_hold(conn, event)
    take_back(conn, event, order, 3)
    take_back(conn, event, order, places=1, quantity=3)
    before = all_of(conn)
    for seats, places, quantity in ((3,), 0, None), ((), 1, 3), ((), 2, 2), ((9,), 0, None):
        with pytest.raises(Conflicted) as refused:
            take_back(conn, event, order, *seats, places=places, quantity=quantity)
        assert refused.value.code in ("not_in_order", "order_changed")
        assert all_of(conn) == before
    with pytest.raises(BadRequest) as unsaid:
        take_back(conn, event, order, places=1)
    assert unsaid.value.code == "quantity_required"
    assert all_of(conn) == before


def test_what_is_no_order_is_not_taken_back(conn, event):
    hold(conn, event)
    other = make_event(conn, "gig-2")
    before = all_of(conn)
    with pytest.raises(Conflicted, match="is active, no order") as refused:
        take_back(conn, event, HOLD)
    assert refused.value.code == "not_an_order"
    with pytest.raises(NotFound):
        take_back(conn, event, 10**18)
    with pytest.raises(NotFound):
        take_back(conn, other, HOLD)
    assert all_of(conn) == before


def test_a_holder_is_told_that_the_order_was_taken_back(conn, event):
    order = paid_hold(conn, event)
    take_back(conn, event, order)
    for work in (holds.confirm, holds.release):
        with pytest.raises(Conflicted) as refused:
            change(conn, work, event)
        assert refused.value.code == "hold_refunded"


def test_an_operator_who_releases_an_order_taken_back_is_told_so(conn, event):
    order = paid_hold(conn, event)
    take_back(conn, event, order)
    before = all_of(conn)
    with pytest.raises(Conflicted) as refused:
        blocks.release_hold(conn, event, PLAN, order, SAID)
    assert refused.value.code == "hold_refunded"
    assert all_of(conn) == before


def test_two_operators_at_once_take_back_once(conn, event, database_url):
    order = paid_hold(conn, event)
    answers = []

    def one():
        with psycopg.connect(database_url, autocommit=True) as own:
            answers.append(take_back(own, event, order).state)

    both = [threading.Thread(target=one) for _ in range(4)]
    for worker in both:
        worker.start()
    for worker in both:
        worker.join(timeout=30)
    assert answers == [HoldState.REFUNDED] * 4
    assert places_of(conn) == [(0, 0, 0)]
    assert [kind for _, kind, _, _ in facts_of(conn)] == ["returned"]


# --- each guard alone ---


def test_other_events_stay_as_they_are(conn, event):
    other = make_event(conn, "gig-2")
    sell(conn, event, 1, places=3)
    mine = sell(conn, other, 1, places=4)
    before = seats_of(conn, event), audit.read(conn, event)
    take_back(conn, other, mine.hold)
    assert (seats_of(conn, event), audit.read(conn, event)) == before
    assert places_of(conn) == [(0, 3, 0), (0, 0, 0)]
    assert get_event(conn, "gig").id == event


@pytest.fixture
def values(conn, event):
    """Seat 2 is blocked, 3 is held, 5 is sold by `FIRST`; 5 places are blocked, 4 sold."""
    hold(conn, event, seats=(3,), places=0)
    block(conn, event, 2, places=5)
    sell(conn, event, 5, places=9)
    block(conn, event, places=5)
    said = {"event": event, "hold": FIRST, "who": "Olga", "seats": [2, 3, 5], "areas": [0], "places": [6]}
    return said | {"becomes": "available", "count": 10}


def test_each_statement_stands_alone_against_what_is_not_as_it_must_be(conn, values):
    def won(statement, **other):
        with conn.transaction(force_rollback=True):
            return conn.execute(statement, values | other).rowcount

    with conn.transaction(force_rollback=True):
        conn.execute("UPDATE seat SET state = 'available' WHERE seat_no = 2")
        assert conn.execute(sales.SELL_SEATS, values).rowcount == 0
    assert won(sales.SELL_SEATS) == 1
    assert won(sales.SELL_PLACES) == 0
    assert won(sales.SELL_PLACES, places=[5]) == 1
    assert won(sales.FREE_SOLD) == 1
    assert won(sales.FREE_SOLD, hold=FIRST + 1) == 0
    assert won(sales.FREE_SOLD_PLACES, places=[10]) == 0
    assert won(sales.KEEP_FEWER) == 0
    assert won(sales.KEEP_FEWER, count=9) == 1
    assert won(sales.REFUND, hold=HOLD) == 0
    assert won(sales.REFUND) == 1


def test_a_sale_that_won_too_few_is_undone_and_alarms(conn, event, monkeypatch):
    monkeypatch.setattr(sales, "_on_sale", lambda *_: Blocks())
    before = all_of(conn)
    for seats, places in (((1,), 0), ((), 2)):
        with pytest.raises(AssertionError, match="are locked and"):
            sell(conn, event, *seats, places=places)
        assert all_of(conn) == before


def test_an_order_that_does_not_add_up_is_left_alone_and_alarms(conn, event):
    order = paid_hold(conn, event)
    with conn.transaction(force_rollback=True):
        conn.execute("DELETE FROM hold_seat WHERE seat_no = 3")
        before = all_of(conn)
        with pytest.raises(AssertionError, match="counts 4 but 3"):
            take_back(conn, event, order)
        assert all_of(conn) == before


# --- locks ---


def test_a_sale_locks_the_event_then_seats_by_number_then_places(conn, event, database_url):
    with held_up(database_url, locking("FROM event"), lambda: sell(conn, event, 4, 2, places=3)) as other:
        assert is_free(other, "FROM seat WHERE seat_no = 2")
    take_back(conn, event, FIRST)
    first = "FROM seat WHERE seat_no = 2"
    with held_up(database_url, locking(first), lambda: sell(conn, event, 4, 2, places=3)) as other:
        assert is_free(other, "FROM seat WHERE seat_no = 4")
        assert is_free(other, "FROM area")


def test_an_order_is_locked_before_its_seats_and_they_before_its_places(conn, event, database_url):
    first, second = (sell(conn, event, seat, seat + 1, places=1, buyer=f"b{seat}") for seat in (1, 3))
    there = f"FROM hold WHERE hold_id = {first.hold}"
    with held_up(database_url, locking(there), lambda: take_back(conn, event, first.hold)) as other:
        assert is_free(other, "FROM seat WHERE seat_no = 1")
        assert is_free(other, "FROM area")
    there = "FROM seat WHERE seat_no = 3"
    with held_up(database_url, locking(there), lambda: take_back(conn, event, second.hold)) as other:
        assert is_free(other, "FROM seat WHERE seat_no = 4")
        assert is_free(other, "FROM area")


def test_a_lock_held_for_long_is_waited_for_a_bounded_time(conn, event, database_url, monkeypatch):
    monkeypatch.setattr("store.blocks.LOCK_WAIT_MS_MAX", 20)
    with psycopg.connect(database_url) as other:
        other.execute("SELECT 1 FROM event FOR UPDATE")
        with pytest.raises(Unavailable, match="nothing was changed"):
            sell(conn, event, 3)
    assert audited(conn) == []


def test_the_order_of_a_sale_is_what_the_tables_have(conn, event):
    order = sell(conn, event, 1, places=2)
    assert json.decode(json.encode(order)) == {
        "hold": order.hold, "state": "paid", "buyer": "ann", "kind": "box_office", "seats": [GUID[1]],
        "areas": {FLOOR: 2},
    }  # fmt: skip
