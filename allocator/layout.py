"""A plan in the form decisions need: numbers, slots, ranks, ready-made JSON. Never changes.

A *slot* is a seat's place in one long row of all seats, with a wall after each stretch of seats that
have no aisle between them: free neighbours are a run of ones in a bytearray, found at memory speed.

A *rank* is a block's place among all blocks, best first: by the plan's order of rows, within a row by
the mean distance of the block's seats to the focal point, then left to right. A *mask* is a set of
blocks, bit by rank.
"""

from __future__ import annotations

import json
import math
from array import array
from itertools import pairwise

from store.plan import Plan, rows, stretches
from store.words import Best

Slots = tuple[int, int]
"""(first slot, slot after the last)"""


class Layout:
    """`seat_by_guid`, `slot_of` and friends; see the module."""

    __slots__ = (
        "_turns",
        "accessible_ranks",
        "area_by_guid",
        "area_capacities",
        "area_json",
        "block_slots",
        "category_masks",
        "category_of",
        "costs",
        "like_of",
        "open_slots",
        "plan",
        "rank_of",
        "ranks_of_stretch",
        "seat_at",
        "seat_by_guid",
        "seat_json",
        "section_masks",
        "slot_of",
        "stretch_of",
        "stretch_slots",
        "version",
    )

    def __init__(self, plan: Plan, version: int = 0) -> None:
        self.plan = plan
        self.version = version
        """How many moves to other categories there were since the sale began."""
        self.seat_by_guid = {seat.guid: number for number, seat in enumerate(plan.seats)}
        self.seat_json = [json.dumps(seat.guid, ensure_ascii=False) for seat in plan.seats]
        self.area_by_guid = {area.guid: number for number, area in enumerate(plan.areas)}
        self.area_json = [json.dumps(area.guid, ensure_ascii=False) for area in plan.areas]
        self.area_capacities = [area.capacity for area in plan.areas]
        self._place_seats()
        self._rank_blocks()
        self._turns: dict[int, array[int]] = {}
        """party size → rank → `turn`, 0 where nobody asked yet"""

    def _place_seats(self) -> None:
        """Slots, stretches, and what a run of slots costs: `costs[end] - costs[first]`, in thousandths."""
        plan = self.plan
        focal = (plan.focal_x, plan.focal_y)
        self.slot_of = array("i", bytes(4 * len(plan.seats)))
        """seat number → slot"""
        self.stretch_of = array("i", bytes(4 * len(plan.seats)))
        """seat number → stretch"""
        self.seat_at = array("i", [-1])
        """slot → seat number; -1 is a wall"""
        self.costs = array("q", [0, 0])
        """slot → distances to the focal point of all seats before it"""
        self.stretch_slots: list[Slots] = []
        self.ranks_of_stretch: list[list[int]] = []
        for number, blocks in enumerate(stretches(plan)):
            last = plan.blocks[blocks.stop - 1]
            first_slot = len(self.seat_at)
            for seat in range(plan.blocks[blocks.start].first, last.first + last.length):
                self.slot_of[seat], self.stretch_of[seat] = len(self.seat_at), number
                self.seat_at.append(seat)
                away = math.dist((plan.seats[seat].x, plan.seats[seat].y), focal)
                self.costs.append(self.costs[-1] + round(away * 1_000))
            self.stretch_slots.append((first_slot, len(self.seat_at)))
            self.ranks_of_stretch.append([])
            self.seat_at.append(-1)
            self.costs.append(self.costs[-1])
        self.open_slots = bytes(
            seat >= 0 and not (plan.seats[seat].accessible or plan.seats[seat].companion)
            for seat in self.seat_at
        )
        """slot → 1 for a seat that anybody may get; accessible places and their companions' are asked for"""

    def _rank_blocks(self) -> None:
        plan = self.plan
        self.rank_of = array("i", bytes(4 * len(plan.seats)))
        """seat number → rank of its block"""
        self.block_slots: list[Slots] = []
        self.section_masks: dict[str, int] = {}
        self.category_masks: dict[str, int] = {}
        self.accessible_ranks: list[int] = []
        by_rank = [block for row in rows(plan) for block in sorted(row, key=self._mean_cost)]
        for rank, index in enumerate(by_rank):
            block = plan.blocks[index]
            first, seats = self.slot_of[block.first], range(block.first, block.first + block.length)
            self.block_slots.append((first, first + block.length))
            self.ranks_of_stretch[self.stretch_of[block.first]].append(rank)
            for seat in seats:
                self.rank_of[seat] = rank
            if any(plan.seats[seat].accessible for seat in seats):
                self.accessible_ranks.append(rank)
            for masks, name in (
                (self.section_masks, plan.sections[block.section].name),
                (self.category_masks, plan.categories[block.category].name),
            ):
                masks[name] = masks.get(name, 0) | 1 << rank
        alike: dict[tuple[int, int], int] = {}
        for rank, index in enumerate(by_rank):
            kind = (plan.blocks[index].section, plan.blocks[index].category)
            alike[kind] = alike.get(kind, 0) | 1 << rank
        self.like_of = [alike[plan.blocks[index].section, plan.blocks[index].category] for index in by_rank]
        """rank → mask of the blocks of its section and category"""
        self.category_of = [
            self.category_masks[plan.categories[plan.blocks[index].category].name] for index in by_rank
        ]
        """rank → mask of the blocks of its category"""

    def _mean_cost(self, index: int) -> tuple[float, int]:
        block = self.plan.blocks[index]
        first = self.slot_of[block.first]
        return (self.costs[first + block.length] - self.costs[first]) / block.length, index

    def turn(self, rank: int, quantity: int) -> int:
        """The slot at which a run of so many seats costs least in this block, if it costs more the further
        from there it begins, before or behind; -1 where it does not, as in a row bent the other way.
        """
        turns = self._turns.get(quantity)
        if turns is None:
            turns = self._turns[quantity] = array("i", [0]) * len(self.block_slots)
        turn = turns[rank]
        if not turn:
            turn = turns[rank] = self._find_turn(*self.block_slots[rank], quantity)
        return turn

    def _find_turn(self, first: int, end: int, quantity: int) -> int:
        costs = self.costs
        of_runs = [costs[at + quantity] - costs[at] for at in range(first, end - quantity + 1)]
        if not of_runs:
            return -1
        least = of_runs.index(min(of_runs))
        falls = all(one > other for one, other in pairwise(of_runs[: least + 1]))
        rises = all(one < other for one, other in pairwise(of_runs[least + 1 :]))
        return first + least if falls and rises else -1

    def mask(self, best: Best) -> int:
        """The blocks that `best` describes; 0 when there are none."""
        mask = (1 << len(self.block_slots)) - 1
        if best.section is not None:
            mask &= self.section_masks.get(best.section, 0)
        if best.category is not None:
            mask &= self.category_masks.get(best.category, 0)
        if best.price_min is not None or best.price_max is not None:
            low = best.price_min or 0
            high = best.price_max if best.price_max is not None else math.inf
            within = 0
            for category in self.plan.categories:
                if low <= category.price_minor <= high:
                    within |= self.category_masks.get(category.name, 0)
            mask &= within
        return mask
