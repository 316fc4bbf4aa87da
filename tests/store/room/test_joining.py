"""Joining: one place each, drawn or behind all who are drawn, positions without gaps, whoever comes back."""

from __future__ import annotations

import asyncio
import re

import psycopg
import pytest

from store import events
from store.errors import Conflicted
from store.lookups import PLAN_BY_KEY
from store.room import draw, joining
from store.room.joining import Joining
from store.room.words import Lane, PlaceState, RoomPolicy
from store.words import EventState
from tests.store.room.rooming import (
    ADMITTED,
    BEGUN,
    DID_NOT_BEGIN,
    begin_sale,
    join,
    line,
    make_room,
    set_place,
)
from tests.store.test_holds import url_of


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def test_in_the_lobby_there_are_places_and_no_positions(conn):
    event = make_room(conn)
    places = join(conn, event, "ann", "bob")
    assert {place.position for place in places.values()} == {None}
    assert {place.state for place in places.values()} == {PlaceState.WAITING}
    assert join(conn, event, "ann")["ann"] == places["ann"]
    assert conn.execute("SELECT joined FROM room").fetchall() == [(2,)]


def test_who_comes_when_the_sale_has_begun_stands_behind_all_who_are_drawn(conn):
    event = make_room(conn)
    join(conn, event, "ann", "bob")
    events.set_state(conn, "gig", EventState.OPEN)
    assert join(conn, event, "cat")["cat"].position == 3, "before it is drawn, too"
    draw.draw(conn, event)
    assert [join(conn, event, name)[name].position for name in ("dan", "ann", "eve")][::2] == [4, 5]
    assert line(conn, event)[2:] == ["cat", "dan", "eve"]
    assert set(line(conn, event)[:2]) == {"ann", "bob"}


def test_where_nothing_is_drawn_they_stand_as_they_come(conn):
    event = make_room(conn, policy=RoomPolicy.FIFO)
    names = [f"b{number}" for number in range(20)]
    join(conn, event, *names[:7])
    events.set_state(conn, "gig", EventState.OPEN)
    join(conn, event, *names[7:])
    assert line(conn, event) == names
    assert draw.draw(conn, event), "the seed is told here, too, and nobody's position changes"
    assert line(conn, event) == names


def test_lanes_have_positions_of_their_own(conn):
    event = make_room(conn, policy=RoomPolicy.FIFO)
    join(conn, event, "ann", Joining("bob", Lane.PRIORITY), "cat", Joining("dan", Lane.PRIORITY))
    assert (line(conn, event), line(conn, event, "priority")) == (["ann", "cat"], ["bob", "dan"])


@pytest.mark.parametrize("state", [EventState.DRAFT, EventState.CLOSED])
def test_nobody_joins_a_draft_or_what_is_over(conn, state):
    event = make_room(conn, state=EventState.DRAFT)
    if state is EventState.CLOSED:
        events.set_state(conn, "gig", EventState.OPEN)
        events.set_state(conn, "gig", state)
    for number in (event, event + 1):
        with pytest.raises(Conflicted) as refusal:
            join(conn, number, "ann")
        assert refusal.value.code == "room_closed"


def test_who_was_called_and_did_not_begin_stands_where_they_stood(conn):
    event = make_room(conn, policy=RoomPolicy.FIFO, state=EventState.OPEN)
    before = join(conn, event, "ann", "bob")["ann"]
    set_place(conn, event, "ann", **DID_NOT_BEGIN)
    back = join(conn, event, "ann")["ann"]
    assert (back.id, back.position, back.state) == (before.id, 1, PlaceState.WAITING)
    assert conn.execute("SELECT buyer FROM place WHERE returned").fetchall() == [("ann",)]


def test_who_had_their_time_stands_behind_the_others(conn):
    event = make_room(conn, policy=RoomPolicy.FIFO, state=EventState.OPEN)
    join(conn, event, "ann", "bob")
    for ended in ("expired", "finished", "left"):
        before = join(conn, event, "ann")["ann"]
        set_place(conn, event, "ann", **(BEGUN | {"state": f"'{ended}'", "ended_at": "now()"}))
        after = join(conn, event, "ann")["ann"]
        assert after.id != before.id
        assert after.position is not None
        assert before.position is not None
        assert after.position > max(before.position, 2)


def test_what_is_read_is_the_place_that_lives_or_the_last_that_may_come_back(conn):
    event = make_room(conn, policy=RoomPolicy.FIFO, state=EventState.OPEN)
    join(conn, event, "ann")
    set_place(conn, event, "ann", **(BEGUN | {"state": "'expired'", "ended_at": "now()"}))
    mine = join(conn, event, "ann")["ann"]
    set_place(conn, event, "ann", **ADMITTED)
    assert join(conn, event, "ann")["ann"].id == mine.id
    assert join(conn, event, "ann")["ann"].state is PlaceState.ADMITTED


def test_joins_race_with_the_lobbys_end_and_each_stands_in_the_draw_or_behind_it(conn):
    """Eight connections join, some buyers at two of them, while another opens the event."""
    event = make_room(conn)
    joiners, rounds, each = 8, 12, 5
    some_joined = asyncio.Event()

    async def joins(number):
        async with await psycopg.AsyncConnection.connect(url_of(conn), autocommit=True) as own:
            for turn in range(rounds):
                buyers = [f"b{number // 2}-{turn}-{one}" for one in range(each)]
                await joining.join(own, event, [Joining(buyer) for buyer in buyers])
                if turn == rounds // 3:
                    some_joined.set()

    def opens():
        with psycopg.connect(url_of(conn), autocommit=True) as own:
            events.set_state(own, "gig", EventState.OPEN)
            assert draw.draw(own, event)

    async def run():
        async with asyncio.TaskGroup() as group:
            for number in range(joiners):
                group.create_task(joins(number))
            await some_joined.wait()
            group.create_task(asyncio.to_thread(opens))

    asyncio.run(run())
    stood = line(conn, event)
    places = conn.execute("SELECT buyer, in_draw FROM place WHERE event_id = %s", (event,)).fetchall()
    assert len(stood) == len(places) == joiners // 2 * rounds * each, "one place each, all of them in line"
    in_draw = {buyer for buyer, drawn in places if drawn}
    assert in_draw
    assert set(stood[: len(in_draw)]) == in_draw
    [(drawn, next_position, joined)] = conn.execute(
        "SELECT drawn, next_position, joined FROM room"
    ).fetchall()
    assert (drawn, next_position, joined) == (len(in_draw), len(stood) + 1, len(stood))


@pytest.mark.parametrize("statement", [joining.READ, joining.COME_BACK, joining.STAY, joining.GIVE_UP])
def test_a_million_places_are_not_read_for_a_few_buyers(conn, statement):
    """As a gateway asks: the few places of these buyers, by an index that starts with them."""
    conn.execute(PLAN_BY_KEY)
    asked = re.sub(r"%\((\w+)\)s", lambda found: {"event": "$1", "buyers": "$2"}[found[1]], statement)
    conn.execute(f"PREPARE asking (int, text[]) AS {asked}")
    plan = [line.strip() for (line,) in conn.execute("EXPLAIN EXECUTE asking (NULL, NULL)").fetchall()]
    heap = "->  Bitmap Heap Scan on place"  # what the bitmap of an index names
    scans = [line for line in plan if "Scan" in line and " place" in line and not line.startswith(heap)]
    assert scans, plan
    assert all("place_live" in line or "place_buyer" in line for line in scans), plan
    conditions = [line for line in plan if line.startswith("Index Cond") and "event_id = $1" in line]
    assert conditions, plan
    assert all("buyer" in line for line in conditions), plan


def test_a_lobby_that_nobody_joined_ends_too(conn):
    event = make_room(conn)
    begin_sale(conn, event)
    assert conn.execute("SELECT drawn, next_position FROM room").fetchall() == [(0, 1)]
    assert join(conn, event, "ann")["ann"].position == 1
