"""What a buyer may have of each category, counted anew for each choice; part of the plain reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from store.words import Best

if TYPE_CHECKING:
    from tests.allocator.reference import Reference


class Room:
    """What a buyer may still have of each category, while one choice is made."""

    def __init__(
        self,
        reference: Reference,
        buyer: str,
        named: Sequence[int] = (),
        areas: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self._reference, self._plan, self._buyer = reference, reference.plan, buyer
        self._fixed = named, areas
        self.unlimited = False
        self._has: Counter[int] = Counter()
        for category in range(len(self._plan.categories)):
            self._has[category] = reference.count_of_category(buyer, category)

        self.take_all(named, areas)

    def without_limits(self) -> Room:
        room = Room(self._reference, self._buyer)
        room.unlimited = True
        return room

    def at_first(self) -> Room:
        return Room(self._reference, self._buyer, *self._fixed)

    def of(self, category: int) -> int:
        if self.unlimited:
            return 10**9
        most = self._reference.policy.limits.get(self._plan.categories[category].name, 10**9)
        return max(0, most - self._has[category])

    def use(self, category: int, quantity: int = 1) -> None:
        self._has[category] += quantity

    def without(self, seats: Sequence[int], quantity: int) -> list[int]:
        """Categories of these seats that have not room for so many, in the seats' order."""
        categories = [self._plan.seats[seat].category for seat in seats]
        return [category for category in categories if self.of(category) < quantity]

    def take_what_fits(self, seats: Sequence[int], most: int) -> list[int]:
        taken: list[int] = []
        for seat in seats:
            if len(taken) < most and not self.without([seat], 1):
                self.use(self._plan.seats[seat].category)
                taken.append(seat)
        return taken

    def take_all(self, seats: Sequence[int], areas: Mapping[int, int]) -> list[int]:
        """Those categories that have not room for all of it, lowest first."""
        wanted = Counter(self._plan.seats[seat].category for seat in seats)
        for area, places in areas.items():
            wanted[self._plan.areas[area].category] += places
        lacking = [category for category in sorted(wanted) if self.of(category) < wanted[category]]
        self._has += wanted
        return lacking

    def party(self, best: Best, quantity: int, free: Callable[[int], bool]) -> tuple[list[int], str] | None:
        """Seats in blocks whose category has room for the whole party."""
        ladder = self._reference.ladder
        return ladder.party(best, quantity, free, lambda category: self.of(category) >= quantity)
