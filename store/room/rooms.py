"""Waiting rooms as rows: made for a draft, changed by its organiser, read by everybody who serves it."""

from __future__ import annotations

from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from store.errors import BadRequest, Conflicted, FieldError, NotFound
from store.room.ballot import WAIT_FOR_WISHES
from store.room.draw import make_seed
from store.room.words import Admission, Proof, Room, RoomPolicy, RoomTerms

Conn = psycopg.Connection[Any]

MESSAGE_LENGTH_MAX: Final = 500
TERMS: Final = RoomTerms.__struct_fields__
SETTLED: Final = ("policy", "ballot")
"""Terms that stay once somebody may have joined."""
BOUNDS: Final = {
    "pace": (1, 1_000_000),
    "shopping_max": (1, 1_000_000),
    "begin_seconds": (10, 3_600),
    "shopping_seconds": (30, 86_400),
    "more_begin_max": (0, 20),
    "more_shopping_max": (0, 20),
    "proof_above_per_minute": (1, 1_000_000),
}
_KINDS: Final = {"policy": RoomPolicy, "proof": Proof}

_MICROS = "(extract(epoch FROM {}) * 1000000)::bigint"
_PLAIN: Final = (
    "next_position",
    "next_priority",
    "serving",
    "serving_priority",
    "joined",
    "version",
    "admitted",
)
READ: Final = f"""
SELECT event_id, {", ".join(TERMS)}, admission, seed_sha256, CASE WHEN drawn_at IS NOT NULL THEN seed END,
       {_MICROS.format("lobby_ended_at")}, drawn, {_MICROS.format("drawn_at")},
       {_MICROS.format("ballot_ended_at")}, {", ".join(_PLAIN)}, rate, reason, message,
       {_MICROS.format("message_at")}, edition
  FROM room WHERE event_id = %(event)s
"""

MAKE: Final = f"""
INSERT INTO room (event_id, seed, seed_sha256, {", ".join(TERMS)})
VALUES (%(event)s, %(seed)s, %(sha256)s, {", ".join(f"%({term})s" for term in TERMS)})
"""

SET: Final = f"""
-- The version too: what the owner decided by the terms before does not become true any more.
UPDATE room SET {", ".join(f"{term} = %({term})s" for term in TERMS)},
       version = version + 1, edition = edition + 1
 WHERE event_id = %(event)s
"""

LOCK_EVENT: Final = "SELECT id, state FROM event WHERE slug = %(slug)s FOR UPDATE"

LEAVE_OUT: Final = """
-- Who left the lobby is not drawn; who leaves once it has ended is, also when a pause is over. Under the
-- room's lock, like all that puts places into the draw or takes them out: as many are in it as the next
-- statement counts, for good. Who leaves in this moment is drawn, and passed over when it is their turn.
UPDATE place SET in_draw = false
 WHERE event_id = %(event)s AND in_draw AND state = 'left'
   AND EXISTS (SELECT FROM room WHERE room.event_id = %(event)s AND lobby_ended_at IS NULL)
"""

END_LOBBY: Final = """
-- Locks the room's row, for which every join waits: who joined before this is drawn, all others stand behind.
UPDATE room SET lobby_ended_at = clock_timestamp(), version = version + 1,
       drawn = counted.ordinary + counted.priority,
       next_position = room.next_position + counted.ordinary,
       next_priority = room.next_priority + counted.priority
  FROM (SELECT count(*) FILTER (WHERE lane = 'ordinary') AS ordinary,
               count(*) FILTER (WHERE lane = 'priority') AS priority
          FROM place WHERE event_id = %(event)s AND in_draw) AS counted
 WHERE event_id = %(event)s AND lobby_ended_at IS NULL
"""
LOCK_ROOM: Final = "SELECT 1 FROM room WHERE event_id = %(event)s FOR NO KEY UPDATE"


def make(conn: Conn, slug: str, terms: RoomTerms) -> Room:
    """A waiting room for a draft, with the seed of its draw; raises `NotFound`, `BadRequest` (invalid_room)
    and `Conflicted` (event_not_draft, room_exists)."""
    check(terms)
    with conn.transaction():
        event, state = _event(conn, slug)
        if state != "draft":
            story = f"Event {slug!r} is {state}; a waiting room is made while it is a draft."
            raise Conflicted("event_not_draft", story)
        seed = make_seed()
        values = {"event": event, "seed": seed.seed, "sha256": seed.sha256} | _columns(terms)
        try:
            with conn.transaction():
                conn.execute(MAKE, values)
        except psycopg.errors.UniqueViolation as error:
            raise Conflicted(
                "room_exists", f"Event {slug!r} has a waiting room. Change its terms."
            ) from error
        return read(conn, event)


def change(conn: Conn, slug: str, terms: RoomTerms) -> Room:
    """Other terms from now on; raises as `make` and `Conflicted` (room_settled) for what must stay by now."""
    check(terms)
    with conn.transaction():
        event, state = _event(conn, slug)
        was = read(conn, event)
        for name in SETTLED:
            if state != "draft" and getattr(was.terms, name) != getattr(terms, name):
                story = f"{name} is settled once buyers may join: it stays {getattr(was.terms, name)}."
                raise Conflicted("room_settled", story)
        conn.execute(SET, {"event": event} | _columns(terms))
        return read(conn, event)


def read(conn: Conn, event_id: int) -> Room:
    """The waiting room of an event; raises `NotFound` (no_room)."""
    row = conn.cursor(row_factory=tuple_row).execute(READ, {"event": event_id}).fetchone()
    if row is None:
        raise NotFound("no_room", "The event has no waiting room.")
    return room_of(row)


def room_of(row: tuple[Any, ...]) -> Room:
    """A `Room` of a row of `READ`."""
    event, *rest = row
    told: dict[str, Any] = dict(zip(TERMS, rest, strict=False))
    told |= {name: kind(told[name]) for name, kind in _KINDS.items()}
    terms = RoomTerms(**told)
    admission, *more = rest[len(TERMS) :]
    return Room(event, terms, Admission(admission), *more)


def end_lobby(conn: Conn, event_id: int) -> None:
    """In the transaction that begins the sale: no join is drawn and no wish decided that is not there by
    now."""
    values = {"event": event_id}
    if conn.execute(LOCK_ROOM, values).fetchone() is not None:  # counted after the lock was waited for
        conn.execute(WAIT_FOR_WISHES, values)
        conn.execute(LEAVE_OUT, values)
        conn.execute(END_LOBBY, values)


def check(terms: RoomTerms) -> None:
    """Raises `BadRequest` (invalid_room) naming the first term that is out of its bounds."""
    for name, (least, most) in BOUNDS.items():
        value = getattr(terms, name)
        if value is not None and not least <= value <= most:
            says = f"must be {least} to {most}"
            raise BadRequest("invalid_room", f"{name} {says}.", [FieldError(name, says)])
    if terms.ballot and terms.policy is not RoomPolicy.DRAW:
        story = "A ballot is decided in the draw's order: its policy must be draw."
        raise BadRequest("invalid_room", story, [FieldError("ballot", "needs the policy draw")])


def _columns(terms: RoomTerms) -> dict[str, Any]:
    return {name: getattr(terms, name) for name in TERMS}


def _event(conn: Conn, slug: str) -> tuple[int, str]:
    row = conn.cursor(row_factory=tuple_row).execute(LOCK_EVENT, {"slug": slug}).fetchone()
    if row is None:
        raise NotFound("unknown_event", f"There is no event {slug!r}. List them to see which there are.")
    return row[0], row[1]
