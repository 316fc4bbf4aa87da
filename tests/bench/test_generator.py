"""The load generator against a bare echo: rounds, what is kept, and clients that come back."""

from __future__ import annotations

import asyncio
import json

import pytest

from bench.client import SocketBuyer, decode_head, request_frame
from bench.clients import Fleet
from bench.echo_process import echo_server
from bench.evidence import read_json
from bench.generator import GeneratorFailed, generator, mint, named_seat
from bench.orders import Mode, Orders, percentile

SECRET = "a secret of at least 32 bytes, for tests"


@pytest.fixture(scope="module")
def echo_url():
    with echo_server() as (url, _):
        yield url


def rounds(url, mode, count, sockets=20, **options):
    async def go():
        buyers = mint(SECRET, sockets)
        async with generator(url, "echo", buyers, [named_seat("s1")], mode, **options) as clients:
            return [await clients.go() for _ in range(count)]

    return asyncio.run(go())


def test_a_stampede_sends_one_request_a_socket_and_keeps_what_each_saw(echo_url):
    first, second = rounds(echo_url, Mode.STAMPEDE, 2)
    assert (first.sent, first.decided, first.unanswered) == (20, 20, 0)
    assert len(first.latencies_ns) == 20
    assert {client.buyer for client in first.seen} == {f"buyer-{number:05d}" for number in range(20)}
    ids = [ask.request_id for done in (first, second) for client in done.seen for ask in client.asks]
    assert len(ids) == 40
    assert len(set(ids)) == 2, "each round has request ids of its own"
    ask = first.seen[0].asks[0]
    assert ask.want == '{"seats":["s1"]}'
    assert ask.sent_ns[0] <= ask.decisions[0][0]


def test_a_closed_loop_goes_on_for_its_time_and_keeps_only_figures(echo_url):
    (done,) = rounds(echo_url, Mode.CLOSED_LOOP, 1, seconds=0.3, keep=False)
    assert done.decided == done.sent > 40
    assert done.unanswered == 0
    assert done.seen == []
    assert done.cpu_seconds > 0


def test_a_server_that_is_not_there_is_told_in_a_sentence(monkeypatch):
    with pytest.raises(GeneratorFailed, match="gave up"):
        rounds("http://127.0.0.1:9", Mode.IDLE, 0, sockets=1, connect_tries_max=2)


def fleet(tmp_path, **options):
    orders = Orders("ws://127.0.0.1:9/v1/socket", "small", mint(SECRET, 2), [named_seat("s1")], Mode.STAMPEDE,
                    str(tmp_path / "round"), **options)  # fmt: skip
    return Fleet(orders)


def test_request_frames_are_those_of_the_protocol(tmp_path):
    frame = request_frame("r1", named_seat("s1"))
    assert json.loads(frame) == {"type": "request", "id": "r1", "seats": ["s1"]}
    assert json.loads(request_frame("r1", named_seat("s1"), again=True))["again"] is True
    hello = read_json(SocketBuyer(fleet(tmp_path), 0).hello)
    assert (hello["type"], hello["event"]) == ("hello", "small")


def test_a_decision_nobody_asked_for_is_kept_as_strange(tmp_path):
    clients = fleet(tmp_path)
    frame = b'{"type":"decision","id":"r9","arrival":"1-0","outcome":"taken","result":{}}'
    clients.hear(clients.clients[0], decode_head(frame), frame, 5)
    assert clients.clients[0].seen.strange == [frame]


def test_percentiles_of_an_ordered_list():
    assert percentile([], 0.5) == 0.0
    assert percentile([1, 2, 3, 4], 0.5) == 3.0
    assert percentile([1, 2, 3, 4], 1.0) == 4.0


def test_a_stampede_of_several_requests_each_names_every_want_once(echo_url):
    async def go():
        wants = [named_seat(f"s{number}") for number in range(40)]
        buyers = mint(SECRET, 10)
        async with generator(echo_url, "echo", buyers, wants, Mode.STAMPEDE, requests_each=4) as clients:
            return await clients.go()

    done = asyncio.run(go())
    assert (done.sent, done.decided) == (40, 40)
    assert sorted(ask.want for client in done.seen for ask in client.asks) == sorted(
        named_seat(f"s{number}") for number in range(40)
    )


def test_an_open_loop_sends_what_its_schedule_says_on_the_same_sockets(echo_url):
    async def go():
        buyers = mint(SECRET, 5)
        wants = [named_seat("s1")]
        async with generator(echo_url, "echo", buyers, wants, Mode.STAMPEDE, keep=False) as clients:
            first = await clients.go()
            return first, await clients.go(Mode.OPEN_LOOP, seconds=0.5, rate_per_second=200)

    first, opened = asyncio.run(go())
    assert first.sent == 5
    assert (opened.sent, opened.decided, opened.unanswered) == (100, 100, 0)
    assert len(opened.latencies_ns) == 100
    assert opened.answer_gap_ns_max > 0


class Silent(SocketBuyer):
    """A buyer whose frames go nowhere."""

    def ask(self, request_id, want, again=False):
        pass


def test_a_latency_of_an_open_loop_counts_from_when_the_request_was_due(tmp_path):
    clients = fleet(tmp_path)
    client = Silent(clients, 0)
    clients._send(client, counts_from_ns=1_000, now_ns=9_000)
    frame = b'{"type":"decision","id":"r0-1","arrival":"1-0","outcome":"taken","result":{}}'
    clients.hear(client, decode_head(frame), frame, 10_000)
    assert clients.round.latencies_ns == [9_000]
    assert client.pending == {}
    assert client.asks["r0-1"].sent_ns == [9_000]
