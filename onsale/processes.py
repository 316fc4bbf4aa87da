"""A whole onsale on this machine: engines, gateways and allocators, each a process that can be named.

`Stack` starts them in order (engines, allocators and hosts, provider, chores, gateways), says when they are
ready, restarts what dies where that is wanted, and stops them in the opposite order. `throwaway_stack` is
one for a test, a benchmark or a stampede: engines, data and ports of its own, nothing restarted unasked,
everything gone afterwards. All processes end with this one, however it ends.

Names are `gateway-1`, `gateway-2` ..., `allocator-1` ..., `host-NAME` of a fleet's hosts, `provider-1`,
`chores-1`, and `postgres` and `valkey` for the engines. A host's workers are processes of its own: `workers`.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from onsale.engines.child import Child, spawn
from onsale.engines.data_dir import REPOSITORY
from onsale.engines.ports import LOOPBACK, free_port, is_free
from onsale.engines.postgres import PostgresServer
from onsale.engines.session import Engines, engines
from onsale.engines.valkey import ValkeyServer
from onsale.errors import FrontDoorError
from store.fleet.workers import Running, running
from store.settings import EngineUrls

READY_SECONDS_MAX = 60.0
READY_POLL_SECONDS = 0.05
STOP_SECONDS_MAX = 20.0
BACKOFF_SECONDS_FIRST = 0.5
BACKOFF_SECONDS_MAX = 15.0
HEALTHY_AFTER_SECONDS = 30.0


class ProcessError(FrontDoorError):
    """A gateway or an allocator cannot run."""


class NotReady(ProcessError):
    """A process did not become ready in time, or ended before it did."""


class AddressTaken(ProcessError):
    """The address people should connect to is used by another program."""


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One process to keep: the module it runs and what its environment adds."""

    name: str
    module: str
    env: Mapping[str, str] = field(default_factory=dict)
    ready_url: tuple[str, int] | None = None
    """Host and port whose /health/ready answers 200 when the process is ready; None: ready when started."""


class SupervisedProcess:
    """Keeps one process running until it is told to stop, with growing pauses between restarts."""

    def __init__(
        self,
        spec: ProcessSpec,
        *,
        env: Mapping[str, str],
        log_path: Path,
        restart: bool,
        say: Callable[[str], None],
    ) -> None:
        self.spec = spec
        self.log_path = log_path
        self.restarts = 0
        self._env = env
        self._restart = restart
        self._say = say
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._restarted = threading.Condition()
        self._child: Child | None = None
        self._watcher: threading.Thread | None = None

    @property
    def child(self) -> Child:
        assert self._child is not None, f"{self.spec.name} has not been started"
        return self._child

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.alive

    def start(self) -> None:
        """Starts the process; where restarts are wanted, also the thread that watches it."""
        assert not self.alive, f"{self.spec.name} is already running"
        self._stopping.clear()
        self._spawn()
        if self._restart and self._watcher is None:
            self._watcher = threading.Thread(
                target=self._watch, name=f"watches {self.spec.name}", daemon=True
            )
            self._watcher.start()

    def stop(self, patience_seconds: float = STOP_SECONDS_MAX) -> bool:
        """Ends the process and its watching. False when it had to be killed."""
        self._stopping.set()
        with self._lock:
            gently = self._child is None or self._child.stop(signal.SIGTERM, patience_seconds)
        if self._watcher is not None:
            self._watcher.join()
            self._watcher = None
        return gently

    def wait_alive(self, timeout_seconds: float) -> bool:
        """Waits until the process runs (again); whether it does."""
        with self._restarted:
            return self._restarted.wait_for(lambda: self.alive, timeout_seconds)

    def _spawn(self) -> None:
        with self._lock:
            if self._stopping.is_set():
                return
            self._child = spawn(
                self.spec.name,
                [sys.executable, "-m", self.spec.module],
                log_path=self.log_path,
                env={**self._env, **self.spec.env},
                cwd=REPOSITORY,
            )

    def _watch(self) -> None:
        backoff_seconds = BACKOFF_SECONDS_FIRST
        while True:
            started_at = time.monotonic()
            code = self.child.wait()
            if self._stopping.is_set():
                return
            if time.monotonic() - started_at > HEALTHY_AFTER_SECONDS:
                backoff_seconds = BACKOFF_SECONDS_FIRST
            self._say(
                f"{self.spec.name} {_ending(code)}; starting it again in {backoff_seconds:g} s. "
                f"Its log: {self.log_path}"
            )
            if self._stopping.wait(backoff_seconds):
                return
            backoff_seconds = min(backoff_seconds * 2, BACKOFF_SECONDS_MAX)
            self._spawn()
            with self._restarted:
                self.restarts += 1
                self._restarted.notify_all()


class Stack:
    """Gateways and allocators on running engines: `throwaway_stack` makes one, `onsale.up` the real one."""

    def __init__(
        self,
        both: Engines,
        *,
        gateways: int = 1,
        allocators: int = 2,
        hosts: Mapping[str, int] | None = None,
        chores: bool = False,
        host: str = LOOPBACK,
        port: int | None = None,
        one_address: bool = False,
        payments: bool = False,
        provider_port: int | None = None,
        restart_dead: bool = False,
        env: Mapping[str, str] | None = None,
        env_of: Mapping[str, Mapping[str, str]] | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """The first gateway listens on `port` (None: a free one), further ones on free ports; with
        `one_address` all share `port`, and each has a free one of its own besides. With `payments` there is a
        simulated provider too, `provider-1`, on `provider_port`, with whom buyers pay. `hosts` are those of a
        fleet, with their slots; `allocators` attend to every event, without a fleet.

        `env` is added to every process's environment, `env_of[name]` to that of one, where it wins over all
        else (so one process can be sent to its engines another way); `say` hears of deaths and restarts,
        from any thread.
        """
        self.engines = both
        self.host = host
        self.operator_key = both.data_dir.secret("operator-key")
        self.token_secret = both.data_dir.secret("token-secret")
        self.ticket_key = os.environ.get("ONSALE_TICKET_KEY") or both.data_dir.secret("ticket-key")
        self.room_key = os.environ.get("ONSALE_ROOM_KEY") or both.data_dir.secret("room-key")
        first = [] if one_address or port is None or not gateways else [port]
        ports = first + [free_port() for _ in range(gateways - len(first))]
        shared_port = (port or free_port()) if one_address else 0
        where = f"http://{_in_url(reachable(host))}:"
        self.base_urls = [f"{where}{each}" for each in ports]
        """Each gateway's own."""
        self.addresses = [f"{where}{shared_port}"] if shared_port else self.base_urls
        """Where people go: the address that gateways share, or each one's own."""
        self.base_url = next(iter(self.addresses), "")
        """The first of them, without a slash at the end."""
        specs = [ProcessSpec(f"allocator-{number}", "allocator") for number in range(1, allocators + 1)]
        for name, slots in (hosts or {}).items():
            own = {"ONSALE_HOST_NAME": name, "ONSALE_SLOTS": str(slots)}
            specs.append(ProcessSpec(f"host-{name}", "allocator.fleet", own))
        self.provider_url = self.provider_secret = ""
        """Of the simulated provider, if there is one: where it is, and what it signs with (`whsec_…`)."""
        paying: dict[str, str] = {}
        if payments:
            spec, paying = self._provider(provider_port or free_port())
            specs.append(spec)
        if chores:
            specs.append(
                ProcessSpec("chores-1", "onsale.chores", {"ONSALE_DATA_DIR": str(both.data_dir.path)})
            )
        specs += [
            ProcessSpec(f"gateway-{number}", "gateway", {"ONSALE_PORT": str(each)}, (reachable(host), each))
            for number, each in enumerate(ports, start=1)
        ]
        shared = {
            **_inherited_env(),
            **both.urls.as_env(),
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONUNBUFFERED": "1",
            "ONSALE_HOST": host,
            "ONSALE_SHARED_PORT": str(shared_port),
            "ONSALE_TOKEN_SECRET": self.token_secret,
            "ONSALE_OPERATOR_KEY": self.operator_key,
            **paying,
            "ONSALE_TICKET_KEY": self.ticket_key,
            "ONSALE_ROOM_KEY": self.room_key,
            **(env or {}),
        }
        self.payment_provider = shared.get("ONSALE_PAYMENT_PROVIDER", "")
        """With whom buyers pay; empty: with nobody."""
        env_of = env_of or {}
        unknown = env_of.keys() - {spec.name for spec in specs}
        assert not unknown, f"an environment is given for {', '.join(sorted(unknown))}, which are not started"
        self.processes = {
            spec.name: SupervisedProcess(
                spec,
                env={**shared, "ONSALE_PROCESS": spec.name, **env_of.get(spec.name, {})},
                log_path=both.data_dir.logs / f"{spec.name}.log",
                restart=restart_dead,
                say=say,
            )
            for spec in specs
        }

    def _provider(self, port: int) -> tuple[ProcessSpec, dict[str, str]]:
        """The simulated provider's process, and what everybody must know of it."""
        host = reachable(self.host)
        self.provider_url = f"http://{_in_url(host)}:{port}"
        secret = base64.b64encode(self.engines.data_dir.secret("simulated-secret").encode()).decode()
        self.provider_secret = f"whsec_{secret}"
        notify = ",".join(f"{each}/v1/payments/notices/simulated" for each in self.base_urls)
        own = {"ONSALE_PORT": str(port), "ONSALE_SIMULATED_NOTIFY": notify}
        own["ONSALE_SIMULATED_DIR"] = str(self.engines.data_dir.path / "simulated")
        all_know = {
            "ONSALE_PAYMENT_PROVIDER": "simulated",
            "ONSALE_SIMULATED_URL": self.provider_url,
            "ONSALE_SIMULATED_SECRET": self.provider_secret,
            "ONSALE_PUBLIC_URL": os.environ.get("ONSALE_PUBLIC_URL") or self.base_url,
        }
        return ProcessSpec("provider-1", "onsale.simulated", own, (host, port)), all_know

    @property
    def urls(self) -> EngineUrls:
        return self.engines.urls

    @property
    def postgres(self) -> PostgresServer:
        assert self.engines.postgres is not None, "DATABASE_URL replaces the embedded Postgres of this stack"
        return self.engines.postgres

    @property
    def valkey(self) -> ValkeyServer:
        assert self.engines.valkey is not None, "REDIS_URL replaces the embedded Valkey of this stack"
        return self.engines.valkey

    def start(self) -> None:
        """Starts every process and returns when all are ready; raises NotReady or AddressTaken."""
        for process in self.processes.values():
            if process.spec.ready_url is not None:
                require_free(self.host, process.spec.ready_url[1])
            process.start()
        self.wait_ready()

    def wait_ready(self, timeout_seconds: float = READY_SECONDS_MAX) -> None:
        """Returns when each process is ready; raises NotReady with the last words of one that is not."""
        deadline = time.monotonic() + timeout_seconds
        for process in self.processes.values():
            _wait_ready(process, deadline)

    def stop(self) -> None:
        """Ends gateways, chores, the provider and allocators; the engines belong to whoever started them."""
        for process in reversed(self.processes.values()):
            process.stop()

    def workers(self) -> list[Running]:
        """The workers that the fleet's hosts run now, or ran when last heard of; each says its `pid`."""
        with psycopg.connect(self.urls.database_url, autocommit=True) as conn:
            return running(conn)

    def pid(self, name: str) -> int:
        """The process id behind a name, engines included."""
        return self._server(name).pid if name in _ENGINES else self._process(name).child.pid

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Signals a process. After SIGKILL it returns when the process is gone; engines are killed whole."""
        if name in _ENGINES:
            assert number is signal.SIGKILL, "engines offer stop, pause and resume for anything but a kill"
            self._server(name).kill()
            return
        child = self._process(name).child
        child.send(number)
        if number is signal.SIGKILL:
            child.wait()

    def start_again(self, name: str, *, wait_until_ready: bool = True) -> None:
        """Starts a process or engine that ended; the addresses stay the same."""
        if name in _ENGINES:
            self._server(name).start()
            return
        process = self._process(name)
        process.start()
        if wait_until_ready:
            _wait_ready(process, time.monotonic() + READY_SECONDS_MAX)

    def log(self, name: str) -> str:
        """The last lines a process wrote."""
        return self._process(name).child.last_words()

    def _process(self, name: str) -> SupervisedProcess:
        assert name in self.processes, (
            f"no process {name!r}; there are {', '.join(self.processes)} and the engines"
        )
        return self.processes[name]

    def _server(self, name: str) -> PostgresServer | ValkeyServer:
        return self.postgres if name == "postgres" else self.valkey


_ENGINES = ("postgres", "valkey")


@contextlib.contextmanager
def throwaway_stack(
    *,
    gateways: int = 1,
    allocators: int = 2,
    one_address: bool = False,
    hosts: Mapping[str, int] | None = None,
    payments: bool = False,
    chores: bool = False,
    data_dir: Path | None = None,
    database_url: str | None = None,
    redis_url: str | None = None,
    env: Mapping[str, str] | None = None,
    env_of: Callable[[EngineUrls], Mapping[str, Mapping[str, str]]] | None = None,
    prepare: Callable[[EngineUrls], None] | None = None,
    restart_dead: bool = False,
) -> Iterator[Stack]:
    """A migrated, empty onsale of its own, ready when the block begins and gone when it ends.

    With `data_dir` None its data lives in a temporary directory and is removed; a URL replaces an engine.
    `prepare` is called after the migration and before the first process starts; `env_of` is told where the
    engines are and gives what `Stack` takes under that name.
    """
    from store import migrate

    with contextlib.ExitStack() as leaving:
        if data_dir is None:
            data_dir = Path(tempfile.mkdtemp(prefix="onsale-")) / "data"
            leaving.callback(shutil.rmtree, data_dir.parent, ignore_errors=True)
        both = leaving.enter_context(engines(data_dir, database_url=database_url, redis_url=redis_url))
        migrate.upgrade(both.urls.database_url)
        if prepare is not None:
            prepare(both.urls)
        stack = Stack(
            both,
            gateways=gateways,
            allocators=allocators,
            one_address=one_address,
            hosts=hosts,
            payments=payments,
            chores=chores,
            env=env,
            env_of=None if env_of is None else env_of(both.urls),
            restart_dead=restart_dead,
        )
        leaving.callback(stack.stop)
        stack.start()
        yield stack


def require_free(host: str, port: int) -> None:
    """Raises AddressTaken when another program listens there."""
    if not is_free(port, host):
        raise AddressTaken(
            f"Port {port} on {host} is taken by another program, or may not be used by you. "
            f"Choose another one: ./run up --port {port + 1}"
        )


def reachable(host: str) -> str:
    """Where this machine reaches a server that listens on `host` (a wildcard is no address to connect to)."""
    return {"0.0.0.0": LOOPBACK, "::": "::1", "": LOOPBACK}.get(host, host)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _inherited_env() -> dict[str, str]:
    """This process's environment without what would change how Python runs in the children."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "COV_"))
    }


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def _wait_ready(process: SupervisedProcess, deadline: float) -> None:
    where = process.spec.ready_url
    child = process.child
    while where is not None and not _answers_ready(*where):
        if child.wait(READY_POLL_SECONDS) is not None and not process.alive:
            raise NotReady(
                f"{process.spec.name} {_ending(child.exit_code)} before it was ready. Its last words:\n"
                f"{child.last_words()}\nThe whole log: {process.log_path}"
            )
        if time.monotonic() > deadline:
            raise NotReady(
                f"{process.spec.name} is not ready yet (http://{where[0]}:{where[1]}/health/ready). "
                f"Its last words:\n{child.last_words()}\nThe whole log: {process.log_path}"
            )


def _answers_ready(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
