"""Buyers over real websockets, who come back: a broken socket is opened again at the other gateway, and what
is undecided is asked again with the same key. Everything they send and hear is kept for the checker.

They live in one event loop in a thread of its own, so that a test reads as a plain sequence of steps:

    ann = desk.buyer("ann")
    ann.ask("r1", "stalls-A-1")
    assert ann.decision("r1").outcome == "held"

    crowd = desk.crowd(20)          # a closed loop: ask, give most holds back, ask again
    crowd.wait(100)                 # until they heard a hundred more decisions
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from random import Random
from typing import Any, TypeVar

import jwt
import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from bench.client import decode_head
from bench.clients import ASK_AGAIN_CODES
from bench.evidence import Ask, Frame, HoldOp, Leaving, Seen, read_frame, read_json
from gateway.ending import end
from store.wire import canonical_want
from store.words import Best, Want

T = TypeVar("T")

WITHIN_SECONDS = 40.0
FINISH_SECONDS = 60.0
COME_BACK_SECONDS = 0.05
ASK_AGAIN_SECONDS = 0.3
THINK_SECONDS = 0.02
"""Between two requests of one buyer of a crowd: enough load to be in the middle of something, no more."""


class Desk:
    """All buyers of one event, and the loop they live in."""

    def __init__(self, base_urls: Sequence[str], secret: str, event: str, seats: Sequence[str]) -> None:
        self.sockets = [f"ws{url.removeprefix('http')}/v1/socket" for url in base_urls]
        self.event = event
        self.seats = seats
        self._secret = secret
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="buyers", daemon=True)
        self._change: asyncio.Future[None] = self._loop.create_future()
        self._crowds: list[Crowd] = []
        self.buyers: list[Buyer] = []
        self.decisions = 0

    def __enter__(self) -> Desk:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self._end_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def token(self, buyer: str) -> str:
        return jwt.encode({"sub": buyer, "exp": int(time.time()) + 3600}, self._secret, "HS256")

    def buyer(self, name: str, gateway: int = 0) -> Buyer:
        """One more socket, welcome when this returns. Several may share a name."""
        made = Buyer(self, name, self.token(name), gateway)
        self.buyers.append(made)
        self.call(made.enter())
        return made

    def crowd(self, count: int, *, seats: int = 12, seed: int = 1) -> Crowd:
        """`count` buyers at all gateways who ask for the same few seats until the desk finishes."""
        buyers = [self.buyer(f"c{number}", number % len(self.sockets)) for number in range(count)]
        made = Crowd(self, buyers, self.seats[:seats], seed)
        self._crowds.append(made)
        self._loop.call_soon_threadsafe(made.start)
        return made

    def finish(self) -> list[Seen]:
        """Nobody asks anything new; returns what everybody saw once each request is answered."""
        for crowd in self._crowds:
            self.call(crowd.stop())
        waiting = "every request is answered"
        self.call(self.until(lambda: not any(b.undecided for b in self.buyers), waiting, FINISH_SECONDS))
        for buyer in self.buyers:
            if buyer.waits:
                buyer.look_to_the_end()
            buyer.seen.stayed = buyer.connected
            buyer.seen.asks = list(buyer.asks.values())
        return [buyer.seen for buyer in self.buyers]

    # --- the loop's side ---

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` in the buyers' loop and waits for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(FINISH_SECONDS + 30)

    def wait(self, true: Callable[[], object], what: str, within: float = WITHIN_SECONDS) -> None:
        """From the test's side: until the buyers heard what makes it true."""
        self.call(self.until(true, what, within))

    async def until(self, true: Callable[[], object], what: str, within: float = WITHIN_SECONDS) -> None:
        try:
            async with asyncio.timeout(within):
                while not true():
                    await self.next_change()
        except TimeoutError:
            waiting = {b.name: sorted(b.undecided) for b in self.buyers if b.undecided}
            raise AssertionError(f"waited {within:g} s in vain until {what}; undecided: {waiting}") from None

    async def next_change(self) -> None:
        await asyncio.shield(self._change)

    def changed(self) -> None:
        """Somebody heard something."""
        change, self._change = self._change, self._loop.create_future()
        change.set_result(None)

    async def _end_all(self) -> None:
        tasks = [task for crowd in self._crowds for task in crowd.tasks]
        tasks += [task for buyer in self.buyers for task in buyer.tasks]
        await end(tasks)
        await asyncio.gather(*tasks, return_exceptions=True)
        self._change.cancel()


class Buyer:
    """One socket, kept up. Methods without an underscore that a test calls: `ask` to `event_states`."""

    def __init__(self, desk: Desk, name: str, token: str, gateway: int) -> None:
        self.name = name
        self.seen = Seen(name)
        self.asks: dict[str, Ask] = {}
        self.undecided: set[str] = set()
        self.frames: dict[str, Frame] = {}
        self.event_states: list[str] = []
        """What the gateway said the event became."""
        self.offers: dict[str, dict[str, Any]] = {}
        """Request id → what was offered to it, as far as the buyer was told."""
        self.looks = 0
        """How often it was told what of its own is on the waiting list."""
        self.reconnects = -1
        self.tasks: set[asyncio.Task[None]] = set()
        self._desk = desk
        self._token = token
        self._gateway = gateway
        self._socket: ClientConnection | None = None

    # --- for tests ---

    def ask(
        self,
        request_id: str,
        *seats: str,
        best: int | Best = 0,
        waitlist: bool = False,
        move: str = "",
    ) -> None:
        """Send a request; do not wait."""
        party = Best(best) if isinstance(best, int) and best else best or None
        want = Want(seats, party, move=move or msgspec.UNSET, waitlist=waitlist)
        self._desk.call(self.request(request_id, canonical_want(want).decode()))

    def accepted(self, request_id: str) -> str:
        """Waits for the arrival of a request."""
        ask = self.asks[request_id]
        self._desk.wait(lambda: ask.accepted, f"{self.name}'s {request_id} is accepted")
        return ask.accepted[0][1]

    def decision(self, request_id: str) -> Frame:
        """Waits for the answer to a request."""
        what = f"{self.name}'s {request_id} is decided"
        self._desk.wait(lambda: request_id in self.frames, what)
        return self.frames[request_id]

    def waits_for(self, request_id: str, *seats: str) -> Frame:
        """Asks for what somebody else has, and goes on the waiting list."""
        self.ask(request_id, *seats, waitlist=True)
        decision = self.decision(request_id)
        assert decision.outcome == "waitlisted", decision
        return decision

    @property
    def waits(self) -> bool:
        """Whether anything of it was ever put on the waiting list."""
        return any(frame.outcome == "waitlisted" for frame in self.frames.values())

    def is_offered(self, request_id: str) -> dict[str, Any]:
        """What was offered to a request; asks for the waiting list until it is told."""
        what = f"{self.name} is told of the offer to {request_id}"
        self._desk.call(self.looking(lambda: request_id in self.offers, what))
        return self.offers[request_id]

    def look_to_the_end(self) -> None:
        """Twice: what is told first may have been read just before it was asked for."""
        now, looks = time.monotonic_ns(), self.looks
        what = f"{self.name} is told what it has on the waiting list"
        self._desk.call(self.looking(lambda: self.looks >= looks + 2, what))
        self.seen.looked_ns = now

    def leave(self, request_id: str) -> Leaving:
        """Leaves the waiting list; waits for the answer."""
        leaving = self._desk.call(self.leaves(request_id))
        self._desk.wait(lambda: leaving.answered_ns, f"{self.name} left with {request_id}")
        return leaving

    def release(self, hold: str) -> HoldOp:
        """Gives a hold back; waits for the answer."""
        op = self._desk.call(self.part_with("release", hold))
        self._desk.wait(lambda: op.answered_ns, f"{self.name}'s hold {hold} is released")
        return op

    @property
    def connected(self) -> bool:
        return self._socket is not None

    # --- in the loop ---

    async def enter(self) -> None:
        self.tasks.add(asyncio.create_task(self._stay()))
        await self._desk.until(lambda: self.connected, f"{self.name} is welcome")

    async def request(self, request_id: str, want: str) -> None:
        self.asks[request_id] = Ask(request_id, want)
        self.undecided.add(request_id)
        await self._send_request(request_id, again=False)

    async def part_with(self, op: str, hold: str) -> HoldOp:
        made = HoldOp(op, hold, time.monotonic_ns())
        self.seen.hold_ops.append(made)
        await self._send({"type": op, "hold": hold})
        return made

    async def leaves(self, request_id: str) -> Leaving:
        made = Leaving(request_id, time.monotonic_ns())
        self.seen.leaves.append(made)
        await self._send({"type": "leave", "id": request_id})
        return made

    async def looking(self, true: Callable[[], object], what: str) -> None:
        async def asking() -> None:
            while True:
                await self._send({"type": "waiting"})
                await asyncio.sleep(ASK_AGAIN_SECONDS)

        asks = asyncio.create_task(asking())
        try:
            await self._desk.until(true, what)
        finally:
            asks.cancel()

    async def _send_request(self, request_id: str, *, again: bool) -> None:
        ask = self.asks[request_id]
        ask.sent_ns.append(time.monotonic_ns())
        head = {"type": "request", "id": request_id} | ({"again": True} if again else {})
        await self._send(head | msgspec.json.decode(ask.want))

    async def _send(self, frame: dict[str, Any]) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError, WebSocketException):  # it comes back and asks again
                await self._socket.send(msgspec.json.encode(frame).decode())

    async def _stay(self) -> None:
        """Connected as far as anybody lets it, at one gateway after the other."""
        while True:
            url = self._desk.sockets[self._gateway]
            with contextlib.suppress(OSError, WebSocketException):
                async with connect(url, compression=None, proxy=None, close_timeout=1) as socket:
                    hello = {"type": "hello", "event": self._desk.event, "token": self._token}
                    await socket.send(msgspec.json.encode(hello).decode())
                    async for raw in socket:
                        await self._hear(socket, raw.encode() if isinstance(raw, str) else raw)
            self._socket = None
            self._desk.changed()
            self._gateway = (self._gateway + 1) % len(self._desk.sockets)
            await asyncio.sleep(COME_BACK_SECONDS)

    async def _hear(self, socket: ClientConnection, raw: bytes) -> None:
        now = time.monotonic_ns()
        head = decode_head(raw)
        ask = self.asks.get(head.id)
        if head.type == "welcome":
            self._socket = socket
            self.reconnects += 1
            for request_id in list(self.undecided):
                await self._send_request(request_id, again=True)
        elif head.type == "decision":
            self._decided(raw, head.id, now)
        elif head.type == "accepted" and ask is not None:
            ask.accepted.append((now, head.arrival))
        elif head.type == "hold" or head.hold:
            for op in self.seen.hold_ops:
                # a hold that is active is one that ends soon: no answer to what is done here
                if op.hold == head.hold and not op.answered_ns and head.state != "active":
                    op.answered_ns, op.state, op.error = now, head.state, head.code
        elif head.type == "event":
            self.event_states.append(head.state)
        elif head.type == "offer":
            self.seen.offers.append(raw)
            self.offers[head.id] = read_json(raw)["result"]
        elif head.type == "waiting":
            self._told_of_the_list(raw)
        elif head.type == "left" or head.code in ("offered", "not_waiting"):
            for leaving in self.seen.leaves:
                if leaving.request_id == head.id and not leaving.answered_ns:
                    leaving.answered_ns, leaving.error = now, head.code
        elif head.type == "error" and ask is not None:
            ask.errors.append((now, head.code))
            self._refused(head.id, head.code)
        self._desk.changed()

    def _told_of_the_list(self, raw: bytes) -> None:
        self.seen.waiting.append(raw)
        self.looks += 1
        for entry in read_json(raw)["waiting"]:
            if entry["state"] == "offered":
                self.offers[entry["id"]] = entry["offer"]

    def _decided(self, raw: bytes, request_id: str, now: int) -> None:
        ask = self.asks.get(request_id)
        if ask is None:
            self.seen.strange.append(raw)
            return
        ask.decisions.append((now, raw))
        self.frames[request_id] = read_frame(raw)
        if request_id in self.undecided:
            self.undecided.discard(request_id)
            self._desk.decisions += 1

    def _refused(self, request_id: str, code: str) -> None:
        if code not in ASK_AGAIN_CODES:
            self.undecided.discard(request_id)
            self.frames[request_id] = Frame(request_id, outcome=code)
            return

        async def later() -> None:
            await asyncio.sleep(ASK_AGAIN_SECONDS)
            if request_id in self.undecided:
                await self._send_request(request_id, again=True)

        task = asyncio.create_task(later())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


class Crowd:
    """Buyers in a closed loop; each next wish is drawn from the seed."""

    def __init__(self, desk: Desk, buyers: Sequence[Buyer], seats: Sequence[str], seed: int) -> None:
        self.buyers = buyers
        self.tasks: list[asyncio.Task[None]] = []
        self._desk = desk
        self._seats = seats
        self._random = Random(seed)
        self._stopping = False

    def wait(self, count: int) -> None:
        """Until `count` more decisions were heard."""
        wanted = self._desk.decisions + count
        self._desk.wait(lambda: self._desk.decisions >= wanted, f"{count} more decisions are heard")

    def start(self) -> None:
        self.tasks = [asyncio.get_running_loop().create_task(self._buy(buyer)) for buyer in self.buyers]

    async def stop(self) -> None:
        """Each finishes what it waits for."""
        self._stopping = True
        _, hanging = await asyncio.wait(self.tasks, timeout=FINISH_SECONDS)
        undecided = {buyer.name: sorted(buyer.undecided) for buyer in self.buyers if buyer.undecided}
        assert not hanging, f"still unanswered after {FINISH_SECONDS:g} s: {undecided}"
        for task in self.tasks:
            task.result()

    async def _buy(self, buyer: Buyer) -> None:
        number, random = 0, self._random
        while not self._stopping:
            number += 1
            request_id = f"{buyer.name}-{number}"
            kind = random.randrange(10)
            want = Want(best=Best(2)) if kind == 0 else Want(seats=(random.choice(self._seats),))
            await buyer.request(request_id, canonical_want(want).decode())
            await self._answered(buyer, request_id)
            frame = buyer.frames[request_id]
            if frame.outcome == "held" and kind != 1:  # one of ten is kept
                await buyer.part_with("confirm" if kind == 2 else "release", str(frame.result["hold"]))
            await asyncio.sleep(THINK_SECONDS)

    async def _answered(self, buyer: Buyer, request_id: str) -> None:
        while request_id in buyer.undecided:
            await self._desk.next_change()
