"""When each chore is due and how its last run went: a row each, by Postgres' clock.

A slot is claimed by one conditional write (`claim`), so of several hosts one enqueues it. Nothing here keeps
a chore from running twice at once: each is safe when it does. Losing a row, or all of Redis, costs one wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.rows import tuple_row

from store.chores import work

Conn = psycopg.Connection[Any]

SILENT_SECONDS: Final = 15
"""A long chore that gave no sign of life for so long is begun anew."""
QUIET_SECONDS: Final = 30
"""A chore without anything to do runs so often."""
BACKOFF_SECONDS_MAX: Final = 30
"""Longest pause after failures in a row; never shorter than the chore's own. What failed has longer pauses of
its own, and what did not waits behind it."""
ERROR_LENGTH_MAX: Final = 500
FAILURES_BAD: Final = 3
"""So many failures in a row need a hand."""
LATE_SECONDS: Final = 60
"""So much later than thrice its pause a chore has not run when it should have."""

ENLIST: Final = """
-- Chores there are; what is known of them stays.
INSERT INTO chore_run (chore, every_seconds, long)
SELECT * FROM unnest(%(chores)s::text[], %(every)s::int[], %(long)s::bool[])
ON CONFLICT (chore) DO UPDATE SET every_seconds = excluded.every_seconds, long = excluded.long
 WHERE (chore_run.every_seconds, chore_run.long) <> (excluded.every_seconds, excluded.long)
"""

DUE: Final = """
SELECT chore FROM chore_run
 WHERE chore = ANY (%(chores)s::text[]) AND due_at <= clock_timestamp() ORDER BY chore
"""

CLAIM: Final = f"""
-- Nobody waits for anybody: what another host claims in this moment is left to it. One that ended well and
-- has nothing to do is begun now and then all the same: so it is seen that it could.
WITH due AS (
  SELECT chore FROM chore_run
   WHERE chore = ANY (%(chores)s::text[]) AND due_at <= clock_timestamp()
     AND (long OR failures > 0 OR ended_at IS NULL
          OR ended_at <= clock_timestamp() - interval '{QUIET_SECONDS} seconds' OR {work.THERE_IS})
   ORDER BY chore FOR UPDATE SKIP LOCKED)
UPDATE chore_run SET due_at = clock_timestamp() + every_seconds * interval '1 second'
  FROM due WHERE chore_run.chore = due.chore
RETURNING chore_run.chore
"""

PUT_BACK: Final = """
UPDATE chore_run SET due_at = least(due_at, clock_timestamp() + make_interval(secs => %(seconds)s))
 WHERE chore = ANY (%(chores)s::text[])
"""

BEGAN: Final = f"""
-- The next slot of a long chore comes when this run is silent.
UPDATE chore_run
   SET started_at = clock_timestamp(), alive_at = clock_timestamp(), worker = %(worker)s, runs = runs + 1,
       due_at = CASE WHEN long THEN clock_timestamp() + interval '{SILENT_SECONDS} seconds' ELSE due_at END
 WHERE chore = %(chore)s RETURNING position
"""

ALIVE: Final = f"""
-- Of a long chore, by who runs it; where another began it too, that one's signs count.
UPDATE chore_run
   SET alive_at = clock_timestamp(), due_at = clock_timestamp() + interval '{SILENT_SECONDS} seconds'
 WHERE chore = %(chore)s AND worker = %(worker)s
"""

ENDED: Final = f"""
-- Failures in a row make the pauses longer; a run that had more to do goes on at once. A long run that
-- another was begun in place of says nothing: it would have a third begun, and that one a fourth.
UPDATE chore_run
   SET ended_at = clock_timestamp(), alive_at = clock_timestamp(), duration_ms = %(duration_ms)s,
       done = %(done)s, position = coalesce(%(position)s, position),
       failures = CASE WHEN %(error)s::text IS NULL THEN 0 ELSE failures + 1 END,
       last_error = coalesce(%(error)s, last_error),
       failed_at = CASE WHEN %(error)s::text IS NULL THEN failed_at ELSE clock_timestamp() END,
       due_at = CASE
         WHEN %(error)s::text IS NOT NULL THEN clock_timestamp() + %(jitter)s * interval '1 second'
           * greatest(every_seconds, least({BACKOFF_SECONDS_MAX}, every_seconds * 2 ^ least(failures, 6)))
         WHEN %(more)s THEN clock_timestamp()
         ELSE due_at END
 WHERE chore = %(chore)s AND (NOT long OR worker = %(worker)s)
"""

READ: Final = f"""
SELECT chore, every_seconds, long,
       (extract(epoch FROM started_at) * 1000)::bigint, (extract(epoch FROM ended_at) * 1000)::bigint,
       (extract(epoch FROM alive_at) * 1000)::bigint, worker, runs, duration_ms, done, failures, last_error,
       (extract(epoch FROM failed_at) * 1000)::bigint,
       coalesce(alive_at, enlisted_at) + greatest(
         CASE WHEN long THEN {SILENT_SECONDS} ELSE every_seconds END * interval '3 seconds',
         (due_at - coalesce(alive_at, enlisted_at)))
         + interval '{LATE_SECONDS} seconds' < clock_timestamp()
  FROM chore_run ORDER BY chore
"""

FORGET: Final = """
-- Chores that are no more.
DELETE FROM chore_run
 WHERE chore <> ALL (%(chores)s::text[])
   AND greatest(enlisted_at, alive_at) < clock_timestamp() - interval '7 days'
"""


class ChoreRun(Struct, frozen=True):
    """How a chore stands; moments in milliseconds."""

    chore: str
    every_seconds: int
    long: bool
    started_at: int | None
    ended_at: int | None
    alive_at: int | None
    worker: str | None
    runs: int
    duration_ms: int | None
    done: int | None
    failures: int
    last_error: str | None
    failed_at: int | None
    late: bool
    """It did not run when it should have."""

    @property
    def trouble(self) -> str | None:
        """What needs a hand, in a few words."""
        if self.late:
            return "it did not run when it should have"
        if self.failures >= FAILURES_BAD:
            return f"it failed {self.failures} times in a row: {self.last_error}"
        return None


def enlist(conn: Conn, chores: Sequence[tuple[str, int, bool]]) -> None:
    """A row for each (name, seconds between its runs, whether it is long)."""
    names, every, long = zip(*chores, strict=True)
    conn.execute(ENLIST, {"chores": list(names), "every": list(every), "long": list(long)})


def due(conn: Conn, chores: Sequence[str]) -> list[str]:
    """Those of the chores whose time has come, whether or not there is anything to do."""
    found = conn.cursor(row_factory=tuple_row).execute(DUE, {"chores": list(chores)}).fetchall()
    return [name for (name,) in found]


def claim(conn: Conn, chores: Sequence[str]) -> list[str]:
    """Those of the chores that are due and have something to do; nobody else is given the same slot."""
    values = {"chores": list(chores)} | work.VALUES
    found = conn.cursor(row_factory=tuple_row).execute(CLAIM, values).fetchall()
    return sorted(name for (name,) in found)


def put_back(conn: Conn, chores: Sequence[str], seconds: float) -> None:
    """What was claimed could not be enqueued: it is due again then."""
    conn.execute(PUT_BACK, {"chores": list(chores), "seconds": seconds})


def began(conn: Conn, chore: str, worker: str) -> int:
    """A run begins; the position where the last one ended."""
    values = {"chore": chore, "worker": worker}
    row = conn.cursor(row_factory=tuple_row).execute(BEGAN, values).fetchone()
    assert row is not None, f"chore {chore} is enlisted before it runs"
    return int(row[0])


def alive(conn: Conn, chore: str, worker: str) -> bool:
    """A long chore still runs. False: it was begun anew elsewhere, and this run should end."""
    return conn.execute(ALIVE, {"chore": chore, "worker": worker}).rowcount == 1


def ended(
    conn: Conn,
    chore: str,
    worker: str,
    *,
    duration_ms: int,
    done: int,
    error: str | None,
    more: bool,
    position: int | None,
    jitter: float,
) -> None:
    """That worker's run ended; with `more` there is more to do at once. `jitter` stretches the pause after a
    failure."""
    values = {"chore": chore, "worker": worker, "duration_ms": duration_ms, "done": done, "more": more}
    values |= {"position": position}
    told = None if error is None else error[:ERROR_LENGTH_MAX]
    conn.execute(ENDED, values | {"error": told, "jitter": jitter})


def read(conn: Conn) -> list[ChoreRun]:
    """How every chore stands, by name."""
    return [ChoreRun(*row) for row in conn.cursor(row_factory=tuple_row).execute(READ).fetchall()]


def forget(conn: Conn, chores: Sequence[str]) -> int:
    """Rows of chores that are not among these and have not run for days."""
    return conn.execute(FORGET, {"chores": list(chores)}).rowcount
