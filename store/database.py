"""Connections to Postgres, with bounds on how long anything may wait."""

from __future__ import annotations

import psycopg
from psycopg import Connection

from store.errors import Unavailable

LOCK_TIMEOUT_MS = 2_000
STATEMENT_TIMEOUT_MS = 30_000
IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000

ENDS_IDLE = f"-c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_TIMEOUT_MS}"
"""Who stops in the middle of a transaction (a suspended machine, a network gone) loses it, and the locks that
batches wait for. For every connection that may change a sale."""
OPTIONS = (
    f"-c lock_timeout={LOCK_TIMEOUT_MS} -c statement_timeout={STATEMENT_TIMEOUT_MS} {ENDS_IDLE} "
    "-c default_transaction_isolation=read\\ committed"
)


def connect(database_url: str, name: str) -> Connection[tuple[object, ...]]:
    """A blocking connection, not autocommit. Raises `Unavailable` when Postgres is away."""
    try:
        return psycopg.connect(
            database_url, application_name=name, options=OPTIONS, connect_timeout=3, keepalives_idle=5
        )
    except psycopg.OperationalError as error:
        raise Unavailable(f"Postgres does not answer: {error}") from error
