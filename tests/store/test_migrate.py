"""Migrations: the migrated database is the schema of the code, and starting twice does no harm."""

from __future__ import annotations

import threading

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import NullPool, create_engine, text

from store import migrate
from store.errors import Conflicted, Unavailable
from store.tables import metadata

APPEND_ONLY = ("seat_history", "ledger", "ledger_batch", "audit")

CONSTRAINTS = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = current_schema()::regnamespace AND contype IN ('c', 'p', 'u')
  AND conrelid::regclass::text <> 'alembic_version'
"""
INDEXES = """
SELECT tablename, indexname, regexp_replace(indexdef, ' ON \\S+ ', ' ON ') FROM pg_indexes
WHERE schemaname = current_schema() AND tablename <> 'alembic_version'
"""
FILLFACTORS = """
SELECT relname, option FROM pg_class, unnest(reloptions) AS option
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND option LIKE 'fillfactor%%'
"""


@pytest.fixture
def bare(new_database):
    return new_database(migrated=False)


@pytest.fixture
def engine_of():
    engines = []

    def make(url):
        engine = create_engine(
            "postgresql+psycopg://", creator=lambda: psycopg.connect(url), poolclass=NullPool
        )
        engines.append(engine)
        return engine

    yield make
    for engine in engines:
        engine.dispose()


def test_the_migrated_database_has_what_the_schema_says(database_url, engine_of):
    with engine_of(database_url).connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, metadata) == []


@pytest.mark.parametrize("statement", [CONSTRAINTS, INDEXES, FILLFACTORS])
def test_checks_keys_indexes_and_fill_are_those_of_the_schema(statement, new_database, engine_of):
    with engine_of(new_database()).begin() as connection:
        migrated = {tuple(row) for row in connection.exec_driver_sql(statement)}
        connection.exec_driver_sql("CREATE SCHEMA from_code")
        connection.exec_driver_sql("SET LOCAL search_path = from_code")
        metadata.create_all(connection, checkfirst=False)
        from_code = {tuple(row) for row in connection.exec_driver_sql(statement)}
    assert migrated == from_code
    assert migrated


def test_upgrading_again_changes_nothing(bare):
    assert migrate.current_revision(bare) is None
    migrate.upgrade(bare)
    with psycopg.connect(bare) as connection:
        before = connection.execute("SELECT oid FROM pg_class ORDER BY oid").fetchall()
    migrate.upgrade(bare)
    with psycopg.connect(bare) as connection:
        assert connection.execute("SELECT oid FROM pg_class ORDER BY oid").fetchall() == before
    assert migrate.current_revision(bare) == migrate.newest_revision()


def test_upgrading_says_nothing(bare, capfd):
    migrate.upgrade(bare)
    assert capfd.readouterr() == ("", "")


def test_of_two_starters_one_migrates_and_the_other_waits_for_it(bare):
    """Holds the lock another process would hold; the upgrade comes to its end only after it."""
    done = threading.Event()
    failures: list[BaseException] = []

    def start():
        try:
            migrate.upgrade(bare)
        except BaseException as error:
            failures.append(error)
        done.set()

    with psycopg.connect(bare, autocommit=True) as watcher, psycopg.connect(bare) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [migrate._LOCK_KEY])
        starter = threading.Thread(target=start)
        starter.start()
        waiting = (
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database"
            " WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()"
        )
        while watcher.execute(waiting).fetchone() == (0,):
            assert not done.wait(0.01)
        assert migrate.current_revision(bare) is None
        other.rollback()
        starter.join()
    assert failures == []
    assert migrate.current_revision(bare) == migrate.newest_revision()


def test_many_starters_at_once_all_succeed(bare):
    failures: list[BaseException] = []

    def start():
        try:
            migrate.upgrade(bare)
        except BaseException as error:
            failures.append(error)

    starters = [threading.Thread(target=start) for _ in range(6)]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join()
    assert failures == []
    assert migrate.current_revision(bare) == migrate.newest_revision()


def test_a_starter_that_waits_too_long_says_so(bare, monkeypatch):
    monkeypatch.setattr(migrate, "LOCK_WAIT_SECONDS_MAX", 0.05)
    with psycopg.connect(bare) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [migrate._LOCK_KEY])
        with pytest.raises(Unavailable, match="still migrating"):
            migrate.upgrade(bare)


def test_a_database_of_a_newer_version_is_left_alone(new_database):
    url = new_database()
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(Conflicted, match="9999") as refused:
        migrate.upgrade(url)
    assert refused.value.code == "schema_newer"


def test_a_server_that_is_away_is_named_as_such():
    with pytest.raises(Unavailable, match="DATABASE_URL"):
        migrate.upgrade("postgresql://nobody@127.0.0.1:1/none")


@pytest.fixture
def history(database_url):
    """A connection to a database with one row in each append-only table."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO seat_history (event_id, seat_no, state, by) VALUES (1, 0, 'held', 'test')"
        )
        connection.execute(
            "INSERT INTO ledger (event_id, batch_no, position, kind, input, outcome, result)"
            " VALUES (1, 1, 0, 'request', '{}', 'taken', '{}')"
        )
        connection.execute(
            "INSERT INTO ledger_batch (event_id, batch_no, epoch, batch_time, arrival, code_version,"
            " row_digests, hash) VALUES (1, 1, 1, now(), '1-0', 1, '', '')"
        )
        connection.execute(
            "INSERT INTO audit (event_id, who, why, what) VALUES (1, 'Olga', 'a broken chair', '{}')"
        )
        yield connection


@pytest.mark.parametrize("table", APPEND_ONLY)
@pytest.mark.parametrize("change", ["UPDATE {} SET event_id = 2", "DELETE FROM {}", "TRUNCATE {}"])
def test_history_cannot_be_changed(history, table, change):
    with pytest.raises(psycopg.errors.RestrictViolation, match=f"{table} is append-only"):
        history.execute(change.format(table))
    assert history.execute(f"SELECT count(*) FROM {table} WHERE event_id = 1").fetchone() == (1,)


@pytest.mark.parametrize("table", APPEND_ONLY)
@pytest.mark.parametrize("change", ["UPDATE {} SET event_id = 2", "DELETE FROM {}", "TRUNCATE {}"])
@pytest.mark.parametrize(
    "first", ["ALTER TABLE {} DISABLE TRIGGER append_only", "SET LOCAL session_replication_role = replica"]
)
def test_a_superuser_who_says_so_first_can_change_history(history, table, change, first):
    with history.transaction(force_rollback=True):
        history.execute(first.format(table))
        history.execute(change.format(table))
        assert history.execute(f"SELECT count(*) FROM {table} WHERE event_id = 1").fetchone() == (0,)


def test_inserting_history_fires_no_trigger(history):
    plan = history.execute(
        "EXPLAIN (ANALYZE, FORMAT JSON) INSERT INTO ledger (event_id, batch_no, position, kind, input,"
        " outcome, result) SELECT 1, 2, n, 'fact', '{}', '', '{}' FROM generate_series(0, 99) AS n"
    ).fetchone()[0]
    assert plan[0]["Triggers"] == []


def test_hot_tables_are_vacuumed_early(database_url, engine_of):
    with engine_of(database_url).connect() as connection:
        options = connection.execute(
            text("SELECT relname FROM pg_class, unnest(reloptions) o WHERE o LIKE 'autovacuum_vacuum_%'")
        )
        assert {"seat", "hold", "hold_seat", "event_cursor", "lease", "fact"} <= {row[0] for row in options}
