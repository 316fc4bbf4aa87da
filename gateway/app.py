"""The one ASGI callable: hot paths are answered here, the rest goes to FastAPI."""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
from typing import Any

import uvicorn

from gateway import http_protocol
from gateway.api import create_api
from gateway.buyers import socket
from gateway.listening import listen
from gateway.live import socket as live
from gateway.payments import notices
from gateway.protocol import SocketProtocol
from gateway.runtime import Runtime
from gateway.settings import Settings
from gateway.turns import new_event_loop
from notifier.hub import Message

log = logging.getLogger("onsale.gateway")

SOCKET_PATH = "/v1/socket"
FRAME_BYTES_MAX = 64 * 1024
"""Above this the connection is closed (1009); frames above 16 KiB are answered with an error."""
PING_SECONDS = 20.0
GRACE_SECONDS = 10
FILES_BESIDE_SOCKETS = 1_000
GC_THRESHOLDS = (50_000, 20, 100)


class Gateway:
    """ASGI 3. The lifespan is FastAPI's; the runtime it makes serves both."""

    def __init__(self, settings: Settings) -> None:
        self.api = create_api(settings)

    @property
    def runtime(self) -> Runtime:
        runtime: Runtime = self.api.state.runtime
        return runtime

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        kind = scope["type"]
        if kind == "websocket":
            if scope["path"] == SOCKET_PATH:
                await socket.serve(self.runtime, scope, receive, send)
            elif scope["path"] == live.PATH:
                await live.serve(self.runtime, scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": 4404})
            return
        if kind == "http" and scope["method"] in ("GET", "POST"):
            provider = notices.provider_in(scope["path"]) if scope["method"] == "POST" else None
            if provider is not None:
                await self.runtime.payments.notices.serve(provider, scope, receive, send)
                return
            called = http_protocol.called(scope["method"], scope["path"])
            if called is not None:
                await http_protocol.serve(self.runtime, *called, scope, receive, send)
                return
        await self.api(scope, receive, send)


def server_of(settings: Settings) -> uvicorn.Server:
    """A server as the hot path needs it (see docs/protocol.md for its bounds)."""
    config = uvicorn.Config(
        Gateway(settings),
        host=settings.host,
        port=settings.port,
        loop="asyncio",  # uvloop takes one connection per turn: a storm's p99 was 20 times asyncio's
        http=http_protocol.HttpProtocol,
        ws=SocketProtocol,
        ws_max_size=FRAME_BYTES_MAX,
        ws_per_message_deflate=False,
        proxy_headers=False,  # who comes from where is read by gateway.addresses
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        backlog=4096,
        access_log=False,
        log_config=None,
        log_level="warning",
        timeout_graceful_shutdown=GRACE_SECONDS,
        server_header=False,
    )
    return uvicorn.Server(config)


def make_room_for(files: int) -> None:
    """Raise the limit of open files of this process as far as the machine allows; often it is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = files if hard == resource.RLIM_INFINITY else min(files, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if wanted < files:
        log.warning("at most %d files may be open here, not %d: raise the hard limit (nofile)", wanted, files)


def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM; sockets are then closed with 1012. Raises `SettingNotValid`.

    Requests make no reference cycles, but thousands of sockets are much for the collector to walk:
    with its default thresholds it took about a sixth of the time of a busy gateway.
    """
    sockets = listen(settings)
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    make_room_for(settings.bounds.sockets_max + FILES_BESIDE_SOCKETS)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(server_of(settings).serve(sockets))
