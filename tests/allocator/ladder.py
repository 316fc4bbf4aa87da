"""The ladder of best available once more, plain and slow: every run of every block is looked at each time.
Shares no code with `allocator.seating`; for plans so small that no bound of it is reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from store.plan import Plan, number, rows, stretches
from store.words import Best

Seats = list[int]
IsFree = Callable[[int], bool]
Cost = tuple[int, int]


def with_parts_of(plan: Plan, category: int, seats: Iterable[int], areas: Iterable[int]) -> Plan:
    """A plan made as if these had been of that category from the beginning."""
    in_it, areas_in_it = set(seats), set(areas)
    return number(
        plan.name,
        plan.currency,
        plan.categories,
        plan.sections,
        [replace(seat, category=category) if n in in_it else seat for n, seat in enumerate(plan.seats)],
        [replace(area, category=category) if n in areas_in_it else area for n, area in enumerate(plan.areas)],
        focal=(plan.focal_x, plan.focal_y),
        size=(plan.width, plan.height),
    )


@dataclass
class Ladder:
    """A plan, and its blocks best first."""

    plan: Plan
    ranked: list[int] = field(init=False)
    bench_of: dict[int, range] = field(init=False, default_factory=dict)
    """seat → the seats between its aisles"""

    def __post_init__(self) -> None:
        self.ranked = [
            block
            for row in rows(self.plan)
            for block in sorted(row, key=lambda one: (self._mean(self.seats_of(one)), one))
        ]
        for blocks in stretches(self.plan):
            bench = range(self.seats_of(blocks[0]).start, self.seats_of(blocks[-1]).stop)
            self.bench_of.update(dict.fromkeys(bench, bench))

    def seats_of(self, block: int) -> range:
        return range(
            self.plan.blocks[block].first, self.plan.blocks[block].first + self.plan.blocks[block].length
        )

    def ordinary(self, seat: int) -> bool:
        return not (self.plan.seats[seat].accessible or self.plan.seats[seat].companion)

    def described(self, best: Best) -> list[int]:
        """The blocks a party may be seated in, best first."""
        plan = self.plan
        return [
            block
            for block in self.ranked
            if best.section in (None, plan.sections[plan.blocks[block].section].name)
            and best.category in (None, plan.categories[plan.blocks[block].category].name)
            and (best.price_min or 0) <= plan.categories[plan.blocks[block].category].price_minor
            and plan.categories[plan.blocks[block].category].price_minor
            <= (math.inf if best.price_max is None else best.price_max)
        ]

    def party(
        self, best: Best, quantity: int, free: IsFree, takes: Callable[[int], bool] = lambda category: True
    ) -> tuple[Seats, str] | None:
        """Seats and step for a party; `free` says what nobody has, `takes` which categories may be had."""
        blocks = [block for block in self.described(best) if takes(self.plan.blocks[block].category)]
        if best.accessible:
            return self._accessible(best, blocks, quantity, free)
        found = self._together(blocks, quantity, free)
        if found is None and best.apart and quantity <= 12:
            parted = self._apart(blocks, quantity, free)
            return None if parted is None else (parted, "apart")
        return found

    def largest(self, best: Best, quantity: int, free: IsFree) -> int:
        sizes = range(quantity, 0, -1)
        return next((size for size in sizes if self._together(self.described(best), size, free)), 0)

    def instead(self, seat: int, quantity: int, free: IsFree) -> list[Seats]:
        """Up to three groups near a seat that is gone."""
        own = next(block for block in self.ranked if seat in self.seats_of(block))
        place = self.ranked.index(own)
        head = self.plan.blocks[own]
        alike = [b for b in self.ranked if self.plan.blocks[b].category == head.category]
        nearer = [b for b in alike if self.plan.blocks[b].section == head.section]
        for blocks in (nearer, alike):
            found = [b for b in blocks if self._runs(b, quantity, free)]
            if found:
                found.sort(key=lambda b: (abs(self.ranked.index(b) - place), self.ranked.index(b)))
                return [min(self._runs(b, quantity, free), key=self._cost) for b in found[:3]]
        return []

    def _together(self, blocks: Sequence[int], quantity: int, free: IsFree) -> tuple[Seats, str] | None:
        for step in ("together", "together_leaving_one"):
            for block in blocks:
                runs = self._runs(block, quantity, free)
                if step == "together":
                    runs = [run for run in runs if not self._leaves_single(run, free)]
                if runs:
                    return min(runs, key=self._cost), step
        return None

    def _runs(self, block: int, quantity: int, free: IsFree) -> list[Seats]:
        seats = self.seats_of(block)
        windows = (list(seats[at : at + quantity]) for at in range(len(seats) - quantity + 1))
        return [run for run in windows if all(free(seat) and self.ordinary(seat) for seat in run)]

    def _leaves_single(self, run: Seats, free: IsFree) -> bool:
        bench = self.bench_of[run[0]]

        def singles(taken: Iterable[int]) -> set[int]:
            gone = set(taken)
            open_ = {seat for seat in bench if free(seat) and self.ordinary(seat) and seat not in gone}
            return {seat for seat in open_ if seat - 1 not in open_ and seat + 1 not in open_}

        return bool(singles(run) - singles(()))

    def _apart(self, blocks: Sequence[int], quantity: int, free: IsFree) -> Seats | None:
        in_company = [parts for parts in range(2, quantity + 1) if quantity // parts >= 2]
        alone = [parts for parts in range(2, quantity + 1) if quantity // parts < 2]
        for parts in in_company + alone:
            sizes = sorted((len(range(n, quantity, parts)) for n in range(parts)), reverse=True)
            seats = self._in_parts(blocks, sizes, free)
            if seats is not None:
                return seats
        return None

    def _in_parts(self, blocks: Sequence[int], sizes: Sequence[int], free: IsFree) -> Seats | None:
        placed: Seats = []

        def still(seat: int) -> bool:
            return free(seat) and seat not in placed

        anchor: Seats = []
        for size in sizes:
            if not anchor:
                found = self._together(blocks, size, still)
                if found is None:
                    return None
                anchor = found[0]
                placed += anchor
                continue
            near = [(block, run) for block in blocks for run in self._runs(block, size, still)]
            if not near:
                return None
            kind = self._kind(anchor)
            alike = [(block, run) for block, run in near if self._kind(run) == kind]
            _, part = min(alike or near, key=lambda one: (self._away(one[1], anchor), one[1][0]))
            placed += part
        return sorted(placed)

    def _accessible(
        self, best: Best, blocks: Sequence[int], quantity: int, free: IsFree
    ) -> tuple[Seats, str] | None:
        needed = min(best.accessible, quantity)
        together = self._with_accessible(blocks, quantity, needed, free)
        if together is not None:
            return together, "together"
        if not best.apart or needed == 1:
            return None
        placed: Seats = []

        def still(seat: int) -> bool:
            return free(seat) and seat not in placed

        for size in sorted((len(range(n, quantity, needed)) for n in range(needed)), reverse=True):
            part = self._with_accessible(blocks, size, 1, still)
            if part is None:
                return None
            placed += part
        return placed, "apart"

    def _with_accessible(
        self, blocks: Sequence[int], quantity: int, needed: int, free: IsFree
    ) -> Seats | None:
        for block in blocks:
            seats = self.seats_of(block)
            windows = [list(seats[at : at + quantity]) for at in range(len(seats) - quantity + 1)]
            fitting = [run for run in windows if all(map(free, run)) and self._accessible_in(run) >= needed]
            if fitting:
                return min(fitting, key=lambda run: (self._accessible_in(run), *self._cost(run)))
        return None

    def _accessible_in(self, run: Seats) -> int:
        return sum(self.plan.seats[seat].accessible for seat in run)

    def _mean(self, seats: range) -> float:
        return self._cost(list(seats))[0] / len(seats)

    def _cost(self, run: Seats) -> tuple[int, int]:
        focal = (self.plan.focal_x, self.plan.focal_y)
        places = [self.plan.seats[seat] for seat in run]
        return sum(round(math.dist((seat.x, seat.y), focal) * 1_000) for seat in places), run[0]

    def _kind(self, run: Seats) -> tuple[int, int]:
        seat = self.plan.seats[run[0]]
        return seat.section, seat.category

    def _away(self, one: Seats, other: Seats) -> float:
        (x, y), (to_x, to_y) = self._middle(one), self._middle(other)
        return (x - to_x) ** 2 + (y - to_y) ** 2

    def _middle(self, run: Seats) -> tuple[float, float]:
        first, last = self.plan.seats[run[0]], self.plan.seats[run[-1]]
        return (first.x + last.x) / 2, (first.y + last.y) / 2
