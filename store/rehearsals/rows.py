"""Rehearsals as rows: asked for by an operator, taken by whoever runs them, one at a time.

A rehearsal takes the machine, so none is begun while an event of this onsale sells, unless that is said. One
whose runner gave no sign of life for a while has failed, and the next may begin.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import psycopg

from store import audit
from store.audit import Said
from store.errors import BadRequest, Conflicted, NotFound
from store.events import get_event
from store.rehearsals.words import (
    BUYERS_MAX,
    LISTED_MAX,
    SIZED_FOR_MAX,
    Rehearsal,
    RehearsalState,
)

Conn = psycopg.Connection[Any]

SILENT_SECONDS_MAX: Final = 30
QUEUED_SECONDS_MAX: Final = 60
ERROR_LENGTH_MAX: Final = 500
KEPT_MAX: Final = 200
"""Rehearsals of an event; older ones go when another is asked for."""

_COLUMNS: Final = """
rehearsal.id, event.slug, buyers, sized_for, rehearsal.state, who, why, asked_at, began_at, ended_at, phase,
done, total, result, error
"""
LIST: Final = f"""
SELECT {_COLUMNS} FROM rehearsal JOIN event ON event.id = event_id
 WHERE event_id = %(event)s ORDER BY rehearsal.id DESC LIMIT {LISTED_MAX}
"""
READ: Final = f"""
SELECT {_COLUMNS} FROM rehearsal JOIN event ON event.id = event_id
 WHERE event_id = %(event)s AND rehearsal.id = %(id)s
"""
SELLING: Final = "SELECT slug FROM event WHERE state = 'open' ORDER BY id DESC LIMIT 1"
ASK: Final = """
-- The partial unique index lets one be queued or running; who comes second inserts nothing.
INSERT INTO rehearsal (event_id, buyers, sized_for, who, why, beside_a_sale)
VALUES (%(event)s, %(buyers)s, %(sized_for)s, %(who)s, %(why)s, %(beside)s)
ON CONFLICT DO NOTHING RETURNING id
"""
GIVE_UP: Final = f"""
-- Also what was asked for while nothing was on sale, and has not begun: the sale that opened goes first.
UPDATE rehearsal SET state = 'failed', ended_at = clock_timestamp(),
       error = CASE WHEN state = 'running' THEN 'Whoever ran it is gone.'
                    WHEN asked_at < clock_timestamp() - interval '{QUEUED_SECONDS_MAX} seconds'
                    THEN 'Nobody runs rehearsals: start the chores (./run up has them).'
                    ELSE 'An event opened before it began. Ask again when none is open.' END
 WHERE (state = 'running' AND alive_at < clock_timestamp() - interval '{SILENT_SECONDS_MAX} seconds')
    OR (state = 'queued'
        AND (asked_at < clock_timestamp() - interval '{QUEUED_SECONDS_MAX} seconds'
             OR NOT beside_a_sale AND EXISTS (SELECT FROM event WHERE event.state = 'open')))
"""
FORGET: Final = """
DELETE FROM rehearsal WHERE event_id = %(event)s AND id <= (
  SELECT id FROM rehearsal WHERE event_id = %(event)s ORDER BY id DESC OFFSET %(kept)s LIMIT 1)
"""
TAKE: Final = """
UPDATE rehearsal SET state = 'running', began_at = clock_timestamp(), alive_at = clock_timestamp()
 WHERE id = (SELECT id FROM rehearsal WHERE state = 'queued' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, (SELECT slug FROM event WHERE event.id = event_id), buyers, sized_for
"""
ALIVE: Final = "UPDATE rehearsal SET alive_at = clock_timestamp() WHERE id = %(id)s AND state = 'running'"
TELL: Final = """
UPDATE rehearsal SET phase = %(phase)s, done = %(done)s, total = %(total)s
 WHERE id = %(id)s AND state = 'running'
"""
END: Final = """
UPDATE rehearsal SET state = %(state)s, result = %(result)s::jsonb, error = %(error)s,
       ended_at = clock_timestamp()
 WHERE id = %(id)s AND state = 'running'
"""


class Taken(msgspec.Struct, frozen=True):
    """A rehearsal to be run."""

    id: int
    event: str
    buyers: int
    sized_for: int


def ask(
    conn: Conn,
    slug: str,
    said: Said,
    *,
    buyers: int,
    sized_for: int | None = None,
    beside_a_sale: bool = False,
) -> Rehearsal:
    """Have one run. Raises `NotFound`, `BadRequest` (invalid_rehearsal), `Conflicted` (rehearsal_running,
    sale_running)."""
    wanted = max(buyers, 1) if sized_for is None else sized_for
    if not 1 <= buyers <= BUYERS_MAX:
        raise BadRequest("invalid_rehearsal", f"buyers must be 1 to {BUYERS_MAX:,}: they storm one machine.")
    if not 1 <= wanted <= SIZED_FOR_MAX:
        raise BadRequest("invalid_rehearsal", f"sized_for must be 1 to {SIZED_FOR_MAX:,}.")
    with conn.transaction():
        event = get_event(conn, slug)
        conn.execute(GIVE_UP)
        selling = conn.execute(SELLING).fetchone()
        if selling is not None and not beside_a_sale:
            story = f"Event {selling[0]!r} is open, and a rehearsal takes the machine it may run on."
            raise Conflicted("sale_running", f"{story} Wait, or say beside_a_sale where it has another one.")
        values = {"event": event.id, "buyers": buyers, "sized_for": wanted, "beside": beside_a_sale}
        made = conn.execute(ASK, values | {"who": said.who, "why": said.why}).fetchone()
        if made is None:
            raise Conflicted("rehearsal_running", "A rehearsal is under way already. Wait until it is over.")
        conn.execute(FORGET, {"event": event.id, "kept": KEPT_MAX})
        what = {"change": "rehearse", "rehearsal": made[0], "buyers": buyers, "beside_a_sale": beside_a_sale}
        audit.write(conn, event.id, said, what)
        return _read(conn, event.id, made[0])


def listed(conn: Conn, slug: str) -> list[Rehearsal]:
    """An event's, newest first, at most `LISTED_MAX`."""
    with conn.transaction():
        conn.execute(GIVE_UP)
        return [_row(row) for row in conn.execute(LIST, {"event": get_event(conn, slug).id}).fetchall()]


def read(conn: Conn, slug: str, rehearsal_id: int) -> Rehearsal:
    """One of an event's; raises `NotFound` (unknown_rehearsal)."""
    with conn.transaction():
        conn.execute(GIVE_UP)
        return _read(conn, get_event(conn, slug).id, rehearsal_id)


def take(conn: Conn) -> Taken | None:
    """The one that is to be run now, which is the caller's then; None: there is none."""
    with conn.transaction():
        conn.execute(GIVE_UP)
        row = conn.execute(TAKE).fetchone()
    return None if row is None else Taken(*row)


def alive(conn: Conn, rehearsal_id: int) -> bool:
    """A sign of life; False where it counts as over by now."""
    return conn.execute(ALIVE, {"id": rehearsal_id}).rowcount == 1


def tell(conn: Conn, rehearsal_id: int, phase: str, done: int, total: int) -> None:
    """How far it is."""
    conn.execute(TELL, {"id": rehearsal_id, "phase": phase, "done": done, "total": total})


def end(conn: Conn, rehearsal_id: int, *, result: bytes | None = None, error: str | None = None) -> None:
    """It is done, with its result as JSON, or failed, with why. One that is over stays as it is."""
    state = RehearsalState.DONE if error is None else RehearsalState.FAILED
    values = {"id": rehearsal_id, "state": state.value, "result": result.decode() if result else None}
    conn.execute(END, values | {"error": error[:ERROR_LENGTH_MAX] if error else None})


def _read(conn: Conn, event_id: int, rehearsal_id: int) -> Rehearsal:
    row = conn.execute(READ, {"event": event_id, "id": rehearsal_id}).fetchone()
    if row is None:
        raise NotFound("unknown_rehearsal", "There is no such rehearsal of this event. List them.")
    return _row(row)


def _row(row: tuple[Any, ...]) -> Rehearsal:
    number, slug, buyers, sized_for, state, *rest = row
    return Rehearsal(number, slug, buyers, sized_for, RehearsalState(state), *rest)
