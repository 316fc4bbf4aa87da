"""For those who are neither gateway nor allocator: wake an event's allocator, see how far it is behind, tell
a buyer what became of a hold or an order, and gateways that a waiting room was changed.
"""

from __future__ import annotations

import contextlib

import msgspec
import redis

from store.blocks import Released
from store.room import news
from store.sales import Order
from store.stream.port import POKE, REQUEST
from store.stream.redis_stream import connect
from store.wire import HoldNews, encode_news, holds_channel, stream_key
from store.words import Arrival, HoldState

LAG_COUNT_MAX = 10_000


def wake(redis_url: str, event: str) -> bool:
    """Poke the stream after a change; False when that failed. The allocator looks each second anyway."""
    with (
        contextlib.suppress(redis.RedisError, OSError, ValueError),
        contextlib.closing(connect(redis_url)) as client,
    ):
        return client.xadd(stream_key(event), {POKE: b"1"}, nomkstream=True) is not None
    return False


def tell_holder(redis_url: str, event: str, hold: Order | Released) -> bool:
    """A `hold` frame for the buyer's sockets, on every gateway, of what an operator did; best effort."""
    left = {"seats": hold.seats, "areas": hold.areas} if isinstance(hold, Order) else {}
    by = {} if hold.state is HoldState.EXPIRED else {"by": "operator"}  # what ran out nobody took
    frame = {"type": "hold", "hold": hold.hold, "state": hold.state, **left, **by}
    news = HoldNews("", hold.buyer, msgspec.json.encode(frame))
    with (
        contextlib.suppress(redis.RedisError, OSError, ValueError),
        contextlib.closing(connect(redis_url)) as client,
    ):
        client.publish(holds_channel(event), encode_news(news))
        return True
    return False


def tell_room(redis_url: str, event: str, version: int) -> bool:
    """That the event's waiting room has this version now; best effort, gateways look each second anyway."""
    with (
        contextlib.suppress(redis.RedisError, OSError, ValueError),
        contextlib.closing(connect(redis_url)) as client,
    ):
        client.publish(news.room_channel(event), news.encode(version))
        return True
    return False


def undecided(redis_url: str, event: str, cursor: Arrival) -> int | None:
    """How many requests are above the cursor, counted up to `LAG_COUNT_MAX`; None when nobody answers."""
    with (
        contextlib.suppress(redis.RedisError, OSError, ValueError),
        contextlib.closing(connect(redis_url)) as client,
    ):
        entries = client.xrange(stream_key(event), f"({cursor}", "+", count=LAG_COUNT_MAX) or []
        return sum(fields is not None and REQUEST in fields for _, fields in entries)
    return None
