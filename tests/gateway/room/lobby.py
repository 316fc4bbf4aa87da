"""An event with a waiting room, what its owner and operators do to it, and a gateway before it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg

from gateway.room.waiting_room import WaitingRoom
from store import events
from store.room import draw, rooms
from store.room.words import RoomTerms
from store.words import EventState
from tests.gateway.rig import EVENT, Answer, Served, make_event, token

ROOM = f"/v1/events/{EVENT}/room"


def make_room(database_url: str, *, state: EventState = EventState.LOBBY, **terms: Any) -> int:
    """The event's number."""
    number = make_event(database_url, state=EventState.DRAFT, fast_gate=False)
    with psycopg.connect(database_url, autocommit=True) as conn:
        rooms.make(conn, EVENT, RoomTerms(**terms))
        go_to(conn, state)
    return number


def go_to(conn: psycopg.Connection[Any], state: EventState) -> None:
    for step in {
        EventState.DRAFT: [],
        EventState.LOBBY: [EventState.LOBBY],
        EventState.OPEN: [EventState.OPEN],
        EventState.PAUSED: [EventState.OPEN, EventState.PAUSED],
        EventState.CLOSED: [EventState.OPEN, EventState.CLOSED],
    }[state]:
        events.set_state(conn, EVENT, step)


def call(conn: psycopg.Connection[Any], event: int, serving: int) -> None:
    """As the owner does: positions up to here are admitted."""
    with conn.transaction():
        conn.execute(
            "UPDATE place SET state = 'admitted', admitted_at = clock_timestamp(),"
            " begin_by = clock_timestamp() + interval '180 s' FROM line, room"
            " WHERE line.place_id = place.id AND room.event_id = %(event)s AND line.event_id = %(event)s"
            " AND line.lane = 'ordinary' AND line.position > serving AND line.position <= %(serving)s",
            {"event": event, "serving": serving},
        )
        conn.execute(
            "UPDATE room SET serving = %s, version = version + 1 WHERE event_id = %s", (serving, event)
        )


def open_and_draw(conn: psycopg.Connection[Any], event: int) -> None:
    events.set_state(conn, EVENT, EventState.OPEN)
    assert draw.draw(conn, event)


def places_of(conn: psycopg.Connection[Any], event: int) -> dict[str, UUID]:
    rows = conn.execute("SELECT buyer, id FROM place WHERE event_id = %s", (event,)).fetchall()
    return dict(rows)


async def join(served: Served, buyer: str = "ann", body: Any = None, *, stays: bool = True) -> Answer:
    head = {"Authorization": f"Bearer {token(buyer)}"}
    return await served.http("POST", f"{ROOM}/join", body=body, headers=head, stays=stays)


async def asked(served: Served, method: str, path: str, buyer: str = "ann", body: Any = None) -> Answer:
    head = {"Authorization": f"Bearer {token(buyer)}"}
    return await served.http(method, f"{ROOM}{path}", body=body, headers=head)


def room_at(served: Served) -> WaitingRoom:
    room = served.runtime.events.loaded()[0].room
    assert room is not None
    return room
