"""Payments as rows: read without locking, changed only from the state that was read.

A change after which money goes back leaves a refund, and one that means something to the world outside an
outbox row, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from store import outbox
from store.errors import OnsaleError
from store.holds import Conn
from store.outbox import Told
from store.payments.begin import decode_charged
from store.payments.buying import Bought
from store.payments.charges import Charge
from store.payments.states import LatePolicy, PaymentState

READ: Final = """
-- Locks nothing. What is written says what was read. Where nothing is sold any more, nothing is asked for.
SELECT payment.id, event_id, hold_id, order_id, buyer, provider, intent, reason, currency, amount_minor,
       quantity, seats, charged::text, payment.state,
       CASE WHEN event.state = 'closed' THEN 'refund' ELSE late_payment END
  FROM payment JOIN event ON event.id = event_id WHERE payment.id = ANY (%(payments)s::bigint[])
"""

CHANGE: Final = """
-- Only from the state that was read. The moment the money arrived, and what it bought, never change.
UPDATE payment
   SET state = new.state, order_id = coalesce(payment.order_id, new.order_id),
       intent = coalesce(payment.intent, new.intent),
       reason = coalesce(new.reason, payment.reason), declines = least(declines + new.declined, 9999),
       succeeded_at = coalesce(succeeded_at, CASE WHEN new.money THEN clock_timestamp() END),
       provider_fee_minor = provider_fee_minor + new.provider_fee,
       refund_due_minor = CASE new.state WHEN 'refund_due' THEN amount_minor ELSE refund_due_minor END
  FROM unnest(%(payments)s::bigint[], %(were)s::text[], %(states)s::text[], %(orders)s::bigint[],
              %(intents)s::text[], %(reasons)s::text[], %(declined)s::int[], %(money)s::bool[],
              %(provider_fees)s::bigint[])
    AS new (id, was, state, order_id, intent, reason, declined, money, provider_fee)
 WHERE payment.id = new.id AND payment.state = new.was
"""

OWE: Final = """
INSERT INTO refund (payment_id, event_id, amount_minor, reason)
SELECT * FROM unnest(%(payments)s::bigint[], %(events)s::int[], %(amounts)s::bigint[], %(reasons)s::text[])
"""


class Changed(OnsaleError):
    """Somebody else changed a payment that was read; nothing was written."""


class Known(Struct, frozen=True):
    """A payment as it was read."""

    id: int
    event_id: int
    hold_id: int
    order_id: int | None
    buyer: str
    provider: str
    intent: str | None
    reason: str | None
    currency: str
    amount_minor: int
    quantity: int
    seats: list[int]
    charge: Charge
    state: PaymentState
    policy: LatePolicy

    @property
    def areas(self) -> dict[int, int]:
        """Area number → places."""
        return {line.area: line.count for line in self.charge.lines if line.area is not None}

    def buys(self, hold_id: int) -> Bought:
        """What it pays for, as that hold has it."""
        return Bought(self.event_id, hold_id, self.buyer, self.seats, self.areas)


class Change(Struct, frozen=True):
    """What a payment becomes, and why."""

    payment: Known
    became: PaymentState
    order_id: int | None = None
    """The hold it bought, if it did."""
    reason: str | None = None
    intent: str | None = None
    money: bool = False
    """It arrived just now."""
    declined: bool = False
    provider_fee_minor: int = 0

    @property
    def changes(self) -> bool:
        return self.declined or self.became is not self.payment.state


async def read(connection: Conn, payments: Sequence[int]) -> dict[int, Known]:
    """Those of the payments that there are, by number."""
    rows = await (await connection.execute(READ, {"payments": list(payments)})).fetchall()
    return {row[0]: _known(row) for row in rows}


def _known(row: tuple[Any, ...]) -> Known:
    return Known(*(*row[:12], decode_charged(row[12]), PaymentState(row[13]), LatePolicy(row[14])))


async def write(connection: Conn, changes: Sequence[Change]) -> None:
    """Makes them true in the caller's transaction, whose last step is to `tell` of them; raises `Changed`."""
    changes = [one for one in changes if one.changes]
    if not changes:
        return
    values = {
        "payments": [one.payment.id for one in changes],
        "were": [one.payment.state for one in changes],
        "states": [one.became for one in changes],
        "orders": [one.order_id for one in changes],
        "intents": [one.intent for one in changes],
        "reasons": [one.reason for one in changes],
        "declined": [int(one.declined) for one in changes],
        "money": [one.money for one in changes],
        "provider_fees": [one.provider_fee_minor for one in changes],
    }
    changed = await connection.execute(CHANGE, values)
    if changed.rowcount != len(changes):
        raise Changed
    owed = [one for one in changes if one.became is PaymentState.REFUND_DUE]
    if owed:
        values = {
            "payments": [one.payment.id for one in owed],
            "events": [one.payment.event_id for one in owed],
            "amounts": [one.payment.amount_minor for one in owed],
            "reasons": [one.reason for one in owed],
        }
        await connection.execute(OWE, values)


async def tell(connection: Conn, changes: Sequence[Change]) -> None:
    """What of them the world is told, as the last of the caller's transaction."""
    rows = [_told(one) for one in changes if one.changes and one.became in _TOLD]
    if rows:
        await connection.execute(outbox.INSERT, outbox.telling(rows))


_TOLD: Final = {
    PaymentState.SUCCEEDED: Told.ORDER_PAID,
    PaymentState.LATE: Told.PAYMENT_LATE,
    PaymentState.REFUND_DUE: Told.PAYMENT_REFUND_DUE,
}


def _told(change: Change) -> outbox.Telling:
    payment = change.payment
    body: dict[str, Any] = {"payment": payment.id, "hold": str(payment.hold_id), "buyer": payment.buyer}
    body |= {"amount_minor": payment.amount_minor, "currency": payment.currency}
    if change.became is PaymentState.SUCCEEDED:
        charge = payment.charge
        order = str(change.order_id)
        body |= {
            "order": order,
            "kind": "buyer",
            "seats": payment.seats,
            "areas": list(payment.areas.items()),
        }
        body |= {"fee_minor": charge.fee_minor, "tax_minor": charge.tax_minor, "lines": charge.lines}
    elif change.reason is not None:
        body["reason"] = change.reason
    return payment.event_id, _TOLD[change.became], body
