"""How much of what a buyer can describe is free, held or gone, kept up to date change by change.

Seats are counted by kind (section, category, whether kept for accessible places), and what is left of a
description is remembered until a seat changes: of a thousand who describe the same, one costs more than a
look. The earliest end of held seats is at the top of a heap, which a kind has from when it was first asked
for with nothing free; entries that are no longer true are dropped when they come up, or when they outnumber
the true ones.

What is held in a standing area is known by the ends of holds only: where one was bought or given back before
its end, the area looks as if something might still come back, and its requests are queued.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from store.plan import Plan
from store.words import Best

WISHES_MAX = 1_000
"""Most descriptions that are remembered."""
SEAT_BITS = 20
"""An end and a seat's number in one integer: a plan has at most 100,000 seats."""
STALE_MAX = 64
"""Entries that are no longer true, beyond as many as the true ones, before they are swept out."""
AVAILABLE, HELD, SOLD, BLOCKED = b"ahsb"
_SECOND_US = 1_000_000


class Left(NamedTuple):
    """What is left of a description."""

    free: bool
    held: int
    soonest: int | None
    """When the first of it that is held runs out; None when none is, and where something is free."""


class Stock:
    """One event's, with its seat map: one letter a seat, and for held seats their end."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.letters = bytearray(b"a" * len(plan.seats))
        self.held_until = array("q", bytes(8 * len(plan.seats)))
        kinds: dict[tuple[int, int, bool], int] = {}
        self._kind_of = array("i")
        for seat in plan.seats:
            kind = (seat.section, seat.category, seat.accessible or seat.companion)
            self._kind_of.append(kinds.setdefault(kind, len(kinds)))
        self._kinds = list(kinds)
        self._seats_of = [array("i") for _ in kinds]
        for no, number in enumerate(self._kind_of):
            self._seats_of[number].append(no)
        self._changes = 0
        self._known: dict[Best, tuple[int, Left | None]] = {}
        """What is left of descriptions, and after which change."""
        self.free = [len(seats) for seats in self._seats_of]
        self.held = [0] * len(kinds)
        self._ends: list[list[int] | None] = [None] * len(kinds)
        self._area_ends: list[set[int]] = [set() for _ in plan.areas]
        """Whole seconds, rounded down: at most one entry for each second that a hold can last."""

    @property
    def kinds(self) -> list[tuple[int, int, bool]]:
        """(section, category, whether kept for accessible places) of its seats, each once."""
        return self._kinds

    def under(self, plan: Plan) -> Stock:
        """The same seats and places, some of other categories."""
        stock = Stock(plan)
        held = [(no, self.held_until[no]) for no, letter in enumerate(self.letters) if letter == HELD]
        stock.load(bytes(self.letters), held, [])
        stock._area_ends = self._area_ends
        return stock

    # --- changes ---

    def load(
        self, letters: bytes, held_until: Iterable[tuple[int, int]], area_ends: Iterable[tuple[int, int]]
    ) -> None:
        """The map was read anew."""
        self.letters[:] = letters
        for no, until in held_until:
            self.held_until[no] = until
        self.free[:] = self.held[:] = [0] * len(self.free)
        for no, letter in enumerate(letters):
            self.free[self._kind_of[no]] += letter == AVAILABLE
            self.held[self._kind_of[no]] += letter == HELD
        self._ends = [None] * len(self._ends)
        self._area_ends = [set() for _ in self._area_ends]
        self.places_held(area_ends)
        self._changes += 1

    def turn(self, seats: Iterable[int], letter: int) -> None:
        """These seats are free, sold or blocked now."""
        letters, kind_of, free, held = self.letters, self._kind_of, self.free, self.held
        for no in seats:
            old, kind = letters[no], kind_of[no]
            letters[no] = letter
            free[kind] += (letter == AVAILABLE) - (old == AVAILABLE)
            held[kind] -= old == HELD
            self._changes += 1

    def hold(self, held_until: Iterable[tuple[int, int]]) -> None:
        """These seats are held until then."""
        letters, kind_of, free, held = self.letters, self._kind_of, self.free, self.held
        for no, until in held_until:
            old, kind = letters[no], kind_of[no]
            letters[no] = HELD
            self.held_until[no] = until
            free[kind] -= old == AVAILABLE
            held[kind] += old != HELD
            self._changes += 1
            ends = self._ends[kind]
            if ends is not None:
                heapq.heappush(ends, until << SEAT_BITS | no)
                if len(ends) > 2 * held[kind] + STALE_MAX:
                    self._ends[kind] = None  # made anew when it is asked for

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

    def left_of(self, party: Best) -> Left | None:
        """What is left of what a party describes; None where the plan has no such seat."""
        known = self._known.get(party)
        if known is None or known[0] != self._changes:
            if len(self._known) >= WISHES_MAX:
                self._known.clear()
            kinds = [number for number, kind in enumerate(self._kinds) if self._fits(party, *kind)]
            known = self._known[party] = (self._changes, self._left(kinds) if kinds else None)
        return known[1]

    def _left(self, kinds: Sequence[int]) -> Left:
        if any(self.free[kind] for kind in kinds):
            return Left(True, 0, None)
        return Left(False, sum([self.held[kind] for kind in kinds]), self._soonest(kinds))

    def _fits(self, party: Best, section: int, category: int, kept: bool) -> bool:
        price = self._plan.categories[category].price_minor
        return (
            (party.section is None or party.section == self._plan.sections[section].name)
            and (party.category is None or party.category == self._plan.categories[category].name)
            and (party.price_min is None or party.price_min <= price)
            and (party.price_max is None or price <= party.price_max)
            and (not kept or party.accessible > 0)
        )

    def soonest_place(self, area: int) -> int | None:
        """When the first hold of places there runs out, as far as one can know, or None."""
        ends = self._area_ends[area]
        return min(ends) * _SECOND_US if ends else None

    @property
    def holds_anything(self) -> bool:
        """Whether something is held, as far as one can know: it may come back."""
        return any(self.held) or any(self._area_ends)

    def soonest_of_all(self) -> int | None:
        """When the first hold of the house runs out, or None."""
        places = [self.soonest_place(area) for area, ends in enumerate(self._area_ends) if ends]
        seats = self._soonest([kind for kind, held in enumerate(self.held) if held])
        return min([end for end in (seats, *places) if end is not None], default=None)

    def _soonest(self, kinds: Iterable[int]) -> int | None:
        return min([end for kind in kinds if (end := self._first_end(kind)) is not None], default=None)

    def _first_end(self, kind: int) -> int | None:
        ends = self._ends[kind]
        if ends is None:
            held = [no for no in self._seats_of[kind] if self.letters[no] == HELD]
            ends = self._ends[kind] = [self.held_until[no] << SEAT_BITS | no for no in held]
            heapq.heapify(ends)
        while ends:
            no = ends[0] & (1 << SEAT_BITS) - 1
            if self.letters[no] == HELD and self.held_until[no] == ends[0] >> SEAT_BITS:
                return ends[0] >> SEAT_BITS
            heapq.heappop(ends)
        return None
