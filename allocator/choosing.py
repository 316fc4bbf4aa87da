"""What of a wish can be had: its seats and places, or why not. Changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from allocator.limits import Allowance, Room, count_limited
from allocator.memory import Hold, Memory
from allocator.seating import Step
from allocator.wishes import Option, Party, Wish
from store.words import HoldId, Outcome

_STEPS = list(Step)
"""In the order of the ladder: to look at an enum costs as much as to find a seat."""


class Chosen(NamedTuple):
    """What an option gives. `step` is how far down the ladder the last placed party had to go."""

    seats: tuple[int, ...]
    areas: tuple[tuple[int, int], ...]
    step: Step | None


class Refused(NamedTuple):
    """Why an option gives nothing: an outcome and its result, JSON."""

    outcome: Outcome
    result: str


def left_for(memory: Memory, buyer: str, more: Hold | None = None) -> int | Allowance:
    """How many more seats and places this buyer may have, by every limit there is; what waits for offers does
    not count, nor does `more`.
    """
    left = memory.policy.seats_per_buyer_max - memory.count_by_buyer.get(buyer, 0)
    if more is not None:
        left += more.quantity
    tour, limits = memory.policy.tour, memory.category_limits
    if tour is None and not limits:
        return left  # nearly every event
    total, elsewhere = left, 0
    if tour is not None:
        elsewhere = memory.elsewhere.get(buyer, 0)
        here = memory.policy.seats_per_buyer_max - left
        total = min(left, tour.seats_per_buyer_max - here - elsewhere)
    back = {} if more is None else count_limited(memory.layout, limits, more.seats, more.areas)
    counts = memory.count_by_category
    by_category = [
        (category, most - counts.get((buyer, category), 0) + back.get(category, 0))
        for category, most in limits.items()
    ]
    return Allowance(total, left, elsewhere, tuple(by_category))


def first_choice(memory: Memory, wish: Wish, left: int | Allowance) -> tuple[int, Chosen] | Refused:
    """The first option that can be had, and which; or why the first one cannot, but the limit goes first.

    So a refusal that is not LIMIT_REACHED is one for want of seats: of every option, for every buyer.
    """
    refusal: Refused | None = None
    for number, option in enumerate(wish.options):
        chosen = choose(memory, option, left)
        if not isinstance(chosen, Refused):
            return number, chosen
        if refusal is None or refusal.outcome is not Outcome.LIMIT_REACHED is chosen.outcome:
            refusal = chosen  # but for the limit more could be had
    assert refusal is not None, "a valid wish has at least one option"
    return refusal


@contextmanager
def counted_free(memory: Memory, hold_id: HoldId, hold: Hold) -> Iterator[None]:
    """While this lasts, what the hold has is free to choose from; afterwards memory is as it was."""
    for seat in hold.seats:
        memory.hold_of[seat] = 0
    memory.seating.show(hold.seats)
    for area, quantity in hold.areas:
        memory.areas_free[area] += quantity
    try:
        yield
    finally:
        for seat in hold.seats:
            memory.hold_of[seat] = hold_id
        memory.seating.hide(hold.seats)
        for area, quantity in hold.areas:
            memory.areas_free[area] -= quantity


def choose(memory: Memory, option: Option, left: int | Allowance) -> Chosen | Refused:
    """Decide one option for a buyer who may have `left` more seats and places."""
    if option.up_to:
        return _up_to(memory, option, left)
    for seat in option.seats:
        if memory.hold_of[seat]:
            return Refused(Outcome.TAKEN, taken(memory, option.seats))
    room = None
    if isinstance(left, int):
        if option.quantity > left:
            return _over_the_limit(memory)
    else:
        if option.quantity > left.total:
            return _over_a_total(memory, left, option.quantity)
        if left.by_category:
            room = Room(memory.layout, left.by_category)
            category = room.spend(option.seats, option.areas)
            for party in option.parties:
                if category is None:
                    category = room.barred(party.mask, party.quantity)
            if category is not None:
                return _over_a_category(memory, category)
    for area, quantity in option.areas:
        if memory.areas_free[area] < quantity:
            return _area_full(memory, area)
    if not option.parties:
        return Chosen(option.seats, option.areas, None)
    if room is None and len(option.parties) == 1 and not option.seats:  # what nearly everyone describes
        (party,) = option.parties
        found = _party(memory, party, party.quantity, [])
        if found is None:
            return _none_together(memory, party)
        return Chosen(tuple(found[0]), option.areas, found[1])
    chosen = _seated(memory, option, list(option.seats), option.quantity, room)
    if isinstance(left, int) or room is None or isinstance(chosen, Chosen):
        return chosen
    return _not_seated(memory, option, left)


def _up_to(memory: Memory, option: Option, most: int | Allowance) -> Chosen | Refused:
    """As much of the option as there is: named seats first, then parties, then places."""
    left, room = (most, None) if isinstance(most, int) else (most.total, _room(memory, most))
    if left <= 0:
        return _over_the_limit(memory) if isinstance(most, int) else _over_a_total(memory, most, 1)
    named = _free(memory, option.seats)
    named = named[:left] if room is None else room.fitting(named, left)
    found = _seated(memory, option, named, left, room)
    if isinstance(found, Refused):
        return found
    left -= len(found.seats)
    areas: list[tuple[int, int]] = []
    for area, quantity in option.areas:
        quantity = min(quantity, memory.areas_free[area], left)
        if room is not None:
            quantity = room.places(area, quantity)
        if quantity:
            areas.append((area, quantity))
            left -= quantity
    if found.seats or areas:
        return found._replace(areas=tuple(areas))
    category = None if room is None else _in_the_way(memory, option, room)
    if category is not None:
        return _over_a_category(memory, category)
    if option.parties:
        return _none_together(memory, option.parties[0])
    return (
        _area_full(memory, option.areas[0][0])
        if option.areas
        else Refused(Outcome.TAKEN, taken(memory, option.seats))
    )


def _in_the_way(memory: Memory, option: Option, room: Room) -> int | None:
    """The category but for whose limit something of the option could be had, when nothing can."""
    free = _free(memory, option.seats)
    if free:
        return room.lacking(free, 1)
    for party in option.parties:
        found = _party(memory, party, 1, [])
        if found is not None:
            return room.lacking(found[0], 1)
    areas = [area for area, _ in option.areas if memory.areas_free[area]]
    return room.area_lacking(areas[0]) if areas else None


def _seated(
    memory: Memory, option: Option, seats: list[int], left: int, room: Room | None
) -> Chosen | Refused:
    """`seats` and those of all parties, at most `left`; what one party got is taken for the next.

    With `room`, each in blocks of a category that has room for all of it.
    """
    seating = memory.seating
    hidden = list(seats)
    seating.hide(hidden)
    last = Step.TOGETHER
    try:
        for party in option.parties:
            found = None
            for quantity in range(min(party.quantity, left - len(seats)), 0, -1):
                described = party
                if room is not None:
                    described = party._replace(mask=room.narrowed(party.mask, quantity))
                found = _party(memory, described, quantity, hidden)
                if found is not None or not option.up_to:
                    break
            if found is not None:
                part, step = found
                seats += part
                last = max(last, step, key=_STEPS.index)
                seating.hide(part)
                hidden += part
                if room is not None:
                    room.spend(part)
            elif not option.up_to:
                return _none_together(memory, party)
    finally:
        seating.show(hidden)
    return Chosen(tuple(seats), option.areas, last if option.parties else None)


def _party(memory: Memory, party: Party, quantity: int, but: list[int]) -> tuple[list[int], Step] | None:
    seating = memory.seating
    if party.accessible:
        return _accessible(memory, party, quantity, but)
    found = seating.together(party.mask, quantity)
    if found is None and party.apart:
        apart = seating.apart(party.mask, quantity)
        return None if apart is None else (apart, Step.APART)
    return found


def _accessible(memory: Memory, party: Party, quantity: int, but: list[int]) -> tuple[list[int], Step] | None:
    """Together; else, where that is allowed, everyone who needs it with an even share of the company."""
    accessible = min(party.accessible, quantity)
    with_accessible = memory.seating.with_accessible
    seats = with_accessible(memory.hold_of, but, party.mask, quantity, accessible)
    if seats is not None:
        return seats, Step.TOGETHER
    if not party.apart or accessible == 1:
        return None
    even, more = divmod(quantity, accessible)
    placed: list[int] = []
    for size in [even + 1] * more + [even] * (accessible - more):
        part = with_accessible(memory.hold_of, but + placed, party.mask, size, 1)
        if part is None:
            return None
        placed += part
    return placed, Step.APART


def taken(memory: Memory, seats: tuple[int, ...]) -> str:
    """The result for who named seats that are gone: which, and what is free of the same size near them."""
    seat_json = memory.layout.seat_json
    gone = ",".join([seat_json[seat] for seat in seats if memory.hold_of[seat]])
    return f'{{"taken":[{gone}],"instead":{memory.seating.instead(seats[0], len(seats))}}}'


def _free(memory: Memory, seats: tuple[int, ...]) -> list[int]:
    return [seat for seat in seats if not memory.hold_of[seat]]


def _room(memory: Memory, left: Allowance) -> Room | None:
    return Room(memory.layout, left.by_category) if left.by_category else None


def _not_seated(memory: Memory, option: Option, left: Allowance) -> Refused:
    """Why the parties find no seats: but for a category's limit they would, or what anybody would hear."""
    found = _seated(memory, option, list(option.seats), option.quantity, None)
    if isinstance(found, Refused):
        return found
    room = Room(memory.layout, left.by_category)
    room.spend(option.seats, option.areas)
    at = len(option.seats)
    for party in option.parties:
        part = found.seats[at : at + party.quantity]
        at += party.quantity
        category = room.lacking(part, party.quantity)
        if category is not None:
            return _over_a_category(memory, category)
        room.spend(part)
    raise AssertionError("with room for all of them the parties had been seated")


def _over_a_total(memory: Memory, left: Allowance, quantity: int) -> Refused:
    """By the event's limit, or else by the tour's."""
    tour = memory.policy.tour
    if quantity > left.by_event or tour is None:
        return _over_the_limit(memory)
    told = f'"limit":{tour.seats_per_buyer_max},"elsewhere":{left.elsewhere}'
    return Refused(Outcome.LIMIT_REACHED, f'{{"reason":"tour_limit",{told}}}')


def _over_a_category(memory: Memory, category: int) -> Refused:
    name = json.dumps(memory.layout.plan.categories[category].name, ensure_ascii=False)
    limit = memory.category_limits[category]
    return Refused(Outcome.LIMIT_REACHED, f'{{"reason":"limit","limit":{limit},"category":{name}}}')


def _over_the_limit(memory: Memory) -> Refused:
    limit = memory.policy.seats_per_buyer_max
    return Refused(Outcome.LIMIT_REACHED, f'{{"reason":"limit","limit":{limit}}}')


def _area_full(memory: Memory, area: int) -> Refused:
    return Refused(Outcome.SOLD_OUT, f'{{"reason":"area_full","free":{memory.areas_free[area]}}}')


def _none_together(memory: Memory, party: Party) -> Refused:
    """With the largest party that still finds seats together."""
    largest = memory.seating.largest(party.mask, party.quantity)
    return Refused(Outcome.SOLD_OUT, f'{{"reason":"none_together","largest":{largest}}}')
