"""The onsale that is tortured: real processes and engines, durable as always, each behind its own link."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from bench.evidence import Finding
from bench.torture.office import as_operator
from bench.torture.proxy import Link, Relay
from onsale.engines.session import engines
from onsale.processes import NotReady, Stack
from store import events, migrate
from store.words import EventState

GATEWAYS = 2
ALLOCATORS = 3
START_TRIES_MAX = 5
STAYS_SECONDS = 0.3
"""A process that cannot start is gone by then."""
LOOK_SECONDS_MAX = 1
OWNERS = """
SELECT worker FROM lease JOIN event ON event.id = lease.event_id
 WHERE owner IS NOT NULL AND state = 'open'
"""


class Stage:
    """A running stack with what is needed to break it. Methods may be called from any thread."""

    def __init__(self, stack: Stack, links: dict[str, dict[str, Link]], logs: Path) -> None:
        self.stack = stack
        self.links = links
        """Engine → process → its link."""
        self.logs = logs
        self.slug = ""
        """The event on sale."""
        self._noticed: list[Finding] = []
        self._logs: dict[str, LogTail] = {}
        self._owner = "allocator-1"
        self._down: set[str] = set()
        self._lock = threading.Lock()

    @property
    def database_url(self) -> str:
        """Straight to Postgres, for those who look on."""
        return self.stack.urls.database_url

    def owner(self) -> str:
        """The allocator that owns an open event; the last one known when Postgres cannot say."""
        with contextlib.suppress(psycopg.Error):
            options = f"-c statement_timeout={LOOK_SECONDS_MAX * 1000}"
            with psycopg.connect(
                self.database_url, connect_timeout=LOOK_SECONDS_MAX, options=options
            ) as conn:
                workers = [str(worker).rpartition(":")[2] for (worker,) in conn.execute(OWNERS).fetchall()]
            for name in self.allocators():
                if str(self.stack.processes[name].child.pid) in workers:
                    self._owner = name
        return self._owner

    def standby(self) -> str:
        """An allocator that is not the owner."""
        owner = self.owner()
        return next(name for name in self.allocators() if name != owner)

    def allocators(self) -> list[str]:
        return [name for name in self.stack.processes if name.startswith("allocator")]

    def kill(self, name: str) -> None:
        """SIGKILL; a process or an engine with all its processes."""
        with self._lock:
            self._down.add(name)
        self.stack.kill(name)

    def stop(self, name: str, patience_seconds: float) -> bool:
        """SIGTERM; False when it had to be killed."""
        with self._lock:
            self._down.add(name)
        return self.stack.processes[name].stop(patience_seconds)

    def start(self, name: str) -> None:
        """Start what was ended; again if its port was in use just then."""
        if name in ("postgres", "valkey"):
            self.stack.start_again(name)
            return
        for _ in range(START_TRIES_MAX):
            self.stack.start_again(name, wait_until_ready=False)
            if self.stack.processes[name].child.wait(STAYS_SECONDS) is None:
                break
        else:
            raise NotReady(f"{name} ends whenever it is started. Its last words:\n{self.stack.log(name)}")
        with self._lock:
            self._down.discard(name)

    def set_state(self, state: EventState) -> None:
        """What an operator would do with the event on sale, and again while Postgres is away."""

        def once(conn: psycopg.Connection[Any]) -> None:
            if events.get_event(conn, self.slug).state is not state:
                events.set_state(conn, self.slug, state)

        as_operator(self.database_url, once)

    def revive(self) -> None:
        """Start again what died by itself, and remember that it did."""
        for name, process in self.stack.processes.items():
            if not process.alive:
                if name not in self._down:
                    story = f"{name} ended by itself (exit code {process.child.exit_code})"
                    self._noticed.append(Finding("died", f"{story}: {self.stack.log(name)}"))
                self.start(name)

    def noticed(self) -> list[Finding]:
        """Since the last time: processes that ended by themselves, and alerts in their logs."""
        found, self._noticed = self._noticed, []
        for name in self.stack.processes:
            new = self._logs.setdefault(name, LogTail(self.logs / f"{name}.log")).read()
            found += [Finding("alert", f"{name}: {story}") for story in alerts(new)]
        return found


class LogTail:
    """What a bounded log got since the last look, also when it became `.1` and a new one began meanwhile.

    Of two such changes between two looks the older text is gone: that is the log's bound.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = path.with_name(path.name + ".1")
        self._file = 0
        """The inode of the file that was read; it stays the same when the file is renamed."""
        self._read_bytes = 0

    def read(self) -> str:
        """The new text."""
        new = b""
        with contextlib.suppress(FileNotFoundError), open(self._path, "rb") as log:
            file = os.fstat(log.fileno()).st_ino
            # it may be as long as the one before by now, and a number given anew: either tells of a change
            if file != self._file or os.fstat(log.fileno()).st_size < self._read_bytes:
                new, self._file, self._read_bytes = self._rest_of_the_one_before(), file, 0
            log.seek(self._read_bytes)
            text = log.read()
            self._read_bytes += len(text)
            new += text
        return new.decode(errors="replace")

    def _rest_of_the_one_before(self) -> bytes:
        with contextlib.suppress(FileNotFoundError), open(self._before, "rb") as log:
            log.seek(self._read_bytes if os.fstat(log.fileno()).st_ino == self._file else 0)
            return log.read()
        return b""


def alerts(log: str) -> list[str]:
    """Lines that ask for a hand, and the last line of each traceback."""
    found = []
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if "ALERT" in line:
            found.append(line)
        elif line.startswith("Traceback (most recent call last)"):
            last = next((each for each in lines[number + 1 :] if not each.startswith(" ")), "")
            found.append(f"a traceback that ends with {last}")
    return found


@contextlib.contextmanager
def stage(*, gateways: int = GATEWAYS, allocators: int = ALLOCATORS) -> Iterator[Stage]:
    """A migrated, empty onsale of its own behind links; gone when the block ends, its logs included."""
    home = Path(tempfile.mkdtemp(prefix="onsale-torture-"))
    with contextlib.ExitStack() as leaving:
        leaving.callback(shutil.rmtree, home, ignore_errors=True)
        both = leaving.enter_context(engines(home / "data"))
        migrate.upgrade(both.urls.database_url)
        relay = leaving.enter_context(Relay())
        stack = Stack(both, gateways=gateways, allocators=allocators)
        links: dict[str, dict[str, Link]] = {"postgres": {}, "valkey": {}}
        for name, process in stack.processes.items():
            postgres = links["postgres"][name] = relay.link(both.urls.database_url)
            valkey = links["valkey"][name] = relay.link(both.urls.redis_url)
            ways = {
                "DATABASE_URL": postgres.url(both.urls.database_url),
                "REDIS_URL": valkey.url(both.urls.redis_url),
            }
            process.spec = replace(process.spec, env={**process.spec.env, **ways})
        leaving.callback(stack.stop)
        stack.start()
        yield Stage(stack, links, both.data_dir.logs)
