"""Gateways behind PgBouncer, which gives each transaction another backend, by the settings in deploy/.

Who owns events does not start there.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from onsale import doctor
from onsale.engines import ports
from onsale.engines.child import spawn
from onsale.engines.data_dir import REPOSITORY
from onsale.findings import Level
from onsale.processes import Stack, throwaway_stack
from store import lookups
from store.database import ENDS_IDLE
from store.settings import EngineUrls
from tests.allocator.house import open_event, plan_of
from tests.faults.stage import Sale, StageOf, until

pytestmark = pytest.mark.faults

PGBOUNCER = shutil.which("pgbouncer")
SETTINGS = REPOSITORY / "deploy" / "pgbouncer.ini"
needs_pooler = pytest.mark.skipif(
    PGBOUNCER is None, reason="PgBouncer is not installed: apt-get install pgbouncer"
)
BACKENDS = 3
"""Fewer than the gateways have connections: they share."""


def settings() -> configparser.ConfigParser:
    found = configparser.ConfigParser(interpolation=None)
    found.read(SETTINGS)
    return found


def test_what_gateways_set_on_their_own_connections_is_set_for_them():
    said = settings()["databases"]["onsale"]
    own = [
        f"SET statement_timeout = {lookups.STATEMENT_TIMEOUT_MS}",
        f"SET lock_timeout = {lookups.LOCK_TIMEOUT_MS}",
        *re.findall(r"^SET .*?(?=;|$)", lookups.PLAN_BY_KEY, re.MULTILINE),
        "SET " + ENDS_IDLE.removeprefix("-c ").replace("=", " = "),
    ]
    assert [one for one in own if one not in said] == []


@contextlib.contextmanager
def pooler(folder: Path, urls: EngineUrls, **more: str) -> Iterator[str]:
    """PgBouncer before this Postgres, as in deploy/ but for `more`: the URL that leads through it."""
    assert PGBOUNCER is not None
    port = ports.free_port()
    postgres = urlsplit(urls.database_url)
    changed = settings()
    said = changed["databases"]["onsale"]
    database = postgres.path.removeprefix("/")
    where = f"host=127.0.0.1 port={postgres.port} dbname={database}"
    changed["databases"] = {database: re.sub(r"host=\S+ port=\S+ dbname=\S+", where, said)}
    changed["pgbouncer"].update(
        listen_addr="127.0.0.1",
        listen_port=str(port),
        unix_socket_dir="",
        auth_file=str(folder / "userlist.txt"),
        default_pool_size=str(BACKENDS),
        **more,
    )
    (folder / "userlist.txt").write_text(f'"{postgres.username}" "{postgres.password}"\n')
    with open(folder / "pgbouncer.ini", "w") as file:
        changed.write(file)
    folder.chmod(0o755)
    program: list[str | Path] = [PGBOUNCER, folder / "pgbouncer.ini"]
    if os.geteuid() == 0:  # it refuses to run as root
        program[1:1] = ["--user", "nobody"]
    child = spawn("pgbouncer", program, log_path=folder / "log", env={"PATH": os.defpath})
    url = urls.database_url.replace(f":{postgres.port}/", f":{port}/")

    def answers() -> bool:
        assert child.alive, child.last_words()
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(url, connect_timeout=2).close()
            return True
        return False

    try:
        until(answers, "PgBouncer answers")
        yield url
    finally:
        child.stop(signal.SIGTERM, 5.0)


@contextlib.contextmanager
def pooled(folder: Path) -> Iterator[Stack]:
    """Two gateways by way of PgBouncer, two allocators that go to Postgres itself."""
    leaving = contextlib.ExitStack()

    def env_of(urls: EngineUrls) -> dict[str, dict[str, str]]:
        url = leaving.enter_context(pooler(folder, urls))
        return {name: {"DATABASE_URL": url} for name in ("gateway-1", "gateway-2")}

    with leaving, throwaway_stack(gateways=2, env_of=env_of) as stack:
        yield stack


@needs_pooler
def test_gateways_behind_a_pooler_sell_as_ever(tmp_path: Path):
    with StageOf(pooled(tmp_path)) as stage, stage.sale() as sale:
        crowd = sale.desk.crowd(12)
        crowd.wait(200)
        epoch = sale.epoch
        stage.kill("allocator-1" if sale.owner() == "allocator-1" else "allocator-2")
        sale.wait_taken_over(epoch)
        crowd.wait(100)
        stage.kill("gateway-1")
        stage.stack.start_again("gateway-1")
        crowd.wait(100)
        assert backends(sale) <= BACKENDS
        for name in ("gateway-1", "gateway-2"):
            assert "ERROR" not in stage.log(name)
        sale.check()


def backends(sale: Sale) -> int:
    counted = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'onsale gateway' AND %s > 0"
    return int(sale.one(counted))


@needs_pooler
@pytest.mark.parametrize("program", ["allocator", "allocator.fleet"])
@pytest.mark.parametrize("more", [{}, {"ignore_startup_parameters": ""}], ids=["as in deploy", "as it comes"])
def test_who_would_own_events_by_way_of_a_pooler_does_not_start_and_says_where_to_go(
    tmp_path: Path, engine_urls: EngineUrls, program: str, more: dict[str, str]
):
    event = open_event(engine_urls.database_url, plan_of(rows=2, seats_a_row=2))
    with pooler(tmp_path, engine_urls, **more) as url:
        done = subprocess.run(
            [sys.executable, "-m", program],
            env={**os.environ, **engine_urls.as_env(), "DATABASE_URL": url},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 2, done.stderr
    assert "Give allocators and the fleet's hosts the address of Postgres itself" in done.stderr
    assert "Traceback" not in done.stderr
    with psycopg.connect(engine_urls.database_url) as conn:
        assert conn.execute("SELECT owner FROM lease WHERE event_id = %s", (event,)).fetchone() == (None,)
        assert conn.execute("SELECT count(*) FROM fleet_host").fetchone() == (0,)


@needs_pooler
def test_a_host_that_does_not_start_by_way_of_a_pooler_has_migrated_nothing(
    tmp_path: Path, new_database: Callable[..., str], redis_url: str
):
    bare = EngineUrls(new_database(migrated=False), redis_url)
    with pooler(tmp_path, bare) as url:
        done = subprocess.run(
            [sys.executable, "-m", "onsale", "worker", "--slots", "1"],
            env={**os.environ, **bare.as_env(), "DATABASE_URL": url},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1, done.stderr
    assert "Give allocators and the fleet's hosts the address of Postgres itself" in done.stderr
    with psycopg.connect(bare.database_url) as conn:
        made = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        assert conn.execute(made).fetchone() == (0,)


@needs_pooler
def test_the_doctor_warns_of_an_address_that_leads_through_a_pooler(
    tmp_path: Path, engine_urls: EngineUrls, monkeypatch
):
    with pooler(tmp_path, engine_urls) as url:
        for name, value in {**engine_urls.as_env(), "DATABASE_URL": url}.items():
            monkeypatch.setenv(name, value)
        found = doctor.examine(tmp_path / "none").findings
    assert [one.level for one in found if "leads through a pooler" in one.found] == [Level.WARN]
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    found = doctor.examine(tmp_path / "none").findings
    assert not [one for one in found if "leads through a pooler" in one.found]
