"""Upgrades without stopping: the version before goes on with the new schema, and no sale waits long."""

from __future__ import annotations

import threading

import psycopg
import pytest
from alembic import command

from store import migrate
from store.errors import Unavailable

BEFORE = "0017"
"""What the version before was made for; it goes up with each release."""

COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable, column_default, is_identity
  FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> 'alembic_version'
"""
CONSTRAINTS = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
 WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text <> 'alembic_version'
"""
UNIQUE = """
SELECT tablename, indexname, indexdef FROM pg_indexes
 WHERE schemaname = 'public' AND indexdef LIKE 'CREATE UNIQUE%' AND tablename <> 'alembic_version'
"""
TRIGGERS = """
-- What was append-only before was never changed by anybody: there new rows alone count.
SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger
 WHERE NOT tgisinternal
   AND (tgtype & 4 <> 0
        OR tgrelid::regclass::text <> ALL ('{seat_history,ledger,ledger_batch,audit,subscriber_audit}'))
"""


@pytest.fixture
def before(new_database):
    """A database as the version before left it."""
    url = new_database(migrated=False)
    migrate.upgrade(url, BEFORE)
    return url


def read(url, statement):
    with psycopg.connect(url) as connection:
        return connection.execute(statement).fetchall()


def test_whatever_the_version_before_reads_and_writes_is_as_it_was(before):
    old = {(table, name): facts for table, name, *facts in read(before, COLUMNS)}
    tables = {table for table, _ in old}
    migrate.upgrade(before)
    new = {(table, name): facts for table, name, *facts in read(before, COLUMNS)}
    for column, (kind, nullable, default, identity) in old.items():
        assert column in new, f"{column} is gone"
        now = new[column]
        assert (now[0], now[3]) == (kind, identity), f"{column} became something else"
        assert now[1] in (nullable, "YES"), f"{column} must be given now"
        assert default is None or now[2] == default, f"{column} is filled with something else"
    for column, (_, nullable, default, identity) in new.items():
        if column[0] in tables and column not in old:
            assert nullable == "YES" or default is not None or identity == "YES", f"{column} must be given"


@pytest.mark.parametrize("statement", [CONSTRAINTS, UNIQUE, TRIGGERS])
def test_nothing_that_the_version_before_writes_is_refused(before, statement):
    tables = {table for table, *_ in read(before, COLUMNS)}
    old = {(table, name) for table, name, _ in read(before, statement)}
    migrate.upgrade(before)
    told = {(table, name) for table, name, _ in read(before, statement) if table in tables}
    assert told <= old, "a rule that rows of the version before may break"


@pytest.fixture
def changes_audit(monkeypatch):
    """Migrations of which one changes the table `audit`."""
    really = command.upgrade

    def upgrade(config, to):
        config.attributes["connection"].exec_driver_sql("LOCK TABLE audit IN ACCESS EXCLUSIVE MODE")
        really(config, to)

    monkeypatch.setattr(command, "upgrade", upgrade)


def test_a_table_in_use_is_waited_for_by_trying_again(before, changes_audit, monkeypatch):
    """Whoever comes meanwhile waits behind one try, not behind all of them."""
    monkeypatch.setattr(migrate, "TABLE_WAIT_MS", 50)
    monkeypatch.setattr(migrate, "AGAIN_SECONDS", (0.0, 0.01))
    tries = threading.Semaphore(0)
    monkeypatch.setattr(migrate.log, "warning", lambda *_: tries.release())
    failures: list[BaseException] = []

    def start():
        try:
            migrate.upgrade(before)
        except BaseException as error:
            failures.append(error)

    with psycopg.connect(before) as reader:
        reader.execute("SELECT count(*) FROM audit")
        starter = threading.Thread(target=start)
        starter.start()
        tries.acquire()
        tries.acquire()
        with psycopg.connect(before, autocommit=True) as another:
            another.execute("SELECT count(*) FROM audit")
        reader.rollback()
        starter.join()
    assert failures == []
    assert migrate.current_revision(before) == migrate.newest_revision()


def test_a_table_that_is_never_to_be_had_is_said_and_nothing_is_changed(before, changes_audit, monkeypatch):
    monkeypatch.setattr(migrate, "TABLE_WAIT_MS", 20)
    monkeypatch.setattr(migrate, "AGAIN_SECONDS", (0.0, 0.0))
    monkeypatch.setattr(migrate, "TABLE_TRIES_MAX", 2)
    with psycopg.connect(before) as reader:
        reader.execute("SELECT count(*) FROM audit")
        with pytest.raises(Unavailable, match="in use"):
            migrate.upgrade(before)
    assert migrate.current_revision(before) == BEFORE
