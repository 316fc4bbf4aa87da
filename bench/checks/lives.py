"""Holds by the ledger, and what later arrivals have of them when somebody is decided behind them.

A hold that was moved counts from its first arrival for whatever it had before. What a later arrival's move
set free is nobody's: in order the mover would have had it still.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field

from bench.checks.free import Could, Free
from bench.evidence import LedgerRow
from store.plan import Plan
from store.wire import arrival_order

Order = tuple[int, int]


@dataclass(slots=True)
class Life:
    """A hold from the row that gave it to the row that freed it (None: it still lives)."""

    hold_id: int
    row: LedgerRow
    seats: tuple[int, ...]
    areas: tuple[tuple[int, int], ...]
    end: tuple[int, int] | None = None
    given_back: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Seats it gave back while it lived on, each with the row that freed it."""
    ending: str = ""
    paid: bool = False
    kept_seats: dict[int, Order] = field(default_factory=dict)
    """Seats that it had before it was moved, each with the arrival it has had them since."""
    kept_areas: dict[int, Order] = field(default_factory=dict)
    """Likewise areas where it had places."""

    def end_of(self, seat: int) -> tuple[int, int] | None:
        """The row that freed this seat of it."""
        return self.given_back.get(seat, self.end)

    def since(self, seat: int) -> Order:
        """The arrival it has had this seat since."""
        return self.kept_seats.get(seat) or arrival_order(self.row.arrival)

    def since_in(self, area: int) -> Order:
        """The arrival it has had places there since."""
        return self.kept_areas.get(area) or arrival_order(self.row.arrival)


@dataclass(slots=True)
class Overtaken:
    """A request that was refused what later arrivals had, who were decided before it."""

    row: LedgerRow
    could: list[tuple[Could, str, LedgerRow]]
    """What its choices could have been given but for them, each with a part of it and who had that."""


class Later:
    """Holds by arrival, as far as the walk has come. An operator's sales have none and are not in it."""

    def __init__(self, plan: Plan, lives: dict[int, Life], holder: dict[int, int]) -> None:
        self._plan = plan
        self._lives = lives
        self._holder = holder
        self._in_area: dict[int, list[tuple[Order, int]]] = {}
        """(arrival, hold) in order of arrivals; what ended leaves it when somebody comes across it."""
        self._moved_off: dict[int, Order] = {}
        """Seat → the latest arrival whose move set it free."""
        self._moved_off_area: dict[int, Order] = {}

    def given(self, life: Life, moved: Life | None) -> None:
        """A hold begins; `moved`: instead of this one of its buyer's."""
        if moved is not None and moved.row.arrival:
            self._move(moved, life)
        for area, _ in life.areas:
            insort(self._in_area.setdefault(area, []), (life.since_in(area), life.hold_id))

    def _move(self, old: Life, new: Life) -> None:
        by = arrival_order(new.row.arrival)
        had = {seat for seat in old.seats if seat not in old.given_back}
        new.kept_seats = {seat: old.since(seat) for seat in new.seats if seat in had}
        for seat in had.difference(new.seats):
            self._moved_off[seat] = max(by, self._moved_off.get(seat, by))
        has_in = dict(new.areas)
        for area, quantity in old.areas:
            if area in has_in:
                new.kept_areas[area] = old.since_in(area)
            if has_in.get(area, 0) < quantity:
                self._moved_off_area[area] = max(by, self._moved_off_area.get(area, by))

    def without(self, order: Order, now: Free) -> Free:
        """What there would be if nobody who arrived after `order` had been decided; `now`: what there is."""

        def has(seat: int) -> bool:
            if self._moved_off.get(seat, order) > order:
                return False
            return now.has(seat) or self._who_has(seat, order) is not None

        def places(area: int, wanted: int) -> int:
            if self._moved_off_area.get(area, order) > order:
                return 0
            free = now.places(area, wanted)
            return free + self._places(area, order, wanted - free)

        return Free(has, places)

    def who_had(self, could: Could, order: Order, now: Free) -> tuple[str, LedgerRow]:
        """A part of what could have been given `without` them, and who of a later arrival has it."""
        for seat in could.seats:
            if (row := self._who_has(seat, order)) is not None:
                return self._plan.seats[seat].guid, row
        for area, quantity in could.areas.items():
            if now.places(area, quantity) < quantity and self._places(area, order, 1):
                latest = self._lives[self._in_area[area][-1][1]]
                return f"a place in {self._plan.areas[area].guid}", latest.row
        raise AssertionError("what there would be without later arrivals, and is not now, one of them has")

    def _who_has(self, seat: int, order: Order) -> LedgerRow | None:
        life = self._lives.get(self._holder.get(seat, -1))
        return life.row if life is not None and life.row.arrival and life.since(seat) > order else None

    def _places(self, area: int, order: Order, wanted: int) -> int:
        """How many places later arrivals have there, the latest first; it stops at `wanted`."""
        line, alive, found = self._in_area.get(area, []), [], 0
        while line and line[-1][0] > order and found < wanted:
            entry = line.pop()
            life = self._lives[entry[1]]
            places = 0 if life.end is not None else dict(life.areas).get(area, 0)
            if places:
                alive.append(entry)
                found += places
        line += reversed(alive)
        return found
