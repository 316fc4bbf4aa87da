"""Brings a database to the schema this version of onsale needs.

`upgrade` is safe to run at every start: it changes nothing where nothing is missing, all of its steps
are one transaction, and of several starters one migrates while the others wait for it. Programmatic:
there is no alembic.ini, and nothing is printed.
"""

from __future__ import annotations

import io
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import OperationalError

from store import logs
from store.errors import Conflicted, OnsaleError, Unavailable
from store.jitter import jitter

log = logging.getLogger("onsale.store")

log = logging.getLogger("onsale.migrate")

MIGRATIONS = Path(__file__).with_name("migrations")
CONNECT_SECONDS_MAX = 10
LOCK_WAIT_SECONDS_MAX = 120
"""Longest wait for another starter's migration."""
TABLE_WAIT_MS = 1_000
"""Longest wait for a table that is to be changed: so long at most a running sale waits behind it."""
TABLE_TRIES_MAX = 30
AGAIN_SECONDS = (0.5, 1.5)
_LOCK_KEY = int.from_bytes(b"onsale")
_one_at_a_time = threading.Lock()
"""Alembic's context is one per process; the advisory lock keeps processes apart, this threads."""


def upgrade(database_url: str, to: str = "head") -> None:
    """Migrate to the newest schema. Idempotent, all or nothing, one starter at a time, beside a running sale.

    A change of a table waits for whoever uses it, and everybody else waits behind it: for `TABLE_WAIT_MS` at
    most, then all is taken back and tried again a moment later. Raises `Unavailable` when Postgres is away,
    another starter takes longer than `LOCK_WAIT_SECONDS_MAX` or a table is not to be had, and `Conflicted`
    when the database belongs to a newer onsale.
    """
    for tried in range(1, TABLE_TRIES_MAX + 1):
        if _attempt(database_url, to):
            return
        log.warning("a table is in use; migrating is tried again (%d of %d)", tried, TABLE_TRIES_MAX)
        time.sleep(jitter(*AGAIN_SECONDS))
    raise Unavailable(
        "A table that is to be changed was in use all the time; nothing was changed. ./run doctor names "
        "transactions that are open for long; start again when they are over.",
        retry_after_seconds=10,
    )


def _attempt(database_url: str, to: str) -> bool:
    """False when a table was not to be had in time."""
    alone = False
    try:
        with _one_at_a_time, _connection(database_url) as connection:
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_WAIT_SECONDS_MAX}s'")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK_KEY})")
            alone = True
            _refuse_newer(connection)
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {TABLE_WAIT_MS}")
            command.upgrade(_config(connection), to)
    except OperationalError as error:
        if not isinstance(error.orig, psycopg.errors.LockNotAvailable):
            raise
        if alone:
            return False
        raise Unavailable(
            "Another process is still migrating this database; start again when it is done.",
            retry_after_seconds=10,
        ) from error
    return True


def current_revision(database_url: str) -> str | None:
    """The revision the database is at; None where nothing was migrated yet."""
    with _connection(database_url) as connection:
        return MigrationContext.configure(connection).get_current_revision()


def known_revisions() -> set[str]:
    """All that `upgrade` can go on from, and the newest."""
    return {script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions()}


def newest_revision() -> str:
    """The revision `upgrade` goes to."""
    head = ScriptDirectory(str(MIGRATIONS)).get_current_head()
    assert head is not None, "store/migrations/versions has no revision"
    return head


@contextmanager
def _connection(database_url: str) -> Iterator[Connection]:
    """One transaction on a connection of its own; libpq reads the URL, as everywhere else."""

    def connect() -> psycopg.Connection:
        try:
            # prepare_threshold=None: a pooler in transaction mode may be in between
            return psycopg.connect(database_url, connect_timeout=CONNECT_SECONDS_MAX, prepare_threshold=None)
        except psycopg.OperationalError as error:
            raise Unavailable(
                f"Postgres does not answer ({error}). Check DATABASE_URL and the server."
            ) from error

    engine = create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _config(connection: Connection) -> Config:
    config = Config(stdout=io.StringIO())
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _refuse_newer(connection: Connection) -> None:
    current = MigrationContext.configure(connection).get_current_revision()
    if current is not None and current not in known_revisions():
        raise Conflicted(
            "schema_newer",
            f"The database is at revision {current}, which this onsale does not know. "
            "Start the newer version, or give this one a database of its own.",
        )


def main() -> None:
    """`python -m store.migrate`: migrates DATABASE_URL, for deployments where nothing else does."""
    logs.begin("migrate")
    database_url = os.environ.get("DATABASE_URL")
    if not database_url:
        log.critical(
            "DATABASE_URL is not set: export it, as postgresql://USER:PASSWORD@HOST:5432/NAME, and try again."
        )
        raise SystemExit(1)
    try:
        upgrade(database_url)
    except OnsaleError as error:
        log.critical("%s", error)
        raise SystemExit(1) from None
    log.info("The database is at revision %s.", current_revision(database_url))


if __name__ == "__main__":
    main()
