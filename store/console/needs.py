"""What needs a hand now, in words that say what to do: pure. Empty is well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from store.console.now import FRESH_SECONDS, Seen
from store.room.words import Admission, SlowedBy
from store.words import EventState

LAG_MS: Final = 2_000
CALLED_SECONDS: Final = 30
"""So long nobody was called; where the pace is below four a minute, as long as two of them take."""
FIGURES_OLD_MS: Final = 30_000
UNOWNED_SECONDS: Final = 5
MORE_SLOTS: Final = "Add a host (./run worker --slots 4), or want less (./run scale EVENT --workers N)."
SELLS: Final = (EventState.OPEN, EventState.PAUSED)
NOT_BEGUN: Final = (EventState.DRAFT, EventState.LOBBY)


class Need(Struct, frozen=True):
    """One thing; `event` is a slug, or null where it is about all of them."""

    code: str
    text: str
    event: str | None = None


class Around(Struct, frozen=True):
    """What is the same for all events."""

    hosts: int
    """Machines that have joined the fleet."""
    hosts_alive: int
    chores_in_trouble: tuple[str, ...]
    """Their names, each with what is wrong."""
    stuck_refunds: int
    short: str | None = None
    """What the fleet has too little of."""


def needs_of(seen: Seen, short: str | None = None) -> list[Need]:
    """Of one event, the most urgent first; `short`: what the fleet has too little of."""
    found: list[tuple[str, str]] = []
    if (seen.state in SELLS or seen.on_hold) and not seen.owned:
        ago = seen.renewed_seconds_ago
        since = "yet" if ago is None else f"for {ago:,.0f} s"
        if ago is None or ago >= UNOWNED_SECONDS:
            story = f"Nobody decides: no allocator has owned this event {since}."
            found.append(("no_owner", f"{story} Start a worker, or look at the fleet's log."))
    if seen.due_seconds is not None and seen.due_seconds >= FRESH_SECONDS and seen.state in NOT_BEGUN:
        found.append(("not_opened", "It was to open by now and has not: open it, or look at its owner."))
    elif _lobby_is_late(seen):
        story = "Its lobby was to open by now and has not, so nobody can join."
        found.append(("lobby_not_opened", f"{story} Open it, or look at its owner."))
    if seen.slowed_by is SlowedBy.PAYMENTS_FAILING:
        story = "Many payments fail, and the room calls fewer for it."
        found.append(("payments_failing", f"{story} Look at the payment provider; pause if it goes on."))
    if seen.slowed_by is SlowedBy.LAG or (seen.latency_ms_p99 or 0) >= LAG_MS:
        story = "Requests wait long for their decision."
        found.append(("lag", f"{story} Lower the pace, or give the event a worker of its own."))
    if _nobody_is_called(seen):
        story = f"Buyers wait, and nobody was called for {seen.nobody_called_seconds:,.0f} s."
        found.append(("nobody_called", f"{story} Look at the event's owner; move it to another host."))
    wanted = seen.workers_wanted
    if seen.state in SELLS and seen.owned and wanted is not None and wanted > 1 and not seen.standbys:
        story = f"Of {wanted} workers only the owner is there: a crash would be noticed."
        found.append(("no_standby", f"{story} Add a host: ./run worker --slots 4."))
    if short is not None and seen.state in SELLS and wanted is not None and seen.workers < wanted:
        story = f"It has {seen.workers} of {wanted} workers: {short}."
        found.append(("slots_short", f"{story} {MORE_SLOTS}"))
    if seen.figures_age_ms >= FIGURES_OLD_MS:
        story = f"Sold and revenue are {seen.figures_age_ms // 1_000:,} s old."
        found.append(("figures_old", f"{story} Look at the chore `figures`: ./run chores."))
    return [Need(code, text, seen.slug) for code, text in found]


def needs_around(around: Around, *, stream_away: bool, limited: bool = False) -> list[Need]:
    """Of all events together; `stream_away`: whoever asks hears nothing of its Redis. `limited`: for who may
    not know of every event, which what went wrong may name."""
    found: list[Need] = []
    if stream_away:
        story = "The stream does not answer here: requests cannot be accepted."
        found.append(Need("stream_away", f"{story} Look at Redis (Valkey) and its disk."))
    if around.hosts and not around.hosts_alive:
        story = "Machines have joined the fleet, and none of them is alive."
        found.append(Need("no_hosts", f"{story} Start one: ./run worker --slots 4."))
    if around.short is not None:
        story = f"The fleet gives less than is wanted: {around.short}."
        found.append(Need("slots_short", f"{story} {MORE_SLOTS}"))
    if around.chores_in_trouble:
        chores = around.chores_in_trouble
        told = "; ".join([one.partition(":")[0] for one in chores] if limited else chores)
        found.append(Need("chores_failing", f"{told}. See ./run chores."))
    if around.stuck_refunds:
        story = f"{around.stuck_refunds:,} refunds that their provider will never give."
        found.append(Need("refunds_stuck", f"{story} Give them by hand; ./run chores lists them."))
    return found


def chores_in_trouble(troubles: Sequence[tuple[str, str | None]]) -> tuple[str, ...]:
    """(chore, what is wrong with it or None) → what is said of those with whom something is."""
    return tuple(f"{chore}: {trouble}" for chore, trouble in troubles if trouble is not None)


def _lobby_is_late(seen: Seen) -> bool:
    late = seen.lobby_due_seconds is not None and seen.lobby_due_seconds >= FRESH_SECONDS
    return late and seen.state is EventState.DRAFT


def _nobody_is_called(seen: Seen) -> bool:
    return (
        seen.state is EventState.OPEN
        and seen.admission is Admission.RUNNING
        and seen.slowed_by is not SlowedBy.FULL_INSIDE
        and bool(seen.waiting)
        and (seen.nobody_called_seconds or 0) >= max(CALLED_SECONDS, 120 / (seen.pace or 120))
    )
