"""Figures are sums of changes: the same in whatever order rows come, and however they are grouped."""

from __future__ import annotations

import json
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from store.figures.fold import (
    BOOKED_MAX,
    MINUTE_US,
    MINUTES_MAX,
    NOTHING,
    UNTOLD,
    Booked,
    Holds,
    Known,
    Minute,
    Orders,
    Refunds,
    Revenue,
    batches_of,
    change_of,
    change_of_ledger,
    plus,
    total,
)
from store.outbox import Row, Told
from store.payments.charges import Line
from store.words import OPERATORS_HOLDS
from tests.store.test_holds import PLAN

GOLD, FLOOR = 1, 0
LINES = (
    Line(3, None, 1, GOLD, 5_000, 150, 800, 5_150),
    Line(4, None, 1, GOLD, 5_000, 150, 800, 5_150),
    Line(None, 0, 3, FLOOR, 2_000, 150, 300, 2_150),
)
ORDER = 7 << 16
TOLD = [[getattr(line, name) for name in line.__struct_fields__] for line in LINES]
KNOWN = Known({7: 1_000_000_000})
PAID = {
    "order": str(ORDER),
    "buyer": "ann",
    "kind": "buyer",
    "payment": 1,
    "seats": [3, 4],
    "areas": [[0, 3]],
}


def row(kind, body, *, number=1, at=1_000_000_000):
    return Row(number, number, kind, json.dumps(body).encode(), at)


def paid(number=1, at=1_000_000_000, **other):
    return row(Told.ORDER_PAID, PAID | {"lines": TOLD} | other, number=number, at=at)


def taken_back(kind=Told.ORDER_REFUNDED, number=2, **what):
    body = {"order": str(ORDER), "buyer": "ann", "kind": "buyer", "seats": [], "areas": [], "lines": TOLD}
    return row(kind, body | what, number=number)


def of(*rows):
    return total([change_of(one, KNOWN, PLAN) for one in rows])


def test_a_paid_order_is_counted_by_category_minute_and_how_long_it_took():
    found = of(paid(at=1_000_000_000 + 31_000_000))
    assert (found.sold, found.orders) == (5, Orders(paid=1))
    assert found.revenue == {
        GOLD: Revenue(2, 10_300, 300, 1_600),
        FLOOR: Revenue(3, 6_450, 450, 900),
    }
    assert found.minutes == {1_031_000_000 // MINUTE_US: Minute(1, 5)}
    assert found.to_order == {2: 1}
    section = PLAN.sections[PLAN.seats[3].section].name
    assert found.booked == (Booked(1_031_000_000, 1, 5, section),)


def test_free_orders_and_those_by_hand_are_apart_and_places_alone_have_their_areas_name():
    free = {"payment": None, "lines": [], "seats": [], "areas": [[0, 2]]}
    found = of(paid(**free), paid(2, order=str(OPERATORS_HOLDS), kind="box_office", payment=None, lines=[]))
    assert found.orders == Orders(free=1, by_hand=1)
    assert found.revenue == {}
    assert [one.section for one in found.booked] == [
        PLAN.sections[PLAN.seats[3].section].name,
        PLAN.areas[0].name,
    ]
    assert found.to_order == {0: 1}


def test_what_is_taken_back_goes_from_where_it_was_counted():
    part = taken_back(Told.ORDER_CHANGED, seats=[4], areas=[[0, 1]], refund_minor=7_300)
    rest = taken_back(Told.ORDER_REFUNDED, 3, seats=[3], areas=[[0, 2]], refund_minor=9_450)
    found = of(paid(), part, rest)
    assert (found.sold, found.orders) == (0, Orders(paid=1, taken_back=1))
    assert found.refunds == Refunds(owed_minor=16_750)
    assert found.revenue == {
        GOLD: Revenue(2, 10_300, 300, 1_600, refunded_minor=10_300),
        FLOOR: Revenue(3, 6_450, 450, 900, refunded_minor=6_450),
    }


def test_money_back_for_nothing_that_can_be_named_is_told_without_a_category():
    found = of(taken_back(lines=[], seats=[3], refund_minor=100))
    assert found.revenue == {UNTOLD: Revenue(refunded_minor=100)}
    assert of(taken_back(seats=[3], refund_minor=6_000)).revenue == {
        GOLD: Revenue(refunded_minor=5_150),
        UNTOLD: Revenue(refunded_minor=850),
    }


def test_what_moves_to_another_event_is_no_refund_and_no_new_order_there():
    found = of(paid(), taken_back(seats=[3, 4], areas=[[0, 3]], moved_minor=16_750))
    assert found.refunds == Refunds()
    assert {no: one.moved_minor for no, one in found.revenue.items()} == {GOLD: 10_300, FLOOR: 6_450}
    there = of(paid(moved_from={"event": "gig", "order": "7"}))
    assert (there.orders, there.sold, there.booked, there.minutes) == (Orders(moved_in=1), 5, (), {})
    assert sum(one.gross_minor for one in there.revenue.values()) == 16_750


def test_refunds_of_payments_are_counted_as_owed_and_as_given():
    due = row(Told.PAYMENT_REFUND_DUE, {"payment": 1, "amount_minor": 500})
    given_back = row(Told.PAYMENT_REFUNDED, {"payment": 1, "amount_minor": 200})
    assert of(due, given_back).refunds == Refunds(owed_minor=500, given_minor=200)


def test_kinds_that_say_nothing_of_figures_change_nothing():
    assert of(row(Told.EVENT_CANCELED, {"x": 1}), row("another", [])) == NOTHING


def test_holds_are_what_the_ledger_says():
    rows = [
        ("request", "held", False, 5), ("request", "held", True, 2), ("offer", "offered", False, 3),
        ("fact", "released", False, 4), ("fact", "released", True, 9), ("expired", "expired", False, 6),
        ("request", "taken", False, 99),
    ]  # fmt: skip
    found = change_of_ledger(rows)
    assert found.holds == Holds(given=7, offered=3, moved=2, released=4, expired=6)


def test_what_must_be_looked_up_is_when_the_batches_were_that_gave_what_was_bought():
    rows = [paid(), paid(2, order=str(OPERATORS_HOLDS), kind="box_office"), taken_back(order="524288")]
    assert batches_of(rows) == {7}


# --- in whatever order ---


@st.composite
def rows_of_a_sale(draw):
    rows = []
    for number in range(draw(st.integers(1, 30))):
        at = draw(st.integers(0, 500)) * MINUTE_US + number
        kind = draw(st.sampled_from(["paid", "free", "hand", "changed", "refunded", "due", "given", "moved"]))
        amount = draw(st.integers(0, 20_000))
        if kind == "paid":
            rows.append(paid(number, at))
        elif kind in ("free", "hand"):
            by = "buyer" if kind == "free" else "complimentary"
            rows.append(paid(number, at, kind=by, payment=None, lines=[]))
        elif kind in ("changed", "refunded", "moved"):
            what = {"seats": [3], "areas": [[0, 1]]}
            what["moved_minor" if kind == "moved" else "refund_minor"] = amount
            told = Told.ORDER_CHANGED if kind == "changed" else Told.ORDER_REFUNDED
            rows.append(taken_back(told, number, **what))
        else:
            told = Told.PAYMENT_REFUND_DUE if kind == "due" else Told.PAYMENT_REFUNDED
            rows.append(row(told, {"amount_minor": amount}, number=number, at=at))
    return rows


@given(rows_of_a_sale(), st.randoms(use_true_random=False), st.integers(1, 7))
def test_rows_in_any_order_and_in_any_groups_come_to_the_same(rows, random, size):
    in_order = of(*rows)
    shuffled = list(rows)
    random.shuffle(shuffled)
    groups = [of(*shuffled[start : start + size]) for start in range(0, len(shuffled), size)]
    random.shuffle(groups)
    assert reduce(plus, groups, NOTHING) == in_order
    assert reduce(lambda one, other: plus(other, one), groups, NOTHING) == in_order


def test_the_minutes_that_are_kept_are_the_last_ones():
    whole = of(*[paid(number, number * 7 % 1_009 * MINUTE_US) for number in range(1_009)])
    assert sorted(whole.minutes) == list(range(1_009 - MINUTES_MAX, 1_009))
    assert [one.at // MINUTE_US for one in whole.booked] == list(range(1_008, 1_008 - BOOKED_MAX, -1))


@given(st.lists(st.integers(0, 5_000), max_size=MINUTES_MAX * 2), st.integers(1, 50))
def test_what_is_forgotten_of_the_past_is_the_same_in_any_groups(minutes, size):
    rows = [paid(number, minute * MINUTE_US) for number, minute in enumerate(minutes)]
    whole = of(*rows)
    assert len(whole.minutes) <= MINUTES_MAX
    assert len(whole.booked) == min(len(rows), BOOKED_MAX)
    assert (
        reduce(plus, [of(*rows[start : start + size]) for start in range(0, len(rows), size)], NOTHING)
        == whole
    )
