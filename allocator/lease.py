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
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import psycopg

from store.lost_time import UNATTENDED, give_outage_back, lock_outage

log = logging.getLogger("onsale.allocator")

LEASE_SECONDS = 2.5
RENEW_SECONDS = 0.5

LOOK: Final = """
SELECT event_cursor.epoch, lease.owner,
       lease.owner IS NULL
       OR lease.renewed_at < clock_timestamp() - make_interval(secs => %s)
       OR NOT EXISTS (SELECT FROM pg_stat_activity AS backend
                       WHERE backend.pid = lease.backend_pid AND backend.backend_start = lease.backend_start)
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

RAISE_EPOCH: Final = """
-- Of several standbys one finds the epoch it looked at. Waits for the old owner's transaction, if any.
UPDATE event_cursor SET epoch = epoch + 1, owner = %s WHERE event_id = %s AND epoch = %s RETURNING epoch
"""

TAKE: Final = """
UPDATE lease
   SET owner = %s, worker = %s, renewed_at = clock_timestamp(), backend_pid = pg_backend_pid(),
       backend_start = (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())
 WHERE event_id = %s
"""

RENEW: Final = f"""
-- Not what nobody attended to for so long that holds get the time back: renewing would hide it.
UPDATE lease SET renewed_at = clock_timestamp()
  FROM event_cursor
 WHERE event_cursor.event_id = lease.event_id AND lease.event_id = ANY (%s) AND lease.owner = ANY (%s)
   AND NOT {UNATTENDED}
RETURNING lease.event_id
"""

GIVE_BACK: Final = """
UPDATE lease SET owner = NULL WHERE event_id = %s AND owner = %s
"""

CLOCK: Final = """
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
"""

Connection = psycopg.Connection[Any]


class Owned(NamedTuple):
    """The right to allocate: goes into every batch's fence."""

    epoch: int
    owner: UUID


class Seen(NamedTuple):
    """The lease as a standby sees it."""

    epoch: int
    owner: UUID | None
    free: bool


def look(conn: Connection, event_id: int) -> Seen:
    """Whether the event can be taken over now, by Postgres' clock and backends."""
    row = conn.execute(LOOK, (LEASE_SECONDS, event_id)).fetchone()
    conn.commit()
    assert row is not None, "an event has a cursor row and a lease row"
    return Seen(*row)


def take(conn: Connection, event_id: int, seen: Seen, worker: str) -> Owned | None:
    """Take the event over on this connection, or None when somebody else was quicker.

    Where nobody attended to it for long, running holds get the time back in the same transaction: once,
    whoever is killed meanwhile.
    """
    if seen.owner is not None:
        conn.execute(END_BACKEND, (event_id, seen.owner))
        conn.commit()
    owner = uuid4()
    outage = lock_outage(conn, event_id)
    row = conn.execute(RAISE_EPOCH, (owner, event_id, seen.epoch)).fetchone()
    if row is None:
        conn.rollback()
        return None
    lost_us = give_outage_back(conn, event_id) if outage else 0
    conn.execute(TAKE, (owner, worker, event_id))
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
