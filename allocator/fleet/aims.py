"""Who is to attend to each event in the end, and who of them is to own it. Pure.

It keeps what is: an event leaves a worker that is not chosen for its kind, or that has two events more than
another; and it goes to another host where all who attend to it are on one. Each of these makes the next one
less likely (the squares of how much each worker has fall, or else the events on one host only), so it ends,
and asked again of a fleet as it aims at, it aims at the same.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from uuid import UUID

from allocator.fleet.pools import ROW_EVENTS_MAX, Pools
from allocator.fleet.state import State
from store.fleet.view import EventSeen


@dataclass
class Aim:
    """`workers` in order of preference, `owner` one of them; none where nobody can be given events."""

    workers: list[UUID] = field(default_factory=list)
    owner: UUID | None = None


def aim(state: State, pools: Pools) -> dict[int, Aim]:
    """An aim for each event."""
    aims: dict[int, Aim] = {}
    home = pools.hot or list(chain(*pools.rows))
    hot = [event for event in state.events.values() if state.hot(event)]
    sharing = _Sharing(state, home)
    for event in hot:
        aims[event.id] = Aim(sharing.keep(event))
    for event in hot:
        sharing.fill(event, aims[event.id].workers)
    sharing.even_out({event.id: aims[event.id].workers for event in hot})
    for event in hot:
        others = [worker for worker in chain(*pools.rows) if worker not in home]
        _borrow(state, event, aims[event.id].workers, others)
    _owners(state, home, {event.id: aims[event.id] for event in hot})
    for event, row in _rows(state, pools):
        aims[event.id] = _cold(state, event, row, pools)
    return aims


class _Sharing:
    """How hot events share the workers there are for them: evenly, so that where there are enough each event
    has its own."""

    def __init__(self, state: State, pool: list[UUID]) -> None:
        self._state = state
        self._pool = pool
        self._attended = Counter[UUID]()
        """Events a worker attends to now, on their way included."""
        self._has = Counter[UUID]()
        """Events it is to attend to."""
        for event in state.events.values():
            if state.hot(event):
                self._attended.update(state.attending(event.id).keys() & set(pool))

    def keep(self, event: EventSeen) -> list[UUID]:
        """Of those of the pool that attend to it now as many as it may have: not who has the most events."""
        state, rows = self._state, self._state.attending(event.id)
        kept = sorted(worker for worker in rows if worker in self._pool)
        while len(kept) > self._wanted(event):
            kept.remove(
                max(
                    kept,
                    key=lambda one: (
                        self._hosts([other for other in kept if other != one]) > 1,
                        self._attended[one],
                        not rows[one].preferred,
                        one != state.owner(event.id),
                        not rows[one].warm,
                        one,
                    ),
                )
            )
        self._has.update(kept)
        return kept

    def fill(self, event: EventSeen, workers: list[UUID]) -> None:
        """As many as it is to have: who has the fewest events, on another host where there is a choice."""
        state = self._state
        while len(workers) < self._wanted(event):
            hosts = {state.host_of(one) for one in workers}
            least = min(
                (one for one in self._pool if one not in workers),
                key=lambda one: (self._has[one], state.host_of(one) in hosts, -self._idle(one), one),
            )
            workers.append(least)
            self._has[least] += 1

    def even_out(self, aims: dict[int, list[UUID]]) -> None:
        """Nobody has two events more than another; nobody's workers are all on one host while there is one
        with fewer events elsewhere."""
        while self._from_most_to_least(aims) or self._apart(aims):
            pass

    def _from_most_to_least(self, aims: dict[int, list[UUID]]) -> bool:
        by_load = sorted(self._pool, key=lambda one: (self._has[one], one))
        for least in by_load:
            for most in reversed(by_load):
                if self._has[most] - self._has[least] < 2:
                    break
                movable = [
                    (self._is_preferred(event, most), event)
                    for event, workers in aims.items()
                    if most in workers and least not in workers
                ]
                if movable:
                    self._move(aims[min(movable)[1]], most, least)
                    return True
        return False

    def _apart(self, aims: dict[int, list[UUID]]) -> bool:
        state = self._state
        for event, workers in aims.items():
            if len(workers) < 2 or self._hosts(workers) > 1:
                continue
            here = state.host_of(workers[0])
            most = max(workers, key=lambda one: (self._has[one], not self._is_preferred(event, one), one))
            away = [
                one for one in self._pool if state.host_of(one) != here and self._has[one] < self._has[most]
            ]
            if away:
                self._move(workers, most, min(away, key=lambda one: (self._has[one], one)))
                return True
        return False

    def _move(self, workers: list[UUID], leaves: UUID, comes: UUID) -> None:
        workers[workers.index(leaves)] = comes
        self._has[leaves] -= 1
        self._has[comes] += 1

    def _wanted(self, event: EventSeen) -> int:
        return min(event.workers, len(self._pool))

    def _hosts(self, workers: list[UUID]) -> int:
        return len({self._state.host_of(worker) for worker in workers})

    def _idle(self, worker: UUID) -> int:
        """Workers of its host that have nothing yet: pairs begin where most are left."""
        host = self._state.host_of(worker)
        return sum(self._state.host_of(one) == host and not self._has[one] for one in self._pool)

    def _is_preferred(self, event: int, worker: UUID) -> bool:
        return self._state.preferred(event) == worker


def _borrow(state: State, event: EventSeen, workers: list[UUID], others: list[UUID]) -> None:
    """Where its own kind has a single worker, one of the other kind stands by for it."""
    if len(workers) != 1 or event.workers == 1 or not others:
        return
    rows, host = state.attending(event.id), state.host_of(workers[0])
    workers.append(min(others, key=lambda one: (state.host_of(one) == host, one not in rows, one)))


def _owners(state: State, home: list[UUID], aims: dict[int, Aim]) -> None:
    """Who is preferred or owns stays it; but nobody owns two events more than another who attends to one of
    them."""
    owned = Counter[UUID]()
    for event, wanted in aims.items():
        able = [worker for worker in wanted.workers if worker in home]
        if not able:
            continue
        now = (state.preferred(event), state.owner(event))
        wanted.owner = next((one for one in now if one in able), None) or min(
            able, key=lambda one: owned[one]
        )
        owned[wanted.owner] += 1
    moved = True
    while moved:
        moved = False
        for wanted in aims.values():
            able = [worker for worker in wanted.workers if worker in home]
            least = min(able, key=lambda one: (owned[one], one), default=None)
            if least is None or wanted.owner is None or owned[wanted.owner] - owned[least] < 2:
                continue
            owned[wanted.owner] -= 1
            owned[least] += 1
            wanted.owner, moved = least, True


def _rows(state: State, pools: Pools) -> list[tuple[EventSeen, list[UUID]]]:
    """Each cold event with its row: where most who attend to it are, else the one with the fewest events."""
    found: list[tuple[EventSeen, list[UUID]]] = []
    counts = Counter[int]()
    homeless: list[EventSeen] = []
    for event in state.events.values():
        if state.hot(event):
            continue
        rows, preferred = state.attending(event.id), state.preferred(event.id)
        ours = [
            (preferred in row, sum(worker in rows for worker in row), -number)
            for number, row in enumerate(pools.rows)
        ]
        _, there, number = max(ours, default=(False, 0, 0))
        if there and counts[-number] < ROW_EVENTS_MAX:
            counts[-number] += 1
            found.append((event, pools.rows[-number]))
        else:
            homeless.append(event)
    for event in homeless:
        least = min(range(len(pools.rows)), key=lambda number: (counts[number], number), default=None)
        if least is not None:
            counts[least] += 1
        found.append((event, [] if least is None else pools.rows[least]))
    return found


def _cold(state: State, event: EventSeen, row: list[UUID], pools: Pools) -> Aim:
    """The row's owner and who stands by there; who is preferred among them stays it."""
    now = (state.preferred(event.id), state.owner(event.id))
    owner = next((one for one in now if one in row), row[0] if row else None)
    ordered = sorted(row, key=lambda one: one != owner)[: event.workers]
    others = [worker for worker in pools.workers() if worker not in row]
    _borrow(state, event, ordered, others)
    return Aim(ordered, owner)
