"""A draw as gateways tell it: what is promised and what came of it, its list piece by piece, one place of it.

A piece is a short statement, and comes as the text it is told as: a million places cost a gateway no more
memory than one piece, and no connection waits for a slow reader.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from uuid import UUID

from msgspec import Struct

from store.holds import Conn
from store.room.published import Head, Stands
from store.room.words import Lane, RoomPolicy
from store.words import Micros

READ: Final = """
SELECT policy, seed_sha256, CASE WHEN drawn_at IS NOT NULL THEN seed END,
       (extract(epoch FROM lobby_ended_at) * 1000000)::bigint, drawn,
       (extract(epoch FROM drawn_at) * 1000000)::bigint
  FROM room WHERE event_id = %(event)s
"""

PIECE_ROWS: Final = 10_000
"""Half a megabyte."""

PIECE: Final = f"""
-- Along the primary key, from one position to another: a piece costs what it has, also while statistics know
-- nothing of a line that was drawn just now. Rows of the line never change, and positions have no gaps.
SELECT string_agg(format(E'%%s,%%s,%%s\\n', line.lane, position, place_id), '' ORDER BY position),
       max(position)
  FROM line JOIN place ON place.id = line.place_id
 WHERE line.event_id = %(event)s AND line.lane = %(lane)s AND place.in_draw
   AND position > %(after)s::bigint AND position <= %(after)s::bigint + {PIECE_ROWS}
"""

FIND: Final = """
SELECT line.lane, line.position FROM line JOIN place ON place.id = line.place_id
 WHERE line.place_id = %(place)s AND line.event_id = %(event)s AND place.in_draw
"""


class DrawNow(Struct, frozen=True):
    """A draw as everybody may know it."""

    policy: RoomPolicy
    seed_sha256: bytes
    seed: bytes | None
    """None until it is drawn."""
    lobby_ended_at: Micros | None
    drawn: int | None
    drawn_at: Micros | None

    def head(self, event: str) -> Head | None:
        """Of its list; None until it is drawn."""
        if self.seed is None or self.drawn is None:
            return None
        return Head(event, self.seed_sha256, self.seed, self.drawn)


class Piece(NamedTuple):
    """Some lines of the list, and where the last of them stands."""

    text: str
    lane: Lane
    position: int


START: Final = Piece("", min(Lane), 0)
"""Before the first line."""


async def now(connection: Conn, event_id: int) -> DrawNow | None:
    """None: the event has no waiting room."""
    row = await _row(connection, READ, {"event": event_id})
    return None if row is None else DrawNow(RoomPolicy(row[0]), *row[1:])


async def piece(connection: Conn, event_id: int, after: Piece) -> Piece | None:
    """The lines after that piece, `PIECE_ROWS` at most; None: there are no more."""
    position = after.position
    for lane in [lane for lane in sorted(Lane) if lane >= after.lane]:
        values = {"event": event_id, "lane": lane.value, "after": position}
        row = await _row(connection, PIECE, values)
        assert row is not None, "an aggregate has a row"
        if row[0] is not None:
            return Piece(row[0], lane, row[1])
        position = 0
    return None


async def find(connection: Conn, event_id: int, place: UUID) -> Stands | None:
    """Where a place of the draw stands; None: it was not in it."""
    row = await _row(connection, FIND, {"event": event_id, "place": place})
    return None if row is None else Stands(Lane(row[0]), row[1])


async def _row(connection: Conn, statement: str, values: dict[str, Any]) -> tuple[Any, ...] | None:
    return await (await connection.execute(statement, values)).fetchone()
