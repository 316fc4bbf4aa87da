"""The demo: there where nothing is, and never in the way of what is there."""

from __future__ import annotations

import threading

import psycopg
import pytest

from onsale.demo import EVENT, HOLD_TTL_SECONDS, demo_plan, ensure_demo
from store import events
from store.plan import check, decode, encode
from store.venues.rows import save_venue
from store.words import EventState


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def test_an_empty_database_gets_an_open_event(conn, database_url):
    assert ensure_demo(database_url) == EVENT
    event = events.get_event(conn, EVENT)
    assert (event.state, event.hold_ttl_seconds) == (EventState.OPEN, HOLD_TTL_SECONDS)
    assert (event.payment, event.late_payment) == ("required", "reacquire")


def test_the_demo_is_made_once(conn, database_url):
    starters = [threading.Thread(target=ensure_demo, args=(database_url,)) for _ in range(3)]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join()
    assert ensure_demo(database_url) == EVENT
    assert [event.slug for event in events.list_events(conn)] == [EVENT]


def test_where_there_are_events_nothing_is_added(conn, database_url):
    plan = demo_plan()
    venue = save_venue(conn, "mine", plan)
    for slug in ("first", "second", "third"):
        events.create_event(conn, slug, slug, venue, plan)
    assert ensure_demo(database_url) == "third"
    events.set_state(conn, "second", EventState.OPEN)
    assert ensure_demo(database_url) == "second"
    assert len(events.list_events(conn)) == 3


def test_the_theatre_is_worth_looking_at():
    plan = demo_plan()
    check(plan)
    assert decode(encode(plan)) == plan
    assert 2_000 <= len(plan.seats) <= 3_000
    assert len(plan.sections) >= 6
    assert len(plan.categories) >= 3
    assert [area.guid for area in plan.areas] == ["standing"]


def test_the_standing_room_lies_inside_the_drawing_and_apart_from_the_seats():
    plan = demo_plan()
    (area,) = plan.areas
    assert area.x >= 0
    assert area.x + area.width <= plan.width
    assert max(seat.y for seat in plan.seats) < area.y
    assert area.y + area.height <= plan.height
