"""What doors that are cut off must know: every ticket of an event whose tokens, or some of them, are
worthless.

Read in the order of tickets, a page at a time. A page that is old lets in what was revoked since; it never
refuses what counts, for nothing that is revoked comes back.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from store.errors import BadRequest, NotFound
from store.holds import Conn
from store.tickets.items import Item, item_of

REVOKED_MAX: Final = 10_000
"""Most of a page."""

READ: Final = """
-- Whole orders (area_no -2, before their tickets), and of those that go on what went or changed hands.
SELECT order_id, area_no, number, below FROM (
  SELECT hold_id AS order_id, -2 AS area_no, 0 AS number, NULL::int AS below
    FROM hold WHERE event_id = %(event)s AND state = 'refunded'
   UNION ALL
  SELECT ticket.order_id, area_no, number, CASE WHEN gone THEN NULL ELSE serial END
    FROM ticket JOIN hold ON hold.event_id = ticket.event_id AND hold.hold_id = ticket.order_id
   WHERE ticket.event_id = %(event)s AND (gone OR serial > 1) AND hold.state = 'paid') AS revoked
 WHERE (order_id, area_no, number) > (%(order)s::bigint, %(area)s::int, %(number)s::int)
 ORDER BY order_id, area_no, number LIMIT %(limit)s
"""

_WHOLE: Final = -2


class Revoked(Struct, frozen=True, omit_defaults=True):
    """Without `ticket` the whole order. With `below` only tokens of a lower serial, else all of them."""

    order: str
    ticket: str | None = None
    below: int | None = None

    @property
    def place(self) -> str:
        """Where it stands, as `read` takes it."""
        return self.order if self.ticket is None else f"{self.order}/{self.ticket}"


async def read(connection: Conn, event_id: int, after: str = "", limit: int = REVOKED_MAX) -> list[Revoked]:
    """The next of an event's revoked tickets, after the `place` of one; raises `BadRequest`
    (invalid_after).
    """
    values = values_after(after) | {"event": event_id, "limit": min(limit, REVOKED_MAX)}
    rows = await (await connection.execute(READ, values)).fetchall()
    return [revoked_of(row) for row in rows]


def revoked_of(row: tuple[Any, ...]) -> Revoked:
    """A row of `READ`."""
    order, area, number, below = row
    if area == _WHOLE:
        return Revoked(str(order))
    return Revoked(str(order), Item(area, number).name, below)


def values_after(after: str) -> dict[str, int]:
    """What `READ` takes to go on after that place; raises `BadRequest` (invalid_after)."""
    if not after:
        return {"order": -1, "area": 0, "number": 0}
    order, _, name = after.partition("/")
    try:
        if not (order.isascii() and order.isdigit() and len(order) < 19):
            raise NotFound("order_not_found", "No order has such a number.")
        area, number = item_of(name) if name else (_WHOLE, 0)
    except NotFound:
        raise BadRequest("invalid_after", "`after` is where the page before ended: its `next`.") from None
    return {"order": int(order), "area": area, "number": number}
