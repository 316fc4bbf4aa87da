"""The operators' API for the browser tests: the real console page, and launches that tests change.

It speaks docs/console-feed.md and what the console calls below /v1/operator; three keys, one for each role.
Each change that the console asks for is noted in `changes`, and shows in what is told next.
To look around by hand: `python -m tests.browser.fake_operators`.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from fastapi import FastAPI, Request, Response, WebSocket, WebSocketDisconnect

from gateway import pages
from store import plan as plans
from store.plan import Plan
from tests.browser import fake_office
from tests.browser.fake_gateway import HEAR_SECONDS_MAX
from tests.browser.fake_launches import Launch, three
from tests.browser.fake_records import usual

Frame = dict[str, Any]
KEYS = {
    "key-of-vera": ("vera", "viewer"),
    "key-of-otto": ("otto", "operator"),
    "key-of-olga": ("olga", "owner"),
}
COOKIE = "onsale_console"
MOVES = {"lobby": "lobby", "open": "open", "pause": "paused", "resume": "open", "close": "closed"}
MOMENTS = ("lobby_opens_at", "opens_at")
ADMISSION = {"pause": "paused", "resume": "running", "stop": "stopped"}


def problem(status: int, code: str, detail: str) -> Response:
    body = {"type": "about:blank", "status": status, "code": code, "detail": detail}
    return Response(json.dumps(body), status, media_type="application/problem+json")


def told(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value), status, {"Cache-Control": "no-store"}, media_type="application/json")


@dataclass
class FakeOperators:
    """Switches are plain attributes; what must happen on the server's loop goes through `on_loop`."""

    launches: list[Launch] = field(default_factory=three)
    needs: list[Frame] = field(default_factory=list)
    """Of all events."""
    answers: dict[str, Any] = field(default_factory=lambda: fake_office.beside() | usual())
    """What GETs of other paths answer: JSON, a `Response`, or what is called for one; `POST …`: a change, or
    what is called with its body."""
    public: dict[str, Any] = field(default_factory=fake_office.open_to_all)
    """What GETs below /v1/events answer, beside the plan and seats of demo."""
    refusing: dict[str, Response] = field(default_factory=dict)
    """Changes of these paths are refused."""
    plan: Plan = field(default_factory=fake_office.house)
    letters: str = "a" * 60
    """Each seat's state, in the plan's order."""
    serving: bool = True
    """Off: sockets are closed at once, as from a gateway that restarts."""
    session: bool = True
    """Off: every session has ended."""

    def __post_init__(self) -> None:
        self.changes: list[tuple[str, str, Frame]] = []
        self._heard = threading.Condition()
        self.turned_away = 0
        """Sockets that were closed at once."""
        self.sockets: dict[WebSocket, str | None] = {}
        self.loop: asyncio.AbstractEventLoop | None = None
        self.settings = SimpleNamespace(demo=False)

    # --- for tests ---

    def of(self, slug: str) -> Launch | None:
        return next((one for one in self.launches if one.slug == slug), None)

    def heard(self, count: int = 1) -> list[tuple[str, str, Frame]]:
        """The changes, once there are so many."""
        with self._heard:
            enough = self._heard.wait_for(lambda: len(self.changes) >= count, HEAR_SECONDS_MAX)
            assert enough, f"only {self.changes}"
        return self.changes

    def turns_away(self, count: int) -> None:
        """Returns once so many sockets were closed at once."""
        with self._heard:
            enough = self._heard.wait_for(lambda: self.turned_away >= count, HEAR_SECONDS_MAX)
            assert enough, f"only {self.turned_away} came"

    def watched(self) -> None:
        """Returns once somebody watches; pages show what they read by HTTP before."""
        with self._heard:
            assert self._heard.wait_for(lambda: self.sockets, HEAR_SECONDS_MAX), "nobody watches"

    def tell(self) -> None:
        """Tells all who watch how it stands by now, with a new point."""
        self.on_loop(self._tell_all)

    def drop_sockets(self, code: int = 1012) -> None:
        async def close() -> None:
            await asyncio.gather(*(websocket.close(code) for websocket in list(self.sockets)))

        self.on_loop(close)

    def on_loop(self, action: Any) -> None:
        """Runs what `action` gives on the server's loop, once a page has come, and waits for it."""
        with self._heard:
            assert self._heard.wait_for(lambda: self.loop is not None, HEAR_SECONDS_MAX), "no page came"
        assert self.loop is not None
        asyncio.run_coroutine_threadsafe(action(), self.loop).result(HEAR_SECONDS_MAX)

    # --- telling ---

    async def _tell_all(self) -> None:
        for websocket, event in list(self.sockets.items()):
            with suppress(WebSocketDisconnect, RuntimeError):
                if event is None:
                    await websocket.send_json(self.glance())
                elif (launch := self.of(event)) is not None:
                    await websocket.send_json(launch.point())
                    await websocket.send_json(launch.event())

    def glance(self) -> Frame:
        launches = [one.told() for one in self.launches if one.facts["state"] != "closed"]
        return {"type": "launches", "at_ms": _now_ms(), "launches": launches, "needs": self.needs}

    async def serve(self, websocket: WebSocket) -> None:
        await websocket.accept()
        known = KEYS.get(websocket.cookies.get(COOKIE, "")) if self.session else None
        if not self.serving or known is None:
            if known is None:
                await websocket.send_json({"type": "error", "code": "operator_key", "message": "Log in."})
            await websocket.close(1012 if known else 4401)
            with self._heard:
                self.turned_away += 1
                self._heard.notify_all()
            return
        try:
            await websocket.send_json({"type": "ready", "name": known[0], "role": known[1]})
            while True:
                await self._watch(websocket, json.loads(await websocket.receive_text())["event"])
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            self.sockets.pop(websocket, None)

    async def _watch(self, websocket: WebSocket, event: str | None) -> None:
        if event is None:
            await websocket.send_json(self.glance())
        elif (launch := self.of(event)) is not None:
            await websocket.send_json(launch.history())
            await websocket.send_json(launch.event())
        else:
            await websocket.send_json(
                {"type": "error", "code": "unknown_event", "message": f"There is no event {event!r}."}
            )
        with self._heard:
            self.sockets[websocket] = event
            self._heard.notify_all()

    # --- changing ---

    def who(self, request: Request) -> tuple[str, str] | None:
        return KEYS.get(request.cookies.get(COOKIE, "")) if self.session else None

    async def change(self, request: Request, path: str) -> Response:
        known = self.who(request)
        if known is None:
            return problem(401, "operator_key", "Log in with an operator key.")
        body = json.loads(await request.body() or b"{}")
        with self._heard:
            self.changes.append((request.method, path, body))
            self._heard.notify_all()
        if known[1] == "viewer":
            return problem(403, "role", "Your key may look and not change anything.")
        if path in self.refusing:
            return self.refusing[path]
        answered = self._done(path, body, request.headers.get("idempotency-key"))
        await self._tell_all()
        return answered

    def _done(self, path: str, body: Frame, key: str | None) -> Response:
        parts = path.split("/")
        launch = self.of(parts[1]) if parts[0] == "events" else None
        if parts[0] == "events" and launch is None:
            return problem(404, "unknown_event", f"There is no event {parts[1]!r}.")
        if launch is None:
            return self._answered(path, body)
        match parts[2:]:
            case [move] if move in MOVES:
                if body["seen"] != launch.facts["state"] or move not in launch.can():
                    return problem(409, "event_state", f"The event is {launch.facts['state']}.")
                launch.facts["state"] = MOVES[move]
            case ["blocks" | "unblock"] if not key:
                return problem(400, "idempotency_key_required", "Send Idempotency-Key.")
            case ["room", move] if move in ADMISSION:
                launch.facts["admission"] = ADMISSION[move]
            case ["room"] | ["room", "message" | "look"]:
                if body.get("edition", launch.edition) != launch.edition:
                    return problem(409, "room_changed", "Somebody changed the room since you looked.")
                launch.edition += 1
                launch.facts |= {name: body[name] for name in ("pace",) if name in body}
                launch.terms |= {name: body[name] for name in launch.terms if name in body}
                if "text" in body:
                    launch.facts |= {"message": body["text"], "message_at": _now_ms()}
            case ["policy"]:
                seen, body = _as_told(body.get("seen", {})), _as_told(body)
                if any(value != (launch.policy | launch.facts)[name] for name, value in seen.items()):
                    return problem(409, "event_changed", "Somebody changed it since you looked.")
                launch.policy |= {name: body[name] for name in launch.policy if name in body}
                launch.facts |= {name: body[name] for name in MOMENTS if name in body}
            case ["fleet"]:
                if body["edition"] != launch.fleet["edition"]:
                    return problem(409, "fleet_changed", "Somebody changed its workers since you looked.")
                launch.fleet |= {name: body[name] for name in ("workers", "mode")}
                launch.fleet["edition"] += 1
        return self._answered(path, body)

    def _answered(self, path: str, body: Frame) -> Response:
        found = self.answers.get(f"POST {path}", {})
        found = found(body) if callable(found) and not isinstance(found, Response) else found
        return found if isinstance(found, Response) else told(found)


def _as_told(terms: Frame) -> Frame:
    """Times are sent as text, and told in milliseconds."""
    times = {name: terms[name] for name in (*MOMENTS, "starts_at") if terms.get(name) is not None}
    return terms | {name: int(datetime.fromisoformat(at).timestamp() * 1000) for name, at in times.items()}


def _now_ms() -> int:
    return int(time.time() * 1000)


def build(fake: FakeOperators) -> FastAPI:
    """The application: the console's page as it is, and the endpoints it talks to."""
    app = FastAPI()
    app.state.runtime = SimpleNamespace(settings=fake.settings)
    app.router.routes.extend(pages.router.routes)

    @app.get("/v1/operator/session")
    async def look(request: Request) -> Response:
        return _session(fake, request)

    @app.post("/v1/operator/session")
    async def come(request: Request) -> Response:
        key = (await request.json())["key"]
        if key not in KEYS:
            return problem(
                401, "operator_key", "This is no key, or it was revoked. Ask an owner for a new one."
            )
        fake.session = True
        name, role = KEYS[key]
        answer = told({"name": name, "role": role, "events": None, "expires_at": "2030-01-01T00:00:00Z"})
        answer.set_cookie(COOKIE, key, httponly=True, samesite="strict")
        return answer

    @app.delete("/v1/operator/session")
    async def leave() -> Response:
        answer = told({})
        answer.delete_cookie(COOKIE)
        return answer

    @app.get("/v1/operator/launches")
    async def launches(request: Request, closed: bool = False) -> Response:
        if fake.who(request) is None:
            return problem(401, "operator_key", "Log in with an operator key.")
        return told(
            {
                **fake.glance(),
                "launches": [one.told() for one in fake.launches if closed or one.facts["state"] != "closed"],
            }
        )

    @app.get("/v1/events/demo/plan")
    async def plan() -> Response:
        return Response(plans.encode(fake.plan), media_type="application/json")

    @app.get("/v1/events/demo/seats")
    async def seats() -> Response:
        areas = [180 for _ in fake.plan.areas]
        return told({"batch_no": 1, "states": fake.letters, "areas": areas, "held_until": None})

    @app.get("/v1/events/{path:path}")
    async def public(path: str) -> Response:
        found = fake.public.get(path)
        return problem(404, "unknown_event", f"There is no event {path!r}.") if found is None else told(found)

    @app.get("/v1/operator/{path:path}")
    async def read(request: Request, path: str) -> Response:
        if fake.who(request) is None:
            return problem(401, "operator_key", "Log in with an operator key.")
        parts = path.split("/")
        if (
            parts[0] == "events"
            and len(parts) == 3
            and parts[2] == "launch"
            and (launch := fake.of(parts[1]))
        ):
            return told({**launch.event(), "launch": launch.told()})
        found = fake.answers.get(path)
        if found is None:
            return problem(404, "unknown_event", f"There is nothing at {path}.")
        found = found(request) if callable(found) and not isinstance(found, Response) else found
        return found if isinstance(found, Response) else told(found)

    @app.api_route("/v1/operator/{path:path}", methods=["POST", "PUT", "PATCH"])
    async def change(request: Request, path: str) -> Response:
        return await fake.change(request, path)

    @app.websocket("/v1/operator/live")
    async def live(websocket: WebSocket) -> None:
        with fake._heard:
            fake.loop = asyncio.get_running_loop()
            fake._heard.notify_all()
        await fake.serve(websocket)

    return app


def _session(fake: FakeOperators, request: Request) -> Response:
    known = fake.who(request)
    if known is None:
        return problem(401, "operator_key", "Log in with an operator key.")
    return told({"name": known[0], "role": known[1], "events": None, "expires_at": "2030-01-01T00:00:00Z"})


if __name__ == "__main__":
    from tests.browser.fake_gateway import FakeGateway, Running

    with Running(FakeGateway()) as running:
        office = FakeOperators()
        running.answer_by(build(office))
        print(f"{running.url}/console with one of {', '.join(KEYS)}")
        with suppress(KeyboardInterrupt):
            while not threading.Event().wait(1):
                if office.sockets:
                    office.tell()
