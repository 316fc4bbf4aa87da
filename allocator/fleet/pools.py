"""Which workers are for cold events and which for hot ones; where there are too few, more are started. Pure.

Cold events share a *row*: one worker that owns them and others that stand by for all of them, on other hosts
where there are any. One row has at most `ROW_EVENTS_MAX` events, so many cold events have several. Hot
events have a *pool*, as large as their wanted workers together, so that each has its own; where slots are
short it is smaller and they share it. A worker is for whom it serves already, so that choosing again chooses
the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from uuid import UUID

from allocator.fleet.state import State
from store.fleet.view import EventSeen, HostSeen

ROW_EVENTS_MAX: Final = 200
"""Cold events that one worker owns; it is what one process was measured with."""


class Sizes(NamedTuple):
    cold: int
    hot: int


@dataclass
class Pools:
    """`rows`: of each row the owner first. `wanted` is what all would need, `slots` what there is."""

    rows: list[list[UUID]] = field(default_factory=list)
    hot: list[UUID] = field(default_factory=list)
    wanted: int = 0
    slots: int = 0

    def workers(self) -> list[UUID]:
        """All that are chosen."""
        return [worker for row in self.rows for worker in row] + self.hot


class Serves(NamedTuple):
    """How many events a worker attends to and is preferred for."""

    cold: int
    cold_preferred: int
    hot: int
    hot_preferred: int

    @property
    def is_hots(self) -> bool:
        """It is for hot events, whatever else it helps out with."""
        return self.hot_preferred > 0 or self.hot > self.cold


def choose(state: State) -> Pools:
    """The workers of each kind; starts those that are missing, as far as there are slots."""
    hot = [event for event in state.events.values() if state.hot(event)]
    cold = [event for event in state.events.values() if not state.hot(event)]
    usable, open_hosts = state.usable(), state.open_hosts()
    rows = -(-len(cold) // ROW_EVENTS_MAX)
    deep = max((event.workers for event in cold), default=0)
    wanted = rows * deep + sum(event.workers for event in hot)
    there_are = len(usable) + sum(state.free(host) for host in open_hosts)
    sizes = _sizes(rows, deep, hot, there_are)
    pools = Pools(wanted=wanted, slots=sum(host.slots for host in open_hosts))
    picking = _Picking(state, usable)
    for place in range(sizes.cold):
        row, depth = place % rows, place // rows
        if depth == 0:
            pools.rows.append([picking.row_owner()])
        else:
            pools.rows[row].append(picking.row_standby(pools.rows[row]))
    hosts: Counter[str] = Counter()
    for _ in range(sizes.hot):
        worker = picking.hot_worker(hosts)
        hosts[state.host_of(worker)] += 1
        pools.hot.append(worker)
    return pools


def _sizes(rows: int, deep: int, hot: list[EventSeen], there_are: int) -> Sizes:
    """What each kind gets: all they want, or first one each, then owners, then who stands by."""
    cold_size, hot_size, left = 0, 0, there_are
    wanted = sum(event.workers for event in hot)
    for cold_upto, hot_upto in (
        (min(1, rows), min(1, len(hot))),
        (rows, len(hot)),
        (rows * min(2, deep), wanted),
        (rows * deep, wanted),
    ):
        more = min(cold_upto - cold_size, left)
        cold_size, left = cold_size + more, left - more
        more = min(hot_upto - hot_size, left)
        hot_size, left = hot_size + more, left - more
    return Sizes(cold_size, hot_size)


class _Picking:
    """Picks one worker after the other; none twice. Whoever asks has counted that there are enough, with
    those that may be started."""

    def __init__(self, state: State, usable: list[UUID]) -> None:
        self._state = state
        self._left = usable
        self._serves = {worker: self._served(worker) for worker in usable}

    def row_owner(self) -> UUID:
        """Who owns most cold events; else one that is not for hot ones."""
        mine = self._best(
            [one for one in self._left if self._serves[one].cold_preferred],
            lambda one: -self._serves[one].cold_preferred,
        )
        other = self._best(
            [one for one in self._left if not self._serves[one].is_hots],
            lambda one: -self._serves[one].cold,
        )
        why = "for events that share a worker"
        return self._take(mine or other) or self._start(self._roomiest(), why) or self._any()

    def row_standby(self, row: list[UUID]) -> UUID:
        """On another host where possible."""
        state = self._state
        hosts = {state.host_of(worker) for worker in row}
        beside: dict[UUID, list[int]] = {}
        for rows in state.rows.values():
            if row[0] in rows and rows[row[0]].preferred:
                for worker, there in rows.items():
                    since = max(there.assigned_at, rows[row[0]].assigned_at)
                    beside.setdefault(worker, []).append(since)

        def helps(worker: UUID) -> tuple[int, int, int]:
            """Most of the owner's events, or the same number for longer."""
            since = beside.get(worker, [state.now])
            return -len(beside.get(worker, [])), min(since), -self._serves[worker].cold

        why = "stands by for events that share a worker"
        candidates = [one for one in self._left if not self._serves[one].is_hots]
        elsewhere = [one for one in candidates if state.host_of(one) not in hosts]
        return (
            self._take(self._best(elsewhere, helps))
            or self._start(self._roomiest(but=hosts), why + ", on another host")
            or self._take(self._best(candidates, helps))
            or self._start(self._roomiest(), why)
            or self._any()
        )

    def hot_worker(self, hosts: Counter[str]) -> UUID:
        """On the host with the fewest so far; there who serves most hot events already."""
        state = self._state
        best: dict[str, UUID] = {}
        for worker in sorted(self._left, key=lambda one: (*self._helps_hot(one), one), reverse=True):
            best[state.host_of(worker)] = worker  # the last one is the best
        rooms = {host.name for host in state.open_hosts() if state.free(host)}
        host = min(
            best.keys() | rooms,
            key=lambda name: (
                hosts[name],
                self._helps_hot(best[name]) if name in best else (0, 0, 1),
                -self._room(name),
                name,
            ),
        )
        if host in best:
            return self._take(best[host]) or self._any()
        return self._start(state.hosts[host], "for hot events") or self._any()

    def _helps_hot(self, worker: UUID) -> tuple[int, int, int]:
        serves = self._serves[worker]
        return -serves.hot_preferred, -serves.hot, serves.cold

    def _served(self, worker: UUID) -> Serves:
        state = self._state
        counts: Counter[tuple[bool, bool]] = Counter()
        for event, rows in state.rows.items():
            if worker in rows:
                counts[state.hot(state.events[event]), rows[worker].preferred] += 1
        cold, hot = counts[False, True], counts[True, True]
        return Serves(counts[False, False] + cold, cold, counts[True, False] + hot, hot)

    def _best(self, among: list[UUID], key: Callable[[UUID], Any]) -> UUID | None:
        """The first by that key, then by id."""
        return min(among, key=lambda one: (key(one), one), default=None)

    def _take(self, worker: UUID | None) -> UUID | None:
        if worker is not None:
            self._left.remove(worker)
        return worker

    def _any(self) -> UUID:
        """Nothing else is left: who is preferred for the fewest hot events."""
        worker = self._best(self._left, lambda one: (self._serves[one].hot_preferred, self._serves[one].hot))
        assert worker is not None, "sizes are counted from the workers and slots there are"
        self._left.remove(worker)
        return worker

    def _start(self, host: HostSeen | None, why: str) -> UUID | None:
        return None if host is None else self._state.start(host.name, why)

    def _roomiest(self, but: Collection[str] = ()) -> HostSeen | None:
        """The host with the most free slots."""
        state = self._state
        hosts = [host for host in state.open_hosts() if host.name not in but and state.free(host)]
        return min(hosts, key=lambda host: (-state.free(host), host.name), default=None)

    def _room(self, name: str) -> int:
        return self._state.free(self._state.hosts[name])
