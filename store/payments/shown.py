"""A payment as its buyer sees it, over HTTP and as frames; whoever changed one tells it with these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from store.holds import Conn
from store.payments.begin import COLUMNS, Payment, payment_of
from store.payments.states import OPEN, PaymentState
from store.words import HoldState

READ_MANY: Final = f"SELECT {COLUMNS} FROM payment WHERE id = ANY (%(payments)s::bigint[]) ORDER BY id"


class ShownPayment(Struct, frozen=True):
    """Amounts in the currency's smallest unit; `payment` is null for a hold that cost nothing."""

    payment: str | None
    hold: str
    state: PaymentState
    amount_minor: int
    currency: str
    fee_minor: int = 0
    """Of the amount: fees; and the next: tax."""
    tax_minor: int = 0
    checkout: dict[str, str] | UnsetType | None = None
    """How to pay, while one can: {url} of a page, or {client_secret}; left out in frames."""
    declines: int = 0
    """So often a card was declined."""
    order: str | None = None
    """The hold it bought: another where it came late and was given the same again."""
    reason: str | None = None
    """Why money goes back: late, hold_released, hold_changed, paid_twice, seats_gone …"""
    refunded_minor: int = 0
    refund_due_minor: int = 0


class PaymentFrame(ShownPayment, frozen=True, tag_field="type", tag="payment"):
    """The same on the socket."""


def shown(payment: Payment) -> ShownPayment:
    """As over HTTP."""
    checkout = payment.checkout if payment.state in OPEN else None
    return ShownPayment(*_values(payment, checkout))


def frame(payment: Payment) -> bytes:
    """As a `payment` frame."""
    return msgspec.json.encode(PaymentFrame(*_values(payment, UNSET)))


def free(hold_id: int, currency: str) -> ShownPayment:
    """Of a hold that cost nothing and is bought."""
    return ShownPayment(None, str(hold_id), PaymentState.SUCCEEDED, 0, currency, order=str(hold_id))


def frames_of(payment: Payment) -> list[bytes]:
    """What the buyer's sockets are told: of the hold it just bought, and of the payment."""
    frames = [frame(payment)]
    if payment.state is PaymentState.SUCCEEDED and payment.order_id is not None:
        bought = {"type": "hold", "hold": str(payment.order_id), "state": HoldState.PAID}
        frames.insert(0, msgspec.json.encode(bought))
    return frames


async def read_many(connection: Conn, payments: Sequence[int]) -> list[Payment]:
    """Payments as they are now, by number."""
    rows = await (await connection.execute(READ_MANY, {"payments": list(payments)})).fetchall()
    return [payment_of(row) for row in rows]


def _values(payment: Payment, checkout: dict[str, str] | UnsetType | None) -> tuple[Any, ...]:
    order = None if payment.order_id is None else str(payment.order_id)
    return (
        str(payment.id), str(payment.hold_id), payment.state, payment.amount_minor, payment.currency,
        payment.fee_minor, payment.tax_minor, checkout, payment.declines, order, payment.reason,
        payment.refunded_minor, payment.refund_due_minor,
    )  # fmt: skip
