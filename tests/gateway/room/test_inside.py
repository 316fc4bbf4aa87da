"""Who is inside: what changes that without a step of the line, and what holds nothing in use."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from gateway import events as event_runtime
from gateway.room import places as places_module
from store import events
from store.room import ballot, joining
from store.words import EventState
from tests.gateway.rig import EVENT, SEATS, StandIn, gateway, scenario, until
from tests.gateway.room.lobby import call, join, make_room, open_and_draw, room_at

NOT_PLACES = ("room", "event")
MORE = ("room", "event", "place", "accepted")


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def win(conn: psycopg.Connection[Any], event: int) -> None:
    """As the owner does when the ballot is over: ann holds something of it."""
    conn.execute(
        "INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at)"
        " VALUES (%s, 65536, 'ann', 'ballot', 1, now() + interval '8 minutes')",
        (event,),
    )
    assert ballot.let_in(conn, event) == 1
    assert ballot.end(conn, event)


class HeldUp:
    """The first call's answer comes when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self.done, self.go_on = asyncio.Event(), asyncio.Event()
        real = getattr(module, name)

        async def first(*given: Any) -> Any:
            monkeypatch.setattr(module, name, real)
            found = await real(*given)
            self.done.set()
            await self.go_on.wait()
            return found

        monkeypatch.setattr(module, name, first)


@scenario
async def test_who_won_in_the_ballot_hears_that_they_are_inside_when_it_is_over(
    engine_urls, database_url, conn, monkeypatch
):
    monkeypatch.setattr(places_module, "INSIDE_SECONDS", 3600.0)
    event = make_room(database_url, ballot=True)
    async with gateway(engine_urls) as served, served.socket() as ann, served.socket("bob") as bob:
        for one in (ann, bob):
            await one.send({"type": "join"})
            await one.receive("place", but=NOT_PLACES)
        open_and_draw(conn, event)
        for one in (ann, bob):
            assert (await one.receive("place", but=NOT_PLACES))["position"]
        win(conn, event)
        assert (await ann.receive("place", but=NOT_PLACES))["state"] == "admitted"


@scenario
async def test_while_the_sale_is_paused_nobodys_time_inside_runs_out(engine_urls, database_url, conn):
    event = make_room(database_url)
    open_and_draw(conn, event)
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket() as ann:
        await join(served)
        call(conn, event, 1)
        events.set_state(conn, EVENT, EventState.PAUSED)
        conn.execute("UPDATE event SET paused_at = now() - interval '10 minutes'")
        for times in (
            "begun_at = now() - interval '20 minutes', until = now() - interval '5 minutes'",
            "begun_at = NULL, until = NULL, begin_by = now() - interval '5 minutes'",
        ):
            conn.execute(f"UPDATE place SET {times}")
            await room_at(served).look()
            await room_at(served).places.find("ann")
            await ann.ask(f"r{len(times)}", seats=[SEATS[0]])
            answer = await ann.receive("decision", "error", but=MORE)
            assert answer["type"] == "decision", answer


@scenario
async def test_a_sale_that_is_over_is_not_in_use_because_somebody_was_inside(engine_urls, database_url, conn):
    event = make_room(database_url)
    open_and_draw(conn, event)
    async with gateway(engine_urls) as served:
        await join(served)
        call(conn, event, 1)
        room = room_at(served)
        await room.places.find("ann")
        assert room.in_use
        events.set_state(conn, EVENT, EventState.CLOSED)
        await room.look()
        await until(lambda: not room.in_use)


@scenario
async def test_what_was_read_before_a_buyer_joined_does_not_make_them_forgotten(
    engine_urls, database_url, conn, monkeypatch
):
    event = make_room(database_url)
    held_up = HeldUp(monkeypatch, joining, "read")
    async with gateway(engine_urls) as served, served.socket() as ann:
        await held_up.done.wait()
        await ann.send({"type": "join"})
        assert (await ann.receive("place", but=NOT_PLACES))["position"] is None
        held_up.go_on.set()
        await until(lambda: not room_at(served).places.asked)
        open_and_draw(conn, event)
        assert (await ann.receive("place", but=NOT_PLACES))["position"] == 1


@pytest.mark.parametrize("what", ["draw", "ballot"])
@scenario
async def test_what_was_read_before_all_changed_is_read_again(
    engine_urls, database_url, conn, monkeypatch, what
):
    monkeypatch.setattr(places_module, "INSIDE_SECONDS", 3600.0)
    event = make_room(database_url, ballot=True)
    async with gateway(engine_urls) as here, gateway(engine_urls) as there:
        await join(here)
        if what == "ballot":
            open_and_draw(conn, event)
        held_up = HeldUp(monkeypatch, joining, "read")
        async with there.socket() as ann:
            await held_up.done.wait()
            if what == "draw":
                open_and_draw(conn, event)
            else:
                win(conn, event)
            await room_at(there).look()
            held_up.go_on.set()
            while True:
                told = await ann.receive("place", but=NOT_PLACES)
                if told["position"] and (what == "draw" or told["state"] == "admitted"):
                    break


@scenario
async def test_whom_the_room_told_that_the_sale_has_begun_is_not_told_otherwise(
    engine_urls, database_url, conn, monkeypatch
):
    monkeypatch.setattr(event_runtime, "ROW_SECONDS", 3600.0)
    event = make_room(database_url, ballot=True)
    async with gateway(engine_urls) as served, served.socket() as ann:
        open_and_draw(conn, event)
        while (await ann.receive("room"))["ballot"] != "deciding":
            pass
        await ann.send({"type": "request", "id": "ballot", "seats": [SEATS[0]], "again": True})
        assert (await ann.receive("error", but=MORE))["code"] == "ballot_running"
