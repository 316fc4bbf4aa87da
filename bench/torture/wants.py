"""What tortured buyers ask for: named seats, best available, standing places, mixtures, nonsense."""

from __future__ import annotations

import random

from msgspec import Struct

from store.plan import Plan
from store.wire import canonical_want
from store.words import Best, Choice, Want

HOT_SHARE = 0.15
"""Seats that half of all named requests are for."""
BLOCK_NAMED_MAX = 3


class House(Struct, frozen=True):
    """What there is to ask for."""

    seats: tuple[str, ...]
    areas: tuple[str, ...]
    sections: tuple[str, ...]
    categories: tuple[str, ...]


def house_of(plan: Plan) -> House:
    return House(
        tuple(seat.guid for seat in plan.seats),
        tuple(area.guid for area in plan.areas),
        tuple(section.name for section in plan.sections),
        tuple(category.name for category in plan.categories),
    )


def a_want(house: House, chance: random.Random) -> str:
    """Canonical JSON of something to ask for."""
    dice = chance.random()
    seats: tuple[str, ...] = ()
    best = None
    areas: dict[str, int] = {}
    if dice < 0.01:
        seats = ("no-such-seat",)
    elif dice < 0.55:
        seats = _named(house, chance)
    elif dice < 0.80:
        return canonical_want(_party(house, chance)).decode()
    elif dice < 0.92:
        areas = {chance.choice(house.areas): chance.randint(1, 3)}
    else:
        seats, best = _named(house, chance)[:1], Best(chance.randint(1, 2))
        areas = {chance.choice(house.areas): 1} if chance.random() < 0.5 else {}
    return canonical_want(Want(seats, best, areas)).decode()


def _named(house: House, chance: random.Random) -> tuple[str, ...]:
    count = len(house.seats)
    among = max(1, int(count * HOT_SHARE)) if chance.random() < 0.5 else count
    first = chance.randrange(among)
    return house.seats[first : first + chance.choice((1, 1, 1, 2, BLOCK_NAMED_MAX))]


def _best(house: House, chance: random.Random) -> Best:
    section = chance.choice(house.sections) if chance.random() < 0.2 else None
    category = chance.choice(house.categories) if chance.random() < 0.2 else None
    return Best(chance.randint(1, 4), section, category, apart=chance.random() < 0.1)


def _party(house: House, chance: random.Random) -> Want:
    """Best available; sometimes two parties, fewer if need be, or something else instead."""
    best = (_best(house, chance), _best(house, chance)) if chance.random() < 0.1 else _best(house, chance)
    fallbacks: tuple[Choice, ...] = ()
    if chance.random() < 0.3:
        instead = {chance.choice(house.areas): chance.randint(1, 2)} if chance.random() < 0.5 else {}
        fallbacks = (Choice(best=_best(house, chance)), *((Choice(areas=instead),) if instead else ()))
    return Want(best=best, up_to=chance.random() < 0.1, fallbacks=fallbacks)
