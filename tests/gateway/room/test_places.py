"""What a gateway knows of places: read when there is a reason, told to their buyers; who may ask."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from msgspec import structs

from gateway.room import beginning, lookups, waiting_room
from gateway.room import places as places_module
from store.room import entering, watching
from store.room.news import RoomNews, encode_room_news, room_channel
from store.words import EventState
from tests.gateway.rig import EVENT, SEATS, StandIn, gateway, make_event, scenario, until
from tests.gateway.room.lobby import asked, call, go_to, join, make_room, open_and_draw, room_at

NOT_PLACES = ("room", "event")
MORE = ("room", "event", "place", "accepted")


@pytest.fixture
def event(database_url):
    return make_room(database_url)


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


async def in_line(served, *buyers: str) -> None:
    for buyer in buyers:
        assert (await join(served, buyer)).status == 200


@pytest.fixture
def opened(event, conn):
    """The sale has begun, and nobody was in the lobby."""
    open_and_draw(conn, event)
    return event


# --- what a buyer hears ---


@scenario
async def test_who_comes_back_is_told_the_place_after_the_welcome(engine_urls, event):
    async with gateway(engine_urls) as served:
        await in_line(served, "ann")
        for _ in range(2):
            async with served.socket() as ann:
                assert (await ann.receive("place", but=NOT_PLACES))["state"] == "waiting"
        async with served.socket("bob") as bob:
            await bob.receive("room")
            await bob.nothing_for(0.05)


@scenario
async def test_the_draw_tells_everybody_in_the_lobby_their_position(engine_urls, event, conn):
    async with gateway(engine_urls) as served, served.socket("ann") as ann, served.socket("bob") as bob:
        for one in (ann, bob):
            await one.send({"type": "join"})
            assert (await one.receive("place", but=NOT_PLACES))["position"] is None
        open_and_draw(conn, event)
        found = {(await one.receive("place", but=NOT_PLACES))["position"] for one in (ann, bob)}
        assert found == {1, 2}


@scenario
async def test_who_joined_before_the_draw_and_is_answered_late_is_not_told_that_their_position_is_gone(
    engine_urls, opened
):
    async with gateway(engine_urls) as served:
        await in_line(served, "ann")
        places = room_at(served).places
        known = await places.find("ann")
        place = known.place
        assert place is not None
        assert place.position == 1
        places.take(structs.replace(place, position=None), known.read_at - 1.0)
        assert known.place == place


@scenario
async def test_only_places_that_were_passed_are_read_again(engine_urls, opened, conn, monkeypatch):
    read: list[int] = []
    by_id = watching.by_id

    async def counted(connection, ids):
        read.append(len(ids))
        return await by_id(connection, ids)

    async with gateway(engine_urls) as served:
        await in_line(served, "ann", "bob", "carl")
        async with served.socket("ann") as ann, served.socket("bob") as bob, served.socket("carl") as carl:
            for one in (ann, bob, carl):
                await one.receive("place", but=NOT_PLACES)
            monkeypatch.setattr(watching, "by_id", counted)
            call(conn, opened, 1)
            called = await ann.receive("place", but=NOT_PLACES)
            assert (called["state"], called["begin_by"] > called["admitted_at"]) == ("admitted", True)
            assert read == [1]
            monkeypatch.setattr(places_module, "INSIDE_SECONDS", 3600.0)
            call(conn, opened, 2)
            assert (await bob.receive("place", but=NOT_PLACES))["state"] == "admitted"
            assert sum(read) <= 3
            for one in (ann, carl):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await one.receive("place", but=NOT_PLACES)


@scenario
async def test_a_place_that_ends_is_told_without_the_line_going_on(engine_urls, opened, conn, monkeypatch):
    monkeypatch.setattr(places_module, "INSIDE_SECONDS", 0.0)
    async with gateway(engine_urls) as served:
        await in_line(served, "ann")
        call(conn, opened, 1)
        async with served.socket() as ann:
            assert (await ann.receive("place", but=NOT_PLACES))["state"] == "admitted"
            await room_at(served).look()
            conn.execute("UPDATE place SET state = 'finished', ended_at = now()")
            assert (await ann.receive("place", but=NOT_PLACES))["state"] == "finished"


@scenario
async def test_who_came_back_to_a_position_that_was_called_is_told_when_called_again(
    engine_urls, opened, conn, monkeypatch
):
    monkeypatch.setattr(places_module, "INSIDE_SECONDS", 0.0)
    async with gateway(engine_urls) as served:
        await in_line(served, "ann")
        call(conn, opened, 1)
        conn.execute("UPDATE place SET state = 'expired', ended_at = now()")
        async with served.socket() as ann:
            await ann.send({"type": "join"})
            while (await ann.receive("place", but=NOT_PLACES))["state"] != "waiting":
                pass
            conn.execute(
                "UPDATE place SET state = 'admitted', admitted_at = now(), begin_by = now() + interval '1 h'"
            )
            assert (await ann.receive("place", but=NOT_PLACES))["state"] == "admitted"


@scenario
async def test_what_a_buyer_does_at_one_gateway_the_sockets_at_another_hear(engine_urls, opened):
    async with gateway(engine_urls) as here, gateway(engine_urls) as there, there.socket() as phone:
        await phone.receive("room")
        await in_line(here, "ann")
        assert (await phone.receive("place", but=NOT_PLACES))["state"] == "waiting"
        assert (await asked(here, "POST", "/leave")).json()["state"] == "left"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await phone.receive("place", but=NOT_PLACES)


@scenario
async def test_news_of_somebody_who_is_not_here_is_not_looked_up(engine_urls, opened, conn):
    async with gateway(engine_urls) as served, StandIn(engine_urls, opened) as owner, served.socket() as ann:
        await ann.receive("room")
        places = room_at(served).places
        await until(lambda: not places.asked)
        before = places.queries
        news = encode_room_news(RoomNews(buyers=("bob", "carl"), gateway="another"))
        await owner.redis.publish(room_channel(EVENT), news)
        conn.execute("UPDATE room SET message = 'Read.'")
        await owner.redis.publish(room_channel(EVENT), b'{"version":1}')
        while (await ann.receive("room"))["message"] is None:
            pass
        assert places.queries == before


@scenario
async def test_lookups_of_one_moment_share_a_query_and_have_a_bound(engine_urls, opened, monkeypatch):
    async with gateway(engine_urls) as served:
        await in_line(served, "ann")
        places = room_at(served).places
        before = places.queries
        found = await asyncio.gather(*(places.find(f"buyer-{number}") for number in range(50)))
        assert places.queries == before + 1
        assert {known.place for known in found} == {None}
        monkeypatch.setattr(lookups, "ASKING_MAX", 0)
        answer = await asked(served, "GET", "/place", "zoe")
        assert (answer.status, answer.json()["code"]) == (503, "too_many_lookups")


@scenario
async def test_who_is_remembered_without_being_connected_has_a_bound(engine_urls, opened, monkeypatch):
    monkeypatch.setattr(places_module, "KEPT_MAX", 10)
    async with gateway(engine_urls) as served, served.socket() as ann:
        await ann.receive("room")
        places = room_at(served).places
        for number in range(50):
            await places.find(f"buyer-{number}")
            assert len(places._known) <= 12
        assert places.get("ann") is not None


@scenario
async def test_who_is_gone_is_not_among_those_who_are_told(engine_urls, opened, conn):
    async with gateway(engine_urls) as served:
        await in_line(served, "ann")
        async with served.socket() as ann:
            await ann.receive("place", but=NOT_PLACES)
        places = room_at(served).places
        await until(lambda: not list(places.connected))
        assert not any(places._at.values())


# --- begin, leave, and the place over HTTP ---


@scenario
async def test_begin_and_leave_on_the_socket(engine_urls, opened, conn):
    async with gateway(engine_urls) as served, served.socket() as ann:
        await ann.send({"type": "begin"})
        assert (await ann.receive("error", but=NOT_PLACES))["code"] == "no_place"
        await ann.send({"type": "join"})
        await ann.receive("place", but=NOT_PLACES)
        await ann.send({"type": "begin"})
        assert (await ann.receive("error", but=NOT_PLACES))["code"] == "not_admitted"
        call(conn, opened, 1)
        await ann.receive("place", but=NOT_PLACES)
        for _ in range(2):
            await ann.send({"type": "begin"})
            begun = await ann.receive("place", but=NOT_PLACES)
            assert begun["until"] - begun["begun_at"] == 900_000
        await ann.send({"type": "leave_line"})
        assert (await ann.receive("place", but=NOT_PLACES))["state"] == "left"


@scenario
async def test_the_same_over_http(engine_urls, opened, conn):
    async with gateway(engine_urls) as served:
        for method, path in (("GET", "/place"), ("POST", "/begin"), ("POST", "/leave")):
            answer = await asked(served, method, path)
            assert (answer.status, answer.json()["code"]) == (404, "no_place")
        place = (await join(served)).json()
        assert (await asked(served, "GET", "/place")).json()["place"] == place["place"]
        answer = await asked(served, "POST", "/begin")
        assert (answer.status, answer.json()["code"]) == (403, "not_admitted")
        call(conn, opened, 1)
        assert (await asked(served, "POST", "/begin")).json()["begun_at"]
        assert (await asked(served, "GET", "/place")).json()["begun_at"]
        assert (await asked(served, "POST", "/leave")).json()["state"] == "left"


@scenario
async def test_a_wish_is_filed_read_and_withdrawn_on_both_ways(engine_urls, database_url):
    make_room(database_url, ballot=True)
    wish = {"best": {"quantity": 2}}
    async with gateway(engine_urls) as served, served.socket() as ann:
        await in_line(served, "ann")
        await ann.send({"type": "wish", "want": wish})
        filed = await ann.receive("wish", but=MORE)
        assert (filed["want"], filed["filed_at"] > 0) == (wish, True)
        assert (await asked(served, "GET", "/wish")).json()["want"] == wish
        await ann.send({"type": "wish", "want": None})
        assert (await ann.receive("wish", but=MORE))["want"] is None
        assert (await asked(served, "PUT", "/wish", body=wish)).json()["want"] == wish
        await ann.send({"type": "wish"})
        assert (await ann.receive("wish", but=MORE))["want"] == wish
        null = await asked(served, "PUT", "/wish", body=b"null")
        assert null.json() == {"want": None, "filed_at": None}
        assert (await asked(served, "PUT", "/wish", body={})).json()["code"] == "nothing_asked"


# --- who may ask for seats ---


async def ask_on_socket(ann: Any, key: str = "r1") -> str:
    """The outcome, or the error's code."""
    await ann.ask(key, seats=[SEATS[0]])
    answer = await ann.receive("decision", "error", but=MORE)
    return str(answer.get("outcome") or answer["code"])


@scenario
async def test_who_is_not_inside_is_told_what_to_do_on_both_ways(engine_urls, opened, conn):
    async with gateway(engine_urls) as served, StandIn(engine_urls, opened) as owner, served.socket() as ann:
        assert await ask_on_socket(ann) == "not_admitted"
        answer = await served.post({"seats": [SEATS[0]]}, buyer="bob")
        assert (answer.status, answer.json()["code"]) == (403, "not_admitted")
        assert "Join the waiting room" in answer.json()["detail"]
        await in_line(served, "ann", "bob")
        answer = await served.post({"seats": [SEATS[0]]}, buyer="bob")
        assert "1 are before you" in answer.json()["detail"]
        assert not owner.read


@scenario
async def test_who_was_called_asks_and_has_begun_by_that(engine_urls, opened, conn):
    async with gateway(engine_urls) as served, StandIn(engine_urls, opened), served.socket() as ann:
        await ann.send({"type": "join"})
        await ann.receive("place", but=NOT_PLACES)
        call(conn, opened, 1)
        while (await ann.receive("place", but=NOT_PLACES))["state"] != "admitted":
            pass
        assert await ask_on_socket(ann) == "held"
        await until(lambda: conn.execute("SELECT begun_at IS NOT NULL FROM place").fetchone() == (True,))
        assert await ask_on_socket(ann, "r2") == "taken"


@pytest.mark.parametrize("wait", [False, True])
@scenario
async def test_over_http_whoever_is_unknown_costs_one_look_up(engine_urls, opened, conn, wait):
    async with gateway(engine_urls) as here, gateway(engine_urls) as there, StandIn(engine_urls, opened):
        await in_line(here, "ann")
        call(conn, opened, 1)
        head: dict[str, Any] = {"Prefer": "wait=10"} if wait else {}
        answer = await there.post({"seats": [SEATS[0]]}, **head)
        assert answer.status == (200 if wait else 202)
        room = room_at(there)
        await until(lambda: not room.beginnings.waiting)
        queries = room.places.queries
        for number in range(5):
            answer = await there.post({"seats": [SEATS[0]]}, f"more-{number}", **head)
            assert answer.status == (200 if wait else 202)
        assert room.places.queries == queries


@scenario
async def test_many_attempts_of_who_is_not_inside_cost_one_look_up_for_a_while(
    engine_urls, opened, monkeypatch
):
    monkeypatch.setattr("gateway.room.waiting_room.FRESH_SECONDS", 3600.0)
    async with gateway(engine_urls) as served:
        for number in range(20):
            answer = await served.post({"seats": [SEATS[0]]}, f"r{number}")
            assert answer.status == 403
        assert room_at(served).places.queries == 1


@scenario
async def test_when_the_time_is_over_nothing_is_taken_and_what_is_held_stays_usable(
    engine_urls, opened, conn
):
    async with gateway(engine_urls) as served, StandIn(engine_urls, opened), served.socket() as ann:
        await in_line(served, "ann")
        call(conn, opened, 1)
        assert await ask_on_socket(ann) in ("held", "not_admitted")
        room = room_at(served)
        await until(lambda: room.places.get("ann").place.state == "admitted")  # type: ignore[union-attr]
        await ask_on_socket(ann, "r2")
        conn.execute("UPDATE place SET state = 'expired', begun_at = now(), until = now(), ended_at = now()")
        await room.places.find("ann")
        assert await ask_on_socket(ann, "r3") == "not_admitted"
        await ann.send({"type": "release", "hold": "65536"})
        assert (await ann.receive("error", "hold", but=MORE)).get("code") in (None, "hold_not_found")
        again = await served.post({"seats": [SEATS[0]]}, "r2")
        assert again.status == 202, "what was asked before has its answer"


@scenario
async def test_by_the_clock_who_had_time_enough_is_outside_before_anybody_writes_it_down(
    engine_urls, opened, conn
):
    async with gateway(engine_urls) as served, served.socket() as ann:
        await in_line(served, "ann")
        call(conn, opened, 1)
        conn.execute("UPDATE place SET begun_at = now() - interval '1 h', until = now() - interval '1 s'")
        await room_at(served).places.find("ann")
        assert await ask_on_socket(ann) == "not_admitted"
        conn.execute("UPDATE place SET begun_at = NULL, until = NULL, begin_by = now() - interval '1 s'")
        await room_at(served).places.find("ann")
        assert await ask_on_socket(ann, "r2") == "not_admitted"


GIVEN = ["ballot", "offer", "request", "request after the ballot", "request without a ballot"]


@pytest.mark.parametrize("given", GIVEN)
@scenario
async def test_a_hold_of_the_ballot_or_an_offer_counts_as_inside(engine_urls, database_url, conn, given):
    """And no other: a buyer may call a request what the ballot's are called."""
    event = make_room(database_url, ballot=given != "request without a ballot")
    open_and_draw(conn, event)
    kind, request_id = ("offer", "r1") if given == "offer" else ("request", "ballot")
    if given == "request":
        request_id = "r1"
    decided = "now() + interval '1 s'" if given == "request after the ballot" else "now() - interval '1 s'"
    conn.execute("UPDATE room SET ballot_ended_at = now() WHERE ballot")
    conn.execute(
        "INSERT INTO ledger_batch (event_id, batch_no, epoch, batch_time, arrival, code_version, row_digests,"
        f" hash) VALUES (%s, 1, 1, {decided}, '1-1', 1, '', '')",
        (event,),
    )
    conn.execute(
        "INSERT INTO ledger (event_id, batch_no, position, kind, arrival, buyer, request_id, input, outcome,"
        " result) VALUES (%s, 1, 0, %s, '1-1', 'ann', %s, '{}', 'held', '{}')",
        (event, kind, request_id),
    )
    conn.execute(
        "INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at)"
        " VALUES (%s, 65536, 'ann', %s, 1, now() + interval '8 minutes')",
        (event, request_id),
    )
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket() as ann:
        expected = "held" if given in ("ballot", "offer") else "not_admitted"
        assert await ask_on_socket(ann) == expected


@scenario
async def test_while_the_ballot_is_decided_everybody_waits(engine_urls, database_url, conn):
    event = make_room(database_url, ballot=True)
    open_and_draw(conn, event)
    async with gateway(engine_urls) as served, served.socket() as ann:
        await ann.ask("r1", seats=[SEATS[0]])
        refused = await ann.receive("error", but=MORE)
        assert (refused["code"], refused["id"], refused["retry_after"]) == ("ballot_running", "r1", 2)
        answer = await served.post({"seats": [SEATS[0]]}, buyer="bob")
        assert (answer.status, answer.headers["retry-after"]) == (503, "2")
        conn.execute("UPDATE room SET ballot_ended_at = now()")
        while (await ann.receive("room"))["ballot"] != "done":
            pass
        assert await ask_on_socket(ann, "r2") == "not_admitted"


@scenario
async def test_that_the_ballot_is_over_is_noticed_by_who_asks_where_no_news_comes_and_nobody_is_connected(
    engine_urls, database_url, conn, monkeypatch
):
    monkeypatch.setattr(waiting_room, "LOOK_SECONDS", 0.1)
    event = make_room(database_url, ballot=True)
    open_and_draw(conn, event)
    async with gateway(engine_urls) as served:
        assert (await served.post({"seats": [SEATS[0]]}, buyer="bob")).status == 503
        conn.execute("UPDATE room SET ballot_ended_at = now()")
        room = room_at(served)
        await asyncio.sleep(waiting_room.LOOK_SECONDS)
        await served.post({"seats": [SEATS[0]]}, buyer="bob")
        await until(lambda: room.now.room.ballot_ended_at is not None)
        assert (await served.post({"seats": [SEATS[0]]}, buyer="bob")).status == 403


@scenario
async def test_where_the_event_is_known_to_have_begun_nobody_is_let_in_before_a_look_at_its_ballot(
    engine_urls, database_url
):
    make_room(database_url, ballot=True)
    async with gateway(engine_urls) as served:
        await in_line(served, "ann")
        room = room_at(served)
        refused: list[Any] = []
        room.event_is(EventState.OPEN)
        room.let_in("ann", refused.append)
        assert [error.code for error in refused] == ["ballot_running"]


@scenario
async def test_a_request_asked_again_is_answered_and_a_new_one_is_not_let_in_by_saying_so(
    engine_urls, opened, conn
):
    async with gateway(engine_urls) as served, StandIn(engine_urls, opened), served.socket() as ann:
        await ann.send({"type": "request", "id": "r1", "seats": [SEATS[0]], "again": True})
        assert (await ann.receive("error", but=MORE))["code"] == "not_admitted"


@scenario
async def test_a_beginning_reaches_postgres_when_it_is_back(engine_urls, opened, conn, monkeypatch):
    monkeypatch.setattr(beginning, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr("gateway.room.waiting_room.FRESH_SECONDS", 0.0)
    once = entering.begin

    async def away_once(*given):
        monkeypatch.setattr(entering, "begin", once)
        raise psycopg.OperationalError("away")

    async with gateway(engine_urls) as served, StandIn(engine_urls, opened):
        await in_line(served, "ann")
        call(conn, opened, 1)
        monkeypatch.setattr(entering, "begin", away_once)
        assert (await served.post({"seats": [SEATS[0]]})).status == 202
        await until(lambda: conn.execute("SELECT begun_at IS NOT NULL FROM place").fetchone() == (True,))


@scenario
async def test_an_event_without_a_waiting_room_asks_nobody(engine_urls, database_url):
    event = make_event(database_url)
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket() as ann:
        await ann.ask("r1", seats=[SEATS[0]])
        assert (await ann.receive("decision"))["outcome"] == "held"
        assert served.runtime.events.loaded()[0].room is None


@scenario
async def test_a_closed_sale_is_closed_before_it_is_anybodys_turn(engine_urls, event, conn):
    go_to(conn, EventState.CLOSED)
    async with gateway(engine_urls) as served, served.socket() as ann:
        assert await ask_on_socket(ann) == "event_closed"
