"""What a buyer does with a place of their own: begin, and leave. Conditional writes, each one statement.

A place's state is the truth, not its times: who is admitted may begin until the owner has ended the place, so
nobody is late by a clock of their own, or by time that was lost and comes back (`store.lost_time`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from store.holds import Conn, in_transaction
from store.room.joining import COLUMNS, place_of, read
from store.room.watching import by_id
from store.room.words import Place

# `state || ''` as in `store.room.admitting`
BEGIN: Final = """
-- Locks the place: of this and its end in the same moment, one finds what the other made of it.
UPDATE place SET begun_at = clock.now, until = clock.now + shopping_seconds * interval '1 second'
  FROM room, (SELECT clock_timestamp() AS now) AS clock
 WHERE room.event_id = %(event)s AND place.event_id = %(event)s AND buyer = %(buyer)s
   AND state IN ('waiting', 'admitted') AND state || '' = 'admitted' AND begun_at IS NULL
"""

LEAVE: Final = """
-- A wish for the ballot goes with the place.
WITH gone AS (
  UPDATE place SET state = 'left', ended_at = clock_timestamp()
   WHERE event_id = %(event)s AND buyer = %(buyer)s AND state IN ('waiting', 'admitted')
  RETURNING id),
withdrawn AS (DELETE FROM ballot_wish USING gone WHERE place_id = gone.id)
SELECT id FROM gone
"""

CHANGED: Final = f"""
-- By the room's decisions after that version, in no order.
SELECT {COLUMNS} FROM place LEFT JOIN line ON place_id = place.id
 WHERE place.event_id = %(event)s AND place.version > %(version)s AND place.version > 0
"""


async def begin(connection: Conn, event_id: int, buyer: str) -> Place | None:
    """Begin to shop: the place as it stands then, begun where it is admitted, the same however often; None
    without one. Raises `Unavailable`."""
    values = {"event": event_id, "buyer": buyer}

    async def attempt() -> Place | None:
        await connection.execute(BEGIN, values)
        return (await read(connection, event_id, [buyer])).get(buyer)

    return await in_transaction(connection, attempt)


async def leave(connection: Conn, event_id: int, buyer: str) -> Place | None:
    """Leave the line, or go after being admitted: the place that was left, None when there was none. What is
    held stays held. Raises `Unavailable`."""

    async def attempt() -> Place | None:
        left = await (await connection.execute(LEAVE, {"event": event_id, "buyer": buyer})).fetchone()
        return None if left is None else (await by_id(connection, [left[0]]))[0]

    return await in_transaction(connection, attempt)


async def changed_since(connection: Conn, event_id: int, version: int) -> Sequence[Place]:
    """Places that the room's decisions after `version` changed: admitted, ended, given time back.

    Who read the room's row first and then these misses none up to the row's version. What buyers do
    themselves (join, begin, leave) is no decision of the room.
    """
    rows: list[tuple[Any, ...]] = await (
        await connection.execute(CHANGED, {"event": event_id, "version": version})
    ).fetchall()
    return [place_of(row) for row in rows]
