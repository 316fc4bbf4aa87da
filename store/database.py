"""Connections to Postgres, with bounds on how long anything may wait."""

from __future__ import annotations

from typing import Any, Final

import psycopg
from psycopg import Connection

from store.errors import BehindPooler, Unavailable

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


BACKEND_ANSWERS: Final = "SELECT pg_backend_pid()"
POOLER_SAYS: Final = "unsupported startup parameter"
"""What PgBouncer says to `OPTIONS` unless it is told to ignore them; Postgres has other words."""

BEHIND_POOLER: Final = (
    "DATABASE_URL leads through a pooler, and who owns an event is told by its backend. Give allocators and "
    "the fleet's hosts the address of Postgres itself; a pooler is for gateways only (docs/failover.md)."
)


def other_backend(connection: psycopg.BaseConnection[Any], answered: tuple[Any, ...] | None) -> bool:
    """Whether another backend `answered` `BACKEND_ANSWERS` than said hello: PgBouncer is in between.

    Any transaction may then have another one: what is prepared, set or told of a backend is nobody's."""
    return answered != (connection.info.backend_pid,)


def connect_to_own(database_url: str, name: str) -> Connection[tuple[object, ...]]:
    """As `connect`, for who owns events. Raises `BehindPooler` too."""
    try:
        connection = connect(database_url, name)
    except Unavailable as error:
        raise (BehindPooler(BEHIND_POOLER) if POOLER_SAYS in str(error) else error) from error
    answered = connection.execute(BACKEND_ANSWERS).fetchone()
    connection.rollback()
    if other_backend(connection, answered):
        connection.close()
        raise BehindPooler(BEHIND_POOLER)
    return connection
