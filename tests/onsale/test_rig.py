"""The test rig's own promises: real engines, migrated, empty, and apart from other workers."""

from __future__ import annotations

import ast
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace

import psycopg
import redis
from psycopg import sql

from tests import order, writing


def _tables(connection: psycopg.Connection) -> list[str]:
    rows = connection.execute(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
    )
    return [name for (name,) in rows]


def test_the_database_is_migrated_and_empty(database_url):
    with psycopg.connect(database_url) as connection:
        tables = _tables(connection)
        assert "alembic_version" in tables
        for table in tables:
            count = connection.execute(
                sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
            ).fetchone()
            assert count == ((1,) if table == "alembic_version" else (0,)), table


def test_rows_sessions_and_numbering_of_one_test_do_not_reach_the_next(worker_database):
    with psycopg.connect(worker_database.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE rig_probe (id bigint GENERATED ALWAYS AS IDENTITY, filler text)")
    try:
        for filler in ("x", "x" * 3_000_000):  # emptied by DELETE, then by TRUNCATE
            left_open = psycopg.connect(worker_database.url)
            left_open.execute("INSERT INTO rig_probe (filler) VALUES (%s)", [filler])
            left_open.commit()
            left_open.execute("SELECT 1 FROM rig_probe FOR UPDATE")
            worker_database.empty()
            left_open.close()
            with psycopg.connect(worker_database.url) as connection:
                assert connection.execute("SELECT count(*) FROM rig_probe").fetchone() == (0,)
                row = connection.execute(
                    "INSERT INTO rig_probe (filler) VALUES ('y') RETURNING id"
                ).fetchone()
                assert row == (1,)
    finally:
        with psycopg.connect(worker_database.url, autocommit=True) as connection:
            connection.execute("DROP TABLE rig_probe")


def test_what_was_counted_of_one_tests_rows_does_not_reach_the_plans_of_the_next(worker_database):
    """A plan would follow from which tests this worker had before."""
    counted = (
        "SELECT count(*) FROM pg_class LEFT JOIN pg_statistic ON starelid = pg_class.oid"
        " WHERE relname = 'venue' AND (reltuples >= 0 OR relpages > 0 OR starelid IS NOT NULL)"
    )
    with psycopg.connect(worker_database.url, autocommit=True) as connection:
        connection.execute("INSERT INTO venue (slug, name, plan, plan_sha256) VALUES ('v', 'v', '{}', '')")
        connection.execute("VACUUM ANALYZE venue")
        assert connection.execute(counted).fetchone() != (0,)
    worker_database.empty()
    with psycopg.connect(worker_database.url) as connection:
        assert connection.execute(counted).fetchone() == (0,)


def test_nothing_is_traded_for_speed(database_url, redis_url):
    with psycopg.connect(database_url) as connection:
        settings = ("fsync", "synchronous_commit", "full_page_writes")
        assert [connection.execute(f"SHOW {name}").fetchone() for name in settings] == [("on",)] * 3
    with redis.Redis.from_url(redis_url) as client:
        assert client.config_get("append*")["appendfsync"] == "always"
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_the_redis_database_is_empty_and_this_workers_alone(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left", "over")


def test_the_redis_database_is_empty_again(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0


def test_a_second_database_is_another_one(new_database, database_url):
    migrated, bare = new_database(), new_database(migrated=False)
    assert len({migrated, bare, database_url}) == 3
    with psycopg.connect(migrated) as connection:
        assert "alembic_version" in _tables(connection)
    with psycopg.connect(bare) as connection:
        assert _tables(connection) == []


def test_a_folder_that_a_killed_run_left_behind_is_removed_and_that_of_a_running_one_stays(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left_behind = tmp_path / f"{writing.PREFIX}of-nobody"
    left_behind.mkdir()
    with writing.own_folder() as first:
        assert not left_behind.exists()
        with writing.own_folder() as second:
            assert first.exists()
            assert second.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_room_or_that_is_not_there_is_not_written_to(tmp_path, monkeypatch):
    assert not writing.has_room(tmp_path / "nowhere")
    monkeypatch.setattr(writing, "ROOM_BYTES_MIN", 1)
    assert writing.has_room(tmp_path)
    monkeypatch.setattr(writing, "ROOM_BYTES_MIN", 1 << 60)
    assert not writing.has_room(tmp_path)


def test_files_that_take_long_come_first_and_are_there():
    files = ["store/a.py", order.LONG[1], "store/b.py", order.LONG[0], order.LONG[1]]
    items = [SimpleNamespace(path=order.HERE / name, place=place) for place, name in enumerate(files)]
    assert [item.place for item in order.long_first(items)] == [3, 1, 4, 0, 2]
    assert [name for name in order.LONG if not (order.HERE / name).exists()] == []


def test_no_test_looks_at_sessions_and_locks_of_other_workers_databases():
    """Those wait for locks, too, and are counted; and some tests end the sessions that they find."""
    on_own_engines = order.HERE / "faults"
    files = [path for path in order.HERE.rglob("*.py") if on_own_engines not in path.parents]
    texts = [
        str(node.value) for path in files for node in constants(path) if SESSIONS.search(str(node.value))
    ]
    assert len(texts) > 10
    assert [text for text in texts if not OF_ONE_DATABASE.search(text)] == []


SESSIONS = re.compile(r"\b(FROM|JOIN) pg_(stat_activity|locks)\b")
OF_ONE_DATABASE = re.compile(r"current_database\(\)|datname = %s|\bpid = |pg_blocking_pids")


def constants(path: Path) -> list[ast.Constant]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]


def test_no_test_empties_the_redis_databases_of_other_workers():
    own_engine = {"mutants/lent.py"}
    calls = {
        str(path.relative_to(order.HERE))
        for path in order.HERE.rglob("*.py")
        if ".flushall" + "(" in path.read_text()
    }
    assert calls == own_engine
