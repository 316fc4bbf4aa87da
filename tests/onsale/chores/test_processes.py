"""The real processes: killed, stopped, their Redis wiped, they go on and leave nobody behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import psycopg
import pytest
import redis

from onsale.chores import catalogue
from onsale.chores.planner import Planner
from onsale.engines.data_dir import REPOSITORY
from store.chores.runs import QUIET_SECONDS
from tests.onsale.chores.doings import settings_of
from tests.onsale.chores.napping import NAP

SECONDS_MAX = 90.0

pytestmark = pytest.mark.faults


@pytest.fixture
def conn(new_database, redis_url) -> Iterator[psycopg.Connection]:
    """A database of its own: sessions of processes that are killed end in their own time."""
    url = new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE napping (pid int, ended bool NOT NULL DEFAULT false)")
        yield connection


@pytest.fixture
def url(conn):
    return psycopg.conninfo.make_conninfo(conn.info.dsn, password=conn.info.password)


@pytest.fixture
def start(url, redis_url, tmp_path):
    """Starts a module as a program; all end with the test."""
    with contextlib.ExitStack() as running:

        def begin(module):
            env = os.environ | {"DATABASE_URL": url, "REDIS_URL": redis_url, "PYTHONPATH": str(REPOSITORY)}
            env |= {"ONSALE_DATA_DIR": str(tmp_path), "PYTHONWARNINGS": "ignore"}
            log = running.enter_context(open(tmp_path / f"{module}.log", "ab"))
            program = [sys.executable, "-m", module]
            process = running.enter_context(
                subprocess.Popen(program, env=env, cwd=REPOSITORY, stdout=log, stderr=log)
            )
            running.callback(process.kill)
            return process

        yield begin


def until(conn, query, wanted):
    """Waits until a query says this."""
    ends = time.monotonic() + SECONDS_MAX
    while (found := conn.execute(query).fetchall()) != wanted:
        assert time.monotonic() < ends, f"{query} says {found}, not {wanted}"
        conn.execute("SELECT pg_sleep(0.05)")


def all_ran_since(conn, moment):
    """Waits until every quick chore began a run after `moment`."""
    names = [chore.name for chore in catalogue.SHORT if chore.every_seconds <= 5]
    quick = f"chore = ANY ('{{{','.join(names)}}}')"
    until(conn, f"SELECT count(*) FROM chore_run WHERE {quick} AND ended_at > '{moment}'", [(len(names),)])


def later(conn):
    """So much later that even what has nothing to do runs again; the moment."""
    quiet = f"interval '{2 * QUIET_SECONDS} seconds'"
    conn.execute(
        f"UPDATE chore_run SET due_at = due_at - {quiet}, ended_at = ended_at - {quiet} WHERE NOT long"
    )
    return conn.execute("SELECT clock_timestamp()::text").fetchone()[0]


def test_chores_go_on_when_workers_are_killed_and_redis_is_wiped(conn, start, redis_url):
    host = start("onsale.chores")
    all_ran_since(conn, "2000-01-01")
    assert conn.execute("SELECT max(failures) FROM chore_run").fetchone() == (0,)
    for worker in psutil.Process(host.pid).children():
        worker.kill()
    all_ran_since(conn, later(conn))
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
    all_ran_since(conn, later(conn))
    everyone = psutil.Process(host.pid).children(recursive=True)
    host.send_signal(signal.SIGTERM)
    assert host.wait(SECONDS_MAX) == 0
    assert psutil.wait_procs(everyone, SECONDS_MAX)[1] == []


def test_nobody_is_left_behind_when_the_host_process_is_killed(conn, start):
    host = start("onsale.chores")
    until(
        conn, "SELECT count(*) FROM chore_run WHERE long AND started_at IS NOT NULL", [(len(catalogue.LONG),)]
    )
    everyone = psutil.Process(host.pid).children(recursive=True)
    assert len(everyone) > len(catalogue.LONG), "workers, and runs of theirs"
    host.kill()
    assert psutil.wait_procs(everyone, SECONDS_MAX)[1] == []


def test_a_long_chore_dies_with_its_worker_and_is_begun_anew(conn, start, url, redis_url, monkeypatch):
    monkeypatch.setattr(catalogue, "LONG", (NAP,))
    with contextlib.closing(Planner(settings_of(url, redis_url))) as planner:
        worker = start("tests.onsale.chores.napping")
        assert "nap" in planner.turn()
        until(conn, "SELECT count(*) FROM napping", [(1,)])
        [(pid,)] = conn.execute("SELECT pid FROM napping").fetchall()
        run = psutil.Process(pid)
        assert run.ppid() == worker.pid
        worker.kill()
        assert psutil.wait_procs([run], SECONDS_MAX)[1] == []
        assert "nap" not in planner.turn(), "it may be alive somewhere"
        conn.execute("UPDATE chore_run SET due_at = clock_timestamp()")  # nothing was heard of it for long
        assert "nap" in planner.turn()
        worker = start("tests.onsale.chores.napping")
        until(conn, "SELECT count(*) FROM napping", [(2,)])
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(SECONDS_MAX) == 0
    assert conn.execute("SELECT ended FROM napping ORDER BY ended").fetchall() == [(False,), (True,)]
    stood = "SELECT failures, ended_at IS NOT NULL FROM chore_run WHERE chore = 'nap'"
    assert conn.execute(stood).fetchall() == [(0, True)]


def test_a_run_that_is_killed_is_told_as_failed(conn, start, url, redis_url, monkeypatch):
    """Whoever has no memory left cannot say so itself; its worker does."""
    monkeypatch.setattr(catalogue, "LONG", (NAP,))
    with contextlib.closing(Planner(settings_of(url, redis_url))) as planner:
        start("tests.onsale.chores.napping")
        assert "nap" in planner.turn()
        until(conn, "SELECT count(*) FROM napping", [(1,)])
        [(pid,)] = conn.execute("SELECT pid FROM napping").fetchall()
        os.kill(pid, signal.SIGKILL)
        until(conn, "SELECT failures FROM chore_run WHERE chore = 'nap'", [(1,)])
    told = "SELECT last_error, ended_at IS NOT NULL FROM chore_run WHERE chore = 'nap'"
    assert conn.execute(told).fetchall() == [("its process was killed", True)]
