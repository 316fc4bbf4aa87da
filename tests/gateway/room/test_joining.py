"""Joining at a gateway: many share a transaction, an answer is durable, and there is one place for each."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from gateway.room import joining
from gateway.room.joining import Joins
from store import lookups
from store.room import joining as rows
from store.room import rooms
from store.room.words import RoomTerms
from store.words import EventState
from tests.gateway.rig import EVENT, gateway, make_event, scenario, token, until
from tests.gateway.room.lobby import ROOM, asked, go_to, join, make_room, places_of, room_at

WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


@pytest.fixture
def event(database_url):
    return make_room(database_url)


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


class Answers(list[Any]):
    def then(self, place, error):
        self.append((place, error))

    @property
    def errors(self):
        return [getattr(error, "code", "unavailable") for place, error in self if place is None]


@pytest.fixture
def joins(database_url, event):
    """One event's joins, to be used in a test's own loop."""

    def made(pool, waiting_max=1_000):
        return Joins(pool, event, waiting_max, lambda places, began: None)

    return made


def pool_of(database_url):
    return lookups.open_pool(database_url, size_max=4)


@pytest.mark.parametrize("stays", [True, False])
@scenario
async def test_who_joins_has_a_place_on_disk_when_it_is_answered(engine_urls, event, conn, stays):
    async with gateway(engine_urls) as served:
        answer = await join(served, stays=stays)
        assert answer.status == 200
        place = answer.json()
        assert place["place"] == str(places_of(conn, event)["ann"])
        assert place | {"place": "", "joined_at": 0, "token": ""} == {
            "place": "",
            "lane": "ordinary",
            "state": "waiting",
            "position": None,
            "joined_at": 0,
            "admitted_at": None,
            "begin_by": None,
            "begun_at": None,
            "until": None,
            "more_left": 0,
            "more_seconds": 0,
            "token": "",
        }
        assert answer.headers["cache-control"] == "no-store"


@scenario
async def test_there_is_one_place_however_often_and_wherever_a_buyer_joins(engine_urls, event, conn):
    async with gateway(engine_urls) as here, gateway(engine_urls) as there:
        answers = await asyncio.gather(*(join(one) for one in (here, there) * 5))
        assert len({answer.json()["place"] for answer in answers}) == 1
        assert len(places_of(conn, event)) == 1


@scenario
async def test_on_the_socket_the_answer_is_a_place_frame_that_all_sockets_of_the_buyer_get(
    engine_urls, event
):
    async with gateway(engine_urls) as served, served.socket() as ann, served.socket() as phone:
        await ann.send({"type": "join"})
        place = await ann.receive("place", but=("room",))
        assert (await phone.receive("place", but=("room",)))["place"] == place["place"]
        await ann.send({"type": "join"})
        assert (await ann.receive("place", but=("room",)))["place"] == place["place"]


@scenario
async def test_those_who_ask_in_one_moment_share_a_transaction(database_url, event, joins, conn):
    async with pool_of(database_url) as pool:
        some, answers = joins(pool), Answers()
        for number in range(500):
            some.ask(f"buyer-{number}", None, answers.then)
        await until(lambda: len(answers) == 500)
        assert some.groups == 1
        assert len(places_of(conn, event)) == 500
        rows = conn.execute("SELECT count(DISTINCT xmin::text) FROM place").fetchone()
        assert rows == (1,)


@scenario
async def test_a_transaction_has_a_bounded_number_of_joins_and_one_is_under_way(
    database_url, joins, conn, monkeypatch
):
    monkeypatch.setattr(joining, "JOINS_MAX", 10)
    under_way, most = 0, 0
    once = rows.join

    async def watched(connection, event_id, group):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        assert len(group) <= 10
        try:
            return await once(connection, event_id, group)
        finally:
            under_way -= 1

    monkeypatch.setattr(rows, "join", watched)
    async with pool_of(database_url) as pool:
        some, answers = joins(pool), Answers()
        for number in range(25):
            some.ask(f"buyer-{number}", None, answers.then)
        await until(lambda: len(answers) == 25)
        assert (some.groups, most) == (3, 1)


@scenario
async def test_nobody_is_answered_before_it_is_committed(engine_urls, event, conn):
    """Somebody has the room's row: the join waits for it, and so does its answer."""
    async with gateway(engine_urls) as served, served.socket() as ann:
        await ann.receive("room")
        with psycopg.connect(engine_urls.database_url) as other:
            other.execute("SELECT 1 FROM room FOR NO KEY UPDATE")
            await ann.send({"type": "join"})
            await until(lambda: len(conn.execute(WAITING).fetchall()) == 1)
            await ann.nothing_for(0.05)
            other.rollback()
        await ann.receive("place", but=("room",))


@scenario
async def test_a_cut_commit_is_found_out_and_answered_with_the_one_place(
    database_url, event, joins, conn, monkeypatch
):
    """The connection is cut after COMMIT was done and before its answer was read."""
    once = rows.join
    cut: list[Any] = []

    async def cut_once(connection, event_id, group):
        places = await once(connection, event_id, group)
        if not cut:
            cut.append(places)
            raise psycopg.OperationalError("the connection was cut")
        return places

    monkeypatch.setattr(rows, "join", cut_once)
    async with pool_of(database_url) as pool:
        some, answers = joins(pool), Answers()
        some.ask("ann", None, answers.then)
        await until(lambda: answers)
        assert answers == [(cut[0]["ann"], None)]
        assert places_of(conn, event) == {"ann": cut[0]["ann"].id}


@scenario
async def test_a_join_that_was_committed_counts_though_the_event_closed_before_it_was_found_out(
    database_url, event, joins, conn, monkeypatch
):
    once = rows.join

    async def cut_and_closed(connection, event_id, group):
        monkeypatch.setattr(rows, "join", once)
        await once(connection, event_id, group[:1])
        go_to(conn, EventState.CLOSED)
        raise psycopg.OperationalError("the connection was cut")

    monkeypatch.setattr(rows, "join", cut_and_closed)
    async with pool_of(database_url) as pool:
        some, answers = joins(pool), Answers()
        some.ask("ann", None, answers.then)
        some.ask("bob", None, answers.then)
        await until(lambda: len(answers) == 2)
        assert [place and place.buyer for place, _ in answers] == ["ann", None]
        assert answers.errors == ["room_closed"]


@scenario
async def test_a_backend_that_is_ended_costs_nobody_the_place(engine_urls, event, conn):
    async with gateway(engine_urls) as served, served.socket() as ann:
        await ann.receive("room")
        with psycopg.connect(engine_urls.database_url) as other:
            other.execute("SELECT 1 FROM room FOR NO KEY UPDATE")
            await ann.send({"type": "join"})
            await until(lambda: conn.execute(WAITING).fetchall())
            ((pid,),) = conn.execute(WAITING).fetchall()
            conn.execute("SELECT pg_terminate_backend(%s)", (pid,))
            await until(lambda: (pid,) not in conn.execute(WAITING).fetchall())
            other.rollback()
        await ann.receive("place", but=("room",))
        assert len(places_of(conn, event)) == 1


@scenario
async def test_who_waited_long_enough_is_told_that_nobody_knows(database_url, joins, monkeypatch):
    async def away(*_):
        raise psycopg.OperationalError("away")

    monkeypatch.setattr(rows, "join", away)
    monkeypatch.setattr(joining, "JOINING_SECONDS_MAX", 0.05)
    async with pool_of(database_url) as pool:
        some, answers = joins(pool), Answers()
        some.ask("ann", None, answers.then)
        await until(lambda: answers)
        assert answers.errors == ["outcome_unknown"]
        assert some.waiting == 0


@scenario
async def test_a_fault_of_ours_leaves_nobody_without_an_answer(database_url, joins, monkeypatch):
    async def broken(*_):
        raise ZeroDivisionError

    once = rows.join
    monkeypatch.setattr(rows, "join", broken)
    async with pool_of(database_url) as pool:
        some, answers = joins(pool), Answers()
        some.ask("ann", None, answers.then)
        await until(lambda: answers)
        assert answers.errors == ["outcome_unknown"]
        monkeypatch.setattr(rows, "join", once)
        some.ask("ann", None, answers.then)
        await until(lambda: len(answers) == 2)
        assert answers[1][0].buyer == "ann"


@scenario
async def test_at_the_bounds_who_joins_is_told_when_to_come_back(engine_urls, event):
    async with (
        gateway(engine_urls, bounds={"joins_waiting_max": 1}) as served,
        served.socket("ann") as ann,
        served.socket("bob") as bob,
    ):
        await ann.receive("room")
        await bob.receive("room")
        with psycopg.connect(engine_urls.database_url) as other:
            other.execute("SELECT 1 FROM room FOR NO KEY UPDATE")
            await ann.send({"type": "join"})
            room = room_at(served)
            await until(lambda: room.joins.waiting)
            await bob.send({"type": "join"})
            refused = await bob.receive("error", but=("room",))
            assert (refused["code"], refused["retry_after"]) == ("joins_full", 2)
            answer = await join(served, "carl")
            assert (answer.status, answer.headers["retry-after"]) == (503, "2")
            for _ in range(joining.ASKED_TIMES_MAX):
                await ann.send({"type": "join"})
            refused = await ann.receive("error", but=("room",))
            assert (refused["code"], refused["retry_after"]) == ("too_many_joins", 1)
            other.rollback()
        await ann.receive("place", but=("room",))


@pytest.mark.parametrize("state", [EventState.DRAFT, EventState.CLOSED])
@scenario
async def test_nobody_joins_before_the_lobby_or_after_the_end(engine_urls, database_url, state):
    make_room(database_url, state=state)
    async with gateway(engine_urls) as served:
        answer = await join(served)
        assert (answer.status, answer.json()["code"]) == (409, "room_closed")


@scenario
async def test_positions_after_the_lobby_are_in_the_order_of_asking(engine_urls, event, conn):
    go_to(conn, EventState.OPEN)
    async with gateway(engine_urls) as served, served.socket("ann") as ann, served.socket("bob") as bob:
        for number, one in enumerate((ann, bob), 1):
            await one.send({"type": "join"})
            assert (await one.receive("place", but=("room",)))["position"] == number


BAD = {
    "not JSON": b"{",
    "unknown": {"seats": []},
    "a code that is none": {"code": "nobody-knows-it"},
}


@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
@scenario
async def test_a_body_that_cannot_be_understood_is_refused_on_both_ways(engine_urls, event, body, stays):
    async with gateway(engine_urls) as served:
        assert (await join(served, body=body, stays=stays)).status == 400


@pytest.mark.parametrize("stays", [True, False])
@scenario
async def test_without_a_token_nobody_joins(engine_urls, event, stays):
    async with gateway(engine_urls) as served:
        answer = await served.http("POST", f"{ROOM}/join", stays=stays)
        assert (answer.status, answer.json()["code"]) == (401, "token_required")
        forged = {"Authorization": f"Bearer {token(secret='somebody else, who has 32 bytes as well')}"}
        answer = await served.http("POST", f"{ROOM}/join", headers=forged, stays=stays)
        assert (answer.status, answer.json()["code"]) == (401, "token_not_valid")


@scenario
async def test_where_there_is_no_waiting_room_it_is_said(engine_urls, database_url):
    make_event(database_url)
    async with gateway(engine_urls) as served, served.socket() as ann:
        answer = await join(served)
        assert (answer.status, answer.json()["code"]) == (404, "no_room")
        for frame in ({"type": "join"}, {"type": "begin"}, {"type": "leave_line"}, {"type": "wish"}):
            await ann.send(frame)
            assert (await ann.receive("error"))["code"] == "no_room"
        for method, path in (("GET", ""), ("GET", "/place"), ("POST", "/begin"), ("GET", "/stream")):
            assert (await asked(served, method, path)).json()["code"] == "no_room"


@scenario
async def test_a_room_that_is_made_for_a_draft_is_known_without_a_restart(
    engine_urls, database_url, monkeypatch
):
    monkeypatch.setattr("gateway.events.ROW_SECONDS", 0.02)
    make_event(database_url, state=EventState.DRAFT)
    async with gateway(engine_urls) as served, served.socket() as ann:
        with psycopg.connect(database_url, autocommit=True) as conn:
            rooms.make(conn, EVENT, RoomTerms())
        assert (await ann.receive("room"))["phase"] == "draft"
