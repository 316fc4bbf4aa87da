"""One seed, one on-sale: trouble for so many steps, then everything is healed and every law demanded."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import NamedTuple

from allocator.layout import Layout
from store.plan import Area, Category, Plan, Seat, Section, number
from store.words import TourLimit
from tests.simulation import laws
from tests.simulation.allocators import on_virtual_engines
from tests.simulation.on_sale import OnSale
from tests.simulation.payers import is_paid_for
from tests.simulation.postgres import ONE, EventRow, Server
from tests.simulation.trouble import Trouble
from tests.simulation.world import SECOND, World

HEAL_SECONDS_MAX = 60.0
STORY_STEPS = 30
LIMITS = ((("Gold", 1),), (("Gold", 2), ("Silver", 3)), (("Gold", 0),), (("Silver", 2),))
DATES = ("", "-II")
"""What marks the processes of each date of a tour."""
HEALING = "no more trouble from here on"
_LOOKS = re.compile(
    r": (look|follow|renew|read|ask the ledger|last arrival|stream (read|info|below)|connect)"
)


class Focus(NamedTuple):
    """Instead of any trouble, only this: to meet one guard often."""

    troubles: tuple[str, ...]
    """Names of methods of `Trouble`."""
    rates: Mapping[str, float] = {}
    """Of `world.RATES`."""
    pause_seconds: float | None = None
    """Between two of them, on average."""


@dataclass
class Result:
    """What became of a seed."""

    seed: int
    steps: int
    healed_steps: int
    digest: str
    broken: list[str]
    counters: Counter[str]
    story: list[str] = field(default_factory=list)
    cpu_seconds: float = 0.0

    @property
    def good(self) -> bool:
        return not self.broken

    def told(self) -> list[str]:
        """The law, the last of what led there, and how to see it again."""
        return [
            *self.broken[:3],
            *self._relevant(),
            f"again: ./run simulate --seeds 1 --seed {self.seed} --steps {self.steps}",
        ]

    def _relevant(self) -> list[str]:
        """The last steps before all is healed, without those that only look."""
        until = next((at for at, line in enumerate(self.story) if HEALING in line), len(self.story))
        telling = [line for line in self.story[:until] if not _LOOKS.search(line)]
        return telling[-STORY_STEPS:]


@lru_cache(maxsize=64)
def layout_of(rows: int, seats_a_row: int, areas: int) -> Layout:
    """A small house: rows A, B, … before the stage, the first in Gold; areas of a few places."""
    categories = [Category("Gold", 9000, "EUR", "#aa8800"), Category("Silver", 5000, "EUR", "#888888")]
    seats = [
        Seat(f"{chr(65 + row)}-{n + 1}", 0, chr(65 + row), str(n + 1), min(row, 1), float(n), row + 1.0)
        for row in range(rows)
        for n in range(seats_a_row)
    ]
    standing = [Area(f"floor{n}", f"Floor {n}", 1, 8 + 4 * n, 0.0, 0.0, 5.0, 5.0) for n in range(areas)]
    size = (float(seats_a_row), rows + 2.0)
    plan: Plan = number(
        "House", "EUR", categories, [Section("Stalls")], seats, standing,
        focal=(seats_a_row / 2, 0.0), size=size,
    )  # fmt: skip
    return Layout(plan)


def limits_of(seed: int, seats_per_buyer_max: int) -> dict[str, int]:
    """Of every third event: how much of one or both categories a buyer may have."""
    if seed % 3:
        return {}
    return {category: min(most, seats_per_buyer_max) for category, most in LIMITS[seed // 3 % len(LIMITS)]}


def tour_of(seed: int) -> TourLimit | None:
    """Every fifth event is one of two dates of a tour."""
    return TourLimit(1, 2 + seed // 5 % 3) if seed % 5 == 2 else None


class Run:
    """A seed's on-sales in one world, from their opening to the verdict: one, or the dates of a tour."""

    def __init__(self, seed: int, steps: int, focus: Focus | None = None) -> None:
        self.world = world = World(seed)
        self.steps = steps
        self._focus = focus
        if focus is not None:
            world.rates.update(focus.rates)
        random = world.random
        self.layout = layout_of(random.randint(2, 5), random.randint(6, 8), random.randint(0, 2))
        tour = tour_of(seed)
        server = Server(world)
        self.sales = [
            OnSale(world, self.layout, self._terms(tour), server, mark)
            for mark in (("",) if tour is None else DATES)
        ]
        for sale in self.sales:
            sale.people.buyers = self.sales[0].people.buyers
            sale.people.other_dates = [other.people for other in self.sales if other is not sale]
        self.healed_steps = 0

    def _terms(self, tour: TourLimit | None) -> EventRow:
        random = self.world.random
        event = EventRow("open", None, random.choice((2, 5, 8)), random.choice((2, 4, 9)), tour=tour)
        event = event._replace(
            extensions_max=random.choice((0, 1, 3)),
            extension_seconds=random.choice((1, 4)),
            offer_ttl_seconds=random.choice((1, 3, 6)),
        )
        if is_paid_for(self.world.seed):
            event = event._replace(hold_ttl_seconds=random.choice((1, 2, 5)))
        return event._replace(limits=limits_of(self.world.seed, event.seats_per_buyer_max))

    def run(self) -> list[str]:
        """The laws that were broken."""
        world, random = self.world, self.world.random
        batch_size_max = random.choice((2, 5, 16, 4096))
        look_seconds = random.choice((0.15, 0.4, 0.8))
        piece_max = world.seed // 5 % 4 + 1
        try:
            with on_virtual_engines(world, self.layout, batch_size_max, look_seconds, piece_max):
                self._open()
                world.run(lambda: world.steps >= self.steps)
                troubled = world.steps
                self._heal()
                self.healed_steps = world.steps - troubled
                found = [*world.broken, *(law for sale in self.sales for law in self._demand(sale))]
                world.calm = True
                world.end()
        finally:
            for sale in self.sales:
                sale.end()
        for sale in self.sales:
            world.counters.update(laws.counted(sale))
        return found

    @staticmethod
    def _demand(sale: OnSale) -> list[str]:
        return [f"date{sale.mark}: {law}" if sale.mark else law for law in laws.demand(sale)]

    def _open(self) -> None:
        for sale in self.sales:
            sale.open()
        houses = [sale.house for sale in self.sales]
        if self._focus is None:
            Trouble(houses)
        else:
            Trouble(houses, self._focus.troubles, self._focus.pause_seconds)

    def _heal(self) -> None:
        """No more trouble; what was stopped goes on, what is dead is started, then all comes to rest."""
        world = self.world
        world.calm = True
        world.note("everybody", HEALING)
        server = self.sales[0].database.server
        server.away_until_us = 0
        behind_us = max(
            sale.database.rows["cursor"][ONE].batch_time - sale.database.clock() for sale in self.sales
        )
        set_right_us = max(0, behind_us)
        server.jump(set_right_us)  # or every hold would wait for the clock
        for host in world.hosts:
            host.stopped_until_us = min(host.stopped_until_us, world.now_us)
        for sale in self.sales:
            sale.heal()
        # a pause lasts as much longer as the clock is set forward in it, and gives holds that time back
        until_us = world.now_us + int(HEAL_SECONDS_MAX * SECOND) + set_right_us
        self._rest(until_us)

    def _rest(self, until_us: int) -> None:
        world = self.world
        while world.now_us < until_us:
            pause_us = world.now_us + SECOND // 2
            world.at(pause_us, lambda: None)
            world.run(partial(self._is, pause_us))
            if not any(laws.restless(sale) for sale in self.sales):
                return

    def _is(self, when_us: int) -> bool:
        return self.world.now_us >= when_us


def simulate(seed: int, steps: int = 1000, focus: Focus | None = None) -> Result:
    """Run one seed."""
    began = time.process_time()
    run = Run(seed, steps, focus)
    broken = run.run()
    world = run.world
    result = Result(seed, min(world.steps, steps), run.healed_steps, world.digest(), broken, world.counters)
    if broken:
        result.story = [
            f"{(when - world.trace[0][0]) / SECOND:9.4f} s  {who}: {what}" for when, who, what in world.trace
        ]
    result.cpu_seconds = time.process_time() - began
    return result


def shrink(worst: Result) -> Result:
    """A shorter run of this seed that still breaks a law, by halving the steps."""
    low, high = 1, worst.steps
    while high - low > max(5, high // 20):
        middle = (low + high) // 2
        tried = simulate(worst.seed, middle)
        if tried.good:
            low = middle
        else:
            worst, high = tried, middle
    return worst
