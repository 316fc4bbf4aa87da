"""How much of what a buyer can describe is free, held or gone, kept up to date change by change.

Seats are counted by kind (section, category, whether kept for accessible places), so what a described
request costs is a few additions, however large the house. For held seats and places the earliest end is at
the top of a heap; entries that are no longer true are dropped when they come up, or when they outnumber the
true ones.

What is held in a standing area is known by the ends of holds only: where one was bought or given back before
its end, the area looks as if something might still come back, and its requests are queued.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable

from store.plan import Plan
from store.words import Best

WISHES_MAX = 1_000
"""Most descriptions whose kinds are remembered."""
SEAT_BITS = 20
"""An end and a seat's number in one integer: a plan has at most 100,000 seats."""
STALE_MAX = 64
"""Entries that are no longer true, beyond as many as the true ones, before they are swept out."""
_SECOND_US = 1_000_000


class Stock:
    """One event's. `letters` and `held_until` are the map's own, one entry a seat."""

    def __init__(self, plan: Plan, letters: bytearray, held_until: array[int], held: int) -> None:
        self._plan = plan
        self._letters = letters
        self._held_until = held_until
        self._held = held
        kinds: dict[tuple[int, int, bool], int] = {}
        self._kind_of = array("i")
        for seat in plan.seats:
            kind = (seat.section, seat.category, seat.accessible or seat.companion)
            self._kind_of.append(kinds.setdefault(kind, len(kinds)))
        self._kinds = list(kinds)
        self._wishes: dict[Best, tuple[int, ...]] = {}
        self.free = [0] * len(kinds)
        self.held = [0] * len(kinds)
        self._ends: list[list[int]] = [[] for _ in kinds]
        self._area_ends: list[set[int]] = [set() for _ in plan.areas]
        """Whole seconds, rounded down: at most one entry for each second that a hold can last."""

    # --- changes ---

    def count_anew(self, available: int, area_ends: Iterable[tuple[int, int]]) -> None:
        """The map was read: `letters` and `held_until` are new."""
        self.free[:] = self.held[:] = [0] * len(self.free)
        self._ends = [[] for _ in self._ends]
        for no, letter in enumerate(self._letters):
            if letter == available:
                self.free[self._kind_of[no]] += 1
            elif letter == self._held:
                self.held[self._kind_of[no]] += 1
                self._ends[self._kind_of[no]].append(self._held_until[no] << SEAT_BITS | no)
        for ends in self._ends:
            heapq.heapify(ends)
        self._area_ends = [set() for _ in self._area_ends]
        self.places_held(area_ends)

    def turned(self, no: int, old: int, new: int, available: int) -> None:
        """A seat has another letter."""
        kind = self._kind_of[no]
        self.free[kind] += (new == available) - (old == available)
        self.held[kind] += (new == self._held) - (old == self._held)

    def holds_until(self, no: int, until_us: int) -> None:
        """A held seat's end."""
        kind = self._kind_of[no]
        ends = self._ends[kind]
        heapq.heappush(ends, until_us << SEAT_BITS | no)
        if len(ends) > 2 * self.held[kind] + STALE_MAX:
            ends[:] = {entry for entry in ends if self._is_true(entry)}
            heapq.heapify(ends)

    def places_held(self, area_ends: Iterable[tuple[int, int]]) -> None:
        """(area number, end in microseconds) of holds of places."""
        for area, until_us in area_ends:
            self._area_ends[area].add(until_us // _SECOND_US)

    def passed(self, batch_time_us: int) -> None:
        """A batch of that time made true what ran out before it."""
        for ends in self._area_ends:
            if ends:
                ends.difference_update([end for end in ends if end < batch_time_us // _SECOND_US])

    # --- questions ---

    def kinds_of(self, party: Best) -> tuple[int, ...]:
        """The kinds a party describes; none where the plan has no such seat."""
        kinds = self._wishes.get(party)
        if kinds is None:
            if len(self._wishes) >= WISHES_MAX:
                self._wishes.clear()
            found = [number for number, kind in enumerate(self._kinds) if self._fits(party, *kind)]
            kinds = self._wishes[party] = tuple(found)
        return kinds

    def _fits(self, party: Best, section: int, category: int, kept: bool) -> bool:
        price = self._plan.categories[category].price_minor
        return (
            (party.section is None or party.section == self._plan.sections[section].name)
            and (party.category is None or party.category == self._plan.categories[category].name)
            and (party.price_min is None or party.price_min <= price)
            and (party.price_max is None or price <= party.price_max)
            and (not kept or party.accessible > 0)
        )

    def any_free(self, kinds: Iterable[int]) -> bool:
        free = self.free
        return any(free[kind] for kind in kinds)

    def held_of(self, kinds: Iterable[int]) -> int:
        """How many of these are held."""
        return sum([self.held[kind] for kind in kinds])

    def soonest(self, kinds: Iterable[int]) -> int | None:
        """When the first of these that are held runs out, or None when none is."""
        return min([end for kind in kinds if (end := self._top(kind)) is not None], default=None)

    def soonest_place(self, area: int) -> int | None:
        """When the first hold of places there runs out, as far as one can know, or None."""
        ends = self._area_ends[area]
        return min(ends) * _SECOND_US if ends else None

    def soonest_of_all(self) -> int | None:
        """When the first hold of the house runs out, or None."""
        places = [self.soonest_place(area) for area, ends in enumerate(self._area_ends) if ends]
        seats = self.soonest(range(len(self._kinds)))
        return min([end for end in (seats, *places) if end is not None], default=None)

    def _top(self, kind: int) -> int | None:
        ends = self._ends[kind]
        while ends:
            if self._is_true(ends[0]):
                return ends[0] >> SEAT_BITS
            heapq.heappop(ends)
        return None

    def _is_true(self, entry: int) -> bool:
        no = entry & (1 << SEAT_BITS) - 1
        return self._letters[no] == self._held and self._held_until[no] == entry >> SEAT_BITS
