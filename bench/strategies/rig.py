"""What a run needs on this machine: engines, an onsale on them, and the strategies' servers beside it.

Both sides use the same Postgres server (a database each) and the same Valkey (a numbered database each) with
the same durability, and stand idle while the other is asked.
"""

from __future__ import annotations

import contextlib
import http.client
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import redis

from bench.strategies import tables
from bench.strategies.orders import Asker, asker
from bench.strategies.worker import WORKERS
from bench.target import Target
from onsale.engines.child import Child, spawn
from onsale.engines.data_dir import REPOSITORY
from onsale.engines.ports import LOOPBACK, free_port
from onsale.errors import FrontDoorError
from onsale.processes import Stack, throwaway_stack
from store.settings import EngineUrls

DATABASE = "strategies"
REDIS_DATABASE = 7
POOL_SIZES = {1: 16, 2: 10}
"""Connections of each server process, by how many processes there are."""
READY_SECONDS_MAX = 30.0
SETTLED_SECONDS_MAX = 60.0
SAMPLE_SECONDS = 0.05
LOOKS = 4
"""So many looks in a row must find the servers idle."""
WAITING = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()
"""


class ServerNotReady(FrontDoorError):
    """A strategies' server did not come up, or to rest."""


class Servers:
    """The strategies' server processes and workers."""

    def __init__(self, urls: EngineUrls, stack: Stack, counts: Sequence[int]) -> None:
        """`counts`: the groups to have, of one process and of two."""
        self.urls = urls
        self._env = {"PATH": "", "PYTHONPATH": str(REPOSITORY), **urls.as_env()}
        self._logs = stack.engines.data_dir.logs
        self.ports = {count: [free_port() for _ in range(count)] for count in counts}
        self._children: dict[str, Child] = {}

    def start(self) -> None:
        """Start what does not run; returns when all servers answer."""
        for count, ports in self.ports.items():
            for port in ports:
                self._start(f"server-{port}", "bench.strategies.server", str(port), str(POOL_SIZES[count]))
        for name in WORKERS:
            self._start(f"worker-{name}", "bench.strategies.worker", name)
        for ports in self.ports.values():
            for port in ports:
                self._wait(port)

    def kill(self) -> None:
        """SIGKILL for all of them at once."""
        for child in self._children.values():
            child.send(signal.SIGKILL)
        for child in self._children.values():
            child.wait()

    def _start(self, name: str, module: str, *arguments: str) -> None:
        if name in self._children and self._children[name].alive:
            return
        program: list[str | Path] = [sys.executable, "-m", module, *arguments]
        log_path = self._logs / f"{name}.log"
        self._children[name] = spawn(name, program, log_path=log_path, env=self._env, cwd=REPOSITORY)

    def _wait(self, port: int) -> None:
        child = self._children[f"server-{port}"]
        give_up_at = time.monotonic() + READY_SECONDS_MAX
        while not _healthy(port):
            if child.wait(0.02) is not None or time.monotonic() > give_up_at:
                raise ServerNotReady(
                    f"The strategies' server on port {port} is not ready:\n{child.last_words()}"
                )


class Rig:
    """See the module. `connection` and `client` are the runner's own."""

    def __init__(self, stack: Stack, servers: Servers, load: Asker) -> None:
        self.stack = stack
        self.servers = servers
        self.load = load
        self.target = Target(stack.base_url, stack.urls.database_url, stack.token_secret)
        self.connection = psycopg.connect(servers.urls.database_url, autocommit=True)
        self.client = redis.Redis.from_url(servers.urls.redis_url)
        self._event = 0

    def next_event(self) -> int:
        self._event += 1
        return self._event

    def settle(self, strategy: str, *, given_up: bool = False) -> None:
        """Until the strategy's worker has nothing left to do, if it has one; and, where the clients have
        given up, until the servers have worked off what they were asked: the next is measured alone."""
        give_up_at = time.monotonic() + SETTLED_SECONDS_MAX
        looks = LOOKS if given_up else 0
        while looks or (strategy in WORKERS and tables.unwritten(self.connection, self.client, strategy)):
            if time.monotonic() > give_up_at:
                raise ServerNotReady(
                    f"{strategy} has not come to rest after {SETTLED_SECONDS_MAX:g} s; see its log."
                )
            if looks:
                looks = LOOKS if tables.at_work(self.connection) else looks - 1
            time.sleep(SAMPLE_SECONDS)

    def close(self) -> None:
        self.connection.close()
        self.client.close()


@contextlib.contextmanager
def rig(counts: Sequence[int] = tuple(POOL_SIZES)) -> Iterator[Rig]:
    """All of it, ready, for as long as the block lasts."""
    with contextlib.ExitStack() as leaving:
        stack = leaving.enter_context(throwaway_stack())
        urls = EngineUrls(stack.postgres.url_of(DATABASE), stack.valkey.url_of(REDIS_DATABASE))
        make_database(stack.urls.database_url, urls.database_url)
        servers = Servers(urls, stack, counts)
        leaving.callback(servers.kill)  # they hold nothing worth an orderly end
        servers.start()
        made = Rig(stack, servers, leaving.enter_context(asker()))
        leaving.callback(made.close)
        yield made


def make_database(admin_url: str, url: str) -> None:
    """A database of its own with the strategies' tables."""
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {DATABASE}")
    with psycopg.connect(url, autocommit=True) as connection:
        tables.create(connection)


class LockSampler:
    """Looks twenty times a second whether anybody waits for a lock; `share` of the looks found one."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self._stop = threading.Event()
        self._looks = 0
        self._found = 0
        self._thread = threading.Thread(target=self._run, name="lock sampler", daemon=True)

    @property
    def share(self) -> float:
        return round(self._found / self._looks, 3) if self._looks else 0.0

    def __enter__(self) -> LockSampler:
        self._connection = psycopg.connect(self._url, autocommit=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            row: Any = self._connection.execute(WAITING).fetchone()
            self._looks += 1
            self._found += row[0] > 0


def _healthy(port: int) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
