"""Writing to many sockets: nobody waits for a slow reader, and uvicorn's `send` is as the hub takes it."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest
import uvicorn
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from gateway.protocol import SocketProtocol
from notifier import hub as hub_module
from notifier.hub import Client, Hub, broadcast, write_now
from tests.gateway.rig import scenario, until


class Server:
    """Stands for an ASGI server whose write buffer can be full."""

    def __init__(self):
        self.full = asyncio.Event()
        self.full.set()
        self.sent = []
        self.lost = False
        self.aborted = 0
        self.transport = self

    async def send(self, message):
        await self.full.wait()
        if self.lost:
            raise OSError("gone")
        self.sent.append(message)

    def abort(self):
        self.aborted += 1


@scenario
async def test_a_message_is_written_at_once_or_not_at_all():
    server = Server()
    assert write_now(server.send, {"n": 1})
    server.full.clear()
    assert not write_now(server.send, {"n": 2})
    server.full.set()
    await asyncio.sleep(0.01)
    assert server.sent == [{"n": 1}]


@scenario
async def test_a_slow_reader_is_closed_and_told_why_once_it_reads():
    server, hub = Server(), Hub(10)
    client = hub.enter(server.send)
    server.full.clear()
    assert not client.write(b"{}")
    assert not client.write(b"{}")
    assert hub.slow_closed == 1
    server.full.set()
    await asyncio.sleep(0.01)
    assert [message["type"] for message in server.sent] == ["websocket.close"]
    assert server.sent[0]["code"] == 4409


@scenario
async def test_a_reader_that_never_reads_is_dropped():
    server, hub = Server(), Hub(10)
    client = hub.enter(server.send)
    server.full.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hub_module, "FAREWELL_SECONDS_MAX", 0.02)
        client.write(b"{}")
        await asyncio.sleep(0.1)
    assert server.aborted == 1


@scenario
async def test_writing_to_a_client_that_is_gone_is_no_error():
    server, hub = Server(), Hub(10)
    client = hub.enter(server.send)
    server.lost = True
    assert not client.write(b"{}")
    client.close(1000)
    assert client.closed


@scenario
async def test_a_hub_closes_everybody_and_is_full_at_its_bound():
    servers, hub = [Server(), Server()], Hub(2)
    clients = [hub.enter(server.send) for server in servers]
    assert hub.full
    await hub.close_all()
    assert [server.sent[0]["code"] for server in servers] == [1012, 1012]
    for client in clients:
        hub.leave(client)
    assert not hub.full


@scenario
async def test_a_broadcast_lets_others_run_between_slices():
    hub, turns = Hub(1000), 0
    clients: list[Client] = [hub.enter(Server().send) for _ in range(600)]

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await broadcast(clients, b"{}")
    counting.cancel()
    assert turns == 2


@pytest.mark.parametrize("protocol", ["websockets-sansio", SocketProtocol])
@scenario
async def test_a_slow_reader_of_uvicorn_is_closed_without_delaying_the_others(protocol):
    """Both halves of the promise `notifier.hub` builds on, on a real server and real sockets."""
    hub = Hub(10)
    frame = b'{"x":"' + b"x" * 4096 + b'"}'

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            return
        await receive()
        await send({"type": "websocket.accept"})
        client = hub.enter(send)
        while (await receive())["type"] == "websocket.receive":
            pass
        hub.leave(client)

    config = uvicorn.Config(
        app, port=0, ws=protocol, ws_per_message_deflate=False, lifespan="off", log_config=None
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.setblocking(False)
    await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
    url = f"ws://127.0.0.1:{port}/"
    async with connect(url, compression=None) as quick:
        slow = await connect(url, sock=raw, compression=None, max_queue=1)
        slow.transport.pause_reading()
        await until(lambda: len(hub.clients) == 2)
        for _ in range(2000):
            await asyncio.wait_for(broadcast(hub.clients, frame), 30)
            assert await asyncio.wait_for(quick.recv(decode=False), 30) == frame
            if hub.slow_closed:
                break
        assert hub.slow_closed == 1
        slow.transport.resume_reading()
        with contextlib.suppress(ConnectionClosed):
            while True:
                await asyncio.wait_for(slow.recv(), 30)
        assert slow.close_code == 4409
    server.should_exit = True
    await serving
