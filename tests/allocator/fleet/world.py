"""A fleet that never was: hosts, workers and leases that do what plans say, second by second.

It is a plain model of what `store.fleet.steps` writes and of what agents, workers and leases make of it, and
holds each turn to what may never happen.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from allocator.fleet.plan import plan
from store.fleet.alive import LOST_SECONDS
from store.fleet.limits import Limits
from store.fleet.steps import (
    Assign,
    Cool,
    Heat,
    LoseHost,
    LoseWorker,
    Note,
    Prefer,
    Short,
    Start,
    Step,
    Stop,
    Unassign,
)
from store.fleet.view import Attends, EventSeen, HostSeen, Shortage, View, WorkerSeen
from store.fleet.words import Mode

SECOND = 1_000
S = TypeVar("S", bound=Step)


@dataclass
class Host:
    slots: int
    up: bool = True
    draining: bool = False
    seen_at: int = 0
    known: bool = True
    """It has a row."""


@dataclass
class Worker:
    host: str
    wanted_at: int
    seen_at: int | None = None
    stopping: bool = False
    moved_at: int | None = None
    dead: bool = False
    runs: bool = False


@dataclass
class Row:
    assigned_at: int
    preferred: bool = False
    warm_at: int | None = None
    """From when on it is warm."""


@dataclass
class Event:
    workers: int = 2
    mode: Mode = Mode.AUTO
    hot: bool = False
    busy_since: int | None = None
    quiet_since: int | None = None
    edition: int = 1
    arrivals: float = 0.0
    undecided: int = 0
    owner: UUID | None = None


@dataclass
class World:
    """`second` is one turn of the planner and what comes of it."""

    limits: Limits = field(default_factory=Limits)
    chance: random.Random = field(default_factory=lambda: random.Random(0))
    now: int = 1_000 * SECOND
    hosts: dict[str, Host] = field(default_factory=dict)
    workers: dict[UUID, Worker] = field(default_factory=dict)
    events: dict[int, Event] = field(default_factory=dict)
    rows: dict[int, dict[UUID, Row]] = field(default_factory=dict)
    short: Shortage = field(default_factory=Shortage)
    heard_since: int = 0
    told: list[Step] = field(default_factory=list)

    def host(self, name: str, slots: int) -> None:
        self.hosts[name] = Host(slots, seen_at=self.now)

    def event(self, event: int, workers: int = 2, mode: Mode = Mode.AUTO, hot: bool = False) -> None:
        self.events[event] = Event(workers, mode, hot)
        self.rows[event] = {}

    def ends(self, event: int) -> None:
        del self.events[event]

    def dies(self, host: str) -> None:
        """With all that runs there."""
        self.hosts[host].up = False
        for worker in self.workers.values():
            worker.dead |= worker.host == host and worker.runs

    def comes_back(self, host: str) -> None:
        self.hosts[host].up = True

    def kill(self, worker: UUID) -> None:
        self.workers[worker].dead = True

    def view(self) -> View:
        return View(
            now=self.now,
            heard_since=self.heard_since,
            seed=UUID(int=self.chance.getrandbits(128)),
            limits=self.limits,
            hosts=tuple(
                HostSeen(name, host.slots, host.seen_at, host.draining)
                for name, host in sorted(self.hosts.items())
                if host.known
            ),
            workers=tuple(
                WorkerSeen(one, it.host, it.wanted_at, it.seen_at, it.stopping, it.moved_at)
                for one, it in sorted(self.workers.items())
            ),
            events=tuple(
                EventSeen(
                    event,
                    f"event-{event}",
                    it.mode,
                    it.workers,
                    it.hot,
                    it.busy_since,
                    it.quiet_since,
                    it.edition,
                    it.owner,
                    self.now if it.owner is not None else None,
                    it.arrivals,
                    it.undecided,
                )
                for event, it in sorted(self.events.items())
            ),
            attends=tuple(
                Attends(event, worker, row.assigned_at, row.preferred, self.warm(event, worker))
                for event, rows in sorted(self.rows.items())
                for worker, row in sorted(rows.items(), key=lambda pair: (pair[1].assigned_at, pair[0]))
            ),
            short=self.short,
        )

    def second(self) -> list[Step]:
        """One turn: plan, check, do, and let the fleet react."""
        steps = self.turn()
        self.now += SECOND
        self._hosts_and_workers()
        self._leases()
        return steps

    def turn(self) -> list[Step]:
        steps = plan(self.view())
        moved = 0
        attended = {event: self.heard_in(event) for event in self.events}
        for step in steps:
            if isinstance(step, Prefer) and self._takes(step):
                assert self.warm(step.event, step.worker), "it could own it at once"
                moved += 1
            self.do(step)
        assert moved <= self.limits.moves_per_turn_max, "moves are bounded"
        for event, there in attended.items():
            assert not there or self.heard_in(event), f"nobody attends to {event} any more"
        for name, host in self.hosts.items():
            mine = sum(worker.host == name for worker in self.workers.values())
            started = any(isinstance(step, Start) and step.host == name for step in steps)
            assert not started or mine <= host.slots, f"{name} has more workers than slots"
        again = plan(self.view())
        assert again == [], f"planned again: {again} after {steps}"
        self.told += steps
        return steps

    def settle(self, seconds: int = 400) -> int:
        """Until there is nothing to do, spare workers included; how many seconds it took."""
        quiet = 0
        for second in range(seconds):
            quiet = 0 if self.second() else quiet + 1
            if quiet > 70:
                return second - quiet
        raise AssertionError(f"not settled after {seconds} s: {self.told[-10:]}")

    def do(self, step: Step) -> None:
        """What the step writes."""
        match step:
            case LoseHost(host=name):
                self.hosts[name].known = False
            case LoseWorker(worker=worker):
                del self.workers[worker]
                for rows in self.rows.values():
                    rows.pop(worker, None)
            case Start(worker=worker, host=name):
                host = self.hosts[name]
                assert host.known, "nothing is started on a host that is gone"
                assert self.usable(name), "nothing is started on a host that drains"
                self.workers[worker] = Worker(name, self.now)
            case Stop(worker=worker):
                assert not any(worker in rows for rows in self.rows.values()), "it attends to nothing"
                self.workers[worker].stopping = True
            case Assign(event=event, worker=worker):
                it = self.workers[worker]
                assert not it.stopping
                assert self.usable(it.host), "nothing new where nothing may be given to"
                assert worker not in self.rows[event]
                self.rows[event][worker] = Row(self.now)
            case Unassign(event=event, worker=worker):
                row = self.rows[event].pop(worker)
                if event in self.events and worker in self.workers:
                    assert worker != self.events[event].owner, "an owner is never taken off its event"
                    assert not row.preferred, "nor who is to own it"
                    assert any(self.warm(event, other) for other in self.rows[event])
                if worker in self.workers:
                    self.workers[worker].moved_at = self.now
            case Prefer(event=event, worker=worker):
                for one, row in self.rows[event].items():
                    row.preferred = one == worker
            case Note(event=event, busy_since=busy, quiet_since=quiet):
                self.events[event].busy_since, self.events[event].quiet_since = busy, quiet
            case Heat(event=event, hot=hot) | Cool(event=event, hot=hot):
                it_is = self.events[event]
                it_is.hot, it_is.busy_since, it_is.quiet_since = hot, None, None
            case Short(wanted=wanted, slots=slots, kept_cold=kept, drained=drained):
                self.short = Shortage(wanted, slots, kept, drained)
            case _:
                raise AssertionError(f"an unknown step: {step}")
        assert step.why or isinstance(step, Note), "each step says why"

    def usable(self, host: str) -> bool:
        """It may be given events: it is not draining, or all that are there are."""
        if host not in self.hosts or not self.hosts[host].known:
            return False
        return not self.hosts[host].draining or not self.open_hosts()

    def open_hosts(self) -> list[str]:
        """Those that are not draining."""
        return [name for name, host in self.hosts.items() if host.known and not host.draining]

    def slots(self) -> int:
        """Of hosts that may be given events."""
        return sum(host.slots for name, host in self.hosts.items() if self.usable(name))

    def warm(self, event: int, worker: UUID) -> bool:
        row = self.rows[event].get(worker)
        return row is not None and row.warm_at is not None and row.warm_at <= self.now

    def alive_in(self, event: int) -> list[UUID]:
        """Who attends to it, runs, and is not gone."""
        return [one for one in self.rows[event] if one in self.workers and self._runs(one)]

    def heard_in(self, event: int) -> list[UUID]:
        """Who attends to it, as far as anybody can know: who died a moment ago is not known to be gone."""
        silent = {one: self.now - (it.seen_at or 0) for one, it in self.workers.items()}
        return [one for one in self.rows[event] if silent.get(one, self.now) <= LOST_SECONDS * SECOND]

    def _runs(self, worker: UUID) -> bool:
        return self.workers[worker].runs and not self.workers[worker].dead

    def load(self) -> Counter[UUID]:
        """Events by worker."""
        return Counter(worker for event in self.events for worker in self.rows[event])

    def _takes(self, step: Prefer) -> bool:
        owner = self.events[step.event].owner
        alive = owner in self.alive_in(step.event)
        return alive and owner != step.worker

    def _hosts_and_workers(self) -> None:
        for name, host in self.hosts.items():
            if host.up:
                host.seen_at, host.known = self.now, True
                running = [one for one in self.workers.values() if one.host == name and one.runs]
                for worker in self.workers.values():
                    waits = worker.host == name and not worker.runs and not worker.dead
                    if waits and not worker.stopping and len(running) < host.slots:
                        worker.runs = True
                        running.append(worker)
        for worker_id, worker in list(self.workers.items()):
            if worker.stopping and not worker.dead:
                del self.workers[worker_id]
                for rows in self.rows.values():
                    rows.pop(worker_id, None)
            elif worker.runs and not worker.dead:
                worker.seen_at = self.now
        for rows in self.rows.values():
            for worker_id, row in rows.items():
                runs = worker_id in self.workers and self.workers[worker_id].runs
                if row.warm_at is None and runs and not self.workers[worker_id].dead:
                    row.warm_at = self.now + SECOND * self.chance.randrange(3)
                if worker_id in self.workers and self.workers[worker_id].dead:
                    row.warm_at = (
                        None if self.now - (row.warm_at or 0) > LOST_SECONDS * SECOND else row.warm_at
                    )

    def _leases(self) -> None:
        for event, it in self.events.items():
            able = [one for one in self.alive_in(event) if self.warm(event, one)]
            preferred = next((one for one in able if self.rows[event][one].preferred), None)
            if it.owner not in self.alive_in(event):
                it.owner = preferred or (self.chance.choice(able) if able else None)
            elif preferred is not None:
                it.owner = preferred


def of_kind(steps: Sequence[Step], kind: type[S]) -> list[S]:
    return [step for step in steps if isinstance(step, kind)]
