"""Orders and tickets as buyers see them: what is encoded, and how it comes from what was read. Pure."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from gateway.events import EventRuntime
from gateway.tickets.qr import Code, code_of
from notifier.tickets import PublicKey, Ticket, TicketKeys
from store.plan import Plan
from store.tickets.items import SEAT, Item, Remembered, counted
from store.tickets.reads import Paid, Seen, paid_for
from store.tickets.revoked import Revoked
from store.words import HoldKind


class ShownPayment(Struct, frozen=True):
    """What was paid for an order and what came or comes back, in the currency's smallest unit."""

    payment: str
    state: str
    currency: str
    amount_minor: int
    fee_minor: int
    tax_minor: int
    refunded_minor: int
    refund_due_minor: int


class ShownOrder(Struct, frozen=True, kw_only=True):
    """An order; `paid_at` in milliseconds. Of one that is not yours: what of it you were given."""

    order: str
    state: Literal["paid", "refunded"]
    kind: HoldKind
    yours: bool
    paid_at: int
    seats: list[str]
    areas: dict[str, int]
    payment: ShownPayment | None


class ShownOrders(Struct, frozen=True):
    """Newest first; `next` is the `before` of the next page, or null."""

    orders: list[ShownOrder]
    next: str | None


class Named(Struct, frozen=True, kw_only=True):
    """A ticket in the plan's words: a seat, or a place of an area."""

    ticket: str
    section: str | None = None
    row: str | None = None
    seat: str | None = None
    accessible: bool = False
    area: str | None = None
    place: int | None = None


class ShownTicket(Named, frozen=True, kw_only=True):
    """`yours`: you have it now; else somebody you gave it to. `offer`: the code that claims it, while it is
    offered. `paid_minor`: what it cost, where you paid for it. `checked_at` in milliseconds."""

    yours: bool
    token: str | None
    qr: Code | None
    offer: str | None
    checked_at: int | None
    paid_minor: int | None


class TheEvent(Struct, frozen=True):
    slug: str
    name: str


class ShownTickets(ShownOrder, frozen=True, kw_only=True):
    """An order with its tickets."""

    event: TheEvent
    venue: str
    returns_allowed: bool
    transfers_allowed: bool
    tickets: list[ShownTicket]


class Offered(Struct, frozen=True):
    """`code` is for whoever shall have the ticket; null: it is offered to nobody."""

    order: str
    ticket: str
    code: str | None


class ClaimedTicket(Struct, frozen=True):
    """What is yours now."""

    event: str
    order: str
    ticket: str


class Keys(Struct, frozen=True):
    """The first signs; tickets by any of them are good. A JSON Web Key Set (RFC 7517, 8037)."""

    keys: list[PublicKey]


class DoorAnswer(Struct, frozen=True, kw_only=True):
    """`result`: let them in where `valid`. `again`: this device said so before, at `checked_at` (ms): its
    call
    was repeated, or the ticket is shown there a second time."""

    result: str
    message: str
    event: str | None = None
    order: str | None = None
    kind: HoldKind | None = None
    ticket: Named | None = None
    checked_at: int | None = None
    device: str | None = None
    again: bool = False


class Export(Struct, frozen=True):
    """For a door that is cut off: keys, and a page of what is revoked; `next` is the `after` of the next."""

    event: str
    keys: list[PublicKey]
    revoked: list[Revoked]
    next: str | None


def order_shown(seen: Seen, plan: Plan) -> ShownOrder:
    """An order as its buyer sees it."""
    return ShownOrder(**_order(seen, plan))


def tickets_shown(seen: Seen, event: EventRuntime, keys: TicketKeys) -> ShownTickets:
    """An order with its tickets; draws their codes, which takes a millisecond or two each."""
    return ShownTickets(
        **_order(seen, event.plan),
        event=TheEvent(event.row.slug, event.row.name),
        venue=event.plan.name,
        returns_allowed=seen.returns_allowed,
        transfers_allowed=seen.transfers_allowed,
        tickets=[_ticket(seen, item, kept, event, keys) for item, kept in seen.items],
    )


def named(item: Item, plan: Plan) -> Named:
    """A ticket in the plan's words."""
    return Named(**_named(item, plan))


def _order(seen: Seen, plan: Plan) -> dict[str, Any]:
    seats, areas = counted([item for item, _ in seen.items])
    return {
        "order": str(seen.id),
        "state": seen.state.value,
        "kind": seen.kind,
        "yours": seen.mine,
        "paid_at": seen.paid_at // 1000,
        "seats": [plan.seats[seat].guid for seat in seats],
        "areas": {plan.areas[area].guid: count for area, count in areas.items()},
        "payment": None if seen.payment is None else _payment(seen.payment),
    }


def _payment(paid: Paid) -> ShownPayment:
    return ShownPayment(
        str(paid.id),
        paid.state,
        paid.currency,
        paid.amount_minor,
        paid.fee_minor,
        paid.tax_minor,
        paid.refunded_minor,
        paid.refund_due_minor,
    )


def _named(item: Item, plan: Plan) -> dict[str, Any]:
    if item.area != SEAT:
        return {"ticket": item.name, "area": plan.areas[item.area].name, "place": item.number}
    seat = plan.seats[item.number]
    section = plan.sections[seat.section].name
    told: dict[str, Any] = {"ticket": item.name, "section": section, "row": seat.row, "seat": seat.number}
    return told | {"accessible": seat.accessible}


def _ticket(seen: Seen, item: Item, kept: Remembered, event: EventRuntime, keys: TicketKeys) -> ShownTicket:
    yours = seen.has(item)
    token = keys.sign(Ticket(event.row.slug, seen.id, item, kept.serial)) if yours else None
    return ShownTicket(
        **_named(item, event.plan),
        yours=yours,
        token=token,
        qr=None if token is None else code_of(token),
        offer=kept.offer_code if yours and kept.offered else None,
        checked_at=None if kept.checked_at is None else kept.checked_at // 1000,
        paid_minor=None if seen.payment is None else paid_for(seen.payment.lines, item),
    )
