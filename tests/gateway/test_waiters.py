"""Who waits hears the place, and of every change, with one query for all."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import psycopg
import pytest

from gateway import waiters
from gateway.waiters import Waiters
from store import waiting
from store.wire import HoldNews, encode_news, holds_channel, stream_key
from tests.gateway.rig import EVENT, StandIn, gateway, make_event, scenario, token, until

PAIR = {"best": {"quantity": 2}, "waitlist": True}
LIST = f"/v1/events/{EVENT}/waiting"


@pytest.fixture
def event(database_url):
    return make_event(database_url)


@pytest.fixture
def conn(database_url, event):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def wait(conn, event, position, buyer="ann", request_id="r1"):
    """As an allocator puts a request on the list; the entry as it is told."""
    wait_id = 1 << 16 | position
    conn.execute(
        "INSERT INTO waiting (event_id, wait_id, buyer, request_id) VALUES (%s, %s, %s, %s)",
        (event, wait_id, buyer, request_id),
    )
    conn.execute(
        "INSERT INTO ledger (event_id, batch_no, position, kind, buyer, request_id, input, outcome, result)"
        " VALUES (%s, 1, %s, 'request', %s, %s, %s, 'waitlisted', '{}')",
        (event, position, buyer, request_id, json.dumps(PAIR)),
    )
    return {"id": request_id, "wait": str(wait_id), "state": "waiting", "want": PAIR}


def offer(conn, event, position, hold_id=5 << 16, buyer="ann", request_id="r1"):
    """As an allocator makes an offer; the result as the ledger has it."""
    conn.execute(
        "INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at)"
        " VALUES (%s, %s, %s, %s, 2, to_timestamp(4000000000))", (event, hold_id, buyer, request_id),
    )  # fmt: skip
    result = {"hold": str(hold_id), "seats": ["x"], "areas": {}, "expires_at": 7, "passed_over": 0}
    conn.execute(
        "INSERT INTO ledger (event_id, batch_no, position, kind, buyer, request_id, input, outcome, result)"
        " VALUES (%s, %s, 0, 'offer', %s, %s, '{}', 'offered', %s)",
        (event, hold_id >> 16, buyer, request_id, json.dumps(result)),
    )
    conn.execute(
        "UPDATE waiting SET state = 'offered', hold_id = %s WHERE wait_id = %s", (hold_id, 1 << 16 | position)
    )
    return result


def bearer(buyer="ann"):
    return {"Authorization": f"Bearer {token(buyer)}"}


@pytest.fixture
def slow(monkeypatch):
    """Nobody is told by the poll within a test's time: only what is poked is looked at."""
    monkeypatch.setattr(waiters, "EVERY_SECONDS", 3_600.0)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(waiters, "EVERY_SECONDS", 0.05)
    monkeypatch.setattr(waiters, "LOOK_SECONDS_MIN", 0.01)


def of(served) -> Waiters:
    [loaded] = served.runtime.events.loaded()
    found: Waiters = loaded.waiters
    return found


@scenario
async def test_who_asks_hears_the_place_and_what_it_is_for_both_ways(engine_urls, event, conn, slow):
    wait(conn, event, 0, "bob")
    told = wait(conn, event, 3) | {"position": 2}
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        await ann.send({"type": "waiting"})
        assert await ann.receive("waiting") == {"type": "waiting", "of": 2, "waiting": [told]}
        answer = await served.http("GET", LIST, headers=bearer())
        assert (answer.status, answer.json()) == (200, {"of": 2, "waiting": [told]})
        assert (await served.http("GET", LIST, headers=bearer("cat"))).json() == {"of": 2, "waiting": []}
        assert (await served.http("GET", LIST)).status == 401


@scenario
async def test_a_place_that_moved_up_is_told_by_the_poll_and_one_that_did_not_is_not(
    engine_urls, event, conn, quick
):
    wait(conn, event, 0, "bob")
    wait(conn, event, 1)
    async with gateway(engine_urls) as served, served.socket("ann") as ann, served.socket("bob") as bob:
        for one, place in ((ann, 2), (bob, 1)):
            await one.send({"type": "waiting"})
            assert (await one.receive("waiting"))["waiting"][0]["position"] == place
        before = of(served).queries
        await until(lambda: of(served).queries > before + 3)
        conn.execute("UPDATE waiting SET state = 'left' WHERE buyer = 'bob'")
        assert (await ann.receive("waiting"))["waiting"][0]["position"] == 1
        assert (await bob.receive("waiting"))["waiting"] == []
        await ann.nothing_for(0.2)


@scenario
async def test_a_list_that_is_longer_by_a_tenth_is_told_again(engine_urls, event, conn, quick):
    for number in range(20):
        wait(conn, event, number, f"b{number}")
    async with gateway(engine_urls) as served, served.socket("b0") as ann:
        await ann.send({"type": "waiting"})
        assert (await ann.receive("waiting"))["of"] == 20
        for number in (20, 21):
            wait(conn, event, number, f"b{number}")
        before = of(served).queries
        await until(lambda: of(served).queries > before + 3)
        wait(conn, event, 22, "b22")
        assert (await ann.receive("waiting"))["of"] == 23


@scenario
async def test_one_query_is_asked_for_all_who_look(engine_urls, event, conn, slow):
    for number in range(20):
        wait(conn, event, number, f"b{number}")
    async with gateway(engine_urls) as served, served.socket("ann"):
        looks = of(served)
        clients: list[Any] = [Told() for _ in range(20)]
        for number, client in enumerate(clients):
            looks.subscribe(f"b{number}", client)
        await until(lambda: all(client.frames for client in clients))
        assert looks.queries == 1
        assert [frame["waiting"][0]["position"] for (frame,) in (client.frames for client in clients)] == [
            *range(1, 21)
        ]


class Told:
    def __init__(self):
        self.frames = []

    def write(self, frame):
        self.frames.append(json.loads(frame))


@scenario
async def test_nobody_is_asked_about_while_nobody_looks(engine_urls, event, conn, quick):
    wait(conn, event, 0)
    async with gateway(engine_urls) as served:
        async with served.socket("ann") as ann:
            await ann.send({"type": "waiting"})
            await ann.receive("waiting")
        looks = of(served)
        await until(lambda: not looks._looks)
        await asyncio.sleep(0.05)  # a look may be under way
        before = looks.queries
        looks.poke("ann")
        await asyncio.sleep(0.2)
        assert looks.queries == before
        assert (looks._new, looks._poked) == (set(), set())


@scenario
async def test_an_offer_is_told_at_once_with_its_hold_and_a_lost_one_by_the_poll(
    engine_urls, event, conn, slow, monkeypatch
):
    wait(conn, event, 0)
    async with (
        gateway(engine_urls) as served,
        StandIn(engine_urls, event) as allocator,
        served.socket("ann") as ann,
        served.socket("bob") as bob,
    ):
        for one in (ann, bob):
            await one.send({"type": "waiting"})
            await one.receive("waiting")
        result = offer(conn, event, 0)
        frame = json.dumps({"type": "offer", "id": "r1", "wait": "65536", "result": result}).encode()
        await allocator.redis.publish(holds_channel(EVENT), encode_news(HoldNews("", "ann", frame)))
        assert (await ann.receive("offer"))["result"] == result
        [told] = (await ann.receive("waiting"))["waiting"]
        assert told == {
            "id": "r1", "wait": "65536", "state": "offered", "want": PAIR, "offer": result,
            "hold": {"hold": str(5 << 16), "state": "active", "expires_at": 4_000_000_000_000,
                     "extensions_left": 1},
        }  # fmt: skip
        await bob.nothing_for(0.05)
        wait(conn, event, 1, request_id="r2")
        of(served).poke("ann")
        await ann.receive("waiting")
        offer(conn, event, 1, 6 << 16, request_id="r2")  # and its news are lost
        monkeypatch.setattr(waiters, "EVERY_SECONDS", 0.05)
        of(served)._next_poll = 0.0
        of(served)._wake.set()
        assert [one["state"] for one in (await ann.receive("waiting"))["waiting"]] == ["offered"] * 2


@scenario
async def test_who_waits_by_a_decision_here_is_told_the_place_at_once(engine_urls, event, conn, slow):
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        await ann.send({"type": "waiting"})
        assert (await ann.receive("waiting"))["waiting"] == []
        wait(conn, event, 0)
        frame = b'{"type":"decision","id":"r1","arrival":"1-1","outcome":"waitlisted","result":{}}'
        served.runtime.events.loaded()[0].decided([("ann", "r1", frame)])
        assert (await ann.receive("waiting"))["waiting"][0]["position"] == 1


@scenario
async def test_what_a_buyer_does_elsewhere_is_found_by_and_by(engine_urls, event, conn, quick):
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        await ann.send({"type": "waiting"})
        await ann.receive("waiting")
        wait(conn, event, 0)
        assert (await ann.receive("waiting"))["of"] == 1


@scenario
async def test_leaving_is_told_to_all_of_the_buyers_sockets_and_wakes_the_allocator(
    engine_urls, event, conn, slow
):
    wait(conn, event, 0)
    wait(conn, event, 1, request_id="r2")
    async with (
        gateway(engine_urls) as here,
        gateway(engine_urls) as there,
        StandIn(engine_urls, event) as allocator,
        here.socket("ann") as asking,
        there.socket("ann") as far,
        here.socket("bob") as bob,
    ):
        for one in (asking, far):
            await one.send({"type": "waiting"})
            await one.receive("waiting")
        await bob.send({"type": "leave", "id": "r1"})
        refused = await bob.receive("error")
        assert (refused["code"], refused["id"]) == ("not_waiting", "r1")
        for _ in range(2):
            await asking.send({"type": "leave", "id": "r1"})
            assert await asking.receive("left", but=("waiting",)) == {"type": "left", "id": "r1"}
        assert await far.receive("left") == {"type": "left", "id": "r1"}
        [left] = (await far.receive("waiting", but=("left",)))["waiting"]
        assert (left["id"], left["position"]) == ("r2", 1)
        answer = await here.http("POST", f"{LIST}/r2/leave", headers=bearer())
        assert (answer.status, answer.json()) == (200, {"id": "r2", "state": "left"})
        none = await here.http("POST", f"{LIST}/r9/leave", headers=bearer())
        assert (none.status, none.json()["code"]) == (404, "not_waiting")
        assert conn.execute("SELECT count(*) FROM fact").fetchone() == (2,)
        assert await allocator.redis.xlen(stream_key(EVENT)) == 4  # the marker and a poke for each


@scenario
async def test_who_was_offered_something_is_told_what_to_do_instead(engine_urls, event, conn, slow):
    wait(conn, event, 0)
    offer(conn, event, 0)
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        await ann.send({"type": "leave", "id": "r1"})
        refused = await ann.receive("error")
        assert (refused["code"], refused["id"]) == ("offered", "r1")
        assert "Buy it or give it back" in refused["message"]
        answer = await served.http("POST", f"{LIST}/r1/leave", headers=bearer())
        assert (answer.status, answer.json()["code"]) == (409, "offered")


@scenario
async def test_without_the_database_http_says_so_and_sockets_are_told_when_it_is_back(
    engine_urls, event, conn, slow, monkeypatch
):
    wait(conn, event, 0)
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        line = waiting.line

        async def away(*_):
            raise psycopg.OperationalError("away")

        monkeypatch.setattr(waiting, "line", away)
        await ann.send({"type": "waiting"})
        answer = await served.http("GET", LIST, headers=bearer())
        assert (answer.status, answer.json()["code"]) == (503, "unavailable")
        monkeypatch.setattr(waiting, "line", line)
        assert (await ann.receive("waiting"))["of"] == 1


@scenario
async def test_too_many_who_ask_at_once_are_told_to_come_back(engine_urls, event, monkeypatch):
    monkeypatch.setattr(waiters, "ASKING_MAX", 0)
    async with gateway(engine_urls) as served:
        answer = await served.http("GET", LIST, headers=bearer())
        assert (answer.status, answer.json()["code"]) == (503, "too_many_lookups")


@scenario
async def test_the_list_is_shown_only_with_a_token_that_still_runs(engine_urls, event):
    async with gateway(engine_urls) as served, served.socket(hello={"token": token(seconds=1)}) as ann:
        frame = {"type": "waiting"}
        while frame["type"] == "waiting":
            await ann.send({"type": "waiting"})
            frame = await ann.receive()
        assert frame["code"] == "token_expired"
        assert await ann.close_code() == 4401


def test_with_more_who_look_places_are_told_less_often(monkeypatch):
    nothing: Any = None
    looks = Waiters(nothing, 1)
    now = time.monotonic()
    for number in range(10 * waiters.TOLD_PER_SECOND_MAX):
        looks.subscribe(f"b{number}", nothing)
    looks._due()
    assert looks._next_poll >= now + 10


def test_long_looks_are_followed_by_long_rests():
    assert waiters.rest_after(0.01) == waiters.LOOK_SECONDS_MIN
    assert waiters.rest_after(1.0) == waiters.REST_TIMES
