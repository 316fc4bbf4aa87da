"""Holds that ran out where nobody attends to the event: ended and freed, some at a time.

The allocator ends its own event's holds. What may be taken away where there is none is only what no takeover
would give back (`store.lost_time`): holds that ran out before the last sign of life, and before a pause. That
moment never goes back, so a takeover, a resume or a payment of the same moment changes nothing about it.

As whoever frees seats: conditional writes, and a fact for each hold, in one short transaction. Lock order:
holds by number, seats, areas. Nobody waits for a hold that somebody else has locked.
"""

from __future__ import annotations

from typing import Final

from store.holds import Conn, in_transaction
from store.lost_time import LAST_SIGN, UNATTENDED
from store.words import FactKind

HOLDS_MAX: Final = 500
"""Most holds one transaction ends."""
EVENTS_MAX: Final = 200

_OVER: Final = f"""(
  SELECT least({LAST_SIGN}, event.paused_at) FROM lease JOIN event_cursor USING (event_id)
   WHERE lease.event_id = event.id AND {UNATTENDED})"""
"""Up to when holds are over for good; null where somebody attends to the event."""

FIND: Final = f"""
-- Along the index of active holds.
SELECT event.id FROM event
 WHERE EXISTS (SELECT FROM hold WHERE event_id = event.id AND state = 'active' AND expires_at <= {_OVER})
 ORDER BY event.id LIMIT {EVENTS_MAX}
"""

READ_OVER: Final = f"SELECT {_OVER} FROM event WHERE id = %(event)s"

LOCK_HOLDS: Final = f"""
-- Leaves out what somebody has locked: it is paid, released or extended in this moment.
SELECT hold_id, quantity FROM hold
 WHERE event_id = %(event)s AND state = 'active' AND expires_at <= %(over)s
 ORDER BY hold_id LIMIT {HOLDS_MAX} FOR UPDATE SKIP LOCKED
"""

END_HOLDS: Final = """
UPDATE hold SET state = 'expired'
 WHERE event_id = %(event)s AND hold_id = ANY (%(holds)s::bigint[]) AND state = 'active'
"""

LOCK_SEATS: Final = """
-- By number, as all writers do.
SELECT seat.seat_no FROM hold_seat JOIN seat USING (event_id, seat_no)
 WHERE hold_seat.event_id = %(event)s AND hold_seat.hold_id = ANY (%(holds)s::bigint[])
   AND seat.state = 'held' AND seat.hold_id = hold_seat.hold_id
 ORDER BY seat.seat_no FOR UPDATE OF seat
"""

FREE_SEATS: Final = """
-- Only seats that name a hold that ended. The history row is written by the same statement.
WITH freed AS (
  UPDATE seat SET state = 'available', hold_id = NULL
    FROM hold_seat
   WHERE seat.event_id = %(event)s AND seat.seat_no = ANY (%(seats)s::int[]) AND seat.state = 'held'
     AND hold_seat.event_id = seat.event_id AND hold_seat.seat_no = seat.seat_no
     AND hold_seat.hold_id = seat.hold_id AND hold_seat.hold_id = ANY (%(holds)s::bigint[])
  RETURNING seat.seat_no, hold_seat.hold_id)
INSERT INTO seat_history (event_id, seat_no, state, hold_id, by)
SELECT %(event)s, seat_no, 'available', hold_id, 'expiry' FROM freed
"""

FREE_HOLD_SEATS: Final = """
DELETE FROM hold_seat
 WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[]) AND hold_id = ANY (%(holds)s::bigint[])
"""

LOCK_AREAS: Final = """
SELECT 1 FROM area
 WHERE event_id = %(event)s AND area_no IN (
   SELECT area_no FROM hold_area WHERE event_id = %(event)s AND hold_id = ANY (%(holds)s::bigint[]))
 ORDER BY area_no FOR UPDATE
"""

FREE_PLACES: Final = """
-- Guarded by the CHECKs on the counters. Summed first: an area is one row, however many had places in it.
WITH given_back AS (
  DELETE FROM hold_area WHERE event_id = %(event)s AND hold_id = ANY (%(holds)s::bigint[])
  RETURNING area_no, quantity),
by_area AS (SELECT area_no, sum(quantity)::int AS places FROM given_back GROUP BY area_no),
freed AS (
  UPDATE area SET held = held - by_area.places
    FROM by_area WHERE area.event_id = %(event)s AND area.area_no = by_area.area_no)
SELECT coalesce(sum(places), 0)::int FROM by_area
"""

INSERT_FACTS: Final = """
INSERT INTO fact (event_id, kind, hold_id)
SELECT %(event)s, %(kind)s, unnest(%(holds)s::bigint[])
"""


async def find(connection: Conn) -> list[int]:
    """Events that have holds to sweep, by number."""
    return [event for (event,) in await (await connection.execute(FIND)).fetchall()]


async def sweep(connection: Conn, event_id: int) -> int:
    """End and free at most `HOLDS_MAX` holds of an event; how many. Raises `Unavailable`."""

    async def attempt() -> int:
        values: dict[str, object] = {"event": event_id, "kind": FactKind.RELEASED.value}
        [values["over"]] = await (await connection.execute(READ_OVER, values)).fetchone() or (None,)
        over = await (await connection.execute(LOCK_HOLDS, values)).fetchall()
        if not over:
            return 0
        values["holds"] = [hold for hold, _ in over]
        ended = await connection.execute(END_HOLDS, values)
        assert ended.rowcount == len(over), "the holds are locked and active, so all of them end"
        seats = await (await connection.execute(LOCK_SEATS, values)).fetchall()
        values["seats"] = [seat for (seat,) in seats]
        freed = await connection.execute(FREE_SEATS, values)
        assert freed.rowcount == len(seats), "the seats are locked, so all of them become available"
        gone = await connection.execute(FREE_HOLD_SEATS, values)
        assert gone.rowcount == len(seats), "a held seat has exactly one hold_seat row"
        await connection.execute(LOCK_AREAS, values)
        places = await (await connection.execute(FREE_PLACES, values)).fetchone()
        assert places is not None, "a sum is one row"
        counted = sum(quantity for _, quantity in over)
        found = len(seats) + places[0]
        assert found == counted, (
            f"holds of event {event_id} count {counted}; {found} seats and places are theirs"
        )
        await connection.execute(INSERT_FACTS, values)
        return len(over)

    return await in_transaction(connection, attempt)
