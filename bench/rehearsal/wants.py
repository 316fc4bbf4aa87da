"""What the buyers of a rehearsal ask for: named seats and best available, and standing places. Pure."""

from __future__ import annotations

import random
from typing import Final

import msgspec

from bench.generator import named_seat
from bench.rehearsal.words import REQUESTS_EACH_MAX, EventCopy
from store.plan import Plan

PARTY: Final = 2
ASKED_FOR: Final = 3.0
"""So many times as much as there is, all ask for together."""
REQUESTS_MAX: Final = 40_000
"""Of one storm: all of them are judged in memory."""
WANTS_MAX: Final = 10_000
SEED: Final = 7
"""The same buyers ask for the same in every rehearsal of a plan."""


def house_of(plan: Plan) -> int:
    """Seats and places."""
    return len(plan.seats) + sum(area.capacity for area in plan.areas)


def party_of(copy: EventCopy) -> int:
    """How many a buyer asks for at a time, where it is best available or standing."""
    return min(PARTY, copy.terms.seats_per_buyer_max)


def requests_each(copy: EventCopy, buyers: int) -> int:
    """So many each asks, one after the other: to sell out, where the bounds allow it."""
    wanted = house_of(copy.plan) * ASKED_FOR / party_of(copy) / buyers
    return max(1, min(REQUESTS_EACH_MAX, REQUESTS_MAX // buyers, round(wanted)))


def wants_of(copy: EventCopy, buyers: int) -> list[str]:
    """Canonical JSON, in the proportion of the house; half of what is seated by name, the best first."""
    plan, chance = copy.plan, random.Random(SEED)
    party = party_of(copy)
    count = min(WANTS_MAX, buyers * requests_each(copy, buyers))
    kinds = [("seats", len(plan.seats)), *((area.guid, area.capacity) for area in plan.areas)]
    names, weights = [name for name, _ in kinds], [weight for _, weight in kinds]
    wants = []
    for number, name in enumerate(chance.choices(names, weights, k=count)):
        if name != "seats":
            wants.append(_json({"areas": {name: party}}))
        elif number % 2:
            wants.append(_json({"best": {"quantity": party}}))
        else:
            wants.append(named_seat(plan.seats[chance.randrange(len(plan.seats))].guid))
    return wants


def _json(want: object) -> str:
    return msgspec.json.encode(want).decode()
