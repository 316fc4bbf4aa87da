"""A raw HTTP/1.1 client: one connection kept open, one request in flight, no library between.

`HttpConnection` sends bytes that are a whole request and hands back status and body. It knows of HTTP
what servers of this machine answer with: a status line, `Content-Length` or chunks, keep-alive.
So a round trip costs the load generator little more than its two system calls.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

HEAD_BYTES_MAX = 16 * 1024

OnResponse = Callable[[int, bytes], None]
OnLost = Callable[[Exception | None], None]


class NotHttp(ConnectionError):
    """The server answered something that this client cannot read."""


class HttpConnection(asyncio.Protocol):
    """One connection. Requests wait their turn: the next one leaves when the last is answered.

    `on_response` gets status and body of each, in order; `on_lost` is called once when the connection
    ends. Requests without an answer by then are forgotten: whoever sent them asks again.
    """

    def __init__(self, on_response: OnResponse, on_lost: OnLost = lambda _: None) -> None:
        self._on_response = on_response
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[bytes] = deque()
        self._in_flight = False
        self._received = b""

    @property
    def connected(self) -> bool:
        return self._transport is not None

    def send(self, request: bytes) -> None:
        """Send a whole request now, or when those before it are answered."""
        if self._transport is None:
            return
        if self._in_flight:
            self._waiting.append(request)
        else:
            self._in_flight = True
            self._transport.write(request)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "a TCP connection"
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._waiting.clear()
        self._in_flight, self._received = False, b""
        self._on_lost(error)

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        try:
            parsed = parse_response(self._received)
        except NotHttp:
            if self._transport is not None:
                self._transport.abort()
            return
        if parsed is None:
            return
        status, body, rest, stays_open = parsed
        self._received = rest
        self._in_flight = False
        if not stays_open:
            self.close()
        elif self._waiting:
            self.send(self._waiting.popleft())
        self._on_response(status, body)


def parse_response(data: bytes) -> tuple[int, bytes, bytes, bool] | None:
    """(status, body, what follows, whether the connection stays open), or None while it is not whole."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        if len(data) > HEAD_BYTES_MAX:
            raise NotHttp("The head of the answer has no end.")
        return None
    head = data[:end].lower()
    if not head.startswith(b"http/1.") or not head[9:12].isdigit():
        raise NotHttp(f"This is no HTTP answer: {data[:40]!r}")
    status, body_at = int(head[9:12]), end + 4
    stays_open = b"\r\nconnection: close" not in head
    length_at = head.find(b"\r\ncontent-length:")
    if length_at >= 0:
        line_end = head.find(b"\r\n", length_at + 2)
        length = int(head[length_at + 17 : line_end if line_end >= 0 else len(head)])
        if len(data) < body_at + length:
            return None
        return status, data[body_at : body_at + length], data[body_at + length :], stays_open
    if b"\r\ntransfer-encoding: chunked" in head:
        chunks = _dechunk(data, body_at)
        return None if chunks is None else (status, *chunks, stays_open)
    if status in (204, 304):
        return status, b"", data[body_at:], stays_open
    raise NotHttp("The answer does not say how long it is.")


def _dechunk(data: bytes, at: int) -> tuple[bytes, bytes] | None:
    body = b""
    while True:
        line_end = data.find(b"\r\n", at)
        if line_end < 0:
            return None
        size = int(data[at:line_end].partition(b";")[0], 16)
        at = line_end + 2
        if len(data) < at + size + 2:
            return None
        body += data[at : at + size]
        at += size + 2
        if not size:
            return body, data[at:]


async def open_http(host: str, port: int, on_response: OnResponse, on_lost: OnLost) -> HttpConnection:
    """A connection that is open."""
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: HttpConnection(on_response, on_lost), host, port)
    return connection
