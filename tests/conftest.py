"""The test rig: one real PostgreSQL and one real Valkey per test run, whatever the number of workers.

The process that controls the run starts the engines and makes a template database with every migration
applied; it hands their addresses to the xdist workers. Durability stays on: it is what onsale sells with;
where there is room they keep their files in memory (`tests/writing.py`).

- `database_url`: this worker's database, migrated, and emptied before each test that asks for it.
- `new_database()`: one more database, for tests that change the schema.
- `redis_url`: an empty numbered database of this worker's Valkey.
- `engine_urls`: both, as the rooms take them.
- `engine_path`: an empty directory for engines that a test starts itself.
- `engines_beside(rig)`: both, kept by whoever starts something once for tests that also ask for the others.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from psycopg import sql

from onsale import processes
from onsale.engines import engines
from store.settings import EngineUrls
from tests import cluster, order, profiles, writing

profiles.use()
writing.use()

HERE = Path(__file__).parent
TEMPLATE = "migrated_template"
REDIS_DATABASES = 64
RIG = pytest.StashKey["Rig"]()


class Rig:
    """What one worker needs to know of the run's engines."""

    def __init__(self, urls: EngineUrls, worker: str, trouble: str = "") -> None:
        self.postgres_url = urls.database_url
        self.redis_url = urls.redis_url
        self.worker = worker
        self.trouble = trouble
        self.closing = contextlib.ExitStack()

    def url_of(self, database: str) -> str:
        base, _, _ = self.postgres_url.rpartition("/")
        return f"{base}/{database}"


def pytest_configure(config: pytest.Config) -> None:
    """Starts the engines in the controlling process; a worker finds their addresses in what it was handed."""
    handed: dict[str, Any] | None = getattr(config, "workerinput", None)
    if handed is not None:
        urls = EngineUrls(handed["onsale_postgres"], handed["onsale_redis"])
        config.stash[RIG] = Rig(urls, handed["workerid"], handed["onsale_trouble"])
    elif not (config.option.collectonly or config.option.help):
        config.stash[RIG] = _start_rig()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """xdist: hands the addresses to a worker about to start."""
    rig = node.config.stash[RIG]
    node.workerinput["onsale_postgres"] = rig.postgres_url
    node.workerinput["onsale_redis"] = rig.redis_url
    node.workerinput["onsale_trouble"] = rig.trouble


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Any:
    """Where nothing was compiled yet, as in a fresh clone, one worker reads the tests and then the others:
    each would compile all of them, and the asserts in them, as the first one does (6 s of a core)."""
    keeps = not sys.dont_write_bytecode
    if not hasattr(session.config, "workerinput") or not keeps or (HERE / "store" / "__pycache__").exists():
        return (yield)
    with Path(__file__).open() as turn:
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(turn, fcntl.LOCK_SH)  # the first one is done
            fcntl.flock(turn, fcntl.LOCK_UN)
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = order.long_first(items)


def _start_rig() -> Rig:
    """Engines and template. What fails here fails the tests that need an engine and no others."""
    with contextlib.ExitStack() as starting:
        home = starting.enter_context(writing.own_folder())
        os.environ[cluster.HOME] = str(home / "cluster")
        starting.callback(os.environ.pop, cluster.HOME)
        try:
            both = starting.enter_context(engines(home / "data", valkey_databases=REDIS_DATABASES))
            rig = Rig(both.urls, "main")
            _make_signing_in_cheap(both.urls.database_url)
            _make_template(both.urls.database_url)
        except Exception:
            rig = Rig(EngineUrls("", ""), "main", trouble=traceback.format_exc())
        rig.closing = starting.pop_all()
        return rig


def pytest_unconfigure(config: pytest.Config) -> None:
    rig = config.stash.get(RIG, None)
    if rig is not None:
        rig.closing.close()


def _make_signing_in_cheap(admin_url: str) -> None:
    """The same password, hashed once instead of 4,096 times: the tests open thousands of connections."""
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute("SET scram_iterations = 1")
        admin.execute(sql.SQL("ALTER ROLE CURRENT_USER PASSWORD {}").format(admin.info.password))


def _make_template(admin_url: str) -> None:
    from store import migrate

    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {TEMPLATE}")
    migrate.upgrade(f"{admin_url.rpartition('/')[0]}/{TEMPLATE}")


@pytest.fixture(scope="session", autouse=True)
def throwaway_stacks_find_a_database() -> Iterator[None]:
    """See `tests.cluster`."""
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(processes, "engines", cluster.engines_made)
        yield


@pytest.fixture(scope="session")
def rig(pytestconfig: pytest.Config) -> Rig:
    rig = pytestconfig.stash[RIG]
    if rig.trouble:
        pytest.fail(f"The test rig has no engines:\n{rig.trouble}", pytrace=False)
    return rig


@pytest.fixture(scope="session")
def worker_database(rig: Rig) -> Iterator[WorkerDatabase]:
    """This worker's database, made from the template once; `database_url` is the way to use it."""
    with _new_database(rig, f"test_{rig.worker}", TEMPLATE) as url, WorkerDatabase(url) as database:
        yield database


@pytest.fixture
def database_url(worker_database: WorkerDatabase) -> str:
    """A migrated, empty database that nobody else uses during this test."""
    worker_database.empty()
    return worker_database.url


@pytest.fixture
def new_database(rig: Rig) -> Iterator[Callable[..., str]]:
    """Makes further databases for one test: `new_database()` migrated, `new_database(migrated=False)` bare.

    About 0.2 s each, so for tests that change the schema or need two; others use `database_url`.
    """
    numbers = itertools.count()
    with contextlib.ExitStack() as made:

        def make(*, migrated: bool = True) -> str:
            name = f"test_{rig.worker}_extra_{next(numbers)}"
            return made.enter_context(_new_database(rig, name, TEMPLATE if migrated else "template0"))

        yield make


@contextlib.contextmanager
def _new_database(rig: Rig, name: str, template: str) -> Iterator[str]:
    with psycopg.connect(rig.postgres_url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield rig.url_of(name)
    with psycopg.connect(rig.postgres_url, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


class WorkerDatabase:
    """A database emptied between tests: a few milliseconds, where a copy of the template takes 200."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def __enter__(self) -> WorkerDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()

    def empty(self) -> None:
        """Ends every other session in the database and removes every row; numbering starts at 1 again, and
        what was counted of rows before is forgotten: a plan follows no other test's."""
        if self._connection is None or self._connection.broken or self._connection.closed:
            self._connection = psycopg.connect(self.url, application_name="test rig", autocommit=True)
        connection = self._connection
        connection.execute(END_OTHER_SESSIONS)
        tables = connection.execute(TABLES, [BIG_TABLE_BYTES]).fetchall()
        big = [name for name, is_big in tables if is_big]
        with connection.transaction():
            connection.execute("SET LOCAL session_replication_role = replica")  # no foreign keys, no guards
            if big:
                connection.execute(f"TRUNCATE {', '.join(big)} CASCADE")
            connection.execute("; ".join(f"DELETE FROM {name}" for name, _ in tables))
            connection.execute(RESTART_SEQUENCES)
            connection.execute(FORGET_COUNTED)


BIG_TABLE_BYTES = 1024 * 1024  # above this a DELETE would leave bloat that changes the next test's plans

END_OTHER_SESSIONS = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""

TABLES = """
    SELECT oid::regclass::text, pg_relation_size(oid) > %s FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'alembic_version'
"""

RESTART_SEQUENCES = """
    SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
    FROM pg_sequences WHERE last_value IS NOT NULL
"""

FORGET_COUNTED = """
    -- As the template has it: of no table anything is known, whatever was analyzed or vacuumed since.
    WITH forgotten AS (
      DELETE FROM pg_statistic USING pg_class
       WHERE starelid = pg_class.oid AND relnamespace = 'public'::regnamespace)
    UPDATE pg_class SET relpages = kind.pages, reltuples = kind.rows, relallvisible = 0
      FROM (VALUES ('r', 0, -1), ('i', 1, 0)) AS kind (name, pages, rows)
     WHERE relkind = kind.name::"char" AND relnamespace = 'public'::regnamespace
       AND (relpages, reltuples) IS DISTINCT FROM (kind.pages, kind.rows::real)
"""


@pytest.fixture
def redis_url(rig: Rig) -> Iterator[str]:
    """An empty Redis database that no other worker uses."""
    with _empty_redis(rig) as url:
        yield url


@contextlib.contextmanager
def _empty_redis(rig: Rig, *, beside: bool = False) -> Iterator[str]:
    number = 0 if rig.worker == "main" else 1 + int(rig.worker.removeprefix("gw"))
    most = REDIS_DATABASES // 2
    assert number < most, f"more workers than the test Valkey has databases for: {most}"
    url = f"{rig.redis_url.rpartition('/')[0]}/{number + most * beside}"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
        yield url
        client.flushdb()


@pytest.fixture
def engine_path() -> Iterator[Path]:
    """Where `tests.writing` says; gone with the test."""
    with tempfile.TemporaryDirectory(prefix="onsale-engines-") as folder:
        yield Path(folder)


@pytest.fixture
def engine_urls(database_url: str, redis_url: str) -> EngineUrls:
    return EngineUrls(database_url=database_url, redis_url=redis_url)


@contextlib.contextmanager
def engines_beside(rig: Rig) -> Iterator[EngineUrls]:
    """Both, empty, which no test that asks for `database_url` or `redis_url` touches; one at a time."""
    name = f"test_{rig.worker}_beside"
    with _new_database(rig, name, TEMPLATE) as database_url, _empty_redis(rig, beside=True) as redis_url:
        yield EngineUrls(database_url=database_url, redis_url=redis_url)
