"""A plan with some of its seats and areas in other categories. Pure, so that a replay makes the same plan.

Seats keep their numbers and blocks their order; blocks are cut where the category changes, and at the same
aisles as ever. So what is moved and moved back is the plan that was there before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from store.plan import Block, Plan, stretches
from store.words import Recategorise


def recategorised(plan: Plan, seats: Sequence[int], areas: Sequence[int]) -> Plan:
    """The plan with the category of every seat and area as given, by number."""
    hard = {plan.blocks[stretch.start].first for stretch in stretches(plan)}
    for before, block in zip(plan.blocks, plan.blocks[1:], strict=False):
        if before.category == block.category:  # what parts them is no change of category
            hard.add(block.first)
    cuts = [
        seat
        for seat in range(len(plan.seats))
        if seat == 0
        or seat in hard
        or plan.seats[seat].row != plan.seats[seat - 1].row
        or plan.seats[seat].section != plan.seats[seat - 1].section
        or seats[seat] != seats[seat - 1]
    ]
    ends = [*cuts, len(plan.seats)][1:]
    return replace(
        plan,
        seats=tuple(
            seat if seat.category == category else replace(seat, category=category)
            for seat, category in zip(plan.seats, seats, strict=True)
        ),
        areas=tuple(
            replace(area, category=category) for area, category in zip(plan.areas, areas, strict=True)
        ),
        blocks=tuple(
            Block(first, end - first, plan.seats[first].section, seats[first])
            for first, end in zip(cuts, ends, strict=True)
        ),
    )


def with_category(plan: Plan, category: int, seats: Iterable[int], areas: Iterable[int]) -> Plan:
    """The plan with these seats and areas, by number, in that category."""
    of_seats = [seat.category for seat in plan.seats]
    of_areas = [area.category for area in plan.areas]
    for number in seats:
        of_seats[number] = category
    for number in areas:
        of_areas[number] = category
    return recategorised(plan, of_seats, of_areas)


def after(plan: Plan, move: Recategorise) -> Plan:
    """The plan from this move of a sale on."""
    return with_category(plan, move.category, move.seats, move.areas)
