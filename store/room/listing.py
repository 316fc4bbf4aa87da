"""A draw as gateways tell it: what is promised and what came of it, its list piece by piece, one place of it.

A piece is a page of the draw (`store.room.draw.PAGE`), and comes as the text it is told as: a million places
cost a gateway no more memory than one piece, half a megabyte, and no connection waits for a slow reader.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from uuid import UUID

from msgspec import Struct

from store.holds import Conn
from store.room.draw import PAGE
from store.room.published import Head, Stands
from store.room.words import Lane, RoomPolicy
from store.words import Micros

READ: Final = """
SELECT policy, seed_sha256, CASE WHEN drawn_at IS NOT NULL THEN seed END,
       (extract(epoch FROM lobby_ended_at) * 1000000)::bigint, drawn,
       (extract(epoch FROM drawn_at) * 1000000)::bigint
  FROM room WHERE event_id = %(event)s
"""

PIECE: Final = f"""
SELECT string_agg(format(E'%%s,%%s,%%s\\n', lane, position, place_id), '' ORDER BY lane, position),
       (array_agg(lane ORDER BY lane DESC, position DESC))[1],
       (array_agg(position ORDER BY lane DESC, position DESC))[1]
  FROM ({PAGE}) AS rows
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
    lane: str
    position: int


START: Final = Piece("", "", 0)
"""Before the first line."""


async def now(connection: Conn, event_id: int) -> DrawNow | None:
    """None: the event has no waiting room."""
    row = await _row(connection, READ, {"event": event_id})
    return None if row is None else DrawNow(RoomPolicy(row[0]), *row[1:])


async def piece(connection: Conn, event_id: int, after: Piece) -> Piece | None:
    """The lines after that piece, `EXPORT_ROWS` at most; None: there are no more."""
    values = {"event": event_id, "lane": after.lane, "position": after.position}
    row = await _row(connection, PIECE, values)
    assert row is not None, "an aggregate has a row"
    return None if row[0] is None else Piece(*row)


async def find(connection: Conn, event_id: int, place: UUID) -> Stands | None:
    """Where a place of the draw stands; None: it was not in it."""
    row = await _row(connection, FIND, {"event": event_id, "place": place})
    return None if row is None else Stands(Lane(row[0]), row[1])


async def _row(connection: Conn, statement: str, values: dict[str, Any]) -> tuple[Any, ...] | None:
    return await (await connection.execute(statement, values)).fetchone()
