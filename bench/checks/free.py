"""Whether what somebody asked for could be had, by what is free: not which seats are best.

Where only the decision itself could tell (several parties, accessible places), it says no.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from store.plan import Plan, stretches


class Could(NamedTuple):
    """What a choice could have been given."""

    seats: tuple[int, ...]
    areas: dict[int, int]
    up_to: bool
    """Less of it would have done."""


class Free(NamedTuple):
    """What there is."""

    has: Callable[[int], bool]
    """Whether a seat may be given."""
    places: Callable[[int, int], int]
    """Area, how many are asked for → how many may be given; of more than that it may say fewer."""


class Choices:
    """Reads wants by a plan. `category_of` is the seats' categories as they are when it is asked."""

    def __init__(self, plan: Plan, category_of: list[int]) -> None:
        self._plan = plan
        self._category_of = category_of
        self._seat_numbers = {seat.guid: number for number, seat in enumerate(plan.seats)}
        self._area_numbers = {area.guid: number for number, area in enumerate(plan.areas)}
        self._for_all = [not (seat.accessible or seat.companion) for seat in plan.seats]
        """Seats that are not kept for who needs an accessible place."""
        self._stretches = _stretches(plan)
        """Seats between aisles."""

    def that_could_be_had(self, want: dict[str, Any], free: Free) -> Iterator[Could]:
        """What each choice could have been given, if anything."""
        for choice in (want, *want.get("fallbacks", ())):
            if (could := self._choice(choice, free)) is not None:
                yield could

    def _choice(self, choice: dict[str, Any], free: Free) -> Could | None:
        up_to = choice.get("up_to", False)
        named = [self._seat_numbers.get(guid, -1) for guid in choice.get("seats", ())]
        seats = [seat for seat in named if seat >= 0 and free.has(seat)]
        if len(seats) < len(named) and not up_to:
            return None
        areas = {}
        for guid, quantity in choice.get("areas", {}).items():
            area = self._area_numbers.get(guid)
            left = 0 if area is None else free.places(area, quantity)
            if left < quantity and not up_to:
                return None
            if area is not None and left > 0:
                areas[area] = min(left, quantity)
        best = choice.get("best") or []
        parties = best if isinstance(best, list) else [best]
        if len(parties) > 1:
            return None  # one may sit where only the next could: the replay's to judge
        for party in parties:
            sizes = range(1 if up_to else party["quantity"], party["quantity"] + 1)
            runs = (self._run_of(party, size, set(seats), free) for size in sizes)
            run = next((run for run in runs if run is not None), None)
            if run is None and not up_to:
                return None
            seats += run or ()
        return Could(tuple(seats), areas, up_to) if seats or areas else None

    def _run_of(
        self, best: dict[str, Any], quantity: int, but: set[int], free: Free
    ) -> tuple[int, ...] | None:
        """Seats for a party, by the plan's order: whether there are any, not which are best."""
        plan, found = self._plan, []
        low, high = best.get("price_min", 0), best.get("price_max", math.inf)
        parted = best.get("apart", False)
        if best.get("accessible", 0):
            return None  # where they could sit is the replay's to judge
        for stretch in self._stretches:
            if best.get("section") not in (None, plan.sections[plan.seats[stretch[0]].section].name):
                continue
            run, of = 0, -1
            for seat in stretch:
                number = self._category_of[seat]
                category, before, of = plan.categories[number], of, number
                meant = best.get("category") in (None, category.name) and low <= category.price_minor <= high
                is_open = meant and self._for_all[seat] and seat not in but and free.has(seat)
                run = (run if number == before else 0) + 1 if is_open else 0
                if run:
                    found.append(seat)
                if run == quantity:
                    return tuple(range(seat - quantity + 1, seat + 1))
        return tuple(found[:quantity]) if parted and len(found) >= quantity else None


def _stretches(plan: Plan) -> list[range]:
    """Seats between aisles: blocks in a row that only a change of category parts are one."""
    starts = {plan.blocks[blocks[0]].first for blocks in stretches(plan)}
    starts |= {block.first for before, block in pairwise(plan.blocks) if before.category == block.category}
    return [range(*pair) for pair in pairwise([*sorted(starts), len(plan.seats)])]
