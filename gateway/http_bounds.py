"""uvicorn's HTTP with bounds on what a client may make it keep before a request is whole.

uvicorn's httptools protocol takes a head of any length, and waits for the rest of a request for ever: one
connection could fill the memory, and many that say nothing use up the files. Here a head has at most
`HEAD_BYTES_MAX` (431) and a request is whole within `REQUEST_SECONDS_MAX` (408), also the first, on a new
connection; a seating plan, which is larger, within `PATIENCE_MAX` times as long. A request that arrives in
one piece, as nearly all do, costs no timer.

And it reads on after each answer, however many requests wait for their turn on the connection. Here it reads
on when none does, so what waits is what one read brought.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gateway.bodies import LARGER_BYTES_MAX
from gateway.protocol import SocketProtocol

HEAD_BYTES_MAX = 32 * 1024
REQUEST_SECONDS_MAX = 10.0
PATIENCE_MAX = 6
"""So many times as long a seating plan may take to arrive."""


class _TurnByTurn(FlowControl):
    """Reads on when no request of the connection waits for its turn."""

    def __init__(self, transport: asyncio.Transport, waiting: Collection[object]) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        if not self._waiting:
            super().resume_reading()


class BoundedHttp(HttpToolsProtocol):
    """One connection. Everything but the bounds is uvicorn's."""

    _head_open = True
    """No request's head is whole since the last one's end."""
    _whole = False
    """The last request that began has arrived whole."""
    _head_bytes = 0
    _headers_before: list[tuple[bytes, bytes]] | None = None
    """Of the request before the last one that began."""
    _timer: asyncio.TimerHandle | None = None
    _waited = 0
    """How often the rest of the request was waited for."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _TurnByTurn(transport, self.pipeline)
        self._expect_the_rest()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        headers = self.headers
        super().data_received(data)
        if self._whole or self.transport.get_protocol() is not self:  # a websocket has its own bounds
            self._stop_timer()
            return
        self._expect_the_rest()
        if self._head_open:
            self._head_bytes += len(data) if self.headers is headers else self._begun_in(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self._refuse(b"431 Request Header Fields Too Large", b"The head has at most 32 KiB.")

    def _begun_in(self, data: bytes) -> int:
        """How much of a read is the open head that began in it: what follows the last whole request."""
        _, _, rest = data.rpartition(b"\r\n\r\n")
        lengths = [int(value) for name, value in self._headers_before or () if name == b"content-length"]
        return max(0, len(rest) - sum(lengths))

    def handle_websocket_upgrade(self) -> None:
        super().handle_websocket_upgrade()
        socket = self.transport.get_protocol()
        assert isinstance(socket, SocketProtocol), "the server is configured with it"
        socket.end_failed_handshake()

    def on_message_begin(self) -> None:
        self._head_open, self._whole, self._head_bytes = True, False, 0
        self._waited = 0
        self._headers_before = self.headers
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_open = False
        self.begin_request()

    def on_message_complete(self) -> None:
        self._whole = True
        self.end_request()

    def begin_request(self) -> None:
        """The head is whole."""
        super().on_headers_complete()

    def end_request(self) -> None:
        """The body is whole."""
        super().on_message_complete()

    def _expect_the_rest(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(REQUEST_SECONDS_MAX, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if self._answer_owed():  # its client cannot know that we are not waiting for the next request
            self._expect_the_rest()
            return
        self._waited += 1
        if self._is_upload() and self._waited < PATIENCE_MAX:
            self._expect_the_rest()
            return
        self._refuse(b"408 Request Timeout", b"The request did not come in time. Send it in one go.")

    def _is_upload(self) -> bool:
        """Whether what comes in is a body that may be large. Its call refuses strangers."""
        return not self._head_open and self.scope.get("path", "") in LARGER_BYTES_MAX

    def _answer_owed(self) -> bool:
        """Whether a whole request before the one that is coming in has no answer yet."""
        cycle: RequestResponseCycle | None = self.cycle
        before = self._head_open or bool(self.pipeline)
        return before and cycle is not None and not cycle.response_complete

    def _refuse(self, status: bytes, why: bytes) -> None:
        """Say so, unless an answer has begun, and close."""
        self._stop_timer()
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle
        silent = cycle is None or not cycle.response_started or cycle.response_complete
        if silent and not self._answer_owed():
            length = str(len(why)).encode()
            head = b"content-type: text/plain\r\nconnection: close\r\ncontent-length: " + length
            self.transport.write(b"HTTP/1.1 " + status + b"\r\n" + head + b"\r\n\r\n" + why)
        self.transport.close()
