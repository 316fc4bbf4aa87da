"""Workers of the fleet, as the processes that are them see it: claimed, heard of, what they attend to, ended.

A row is run by one process: who sets `process` where there was none. What a worker reports (how warm it is,
how busy its events are) goes in one statement each, however many events it attends to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from store.fleet.alive import MAY_TAKE, WARM, WORKER_ALIVE
from store.fleet.words import SLOTS_MAX, FleetWhat, Mode

Conn = psycopg.Connection[Any]

NOBODY_RUNS: Final = f"""
-- Nothing begins on a host that is to be given nothing.
SELECT id FROM fleet_worker JOIN fleet_host ON fleet_host.name = host
 WHERE host = %(host)s AND fleet_worker.process IS NULL AND stop_at IS NULL AND {MAY_TAKE}
 ORDER BY wanted_at, id LIMIT {SLOTS_MAX}
"""

RUNNING: Final = """
SELECT fleet_worker.id, host, process,
       array_agg(slug ORDER BY slug) FILTER (WHERE slug IS NOT NULL)
  FROM fleet_worker LEFT JOIN fleet_assignment ON worker_id = fleet_worker.id
  LEFT JOIN event ON event.id = event_id
 WHERE host = coalesce(%(host)s, host) AND process IS NOT NULL
 GROUP BY fleet_worker.id ORDER BY began_at, fleet_worker.id
"""

CLAIM: Final = """
-- Of all processes that were told to run this row, the first.
UPDATE fleet_worker SET process = %(process)s, began_at = clock_timestamp(), seen_at = clock_timestamp()
 WHERE id = %(worker)s AND process IS NULL AND stop_at IS NULL
RETURNING true
"""

BEAT: Final = """
UPDATE fleet_worker SET seen_at = clock_timestamp(), memory_bytes = %(memory)s, cpu = %(cpu)s
 WHERE id = %(worker)s AND process = %(process)s
RETURNING stop_at IS NOT NULL
"""

ENDED: Final = """
WITH gone AS (DELETE FROM fleet_worker WHERE id = %(worker)s AND process = %(process)s RETURNING id)
DELETE FROM fleet_assignment USING gone WHERE worker_id = gone.id
"""

LOST: Final = f"""
-- Those of a host whose processes are known to be gone.
WITH gone AS (
  DELETE FROM fleet_worker USING unnest(%(workers)s::uuid[], %(processes)s::text[]) AS dead (id, process)
   WHERE fleet_worker.id = dead.id AND fleet_worker.process = dead.process
  RETURNING fleet_worker.id, host, fleet_worker.process),
unassigned AS (DELETE FROM fleet_assignment USING gone WHERE worker_id = gone.id)
INSERT INTO fleet_log (what, host, worker_id, who, why)
SELECT '{FleetWhat.LOST}', host, id, %(who)s, 'its process (' || process || ') ended unasked' FROM gone
"""

ASSIGNED: Final = f"""
-- Who is preferred and has no row any more is nobody's to wait for.
SELECT mine.event_id, event.slug,
       CASE WHEN mine.preferred THEN true WHEN successor.warm IS NOT NULL THEN false END,
       NOT coalesce(CASE mode WHEN '{Mode.AUTO}' THEN hot ELSE mode = '{Mode.HOT}' END, false),
       coalesce(successor.warm, false)
  FROM fleet_assignment AS mine JOIN event ON event.id = mine.event_id
  LEFT JOIN fleet_event ON fleet_event.event_id = mine.event_id
  LEFT JOIN LATERAL (
    SELECT stop_at IS NULL AND {WORKER_ALIVE} AND {WARM} AS warm
      FROM fleet_assignment JOIN fleet_worker ON fleet_worker.id = fleet_assignment.worker_id
     WHERE fleet_assignment.event_id = mine.event_id AND preferred AND worker_id <> mine.worker_id
  ) AS successor ON true
 WHERE mine.worker_id = %(worker)s ORDER BY mine.event_id
"""

REPORT_WARM: Final = """
UPDATE fleet_assignment SET warm_batch = told.batch_no, warm_at = clock_timestamp()
  FROM unnest(%(events)s::int[], %(batches)s::bigint[]) AS told (event_id, batch_no)
 WHERE worker_id = %(worker)s AND fleet_assignment.event_id = told.event_id
"""

REPORT_LOADS: Final = """
-- Who owned the event before and does not know yet that it does no more says nothing.
INSERT INTO event_load (event_id, process, worker_id, epoch, batch_no, decided, decided_per_second,
                        arrived_per_second, undecided, latency_ms_p50, latency_ms_p99)
SELECT event_id, %(process)s, %(worker)s, epoch, batch_no, decided, decided_per_second, arrived_per_second,
       undecided, latency_ms_p50, latency_ms_p99
  FROM unnest(%(event_id)s::int[], %(epoch)s::bigint[], %(batch_no)s::bigint[], %(decided)s::bigint[],
              %(decided_per_second)s::float8[], %(arrived_per_second)s::float8[], %(undecided)s::bigint[],
              %(latency_ms_p50)s::float8[], %(latency_ms_p99)s::float8[])
    AS told (event_id, epoch, batch_no, decided, decided_per_second, arrived_per_second, undecided,
             latency_ms_p50, latency_ms_p99)
ON CONFLICT (event_id) DO UPDATE
   SET process = excluded.process, worker_id = excluded.worker_id, at = clock_timestamp(),
       epoch = excluded.epoch, batch_no = excluded.batch_no, decided = excluded.decided,
       decided_per_second = excluded.decided_per_second, arrived_per_second = excluded.arrived_per_second,
       undecided = excluded.undecided, latency_ms_p50 = excluded.latency_ms_p50,
       latency_ms_p99 = excluded.latency_ms_p99
 WHERE event_load.epoch <= excluded.epoch
"""


Load = tuple[int, int, int, int, float, float, int, float | None, float | None]
"""How busy an event is, as its owner counts it: what stands in `LOAD`, which `event_load` explains."""

LOAD: Final = (
    "event_id",
    "epoch",
    "batch_no",
    "decided",
    "decided_per_second",
    "arrived_per_second",
    "undecided",
    "latency_ms_p50",
    "latency_ms_p99",
)


class Assignment(NamedTuple):
    """An event that a worker attends to."""

    event_id: int
    slug: str
    preferred: bool | None
    """True: this worker is to own it; False: another is; None: whoever is quicker."""
    shared: bool
    """It is cold: by its load, or an operator says so."""
    successor_warm: bool
    """Another is to own it, was heard of lately and has followed its ledger."""


class Running(NamedTuple):
    """A worker that a process is."""

    worker: UUID
    host: str
    process: str
    """Machine and process id."""
    events: tuple[str, ...] = ()

    @property
    def pid(self) -> int:
        return int(self.process.rpartition(":")[2])


def nobody_runs(conn: Conn, host: str) -> list[UUID]:
    """Workers wanted on this host that no process is yet, those wanted first first; none while it drains and
    another host takes events."""
    return [worker for (worker,) in _rows(conn, NOBODY_RUNS, {"host": host})]


def running(conn: Conn, host: str | None = None) -> list[Running]:
    """The workers, of this host or of all, that processes are, or were when last heard of."""
    rows = _rows(conn, RUNNING, {"host": host})
    return [Running(worker, at, process, tuple(slugs or ())) for worker, at, process, slugs in rows]


def claim(conn: Conn, worker: UUID, process: str) -> bool:
    """This process is that worker from now on; False where another is, or it is wanted no more."""
    return bool(_rows(conn, CLAIM, {"worker": worker, "process": process}))


def beat(conn: Conn, worker: UUID, process: str, *, memory: int, cpu: float) -> bool | None:
    """This worker lives; whether it is to stop, None where its row is gone or another's."""
    rows = _rows(conn, BEAT, {"worker": worker, "process": process, "memory": memory, "cpu": cpu})
    return rows[0][0] if rows else None


def ended(conn: Conn, worker: UUID, process: str) -> None:
    """This process is that worker no more: its row goes, and what it attended to with it."""
    conn.execute(ENDED, {"worker": worker, "process": process})


def lost(conn: Conn, dead: Sequence[Running], who: str) -> None:
    """The processes of these are gone: rows and assignments go too, and the log tells."""
    if dead:
        workers, processes = [one.worker for one in dead], [one.process for one in dead]
        conn.execute(LOST, {"workers": workers, "processes": processes, "who": who})


def assigned_to(conn: Conn, worker: UUID) -> list[Assignment]:
    """What this worker attends to; nothing where its row is gone."""
    return [Assignment(*row) for row in _rows(conn, ASSIGNED, {"worker": worker})]


def report_warm(conn: Conn, worker: UUID, batches: Mapping[int, int]) -> None:
    """How far this worker follows each event's ledger, or owns it."""
    if batches:
        conn.execute(
            REPORT_WARM, {"worker": worker, "events": list(batches), "batches": list(batches.values())}
        )


def report_loads(conn: Conn, worker: UUID, process: str, loads: Sequence[Load]) -> None:
    """How busy the events are that this worker owns."""
    if loads:
        told = dict(zip(LOAD, map(list, zip(*loads, strict=True)), strict=True))
        conn.execute(REPORT_LOADS, {"worker": worker, "process": process, **told})


def _rows(conn: Conn, query: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
    return conn.cursor(row_factory=tuple_row).execute(query.encode(), values).fetchall()
