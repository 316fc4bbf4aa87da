"""The storm's own sums of money by event, and what does not agree with them. Pure.

Taken is what payments brought in, given back what refunds gave, an order's worth what its seats and places
cost. Then each payment against its refunds, and each event against the product's own settlement.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from bench.evidence import Finding
from bench.payments.storming.evidence import Rows, Settled

BOUGHT: Final = "succeeded"
BACK: Final = "refunded"
PAID_HOLD: Final = "paid"
TAKEN_HOLD: Final = "refunded"


class Balance:
    """One event's money, added up from rows that know nothing of each other."""

    def __init__(self) -> None:
        self.orders = self.taken = self.given_back = self.due = self.orders_worth = self.provider_fees = 0

    @property
    def kept(self) -> int:
        return self.taken - self.given_back

    @property
    def payout(self) -> int:
        return self.taken - self.given_back - self.due - self.provider_fees


def balances(rows: Rows) -> dict[int, Balance]:
    """By event."""
    found: dict[int, Balance] = defaultdict(Balance)
    for payment in rows.payments:
        if payment.money:
            found[payment.event_id].taken += payment.amount_minor
            found[payment.event_id].provider_fees += payment.provider_fee_minor
    for refund in rows.refunds:
        if refund.state == BACK:
            found[refund.event_id].given_back += refund.amount_minor
        else:
            found[refund.event_id].due += refund.amount_minor
    for hold in rows.holds:
        if hold.state == PAID_HOLD:
            found[hold.event_id].orders += 1
            found[hold.event_id].orders_worth += hold.worth_minor
    return found


def refunds_of(rows: Rows, state: str) -> Counter[int]:
    """By payment: what its refunds in this state come to."""
    sums: Counter[int] = Counter()
    for refund in rows.refunds:
        if refund.state == state:
            sums[refund.payment_id] += refund.amount_minor
    return sums


def unbalanced(rows: Rows) -> Iterator[Finding]:
    """What does not add up to the cent."""
    found = balances(rows)
    for event, money in sorted(found.items()):
        if money.kept != money.orders_worth:
            story = f"Event {event}: {money.taken} came in and {money.given_back} went back"
            yield Finding("unbalanced", f"{story}, but the orders are worth {money.orders_worth}.")
    given, due = refunds_of(rows, BACK), refunds_of(rows, "due")
    for payment in rows.payments:
        counted = (payment.refunded_minor, payment.refund_due_minor)
        if counted != (given[payment.id], due[payment.id]):
            story = f"Payment {payment.id} counts {counted[0]} given back and {counted[1]} due"
            wrong = f"its refunds {given[payment.id]} and {due[payment.id]}"
            yield Finding("unbalanced", f"{story}, {wrong}.")
    told = {one.event_id: one for one in rows.settled}
    for event, money in sorted(found.items()):
        if event not in told:
            yield Finding("unbalanced", f"Event {event} has no settlement.")
        else:
            yield from _settlement(told[event], money)


def _settlement(told: Settled, money: Balance) -> Iterator[Finding]:
    if not told.balances or told.stories:
        story = "; ".join(told.stories) or "it does not say why"
        yield Finding("unbalanced", f"The settlement of event {told.event_id} does not balance: {story}.")
    pairs = {
        "orders": (told.orders, money.orders),
        "money in": (told.money_in_minor, money.taken),
        "refunded": (told.refunded_minor, money.given_back),
        "due": (told.refund_due_minor, money.due),
        "standing": (told.standing_minor, money.orders_worth),
        "provider's fees": (told.provider_fee_minor, money.provider_fees),
        "payout": (told.payout_minor, money.payout),
    }
    for name, (theirs, ours) in pairs.items():
        if theirs != ours:
            where = f"The settlement of event {told.event_id} has {theirs} as {name}"
            yield Finding("unbalanced", f"{where}; the storm's own sum is {ours}.")
