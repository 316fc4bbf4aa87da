"""What a rehearsal is told to do, what it measures and what it concludes. Types only."""

from __future__ import annotations

from typing import Final

from msgspec import Struct, field

from bench.evidence import Finding
from store.plan import Plan
from store.room.words import RoomTerms
from store.terms import Terms

BUYERS_MAX: Final = 5_000
REQUESTS_EACH_MAX: Final = 20
FINDINGS_MAX: Final = 20
STEPS_MAX: Final = 60
"""Of the curve of decisions over time."""


class EventCopy(Struct, frozen=True):
    """What a rehearsal takes from an event: nothing of any buyer."""

    slug: str
    plan: Plan
    terms: Terms
    room: RoomTerms | None


class GateRun(Struct, frozen=True):
    """One stampede against the copy. Times in seconds from the first sending; latencies in milliseconds."""

    gate: bool
    requests: int
    decided: int
    held: int
    not_queued: int
    unanswered: int
    seconds: float
    """First sending to last answer."""
    answers_per_second: float
    decisions_per_second: float
    latency_ms_p50: float
    latency_ms_p99: float
    seats_held: int
    sold_out_seconds: float | None
    """When the last seat was given; None where some were left."""
    step_seconds: float
    curve: list[int]
    """Decisions in each step."""
    gateway_cpu_seconds_per_answer: float
    allocator_cpu_seconds_per_decision: float
    findings: list[Finding] = field(default_factory=list)


class Measured(Struct, frozen=True):
    """Both runs on this machine, with one gateway, and what joining and sockets cost."""

    event: str
    buyers: int
    house: int
    """Seats and places."""
    requests_each: int
    party: int
    joins_per_second: float
    bytes_per_socket: int
    cores: int
    runs: list[GateRun]
    """Gate on, gate off."""

    @property
    def lawful(self) -> bool:
        """No law was broken, and everybody was answered."""
        return not any(run.findings or run.unanswered for run in self.runs)


class Sizing(Struct, frozen=True):
    """So much it takes for so many buyers."""

    buyers: int
    gateways: int
    slots: int
    """Of allocator workers: the event's owner and its standby."""
    hosts: int
    pace: int
    """Buyers a minute the waiting room admits."""
    inside: int
    """Buyers that are inside at a time, at that pace, at most."""
    minutes_to_admit: float
    minutes_to_sell_out: float
    decisions_per_second_max: int
    """One event's ceiling, with room to spare."""
    pace_bound_by: str
    gateways_bound_by: str


class Rehearsed(Struct, frozen=True):
    """What a rehearsal showed, and what is said of it."""

    measured: Measured
    sizing: Sizing
    sentences: list[str]
