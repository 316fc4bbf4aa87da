"""From who attends to an event to who is to: one safe step after the other, few events at a time. Pure.

Nobody is taken off an event before another one could go on at once, and an owner not before another owns it.
So it goes: assign the new one; once that is warm prefer it, whereupon the owner hands over; once that owns,
unassign who is not wanted any more.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from allocator.fleet.aims import Aim
from allocator.fleet.state import State
from store.fleet.steps import Assign, Prefer, Unassign

WARM_SECONDS: Final = 30
"""One that is not warm after so long is waited for no longer."""


def move(state: State, aims: dict[int, Aim]) -> None:
    """The steps that are safe now."""
    warming = state.limits.moves_per_turn_max - sum(_warms(state, event, aims[event]) for event in aims)
    handovers = state.limits.moves_per_turn_max - sum(_hands_over(state, event) for event in aims)
    for event, wanted in aims.items():
        warming -= _assign(state, event, wanted, warming > 0)
        handovers -= _prefer(state, event, wanted, handovers > 0)
        _unassign(state, event, wanted)


def _missing(state: State, event: int, wanted: Aim) -> list[UUID]:
    return [worker for worker in wanted.workers if worker not in state.rows[event]]


def _warms(state: State, event: int, wanted: Aim) -> bool:
    """On its way: a new one gets warm while one that is to leave still attends to it."""
    rows = state.attending(event)
    return any(worker not in wanted.workers for worker in rows) and any(
        worker in rows and not rows[worker].warm and not _overdue(state, event, worker)
        for worker in wanted.workers
    )


def _hands_over(state: State, event: int) -> bool:
    """One owns it, another one is to."""
    owner, preferred = state.owner(event), state.preferred(event)
    return None not in (owner, preferred) and owner != preferred


def _warm(state: State, event: int, worker: UUID | None) -> bool:
    row = None if worker is None else state.attending(event).get(worker)
    return row is not None and row.warm


def _overdue(state: State, event: int, worker: UUID | None) -> bool:
    """It should be warm by now."""
    row = None if worker is None else state.attending(event).get(worker)
    since = state.now if row is None else max(row.assigned_at, state.view.heard_since)
    return state.now - since > WARM_SECONDS * 1_000


def _assign(state: State, event: int, wanted: Aim, may_move: bool) -> bool:
    """As many as it is to have; True where there is one more, in whose place another one will leave."""
    for worker in _missing(state, event, wanted):
        there = state.attending(event)
        moves = len(there) >= len(wanted.workers)
        if moves and (len(there) > len(wanted.workers) or not may_move):
            return False
        why = "to stand by" if there else "to own it"
        if moves:
            leaves = next(one for one in there if one not in wanted.workers)
            why = f"in place of a worker on {state.host_of(leaves)}{_because(state, leaves)}"
        why += state.although()
        state.do(Assign(event=event, worker=worker, host=state.host_of(worker), why=why))
        if moves:
            return True
    return False


def _because(state: State, worker: UUID) -> str:
    host = state.hosts.get(state.host_of(worker))
    if host is None:
        return ", which is gone"
    return ", which is draining" if host.draining and not state.last_resort() else ""


def _prefer(state: State, event: int, wanted: Aim, may_move: bool) -> bool:
    """Who is to own it; True where that takes it from a living owner."""
    rows = state.attending(event)
    preferred, owner = state.preferred(event), state.owner(event)
    if not rows:
        return False
    if None not in (owner, preferred) and owner != preferred and not _warm(state, event, preferred):
        if owner is not None and _overdue(state, event, preferred):
            _say(state, event, owner, f"it owns it, and the other was not warm within {WARM_SECONDS} s")
        return False
    to = wanted.owner
    if to is not None and to != preferred and _warm(state, event, to):
        takes = owner is not None and owner != to
        if may_move or not takes:
            _say(state, event, to, _why(state, event, wanted))
            return takes
    if preferred is None:
        _say(state, event, *_successor(state, event, wanted))
    return False


def _why(state: State, event: int, wanted: Aim) -> str:
    leaves = state.preferred(event) or state.owner(event)
    if leaves is None:
        return "it is warm, and nobody was preferred"
    if leaves == wanted.owner:
        return "it owns it"
    if leaves in wanted.workers:
        return "owners are spread evenly"
    return f"it is warm, and the event leaves {state.host_of(leaves)}{_because(state, leaves)}"


def _successor(state: State, event: int, wanted: Aim) -> tuple[UUID, str]:
    """Who is to own an event of which nobody is preferred."""
    rows, owner = state.attending(event), state.owner(event)
    if owner is not None:
        return owner, "it owns it"
    for worker in (*wanted.workers, *rows):
        if worker in rows and rows[worker].warm:
            return worker, "it is warm, and nobody was preferred"
    if wanted.owner is not None and wanted.owner in rows:
        return wanted.owner, "it is to own it"
    return next(iter(rows)), "it attends to it, and nobody was preferred"


def _say(state: State, event: int, worker: UUID, why: str) -> None:
    state.do(Prefer(event=event, worker=worker, host=state.host_of(worker), why=why))


def _unassign(state: State, event: int, wanted: Aim) -> None:
    """Who is not to attend to it any more, once others have come in their place: all who are to attend are
    warm, or there are more than it is to have; and one of the others could go on at once."""
    for worker in [one for one in state.attending(event) if one not in wanted.workers]:
        if worker in (state.owner(event), state.preferred(event)) or not wanted.workers:
            continue
        others = {one: row for one, row in state.attending(event).items() if one != worker}
        come = [one for one in wanted.workers if one in others]
        enough = len(come) == len(wanted.workers) or len(others) >= len(wanted.workers)
        ready = all(others[one].warm or _overdue(state, event, one) for one in come)
        if enough and ready and any(row.warm for row in others.values()):
            why = f"others attend to it{_because(state, worker)}"
            state.do(Unassign(event=event, worker=worker, host=state.host_of(worker), why=why))
