"""What a buyer does with a place of their own: begin, leave, ask for more time. Conditional writes, each one
statement.

A place's state is the truth, not its times: who is admitted may begin until the owner has ended the place, so
nobody is late by a clock of their own, or by time that was lost and comes back (`store.lost_time`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from store.errors import Conflicted
from store.holds import Conn, in_transaction
from store.lost_time import RUN_BY
from store.room.joining import COLUMNS, place_of, read
from store.room.watching import by_id
from store.room.words import DUE, MORE_SHOPPING_PART, Place, PlaceState

# `state || ''` as in `store.room.admitting`
BEGIN: Final = """
-- Locks the place: of this and its end in the same moment, one finds what the other made of it.
UPDATE place SET begun_at = clock.now, until = clock.now + shopping_seconds * interval '1 second', more = 0
  FROM room, (SELECT clock_timestamp() AS now) AS clock
 WHERE room.event_id = %(event)s AND place.event_id = %(event)s AND buyer = %(buyer)s
   AND state IN ('waiting', 'admitted') AND state || '' = 'admitted' AND begun_at IS NULL
"""

MORE: Final = f"""
-- Only where the time ends when its buyer says it does, so an act that is repeated gives nothing twice; only
-- while it runs, by the time that the owner ends places by (`store.lost_time`); only so often. Locks the
-- place: of this and its end in the same moment, one finds what the other made of it.
WITH running AS MATERIALIZED (SELECT {RUN_BY} AS run_by FROM event WHERE id = %(event)s)
UPDATE place
   SET begin_by = begin_by + CASE WHEN begun_at IS NULL THEN begin_seconds ELSE 0 END * interval '1 second',
       until = until + shopping_seconds / {MORE_SHOPPING_PART} * interval '1 second',
       more = more + 1
  FROM room, running
 WHERE room.event_id = %(event)s AND place.event_id = %(event)s AND buyer = %(buyer)s
   AND state IN ('waiting', 'admitted') AND state || '' = 'admitted'
   AND floor(extract(epoch FROM coalesce(until, begin_by)) * 1000) = %(end)s AND {DUE} > run_by
   AND more < CASE WHEN begun_at IS NULL THEN more_begin_max ELSE more_shopping_max END
"""

LOCK_LIVE: Final = """
-- Waits for a wish that is being filed: the next statement finds it.
SELECT 1 FROM place
 WHERE event_id = %(event)s AND buyer = %(buyer)s AND state IN ('waiting', 'admitted') FOR UPDATE
"""

LEAVE: Final = """
-- A wish for the ballot goes with the place. Who was called and has not begun gives that back to the pace,
-- once: see `admitting.GIVE_BACK`.
WITH gone AS (
  UPDATE place SET state = 'left', ended_at = clock_timestamp(),
         gives_back = (state = 'admitted' AND begun_at IS NULL)
   WHERE event_id = %(event)s AND buyer = %(buyer)s AND state IN ('waiting', 'admitted')
  RETURNING id),
withdrawn AS (DELETE FROM ballot_wish USING gone WHERE place_id = gone.id)
SELECT id FROM gone
"""

NOW_BEGIN: Final = "There is no more time to begin. Begin now; who misses it may join again where they stood."
NOW_SHOP: Final = (
    "There is no more time to choose. Ask for your seats now; what you hold is yours until its own time ends."
)

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


async def more_time(connection: Conn, event_id: int, buyer: str, end_ms: int) -> Place | None:
    """Give who is admitted more time to begin, and who has begun more to shop, if it ends at `end_ms`: the
    place as it stands then, None without one.

    One that ends at another time, or is not admitted, is answered as it is: whoever repeats a call, or did
    not know of lost time that came back, learns its end and can ask again. Raises `Conflicted` (no_more_time)
    where the time is over or was given as often as the organiser says, and `Unavailable`.
    """
    values = {"event": event_id, "buyer": buyer, "end": end_ms}

    async def attempt() -> Place | None:
        given = (await connection.execute(MORE, values)).rowcount
        place = (await read(connection, event_id, [buyer])).get(buyer)
        if not given and place is not None and _ends_ms(place) == end_ms:
            raise Conflicted("no_more_time", NOW_SHOP if place.begun_at is not None else NOW_BEGIN)
        return place

    return await in_transaction(connection, attempt)


def _ends_ms(place: Place) -> int | None:
    """When the time of who is admitted ends; None for who is not."""
    end = place.begin_by if place.until is None else place.until
    return None if place.state is not PlaceState.ADMITTED or end is None else end // 1000


async def leave(connection: Conn, event_id: int, buyer: str) -> Place | None:
    """Leave the line, or go after being admitted: the place that was left, None when there was none. What is
    held stays held. Raises `Unavailable`."""

    async def attempt() -> Place | None:
        values = {"event": event_id, "buyer": buyer}
        await connection.execute(LOCK_LIVE, values)
        left = await (await connection.execute(LEAVE, values)).fetchone()
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
