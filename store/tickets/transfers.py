"""Tickets given to somebody else, where the organiser allows it: an offer, and a code that claims it once.

The order and its money stay as they are; only who has the ticket changes. An offer gives a code (128 bits
by chance) to pass on however its holder likes; until somebody claims it the ticket stays its holder's, who
can take the offer back. With the claim the ticket is the claimer's and its serial goes up, so every token
of it from before is worthless.

Each change locks the order's hold row first, as everybody who changes an order does, and is idempotent:
offering again gives the same code, claiming again by the same buyer the same ticket. Law 6: an offer and
its end are only for who has the ticket now.
"""

from __future__ import annotations

import base64
import secrets
from typing import Any, Final

from msgspec import Struct

from store import outbox, restored
from store.errors import Conflicted, NotFound
from store.holds import Conn, in_transaction
from store.outbox import Told
from store.tickets.items import NOTHING, Item, Remembered, Rows, not_found
from store.tickets.rows import READ, is_there, rows_of
from store.words import HoldState

CODE_BYTES: Final = 16
CODE_LENGTH_MAX: Final = 64

LOCK_ORDER: Final = """
-- Nothing of the order changes until this is done.
SELECT hold.state, hold.buyer, event.transfers_allowed, event.slug
  FROM hold JOIN event ON event.id = hold.event_id
 WHERE hold.event_id = %(event)s AND hold.hold_id = %(hold)s FOR NO KEY UPDATE OF hold
"""

OFFER: Final = """
-- The order is locked and the ticket its holder's.
INSERT INTO ticket (event_id, order_id, area_no, number, offer_code, offered)
VALUES (%(event)s, %(hold)s, %(area)s, %(number)s, %(code)s, true)
    ON CONFLICT (event_id, order_id, area_no, number) DO UPDATE SET offer_code = %(code)s, offered = true
 WHERE NOT ticket.offered AND NOT ticket.gone
"""

WITHDRAW: Final = """
-- The code means nothing from here on.
UPDATE ticket SET offered = false, offer_code = NULL
 WHERE event_id = %(event)s AND order_id = %(hold)s AND area_no = %(area)s AND number = %(number)s AND offered
"""

FIND_CODE: Final = """
-- Locks nothing: what it finds is looked at again once the order is locked.
SELECT event_id, order_id, area_no, number FROM ticket WHERE offer_code = %(code)s
"""

CLAIM: Final = f"""
-- Only while it is offered under this code; so of two who claim at once one does. Serial and holder change
-- together. After a restore the serial is one that nobody was told of, whose token would be the same.
UPDATE ticket SET holder = nullif(%(buyer)s::text, %(owner)s::text), offered = false,
       serial = greatest(serial, {restored.SERIAL_ABOVE}) + 1
 WHERE event_id = %(event)s AND order_id = %(hold)s AND area_no = %(area)s AND number = %(number)s
   AND offer_code = %(code)s AND offered AND NOT gone
RETURNING serial
"""


class Claimed(Struct, frozen=True):
    """The ticket that somebody has now."""

    event: str
    """Its slug."""
    order: int
    item: Item
    serial: int


class _Locked(Struct, frozen=True):
    """An order that is locked, and what is remembered of its tickets."""

    state: HoldState
    buyer: str
    allowed: bool
    slug: str
    rows: Rows

    def holder(self, item: Item) -> str:
        return self.rows.get(item, NOTHING).holder or self.buyer


async def offer(connection: Conn, event_id: int, order_id: int, item: Item, buyer: str) -> str:
    """The code of the offer of a ticket: a new one, or that of the offer there is.

    Raises `NotFound` (ticket_not_found) for none that this buyer has, `Conflicted` (transfers_not_allowed,
    checked_in), `Unavailable`.
    """
    values = _values(event_id, order_id, item)

    async def attempt() -> str:
        order = await _lock(connection, values)
        row = await _mine(connection, order, values, item, buyer)
        if row.offered and row.offer_code is not None:
            return row.offer_code
        if not order.allowed:
            story = "The organiser of this event lets nobody give tickets away. Ask them about it."
            raise Conflicted("transfers_not_allowed", story)
        if row.checked_at is not None:
            raise Conflicted(
                "checked_in", "This ticket was used to come in. It cannot be given away any more."
            )
        code = base64.b32encode(secrets.token_bytes(CODE_BYTES)).decode().rstrip("=")
        made = await connection.execute(OFFER, values | {"code": code})
        assert made.rowcount == 1, "the order is locked and the ticket was looked at"
        return code

    return await in_transaction(connection, attempt)


async def withdraw(connection: Conn, event_id: int, order_id: int, item: Item, buyer: str) -> None:
    """Take an offer back; the same however often. Raises `NotFound` (ticket_not_found) where it was
    claimed.
    """
    values = _values(event_id, order_id, item)

    async def attempt() -> None:
        order = await _lock(connection, values)
        await _mine(connection, order, values, item, buyer)
        await connection.execute(WITHDRAW, values)

    await in_transaction(connection, attempt)


async def claim(connection: Conn, code: str, buyer: str) -> Claimed:
    """Make what is offered under a code this buyer's. Raises `NotFound` (code_not_found), `Conflicted`
    (code_claimed, own_ticket, ticket_gone), `Unavailable`.
    """

    async def attempt() -> Claimed:
        found = await (await connection.execute(FIND_CODE, {"code": code})).fetchone()
        if found is None:
            raise _no_code()
        event_id, order_id, item = found[0], found[1], Item(*found[2:])
        values = _values(event_id, order_id, item)
        order = await _lock(connection, values)
        row = order.rows.get(item, NOTHING)
        if row.offer_code != code:  # replaced by another offer meanwhile
            raise _no_code()
        if not await is_there(connection, values, order.state, order.rows, item):
            story = "This ticket was returned or taken back since. Ask whoever gave you the code for another."
            raise Conflicted("ticket_gone", story)
        if order.holder(item) == buyer:
            return _claimed_before(order, order_id, item, row)
        if not row.offered:
            raise Conflicted(
                "code_claimed", "Somebody used this code before you. Ask whoever gave it to you."
            )
        given = {"code": code, "buyer": buyer, "owner": order.buyer}
        done = await (await connection.execute(CLAIM, values | given)).fetchone()
        assert done is not None, "the order is locked and the ticket is offered"
        await _tell(connection, event_id, order, Claimed(order.slug, order_id, item, done[0]), buyer)
        return Claimed(order.slug, order_id, item, done[0])

    return await in_transaction(connection, attempt)


def _claimed_before(order: _Locked, order_id: int, item: Item, row: Remembered) -> Claimed:
    """Its holder says the code: who offered it, or who claimed it and did not hear the answer."""
    if row.offered:
        raise Conflicted(
            "own_ticket", "This is your own ticket. Give the code to somebody else, or take it back."
        )
    return Claimed(order.slug, order_id, item, row.serial)


def _no_code() -> NotFound:
    return NotFound(
        "code_not_found", "Nothing is offered under this code. Ask whoever gave it to you for another."
    )


def _values(event_id: int, order_id: int, item: Item) -> dict[str, Any]:
    return {"event": event_id, "hold": order_id, "area": item.area, "number": item.number}


async def _lock(connection: Conn, values: dict[str, Any]) -> _Locked:
    row = await (await connection.execute(LOCK_ORDER, values)).fetchone()
    if row is None:
        raise NotFound("order_not_found", "You have no such order.")
    rows = rows_of(await (await connection.execute(READ, values)).fetchall())
    return _Locked(HoldState(row[0]), row[1], row[2], row[3], rows)


async def _mine(
    connection: Conn, order: _Locked, values: dict[str, Any], item: Item, buyer: str
) -> Remembered:
    """What is remembered of a ticket that this buyer has; raises `NotFound` (ticket_not_found)."""
    if order.holder(item) != buyer or not await is_there(connection, values, order.state, order.rows, item):
        raise not_found(item.name)
    return order.rows.get(item, NOTHING)


async def _tell(connection: Conn, event_id: int, order: _Locked, claimed: Claimed, buyer: str) -> None:
    body: dict[str, object] = {"order": str(claimed.order), "ticket": claimed.item.name}
    body |= {"serial": claimed.serial, "from": order.holder(claimed.item), "to": buyer}
    await connection.execute(outbox.INSERT, outbox.telling([(event_id, Told.TICKET_TRANSFERRED, body)]))
