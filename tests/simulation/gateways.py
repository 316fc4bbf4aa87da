"""Gateways: the real intake, look-ups and asking again, on a virtual loop, stream and Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

import psycopg
from redis.exceptions import ConnectionError as RedisConnectionError

from gateway.buyers.intake import Intake
from gateway.buyers.reask import Reask
from gateway.buyers.recall import DATABASE_AWAY, Recall
from gateway.settings import Bounds
from store import lookups
from store.errors import OutcomeUnknown, Unavailable
from store.room.news import decode_room_news, room_channel
from store.wire import STREAM_LOST, decisions_channel, decode_delta, decode_published, seats_channel
from store.words import Arrival, EventState
from tests.simulation.eventloop import VirtualLoop
from tests.simulation.postgres import ONE, Database
from tests.simulation.room_gateways import RoomPool, make_room
from tests.simulation.stream import Message, Stream
from tests.simulation.truth import known_keys
from tests.simulation.world import Host, World

EVENT = "gala"


class VirtualIntake:
    """See `store.stream.port.Intake`."""

    def __init__(self, stream: Stream, loop: VirtualLoop, name: str) -> None:
        self._stream = stream
        self._loop = loop
        self._name = name

    async def append(self, entries: Sequence[bytes]) -> list[Arrival]:
        given: list[Arrival] = await self._loop.ask(
            self._name, f"append {len(entries)}", lambda: self._append(entries)
        )
        return given

    def _append(self, entries: Sequence[bytes]) -> list[Arrival]:
        """The reply may be lost before, after or long before the append happens."""
        stream, world = self._stream, self._stream.world
        if stream.away:
            raise OutcomeUnknown
        fate = world.random.random() if world.wrong("append unknown") else 1.0
        if fate < 0.3:
            world.counters["append_unknown_not_done"] += 1
            raise OutcomeUnknown
        if fate < 0.6:
            world.counters["append_unknown_late"] += 1
            world.after(world.random.uniform(0.01, 2.0), lambda: self._append_late(entries))
            raise OutcomeUnknown
        given = stream.append(entries)
        if fate < 1.0:
            world.counters["append_unknown_done"] += 1
            raise OutcomeUnknown
        return given

    def _append_late(self, entries: Sequence[bytes]) -> None:
        if self._stream.exists and not self._stream.away:
            self._stream.world.note(self._name, f"its append of {len(entries)} arrives late")
            self._stream.append(entries)

    async def create(self, above: Arrival) -> None:
        await self._loop.ask(self._name, f"create above {above}", lambda: self._create(above))

    def _create(self, above: Arrival) -> None:
        self._answers()
        self._stream.world.counters["created"] += self._stream.create_above(above)

    async def last_arrival(self) -> Arrival | None:
        last: Arrival | None = await self._loop.ask(self._name, "last arrival", self._last)
        return last

    def _last(self) -> Arrival | None:
        self._answers()
        last = self._stream.last
        return Arrival(f"{last[0]}-{last[1]}") if self._stream.exists else None

    def _answers(self) -> None:
        if self._stream.away:
            raise RedisConnectionError("the stream is away")

    async def poke(self) -> None:
        await self._loop.ask(self._name, "poke", self._stream.poke)


class VirtualPool:
    """Connections for reading: each look-up of `store.lookups` is one call."""

    def __init__(self, database: Database, loop: VirtualLoop, name: str) -> None:
        self._database = database
        self._loop = loop
        self._name = name

    def connection(self) -> VirtualPool:
        return self

    async def __aenter__(self) -> VirtualPool:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        pass

    async def execute(self, statement: str, values: Any) -> Any:
        rows = await self._loop.ask(self._name, _SAYS[statement], lambda: self._run(statement, values))
        return _Rows(rows)

    def _run(self, statement: str, values: Any) -> list[tuple[Any, ...]]:
        if self._database.away:
            raise psycopg.OperationalError("the server is away")
        if statement == lookups.READ_CURSOR:
            row = self._database.rows["cursor"][ONE]
            return [(row.arrival, row.batch_no)]
        keys = list(zip(values[0], values[1], strict=True))
        found = known_keys(self._database, keys)
        return [(*key, one.want, one.arrival, one.outcome, one.result) for key, one in found.items()]


_SAYS = {lookups.READ_CURSOR: "read the cursor", lookups.DECISIONS: "ask the ledger"}


class _Rows:
    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    async def fetchone(self) -> Any:
        return self._rows[0] if self._rows else None

    async def fetchall(self) -> Any:
        return self._rows


class Gateway:
    """One gateway process: what `gateway.events.EventRuntime` builds for an event, without its sockets."""

    def __init__(self, world: World, database: Database, stream: Stream, name: str) -> None:
        self.world = world
        self.name = name
        self.database = database
        self.stream = stream
        self.host = Host(world, name)
        make_loop: Any = VirtualLoop  # a part of a loop, which is all that is used
        self.loop: VirtualLoop = make_loop(world, self.host)
        self.subscribed = True
        pool: Any = VirtualPool(database, self.loop, name)
        self._pool = pool
        virtual: Any = VirtualIntake(stream, self.loop, name)
        self.intake = Intake(virtual, name, Bounds(), self._cursor)
        self.recall = Recall(pool, 1)
        self.reask = Reask(self.intake, self.recall, pool, 1, Bounds())
        self._channels = (decisions_channel(EVENT, name), seats_channel(EVENT), room_channel(EVENT))
        self._tasks = [self.loop.create_task(self.intake.run()), self.loop.create_task(self.reask.run())]
        self._acts: set[asyncio.Task[None]] = set()
        self.room_pool = RoomPool(self)
        self.room = make_room(self, EVENT)
        if self.room is not None:
            self.loop.create_task(self.room.run())

    async def _cursor(self) -> Arrival:
        try:
            async with self._pool.connection() as connection:
                return (await lookups.cursor_of(connection, 1)).arrival
        except DATABASE_AWAY as error:
            raise Unavailable("The database is away.") from error

    def keep(self, act: Coroutine[Any, Any, None]) -> None:
        """Something that somebody asked this gateway to do."""
        task = self.loop.create_task(act)
        self._acts.add(task)
        task.add_done_callback(self._acts.discard)

    def sees(self, state: str) -> None:
        """The event's state, as the gateway keeps it."""
        if self.room is not None and self.room.now.state != state:
            self.room.event_is(EventState(state))
        if state == "paused":
            if self.reask.paused_since is None:
                self.reask.paused_since = self.world.monotonic()
        elif self.reask.paused_since is not None:
            self.reask.paused_since, self.reask.resumed_at = None, self.world.monotonic()

    def hear(self, messages: Sequence[Message]) -> None:
        """Fan-out: delivered at most once for each message, or twice, or late, or never."""
        world = self.world
        for channel, message in messages:
            if channel not in self._channels:
                continue
            lost = world.wrong("publication lost")
            world.counters["publication_lost"] += lost
            if lost or not self.subscribed:
                if channel == self._channels[1] and decode_delta(message).state == STREAM_LOST:
                    self.stream.lost_late = True
                continue
            late = 0.0002
            if channel == self._channels[0] and world.wrong("publication lost"):
                late = world.random.uniform(0.0, 3.0)
            world.after(late, partial(self._deliver, channel, message))
            if world.wrong("publication lost"):
                world.counters["publication_doubled"] += 1
                world.after(world.random.uniform(0.0, 1.0), partial(self._deliver, channel, message))

    def _deliver(self, channel: str, message: bytes) -> None:
        """Decisions to those who wait; of the map only what is no map."""
        if self.host.dead:
            return
        if channel == self._channels[0]:
            self.loop.call_soon(lambda: self.intake.deliver(decode_published(message)))
        elif channel == self._channels[2]:
            if (room := self.room) is not None:
                self.loop.call_soon(lambda: room.heard(decode_room_news(message)))
        elif decode_delta(message).state == STREAM_LOST:
            self.loop.call_soon(self.intake.everything_again)

    def lose_fan_out(self, seconds: float) -> None:
        """The subscription is gone, and comes back that much later."""
        self.subscribed = False

        def back() -> None:
            self.subscribed = True
            if not self.host.dead:
                self.loop.call_soon(self.intake.everything_again)

        self.world.after(seconds, back)

    def end(self) -> None:
        for task in self._tasks:
            task._log_destroy_pending = False
