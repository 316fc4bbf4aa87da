"""When an event begins by itself: its lobby at `lobby_opens_at`, its sale at `opens_at`. Pure.

Either may be None: then somebody begins it by hand. A lobby is there for those who wait for the sale, so
where both are given the lobby is first; where nobody attended to a draft until both had come, its sale begins
at once.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from store.errors import Conflicted
from store.terms import check, check_moment
from store.words import EventState


class Times(Struct, frozen=True):
    """When an event begins by itself."""

    lobby_opens_at: datetime | None = None
    opens_at: datetime | None = None


class TimesChange(Struct, frozen=True, kw_only=True):
    """Other times: what is left out stays, None takes a time away."""

    lobby_opens_at: datetime | UnsetType | None = UNSET
    opens_at: datetime | UnsetType | None = UNSET


def times_in(said: Struct) -> TimesChange:
    """Those that `said`, a `TimesChange` with more to it, says."""
    return TimesChange(**{name: getattr(said, name) for name in Times.__struct_fields__})


def told(change: TimesChange) -> dict[str, datetime | None]:
    """The times that are said, by name."""
    return {name: value for name, value in asdict(change).items() if value is not UNSET}


class Step(Struct, frozen=True):
    """What is due, None: nothing yet; and how long until there is something to look at, None: never."""

    to: EventState | None
    left_us: int | None


NO_CHANGE: Final = TimesChange()
NOTHING: Final = Step(None, None)
BEFORE: Final = {
    "lobby_opens_at": (EventState.DRAFT,),
    "opens_at": (EventState.DRAFT, EventState.LOBBY),
}
"""In which states each is still to come."""


def step(state: EventState, lobby_left_us: int | None, sale_left_us: int | None) -> Step:
    """What to do with an event in `state`, so long before its times; 0 or less: they have come."""
    waits = [
        (to, left_us)
        for to, name, left_us in (
            (EventState.OPEN, "opens_at", sale_left_us),
            (EventState.LOBBY, "lobby_opens_at", lobby_left_us),
        )
        if left_us is not None and state in BEFORE[name]
    ]
    for to, left_us in waits:  # the sale first: a lobby that was due with it is passed over
        if left_us <= 0:
            return Step(to, 0)
    return Step(None, min(left_us for _, left_us in waits)) if waits else NOTHING


def check_times(times: Times) -> None:
    """Raises `BadRequest` (invalid_event) for times that no draft can have."""
    for name in BEFORE:
        when = getattr(times, name)
        if when is not None:
            check_moment(name, when)
    if times.lobby_opens_at is not None and times.opens_at is not None:
        said = "before opens_at, so that buyers can join before the sale begins"
        check(times.lobby_opens_at < times.opens_at, "lobby_opens_at", said)


def changed(state: EventState, times: Times, change: TimesChange) -> Times:
    """The times of an event in `state` once they are changed.

    Raises `BadRequest` (invalid_event), and `Conflicted` (times_fixed) for another time of what has begun.
    """
    said = told(change)
    for name, value in said.items():
        if value != getattr(times, name) and state not in BEFORE[name]:
            story = f"The event is {state}: what {name} was to begin has begun, so it stays as it is."
            raise Conflicted("times_fixed", f"{story} Leave {name} out.")
    after = replace(times, **said)
    check_times(after if state in BEFORE["lobby_opens_at"] else replace(after, lobby_opens_at=None))
    return after
