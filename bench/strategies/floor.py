"""Floors: the same server answering without booking, so that readers see what the framework costs.

`floor` is FastAPI with the same body model and answer; `floor_asgi` is an ASGI callable under the same
uvicorn with no framework at all, its answer a constant.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from bench.strategies.sale import Answer, Booking, Strategy, refused

Message = MutableMapping[str, Any]
ANSWER = b'{"outcome":"taken","seats":[],"retries":0,"deadlocks":0}'
_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(ANSWER)).encode())],
}


class Floor(Strategy):
    name = "floor"

    async def book(self, booking: Booking) -> Answer:
        return refused(booking)


async def bare(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """ASGI and nothing else."""
    if scope["type"] == "http":
        while (await receive()).get("more_body"):
            continue
        await send(_START)
        await send({"type": "http.response.body", "body": ANSWER})
        return
    await receive()
    await send({"type": "websocket.accept"})
    text = ANSWER.decode()
    while (await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": text})
