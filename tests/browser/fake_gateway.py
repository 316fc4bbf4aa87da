"""A gateway for the browser tests: the real pages, a made venue, and the allocator's own decisions over
seats that tests change as they like.

It speaks docs/protocol.md and has a switch for everything that is hard to bring about on purpose:
answers that wait, forced outcomes, lost sockets, forgotten keys, a quiet map. Nothing is durable.
To look around by hand: `python -m tests.browser.fake_gateway`.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import msgspec
import uvicorn
from fastapi import FastAPI, Response, WebSocket, WebSocketDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from allocator.decide import Ask, decide
from allocator.layout import Layout
from allocator.memory import BLOCKED, Memory, Overlay
from allocator.memory import Hold as MemoryHold
from allocator.wishes import Wishes
from gateway import pages
from gateway.settings import PaymentSettings
from store import plan as plans
from store.categories import with_category
from store.errors import NotFound
from store.event_prices import ShownPrices
from store.plan import Plan
from store.prices import PlanMove, PriceTerms, of_categories
from store.venues.make import make
from store.words import Arrival, EventState, HoldId, Policy
from tests.browser.fake_http import OverHttp
from tests.browser.fake_owning import Hold, Owning
from tests.browser.fake_paying import Paying
from tests.browser.fake_room import FakeRoom
from tests.browser.fake_waitlist import Waitlist

HEAR_SECONDS_MAX = 60

Frame = dict[str, Any]
_WANT = ("seats", "best", "areas", "up_to", "fallbacks", "move")


@dataclass
class Buyer:
    name: str
    socket: WebSocket
    dead: bool = False
    """The network forgot the connection and told nobody: what is said on it is not heard."""

    async def tell(self, frame: Frame) -> None:
        """Unless they are gone, from either side."""
        with suppress(WebSocketDisconnect, RuntimeError):
            await self.socket.send_json(frame)


@dataclass
class FakeGateway:
    """Switches are plain attributes; what must happen on the server's loop goes through `on_loop`."""

    plan: Plan = field(default_factory=lambda: make("theatre", 600, name="Old Theatre"))
    price_terms: PriceTerms = field(default_factory=PriceTerms)
    slug: str = "demo"
    name: str = "Nightfall, opening night"
    state: str = "open"
    hold_ttl_seconds: float = 480
    offer_ttl_seconds: float = 600
    extensions_max: int = 1
    extension_seconds: int = 120
    seats_per_buyer_max: int = 8
    payment: str = "none"
    payments: PaymentSettings = field(default_factory=PaymentSettings)
    """With whom it is paid; unless it is Stripe, with a page that stands for any provider's."""
    late_payment: str = "refund"
    terms: dict[str, Any] = field(default_factory=dict)
    """Whatever else the event says: starts_at, called_off, figures_on_page."""
    demo: bool = True
    deciding: bool = True
    """Off: requests are accepted and wait for `decide_waiting`."""
    answering: bool = True
    """Off: requests and resumes are not answered at all."""
    telling_seats: bool = True
    forced: Frame | None = None
    """The next request is answered with this frame (its id is put in)."""
    close_code: int = 0
    """Not 0: every hello is answered by closing with this code."""
    refusing_holds: str = ""
    """Not empty: buying and giving back are refused with this code."""
    serving: bool = True
    """Off: sockets are closed at once, as from a gateway that restarts."""
    refusing_sockets: bool = False
    """As a network does that lets none through: their handshakes fail."""
    replies_lost: int = 0
    """So many times what is asked of a hold is done and its outcome unknown: the reply to COMMIT was lost."""
    outage_since: int = 0
    """Not 0: nobody attended to the event since then, and holds run out by that moment."""
    paused_at: int = 0
    room: FakeRoom | None = None
    """A waiting room, with the switches of its own."""

    def __post_init__(self) -> None:
        self.letters = ["a"] * len(self.plan.seats)
        self.free = [area.capacity for area in self.plan.areas]
        self.numbers = {seat.guid: number for number, seat in enumerate(self.plan.seats)}
        self.area_numbers = {area.guid: number for number, area in enumerate(self.plan.areas)}
        self.layout = Layout(self.plan)
        self.wishes = Wishes(self.layout)
        self.batch_no = 0
        self.moves: list[PlanMove] = []
        self.holds: dict[str, Hold] = {}
        self.decisions: dict[tuple[str, str], Frame] = {}
        self.waiting: list[tuple[str, Frame]] = []
        self.buyers: list[Buyer] = []
        self.waitlist = Waitlist(self)
        self.owning = Owning(self)
        self.paying = Paying(self)
        if self.room is not None:
            self.room.open(self)
        self.received: list[Frame] = []
        self._heard = threading.Condition()
        self.loop: asyncio.AbstractEventLoop | None = None

    # --- for tests ---

    def on_loop(self, action: Callable[[], Any]) -> None:
        """Runs `action` (which may return a coroutine) on the server's loop and waits for it."""
        assert self.loop is not None, "the server is not running"

        async def run() -> None:
            made = action()
            if asyncio.iscoroutine(made):
                await made

        asyncio.run_coroutine_threadsafe(run(), self.loop).result(60)

    def become(self, state: str, *, telling: bool = True) -> None:
        """As an operator does it: holds that run when a pause begins get its time back at its end."""
        now = _now_ms()
        if self.state == "paused" != state:
            for hold in self.holds.values():
                hold.expires_at += now - self.paused_at if hold.expires_at > self.paused_at else 0
        self.state, self.paused_at = state, now
        if not telling:
            return
        self.on_loop(lambda: self._broadcast({"type": "event", "state": state}))

    def recategorise(self, seats: list[int], category: int, *, telling: bool = True) -> None:
        """An operator gives seats another category; unless `telling`, nobody hears of it."""
        had = [(seat, self.plan.seats[seat].category) for seat in seats]
        self.plan = with_category(self.plan, category, seats, [])
        self.layout = Layout(self.plan)
        self.wishes = Wishes(self.layout)
        self.batch_no += 1
        self.moves.append(PlanMove(str(self.batch_no << 16), had, []))
        if telling:
            self.on_loop(lambda: self._broadcast({"type": "plan"}))

    def decide_waiting(self) -> None:
        self.deciding = True
        self.on_loop(self._decide_all)

    def drop_sockets(self, code: int = 1012) -> None:
        self.on_loop(lambda: asyncio.gather(*(buyer.socket.close(code) for buyer in self.buyers)))

    def kill_sockets(self) -> None:
        """Those there are now: they stay open and nothing comes of them. New ones are heard."""
        for buyer in self.buyers:
            buyer.dead = True

    def send_all(self, frame: Frame) -> None:
        self.on_loop(lambda: self._broadcast(frame))

    def mark(self, letter: str, seats: list[int]) -> None:
        """Other people's doing."""
        self.on_loop(lambda: self._change([(seat, letter) for seat in seats]))

    def asked(self, kind: str) -> list[Frame]:
        return [frame for frame in self.received if frame["type"] == kind]

    def hear(self, kind: str) -> list[Frame]:
        """The same, once there is one."""
        with self._heard:
            assert self._heard.wait_for(lambda: self.asked(kind), HEAR_SECONDS_MAX), f"nobody sent {kind}"
        return self.asked(kind)

    def left_with(self, count: int) -> list[Buyer]:
        """Who is connected, once the sockets of pages that are gone are gone too."""
        with self._heard:
            assert self._heard.wait_for(lambda: len(self.buyers) == count, HEAR_SECONDS_MAX), self.buyers
        return self.buyers

    def _receive_frame(self, frame: Frame) -> None:
        with self._heard:
            self.received.append(frame)
            self._heard.notify_all()

    # --- the socket ---

    async def serve(self, websocket: WebSocket) -> None:
        with suppress(WebSocketDisconnect):  # gone while something was said to it, or before it said hello
            await self._serve(websocket)

    async def _serve(self, websocket: WebSocket) -> None:
        if self.refusing_sockets:
            await websocket.close()
            return
        await websocket.accept()
        if not self.serving:
            await websocket.close(1012)
            return
        hello = json.loads(await websocket.receive_text())
        self._receive_frame(hello)
        if self.close_code or hello["event"] != self.slug:
            await websocket.close(self.close_code or 4404)
            return
        buyer = Buyer(hello["token"].removeprefix("token-of-"), websocket)
        self.buyers.append(buyer)
        try:
            await websocket.send_json(self._welcome(buyer))
            if self.room is not None:
                await self.room.welcome(buyer)
            while True:
                frame = json.loads(await websocket.receive_text())
                self._receive_frame(frame)
                await self._receive(buyer, frame)
        except (WebSocketDisconnect, RuntimeError):
            pass  # gone, from either side
        finally:
            with self._heard:
                self.buyers.remove(buyer)
                self._heard.notify_all()

    def event(self) -> Frame:
        """The event as everybody is told of it."""
        return {
            "slug": self.slug,
            "name": self.name,
            "state": self.state,
            "hold_ttl_seconds": self.hold_ttl_seconds,
            "seats_per_buyer_max": self.seats_per_buyer_max,
            "fast_gate": True,
            "opens_at": None,
            "lobby_opens_at": None,
            "extensions_max": self.extensions_max,
            "extension_seconds": self.extension_seconds,
            "offer_ttl_seconds": self.offer_ttl_seconds,
            "limits": {},
            "tour": None,
            "plan": plans.fingerprint(plans.encode(self.plan)),
            "payment": self.payment,
            "late_payment": self.late_payment,
            **self.terms,
        }

    def _welcome(self, buyer: Buyer) -> Frame:
        return {"type": "welcome", "event": self.event(), "buyer": buyer.name}

    async def _receive(self, buyer: Buyer, frame: Frame) -> None:
        kind = frame["type"]
        if buyer.dead:
            return
        if self.room is not None and kind in self.room.frames:
            await self.room.receive(buyer, frame)
        elif kind in ("confirm", "release", "extend"):
            await self.owning.receive(buyer, frame)
        elif kind in ("waiting", "leave"):
            await self.waitlist.receive(buyer, frame)
        elif not self.answering:
            return
        elif kind == "request":
            await self._request(buyer, frame)
        elif kind == "resume":
            for request_id in frame["ids"]:
                await self._resume(buyer, request_id)

    async def _resume(self, buyer: Buyer, request_id: str) -> None:
        known = self.decisions.get((buyer.name, request_id))
        waiting = any(name == buyer.name and frame["id"] == request_id for name, frame in self.waiting)
        if known is None and waiting:
            known = {"type": "accepted", "id": request_id, "arrival": "1-1"}
        await buyer.tell(known or {"type": "unknown", "id": request_id})

    async def _request(self, buyer: Buyer, frame: Frame) -> None:
        known = self.decisions.get((buyer.name, frame["id"]))
        if known is not None:
            await buyer.tell(known)
            return
        if self.forced is not None:
            answer, self.forced = {"id": frame["id"], **self.forced}, None
            await buyer.tell(answer)
            return
        self.waiting.append((buyer.name, frame))  # what a page knows of is so
        await buyer.tell({"type": "accepted", "id": frame["id"], "arrival": f"{_now_ms()}-0"})
        if self.deciding and self.state != "paused":
            await self._decide_all()

    # --- deciding ---

    async def _decide_all(self) -> None:
        waiting, self.waiting = self.waiting, []
        for name, frame in waiting:
            outcome, result = self._decide(name, frame)
            if frame.get("waitlist") and outcome in ("taken", "sold_out"):
                outcome, result = "waitlisted", self.waitlist.join(name, frame, outcome, result)
            arrival = f"{_now_ms()}-{len(self.decisions)}"
            answer = {
                "type": "decision",
                "id": frame["id"],
                "arrival": arrival,
                "outcome": outcome,
                "result": result,
            }
            self.decisions[name, frame["id"]] = answer
            for buyer in self.buyers:
                if buyer.name == name:
                    with suppress(WebSocketDisconnect, RuntimeError):
                        await buyer.tell(answer)
            if outcome == "held":
                await self._change([(self.numbers[guid], "h") for guid in result["seats"]])

    def _decide(self, name: str, frame: Frame) -> tuple[str, Frame]:
        """What the allocator answers over the seats as they are now; a hold is noted."""
        memory = self._memory()
        want = json.dumps({word: frame[word] for word in _WANT if word in frame})
        ask = Ask(Arrival("1-1"), name, frame["id"], want, self.wishes.read(want.encode()))
        batch_time = _now_ms() * 1000
        decided = decide(memory, Overlay(memory), self.batch_no + 1, batch_time, [], [ask])
        (row,) = decided.rows
        result: Frame = json.loads(row.result)
        if "moved" in result:
            self._moved(self.holds[result["moved"]])
        for claim in decided.claims:
            areas = dict(claim.hold.areas)
            self.holds[result["hold"]] = Hold(name, list(claim.hold.seats), areas, result["expires_at"])
            for seat in claim.hold.seats:
                self.letters[seat] = "h"
            for area, count in areas.items():
                self.free[area] -= count
        return row.outcome, result

    def _moved(self, old: Hold) -> None:
        old.state = "released"
        for area, count in old.areas.items():
            self.free[area] += count
        for seat in old.seats:
            self.letters[seat] = "a"

    def _memory(self) -> Memory:
        state = EventState.OPEN if self.state == "paused" else EventState(self.state)
        policy = Policy(state, int(self.hold_ttl_seconds), self.seats_per_buyer_max)
        memory = Memory(self.layout, policy)
        active = {name: hold for name, hold in self.holds.items() if hold.state == "active"}
        kept = {seat for hold in active.values() for seat in hold.seats}
        for seat, letter in enumerate(self.letters):
            if letter != "a" and seat not in kept:
                memory.take(seat, BLOCKED)
        memory.areas_free = list(self.free)
        overlay = Overlay(memory)
        for name, hold in active.items():
            for area, count in hold.areas.items():
                memory.areas_free[area] += count
            areas = tuple(sorted(hold.areas.items()))
            has = MemoryHold(hold.buyer, tuple(hold.seats), areas, hold.expires_at * 1000)
            overlay.claim(HoldId(int(name)), has)
        for hold in self.holds.values():
            if hold.state == "paid":
                count = len(hold.seats) + sum(hold.areas.values())
                memory.count_by_buyer[hold.buyer] = memory.count_by_buyer.get(hold.buyer, 0) + count
        return memory

    async def _change(self, changed: list[tuple[int, str]]) -> None:
        for seat, letter in changed:
            self.letters[seat] = letter
        self.batch_no += 1
        if self.telling_seats:
            areas = list(enumerate(self.free))
            await self._broadcast(
                {"type": "seats", "batch_no": self.batch_no, "changed": changed, "areas": areas}
            )

    async def _broadcast(self, frame: Frame) -> None:
        for buyer in self.buyers:
            await buyer.tell(frame)


def _now_ms() -> int:
    return int(time.time() * 1000)


def build(fake: FakeGateway) -> FastAPI:
    """The application: the pages as they are, and the endpoints they talk to."""
    app = FastAPI(lifespan=pages.demo.lifespan)

    async def get(slug: str) -> SimpleNamespace:
        if slug != fake.slug:
            raise NotFound("event_not_found", "There is no such event.")
        return SimpleNamespace(row=SimpleNamespace(name=fake.name), room=fake.room)

    app.state.runtime = SimpleNamespace(settings=fake, events=SimpleNamespace(get=get))
    app.router.routes.extend(pages.router.routes)  # as a gateway has them
    fake.paying.mount(app)
    if fake.room is not None:
        fake.room.mount(app)
    OverHttp(fake).mount(app)

    @app.get("/v1/events")
    async def events() -> list[Frame]:
        return [{"slug": fake.slug, "name": fake.name, "state": fake.state}]

    @app.get("/v1/events/{event}/plan")
    async def plan(event: str) -> Response:
        found = event == fake.slug
        text = plans.encode(fake.plan) if found else b"{}"
        headers = {"ETag": f'"{plans.fingerprint(text)}"', "Cache-Control": "no-cache"}
        return Response(text, 200 if found else 404, headers, media_type="application/json")

    @app.get("/v1/events/{event}/prices")
    async def prices(event: str) -> Response:
        each = of_categories(fake.plan.categories, fake.price_terms)
        body = msgspec.json.encode(ShownPrices(fake.plan.currency, fake.price_terms, each, fake.moves))
        return Response(body, media_type="application/json")

    @app.get("/v1/events/{event}/seats")
    async def seats(event: str) -> Frame:
        ends = [hold.expires_at for hold in fake.holds.values() if hold.state == "active"]
        told = {"states": "".join(fake.letters), "areas": fake.free, "held_until": min(ends, default=None)}
        return {"batch_no": fake.batch_no, **told}

    @app.post("/v1/demo/token")
    async def token() -> Frame:
        return {"token": f"token-of-anon-{secrets.token_hex(8)}"}

    @app.websocket("/v1/socket")
    async def socket_endpoint(websocket: WebSocket) -> None:
        fake.loop = asyncio.get_running_loop()
        await fake.serve(websocket)

    return app


class Running:
    """The application behind a real port of this machine, in a thread of its own."""

    def __init__(self, fake: FakeGateway) -> None:
        self.serve(fake)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            log_level="error",
            ws="websockets-sansio",
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],), daemon=True)

    def serve(self, fake: FakeGateway) -> None:
        """From now on this one answers, at the same address: what browsers keep of the pages stays good."""
        self.answer_by(build(fake))

    def answer_by(self, application: ASGIApp) -> None:
        """The same for any application."""
        self._application = application

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._application(scope, receive, send)

    def __enter__(self) -> Running:
        self._thread.start()
        deadline = time.monotonic() + 60
        while not self._server.started:
            assert time.monotonic() < deadline, "the fake gateway did not start"
            assert self._thread.is_alive(), "the fake gateway ended while starting"
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(60)
        self._listening.close()


if __name__ == "__main__":
    kind, count = (sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 2 else ("theatre", 600)
    with Running(FakeGateway(make(kind, count), payment="required")) as running:
        print(f"{running.url}/e/demo")
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
