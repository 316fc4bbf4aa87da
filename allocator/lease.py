"""Who may allocate for an event, and how that right changes hands.

The lease row names the owner's backend. A standby takes over when the owner gave the lease back,
when its backend is gone (a killed process: at once), or when it has not renewed for
`LEASE_SECONDS` (a stopped one). Taking over ends the old backend first: a writer stopped in the
middle of a COPY is caught by no timeout. Then the epoch goes up in the cursor row, which is what
fences: every batch compares and sets that row, so a stale owner's COMMIT cannot happen. Where nobody
attended to the event for long, holds get the time back with it (`store.lost_time`).
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import psycopg

from store.lost_time import OUT, UNATTENDED, give_outage_back, lock_outage

log = logging.getLogger("onsale.allocator")

LEASE_SECONDS = 2.5
RENEW_SECONDS = 0.5
PRECEDENCE_SECONDS = 0.5
"""For so long what was given back is left to the one who is to own it."""

GIVEN_BACK: Final = f"""
       lease.owner IS NULL AND lease.renewed_at IS NOT NULL
       AND lease.renewed_at > clock_timestamp() - make_interval(secs => {PRECEDENCE_SECONDS})
"""
LOOK_AT_ALL: Final = f"""
-- Of many events at once: of each that can be taken or has batches beyond what is known of it.
SELECT known.event_id, event_cursor.epoch, lease.owner, stands.free, event_cursor.batch_no, {GIVEN_BACK}
  FROM unnest(%(events)s::int[], %(batches)s::bigint[]) AS known (event_id, batch_no)
  JOIN event_cursor USING (event_id) JOIN lease USING (event_id)
  LEFT JOIN pg_stat_activity AS backend
    ON backend.pid = lease.backend_pid AND backend.backend_start = lease.backend_start
 CROSS JOIN LATERAL (
   SELECT lease.owner IS NULL OR backend.pid IS NULL
          OR lease.renewed_at < clock_timestamp() - make_interval(secs => %(lease)s) AS free) AS stands
 WHERE stands.free OR event_cursor.batch_no <> known.batch_no
"""

LOOK: Final = f"""
SELECT event_cursor.epoch, lease.owner,
       lease.owner IS NULL
       OR lease.renewed_at < clock_timestamp() - make_interval(secs => %s)
       OR NOT EXISTS (SELECT FROM pg_stat_activity AS backend
                       WHERE backend.pid = lease.backend_pid AND backend.backend_start = lease.backend_start),
       event_cursor.batch_no, {GIVEN_BACK}
  FROM event_cursor JOIN lease USING (event_id)
 WHERE event_id = %s
"""

END_BACKEND: Final = """
-- Only the backend of the owner that was looked at: if another standby was quicker, none.
SELECT pg_terminate_backend(backend.pid, 5000)
  FROM lease JOIN pg_stat_activity AS backend
    ON backend.pid = lease.backend_pid AND backend.backend_start = lease.backend_start
 WHERE lease.event_id = %s AND lease.owner = %s AND backend.pid <> pg_backend_pid()
"""

END_OTHER_BACKEND: Final = END_BACKEND + " AND backend.pid <> %s"
"""The same, where the event is taken for another connection than this one."""

RAISE_EPOCH: Final = """
-- Of several standbys one finds the epoch it looked at. Waits for the old owner's transaction, if any.
UPDATE event_cursor SET epoch = epoch + 1, owner = %s WHERE event_id = %s AND epoch = %s RETURNING epoch
"""

_TAKE: Final = f"""
-- Not after an outage that is not given back, also if that began since it was looked for.
UPDATE lease
   SET owner = %s, worker = %s, renewed_at = clock_timestamp(), {{backend}}
  FROM event_cursor, event
 WHERE lease.event_id = %s AND event_cursor.event_id = lease.event_id AND event.id = lease.event_id
   AND NOT {OUT}
RETURNING true
"""
TAKE: Final = _TAKE.format(
    backend="""backend_pid = pg_backend_pid(),
       backend_start = (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())"""
)
TAKE_FOR: Final = _TAKE.format(backend="backend_pid = %s, backend_start = %s")
"""The event is owned through another connection than this one."""
BACKEND: Final = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"

RENEW: Final = f"""
-- Not what nobody attended to for so long that holds get the time back: renewing would hide it.
UPDATE lease SET renewed_at = clock_timestamp()
  FROM event_cursor
 WHERE event_cursor.event_id = lease.event_id AND lease.event_id = ANY (%s) AND lease.owner = ANY (%s)
   AND NOT {UNATTENDED}
RETURNING lease.event_id
"""

GIVE_BACK: Final = f"""
-- A sign of life too, which tells for how long nobody owns the event; but none that would hide an outage.
UPDATE lease
   SET owner = NULL, renewed_at = CASE WHEN {UNATTENDED} THEN lease.renewed_at ELSE clock_timestamp() END
  FROM event_cursor
 WHERE event_cursor.event_id = lease.event_id AND lease.event_id = %s AND lease.owner = %s
"""

GIVE_ALL_BACK: Final = GIVE_BACK.replace("= %s", "= ANY (%s)")
"""The same for many events at once: an owner's token is of one of them."""

CLOCK: Final = """
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
"""

Connection = psycopg.Connection[Any]


class Owned(NamedTuple):
    """The right to allocate: goes into every batch's fence."""

    epoch: int
    owner: UUID


class Backend(NamedTuple):
    """A connection as Postgres knows it; its number alone comes again."""

    pid: int
    start: datetime


class Seen(NamedTuple):
    """The lease as a standby sees it."""

    epoch: int
    owner: UUID | None
    free: bool
    batch_no: int
    """Of the last batch: a standby whose memory is there has nothing to follow."""
    given_back: bool
    """By its owner, a moment ago: whoever is to own the event goes first."""


def look(conn: Connection, event_id: int) -> Seen:
    """Whether the event can be taken over now, by Postgres' clock and backends."""
    row = conn.execute(LOOK, (LEASE_SECONDS, event_id)).fetchone()
    conn.commit()
    assert row is not None, "an event has a cursor row and a lease row"
    return Seen(*row)


def look_at_all(conn: Connection, batches: dict[int, int]) -> dict[int, Seen]:
    """Of events whose memory is at these batches: each that can be taken over or has gone on since."""
    given = {"events": list(batches), "batches": list(batches.values()), "lease": LEASE_SECONDS}
    rows = conn.execute(LOOK_AT_ALL, given).fetchall()
    conn.commit()
    return {event_id: Seen(*seen) for event_id, *seen in rows}


def backend(conn: Connection) -> Backend:
    """What the leases call this connection, if events are owned through it."""
    row = conn.execute(BACKEND).fetchone()
    conn.commit()
    assert row is not None, "who asks is there"
    return Backend(*row)


def take(
    conn: Connection, event_id: int, seen: Seen, worker: str, through: Backend | None = None
) -> Owned | None:
    """Take the event over on this connection, or None when somebody else was quicker, or it took too long.

    `through`: batches will be written on that connection of ours, which is not ended. Where nobody attended
    to it for long, running holds get the time back in the same transaction: once, whoever is killed.
    """
    if seen.owner is not None:
        if through is None:
            conn.execute(END_BACKEND, (event_id, seen.owner))
        else:
            conn.execute(END_OTHER_BACKEND, (event_id, seen.owner, through.pid))
        conn.commit()
    owner = uuid4()
    outage = lock_outage(conn, event_id)
    row = conn.execute(RAISE_EPOCH, (owner, event_id, seen.epoch)).fetchone()
    if row is None:
        conn.rollback()
        return None
    lost_us = give_outage_back(conn, event_id) if outage else 0
    statement, more = (TAKE, ()) if through is None else (TAKE_FOR, through)
    if conn.execute(statement, (owner, worker, *more, event_id)).fetchone() is None:
        conn.rollback()
        return None
    conn.commit()
    if lost_us:
        log.warning("event %d: nobody attended to it; holds got %.1f s back", event_id, lost_us / 1_000_000)
    return Owned(row[0], owner)


def clock(conn: Connection) -> int:
    """Postgres' clock in microseconds."""
    row = conn.execute(CLOCK).fetchone()
    conn.commit()
    assert row is not None, "a clock always says something"
    return int(row[0])


def renew(conn: Connection, owned: dict[int, Owned]) -> set[int]:
    """Say that these events are attended to. Touches no row that a batch touches.

    Returns those it is true of. The others are somebody else's, or were not attended to for too long: who
    owned them has to take them again.
    """
    rows = conn.execute(RENEW, (list(owned), [right.owner for right in owned.values()])).fetchall()
    conn.commit()
    return {event_id for (event_id,) in rows}


def give_back(conn: Connection, event_id: int, owned: Owned) -> None:
    """A planned stop: the next standby takes over at once."""
    conn.execute(GIVE_BACK, (event_id, owned.owner))
    conn.commit()


def give_all_back(conn: Connection, owned: dict[int, Owned]) -> None:
    """The same for many events in one transaction."""
    conn.execute(GIVE_ALL_BACK, (list(owned), [right.owner for right in owned.values()]))
    conn.commit()
