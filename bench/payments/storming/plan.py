"""Who pays how, and what breaks when: drawn from one seed. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct

LATE_SHARE: Final = 0.10
"""Of the buyers: pay when their hold has run out."""
DUPLICATES: Final = 0.20
"""Of the provider's notices: sent twice."""
REORDERED: Final = 0.10
DECLINED_SHARE: Final = 0.05
IMPATIENT_SHARE: Final = 0.10
"""Press the button twice, or begin to pay on two devices at once."""
KEYED_SHARE: Final = 0.5
"""Begin to pay under an Idempotency-Key."""
QUANTITY_MAX: Final = 3
QUIET_SECONDS: Final = (0.4, 2.0)
DOWN_SECONDS: Final = (0.1, 1.5)
LATE_BY_SECONDS: Final = (0.1, 1.2)


class Victim(StrEnum):
    """What is killed."""

    GATEWAY = "gateway"
    ALLOCATOR = "allocator"
    CHORES = "chores"
    PROVIDER = "provider"


DECK: Final = (Victim.GATEWAY, Victim.GATEWAY, Victim.ALLOCATOR, Victim.CHORES, Victim.PROVIDER)
"""Dealt like cards: a short storm has killed each of them."""


class Fate(Struct, frozen=True):
    """What one buyer does; `event` is an index."""

    number: int
    event: int
    quantity: int
    late_by_seconds: float
    """Pays so long after the hold ended; 0: in time."""
    declined: bool
    impatient: bool
    keyed: bool


class Blow(Struct, frozen=True):
    """After so much quiet, something is killed, and started again."""

    quiet_seconds: float
    victim: Victim
    dice: float
    """From 0 to 1: which one of its kind."""
    down_seconds: float


def fates(seed: int, count: int, events: int) -> list[Fate]:
    """One for each buyer; exactly `LATE_SHARE` of them are late, evenly over the events."""
    chance = random.Random(f"fates {seed}")
    late = [number < round(count * LATE_SHARE) for number in range(count)]
    chance.shuffle(late)
    of_event = [0] * events
    made = []
    for number in range(count):
        event = min(range(events), key=lambda one: of_event[one]) if late[number] else number % events
        of_event[event] += late[number]
        made.append(
            Fate(
                number,
                event,
                chance.randint(1, QUANTITY_MAX),
                chance.uniform(*LATE_BY_SECONDS) if late[number] else 0.0,
                chance.random() < DECLINED_SHARE,
                chance.random() < IMPATIENT_SHARE,
                chance.random() < KEYED_SHARE,
            )
        )
    return made


def blows(seed: int) -> Iterator[Blow]:
    """Without end; the same seed gives the same ones."""
    chance = random.Random(f"blows {seed}")
    while True:
        deck = list(DECK)
        chance.shuffle(deck)
        for victim in deck:
            quiet, down = chance.uniform(*QUIET_SECONDS), chance.uniform(*DOWN_SECONDS)
            yield Blow(round(quiet, 2), victim, chance.random(), round(down, 2))
