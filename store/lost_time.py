"""Time that holders lost, given back to the holds that ran when it began: a pause's, or an outage's. Who was
inside the waiting room gets it back too, to begin and to shop.

An owner shows signs of life: it takes or renews the lease, it writes batches. Between two signs more than
`OUTAGE_SECONDS` apart nobody attended to the event, whatever the reason: Postgres was away, every allocator
was, or all of onsale was stopped. Whoever takes the event over gives holds that time back in the same
transaction, which is the next sign: so it is given once. Until then no batch lets a hold run out (the
fence refuses it), and holders can pay and extend what will get its time back (`RUN_BY`).

Lock order, as for all writers: event row, cursor row, holds by id, the waiting room's row and then its
places; the lease row last.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import psycopg
from psycopg.rows import tuple_row

from store.words import FactKind, Micros, Outage

Conn = psycopg.Connection[Any]

OUTAGE_SECONDS: Final = 5
"""A takeover from an owner that was killed or stopped (2.5 s) is none; a restart of Postgres may be one."""

LAST_SIGN: Final = "greatest(lease.renewed_at, lease.given_until, event_cursor.batch_time)"
"""When the event was last attended to, or up to when lost time was given back (`given_until`)."""
UNATTENDED: Final = f"{LAST_SIGN} < clock_timestamp() - interval '{OUTAGE_SECONDS} seconds'"
"""Nobody attends to the event, or has given the time back in which nobody did."""
OUT: Final = (
    f"{LAST_SIGN} < coalesce(event.paused_at, clock_timestamp()) - interval '{OUTAGE_SECONDS} seconds'"
)
"""The same by the time that holds run by: a pause gives its own time back."""
_STANDS: Final = f"""
  SELECT {LAST_SIGN} AS since, coalesce(event.paused_at, clock_timestamp()) AS at
    FROM lease JOIN event_cursor USING (event_id)"""
RUN_BY: Final = f"""(
  SELECT CASE WHEN since < at - interval '{OUTAGE_SECONDS} seconds' THEN since ELSE at END
    FROM ({_STANDS} WHERE lease.event_id = event.id) AS stands)"""
"""The time that `event`'s holds run out by, for holders: the clock, or the moment of a pause; while nobody
attends to the event, the moment since which nobody does, for they get the time back."""

LOCK_EVENT: Final = """
-- Whoever pauses or resumes it waits, or has committed: how much of an outage was a pause is settled.
SELECT 1 FROM event WHERE id = %s FOR SHARE
"""
LOCK_CURSOR: Final = """
-- No batch is under way: its holds are committed and get the time back like all others, and the next batch
-- consumes the fact before it decides.
SELECT 1 FROM event_cursor WHERE event_id = %s FOR UPDATE
"""
READ_OUTAGE: Final = f"""
-- Since when nobody attends to the event, if that is an outage: up to now, or to a pause that began since.
SELECT (extract(epoch FROM since) * 1000000)::bigint
  FROM ({_STANDS} JOIN event ON event.id = lease.event_id WHERE event.id = %s) AS stands
 WHERE since < at - interval '{OUTAGE_SECONDS} seconds'
"""
READ_PAUSE: Final = "SELECT (extract(epoch FROM paused_at) * 1000000)::bigint FROM event WHERE id = %s"
LOCK_HOLDS: Final = """
-- Locks the holds that ran then, in the order every writer uses.
SELECT 1 FROM hold
 WHERE event_id = %(event)s AND state = 'active' AND expires_at > to_timestamp(%(since)s / 1000000.0)
 ORDER BY hold_id FOR UPDATE
"""
_LOST_US: Final = """
-- And by which clock: what comes after it is not given back.
SELECT (extract(epoch FROM {until} - to_timestamp(%(since)s / 1000000.0)) * 1000000)::bigint,
       (extract(epoch FROM clock.now) * 1000000)::bigint
  FROM event, (SELECT clock_timestamp() AS now) AS clock WHERE id = %(event)s
"""
PAUSED_US: Final = _LOST_US.format(until="clock.now")
OUT_US: Final = _LOST_US.format(until="coalesce(paused_at, clock.now)")
EXTEND_HOLDS: Final = """
-- Whole microseconds, so the table and the allocator's memory agree to the last digit.
UPDATE hold SET expires_at = expires_at + %(lost)s * interval '1 microsecond'
 WHERE event_id = %(event)s AND state = 'active' AND expires_at > to_timestamp(%(since)s / 1000000.0)
"""
CHANGE_ROOM: Final = """
-- Locks the row, if there is one: whoever admits and ends places has committed, or begins again after this.
UPDATE room SET version = version + 1 WHERE event_id = %(event)s RETURNING version
"""
EXTEND_PLACES: Final = """
-- As with holds: of who is inside, what ran then. `event_id + 0` is how the index of those has it.
UPDATE place SET begin_by = begin_by + %(lost)s * interval '1 microsecond',
       until = until + %(lost)s * interval '1 microsecond', version = %(version)s
 WHERE event_id + 0 = %(event)s AND state = 'admitted'
   AND coalesce(until, begin_by) > to_timestamp(%(since)s / 1000000.0)
"""
GIVEN_UNTIL: Final = """
UPDATE lease SET given_until = to_timestamp(%(now)s / 1000000.0) WHERE event_id = %(event)s
"""
INSERT_FACT: Final = "INSERT INTO fact (event_id, kind, body) VALUES (%s, %s, %s)"


def lock_outage(conn: Conn, event_id: int) -> bool:
    """Whether this is an outage. If so the event's row is locked; else nothing is, so that no takeover waits
    for an operator who changes the event.
    """
    outage = _first(conn, READ_OUTAGE, (event_id,)) is not None
    if outage:
        conn.execute(LOCK_EVENT, (event_id,))
    return outage


def give_outage_back(conn: Conn, event_id: int) -> int:
    """Give running holds the time back in which nobody attended to the event, and say so to the allocator.

    The microseconds each got: 0 where it was no outage, or nothing ran. The caller has locked the event and
    its cursor.
    """
    row = _first(conn, READ_OUTAGE, (event_id,))
    if row is None:
        return 0
    running, lost_us = _give(conn, event_id, row[0], OUT_US)
    if not running:
        return 0
    body = msgspec.json.encode(Outage(Micros(row[0]), lost_us)).decode()
    conn.execute(INSERT_FACT, (event_id, FactKind.OUTAGE.value, body))
    return lost_us


def give_pause_back(conn: Conn, event_id: int) -> int:
    """Give holds that ran when the pause began the time since then, and what of an outage was before it.

    The microseconds of the pause. The caller has locked the event, and ends the pause with it.
    """
    conn.execute(LOCK_CURSOR, (event_id,))
    give_outage_back(conn, event_id)
    paused_at = _first(conn, READ_PAUSE, (event_id,))
    assert paused_at is not None, "the event is locked, so it is there"
    _, paused_us = _give(conn, event_id, paused_at[0], PAUSED_US)
    return paused_us


def _give(conn: Conn, event_id: int, since: int, lost: str) -> tuple[bool, int]:
    """Give what `lost` says to each hold that ran at `since`: (whether any did, how much)."""
    given: dict[str, object] = {"event": event_id, "since": since}
    running = _first(conn, LOCK_HOLDS, given) is not None
    row = _first(conn, lost, given)
    assert row is not None, "the event is locked, so it is there"
    conn.execute(EXTEND_HOLDS, given | {"lost": row[0]})
    room = _first(conn, CHANGE_ROOM, given)
    if room is not None:
        conn.execute(EXTEND_PLACES, given | {"lost": row[0], "version": room[0]})
    conn.execute(GIVEN_UNTIL, given | {"now": row[1]})
    return running, int(row[0])


def _first(conn: Conn, statement: str, values: tuple[object, ...] | dict[str, object]) -> Any:
    return conn.cursor(row_factory=tuple_row).execute(statement, values).fetchone()
