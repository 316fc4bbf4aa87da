"""What the planner of the fleet sees: everything its next steps depend on, the time included.

Moments are whole milliseconds by Postgres' clock. Who reads it for planning has the fleet's turn
(`store.fleet.turn`), so that nobody else gives workers and events to each other meanwhile; heartbeats go on.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar
from uuid import UUID

import psycopg
from msgspec import Struct
from psycopg.rows import kwargs_row, tuple_row

from store.fleet.alive import OWNS, WARM, milliseconds
from store.fleet.limits import Limits
from store.fleet.on_sale import ON_SALE
from store.fleet.words import WORKERS_DEFAULT, Mode

Conn = psycopg.Connection[Any]
T = TypeVar("T")

EVENTS_MAX: Final = 2_000
"""Most events one fleet attends to, those that were made first."""
MOVED_WITHIN_SECONDS: Final = 300
"""How far back it is known when a worker was last given or relieved of something."""
SHORT_TOLD_HOURS: Final = 24
"""That slots are short is told again after so long."""

NOW: Final = f"SELECT {milliseconds('clock_timestamp()')}"
HOSTS: Final = f"""
SELECT name, slots, {milliseconds("seen_at")} AS seen_at, draining_at IS NOT NULL AS draining
  FROM fleet_host ORDER BY name
"""
WORKERS: Final = f"""
SELECT id, host, {milliseconds("wanted_at")} AS wanted_at, {milliseconds("seen_at")} AS seen_at,
       stop_at IS NOT NULL AS stopping,
       (SELECT {milliseconds("max(at)")} FROM fleet_log
         WHERE worker_id = fleet_worker.id AND NOT EXISTS (
                 SELECT FROM fleet_assignment WHERE fleet_assignment.worker_id = fleet_worker.id)
           AND at > clock_timestamp() - interval '{MOVED_WITHIN_SECONDS} seconds') AS moved_at
  FROM fleet_worker ORDER BY id
"""
EVENTS: Final = f"""
-- Those on sale, with what they are to have, who owns them, and how busy they are.
SELECT event.id, event.slug, coalesce(mode, 'auto') AS mode, coalesce(workers, {WORKERS_DEFAULT}) AS workers,
       coalesce(hot, false) AS hot, {milliseconds("busy_since")} AS busy_since,
       {milliseconds("quiet_since")} AS quiet_since, coalesce(edition, 0) AS edition,
       (SELECT fleet_worker.id FROM lease JOIN fleet_worker ON {OWNS}
         WHERE lease.event_id = event.id LIMIT 1) AS owner,
       {milliseconds("event_load.at")} AS load_at, arrived_per_second, undecided
  FROM event LEFT JOIN fleet_event ON fleet_event.event_id = event.id
             LEFT JOIN event_load ON event_load.event_id = event.id
 WHERE {ON_SALE} ORDER BY event.id LIMIT {EVENTS_MAX}
"""
ATTENDS: Final = f"""
SELECT event_id AS event, worker_id AS worker, {milliseconds("assigned_at")} AS assigned_at, preferred,
       {WARM} AS warm
  FROM fleet_assignment ORDER BY event_id, assigned_at, worker_id
"""
SHORT: Final = f"""
-- What was told of it last.
SELECT coalesce((detail ->> 'wanted')::int, 0), coalesce((detail ->> 'slots')::int, 0),
       coalesce((detail ->> 'kept_cold')::int, 0), coalesce((detail ->> 'drained')::int, 0)
  FROM fleet_log WHERE what = 'short' AND at > clock_timestamp() - interval '{SHORT_TOLD_HOURS} hours'
 ORDER BY id DESC LIMIT 1
"""


class HostSeen(Struct, frozen=True):
    name: str
    slots: int
    seen_at: int
    draining: bool = False


class WorkerSeen(Struct, frozen=True):
    """`moved_at`: when something was last noted of one that attends to nothing, as far as is known."""

    id: UUID
    host: str
    wanted_at: int
    seen_at: int | None = None
    stopping: bool = False
    moved_at: int | None = None


class EventSeen(Struct, frozen=True):
    """`edition` is 0 while nothing is written of what it is to have."""

    id: int
    slug: str
    mode: Mode = Mode.AUTO
    workers: int = WORKERS_DEFAULT
    hot: bool = False
    busy_since: int | None = None
    quiet_since: int | None = None
    edition: int = 0
    owner: UUID | None = None
    load_at: int | None = None
    arrived_per_second: float | None = None
    undecided: int | None = None


class Attends(Struct, frozen=True):
    """A worker that attends to an event; `preferred` is to own it, `warm` could at once."""

    event: int
    worker: UUID
    assigned_at: int
    preferred: bool = False
    warm: bool = False


class Shortage(Struct, frozen=True):
    """Slots that are wanted and there are, events that only a bound keeps cold, and hosts that drain and take
    events as no other one is there; all 0: there is none."""

    wanted: int = 0
    slots: int = 0
    kept_cold: int = 0
    drained: int = 0


class View(Struct, frozen=True, kw_only=True):
    """`heard_since`: since when who plans has heard of the fleet without a gap; before that nobody could show
    that they are there. `seed` makes the ids of new workers."""

    now: int
    heard_since: int
    seed: UUID
    limits: Limits = Limits()
    hosts: tuple[HostSeen, ...] = ()
    workers: tuple[WorkerSeen, ...] = ()
    events: tuple[EventSeen, ...] = ()
    attends: tuple[Attends, ...] = ()
    short: Shortage = Shortage()


def now(conn: Conn) -> int:
    """Postgres' clock."""
    row = conn.cursor(row_factory=tuple_row).execute(NOW).fetchone()
    assert row is not None, "a clock always says something"
    return int(row[0])


def read(conn: Conn, *, now: int, heard_since: int, seed: UUID, limits: Limits) -> View:
    """The fleet as it stands."""
    short = conn.cursor(row_factory=tuple_row).execute(SHORT).fetchone()
    return View(
        now=now,
        heard_since=heard_since,
        seed=seed,
        limits=limits,
        hosts=_rows(conn, HOSTS, HostSeen),
        workers=_rows(conn, WORKERS, WorkerSeen),
        events=_rows(conn, EVENTS, _event),
        attends=_rows(conn, ATTENDS, Attends),
        short=Shortage(*short) if short else Shortage(),
    )


def _event(*, mode: str, **values: Any) -> EventSeen:
    return EventSeen(mode=Mode(mode), **values)


def _rows(conn: Conn, statement: str, kind: Any) -> tuple[Any, ...]:
    with conn.cursor(row_factory=kwargs_row(kind)) as cursor:
        return tuple(cursor.execute(statement).fetchall())
