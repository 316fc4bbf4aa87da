"""Many silent websockets in one process, and when each of them has heard of a change.

    python -m bench.waiting_room.listener

The first line on standard input is `ListenerOrders`; `READY` is said when every socket said hello and was
told how the room stands. Each further line is a version of the room, and the answer (`Heard`) comes when
every socket has heard of that version or a later one.
"""

from __future__ import annotations

import asyncio
import gc
import re
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import PIPE, Popen
from typing import Final

import msgspec
from msgspec import Struct
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

from bench.generator import REPOSITORY
from store.errors import OnsaleError

CONNECT_BURST: Final = 100
HANDSHAKE_SECONDS_MAX: Final = 60.0
HEAR_SECONDS_MAX: Final = 60.0
VERSION: Final = re.compile(rb'"version":(\d+)')
IS_ROOM: Final = b'"type":"room"'


class ListenersFailed(OnsaleError):
    """Not every socket came in, or heard what it should; last words are above."""


class ListenerOrders(Struct):
    """Who listens where."""

    url: str
    """`ws://host:port/v1/socket`"""
    event: str
    tokens: list[str]


class Heard(Struct):
    """When the last of all sockets heard of a version."""

    at_ns: int = 0
    """By the machine's monotonic clock, which all its processes share."""
    half_at_ns: int = 0
    """When half of them had."""
    frames: int = 0
    """Of the room, to all sockets, since the last time."""


_encode = msgspec.json.Encoder().encode


class Listeners:
    """One running process with its sockets open."""

    def __init__(self, process: Popen[bytes]) -> None:
        self._process = process

    def ask(self, line: bytes) -> None:
        """Told now, answered later."""
        into = self._process.stdin
        assert into is not None, "the process was started with pipes"
        into.write(line + b"\n")
        into.flush()

    def answer(self) -> Heard:
        """The next answer. Raises `ListenersFailed`."""
        out = self._process.stdout
        assert out is not None, "the process was started with pipes"
        line = out.readline()
        if not line:
            raise ListenersFailed
        return msgspec.json.decode(line, type=Heard)


@contextmanager
def listeners(base_url: str, event: str, tokens: list[str]) -> Iterator[Listeners]:
    """Connecting when the block begins; `answer` comes when all are in. Ended with the block."""
    url = f"ws{base_url.removeprefix('http')}/v1/socket"
    command = [sys.executable, "-m", "bench.waiting_room.listener"]
    with Popen(command, stdin=PIPE, stdout=PIPE, cwd=REPOSITORY) as process:
        try:
            made = Listeners(process)
            made.ask(_encode(ListenerOrders(url, event, tokens)))
            yield made
        finally:
            process.terminate()


class _Crowd:
    def __init__(self, orders: ListenerOrders) -> None:
        self.orders = orders
        self.awaited = -1
        self.left = 0
        self.frames = 0
        self.half_at_ns = 0
        self.done = asyncio.Event()
        self.sockets = [_Socket(self, token) for token in orders.tokens]

    async def connect(self) -> None:
        waiting = iter(self.sockets)

        async def worker() -> None:
            for one in waiting:
                await one.connect()

        self.expect(0)
        await asyncio.gather(*[worker() for _ in range(CONNECT_BURST)])
        await self.heard()

    def expect(self, version: int) -> None:
        self.awaited = version
        self.left = sum(one.version < version for one in self.sockets)
        self.done.clear()
        if not self.left:
            self.done.set()

    async def heard(self) -> Heard:
        async with asyncio.timeout(HEAR_SECONDS_MAX):
            await self.done.wait()
        frames, self.frames = self.frames, 0
        return Heard(time.monotonic_ns(), self.half_at_ns, frames)

    def hears(self, was: int, version: int) -> None:
        self.frames += 1
        if was < self.awaited <= version:
            self.left -= 1
            if self.left == len(self.sockets) // 2:
                self.half_at_ns = time.monotonic_ns()
            if not self.left:
                self.done.set()


class _Socket(WSListener):
    __slots__ = ("_crowd", "_hello", "version")

    def __init__(self, crowd: _Crowd, token: str) -> None:
        self._crowd = crowd
        self._hello = _encode({"type": "hello", "event": crowd.orders.event, "token": token, "watch": False})
        self.version = -1

    async def connect(self) -> None:
        await ws_connect(
            lambda: self,
            self._crowd.orders.url,
            websocket_handshake_timeout=HANDSHAKE_SECONDS_MAX,
            read_buffer_init_size=1024,
        )

    def on_ws_connected(self, transport: WSTransport) -> None:
        transport.send(WSMsgType.TEXT, self._hello)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type is not WSMsgType.TEXT:
            return
        payload = frame.get_payload_as_bytes()
        if IS_ROOM not in payload:
            return
        told = VERSION.search(payload)
        if told is not None:
            was, self.version = self.version, int(told[1])
            self._crowd.hears(was, self.version)

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        sys.exit("a socket was closed")


async def main() -> None:
    """See the top of this module."""
    crowd = _Crowd(msgspec.json.decode(sys.stdin.buffer.readline(), type=ListenerOrders))
    await crowd.connect()
    gc.freeze()
    _say(Heard())
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        crowd.expect(int(line))
        _say(await crowd.heard())


def _say(heard: Heard) -> None:
    sys.stdout.buffer.write(_encode(heard) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(main())
