"""The load generator of the strategies: `python -m bench.strategies.load`, in a process of its own.

The same cost for everybody asked: picows sockets, and for HTTP a bare asyncio.Protocol that keeps its
connection, sends one request, finds the whole response by its Content-Length and sends the next. One
request in flight per connection. While a round runs nothing is decoded: an answer is a timestamp and its
bytes. Connections are opened before, and opened again where a server closed them meanwhile.

Standard input has one order a line (`orders.py` beside this file), standard output its replies, one a line.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

from bench.clients import cpu_seconds
from bench.strategies.orders import Close, Go, Open, Reply, Told, decode_order, encode_reply, encode_told
from bench.strategies.wire import OnsaleWire, Wire, hello, parse_response

CONNECT_BURST = 100
CONNECT_SECONDS_MAX = 30.0
SENDS_PER_TURN = 32
TEXT = WSMsgType.TEXT


class Asking:
    """A connection's part in a round; `line.round` hears of its answers."""

    def __init__(self, line: Line, number: int) -> None:
        self.line = line
        self.number = number
        tokens = line.order.tokens
        self.token = tokens[number % len(tokens)] if tokens else ""
        self.pending = -1
        self.sent_ns = 0
        self.open = False

    def write(self, data: bytes) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def lost(self) -> None:
        self.open = False
        if self.line.round is not None:
            self.line.round.lost(self)


class HttpConnection(Asking, asyncio.Protocol):
    """Keep-alive HTTP/1.1, one request in flight."""

    transport: asyncio.Transport
    buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "TCP gives a transport that reads and writes"
        self.transport = transport
        self.open = True

    def data_received(self, data: bytes) -> None:
        response = parse_response(self.buffer + data if self.buffer else data)
        if response is None:
            self.buffer += data
            return
        self.buffer = response.rest
        if self.line.round is not None:
            self.line.round.hear(self, response.status, response.body, time.monotonic_ns())

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost()

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def close(self) -> None:
        self.transport.abort()


class Socket(Asking, WSListener):
    """A websocket; onsale's says hello and is open once it is welcome."""

    transport: WSTransport

    def __init__(self, line: Line, number: int) -> None:
        super().__init__(line, number)
        self.settled = asyncio.Event()
        """Welcome, or lost."""

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.transport = transport
        if self.line.order.hello:
            transport.send(TEXT, hello(self.line.order.hello, self.token))
        else:
            self._welcome()

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type is TEXT:
            if self.open and self.line.round is not None:
                payload = frame.get_payload_as_bytes()
                self.line.round.hear(self, 200, payload, time.monotonic_ns())
            elif frame.get_payload_as_bytes().startswith(b'{"type":"welcome"'):
                self._welcome()
        elif frame.msg_type is WSMsgType.CLOSE:
            transport.disconnect()

    def _welcome(self) -> None:
        self.open = True
        self.settled.set()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self.lost()
        self.settled.set()

    def write(self, data: bytes) -> None:
        self.transport.send(TEXT, data)

    def close(self) -> None:
        self.transport.disconnect()


class Line:
    """Open connections to one server, or to several in turn."""

    def __init__(self, order: Open) -> None:
        self.order = order
        self.connections: list[Asking | None] = []
        self.round: Round | None = None

    async def open(self, count: int) -> None:
        """Until `count` connections are open; those the server closed, before or meanwhile, are replaced."""
        self.connections += [None] * (count - len(self.connections))
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            while missing := self._missing(count):
                numbers = iter(missing)
                await asyncio.gather(*(self._open_each(numbers) for _ in range(CONNECT_BURST)))

    def _missing(self, count: int) -> list[int]:
        return [n for n, one in enumerate(self.connections[:count]) if one is None or not one.open]

    async def _open_each(self, numbers: Iterator[int]) -> None:
        for number in numbers:
            await self._open_one(number)

    async def _open_one(self, number: int) -> None:
        port = self.order.ports[number % len(self.order.ports)]
        if self.order.transport == "http":
            http = HttpConnection(self, number)
            await asyncio.get_running_loop().create_connection(lambda: http, "127.0.0.1", port)
            self.connections[number] = http
        else:
            socket = Socket(self, number)
            self.connections[number] = socket
            await ws_connect(lambda: socket, f"ws://127.0.0.1:{port}{self.order.path}")
            await socket.settled.wait()

    def close(self) -> None:
        self.round = None
        for one in self.connections:
            if one is not None and one.open:
                one.close()


class Round:
    """Requests handed to whichever connection is free, until all are sent or the time is over."""

    def __init__(self, line: Line, order: Go) -> None:
        self._wire = (
            OnsaleWire(line.order.transport, order.event, order.wants)
            if order.onsale
            else Wire(line.order.transport, order.event, order.wants, line.order.path)
        )
        self._order = order
        self._connections = [one for one in line.connections[: order.connections] if one is not None]
        self._next = 0
        self._undecided = 0
        self._starting = True
        self._stop_at_ns = 0
        self._done = asyncio.Event()
        self.told = Told()

    async def run(self) -> Told:
        cpu_before = cpu_seconds()
        self._stop_at_ns = time.monotonic_ns() + int(self._order.seconds * 1e9)
        for number, connection in enumerate(self._connections):
            if connection.pending < 0:
                self._send(connection)
            if number % SENDS_PER_TURN == SENDS_PER_TURN - 1:
                await asyncio.sleep(0)
        self._starting = False
        if self._undecided:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._done.wait(), self._order.seconds + self._order.patience_seconds)
        told = self.told
        told.cpu_seconds = cpu_seconds() - cpu_before
        told.cut_off = self._next < self._order.requests
        told.unanswered = [(one.pending, one.sent_ns) for one in self._connections if one.pending >= 0]
        for one in self._connections:
            if one.pending >= 0:  # its late answer must not be taken for the next round's
                if one.open:
                    one.close()
                one.open = False
                one.pending = -1
        return told

    def _send(self, connection: Asking) -> None:
        number = self._next
        if number >= self._order.requests or not connection.open:
            return
        self._next += 1
        self._undecided += 1
        frame = self._wire.frame(connection.token, number)
        connection.pending = number
        connection.sent_ns = time.monotonic_ns()
        connection.write(frame)

    def hear(self, connection: Asking, status: int, body: bytes, now: int) -> None:
        number = connection.pending
        if number < 0:
            return
        if not self._wire.decided(status, body):
            following = self._wire.follow(connection.token, number, status)
            if following is not None:
                connection.write(following)
            return
        self.told.answers.append((number, connection.sent_ns, now, status, body))
        connection.pending = -1
        self._undecided -= 1
        if now < self._stop_at_ns:
            self._send(connection)
        self._maybe_done()

    def lost(self, connection: Asking) -> None:
        """The connection broke; what it waited for is never answered."""
        self.told.lost += 1
        if connection.pending >= 0:
            self._undecided -= 1
            self._maybe_done()

    def _maybe_done(self) -> None:
        if not self._undecided and not self._starting:
            self._done.set()


async def serve() -> None:
    """Obey orders until the input ends."""
    lines: dict[str, Line] = {}
    while order_line := await asyncio.to_thread(sys.stdin.buffer.readline):
        reply = Reply()
        try:
            await _obey(decode_order(order_line), lines)
        except Exception as error:  # becomes a line for whoever started this process
            reply = Reply(f"{type(error).__name__}: {error}")
        _reply(reply)
    for line in lines.values():
        line.close()


def _reply(reply: Reply) -> None:
    sys.stdout.buffer.write(encode_reply(reply) + b"\n")
    sys.stdout.buffer.flush()


async def _obey(order: Any, lines: dict[str, Line]) -> None:
    if isinstance(order, Open):
        line = lines.get(order.line)
        if line is None or line.order != order:
            if line is not None:
                line.close()
            line = lines[order.line] = Line(order)
    elif isinstance(order, Close):
        if order.line in lines:
            lines.pop(order.line).close()
    else:
        line = lines[order.line]
        await line.open(order.connections)
        line.round = Round(line, order)
        gc.collect()
        _reply(Reply())
        gc.disable()
        try:
            told = await line.round.run()
        finally:
            gc.enable()
            line.round = None
        await asyncio.to_thread(Path(order.result_path).write_bytes, encode_told(told))


def main() -> None:
    """See the top of this module."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(serve())


if __name__ == "__main__":
    main()
