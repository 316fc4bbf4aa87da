"""An event as the console is told of it: `Launch` (docs/console-feed.md), made of what was seen. Pure."""

from __future__ import annotations

from msgspec import Struct

from store.console.needs import Need, needs_of
from store.console.now import Seen
from store.room.words import Admission, SlowedBy
from store.words import EventState


class Owner(Struct, frozen=True):
    """Who decides."""

    process: str
    host: str | None
    """None where it is in no fleet."""
    epoch: int
    renewed_seconds_ago: float


class Standby(Struct, frozen=True):
    """Who would take over."""

    process: str
    host: str
    warm: bool


class Launch(Struct, frozen=True, kw_only=True):
    """One event at a glance; moments in milliseconds, what is not known None."""

    slug: str
    name: str
    state: EventState
    opens_at: int | None
    lobby_opens_at: int | None
    starts_at: int | None
    paused_at: int | None
    capacity: int
    sold: int
    on_hold: int
    percent_sold: float
    revenue_minor: int
    currency: str
    figures_age_ms: int
    arrived_per_second: float | None
    decided_per_second: float | None
    undecided: int | None
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    waiting: int | None
    admitted: int | None
    inside: int | None
    pace: int | None
    rate: float | None
    admission: Admission | None
    slowed_by: SlowedBy | None
    message: str | None
    message_at: int | None
    owner: Owner | None
    standbys: tuple[Standby, ...]
    workers: int
    workers_wanted: int | None
    needs: list[Need]


_SAME = tuple(set(Launch.__struct_fields__) & set(Seen.__struct_fields__))


def launch_of(seen: Seen, short: str | None = None) -> Launch:
    """What is told of it; `short`: what the fleet has too little of."""
    return Launch(
        **{name: getattr(seen, name) for name in _SAME},
        percent_sold=seen.sold * 1_000 // seen.capacity / 10 if seen.capacity else 0.0,
        owner=_owner(seen),
        standbys=tuple(Standby(one.process, one.host, one.warm) for one in seen.standbys),
        workers=seen.workers,
        needs=needs_of(seen, short),
    )


def _owner(seen: Seen) -> Owner | None:
    if not seen.owned or seen.owner_process is None or seen.renewed_seconds_ago is None:
        return None
    hosts = [one.host for one in seen.attending if one.process == seen.owner_process]
    host = hosts[0] if hosts else None
    return Owner(seen.owner_process, host, seen.owner_epoch, max(0.0, seen.renewed_seconds_ago))
