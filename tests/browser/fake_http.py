"""The fake gateway over HTTP: each call is the frame that a socket would have said, its answer the one that
would have come, and the stream is a socket that hears of the waiting room alone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Header, Request, Response
from fastapi.responses import StreamingResponse

if TYPE_CHECKING:
    from tests.browser.fake_gateway import FakeGateway

Frame = dict[str, Any]
ROOM = {"join": "join", "begin": "begin", "leave": "leave_line"}
STREAMED = ("room", "place")
TOLD_TO_ALL = ("seats", "event", "plan", "room")
DECIDED_WITHIN_SECONDS = 10


class Mailbox:
    """What is said to one buyer, like a socket to those who say it."""

    def __init__(self) -> None:
        self.frames: asyncio.Queue[Frame] = asyncio.Queue()

    async def send_json(self, frame: Frame) -> None:
        await self.frames.put(frame)

    async def close(self, code: int) -> None:
        """Its end, to whoever reads."""
        await self.frames.put({"type": "closed"})


def answer_of(told: Frame) -> Response:
    """As HTTP says it."""
    frame = dict(told)
    kind = frame.pop("type")
    if kind == "accepted":
        return Response(json.dumps(frame), 202, media_type="application/json")
    if kind == "unknown":
        return Response(json.dumps({"code": "unknown_request", "detail": "Send it again."}), 404)
    if kind == "decision":
        frame["type"] = kind
    if kind != "error":
        return Response(json.dumps(frame), media_type="application/json")
    body = {"code": frame["code"], "detail": frame.get("message", "No.")}
    if "retry_after" in frame:
        return Response(json.dumps(body), 503, {"Retry-After": str(frame["retry_after"])})
    return Response(json.dumps(body), 404 if frame["code"].endswith("not_found") else 409)


class OverHttp:
    """One fake gateway's."""

    def __init__(self, fake: FakeGateway) -> None:
        self._fake = fake

    async def say(self, authorization: str, frame: Frame) -> Response:
        """Answered by the first frame that comes of it to who said it."""
        mailbox = self._enter(authorization)
        try:
            self._fake._receive_frame(frame)
            await self._fake._receive(mailbox, frame)
            while (told := await mailbox.socket.frames.get())["type"] in TOLD_TO_ALL:
                pass
            return answer_of(told)
        finally:
            self._fake.buyers.remove(mailbox)

    def _enter(self, authorization: str) -> Any:
        from tests.browser.fake_gateway import Buyer

        self._fake.loop = asyncio.get_running_loop()
        buyer = Buyer(authorization.removeprefix("Bearer token-of-"), Mailbox())  # type: ignore[arg-type]
        self._fake.buyers.append(buyer)
        return buyer

    async def stream(self, authorization: str) -> AsyncIterator[bytes]:
        """Until the client goes, or `drop_sockets`."""
        buyer = self._enter(authorization)
        try:
            assert self._fake.room is not None
            await self._fake.room.welcome(buyer)
            yield b"retry: 2000\n\n"
            while (frame := await buyer.socket.frames.get())["type"] != "closed":
                if frame["type"] in STREAMED:
                    yield f"event: {frame['type']}\ndata: {json.dumps(frame)}\n\n".encode()
        finally:
            self._fake.buyers.remove(buyer)

    def mount(self, app: FastAPI) -> None:
        fake, say = self._fake, self.say
        below = "/v1/events/{event}"

        @app.get(below)
        async def event(event: str) -> Response:
            fake.loop = asyncio.get_running_loop()
            return Response(json.dumps(fake.event()), media_type="application/json")

        @app.get(below + "/room/stream")
        async def stream(event: str, authorization: str = Header()) -> Response:
            return StreamingResponse(self.stream(authorization), media_type="text/event-stream")

        @app.get(below + "/room/wish")
        async def wish(event: str, authorization: str = Header()) -> Response:
            return await say(authorization, {"type": "wish"})

        @app.put(below + "/room/wish")
        async def file(event: str, request: Request, authorization: str = Header()) -> Response:
            return await say(authorization, {"type": "wish", "want": await request.json()})

        @app.post(below + "/room/{act}")
        async def act(event: str, act: str, request: Request, authorization: str = Header()) -> Response:
            return await say(authorization, {"type": ROOM[act], **json.loads(await request.body() or b"{}")})

        @app.post(below + "/requests")
        async def ask(
            event: str, request: Request, authorization: str = Header(), idempotency_key: str = Header()
        ) -> Response:
            want = await request.json()
            return await say(authorization, {"type": "request", "id": idempotency_key, **want})

        @app.get(below + "/requests/{name}")
        async def fate(event: str, name: str, wait_ms: int, authorization: str = Header()) -> Response:
            return await self.fate(authorization, name, wait_ms)

        @app.post(below + "/holds/{hold}/{wish}")
        async def change(
            event: str, hold: str, wish: str, request: Request, authorization: str = Header()
        ) -> Response:
            body = json.loads(await request.body() or b"{}")
            return await say(authorization, {"type": wish, "hold": hold, **body})

        @app.get(below + "/waiting")
        async def waiting(event: str, authorization: str = Header()) -> Response:
            return await say(authorization, {"type": "waiting"})

        @app.post(below + "/waiting/{name}/leave")
        async def leave(event: str, name: str, authorization: str = Header()) -> Response:
            return await say(authorization, {"type": "leave", "id": name})

    async def fate(self, authorization: str, name: str, wait_ms: int) -> Response:
        """What became of a request, once it is decided or the time is over."""
        buyer = self._enter(authorization)
        try:
            await self._fake._receive(buyer, {"type": "resume", "ids": [name]})
            found: Frame = await buyer.socket.frames.get()
            while found["type"] == "accepted" and wait_ms:
                told = await asyncio.wait_for(buyer.socket.frames.get(), DECIDED_WITHIN_SECONDS)
                found = told if told.get("id") == name else found
            return answer_of(found)
        except TimeoutError:
            return answer_of({"type": "accepted", "id": name, "arrival": "1-1"})
        finally:
            self._fake.buyers.remove(buyer)
