"""Somebody else's shop on a port of its own, with our middleware before it."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import uvicorn
from onsale_client.middleware import AdmissionRequired

HEAD = "<!doctype html><html lang=en><title>A shop</title><link rel=icon href=data:,>"
PAGE = HEAD + "<h1>Welcome, {buyer}</h1><p id=at>{at}</p>"


async def _shop(scope: Any, receive: Any, send: Any) -> None:
    at = scope["path"] + (f"?{scope['query_string'].decode()}" if scope["query_string"] else "")
    body = PAGE.format(buyer=scope["onsale"].buyer, at=at).encode()
    head = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})


class Shop:
    """Its address is known from the beginning; it is open from `open` to `close`."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def open(self, room: str, event: str, issuer: str) -> None:
        """Lets in by the keys and the page of the gateway at `room`."""
        app = AdmissionRequired(
            _shop,
            jwks_url=f"{room}/.well-known/jwks.json",
            event=event,
            audience=self.url,
            room_url=f"{room}/e/{event}",
            issuer=issuer,
        )
        self._server = uvicorn.Server(
            uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=2)
        )
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],), daemon=True)
        self._thread.start()
        deadline = time.monotonic() + 60
        while not self._server.started:
            assert time.monotonic() < deadline, "the shop did not open"
            time.sleep(0.01)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(60)
        self._listening.close()
