"""Launches as the live feed tells of them, made up: facts, an hour of samples, a point more each time."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import msgspec

from store.room.words import RoomTerms
from store.terms import Terms

Frame = dict[str, Any]
LIVE = (
    *("arrived_per_second", "decided_per_second", "undecided", "latency_ms_p50", "latency_ms_p99"),
    *("sold", "on_hold", "revenue_minor", "waiting", "admitted", "inside", "workers"),
)
COLUMNS = ("at_ms", *LIVE)
SUMS = ("sold", "revenue_minor", "admitted")
STEP_MS = 5_000
SAMPLES = 720
GAP = range(400, 440)
"""Of the samples, counted from the oldest: nobody sampled then."""
FINE = range(360, SAMPLES)
"""Every one of the last half hour is told, of those before one for each `STRETCH`."""
STRETCH = 18
STEPS = {
    "joined": 90_000, "in_line": 88_000, "called": 61_000, "began": 55_000, "asked": 54_000, "held": 19_000,
    "paid": 12_480,
}  # fmt: skip
OUTCOMES = {"held": 20_100, "taken": 3_000, "sold_out": 28_000, "limit_reached": 40, "invalid": 0}
NO_OWNER = "Nobody decides: no allocator has owned this event for 12 s. Start a worker: ./run worker."
_CAN = {
    "draft": ["lobby", "open"],
    "lobby": ["open"],
    "open": ["pause", "close"],
    "paused": ["resume", "close"],
    "closed": [],
}
_ADMITS = {"running": ["pause", "stop"], "paused": ["resume", "stop"], "stopped": ["resume"]}


@dataclass
class Launch:
    """What is told of one event; tests change `facts` and tell."""

    slug: str
    facts: Frame
    room: bool = True
    edition: int = 4
    policy: Frame = field(default_factory=lambda: msgspec.to_builtins(Terms()))
    """Of `starts_at` milliseconds."""
    terms: Frame = field(default_factory=lambda: msgspec.to_builtins(RoomTerms(shopping_max=2_000)))
    """The room's, but for its pace."""
    late_ms: int = 0
    """So long before it is told it was read."""
    fleet: Frame = field(default_factory=lambda: {"mode": "auto", "workers": 2, "hot": False, "edition": 1})

    def can(self) -> list[str]:
        return _CAN[self.facts["state"]]

    def told(self) -> Frame:
        """As in lists."""
        return {"slug": self.slug, **self.facts}

    def row(self, at_ms: int, part: float = 1.0) -> list[float | None]:
        """A sample, when `part` of the time until now has gone by."""
        wave = 1 + 0.25 * math.sin(part * 40) if part < 1 else 1
        grown = {name: part if name in SUMS else wave for name in LIVE}
        values = (self.facts[name] for name in LIVE)
        each = zip(LIVE, values, strict=True)
        return [at_ms, *(None if value is None else round(value * grown[name], 1) for name, value in each)]

    def history(self) -> Frame:
        now = int(time.time() * 1000)
        told = [number for number in range(SAMPLES) if number in FINE or number % STRETCH == 0]
        numbers = [number for number in told if number not in GAP]
        rows = [
            self.row(now - (SAMPLES - 1 - number) * STEP_MS, (number + 1) / SAMPLES) for number in numbers
        ]
        return {"type": "history", "event": self.slug, "columns": list(COLUMNS), "rows": rows}

    def point(self) -> Frame:
        return {"type": "point", "event": self.slug, "row": self.row(int(time.time() * 1000))}

    def event(self) -> Frame:
        facts = self.facts
        state = {name: facts[name] for name in ("opens_at", "lobby_opens_at", "paused_at")}
        return {
            "type": "event",
            "event": self.slug,
            "at_ms": int(time.time() * 1000) - self.late_ms,
            "state": {"value": facts["state"], "can": self.can(), **state},
            "room": self._room() if self.room else None,
            "gate": self.policy["fast_gate"],
            "policy": self.policy,
            "fleet": self.fleet,
            "launch": {name: value for name, value in self.told().items() if name not in LIVE},
            "steps": [{"step": step, "count": count} for step, count in STEPS.items()],
            "steps_age_ms": 4000,
            "outcomes": OUTCOMES,
            "turned_away": [{"reason": "too_many_joins", "count": 812}],
        }

    def _room(self) -> Frame:
        facts = self.facts
        told = {name: facts[name] for name in ("admission", "message", "message_at", "slowed_by")}
        terms = {**self.terms, "pace": facts["pace"], "drawn_at": None}
        can = _ADMITS.get(facts["admission"], [])
        return {"edition": self.edition, "version": 311, "can": can, **told, **terms}


def launch_of(slug: str, **facts: Any) -> Launch:
    """An event on sale with a waiting room; `facts` say what is otherwise."""
    usual: Frame = {
        "name": "Nightfall, opening night", "state": "open", "opens_at": None, "lobby_opens_at": None,
        "starts_at": None,
        "paused_at": None, "capacity": 20_000, "sold": 12_480, "on_hold": 1_310, "percent_sold": 62.4,
        "revenue_minor": 748_800_00, "currency": "EUR", "figures_age_ms": 800,
        "arrived_per_second": 412.5, "decided_per_second": 409.0, "undecided": 36, "latency_ms_p50": 21.0,
        "latency_ms_p99": 84.0, "waiting": 41_877, "admitted": 46_123, "inside": 1_904, "pace": 900,
        "rate": 884.0, "admission": "running", "slowed_by": None, "message": None, "message_at": None,
        "owner": {"process": "north:4211", "host": "north", "epoch": 3, "renewed_seconds_ago": 0.4},
        "standbys": [{"process": "south:917", "host": "south", "warm": True}],
        "workers": 2, "workers_wanted": 2, "needs": [],
    }  # fmt: skip
    return Launch(slug, usual | facts)


def three() -> list[Launch]:
    """One that sells, one whose allocators are gone, one to come."""
    away = dict.fromkeys(LIVE[:5])
    needs = [{"code": "no_owner", "text": NO_OWNER, "event": "harbour"}]
    gone = launch_of(
        "harbour", name="Harbour lights, a summer night by the water", percent_sold=18.0, sold=900,
        capacity=5000, owner=None, standbys=[], needs=needs, **away,
    )  # fmt: skip
    soon = launch_of(
        "matinee", name="Matinée", state="draft", admission=None, pace=None, rate=None, percent_sold=0.0,
        opens_at=1_924_891_200_000, lobby_opens_at=1_924_887_600_000, owner=None, standbys=[],
        **(dict.fromkeys(LIVE) | dict.fromkeys(SUMS, 0)),
    )  # fmt: skip
    soon.facts |= {"on_hold": 0, "workers": 0}
    soon.room = False
    return [launch_of("demo"), gone, soon]
