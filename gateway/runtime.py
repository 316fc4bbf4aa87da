"""Everything one gateway process shares, made when it starts and taken down when it stops."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import redis.asyncio

from gateway.buyers.tokens import Tokens
from gateway.callers import Callers
from gateway.ending import end
from gateway.events import Parts
from gateway.live.feed import LiveFeed
from gateway.loading import Events
from gateway.metrics import Metrics
from gateway.payments.desk import Desk
from gateway.room.guard import Guard
from gateway.room.streams import Streams
from gateway.settings import Settings
from notifier.hub import Hub
from store import lookups
from store.lookups import Pool
from store.stream.redis_stream import connect_async

log = logging.getLogger("onsale.gateway")

POOL_OPEN_SECONDS_MAX = 5.0
STREAM_CONNECTIONS_PER_EVENT = 2
"""One follows the fan-out for as long as the event is served, one appends."""
STREAM_CONNECTIONS_MORE = 100
"""For everything short: waking allocators, telling other gateways, asking for a stream's last id."""
CALLERS_CONNECTIONS_MAX = 2
"""To know operators by, apart from those that buyers wait for: at a launch operators must get through."""


class Runtime:
    """`app.state.runtime`. One per process start; `gateway_id` names it on fan-out channels."""

    def __init__(self, settings: Settings, pool: Pool, callers: Callers, client: redis.asyncio.Redis) -> None:
        self.settings = settings
        self.callers = callers
        self.gateway_id = secrets.token_hex(4)
        self.pool = pool
        self.redis = client
        self.metrics = Metrics()
        self.tokens = Tokens(settings)
        self.hub = Hub(settings.bounds.sockets_max)
        self.guard = Guard(settings.room, pool)
        self.events = Events(Parts(settings, self.gateway_id, pool, client, self.metrics, self.guard))
        self.payments = Desk(settings, pool, client, self.events, self.gateway_id, self.metrics)
        self.streams = Streams(settings.bounds.streams_max)
        self.live = LiveFeed(settings.engines, client, self.metrics.looked)
        self.stopping = False
        self.metrics.read(self)

    def origin_allowed(self, origin: str | None, host: str) -> bool:
        """No Origin: not a browser. Same origin, or listed: allowed."""
        if origin is None or origin in self.settings.origins:
            return True
        return origin.partition("://")[2] == host != ""


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Runtime]:
    """A runtime, closed in order: sockets are told to come back (1012), then the loops, then the engines."""
    pool = lookups.open_pool(settings.engines.database_url, size_max=settings.bounds.database_connections_max)
    connections_max = STREAM_CONNECTIONS_PER_EVENT * settings.bounds.events_max + STREAM_CONNECTIONS_MORE
    client = connect_async(settings.engines.redis_url, connections_max=connections_max)
    await pool.open(wait=False)
    callers_pool = lookups.open_pool(
        settings.engines.database_url, size_max=CALLERS_CONNECTIONS_MAX, size_min=0
    )
    await callers_pool.open(wait=False)
    runtime = Runtime(settings, pool, Callers(settings, callers_pool), client)
    letting_go = asyncio.create_task(runtime.events.run())
    runtime.payments.start()
    runtime.guard.start()
    runtime.live.start()
    try:
        yield runtime
    finally:
        runtime.stopping = True
        await end([letting_go])
        await asyncio.gather(runtime.hub.close_all(), runtime.live.stop())
        await runtime.payments.stop()
        await runtime.guard.stop()
        await runtime.events.stop()
        await asyncio.gather(
            client.aclose(),
            pool.close(timeout=POOL_OPEN_SECONDS_MAX),
            callers_pool.close(timeout=POOL_OPEN_SECONDS_MAX),
            return_exceptions=True,
        )
