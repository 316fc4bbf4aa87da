"""The ballot: who joined before the sale says what they wish for, and it is decided in the draw's order.

A wish is filed, replaced or taken back while the lobby lasts. Who files holds a lock that the end of the
lobby waits for, and that it keeps until it has committed: a wish is filed before it and decided, or refused.
From then on wishes are settled. The event's owner appends them to the stream by their places' positions,
the priority lane first, as requests whose key is (buyer, `REQUEST_ID`) (`allocator.ballot`).

The ledger says how far that is: a wish is decided when the ledger has its key. Who leaves the line takes
their wish with them (`store.room.entering`): in time, they are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import psycopg
from msgspec import UNSET, Struct

from store.errors import BadRequest, Conflicted, NotFound
from store.holds import Conn as AsyncConn
from store.holds import in_transaction
from store.room.words import LIVE, Lane
from store.wire import canonical_want, decode_want
from store.words import REQUEST_BYTES_MAX, Micros, Want, one_of

Conn = psycopg.Connection[Any]

REQUEST_ID: Final = "ballot"
"""Of a wish's request: with its buyer the key of the decision."""
LANES: Final = (Lane.PRIORITY, Lane.ORDINARY)
"""In the order in which their wishes are decided."""
NEAR_MAX: Final = 1_000
"""Wishes that are looked up one by one, before all are."""
LET_IN_MAX: Final = 5_000
"""Most who are let in by one statement."""

_LIVE: Final = one_of("place.state", *LIVE)
_MICROS = "(extract(epoch FROM {}) * 1000000)::bigint"
_LASTS = "room.ballot AND event.state = 'lobby' AND lobby_ended_at IS NULL"

WAIT_FOR_LOBBY_END: Final = """
-- Many file at once; who ends the lobby waits for them, and those who come then wait for that.
SELECT pg_advisory_xact_lock_shared(hashtext('onsale wishes'), %(event)s)
"""
WAIT_FOR_WISHES: Final = "SELECT pg_advisory_xact_lock(hashtext('onsale wishes'), %(event)s)"

FILE: Final = f"""
-- After the lock, so a lobby that ended is seen to have ended. Who leaves meanwhile waits, and takes it away.
INSERT INTO ballot_wish (place_id, event_id, buyer, want)
SELECT place.id, event.id, place.buyer, %(want)s
  FROM place JOIN event ON event.id = place.event_id JOIN room ON room.event_id = event.id
 WHERE place.event_id = %(event)s AND place.buyer = %(buyer)s AND {_LIVE} AND in_draw AND {_LASTS}
   FOR SHARE OF place
ON CONFLICT (place_id) DO UPDATE SET want = excluded.want, filed_at = clock_timestamp()
RETURNING {_MICROS.format("filed_at")}
"""

WITHDRAW: Final = f"""
DELETE FROM ballot_wish USING place, room, event
 WHERE ballot_wish.place_id = place.id AND room.event_id = %(event)s AND event.id = %(event)s
   AND place.event_id = %(event)s AND place.buyer = %(buyer)s AND {_LIVE} AND {_LASTS}
"""

LASTS: Final = f"""
SELECT room.ballot, {_LASTS} FROM room JOIN event ON event.id = event_id WHERE event_id = %(event)s
"""

READ: Final = f"""
-- Of the place that counts: a live one, or the last that expired and may come back.
SELECT want, {_MICROS.format("filed_at")}
  FROM place JOIN ballot_wish ON place_id = place.id
 WHERE place.event_id = %(event)s AND place.buyer = %(buyer)s AND ({_LIVE} OR place.state = 'expired')
 ORDER BY (place.state = 'expired'), joined_at DESC LIMIT 1
"""

NEXT: Final = """
-- By the line's key, each wish by its place's; the LIMIT inside keeps it so, however many there are.
SELECT line.position, wish.buyer, wish.want
  FROM line CROSS JOIN LATERAL (
    SELECT buyer, want FROM ballot_wish WHERE ballot_wish.place_id = line.place_id LIMIT 1) AS wish
 WHERE line.event_id = %(event)s AND line.lane = %(lane)s AND line.position > %(after)s
 ORDER BY line.position LIMIT """
"""The number stands in the text: a plan for any number would sort all there are."""
IN_ORDER: Final = "SET LOCAL enable_bitmapscan = off"
"""Before `NEXT`: where statistics know of no line yet, a bitmap of all of it would be sorted for a piece."""

_KEY: Final = (
    f"event_id + 0 = %(event)s AND request_id = '{REQUEST_ID}' AND kind = 'request' AND outcome <> 'conflict'"
)

IS_DECIDED: Final = f"SELECT 1 FROM ledger WHERE {_KEY} AND buyer = %(buyer)s"

UNDECIDED_NEAR: Final = f"""
-- Of the first few of a lane, each looked up by its key; and how many these are.
SELECT min(position) FILTER (
         WHERE NOT EXISTS (SELECT FROM ledger WHERE {_KEY} AND ledger.buyer = wish.buyer OFFSET 0)), count(*)
  FROM ({NEXT} {NEAR_MAX}) AS wish
"""

UNDECIDED_FAR: Final = f"""
-- Of all of a lane: each table is read once, in a fraction of the time that looking each up would take.
SELECT min(wish.position)
  FROM (SELECT line.position, buyer
          FROM line JOIN ballot_wish USING (place_id)
         WHERE line.event_id = %(event)s AND line.lane = %(lane)s AND line.position > %(after)s
           AND ballot_wish.event_id = %(event)s) AS wish
 WHERE NOT EXISTS (SELECT FROM ledger WHERE {_KEY} AND ledger.buyer = wish.buyer)
"""
READ_ONCE: Final = """
SET LOCAL enable_nestloop = off; SET LOCAL enable_seqscan = on; SET LOCAL work_mem = '64MB'
"""

LOCK_ROOM: Final = "SELECT 1 FROM room WHERE event_id = %(event)s FOR NO KEY UPDATE"

LET_IN: Final = f"""
-- Some holds of the ballot, by number, and the places of those who have them and still wait: each is found by
-- its buyer's name, which the LIMIT inside sees to, and changed by its id.
WITH piece AS (
  SELECT hold_id, buyer, expires_at FROM hold
   WHERE event_id = %(event)s AND hold_id > %(after)s AND request_id = '{REQUEST_ID}'
     AND hold.state IN ('active', 'paid')
   ORDER BY hold_id LIMIT %(most)s),
holding AS (
  SELECT waits.id, expires_at
    FROM piece CROSS JOIN LATERAL (
      SELECT id FROM place
       WHERE event_id = %(event)s AND place.buyer = piece.buyer AND place.state = 'waiting'
       LIMIT 1) AS waits),
come_in AS (
  UPDATE place
     SET state = 'admitted', returned = false, admitted_at = now(), begin_by = now(), begun_at = now(),
         until = greatest(expires_at, now() + room.shopping_seconds * interval '1 second')
    FROM holding, room
   WHERE room.event_id = %(event)s AND place.id = holding.id AND place.state = 'waiting'
  RETURNING place.id),
counted AS (
  UPDATE room SET admitted = admitted + (SELECT count(*) FROM come_in), version = version + 1
   WHERE event_id = %(event)s AND EXISTS (SELECT FROM come_in))
SELECT (SELECT max(hold_id) FROM piece), (SELECT count(*) FROM come_in)
"""

END: Final = """
UPDATE room SET ballot_ended_at = clock_timestamp(), version = version + 1
 WHERE event_id = %(event)s AND ballot AND drawn_at IS NOT NULL AND ballot_ended_at IS NULL
"""


class Filed(Struct, frozen=True):
    """A wish as it is filed."""

    want: Want
    filed_at: Micros


class Rank(NamedTuple):
    """Where a wish stands in the ballot: all of one lane go before the next."""

    lane: Lane
    position: int


FIRST: Final = Rank(LANES[0], 0)
"""Before every wish."""


class Wish(NamedTuple):
    """A wish to be decided."""

    rank: Rank
    buyer: str
    want: str
    """Canonical, as a request's in the stream."""


async def file(connection: AsyncConn, event_id: int, buyer: str, want: Want) -> Filed:
    """File a wish, or another instead of the one there is; it is on disk when this returns.

    Raises `BadRequest` (invalid_wish), `Conflicted` (no_ballot, ballot_closed), `NotFound` (no_place) for who
    has not joined, and `Unavailable`.
    """
    text = canonical_want(want)
    if want.move is not UNSET:
        raise BadRequest("invalid_wish", "Nothing is held yet: file what you want, with no hold to move.")
    if len(text) > REQUEST_BYTES_MAX:
        raise BadRequest("invalid_wish", f"A wish has at most {REQUEST_BYTES_MAX} bytes; name fewer seats.")
    values = {"event": event_id, "buyer": buyer, "want": text.decode()}

    async def attempt() -> Filed:
        await connection.execute(WAIT_FOR_LOBBY_END, values)
        row = await (await connection.execute(FILE, values)).fetchone()
        if row is None:
            await _lasts(connection, values)
            raise NotFound("no_place", "Join the waiting room first; then file your wish.")
        return Filed(want, row[0])

    return await in_transaction(connection, attempt)


async def withdraw(connection: AsyncConn, event_id: int, buyer: str) -> bool:
    """Take a wish back; False where there is none. Raises as `file` (no_ballot, ballot_closed)."""
    values = {"event": event_id, "buyer": buyer}

    async def attempt() -> bool:
        await connection.execute(WAIT_FOR_LOBBY_END, values)
        gone = (await connection.execute(WITHDRAW, values)).rowcount
        if not gone:
            await _lasts(connection, values)
        return bool(gone)

    return await in_transaction(connection, attempt)


async def read(connection: AsyncConn, event_id: int, buyer: str) -> Filed | None:
    """The wish of this buyer, as long as they have a place."""
    row = await (await connection.execute(READ, {"event": event_id, "buyer": buyer})).fetchone()
    return None if row is None else Filed(decode_want(row[0]), row[1])


async def _lasts(connection: AsyncConn, values: dict[str, Any]) -> None:
    row = await (await connection.execute(LASTS, values)).fetchone()
    if row is None or not row[0]:
        raise Conflicted("no_ballot", "This event has no ballot: ask for seats when it is your turn.")
    if not row[1]:
        raise Conflicted("ballot_closed", "Wishes are filed before the sale begins, while the lobby is open.")


def next_wishes(conn: Conn, event_id: int, after: Rank, count_max: int) -> list[Wish]:
    """The wishes behind this rank, in the ballot's order; none: there are no more. Needs the draw."""
    wishes: list[Wish] = []
    with conn.transaction():
        conn.execute(IN_ORDER)
        for lane, values in _lanes(event_id, after):
            rows = conn.execute(NEXT.encode() + b"%d" % (count_max - len(wishes)), values).fetchall()
            wishes += [Wish(Rank(lane, position), buyer, want) for position, buyer, want in rows]
            if len(wishes) == count_max:
                break
    return wishes


def first_undecided(conn: Conn, event_id: int) -> Rank | None:
    """The first rank whose wish the ledger lacks; None: all are decided. Needs the draw.

    Quick where little is decided yet. Else it reads every wish and the whole ledger, each once.
    """
    for lane, values in _lanes(event_id, FIRST):
        near, looked_at = _first(conn, IN_ORDER, UNDECIDED_NEAR, values)
        if near is not None:
            return Rank(lane, near)
        if looked_at == NEAR_MAX:
            (far,) = _first(conn, READ_ONCE, UNDECIDED_FAR, values)
            if far is not None:
                return Rank(lane, far)
    return None


def _first(conn: Conn, planned: str, statement: str, values: dict[str, Any]) -> tuple[Any, ...]:
    with conn.transaction():
        conn.execute(planned)
        row: tuple[Any, ...] | None = conn.execute(statement, values).fetchone()
    assert row is not None, "an aggregate is a row"
    return row


def is_decided(conn: Conn, event_id: int, buyer: str) -> bool:
    """Whether the ledger has this buyer's wish."""
    with conn.transaction():
        return conn.execute(IS_DECIDED, {"event": event_id, "buyer": buyer}).fetchone() is not None


def _lanes(event_id: int, after: Rank) -> Iterator[tuple[Lane, dict[str, Any]]]:
    """Each lane with something behind this rank, and what its statements are given."""
    for lane in LANES[LANES.index(after.lane) :]:
        behind = after.position if lane is after.lane else 0
        yield lane, {"event": event_id, "lane": lane.value, "after": behind}


def let_in(conn: Conn, event_id: int) -> int:
    """Who holds something from the ballot is inside, for the shopping time and until that hold ends: they
    need not wait to pay, move or release. Who got nothing keeps their place.

    Bounded pieces, each committed; who is inside already stays as they are. Returns how many came in.
    """
    came_in, after = 0, 0
    while True:
        with conn.transaction():
            conn.execute(LOCK_ROOM, {"event": event_id})
            values = {"event": event_id, "after": after, "most": LET_IN_MAX}
            row = conn.execute(LET_IN, values).fetchone()
        assert row is not None, "sums are a row"
        if row[0] is None:
            return came_in
        after, came_in = row[0], came_in + row[1]


def end(conn: Conn, event_id: int) -> bool:
    """The ballot is over, once: False when it is already, or not begun. All are decided and `let_in`."""
    with conn.transaction():
        return conn.execute(END, {"event": event_id}).rowcount == 1
