"""The embedded engines: durable through stop and kill, and clear about why they cannot run."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import psycopg
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from onsale.engines import DataDir, PostgresServer, ValkeyServer, attach_or_start, engines
from onsale.engines import identity as identities
from onsale.engines.binaries import postgres_major
from onsale.engines.data_dir import REPOSITORY
from onsale.engines.errors import (
    BinariesMissing,
    DataDirInUse,
    DataDirNotOurs,
    DataDirOfAnotherVersion,
    DiskFull,
    EngineDidNotStart,
    PortTaken,
)
from onsale.engines.identity import Identity, engine_identity
from store.settings import EngineUrls

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes identities")


@pytest.fixture
def tmp_path(engine_path: Path) -> Path:
    """Engines are what all of this module is about."""
    return engine_path


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresServer]:
    """One stopped server, whose directory the tests of this module share (initdb takes most of a second)."""
    with tempfile.TemporaryDirectory(prefix="onsale-cluster-") as folder:
        server = PostgresServer(Path(folder) / "postgres")
        server.start()
        server.stop()
        yield server
        server.stop()


@pytest.fixture
def postgres(cluster) -> Iterator[PostgresServer]:
    cluster.start()
    yield cluster
    with contextlib.suppress(psutil.NoSuchProcess):
        cluster.resume()
    cluster.stop()


@pytest.fixture
def valkey(tmp_path) -> Iterator[ValkeyServer]:
    server = ValkeyServer(tmp_path / "valkey")
    server.start()
    yield server
    server.stop()


def gone(pids: list[int], timeout_seconds: float = 20) -> bool:
    """Whether all these processes end in time; a zombie that nobody has fetched yet has ended."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            fd = os.pidfd_open(pid)
            try:
                if not select.select([fd], [], [], timeout_seconds)[0]:
                    return False
            finally:
                os.close(fd)
    return True


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_postgres_keeps_what_it_committed_and_its_address(postgres, end):
    url = postgres.url
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE kept_through_{end} AS SELECT 7 AS n")
        everyone = [
            postgres.pid,
            *(child.pid for child in psutil.Process(postgres.pid).children(recursive=True)),
        ]
        getattr(postgres, end)()
    assert gone(everyone)
    assert not postgres.running
    postgres.start()
    assert postgres.url == url
    with psycopg.connect(url) as connection:
        assert connection.execute(f"SELECT n FROM kept_through_{end}").fetchone() == (7,)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_valkey_keeps_what_it_acknowledged_and_its_address(valkey, end):
    url = valkey.url
    with redis.Redis.from_url(url) as client:
        client.xadd("stream", {"n": 7}, id="5-1")
        getattr(valkey, end)()
    assert not valkey.running
    valkey.start()
    assert valkey.url == url
    with redis.Redis.from_url(url) as client:
        assert client.xinfo_stream("stream")["last-generated-id"] == b"5-1"


def test_a_wiped_valkey_is_empty_at_the_same_address(valkey):
    with redis.Redis.from_url(valkey.url) as client:
        client.set("gone", "soon")
    valkey.kill()
    valkey.wipe()
    valkey.start()
    with redis.Redis.from_url(valkey.url) as client:
        assert client.dbsize() == 0


def test_pausing_waits_for_no_process_that_ended_meanwhile(postgres, monkeypatch):
    """A backend that ends just then stays a zombie, for the stopped postmaster waits for nobody."""
    running = postgres._processes

    def with_one_that_ends():
        ended = subprocess.Popen(["true"])
        zombie = psutil.Process(ended.pid)
        while zombie.status() != psutil.STATUS_ZOMBIE:
            os.sched_yield()
        unreaped.append(ended)
        return [*running(), zombie]

    unreaped: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(postgres, "_processes", with_one_that_ends)
    postgres.pause()
    postgres.resume()
    for ended in unreaped:
        ended.wait()
    with psycopg.connect(postgres.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_paused_postgres_answers_again_after_resume(postgres):
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        postgres.pause()
        statuses = {process.status() for process in psutil.Process(postgres.pid).children()}
        assert statuses == {psutil.STATUS_STOPPED}
        postgres.resume()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_neither_engine_answers_without_its_password(postgres, valkey):
    with pytest.raises(psycopg.OperationalError, match=r"password|authentication"):
        psycopg.connect(f"host=127.0.0.1 port={postgres.port} user=onsale dbname=onsale password=guess")
    once = Retry(NoBackoff(), 0)
    with redis.Redis(port=valkey.port, retry=once) as client, pytest.raises(redis.AuthenticationError):
        client.ping()


def test_secrets_are_for_their_owner_only(postgres, valkey):
    for server in (postgres, valkey):
        private = [*server.data_dir.parent.glob("*.password"), *server.data_dir.parent.glob("*.conf")]
        assert private
        assert {path.stat().st_mode & 0o777 for path in private} == {0o600}


def test_a_port_that_was_asked_for_and_is_taken_is_named(cluster, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as owner:
        port = owner.getsockname()[1]
        with pytest.raises(PortTaken, match=str(port)):
            PostgresServer(cluster.data_dir, port=port).start()
        with pytest.raises(PortTaken, match=str(port)):
            ValkeyServer(tmp_path / "valkey", port=port).start()


def test_a_port_taken_at_the_last_moment_is_replaced(cluster, tmp_path, monkeypatch):
    """Between choosing a free port and using it, someone else may."""
    from onsale.engines import ports

    choose = ports.free_port
    with socket.create_server(("127.0.0.1", 0)) as owner:
        choices = iter([owner.getsockname()[1]])
        monkeypatch.setattr(ports, "free_port", lambda: next(choices, None) or choose())
        server = ValkeyServer(tmp_path / "valkey")
        server.start()
        server.stop()
        assert server.port != owner.getsockname()[1]


def test_a_directory_of_another_major_version_is_refused_with_both_versions(tmp_path):
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("14\n")
    with pytest.raises(DataDirOfAnotherVersion, match=rf"PostgreSQL 14.* brings {postgres_major()}"):
        PostgresServer(tmp_path / "postgres").start()


def test_a_directory_with_other_files_is_left_alone(tmp_path):
    letter = tmp_path / "letter.txt"
    letter.write_text("dear")
    with pytest.raises(DataDirNotOurs), engines(tmp_path):
        pass
    with pytest.raises(DataDirNotOurs):
        DataDir(tmp_path).remove()
    assert [letter] == list(tmp_path.iterdir())


def test_a_full_disk_is_said_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10 * 2**20))
    with pytest.raises(DiskFull, match="10 MiB free"):
        PostgresServer(tmp_path / "postgres").start()
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_cannot_start_says_its_last_words(cluster):
    own_settings = cluster.data_dir / "local.conf"
    own_settings.write_text("shared_buffers = 'plenty'\n")
    try:
        with pytest.raises(EngineDidNotStart, match="shared_buffers"):
            cluster.start()
    finally:
        own_settings.unlink()


def test_a_lost_password_file_is_told_from_a_server_that_is_down(cluster, tmp_path):
    password_file = cluster.data_dir.with_name("postgres.password")
    right = password_file.read_text()
    password_file.write_text("wrong")
    try:
        with pytest.raises(DataDirNotOurs, match="does not hold the password"):
            cluster.start()
        assert not cluster.running
    finally:
        password_file.write_text(right)


def test_an_interrupted_first_start_is_made_again(tmp_path):
    half_made = tmp_path / "postgres.making" / "cluster"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18")
    server = PostgresServer(tmp_path / "postgres")
    server.start()
    server.stop()
    assert not half_made.parent.exists()


def test_a_second_owner_is_refused_and_a_guest_joins_in(tmp_path, monkeypatch):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("REDIS_URL", raising=False)
    with engines(tmp_path / "data") as both:
        with pytest.raises(DataDirInUse, match=f"process {os.getpid()}"), engines(tmp_path / "data"):
            pass
        with attach_or_start(tmp_path / "data") as urls:
            assert urls == both.urls
        with pytest.raises(DataDirInUse):
            DataDir(tmp_path / "data").remove()
    assert DataDir(tmp_path / "data").runtime() is None
    with attach_or_start(tmp_path / "data") as urls, psycopg.connect(urls.database_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    DataDir(tmp_path / "data").remove()
    assert not (tmp_path / "data").exists()


def test_each_url_replaces_its_engine_alone(tmp_path, rig):
    with engines(tmp_path / "a", redis_url=rig.redis_url) as both:
        assert both.valkey is None
        assert both.postgres is not None
        assert both.urls.redis_url == rig.redis_url
    with engines(tmp_path / "b", database_url=rig.postgres_url) as both:
        assert both.postgres is None
        assert both.valkey is not None
        assert both.urls.database_url == rig.postgres_url


def test_with_both_urls_set_nothing_is_started(tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere/x")
    monkeypatch.setenv("REDIS_URL", "redis://elsewhere/0")
    with attach_or_start(tmp_path / "data") as urls:
        assert (urls.database_url, urls.redis_url) == ("postgresql://elsewhere/x", "redis://elsewhere/0")
    assert not (tmp_path / "data").exists()


def test_a_guest_keeps_a_passing_owners_engines_up(tmp_path):
    home = DataDir(tmp_path / "data")
    home.prepare()
    with home.as_guest():
        assert not home.wait_for_guests(timeout_seconds=0.05)
    assert home.wait_for_guests(timeout_seconds=60)


def test_engines_are_withdrawn_while_no_guest_can_come_in(tmp_path, monkeypatch):
    home, withdraw, barred = DataDir(tmp_path / "data"), DataDir.withdraw, []

    def withdraw_and_knock(home: DataDir) -> None:
        withdraw(home)
        for waiting in [each for each in threading.enumerate() if each.name == "waits for guests"]:
            waiting.join(0.2)  # who would let go of the lock by itself has done so
        with open(home.path / "guests", "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                barred.append(home.runtime())

    with home.own():
        home.announce(EngineUrls(database_url="postgresql://x", redis_url="redis://x"))
        assert home.runtime() is not None
        monkeypatch.setattr(DataDir, "withdraw", withdraw_and_knock)
        assert home.wait_for_guests(timeout_seconds=60)
        assert barred == [None]


def test_nobody_can_join_engines_that_are_being_stopped(tmp_path, monkeypatch):
    stop, found = ValkeyServer.stop, []

    def look_and_stop(server: ValkeyServer) -> None:
        found.append(DataDir(tmp_path / "data").runtime())
        stop(server)

    monkeypatch.setattr(ValkeyServer, "stop", look_and_stop)
    with engines(tmp_path / "data", database_url="postgresql://elsewhere/x") as both:
        assert both.data_dir.runtime() is not None
    assert found == [None]


def test_who_stops_engines_under_a_guest_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere/x")
    monkeypatch.delenv("REDIS_URL", raising=False)
    with attach_or_start(tmp_path / "data"):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(DataDir, "wait_for_guests", lambda _: False)
    with attach_or_start(tmp_path / "data"):
        pass
    assert "Another command still uses the engines" in capsys.readouterr().err


PARENT = """
import sys, threading
from pathlib import Path
from onsale.engines import engines
with engines(Path(sys.argv[1])) as both:
    print(both.postgres.pid, both.valkey.pid, flush=True)
    threading.Event().wait()
"""


@pytest.mark.faults
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's tie to the parent is Linux's")
def test_a_killed_parent_leaves_no_orphans_and_its_data_can_be_used_at_once(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, tmp_path / "data"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    with parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        pids += [child.pid for child in psutil.Process(pids[0]).children(recursive=True)]
        parent.send_signal(signal.SIGKILL)
    with engines(tmp_path / "data") as both, psycopg.connect(both.urls.database_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert gone(pids)


@AS_ROOT
def test_as_root_postgres_runs_as_nobody_in_a_user_namespace_of_its_own(postgres):
    if engine_identity() is not Identity.NAMESPACE:
        pytest.skip("user namespaces are forbidden here")
    proc = Path(f"/proc/{postgres.pid}")
    assert proc.joinpath("uid_map").read_text().split() == ["65534", "0", "1"]
    assert proc.joinpath("gid_map").read_text().split() == ["65534", "0", "1"]
    assert proc.joinpath("setgroups").read_text().strip() == "deny"
    assert os.readlink(proc / "ns/user") != os.readlink("/proc/self/ns/user")
    assert postgres.data_dir.stat().st_uid == 0


@AS_ROOT
def test_where_namespaces_are_forbidden_postgres_runs_as_nobody_and_root_can_take_it_back(
    monkeypatch, tmp_path
):
    from onsale.engines import postgres as module

    outside = Path(tempfile.mkdtemp(prefix="onsale-nobody-"))  # pytest's own directories are closed to nobody
    try:
        outside.chmod(0o711)
        server = PostgresServer(outside / "postgres")
        for each in (Identity.NOBODY, engine_identity(), Identity.NOBODY):
            monkeypatch.setattr(module, "engine_identity", lambda each=each: each)
            try:
                server.start()
            except BinariesMissing as error:
                pytest.skip(str(error))
            owner = psutil.Process(server.pid).uids().effective
            assert owner == each.owner
            assert server.data_dir.stat().st_uid == each.owner
            server.stop()
    finally:
        shutil.rmtree(outside)


@AS_ROOT
def test_a_directory_that_nobody_may_not_enter_is_named(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(BinariesMissing, match="DATABASE_URL"):
        identities.require_reachable(closed / "x", Identity.NOBODY, "DATABASE_URL")


def test_a_process_started_by_a_thread_outlives_the_thread(tmp_path):
    """The kernel ties a child to the thread that made it; ours must live as long as the process."""
    from concurrent.futures import ThreadPoolExecutor

    server = ValkeyServer(tmp_path / "valkey")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(server.start).result()
    with redis.Redis.from_url(server.url) as client:
        assert client.ping()
    server.stop()
