"""Is all money answered for? Pure: rows in, findings out. It knows the tables, and none of the code that
fills them: what a hold is worth comes from its seats and places, what was paid from the provider. What adds
up is judged in `bench.payments.storming.sums`.

Kinds of findings, all of which must stay at zero:
- `unanswered`: money came, and there are neither seats nor a refund of all of it; or it is still on its way;
- `paid_twice`: a seat, a place or an order that two payments have bought;
- `provider`: onsale and its payment provider do not agree about money;
- `undelivered`: a row of the outbox that the sink never got, or something it got that is no row;
- `untold`: money or seats moved, and the outbox says nothing of it, or says it twice;
- `unbalanced`: orders, refunds and what was taken do not add up to the cent, here or in the settlement;
- `misled`: a buyer was told that there is an order, and there is none of theirs;
- `verify`: the ledger or the tables do not agree with themselves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from bench.evidence import Finding
from bench.payments.storming.evidence import Book, HoldRow, Intent, PaymentRow, Rows
from bench.payments.storming.plan import TakenBack
from bench.payments.storming.sums import BACK, BOUGHT, PAID_HOLD, TAKEN_HOLD, refunds_of, unbalanced

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

OrderKey = tuple[int, int]
"""(event, hold)"""


def judge(rows: Rows) -> list[Finding]:
    """Everything that is not as it must be."""
    return [
        *_unanswered(rows),
        *_taken_back(rows),
        *_paid_twice(rows),
        *_places(rows),
        *_against_the_provider(rows),
        *_deliveries(rows),
        *_told_of_payments(rows),
        *_told_of_orders(rows),
        *unbalanced(rows),
        *_misled(rows),
        *[Finding("verify", story) for story in rows.verified],
    ]


def _unanswered(rows: Rows) -> Iterator[Finding]:
    holds = {(one.event_id, one.hold_id): one for one in rows.holds}
    less = {(one.event_id, one.order): one.count for one in rows.returned if one.what is TakenBack.SOME}
    back = refunds_of(rows, BACK)
    for payment in rows.payments:
        if not payment.money:
            continue
        if payment.state == BOUGHT:
            story = _not_bought(payment, holds, less)
            if payment.event_id in rows.canceled:
                story = "its event is canceled, and it did not go back"
        elif payment.state == BACK:
            short = back[payment.id] != payment.amount_minor
            story = f"{back[payment.id]} of {payment.amount_minor} went back" if short else ""
        else:
            story = f"it came and is still {payment.state}"
        if story:
            yield Finding("unanswered", f"Payment {payment.id} of {payment.buyer}: {story}.")


def _not_bought(payment: PaymentRow, holds: Mapping[OrderKey, HoldRow], less: Mapping[OrderKey, int]) -> str:
    """Why a payment that bought something has no seats."""
    order = None if payment.order_id is None else holds.get((payment.event_id, payment.order_id))
    if order is None:
        return f"there is no order {payment.order_id}"
    if order.state != PAID_HOLD:
        return f"its order {order.hold_id} is {order.state}"
    if order.buyer != payment.buyer:
        return f"its order {order.hold_id} is {order.buyer}'s"
    due = payment.quantity - less.get((order.event_id, order.hold_id), 0)
    if order.has != due or order.quantity != due:
        return f"its order {order.hold_id} has {order.has} of {due} seats and places"
    return ""


def _taken_back(rows: Rows) -> Iterator[Finding]:
    """What the organiser took is gone, and paid back."""
    holds = {(one.event_id, one.hold_id): one for one in rows.holds}
    payments = {(one.event_id, one.order_id): one for one in rows.payments if one.order_id is not None}
    for one in rows.returned:
        order, payment = holds.get((one.event_id, one.order)), payments.get((one.event_id, one.order))
        what = f"The organiser took {one.what} of order {one.order} of event {one.event_id}"
        if order is None or payment is None:
            yield Finding("unanswered", f"{what}, and there is none that was paid for.")
        elif one.what is TakenBack.ALL and order.state != TAKEN_HOLD:
            yield Finding("unanswered", f"{what}: it is {order.state}, its payment {payment.state}.")
        elif one.what is TakenBack.SOME and not payment.refunded_minor:
            yield Finding("unanswered", f"{what}, and nothing went back.")


def _paid_twice(rows: Rows) -> Iterator[Finding]:
    orders = Counter(
        (payment.event_id, payment.order_id)
        for payment in rows.payments
        if payment.state == BOUGHT and payment.order_id is not None
    )
    for (event, order), count in orders.items():
        if count > 1:
            yield Finding("paid_twice", f"Order {order} of event {event} was bought by {count} payments.")
    seats = Counter((hold.event_id, seat) for hold in rows.holds for seat in hold.seats)
    for (event, seat), count in seats.items():
        if count > 1:
            yield Finding("paid_twice", f"Seat {seat} of event {event} is in {count} orders.")
    for hold in rows.holds:
        if hold.state == PAID_HOLD and not orders[hold.event_id, hold.hold_id]:
            story = f"Order {hold.hold_id} of event {hold.event_id} was bought by no payment"
            yield Finding("unbalanced", f"{story} that kept its money.")


def _places(rows: Rows) -> Iterator[Finding]:
    """Standing places: an area has sold what its orders have, and no more than there are."""
    sold: Counter[tuple[int, int]] = Counter()
    for hold in rows.holds:
        if hold.state == PAID_HOLD:
            for area, count in hold.places.items():
                sold[hold.event_id, area] += count
    for one in rows.areas:
        orders = sold.pop((one.event_id, one.area), 0)
        if max(orders, one.sold) + one.held > one.capacity or orders > one.sold:
            told = f"its orders have {orders} places, it has sold {one.sold} of {one.capacity}"
            yield Finding("paid_twice", f"Area {one.area} of event {one.event_id}: {told}, {one.held} held.")
        elif orders < one.sold:
            story = f"Area {one.area} of event {one.event_id} has sold {one.sold} places"
            yield Finding("unbalanced", f"{story}, its orders have {orders}.")
    for (event, area), count in sold.items():
        yield Finding("unbalanced", f"{count} places of event {event} are of no area {area}.")


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
        refunds_of(rows, BACK).total(),
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


def _told_of_payments(rows: Rows) -> Iterator[Finding]:
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


def _told_of_orders(rows: Rows) -> Iterator[Finding]:
    """What was taken of orders, and events that were canceled."""
    told = Counter((row.kind, row.event_id, row.order) for row in rows.outbox)
    some = Counter((one.event_id, one.order) for one in rows.returned if one.what is TakenBack.SOME)
    for hold in rows.holds:
        order = (hold.event_id, str(hold.hold_id))
        gone, fewer = told["order.refunded", *order], told["order.changed", *order]
        wanted = (int(hold.state == TAKEN_HOLD), some[hold.event_id, hold.hold_id])
        if (gone, fewer) != wanted:
            story = f"Order {hold.hold_id} of event {hold.event_id} was taken back {wanted[0]} times"
            heard = f"and {wanted[1]} times in part; the outbox tells {gone} and {fewer}"
            yield Finding("untold", f"{story} {heard}.")
    for event in rows.canceled:
        if (count := told["event.canceled", event, None]) != 1:
            yield Finding("untold", f"Event {event} was canceled; the outbox tells of it {count} times.")


def _misled(rows: Rows) -> Iterator[Finding]:
    holds = {(one.event_id, str(one.hold_id)): one for one in rows.holds}
    taken = {(one.event_id, str(one.order)) for one in rows.returned if one.what is TakenBack.ALL}
    for told in rows.told:
        if told.state != BOUGHT:
            continue
        key = (told.event_id, str(told.order))
        order, is_taken = holds.get(key), key in taken or told.event_id in rows.canceled
        right = {PAID_HOLD, TAKEN_HOLD} if is_taken else {PAID_HOLD}
        if order is None or order.state not in right or order.buyer != told.buyer:
            there = "there is none" if order is None else f"it is {order.state}, {order.buyer}'s"
            story = f"{told.buyer} was told that hold {told.hold} is bought as order {told.order}"
            yield Finding("misled", f"{story}: {there}.")
