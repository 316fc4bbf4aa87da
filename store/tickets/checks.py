"""At the door: whether a ticket lets its holder in, and that it did, once.

The token itself was judged before (`notifier.tickets`): it is ours, and says which ticket of which serial.
Here the order and what is remembered of the ticket say whether it still counts. The order's hold row is
locked meanwhile, so that of a check-in and a return, or of two doors, one comes first.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from store.holds import Conn, in_transaction
from store.tickets.items import NOTHING, Item
from store.tickets.rows import READ, is_there, rows_of
from store.words import HoldKind, HoldState

LOCK_ORDER: Final = """
SELECT state, buyer, kind FROM hold WHERE event_id = %(event)s AND hold_id = %(hold)s FOR NO KEY UPDATE
"""

CHECK_IN: Final = """
-- Once: the first that says so is remembered. An offer ends with it.
INSERT INTO ticket (event_id, order_id, area_no, number, checked_at, checked_by)
VALUES (%(event)s, %(hold)s, %(area)s, %(number)s, clock_timestamp(), %(device)s)
    ON CONFLICT (event_id, order_id, area_no, number)
    DO UPDATE SET checked_at = clock_timestamp(), checked_by = %(device)s, offered = false
 WHERE ticket.checked_at IS NULL
RETURNING (extract(epoch FROM checked_at) * 1000000)::bigint
"""


class Door(StrEnum):
    """What is said at the door."""

    VALID = "valid"
    CHECKED_IN_BEFORE = "checked_in_before"
    REVOKED = "revoked"
    """It was one, and its seat was returned or taken back, or somebody else has the ticket now."""


class Checked(Struct, frozen=True):
    """What is said of a ticket; `checked_at` in microseconds."""

    door: Door
    checked_at: int | None = None
    checked_by: str | None = None
    again: bool = False
    """The same device said so before: its call was repeated, or the ticket is shown there twice."""
    kind: HoldKind | None = None


async def check_in(
    connection: Conn, event_id: int, order_id: int, item: Item, serial: int, device: str
) -> Checked:
    """Let the holder of this ticket in, if nobody came in with it; the same for the same device."""
    values: dict[str, Any] = {"event": event_id, "hold": order_id, "area": item.area, "number": item.number}
    values["device"] = device

    async def attempt() -> Checked:
        order = await (await connection.execute(LOCK_ORDER, values)).fetchone()
        if order is None:
            return Checked(Door.REVOKED)
        rows = rows_of(await (await connection.execute(READ, values)).fetchall())
        row = rows.get(item, NOTHING)
        there = await is_there(connection, values, HoldState(order[0]), rows, item)
        if not there or row.serial != serial:
            return Checked(Door.REVOKED)
        kind = HoldKind(order[2])
        if row.checked_at is not None:
            again = row.checked_by == device
            door = Door.VALID if again else Door.CHECKED_IN_BEFORE
            return Checked(door, row.checked_at, row.checked_by, again, kind)
        done = await (await connection.execute(CHECK_IN, values)).fetchone()
        assert done is not None, "the order is locked and nobody came in with the ticket"
        return Checked(Door.VALID, done[0], device, False, kind)

    return await in_transaction(connection, attempt)
