"""The planner's turn in Postgres: what it writes, what it leaves to others, and what it survives."""

from __future__ import annotations

import signal
import subprocess
import sys

import psycopg
import pytest

from allocator.fleet.plan import plan
from allocator.fleet.planner import Planner
from store.errors import Unavailable
from store.fleet import log, turn
from store.fleet.limits import Limits
from store.fleet.steps import Assign, Heat, LoseHost, LoseWorker, Note, Prefer, Start, Step, Unassign
from store.fleet.words import FleetWhat
from store.words import EventState
from tests.store.fleet import fleet_rows as rows


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as conn:
        turn.make(conn)
        yield conn


@pytest.fixture
def planner(database_url):
    with Planner(database_url, Limits(), name="test:1") as planner:
        yield planner


def kinds(steps):
    return [type(step) for step in steps]


def listens_for_long(planner):
    """As after seconds of turns in a row."""
    planner._heard_since = 1


def settled(conn, planner):
    """Turns, with all showing up in between, until there is nothing to do; what was done."""
    done: list[Step] = []
    for _ in range(30):
        rows.beat(conn)
        steps = planner.turn()
        if not steps:
            return done
        done += steps
    raise AssertionError(f"not settled: {done[-5:]}")


def test_an_empty_fleet_has_nothing_to_do(conn, planner):
    assert planner.turn() == []


def test_cold_events_share_one_worker_and_one_that_stands_by_on_another_host(conn, planner):
    rows.add_host(conn, "a")
    rows.add_host(conn, "b")
    for slug in ("gala", "gig"):
        rows.add_event(conn, slug)
    rows.add_event(conn, "draft", None)
    done = settled(conn, planner)
    assert rows.attended(conn) == {slug: [("a", True), ("b", False)] for slug in ("gala", "gig")}
    assert kinds(done).count(Start) == 2
    told = log.read(conn)
    assert {one.what for one in told} == {FleetWhat.STARTED, FleetWhat.ASSIGNED, FleetWhat.PREFERRED}
    assert all(one.who == "planner" and one.why for one in told)
    assert {one.event for one in told if one.what is FleetWhat.ASSIGNED} == {"gala", "gig"}
    [(planned_at, name)] = conn.execute("SELECT planned_at, planner FROM fleet_turn").fetchall()
    assert (planned_at is not None, name) == (True, "test:1")


def test_the_same_again_is_nothing(conn, planner, database_url):
    rows.add_host(conn, "a")
    rows.add_event(conn, "gala")
    assert planner.turn()
    assert planner.turn() == []
    with Planner(database_url, Limits()) as another:
        assert another.turn() == []


def test_a_worker_that_was_not_heard_of_goes_and_who_owns_its_event_is_preferred(conn, planner):
    rows.add_host(conn, "a")
    event = rows.add_event(conn, "gala")
    gone = rows.add_worker(conn, "a", silent_seconds=60)
    stays = rows.add_worker(conn, "a")
    rows.assign(conn, event, gone, preferred=True)
    rows.assign(conn, event, stays)
    rows.own(conn, event, stays)
    assert planner.turn() == [], "as long as it could not have been heard of"
    listens_for_long(planner)
    rows.beat(conn)
    conn.execute("UPDATE fleet_worker SET seen_at = now() - interval '1 minute' WHERE id = %s", (gone,))
    steps = planner.turn()
    assert kinds(steps)[0] is LoseWorker
    [preferred] = [step for step in steps if isinstance(step, Prefer)]
    assert (preferred.worker, preferred.why) == (stays, "it owns it")
    assert any(isinstance(step, Start) for step in steps), "another one comes in its place"
    assert {one.why.split(" for ")[0] for one in log.read(conn) if one.what is FleetWhat.LOST} == {
        "not heard of"
    }


def test_a_host_that_was_not_heard_of_goes(conn, planner):
    rows.add_host(conn, "a", silent_seconds=60)
    assert planner.turn() == [], "as long as it could not have been heard of"
    listens_for_long(planner)
    assert kinds(planner.turn()) == [LoseHost]
    assert conn.execute("SELECT count(*) FROM fleet_host").fetchall() == [(0,)]


def test_a_draining_host_takes_events_once_no_other_one_is_there_and_gives_them_up_again(conn, planner):
    rows.add_host(conn, "a", draining=True)
    rows.add_host(conn, "b")
    rows.add_event(conn, "gala")
    settled(conn, planner)
    assert rows.attended(conn) == {"gala": [("b", False), ("b", True)]}
    listens_for_long(planner)
    for table in ("fleet_host", "fleet_worker"):
        conn.execute(f"UPDATE {table} SET seen_at = now() - interval '1 minute'")
    conn.execute("UPDATE fleet_host SET seen_at = now() + interval '1 minute' WHERE name = 'a'")
    assert kinds(planner.turn())[0] is LoseHost
    settled(conn, planner)
    assert rows.attended(conn) == {"gala": [("a", False), ("a", True)]}
    [short] = [one for one in log.read(conn) if one.what is FleetWhat.SHORT]
    assert short.why.startswith("only hosts that drain are there: a")
    rows.add_host(conn, "b")
    for _ in range(3):
        settled(conn, planner)
        event, now = conn.execute(
            "SELECT event_id, worker_id FROM fleet_assignment WHERE preferred"
        ).fetchone()
        rows.own(conn, event, now)
    assert rows.attended(conn) == {"gala": [("b", False), ("b", True)]}


def test_after_a_gap_all_have_time_to_show_up(conn, planner, monkeypatch):
    rows.add_host(conn, "a", silent_seconds=60)
    planner.turn()
    listens_for_long(planner)
    monkeypatch.setattr("allocator.fleet.planner.GAP_SECONDS", -1)
    assert planner.turn() == []


def test_after_the_clock_was_set_back_who_is_silent_is_lost_all_the_same(conn, planner, caplog):
    rows.add_host(conn, "a")
    gone = rows.add_worker(conn, "a")
    ahead = "SELECT count(*) FROM {} WHERE seen_at > clock_timestamp()"
    planner.turn()
    assert conn.execute(ahead.format("fleet_host")).fetchone() == (1,), "nothing says that it was set back"
    planner._now += 600_000
    planner.turn()
    assert "Postgres' clock was set back by" in caplog.text
    for table in ("fleet_host", "fleet_worker"):
        assert conn.execute(ahead.format(table)).fetchone() == (0,)
        conn.execute(f"UPDATE {table} SET seen_at = seen_at - interval '1 minute'")
    listens_for_long(planner)
    steps = planner.turn()
    assert kinds(steps) == [LoseHost, LoseWorker]
    assert steps[1].worker == gone


def test_an_event_that_is_busy_for_long_gets_workers_of_its_own(conn, database_url):
    with Planner(database_url, Limits(busy_seconds=1)) as planner:
        rows.add_host(conn, "a")
        rows.add_event(conn, "calm")
        event = rows.add_event(conn, "busy")
        settled(conn, planner)
        rows.load(conn, event, arrivals=812.4)
        assert kinds(planner.turn()) == [Note]
        conn.execute("UPDATE fleet_event SET busy_since = busy_since - interval '5 seconds'")
        rows.load(conn, event, arrivals=812.4)
        steps = planner.turn()
        assert Heat in kinds(steps)
        [hot] = [one for one in log.read(conn) if one.what is FleetWhat.HOT]
        assert (hot.event, hot.why) == ("busy", "812 arrivals a second for 5 s, limit 300")
        assert conn.execute("SELECT hot, hot_since IS NOT NULL FROM fleet_event").fetchall() == [(True, True)]


def test_what_is_not_on_sale_any_more_is_attended_to_by_nobody(conn, planner):
    rows.add_host(conn, "a")
    rows.add_event(conn, "gala")
    settled(conn, planner)
    conn.execute("UPDATE event SET state = 'closed'")
    assert planner.turn() == [], "its facts are not consumed yet"
    conn.execute("DELETE FROM fact")
    steps = planner.turn()
    assert set(kinds(steps)) == {Unassign}
    assert {step.why for step in steps} == {"the event is not on sale any more"}


def test_who_finds_the_turn_taken_leaves_it(conn, planner, database_url):
    rows.add_host(conn, "a")
    rows.add_event(conn, "gala")
    with psycopg.connect(database_url) as other:
        turn.take(other)
        assert planner.turn() == []
    assert planner.turn()


def test_a_turn_without_its_row_makes_it(conn, planner):
    conn.execute("DELETE FROM fleet_turn")
    rows.add_host(conn, "a")
    rows.add_event(conn, "gala")
    assert planner.turn() == []
    assert planner.turn()
    assert conn.execute("SELECT count(*) FROM fleet_turn").fetchall() == [(1,)]


def test_steps_that_find_something_else_than_was_planned_with_are_undone(conn, planner, monkeypatch):
    rows.add_host(conn, "a")
    rows.add_event(conn, "gala")

    def overtaken(seen):
        conn.execute("DELETE FROM fleet_host")
        return plan(seen)

    monkeypatch.setattr("allocator.fleet.planner.plan", overtaken)
    assert planner.turn() == []
    for table in ("fleet_worker", "fleet_assignment", "fleet_log"):
        assert conn.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)]


KILLED = """
import os, signal, sys
from allocator.fleet import planner
from store.fleet import steps
def write_and_die(conn, planned, real=steps.write):
    real(conn, planned)
    print("written", flush=True)
    signal.pause()
steps.write = write_and_die
planner.Planner(sys.argv[1]).turn()
"""


@pytest.mark.faults
def test_a_planner_that_is_killed_in_the_middle_changed_nothing(conn, planner, database_url):
    rows.add_host(conn, "a")
    rows.add_event(conn, "gala")
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, database_url], stdout=subprocess.PIPE, text=True
    ) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "written\n"
            assert planner.turn() == [], "it is the other's turn"
            assert conn.execute("SELECT count(*) FROM fleet_worker").fetchall() == [(0,)]
        finally:
            other.send_signal(signal.SIGKILL)
    conn.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE application_name = 'onsale fleet planner' AND xact_start IS NOT NULL"
        " AND datname = current_database()"
    )
    assert Assign in kinds(planner.turn())


def test_without_postgres_it_says_so_and_goes_on_later(conn, planner, database_url):
    rows.add_host(conn, "a")
    assert planner.turn() == []
    conn.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE application_name = 'onsale fleet planner' AND datname = current_database()"
    )
    with pytest.raises(Unavailable):
        planner.turn()
    rows.add_event(conn, "gala")
    assert planner.turn()
    with (
        Planner("postgresql://nobody@127.0.0.1:1/none", Limits()) as nowhere,
        pytest.raises(Unavailable),
    ):
        nowhere.turn()


def test_events_are_on_sale_as_long_as_somebody_has_to_attend_to_them(conn, planner):
    rows.add_host(conn, "a")
    for state in (EventState.LOBBY, EventState.OPEN, EventState.CLOSED):
        slug = state.value
        rows.add_event(conn, slug, None)
        conn.execute("UPDATE event SET state = %s WHERE slug = %s", (slug, slug))
    rows.add_event(conn, "soon", None)
    conn.execute("UPDATE event SET opens_at = now() + interval '30 seconds' WHERE slug = 'soon'")
    for slug, lobby_in in (("lobby-soon", "30 seconds"), ("lobby-later", "30 minutes")):
        rows.add_event(conn, slug, None)
        conn.execute(
            "UPDATE event SET lobby_opens_at = now() + %s::interval, opens_at = now() + interval '1 hour'"
            " WHERE slug = %s",
            (lobby_in, slug),
        )
    conn.execute("DELETE FROM fact")
    settled(conn, planner)
    assert set(rows.attended(conn)) == {"lobby", "open", "soon", "lobby-soon"}
