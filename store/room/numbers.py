"""How waiting rooms stand, in numbers, for operators' alarms: of the events that are not closed.

Read from the tables in one snapshot; locks nobody and decides nothing. The rooms' rows cost nothing. Counting
places and wishes reads all of them, so whoever asks rests in between (`gateway.operators.beside`).
"""

from __future__ import annotations

from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.rows import tuple_row

from store.room.ballot import REQUEST_ID
from store.room.words import Lane, PlaceState, SlowedBy

Conn = psycopg.Connection[Any]

ROOMS_MAX: Final = 50
"""Told of; where there are more, those that sell and the newest."""

ROOMS: Final = f"""
-- Somebody is to be called where the sale runs, admission does, and positions were not called that may be.
SELECT event_id, slug, serving, serving_priority, next_position - 1, next_priority - 1, joined, admitted,
       coalesce(drawn, 0), drawn_at IS NOT NULL, room.ballot, rate, factor, reason, version, step_ms,
       CASE WHEN event.state = 'open' AND admission = 'running' AND reason IS DISTINCT FROM 'full_inside'
             AND (serving < next_position - 1 OR serving_priority < next_priority - 1 OR drawn_at IS NULL)
            THEN coalesce(extract(epoch FROM clock_timestamp()
                          - greatest(decided_at, lobby_ended_at, drawn_at, ballot_ended_at)), 0)
            ELSE 0 END::float
  FROM room JOIN event ON event.id = event_id
 WHERE event.state <> 'closed'
 ORDER BY event.state IN ('open', 'paused') DESC, event_id DESC LIMIT {ROOMS_MAX}
"""

PLACES: Final = """
SELECT event_id, lane, state, count(*) FROM place WHERE event_id = ANY (%(events)s::int[])
 GROUP BY event_id, lane, state
"""

WISHES: Final = """
SELECT event_id, count(*) FROM ballot_wish WHERE event_id = ANY (%(events)s::int[]) GROUP BY event_id
"""

DECIDED: Final = f"""
-- Along the key of requests.
SELECT event_id + 0, count(*) FROM ledger
 WHERE event_id + 0 = ANY (%(events)s::int[]) AND request_id = '{REQUEST_ID}' AND kind = 'request'
   AND outcome <> 'conflict'
 GROUP BY event_id + 0
"""


class RoomNumbers(Struct, frozen=True, kw_only=True):
    """One waiting room."""

    event: str
    places: dict[tuple[Lane, PlaceState], int]
    serving: dict[Lane, int]
    """Positions called up to."""
    last: dict[Lane, int]
    """Positions there are."""
    joined: int
    admitted: int
    drawn: int
    """Places of the draw, once it is done; 0 before."""
    wishes: int
    wishes_decided: int
    """In the draw's order, so it is how far the ballot has come."""
    rate: float
    """Ordinary positions called a minute; 0 where none is measured."""
    factor: float
    """Of the pace; less than 1 where the room slows itself."""
    slowed_by: SlowedBy | None
    decisions: int
    """Versions of the room: what its owner decided, and operators."""
    step_seconds: float
    still_seconds: float
    """So long the last decision is ago while somebody is to be called; else 0."""


def read(conn: Conn) -> list[RoomNumbers]:
    """At most `ROOMS_MAX`, in one snapshot."""
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor = conn.cursor(row_factory=tuple_row)
        rooms = cursor.execute(ROOMS.encode()).fetchall()
        values = {"events": [row[0] for row in rooms]}
        places: dict[int, dict[tuple[Lane, PlaceState], int]] = {row[0]: {} for row in rooms}
        for event, lane, state, count in cursor.execute(PLACES, values).fetchall():
            places[event][Lane(lane), PlaceState(state)] = count
        balloting = {"events": [row[0] for row in rooms if row[10]]}
        wishes: dict[int, int] = dict(cursor.execute(WISHES, balloting).fetchall())
        decided: dict[int, int] = dict(cursor.execute(DECIDED.encode(), balloting).fetchall())
    return [_room(row, places[row[0]], wishes.get(row[0], 0), decided.get(row[0], 0)) for row in rooms]


def _room(
    row: tuple[Any, ...], places: dict[tuple[Lane, PlaceState], int], wishes: int, decided: int
) -> RoomNumbers:
    _, slug, serving, priority, last, last_priority, joined, admitted, drawn, is_drawn, *rest = row
    _, rate, factor, reason, version, step_ms, still = rest
    return RoomNumbers(
        event=slug,
        places=places,
        serving={Lane.ORDINARY: serving, Lane.PRIORITY: priority},
        last={Lane.ORDINARY: last, Lane.PRIORITY: last_priority},
        joined=joined,
        admitted=admitted,
        drawn=drawn if is_drawn else 0,
        wishes=wishes,
        wishes_decided=decided,
        rate=rate or 0.0,
        factor=factor,
        slowed_by=None if reason is None else SlowedBy(reason),
        decisions=version,
        step_seconds=(step_ms or 0.0) / 1_000,
        still_seconds=max(0.0, still),
    )
