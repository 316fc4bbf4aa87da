"""Connections to Postgres, with bounds on how long anything may wait."""

from __future__ import annotations

from typing import Any, Final

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

NOTICES_GONE: Final[dict[str, Any]] = {
    "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 4, "tcp_user_timeout": 15_000,
}  # fmt: skip
"""Of a connection: a host that went away without a word is noticed within a quarter of a minute, instead of a
quarter of an hour in which whoever waits for its answer does nothing."""


def connect(database_url: str, name: str) -> Connection[tuple[object, ...]]:
    """A blocking connection, not autocommit. Raises `Unavailable` when Postgres is away."""
    try:
        return psycopg.connect(
            database_url, application_name=name, options=OPTIONS, connect_timeout=3, **NOTICES_GONE
        )
    except psycopg.OperationalError as error:
        raise Unavailable(f"Postgres does not answer: {error}") from error
