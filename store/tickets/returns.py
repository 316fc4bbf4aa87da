"""Buyers return what they bought, all of an order or some of its tickets, where the organiser allows it.

As an operator's `store.sales.take_back`, and by the same statements, but by the order's own buyer (law 6:
the buyer is in the WHERE of the lock that all else stands on). What is returned is free at once, the fact
tells the allocator, and what was paid for it is owed in the same transaction. Only tickets that the buyer
still has can be returned: what was given away is its holder's, and who was let in was let in.

Twice the same call returns once: what is named and gone already is left out, and an order that is returned
whole is answered as it is. Lock order: the cursor, the order, seats by number, areas by number; then the
payment. Whoever calls this pokes the stream afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from psycopg.rows import tuple_row

from store import blocks, sales
from store.blocks import Conn, in_transaction
from store.errors import Conflicted, NotFound
from store.plan import Plan
from store.sales import Locked, Taken
from store.tickets.items import NOTHING, SEAT, Item, Rows, counted, items_there, not_found
from store.tickets.rows import READ, rows_of
from store.words import HoldKind, HoldState

BUYER: Final = "buyer"
"""Who did it, in the seats' history."""
REASON: Final = "returned"
"""Of the refund."""
NAMES_TOLD_MAX: Final = 10

LOCK_MINE: Final = """
-- Law 6: somebody else's order looks like none. Whatever its state: it says what is to be answered.
SELECT hold.state, hold.quantity, hold.kind, event.returns_allowed
  FROM hold JOIN event ON event.id = hold.event_id
 WHERE hold.event_id = %(event)s AND hold.hold_id = %(hold)s AND hold.buyer = %(buyer)s FOR UPDATE OF hold
"""


def give_back(
    conn: Conn, event_id: int, plan: Plan, order_id: int, buyer: str, items: Sequence[Item] | None = None
) -> HoldState:
    """Return these tickets of an order, or all of it; the order's state then: paid, or refunded when
    nothing is left.

    Raises `NotFound` (order_not_found, ticket_not_found), `Conflicted` (not_an_order, returns_not_allowed,
    given_away, checked_in), `Unavailable`.
    """
    values: dict[str, Any] = {"event": event_id, "hold": order_id, "buyer": buyer}

    def attempt() -> HoldState:
        conn.execute(blocks.LOCK_CURSOR, values)
        rows = conn.cursor(row_factory=tuple_row)
        row = rows.execute(LOCK_MINE, values).fetchone()
        if row is None:
            raise NotFound("order_not_found", "You have no such order.")
        state, quantity, kind, allowed = row
        if state == HoldState.REFUNDED:
            return HoldState.REFUNDED
        if state != HoldState.PAID:
            raise Conflicted("not_an_order", "This is not bought. Give a hold back instead of returning it.")
        remembered = rows_of(rows.execute(READ, values).fetchall())
        has = sales.lock_contents(conn, plan, values, quantity, None)
        there = items_there(has.seats, dict(has.areas), remembered)
        wanted = there if items is None else _still_there(items, there, remembered)
        if not wanted:
            return HoldState.PAID
        _must_be_returnable(wanted, remembered, allowed)
        seats, areas = counted(wanted)
        taken = Taken(seats, list(areas.items()), has.had)
        places = [item for item in wanted if item.area != SEAT]
        order = Locked(order_id, quantity, buyer, HoldKind(kind))
        return sales.give_back(conn, event_id, order, taken, who=BUYER, reason=REASON, places=places)

    return in_transaction(conn, attempt)


def _still_there(items: Sequence[Item], there: Sequence[Item], rows: Rows) -> list[Item]:
    """Those of the named that the order still has; raises `NotFound` for one it never had."""
    for item in items:
        if item not in there and not rows.get(item, NOTHING).gone:
            raise not_found(item.name)
    return [item for item in there if item in items]


def _must_be_returnable(items: Sequence[Item], rows: Rows, allowed: bool) -> None:
    if not allowed:
        story = "The organiser of this event takes nothing back. Ask them if you think they should."
        raise Conflicted("returns_not_allowed", story)
    given = [item.name for item in items if rows.get(item, NOTHING).holder is not None]
    if given:
        story = "was given to somebody else, who has it now. Return the others, or have it given back first."
        raise Conflicted("given_away", f"{_told(given)} {story}")
    used = [item.name for item in items if rows.get(item, NOTHING).checked_at is not None]
    if used:
        raise Conflicted(
            "checked_in", f"{_told(used)} was used to come in and stays yours. Return the others."
        )


def _told(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_TOLD_MAX} more" if len(names) > NAMES_TOLD_MAX else ""
    return f"Ticket {', '.join(names[:NAMES_TOLD_MAX])}{more}"
