"""How the two engines stand, in numbers, for operators' alarms: what they hold, who is connected, how old the
oldest transaction is. Decides nothing; what cannot be asked is not told.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.rows import tuple_row
from redis.exceptions import RedisError

from store.stream.redis_stream import connect

Conn = psycopg.Connection[Any]

DATABASE: Final = """
-- Sessions and transactions of this database's clients; the size is that of its files, without the log's.
SELECT pg_database_size(current_database()), activity.sessions,
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
       activity.oldest, stats.xact_commit, stats.xact_rollback, stats.deadlocks
  FROM pg_stat_database AS stats,
       (SELECT count(*) AS sessions,
               coalesce(greatest(0, extract(epoch FROM clock_timestamp() - min(xact_start)
                 FILTER (WHERE pid <> pg_backend_pid()))), 0)::float AS oldest
          FROM pg_stat_activity WHERE backend_type = 'client backend') AS activity
 WHERE stats.datname = current_database()
"""


class DatabaseNumbers(Struct, frozen=True):
    """Postgres."""

    bytes: int
    connections: int
    connections_max: int
    oldest_transaction_seconds: float
    commits: int
    rollbacks: int
    deadlocks: int


class StreamNumbers(Struct, frozen=True):
    """Redis or Valkey."""

    memory_bytes: int
    memory_bytes_max: int
    """0: no bound but the machine's."""
    file_bytes: int
    """Of its append-only file; 0 where it keeps none."""
    connections: int
    replicas: int
    writes: bool
    """Whether its last write to disk succeeded."""


def read_database(conn: Conn) -> DatabaseNumbers:
    """On a connection that is autocommit."""
    row = conn.cursor(row_factory=tuple_row).execute(DATABASE).fetchone()
    assert row is not None, "the database one is connected to has statistics"
    return DatabaseNumbers(*row)


def read_stream(redis_url: str) -> StreamNumbers | None:
    """On a connection of its own, that waits for seconds at most; None where it does not answer."""
    try:
        with connect(redis_url) as client:
            told: dict[str, Any] = client.info()
    except (RedisError, OSError):
        return None
    return StreamNumbers(
        memory_bytes=told["used_memory"],
        memory_bytes_max=told.get("maxmemory", 0),
        file_bytes=told.get("aof_current_size", 0),
        connections=told["connected_clients"],
        replicas=told.get("connected_slaves", 0),
        writes=told.get("aof_last_write_status", "ok") == "ok",
    )
