"""How far an event's buyers came, and what requests were answered: counted from the ledger as it grows.

Promises:
- each row of the ledger counts once: counts and position are one row, written only from the position that was
  read. Of two who count at once one wins a step, and the other counts on from there;
- a buyer who asks again, or is given something again, counts once: whether one did before is a look along the
  ledger's key;
- who began to shop has no counter and is counted in the table of places, all events at once and seldom
  (`BEGAN_SECONDS`, and longer where it takes long): `steps_age_ms` says how old that is.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import psycopg
from msgspec import Struct
from psycopg.rows import tuple_row

from store.figures.project import NEXT_BATCHES

Conn = psycopg.Connection[Any]

BEGAN_SECONDS: Final = 15
EVENTS_MAX: Final = 500

TO_COUNT: Final = f"""
SELECT event_cursor.event_id, coalesce(event_tally.batch_no, 0), coalesce(event_tally.outcomes::text, '{{}}')
  FROM event_cursor LEFT JOIN event_tally USING (event_id)
 WHERE event_cursor.batch_no > coalesce(event_tally.batch_no, 0)
 ORDER BY event_tally.changed_at NULLS FIRST, event_id LIMIT {EVENTS_MAX}
"""

COUNT: Final = """
-- The piece along the key. Whether a buyer asked or was given something before it: one look into the index of
-- requests for each buyer of the piece, and into the waiting list's for what was offered.
WITH piece AS MATERIALIZED (
  SELECT kind, buyer, outcome FROM ledger
   WHERE event_id = %(event)s AND batch_no > %(batch)s AND batch_no <= %(last)s
     AND kind IN ('request', 'offer')),
answered AS (
  SELECT outcome, count(*) AS times FROM piece WHERE kind = 'request' GROUP BY outcome),
buyers AS MATERIALIZED (
  SELECT buyer, bool_or(kind = 'request') AS asked, bool_or(outcome IN ('held', 'offered')) AS held
    FROM piece GROUP BY buyer)
SELECT coalesce((SELECT json_object_agg(outcome, times) FROM answered), '{}')::text,
       count(*) FILTER (WHERE asked AND NOT EXISTS (
         SELECT FROM ledger AS earlier
          WHERE earlier.event_id + 0 = %(event)s AND earlier.buyer = buyers.buyer
            AND earlier.kind = 'request' AND earlier.outcome <> 'conflict'
            AND earlier.batch_no <= %(batch)s)),
       count(*) FILTER (WHERE held AND NOT EXISTS (
         SELECT FROM ledger AS earlier
          WHERE earlier.event_id + 0 = %(event)s AND earlier.buyer = buyers.buyer
            AND earlier.kind = 'request' AND earlier.outcome <> 'conflict' AND earlier.outcome = 'held'
            AND earlier.batch_no <= %(batch)s)
         AND NOT EXISTS (
         SELECT FROM waiting WHERE waiting.event_id = %(event)s AND waiting.buyer = buyers.buyer
            AND waiting.hold_id >> 16 <= %(batch)s))
  FROM buyers
"""

PUT: Final = """
-- From the position that was read, or not at all. Locks the one row.
INSERT INTO event_tally AS kept (event_id, batch_no, outcomes, asked, held)
VALUES (%(event)s, %(last)s, %(outcomes)s, %(asked)s, %(held)s)
ON CONFLICT (event_id) DO UPDATE
   SET batch_no = excluded.batch_no, outcomes = excluded.outcomes, asked = kept.asked + excluded.asked,
       held = kept.held + excluded.held, changed_at = clock_timestamp()
 WHERE kept.batch_no = %(batch)s
"""

BEGAN: Final = """
-- Reads the table of places, once for all events.
INSERT INTO event_tally AS kept (event_id, outcomes, began, began_at)
SELECT place.event_id, '{}', count(*), clock_timestamp()
  FROM place JOIN event ON event.id = place.event_id
 WHERE begun_at IS NOT NULL AND event.state IN ('open', 'paused') GROUP BY place.event_id
ON CONFLICT (event_id) DO UPDATE SET began = excluded.began, began_at = excluded.began_at
"""

READ: Final = """
SELECT room.joined, room.next_position - 1 + room.next_priority - 1, room.serving + room.serving_priority,
       CASE WHEN room.event_id IS NOT NULL THEN coalesce(event_tally.began, 0) END,
       coalesce(event_tally.asked, 0), coalesce(event_tally.held, 0),
       coalesce(event_tally.outcomes::text, '{}'),
       greatest(0, extract(epoch FROM clock_timestamp() - least(event_tally.began_at, (
         SELECT batch_time FROM ledger_batch WHERE ledger_batch.event_id = event.id
            AND ledger_batch.batch_no = coalesce(event_tally.batch_no, 0) + 1))) * 1000)::bigint
  FROM event LEFT JOIN room ON room.event_id = event.id
  LEFT JOIN event_tally ON event_tally.event_id = event.id WHERE event.id = %(event)s
"""

TURNED_AWAY: Final = """
-- A row for each minute and reason, of thirty days at most.
SELECT reason, sum(count)::bigint FROM room_refused WHERE event_id = %(event)s
 GROUP BY reason ORDER BY 2 DESC, 1
"""


class Step(Struct, frozen=True):
    """So many came so far."""

    step: str
    count: int


class TurnedAway(Struct, frozen=True):
    """So many were refused before the line, for that reason."""

    reason: str
    count: int


class Tally(Struct, frozen=True):
    """How far an event's buyers came."""

    steps: list[Step]
    steps_age_ms: int
    """How old the oldest of these counts is; 0: all is counted."""
    outcomes: dict[str, int]
    turned_away: list[TurnedAway]


def count(conn: Conn) -> int:
    """Count the next piece of each event that has one; how many were counted. `conn` commits by itself."""
    counted = 0
    events = conn.cursor(row_factory=tuple_row).execute(TO_COUNT.encode()).fetchall()
    for event, batch, outcomes in events:
        values: dict[str, Any] = {"event": event, "batch": batch}
        values["last"] = _rows(conn, NEXT_BATCHES, values)[0][0]
        if values["last"] is None:
            continue  # the cursor stands above what the ledger has: nothing to count
        found, asked, held = _rows(conn, COUNT, values)[0]
        both = _sum(msgspec.json.decode(outcomes), msgspec.json.decode(found))
        values |= {"asked": asked, "held": held, "outcomes": msgspec.json.encode(both).decode()}
        counted += conn.execute(PUT, values).rowcount
    return counted


def count_begun(conn: Conn) -> None:
    """Count who began to shop, of events that sell."""
    conn.execute(BEGAN)


def read(conn: Conn, event_id: int, orders: int) -> Tally:
    """How far they came; `orders` as the figures have them."""
    values = {"event": event_id}
    joined, line, called, began, asked, held, outcomes, age_ms = _rows(conn, READ, values)[0]
    steps = [("asked", asked), ("held", held), ("paid", orders)]
    if joined is not None:
        steps = [("joined", joined), ("in_line", line), ("called", called), ("began", began), *steps]
    away = [TurnedAway(*row) for row in _rows(conn, TURNED_AWAY, values)]
    return Tally([Step(*one) for one in steps], age_ms, msgspec.json.decode(outcomes), away)


def _sum(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in sorted(one.keys() | other.keys())}


def _rows(conn: Conn, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    return conn.cursor(row_factory=tuple_row).execute(statement.encode(), values).fetchall()
