"""The draw: who joined before the sale began is put in line by chance that anybody can check.

Before the lobby begins a seed is made, and its SHA-256 published. Places get random ids when they are
made. The draw orders them, each lane by itself, by HMAC-SHA256 of the place's id (as text, lower case with
dashes) under the seed; then the seed is revealed. Who made the seed could not know the ids, and cannot
change it; who joins cannot choose an id. The same seed and places give the same order wherever and however
often they are drawn, so a draw that was killed is done again.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final
from uuid import UUID

import psycopg
from msgspec import Struct

from store.errors import Conflicted
from store.room.words import Lane

Conn = psycopg.Connection[Any]

SEED_BYTES: Final = 32
BLOCK_BYTES: Final = 64
"""Of SHA-256, as HMAC pads its key."""
EXPORT_ROWS: Final = 10_000
"""Rows of a page. Each is a short statement of its own, so that a slow reader keeps no snapshot of tables."""

PLANNED: Final = """
-- Every place of the event is read and sorted, in pieces that a processor's cache holds. Nobody waits for
-- this transaction, so it may take its time on a slow machine.
SET LOCAL enable_seqscan = on;
SET LOCAL plan_cache_mode = auto;
SET LOCAL work_mem = '32MB';
SET LOCAL statement_timeout = '10min'
"""

ONE_AT_A_TIME: Final = "SELECT pg_try_advisory_xact_lock(hashtext('onsale draw'), %(event)s)"

LINE_UP: Final = """
-- HMAC in Postgres' own terms: sha256(key ^ 5c…, sha256(key ^ 36…, message)).
-- A lane by itself: what is sorted begins with the rank, which costs less than beginning with a text.
INSERT INTO line (event_id, lane, position, place_id)
SELECT %(event)s, %(lane)s, row_number() OVER (ORDER BY rank, id), id
  FROM (SELECT id,
               sha256(%(outer)s::bytea || sha256(%(inner)s::bytea || convert_to(id::text, 'UTF8'))) AS rank
          FROM place WHERE event_id = %(event)s AND lane = %(lane)s AND in_draw) AS ranked
"""

DRAWN: Final = """
UPDATE room SET drawn_at = clock_timestamp(), version = version + 1
 WHERE event_id = %(event)s AND lobby_ended_at IS NOT NULL AND drawn_at IS NULL AND drawn = %(drawn)s
"""

TO_DRAW: Final = """
SELECT seed FROM room WHERE event_id = %(event)s AND lobby_ended_at IS NOT NULL AND drawn_at IS NULL
"""

MANY: Final = """
-- In each lane who was drawn stands before all who joined later.
SELECT lane, count(*) FROM place WHERE event_id = %(event)s AND in_draw GROUP BY lane ORDER BY lane
"""

PAGE: Final = """
-- Along the primary key, on from where the last page ended; rows of the line never change.
SELECT position, place_id FROM line
 WHERE event_id = %(event)s AND lane = %(lane)s AND position > %(after)s AND position <= %(through)s
 ORDER BY position
"""


class Commitment(Struct, frozen=True):
    """What is published before the lobby begins, and what it must turn out to be."""

    seed: bytes
    sha256: bytes


class Drawn(Struct, frozen=True):
    """A place of the draw, as it is published."""

    lane: Lane
    position: int
    place: UUID


class Moved(Struct, frozen=True):
    """A place that does not stand where the draw puts it."""

    place: UUID
    lane: Lane
    position: int
    """Where the list has it."""
    should_be: int | None
    """None: it is there more than once."""


def make_seed() -> Commitment:
    """A seed nobody can guess, and its hash."""
    seed = secrets.token_bytes(SEED_BYTES)
    return Commitment(seed, hashlib.sha256(seed).digest())


def rank_of(seed: bytes, place: UUID) -> bytes:
    """Where the draw puts a place: the lower, the earlier."""
    return hmac.digest(seed, str(place).encode(), "sha256")


def draw(conn: Conn, event_id: int) -> bool:
    """Draw, once; False when there is nothing to draw, or somebody else draws in this moment.

    One transaction: killed anywhere, nothing was drawn, and the next who draws gets the same order.
    """
    with conn.transaction():
        values: dict[str, Any] = {"event": event_id}
        if not _one(conn, ONE_AT_A_TIME, values):
            return False
        row = conn.execute(TO_DRAW, values).fetchone()
        if row is None:
            return False
        conn.execute(PLANNED)
        inner, outer = _pads(bytes(row[0]))
        values |= {"inner": inner, "outer": outer}
        drawn = sum(conn.execute(LINE_UP, values | {"lane": lane.value}).rowcount for lane in Lane)
        done = conn.execute(DRAWN, values | {"drawn": drawn}).rowcount
        if done != 1:
            story = f"{drawn} places were drawn and another number joined before the sale began"
            raise Conflicted("draw_incomplete", f"ALERT: {story}. Nothing was drawn; it is tried again.")
    return True


def moved(seed: bytes, listed: Iterable[Drawn]) -> list[Moved]:
    """The places of a published list that do not stand where the seed puts them, by lane and position.

    Of one place moved among the others it names that one, not all that were pushed aside by it: those that
    keep their order among each other stay (a longest increasing run of ranks). A place that is there more
    than once is named each time, without a position where it should be.
    """
    found: list[Moved] = []
    lanes: dict[Lane, list[Drawn]] = {}
    for one in listed:
        lanes.setdefault(one.lane, []).append(one)
    for _, places in sorted(lanes.items()):
        found += _moved_in(seed, sorted(places, key=lambda one: one.position))
    return found


def _moved_in(seed: bytes, places: list[Drawn]) -> list[Moved]:
    """Of one lane, by position."""
    times = Counter([one.place for one in places])
    once = [one for one in places if times[one.place] == 1]
    ranks = [rank_of(seed, one.place) for one in once]
    stay = _longest_run(ranks)
    found = [Moved(one.place, one.lane, one.position, None) for one in places if times[one.place] > 1]
    if len(stay) < len(once):
        ordered = sorted(ranks)
        found += [
            Moved(one.place, one.lane, one.position, once[bisect_left(ordered, ranks[index])].position)
            for index, one in enumerate(once)
            if index not in stay
        ]
    return sorted(found, key=lambda one: one.position)


def _longest_run(ranks: list[bytes]) -> set[int]:
    """Indexes of a longest increasing run of `ranks`, which are distinct."""
    tails: list[bytes] = []
    at: list[int] = []
    before: list[int] = []
    for index, rank in enumerate(ranks):
        length = bisect_left(tails, rank)
        tails[length : length + 1] = [rank]
        at[length : length + 1] = [index]
        before.append(at[length - 1] if length else -1)
    run: set[int] = set()
    index = at[-1] if at else -1
    while index >= 0:
        run.add(index)
        index = before[index]
    return run


def _pads(seed: bytes) -> tuple[bytes, bytes]:
    key = seed.ljust(BLOCK_BYTES, b"\0")
    return bytes(byte ^ 0x36 for byte in key), bytes(byte ^ 0x5C for byte in key)


def export(conn: Conn, event_id: int) -> Iterator[Drawn]:
    """Every place of the draw, by lane and position, a bounded number in memory."""
    for lane, many in _page(conn, MANY, {"event": event_id}):
        for after in range(0, many, EXPORT_ROWS):
            values = {"event": event_id, "lane": lane, "after": after}
            values["through"] = min(many, after + EXPORT_ROWS)
            for position, place in _page(conn, PAGE, values):
                yield Drawn(Lane(lane), position, place)


def _page(conn: Conn, statement: str, values: dict[str, Any]) -> list[Any]:
    with conn.transaction():
        return conn.execute(statement, values).fetchall()


def _one(conn: Conn, statement: str, values: dict[str, Any]) -> Any:
    row = conn.execute(statement, values).fetchone()
    assert row is not None, "the statement returns one row"
    return row[0]
