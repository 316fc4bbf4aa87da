"""When the fast gate is asked at all: never where this gateway cannot be certain."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from store import lookups
from store.wire import Delta
from store.words import Want
from tests.gateway.rig import SEATS, StandIn, gateway, make_event, scenario, until

FAR = 1 << 60


@pytest.fixture
def event(database_url):
    """An event whose first seat is sold."""
    number = make_event(database_url)
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("UPDATE seat SET state = 'sold', hold_id = 1 WHERE seat_no = 0")
    return number


@pytest.mark.parametrize("way", ["socket", "http"])
@scenario
async def test_who_has_something_undecided_is_queued(engine_urls, event, way):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        async with served.socket() as ann:
            await ann.ask("r1", seats=[SEATS[5]])
            await ann.receive("accepted")
            if way == "http":
                assert (await served.post({"seats": [SEATS[0]]}, "r2")).status == 202
            else:
                await ann.ask("r2", seats=[SEATS[0]])
                assert (await ann.receive("accepted", but=()))["id"] == "r2"


@scenario
async def test_a_gateway_that_cannot_know_refuses_nobody(engine_urls, event, monkeypatch):
    async with gateway(engine_urls) as served, served.socket():
        [loaded] = served.runtime.events.loaded()
        await until(lambda: loaded.gate(Want((SEATS[0],))))
        loaded.unsubscribed()  # nobody tells what changes
        assert loaded.gate(Want((SEATS[0],))) is None
        go_on = asyncio.Event()
        read = lookups.seat_map

        async def slowly(*given):
            await go_on.wait()
            return await read(*given)

        monkeypatch.setattr(lookups, "seat_map", slowly)
        loaded.subscribed(first=False)  # the map is being read
        assert loaded.gate(Want((SEATS[0],))) is None
        go_on.set()
        await until(lambda: loaded.gate(Want((SEATS[0],))))


@scenario
async def test_without_the_ledger_nobody_is_refused_at_the_gate(engine_urls, event, monkeypatch):
    """It may be a key that was decided: nobody can say that this is a first attempt."""
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        assert (await served.post({"seats": [SEATS[0]]}, "r1")).status == 409

        async def away(*_):
            raise psycopg.OperationalError("away")

        monkeypatch.setattr(lookups, "decisions", away)
        assert (await served.post({"seats": [SEATS[0]]}, "r2")).status == 202


@scenario
async def test_watchers_hear_of_a_blocked_seat(engine_urls, event):
    async with gateway(engine_urls) as served, served.socket(hello={"watch": True}) as ann:
        [loaded] = served.runtime.events.loaded()
        await until(lambda: loaded.following and not loaded._reloading)
        loaded.changed(Delta(loaded.watch.batch_no + 1, 0, [], [], [], [], "", [9]))
        frame = await ann.receive("seats", but=())
        assert [9, "b"] in frame["changed"]


@scenario
async def test_a_change_that_is_older_than_the_map_changes_nothing(engine_urls, event, database_url):
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("UPDATE event_cursor SET batch_no = 7")
    async with gateway(engine_urls) as served, served.socket():
        [loaded] = served.runtime.events.loaded()
        assert loaded.watch.batch_no == 7
        for batch_no in (6, 7):
            loaded.changed(Delta(batch_no, 0, [(9, FAR)], [0], [], []))
        assert loaded.seats.letters[:1] + loaded.seats.letters[9:10] == b"sa"
        loaded.changed(Delta(8, 0, [(9, FAR)], [0], [], []))
        assert loaded.seats.letters[:1] + loaded.seats.letters[9:10] == b"ah"


@scenario
async def test_a_change_that_comes_while_the_map_is_read_is_made_after_it(engine_urls, event, monkeypatch):
    async with gateway(engine_urls) as served, served.socket():
        [loaded] = served.runtime.events.loaded()
        read = lookups.seat_map

        async def and_then_a_batch(*given):
            seen = await read(*given)
            loaded.changed(Delta(1, 0, [(9, FAR)], [], [], []))
            return seen

        monkeypatch.setattr(lookups, "seat_map", and_then_a_batch)
        loaded.changed(Delta(0, 0, [], [], [], []))
        await until(lambda: loaded.watch.batch_no == 1)
        assert loaded.seats.letters[9:10] == b"h"
