"""One seed, one on-sale: trouble for so many steps, then everything is healed and every law demanded."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import NamedTuple

import msgspec

from allocator.layout import Layout
from store.plan import Area, Category, Plan, Seat, Section, number
from store.words import EventState
from tests.simulation import laws
from tests.simulation.allocators import on_virtual_engines
from tests.simulation.load import policy_of
from tests.simulation.people import People
from tests.simulation.postgres import ONE, Database, EventRow, FactRow
from tests.simulation.stream import Message, Stream
from tests.simulation.trouble import House, Trouble
from tests.simulation.world import SECOND, Host, Process, World

HEAL_SECONDS_MAX = 60.0
STORY_STEPS = 30
LIMITS = ((("Gold", 1),), (("Gold", 2), ("Silver", 3)), (("Gold", 0),), (("Silver", 2),))
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


class OnSale:
    """A house in a world, from its opening to the verdict."""

    def __init__(self, seed: int, steps: int, focus: Focus | None = None) -> None:
        self.world = world = World(seed)
        self.steps = steps
        self._focus = focus
        if focus is not None:
            world.rates.update(focus.rates)
        random = world.random
        self.layout = layout_of(random.randint(2, 5), random.randint(6, 8), random.randint(0, 2))
        event = EventRow("open", None, random.choice((2, 5, 8)), random.choice((2, 4, 9)))
        event = event._replace(
            extensions_max=random.choice((0, 1, 3)),
            extension_seconds=random.choice((1, 4)),
            offer_ttl_seconds=random.choice((1, 3, 6)),
        )
        event = event._replace(limits=limits_of(seed, event.seats_per_buyer_max))
        self.database = Database(world, self.layout.plan, event)
        body = msgspec.json.encode(policy_of(event)).decode()
        self.database.rows["fact"][self.database.next_fact()] = FactRow("policy", None, body)
        self.stream = Stream(world)
        self.stream.exists = False
        self.people = People(world, self.database, self.stream, self.layout.plan)
        self.house = House(world, self.database, self.stream, self.people)
        self.healed_steps = 0

    def run(self) -> list[str]:
        """The laws that were broken."""
        world, random = self.world, self.world.random
        self.stream.fan_out = self._fan_out
        self.database.on_commit = laws.OnCommit(self.database, world)
        self.stream.on_trim = laws.OnTrim(self.database, world)
        batch_size_max = random.choice((2, 5, 16, 4096))
        look_seconds = random.choice((0.15, 0.4, 0.8))
        engines = (world, self.database, self.stream, self.layout, batch_size_max, look_seconds)
        try:
            with on_virtual_engines(*engines):
                self._open()
                world.run(lambda: world.steps >= self.steps)
                troubled = world.steps
                self._heal()
                self.healed_steps = world.steps - troubled
                found = [*world.broken, *laws.demand(self)]
                world.calm = True
                world.end()
        finally:
            for gateway in self.house.gateways:
                gateway.end()
        self._count()
        return found

    def _open(self) -> None:
        world, random, house = self.world, self.world.random, self.house
        for _ in range(random.randint(2, 3)):
            house.start_allocator()
        for _ in range(random.randint(1, 2)):
            house.start_gateway()
        world.after(1.0, self.people.come)
        Host(world, "operator").start("operator", self.people.operate)
        Host(world, "waiters").start("waiters", self.people.wait_for_offers)
        if random.random() < 0.5:
            Host(world, "box office").start("box office", self.people.manage_seats)
        if self._focus is None:
            Trouble(house)
        else:
            Trouble(house, self._focus.troubles, self._focus.pause_seconds)

    def _heal(self) -> None:
        """No more trouble; what was stopped goes on, what is dead is started, then all comes to rest."""
        world, house = self.world, self.house
        world.calm = True
        world.note("everybody", HEALING)
        self.database.away_until_us = self.stream.away_until_us = 0
        self.database.poisoned.clear()
        behind_us = self.database.rows["cursor"][ONE].batch_time - self.database.clock()
        set_right_us = max(0, behind_us)
        self.database.skew_us += set_right_us  # or every hold would wait for the clock
        for host in world.hosts:
            host.stopped_until_us = min(host.stopped_until_us, world.now_us)
        if not any(not one.host.dead for one in house.gateways):
            house.start_gateway()
        while sum(not one.host.dead for one in house.allocators) < 2:
            house.start_allocator()
        for client in self.people.clients:
            if client.gateway.host.dead:
                client.gateway_died(client.gateway)
        Host(world, "heal").start("heal", self._resume)
        # a pause lasts as much longer as the clock is set forward in it, and gives holds that time back
        until_us = world.now_us + int(HEAL_SECONDS_MAX * SECOND) + set_right_us
        self._rest(until_us)

    def _resume(self, process: Process) -> None:
        """Opens the event again, also when a pause was on its way; and somebody who believes to own the
        event though it does not learns it at its next batch. Whoever still waits goes home."""
        while True:
            self.stream.poke()
            for wait_id in self.people.who_waits():
                self.people.leave_list(process, wait_id)
            for _ in range(8):
                self._open_again(process)
                process.sleep(1.0)

    def _open_again(self, process: Process) -> None:
        if self.database.rows["event"][ONE].state == "paused":
            self.people.set_state(process, EventState.OPEN)

    def _rest(self, until_us: int) -> None:
        world = self.world
        while world.now_us < until_us:
            pause_us = world.now_us + SECOND // 2
            world.at(pause_us, lambda: None)
            world.run(partial(self._is, pause_us))
            if not laws.restless(self):
                return

    def _is(self, when_us: int) -> bool:
        return self.world.now_us >= when_us

    def _fan_out(self, messages: Sequence[Message]) -> None:
        for gateway in self.house.gateways:
            gateway.hear(messages)

    def _count(self) -> None:
        self.world.counters.update(laws.counted(self))


def simulate(seed: int, steps: int = 1000, focus: Focus | None = None) -> Result:
    """Run one seed."""
    began = time.process_time()
    sale = OnSale(seed, steps, focus)
    broken = sale.run()
    world = sale.world
    result = Result(seed, min(world.steps, steps), sale.healed_steps, world.digest(), broken, world.counters)
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
