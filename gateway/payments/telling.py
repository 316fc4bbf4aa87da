"""Telling of payments that changed, after their commit and best effort: who waits, and who must act.

The event's allocator is woken, and the buyer's sockets hear of the hold that was bought and of the payment:
at once where they are here, through the fan-out where they are at other gateways: all of a moment in one
message, which costs little however many gateways there are. The event need not be one
that this gateway serves. Nothing waits for any of it: with Redis away what is told is lost, and those who ask
learn the same from Postgres.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable
from typing import Final

import redis.asyncio
from redis.exceptions import RedisError

from gateway.buyers.recall import DATABASE_AWAY
from gateway.loading import Events
from store import lookups
from store.lookups import Pool
from store.payments import shown
from store.stream.port import POKE
from store.wire import HoldNews, encode_news, holds_channel, stream_key

log = logging.getLogger("onsale.gateway")

QUEUED_MAX: Final = 10_000
"""Beyond it those told of first are forgotten."""
GROUP_MAX: Final = 500

NEWS_MAX: Final = 200
"""Most frames of one message to other gateways."""

News = tuple[str, bytes]
"""(buyer, frame)"""
Outward = tuple[str, list[News]]
"""(event's slug, what its buyers' sockets elsewhere are told)"""


class Telling:
    """One gateway's."""

    def __init__(self, pool: Pool, client: redis.asyncio.Redis, events: Events, gateway_id: str) -> None:
        self._pool = pool
        self._redis = client
        self._events = events
        self._gateway_id = gateway_id
        self._queue: deque[int] = deque(maxlen=QUEUED_MAX)
        self._outward: deque[Outward] = deque(maxlen=QUEUED_MAX)
        self._wake = asyncio.Event()
        self._wake_outward = asyncio.Event()

    def changed(self, payments: Iterable[int]) -> None:
        """These are other than they were. Never waits."""
        self._queue.extend(payments)
        self._wake.set()

    async def run(self) -> None:
        """Read and tell those here until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._queue:
                group = [self._queue.popleft() for _ in range(min(len(self._queue), GROUP_MAX))]
                try:
                    await self._tell(list(dict.fromkeys(group)))
                except DATABASE_AWAY as error:
                    log.warning("%d buyers were not told of their payments: %r", len(group), error)
                except Exception:  # whoever pays next must be told
                    log.exception("ALERT: %d buyers were not told of their payments", len(group))

    async def _tell(self, group: list[int]) -> None:
        async with self._pool.connection() as connection:
            payments = await shown.read_many(connection, group)
            slugs = await lookups.slugs(connection, list({one.event_id for one in payments}))
        news: dict[str, list[News]] = {}
        for payment in payments:
            told = news.setdefault(slugs[payment.event_id], [])
            told += [(payment.buyer, frame) for frame in shown.frames_of(payment)]
        for slug, told in news.items():
            event = self._events.known(slug)
            if event is not None:
                for buyer, frame in told:
                    event.holders.tell_here(buyer, frame)
            self._outward.append((slug, told))
        self._wake_outward.set()

    async def run_outward(self) -> None:
        """Wake allocators and tell other gateways until cancelled."""
        while True:
            await self._wake_outward.wait()
            self._wake_outward.clear()
            while self._outward:
                slug, told = self._outward.popleft()
                pipeline = self._redis.pipeline(transaction=False)
                pipeline.xadd(stream_key(slug), {POKE: b"1"}, nomkstream=True)
                for start in range(0, len(told), NEWS_MAX):
                    (buyer, frame), *more = told[start : start + NEWS_MAX]
                    news = HoldNews(self._gateway_id, buyer, frame, tuple(more))
                    pipeline.publish(holds_channel(slug), encode_news(news))
                try:
                    await pipeline.execute()
                except (RedisError, OSError) as error:
                    log.warning("%s was not told of payments elsewhere: %r", slug, error)
