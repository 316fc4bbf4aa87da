"""Is all money answered for? Pure: rows in, findings out. It knows the tables, and none of the code that
fills them: what a hold is worth comes from its seats, what was paid from the provider.

Kinds of findings, all of which must stay at zero:
- `unanswered`: money came, and there are neither seats nor a refund of all of it; or it is still on its way;
- `paid_twice`: a seat, or an order, that two payments have bought;
- `provider`: onsale and its payment provider do not agree about money;
- `undelivered`: a row of the outbox that the sink never got, or something it got that is no row;
- `untold`: money moved, and the outbox says nothing of it, or says it twice;
- `unbalanced`: orders, refunds and what was taken do not add up to the cent;
- `misled`: a buyer was told that there is an order, and there is none of theirs;
- `verify`: the ledger or the tables do not agree with themselves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from bench.evidence import Finding
from bench.payments.storming.evidence import Book, HoldRow, Intent, PaymentRow, Rows

KINDS: Final = (
    "unanswered",
    "paid_twice",
    "provider",
    "undelivered",
    "untold",
    "unbalanced",
    "misled",
    "verify",
)
BOUGHT: Final = "succeeded"
BACK: Final = "refunded"
PAID_HOLD: Final = "paid"


class Balance:
    """One event's money, added up from rows that know nothing of each other."""

    def __init__(self) -> None:
        self.taken = self.given_back = self.orders_worth = self.provider_fees = 0

    @property
    def kept(self) -> int:
        return self.taken - self.given_back


def judge(rows: Rows) -> list[Finding]:
    """Everything that is not as it must be."""
    return [
        *_unanswered(rows),
        *_paid_twice(rows),
        *_against_the_provider(rows),
        *_deliveries(rows),
        *_outbox(rows),
        *_unbalanced(rows),
        *_misled(rows),
        *[Finding("verify", story) for story in rows.verified],
    ]


def balances(rows: Rows) -> dict[int, Balance]:
    """By event: taken is what payments brought in, given back what refunds gave, an order's worth what its
    seats cost."""
    found: dict[int, Balance] = defaultdict(Balance)
    for payment in rows.payments:
        if payment.money:
            found[payment.event_id].taken += payment.amount_minor
            found[payment.event_id].provider_fees += payment.provider_fee_minor
    for refund in rows.refunds:
        if refund.state == BACK:
            found[refund.event_id].given_back += refund.amount_minor
    for hold in rows.holds:
        if hold.state == PAID_HOLD:
            found[hold.event_id].orders_worth += hold.worth_minor
    return found


def _unanswered(rows: Rows) -> Iterator[Finding]:
    holds = {(one.event_id, one.hold_id): one for one in rows.holds}
    back: Counter[int] = Counter()
    for refund in rows.refunds:
        if refund.state == BACK:
            back[refund.payment_id] += refund.amount_minor
    for payment in rows.payments:
        if not payment.money:
            continue
        if payment.state == BOUGHT:
            story = _not_bought(payment, holds)
        elif payment.state == BACK:
            short = back[payment.id] != payment.amount_minor
            story = f"{back[payment.id]} of {payment.amount_minor} went back" if short else ""
        else:
            story = f"it came and is still {payment.state}"
        if story:
            yield Finding("unanswered", f"Payment {payment.id} of {payment.buyer}: {story}.")


def _not_bought(payment: PaymentRow, holds: dict[tuple[int, int], HoldRow]) -> str:
    """Why a payment that bought something has no seats."""
    order = None if payment.order_id is None else holds.get((payment.event_id, payment.order_id))
    if order is None:
        return f"there is no order {payment.order_id}"
    if order.state != PAID_HOLD:
        return f"its order {order.hold_id} is {order.state}"
    if order.buyer != payment.buyer:
        return f"its order {order.hold_id} is {order.buyer}'s"
    if len(order.seats) != payment.quantity:
        return f"its order {order.hold_id} has {len(order.seats)} of {payment.quantity} seats"
    return ""


def _paid_twice(rows: Rows) -> Iterator[Finding]:
    orders = Counter(
        (payment.event_id, payment.order_id)
        for payment in rows.payments
        if payment.state == BOUGHT and payment.order_id is not None
    )
    for (event, order), count in orders.items():
        if count > 1:
            yield Finding("paid_twice", f"Order {order} of event {event} was bought by {count} payments.")
    seats = Counter(
        (hold.event_id, seat) for hold in rows.holds if hold.state == PAID_HOLD for seat in hold.seats
    )
    for (event, seat), count in seats.items():
        if count > 1:
            yield Finding("paid_twice", f"Seat {seat} of event {event} is in {count} orders.")
    for hold in rows.holds:
        if hold.state == PAID_HOLD and not orders[hold.event_id, hold.hold_id]:
            story = f"Order {hold.hold_id} of event {hold.event_id} was bought by no payment"
            yield Finding("unbalanced", f"{story} that kept its money.")


def _against_the_provider(rows: Rows) -> Iterator[Finding]:
    payments = {payment.id: payment for payment in rows.payments}
    by_payment: dict[int, list[Intent]] = defaultdict(list)
    for intent in rows.intents:
        by_payment[intent.payment].append(intent)
        payment = payments.get(intent.payment)
        if payment is None or payment.intent != intent.id:
            known = "that we do not know" if payment is None else f"that is not payment {payment.id}'s"
            if intent.status == BOUGHT:
                yield Finding("provider", f"It took money for intent {intent.id} {known}.")
            continue
        yield from _differences(payment, intent)
    for payment in rows.payments:
        if payment.money and not by_payment[payment.id]:
            yield Finding("provider", f"It knows nothing of payment {payment.id}, which succeeded here.")
    here = Book(
        sum(payment.money for payment in rows.payments),
        sum(payment.amount_minor for payment in rows.payments if payment.money),
        sum(refund.amount_minor for refund in rows.refunds if refund.state == BACK),
    )
    if here != rows.book:
        yield Finding("provider", f"Its book adds up to {rows.book}, ours to {here}.")


def _differences(payment: PaymentRow, intent: Intent) -> Iterator[Finding]:
    what = f"Payment {payment.id} (intent {intent.id})"
    if (intent.status == BOUGHT) != payment.money:
        yield Finding("provider", f"{what} is {intent.status} there and {payment.state} here.")
    elif intent.amount_minor != payment.amount_minor:
        yield Finding("provider", f"{what} is {intent.amount_minor} there, {payment.amount_minor} here.")
    elif intent.refunded_minor != payment.refunded_minor:
        there, here = intent.refunded_minor, payment.refunded_minor
        yield Finding("provider", f"{what} was given back {there} there, {here} here.")
    elif payment.money and intent.fee_minor != payment.provider_fee_minor:
        there, here = intent.fee_minor, payment.provider_fee_minor
        yield Finding("provider", f"{what} cost {there} of fees there, {here} here.")


def _deliveries(rows: Rows) -> Iterator[Finding]:
    due = {f"msg_{row.id}": row for row in rows.outbox}
    for message, row in due.items():
        if message not in rows.delivered:
            yield Finding("undelivered", f"{message} ({row.kind}) never reached the sink.")
    for message in rows.delivered.keys() - due.keys():
        yield Finding("undelivered", f"The sink got {message}, which is no row of the outbox.")
    if rows.not_genuine:
        yield Finding("undelivered", f"{rows.not_genuine} deliveries had a signature that is not right.")


def _outbox(rows: Rows) -> Iterator[Finding]:
    bought = Counter(row.payment for row in rows.outbox if row.kind == "order.paid")
    back = Counter(row.refund for row in rows.outbox if row.kind == "payment.refunded")
    amounts = {row.payment: row.amount_minor for row in rows.outbox if row.kind == "order.paid"}
    for payment in rows.payments:
        wanted = 1 if payment.order_id is not None else 0
        if bought[payment.id] != wanted:
            story = f"Payment {payment.id} bought {wanted} orders; the outbox tells {bought[payment.id]}"
            yield Finding("untold", f"{story}.")
        elif wanted and amounts[payment.id] != payment.amount_minor:
            story = f"Payment {payment.id} was {payment.amount_minor}; the outbox tells {amounts[payment.id]}"
            yield Finding("untold", f"{story}.")
    for refund in rows.refunds:
        wanted = 1 if refund.state == BACK else 0
        if back[refund.id] != wanted:
            story = f"Refund {refund.id} is {refund.state}; the outbox tells of it {back[refund.id]} times"
            yield Finding("untold", f"{story}.")


def _unbalanced(rows: Rows) -> Iterator[Finding]:
    for event, money in sorted(balances(rows).items()):
        if money.kept != money.orders_worth:
            story = f"Event {event}: {money.taken} came in and {money.given_back} went back"
            yield Finding("unbalanced", f"{story}, but the orders are worth {money.orders_worth}.")
    given: Counter[int] = Counter()
    due: Counter[int] = Counter()
    for refund in rows.refunds:
        (given if refund.state == BACK else due)[refund.payment_id] += refund.amount_minor
    for payment in rows.payments:
        counted = (payment.refunded_minor, payment.refund_due_minor)
        if counted != (given[payment.id], due[payment.id]):
            story = f"Payment {payment.id} counts {counted[0]} given back and {counted[1]} due"
            wrong = f"its refunds {given[payment.id]} and {due[payment.id]}"
            yield Finding("unbalanced", f"{story}, {wrong}.")


def _misled(rows: Rows) -> Iterator[Finding]:
    holds = {(one.event_id, str(one.hold_id)): one for one in rows.holds}
    for told in rows.told:
        if told.state != BOUGHT:
            continue
        order = None if told.order is None else holds.get((told.event_id, told.order))
        if order is None or order.state != PAID_HOLD or order.buyer != told.buyer:
            there = "there is none" if order is None else f"it is {order.state}, {order.buyer}'s"
            story = f"{told.buyer} was told that hold {told.hold} is bought as order {told.order}"
            yield Finding("misled", f"{story}: {there}.")
