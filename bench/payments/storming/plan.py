"""Who pays how, and what breaks when: drawn from one seed. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct

LATE_SHARE: Final = 0.12
"""Of the buyers: pay when their hold has run out. More than is asked for, as a few find that it is too late
for that, too."""
DUPLICATES: Final = 0.24
"""Of the provider's notices: sent twice. More than is asked for: chance may give less."""
REORDERED: Final = 0.14
DECLINED_SHARE: Final = 0.05
IMPATIENT_SHARE: Final = 0.10
"""Press the button twice, or begin to pay on two devices at once."""
KEYED_SHARE: Final = 0.5
"""Begin to pay under an Idempotency-Key."""
TAKEN_BACK_SHARE: Final = 0.04
"""Of the buyers: the organiser takes their order back, half of the time only some of it."""
CANCELED_SHARE: Final = 0.08
"""So many more have holds on an event that is canceled when half of them have paid."""
TAKE_PLACE: Final = 2
"""Events of a wave that take place; the one after them is canceled."""
PARTIES: Final = {"seats": 0.6, "places": 0.2, "both": 0.2}
PIT_SHARE: Final = 0.3
"""Of the standing places those in front."""
QUANTITY_MAX: Final = 3
QUIET_SECONDS: Final = (1.5, 4.5)
DOWN_SECONDS: Final = (0.1, 1.5)
HASTY_SHARE: Final = 0.3
LATE_BY_SECONDS: Final = (0.1, 1.2)


class Victim(StrEnum):
    """What is killed."""

    GATEWAY = "gateway"
    ALLOCATOR = "allocator"
    CHORES = "chores"
    PROVIDER = "provider"


DECK: Final = (Victim.GATEWAY, Victim.GATEWAY, Victim.ALLOCATOR, Victim.CHORES, Victim.PROVIDER)
"""Dealt like cards: a short storm has killed each of them."""


class TakenBack(StrEnum):
    """What the organiser takes of an order."""

    NOTHING = "nothing"
    SOME = "some"
    ALL = "all"


class Fate(Struct, frozen=True):
    """What one buyer does; `event` is an index."""

    number: int
    event: int
    seats: int
    pit: int
    """Standing places in front, and behind."""
    floor: int
    late_by_seconds: float
    """Pays so long after the hold ended; 0: in time."""
    declined: bool
    impatient: bool
    keyed: bool
    taken_back: TakenBack = TakenBack.NOTHING

    @property
    def quantity(self) -> int:
        return self.seats + self.pit + self.floor


class Blow(Struct, frozen=True):
    """After so much quiet, something is killed, and started again."""

    quiet_seconds: float
    victim: Victim
    dice: float
    """From 0 to 1: which one of its kind."""
    down_seconds: float
    hasty: bool
    """The next blow does not wait until it answers again."""


def fates(seed: int, count: int) -> list[Fate]:
    """`count` buyers on the events that take place, and `CANCELED_SHARE` more on the one that is canceled.

    Exactly `LATE_SHARE` of the first are late, evenly over the events. Who is late comes first, so that
    nobody waits for the end of their holds when all the others are done.
    """
    chance = random.Random(f"fates {seed}")
    late = round(count * LATE_SHARE)
    more = max(1, round(count * CANCELED_SHARE))
    made = [
        _fate(chance, number, number % TAKE_PLACE, late=number < late, standing=True)
        for number in range(count)
    ]
    made += [_fate(chance, count + number, TAKE_PLACE, late=False, standing=False) for number in range(more)]
    ahead, behind = made[:late], made[late:]
    chance.shuffle(ahead)
    chance.shuffle(behind)
    return ahead + behind


def _fate(chance: random.Random, number: int, event: int, *, late: bool, standing: bool) -> Fate:
    """`standing`: of an event that takes place."""
    [party] = chance.choices(list(PARTIES), list(PARTIES.values()))
    quantity = chance.randint(2 if party == "both" else 1, QUANTITY_MAX)
    places = {"seats": 0, "places": quantity, "both": chance.randint(1, quantity - 1) if quantity > 1 else 0}
    pit = sum(chance.random() < PIT_SHARE for _ in range(places[party]))
    late_by = chance.uniform(*LATE_BY_SECONDS) if late else 0.0
    declined, impatient = chance.random() < DECLINED_SHARE, chance.random() < IMPATIENT_SHARE
    keyed, is_taken = chance.random() < KEYED_SHARE, chance.random() < TAKEN_BACK_SHARE
    some = quantity > 1 and chance.random() < 0.5
    taken = TakenBack.NOTHING if not (is_taken and standing) else TakenBack.SOME if some else TakenBack.ALL
    parts = (quantity - places[party], pit, places[party] - pit)
    return Fate(number, event, *parts, late_by, declined, impatient, keyed, taken)


def blows(seed: int) -> Iterator[Blow]:
    """Without end; the same seed gives the same ones."""
    chance = random.Random(f"blows {seed}")
    while True:
        deck = list(DECK)
        chance.shuffle(deck)
        for victim in deck:
            quiet, down = chance.uniform(*QUIET_SECONDS), chance.uniform(*DOWN_SECONDS)
            hasty = chance.random() < HASTY_SHARE
            yield Blow(round(quiet, 2), victim, chance.random(), round(down, 2), hasty)
