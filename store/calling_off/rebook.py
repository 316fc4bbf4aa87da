"""An order goes to another event with what was paid for it: taken back here, sold there, in one transaction.

It is an order of the same buyer with the same seats, by guid, and as many places. It is numbered like a sale
by hand. Its payment goes along: the money is where its order is, and a later refund comes out of it there.
Whoever was given a ticket of it has that ticket there; codes that nobody said yet mean nothing any more.
What cannot be had there is refunded, whole orders at a time.

Lock order: the other event, both cursors by number, the order, seats and areas there and here, the payment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from psycopg.rows import tuple_row

from store import sales
from store.audit import Said
from store.blocks import named
from store.calling_off.begin import LOCK_CURSORS
from store.calling_off.state import Conn
from store.errors import Refused
from store.hold_parts import KEPT_PLACES
from store.payments.begin import decode_charged
from store.payments.charges import Charge, Line, lines_of
from store.plan import Plan
from store.sales import Order
from store.tickets.items import NOTHING, SEAT, Item, Rows, places_there
from store.tickets.rows import READ, rows_of
from store.words import HoldKind, HoldState

READ_PAYMENT: Final = """
-- What bought the order; no column of it that is read here changes while the order is locked.
SELECT id, amount_minor - refunded_minor - refund_due_minor, charged::text FROM payment
 WHERE event_id = %(event)s AND order_id = %(hold)s AND state = 'succeeded'
"""

MOVE_PAYMENT: Final = """
-- With its order. What it was begun for is not there, so it is said to have been begun for what it bought.
UPDATE payment SET event_id = %(to)s, hold_id = %(new)s, order_id = %(new)s, charged = %(charged)s,
       seats = %(seats)s
 WHERE id = %(payment)s AND event_id = %(event)s AND order_id = %(hold)s AND state = 'succeeded'
   AND amount_minor - refunded_minor - refund_due_minor = %(left)s
"""

MOVE_REFUNDS: Final = "UPDATE refund SET event_id = %(to)s WHERE payment_id = %(payment)s"

INSERT: Final = """
INSERT INTO rebooked (event_id, order_id, to_event_id, to_order_id, payment_id, amount_minor, areas)
VALUES (%(event)s, %(hold)s, %(to)s, %(new)s, %(payment)s, %(left)s, %(areas)s)
"""

GIVE_TICKETS: Final = """
-- To who has them, where it is not the order's buyer. Serials begin anew: tokens of another event are others.
INSERT INTO ticket (event_id, order_id, area_no, number, holder)
SELECT %(to)s, %(new)s, given.*
  FROM unnest(%(item_areas)s::int[], %(item_numbers)s::int[], %(holders)s::text[]) AS given
"""


class Side(Struct, frozen=True):
    """An event that orders go from, or to."""

    id: int
    slug: str
    plan: Plan


class _Payment(NamedTuple):
    id: int
    left_minor: int
    charge: Charge


class _Has(NamedTuple):
    """What an order has, by number of the plan."""

    seats: list[int]
    areas: dict[int, int]


class Translation:
    """From one plan to another: what has the same guid, and categories of the same name."""

    def __init__(self, plan: Plan, to: Plan) -> None:
        seats = {seat.guid: number for number, seat in enumerate(to.seats)}
        areas = {area.guid: number for number, area in enumerate(to.areas)}
        names = {category.name: number for number, category in enumerate(to.categories)}
        self._seats = {no: seats[seat.guid] for no, seat in enumerate(plan.seats) if seat.guid in seats}
        self._areas = {no: areas[area.guid] for no, area in enumerate(plan.areas) if area.guid in areas}
        self._categories = {
            no: names[category.name] for no, category in enumerate(plan.categories) if category.name in names
        }

    def of(self, has: _Has) -> _Has | None:
        """The same there; None where something is not there."""
        if not (self._seats.keys() >= set(has.seats) and self._areas.keys() >= has.areas.keys()):
            return None
        areas = {self._areas[area]: count for area, count in has.areas.items()}
        return _Has(sorted([self._seats[seat] for seat in has.seats]), areas)

    def tickets(self, has: _Has, rows: Rows) -> list[tuple[Item, str]]:
        """(the ticket there, who was given it), of what an order has; places are numbered from 1 there."""
        items = [(Item(SEAT, seat), Item(SEAT, self._seats[seat])) for seat in has.seats]
        for area, count in has.areas.items():
            there = [Item(self._areas[area], number) for number in range(1, count + 1)]
            items += zip(places_there(area, count, rows), there, strict=True)
        holders = [(new, rows.get(old, NOTHING).holder) for old, new in items]
        return [(item, holder) for item, holder in holders if holder is not None]

    def charge(self, charge: Charge) -> Charge | None:
        """The same money for the same things there; None where a category is not there.

        What the order has no longer and the other plan never had keeps its price and loses its number.
        """
        if not {line.category for line in charge.lines} <= self._categories.keys():
            return None
        return replace(charge, lines=tuple([self._line(line) for line in charge.lines]))

    def _line(self, line: Line) -> Line:
        seat = None if line.seat is None else self._seats.get(line.seat)
        area = None if line.area is None else self._areas.get(line.area)
        return replace(line, seat=seat, area=area, category=self._categories[line.category])


def rebook(
    conn: Conn, event: Side, to: Side, by: Translation, order_id: int, said: Said
) -> tuple[Order, Order | None] | None:
    """(the order here, which is taken back, and the one there; None: it could not be had and is refunded).

    In the caller's transaction. None: it is no order any more, and nothing was changed.
    """
    values: dict[str, Any] = {"event": event.id, "hold": order_id, "to": to.id}
    conn.execute(sales.LOCK_EVENT, {"event": to.id})
    conn.execute(LOCK_CURSORS, {"events": [event.id, to.id]})
    row = conn.execute(sales.LOCK_ORDER, values).fetchone()
    if row is None or row[0] != HoldState.PAID:
        return None
    has = _Has(
        [seat for (seat,) in conn.execute(sales.KEPT_SEATS, values).fetchall()],
        dict(conn.execute(KEPT_PLACES, values).fetchall()),
    )
    payment = _payment(conn, values)
    try:
        with conn.transaction():
            made = _sell(conn, event, to, by, order_id, row[2], HoldKind(row[3]), has, payment, said)
    except Refused:
        made = None
    if made is None:
        back = sales.take_back(conn, event.id, event.plan, order_id, said, reason="event_moved")
        return back, None
    _move(conn, values, by, has, payment, int(made.hold))
    left, lines = (0, ()) if payment is None else (payment.left_minor, lines_of(payment.charge.lines, *has))
    moved = {"moved_to": {"event": to.slug, "order": made.hold}, "moved_minor": left, "lines": lines}
    return sales.take_back(conn, event.id, event.plan, order_id, said, told=moved), made


def _payment(conn: Conn, values: Mapping[str, Any]) -> _Payment | None:
    row = conn.execute(READ_PAYMENT, values).fetchone()
    return None if row is None else _Payment(row[0], row[1], decode_charged(row[2]))


def _sell(
    conn: Conn,
    event: Side,
    to: Side,
    by: Translation,
    order_id: int,
    buyer: str,
    kind: HoldKind,
    has: _Has,
    payment: _Payment | None,
    said: Said,
) -> Order | None:
    """The order there; None, or `Refused`, where it cannot be."""
    there = by.of(has)
    charge = None if payment is None else by.charge(payment.charge)
    if there is None or (payment is not None and charge is None):
        return None
    if kind is HoldKind.BUYER:  # what operators number says how they gave it
        kind = HoldKind.COMPLIMENTARY if payment is None else HoldKind.BOX_OFFICE
    told: dict[str, object] = {"moved_from": {"event": event.slug, "order": str(order_id)}}
    if payment is not None and charge is not None:
        lines = lines_of(charge.lines, *there)
        told |= {"payment": payment.id, "currency": charge.currency, "amount_minor": payment.left_minor}
        told["fee_minor"] = sum([line.count * line.fee_minor for line in lines])
        told["tax_minor"] = sum([line.count * line.tax_minor for line in lines])
        told["lines"] = lines
    what = named(to.plan, there.seats, list(there.areas.items()))
    reference = f"{event.id}:{order_id}"
    asked = (what["seats"], what["areas"], buyer, kind, said)
    return sales.sell(conn, to.id, to.plan, *asked, reference=reference, told=told)


def _move(
    conn: Conn, values: Mapping[str, Any], by: Translation, has: _Has, payment: _Payment | None, new: int
) -> None:
    there = by.of(has)
    assert there is not None, "it was sold there"
    given = dict(values) | {"new": new, "payment": None, "left": 0, "seats": there.seats}
    given["areas"] = msgspec.json.encode(list(there.areas.items())).decode()
    if payment is not None:
        given |= {"payment": payment.id, "left": payment.left_minor}
        given["charged"] = msgspec.json.encode(by.charge(payment.charge)).decode()
        moved = conn.execute(MOVE_PAYMENT, given)
        assert moved.rowcount == 1, "the order is locked, and its payment changes with it only"
        conn.execute(MOVE_REFUNDS, given)
    conn.execute(INSERT, given)
    rows = rows_of(conn.cursor(row_factory=tuple_row).execute(READ, values).fetchall())
    if tickets := by.tickets(has, rows):
        given["item_areas"] = [item.area for item, _ in tickets]
        given["item_numbers"] = [item.number for item, _ in tickets]
        conn.execute(GIVE_TICKETS, given | {"holders": [holder for _, holder in tickets]})
