"""One device's websocket: any gateway that lives, another one when it breaks, the same keys again."""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict, deque
from collections.abc import Sequence

import msgspec
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

from bench.client import TEXT, Head, decode_head
from bench.evidence import Ask, HoldAnswer, HoldOp, Leaving, Seen
from bench.torture.buyer import ASK_AGAIN_CODES, ASK_AGAIN_SECONDS, Offer, Shared
from bench.torture.offers import Offers

CONNECT_SECONDS_MAX = 3.0
WELCOME_SECONDS_MAX = 5.0
PAUSE_SECONDS = (0.05, 0.3)
RESUME_SHARE = 0.3
"""After a broken connection, asked with `resume` first instead of asking again at once."""


class Said(msgspec.Struct, eq=False):
    """One thing that waits for an answer. `heard` becomes answered, again or lost."""

    heard: asyncio.Future[str]
    ask: Ask | None = None
    op: HoldOp | None = None
    leaving: Leaving | None = None


class Living(msgspec.Struct):
    """A `hold` frame of a hold that lives on. Who extended it or gave some back is told `extensions_left`."""

    expires_at: int = 0
    extensions_left: int | None = None
    seats: list[str] | None = None
    areas: dict[str, int] | None = None


_decode_living = msgspec.json.Decoder(Living).decode
LEAVING_CODES = frozenset({"offered", "not_waiting"})
"""Errors that only who leaves the waiting list is answered."""


class SocketCarrier:
    """See `Carrier`. Without `patience_seconds` it waits as long as the socket stays; else it moves on."""

    def __init__(
        self,
        seen: Seen,
        token: str,
        event: str,
        urls: Sequence[str],
        chance: random.Random,
        shared: Shared,
        patience_seconds: float | None,
    ) -> None:
        self._seen = seen
        self._hello = msgspec.json.encode(
            {"type": "hello", "event": event, "token": token, "watch": chance.random() < 0.1}
        )
        self._urls = [f"ws{url.removeprefix('http')}/v1/socket" for url in urls]
        self._chance = chance
        self._shared = shared
        self._patience_seconds = patience_seconds
        self._line: Line | None = None
        self._connecting = asyncio.Lock()
        self._asks: dict[str, list[Ask]] = defaultdict(list)
        self._waiting: dict[str, list[Said]] = defaultdict(list)
        self._offers = Offers(seen)

    @property
    def offers(self) -> deque[Offer]:
        return self._offers.new

    async def ask(self, ask: Ask) -> None:
        if not ask.sent_ns:
            self._asks[ask.request_id].append(ask)
        broken = False
        while True:
            line = await self._connected()
            again = bool(ask.sent_ns)
            now = time.monotonic_ns()
            if broken and self._chance.random() < RESUME_SHARE:
                frame: dict[str, object] = {"type": "resume", "ids": [ask.request_id]}
            else:
                frame = {"type": "request", "id": ask.request_id, **msgspec.json.decode(ask.want)}
                ask.sent_ns.append(now)
                if again:
                    frame["again"] = True
            heard = await self._heard(line, ask.request_id, frame, Said(_future(), ask=ask))
            if heard == "answered":
                return
            broken = heard == "lost"

    async def change(self, op: HoldOp) -> None:
        while True:
            line = await self._connected()
            frame: dict[str, object] = {"type": op.op, "hold": op.hold, **said_of(op)}
            if await self._heard(line, f"hold {op.hold}", frame, Said(_future(), op=op)) == "answered":
                return

    async def leave(self, leaving: Leaving) -> None:
        request_id = leaving.request_id
        while True:
            line = await self._connected()
            frame: dict[str, object] = {"type": "leave", "id": request_id}
            said = Said(_future(), leaving=leaving)
            if await self._heard(line, f"leave {request_id}", frame, said) == "answered":
                return

    async def look(self) -> None:
        while True:
            line = await self._connected()
            if await self._heard(line, "waiting", {"type": "waiting"}, Said(_future())) == "answered":
                return

    async def close(self) -> None:
        if self._line is not None:
            self._line.hang_up()

    async def _heard(self, line: Line, key: str, frame: dict[str, object], said: Said) -> str:
        self._waiting[key].append(said)
        line.waiting.add(said)
        line.send(msgspec.json.encode(frame))
        patience = None if self._patience_seconds is None else self._patience_seconds
        try:
            async with asyncio.timeout(patience):
                heard = await said.heard
        except TimeoutError:
            line.hang_up()
            return "lost"
        finally:
            line.waiting.discard(said)
            self._waiting[key].remove(said)
        if heard == "again":
            await asyncio.sleep(ASK_AGAIN_SECONDS)
        return heard

    async def _connected(self) -> Line:
        async with self._connecting:
            while self._line is None or self._line.over:
                self._line = await self._new_line()
                if self._line is None:
                    await asyncio.sleep(self._chance.uniform(*PAUSE_SECONDS))
            return self._line

    async def _new_line(self) -> Line | None:
        line = Line(self, self._hello, self._shared)
        try:
            async with asyncio.timeout(CONNECT_SECONDS_MAX + WELCOME_SECONDS_MAX):
                await ws_connect(
                    lambda: line,
                    self._chance.choice(self._urls),
                    websocket_handshake_timeout=CONNECT_SECONDS_MAX,
                    max_frame_size=1 << 20,
                )
                await line.welcome.wait()
        except Exception as error:  # whatever broke, a client tries another gateway
            self._shared.errors[f"connect: {type(error).__name__}"] += 1
            line.hang_up()
            return None
        return None if line.over else line

    def hear(self, line: Line, payload: bytes) -> None:
        """A frame came."""
        now = time.monotonic_ns()
        head = decode_head(payload)
        if head.type == "decision":
            self._decided(head, payload, now)
        elif head.type == "accepted":
            for said in self._waiting.get(head.id, ()):
                if said.ask is not None:
                    said.ask.accepted.append((now, head.arrival))
        elif head.type == "not_queued":
            for said in self._waiting.get(head.id, ())[:1]:
                assert said.ask is not None, "a request's id is no hold's"
                said.ask.not_queued.append((now, payload))
                _tell(said, "answered")
        elif head.type == "welcome":
            line.welcome.set()
        elif head.type == "hold" or head.hold:
            self._changed(head, payload, now)
        elif head.type == "offer":
            self._offers.offered(payload)
        elif head.type == "waiting":
            self._offers.looked(payload)
            for said in list(self._waiting["waiting"]):
                _tell(said, "answered")
        elif head.type == "left":
            self._left(head, now)
        elif head.type in ("error", "unknown"):
            self._refused(head, now)

    def _decided(self, head: Head, payload: bytes, now: int) -> None:
        waiting = self._waiting.get(head.id, [])
        asks = [said.ask for said in waiting if said.ask is not None] or self._asks.get(head.id, [])[-1:]
        if not asks:
            self._seen.strange.append(payload)
        for ask in asks[:1]:
            ask.decisions.append((now, payload))
        for said in waiting[:1]:
            _tell(said, "answered")

    def _changed(self, head: Head, payload: bytes, now: int) -> None:
        living = _decode_living(payload) if head.state == "active" else None
        if living is not None and living.extensions_left is None:
            return  # it ends soon, or is there instead of another: no answer
        for said in self._waiting.get(f"hold {head.hold}", ())[:1]:
            assert said.op is not None, "a hold's key is no request's"
            if head.code in ASK_AGAIN_CODES:
                _tell(said, "again")
                return
            if living is not None:
                if (said.op.op == "extend") == (living.seats is not None) or said.op.op == "confirm":
                    return  # what the buyer's other device did
                said.op.answer = HoldAnswer(living.expires_at, living.seats, living.areas)
            said.op.answered_ns, said.op.state, said.op.error = now, head.state, head.code
            _tell(said, "answered")

    def _left(self, head: Head, now: int) -> None:
        for said in self._waiting.get(f"leave {head.id}", ())[:1]:
            assert said.leaving is not None, "a key for leaving is no request's"
            if head.code in ASK_AGAIN_CODES:
                _tell(said, "again")
                return
            said.leaving.answered_ns, said.leaving.error = now, head.code
            _tell(said, "answered")

    def _refused(self, head: Head, now: int) -> None:
        code = head.code or head.type
        self._shared.errors[code] += 1
        if code in LEAVING_CODES or (code in ASK_AGAIN_CODES and not self._waiting.get(head.id)):
            self._left(head, now)
            return
        for said in self._waiting.get(head.id, ())[:1]:
            if said.ask is not None:
                said.ask.errors.append((now, code))
            _tell(said, "again" if code in ASK_AGAIN_CODES else "answered")


class Line(WSListener):
    """One connection."""

    def __init__(self, carrier: SocketCarrier, hello: bytes, shared: Shared) -> None:
        self.welcome = asyncio.Event()
        self.waiting: set[Said] = set()
        self.over = False
        self._carrier = carrier
        self._hello = hello
        self._shared = shared
        self._transport: WSTransport | None = None

    def send(self, frame: bytes) -> None:
        if self._transport is not None and not self.over:
            self._transport.send(TEXT, frame)

    def hang_up(self) -> None:
        if self._transport is not None:
            self._transport.disconnect()
        self._lost()

    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport
        transport.send(TEXT, self._hello)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type is TEXT:
            self._carrier.hear(self, frame.get_payload_as_bytes())
        elif frame.msg_type is WSMsgType.CLOSE:
            self._shared.errors[f"closed: {frame.get_close_code()} {frame.get_close_reason() or ''}"] += 1
            transport.disconnect()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self._lost()

    def _lost(self) -> None:
        self.over = True
        self.welcome.set()
        for said in self.waiting:
            _tell(said, "lost")


def said_of(op: HoldOp) -> dict[str, object]:
    """What a change of a hold says besides which hold it is, over a socket and over HTTP."""
    if op.op == "extend":
        return {"expires_at": op.ends_ms}
    if op.gives_some:
        return {"seats": op.seats, "areas": op.areas, "quantity": op.quantity}
    return {}


def _future() -> asyncio.Future[str]:
    return asyncio.get_running_loop().create_future()


def _tell(said: Said, heard: str) -> None:
    if not said.heard.done():
        said.heard.set_result(heard)
