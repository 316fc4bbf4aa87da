"""The console's websocket: `/v1/operator/live`, below FastAPI like the buyers' (docs/console-feed.md).

Who watches is known by the console's cookie, whose page must be this gateway's own, or by a key: in the
header or in the first frame. The key or session is looked at again every `BELIEVED_SECONDS`, so nobody goes
on watching with one that was revoked. What is watched is read by `gateway.live.feed`.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec
from msgspec import Struct
from starlette.requests import HTTPConnection

from gateway.callers import CALLER, Caller
from gateway.live.feed import TRY_LATER, WATCHERS_MAX, Watcher
from gateway.problems import Forbidden, TooMany, Unauthorized, error_frame
from gateway.protocol import EXTENSION, SocketProtocol
from gateway.runtime import Runtime
from notifier.hub import Client, Message
from store.errors import BadRequest, NotFound, OnsaleError, Unavailable

PATH: Final = "/v1/operator/live"
NOT_KNOWN: Final = 4401
ORIGIN_REFUSED: Final = 4403
NO_HELLO: Final = 4408
TOO_MANY_FRAMES: Final = 4429
BELIEVED_SECONDS: Final = 15.0
FRAMES_MAX: Final = 1_000
"""What one socket may say in all: a console says a frame for each page it shows."""
TEXT_BYTES_MAX: Final = 1_024
STRANGERS_MAX: Final = 100
"""Sockets whose first frame is to say who they are. Consoles are known by their cookie before that, so
whoever holds these places keeps no console out."""
FULL: Final = f"{WATCHERS_MAX} consoles watch here already; come back shortly"
CROWDED: Final = f"{STRANGERS_MAX} are to say hello here already; come back shortly"


class Hello(Struct, frozen=True, tag="hello", tag_field="type", forbid_unknown_fields=True):
    """The first frame of who has no cookie."""

    key: str


class Watch(Struct, frozen=True, tag="watch", tag_field="type", forbid_unknown_fields=True):
    """What to see from now on: an event, or null: every launch."""

    event: str | None


_decode = msgspec.json.Decoder(Hello | Watch).decode


async def serve(runtime: Runtime, scope: Message, receive: Any, send: Any) -> None:
    """One websocket, from its handshake to its end."""
    await receive()  # websocket.connect
    await send({"type": "websocket.accept"})
    hub = runtime.live.hub
    full = runtime.live.full or runtime.stopping
    protocol: SocketProtocol | None = scope.get("extensions", {}).get(EXTENSION, {}).get("protocol")
    client = hub.enter(send, None if protocol is None else protocol.write_text)
    socket = LiveSocket(runtime, scope, client)
    try:
        if full:
            client.close(TRY_LATER, FULL)
        elif await socket.greet(receive):
            await socket.listen(receive)
    finally:
        socket.leave()
        hub.leave(client)


class LiveSocket:
    """What one socket knows."""

    def __init__(self, runtime: Runtime, scope: Message, client: Client) -> None:
        self._runtime = runtime
        self._scope = scope
        self._client = client
        self._key: str | None = None
        self._watcher: Watcher | None = None
        self._said = 0
        self._believing: asyncio.Task[None] | None = None

    async def greet(self, receive: Any) -> bool:
        """Learns who it is, by the cookie, a header or a `hello`; False when it was closed instead."""
        try:
            caller = await self._by_handshake()
            if caller is None:
                self._key = await self._key_of_hello(receive)
                if self._key is None:
                    return False
                caller = await self._look()
        except OnsaleError as error:
            self._refuse(error)
            return False
        self._watcher = Watcher(self._client, caller)
        self._client.write(_ready(caller))
        self._believing = asyncio.create_task(self._believe())
        return not self._client.closed

    async def listen(self, receive: Any) -> None:
        """Reads what is to be seen, until the client is gone or closed."""
        while True:
            message = await receive()
            if message["type"] != "websocket.receive" or self._client.closed:
                return
            self._said += 1
            if self._said > FRAMES_MAX:
                self._client.close(TOO_MANY_FRAMES, "too many frames; come back")
                return
            try:
                self._take(message.get("text") or "")
            except OnsaleError as error:
                self._client.write(error_frame(error))

    def leave(self) -> None:
        """It is gone."""
        if self._believing is not None:
            self._believing.cancel()
        if self._watcher is not None:
            self._runtime.live.leave(self._watcher)

    def _take(self, text: str) -> None:
        frame = _read(text)
        assert self._watcher is not None, "who was not greeted is not listened to"
        if isinstance(frame, Hello):
            raise BadRequest("bad_frame", "This socket has said hello already.")
        if frame.event is not None and not self._watcher.caller.may_see(frame.event):
            self._runtime.live.leave(self._watcher)
            story = f"There is no event {frame.event!r}. List them to see which there are."
            raise NotFound("unknown_event", story)
        self._runtime.live.watch(self._watcher, frame.event)

    async def _by_handshake(self) -> Caller | None:
        """Who the handshake names; None where it names nobody, and `hello` is to."""
        call = HTTPConnection(self._scope)
        named = "authorization" in call.headers or self._runtime.callers.cookie_name(call) in call.cookies
        return await self._look() if named else None

    async def _key_of_hello(self, receive: Any) -> str | None:
        """The key in the first frame; None when the socket was closed."""
        live = self._runtime.live
        if live.strangers >= STRANGERS_MAX:
            self._client.close(TRY_LATER, CROWDED)
            return None
        seconds = self._runtime.settings.bounds.hello_seconds_max
        timer = asyncio.get_running_loop().call_later(
            seconds, self._client.close, NO_HELLO, "no hello in time"
        )
        live.strangers += 1
        try:
            message = await receive()
            if live.full:
                self._client.close(TRY_LATER, FULL)
        finally:
            live.strangers -= 1
            timer.cancel()
        if message["type"] != "websocket.receive" or self._client.closed:
            return None
        frame = _read(message.get("text") or "")
        if not isinstance(frame, Hello):
            raise BadRequest("hello_first", "The first frame must be hello.")
        return frame.key.strip()

    async def _look(self) -> Caller:
        """Who it is, asked anew; raises as `Callers.identify`."""
        scope = {name: value for name, value in self._scope.items() if name != CALLER}
        call = HTTPConnection(scope)
        callers = self._runtime.callers
        return await (callers.identify(call) if self._key is None else callers.by_key(call, self._key))

    async def _believe(self) -> None:
        """Close it when the key or session is none any more; while Postgres is away nothing is known."""
        assert self._watcher is not None, "only who was greeted is believed"
        while not self._client.closed:
            await asyncio.sleep(BELIEVED_SECONDS)
            try:
                self._watcher.caller = await self._look()
            except Unavailable:
                continue
            except OnsaleError as error:
                self._refuse(error)

    def _refuse(self, error: OnsaleError) -> None:
        code = NO_HELLO
        if isinstance(error, Unauthorized):
            code = NOT_KNOWN
        elif isinstance(error, Forbidden):
            code = ORIGIN_REFUSED
        elif isinstance(error, (Unavailable, TooMany)):
            code = TRY_LATER
        self._client.write(error_frame(error))
        self._client.close(code, _short(str(error)))


def _read(text: str) -> Hello | Watch:
    """Raises `BadRequest` (bad_frame)."""
    if len(text) > TEXT_BYTES_MAX:
        raise BadRequest("bad_frame", f"A frame here has at most {TEXT_BYTES_MAX} characters.")
    try:
        frame: Hello | Watch = _decode(text)
        return frame
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise BadRequest("bad_frame", f"The frame cannot be read: {error}.") from None


def _ready(caller: Caller) -> bytes:
    return msgspec.json.encode({"type": "ready", "name": caller.name, "role": caller.role})


def _short(reason: str) -> str:
    """A close reason has at most 123 bytes."""
    return reason.encode()[:120].decode(errors="ignore")
