"""For whoever erases a buyer: the buyer's requests that an event's stream still has, and that are decided.

It must be done before the ledger forgets whose they were: what stands in a stream and is in no ledger is
appended again when the stream is mended (`allocator.loop`).
"""

from __future__ import annotations

import contextlib
from typing import Any, Final

import redis
from msgspec import DecodeError

from store.errors import Unavailable
from store.stream.port import REQUEST
from store.stream.redis_stream import connect
from store.wire import decode_entry, stream_key
from store.words import Arrival

PAGE: Final = 1_000


def forget_requests(redis_url: str, event: str, buyer: str, until: Arrival) -> int:
    """Delete them, up to `until`; how many. Raises `Unavailable` where the stream does not answer."""
    key, start, forgotten = stream_key(event), "-", 0
    try:
        with contextlib.closing(connect(redis_url)) as client:
            while True:
                page: list[Any] = client.xrange(key, start, until, count=PAGE) or []
                mine = [entry for entry, fields in page if fields is not None and _is_of(fields, buyer)]
                if mine:
                    forgotten += int(client.xdel(key, *mine))
                if len(page) < PAGE:
                    return forgotten
                start = f"({page[-1][0].decode()}"
    except (redis.RedisError, OSError, ValueError) as error:
        story = "The stream does not answer, and what it has of the buyer would come back."
        raise Unavailable(f"{story} Nothing was erased; try again.") from error


def _is_of(fields: dict[bytes, bytes], buyer: str) -> bool:
    raw = fields.get(REQUEST)
    try:
        return raw is not None and decode_entry(raw).buyer == buyer
    except DecodeError:
        return False
