"""What gateways read of a waiting room: the row as it stands, places by number, and who holds seats in spite
of not being admitted. Each function is one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from msgspec import Struct

from store.holds import Conn
from store.lost_time import RUN_BY
from store.room import rooms
from store.room.ballot import REQUEST_ID
from store.room.joining import COLUMNS, place_of
from store.room.words import Place, Room
from store.words import EventState, Micros

IDS_MAX: Final = 1_000
"""Most places read at a time; callers chunk."""

NOW: Final = f"""
-- The row and its event's state of one moment: they change together when the sale begins.
SELECT room_now.*, (SELECT look FROM room WHERE room.event_id = room_now.event_id), event.state,
       (extract(epoch FROM event.opens_at) * 1000000)::bigint,
       (extract(epoch FROM event.lobby_opens_at) * 1000000)::bigint,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       (extract(epoch FROM {RUN_BY}) * 1000000)::bigint
  FROM ({rooms.READ}) AS room_now JOIN event ON event.id = room_now.event_id
"""

BY_ID: Final = f"""
SELECT {COLUMNS} FROM place LEFT JOIN line ON place_id = place.id WHERE place.id = ANY (%(ids)s::uuid[])
"""

HOLDING: Final = f"""
-- Along the index of active holds. A hold's number says where in the ledger it was given: by the ballot, or
-- as an offer of the waiting list. Buyers may call requests of their own what the ballot's are called, but
-- only after it.
SELECT hold.buyer, (extract(epoch FROM max(expires_at)) * 1000000)::bigint
  FROM hold JOIN event ON event.id = hold.event_id JOIN ledger ON ledger.event_id = hold.event_id
   AND ledger.batch_no = hold_id >> 16 AND position = hold_id & 65535
 WHERE hold.event_id = %(event)s AND hold.state = 'active' AND expires_at > {RUN_BY}
   AND hold.buyer = ANY (%(buyers)s::text[])
   AND (ledger.kind = 'offer' OR ledger.request_id = '{REQUEST_ID}' AND EXISTS (
         SELECT FROM room JOIN ledger_batch USING (event_id)
          WHERE event_id = hold.event_id AND ledger_batch.batch_no = ledger.batch_no
            AND batch_time <= ballot_ended_at))
 GROUP BY hold.buyer
"""


class RoomNow(Struct, frozen=True):
    """A waiting room and its event at one moment; times by Postgres' clock in microseconds."""

    room: Room
    look: dict[str, Any]
    """The organiser's name, colours and texts."""
    state: EventState
    opens_at: Micros | None
    lobby_opens_at: Micros | None
    now: Micros
    run_by: Micros
    """The time that places and holds run out by: it stands while the sale is paused or nobody attends to it,
    for what that takes from them comes back (`store.lost_time`)."""


async def now(connection: Conn, event_id: int) -> RoomNow | None:
    """The event's waiting room, or None where it has none."""
    row = await (await connection.execute(NOW, {"event": event_id})).fetchone()
    if row is None:
        return None
    look, state, *moments = row[-6:]
    return RoomNow(rooms.room_of(row[:-6]), look, EventState(state), *moments)


async def by_id(connection: Conn, ids: Sequence[UUID]) -> list[Place]:
    """These places, whatever became of them."""
    assert len(ids) <= IDS_MAX, "callers chunk what they read"
    return [place_of(row) for row in await (await connection.execute(BY_ID, {"ids": list(ids)})).fetchall()]


async def holding(connection: Conn, event_id: int, buyers: Sequence[str]) -> dict[str, Micros]:
    """Those of these buyers who hold seats of the ballot or an offer now, and until when."""
    values = {"event": event_id, "buyers": list(buyers)}
    return dict(await (await connection.execute(HOLDING, values)).fetchall())
