"""Who is about to end hands its events to those who can take them at once, without a planner."""

from __future__ import annotations

import psycopg
import pytest

from store.fleet import handing_on

ME = "hall:1"


@pytest.fixture
def me(fleet):
    fleet.host("hall", "attic", "cellar")
    return fleet.worker(process=ME)


def test_the_one_who_followed_furthest_is_preferred_and_it_is_told_why(conn, fleet, me):
    behind, ahead = fleet.worker("attic", "attic:1"), fleet.worker("cellar", "cellar:1")
    event = fleet.event("a", owner=ME)
    fleet.assign(event, me, preferred=True)
    fleet.assign(event, behind, warm_batch=4)
    fleet.assign(event, ahead, warm_batch=5)
    assert handing_on.owed(conn, me, ME) == 0, "nobody else is preferred"
    handing_on.hand_on(conn, me, ME)
    assert fleet.preferred(event) == ahead
    assert handing_on.owed(conn, me, ME) == 1
    assert fleet.one("SELECT stop_at IS NOT NULL FROM fleet_worker WHERE id = %s", me)
    assert fleet.log() == [("preferred", "cellar")]
    conn.execute("UPDATE lease SET owner = NULL")
    assert handing_on.owed(conn, me, ME) == 0, "it was handed over"


def test_hosts_that_are_draining_come_last(conn, fleet, me):
    draining, other = fleet.worker("attic", "attic:1"), fleet.worker("cellar", "cellar:1")
    conn.execute("UPDATE fleet_host SET draining_at = clock_timestamp() WHERE name = 'attic'")
    event = fleet.event("a", owner=ME)
    fleet.assign(event, me, preferred=True)
    fleet.assign(event, draining, warm_batch=5)
    fleet.assign(event, other, warm_batch=4)
    handing_on.hand_on(conn, me, ME)
    assert fleet.preferred(event) == other


def test_who_is_cold_silent_or_ending_takes_nothing(conn, fleet, me):
    cold, silent = fleet.worker("attic", "attic:1"), fleet.worker("attic", "attic:2", silent_seconds=60)
    ending = fleet.worker("attic", "attic:3")
    conn.execute("UPDATE fleet_worker SET stop_at = clock_timestamp() WHERE id = %s", (ending,))
    event = fleet.event("a", owner=ME)
    fleet.assign(event, me, preferred=True)
    fleet.assign(event, cold)
    fleet.assign(event, silent, warm_batch=9)
    fleet.assign(event, ending, warm_batch=9)
    handing_on.hand_on(conn, me, ME)
    assert fleet.preferred(event) == me
    assert handing_on.owed(conn, me, ME) == 0


def test_a_sibling_on_a_host_that_has_left_takes_nothing(conn, fleet, me):
    sibling, event = fleet.worker(process="hall:2"), fleet.event("a", owner=ME)
    fleet.assign(event, me, preferred=True)
    fleet.assign(event, sibling, warm_batch=1)
    conn.execute("DELETE FROM fleet_host WHERE name = 'hall'")
    handing_on.hand_on(conn, me, ME)
    assert fleet.preferred(event) == me


def test_who_is_preferred_already_and_able_stays(conn, fleet, me):
    chosen, other = fleet.worker("attic", "attic:1"), fleet.worker("cellar", "cellar:1")
    event = fleet.event("a", owner=ME)
    fleet.assign(event, me)
    fleet.assign(event, chosen, preferred=True, warm_batch=1)
    fleet.assign(event, other, warm_batch=9)
    handing_on.hand_on(conn, me, ME)
    assert fleet.preferred(event) == chosen
    assert fleet.log() == []


def test_it_does_not_plan_while_the_planner_does(conn, fleet, me, database_url):
    with psycopg.connect(database_url) as planner:
        planner.execute("SELECT FROM fleet_turn FOR UPDATE")
        conn.execute("SET lock_timeout = '100ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            handing_on.hand_on(conn, me, ME)
    assert fleet.one("SELECT stop_at IS NULL FROM fleet_worker WHERE id = %s", me)
