"""A worker that is about to end hands on what it owns: another one that follows the ledger becomes preferred.

No planner is needed for that. It is done under the planner's lock, so of two that would prefer different
workers one comes after the other.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from store.fleet.alive import WARM, WORKER_ALIVE
from store.fleet.words import FleetWhat

Conn = psycopg.Connection[Any]

TURN: Final = "SELECT FROM fleet_turn FOR UPDATE"

STOPS: Final = """
UPDATE fleet_worker SET stop_at = coalesce(stop_at, clock_timestamp()) WHERE id = %(worker)s
"""

_ABLE: Final = f"""
fleet_worker.id <> %(worker)s AND stop_at IS NULL AND {WORKER_ALIVE} AND {WARM}
AND EXISTS (SELECT FROM fleet_host WHERE fleet_host.name = fleet_worker.host)"""
"""Another worker that can take an event at once, and whose host has not left."""

HEIRS: Final = f"""
-- Where another one that can take it is preferred already, that stays. A host that is not draining first,
-- then who has followed furthest.
WITH able AS (
  SELECT event_id, worker_id, fleet_worker.host, preferred, warm_batch
    FROM fleet_assignment JOIN fleet_worker ON fleet_worker.id = worker_id
   WHERE event_id IN (SELECT event_id FROM fleet_assignment WHERE worker_id = %(worker)s) AND {_ABLE})
SELECT DISTINCT ON (event_id) event_id, worker_id, host
  FROM able LEFT JOIN fleet_host ON fleet_host.name = host
 WHERE NOT EXISTS (SELECT FROM able AS already WHERE already.event_id = able.event_id AND already.preferred)
 ORDER BY event_id, draining_at IS NOT NULL, warm_batch DESC, worker_id
"""

NOBODY: Final = """
-- Before another is: an event has one preferred worker at most.
UPDATE fleet_assignment SET preferred = false WHERE event_id = ANY (%(events)s) AND preferred
"""

PREFER: Final = """
UPDATE fleet_assignment SET preferred = true
  FROM unnest(%(events)s::int[], %(heirs)s::uuid[]) AS heir (event_id, worker_id)
 WHERE fleet_assignment.event_id = heir.event_id AND fleet_assignment.worker_id = heir.worker_id
"""

TELL: Final = f"""
INSERT INTO fleet_log (what, event_id, host, worker_id, who, why)
SELECT '{FleetWhat.PREFERRED}', event_id, host, worker_id, %(who)s, 'the worker before it is being stopped'
  FROM unnest(%(events)s::int[], %(heirs)s::uuid[], %(hosts)s::text[]) AS heir (event_id, worker_id, host)
"""

OWED: Final = f"""
SELECT count(*) FROM lease
 WHERE lease.worker = %(process)s AND owner IS NOT NULL
   AND EXISTS (SELECT FROM fleet_assignment JOIN fleet_worker ON fleet_worker.id = worker_id
                WHERE fleet_assignment.event_id = lease.event_id AND preferred AND {_ABLE})
"""


def hand_on(conn: Conn, worker: UUID, process: str) -> None:
    """This worker ends soon: others who can are to own its events. On an autocommit connection."""
    with conn.transaction():
        conn.execute(TURN)
        conn.execute(STOPS, {"worker": worker})
        heirs = conn.cursor(row_factory=tuple_row).execute(HEIRS.encode(), {"worker": worker}).fetchall()
        if not heirs:
            return
        events, workers, hosts = map(list, zip(*heirs, strict=True))
        values = {"events": events, "heirs": workers, "hosts": hosts, "who": process}
        for statement in (NOBODY, PREFER, TELL):
            conn.execute(statement.encode(), values)


def owed(conn: Conn, worker: UUID, process: str) -> int:
    """How many events this process owns that another one can take at once."""
    values = {"worker": worker, "process": process}
    row = conn.cursor(row_factory=tuple_row).execute(OWED.encode(), values).fetchone()
    assert row is not None, "a count is a row"
    return int(row[0])
