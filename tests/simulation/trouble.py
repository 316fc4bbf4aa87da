"""What goes wrong: at any step, and at any time. Each seed has its own mix; when it is calm, nothing does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.simulation.allocators import Allocator
from tests.simulation.gateways import Gateway
from tests.simulation.people import People
from tests.simulation.postgres import ONE, Database, time_out_idle
from tests.simulation.stream import Stream
from tests.simulation.world import SECOND, Host, Killed, Process, World

Happening = Any
ALLOCATORS_MAX = 4


def is_planned(seed: int) -> bool:
    """Every fourth event's owners hand over by plan."""
    return seed % 4 == 1


class House:
    """Everything there is: engines, allocators, gateways, people."""

    def __init__(
        self, world: World, database: Database, stream: Stream, people: People, mark: str = ""
    ) -> None:
        """`mark` tells the processes of one date of a tour from those of the others."""
        self.world = world
        self.mark = mark
        self.database = database
        self.stream = stream
        self.people = people
        self.allocators: list[Allocator] = []
        self.gateways = people.gateways
        people.newcomer = self.start_newcomer
        self._started = 0

    @property
    def begun(self) -> bool:
        """The first batch was decided; in life that is when the event is made, long before anybody comes."""
        return bool(self.database.rows["cursor"][ONE].batch_no > 0)

    def start_allocator(self) -> Allocator:
        self._started += 1
        allocator = Allocator(self.world, self.database, self.stream, f"allocator {self._started}{self.mark}")
        allocator.host.again = self.start_allocator
        self.allocators.append(allocator)
        return allocator

    def start_newcomer(self) -> None:
        """One more standby, as when somebody adds a worker."""
        alive = [one for one in self.allocators if not one.host.dead]
        if len(alive) < ALLOCATORS_MAX and not self.world.calm:
            self.start_allocator()

    def start_gateway(self) -> Gateway:
        self._started += 1
        gateway = Gateway(self.world, self.database, self.stream, f"gateway{self._started}{self.mark}")
        gateway.host.again = self.start_gateway

        def died() -> None:
            self.stream.lost_late = True
            for client in self.people.clients:
                client.gateway_died(gateway)

        gateway.host.on_kill.append(died)
        self.gateways.append(gateway)
        return gateway


class Trouble:
    """Lets things go wrong until the world is calm."""

    def __init__(
        self, houses: Sequence[House], only: Sequence[str] = (), pause_seconds: float | None = None
    ) -> None:
        self.houses = houses
        self.house = houses[0]
        """Where something goes wrong next."""
        self.world = world = self.house.world
        random = world.random
        everything: list[Happening] = [
            self.kill_allocator,
            self.kill_allocator,
            self.stop_allocator,
            self.stop_allocator,
            self.kill_gateway,
            self.stop_gateway,
            self.wipe_stream,
            self.delete_stream,
            self.older_file,
            self.stream_away,
            self.stream_clock_jumps,
            self.postgres_restarts,
            self.postgres_away,
            self.postgres_clock_jumps,
            self.double_an_entry,
            self.lose_fan_out,
            self.poison,
            self.machine_sleeps,
        ]
        self._mix = random.sample(everything, random.randint(2, len(everything)))
        if only:
            self._mix = [happening for happening in everything if happening.__name__ in only]
        self._pause_seconds = random.choice((0.5, 1.5, 4.0))
        if pause_seconds is not None:
            self._pause_seconds = pause_seconds
        self._at_step = random.choice((0.0, 0.002, 0.006))
        world.on_step = self._step
        world.after(random.uniform(0.3, 3.0), self._next)
        if not only and is_planned(world.seed):
            world.after(random.uniform(0.5, 2.0), self._plan_next)
        in_rooms = (
            self.kill_allocator,
            self.wipe_stream,
            self.older_file,
            self.postgres_restarts,
            self.kill_gateway,
        )
        self._in_rooms = [one for one in in_rooms if not only or one.__name__ in only]
        for house in houses:
            if house.people.visitors is not None and self._in_rooms:
                house.people.visitors.on_phase.append(self._in_a_moment)

    def _in_a_moment(self) -> None:
        """Draw and ballot are over soon: something goes wrong while they last."""
        world = self.world

        def now() -> None:
            if not world.calm:
                world.random.choice(self._in_rooms)()

        if not world.calm and world.chance(0.8):
            world.after(world.random.uniform(0.0, world.random.choice((0.05, 0.7))), now)

    def _next(self) -> None:
        if self.world.calm:
            return
        self.house = self.world.random.choice(self.houses)
        if self.house.begun:
            self.world.random.choice(self._mix)()
        self.world.after(self.world.random.expovariate(1.0 / self._pause_seconds), self._next)

    def _plan_next(self) -> None:
        if not self.world.calm:
            self.plan_handover(self.world.random.choice(self.houses))
            self.world.after(self.world.random.uniform(0.7, 4.0), self._plan_next)

    def _step(self, process: Process) -> None:
        """Killed or stopped exactly here, before what it is about to do."""
        world = self.world
        if world.calm or not self._at_step or world.random.random() > self._at_step:
            return
        if not all(house.begun for house in self.houses):
            return
        if world.chance(0.5) or process.allocator is None:
            world.note(process.name, "is killed here")
            world.counters["killed"] += 1
            self._in_room("killed")
            process.host.kill()
            self._again(process.host)
            raise Killed
        seconds = world.random.choice((0.5, 3.0, 6.0, 12.0))
        world.note(process.name, f"is stopped here for {seconds} s")
        self._stop(process.host, seconds)
        process.park(process.host.stopped_until_us)

    def _again(self, host: Host) -> None:
        """Whoever runs such processes starts another one."""
        again = host.again
        if again is not None:
            self.world.after(self.world.random.uniform(0.1, 4.0), lambda: self.world.calm or again())

    def _stop(self, host: Host, seconds: float) -> None:
        self.world.counters["stopped"] += 1
        host.stop(seconds)
        time_out_idle(host, self.house.database)

    def _said(self, what: str) -> None:
        self.world.note("trouble", what)

    def _in_room(self, what: str) -> None:
        """This happens while a waiting room is in that part of its life."""
        visitors = self.house.people.visitors
        if visitors is not None:
            self.world.counters[f"{what}_in_{visitors.phase}"] += 1

    # --- processes ---

    def _an_allocator(self) -> Allocator | None:
        alive = [one for one in self.house.allocators if not one.host.dead and not one.host.stopped]
        owners = [one for one in alive if one.owns]
        return self.world.random.choice(owners if owners and self.world.chance(0.7) else alive or [None])

    def kill_allocator(self) -> None:
        one = self._an_allocator()
        if one is not None:
            self._said(f"kills {one.host.name}")
            self.world.counters["killed"] += 1
            self._in_room("killed")
            one.host.kill()
            self._again(one.host)

    def stop_allocator(self) -> None:
        one = self._an_allocator()
        if one is not None:
            seconds = self.world.random.choice((0.3, 2.0, 4.0, 8.0, 15.0))
            self._said(f"stops {one.host.name} for {seconds} s")
            self._stop(one.host, seconds)

    def plan_handover(self, house: House) -> None:
        """As a planner, who may be wrong about who is there and who is warm; in the end it wants nothing."""
        there = [one for one in house.allocators if not one.host.dead]
        if len(there) < 2:
            return
        random = self.world.random
        taker, warm = random.choice(there), random.random() < 0.9
        self._said(f"plans that {taker.host.name} is to own the event")
        for one in there:
            one.worker.direct(one is taker, warm and one is not taker)

        def no_more() -> None:
            for one in there:
                one.worker.direct(None)

        self.world.after(random.choice((0.4, 1.5, 4.0, 15.0)), no_more)

    def _a_gateway(self) -> Gateway | None:
        return self.house.people.a_gateway()

    def kill_gateway(self) -> None:
        one = None if self.world.calm else self._a_gateway()
        if one is not None:
            self._said(f"kills {one.name}")
            self.world.counters["gateway_killed"] += 1
            one.host.kill()
            self._again(one.host)

    def stop_gateway(self) -> None:
        one = self._a_gateway()
        if one is not None:
            seconds = self.world.random.choice((0.3, 2.0, 6.0))
            self._said(f"stops {one.name} for {seconds} s")
            self.house.stream.lost_late = True
            one.host.stop(seconds)

    def lose_fan_out(self) -> None:
        one = self._a_gateway()
        if one is not None:
            self._said(f"cuts the fan-out of {one.name}")
            one.lose_fan_out(self.world.random.uniform(0.1, 3.0))

    # --- the stream ---

    def wipe_stream(self) -> None:
        self._said("wipes the stream")
        self._in_room("wiped")
        self.world.counters["stream_wiped"] += 1
        self.house.stream.wipe()
        self._resubscribe()

    def delete_stream(self) -> None:
        """By a command, with every connection as it was."""
        self._said("deletes the stream")
        self._in_room("wiped")
        self.world.counters["stream_wiped"] += 1
        self.house.stream.wipe()

    def _resubscribe(self) -> None:
        """The server was restarted: every connection to it is lost, and comes back soon."""
        for gateway in self.house.gateways:
            gateway.lose_fan_out(self.world.random.uniform(0.05, 0.15))

    def older_file(self) -> None:
        stream = self.house.stream
        keep = self.world.random.randint(0, len(stream.ids))
        self._said(f"brings the stream back with {keep} of {len(stream.ids)} entries")
        self.world.counters["stream_tail_lost"] += 1
        stream.forget_tail(keep, clock_behind=self.world.chance(0.6))
        if self.world.chance(0.5):  # who appends now, below the cursor, will not be there to ask again
            self.world.after(self.world.random.uniform(0.1, 0.5), self.kill_gateway)
        self._resubscribe()

    def stream_away(self) -> None:
        seconds = self.world.random.uniform(0.1, 4.0)
        self._said(f"takes the stream away for {seconds:.1f} s")
        self.house.stream.lost_late = True
        self.house.stream.away_until_us = self.world.now_us + int(seconds * SECOND)
        for gateway in self.house.gateways:
            gateway.lose_fan_out(seconds + 0.1)

    def stream_clock_jumps(self) -> None:
        self.world.counters["stream_clock_jumped"] += 1
        jump = self.world.random.choice((-60.0, -2.0, 0.5, 30.0))
        self._said(f"moves the stream's clock by {jump} s")
        self.house.stream.skew_us += int(jump * SECOND)

    def double_an_entry(self) -> None:
        stream = self.house.stream
        asked = [fields for _, fields in stream.entries if fields[0] == b"r"]
        if asked and stream.exists:
            self._said("doubles an append")
            self.world.counters["append_doubled"] += 1
            stream.add(b"r", self.world.random.choice(asked)[1])

    # --- Postgres ---

    def postgres_restarts(self) -> None:
        self._said("restarts Postgres")
        self._in_room("restarted")
        self.world.counters["postgres_restarted"] += 1
        self.house.database.restart(self.world.random.uniform(0.05, 0.5))

    def postgres_away(self) -> None:
        seconds = self.world.random.choice((self.world.random.uniform(0.5, 5.0), 7.0, 12.0))
        self._said(f"takes Postgres away for {seconds:.1f} s")
        self._in_room("restarted")
        self.world.counters["postgres_away"] += 1
        self.house.database.restart(seconds)

    def postgres_clock_jumps(self) -> None:
        jump = self.world.random.choice((-20.0, -1.0, 1.0, 10.0))
        self._said(f"moves Postgres' clock by {jump} s")
        self.world.counters["postgres_clock_jumped"] += 1
        self.house.database.server.jump(int(jump * SECOND))

    def poison(self) -> None:
        """For a while, claims of one seat always fail."""
        seats = len(self.house.people.guids)
        seat = self.world.random.randrange(max(3, seats // 3)) if seats else 0
        self._said(f"lets every claim of seat {seat} fail")
        poisoned = self.house.database.poisoned
        poisoned.add(seat)
        self.world.after(self.world.random.uniform(0.5, 3.0), lambda: poisoned.discard(seat))

    def machine_sleeps(self) -> None:
        """Everything of ours stops and goes on later, with every connection as it was."""
        seconds = self.world.random.choice((3.0, 8.0, 20.0))
        self._said(f"sleeps for {seconds} s")
        self.house.stream.lost_late = True
        for host in self.world.hosts:
            if not host.dead:
                host.stop(seconds)
                time_out_idle(host, self.house.database)
