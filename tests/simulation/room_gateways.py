"""A gateway's part in a waiting room: the real one, on virtual engines.

What it reads and writes goes over connections of a pool, on which each statement takes its time, may wait for
others' locks and may be the last: a gateway that is killed loses its transactions, and of a COMMIT that gets
no reply nobody knows what became of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from gateway.room.tokens import PlaceTokens
from gateway.room.waiting_room import WaitingRoom
from store.room.rooms import room_of
from store.room.watching import RoomNow
from store.words import EventState, Micros
from tests.simulation.keepers import DoubtfulConnection
from tests.simulation.postgres import ONE, Database
from tests.simulation.room_rows import told_of
from tests.simulation.statements import AsyncResult
from tests.simulation.world import Process

if TYPE_CHECKING:
    from tests.simulation.gateways import Gateway

SECRET = "of the gateways"
JOINS_WAITING_MAX = 500
MAY_BE_PROVEN = SimpleNamespace(proof_required=lambda _event, _terms: False)
"""Nobody proves anything here: who may ask to join is another story."""


class RoomPool:
    """Connections for what gateways say of a waiting room; those nothing happened to are used again."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._database: Database = gateway.database
        self._idle: list[DoubtfulConnection] = []

    def connection(self) -> _Lent:
        return _Lent(self)

    async def take(self) -> DoubtfulConnection:
        if self._idle:
            return self._idle.pop()
        made: DoubtfulConnection = await self.done(
            lambda process: DoubtfulConnection(self._database.connect(process))
        )
        return made

    def give_back(self, connection: DoubtfulConnection) -> None:
        if connection.session.alive and not connection.session.cut:
            self._idle.append(connection)

    def done(self, effect: Callable[[Process], Any]) -> asyncio.Future[Any]:
        """What comes of something that may take its time, as a process of the gateway's host."""
        gateway, answer = self._gateway, self._gateway.loop.create_future()

        def work(process: Process) -> None:
            try:
                result, error = effect(process), None
            except Exception as raised:
                result, error = None, raised
            gateway.loop.reply(answer, result, error)

        gateway.host.start(f"{gateway.name} room", work).counted = False
        return answer


class _Lent:
    """A connection for as long as somebody uses it."""

    def __init__(self, pool: RoomPool) -> None:
        self._pool = pool

    async def __aenter__(self) -> PooledConnection:
        self._connection = await self._pool.take()
        return PooledConnection(self._pool, self._connection)

    async def __aexit__(self, *_: object) -> None:
        self._pool.give_back(self._connection)


class PooledConnection:
    """As `AsyncConnection`, where a statement is really waited for."""

    def __init__(self, pool: RoomPool, connection: DoubtfulConnection) -> None:
        self._pool = pool
        self._connection = connection

    async def execute(self, statement: str, values: Any = None) -> AsyncResult:
        return AsyncResult(await self._said(lambda: self._connection.execute(statement, values)))

    def transaction(self) -> _Transaction:
        return _Transaction(self)

    def begin(self) -> None:
        session = self._connection.session
        session.began_us = session.database.clock()

    async def commit(self) -> None:
        await self._said(self._connection.commit)

    def rollback(self) -> None:
        self._connection.rollback()

    async def _said(self, says: Callable[[], Any]) -> Any:
        def effect(process: Process) -> Any:
            self._connection.session.process = process
            return says()

        return await self._pool.done(effect)


class _Transaction:
    def __init__(self, connection: PooledConnection) -> None:
        self._connection = connection

    async def __aenter__(self) -> None:
        self._connection.begin()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            await self._connection.commit()
        elif kind is not GeneratorExit:  # of a process that is no more
            self._connection.rollback()


class _News:
    """Other gateways hear of it, if they do."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def publish(self, channel: str, message: bytes) -> None:
        gateway = self._gateway
        tell = lambda: gateway.stream.fan_out([(channel, message)])  # noqa: E731
        await gateway.loop.ask(gateway.name, "tell of places", tell)


def _clocks(database: Database) -> tuple[Micros, Micros]:
    """Now, and what time runs out by."""
    return Micros(database.clock()), Micros(database.run_by())


def make_room(gateway: Gateway, slug: str) -> WaitingRoom | None:
    """The waiting room at a gateway that starts now, if there is one."""
    database, world = gateway.database, gateway.world
    row, event = database.rows["room"].get(ONE), database.rows["event"][ONE]
    if row is None:
        return None
    opens_at, lobby = (None if at is None else Micros(at) for at in (event.opens_at, event.lobby_opens_at))
    now = RoomNow(room_of(told_of(row)), {}, EventState(event.state), opens_at, lobby, *_clocks(database))
    seats: Any = SimpleNamespace(stock=SimpleNamespace(free=[1], holds_anything=True), areas_free=[])
    pool: Any = gateway.room_pool
    news: Any = _News(gateway)
    guard: Any = MAY_BE_PROVEN
    tokens = PlaceTokens(SECRET, world.monotonic)
    return WaitingRoom(now, slug, seats, pool, news, gateway.name, tokens, guard, JOINS_WAITING_MAX)
