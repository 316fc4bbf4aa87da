"""Which events are hot: by their load, with two limits and two times between them, so that none goes to and
fro; or as an operator says. Pure.
"""

from __future__ import annotations

from typing import Final

import msgspec

from allocator.fleet.state import State
from store.fleet.steps import Cool, Heat, Note
from store.fleet.view import EventSeen
from store.fleet.words import Mode

LOAD_SECONDS: Final = 5
"""A load that was written down longer ago says nothing."""


def heat(state: State) -> int:
    """Events that become hot or cold; how many only the bound keeps cold."""
    kept_cold = 0
    for event in list(state.events.values()):
        if event.mode is not Mode.AUTO:
            _as_said(state, event)
    hot = sum(event.hot for event in state.events.values() if event.mode is Mode.AUTO)
    for event in list(state.events.values()):
        if event.mode is not Mode.AUTO or not _known(state, event):
            continue
        noted = _noted(state, event)
        if noted.busy_since is not None and _for(state, noted.busy_since) >= state.limits.busy_seconds:
            if hot >= state.limits.hot_events_max:
                kept_cold += 1
            else:
                hot += 1
                why = _why_hot(state, noted)
                state.do(Heat(event=event.id, edition=event.edition, why=why))
                continue
        if noted.quiet_since is not None and _for(state, noted.quiet_since) >= state.limits.quiet_seconds:
            hot -= 1
            state.do(Cool(event=event.id, edition=event.edition, why=_why_cold(state, noted)))
            continue
        if noted is not event:
            state.do(
                Note(
                    event=event.id,
                    edition=event.edition,
                    busy_since=noted.busy_since,
                    quiet_since=noted.quiet_since,
                    why="",
                )
            )
    return kept_cold


def _as_said(state: State, event: EventSeen) -> None:
    if event.hot is (wanted := event.mode is Mode.HOT):
        return
    if wanted:
        why = "an operator wants it to have workers of its own"
        state.do(Heat(event=event.id, edition=event.edition, why=why))
    else:
        why = "an operator wants it to share workers"
        state.do(Cool(event=event.id, edition=event.edition, why=why))


def _known(state: State, event: EventSeen) -> bool:
    """Whether there is a load to go by; an event without an owner has none, and stays as it is."""
    return event.load_at is not None and state.now - event.load_at <= LOAD_SECONDS * 1_000


def _noted(state: State, event: EventSeen) -> EventSeen:
    """The event with since when it is busy or quiet; itself where that is known already."""
    limits, arrivals, undecided = state.limits, event.arrived_per_second or 0.0, event.undecided or 0
    busy = not event.hot and (arrivals >= limits.hot_arrivals_per_second or undecided >= limits.hot_undecided)
    quiet = event.hot and (arrivals < limits.cold_arrivals_per_second and undecided < limits.cold_undecided)
    busy_since = (event.busy_since or state.now) if busy else None
    quiet_since = (event.quiet_since or state.now) if quiet else None
    if (busy_since, quiet_since) == (event.busy_since, event.quiet_since):
        return event
    return msgspec.structs.replace(event, busy_since=busy_since, quiet_since=quiet_since)


def _why_hot(state: State, event: EventSeen) -> str:
    limits, arrivals, undecided = state.limits, event.arrived_per_second or 0.0, event.undecided or 0
    seconds = _for(state, event.busy_since)
    if arrivals >= limits.hot_arrivals_per_second:
        return f"{arrivals:,.0f} arrivals a second for {seconds} s, limit {limits.hot_arrivals_per_second:,}"
    return f"{undecided:,} requests undecided for {seconds} s, limit {limits.hot_undecided:,}"


def _why_cold(state: State, event: EventSeen) -> str:
    limits = state.limits
    return (
        f"below {limits.cold_arrivals_per_second:,} arrivals a second and {limits.cold_undecided:,} undecided"
        f" requests for {_for(state, event.quiet_since)} s; now {event.arrived_per_second or 0.0:,.0f} and"
        f" {event.undecided or 0:,}"
    )


def _for(state: State, since: int | None) -> int:
    assert since is not None, "it has begun"
    return (state.now - since) // 1_000
