"""The short way in and out of `gateway/protocol.py`, held to what uvicorn's and websockets' own way does."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.utils import ClientDisconnected
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from gateway import protocol as protocol_module
from gateway.protocol import EXTENSION, SocketProtocol
from notifier import hub as hub_module
from notifier.hub import Hub
from tests.gateway.rig import scenario, until

FRAME = b'{"x":"' + b"x" * 4096 + b'"}'


class Served:
    """Accepts sockets and does nothing with them; tests write to them as the gateway does."""

    def __init__(self, on_text: Callable[[str], bool] | None = None) -> None:
        self.hub = Hub(10)
        self.protocols: list[SocketProtocol] = []
        self.received: list[Any] = []
        self.listening = asyncio.Event()
        self.on_text = on_text

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        await receive()
        await send({"type": "websocket.accept"})
        protocol = scope["extensions"][EXTENSION]["protocol"]
        protocol.on_text = self.on_text
        self.protocols.append(protocol)
        client = self.hub.enter(send, protocol.write_text)
        await self.listening.wait()
        while (message := await receive())["type"] == "websocket.receive":
            self.received.append(message.get("text", message.get("bytes")))
        self.hub.leave(client)

    @contextlib.asynccontextmanager
    async def at(self) -> AsyncIterator[str]:
        config = uvicorn.Config(
            self, port=0, ws=SocketProtocol, ws_per_message_deflate=False, lifespan="off", log_config=None
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        await until(lambda: server.started)
        try:
            yield f"ws://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
        finally:
            self.listening.set()
            server.should_exit = True
            await serving


async def narrow(url: str) -> Any:
    """A client that has little room for what it does not read."""
    host, _, port = url.removeprefix("ws://").rstrip("/").partition(":")
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.setblocking(False)
    await asyncio.get_running_loop().sock_connect(raw, (host, int(port)))
    return await connect(url, sock=raw, compression=None, max_queue=1)


async def close_code(client: Any) -> int | None:
    with contextlib.suppress(ConnectionClosed):
        while True:
            await asyncio.wait_for(client.recv(), 30)
    code: int | None = client.close_code
    return code


@scenario
async def test_frames_of_every_length_arrive_as_they_were_written():
    served = Served()
    served.listening.set()
    texts = ["x" * length for length in (0, 1, 125, 126, 127, 65_535, 65_536, 70_000)] + ["Zoë ♥"]
    async with served.at() as url, connect(url, compression=None) as client:
        await until(lambda: served.protocols)
        for text in texts:
            assert served.protocols[0].write_text(text.encode())
            assert await asyncio.wait_for(client.recv(), 30) == text


@scenario
async def test_a_slow_reader_is_closed_when_frames_go_the_short_way():
    served = Served()
    served.listening.set()
    async with served.at() as url:
        slow = await narrow(url)
        slow.transport.pause_reading()
        await until(lambda: served.hub.clients)
        [client] = served.hub.clients
        for _ in range(2_000):
            if not client.write(FRAME):
                break
            await asyncio.sleep(0)
        assert served.hub.slow_closed == 1
        slow.transport.resume_reading()
        assert await close_code(slow) == 4409


@scenario
async def test_nothing_follows_a_close_frame():
    served = Served()
    served.listening.set()
    async with served.at() as url, connect(url, compression=None) as client:
        await until(lambda: served.hub.clients)
        [written_to] = served.hub.clients
        written_to.close(4401, "over")
        with pytest.raises(ClientDisconnected):
            served.protocols[0].write_text(b"{}")
        assert await close_code(client) == 4401


@scenario
async def test_of_too_many_slow_readers_one_is_dropped_without_a_word(monkeypatch):
    monkeypatch.setattr(hub_module, "FAREWELLS_MAX", 0)
    served = Served()
    served.listening.set()
    async with served.at() as url:
        slow = await narrow(url)
        slow.transport.pause_reading()
        await until(lambda: served.hub.clients)
        [client] = served.hub.clients
        for _ in range(2_000):
            if not client.write(FRAME):
                break
            await asyncio.sleep(0)
        slow.transport.resume_reading()
        assert await close_code(slow) == 1006


@scenario
async def test_a_client_that_sends_while_nobody_listens_is_read_no_further(monkeypatch):
    monkeypatch.setattr(protocol_module, "QUEUED_MAX", 4)
    served = Served()
    async with served.at() as url, connect(url, compression=None) as client:
        await until(lambda: served.protocols)
        protocol = served.protocols[0]
        for n in range(4):
            await client.send(str(n))
        await until(lambda: protocol.queue.qsize() == 4)
        assert protocol.read_paused
        for n in range(4, 50):
            await client.send(str(n))
        assert protocol.queue.qsize() == 4
        served.listening.set()
        await until(lambda: len(served.received) == 50)
        assert served.received == [str(n) for n in range(50)]


@scenario
async def test_a_frame_is_handled_where_it_is_read_unless_it_must_wait_and_then_all_behind_it_wait():
    taken: list[str] = []

    def on_text(text: str) -> bool:
        if text == "wait":
            return False
        taken.append(text)
        return True

    served = Served(on_text)
    async with served.at() as url, connect(url, compression=None) as client:
        for text in ("one", "two", "wait", "three"):
            await client.send(text)
        await until(lambda: served.protocols and served.protocols[0].queue.qsize() == 2)
        assert taken == ["one", "two"]
        served.listening.set()
        await until(lambda: len(served.received) == 2)
        assert served.received == ["wait", "three"]


@scenario
async def test_text_that_is_not_utf_8_ends_the_connection():
    served = Served()
    served.listening.set()
    async with served.at() as url, connect(url, compression=None) as client:
        await client.send(b"\xff\xfe", text=True)
        assert await close_code(client) == 1007
