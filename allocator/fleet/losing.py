"""What is not there any more goes: hosts and workers that were not heard of, and what they attended to.
Pure.
"""

from __future__ import annotations

from typing import Final

from allocator.fleet.state import State
from store.fleet.alive import LOST_SECONDS
from store.fleet.steps import LoseHost, LoseWorker, Unassign
from store.fleet.view import WorkerSeen

START_SECONDS: Final = 20
"""A worker that is wanted for so long and never began is wanted elsewhere, or there once more."""


def lose(state: State) -> None:
    """Hosts, workers, and assignments without a worker or an event on sale."""
    for host in list(state.hosts.values()):
        if (silent := _silent(state, host.seen_at)) > LOST_SECONDS * 1_000:
            why = f"not heard of for {_seconds(silent)}"
            state.do(LoseHost(host=host.name, seen_at=host.seen_at, why=why))
    for worker in list(state.workers.values()):
        if (why_lost := _why_lost(state, worker)) is not None:
            state.do(LoseWorker(worker=worker.id, host=worker.host, seen_at=worker.seen_at, why=why_lost))
    for event, rows in state.rows.items():
        for worker_id in list(rows):
            known = state.workers.get(worker_id)
            if known is None or event not in state.events:
                where = None if known is None else known.host
                why = "its worker is gone" if known is None else "the event is not on sale any more"
                state.do(Unassign(event=event, worker=worker_id, host=where, why=why))


def _why_lost(state: State, worker: WorkerSeen) -> str | None:
    if worker.seen_at is not None:
        silent = _silent(state, worker.seen_at)
        return f"not heard of for {_seconds(silent)}" if silent > LOST_SECONDS * 1_000 else None
    if worker.host not in state.hosts:
        return "it had not begun, and its host is gone"
    waited = _silent(state, worker.wanted_at)
    return f"it did not begin within {START_SECONDS} s" if waited > START_SECONDS * 1_000 else None


def _silent(state: State, since: int) -> int:
    """Nobody could be heard of while whoever plans heard nothing."""
    return state.now - max(since, state.view.heard_since)


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1_000:.1f} s"
