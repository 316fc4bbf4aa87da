"""The fleet's log: each move with who wanted it and why, in the transaction that makes it.

Newest first when read; rows older than `KEPT_DAYS` go, and those above `KEPT_ROWS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg
from msgspec import Struct
from psycopg.rows import kwargs_row

from store.fleet.words import FleetWhat

Conn = psycopg.Connection[Any]

ROWS_MAX: Final = 1_000
"""Most rows one reading gives."""
KEPT_DAYS: Final = 30
KEPT_ROWS: Final = 200_000
TRIMMED_MAX: Final = 5_000
"""Most rows one trimming removes."""

INSERT: Final = """
INSERT INTO fleet_log (what, event_id, host, worker_id, who, why, detail)
VALUES (%(what)s, %(event)s, %(host)s, %(worker)s, %(who)s, %(why)s, %(detail)s)
"""
READ: Final = """
SELECT fleet_log.id, at, what, event.slug AS event, host, worker_id AS worker, who, why, detail
  FROM fleet_log LEFT JOIN event ON event.id = event_id
 WHERE fleet_log.id < coalesce(%(before)s, 9223372036854775807)
   AND (%(event)s::int IS NULL OR event_id = %(event)s) AND (%(host)s::text IS NULL OR host = %(host)s)
 ORDER BY fleet_log.id DESC LIMIT %(limit)s
"""
TRIM: Final = """
-- The oldest, as ids grow with time; what a turn needs to know of itself is younger.
DELETE FROM fleet_log WHERE id IN (
  SELECT id FROM fleet_log
   WHERE at < clock_timestamp() - make_interval(days => %(days)s)
      OR id <= (SELECT id FROM fleet_log ORDER BY id DESC OFFSET %(rows)s LIMIT 1)
   ORDER BY id LIMIT %(limit)s)
"""


class Entry(Struct, frozen=True, kw_only=True):
    """A row to write."""

    what: FleetWhat
    who: str
    why: str
    event: int | None = None
    host: str | None = None
    worker: UUID | None = None
    detail: dict[str, Any] = {}


class Logged(Struct, frozen=True, kw_only=True):
    """A row as it is kept; `event` is the slug."""

    id: int
    at: datetime
    what: FleetWhat
    event: str | None
    host: str | None
    worker: UUID | None
    who: str
    why: str
    detail: dict[str, Any]


def write(conn: Conn, entries: Sequence[Entry]) -> None:
    """Add rows to the transaction that makes the moves."""
    rows = [
        msgspec.structs.asdict(entry) | {"detail": msgspec.json.encode(entry.detail).decode()}
        for entry in entries
    ]
    with conn.cursor() as cursor:
        cursor.executemany(INSERT, rows)


def read(
    conn: Conn,
    *,
    event_id: int | None = None,
    host: str | None = None,
    before: int | None = None,
    limit: int = ROWS_MAX,
) -> list[Logged]:
    """Newest first, at most `ROWS_MAX`: all, or one event's, one host's; with `before` below that id."""
    values = {"event": event_id, "host": host, "before": before, "limit": min(limit, ROWS_MAX)}
    with conn.cursor(row_factory=kwargs_row(_logged)) as cursor:
        return cursor.execute(READ, values).fetchall()


def trim(conn: Conn, *, limit: int = TRIMMED_MAX, days: int = KEPT_DAYS, rows: int = KEPT_ROWS) -> int:
    """Forget some of the oldest; how many. A chore calls again until it is none."""
    return conn.execute(TRIM, {"days": days, "rows": rows, "limit": min(limit, TRIMMED_MAX)}).rowcount


def _logged(*, what: str, **values: Any) -> Logged:
    return Logged(what=FleetWhat(what), **values)
