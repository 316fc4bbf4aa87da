"""The storm's judge: what is right has no findings, and each thing that can be wrong has one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from bench.payments.storming.evidence import (
    AreaRow,
    Book,
    HoldRow,
    Intent,
    OutboxRow,
    PaymentRow,
    RefundRow,
    Returned,
    Rows,
    Settled,
    Told,
)
from bench.payments.storming.judge import KINDS, judge
from bench.payments.storming.plan import TakenBack
from bench.payments.storming.sums import balances

BOUGHT = PaymentRow(1, 7, 100, 100, "ann", "pi_1", "succeeded", "EUR", 5_000, 2, True, 0, 0, 95)
BACK = PaymentRow(2, 7, 200, None, "bob", "pi_2", "refunded", "EUR", 2_500, 1, True, 0, 2_500, 60)
OPEN = PaymentRow(3, 7, 300, None, "cem", "pi_3", "canceled", "EUR", 2_500, 1, False, 0, 0, 0)
AGAIN = PaymentRow(4, 7, 400, 401, "dot", "pi_4", "succeeded", "EUR", 2_500, 1, True, 0, 0, 60)
FEWER = PaymentRow(5, 7, 500, 500, "eli", "pi_5", "succeeded", "EUR", 7_500, 3, True, 0, 2_500, 130)
TAKEN = PaymentRow(6, 7, 600, 600, "fay", "pi_6", "refunded", "EUR", 2_500, 1, True, 0, 2_500, 60)
CANCELED = PaymentRow(7, 8, 700, 700, "gus", "pi_7", "refunded", "EUR", 2_500, 1, True, 0, 2_500, 60)
ORDER = HoldRow(7, 100, "ann", "paid", 2, (11, 12), {}, 5_000)
OVER = HoldRow(7, 200, "bob", "expired", 1, (), {}, 0)
GONE = HoldRow(7, 300, "cem", "released", 1, (), {}, 0)
LATE = HoldRow(7, 400, "dot", "expired", 1, (), {}, 0)
LATER = HoldRow(7, 401, "dot", "paid", 1, (13,), {}, 2_500)
PARTLY = HoldRow(7, 500, "eli", "paid", 2, (14,), {0: 1}, 5_000)
TAKEN_ORDER = HoldRow(7, 600, "fay", "refunded", 1, (), {}, 0)
CANCELED_ORDER = HoldRow(8, 700, "gus", "refunded", 1, (), {}, 0)
FLOOR = AreaRow(7, 0, 10, 2, 1)
REFUND = RefundRow(1, 2, 7, 2_500, "refunded", "re_1")
REFUND_OF_ONE = RefundRow(2, 5, 7, 2_500, "refunded", "re_2")
REFUND_OF_ALL = RefundRow(3, 6, 7, 2_500, "refunded", "re_3")
REFUND_OF_EVENT = RefundRow(4, 7, 8, 2_500, "refunded", "re_4")
REFUNDS = [REFUND, REFUND_OF_ONE, REFUND_OF_ALL, REFUND_OF_EVENT]
OUTBOX = [
    OutboxRow(1, 7, "order.paid", 1, None, "100", 5_000),
    OutboxRow(2, 7, "payment.refund_due", 2, None, None, 2_500),
    OutboxRow(3, 7, "payment.refunded", 2, 1, None, 2_500),
    OutboxRow(4, 7, "payment.late", 4, None, None, 2_500),
    OutboxRow(5, 7, "order.paid", 4, None, "401", 2_500),
    OutboxRow(6, 7, "order.paid", 5, None, "500", 7_500),
    OutboxRow(7, 7, "order.changed", None, None, "500", None),
    OutboxRow(8, 7, "payment.refunded", 5, 2, "500", 2_500),
    OutboxRow(9, 7, "order.paid", 6, None, "600", 2_500),
    OutboxRow(10, 7, "order.refunded", None, None, "600", None),
    OutboxRow(11, 7, "payment.refunded", 6, 3, "600", 2_500),
    OutboxRow(12, 8, "order.paid", 7, None, "700", 2_500),
    OutboxRow(13, 8, "event.canceled", None, None, None, None),
    OutboxRow(14, 8, "order.refunded", None, None, "700", None),
    OutboxRow(15, 8, "payment.refunded", 7, 4, "700", 2_500),
]
INTENTS = [
    Intent("pi_1", 1, "succeeded", 5_000, 0, 95),
    Intent("pi_2", 2, "succeeded", 2_500, 2_500, 60),
    Intent("pi_3", 3, "canceled", 2_500, 0, 0),
    Intent("pi_4", 4, "succeeded", 2_500, 0, 60),
    Intent("pi_5", 5, "succeeded", 7_500, 2_500, 130),
    Intent("pi_6", 6, "succeeded", 2_500, 2_500, 60),
    Intent("pi_7", 7, "succeeded", 2_500, 2_500, 60),
]
SETTLED = Settled(7, True, [], 3, 20_000, 7_500, 0, 12_500, 405, 12_095)
SETTLED_CANCELED = Settled(8, True, [], 0, 2_500, 2_500, 0, 0, 60, -60)
RETURNED = [Returned(7, 500, TakenBack.SOME, 1), Returned(7, 600, TakenBack.ALL, 1)]
RIGHT = Rows(
    [BOUGHT, BACK, OPEN, AGAIN, FEWER, TAKEN, CANCELED],
    [ORDER, OVER, GONE, LATE, LATER, PARTLY, TAKEN_ORDER, CANCELED_ORDER],
    [FLOOR],
    REFUNDS,
    OUTBOX,
    INTENTS,
    [
        Told("ann", 7, "100", "succeeded", "100"),
        Told("bob", 7, "200", "refunded", None),
        Told("fay", 7, "600", "succeeded", "600"),
        Told("gus", 8, "700", "succeeded", "700"),
    ],
    Book(6, 22_500, 10_000),
    {f"msg_{row.id}": 1 for row in OUTBOX} | {"msg_1": 3},
    [SETTLED, SETTLED_CANCELED],
    RETURNED,
    {8},
)


def instead(rows: list[Any], old: Any, *new: Any) -> list[Any]:
    assert old in rows
    return [one for one in rows if one is not old] + list(new)


def payments(old: PaymentRow, **other: Any) -> Rows:
    return replace(RIGHT, payments=instead(list(RIGHT.payments), old, replace(old, **other)))


def holds(old: HoldRow, *new: HoldRow) -> Rows:
    return replace(RIGHT, holds=instead(list(RIGHT.holds), old, *new))


def refunds(old: RefundRow, *new: RefundRow) -> Rows:
    return replace(RIGHT, refunds=instead(REFUNDS, old, *new))


def areas(old: AreaRow, **other: Any) -> Rows:
    return replace(RIGHT, areas=instead(list(RIGHT.areas), old, replace(old, **other)))


def returned(old: Returned, *new: Returned) -> Rows:
    return replace(RIGHT, returned=instead(RETURNED, old, *new))


def settled(**other: Any) -> Rows:
    return replace(RIGHT, settled=[replace(SETTLED, **other), SETTLED_CANCELED])


def intents(old: Intent, *new: Intent) -> Rows:
    return replace(RIGHT, intents=instead(list(RIGHT.intents), old, *new))


def outbox(old: OutboxRow, *new: OutboxRow) -> Rows:
    return replace(RIGHT, outbox=instead(list(RIGHT.outbox), old, *new))


def kinds(rows: Rows) -> set[str]:
    return {finding.kind for finding in judge(rows)}


def test_what_is_right_has_no_findings():
    assert judge(RIGHT) == []


def test_money_adds_up_by_event():
    money = balances(RIGHT)[7]
    assert (money.taken, money.given_back, money.kept) == (20_000, 7_500, 12_500)
    assert (money.orders, money.orders_worth) == (3, 12_500)
    assert (money.provider_fees, money.due, money.payout) == (405, 0, 12_095)


WRONG = {
    "money that still waits to go back": (payments(BACK, state="refund_due"), "unanswered"),
    "money that still asks for seats": (payments(AGAIN, state="late", order_id=None), "unanswered"),
    "money that was canceled": (payments(OPEN, money=True), "unanswered"),
    "an order that is not there": (holds(ORDER), "unanswered"),
    "an order that is no order": (holds(ORDER, replace(ORDER, state="expired")), "unanswered"),
    "an order of somebody else": (holds(ORDER, replace(ORDER, buyer="eve")), "unanswered"),
    "an order that lacks a seat": (holds(ORDER, replace(ORDER, seats=(11,))), "unanswered"),
    "a payment that bought nothing": (payments(BOUGHT, order_id=None), "unanswered"),
    "a refund that was not given": (refunds(REFUND), "unanswered"),
    "a refund of too little": (refunds(REFUND, replace(REFUND, amount_minor=2_499)), "unanswered"),
    "a refund that is still due": (refunds(REFUND, replace(REFUND, state="due")), "unanswered"),
    "an order bought twice": (
        replace(RIGHT, payments=[*RIGHT.payments, replace(BOUGHT, id=15, intent="pi_15")]),
        "paid_twice",
    ),
    "a seat in two orders": (holds(LATER, replace(LATER, seats=(12,))), "paid_twice"),
    "an order nobody paid for": (
        replace(RIGHT, holds=[*RIGHT.holds, HoldRow(7, 900, "eve", "paid", 1, (19,), {}, 0)]),
        "unbalanced",
    ),
    "money the provider did not take": (
        intents(INTENTS[0], replace(INTENTS[0], status="canceled")),
        "provider",
    ),
    "money only the provider knows of": (
        intents(INTENTS[2], replace(INTENTS[2], status="succeeded")),
        "provider",
    ),
    "an intent nobody knows": (
        replace(RIGHT, intents=[*INTENTS, Intent("pi_9", 9, "succeeded", 1, 0, 1)]),
        "provider",
    ),
    "two paid intents for one payment": (
        replace(RIGHT, intents=[*INTENTS, replace(INTENTS[0], id="pi_9")]),
        "provider",
    ),
    "a payment the provider does not know": (intents(INTENTS[0]), "provider"),
    "another amount": (intents(INTENTS[0], replace(INTENTS[0], amount_minor=4_999)), "provider"),
    "a refund given twice": (intents(INTENTS[1], replace(INTENTS[1], refunded_minor=5_000)), "provider"),
    "a refund given for an order": (
        intents(INTENTS[0], replace(INTENTS[0], refunded_minor=5_000)),
        "provider",
    ),
    "another fee": (intents(INTENTS[0], replace(INTENTS[0], fee_minor=94)), "provider"),
    "a book with one payment more": (replace(RIGHT, book=Book(7, 25_000, 10_000)), "provider"),
    "a book with one refund more": (replace(RIGHT, book=Book(6, 22_500, 12_500)), "provider"),
    "a row that reached nobody": (
        replace(RIGHT, delivered={key: 1 for key in RIGHT.delivered if key != "msg_3"}),
        "undelivered",
    ),
    "a message that is no row": (
        replace(RIGHT, delivered=dict(RIGHT.delivered) | {"msg_99": 1}),
        "undelivered",
    ),
    "a message not signed by us": (replace(RIGHT, not_genuine=1), "undelivered"),
    "an order that is not told": (outbox(OUTBOX[0]), "untold"),
    "an order told twice": (replace(RIGHT, outbox=[*OUTBOX, replace(OUTBOX[0], id=16)]), "untold"),
    "an order told that is none": (
        replace(RIGHT, outbox=[*OUTBOX, replace(OUTBOX[0], id=16, payment=3)]),
        "untold",
    ),
    "an order told with another amount": (outbox(OUTBOX[0], replace(OUTBOX[0], amount_minor=1)), "untold"),
    "a refund that is not told": (outbox(OUTBOX[2]), "untold"),
    "a refund told twice": (replace(RIGHT, outbox=[*OUTBOX, replace(OUTBOX[2], id=16)]), "untold"),
    "seats worth more than was paid": (holds(ORDER, replace(ORDER, worth_minor=5_001)), "unbalanced"),
    "seats worth a cent more, and a settlement that says so, too": (
        replace(
            holds(ORDER, replace(ORDER, worth_minor=5_001)),
            settled=[replace(SETTLED, standing_minor=12_501), SETTLED_CANCELED],
        ),
        "unbalanced",
    ),
    "seats worth less than was paid": (holds(ORDER, replace(ORDER, worth_minor=4_999)), "unbalanced"),
    "a payment that counts refunds it has not": (payments(BOUGHT, refunded_minor=1), "unbalanced"),
    "a payment that owes what no refund gives": (payments(BOUGHT, refund_due_minor=1), "unbalanced"),
    "a buyer told of an order that is none": (holds(ORDER, replace(ORDER, state="refunded")), "misled"),
    "a buyer told of somebody else's order": (holds(ORDER, replace(ORDER, buyer="eve")), "misled"),
    "a buyer told of no order at all": (
        replace(RIGHT, told=[Told("ann", 7, "100", "succeeded", None)]),
        "misled",
    ),
    "some taken that is still there": (
        holds(PARTLY, replace(PARTLY, seats=(14, 15), quantity=3)),
        "unanswered",
    ),
    "more gone than was taken": (holds(PARTLY, replace(PARTLY, seats=(), quantity=1)), "unanswered"),
    "a quantity that is not what is there": (holds(ORDER, replace(ORDER, quantity=3)), "unanswered"),
    "some taken that did not go back": (payments(FEWER, refunded_minor=0), "unanswered"),
    "an order taken that stands": (holds(TAKEN_ORDER, replace(TAKEN_ORDER, state="paid")), "unanswered"),
    "an order taken whose money is kept": (payments(TAKEN, state="succeeded"), "unanswered"),
    "an order taken that is not there": (
        returned(RETURNED[0], replace(RETURNED[0], order=999)),
        "unanswered",
    ),
    "an order of a canceled event that stands": (
        replace(RIGHT, canceled={7, 8}),
        "unanswered",
    ),
    "places sold beyond an area": (areas(FLOOR, capacity=2), "paid_twice"),
    "places that orders have and the area did not sell": (areas(FLOOR, sold=0), "paid_twice"),
    "places sold that no order has": (areas(FLOOR, sold=2), "unbalanced"),
    "places of no area": (replace(RIGHT, areas=[]), "unbalanced"),
    "an order taken that is not told": (outbox(OUTBOX[9]), "untold"),
    "an order taken twice": (replace(RIGHT, outbox=[*OUTBOX, replace(OUTBOX[9], id=16)]), "untold"),
    "some of an order taken that is not told": (outbox(OUTBOX[6]), "untold"),
    "a canceled event that is not told": (outbox(OUTBOX[12]), "untold"),
    "a settlement that does not balance": (settled(balances=False), "unbalanced"),
    "a settlement that names a payment": (settled(stories=["payment 1: its lines"]), "unbalanced"),
    "a settlement of other orders": (settled(orders=2), "unbalanced"),
    "a settlement of other money": (settled(money_in_minor=19_999), "unbalanced"),
    "a settlement of other refunds": (settled(refunded_minor=7_499), "unbalanced"),
    "a settlement that owes": (settled(refund_due_minor=1), "unbalanced"),
    "a settlement of dearer orders": (settled(standing_minor=12_501), "unbalanced"),
    "a settlement of other fees": (settled(provider_fee_minor=404), "unbalanced"),
    "a settlement that pays out more": (settled(payout_minor=12_096), "unbalanced"),
    "an event without a settlement": (replace(RIGHT, settled=[SETTLED]), "unbalanced"),
    "a ledger that is not so": (replace(RIGHT, verified=["gig: batch 3"]), "verify"),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_thing_that_is_wrong_is_found(name):
    rows, kind = WRONG[name]
    assert kind in kinds(rows)


def test_every_kind_of_finding_can_be_found():
    assert {kind for _, kind in WRONG.values()} == set(KINDS)


def test_seats_of_two_events_are_not_the_same_seats():
    others = [replace(one, event_id=9) for one in RIGHT.holds]
    bought = [replace(one, id=one.id + 10, event_id=9, intent=f"pi_1{one.id}") for one in RIGHT.payments]
    floors = [FLOOR, replace(FLOOR, event_id=9)]
    both = replace(RIGHT, holds=[*RIGHT.holds, *others], payments=[*RIGHT.payments, *bought], areas=floors)
    assert "paid_twice" not in kinds(both)
