"""How much more a buyer may have, where more than one number says so: by category, and across a tour.

Nearly every event has one limit, an int that decisions compare with. An event whose categories have
limits of their own, or that is a date of a tour, has a `Allowance` for each buyer instead; while one option
is chosen for them, a `Room` says which categories still take how many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from allocator.layout import Layout
from store.words import Policy

Places = Sequence[tuple[int, int]]
"""(area number, places)"""


class Allowance(NamedTuple):
    """What a buyer may have more, by each limit there is."""

    total: int
    """By the event's limit and the tour's together."""
    by_event: int
    """By the event's alone."""
    elsewhere: int
    """What they have on the tour's other dates."""
    by_category: tuple[tuple[int, int], ...]
    """(category number, so many) of categories with a limit."""


def limits_by_number(layout: Layout, policy: Policy) -> dict[int, int]:
    """Category number → most seats and places of it one buyer may have."""
    limits = policy.limits
    names = [category.name for category in layout.plan.categories] if limits else []
    return {number: limits[name] for number, name in enumerate(names) if name in limits}


def count_limited(
    layout: Layout, limited: Iterable[int], seats: Iterable[int], areas: Places
) -> dict[int, int]:
    """How many of these seats and places are of each limited category; those of others are left out."""
    counts = dict.fromkeys(limited, 0)
    plan = layout.plan
    for seat in seats:
        category = plan.seats[seat].category
        if category in counts:
            counts[category] += 1
    for area, quantity in areas:
        category = plan.areas[area].category
        if category in counts:
            counts[category] += quantity
    return {category: count for category, count in counts.items() if count}


class Room:
    """What a buyer may still have of each limited category while one option is chosen."""

    __slots__ = ("_layout", "_left")

    def __init__(self, layout: Layout, left: Iterable[tuple[int, int]]) -> None:
        self._layout = layout
        self._left = dict(left)

    def spend(self, seats: Iterable[int], areas: Places = ()) -> int | None:
        """Take these; the first category that has not room for them, or None."""
        for category, count in count_limited(self._layout, self._left, seats, areas).items():
            self._left[category] -= count
            if self._left[category] < 0:
                return category
        return None

    def fitting(self, seats: Iterable[int], most: int) -> list[int]:
        """Take one after the other those that there is room for, at most so many."""
        fitting: list[int] = []
        for seat in seats:
            if len(fitting) < most and self.lacking((seat,), 1) is None:
                self.spend((seat,))
                fitting.append(seat)
        return fitting

    def places(self, area: int, most: int) -> int:
        """Take as many places of the area as there is room for, at most so many."""
        category = self._layout.plan.areas[area].category
        if category in self._left:
            most = max(0, min(most, self._left[category]))
            self._left[category] -= most
        return most

    def narrowed(self, mask: int, quantity: int) -> int:
        """Those of the blocks whose category has room for a party of that size."""
        plan, masks = self._layout.plan, self._layout.category_masks
        for category, left in self._left.items():
            if left < quantity:
                mask &= ~masks.get(plan.categories[category].name, 0)
        return mask

    def barred(self, mask: int, quantity: int) -> int | None:
        """Where no category of these blocks has room for a party of that size, that of the best block."""
        if not mask or self.narrowed(mask, quantity):  # who waits may describe what there is no longer
            return None
        layout = self._layout
        first, _ = layout.block_slots[(mask & -mask).bit_length() - 1]
        return layout.plan.seats[layout.seat_at[first]].category

    def lacking(self, seats: Iterable[int], quantity: int) -> int | None:
        """The category of the first of these seats that has not room for so many, or None."""
        for seat in seats:
            category = self._layout.plan.seats[seat].category
            if self._left.get(category, quantity) < quantity:
                return category
        return None

    def area_lacking(self, area: int) -> int | None:
        """The area's category, if it has no room at all."""
        category = self._layout.plan.areas[area].category
        return category if self._left.get(category, 1) < 1 else None
