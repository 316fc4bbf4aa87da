"""The plan as the judge sees it: who sits beside whom, which block is better, what a party described.

Its own arithmetic over the plan, on purpose: nothing of the allocator's is used, so a mistake there is not
repeated here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby

from bench.seating.parties import is_open
from store.plan import Plan, stretches
from store.words import Best


class House:
    """Blocks by rank, best first; a block's free seats are bits, the first seat's lowest."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.open = [is_open(seat) for seat in plan.seats]
        self.blocks = [plan.blocks[index] for index in _best_first(plan)]
        """rank → block"""
        self.rank_of = [0] * len(plan.seats)
        for rank, block in enumerate(self.blocks):
            for seat in range(block.first, block.first + block.length):
                self.rank_of[seat] = rank
        self.left = [-1] * len(plan.seats)
        """seat → its neighbour in the row, up to the aisle; -1 for none"""
        self.right = [-1] * len(plan.seats)
        for blocks in stretches(plan):
            last = plan.blocks[blocks.stop - 1]
            for seat in range(plan.blocks[blocks.start].first, last.first + last.length - 1):
                self.right[seat], self.left[seat + 1] = seat + 1, seat
        self.seat_of = {seat.guid: number for number, seat in enumerate(plan.seats)}
        self._described: dict[tuple[object, ...], int] = {}

    def described(self, best: Best) -> int:
        """The blocks that fit what a party says, as bits: the best one's lowest."""
        key = (best.section, best.category, best.price_min, best.price_max)
        if key not in self._described:
            fitting = [rank for rank in range(len(self.blocks)) if self._fits(rank, best)]
            self._described[key] = sum(1 << rank for rank in fitting)
        return self._described[key]

    def _fits(self, rank: int, best: Best) -> bool:
        block = self.blocks[rank]
        category = self.plan.categories[block.category]
        return (
            best.section in (None, self.plan.sections[block.section].name)
            and best.category in (None, category.name)
            and (best.price_min is None or best.price_min <= category.price_minor)
            and (best.price_max is None or category.price_minor <= best.price_max)
        )


def bits(mask: int) -> Iterator[int]:
    """The places of the ones, lowest first."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


def _best_first(plan: Plan) -> list[int]:
    """Rows in the plan's order; a row's blocks by the mean distance of their seats to the stage, measured
    in thousandths of the plan's unit, of equal ones the first."""

    def row_of(index: int) -> tuple[int, str]:
        seat = plan.seats[plan.blocks[index].first]
        return seat.section, seat.row

    def away(index: int) -> float:
        block = plan.blocks[index]
        seats = plan.seats[block.first : block.first + block.length]
        stage = (plan.focal_x, plan.focal_y)
        return sum(round(math.dist((seat.x, seat.y), stage) * 1_000) for seat in seats) / block.length

    order: list[int] = []
    for _, row in groupby(range(len(plan.blocks)), key=row_of):
        order += sorted(row, key=away)
    return order
