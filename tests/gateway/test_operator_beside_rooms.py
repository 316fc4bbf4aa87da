"""Prometheus is told how waiting rooms stand: each number by its name, its event, and few other labels."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from store import events
from store.room import operating
from store.room.words import Admission, Lane, PlaceState, SlowedBy
from store.words import EventState
from tests.gateway.test_operator_beside import PATH, numbers
from tests.gateway.test_operators import KEY, app_for, ask
from tests.store.room.rooming import ADMITTED, OLGA, begin_sale, join, make_room, set_place


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def told(engine_urls):
    def told():
        app = app_for(engine_urls)  # another one each time: what was read is kept for a while
        answer = asyncio.run(ask(app, "GET", PATH, b"", f"Bearer {KEY}"))
        assert answer.status == 200
        return numbers(answer.text)

    return told


def test_places_are_counted_by_lane_and_state_also_where_there_are_none(told, conn):
    event = make_room(conn)
    join(conn, event, "ann", "bob", "cat")
    join(conn, event, "pat", lane=Lane.PRIORITY)
    begin_sale(conn, event)
    set_place(conn, event, "ann", **ADMITTED)
    found = told()
    places = {one[2:]: value for one, value in found.items() if one[0] == "onsale_room_places"}
    assert set(places) == {(lane, state) for lane in Lane for state in PlaceState}
    assert {one: count for one, count in places.items() if count} == {
        ("ordinary", "waiting"): 2, ("ordinary", "admitted"): 1, ("priority", "waiting"): 1,
    }  # fmt: skip
    for name, value in (("joined_total", 4), ("drawn", 4), ("admitted_total", 0), ("factor", 1)):
        assert found[f"onsale_room_{name}", "gig"] == value, name
    positions = [found["onsale_room_positions", "gig", lane] for lane in Lane]
    assert (positions, found["onsale_room_serving", "gig", "ordinary"]) == ([3, 1], 0)


def test_how_fast_it_goes_and_why_no_faster_is_told(told, conn):
    event = make_room(conn)
    conn.execute(
        "UPDATE room SET rate = 12.5, factor = 0.25, reason = 'lag', step_ms = 250, version = 7,"
        " next_position = 100, serving = 41, admitted = 40 WHERE event_id = %s",
        (event,),
    )
    found = told()
    named = {"rate_per_minute": 12.5, "factor": 0.25, "step_seconds": 0.25, "decisions_total": 7}
    assert {name: found[f"onsale_room_{name}", "gig"] for name in named} == named
    assert found["onsale_room_serving", "gig", "ordinary"] == 41
    slowed = {one[2]: value for one, value in found.items() if one[0] == "onsale_room_slowed"}
    assert slowed == {reason: float(reason is SlowedBy.LAG) for reason in SlowedBy}


def test_a_line_that_stands_still_is_seen_and_one_that_should_is_not(told, conn):
    event = make_room(conn)
    join(conn, event, "ann", "bob")
    still = ("onsale_room_still_seconds", "gig")
    assert told()[still] == 0, "the lobby is no line yet"
    begin_sale(conn, event)
    ago = "now() - interval '1 hour'"
    conn.execute(f"UPDATE room SET decided_at = {ago}, lobby_ended_at = {ago}, drawn_at = NULL")
    assert told()[still] >= 3_600, "drawn too late"
    conn.execute(f"UPDATE room SET drawn_at = {ago}")
    assert told()[still] >= 3_600
    for reason in ("lag", "full_inside"):
        conn.execute("UPDATE room SET reason = %s", (reason,))
        assert (told()[still] > 0) is (reason == "lag")
    conn.execute("UPDATE room SET reason = NULL, serving = 2")
    assert told()[still] == 0, "all were called"
    conn.execute("UPDATE room SET serving = 1")
    operating.admit(conn, "gig", Admission.PAUSED, OLGA)
    assert told()[still] == 0, "nobody is to be called"
    operating.admit(conn, "gig", Admission.RUNNING, OLGA)
    assert told()[still] > 0
    events.set_state(conn, "gig", EventState.PAUSED)
    assert told()[still] == 0


def test_how_far_a_ballot_is_is_told(told, conn):
    event = make_room(conn, ballot=True)
    places = join(conn, event, "ann", "bob", "cat")
    for place in places.values():
        conn.execute("INSERT INTO ballot_wish VALUES (%s, %s, %s, '{}')", (place.id, event, place.buyer))
    names = ("onsale_room_wishes", "onsale_room_wishes_decided")
    assert [told()[name, "gig"] for name in names] == [3, 0]


def test_rooms_that_are_over_are_not_told_of_any_more(told, conn):
    make_room(conn, state=EventState.OPEN)
    make_room(conn, "other")
    events.set_state(conn, "gig", EventState.CLOSED)
    assert {one[1] for one in told() if one[0] == "onsale_room_joined_total"} == {"other"}
