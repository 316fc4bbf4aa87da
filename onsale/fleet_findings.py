"""What the doctor finds about the fleet: whether hosts are alive, and slots enough for what is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import psycopg
from psycopg.rows import tuple_row

from onsale.findings import Finding, Level
from store.fleet.alive import HOST_ALIVE, MAY_TAKE, WORKER_ALIVE
from store.fleet.words import WORKERS_DEFAULT

WAITS_SECONDS: Final = 10
"""A worker that is wanted begins within a second or two."""
ATTENDED_SECONDS: Final = 10
ADD: Final = "./run worker --slots N adds a host; ./run up starts one here"

STANDS: Final = f"""
WITH host AS (SELECT draining_at IS NOT NULL AS draining, slots, {HOST_ALIVE} AS alive, {MAY_TAKE} AS takes
                FROM fleet_host),
worker AS (SELECT id, process IS NOT NULL AND stop_at IS NULL AND {WORKER_ALIVE} AS works,
                  process IS NULL
                  AND wanted_at < clock_timestamp() - interval '{WAITS_SECONDS} seconds' AS waits
             FROM fleet_worker),
selling AS (
  SELECT coalesce(workers, {WORKERS_DEFAULT}) AS wanted,
         coalesce(renewed_at > clock_timestamp() - interval '{ATTENDED_SECONDS} seconds', false) AS attended,
         (SELECT count(*) FROM fleet_assignment JOIN worker ON worker.id = worker_id
           WHERE fleet_assignment.event_id = event.id AND works) AS has
    FROM event LEFT JOIN lease ON lease.event_id = event.id
    LEFT JOIN fleet_event ON fleet_event.event_id = event.id
   WHERE state IN ('lobby', 'open', 'paused'))
SELECT (SELECT count(*) FROM host), (SELECT count(*) FROM host WHERE alive),
       (SELECT count(*) FROM host WHERE alive AND draining),
       (SELECT coalesce(sum(slots), 0) FROM host WHERE alive AND takes),
       (SELECT count(*) FROM worker), (SELECT count(*) FROM worker WHERE waits),
       (SELECT count(*) FROM selling WHERE NOT attended), (SELECT count(*) FROM selling WHERE has < wanted)
"""

Conn = psycopg.Connection[Any]


class _Stands(NamedTuple):
    hosts: int
    alive: int
    draining: int
    slots: int
    """Of hosts that are alive and may be given events."""
    workers: int
    waiting: int
    unattended: int
    """Events on sale that nobody owns."""
    lacking: int
    """Events on sale that have fewer workers than they are to have."""


def fleet(conn: Conn) -> Iterator[Finding]:
    """Nothing where allocators run without a fleet and attend to everything."""
    row = conn.cursor(row_factory=tuple_row).execute(STANDS.encode()).fetchone()
    assert row is not None, "counts are a row"
    stands = _Stands(*row)
    if not stands.alive:
        if stands.unattended:
            yield Finding(Level.BAD, "fleet", f"no host is alive of {stands.hosts}; nobody decides", ADD)
        elif stands.hosts:
            yield Finding(Level.WARN, "fleet", f"no host is alive of {stands.hosts}", ADD)
        return
    if stands.draining == stands.alive:
        found = "all hosts are draining: they take events until another one is there"
        yield Finding(Level.WARN, "fleet", found, f"{ADD}; ./run fleet keep HOST takes one back")
    elif stands.lacking and stands.workers >= stands.slots:
        found = f"events with fewer workers than they are to have: {stands.lacking}; no slot is free"
        yield Finding(Level.WARN, "fleet", f"{found} of {stands.slots}", ADD)
    if stands.waiting:
        found = f"workers that are wanted and do not begin: {stands.waiting}"
        yield Finding(Level.WARN, "fleet", found, "does RQ's Redis answer? The log is logs/host-*.log")
    how = f"hosts alive: {stands.alive}, slots: {stands.slots}, workers: {stands.workers}"
    yield Finding(Level.OK, "fleet", how)
