"""How events stand in this moment, a row each: what the console shows at a glance, and what samples keep.

Cheap: rows by key, and along partial indexes only of what is there now: holds that run, places inside. What a
sale has come to (sold, revenue) is not counted here but read as `store.figures` has counted it. Locks nobody,
decides nothing. Whoever asks again and again rests in between (`Pace`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.rows import kwargs_row, tuple_row

from store.fleet.words import WORKERS_DEFAULT
from store.room.words import Admission, SlowedBy
from store.words import EventState

Conn = psycopg.Connection[Any]

LAUNCHES_MAX: Final = 200
SAMPLED_MAX: Final = 500
"""Most events one reading for samples names."""
FRESH_SECONDS: Final = 5
"""What an owner or a worker said longer ago than this is not how things are."""
REST: Final = 20
"""So many times as long as a reading took it is not repeated: of Postgres' time it takes a twentieth."""

_MS: Final = "(extract(epoch FROM {}) * 1000)::bigint"
_ORDER: Final = (
    "array_position(ARRAY['open', 'paused', 'lobby', 'draft', 'closed'], event.state), event.id DESC"
)
_AMONG: Final = "(%(events)s::text[] IS NULL OR slug = ANY (%(events)s::text[]))"
OPEN_NOW: Final = f"""
SELECT id FROM event WHERE state <> 'closed' AND {_AMONG} ORDER BY {_ORDER} LIMIT %(most)s
"""
ALL: Final = f"SELECT id FROM event WHERE {_AMONG} ORDER BY {_ORDER} LIMIT %(most)s"
SAMPLED: Final = f"""
SELECT id FROM event WHERE state IN ('lobby', 'open', 'paused') ORDER BY {_ORDER} LIMIT {SAMPLED_MAX}
"""
NAMED: Final = "SELECT id FROM event WHERE slug = ANY (%(events)s::text[])"

_READ: Final = f"""
-- Of each chosen event what its owner says, what is counted of its sale, and its room.
WITH chosen AS MATERIALIZED ({{chosen}})
SELECT event.id, event.slug, event.name, event.state, {_MS.format("event.opens_at")} AS opens_at,
       {_MS.format("event.lobby_opens_at")} AS lobby_opens_at,
       {_MS.format("event.starts_at")} AS starts_at, {_MS.format("event.paused_at")} AS paused_at,
       extract(epoch FROM clock_timestamp() - event.opens_at)::float8 AS due_seconds,
       extract(epoch FROM clock_timestamp() - event.lobby_opens_at)::float8 AS lobby_due_seconds,
       money.sold, money.revenue_minor, money.orders,
       greatest(0, {_MS.format("clock_timestamp() - uncounted.since")}) AS figures_age_ms,
       (SELECT coalesce(sum(quantity), 0)::bigint FROM hold
         WHERE hold.event_id = event.id AND hold.state = 'active') AS on_hold,
       load.arrived_per_second, load.decided_per_second, load.undecided, load.latency_ms_p50,
       load.latency_ms_p99,
       CASE WHEN room.lobby_ended_at IS NULL
            THEN room.joined - (SELECT count(*) FROM place WHERE place.event_id = event.id
                                   AND place.in_draw AND place.state = 'left')
            ELSE room.next_position - 1 - room.serving + room.next_priority - 1 - room.serving_priority
       END AS waiting,
       room.admitted,
       CASE WHEN room.event_id IS NOT NULL
            THEN (SELECT count(*) FROM place
                   WHERE place.event_id + 0 = event.id AND place.state = 'admitted') END AS inside,
       room.pace, room.rate, room.admission, room.reason AS slowed_by, room.message,
       {_MS.format("room.message_at")} AS message_at,
       extract(epoch FROM clock_timestamp() - greatest(
         room.decided_at, room.lobby_ended_at, room.drawn_at, room.ballot_ended_at))::float8
         AS nobody_called_seconds,
       lease.worker AS owner_process, event_cursor.epoch AS owner_epoch, lease.owner IS NOT NULL AS is_owned,
       extract(epoch FROM clock_timestamp() - lease.renewed_at)::float8 AS renewed_seconds_ago,
       CASE WHEN EXISTS (SELECT FROM fleet_host)
            THEN coalesce(fleet_event.workers, {WORKERS_DEFAULT}) END AS workers_wanted,
       {_MS.format("clock_timestamp()")} AS at_ms
  FROM chosen JOIN event ON event.id = chosen.id
  JOIN event_cursor ON event_cursor.event_id = event.id
  JOIN lease ON lease.event_id = event.id
  LEFT JOIN figures ON figures.event_id = event.id
  LEFT JOIN room ON room.event_id = event.id
  LEFT JOIN fleet_event ON fleet_event.event_id = event.id
  LEFT JOIN event_load AS load ON load.event_id = event.id
   AND load.at > clock_timestamp() - interval '{FRESH_SECONDS} seconds'
  CROSS JOIN LATERAL (
    SELECT coalesce((figures.figures ->> 'sold')::bigint, 0) AS sold,
           coalesce((figures.figures #>> '{{{{orders,paid}}}}')::bigint, 0)
             + coalesce((figures.figures #>> '{{{{orders,free}}}}')::bigint, 0) AS orders,
           (SELECT coalesce(sum(coalesce((part ->> 'gross_minor')::bigint, 0)
                              - coalesce((part ->> 'refunded_minor')::bigint, 0)
                              - coalesce((part ->> 'moved_minor')::bigint, 0)), 0)::bigint
              FROM json_each(coalesce(figures.figures -> 'revenue', '{{{{}}}}')) AS of_category (no, part)
           ) AS revenue_minor) AS money
  CROSS JOIN LATERAL (
    SELECT least(
      (SELECT at FROM outbox
        WHERE outbox.event_id = event.id AND number > coalesce(figures.outbox_number, 0)
        ORDER BY number LIMIT 1),
      (SELECT batch_time FROM ledger_batch
        WHERE ledger_batch.event_id = event.id
          AND ledger_batch.batch_no = coalesce(figures.batch_no, 0) + 1)) AS since) AS uncounted
 ORDER BY {_ORDER}
"""

ATTENDING: Final = f"""
-- Workers that are alive, of these events; the fleet is small, and so are its tables.
SELECT fleet_assignment.event_id, process, host,
       coalesce(warm_at > clock_timestamp() - interval '{FRESH_SECONDS} seconds', false)
  FROM fleet_assignment JOIN fleet_worker ON fleet_worker.id = worker_id
 WHERE fleet_assignment.event_id = ANY (%(events)s::int[]) AND process IS NOT NULL
   AND seen_at > clock_timestamp() - interval '{FRESH_SECONDS} seconds'
 ORDER BY fleet_assignment.event_id, host, process
"""

PLANS: Final = """
-- What never changes of an event. Counts its seats: asked once for each event and reader.
SELECT event.id, venue.plan::json ->> 'currency',
       (SELECT count(*) FROM seat WHERE seat.event_id = event.id)
         + (SELECT coalesce(sum(capacity), 0) FROM area WHERE area.event_id = event.id)
  FROM event JOIN venue ON venue.id = event.venue_id WHERE event.id = ANY (%(events)s::int[])
"""


class Attending(Struct, frozen=True):
    """A worker that attends to an event."""

    process: str
    host: str
    warm: bool
    """It owns the event, or has followed its ledger lately."""


class _Row(Struct, frozen=True, kw_only=True):
    """What one row of the reading says; moments in milliseconds."""

    id: int
    slug: str
    name: str
    state: EventState
    opens_at: int | None
    lobby_opens_at: int | None
    starts_at: int | None
    paused_at: int | None
    due_seconds: float | None
    """So long ago it was to open."""
    lobby_due_seconds: float | None
    """So long ago its lobby was."""
    sold: int
    revenue_minor: int
    orders: int
    figures_age_ms: int
    on_hold: int
    arrived_per_second: float | None
    decided_per_second: float | None
    undecided: int | None
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    waiting: int | None
    admitted: int | None
    inside: int | None
    pace: int | None
    rate: float | None
    admission: Admission | None
    slowed_by: SlowedBy | None
    message: str | None
    message_at: int | None
    nobody_called_seconds: float | None
    owner_process: str | None
    owner_epoch: int
    is_owned: bool
    renewed_seconds_ago: float | None
    workers_wanted: int | None
    """None where there is no fleet."""
    at_ms: int


class Seen(_Row, frozen=True, kw_only=True):
    """An event as it stands."""

    capacity: int
    currency: str
    attending: tuple[Attending, ...]

    @property
    def owned(self) -> bool:
        """Somebody has the lease, and said so a moment ago."""
        ago = self.renewed_seconds_ago
        return self.is_owned and ago is not None and ago < FRESH_SECONDS

    @property
    def standbys(self) -> tuple[Attending, ...]:
        """Who attends to it beside its owner."""
        return tuple(one for one in self.attending if not self.owned or one.process != self.owner_process)

    @property
    def workers(self) -> int:
        """Who attends to it: its owner and those who stand by."""
        return self.owned + len(self.standbys)


class Reader:
    """Reads events on a connection that is autocommit; remembers of each what never changes."""

    def __init__(self, conn: Conn) -> None:
        self._conn = conn
        self._plans: dict[int, tuple[str, int]] = {}

    def launches(self, *, closed: bool = False, among: Sequence[str] | None = None) -> list[Seen]:
        """At most `LAUNCHES_MAX`, of all or `among` some: those that sell first, of each state the newest
        first."""
        return self._read(ALL if closed else OPEN_NOW, None if among is None else list(among))

    def sampled(self) -> list[Seen]:
        """Those that sell or let buyers join."""
        return self._read(SAMPLED)

    def named(self, slugs: Sequence[str]) -> list[Seen]:
        """Of these, those there are."""
        return self._read(NAMED, list(slugs))

    def _read(self, chosen: str, events: list[str] | None = None) -> list[Seen]:
        values: dict[str, Any] = {"events": events, "most": LAUNCHES_MAX}
        cursor = self._conn.cursor(row_factory=kwargs_row(_row))
        rows = cursor.execute(_READ.format(chosen=chosen).encode(), values).fetchall()
        values = {"events": [row.id for row in rows]}
        attending: dict[int, list[Attending]] = {}
        for event, *told in self._rows(ATTENDING, values):
            attending.setdefault(event, []).append(Attending(*told))
        self._learn(row.id for row in rows)
        return [self._seen(row, attending.get(row.id, [])) for row in rows]

    def _learn(self, events: Iterable[int]) -> None:
        new = [event for event in events if event not in self._plans]
        if new:
            for event, currency, capacity in self._rows(PLANS, {"events": new}):
                self._plans[event] = currency, int(capacity)

    def _seen(self, row: _Row, attending: list[Attending]) -> Seen:
        currency, capacity = self._plans[row.id]
        plain = {name: getattr(row, name) for name in row.__struct_fields__}
        return Seen(**plain, capacity=capacity, currency=currency, attending=tuple(attending))

    def _rows(self, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        return self._conn.cursor(row_factory=tuple_row).execute(statement.encode(), values).fetchall()


class Pace:
    """When to do something again: so many seconds after it was begun, and later where it takes long. What is
    done is done inside of it (`with`)."""

    def __init__(self, every_seconds: float) -> None:
        self._every_seconds = every_seconds
        self._begun = self._again_at = 0.0

    def due(self) -> bool:
        """It is time."""
        return self.left_seconds() == 0

    def left_seconds(self) -> float:
        """So long until it is."""
        return max(0.0, self._again_at - time.monotonic())

    def __enter__(self) -> Pace:
        self._begun = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        now = time.monotonic()
        self._again_at = max(self._begun + self._every_seconds, now + REST * (now - self._begun))


def _row(**told: Any) -> _Row:
    state, admission, slowed_by = told["state"], told["admission"], told["slowed_by"]
    told["state"] = EventState(state)
    told["admission"] = None if admission is None else Admission(admission)
    told["slowed_by"] = None if slowed_by is None else SlowedBy(slowed_by)
    return _Row(**told)
