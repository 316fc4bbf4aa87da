"""What a client may make the gateway keep or wait for has a bound, before there is a request or a frame."""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
from collections.abc import AsyncIterator

import pytest

from gateway import http_bounds
from gateway.protocol import FRAGMENTS_MAX
from tests.gateway.rig import WITHIN, Served, gateway, make_event, scenario, until

UPGRADE = (
    b"GET /v1/socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
TEXT, PING, CONTINUED = 1, 9, 0


@pytest.fixture
def event(database_url):
    return make_event(database_url)


@contextlib.asynccontextmanager
async def connected(served: Served) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def to_the_end(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the other side closes, which it must."""
    answer = b""
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(WITHIN / 2):
            while piece := await reader.read(65_536):
                answer += piece
    return answer


def frame(opcode: int, payload: bytes = b"", *, last: bool = True) -> bytes:
    """A client's frame, its mask zero."""
    length = len(payload)
    size = bytes([0x80 | length]) if length < 126 else b"\xfe" + struct.pack(">H", length)
    return bytes([opcode | (0x80 if last else 0)]) + size + bytes(4) + payload


async def served_still(served: Served) -> None:
    assert (await served.http("GET", "/health/live")).status == 200


@scenario
async def test_a_head_without_end_is_refused(engine_urls, event):
    async with gateway(engine_urls) as served, connected(served) as (reader, writer):
        writer.write(b"GET /v1/events HTTP/1.1\r\nHost: x\r\n" + b"X-Flood: 0123456789abcdef\r\n" * 4_000)
        assert (await to_the_end(reader)).startswith(b"HTTP/1.1 431 ")
        await served_still(served)


@scenario
async def test_an_address_without_end_is_refused(engine_urls, event):
    async with gateway(engine_urls) as served, connected(served) as (reader, writer):
        writer.write(b"GET /" + b"a" * 100_000)
        assert (await to_the_end(reader)).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /v1/events HT",
        b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/ev",
        b"POST /v1/demo/stampede HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
        b"POST /v1/demo/stampede HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
    ],
)
@scenario
async def test_a_request_that_does_not_become_whole_is_given_up(engine_urls, event, monkeypatch, sent):
    monkeypatch.setattr(http_bounds, "REQUEST_SECONDS_MAX", 0.05)
    async with gateway(engine_urls, demo=True) as served, connected(served) as (reader, writer):
        writer.write(sent)
        answer = await to_the_end(reader)
        assert b"HTTP/1.1 408 " in answer
        assert answer.count(b"HTTP/1.1 ") == 1 + sent.count(b"\r\n\r\nGET"), "whole requests have answers"
        await served_still(served)


@scenario
async def test_a_connection_that_is_kept_waits_as_long_as_before(engine_urls, event, monkeypatch):
    monkeypatch.setattr(http_bounds, "REQUEST_SECONDS_MAX", 0.05)
    async with gateway(engine_urls) as served, connected(served) as (reader, writer):
        for _ in range(2):
            writer.write(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b'{"state":"live"}')).startswith(b"HTTP/1.1 200 ")
            await asyncio.sleep(0.1)


@scenario
async def test_a_body_larger_than_any_call_takes_is_refused_and_not_kept(engine_urls, event):
    head = b"POST /v1/demo/stampede HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    async with (
        gateway(engine_urls, demo=True) as served,
        connected(served) as (reader, writer),
    ):
        writer.write(head + b"Content-Length: 200000\r\n\r\n" + b" " * 200_000)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 413 ")
        assert b'"code":"body_too_large"' in await reader.read(1000)


@scenario
async def test_a_handshake_that_cannot_be_read_is_answered_and_forgotten(engine_urls, event):
    failed = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: failed.append(context))
    async with gateway(engine_urls) as served:
        async with connected(served) as (reader, writer):
            writer.write(UPGRADE + b"X-Many: x\r\n" * 200 + b"\r\n")
            assert (await to_the_end(reader)).startswith(b"HTTP/1.1 431 ")
        await until(lambda: not served.server.server_state.connections)
    assert not failed


@scenario
async def test_fragments_of_a_message_have_a_bound(engine_urls, event):
    async with gateway(engine_urls) as served, connected(served) as (reader, writer):
        writer.write(UPGRADE + b"\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
        writer.write(frame(TEXT, b"", last=False) + frame(CONTINUED, b"", last=False) * FRAGMENTS_MAX)
        assert (await to_the_end(reader))[2:4] == struct.pack(">H", 1009)


@scenario
async def test_pings_of_who_does_not_read_are_not_answered_for_ever(engine_urls, event):
    async with gateway(engine_urls) as served, connected(served) as (reader, writer):
        writer.write(UPGRADE + b"\r\n")
        await reader.readuntil(b"\r\n\r\n")
        (connection,) = served.server.server_state.connections
        kept = 0
        flood = frame(PING, os.urandom(100)) * 1_000
        with contextlib.suppress(TimeoutError, ConnectionError):
            for _ in range(200):  # 20 MB
                writer.write(flood)
                async with asyncio.timeout(WITHIN):
                    await writer.drain()
                kept = max(kept, connection.transport.get_write_buffer_size())
        assert kept < 400_000, "at most what one read brings above the high-water mark"
        await served_still(served)
