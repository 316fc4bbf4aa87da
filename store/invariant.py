"""Does every seat and place add up? held + sold + blocked + free = capacity, and states agree with holds.

Reads only, in one snapshot, so at any moment of a sale: every writer changes all that must agree in one
transaction. A mismatch is a bug or a hand in the tables; it is told with its rows and never repaired.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import psycopg

Conn = psycopg.Connection[Any]

ROWS_MAX: Final = 100
"""Most rows of each kind that are told."""
STATEMENT_MS_MAX: Final = 20_000

SEATS: Final = """
-- A held or sold seat is kept by the hold that it names, which is active or paid; nobody keeps another one.
SELECT seat_no, seat.state, seat.hold_id, kept.hold_id, hold.state
  FROM (SELECT seat_no, state, hold_id FROM seat WHERE event_id = %(event)s) AS seat
  FULL JOIN (SELECT seat_no, hold_id FROM hold_seat WHERE event_id = %(event)s) AS kept USING (seat_no)
  LEFT JOIN hold ON hold.event_id = %(event)s AND hold.hold_id = coalesce(seat.hold_id, kept.hold_id)
 WHERE seat.hold_id IS DISTINCT FROM kept.hold_id
    OR seat.hold_id IS NOT NULL
       AND seat.state IS DISTINCT FROM CASE hold.state WHEN 'active' THEN 'held' WHEN 'paid' THEN 'sold' END
 ORDER BY seat_no LIMIT %(limit)s
"""

HOLDS: Final = """
-- An active or paid hold keeps as many seats and places as it counts, any other one none.
SELECT hold_id, hold.state, hold.quantity, coalesce(seats.kept, 0), coalesce(places.kept, 0)
  FROM (SELECT hold_id, state, quantity FROM hold WHERE event_id = %(event)s) AS hold
  FULL JOIN (SELECT hold_id, count(*) AS kept FROM hold_seat WHERE event_id = %(event)s GROUP BY hold_id)
    AS seats USING (hold_id)
  FULL JOIN (SELECT hold_id, sum(quantity) AS kept FROM hold_area WHERE event_id = %(event)s GROUP BY hold_id)
    AS places USING (hold_id)
 WHERE coalesce(seats.kept, 0) + coalesce(places.kept, 0)
       IS DISTINCT FROM CASE WHEN hold.state IN ('active', 'paid') THEN hold.quantity ELSE 0 END
 ORDER BY hold_id LIMIT %(limit)s
"""

AREAS: Final = """
-- An area's counters are what its holds keep, and leave no less than nothing free.
SELECT area_no, area.capacity, area.held, area.sold, area.blocked,
       coalesce(kept.held, 0), coalesce(kept.sold, 0)
  FROM (SELECT * FROM area WHERE event_id = %(event)s) AS area
  FULL JOIN (SELECT area_no, sum(hold_area.quantity) FILTER (WHERE state = 'active') AS held,
                    sum(hold_area.quantity) FILTER (WHERE state = 'paid') AS sold
               FROM hold_area JOIN hold USING (event_id, hold_id)
              WHERE event_id = %(event)s GROUP BY area_no) AS kept USING (area_no)
 WHERE area.held IS DISTINCT FROM coalesce(kept.held, 0) OR area.sold IS DISTINCT FROM coalesce(kept.sold, 0)
    OR area.blocked < 0 OR area.held + area.sold + area.blocked > area.capacity
 ORDER BY area_no LIMIT %(limit)s
"""

OFFERS: Final = """
-- What was offered to who waited is a hold of theirs, for the request that waited. Whatever became of it.
SELECT wait_id, waiting.request_id, waiting.hold_id, hold.buyer = waiting.buyer, hold.request_id
  FROM (SELECT * FROM waiting WHERE event_id = %(event)s AND state = 'offered') AS waiting
  LEFT JOIN hold USING (event_id, hold_id)
 WHERE (hold.buyer, hold.request_id) IS DISTINCT FROM (waiting.buyer, waiting.request_id)
 ORDER BY wait_id LIMIT %(limit)s
"""

COUNTS: Final = """
SELECT count(*) FILTER (WHERE seat_no BETWEEN 0 AND %(seats)s - 1), count(*) FROM seat
 WHERE event_id = %(event)s
"""
CAPACITIES: Final = "SELECT area_no, capacity FROM area WHERE event_id = %(event)s ORDER BY area_no"


CAPACITY: Final = """
SELECT json_array_length(plan -> 'seats'),
       ARRAY (SELECT (area ->> 'capacity')::int FROM json_array_elements(plan -> 'areas') AS area)
  FROM (SELECT plan::json FROM venue JOIN event ON event.venue_id = venue.id WHERE event.id = %s) AS its
"""


class Capacity(NamedTuple):
    """How many there must be, by the plan."""

    seats: int
    areas: tuple[int, ...]


class Mismatch(NamedTuple):
    """A row that does not agree with the others."""

    what: str
    """seat, hold, area, waiting, or plan"""
    number: int
    story: str


def read_capacity(conn: Conn, event_id: int) -> Capacity:
    """What `mismatches` needs of the event's plan; it never changes."""
    row = conn.execute(CAPACITY, (event_id,)).fetchone()
    assert row is not None, "an event has a venue"
    seats, areas = row
    return Capacity(seats, tuple(areas))


def mismatches(conn: Conn, event_id: int, capacity: Capacity) -> list[Mismatch]:
    """What does not add up in an event's tables; none, whatever goes on. `conn` has no transaction open."""
    values = {"event": event_id, "limit": ROWS_MAX, "seats": capacity.seats}
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        conn.execute(f"SET LOCAL statement_timeout = {STATEMENT_MS_MAX}")
        return [
            *_seats(conn.execute(SEATS, values).fetchall()),
            *_holds(conn.execute(HOLDS, values).fetchall()),
            *_areas(conn.execute(AREAS, values).fetchall()),
            *_offers(conn.execute(OFFERS, values).fetchall()),
            *_plan(conn, values, capacity),
        ]


def _seats(rows: list[tuple[Any, ...]]) -> Iterator[Mismatch]:
    for seat_no, state, hold_id, kept_by, hold_state in rows:
        is_what = "has no row" if state is None else f"is {state}"
        named = "names no hold" if hold_id is None else f"names hold {hold_id}"
        keeper = "no hold keeps it" if kept_by is None else f"hold {kept_by} keeps it"
        found = "" if hold_state is None else f"; that hold is {hold_state}"
        yield Mismatch("seat", seat_no, f"{is_what} and {named}; {keeper}{found}")


def _holds(rows: list[tuple[Any, ...]]) -> Iterator[Mismatch]:
    for hold_id, state, quantity, seats, places in rows:
        counts = "has no row" if state is None else f"is {state} and counts {quantity}"
        yield Mismatch("hold", hold_id, f"{counts}; it keeps {seats} seats and {places} places")


def _areas(rows: list[tuple[Any, ...]]) -> Iterator[Mismatch]:
    for area_no, capacity, held, sold, blocked, held_by_holds, sold_by_holds in rows:
        story = f"counts {held} held + {sold} sold + {blocked} blocked of {capacity}"
        yield Mismatch("area", area_no, f"{story}; its holds keep {held_by_holds} held, {sold_by_holds} sold")


def _offers(rows: list[tuple[Any, ...]]) -> Iterator[Mismatch]:
    for wait_id, request_id, hold_id, same_buyer, kept_for in rows:
        whose = "the same buyer's" if same_buyer else "another buyer's"
        is_whose = "there is no such hold" if same_buyer is None else f"that is {whose}, for {kept_for}"
        yield Mismatch("waiting", wait_id, f"of {request_id} was offered hold {hold_id}; {is_whose}")


def _plan(conn: Conn, values: dict[str, int], capacity: Capacity) -> Iterator[Mismatch]:
    known, there = conn.execute(COUNTS, values).fetchall()[0]
    if (known, there) != (capacity.seats, capacity.seats):
        yield Mismatch(
            "plan", capacity.seats, f"has {capacity.seats} seats; {there} have rows, {known} of its"
        )
    areas = conn.execute(CAPACITIES, values).fetchall()
    if areas != list(enumerate(capacity.areas)):
        yield Mismatch("plan", len(capacity.areas), f"has areas of {list(capacity.areas)}; the table {areas}")
