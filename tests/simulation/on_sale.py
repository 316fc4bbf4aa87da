"""One event's on-sale: its engines, its processes, its people; of a tour there is one for each date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from allocator.layout import Layout
from store.words import EventState
from tests.simulation import laws
from tests.simulation.load import policy_of
from tests.simulation.payers import Payers, is_paid_for
from tests.simulation.people import People
from tests.simulation.postgres import ONE, Database, EventRow, FactRow, Server
from tests.simulation.room_laws import RoomWatch
from tests.simulation.stream import Message, Stream
from tests.simulation.trouble import House
from tests.simulation.visitors import Visitors, has_room
from tests.simulation.world import Host, Process, World


class OnSale:
    """An event in a world, and everybody who has to do with it. `mark`: see `House`."""

    def __init__(self, world: World, layout: Layout, event: EventRow, server: Server, mark: str = "") -> None:
        self.world = world
        self.layout = layout
        self.mark = mark
        self.database = Database(world, layout.plan, event, server)
        self.stream = Stream(world)
        self.stream.exists = False
        self.people = People(world, self.database, self.stream, layout.plan)
        if is_paid_for(world.seed):
            self.people.payers = Payers(world, self.database, self.stream)
        if has_room(world.seed):
            self.people.visitors = Visitors(world, self.database, self.people)
        body = msgspec.json.encode(policy_of(self.database.rows["event"][ONE])).decode()
        self.database.rows["fact"][self.database.next_fact()] = FactRow("policy", None, body)
        self._kept: dict[str, tuple[Callable[[], None], Host]] = {}
        self.house = House(world, self.database, self.stream, self.people, mark)

    def open(self) -> None:
        """Allocators and gateways start; buyers and operators come."""
        world, random, house = self.world, self.world.random, self.house
        self.stream.fan_out = self._fan_out
        self.database.looks.append(laws.OnCommit(self.database, world))
        if (visitors := self.people.visitors) is not None:
            watch = RoomWatch(self.database, world, visitors.next_phase)
            self.database.looks.append(watch)
            world.after(0.2, visitors.come)
            self._start("organiser", visitors.operate)
            self._start("winners", visitors.look_after_wishes)
        self.stream.on_trim = laws.OnTrim(self.database, world)
        for _ in range(random.randint(2, 3)):
            house.start_allocator()
        for _ in range(random.randint(1, 2)):
            house.start_gateway()
        world.after(1.0, self.people.come)
        self._start("operator", self.people.operate)
        self._start("waiters", self.people.wait_for_offers)
        if (payers := self.people.payers) is not None:
            self._keep("till", payers.hear)
            self._keep("chores", payers.tidy)
        if random.random() < 0.5:
            self._start("box office", self.people.manage_seats)

    def heal(self) -> None:
        """What is dead is started again, and whoever waits asks again."""
        house = self.house
        self.stream.away_until_us = 0
        self.database.poisoned.clear()
        if not any(not one.host.dead for one in house.gateways):
            house.start_gateway()
        while sum(not one.host.dead for one in house.allocators) < 2:
            house.start_allocator()
        for keep, host in list(self._kept.values()):
            if host.dead:
                keep()
        for client in self.people.clients:
            if client.gateway.host.dead:
                client.gateway_died(client.gateway)
        self._start("heal", self._resume)

    def end(self) -> None:
        """Gateways are forgotten, with what they still do."""
        for gateway in self.house.gateways:
            gateway.end()

    def _start(self, name: str, work: Callable[[Process], None]) -> Host:
        host = Host(self.world, name + self.mark)
        host.start(name + self.mark, work)
        return host

    def _keep(self, name: str, work: Callable[[Process], None]) -> None:
        """One that is started again when it was killed."""
        host, keep = self._start(name, work), partial(self._keep, name, work)
        host.again = keep
        self._kept[name] = (keep, host)

    def _resume(self, process: Process) -> None:
        """Opens the event again, also when a pause was on its way; and somebody who believes to own the
        event though it does not learns it at its next batch. Whoever still waits goes home."""
        while True:
            self.stream.poke()
            for wait_id in self.people.who_waits():
                self.people.leave_list(process, wait_id)
            for _ in range(8):
                self._open_again(process)
                if self.people.visitors is not None:
                    self.people.visitors.heal(process)
                process.sleep(1.0)

    def _open_again(self, process: Process) -> None:
        if self.database.rows["event"][ONE].state == "paused":
            self.people.set_state(process, EventState.OPEN)

    def _fan_out(self, messages: Sequence[Message]) -> None:
        for gateway in self.house.gateways:
            gateway.hear(messages)
