"""Virtual time, the processes in it and who goes next: everything by one seed.

A process is a greenlet that runs real, synchronous code. Each call on a port (a statement, a stream
command) is a *step*: the process says what it is about to do, sleeps a random little while, and does it
when it is woken. So between any two steps of a process every other one may run, be killed or be stopped.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from random import Random
from typing import Any

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]

START_US = 1_763_720_000_000_000
SECOND = 1_000_000
RATES: dict[str, tuple[float, ...]] = {
    "connection cut": (0.0, 0.001, 0.004),
    "commit unknown": (0.0, 0.02, 0.2),
    "serialization failure": (0.0, 0.01, 0.1),
    "append unknown": (0.0, 0.05, 0.2),
    "read fails": (0.0, 0.002, 0.01),
    "publication lost": (0.0, 0.05, 0.3),
    "backend does not end": (0.0, 0.1, 0.5),
}
"""How often what goes wrong by itself does, of the calls of that kind; each seed draws its own."""


class Killed(BaseException):
    """This process is no more; unwinds its greenlet."""


class World:
    """The clock, the queue of what happens next, and what is remembered of the run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.now_us = START_US
        self.steps = 0
        self.trace: list[tuple[int, str, str]] = []
        """(when, who, what) of every step."""
        self.counters: Counter[str] = Counter()
        self.broken: list[str] = []
        """Laws seen broken while it ran."""
        self.calm = False
        """No more trouble: everything is being healed."""
        self.hosts: list[Host] = []
        self.rates = {what: self.random.choice(often) for what, often in RATES.items()}
        self.on_step: Callable[[Process], None] = lambda process: None
        self._queue: list[tuple[int, int, Any, int]] = []
        self._order = 0
        self.hub = getcurrent()
        self.current: Process | None = None
        """Whose code runs now."""

    # --- time ---

    def monotonic(self) -> float:
        return self.now_us / SECOND

    def at(self, when_us: int, action: Callable[[], object]) -> None:
        """Something that happens then, once."""
        self._order += 1
        heapq.heappush(self._queue, (when_us, self._order, action, 0))

    def after(self, seconds: float, action: Callable[[], object]) -> None:
        self.at(self.now_us + int(seconds * SECOND), action)

    def wake_at(self, when_us: int, process: Process) -> None:
        self._order += 1
        heapq.heappush(self._queue, (when_us, self._order, process, process.token))

    def latency_us(self) -> int:
        """How long a call takes to arrive: mostly well below a millisecond, now and then many."""
        drawn = self.random.random()
        return 50 + int(drawn * 900) if drawn < 0.97 else int(drawn * 30_000)

    def note(self, who: str, what: str, *, counted: bool = True) -> None:
        """A step: somebody does something that others can see."""
        self.steps += counted
        self.trace.append((self.now_us, who, what))

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def wrong(self, what: str) -> bool:
        """Whether this call goes wrong; never when it is calm."""
        return not self.calm and self.random.random() < self.rates[what]

    def run(self, until: Callable[[], bool]) -> None:
        """Let things happen until `until`, or until nothing is left to happen."""
        queue, pop = self._queue, heapq.heappop
        while queue and not until():
            when_us, _, action, token = pop(queue)
            self.now_us = max(self.now_us, when_us)
            if token:
                action.wake(token)
            else:
                action()

    def digest(self) -> str:
        """Of everything that happened: equal for two runs of one seed."""
        told = "\n".join([f"{when} {who} {what}" for when, who, what in self.trace])
        return blake2b(told.encode(), digest_size=16).hexdigest()

    def end(self) -> None:
        """Unwind every process that still runs."""
        for host in self.hosts:
            host.dead = True
            host.unwind()
        self._queue.clear()


class Host:
    """An operating-system process: what is killed and stopped together."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.dead = False
        self.stopped_until_us = 0
        self.processes: list[Process] = []
        self.on_kill: list[Callable[[], None]] = []
        self.again: Callable[[], object] | None = None
        """Starts another one like it."""
        world.hosts.append(self)

    @property
    def stopped(self) -> bool:
        return self.stopped_until_us > self.world.now_us

    def start(self, name: str, work: Callable[[Process], None]) -> Process:
        process = Process(self, name, work)
        self.processes.append(process)
        self.world.wake_at(self.world.now_us + self.world.latency_us(), process)
        return process

    def stop(self, seconds: float) -> None:
        """As SIGSTOP, and SIGCONT that much later."""
        self.stopped_until_us = self.world.now_us + int(seconds * SECOND)

    def kill(self) -> None:
        """As SIGKILL: none of it runs again. What it sent to an engine may still have its effect."""
        if self.dead:
            return
        self.dead = True
        self.world.at(self.world.now_us, self.unwind)
        for tell in self.on_kill:
            tell()

    def unwind(self) -> None:
        """Run its processes' way out; from the hub only, to which each of them returns."""
        for process in self.processes:
            process.unwind()


class Process:
    """One thread of control of a host."""

    def __init__(self, host: Host, name: str, work: Callable[[Process], None]) -> None:
        self.host = host
        self.world = host.world
        self.name = name
        self.allocator: Any = None
        """Whose process it is, if an allocator's."""
        self.counted = True
        """Whether its steps are among those a run is asked for; what a waiting room does comes on top."""
        self.token = 1
        self._work = work
        self._greenlet = greenlet(self._run, self.world.hub)

    def _run(self) -> None:
        try:
            with suppress(Killed):
                self._work(self)
        except Exception as error:
            self.world.broken.append(f"{self.name} stopped: {error!r}")

    def wake(self, token: int) -> None:
        """Go on, unless something else woke it before, or it is dead; later when it is stopped."""
        host = self.host
        if token != self.token or host.dead:
            return
        if host.stopped_until_us > self.world.now_us:
            self.world.wake_at(host.stopped_until_us, self)
            return
        self.token += 1
        self.world.current = self
        self._greenlet.switch()

    def unwind(self) -> None:
        if self._greenlet:
            self._greenlet.throw(Killed)

    def park(self, until_us: int) -> None:
        """Wait until then, or for `nudge`."""
        self.world.wake_at(until_us, self)
        self.world.hub.switch()
        if self.host.dead:
            raise Killed

    def nudge(self) -> None:
        """Wake it from `park`, a moment from now."""
        self.world.wake_at(self.world.now_us + self.world.latency_us(), self)

    def step(self, what: str) -> None:
        """About to do something others can see: returns when its time has come, or raises `Killed`."""
        if self.host.dead:
            raise Killed
        self.park(self.world.now_us + self.world.latency_us())
        self.world.on_step(self)
        self.world.note(self.name, what, counted=self.counted)

    def sleep(self, seconds: float) -> None:
        self.park(self.world.now_us + int(seconds * SECOND))
