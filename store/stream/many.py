"""Many events' streams on one connection: read at once, looked after at once. For whoever owns many events.

Multi-key: all streams are on one server (a primary with replicas), as everything of onsale expects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import redis
from redis.exceptions import ResponseError

from store.errors import StreamUnavailable
from store.stream.port import RawEntry
from store.stream.redis_stream import BLOCK_MS_MAX, LOST, connect, is_missing, is_refusal, last_generated
from store.wire import arrival_order, stream_key
from store.words import Arrival


class ManyStreams:
    """Reads for one thread; `wake` may be called from others."""

    def __init__(self, redis_url: str) -> None:
        self.client: Any = connect(redis_url)  # redis-py leaves much of it untyped
        """For what is done with one stream alone, between two reads."""
        self._waker: Any = connect(redis_url)
        self._blocked: int | None = None
        for command in ("XREAD", "XRANGE", "XINFO STREAM"):  # as they came: what they say is for us alone
            self.client.set_response_callback(command, lambda reply, **_: reply)

    def read(
        self, after: Mapping[str, Arrival], *, count_max: int, block_ms: int
    ) -> dict[str, list[RawEntry]]:
        """Entries of each event above where it is, at most `count_max` each; waits for the first of any."""
        assert block_ms <= BLOCK_MS_MAX, "a longer block would run into the socket timeout"
        if self._blocked is None:
            self._blocked = int(self._call("CLIENT", "ID"))
        slugs = {stream_key(slug): slug for slug in after}
        block: tuple[str | int, ...] = ("BLOCK", block_ms) if block_ms else ()
        reply = self._call("XREAD", "COUNT", count_max, *block, "STREAMS", *slugs, *after.values())
        found = reply.items() if isinstance(reply, dict) else reply or ()
        return {slugs[key.decode()]: entries for key, entries in found}

    def astray(self, cursors: Mapping[str, Arrival]) -> list[str]:
        """Events whose stream is missing, gives ids below the cursor, or has something at or below it."""
        pipeline = self.client.pipeline(transaction=False)
        for slug, cursor in cursors.items():
            pipeline.execute_command("XINFO STREAM", stream_key(slug))
            pipeline.xrange(stream_key(slug), "-", cursor, count=1)
        try:
            replies = pipeline.execute(raise_on_error=False)
        except LOST as error:
            raise StreamUnavailable from error
        pairs = zip(replies[::2], replies[1::2], strict=True)
        return [
            slug
            for (slug, cursor), (info, below) in zip(cursors.items(), pairs, strict=True)
            if not _stands(info, below, cursor)
        ]

    def wake(self) -> None:
        """End a read that waits, as if its time were over. It may come too early: call it again."""
        if self._blocked is not None:
            try:
                self._waker.execute_command("CLIENT", "UNBLOCK", self._blocked)
            except (redis.RedisError, OSError):  # the read fails too; until one is back nobody waits for this
                self.lost()

    def close(self) -> None:
        """End both connections."""
        self.client.close()
        self._waker.close()

    def lost(self) -> None:
        """A read failed: what comes next is on another connection."""
        self._blocked = None

    def _call(self, *command: str | int) -> Any:
        try:
            return self.client.execute_command(*command)
        except ResponseError as error:
            if is_refusal(error):
                raise StreamUnavailable from error
            raise
        except LOST as error:
            self.lost()
            raise StreamUnavailable from error


def _stands(info: Any, below: Sequence[Any] | Exception, cursor: Arrival) -> bool:
    for reply in (info, below):
        if isinstance(reply, ResponseError) and is_missing(reply):
            return False
        if isinstance(reply, Exception):
            raise StreamUnavailable from reply
    return not below and arrival_order(last_generated(info)) >= arrival_order(cursor)
