"""How events stood over time, as rows: written some seconds apart, thinned with age, read by the console.

Promises:
- a row stands for `SAMPLE_SECONDS`; of what is older than `SECONDS_KEPT_HOURS` one for each minute is left
  (its rates are the minute's means, its latencies the worst, all else as it stood at the minute's end), and
  after `MINUTES_KEPT_DAYS` none. So an event has a bounded number of rows;
- who samples twice at once writes no more: nothing is written shortly after the last row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.rows import tuple_row

from store.console.now import Seen
from store.errors import BadRequest

Conn = psycopg.Connection[Any]

SAMPLE_SECONDS: Final = 5
MINUTE: Final = 60
SECONDS_KEPT_HOURS: Final = 6
MINUTES_KEPT_DAYS: Final = 30
THINNED_MAX: Final = 20_000
"""Most rows one statement thins or forgets."""
FINE_MINUTES: Final = 30
STRETCH_SECONDS: Final = 90
"""A history has every row of the last `FINE_MINUTES`, and before them one for so many seconds."""
ROWS_DEFAULT: Final = 600
"""As a frame these are less than what a socket may have unread (64 KiB), whoever reads slowly."""
ROWS_MAX: Final = 5_000

_FAR_MS: Final = 4_102_444_800_000
"""The year 2100."""

COLUMNS: Final = (
    "at_ms",
    "arrived_per_second",
    "decided_per_second",
    "undecided",
    "latency_ms_p50",
    "latency_ms_p99",
    "sold",
    "on_hold",
    "revenue_minor",
    "waiting",
    "admitted",
    "inside",
    "workers",
)
"""Of a row as it is told, in this order."""
_VALUES: Final = COLUMNS[1:]
_TYPES: Final = {
    "arrived_per_second": "float8",
    "decided_per_second": "float8",
    "latency_ms_p50": "float8",
    "latency_ms_p99": "float8",
    "sold": "int",
    "on_hold": "int",
    "inside": "bigint",
    "workers": "int",
}

_GIVEN: Final = ", ".join(f"%({name})s::{_TYPES.get(name, 'bigint')}[]" for name in _VALUES)

WRITE: Final = f"""
-- Along the key: each event's last row is looked at, and where it is too young none is written.
INSERT INTO event_sample (event_id, at, seconds, {", ".join(_VALUES)})
SELECT event_id, clock_timestamp(), {SAMPLE_SECONDS}, {", ".join(_VALUES)}
  FROM unnest(%(events)s::int[], {_GIVEN}) AS now (event_id, {", ".join(_VALUES)})
 WHERE NOT EXISTS (
   SELECT FROM event_sample AS last WHERE last.event_id = now.event_id
      AND last.at > clock_timestamp() - interval '{SAMPLE_SECONDS * 0.8} seconds')
"""

_MEANS: Final = ("arrived_per_second", "decided_per_second")
_WORST: Final = ("latency_ms_p50", "latency_ms_p99")


def _of_minute(name: str) -> str:
    if name in _MEANS:
        return f"avg({name})"
    if name in _WORST:
        return f"max({name})"
    return f"(array_agg({name} ORDER BY at DESC))[1]"


_OLD: Final = f"date_trunc('minute', clock_timestamp() - interval '{SECONDS_KEPT_HOURS} hours')"

THIN: Final = f"""
-- Whole minutes, along the key: a minute's rows become one, where its last stood. The limit may cut a minute
-- in two; then it has two rows, of which each stands for less.
WITH gone AS (
  DELETE FROM event_sample WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM event_sample
     WHERE event_id = %(event)s AND seconds < {MINUTE} AND at < {_OLD} ORDER BY at LIMIT {THINNED_MAX}))
  RETURNING *)
INSERT INTO event_sample (event_id, at, seconds, {", ".join(_VALUES)})
SELECT event_id, max(at), {MINUTE}, {", ".join(map(_of_minute, _VALUES))}
  FROM gone GROUP BY event_id, date_trunc('minute', at)
"""

FORGET: Final = f"""
DELETE FROM event_sample WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM event_sample
   WHERE event_id = %(event)s AND at < clock_timestamp() - interval '{MINUTES_KEPT_DAYS} days'
   ORDER BY at LIMIT {THINNED_MAX}))
"""

OLDEST: Final = f"""
-- Events whose first row is to be thinned or forgotten: two looks into indexes for each event.
SELECT event.id FROM event CROSS JOIN LATERAL (
  SELECT at, seconds FROM event_sample WHERE event_sample.event_id = event.id AND seconds < {MINUTE}
   ORDER BY at LIMIT 1) AS first
 WHERE first.at < {_OLD}
 UNION
SELECT event.id FROM event CROSS JOIN LATERAL (
  SELECT at FROM event_sample WHERE event_sample.event_id = event.id ORDER BY at LIMIT 1) AS first
 WHERE first.at < clock_timestamp() - interval '{MINUTES_KEPT_DAYS} days'
"""

_AT_MS: Final = "floor(extract(epoch FROM at) * 1000)::bigint"

READ: Final = f"""
SELECT {_AT_MS}, {", ".join(_VALUES)} FROM event_sample
 WHERE event_id = %(event)s AND at >= to_timestamp((%(since)s + 1) / 1000.0)
   AND at < to_timestamp((%(until)s + 1) / 1000.0)
 ORDER BY at LIMIT %(limit)s
"""

READ_LAST: Final = f"""
-- Every row of the last minutes, and of what is older the last of each stretch of so many seconds.
SELECT {_AT_MS}, {", ".join(_VALUES)} FROM (
  SELECT DISTINCT ON (old, CASE WHEN old THEN floor(extract(epoch FROM at) / {STRETCH_SECONDS})
                                ELSE extract(epoch FROM at) END) *
    FROM (SELECT *, at < clock_timestamp() - interval '{FINE_MINUTES} minutes' AS old FROM event_sample
           WHERE event_id = %(event)s
             AND at > clock_timestamp() - interval '{SECONDS_KEPT_HOURS} hours') AS lately
   ORDER BY old, CASE WHEN old THEN floor(extract(epoch FROM at) / {STRETCH_SECONDS})
                      ELSE extract(epoch FROM at) END, at DESC) AS thinned
 ORDER BY at
"""

Row = tuple[Any, ...]
"""Numbers or None, in the order of `COLUMNS`."""


class Samples(Struct, frozen=True):
    """Rows of one event, the oldest first."""

    event: str
    columns: tuple[str, ...]
    rows: list[Row]
    next_since: int | None
    """None: that is all; else there may be more after it."""


def row_of(seen: Seen) -> Row:
    """How an event stands, as a row."""
    return (seen.at_ms, *[_short(getattr(seen, name)) for name in _VALUES])


def write(conn: Conn, events: Sequence[Seen]) -> int:
    """A row for each whose last is old enough; how many."""
    values: dict[str, Any] = {"events": [seen.id for seen in events]}
    values |= {name: [_short(getattr(seen, name)) for seen in events] for name in _VALUES}
    return conn.execute(WRITE.encode(), values).rowcount


def thin(conn: Conn) -> int:
    """What is old becomes fewer rows, what is very old none, a bounded piece of each event; of how many."""
    events = conn.cursor(row_factory=tuple_row).execute(OLDEST.encode()).fetchall()
    for (event,) in events:
        conn.execute(THIN.encode(), {"event": event})
        conn.execute(FORGET.encode(), {"event": event})
    return len(events)


def lately(conn: Conn, event_id: int) -> list[Row]:
    """The last `SECONDS_KEPT_HOURS`, the last minutes of them whole, at most `ROWS_DEFAULT` rows."""
    values = {"event": event_id}
    rows = conn.cursor(row_factory=tuple_row).execute(READ_LAST.encode(), values).fetchall()
    return rows[-ROWS_DEFAULT:]


def read(
    conn: Conn,
    event_id: int,
    slug: str,
    *,
    since_ms: int | None = None,
    until_ms: int | None = None,
    limit: int = ROWS_DEFAULT,
) -> Samples:
    """Rows after `since_ms`, at most `limit` of them; without it those of the last `SECONDS_KEPT_HOURS`.

    Raises `BadRequest` (invalid_limit).
    """
    if not 1 <= limit <= ROWS_MAX:
        raise BadRequest("invalid_limit", f"limit must be 1 to {ROWS_MAX}.")
    if since_ms is None and until_ms is None:
        return Samples(slug, COLUMNS, lately(conn, event_id)[-limit:], None)
    values = {"event": event_id, "since": since_ms or 0, "until": until_ms or _FAR_MS, "limit": limit}
    rows = conn.cursor(row_factory=tuple_row).execute(READ.encode(), values).fetchall()
    return Samples(slug, COLUMNS, rows, rows[-1][0] if len(rows) == limit else None)


def _short(value: float | None) -> float | None:
    """A tenth is as exact as anybody reads a rate or a latency."""
    return round(value, 1) if isinstance(value, float) else value
