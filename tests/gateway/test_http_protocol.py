"""The short way of a POST and the stock one: the same answers, in order, on connections that stay usable."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from functools import cache

import pytest

from gateway import http_bounds
from gateway.http_protocol import Exchange, HttpProtocol
from store.words import REQUEST_BYTES_MAX
from tests.gateway.rig import EVENT, SEATS, StandIn, gateway, make_event, read_answer, scenario, token, until

PATH = f"/v1/events/{EVENT}/requests"


@pytest.fixture
def event(database_url):
    return make_event(database_url)


@pytest.fixture
def exchanges(monkeypatch):
    """Those that went the short way."""
    seen = []
    init = Exchange.__init__

    def noted(self, *given):
        seen.append(self)
        init(self, *given)

    monkeypatch.setattr(Exchange, "__init__", noted)
    return seen


token_of = cache(token)
"""A buyer's second request has the token of the first, so nobody has to look it up."""


def raw_post(key="r1", want=None, *, path=PATH, buyer="ann", **headers):
    body = json.dumps(want or {"seats": [SEATS[0]]}).encode()
    head = {"Host": "x", "Authorization": f"Bearer {token_of(buyer)}", "Idempotency-Key": key}
    head |= {"Content-Length": str(len(body))} | {name.replace("_", "-"): v for name, v in headers.items()}
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
    return "\r\n".join(lines).encode() + body


@asynccontextmanager
async def connected(served):
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    try:
        yield reader, writer
    finally:
        writer.close()
        await writer.wait_closed()


CASES = {
    "asked": ({"seats": [SEATS[1]]}, "r1", {}),
    "waited for": ({"seats": [SEATS[1]]}, "r1", {"Prefer": "wait=10"}),
    "not JSON": (b"{", "r1", {}),
    "nothing asked": ({}, "r1", {}),
    "no key": ({"seats": [SEATS[1]]}, None, {}),
    "bad key": ({"seats": [SEATS[1]]}, "a b", {}),
    "bad token": ({"seats": [SEATS[1]]}, "r1", {"Authorization": "Bearer nonsense"}),
    "no token": ({"seats": [SEATS[1]]}, "r1", {"Authorization": ""}),
    "too large": (b" " * (REQUEST_BYTES_MAX + 1), "r1", {}),
    "from a page": ({"seats": [SEATS[1]]}, "r1", {"Origin": "https://shop.example"}),
    "from elsewhere": ({"seats": [SEATS[1]]}, "r1", {"Origin": "https://other.example"}),
}


@pytest.mark.parametrize("case", CASES)
@scenario
async def test_both_ways_give_the_same_answer(engine_urls, event, exchanges, case):
    want, key, headers = CASES[case]
    answers = []
    async with (
        gateway(engine_urls, origins=frozenset({"https://shop.example"})) as served,
        StandIn(engine_urls, event),
    ):
        for stays in (True, False):
            for _ in range(2):  # a first request finds out who asks for what; a second one is a repeat
                answer = await served.post(want, key, stays=stays, **headers)
                answer.headers.pop("date", None)
                answer.headers.pop("connection", None)
                answers.append((answer.status, answer.headers, answer.body))
            assert len(exchanges) == 2
    assert all(answer == answers[0] for answer in answers[1:]), answers


@scenario
async def test_an_unknown_event_is_not_found_either_way(engine_urls, event):
    async with gateway(engine_urls) as served:
        for name in ("nowhere", "Not%20A%20Slug"):
            for stays in (True, False):
                answer = await served.post({"seats": [SEATS[0]]}, event=name, stays=stays)
                assert (answer.status, answer.json()["code"]) == (404, "event_not_found")


@scenario
async def test_a_decision_comes_with_the_answer_where_the_client_prefers_to_wait(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        answer = await served.post({"seats": [SEATS[0]]}, Prefer="respond-async, wait=5")
        assert (answer.status, answer.headers["preference-applied"]) == (200, "wait=5")
        decision = answer.json()
        assert (decision["id"], decision["outcome"]) == ("r1", "held")
        again = await served.post({"seats": [SEATS[0]]}, Prefer="wait=5")
        assert again.body == answer.body
        other = await served.post({"seats": [SEATS[1]]}, Prefer="wait=5")
        assert (other.status, other.json()["code"]) == (422, "key_reused")
        without = await served.post({"seats": [SEATS[0]]})
        assert (without.status, without.json()["arrival"]) == (202, decision["arrival"])


@scenario
async def test_a_wait_ends_with_the_arrival(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        answer = await served.post({"seats": [SEATS[0]]}, Prefer="wait=1")
        assert (answer.status, set(answer.json())) == (202, {"id", "arrival"})
        assert "preference-applied" not in answer.headers


@pytest.mark.parametrize("preference", ["wait=0", "wait=", "wait=x", "await=9", "return=minimal"])
@scenario
async def test_other_preferences_do_not_wait(engine_urls, event, preference):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        assert (await served.post({"seats": [SEATS[0]]}, Prefer=preference)).status == 202


@scenario
async def test_a_connection_is_used_again_and_again(engine_urls, event, exchanges):
    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, event),
        connected(served) as (reader, writer),
    ):
        for number in range(5):
            writer.write(raw_post(f"r{number}"))
            assert (await read_answer(reader)).json()["id"] == f"r{number}"
            writer.write(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await read_answer(reader)).status == 200
    assert len(exchanges) == 5


@scenario
async def test_pipelined_requests_are_answered_in_order_by_whichever_way(engine_urls, event, exchanges):
    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, event),
        connected(served) as (reader, writer),
    ):
        live = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
        writer.write(raw_post("r1") + raw_post("", want={}) + live + raw_post("r2") + raw_post("r3"))
        answers = [await read_answer(reader) for _ in range(5)]
        assert [answer.status for answer in answers] == [202, 400, 200, 202, 202]
        assert [answers[n].json()["id"] for n in (0, 3, 4)] == ["r1", "r2", "r3"]
    assert exchanges


@scenario
async def test_a_request_may_come_in_pieces(engine_urls, event, exchanges):
    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, event),
        connected(served) as (reader, writer),
    ):
        for byte in raw_post("r1"):
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)
        assert (await read_answer(reader)).status == 202
    assert len(exchanges) == 1


@scenario
async def test_a_body_that_is_too_large_ends_the_connection_before_it_is_read(engine_urls, event):
    async with gateway(engine_urls) as served, connected(served) as (reader, writer):
        head = raw_post(Content_Length="1000000").partition(b"\r\n\r\n")[0]
        writer.write(head + b"\r\n\r\n" + b" " * (REQUEST_BYTES_MAX + 1))
        answer = await read_answer(reader)
        assert (answer.status, answer.headers["connection"]) == (413, "close")
        assert await reader.read() == b""


@scenario
async def test_a_request_that_is_whole_has_all_the_time_it_prefers(engine_urls, event, monkeypatch):
    monkeypatch.setattr(http_bounds, "REQUEST_SECONDS_MAX", 0.05)
    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, event) as allocator,
        connected(served) as (reader, writer),
    ):
        for piece in (raw_post("warm")[:20], raw_post("warm")[20:]):  # the first arms the timer
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        assert (await read_answer(reader)).status == 202
        allocator.deciding = False
        writer.write(raw_post("r1", Prefer="wait=1"))
        assert (await read_answer(reader)).status == 202


@scenario
async def test_a_body_that_does_not_come_is_not_waited_for(engine_urls, event, exchanges, monkeypatch):
    monkeypatch.setattr(http_bounds, "REQUEST_SECONDS_MAX", 0.05)
    async with gateway(engine_urls) as served, connected(served) as (reader, writer):
        writer.write(raw_post("r1")[:-3])
        answer = await read_answer(reader)
        assert (answer.status, answer.headers["connection"]) == (408, "close")
    assert len(exchanges) == 1


@scenario
async def test_a_client_that_leaves_before_its_answer_harms_nobody(engine_urls, event, exchanges):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        async with connected(served) as (_, writer):
            writer.write(raw_post("gone", Prefer="wait=9"))
            await until(lambda: bool(exchanges) and exchanges[0].posting is not None)
        await until(lambda: exchanges[0].disconnected)
        allocator.deciding = True
        await until(lambda: exchanges[0].response_complete)
        assert (await served.post({"seats": [SEATS[2]]}, "r2", Prefer="wait=9")).status == 200


@scenario
async def test_a_gateway_that_stops_answers_first_and_says_that_the_connection_ends(
    engine_urls, event, exchanges
):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        async with connected(served) as (reader, writer):
            writer.write(raw_post("r1", Prefer="wait=9"))
            await until(lambda: any(event.intake.undecided for event in served.runtime.events.loaded()))
            served.server.should_exit = True
            await until(lambda: not exchanges[0].keep_alive)
            allocator.deciding = True
            answer = await read_answer(reader)
            assert (answer.status, answer.headers["connection"]) == (200, "close")
            assert await reader.read() == b""


@scenario
async def test_an_answer_within_one_read_leaves_no_timer_that_ends_the_next_request(
    engine_urls, event, monkeypatch
):
    timers = []
    complete = HttpProtocol.on_response_complete

    def noted(self):
        complete(self)
        timers.append(self.timeout_keep_alive_task)

    monkeypatch.setattr(HttpProtocol, "on_response_complete", noted)
    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, event) as allocator,
        connected(served) as (reader, writer),
    ):
        writer.write(raw_post("warm"))
        await read_answer(reader)
        timers.clear()
        allocator.deciding = False
        writer.write(raw_post("", want={}) + raw_post("r1", Prefer="wait=1"))
        assert (await read_answer(reader)).status == 400
        assert timers[0].cancelled()
        assert (await read_answer(reader)).status == 202
