"""Joining: many buyers in one transaction, each with at most one place; what is answered is on disk.

The room's row is locked first, so a join stands either before the lobby's end (and is drawn) or behind all
who are drawn, and positions have no gaps. Who has a place already is given that one, and who was called and
did not begin stands where they stood.

A code is used in the same transaction and only for a place: whoever repeats a join, or has nothing to gain
by their code, does not use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from store.errors import Conflicted, Refused
from store.holds import Conn, in_transaction
from store.room.codes import Code, redeem
from store.room.words import Lane, Place, PlaceState

JOINS_MAX: Final = 1_000
"""Most who join in one transaction."""

LOCK: Final = """
-- Who else joins, and the end of the lobby, wait here.
SELECT event.state, room.policy = 'draw' AND lobby_ended_at IS NULL
  FROM room JOIN event ON event.id = event_id
 WHERE event_id = %(event)s FOR NO KEY UPDATE OF room
"""

COME_BACK: Final = """
-- Who was called and did not begin: they stand where they stood, and are called before all others.
UPDATE place SET state = 'waiting', returned = true, ended_at = NULL, more = 0
 WHERE event_id = %(event)s AND buyer = ANY (%(buyers)s::text[]) AND state = 'expired' AND begun_at IS NULL
"""

MAKE: Final = """
-- In the order they asked. Those who have a place make none.
WITH asked AS (
  SELECT buyer, lane, code, number
    FROM unnest(%(buyers)s::text[], %(lanes)s::text[], %(codes)s::bytea[])
         WITH ORDINALITY AS t (buyer, lane, code, number)),
made AS (
  INSERT INTO place (event_id, buyer, lane, in_draw, code_sha256)
  SELECT %(event)s, buyer, lane, %(drawn)s, code FROM asked ORDER BY number
  ON CONFLICT (event_id, buyer) WHERE state IN ('waiting', 'admitted') DO NOTHING
  RETURNING id, buyer, lane),
stood AS (
  INSERT INTO line (event_id, lane, position, place_id)
  SELECT %(event)s, made.lane,
         row_number() OVER (PARTITION BY made.lane ORDER BY number) - 1
           + CASE made.lane WHEN 'priority' THEN next_priority ELSE next_position END, made.id
    FROM made JOIN asked USING (buyer) JOIN room ON room.event_id = %(event)s
   WHERE NOT %(drawn)s
  RETURNING lane)
UPDATE room SET joined = joined + (SELECT count(*) FROM made),
       next_position = next_position + (SELECT count(*) FROM stood WHERE lane = 'ordinary'),
       next_priority = next_priority + (SELECT count(*) FROM stood WHERE lane = 'priority')
 WHERE event_id = %(event)s AND EXISTS (SELECT FROM made)
"""

TELL: Final = """
-- Also of a place that was there: who asks again may name another address.
UPDATE place SET email = address
  FROM unnest(%(buyers)s::text[], %(emails)s::text[]) AS t (holder, address)
 WHERE event_id = %(event)s AND buyer = holder AND state IN ('waiting', 'admitted')
"""

STAY: Final = """
-- Whom a code gives nothing: they are called first already, or are in that lane, or inside; or what they wish
-- for is decided just now, where their place stands.
SELECT buyer FROM place
 WHERE event_id = %(event)s AND buyer = ANY (%(buyers)s::text[]) AND state IN ('waiting', 'admitted')
   AND (state = 'admitted' OR lane = 'priority' OR returned
        OR EXISTS (SELECT FROM ballot_wish JOIN room ON room.event_id = place.event_id
                    WHERE place_id = place.id AND lobby_ended_at IS NOT NULL AND ballot_ended_at IS NULL))
UNION ALL
SELECT buyer FROM place
 WHERE event_id = %(event)s AND buyer = ANY (%(buyers)s::text[]) AND state = 'expired' AND begun_at IS NULL
"""

CROSS: Final = """
-- Before the draw a place goes to the other lane as it is.
UPDATE place SET lane = 'priority', code_sha256 = code
  FROM unnest(%(buyers)s::text[], %(codes)s::bytea[]) AS t (holder, code)
 WHERE event_id = %(event)s AND buyer = holder AND state IN ('waiting', 'admitted') AND in_draw
"""

GIVE_UP: Final = """
-- Who stands in line by a position gives that up, and their wish, for one in the other lane.
WITH gone AS (
  UPDATE place SET state = 'left', ended_at = clock_timestamp()
   WHERE event_id = %(event)s AND buyer = ANY (%(buyers)s::text[]) AND state IN ('waiting', 'admitted')
  RETURNING id)
DELETE FROM ballot_wish USING gone WHERE place_id = gone.id
"""

_MICROS = "(extract(epoch FROM {}) * 1000000)::bigint"
COLUMNS: Final = ", ".join(
    ["place.id", "buyer", "place.lane", "state", "position"]
    + [_MICROS.format(name) for name in ("joined_at", "admitted_at", "begin_by", "begun_at", "until")]
    + ["more"]
)
"""Of `Place`, in the order of its fields."""

READ: Final = f"""
-- Of each buyer the one that counts: a live one, or the last that expired and may come back. One probe of
-- `place_live` and one of `place_buyer` for each: neither has all of them, and no other index has buyers.
SELECT {COLUMNS}
  FROM unnest(%(buyers)s::text[]) AS asked (who)
 CROSS JOIN LATERAL (
   SELECT * FROM (
     SELECT * FROM place
      WHERE event_id = %(event)s AND buyer = asked.who AND state IN ('waiting', 'admitted')
     UNION ALL
     SELECT * FROM place WHERE event_id = %(event)s AND buyer = asked.who AND state = 'expired') AS found
    ORDER BY state = 'expired', joined_at DESC LIMIT 1) AS place
  LEFT JOIN line ON place_id = place.id
"""


class Joining(Struct, frozen=True):
    """Somebody who wants a place."""

    buyer: str
    lane: Lane = Lane.ORDINARY
    code: Code | None = None
    """What they show to be let into the priority lane."""
    email: str | None = None
    """Where they are told that it is their turn."""


async def join(connection: Conn, event_id: int, joins: Sequence[Joining]) -> dict[str, Place | Refused]:
    """For each of these buyers (each named once) a place, or why their code gives none; committed when this
    returns.

    Raises `Conflicted` (room_closed) where nobody can join: no room, a draft, or a closed event; and
    `Unavailable`.
    """
    assert len(joins) <= JOINS_MAX, "who joins in one transaction is bounded"
    everybody = {"event": event_id, "buyers": [one.buyer for one in joins]}

    async def attempt() -> dict[str, Place | Refused]:
        row = await (await connection.execute(LOCK, everybody)).fetchone()
        if row is None or row[0] not in ("lobby", "open", "paused"):
            raise Conflicted("room_closed", "Nobody can join here now: the event has not begun, or is over.")
        lanes, refused = await _by_code(connection, event_id, joins, drawn=row[1])
        values: dict[str, Any] = {"event": event_id, "buyers": list(lanes), "drawn": row[1]}
        values["lanes"] = [lane.value for lane, _ in lanes.values()]
        values["codes"] = [code for _, code in lanes.values()]
        await connection.execute(COME_BACK, values)
        await connection.execute(MAKE, values)
        told = {one.buyer: one.email for one in joins if one.email is not None and one.buyer in lanes}
        if told:
            await connection.execute(TELL, everybody | {"buyers": list(told), "emails": list(told.values())})
        return {**refused, **await read(connection, event_id, list(lanes))}

    return await in_transaction(connection, attempt)


async def read(connection: Conn, event_id: int, buyers: Sequence[str]) -> dict[str, Place]:
    """The places of those buyers who have one, or had one that expired."""
    cursor = await connection.execute(READ, {"event": event_id, "buyers": list(buyers)})
    return {place.buyer: place for place in map(place_of, await cursor.fetchall())}


def place_of(row: tuple[Any, ...]) -> Place:
    """A `Place` of a row of `COLUMNS`."""
    identity, buyer, lane, state, *rest = row
    return Place(identity, buyer, Lane(lane), PlaceState(state), *rest)


async def _by_code(
    connection: Conn, event_id: int, joins: Sequence[Joining], *, drawn: bool
) -> tuple[dict[str, tuple[Lane, bytes | None]], dict[str, Refused]]:
    """Who joins in which lane, by which code; and whom their code does not let in."""
    lanes: dict[str, tuple[Lane, bytes | None]] = {one.buyer: (one.lane, None) for one in joins}
    codes = {one.buyer: one.code for one in joins if one.code is not None}
    if not codes:
        return lanes, {}
    rows = await connection.execute(STAY, {"event": event_id, "buyers": list(codes)})
    stay = {buyer for (buyer,) in await rows.fetchall()}
    shown = [(buyer, code) for buyer, code in codes.items() if buyer not in stay]
    answers = await redeem(connection, event_id, shown)
    refused = {buyer: answer for buyer, answer in answers.items() if answer is not None}
    let_in = {buyer: codes[buyer].sha256 for buyer, answer in answers.items() if answer is None}
    values = {"event": event_id, "buyers": list(let_in), "codes": list(let_in.values())}
    await connection.execute(CROSS if drawn else GIVE_UP, values)
    lanes |= {buyer: (Lane.PRIORITY, code) for buyer, code in let_in.items()}
    return {buyer: lane for buyer, lane in lanes.items() if buyer not in refused}, refused
