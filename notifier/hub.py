"""The sockets of one gateway, and writing to them without ever waiting for one of them.

ASGI's `send` is a coroutine because a server may wait in it until the client has read enough.
Awaiting it in a fan-out loop lets one slow reader hold up everybody behind it, and a task or a
queue for each client costs more than the write. uvicorn's websockets-sansio `send` waits only at
its beginning, and only while the transport's write buffer is above its high-water mark (64 KiB);
after that it writes and returns without suspending. So `write_now` drives the coroutine by hand:
it either finishes in the first step, and the frame is written, or suspends before anything was
written, and is closed. The transport's buffer is the bounded queue of a client (law 7): who is
above it reads too slowly, is closed with 4409, reconnects and asks again.

`tests/notifier/test_hub.py` holds uvicorn to both halves of that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Any

Message = dict[str, Any]
Send = Callable[[Any], Awaitable[None]]

SLOW = 4409
RESTARTING = 1012
FAREWELL_SECONDS_MAX = 5.0
"""How long a slow client has to read what it was sent, to learn why it is closed."""
LINGER_SECONDS_MAX = 10.0
FAREWELLS_MAX = 1_000
SLICE = 256
"""Writes between two turns of the event loop, in a broadcast."""


def write_now(send: Send, message: Message) -> bool:
    """True when `send` took the message; False when it would have waited, and then took nothing."""
    coroutine: Any = send(message)
    try:
        coroutine.send(None)
    except StopIteration:
        return True
    coroutine.close()
    return False


WriteText = Callable[[bytes], bool]
"""Puts a text frame on the transport: True, or False above the high-water mark, and then took nothing.
Raises OSError or RuntimeError when the connection is gone or closing."""


class Client:
    """One accepted websocket. `write` and `close` never wait and never raise."""

    __slots__ = ("_hub", "_send", "_write_text", "closed")

    def __init__(self, hub: Hub, send: Send, write_text: WriteText | None) -> None:
        self._hub = hub
        self._send = send
        self._write_text = write_text or self._write_by_send
        self.closed = False

    def _write_by_send(self, frame: bytes) -> bool:
        return write_now(self._send, {"type": "websocket.send", "text": frame.decode()})

    def write(self, frame: bytes) -> bool:
        """Send a text frame; False when the client is gone or was closed for reading too slowly."""
        if self.closed:
            return False
        try:
            if self._write_text(frame):
                return True
        except (OSError, RuntimeError):  # the connection was lost, or the close frame is out
            self.closed = True
            return False
        self._hub.slow_closed += 1
        self.close(SLOW, "reading too slowly")
        return False

    def close(self, code: int, reason: str = "") -> None:
        """Close with a code, at once if the client reads, else within `FAREWELL_SECONDS_MAX`."""
        if self.closed:
            return
        self.closed = True
        message = {"type": "websocket.close", "code": code, "reason": reason}
        try:
            if not write_now(self._send, message):
                self._hub.bid_farewell(self, message)
        except (OSError, RuntimeError):
            return

    def abort(self) -> None:
        """Drop the connection and what it has not read; for a server that shows its transport."""
        transport = getattr(getattr(self._send, "__self__", None), "transport", None)
        if transport is not None:
            transport.abort()

    async def _say_goodbye(self, message: Message) -> None:
        try:
            async with asyncio.timeout(FAREWELL_SECONDS_MAX):
                await self._send(message)
        except (OSError, RuntimeError):  # TimeoutError is an OSError
            self.abort()
        else:
            # The frame is in the buffer; a client that stops reading now must not keep it there.
            asyncio.get_running_loop().call_later(LINGER_SECONDS_MAX, self.abort)


class Hub:
    """All clients of a process, at most `sockets_max`."""

    def __init__(self, sockets_max: int) -> None:
        self.sockets_max = sockets_max
        self.clients: set[Client] = set()
        self.slow_closed = 0
        self._farewells: set[asyncio.Task[None]] = set()

    @property
    def full(self) -> bool:
        return len(self.clients) >= self.sockets_max

    def enter(self, send: Send, write_text: WriteText | None = None) -> Client:
        """A new client; `write_text` is the server's short way for text frames, if it has one."""
        client = Client(self, send, write_text)
        self.clients.add(client)
        return client

    def leave(self, client: Client) -> None:
        client.closed = True
        self.clients.discard(client)

    def bid_farewell(self, client: Client, message: Message) -> None:
        """Close a client that cannot be written to now; one of too many is dropped without a word."""
        if len(self._farewells) >= FAREWELLS_MAX:
            client.abort()
            return
        task = asyncio.get_running_loop().create_task(client._say_goodbye(message))
        self._farewells.add(task)
        task.add_done_callback(self._farewells.discard)

    async def close_all(self, code: int = RESTARTING, reason: str = "gateway restarting") -> None:
        """Close every client, and wait for the slow ones no longer than their farewell."""
        for client in list(self.clients):
            client.close(code, reason)
        if self._farewells:
            await asyncio.wait(self._farewells, timeout=FAREWELL_SECONDS_MAX)


async def broadcast(clients: Collection[Client] | Iterable[Client], frame: bytes) -> None:
    """One frame to many, in slices so that decisions in between do not wait."""
    for written, client in enumerate(list(clients)):
        client.write(frame)
        if written % SLICE == SLICE - 1:
            await asyncio.sleep(0)
