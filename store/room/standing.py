"""How a waiting room stands: what an operator looks at. Reads in one snapshot, locks nobody."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from store.events import get_event
from store.room import codes, rooms
from store.room.codes import Issued
from store.room.look import Look
from store.room.rooms import Conn
from store.room.words import Admission, Lane, PlaceState, Room, RoomTerms
from store.words import EventState

PLACES: Final = "SELECT lane, state, count(*) FROM place WHERE event_id = %(event)s GROUP BY lane, state"
SHOPPING: Final = """
SELECT count(*) FROM place WHERE event_id + 0 = %(event)s AND state = 'admitted' AND begun_at IS NOT NULL
"""
LOOK: Final = "SELECT look FROM room WHERE event_id = %(event)s"


class ShownRoom(Struct, frozen=True):
    """A room for people and programs: digests in hexadecimal, times in milliseconds."""

    event: str
    state: EventState
    terms: RoomTerms
    admission: Admission
    edition: int
    """Of what operators decided; who changes it from there says so."""
    version: int
    seed_sha256: str
    seed: str | None
    lobby_ended_at: int | None
    drawn: int | None
    drawn_at: int | None
    ballot_ended_at: int | None
    joined: int
    admitted: int
    serving: int
    serving_priority: int
    next_position: int
    next_priority: int
    rate: float | None
    reason: str | None
    message: str | None
    message_at: int | None


class Standing(Struct, frozen=True):
    """A room and who is where."""

    room: ShownRoom
    places: dict[Lane, dict[PlaceState, int]]
    shopping: int
    """Admitted and begun."""
    codes: list[Issued]
    look: Look


def shown(room: Room, slug: str, state: EventState) -> ShownRoom:
    """A room's row as it is told."""
    plain: dict[str, Any] = {name: getattr(room, name) for name in Room.__struct_fields__}
    plain |= {name: _ms(plain[name]) for name in plain if name.endswith("_at")}
    plain |= {"seed_sha256": room.seed_sha256.hex(), "seed": room.seed and room.seed.hex()}
    del plain["event_id"]
    return ShownRoom(event=slug, state=state, **plain)


def read(conn: Conn, slug: str) -> Standing:
    """Raises `NotFound` (unknown_event, no_room)."""
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        event = get_event(conn, slug)
        values = {"event": event.id}
        room = rooms.read(conn, event.id)
        places: dict[Lane, dict[PlaceState, int]] = {lane: {} for lane in Lane}
        for lane, state, count in conn.execute(PLACES, values).fetchall():
            places[Lane(lane)][PlaceState(state)] = count
        [(shopping,)] = conn.execute(SHOPPING, values).fetchall()
        [(look,)] = conn.execute(LOOK, values).fetchall()
        issued = codes.issued(conn, event.id)
        told = shown(room, slug, event.state)
        return Standing(told, places, shopping, issued, msgspec.convert(look, Look))


def _ms(moment: int | None) -> int | None:
    return None if moment is None else moment // 1000
