"""Operators sell seats and places by hand, and take orders back. Each with who and why.

A complimentary or box-office sale makes an order of a named buyer at once. Operators claim nothing that is
free: what is on sale is blocked first, in the same transaction, and what is blocked is sold; so the
ledger says between which two requests it went. A sale does not count towards the buyer's limit.

Twice the same call sells once: a sale that stands and says the same is answered, not made again; two
alike are told apart by a reference. An order that is taken back whole is `refunded`, however often it is
asked for; who takes places back says how many the order has as they know it.

As in `store.blocks`: one short transaction of conditional writes with fact, history and audit row. Lock
order: the event (one operator's sale at a time, so numbers follow each other), the cursor (where places are
sold or anything is taken back), holds, seats by number, areas by number. Whoever calls these pokes the stream
afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from store import audit, blocks, hold_parts, holds, outbox
from store.audit import Said
from store.blocks import Conn, in_transaction, named, numbers, some
from store.erasure.words import is_pseudonym
from store.errors import BadRequest, Conflicted, NotFound
from store.outbox import Told
from store.payments import refunds
from store.plan import Plan
from store.tickets.items import Item
from store.tickets.rows import mark_gone
from store.words import (
    OPERATORS_HOLDS,
    Blocks,
    FactKind,
    HoldKind,
    HoldState,
    Returned,
    SeatState,
    Sold,
)

BUYER_LENGTH_MAX: Final = 128
REFERENCE_LENGTH_MAX: Final = 64
QUANTITY_MAX: Final = 1_000
"""Most seats and places of one sale."""

LOCK_EVENT: Final = "SELECT 1 FROM event WHERE id = %(event)s FOR NO KEY UPDATE"

IS_CALLED_OFF: Final = """
-- Who calls an event off locks its row, too: nothing is sold afterwards.
SELECT 1 FROM called_off WHERE event_id = %(event)s
"""

FIND_SALE: Final = """
-- Along the key, through operators' sales only.
SELECT hold_id FROM hold
 WHERE event_id = %(event)s AND hold_id >= %(first)s AND request_id = %(request)s AND state = 'paid'
"""

NEXT_SALE: Final = """
-- The event is locked, so nobody else takes the same number.
SELECT coalesce(max(hold_id) + 1, %(first)s) FROM hold WHERE event_id = %(event)s AND hold_id >= %(first)s
"""

INSERT_ORDER: Final = """
INSERT INTO hold (event_id, hold_id, buyer, request_id, kind, state, quantity, expires_at, paid_at)
VALUES (%(event)s, %(hold)s, %(buyer)s, %(request)s, %(kind)s, 'paid', %(quantity)s,
        clock_timestamp(), clock_timestamp())
"""

SELL_SEATS: Final = """
-- The rows are locked and blocked; the condition says so once more. With its history, as everywhere.
WITH changed AS (
  UPDATE seat SET state = 'sold', hold_id = %(hold)s
   WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[]) AND state = 'blocked'
  RETURNING seat_no)
INSERT INTO seat_history (event_id, seat_no, state, hold_id, by)
SELECT %(event)s, seat_no, 'sold', %(hold)s, %(who)s::text FROM changed
"""

INSERT_HOLD_SEATS: Final = """
-- Law 1: the primary key refuses a seat that is in another active hold or sale.
INSERT INTO hold_seat (event_id, seat_no, hold_id)
SELECT %(event)s, seat_no, %(hold)s FROM unnest(%(seats)s::int[]) AS new (seat_no)
"""

SELL_PLACES: Final = """
-- Guarded counters: only places that are blocked become sold.
UPDATE area SET blocked = blocked - moved.quantity, sold = sold + moved.quantity
  FROM unnest(%(areas)s::int[], %(places)s::int[]) AS moved (area_no, quantity)
 WHERE area.event_id = %(event)s AND area.area_no = moved.area_no AND blocked >= moved.quantity
"""

INSERT_HOLD_AREAS: Final = """
INSERT INTO hold_area (event_id, hold_id, area_no, quantity)
SELECT %(event)s, %(hold)s, area_no, quantity
  FROM unnest(%(areas)s::int[], %(places)s::int[]) AS new (area_no, quantity)
"""

LOCK_ORDER: Final = """
-- Whatever its state: it says what is to be answered.
SELECT state, quantity, buyer, kind FROM hold
 WHERE event_id = %(event)s AND hold_id = %(hold)s FOR UPDATE
"""

LOCK_SOLD: Final = """
-- The order's seats, by number.
SELECT seat.seat_no FROM hold_seat JOIN seat USING (event_id, seat_no)
 WHERE hold_seat.event_id = %(event)s AND hold_seat.hold_id = %(hold)s
   AND seat.state = 'sold' AND seat.hold_id = %(hold)s
 ORDER BY seat.seat_no FOR UPDATE OF seat
"""

REFUND: Final = """
UPDATE hold SET state = 'refunded' WHERE event_id = %(event)s AND hold_id = %(hold)s AND state = 'paid'
"""

KEEP_FEWER: Final = """
-- Only if something stays: an order counts at least one.
UPDATE hold SET quantity = quantity - %(count)s
 WHERE event_id = %(event)s AND hold_id = %(hold)s AND state = 'paid' AND quantity > %(count)s
"""

FREE_SOLD: Final = """
-- Only seats that still name the order. They become free, or stay off sale.
WITH changed AS (
  UPDATE seat SET state = %(becomes)s::text, hold_id = NULL
   WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[]) AND state = 'sold' AND hold_id = %(hold)s
  RETURNING seat_no)
INSERT INTO seat_history (event_id, seat_no, state, hold_id, by)
SELECT %(event)s, seat_no, %(becomes)s::text, %(hold)s, %(who)s::text FROM changed
"""

FREE_SOLD_PLACES: Final = f"""{hold_parts.TAKE_PLACES}
UPDATE area SET sold = sold - freed.quantity,
       blocked = blocked + CASE WHEN %(becomes)s = 'blocked' THEN freed.quantity ELSE 0 END
  FROM freed WHERE area.event_id = %(event)s AND area.area_no = freed.area_no
"""

KEPT_SEATS: Final = """
SELECT seat_no FROM hold_seat WHERE event_id = %(event)s AND hold_id = %(hold)s ORDER BY seat_no
"""


class Order(Struct, frozen=True):
    """An order as it stands, in the plan's names. What was taken back is in it no longer."""

    hold: str
    state: HoldState
    buyer: str
    kind: HoldKind
    seats: list[str]
    areas: dict[str, int]


class Taken(NamedTuple):
    """What is taken back, each by number."""

    seats: list[int]
    areas: list[tuple[int, int]]
    had: dict[int, int]
    """Places the order had of each of its areas."""

    @property
    def quantity(self) -> int:
        return len(self.seats) + sum([places for _, places in self.areas])


class Locked(NamedTuple):
    """An order whose row is locked."""

    hold_id: int
    quantity: int
    """Seats and places it has."""
    buyer: str
    kind: HoldKind


def sell(
    conn: Conn,
    event_id: int,
    plan: Plan,
    seats: Sequence[str],
    areas: Mapping[str, int],
    buyer: str,
    kind: HoldKind,
    said: Said,
    *,
    reference: str = "",
    told: Mapping[str, object] | None = None,
) -> Order:
    """Make seats (by guid) and places (by area) an order of `buyer`; blocked places go before free ones.

    `told`: what the outbox tells of it besides. A caller's transaction, where there is one, has all of it.
    Raises `BadRequest`, `NotFound` for what the plan does not have, `Conflicted` (seats_not_free,
    places_not_free) when somebody has one of them, (event_called_off), `Unavailable` when it is locked for
    too long.
    """
    _check_sale(buyer, kind, reference)
    wanted = numbers(plan, seats, areas)
    quantity = len(wanted.seats) + sum([places for _, places in wanted.areas])
    if quantity > QUANTITY_MAX:
        story = f"At most {QUANTITY_MAX} seats and places a sale; split them over several."
        raise BadRequest("too_many_asked", story)
    request = _request_id(wanted, buyer, kind, reference)
    values: dict[str, Any] = {"event": event_id, "first": OPERATORS_HOLDS, "request": request}
    values |= {"who": said.who, "buyer": buyer, "kind": kind.value, "quantity": quantity}
    values["seats"] = list(wanted.seats)
    values |= {"areas": [area for area, _ in wanted.areas], "places": [places for _, places in wanted.areas]}

    def attempt() -> Order:
        conn.execute(LOCK_EVENT, values)
        standing = conn.execute(FIND_SALE, values).fetchone()
        if standing is not None:
            return _order(conn, event_id, plan, standing[0], HoldState.PAID, buyer, kind)
        if conn.execute(IS_CALLED_OFF, values).fetchone() is not None:
            raise Conflicted("event_called_off", "The event is canceled or moved. Nothing is sold any more.")
        if wanted.areas:
            conn.execute(blocks.LOCK_CURSOR, values)
        on_sale = _on_sale(conn, plan, wanted, values)
        if on_sale.seats or on_sale.areas:
            blocks.turn(conn, values, on_sale, FactKind.BLOCKED)
        hold_id = conn.execute(NEXT_SALE, values).fetchall()[0][0]
        _make_order(conn, values | {"hold": hold_id}, wanted)
        body = Sold(buyer, request, kind, wanted.seats, wanted.areas)
        _tell(conn, event_id, FactKind.SOLD, hold_id, body)
        order: dict[str, object] = {"order": str(hold_id), "buyer": buyer, "kind": kind}
        order |= {"seats": wanted.seats, "areas": wanted.areas}
        outbox.write(conn, event_id, Told.ORDER_PAID, order | dict(told or {}))
        taken = len(on_sale.seats) + sum([places for _, places in on_sale.areas])
        change = {"change": "sell", "as": kind.value, "hold": str(hold_id), "buyer": buyer}
        what = named(plan, wanted.seats, wanted.areas)
        audit.write(conn, event_id, said, change | {"taken_off_sale": taken} | what)
        return Order(str(hold_id), HoldState.PAID, buyer, kind, what["seats"], what["areas"])

    return in_transaction(conn, attempt)


def take_back(
    conn: Conn,
    event_id: int,
    plan: Plan,
    hold_id: int,
    said: Said,
    *,
    seats: Sequence[str] = (),
    areas: Mapping[str, int] | None = None,
    quantity: int | None = None,
    block: bool = False,
    reason: str = "taken_back",
    told: Mapping[str, object] | None = None,
) -> Order:
    """Take an order back: all of it, or the seats and places named; they are free, or off sale with `block`.

    `quantity` is how many seats and places the order has, as the caller knows it; needed where places are
    named: a call that is repeated finds fewer and takes nothing. What was paid for it goes back to the buyer.
    An order that was taken back whole is answered as it is. `reason` is the refund's; `told`: what the outbox
    tells of it besides. A caller's transaction, where there is one, has all of it. Raises `BadRequest`,
    `NotFound` (hold_not_found), `Conflicted` (not_an_order, not_in_order, order_changed), `Unavailable`.
    """
    wanted = numbers(plan, seats, areas or {}) if seats or areas else None
    if wanted is not None and wanted.areas and quantity is None:
        story = "Say how many seats and places the order has (quantity): a repeat takes nothing twice then."
        raise BadRequest("quantity_required", story)
    values: dict[str, Any] = {"event": event_id, "hold": hold_id}

    def attempt() -> Order:
        conn.execute(blocks.LOCK_CURSOR, values)
        row = conn.execute(LOCK_ORDER, values).fetchone()
        if row is None:
            raise NotFound("hold_not_found", "There is no such order in this event.")
        state, has, buyer, kind = HoldState(row[0]), row[1], row[2], HoldKind(row[3])
        if state is HoldState.REFUNDED and wanted is None:
            return Order(str(hold_id), state, buyer, kind, [], {})
        if state is not HoldState.PAID:
            raise Conflicted("not_an_order", f"Hold {hold_id} is {state}, no order; nothing was changed.")
        if quantity not in (None, has):
            story = f"The order has {has} seats and places, not {quantity}. Nothing was changed; look again."
            raise Conflicted("order_changed", story)
        taken = lock_contents(conn, plan, values, has, wanted)
        order = Locked(hold_id, has, buyer, kind)
        who = said.who
        after = give_back(conn, event_id, order, taken, who=who, reason=reason, block=block, told=told)
        change = {"change": "return", "hold": str(hold_id), "buyer": buyer, "blocked": block}
        audit.write(conn, event_id, said, change | named(plan, taken.seats, taken.areas))
        return _order(conn, event_id, plan, hold_id, after, buyer, kind)

    return in_transaction(conn, attempt)


def give_back(
    conn: Conn,
    event_id: int,
    order: Locked,
    taken: Taken,
    *,
    who: str,
    reason: str,
    block: bool = False,
    places: Sequence[Item] | None = None,
    told: Mapping[str, object] | None = None,
) -> HoldState:
    """Take what is locked from an order, for whoever may: history, fact, refund, outbox row. Its state then.

    The cursor is locked as well. `places` says which standing places go, where it matters; `block`: they stay
    off sale; `told`: as of `take_back`.
    """
    values: dict[str, Any] = {"event": event_id, "hold": order.hold_id, "who": who}
    values["becomes"] = (SeatState.BLOCKED if block else SeatState.AVAILABLE).value
    whole = taken.quantity == order.quantity
    left = conn.execute(REFUND if whole else KEEP_FEWER, values | {"count": taken.quantity})
    assert left.rowcount == 1, "the order is locked and was looked at"
    _free(conn, values, taken)
    counted = order.kind is HoldKind.BUYER and not is_pseudonym(order.buyer)
    body = Returned(order.buyer, counted, block, tuple(taken.seats), tuple(taken.areas))
    _tell(conn, event_id, FactKind.RETURNED, order.hold_id, body)
    if not whole:
        went = {area: (taken.had[area], count) for area, count in taken.areas}
        mark_gone(conn, event_id, order.hold_id, taken.seats, went, places)
    what: dict[str, Any] = {"seats": taken.seats, "areas": dict(taken.areas), "whole": whole}
    owed = refunds.owe_for_order(conn, event_id, order.hold_id, reason, **what)
    tells: dict[str, object] = {"order": str(order.hold_id), "buyer": order.buyer, "kind": order.kind}
    tells |= {"seats": taken.seats, "areas": taken.areas, "refund_minor": owed.amount_minor}
    if owed.amount_minor:
        tells |= {"currency": owed.currency, "lines": owed.lines, "reason": reason}
    became = Told.ORDER_REFUNDED if whole else Told.ORDER_CHANGED
    outbox.write(conn, event_id, became, tells | dict(told or {}))
    return HoldState.REFUNDED if whole else HoldState.PAID


def _check_sale(buyer: str, kind: HoldKind, reference: str) -> None:
    plain = buyer.isprintable() and '"' not in buyer and "\\" not in buyer
    if not 0 < len(buyer) <= BUYER_LENGTH_MAX or not plain:
        story = f"Say to whom, as in their tokens: 1 to {BUYER_LENGTH_MAX} printable characters, no quotes."
        raise BadRequest("buyer_required", story)
    if kind is HoldKind.BUYER:
        raise BadRequest("invalid_kind", "Operators sell as complimentary or box_office.")
    if len(reference) > REFERENCE_LENGTH_MAX or not reference.isprintable():
        story = f"A reference has at most {REFERENCE_LENGTH_MAX} printable characters."
        raise BadRequest("invalid_reference", story)


def _request_id(wanted: Blocks, buyer: str, kind: HoldKind, reference: str) -> str:
    """The same for the same sale, whoever asks for it and however often."""
    said = msgspec.json.encode((buyer, kind, reference, wanted.seats, wanted.areas))
    return f"sale-{hashlib.sha256(said).hexdigest()[:32]}"


def _on_sale(conn: Conn, plan: Plan, wanted: Blocks, values: Mapping[str, Any]) -> Blocks:
    """Locks what is wanted; gives what of it is free and must be blocked first. Raises `Conflicted`."""
    found = conn.execute(blocks.LOCK_SEATS, values).fetchall()
    assert len(found) == len(wanted.seats), "an event has a row for every seat of its plan"
    gone = [row for row in found if row[1] not in (SeatState.AVAILABLE, SeatState.BLOCKED)]
    if gone:
        told = some([f"{plan.seats[seat].guid} ({state} by hold {hold})" for seat, state, hold in gone])
        story = f"Somebody has {told}. Nothing was sold; leave these out, or take them back first."
        raise Conflicted("seats_not_free", story)
    areas = []
    locked = conn.execute(blocks.LOCK_AREAS, values).fetchall()
    for (area, places), (_, free, blocked) in zip(wanted.areas, locked, strict=True):
        if places > free + blocked:
            guid = plan.areas[area].guid
            story = f"{guid} has {free} free and {blocked} blocked places, not {places}. Nothing was sold."
            raise Conflicted("places_not_free", story)
        if places > blocked:
            areas.append((area, places - blocked))
    return Blocks(tuple([row[0] for row in found if row[1] == SeatState.AVAILABLE]), tuple(areas))


def _make_order(conn: Conn, values: Mapping[str, Any], wanted: Blocks) -> None:
    """All of it is locked and blocked."""
    conn.execute(INSERT_ORDER, values)
    sold = conn.execute(SELL_SEATS, values)
    assert sold.rowcount == len(wanted.seats), "the seats are locked and blocked"
    conn.execute(INSERT_HOLD_SEATS, values)
    moved = conn.execute(SELL_PLACES, values)
    assert moved.rowcount == len(wanted.areas), "the areas are locked and have as many blocked"
    conn.execute(INSERT_HOLD_AREAS, values)


def lock_contents(
    conn: Conn, plan: Plan, values: Mapping[str, Any], has: int, wanted: Blocks | None
) -> Taken:
    """Locks what the order has; gives what of it is taken back. Raises `Conflicted` (not_in_order)."""
    seats = [seat for (seat,) in conn.execute(LOCK_SOLD, values).fetchall()]
    places: dict[int, int] = dict(conn.execute(holds.LOCK_AREAS, values).fetchall())
    found = len(seats) + sum(places.values())
    assert found == has, f"order {values['hold']} counts {has} but {found} seats and places name it"
    if wanted is None:
        return Taken(seats, sorted(places.items()), places)
    missing = [plan.seats[seat].guid for seat in wanted.seats if seat not in set(seats)]
    missing += [plan.areas[area].guid for area, count in wanted.areas if places.get(area, 0) < count]
    if missing:
        story = f"The order has not, or not so many of, {some(missing)}. Nothing was changed; look again."
        raise Conflicted("not_in_order", story)
    return Taken(list(wanted.seats), list(wanted.areas), places)


def _free(conn: Conn, values: Mapping[str, Any], taken: Taken) -> None:
    """The order and all it has are locked."""
    given = dict(values) | {"seats": taken.seats}
    given |= {"areas": [area for area, _ in taken.areas], "places": [places for _, places in taken.areas]}
    freed = conn.execute(FREE_SOLD, given)
    assert freed.rowcount == len(taken.seats), "the seats are locked and sold by this order"
    gone = conn.execute(holds.FREE_HOLD_SEATS, given)
    assert gone.rowcount == len(taken.seats), "a sold seat has exactly one hold_seat row"
    moved = conn.execute(FREE_SOLD_PLACES, given)
    assert moved.rowcount == len(taken.areas), "the counters are locked, so all of them move"


def _tell(conn: Conn, event_id: int, kind: FactKind, hold_id: int, body: Struct) -> None:
    values = {"event": event_id, "kind": kind.value, "hold": hold_id}
    conn.execute(blocks.INSERT_FACT, values | {"body": msgspec.json.encode(body).decode()})


def _order(
    conn: Conn, event_id: int, plan: Plan, hold_id: int, state: HoldState, buyer: str, kind: HoldKind
) -> Order:
    values = {"event": event_id, "hold": hold_id}
    seats = [seat for (seat,) in conn.execute(KEPT_SEATS, values).fetchall()]
    has = named(plan, seats, conn.execute(hold_parts.KEPT_PLACES, values).fetchall())
    return Order(str(hold_id), state, buyer, kind, has["seats"], has["areas"])
