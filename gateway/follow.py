"""Following one event's fan-out: decisions for this gateway, what each batch changed, what holders did.

Fan-out is delivered at most once, so every (re)subscription is told to the listener, which then
asks the truth for what it may have missed. A connection that is silent in spite of pings is taken
for dead.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any, Protocol

import redis.asyncio
from msgspec import DecodeError
from redis.exceptions import RedisError

from store.jitter import jitter
from store.room.news import RoomNews, decode_room_news, room_channel
from store.wire import (
    Delta,
    HoldNews,
    Published,
    decisions_channel,
    decode_delta,
    decode_news,
    decode_published,
    holds_channel,
    seats_channel,
)

log = logging.getLogger("onsale.gateway")

PING_SECONDS = 2.0
SILENT_SECONDS_MAX = 6.0
BACKOFF_SECONDS = (0.1, 0.5)
"""After a loss of the stream, hearing again is what makes a gateway append again what it had accepted. The
longest pause is well below the second for which the allocator gathers that, so that it goes first (law 2)."""


class Listener(Protocol):
    """Who is told. None of these may wait."""

    def subscribed(self, first: bool) -> None: ...
    def unsubscribed(self) -> None: ...
    def decided(self, decisions: Published) -> None: ...
    def changed(self, delta: Delta) -> None: ...
    def hold_changed(self, news: HoldNews) -> None: ...
    def room_changed(self, news: RoomNews) -> None: ...


class Follower:
    """One subscription, kept up for as long as `run` runs."""

    def __init__(self, client: redis.asyncio.Redis, event: str, gateway_id: str, listener: Listener) -> None:
        self._client = client
        self._decisions = decisions_channel(event, gateway_id).encode()
        self._seats = seats_channel(event).encode()
        self._holds = holds_channel(event).encode()
        self._room = room_channel(event).encode()
        self._channels = (self._decisions, self._seats, self._holds, self._room)
        self._listener = listener
        self._subscribed_before = False

    async def run(self) -> None:
        """Subscribe, listen, and begin again when the connection is lost, until cancelled."""
        pause, longest = BACKOFF_SECONDS
        while True:
            try:
                async with self._client.pubsub() as pubsub:
                    await pubsub.subscribe(*self._channels)
                    await self._listen(pubsub)
            except (RedisError, OSError) as error:
                log.warning("fan-out lost, subscribing again: %r", error)
                self._listener.unsubscribed()
            await asyncio.sleep(pause * jitter(0.5, 1.0))
            pause = min(2 * pause, longest)

    async def _listen(self, pubsub: Any) -> None:
        heard = pinged = time.monotonic()
        confirmed = 0
        while True:
            message = await pubsub.get_message(timeout=PING_SECONDS)
            now = time.monotonic()
            if message is not None:
                heard = now
                kind = message["type"]
                if kind == "message":
                    self._hand_on(message["channel"], message["data"])
                elif kind == "subscribe":
                    confirmed += 1
                    if confirmed == len(self._channels):
                        self._listener.subscribed(not self._subscribed_before)
                        self._subscribed_before = True
            if now - heard > SILENT_SECONDS_MAX:
                raise ConnectionError("no answer to pings")
            if now - pinged > PING_SECONDS:
                pinged = now
                await pubsub.ping()

    def _hand_on(self, channel: bytes, data: bytes) -> None:
        try:
            if channel == self._decisions:
                self._listener.decided(decode_published(data))
            elif channel == self._seats:
                self._listener.changed(decode_delta(data))
            elif channel == self._holds:
                self._listener.hold_changed(decode_news(data))
            elif channel == self._room:
                self._listener.room_changed(decode_room_news(data))
        except DecodeError:
            log.exception("a message on %r cannot be read; what it said is asked for", channel)
