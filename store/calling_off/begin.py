"""Calling an event off begins: it is closed, and what is to become of its orders is written down, at once.

The rest is `store.calling_off.steps`, by whoever takes them. A move takes the seats that its orders need off
sale in the other event before anybody can buy there: its orders go before everybody who asks, the one lane
that is not in order of arrival. It is named in the audit and in the ledger of both events.

Lock order: events by number, cursors by number, the other event's seats and areas.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from store import audit, blocks, outbox
from store.audit import Said
from store.blocks import in_transaction, named
from store.calling_off.state import CalledOff, Conn, read
from store.errors import BadRequest, Conflicted
from store.events import Event, close_for_good, get_event
from store.figures.read import plan_of
from store.outbox import Told
from store.plan import Plan
from store.words import Blocks, EventState, FactKind, SeatState

LOCK_EVENTS: Final = """
-- Both, by number: whoever opens, sells by hand or calls off waits.
SELECT id FROM event WHERE slug = ANY (%(slugs)s) ORDER BY id FOR UPDATE
"""
LOCK_CURSORS: Final = """
SELECT 1 FROM event_cursor WHERE event_id = ANY (%(events)s::int[]) ORDER BY event_id FOR UPDATE
"""
READ_VENUE: Final = "SELECT name FROM venue WHERE id = %(venue)s"
READ_ROW: Final = "SELECT to_event_id FROM called_off WHERE event_id = %(event)s"
INSERT: Final = """
INSERT INTO called_off (event_id, to_event_id, who, why, reserved)
VALUES (%(event)s, %(to)s, %(who)s, %(why)s, %(reserved)s)
"""
MOVING_HERE: Final = "SELECT 1 FROM called_off WHERE to_event_id = %(event)s AND done_at IS NULL"
SOLD_SEATS: Final = """
SELECT hold_seat.seat_no FROM hold_seat JOIN hold USING (event_id, hold_id)
 WHERE event_id = %(event)s AND hold.state = 'paid' ORDER BY seat_no
"""
SOLD_PLACES: Final = """
SELECT area_no, sum(hold_area.quantity)::int FROM hold_area JOIN hold USING (event_id, hold_id)
 WHERE event_id = %(event)s AND hold.state = 'paid' GROUP BY area_no ORDER BY area_no
"""


def cancel(conn: Conn, slug: str, said: Said) -> CalledOff:
    """Begin to cancel an event; what is canceled already is answered as it stands.

    Raises `NotFound`, `Conflicted` (event_moved) where its orders go to another one, `Unavailable`.
    """

    def attempt() -> CalledOff:
        event = close_for_good(conn, slug)
        row = conn.execute(READ_ROW, {"event": event.id}).fetchone()
        if row is not None and row[0] is not None:
            raise Conflicted("event_moved", f"The orders of {slug!r} go to another event; cancel that one.")
        if row is None:
            _write(conn, event, None, said, None)
            told = {"event": slug, "why": said.why, **_where(conn, event)}
            outbox.write(conn, event.id, Told.EVENT_CANCELED, told)
            audit.write(conn, event.id, said, {"change": "cancel", "seats": [], "areas": {}})
        return read(conn, slug)

    return in_transaction(conn, attempt)


def move(conn: Conn, slug: str, to: str, said: Said) -> CalledOff:
    """Begin to move an event's orders to another one that has not begun to sell; the same again is answered.

    Raises `NotFound`, `BadRequest` (same_event), `Conflicted` (event_called_off, event_begun,
    currency_differs, move_running), `Unavailable`.
    """
    if slug == to:
        raise BadRequest("same_event", "An event cannot be moved to itself; name the other date's event.")

    def attempt() -> CalledOff:
        ids = [row[0] for row in conn.execute(LOCK_EVENTS, {"slugs": [slug, to]}).fetchall()]
        conn.execute(LOCK_CURSORS, {"events": ids})
        target, event = get_event(conn, to), close_for_good(conn, slug)
        row = conn.execute(READ_ROW, {"event": event.id}).fetchone()
        if row is not None and row[0] != target.id:
            raise Conflicted("event_called_off", f"{slug!r} is canceled, or goes to another event already.")
        if row is None:
            plan, target_plan = plan_of(conn, event.id), plan_of(conn, target.id)
            _check(conn, event, target, plan, target_plan)
            reserved = _reserve(conn, event.id, target.id, plan, target_plan, said)
            _write(conn, event, target, said, reserved)
            told = {"event": slug, "to": to, "why": said.why, **_where(conn, event)}
            told |= {f"to_{name}": value for name, value in _where(conn, target).items()}
            outbox.write(conn, event.id, Told.EVENT_MOVED, told)
            audit.write(conn, event.id, said, {"change": "move", "to": to, "seats": [], "areas": {}})
        return read(conn, slug)

    return in_transaction(conn, attempt)


def _where(conn: Conn, event: Event) -> dict[str, object]:
    """What an event is called, where it is, and when, if that is known."""
    venue = conn.execute(READ_VENUE, {"venue": event.venue_id}).fetchall()[0][0]
    when = None if event.starts_at is None else event.starts_at.isoformat()
    return {"name": event.name, "venue": venue, "starts_at": when}


def _check(conn: Conn, event: Event, target: Event, plan: Plan, target_plan: Plan) -> None:
    if target.state not in (EventState.DRAFT, EventState.LOBBY):
        story = f"Event {target.slug!r} is {target.state}; orders can only be moved before it opens."
        raise Conflicted("event_begun", story)
    if conn.execute(READ_ROW, {"event": target.id}).fetchone() is not None:
        raise Conflicted("event_called_off", f"Event {target.slug!r} is called off itself.")
    if conn.execute(MOVING_HERE, {"event": event.id}).fetchone() is not None:
        story = f"Orders are being moved to {event.slug!r} just now. Move it when that is done."
        raise Conflicted("move_running", story)
    if plan.currency != target_plan.currency:
        story = f"{event.slug!r} is sold in {plan.currency}, {target.slug!r} in {target_plan.currency}."
        raise Conflicted("currency_differs", f"{story} Cancel the event instead.")


def _reserve(conn: Conn, event_id: int, target_id: int, plan: Plan, target_plan: Plan, said: Said) -> Blocks:
    """Takes what is sold here off sale there, as far as it is free."""
    seats = {seat.guid: number for number, seat in enumerate(target_plan.seats)}
    areas = {area.guid: number for number, area in enumerate(target_plan.areas)}
    sold = [plan.seats[seat].guid for (seat,) in conn.execute(SOLD_SEATS, {"event": event_id}).fetchall()]
    places = {
        areas[plan.areas[area].guid]: count
        for area, count in conn.execute(SOLD_PLACES, {"event": event_id}).fetchall()
        if plan.areas[area].guid in areas
    }
    values: dict[str, Any] = {"event": target_id, "who": said.who, "areas": sorted(places)}
    values["seats"] = sorted([seats[guid] for guid in sold if guid in seats])
    found = conn.execute(blocks.LOCK_SEATS, values).fetchall()
    free = {area: left for area, left, _ in conn.execute(blocks.LOCK_AREAS, values).fetchall()}
    taken = {area: min(count, free[area]) for area, count in sorted(places.items())}
    what = Blocks(
        tuple([row[0] for row in found if row[1] == SeatState.AVAILABLE]),
        tuple([(area, count) for area, count in taken.items() if count]),
    )
    if what.seats or what.areas:
        blocks.turn(conn, values, what, FactKind.BLOCKED)
        audit.write(conn, target_id, said, {"change": "block", **named(target_plan, what.seats, what.areas)})
    return what


def _write(conn: Conn, event: Event, target: Event | None, said: Said, reserved: Blocks | None) -> None:
    values: dict[str, Any] = {"event": event.id, "to": None if target is None else target.id}
    values |= {"who": said.who, "why": said.why}
    values["reserved"] = None if reserved is None else msgspec.json.encode(reserved).decode()
    conn.execute(INSERT, values)
