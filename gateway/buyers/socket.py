"""A buyer's websocket: frames are handled where they are read; everything written goes through the hub.

Between reading a `request` frame and the append queue nothing waits (see `gateway/protocol.py`). Only
`OWNING` frames and the greeting wait, and then only this buyer's own next frame waits with them: decisions
are written meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from gateway.addresses import Address, address_of
from gateway.buyers import owning
from gateway.buyers.decode import (
    Begin,
    Confirm,
    Extend,
    Hello,
    Join,
    Leave,
    LeaveLine,
    MoreTime,
    Release,
    Request,
    Resume,
    RoomFrame,
    Waiting,
    Wish,
    frame_from_json,
    id_in,
    want_of,
)
from gateway.buyers.recall import Then
from gateway.buyers.tokens import Buyer
from gateway.events import EventRuntime
from gateway.gate import not_queued_frame, refusable
from gateway.holders import hold_frame
from gateway.problems import TooMany, Unauthorized, error_frame
from gateway.protocol import EXTENSION, SocketProtocol
from gateway.room import acting
from gateway.runtime import Runtime
from notifier.hub import Client, Message
from store.errors import BadRequest, NotFound, OnsaleError, Refused, Unavailable
from store.lookups import Decided
from store.wire import canonical_want
from store.words import Want

TOKEN_NOT_VALID = 4401
ORIGIN_REFUSED = 4403
NO_SUCH_EVENT = 4404
NO_HELLO = 4408
TOO_MANY_UNDECIDED = 4429
TRY_LATER = 1013
OVER_BOUND_MAX = 100
"""Requests over the buyer's bound, one after the other, before the socket is closed."""
OWNING = (Release, Confirm, Extend, Leave, Begin, MoreTime, LeaveLine, Wish)
"""Frames that wait for Postgres, and this socket's next ones behind them."""
LOOKED_UP_MAX = 200
"""Keys of one socket that the ledger is asked for at a time: all sockets share its look-ups."""


def request_headers(scope: Message) -> tuple[str | None, str]:
    """(Origin, Host)"""
    origin, host = None, ""
    for name, value in scope["headers"]:
        if name == b"origin":
            origin = value.decode("latin-1")
        elif name == b"host":
            host = value.decode("latin-1")
    return origin, host


async def serve(runtime: Runtime, scope: Message, receive: Any, send: Any) -> None:
    """One websocket, from its handshake to its end."""
    await receive()  # websocket.connect
    if runtime.hub.full or runtime.stopping:
        headers = [(b"retry-after", b"5"), (b"content-type", b"text/plain")]
        await send({"type": "websocket.http.response.start", "status": 503, "headers": headers})
        await send(
            {"type": "websocket.http.response.body", "body": b"Too many sockets. Try again shortly.\n"}
        )
        return
    await send({"type": "websocket.accept"})
    protocol: SocketProtocol | None = scope.get("extensions", {}).get(EXTENSION, {}).get("protocol")
    client = runtime.hub.enter(send, None if protocol is None else protocol.write_text)
    address = address_of(scope["client"], scope["headers"], runtime.settings.trusted_proxies)
    socket = BuyerSocket(runtime, client, address)
    try:
        if not runtime.origin_allowed(*request_headers(scope)):
            client.close(ORIGIN_REFUSED, "origin not allowed")
            return
        if await socket.greet(receive):
            if protocol is not None:
                protocol.on_text = socket.take
            await socket.listen(receive)
    finally:
        if protocol is not None:
            protocol.on_text = None
        socket.leave()
        runtime.hub.leave(client)


class BuyerSocket:
    """What one socket knows; also the `Waiter` its decisions go to."""

    __slots__ = (
        "_address", "_buyer", "_buyer_id", "_client", "_event", "_looked_up", "_over_bound", "_owning",
        "_runtime",
    )  # fmt: skip
    prompt = False

    def __init__(self, runtime: Runtime, client: Client, address: Address) -> None:
        self._runtime = runtime
        self._client = client
        self._address = address
        self._event: EventRuntime = None  # type: ignore[assignment]  # set by greet before anything reads it
        self._buyer = Buyer("", 0.0)
        self._buyer_id = ""
        self._over_bound = self._looked_up = 0
        self._owning = False

    # --- Waiter ---

    def decided(self, frame: bytes) -> None:
        self._client.write(frame)

    def accepted(self, request_id: str, arrival: str) -> None:
        self._client.write(f'{{"type":"accepted","id":"{request_id}","arrival":"{arrival}"}}'.encode())

    def delayed(self, request_id: str) -> None:
        self._client.write(f'{{"type":"delayed","id":"{request_id}"}}'.encode())

    def refused(self, request_id: str | None, error: OnsaleError) -> None:
        self._client.write(error_frame(error, request_id))

    # --- the greeting ---

    async def greet(self, receive: Any) -> bool:
        """Waits for `hello` and answers it; False when the socket was closed instead."""
        seconds = self._runtime.settings.bounds.hello_seconds_max
        loop = asyncio.get_running_loop()
        timer = loop.call_later(seconds, self._client.close, NO_HELLO, "no hello in time")
        try:
            message = await receive()
        finally:
            timer.cancel()
        if message["type"] != "websocket.receive" or self._client.closed:
            return False
        try:
            await self._welcome(message.get("text") or "")
        except Unauthorized as error:
            self._client.close(TOKEN_NOT_VALID, str(error))
        except NotFound as error:
            self._client.close(NO_SUCH_EVENT, str(error))
        except Unavailable as error:
            self.refused(None, error)
            self._client.close(TRY_LATER, str(error))
        except Refused as error:
            self.refused(None, error)
            self._client.close(NO_HELLO, "the first frame must be hello")
        return not self._client.closed

    async def _welcome(self, text: str) -> None:
        hello = frame_from_json(text)
        if not isinstance(hello, Hello):
            raise BadRequest("hello_first", "The first frame must be hello.")
        self._buyer = await self._runtime.tokens.verify(hello.token)
        self._buyer_id = self._buyer.id
        self._event = event = await self._runtime.events.get(hello.event)
        self._client.write(event.welcome(self._buyer_id))
        event.clients.add(self._client)
        event.holders.enter(self._buyer_id, self._client)
        if event.room is not None:
            event.room.enter(self._buyer_id, self._client)
        if hello.watch:
            event.watch.watchers.add(self._client)

    def leave(self) -> None:
        if self._event is not None:
            self._event.clients.discard(self._client)
            self._event.holders.leave(self._buyer_id, self._client)
            if self._event.room is not None:
                self._event.room.leave(self._buyer_id, self._client)
            self._event.waiters.forget(self._buyer_id, self._client)
            self._event.intake.leave(self._buyer_id, self)
            self._event.watch.watchers.discard(self._client)

    # --- frames ---

    async def listen(self, receive: Any) -> None:
        """Reads until the client is gone or closed."""
        client = self._client
        while True:
            message = await receive()
            if message["type"] != "websocket.receive" or client.closed:
                return
            text = message.get("text")
            if text is None:
                self.refused(None, BadRequest("bad_frame", "Frames are text."))
                continue
            if not self.take(text):
                self._owning = True
                try:
                    await self._own(text)
                finally:
                    self._owning = False

    def take(self, text: str) -> bool:
        """Handle a frame where it is read; False for one that waits: about a hold, or behind such a one."""
        if self._owning:
            return False
        if self._client.closed:
            return True
        try:
            frame = frame_from_json(text)
            if isinstance(frame, Request):
                self._request(frame)
            elif isinstance(frame, Resume):
                self._resume(frame)
            elif isinstance(frame, OWNING):
                return False
            elif isinstance(frame, Join):
                self._check_token()
                asker = acting.Asker(self._buyer_id, self._address)
                acting.join(self._runtime, self._event, asker, frame, self._client)
            elif isinstance(frame, Waiting):
                self._check_token()
                self._event.waiters.subscribe(self._buyer_id, self._client)
            else:
                raise BadRequest("bad_frame", "This socket has said hello already.")
        except OnsaleError as error:
            self._refuse(error, id_in(text))
        return True

    def _refuse(self, error: OnsaleError, request_id: str | None) -> None:
        self.refused(request_id, error)
        if isinstance(error, Unauthorized):
            self._client.close(TOKEN_NOT_VALID, str(error))
        elif isinstance(error, TooMany):
            self._over_bound += 1
            if self._over_bound >= OVER_BOUND_MAX:
                self._client.close(TOO_MANY_UNDECIDED, str(error))

    def _check_token(self) -> None:
        if self._buyer.expires_at <= time.time():
            raise Unauthorized("token_expired", "The token ran out. Sign in again to get a new one.")

    def _request(self, frame: Request) -> None:
        want = want_of(frame)
        if self._buyer.expires_at <= time.time():
            self._check_token()
        event, buyer = self._event, self._buyer_id
        if frame.again:
            self._ask_first(frame.id, want)
            return
        event.must_sell()
        if event.room is None or event.room.lets_in(buyer):
            self._take_request(frame.id, want)
        else:
            event.room.let_in(buyer, lambda error: self._let_in(frame.id, want, error))

    def _let_in(self, request_id: str, want: Want, refused: OnsaleError | None) -> None:
        """The waiting room says whether it is this buyer's turn."""
        try:
            if refused is not None:
                raise refused
            self._take_request(request_id, want)
        except OnsaleError as error:
            self._refuse(error, request_id)

    def _take_request(self, request_id: str, want: Want) -> None:
        event, buyer = self._event, self._buyer_id
        if (
            refusable(want, again=False, undecided=event.intake.undecided_of(buyer))
            and (gone := event.gate(want))
        ):  # fmt: skip
            event.gated += 1
            self._client.write(not_queued_frame(request_id, gone))
            return
        event.intake.submit(buyer, request_id, canonical_want(want), self)
        self._over_bound = 0

    def _ask_first(self, request_id: str, want: Want) -> None:
        """Asked before, perhaps elsewhere: the ledger may know it, also when the event sells no more."""
        event, buyer, content = self._event, self._buyer_id, canonical_want(want)
        if event.intake.find(buyer, request_id) is not None:
            event.intake.submit(buyer, request_id, content, self)
            return

        def then(decided: Decided | None, _: OnsaleError | None) -> None:
            # Without Postgres it is appended: the allocator drops a repeat and gives the same decision.
            if decided is not None and decided.want.encode() == content:
                self.decided(decided.frame)
                return
            try:
                event.must_sell()
                if event.room is None or event.room.lets_in(buyer):
                    event.intake.submit(buyer, request_id, content, self)
                else:
                    event.room.let_in(buyer, submit)
            except OnsaleError as error:
                self._refuse(error, request_id)

        def submit(refused: OnsaleError | None) -> None:
            try:
                if refused is not None:
                    raise refused
                event.intake.submit(buyer, request_id, content, self)
            except OnsaleError as error:
                self._refuse(error, request_id)

        self._look_up(request_id, then)

    def _look_up(self, request_id: str, then: Then) -> None:
        """Ask the ledger; raises `TooMany` while it is asked for many keys of this socket."""
        if self._looked_up >= LOOKED_UP_MAX:
            raise TooMany("too_many_lookups", "Many of your requests are being looked up. Ask again shortly.")
        self._looked_up += 1

        def found(decided: Decided | None, error: OnsaleError | None) -> None:
            self._looked_up -= 1
            then(decided, error)

        self._event.recall.ask(self._buyer_id, request_id, found)

    def _resume(self, frame: Resume) -> None:
        event, buyer = self._event, self._buyer_id
        for request_id in dict.fromkeys(frame.ids):
            pending = event.intake.find(buyer, request_id)
            if pending is not None:
                event.intake.attach(pending, self)
                continue
            try:
                self._look_up(request_id, self._resumed(request_id))
            except TooMany as error:
                self.refused(request_id, error)

    def _resumed(self, request_id: str) -> Then:
        def then(decided: Decided | None, error: OnsaleError | None) -> None:
            if error is not None:
                self.refused(request_id, error)
                return
            if decided is not None:
                self.decided(decided.frame)
                return
            # it may have been asked again on another socket while the ledger was asked
            pending = self._event.intake.find(self._buyer_id, request_id)
            if pending is not None:
                self._event.intake.attach(pending, self)
            else:
                self._client.write(f'{{"type":"unknown","id":"{request_id}"}}'.encode())

        return then

    async def _own(self, text: str) -> None:
        frame = frame_from_json(text)
        assert isinstance(frame, OWNING), "`take` handles every other frame"
        buyer, client = self._buyer_id, self._client
        try:
            self._check_token()
            if isinstance(frame, Leave):
                await owning.leave(self._runtime, self._event, frame.id, buyer, client)
                client.write(owning.left_frame(frame.id))
            elif isinstance(frame, RoomFrame):
                await acting.act(self._event, self._runtime.pool, buyer, frame, client)
            else:
                changed = await owning.change(self._runtime, self._event, frame, buyer, client)
                client.write(hold_frame(changed))
        except OnsaleError as error:
            if isinstance(frame, Leave):
                client.write(error_frame(error, frame.id))
            elif isinstance(frame, RoomFrame):
                client.write(error_frame(error))
            else:
                client.write(owning.hold_error_frame(error, frame.hold))
            if isinstance(error, Unauthorized):
                client.close(TOKEN_NOT_VALID, str(error))
