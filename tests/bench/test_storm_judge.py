"""The storm's judge: what is right has no findings, and each thing that can be wrong has one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from bench.payments.storming.evidence import (
    Book,
    HoldRow,
    Intent,
    OutboxRow,
    PaymentRow,
    RefundRow,
    Rows,
    Told,
)
from bench.payments.storming.judge import KINDS, balances, judge

BOUGHT = PaymentRow(1, 7, 100, 100, "ann", "pi_1", "succeeded", "EUR", 5_000, 2, True, 0, 0, 95)
BACK = PaymentRow(2, 7, 200, None, "bob", "pi_2", "refunded", "EUR", 2_500, 1, True, 0, 2_500, 60)
OPEN = PaymentRow(3, 7, 300, None, "cem", "pi_3", "canceled", "EUR", 2_500, 1, False, 0, 0, 0)
AGAIN = PaymentRow(4, 7, 400, 401, "dot", "pi_4", "succeeded", "EUR", 2_500, 1, True, 0, 0, 60)
ORDER = HoldRow(7, 100, "ann", "paid", 2, (11, 12), 5_000)
OVER = HoldRow(7, 200, "bob", "expired", 1, (), 0)
GONE = HoldRow(7, 300, "cem", "released", 1, (), 0)
LATE = HoldRow(7, 400, "dot", "expired", 1, (), 0)
LATER = HoldRow(7, 401, "dot", "paid", 1, (13,), 2_500)
REFUND = RefundRow(1, 2, 7, 2_500, "refunded", "re_1")
OUTBOX = [
    OutboxRow(1, 7, "order.paid", 1, None, "100", 5_000),
    OutboxRow(2, 7, "payment.refund_due", 2, None, None, 2_500),
    OutboxRow(3, 7, "payment.refunded", 2, 1, None, 2_500),
    OutboxRow(4, 7, "payment.late", 4, None, None, 2_500),
    OutboxRow(5, 7, "order.paid", 4, None, "401", 2_500),
]
INTENTS = [
    Intent("pi_1", 1, "succeeded", 5_000, 0, 95),
    Intent("pi_2", 2, "succeeded", 2_500, 2_500, 60),
    Intent("pi_3", 3, "canceled", 2_500, 0, 0),
    Intent("pi_4", 4, "succeeded", 2_500, 0, 60),
]
RIGHT = Rows(
    [BOUGHT, BACK, OPEN, AGAIN],
    [ORDER, OVER, GONE, LATE, LATER],
    [REFUND],
    OUTBOX,
    INTENTS,
    [Told("ann", 7, "100", "succeeded", "100"), Told("bob", 7, "200", "refunded", None)],
    Book(3, 10_000, 2_500),
    {f"msg_{row.id}": 1 for row in OUTBOX} | {"msg_1": 3},
)


def instead(rows: list[Any], old: Any, *new: Any) -> list[Any]:
    assert old in rows
    return [one for one in rows if one is not old] + list(new)


def payments(old: PaymentRow, **other: Any) -> Rows:
    return replace(RIGHT, payments=instead(list(RIGHT.payments), old, replace(old, **other)))


def holds(old: HoldRow, *new: HoldRow) -> Rows:
    return replace(RIGHT, holds=instead(list(RIGHT.holds), old, *new))


def refunds(*new: RefundRow) -> Rows:
    return replace(RIGHT, refunds=list(new))


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
    assert (money.taken, money.given_back, money.kept) == (10_000, 2_500, 7_500)
    assert (money.orders_worth, money.provider_fees) == (7_500, 215)


WRONG = {
    "money that still waits to go back": (payments(BACK, state="refund_due"), "unanswered"),
    "money that still asks for seats": (payments(AGAIN, state="late", order_id=None), "unanswered"),
    "money that was canceled": (payments(OPEN, money=True), "unanswered"),
    "an order that is not there": (holds(ORDER), "unanswered"),
    "an order that is no order": (holds(ORDER, replace(ORDER, state="expired")), "unanswered"),
    "an order of somebody else": (holds(ORDER, replace(ORDER, buyer="eve")), "unanswered"),
    "an order that lacks a seat": (holds(ORDER, replace(ORDER, seats=(11,))), "unanswered"),
    "a payment that bought nothing": (payments(BOUGHT, order_id=None), "unanswered"),
    "a refund that was not given": (refunds(), "unanswered"),
    "a refund of too little": (refunds(replace(REFUND, amount_minor=2_499)), "unanswered"),
    "a refund that is still due": (refunds(replace(REFUND, state="due")), "unanswered"),
    "an order bought twice": (
        replace(RIGHT, payments=[*RIGHT.payments, replace(BOUGHT, id=5, intent="pi_5")]),
        "paid_twice",
    ),
    "a seat in two orders": (holds(LATER, replace(LATER, seats=(12,))), "paid_twice"),
    "an order nobody paid for": (
        replace(RIGHT, holds=[*RIGHT.holds, HoldRow(7, 500, "eve", "paid", 1, (14,), 0)]),
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
    "a book with one payment more": (replace(RIGHT, book=Book(4, 12_500, 2_500)), "provider"),
    "a book with one refund more": (replace(RIGHT, book=Book(3, 10_000, 5_000)), "provider"),
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
    "an order told twice": (replace(RIGHT, outbox=[*OUTBOX, replace(OUTBOX[0], id=6)]), "untold"),
    "an order told that is none": (
        replace(RIGHT, outbox=[*OUTBOX, replace(OUTBOX[0], id=6, payment=3)]),
        "untold",
    ),
    "an order told with another amount": (outbox(OUTBOX[0], replace(OUTBOX[0], amount_minor=1)), "untold"),
    "a refund that is not told": (outbox(OUTBOX[2]), "untold"),
    "a refund told twice": (replace(RIGHT, outbox=[*OUTBOX, replace(OUTBOX[2], id=6)]), "untold"),
    "seats worth more than was paid": (holds(ORDER, replace(ORDER, worth_minor=5_001)), "unbalanced"),
    "seats worth less than was paid": (holds(ORDER, replace(ORDER, worth_minor=4_999)), "unbalanced"),
    "a payment that counts refunds it has not": (payments(BOUGHT, refunded_minor=1), "unbalanced"),
    "a payment that owes what no refund gives": (payments(BOUGHT, refund_due_minor=1), "unbalanced"),
    "a buyer told of an order that is none": (holds(ORDER, replace(ORDER, state="refunded")), "misled"),
    "a buyer told of somebody else's order": (holds(ORDER, replace(ORDER, buyer="eve")), "misled"),
    "a buyer told of no order at all": (
        replace(RIGHT, told=[Told("ann", 7, "100", "succeeded", None)]),
        "misled",
    ),
    "a ledger that is not so": (replace(RIGHT, verified=["gig: batch 3"]), "verify"),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_thing_that_is_wrong_is_found(name):
    rows, kind = WRONG[name]
    assert kind in kinds(rows)


def test_every_kind_of_finding_can_be_found():
    assert {kind for _, kind in WRONG.values()} == set(KINDS)


def test_seats_of_two_events_are_not_the_same_seats():
    others = [replace(one, event_id=8) for one in RIGHT.holds]
    bought = [replace(one, id=one.id + 10, event_id=8, intent=f"pi_1{one.id}") for one in RIGHT.payments]
    both = replace(RIGHT, holds=[*RIGHT.holds, *others], payments=[*RIGHT.payments, *bought])
    assert "paid_twice" not in kinds(both)
