"""The strategies' server: FastAPI under uvicorn, a bounded async pool, as published articles build it.

One `POST /book` and one websocket, whose text messages are the same JSON and are answered one after
the other. Which strategy sells an event stands in the event's row, so the same open connections serve them
all. Run as `python -m bench.strategies.server PORT POOL_SIZE` with DATABASE_URL and REDIS_URL; several
processes on several ports are what a balancer would have behind it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import uvicorn
from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from psycopg import AsyncConnection
from psycopg.errors import DeadlockDetected
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from redis.asyncio import BlockingConnectionPool, Redis
from redis.exceptions import RedisError

from bench.strategies.catalogue import SELLING
from bench.strategies.floor import bare
from bench.strategies.sale import Answer, Booking, Means, Strategy, busy
from store.settings import EngineUrls

log = logging.getLogger("strategies")

REDIS_CONNECTIONS = 32
WAIT_SECONDS_MAX = 30.0
KEEP_ALIVE_SECONDS = 3600
BARE = "/bare"


class Desk:
    """This process' strategies, and which of them sells which event. An engine's error is told as `busy`."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._by_name = {name: strategy(means) for name, strategy in SELLING.items()}
        self._by_event: dict[int, Strategy] = {}
        self._looking_up = asyncio.Lock()

    async def book(self, booking: Booking) -> Answer:
        strategy = self._by_event.get(booking.event) or await self._look_up(booking.event)
        try:
            return await strategy.book(booking)
        except (psycopg.Error, PoolTimeout, RedisError) as error:
            log.warning("%s: %s", strategy.name, error)
            return busy(deadlocks=isinstance(error, DeadlockDetected))

    async def _look_up(self, event: int) -> Strategy:
        async with self._looking_up:  # a thousand first requests need one look
            if event not in self._by_event:
                async with self._means.pool.connection() as connection:
                    found = await connection.execute("SELECT strategy FROM event WHERE id = %s", (event,))
                    row = await found.fetchone()
                assert row is not None, f"there is no event {event}"
                self._by_event[event] = self._by_name[row[0]]
            return self._by_event[event]

    async def close(self) -> None:
        for strategy in self._by_name.values():
            await strategy.close()


@asynccontextmanager
async def desk_of(urls: EngineUrls, pool_size: int) -> AsyncIterator[Desk]:
    """A desk with its pools open."""
    pool = AsyncConnectionPool(
        urls.database_url,
        connection_class=AsyncConnection[tuple[Any, ...]],
        kwargs={"autocommit": True, "application_name": "strategies"},
        min_size=pool_size,
        max_size=pool_size,
        timeout=WAIT_SECONDS_MAX,
        open=False,
    )
    connections = BlockingConnectionPool.from_url(
        urls.redis_url, max_connections=REDIS_CONNECTIONS, timeout=WAIT_SECONDS_MAX
    )
    client = Redis(connection_pool=connections)
    async with pool:
        desk = Desk(Means(pool, client, urls.database_url))
        try:
            yield desk
        finally:
            await desk.close()
            await client.aclose()
            await connections.disconnect()


def create_app(urls: EngineUrls, pool_size: int) -> FastAPI:
    """The application."""
    desks: list[Desk] = []

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with desk_of(urls, pool_size) as desk:
            desks.append(desk)
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/book")
    async def book(booking: Booking) -> Answer:
        return await desks[0].book(booking)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"state": "ready"}

    @app.websocket("/socket")
    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        try:
            while True:
                booking = Booking.model_validate_json(await websocket.receive_text())
                answer = await desks[0].book(booking)
                await websocket.send_text(answer.model_dump_json())
        except WebSocketDisconnect:
            return

    return app


def main(port: int, pool_size: int) -> None:
    """Serve on loopback until ended. The collector's thresholds are those of onsale's gateway."""
    app = create_app(EngineUrls.from_env(), pool_size)

    async def with_floor(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path", "").startswith(BARE):
            await bare(scope, receive, send)
        else:
            await app(scope, receive, send)

    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    config = uvicorn.Config(
        with_floor,
        port=port,
        http="httptools",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        lifespan="on",
        backlog=4096,
        access_log=False,
        log_level="warning",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
