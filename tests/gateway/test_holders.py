"""What a buyer's sockets hear of holds: a minute before the end, and what the buyer did elsewhere."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import psycopg
import pytest

from gateway.holders import Holders
from notifier.hub import Client
from store import lookups
from store.lookups import Ending
from store.wire import Delta
from store.words import Micros
from tests.gateway.rig import EVENT, SEATS, StandIn, gateway, make_event, scenario, until
from tests.gateway.test_hold_changes import HOLDS, bearer, give

SOON = 30.0


@pytest.fixture
def event(database_url):
    return make_event(database_url)


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def ends_soon(hold: int, ends: int) -> dict[str, Any]:
    return {"type": "hold", "hold": str(hold), "state": "active", "expires_at": ends, "ends_soon": True}


def looks(served) -> Holders:
    """The event's holders, who from now on look only when a test says so."""
    holders: Holders = served.runtime.events.loaded()[0].holders
    return holders


@pytest.fixture(autouse=True)
def no_look_by_itself(monkeypatch):
    monkeypatch.setattr("gateway.holders.EVERY_SECONDS", 3600.0)


@scenario
async def test_the_holder_is_told_within_the_last_minute_and_once(engine_urls, event, conn):
    first = give(conn, event, 1, seats=(1,), places=0, seconds=SOON)
    give(conn, event, 2, seats=(2,), places=0, seconds=90)
    give(conn, event, 3, seats=(3,), places=0, seconds=-1)
    give(conn, event, 4, buyer="bob", seats=(4,), places=0, seconds=SOON)
    async with gateway(engine_urls) as served, served.socket("ann") as ann, served.socket("ann") as phone:
        for _ in range(2):
            await looks(served).look()
        for one in (ann, phone):
            assert await one.receive("hold") == ends_soon(1, first)
            await one.nothing_for(0.05)


@scenario
async def test_after_an_extension_the_holder_is_told_again_before_the_new_end(engine_urls, event, conn):
    first = give(conn, event, 1, seats=(1,), places=0, seconds=SOON)
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        await looks(served).look()
        assert await ann.receive("hold") == ends_soon(1, first)
        conn.execute("UPDATE hold SET expires_at = expires_at + interval '20 s'")
        await looks(served).look()
        assert await ann.receive("hold") == ends_soon(1, first + 20_000)


@pytest.mark.parametrize("on_another_gateway", [False, True])
@scenario
async def test_a_short_extension_is_told_before_its_new_end_though_later_ends_were_told(
    engine_urls, event, conn, on_another_gateway
):
    conn.execute("UPDATE event SET extension_seconds = 10")
    first = give(conn, event, 1, seats=(1,), places=0, seconds=SOON)
    give(conn, event, 2, buyer="bob", seats=(2,), places=0, seconds=SOON + 20)
    async with (
        gateway(engine_urls) as here,
        gateway(engine_urls) as there,
        StandIn(engine_urls, event),
        here.socket("ann") as ann,
        here.socket("bob") as bob,
    ):
        await looks(here).look()
        assert await ann.receive("hold") == ends_soon(1, first)
        await bob.receive("hold")
        asked = there if on_another_gateway else here
        path, wish = f"{HOLDS}/1/extend", {"expires_at": first}
        if on_another_gateway:
            await there.runtime.events.get(EVENT)
        await asked.http("POST", path, body=wish, headers=bearer())
        assert (await ann.receive("hold"))["expires_at"] == first + 10_000
        await looks(here).look()
        assert await ann.receive("hold") == ends_soon(1, first + 10_000)
        await bob.nothing_for(0.05)


@scenario
async def test_who_comes_back_while_the_database_is_away_is_told_when_it_is_back(
    engine_urls, event, conn, monkeypatch
):
    first = give(conn, event, 1, seats=(1,), places=0, seconds=SOON)
    async with gateway(engine_urls) as served, served.socket("ann") as before:
        await looks(served).look()
        await before.receive("hold")
        async with served.socket("ann") as again:
            async with served.socket("ann"):
                assert len(looks(served)._back) == 2
            await until(lambda: len(looks(served)._back) == 1)
            with monkeypatch.context() as away:
                away.setattr(lookups, "still_held", _away)
                with pytest.raises(psycopg.OperationalError):
                    await looks(served).look()
            for _ in range(2):
                await looks(served).look()
            assert await again.receive("hold") == ends_soon(1, first)
            for one in (again, before):
                await one.nothing_for(0.05)


async def _away(*_: object) -> None:
    raise psycopg.OperationalError("away")


@scenario
async def test_after_a_pause_whoever_ends_later_is_told_and_nobody_twice(engine_urls, event, conn):
    give(conn, event, 1, seats=(1,), places=0, seconds=SOON)
    last = give(conn, event, 2, buyer="bob", seats=(2,), places=0, seconds=SOON + 20)
    async with gateway(engine_urls) as served, served.socket("ann") as ann, served.socket("bob") as bob:
        await looks(served).look()
        await ann.receive("hold")
        await bob.receive("hold")
        conn.execute("UPDATE hold SET expires_at = expires_at + interval '5 s' WHERE hold_id = 1")
        looks(served).look_again()
        await looks(served).look()
        assert (await ann.receive("hold"))["ends_soon"]
        await bob.nothing_for(0.05)
        assert last


@scenario
async def test_after_an_outage_whoever_ends_later_is_told_again(engine_urls, event, conn):
    give(conn, event, 1, seats=(1,), places=0, seconds=SOON)
    give(conn, event, 2, buyer="bob", seats=(2,), places=0, seconds=SOON + 20)
    async with gateway(engine_urls) as served, served.socket("ann") as ann, served.socket("bob") as bob:
        await looks(served).look()
        await ann.receive("hold")
        await bob.receive("hold")
        conn.execute("UPDATE hold SET expires_at = expires_at + interval '5 s' WHERE hold_id = 1")
        runtime = served.runtime.events.loaded()[0]
        runtime.changed(Delta(0, 0, [], [], [], []))  # as a new owner says, and as it says after an outage
        await until(lambda: runtime._reloading is None)
        await looks(served).look()
        assert (await ann.receive("hold"))["ends_soon"]
        await bob.nothing_for(0.05)


@scenario
async def test_who_comes_back_within_the_minute_is_told_if_the_hold_still_runs(engine_urls, event, conn):
    first = give(conn, event, 1, seats=(1,), places=0, seconds=SOON)
    give(conn, event, 2, seats=(2,), places=0, seconds=SOON)
    bobs = give(conn, event, 3, buyer="bob", seats=(3,), places=0, seconds=SOON)
    async with gateway(engine_urls) as served, served.socket("ann") as before:
        await looks(served).look()
        await before.receive("hold")
        await before.receive("hold")
        conn.execute("UPDATE hold SET state = 'released' WHERE hold_id = 2")
        async with served.socket("ann") as again, served.socket("bob") as other:
            await looks(served).look()
            assert await again.receive("hold") == ends_soon(1, first)
            assert await other.receive("hold") == ends_soon(3, bobs)
            await again.nothing_for(0.05)
            await other.nothing_for(0.05)
            await before.nothing_for(0.05)


@scenario
async def test_a_look_goes_on_until_all_are_found(engine_urls, event, conn, monkeypatch):
    monkeypatch.setattr(lookups, "ENDING_MAX", 2)
    monkeypatch.setattr(lookups, "ENDING_SOON", lookups.ENDING_SOON.replace("LIMIT 5000", "LIMIT 2"))
    for number in range(1, 6):
        give(conn, event, number, seats=(number,), places=0, seconds=SOON)
    conn.execute("UPDATE hold SET expires_at = (SELECT max(expires_at) FROM hold)")
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        await looks(served).look()
        assert [(await ann.receive("hold"))["hold"] for _ in range(5)] == ["1", "2", "3", "4", "5"]


@scenario
async def test_it_looks_by_itself_while_somebody_is_there(engine_urls, event, conn, monkeypatch):
    monkeypatch.setattr("gateway.holders.EVERY_SECONDS", 0.01)
    first = give(conn, event, 1, seats=(1,), places=0, seconds=SOON)
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        assert await ann.receive("hold") == ends_soon(1, first)


class Nobody(Client):
    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def write(self, frame: bytes) -> bool:
        self.frames.append(frame)
        return True


@scenario
async def test_what_is_remembered_has_a_bound_and_ends_with_the_holds(monkeypatch):
    monkeypatch.setattr("gateway.holders.SOON_MAX", 3)
    holders = Holders(None, None, 1, EVENT, "g1")  # type: ignore[arg-type]
    ann = Nobody()
    holders.enter("ann", ann)
    holders._tell([Ending(no, "ann", Micros(100 + no), Micros(50)) for no in range(1, 6)])
    assert [json.loads(frame)["hold"] for frame in ann.frames] == ["1", "2", "3", "4", "5"]
    assert sorted(holders._told) == [3, 4, 5]
    holders._tell([Ending(9, "bob", Micros(300), Micros(200))])
    assert (sorted(holders._told), holders._told_of) == ([9], {"bob": {9}})
    holders.leave("ann", ann)
    assert holders._sockets == {}


@scenario
async def test_what_a_buyer_does_the_buyers_other_sockets_hear_on_every_gateway(engine_urls, event, conn):
    ends = give(conn, event)
    wish = {"type": "extend", "hold": "65536", "expires_at": ends}
    told = {"type": "hold", "hold": "65536", "state": "active", "expires_at": ends + 120_000,
            "extensions_left": 0}  # fmt: skip
    async with (
        gateway(engine_urls) as here,
        gateway(engine_urls) as there,
        StandIn(engine_urls, event),
        here.socket("ann") as asking,
        here.socket("ann") as beside,
        there.socket("ann") as far,
        there.socket("bob") as bob,
    ):
        await asking.send(wish)
        for one in (asking, beside, far):
            assert await one.receive("hold") == told
        path = f"{HOLDS}/65536/release"
        await here.http("POST", path, body={"seats": [SEATS[1]]}, headers=bearer())
        for one in (asking, beside, far):
            assert (await one.receive("hold"))["seats"] == [SEATS[2]]
        await asking.send({"type": "confirm", "hold": "65536"})
        for one in (asking, beside, far):
            assert await one.receive("hold") == {"type": "hold", "hold": "65536", "state": "paid"}
        for one in (asking, beside, far, bob):
            await one.nothing_for(0.05)


@scenario
async def test_after_a_move_the_buyers_sockets_hear_of_both_holds(engine_urls, event):
    result = '{"hold":"131072","seats":["a"],"areas":{"moved":1},"expires_at":7,"moved":"65536"}'
    frame = f'{{"type":"decision","id":"r","arrival":"1-1","outcome":"held","result":{result}}}'.encode()
    async with gateway(engine_urls) as here, here.socket("ann") as ann, here.socket("bob") as bob:
        here.runtime.events.loaded()[0].decided([("ann", "r", frame)])
        assert await ann.receive("hold") == {"type": "hold", "hold": "65536", "state": "released"}
        assert await ann.receive("hold") == {
            "type": "hold", "hold": "131072", "state": "active", "expires_at": 7, "seats": ["a"],
            "areas": {"moved": 1},
        }  # fmt: skip
        other = frame.replace(b',"moved":"65536"', b"")
        here.runtime.events.loaded()[0].decided([("ann", "r", other), ("ann", "r", b'{"moved":1,')])
        for one in (ann, bob):
            await one.nothing_for(0.05)


@scenario
async def test_the_way_to_other_gateways_may_fail_and_nobody_here_notices(engine_urls, event, caplog):
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        holders = looks(served)

        async def away(*_: object) -> None:
            raise OSError("away")

        holders._redis = type("Away", (), {"publish": staticmethod(away)})()
        holders.tell("ann", b'{"type":"hold"}')
        assert await ann.receive("hold") == {"type": "hold"}
        await until(lambda: "were not told of a hold" in caplog.text)
        await asyncio.sleep(0)
