"""What the admitted do with their places: begin, and leave."""

from __future__ import annotations

from typing import Any, Final

from store.holds import Conn, in_transaction
from store.room.joining import read
from store.room.watching import by_id
from store.room.words import Place

BEGIN: Final = """
UPDATE place SET begun_at = clock_timestamp(),
       until = clock_timestamp() + shopping_seconds * interval '1 second'
  FROM room
 WHERE room.event_id = place.event_id AND place.event_id = %(event)s AND buyer = %(buyer)s
   AND state = 'admitted' AND begun_at IS NULL AND begin_by > clock_timestamp()
"""

LEAVE: Final = """
UPDATE place SET state = 'left', ended_at = clock_timestamp()
 WHERE event_id = %(event)s AND buyer = %(buyer)s AND state IN ('waiting', 'admitted') RETURNING id
"""


async def begin(connection: Conn, event_id: int, buyer: str) -> Place | None:
    """The buyer's place, begun if it is admitted and in time; None without one."""
    values: dict[str, Any] = {"event": event_id, "buyer": buyer}

    async def attempt() -> Place | None:
        await connection.execute(BEGIN, values)
        return (await read(connection, event_id, [buyer])).get(buyer)

    return await in_transaction(connection, attempt)


async def leave(connection: Conn, event_id: int, buyer: str) -> Place | None:
    """Give the buyer's place up; None without one."""
    values: dict[str, Any] = {"event": event_id, "buyer": buyer}

    async def attempt() -> Place | None:
        row = await (await connection.execute(LEAVE, values)).fetchone()
        return None if row is None else (await by_id(connection, [row[0]]))[0]

    return await in_transaction(connection, attempt)
