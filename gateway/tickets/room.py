"""What calls about tickets share: the keys, the form of answers, and bounds on what is slow.

Drawing codes is arithmetic and returning an order is a transaction that waits for locks: neither may hold up
sockets, so the first is done by one thread and the second by a few with connections of their own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import psycopg
from fastapi import Request

from gateway.buyers.decode import HOLD_ID_MAX
from gateway.buyers.owning import UNKNOWN
from gateway.buyers.recall import DATABASE_AWAY
from gateway.operators.access import CONNECT_SECONDS_MAX, Threads
from gateway.runtime import Runtime
from notifier.tickets import KnownKeys, TicketKeys
from store.database import ENDS_IDLE
from store.errors import NotFound, Unavailable
from store.lookups import Conn

T = TypeVar("T")


class Room:
    """One gateway's; made at the first call."""

    def __init__(self, runtime: Runtime) -> None:
        key = runtime.settings.ticket_key
        self._keys = TicketKeys(key) if key else None
        self.known = KnownKeys(self._keys.public if self._keys else ())
        self._database_url = runtime.settings.engines.database_url
        self._returning = Threads("too_many_returns", "Too many orders are being returned. Try again soon.")
        self._drawing = anyio.CapacityLimiter(1)

    @property
    def keys(self) -> TicketKeys:
        """Raises `NotFound` (tickets_off) where there is no key."""
        if self._keys is None:
            story = "This server makes no tickets. Start its gateway with ONSALE_TICKET_KEY to change that."
            raise NotFound("tickets_off", story)
        return self._keys

    async def draw(self, work: Callable[[], T]) -> T:
        """The result of some arithmetic, beside the loop."""
        return await anyio.to_thread.run_sync(work, limiter=self._drawing)

    async def write(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Run `work` in a thread on a connection of its own; raises `Busy` when too many wait already."""

        def run() -> T:
            try:
                with psycopg.connect(
                    self._database_url,
                    autocommit=True,
                    connect_timeout=CONNECT_SECONDS_MAX,
                    prepare_threshold=None,
                    application_name="onsale return",
                    options=ENDS_IDLE,
                ) as conn:
                    return work(conn)
            except psycopg.OperationalError as error:
                raise Unavailable(UNKNOWN) from error

        return await self._returning.run(run)


def room_of(request: Request) -> Room:
    """The gateway's room."""
    state = request.app.state
    if not hasattr(state, "tickets_room"):
        state.tickets_room = Room(state.runtime)
    room: Room = state.tickets_room
    return room


def runtime_of(request: Request) -> Runtime:
    """The gateway's runtime."""
    runtime: Runtime = request.app.state.runtime
    return runtime


@asynccontextmanager
async def connection_of(request: Request) -> AsyncIterator[Conn]:
    """A connection of the pool; raises `Unavailable` when Postgres is away."""
    try:
        async with runtime_of(request).pool.connection() as connection:
            yield connection
    except DATABASE_AWAY as error:
        raise Unavailable("The database is away. Try again shortly.") from error


def order_number(order: str) -> int:
    """Raises `NotFound` (order_not_found) for a number that no order can have."""
    if int(order) > HOLD_ID_MAX:
        raise order_not_found()
    return int(order)


def order_not_found() -> NotFound:
    """What is not the buyer's looks like nothing at all."""
    return NotFound("order_not_found", "You have no such order.")
