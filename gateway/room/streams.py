"""Server-sent events: what a socket is told of the waiting room, for clients that have no websocket.

The same frames; an event's name is the frame's type, and its data the frame. A stream has a bounded number
of frames that its client has not read; beyond it, or where the client takes nothing for a while, it ends: the
client comes back and is told how things are.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import Any, Final

from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse

from gateway.problems import Busy
from gateway.room.waiting_room import WaitingRoom

UNREAD_MAX: Final = 32
"""Frames a client has not read."""
SILENT_SECONDS_MAX: Final = 15.0
"""After so long without news something is sent all the same, or proxies take the connection for dead."""
SEND_SECONDS_MAX: Final = 30.0
"""How long a client may take for what it is sent at once."""
COME_BACK: Final = b"retry: 2000\n\n"
STILL_HERE: Final = b":\n\n"


class Stream:
    """One client; like a socket to those who write to it."""

    __slots__ = ("_frames", "_wake", "slow")

    def __init__(self) -> None:
        self._frames: deque[bytes] = deque()
        self._wake = asyncio.Event()
        self.slow = False

    def write(self, frame: bytes) -> bool:
        """Keep a frame until it is read; False when too many are."""
        if len(self._frames) >= UNREAD_MAX:
            self.slow = True
        else:
            self._frames.append(_event(frame))
        self._wake.set()
        return not self.slow

    async def next(self) -> bytes:
        """What came since, or a sign of life."""
        if not self._frames:
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), SILENT_SECONDS_MAX)
            except TimeoutError:
                return STILL_HERE
        frames = b"".join(self._frames)
        self._frames.clear()
        return frames


class Streams:
    """Of one gateway."""

    def __init__(self, streams_max: int) -> None:
        self._streams_max = streams_max
        self.open = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """One more, counted as long as it lasts; raises `Busy` (too_many_streams)."""
        if self.open >= self._streams_max:
            raise Busy("too_many_streams", "Too many streams are open. Use the socket, or GET …/room.")
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1

    async def read(self, room: WaitingRoom, buyer: str, expires_at: float) -> AsyncGenerator[bytes, None]:
        """What this buyer is told, until the token runs out."""
        stream = Stream()
        room.enter(buyer, stream)
        try:
            yield COME_BACK
            while not stream.slow and time.time() < expires_at:
                yield await stream.next()
        finally:
            room.leave(buyer, stream)


class StreamResponse(StreamingResponse):
    """A stream, counted from before its first byte: of many who come at once no more than may get in."""

    media_type = "text/event-stream"

    def __init__(
        self, streams: Streams, frames: AsyncGenerator[bytes, None], headers: dict[str, str]
    ) -> None:
        super().__init__(frames, headers=headers)
        self._streams = streams
        self._frames = frames

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Raises `Busy` before anything is sent."""

        async def send_in_time(message: Any) -> None:
            async with asyncio.timeout(SEND_SECONDS_MAX):
                await send(message)

        async with aclosing(self._frames):
            with self._streams.one(), suppress(TimeoutError, ClientDisconnect):
                await super().__call__(scope, receive, send_in_time)


def _event(frame: bytes) -> bytes:
    kind = frame[len(b'{"type":"') : frame.index(b'"', len(b'{"type":"'))]
    return b"event: %s\ndata: %s\n\n" % (kind, frame)
