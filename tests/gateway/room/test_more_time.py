"""More time to begin and to shop, as buyers ask for it: on the socket and over HTTP, at any gateway."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from store.words import EventState
from tests.gateway.rig import gateway, scenario
from tests.gateway.room.lobby import asked, call, join, make_room, room_at

NOT_PLACES = ("room", "seats", "event")


@pytest.fixture
def conn(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def opened(database_url: str) -> int:
    """A line that is open: first come, first served."""
    return make_room(database_url, state=EventState.OPEN, policy="fifo", shopping_seconds=601)


@scenario
async def test_more_time_on_the_socket_and_at_the_other_gateway(engine_urls, opened, conn):
    async with gateway(engine_urls) as one, gateway(engine_urls) as another, one.socket() as ann:
        await ann.send({"type": "join"})
        waits = await ann.receive("place", but=NOT_PLACES)
        assert (waits["more_left"], waits["more_seconds"]) == (0, 0)
        call(conn, opened, 1)
        turn = await ann.receive("place", but=NOT_PLACES)
        assert (turn["more_left"], turn["more_seconds"]) == (3, 180)
        for _ in range(2):  # the second as if the first had not been answered
            await ann.send({"type": "more_time", "end": turn["begin_by"]})
            given = await ann.receive("place", but=NOT_PLACES)
            assert (given["begin_by"] - turn["begin_by"], given["more_left"]) == (180_000, 2)
        begun = (await asked(another, "POST", "/begin")).json()
        assert (begun["more_left"], begun["more_seconds"]) == (3, 300)
        assert (await ann.receive("place", but=NOT_PLACES))["until"] == begun["until"]
        longer = (await asked(another, "POST", "/more-time", body={"end": begun["until"]})).json()
        assert (longer["until"] - begun["until"], longer["more_left"]) == (300_000, 2)
        assert (await ann.receive("place", but=NOT_PLACES))["until"] == longer["until"]


@scenario
async def test_seats_are_asked_for_as_long_as_it_was_made(engine_urls, opened, conn):
    async with gateway(engine_urls) as served:
        await join(served)
        call(conn, opened, 1)
        begun = (await asked(served, "POST", "/begin")).json()
        longer = (await asked(served, "POST", "/more-time", body={"end": begun["until"]})).json()
        known = room_at(served).places.get("ann")
        assert known is not None
        assert known.inside_until // 1000 == longer["until"]


@scenario
async def test_who_has_no_turn_is_told_what_to_do(engine_urls, opened, conn):
    async with gateway(engine_urls) as served, served.socket() as ann:
        answer = await asked(served, "POST", "/more-time", body={"end": 1})
        assert (answer.status, answer.json()["code"]) == (404, "no_place")
        await ann.send({"type": "join"})
        await ann.receive("place", but=NOT_PLACES)
        for words in ({}, {"end": "soon"}, {"end": -1}, {"end": 1, "by": 5}):
            answer = await asked(served, "POST", "/more-time", body=words)
            assert (answer.status, answer.json()["code"]) == (400, "bad_body")
        await ann.send({"type": "more_time", "end": 1})
        refused = await ann.receive("error", but=NOT_PLACES)
        assert (refused["code"], "Keep your place" in refused["message"]) == ("not_admitted", True)
        assert (await asked(served, "POST", "/more-time", body={"end": 1})).status == 403


@scenario
async def test_what_there_is_no_more_of_is_refused(engine_urls, opened, conn):
    conn.execute("UPDATE room SET more_begin_max = 0")
    async with gateway(engine_urls) as served:
        await join(served)
        call(conn, opened, 1)
        place = (await asked(served, "POST", "/more-time", body={"end": 1})).json()
        assert place["more_left"] == 0
        answer = await asked(served, "POST", "/more-time", body={"end": place["begin_by"]})
        assert (answer.status, answer.json()["code"]) == (409, "no_more_time")
        assert "Begin now" in answer.json()["detail"]
