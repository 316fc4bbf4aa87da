"""A plan in the form decisions need: numbers, slots in best-first order, ready-made JSON. Never changes.

A *slot* is a seat's place in one long row of all seats, best first, with an empty slot after each
block. So "the best `n` neighbouring free seats" is the first run of `n` ones in a bytearray, found
at memory speed; the empty slots keep a run from crossing an aisle.
"""

from __future__ import annotations

import json
from array import array

from store.plan import Plan

Ranges = tuple[tuple[int, int], ...]
"""(first slot, slot after the last) of stretches to search, best first."""


class Layout:
    """`seat_by_guid`, `slot_of` and friends; see the module."""

    __slots__ = (
        "area_by_guid",
        "area_capacities",
        "area_json",
        "plan",
        "ranges_by_filter",
        "seat_at",
        "seat_by_guid",
        "seat_json",
        "slot_count",
        "slot_of",
    )

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.seat_by_guid = {seat.guid: number for number, seat in enumerate(plan.seats)}
        self.seat_json = [json.dumps(seat.guid, ensure_ascii=False) for seat in plan.seats]
        self.area_by_guid = {area.guid: number for number, area in enumerate(plan.areas)}
        self.area_json = [json.dumps(area.guid, ensure_ascii=False) for area in plan.areas]
        self.area_capacities = [area.capacity for area in plan.areas]
        self.slot_count = len(plan.seats) + len(plan.blocks)
        self.slot_of = array("i", bytes(4 * len(plan.seats)))
        self.seat_at = array("i", [-1]) * self.slot_count
        stretches: dict[tuple[str | None, str | None], list[tuple[int, int]]] = {}
        for index, block in enumerate(plan.blocks):
            first = block.first + index
            for seat in range(block.first, block.first + block.length):
                self.slot_of[seat] = seat + index
                self.seat_at[seat + index] = seat
            section, category = plan.sections[block.section].name, plan.categories[block.category].name
            for key in ((section, category), (section, None), (None, category), (None, None)):
                _extend(stretches.setdefault(key, []), first, first + block.length + 1)
        self.ranges_by_filter: dict[tuple[str | None, str | None], Ranges] = {
            key: tuple(ranges) for key, ranges in stretches.items()
        }

    def all_free(self) -> bytearray:
        """A byte a slot: 1 where a seat is, 0 between blocks."""
        free = bytearray(self.slot_count)
        for slot in self.slot_of:
            free[slot] = 1
        return free


def _extend(ranges: list[tuple[int, int]], first: int, end: int) -> None:
    if ranges and ranges[-1][1] == first:
        ranges[-1] = (ranges[-1][0], end)
    else:
        ranges.append((first, end))
