"""How the fleet and the events on sale stand, in numbers, for operators' alarms.

Each statement reads tables that are kept small (a row for each host, worker and event on sale); none locks
anything or decides anything. What a worker or owner writes about itself is told with its age: who reads it
says from when on it is old.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.rows import tuple_row

from store.fleet.alive import LAST_RESORT
from store.fleet.words import WORKERS_DEFAULT
from store.lost_time import OUTAGE_SECONDS, UNATTENDED

Conn = psycopg.Connection[Any]

EVENTS_MAX: Final = 200
"""Told of, those that sell first; of how many there are in all the sums tell."""
HOSTS_MAX: Final = 50
"""Told of, by name; all are counted."""
SILENT_SECONDS: Final = OUTAGE_SECONDS
"""A host or worker that was not heard of for so long is not counted as alive."""

_ALIVE: Final = f"seen_at > clock_timestamp() - interval '{SILENT_SECONDS} seconds'"

HOSTS: Final = f"""
-- A slot is used by the row of a worker, from when it is wanted until it is gone.
SELECT name, slots, (SELECT count(*) FROM fleet_worker WHERE host = name),
       greatest(0, extract(epoch FROM clock_timestamp() - seen_at))::float, {_ALIVE},
       draining_at IS NOT NULL, {_ALIVE} AND {LAST_RESORT}, memory_bytes, memory_bytes_max, load
  FROM fleet_host ORDER BY {_ALIVE} DESC, name
"""

WORKERS: Final = f"""
SELECT CASE WHEN seen_at IS NULL THEN 'starting' WHEN {_ALIVE} THEN 'alive' ELSE 'lost' END AS state,
       count(*)
  FROM fleet_worker GROUP BY state
"""

ON_SALE: Final = "state IN ('lobby', 'open', 'paused')"

EVENTS: Final = f"""
-- Owned: somebody has the lease and shows signs of life. Workers count while they are heard of. The age of
-- what was never said is null, which greatest() would make 0.
SELECT event.slug, event.state, lease.owner IS NOT NULL AND NOT {UNATTENDED}, event_cursor.epoch,
       event_cursor.batch_no,
       extract(epoch FROM clock_timestamp() - lease.renewed_at)::float,
       coalesce(fleet_event.workers, {WORKERS_DEFAULT}), coalesce(fleet_event.hot, false),
       (SELECT count(*) FROM fleet_assignment AS given JOIN fleet_worker ON fleet_worker.id = worker_id
         WHERE given.event_id = event.id AND {_ALIVE}),
       extract(epoch FROM clock_timestamp() - told.at)::float,
       told.decided, told.decided_per_second, told.arrived_per_second, told.undecided,
       told.latency_ms_p50, told.latency_ms_p99,
       balance.findings, extract(epoch FROM clock_timestamp() - balance.looked_at)::float
  FROM event
  JOIN event_cursor ON event_cursor.event_id = event.id
  JOIN lease ON lease.event_id = event.id
  LEFT JOIN fleet_event ON fleet_event.event_id = event.id
  LEFT JOIN event_load AS told ON told.event_id = event.id
  LEFT JOIN event_balance AS balance ON balance.event_id = event.id
 WHERE event.{ON_SALE}
 ORDER BY event.state IN ('open', 'paused') DESC, event.id DESC LIMIT {EVENTS_MAX}
"""

SUMS: Final = f"""
-- Of all events on sale, also those beyond the bound.
SELECT count(*), count(*) FILTER (WHERE lease.owner IS NULL OR {UNATTENDED})
  FROM event JOIN event_cursor ON event_cursor.event_id = event.id JOIN lease ON lease.event_id = event.id
 WHERE event.{ON_SALE}
"""


class HostNumbers(Struct, frozen=True):
    """One machine of the fleet."""

    name: str
    slots: int
    used: int
    seen_seconds: float
    alive: bool
    draining: bool
    last_resort: bool
    """It takes events all the same: no host is there that is not draining."""
    memory_bytes: int | None
    memory_bytes_max: int | None
    load: float | None


class EventNumbers(Struct, frozen=True):
    """One event on sale; what its owner says of its load is None where none did yet."""

    event: str
    state: str
    owned: bool
    epoch: int
    batch_no: int
    lease_seconds: float | None
    """Since the lease was renewed; None: nobody ever had it."""
    workers_wanted: int
    hot: bool
    workers: int
    load_seconds: float | None
    """Age of what follows."""
    decided: int | None
    decided_per_second: float | None
    arrived_per_second: float | None
    undecided: int | None
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    findings: int | None
    """Seats and places that did not add up when the owner looked last."""
    balance_seconds: float | None


class FleetNumbers(Struct, frozen=True):
    """In one moment, more or less: each part is read by itself."""

    hosts: list[HostNumbers]
    """At most `HOSTS_MAX`, those that are alive first."""
    hosts_by_state: dict[str, int]
    """All of them: `alive`, `lost`, and of those that are alive the `draining`."""
    workers: dict[str, int]
    """`starting`, `alive`, `lost`."""
    events: list[EventNumbers]
    """At most `EVENTS_MAX`."""
    on_sale: int
    unowned: int


HOST_STATES: Final = ("alive", "draining", "lost")
WORKER_STATES: Final = ("starting", "alive", "lost")


def read(conn: Conn) -> FleetNumbers:
    """On a connection that is autocommit."""
    cursor = conn.cursor(row_factory=tuple_row)
    hosts = [HostNumbers(*row) for row in cursor.execute(HOSTS).fetchall()]
    alive = [host for host in hosts if host.alive]
    by_state = {
        "alive": len(alive),
        "draining": sum(host.draining for host in alive),
        "lost": len(hosts) - len(alive),
    }
    workers: dict[str, int] = dict(cursor.execute(WORKERS).fetchall())
    events = [EventNumbers(*row) for row in cursor.execute(EVENTS).fetchall()]
    sums = cursor.execute(SUMS).fetchone()
    assert sums is not None, "counts are always a row"
    return FleetNumbers(hosts[:HOSTS_MAX], by_state, workers, events, *sums)
