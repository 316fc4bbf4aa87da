"""How the fleet stands, for people: hosts with their workers, events on sale with who owns them, all of one
moment.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg
from msgspec import Struct
from psycopg.rows import dict_row, tuple_row

from store.fleet.alive import HOST_ALIVE, LAST_RESORT, OWNS, WARM, WORKER_ALIVE
from store.fleet.on_sale import ON_SALE
from store.fleet.view import EVENTS_MAX, SHORT_TOLD_HOURS
from store.fleet.words import WORKERS_DEFAULT, Mode
from store.words import EventState

Conn = psycopg.Connection[Any]

SNAPSHOT: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
HOSTS: Final = f"""
SELECT name, slots, process, version, joined_at, seen_at, {HOST_ALIVE} AS alive,
       draining_at IS NOT NULL AS draining, {HOST_ALIVE} AND {LAST_RESORT} AS last_resort,
       memory_bytes, memory_bytes_max, load
  FROM fleet_host ORDER BY name
"""
WORKERS: Final = f"""
SELECT host, id, process, began_at, seen_at, {WORKER_ALIVE} AS alive, stop_at IS NOT NULL AS stopping,
       memory_bytes, cpu,
       ARRAY (SELECT slug FROM fleet_assignment JOIN event ON event.id = event_id
               WHERE worker_id = fleet_worker.id ORDER BY slug) AS events
  FROM fleet_worker ORDER BY host, wanted_at, id
"""
EVENTS: Final = f"""
-- The owner is who has the lease, in the fleet or not.
SELECT event.id, event.slug AS event, event.state, coalesce(mode, 'auto') AS mode,
       coalesce(workers, {WORKERS_DEFAULT}) AS workers, coalesce(hot, false) AS hot,
       coalesce(edition, 0) AS edition,
       CASE WHEN lease.owner IS NOT NULL THEN json_build_object(
         'worker', fleet_worker.id, 'host', fleet_worker.host, 'process', lease.worker,
         'epoch', event_cursor.epoch, 'renewed_seconds_ago',
         round(extract(epoch FROM clock_timestamp() - lease.renewed_at), 1)) END AS owner,
       CASE WHEN event_load.event_id IS NOT NULL THEN json_build_object(
         'at', event_load.at,
         'age_seconds', round(extract(epoch FROM clock_timestamp() - event_load.at), 1),
         'decided_per_second', decided_per_second, 'arrived_per_second', arrived_per_second,
         'undecided', undecided, 'latency_ms_p50', latency_ms_p50,
         'latency_ms_p99', latency_ms_p99) END AS load
  FROM event JOIN lease ON lease.event_id = event.id JOIN event_cursor ON event_cursor.event_id = event.id
             LEFT JOIN fleet_worker ON {OWNS}
             LEFT JOIN fleet_event ON fleet_event.event_id = event.id
             LEFT JOIN event_load ON event_load.event_id = event.id
 WHERE {ON_SALE} ORDER BY event.id LIMIT {EVENTS_MAX}
"""
STANDBYS: Final = f"""
SELECT event_id, worker_id AS worker, host, {WARM} AS warm
  FROM fleet_assignment JOIN fleet_worker ON fleet_worker.id = worker_id
 ORDER BY event_id, assigned_at, worker_id
"""
SHORT: Final = f"""
SELECT CASE WHEN detail <> '{{"wanted": 0, "slots": 0, "kept_cold": 0}}' THEN why END
  FROM fleet_log WHERE what = 'short' AND at > clock_timestamp() - interval '{SHORT_TOLD_HOURS} hours'
 ORDER BY id DESC LIMIT 1
"""


class ShownWorker(Struct, frozen=True):
    """A worker of a host; `process` is null until it began, `stopping` once it was told to end."""

    id: UUID
    process: str | None
    began_at: datetime | None
    seen_at: datetime | None
    alive: bool
    stopping: bool
    memory_bytes: int | None
    cpu: float | None
    events: list[str]


class ShownHost(Struct, frozen=True):
    """`used` slots have a worker, or are to have one. `alive`: it was heard of within seconds. `last_resort`:
    it takes events although it is draining, as no host is there that is not."""

    name: str
    slots: int
    used: int
    process: str
    version: str
    joined_at: datetime
    seen_at: datetime
    alive: bool
    draining: bool
    last_resort: bool
    memory_bytes: int | None
    memory_bytes_max: int | None
    load: float | None
    workers: list[ShownWorker]


class ShownOwner(Struct, frozen=True):
    """Who has the lease; `worker` and `host` are null for a process that is not of the fleet."""

    worker: UUID | None
    host: str | None
    process: str | None
    epoch: int
    renewed_seconds_ago: float


class ShownStandby(Struct, frozen=True):
    """`warm`: it could own the event at once."""

    worker: UUID
    host: str
    warm: bool


class ShownLoad(Struct, frozen=True):
    """How busy an event is, as its owner wrote down `age_seconds` ago."""

    at: datetime
    age_seconds: float
    decided_per_second: float
    arrived_per_second: float
    undecided: int
    latency_ms_p50: float | None
    latency_ms_p99: float | None


class ShownEvent(Struct, frozen=True):
    """An event on sale: what it is to have (`mode`, `workers`, `hot`) and who it has."""

    event: str
    state: EventState
    mode: Mode
    workers: int
    hot: bool
    edition: int
    owner: ShownOwner | None
    standbys: list[ShownStandby]
    load: ShownLoad | None


class Fleet(Struct, frozen=True):
    """`short` says what there is too little of; null: nothing."""

    hosts: list[ShownHost]
    events: list[ShownEvent]
    short: str | None


def read(conn: Conn) -> Fleet:
    """The fleet in one snapshot; `conn` has no transaction open."""
    with conn.transaction():
        conn.execute(SNAPSHOT)
        hosts, workers, events, standbys = [_rows(conn, one) for one in (HOSTS, WORKERS, EVENTS, STANDBYS)]
        short = what_is_short(conn)
    by_host: dict[str, list[ShownWorker]] = {}
    for worker in workers:
        by_host.setdefault(worker.pop("host"), []).append(ShownWorker(**worker))
    by_event: dict[int, list[ShownStandby]] = {}
    for standby in standbys:
        by_event.setdefault(standby.pop("event_id"), []).append(ShownStandby(**standby))
    return Fleet(
        hosts=[_host(host, by_host.get(host["name"], [])) for host in hosts],
        events=[_event(event, by_event.get(event.pop("id"), [])) for event in events],
        short=short,
    )


def what_is_short(conn: Conn) -> str | None:
    """What there is too little of, as the planner said last; None: nothing."""
    said = conn.cursor(row_factory=tuple_row).execute(SHORT).fetchone()
    return said[0] if said else None


def _rows(conn: Conn, statement: str) -> list[dict[str, Any]]:
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement).fetchall()


def _host(row: dict[str, Any], workers: list[ShownWorker]) -> ShownHost:
    return ShownHost(**row, used=len(workers), workers=workers)


def _event(row: dict[str, Any], attending: list[ShownStandby]) -> ShownEvent:
    owner = None if row["owner"] is None else msgspec.convert(row["owner"], ShownOwner)
    load = None if row["load"] is None else msgspec.convert(row["load"], ShownLoad)
    standbys = [one for one in attending if owner is None or one.worker != owner.worker]
    state, mode = EventState(row["state"]), Mode(row["mode"])
    return ShownEvent(**row | {"owner": owner, "load": load, "state": state, "mode": mode}, standbys=standbys)
