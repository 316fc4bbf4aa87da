"""Waiting rooms made for one measurement, and whole crowds in them, written straight into the tables."""

from __future__ import annotations

import secrets
from typing import Any, Final

import psycopg

from bench.target import StageEvent
from store import events
from store.room import rooms
from store.room.words import RoomTerms
from store.venues.make import make
from store.venues.rows import save_venue
from store.wire import canonical_want
from store.words import Best, EventState, Want

BUYERS: Final = "crowd-"

FILL: Final = f"""
INSERT INTO place (event_id, buyer, in_draw)
SELECT %(event)s, '{BUYERS}' || number, true FROM generate_series(%(first)s::int, %(last)s::int) AS number
"""
JOINED: Final = "UPDATE room SET joined = joined + %(count)s WHERE event_id = %(event)s"
WISH: Final = """
-- Parties of one to four, in turn.
INSERT INTO ballot_wish (place_id, event_id, buyer, want)
SELECT id, event_id, buyer, (%(wants)s::text[])[1 + row_number() OVER () %% cardinality(%(wants)s::text[])]
  FROM place WHERE event_id = %(event)s AND in_draw
"""
PARTIES: Final = tuple(canonical_want(Want(best=Best(size))).decode() for size in (1, 2, 3, 4))


def make_room(database_url: str, terms: RoomTerms, *, seats: int = 100, **event_terms: Any) -> StageEvent:
    """An event in its lobby, with a waiting room."""
    plan = make("arena" if seats >= 1_000 else "theatre", seats)
    slug = f"room-{secrets.token_hex(4)}"
    with psycopg.connect(database_url) as connection:
        venue = save_venue(connection, f"room-{seats}", plan)
        event = events.create_event(connection, slug, "Waiting room", venue, plan, **event_terms)
        rooms.make(connection, slug, terms)
        events.set_state(connection, slug, EventState.LOBBY)
    return StageEvent(event, slug, plan)


def fill(database_url: str, event: StageEvent, count: int, *, wishes: bool = False) -> None:
    """So many buyers join the lobby, each with a wish for the ballot where there are `wishes`."""
    values = {"event": event.id, "first": 1, "last": count, "count": count}
    with psycopg.connect(database_url) as connection:
        connection.execute(FILL, values)
        connection.execute(JOINED, values)
        if wishes:
            connection.execute(WISH, values | {"wants": list(PARTIES)})
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("ANALYZE place, ballot_wish")


def begin_sale(database_url: str, event: StageEvent) -> None:
    """The lobby ends now."""
    with psycopg.connect(database_url) as connection:
        events.set_state(connection, event.slug, EventState.OPEN)


def seconds_until(database_url: str, event: StageEvent, moment: str) -> float | None:
    """From the lobby's end to `moment`, a column of `room`, by Postgres' clock; None: not there yet."""
    statement = f"SELECT extract(epoch FROM {moment} - lobby_ended_at)::float FROM room WHERE event_id = %s"
    with psycopg.connect(database_url) as connection:
        row = connection.execute(statement, (event.id,)).fetchone()
    assert row is not None, "the event has a waiting room"
    seconds: float | None = row[0]
    return seconds
