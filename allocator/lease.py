"""Who may allocate for an event, and how that right changes hands.

The lease row names the owner's backend. A standby takes over when the owner gave the lease back,
when its backend is gone (a killed process: at once), or when it has not renewed for
`LEASE_SECONDS` (a stopped one). Taking over ends the old backend first: a writer stopped in the
middle of a COPY is caught by no timeout. Then the epoch goes up in the cursor row, which is what
fences: every batch compares and sets that row, so a stale owner's COMMIT cannot happen.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import psycopg

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

RENEW: Final = """
UPDATE lease SET renewed_at = clock_timestamp() WHERE event_id = ANY (%s) AND owner = ANY (%s)
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
    """Take the event over on this connection, or None when somebody else was quicker."""
    if seen.owner is not None:
        conn.execute(END_BACKEND, (event_id, seen.owner))
        conn.commit()
    owner = uuid4()
    row = conn.execute(RAISE_EPOCH, (owner, event_id, seen.epoch)).fetchone()
    if row is None:
        conn.rollback()
        return None
    conn.execute(TAKE, (owner, worker, event_id))
    conn.commit()
    return Owned(row[0], owner)


def clock(conn: Connection) -> int:
    """Postgres' clock in microseconds."""
    row = conn.execute(CLOCK).fetchone()
    conn.commit()
    assert row is not None, "a clock always says something"
    return int(row[0])


def renew(conn: Connection, owned: dict[int, Owned]) -> None:
    """Say that these events are attended to. Touches no row that a batch touches."""
    conn.execute(RENEW, (list(owned), [right.owner for right in owned.values()]))
    conn.commit()


def give_back(conn: Connection, event_id: int, owned: Owned) -> None:
    """A planned stop: the next standby takes over at once."""
    conn.execute(GIVE_BACK, (event_id, owned.owner))
    conn.commit()
