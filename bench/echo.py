"""A bare websocket echo: the gateway's own server, options and frames, and no work at all.

Hello is answered by a welcome; a request by a decision frame of usual size with the request's id. What
it reaches is what this machine, the server and the load generator can do; onsale is measured against it:
as any ASGI application would echo, and by the short way that the gateway itself takes.
Run as `python -m bench.echo PORT`.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from gateway.app import server_of
from gateway.protocol import EXTENSION
from gateway.settings import Settings
from gateway.turns import new_event_loop
from store.settings import EngineUrls

SHORT_WAY = "echo-short"
"""The event a hello names to be echoed by the gateway's short way (`gateway/protocol.py`) instead of ASGI."""
WELCOME = '{"type":"welcome","event":{"slug":"echo"},"buyer":"echo"}'
TAIL = '","arrival":"1763720000000-4","outcome":"taken","result":{"taken":["stalls-C-12"]}}'
_ID = re.compile(r'"id":"([^"]*)"')

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


async def app(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
    """One connection."""
    if scope["type"] != "websocket":
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        return
    await receive()
    await send({"type": "websocket.accept"})
    hello = (await receive()).get("text") or ""
    await send({"type": "websocket.send", "text": WELCOME})
    if SHORT_WAY in hello:
        protocol = scope["extensions"][EXTENSION]["protocol"]
        protocol.on_text = lambda text: bool(protocol.write_text(_answer(text).encode())) or True
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": _answer(message.get("text") or "")})


def _answer(text: str) -> str:
    found = _ID.search(text)
    return f'{{"type":"decision","id":"{found[1] if found else ""}{TAIL}'


def main(port: int) -> None:
    """Serve on loopback until ended."""
    nowhere = EngineUrls("postgresql://127.0.0.1:1/none", "redis://127.0.0.1:1/0")
    server = server_of(Settings(nowhere, port=port, token_secret="never used by the echo, 32 bytes"))
    server.config.app = app
    server.config.lifespan = "off"
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(server.serve())


if __name__ == "__main__":
    main(int(sys.argv[1]))
