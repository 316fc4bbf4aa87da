"""The fleet's plan: what to do next, from what is seen. Pure: no clock, no chance, nothing but the view.

Each turn does what is safe now and no more; planning again over what came of it goes on from there, and where
nothing changed and all is as it should be there is nothing to do. Each step says why.

1. What was not heard of goes (`losing`), and events become hot or cold (`heat`).
2. Cold events share workers, hot ones have their own, as far as there are slots (`pools`).
3. Each event has an aim that keeps what it can of what is (`aims`), and goes there in safe steps (`moving`).
4. Workers that attend to nothing end: at once on hosts that are to be empty, elsewhere after a while.
"""

from __future__ import annotations

from typing import Final

import msgspec

from allocator.fleet import losing
from allocator.fleet.aims import aim
from allocator.fleet.heat import heat
from allocator.fleet.moving import move
from allocator.fleet.pools import Pools, choose
from allocator.fleet.state import State
from store.fleet.steps import Short, Step, Stop
from store.fleet.view import Shortage, View, WorkerSeen

PASSES_MAX: Final = 6
"""A step may make another one safe in the same turn; after so many times the next turn goes on."""
SPARE_SECONDS: Final = 60
"""A worker that attends to nothing is kept for so long: what needed it may come back."""


def plan(view: View) -> list[Step]:
    """What to do now, in order."""
    state = State(view)
    losing.lose(state)
    kept_cold = heat(state)
    for _ in range(PASSES_MAX):
        done = len(state.steps)
        pools = choose(state)
        move(state, aim(state, pools))
        _stop_spare(state, pools)
        if len(state.steps) == done:
            break
    _tell_short(state, pools, kept_cold)
    return state.steps


def _stop_spare(state: State, pools: Pools) -> None:
    attended, chosen, usable = state.attended_by(), set(pools.workers()), set(state.usable())
    until_now = {row.worker for row in state.view.attends}
    for worker in list(state.workers.values()):
        if worker.stopping or attended[worker.id] or worker.id in chosen:
            continue
        if worker.id not in usable:
            why = f"nothing may be given to it on {worker.host}"
        elif worker.id not in until_now and _idle(state, worker) > SPARE_SECONDS * 1_000:
            why = f"it attended to nothing for {SPARE_SECONDS} s"
        else:
            continue
        state.do(Stop(worker=worker.id, host=worker.host, why=why))


def _idle(state: State, worker: WorkerSeen) -> int:
    return state.now - max(worker.wanted_at, worker.moved_at or 0, state.view.heard_since)


def _tell_short(state: State, pools: Pools, kept_cold: int) -> None:
    missing = pools.wanted > pools.slots
    drained = sorted(state.hosts) if state.last_resort() and state.events else []
    now = Shortage(pools.wanted if missing else 0, pools.slots if missing else 0, kept_cold, len(drained))
    if now == state.view.short:
        return
    told = []
    if drained:
        told.append(
            f"only hosts that drain are there: {', '.join(drained)}; until another one takes events they do"
        )
    if missing:
        told.append(f"{now.wanted} slots are wanted and there are {now.slots}: hot events share workers")
    if kept_cold:
        most = state.limits.hot_events_max
        told.append(f"{kept_cold} busy events stay cold: at most {most} are hot by their load")
    why = "; ".join(told) or "there are enough slots again"
    state.do(Short(**msgspec.structs.asdict(now), why=why))
