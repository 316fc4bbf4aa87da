"""Server-sent events: the same content as on the socket, for who has none."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from gateway.room import streams
from gateway.room.streams import Stream, Streams
from store.words import EventState
from tests.gateway.rig import WITHIN, gateway, scenario, token, until
from tests.gateway.room.lobby import ROOM, asked, join, make_room, room_at


@pytest.fixture
def event(database_url):
    return make_room(database_url)


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


class Reader:
    """A client of a stream."""

    def __init__(self, reader: asyncio.StreamReader, head: str) -> None:
        self._reader = reader
        self.head = head.lower()

    async def event(self) -> tuple[str, Any]:
        """(type, data) of the next event; what is no event is passed over."""
        kind = ""
        while True:
            line = (await asyncio.wait_for(self._reader.readline(), WITHIN)).decode().strip()
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                return kind, json.loads(line[6:])

    async def until_the_end(self) -> None:
        await asyncio.wait_for(self._reader.read(), WITHIN)


@contextlib.asynccontextmanager
async def stream(served: Any, query: str | None = None, **headers: str) -> AsyncIterator[Reader]:
    query = f"?access_token={token()}" if query is None else query
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    lines = [f"GET {ROOM}/stream{query} HTTP/1.1", "Host: x", *(f"{k}: {v}" for k, v in headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WITHIN)).decode()
    try:
        yield Reader(reader, head)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


@pytest.mark.parametrize("how", ["query", "header"])
@scenario
async def test_a_stream_tells_what_a_socket_is_told(engine_urls, event, conn, how):
    query = None if how == "query" else ""
    headers = {"Authorization": f"Bearer {token()}"} if how == "header" else {}
    async with gateway(engine_urls) as served, served.socket() as ann:
        async with stream(served, query, **headers) as events:
            assert events.head.startswith("http/1.1 200")
            assert "content-type: text/event-stream" in events.head
            assert "cache-control: no-store" in events.head
            assert await events.event() == ("room", await ann.receive("room"))
            await join(served)
            kind, place = await events.event()
            assert (kind, place["state"]) == ("place", "waiting")
            conn.execute("UPDATE room SET message = 'Soon.', message_at = now()")
            room_at(served).poke()
            while kind != "room":
                kind, told = await events.event()
            assert told["message"]["text"] == "Soon."
        await until(lambda: served.runtime.streams.open == 0)


@scenario
async def test_without_a_good_token_there_is_no_stream_and_at_the_bound_there_is_none(engine_urls, event):
    async with gateway(engine_urls, bounds={"streams_max": 1}) as served:
        answer = await served.http("GET", f"{ROOM}/stream?access_token=nonsense")
        assert (answer.status, answer.json()["code"]) == (401, "token_not_valid")
        assert (await served.http("GET", f"{ROOM}/stream")).json()["code"] == "token_required"
        async with stream(served) as events:
            await events.event()
            answer = await asked(served, "GET", "/stream")
            assert (answer.status, answer.json()["code"]) == (503, "too_many_streams")


@scenario
async def test_of_many_who_come_in_one_moment_no_more_are_let_in_than_the_bound(engine_urls, event):
    async with gateway(engine_urls, bounds={"streams_max": 2}) as served:
        await join(served)
        async with contextlib.AsyncExitStack() as opened:
            coming = [opened.enter_async_context(stream(served)) for _ in range(20)]
            heads = [events.head for events in await asyncio.gather(*coming)]
            assert sorted(head.split()[1] for head in heads) == ["200"] * 2 + ["503"] * 18
        await until(lambda: served.runtime.streams.open == 0)


@scenario
async def test_who_reads_nothing_keeps_no_stream(engine_urls, event, monkeypatch):
    monkeypatch.setattr(streams, "SEND_SECONDS_MAX", 0.1)
    async with gateway(engine_urls) as served, stream(served):
        await until(lambda: served.runtime.streams.open)
        room = room_at(served)
        big = b'{"type":"room","x":"%s"}' % (b"x" * 1_000_000)

        def more() -> bool:
            for known in room.places.connected:
                for client in known.clients:
                    client.write(big)
            return served.runtime.streams.open == 0

        await until(more)
        assert not list(room.places.connected)


@scenario
async def test_a_stream_ends_when_its_gateway_stops(engine_urls, event):
    async with gateway(engine_urls) as served:
        served.server.config.timeout_graceful_shutdown = 3600  # it need not be cut off
        reading = stream(served)
        events = await reading.__aenter__()
        await events.event()
    await events.until_the_end()
    await reading.__aexit__(None, None, None)


@scenario
async def test_a_stream_ends_with_its_token(engine_urls, event, monkeypatch):
    monkeypatch.setattr(streams, "SILENT_SECONDS_MAX", 0.02)
    async with gateway(engine_urls) as served:
        room = None
        await asked(served, "GET", "/place")
        room = room_at(served)
        told = [chunk async for chunk in Streams(1).read(room, "ann", 0.0)]
        assert told == [streams.COME_BACK]
        assert not list(room.places.connected)


@scenario
async def test_what_nobody_reads_is_bounded_and_ends_the_stream():
    reader = Stream()
    frame = b'{"type":"room"}'
    for _ in range(streams.UNREAD_MAX):
        assert reader.write(frame)
    assert not reader.write(frame)
    assert reader.slow
    assert (await reader.next()).count(b"event: room\n") == streams.UNREAD_MAX


@scenario
async def test_silence_is_broken_so_that_proxies_keep_the_connection(monkeypatch):
    monkeypatch.setattr(streams, "SILENT_SECONDS_MAX", 0.01)
    assert await Stream().next() == streams.STILL_HERE


@scenario
async def test_a_room_of_a_draft_has_a_stream_too(engine_urls, database_url):
    make_room(database_url, state=EventState.DRAFT)
    async with gateway(engine_urls) as served, stream(served) as events:
        assert (await events.event())[1]["phase"] == "draft"
