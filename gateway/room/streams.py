"""Server-sent events: what a socket is told of the waiting room, for clients that have no websocket.

The same frames; an event's name is the frame's type, and its data the frame. A stream has a bounded number
of frames that its client has not read; beyond it, it ends: the client comes back and is told how things are.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

from gateway.problems import Busy
from gateway.room.waiting_room import WaitingRoom

UNREAD_MAX: Final = 32
"""Frames a client has not read."""
SILENT_SECONDS_MAX: Final = 15.0
"""After so long without news something is sent all the same, or proxies take the connection for dead."""
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

    def must_have_room(self) -> None:
        """Raises `Busy` (too_many_streams)."""
        if self.open >= self._streams_max:
            raise Busy("too_many_streams", "Too many streams are open. Use the socket, or GET …/room.")

    async def read(self, room: WaitingRoom, buyer: str, expires_at: float) -> AsyncIterator[bytes]:
        """What this buyer is told, until the token runs out."""
        stream = Stream()
        self.open += 1
        room.enter(buyer, stream)
        try:
            yield COME_BACK
            while not stream.slow and time.time() < expires_at:
                yield await stream.next()
        finally:
            room.leave(buyer, stream)
            self.open -= 1


def _event(frame: bytes) -> bytes:
    kind = frame[len(b'{"type":"') : frame.index(b'"', len(b'{"type":"'))]
    return b"event: %s\ndata: %s\n\n" % (kind, frame)
