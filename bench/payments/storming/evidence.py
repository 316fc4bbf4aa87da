"""What the storm's judge judges: rows of the tables, the provider's journal, the settlement, what buyers, the
organiser and a webhook sink were told. Types only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from bench.payments.storming.plan import TakenBack


class PaymentRow(Struct, frozen=True):
    """A payment; amounts in the currency's smallest unit."""

    id: int
    event_id: int
    hold_id: int
    order_id: int | None
    buyer: str
    intent: str | None
    state: str
    currency: str
    amount_minor: int
    quantity: int
    money: bool
    """It arrived, at some time."""
    refund_due_minor: int
    refunded_minor: int
    provider_fee_minor: int


class HoldRow(Struct, frozen=True):
    """A hold, with what it keeps and what that costs by the plan and the event's terms."""

    event_id: int
    hold_id: int
    buyer: str
    state: str
    quantity: int
    seats: tuple[int, ...]
    places: dict[int, int]
    """Area → standing places."""
    worth_minor: int
    """Of the seats that are sold to it, and of its places."""

    @property
    def has(self) -> int:
        return len(self.seats) + sum(self.places.values())


class AreaRow(Struct, frozen=True):
    """Standing places, counted."""

    event_id: int
    area: int
    capacity: int
    held: int
    sold: int


class RefundRow(Struct, frozen=True):
    id: int
    payment_id: int
    event_id: int
    amount_minor: int
    state: str
    provider_refund: str | None


class OutboxRow(Struct, frozen=True):
    id: int
    event_id: int
    kind: str
    payment: int | None
    refund: int | None
    order: str | None
    amount_minor: int | None


class Intent(Struct, frozen=True):
    """As the provider's book has it."""

    id: str
    payment: int
    status: str
    amount_minor: int
    refunded_minor: int
    fee_minor: int


class Book(Struct, frozen=True):
    """What came in and went back in all, as the provider adds it up: also of intents that we do not know."""

    paid: int
    paid_minor: int
    refunded_minor: int


class Told(Struct, frozen=True):
    """What a buyer was told of a payment: that it has an order, or that money goes back."""

    buyer: str
    event_id: int
    hold: str
    state: str
    order: str | None


class Returned(Struct, frozen=True):
    """What the organiser took of an order, and was told that it is done."""

    event_id: int
    order: int
    what: TakenBack
    count: int
    """Seats and places."""


class Settled(Struct, frozen=True):
    """What the product's own settlement says of an event."""

    event_id: int
    balances: bool
    stories: list[str]
    """What does not balance."""
    orders: int
    money_in_minor: int
    refunded_minor: int
    refund_due_minor: int
    standing_minor: int
    provider_fee_minor: int
    payout_minor: int


class Rows(Struct, frozen=True):
    """Everything, after all was healed and came to rest."""

    payments: Sequence[PaymentRow]
    holds: Sequence[HoldRow]
    areas: Sequence[AreaRow]
    refunds: Sequence[RefundRow]
    outbox: Sequence[OutboxRow]
    intents: Sequence[Intent]
    told: Sequence[Told]
    book: Book
    delivered: Mapping[str, int]
    """Message id → how often the sink got it."""
    settled: Sequence[Settled]
    returned: Sequence[Returned] = ()
    canceled: Collection[int] = ()
    """Events that the organiser canceled."""
    not_genuine: int = 0
    """Deliveries to the sink whose signature was wrong."""
    verified: Sequence[str] = ()
    """What `./run verify` found in any of the events."""
