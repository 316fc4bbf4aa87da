"""uvicorn's HTTP/1.1 with a short way for `POST …/requests`, for notices of payment providers, and for a
waiting room's `POST …/room/join` and `GET …/room`: no task, no scope, no queue of messages.

The stock protocol starts a task for each request, hands it the body through an event and takes the
answer back through two coroutine calls; that costs as much as everything onsale does with the request.
Here the request is taken when its body is complete, and its answer is written when it is known.
Whatever is unusual goes the stock way and meets the same `Posting` or `Notices` there: pipelined
behind another request, HTTP/1.0, `Connection: close`, `Expect`, an encoded path, a client that does not
read its answers (there it is read no further), a notice that is too large or does not say how large it is.
`tests/gateway/test_http_protocol.py` holds both ways to the same answers.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from gateway import turns
from gateway.addresses import Headers, Peer
from gateway.buyers.posting import Answer, Head, Posting, event_in
from gateway.http_bounds import BoundedHttp
from gateway.payments import notices
from gateway.problems import TooLarge, body_of, status_of
from gateway.room import posting as room
from gateway.runtime import Runtime
from notifier.hub import Message
from store.errors import BadRequest
from store.words import REQUEST_BYTES_MAX

_TOO_LARGE = TooLarge("body_too_large", f"A request has at most {REQUEST_BYTES_MAX} bytes.")
_NOTICES = notices.PATH.encode()
_JOIN, _ROOM = room.JOIN.encode(), room.STATUS.encode()
NOT_MODIFIED = 304
"""Says nothing of a body: it would be taken for the length of the one the client has."""
_STREAM = b"/room/stream"
_SHORT_METHODS = (b"POST", b"GET")
_PROBLEM_HEAD: Head = [(b"content-type", b"application/problem+json")]


class _NobodyWaits:
    """Stands for the event that wakes a stock request's task."""

    def set(self) -> None:
        return


class Exchange:
    """One request of the short way, in place of uvicorn's cycle; it reads and sets the same attributes."""

    __slots__ = (
        "body",
        "disconnected",
        "headers",
        "keep_alive",
        "name",
        "posting",
        "protocol",
        "response_complete",
    )
    message_event = _NobodyWaits()
    response_started = False
    """Never seen half done: an answer is written whole."""
    bytes_max = REQUEST_BYTES_MAX

    def __init__(self, protocol: HttpProtocol, name: str, headers: Head) -> None:
        """`name` is the event's, of the path."""
        self.protocol = protocol
        self.name = name
        self.headers = headers
        self.body = b""
        self.posting: Posting | None = None
        self.keep_alive = True
        self.disconnected = self.response_complete = False

    def begin(self, runtime: Runtime) -> None:
        """The body is whole."""
        self.posting = Posting(runtime, self.name, self.headers, self.body, self.answer)
        self.posting.begin()

    def answer(self, status: int, head: Head, body: bytes) -> None:
        """Write the response, unless the client is gone."""
        protocol, self.response_complete = self.protocol, True
        if self.disconnected or protocol.transport.is_closing():
            return
        lines = [STATUS_LINE[status]]
        for name, value in (*protocol.server_state.default_headers, *head):
            lines += (name, b": ", value, b"\r\n")
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
        lines += (b"\r\n",) if status == NOT_MODIFIED else (b"content-length: %d\r\n\r\n" % len(body), body)
        protocol.transport.write(b"".join(lines))
        if not self.keep_alive:
            protocol.transport.close()
        protocol.on_response_complete()


class NoticeExchange(Exchange):
    """One notice, no larger than it may be; `name` is its provider's, who is known here."""

    __slots__ = ()
    bytes_max = notices.BODY_BYTES_MAX

    def begin(self, runtime: Runtime) -> None:
        runtime.payments.notices.hear(self.name, self.headers, self.body, self.answer)


class RoomExchange(Exchange):
    """One call of a waiting room; `name` is the event's."""

    __slots__ = ("_asking", "_begin")

    def __init__(self, protocol: HttpProtocol, name: str, headers: Head, begin: room.Begin) -> None:
        super().__init__(protocol, name, headers)
        self._begin = begin

    def begin(self, runtime: Runtime) -> None:
        peer = self.protocol.client
        self._asking = self._begin(runtime, self.name, self.headers, self.body, self.answer, peer)


class HttpProtocol(BoundedHttp):
    """`config.app` is the `Gateway`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        turns.enter(transport)
        super().connection_made(transport)

    def shutdown(self) -> None:
        """A stream of news would go on for ever; its client comes back to the next gateway."""
        super().shutdown()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete and _STREAM in self.url:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        turns.leave(self.transport)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._unset_keepalive_if_required()  # an answer within one read may have set it just now
        super().on_message_begin()

    def begin_request(self) -> None:
        cycle: Any = self.cycle
        if (
            self.parser.get_method() in _SHORT_METHODS
            and (cycle is None or cycle.response_complete)
            and self.parser.get_http_version() == "1.1"
            and self.parser.should_keep_alive()
            and not self.expect_100_continue
            and not self.parser.should_upgrade()
            and not self.flow.write_paused
        ):
            exchange = self._short_way()
            if exchange is not None:
                self.cycle = exchange  # type: ignore[assignment]
                return
        super().begin_request()

    def _short_way(self) -> Exchange | None:
        if self.parser.get_method() == b"GET":
            return self._room("GET") if self.url.endswith(_ROOM) else None
        if self.url.endswith(b"/requests"):
            slug = event_in(self.url.decode("latin-1"))
            return None if slug is None else Exchange(self, slug, self.headers)
        if self.url.endswith(_JOIN):
            return self._room("POST")
        if self.url.startswith(_NOTICES) and 0 < notices.told_length(self.headers) <= notices.BODY_BYTES_MAX:
            provider = self.url[len(_NOTICES) :].decode("latin-1")
            if self._runtime.payments.notices.knows(provider):
                return NoticeExchange(self, provider, self.headers)
        return None

    def _room(self, method: str) -> Exchange | None:
        called = room.called(method, self.url.decode("latin-1"))
        return None if called is None else RoomExchange(self, called[1], self.headers, called[0])

    @property
    def _runtime(self) -> Runtime:
        gateway: Any = self.config.app
        runtime: Runtime = gateway.runtime
        return runtime

    def on_body(self, body: bytes) -> None:
        cycle: Any = self.cycle
        if not isinstance(cycle, Exchange):
            super().on_body(body)
        elif not cycle.response_complete:
            cycle.body = cycle.body + body if cycle.body else body
            if len(cycle.body) > cycle.bytes_max:
                cycle.keep_alive = False  # nobody reads the rest
                cycle.answer(status_of(_TOO_LARGE), _PROBLEM_HEAD, body_of(_TOO_LARGE))

    def end_request(self) -> None:
        cycle: Any = self.cycle
        if not isinstance(cycle, Exchange):
            super().end_request()
        elif not cycle.response_complete:
            cycle.begin(self._runtime)


def begin_request(
    runtime: Runtime, slug: str, headers: Headers, body: bytes, answer: Answer, peer: Peer
) -> Posting:
    """As `Exchange` does."""
    posting = Posting(runtime, slug, headers, body, answer)
    posting.begin()
    return posting


def called(method: str, path: str) -> tuple[room.Begin, str] | None:
    """(how it begins, the event) for a path that is answered by a callback; None for any other."""
    if method == "POST" and (slug := event_in(path)) is not None:
        return begin_request, slug
    return room.called(method, path)


async def serve(
    runtime: Runtime, begin: room.Begin, slug: str, scope: Message, receive: Any, send: Any
) -> None:
    """The same in plain ASGI."""
    answer: asyncio.Future[tuple[int, Head, bytes]] = asyncio.get_running_loop().create_future()

    def answered(status: int, head: Head, body: bytes) -> None:
        if not answer.done():  # it is when the client is gone
            answer.set_result((status, head, body))

    kept: object = None
    try:
        kept = begin(runtime, slug, scope["headers"], await _body(receive), answered, scope["client"])
    except (TooLarge, BadRequest) as error:
        answered(status_of(error), list(_PROBLEM_HEAD), body_of(error))
    status, head, body = await answer
    del kept
    if status != NOT_MODIFIED:
        head = [*head, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


async def _body(receive: Any) -> bytes:
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadRequest("bad_body", "The connection ended before the body did.")
        body = body + message["body"] if body else message.get("body", b"")
        if len(body) > REQUEST_BYTES_MAX:
            raise _TOO_LARGE
        if not message.get("more_body", False):
            return body
