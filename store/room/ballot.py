"""Wishes for the ballot: filed before the sale begins, one of each place."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from store.errors import Conflicted
from store.holds import Conn
from store.words import Micros

FILE: Final = """
INSERT INTO ballot_wish (place_id, event_id, want)
SELECT place.id, place.event_id, %(want)s
  FROM place JOIN room ON room.event_id = place.event_id
 WHERE place.event_id = %(event)s AND buyer = %(buyer)s AND place.state = 'waiting' AND in_draw
   AND room.ballot AND lobby_ended_at IS NULL
ON CONFLICT (place_id) DO UPDATE SET want = excluded.want, filed_at = clock_timestamp()
RETURNING want, (extract(epoch FROM filed_at) * 1000000)::bigint
"""
WITHDRAW: Final = """
DELETE FROM ballot_wish USING place, room
 WHERE place.id = place_id AND place.event_id = %(event)s AND buyer = %(buyer)s
   AND state = 'waiting' AND room.event_id = place.event_id AND lobby_ended_at IS NULL
"""
READ: Final = """
SELECT want, (extract(epoch FROM filed_at) * 1000000)::bigint
  FROM ballot_wish JOIN place ON place.id = place_id
 WHERE place.event_id = %(event)s AND buyer = %(buyer)s AND state IN ('waiting', 'admitted')
"""


class Wish(Struct, frozen=True):
    """What was filed, and when."""

    want: str
    filed_at: Micros


async def file(connection: Conn, event_id: int, buyer: str, want: str) -> Wish:
    """File a wish in place of any other; raises `Conflicted` (no_ballot) where none can be filed."""
    values = {"event": event_id, "buyer": buyer, "want": want}
    row = await (await connection.execute(FILE, values)).fetchone()
    if row is None:
        raise Conflicted("no_ballot", "No wish can be filed: join before the sale begins, where it has one.")
    return Wish(*row)


async def withdraw(connection: Conn, event_id: int, buyer: str) -> None:
    """Take the wish back, if there is one and the lobby goes on."""
    await connection.execute(WITHDRAW, {"event": event_id, "buyer": buyer})


async def read_wish(connection: Conn, event_id: int, buyer: str) -> Wish | None:
    """The wish that is filed, if one is."""
    row = await (await connection.execute(READ, {"event": event_id, "buyer": buyer})).fetchone()
    return None if row is None else Wish(*row)
