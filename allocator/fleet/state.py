"""The fleet while it is planned: the view with the steps so far done to it, and the questions asked of it.
Pure.

A worker is *usable* where it may be given events: not told to stop, on a host that is there and not
draining, and within that host's slots. All others keep what they attend to until somebody usable owns it.
Where every host that is there is draining, they are the last resort and are given events all the same: what
stands still sells nothing.
"""

from __future__ import annotations

from uuid import UUID, uuid5

import msgspec

from store.fleet.steps import (
    Assign,
    Cool,
    Heat,
    LoseHost,
    LoseWorker,
    Note,
    Prefer,
    Start,
    Step,
    Stop,
    Unassign,
)
from store.fleet.view import Attends, EventSeen, HostSeen, View, WorkerSeen
from store.fleet.words import Mode


class State:
    """Steps are done by `do`, which also keeps them."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.now = view.now
        self.limits = view.limits
        self.steps: list[Step] = []
        self.hosts: dict[str, HostSeen] = {host.name: host for host in view.hosts}
        self.workers: dict[UUID, WorkerSeen] = {worker.id: worker for worker in view.workers}
        self.events: dict[int, EventSeen] = {event.id: event for event in view.events}
        self.rows: dict[int, dict[UUID, Attends]] = {event: {} for event in self.events}
        for row in view.attends:
            self.rows.setdefault(row.event, {})[row.worker] = row

    def do(self, step: Step) -> None:
        """Keep a step, and go on as if it were done."""
        self.steps.append(step)
        match step:
            case LoseHost(host=host):
                del self.hosts[host]
            case LoseWorker(worker=worker):
                del self.workers[worker]
                for rows in self.rows.values():
                    rows.pop(worker, None)
            case Start(worker=worker, host=host):
                self.workers[worker] = WorkerSeen(worker, host, self.now)
            case Stop(worker=worker):
                self.workers[worker] = msgspec.structs.replace(self.workers[worker], stopping=True)
            case Assign(event=event, worker=worker):
                self.rows[event][worker] = Attends(event, worker, self.now)
            case Unassign(event=event, worker=worker):
                del self.rows[event][worker]
            case Prefer(event=event, worker=worker):
                rows = self.rows[event]
                for one, row in rows.items():
                    rows[one] = msgspec.structs.replace(row, preferred=one == worker)
            case Note(event=event, busy_since=busy, quiet_since=quiet):
                seen = self.events[event]
                self.events[event] = msgspec.structs.replace(seen, busy_since=busy, quiet_since=quiet)
            case Heat(event=event, hot=hot) | Cool(event=event, hot=hot):
                seen = msgspec.structs.replace(self.events[event], hot=hot, busy_since=None, quiet_since=None)
                self.events[event] = seen

    def start(self, host: str, why: str) -> UUID:
        """A new worker on a host that has room."""
        worker = uuid5(self.view.seed, str(len(self.steps)))
        self.do(Start(worker=worker, host=host, why=why + self.although()))
        return worker

    def hot(self, event: EventSeen) -> bool:
        """Whether it has workers of its own: as an operator says, or by its load."""
        return event.hot if event.mode is Mode.AUTO else event.mode is Mode.HOT

    def host_of(self, worker: UUID) -> str:
        return self.workers[worker].host

    def attending(self, event: int) -> dict[UUID, Attends]:
        """Who attends to it and was not told to stop."""
        return {one: row for one, row in self.rows[event].items() if not self.workers[one].stopping}

    def preferred(self, event: int) -> UUID | None:
        """Who of them is to own it."""
        return next((one for one, row in self.attending(event).items() if row.preferred), None)

    def owner(self, event: int) -> UUID | None:
        """Who of them owns it."""
        owner = self.events[event].owner
        return owner if owner in self.attending(event) else None

    def attended_by(self) -> dict[UUID, list[Attends]]:
        """What each worker attends to."""
        found: dict[UUID, list[Attends]] = {worker: [] for worker in self.workers}
        for rows in self.rows.values():
            for worker, row in rows.items():
                found[worker].append(row)
        return found

    def open_hosts(self) -> list[HostSeen]:
        """Hosts that may be given events: those that are not draining, or all while there is no such one."""
        return [host for host in self.hosts.values() if not host.draining or self.last_resort()]

    def last_resort(self) -> bool:
        """Every host that is there is draining."""
        return bool(self.hosts) and all(host.draining for host in self.hosts.values())

    def although(self) -> str:
        """What there is to say of anything that is given to a host now."""
        return "; it is draining, but no other host is there" if self.last_resort() else ""

    def free(self, host: HostSeen) -> int:
        """Slots no worker has, also none that is stopping."""
        return max(0, host.slots - sum(worker.host == host.name for worker in self.workers.values()))

    def usable(self) -> list[UUID]:
        """Of a host with more workers than slots those that attend to most, the oldest first."""
        attended = self.attended_by()
        found: list[UUID] = []
        for host in self.open_hosts():
            mine = [one for one in self.workers.values() if one.host == host.name and not one.stopping]
            mine.sort(key=lambda one: (-len(attended[one.id]), one.wanted_at, one.id))
            found += [one.id for one in mine[: host.slots]]
        return sorted(found)
