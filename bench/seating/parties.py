"""The parties that come, drawn from a seed: the same for everybody who sells.

Sizes 1 to 6, twos and fours most. Nearly all want the front: what a party describes is that of a seat drawn
with a leaning to the best rows. Most have something else that will do; some may be parted.
"""

from __future__ import annotations

import random

from msgspec.structs import replace

from store.plan import Plan, Seat
from store.words import Best, Choice, Want

SIZES = {1: 9, 2: 42, 3: 14, 4: 23, 5: 6, 6: 6}
"""Size of a party → its share of a hundred."""
DESCRIPTIONS = ("section", "category", "price", "anywhere")
DESCRIPTION_WEIGHTS = (35, 20, 15, 30)
FALLBACK_SHARE = 0.75
PAIRS_SHARE = 0.3
"""Of parties of four and six: two and two will do."""
APART_SHARE = 0.2
ANYWHERE_SHARE = 0.5
PAIR_NAMED_SHARE = 0.5


def is_open(seat: Seat) -> bool:
    """Whether anybody may get it. Accessible places and their companions' are not in this comparison."""
    return not (seat.accessible or seat.companion)


def open_seats(plan: Plan) -> int:
    return sum(map(is_open, plan.seats))


def draw(plan: Plan, *, parties: int = 0, demand: float = 0.0, seed: int = 1) -> list[Want]:
    """So many parties in their order of arrival, or as many as want `demand` times the open seats."""
    chance = random.Random(f"{seed} {plan.name}")
    wanted = demand * open_seats(plan)
    wants: list[Want] = []
    asked = 0
    while len(wants) < parties or asked < wanted:
        want = _party(plan, chance)
        wants.append(want)
        asked += sum(best.quantity for best in want.parties)
    return wants


def named_before(plan: Plan, share: float, seed: int = 1) -> list[Want]:
    """People who come first and name the seats they want, one or two, anywhere: that share of the open seats.
    Nobody names another's, so all are served and leave a house full of holes."""
    chance = random.Random(f"{seed} {plan.name}, named")
    order = [number for number, seat in enumerate(plan.seats) if is_open(seat)]
    chance.shuffle(order)
    left, wants = set(order), []
    wanted = len(order) * (1 - share)
    for seat in order:
        if len(left) <= wanted:
            break
        if seat in left:
            seats = [seat, seat + 1] if seat + 1 in left and chance.random() < PAIR_NAMED_SHARE else [seat]
            left.difference_update(seats)
            wants.append(Want(seats=tuple(plan.seats[each].guid for each in seats)))
    return wants


def _party(plan: Plan, chance: random.Random) -> Want:
    (size,) = chance.choices(list(SIZES), list(SIZES.values()))
    first = _described(plan, chance, size)
    others: list[Choice] = []
    if size in (4, 6) and chance.random() < PAIRS_SHARE:
        others.append(Choice(best=(replace(first, quantity=2),) * (size // 2)))
    if chance.random() < FALLBACK_SHARE:
        others.append(Choice(best=_described(plan, chance, size)))
        if chance.random() < ANYWHERE_SHARE:
            others.append(Choice(best=Best(size)))
    if size > 1 and chance.random() < APART_SHARE:
        if not others:
            first = replace(first, apart=True)
        elif isinstance(last := others[-1].best, Best):
            others[-1] = Choice(best=replace(last, apart=True))
    return Want(best=first, fallbacks=tuple(others))


def _described(plan: Plan, chance: random.Random, size: int) -> Best:
    """Like the better of two seats drawn at random: seats stand best first."""
    seat = plan.seats[min(chance.randrange(len(plan.seats)), chance.randrange(len(plan.seats)))]
    (kind,) = chance.choices(DESCRIPTIONS, DESCRIPTION_WEIGHTS)
    if kind == "section":
        return Best(size, section=plan.sections[seat.section].name)
    if kind == "category":
        return Best(size, category=plan.categories[seat.category].name)
    if kind == "price":
        return Best(size, price_max=plan.categories[seat.category].price_minor)
    return Best(size)
