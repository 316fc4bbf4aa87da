"""Gateways behind PgBouncer, which gives each transaction another backend, by the settings in deploy/."""

from __future__ import annotations

import configparser
import contextlib
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from onsale.engines import ports
from onsale.engines.child import spawn
from onsale.engines.data_dir import REPOSITORY
from onsale.processes import Stack, throwaway_stack
from store import lookups
from store.database import ENDS_IDLE
from store.settings import EngineUrls
from tests.faults.stage import Sale, StageOf, until

pytestmark = pytest.mark.faults

PGBOUNCER = shutil.which("pgbouncer")
SETTINGS = REPOSITORY / "deploy" / "pgbouncer.ini"
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
def pooled(folder: Path) -> Iterator[Stack]:
    """Two gateways by way of PgBouncer, two allocators that go to Postgres itself."""
    assert PGBOUNCER is not None
    leaving = contextlib.ExitStack()
    port = ports.free_port()

    def env_of(urls: EngineUrls) -> dict[str, dict[str, str]]:
        postgres = urlsplit(urls.database_url)
        changed = settings()
        said = changed["databases"]["onsale"]
        changed["databases"]["onsale"] = re.sub(
            r"host=\S+ port=\S+", f"host=127.0.0.1 port={postgres.port}", said
        )
        changed["pgbouncer"].update(
            listen_addr="127.0.0.1",
            listen_port=str(port),
            unix_socket_dir="",
            auth_file=str(folder / "userlist.txt"),
            default_pool_size=str(BACKENDS),
        )
        (folder / "userlist.txt").write_text(f'"{postgres.username}" "{postgres.password}"\n')
        with open(folder / "pgbouncer.ini", "w") as file:
            changed.write(file)
        folder.chmod(0o755)
        program: list[str | Path] = [PGBOUNCER, folder / "pgbouncer.ini"]
        if os.geteuid() == 0:  # it refuses to run as root
            program[1:1] = ["--user", "nobody"]
        child = spawn("pgbouncer", program, log_path=folder / "log", env={"PATH": os.defpath})
        leaving.callback(child.stop, signal.SIGTERM, 5.0)
        url = postgres._replace(netloc=f"{postgres.username}:{postgres.password}@127.0.0.1:{port}").geturl()

        def answers() -> bool:
            assert child.alive, child.last_words()
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(url, connect_timeout=2).close()
                return True
            return False

        until(answers, "PgBouncer answers")
        return {name: {"DATABASE_URL": url} for name in ("gateway-1", "gateway-2")}

    with leaving, throwaway_stack(gateways=2, env_of=env_of) as stack:
        yield stack


@pytest.mark.skipif(PGBOUNCER is None, reason="PgBouncer is not installed: apt-get install pgbouncer")
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
