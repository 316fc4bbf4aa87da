"""What guards a POST and the connection it comes on, each guard on its own."""

from __future__ import annotations

import asyncio
import selectors
import socket
from typing import Any

import psycopg
import pytest

from gateway import http_bounds, turns
from gateway.buyers.posting import WAIT_SECONDS_MAX, Posting
from gateway.http_bounds import HEAD_BYTES_MAX
from gateway.http_protocol import HttpProtocol
from store import lookups
from store.wire import canonical_want
from store.words import REQUEST_BYTES_MAX, EventState, Want
from tests.gateway.rig import (
    EVENT,
    SEATS,
    WITHIN,
    Served,
    StandIn,
    gateway,
    make_event,
    read_answer,
    scenario,
    token,
    until,
)
from tests.gateway.test_http_protocol import connected, raw_post
from tests.gateway.test_intake import Told

BODY_BYTES = HEAD_BYTES_MAX + 10_000
LIVE = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def event(database_url):
    return make_event(database_url)


def the_connection(served: Served) -> HttpProtocol:
    [connection] = served.server.server_state.connections
    assert isinstance(connection, HttpProtocol)
    return connection


@scenario
async def test_a_key_that_came_under_way_while_the_ledger_was_asked_does_not_meet_the_gate(
    engine_urls, event, database_url, monkeypatch
):
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("UPDATE seat SET state = 'sold', hold_id = 1 WHERE seat_no = 0")
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        assert (await served.post({"seats": [SEATS[0]]}, "r1")).status == 409
        asked, go_on, look_up = asyncio.Event(), asyncio.Event(), lookups.decisions

        async def slowly(*given: Any) -> Any:
            asked.set()
            await go_on.wait()
            return await look_up(*given)

        monkeypatch.setattr(lookups, "decisions", slowly)
        posting = asyncio.create_task(served.post({"seats": [SEATS[0]]}, "r2"))
        await asked.wait()
        [loaded] = served.runtime.events.loaded()
        loaded.intake.submit("ann", "r2", canonical_want(Want(seats=(SEATS[0],))), Told())
        go_on.set()
        assert (await posting).status == 202


@pytest.mark.parametrize(
    ("state", "code"), [(EventState.CLOSED, "event_closed"), (EventState.LOBBY, "event_not_open")]
)
@scenario
async def test_an_event_that_is_closed_takes_no_requests(engine_urls, database_url, state, code):
    event = make_event(database_url, state=state)
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        answer = await served.post({"seats": [SEATS[0]]})
        assert (answer.status, answer.json()["code"]) == (409, code)
        assert allocator.read == []


@scenario
async def test_a_longer_wait_than_the_longest_is_the_longest(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        answer = await served.post({"seats": [SEATS[0]]}, Prefer="wait=86400")
        assert (answer.status, answer.headers["preference-applied"]) == (200, f"wait={WAIT_SECONDS_MAX}")


@scenario
async def test_a_post_is_answered_once(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        answers: list[int] = []
        headers = [(b"authorization", f"Bearer {token()}".encode()), (b"idempotency-key", b"r1")]
        body = b'{"seats":["%s"]}' % SEATS[0].encode()
        posting = Posting(
            served.runtime, EVENT, headers, body, lambda status, head, answer: answers.append(status)
        )
        posting.begin()
        await until(lambda: answers)
        posting.decided(b'{"type":"decision","id":"r1","arrival":"1-1"}')
        assert answers == [202]


@scenario
async def test_who_waits_for_a_go_ahead_gets_it(engine_urls, event):
    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, event),
        connected(served) as (reader, writer),
    ):
        head, end, body = raw_post("r1", Expect="100-continue").partition(b"\r\n\r\n")
        writer.write(head + end)
        assert (await read_answer(reader)).status == 100
        writer.write(body)
        assert (await read_answer(reader)).status == 202


@scenario
async def test_an_older_client_has_its_answer_when_the_connection_ends(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        served.server.config.timeout_keep_alive = 3600
        async with connected(served) as (reader, writer):
            writer.write(raw_post("r1", Connection="keep-alive").replace(b" HTTP/1.1", b" HTTP/1.0"))
            async with asyncio.timeout(WITHIN):
                assert b" 202 " in (await reader.read()).partition(b"\r\n")[0]


@scenario
async def test_a_post_that_would_be_a_websocket_queues_nothing(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        await served.post({"seats": [SEATS[0]]}, "first", Prefer="wait=9")
        async with connected(served) as (reader, writer):
            upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13"}
            writer.write(raw_post("r1", Sec_WebSocket_Key="AAAAAAAAAAAAAAAAAAAAAA==", **upgrade))
            async with asyncio.timeout(WITHIN):
                answer = await reader.read()
        assert b" 202 " not in answer
        await served.post({"seats": [SEATS[1]]}, "last", Prefer="wait=9")
        assert [entry.request_id for entry in allocator.read] == ["first", "last"]


@scenario
async def test_a_connection_that_is_idle_after_the_short_way_is_closed(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        served.server.config.timeout_keep_alive = 0
        async with connected(served) as (reader, writer):
            writer.write(raw_post("r1"))
            assert (await read_answer(reader)).status == 202
            async with asyncio.timeout(10):
                assert await reader.read() == b""


@scenario
async def test_a_connection_ends_with_its_last_answer_and_not_when_it_was_idle(
    engine_urls, event, monkeypatch
):
    monkeypatch.setattr(http_bounds, "REQUEST_SECONDS_MAX", 0.05)
    async with gateway(engine_urls) as served:
        served.server.config.timeout_keep_alive = 3600
        async with connected(served) as (reader, writer):
            head, end, _ = raw_post(Content_Length="1000000").partition(b"\r\n\r\n")
            writer.write(head + end + b" " * (REQUEST_BYTES_MAX + 1))
            assert (await read_answer(reader)).status == 413
            assert await reader.read() == b"", "no 408 for the rest"


@pytest.mark.skipif(not hasattr(selectors, "EpollSelector"), reason="there is no epoll")
def test_clients_are_in_the_clients_queue_for_as_long_as_they_are_connected(engine_urls, event):
    async def run() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, turns.FairLoop)
        async with gateway(engine_urls) as served:
            async with connected(served):
                await until(lambda: len(loop.client_fds) == 1)
                async with served.socket():
                    assert len(loop.client_fds) == 2
                await until(lambda: len(loop.client_fds) == 1)
            await until(lambda: not loop.client_fds)

    with asyncio.Runner(loop_factory=turns.new_event_loop) as runner:
        runner.run(asyncio.wait_for(run(), 60))


@scenario
async def test_heads_that_come_in_pieces_on_one_connection_are_not_added_up(engine_urls, event):
    padding = b"X-Padding: " + b"x" * (HEAD_BYTES_MAX // 2) + b"\r\n"
    async with gateway(engine_urls) as served, connected(served) as (reader, writer):
        for _ in range(4):
            writer.write(LIVE[:-2] + padding)
            await writer.drain()
            await until(
                lambda: (
                    the_connection(served)._head_open
                    and the_connection(served)._head_bytes > HEAD_BYTES_MAX // 2
                )
            )
            writer.write(b"\r\n")
            assert (await read_answer(reader)).status == 200


@scenario
async def test_a_long_body_in_pieces_is_not_a_long_head(engine_urls, event):
    head = b"POST /v1/demo/stampede HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    async with gateway(engine_urls, demo=True) as served, connected(served) as (reader, writer):
        writer.write(head + b"Content-Length: %d\r\n\r\n" % BODY_BYTES + b" " * (BODY_BYTES - 1))
        await until(lambda: served.server.server_state.connections and the_connection(served).cycle)
        writer.write(b"x")
        assert (await read_answer(reader)).status == 400


@scenario
async def test_a_slow_request_does_not_take_the_place_of_an_answer_that_is_owed(
    engine_urls, event, monkeypatch
):
    monkeypatch.setattr(http_bounds, "REQUEST_SECONDS_MAX", 0.05)
    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, event) as allocator,
        connected(served) as (reader, writer),
    ):
        allocator.deciding = False
        writer.write(raw_post("r1", Prefer="wait=1") + raw_post("r2")[:40])
        assert (await read_answer(reader)).status == 202
        assert (await read_answer(reader)).status == 408


KERNEL_BYTES = 65_536
"""So that little is on its way, and the gateway notices soon who does not read."""


@scenario
async def test_who_does_not_read_the_answers_to_posts_is_read_no_further(engine_urls, event):
    post = b"POST /v1/events/x/requests HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    posts_a_piece, pieces = 400, 0
    async with gateway(engine_urls) as served, connected(served) as (reader, writer):
        await until(lambda: served.server.server_state.connections)
        connection = the_connection(served)
        here, there = (one.transport.get_extra_info("socket") for one in (connection, writer))
        here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)
        there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, KERNEL_BYTES)
        while pieces < 50 and not connection.flow.read_paused:
            connection.data_received(post * posts_a_piece)
            pieces += 1
        assert connection.flow.read_paused
        assert connection.transport.get_write_buffer_size() < 100_000, "little above the high-water mark"
        for _ in range(pieces * posts_a_piece):
            assert (await read_answer(reader)).status == 401


@pytest.mark.parametrize("body_bytes", [0, BODY_BYTES])
@scenario
async def test_requests_that_are_whole_do_not_count_to_the_head_behind_them(engine_urls, event, body_bytes):
    many = LIVE * (HEAD_BYTES_MAX // len(LIVE) + 1)
    last = b"POST /v1/demo/stampede HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % body_bytes
    last += b" " * body_bytes
    async with gateway(engine_urls) as served, connected(served) as (reader, _):
        await until(lambda: served.server.server_state.connections)
        the_connection(served).data_received(many + last + LIVE[:20])
        the_connection(served).data_received(LIVE[20:])
        for _ in range(len(many) // len(LIVE)):
            assert (await read_answer(reader)).status == 200
        assert [(await read_answer(reader)).status for _ in range(2)] == [400, 200]


@scenario
async def test_a_head_without_end_behind_a_whole_request_is_refused(engine_urls, event):
    async with gateway(engine_urls) as served, connected(served):
        await until(lambda: served.server.server_state.connections)
        connection = the_connection(served)
        connection.data_received(LIVE + LIVE[:-2] + b"X-Padding: " + b"x" * HEAD_BYTES_MAX)
        assert connection.transport.is_closing()


@scenario
async def test_a_connection_is_read_no_further_while_requests_of_it_wait_for_their_turn(engine_urls, event):
    a_read, sent, waiting = 10, 500, []
    async with gateway(engine_urls) as served, connected(served) as (reader, writer):
        await until(lambda: served.server.server_state.connections)
        connection: Any = the_connection(served)
        connection.transport.max_size = a_read * len(LIVE)  # of one read of the socket
        read = connection.data_received

        def noted(data: bytes) -> None:
            read(data)
            waiting.append(len(connection.pipeline))

        connection.data_received = noted
        writer.write(LIVE * sent)
        for _ in range(sent):
            assert (await read_answer(reader)).status == 200
        assert len(waiting) >= sent // a_read
        assert max(waiting) <= a_read
