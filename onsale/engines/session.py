"""Both engines for as long as a block of code lasts: started, joined where they run, or given by URL."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from onsale.engines.data_dir import GUESTS_SECONDS_MAX, DataDir, default_data_dir
from onsale.engines.errors import DataDirInUse
from onsale.engines.postgres import PostgresServer
from onsale.engines.valkey import ValkeyServer
from store.settings import EngineUrls


@dataclass(frozen=True, slots=True)
class Engines:
    """The engines of one onsale. A server is None where a URL replaces it."""

    urls: EngineUrls
    postgres: PostgresServer | None
    valkey: ValkeyServer | None
    data_dir: DataDir


@contextlib.contextmanager
def engines(
    data_dir: Path,
    *,
    database_url: str | None = None,
    redis_url: str | None = None,
    valkey_databases: int = 16,
) -> Iterator[Engines]:
    """Owns `data_dir` and runs in it whichever engine has no URL given; stops them in order at the end.

    Raises DataDirInUse when another process works there, and every EngineError of a start.
    """
    home = DataDir(data_dir)
    with home.own(), contextlib.ExitStack() as running:
        valkey = None
        postgres = None
        if redis_url is None:
            valkey = ValkeyServer(home.valkey, databases=valkey_databases, log_path=home.logs / "valkey.log")
            running.callback(valkey.stop)
        if database_url is None:
            postgres = PostgresServer(home.postgres, log_path=home.logs / "postgres.log")
            running.callback(postgres.stop)
        _start_together(valkey, postgres)
        urls = EngineUrls(
            database_url=database_url or _url(postgres),
            redis_url=redis_url or _url(valkey),
        )
        home.announce(
            urls,
            postgres_pid=postgres.pid if postgres else None,
            valkey_pid=valkey.pid if valkey else None,
        )
        running.callback(home.withdraw)  # nobody joins engines that are being stopped
        yield Engines(urls=urls, postgres=postgres, valkey=valkey, data_dir=home)


@contextlib.contextmanager
def attach_or_start(data_dir: Path | None = None) -> Iterator[EngineUrls]:
    """The engines for one command: DATABASE_URL and REDIS_URL where set, else those that run in the data
    directory (`./run up`, or another command), else engines of its own until the command is done."""
    database_url = os.environ.get("DATABASE_URL") or None
    redis_url = os.environ.get("REDIS_URL") or None
    if database_url and redis_url:
        yield EngineUrls(database_url=database_url, redis_url=redis_url)
        return
    path = data_dir or default_data_dir()
    home = DataDir(path)
    with contextlib.ExitStack() as stack:
        try:
            both = stack.enter_context(engines(path, database_url=database_url, redis_url=redis_url))
        except DataDirInUse:
            pass  # someone runs engines here already: join them
        else:
            stack.callback(_see_guests_out, home)
            yield both.urls
            return
        stack.enter_context(home.as_guest())
        runtime = home.runtime()
        if runtime is None:
            raise DataDirInUse(f"onsale is starting or stopping in {path}. Try again in a moment.")
        yield EngineUrls(
            database_url=database_url or runtime.database_url, redis_url=redis_url or runtime.redis_url
        )


def _see_guests_out(home: DataDir) -> None:
    if not home.wait_for_guests():
        print(
            f"Another command still uses the engines in {home.path} after {GUESTS_SECONDS_MAX:.0f} s; they "
            "are stopped now, and it will fail. Start ./run up first to keep them up for it.",
            file=sys.stderr,
        )


def _url(server: PostgresServer | ValkeyServer | None) -> str:
    assert server is not None, "an engine without a given URL is always started here"
    return server.url


def _start_together(*servers: PostgresServer | ValkeyServer | None) -> None:
    """Starts the engines side by side; the first failure is raised when all have come to an end."""
    wanted = [server for server in servers if server is not None]
    with ThreadPoolExecutor(max_workers=max(1, len(wanted)), thread_name_prefix="engine start") as pool:
        for starting in [pool.submit(server.start) for server in wanted]:
            starting.result()
