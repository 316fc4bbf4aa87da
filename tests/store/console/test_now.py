"""How events stand at a glance: by their own rows, and what needs a hand in words."""

from __future__ import annotations

import psycopg
import pytest
from msgspec import structs

from store import audit
from store.console import around, view
from store.console.launch import launch_of
from store.console.needs import needs_around, needs_of
from store.console.now import Reader
from store.events import create_event, set_state
from store.figures.project import step
from store.fleet.log import Entry, write
from store.fleet.words import FleetWhat
from store.room import operating
from store.room.words import Admission, RoomTerms
from store.venues.rows import save_venue
from store.words import EventState
from tests.allocator.house import SLUG, best, entry, open_event, owner_of, plan_of

SAID = audit.said("Olga", "for this test")


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def codes(seen):
    return [need.code for need in needs_of(seen)]


def test_a_sale_is_told_with_its_owner_and_what_is_sold_and_on_hold(conn, database_url, redis_url):
    with owner_of(database_url, redis_url) as owner:
        owner.ask(entry("ann", "r1", best(3)), entry("bob", "r2", best(2)))
        owner.confirm("ann")
        while step(conn, owner.event_id, owner.memory.layout.plan):
            pass
        [seen] = Reader(conn).launches()
        told = launch_of(seen)
    assert (told.slug, told.state, told.sold, told.on_hold) == (owner.slug, EventState.OPEN, 3, 2)
    assert (told.capacity, told.percent_sold, told.currency) == (60, 5.0, "EUR")
    assert told.owner is not None
    assert (told.owner.process, told.owner.host, told.owner.epoch) == ("test", None, 1)
    assert (told.waiting, told.pace, told.admission, told.workers, told.workers_wanted) == (
        None, None, None, 1, None,
    )  # fmt: skip
    assert told.needs == []


def test_what_an_owner_said_long_ago_is_not_how_things_are(conn, database_url):
    event = open_event(database_url, plan_of())
    load = (
        "INSERT INTO event_load VALUES (%s, 'm:1', NULL, now() - %s * interval '1 s', 1, 1, 9, 8, 7, 6, 5, 4)"
    )
    conn.execute(load, (event, 1))
    [seen] = Reader(conn).launches()
    assert (seen.decided_per_second, seen.arrived_per_second, seen.undecided) == (8, 7, 6)
    assert (seen.latency_ms_p50, seen.latency_ms_p99) == (5, 4)
    conn.execute("UPDATE event_load SET at = now() - interval '6 s'")
    [seen] = Reader(conn).launches()
    assert (seen.decided_per_second, seen.undecided, seen.latency_ms_p99) == (None, None, None)


def test_those_that_sell_come_first_and_closed_ones_only_where_they_are_asked_for(conn):
    plan = plan_of()
    venue = save_venue(conn, "house", plan)
    for slug, states in (
        ("ended", [EventState.OPEN, EventState.CLOSED]),
        ("sells", [EventState.OPEN]),
        ("draft", []),
        ("lobby", [EventState.LOBBY]),
        ("halts", [EventState.OPEN, EventState.PAUSED]),
    ):
        create_event(conn, slug, slug, venue, plan)
        for state in states:
            set_state(conn, slug, state)
    assert [seen.slug for seen in Reader(conn).launches()] == ["sells", "halts", "lobby", "draft"]
    assert [seen.slug for seen in Reader(conn).launches(closed=True)][-1] == "ended"
    assert [seen.slug for seen in Reader(conn).sampled()] == ["sells", "halts", "lobby"]


def test_nobody_owns_it_is_said_of_what_sells_and_while_holds_run(conn, database_url):
    open_event(database_url, plan_of())
    [seen] = Reader(conn).launches()
    assert codes(seen) == ["no_owner"]
    assert "Nobody decides: no allocator has owned this event yet." in needs_of(seen)[0].text
    conn.execute("UPDATE lease SET owner = gen_random_uuid(), worker = 'm:1', renewed_at = now()")
    assert codes(Reader(conn).named([SLUG])[0]) == []
    conn.execute("UPDATE lease SET renewed_at = now() - interval '12 s'")
    [seen] = Reader(conn).named([SLUG])
    assert codes(seen) == ["no_owner"]
    assert "for 12 s" in needs_of(seen)[0].text
    assert launch_of(seen).owner is None


def test_a_fleet_says_who_stands_by_and_that_nobody_does(conn, database_url):
    event = open_event(database_url, plan_of())
    conn.execute("UPDATE lease SET owner = gen_random_uuid(), worker = 'a:1', renewed_at = now()")
    conn.execute("INSERT INTO fleet_host (name, slots, process, version) VALUES ('a', 2, 'a:0', '1')")
    worker = """
        WITH worker AS (
          INSERT INTO fleet_worker (host, process, began_at, seen_at)
          VALUES (%s, %s, now(), now()) RETURNING id)
        INSERT INTO fleet_assignment (event_id, worker_id, preferred, warm_at)
        SELECT %s, id, %s, now() FROM worker"""
    conn.execute(worker, ("a", "a:1", event, True))
    [seen] = Reader(conn).launches()
    assert (codes(seen), seen.workers, seen.workers_wanted) == (["no_standby"], 1, 2)
    conn.execute(worker, ("b", "b:7", event, False))
    [seen] = Reader(conn).launches()
    told = launch_of(seen)
    assert told.owner is not None
    assert (codes(seen), told.workers, told.owner.host) == ([], 2, "a")
    assert [(one.process, one.host, one.warm) for one in told.standbys] == [("b:7", "b", True)]
    conn.execute("UPDATE fleet_worker SET seen_at = now() - interval '6 s' WHERE host = 'b'")
    assert codes(Reader(conn).launches()[0]) == ["no_standby"]


def test_where_slots_are_short_it_is_said_of_all_and_of_each_that_lacks_workers(conn, database_url):
    event = open_event(database_url, plan_of())
    conn.execute("UPDATE lease SET owner = gen_random_uuid(), worker = 'a:1', renewed_at = now()")
    conn.execute(
        "INSERT INTO fleet_host (name, slots, process, version, seen_at) VALUES ('a', 1, 'a:0', '1', now())"
    )
    enough = {"wanted": 0, "slots": 0, "kept_cold": 0}
    short = Entry(
        what=FleetWhat.SHORT,
        who="planner",
        why="3 slots are wanted and there are 1",
        detail=enough | {"wanted": 3},
    )
    write(conn, [short])
    seen = view.look(Reader(conn), conn, [SLUG], [])
    [launch] = seen.launches
    said = {need.code: need for need in launch.needs}
    assert said["slots_short"].text.startswith("It has 1 of 2 workers: 3 slots are wanted and there are 1.")
    assert said["slots_short"].event == SLUG
    assert said == {need.code: need for need in seen.details[SLUG].launch.needs}
    assert [need.code for need in needs_around(seen.around, stream_away=False)] == ["slots_short"]
    conn.execute("INSERT INTO fleet_event (event_id, workers) VALUES (%s, 1)", (event,))
    assert view.one(conn, SLUG).launch.needs == [], "it has what it wants; others do not"
    write(conn, [structs.replace(short, why="there are enough slots again", detail=enough)])
    assert needs_around(around.read(conn), stream_away=False) == []


def test_an_event_that_has_not_opened_in_time_needs_a_hand(conn):
    plan = plan_of()
    create_event(conn, "gala", "Gala", save_venue(conn, "house", plan), plan)
    conn.execute("UPDATE event SET opens_at = now() + interval '1 h'")
    assert codes(Reader(conn).launches()[0]) == []
    conn.execute("UPDATE event SET opens_at = now() - interval '7 s'")
    assert codes(Reader(conn).launches()[0]) == ["not_opened"]


def test_a_lobby_that_has_not_begun_in_time_needs_a_hand_until_somebody_begins_it(conn):
    plan = plan_of()
    create_event(conn, "gala", "Gala", save_venue(conn, "house", plan), plan)
    conn.execute("UPDATE event SET lobby_opens_at = now() + interval '1 h'")
    assert codes(Reader(conn).launches()[0]) == []
    conn.execute("UPDATE event SET lobby_opens_at = now() - interval '7 s'")
    assert codes(Reader(conn).launches()[0]) == ["lobby_not_opened"]
    conn.execute("UPDATE event SET state = 'lobby'")
    assert codes(Reader(conn).launches()[0]) == []


def test_a_room_says_who_waits_and_that_nobody_is_called(conn):
    plan = plan_of()
    create_event(conn, "gala", "Gala", save_venue(conn, "house", plan), plan)
    operating.make(conn, "gala", RoomTerms(pace=60), SAID)
    set_state(conn, "gala", EventState.LOBBY)
    conn.execute(
        "INSERT INTO place (event_id, buyer, in_draw) SELECT 1, 'b' || n, true FROM generate_series(1, 5) n"
    )
    conn.execute("UPDATE place SET state = 'left', ended_at = now() WHERE buyer = 'b1'")
    conn.execute("UPDATE room SET joined = 5")
    [seen] = Reader(conn).launches()
    assert (seen.waiting, seen.admitted, seen.inside, seen.pace) == (4, 0, 0, 60)
    set_state(conn, "gala", EventState.OPEN)
    conn.execute("UPDATE lease SET owner = gen_random_uuid(), worker = 'm:1', renewed_at = now()")
    conn.execute(
        "UPDATE place SET state = 'admitted', admitted_at = now(), begin_by = now() WHERE buyer = 'b2'"
    )
    conn.execute("UPDATE room SET serving = 1, admitted = 1, decided_at = now()")
    [seen] = Reader(conn).launches()
    assert (seen.waiting, seen.admitted, seen.inside, seen.admission) == (3, 1, 1, Admission.RUNNING)
    assert codes(seen) == []
    conn.execute(
        "UPDATE room SET decided_at = now() - interval '40 s', lobby_ended_at = now() - interval '1 h'"
    )
    assert codes(Reader(conn).launches()[0]) == ["nobody_called"]
    conn.execute("UPDATE room SET pace = 1")
    assert codes(Reader(conn).launches()[0]) == [], "one a minute: the next comes in its time"
    conn.execute("UPDATE room SET reason = 'lag'")
    assert codes(Reader(conn).launches()[0]) == ["lag"]


def test_what_is_about_no_event_is_said_once(conn):
    assert needs_around(around.read(conn), stream_away=False) == []
    conn.execute(
        "INSERT INTO fleet_host (name, slots, process, version, seen_at)"
        " VALUES ('a', 2, 'a:0', '1', now() - interval '1 min')"
    )
    conn.execute(
        "INSERT INTO chore_run (chore, every_seconds, long, failures, last_error, alive_at)"
        " VALUES ('mail', 3, false, 4, 'no route', now())"
    )
    found = needs_around(around.read(conn), stream_away=True)
    assert [need.code for need in found] == ["stream_away", "no_hosts", "chores_failing"]
    assert "mail: it failed 4 times in a row: no route" in found[-1].text
