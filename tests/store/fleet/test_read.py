"""How the fleet stands is told whole and of one moment; its log is told newest first and has a bound."""

from __future__ import annotations

import msgspec
import psycopg
import pytest

from store.fleet import log, read, turn
from store.fleet.log import Entry
from store.fleet.words import FleetWhat
from tests.store.fleet import fleet_rows as rows


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as conn:
        turn.make(conn)
        yield conn


def write(conn, **values):
    values = {"what": FleetWhat.SCALED, "who": "Olga", "why": "because"} | values
    log.write(conn, [Entry(**values)])


def test_an_empty_fleet_is_told(conn):
    assert read.read(conn) == read.Fleet([], [], None)


def test_who_owns_who_stands_by_and_how_busy_it_is(conn):
    gala = rows.add_event(conn, "gala")
    rows.add_event(conn, "draft", None)
    rows.add_host(conn, "a", 3)
    rows.add_host(conn, "b", draining=True, silent_seconds=60)
    owner, cold = rows.add_worker(conn, "a"), rows.add_worker(conn, "b", silent_seconds=60)
    rows.add_worker(conn, "a", silent_seconds=None)
    rows.assign(conn, gala, owner, preferred=True)
    rows.assign(conn, gala, cold, warm=False)
    rows.own(conn, gala, owner)
    rows.load(conn, gala, arrivals=812, undecided=7)
    told = read.read(conn)
    a, b = told.hosts
    assert (a.name, a.slots, a.used, a.alive, a.draining) == ("a", 3, 2, True, False)
    assert (b.alive, b.draining, b.workers[0].alive) == (False, True, False)
    assert [host.last_resort for host in told.hosts] == [False, False]
    conn.execute("UPDATE fleet_host SET draining_at = clock_timestamp()")
    assert [host.last_resort for host in read.read(conn).hosts] == [True, False], "of those that are there"
    assert [(one.id == owner, one.process is None, one.events) for one in a.workers] == [
        (True, False, ["gala"]),
        (False, True, []),
    ]
    [event] = told.events
    assert (event.event, event.state, event.mode, event.workers, event.hot, event.edition) == (
        "gala", "open", "auto", 2, False, 0
    )  # fmt: skip
    assert event.owner is not None
    assert (event.owner.worker, event.owner.host, event.owner.renewed_seconds_ago < 60) == (owner, "a", True)
    assert event.standbys == [read.ShownStandby(cold, "b", False)]
    assert event.load is not None
    assert (event.load.arrived_per_second, event.load.undecided, event.load.latency_ms_p99) == (812, 7, 9)
    assert msgspec.json.encode(told)


def test_an_owner_that_is_not_of_the_fleet_is_told_too(conn):
    gala = rows.add_event(conn, "gala")
    conn.execute("UPDATE lease SET owner = gen_random_uuid(), worker = 'laptop:7', renewed_at = now()")
    [event] = read.read(conn).events
    assert event.owner is not None
    assert (event.owner.worker, event.owner.host, event.owner.process) == (None, None, "laptop:7")
    conn.execute("UPDATE lease SET owner = NULL WHERE event_id = %s", (gala,))
    assert read.read(conn).events[0].owner is None


def test_a_standby_far_behind_the_ledger_is_not_warm(conn):
    gala = rows.add_event(conn, "gala")
    rows.add_host(conn, "a")
    rows.assign(conn, gala, rows.add_worker(conn, "a"))
    assert read.read(conn).events[0].standbys[0].warm
    conn.execute("UPDATE event_cursor SET batch_no = 2001")
    assert not read.read(conn).events[0].standbys[0].warm
    conn.execute("UPDATE event_cursor SET batch_no = 0")
    conn.execute("UPDATE fleet_assignment SET warm_at = warm_at - interval '1 minute'")
    assert not read.read(conn).events[0].standbys[0].warm


def test_what_there_is_too_little_of_is_told_until_there_is_enough(conn):
    detail = {"wanted": 6, "slots": 1, "kept_cold": 0}
    write(conn, what=FleetWhat.SHORT, why="6 slots are wanted and there are 1", detail=detail)
    assert read.read(conn).short == "6 slots are wanted and there are 1"
    write(conn, what=FleetWhat.SHORT, why="enough again", detail={"wanted": 0, "slots": 0, "kept_cold": 0})
    assert read.read(conn).short is None


def test_the_log_is_read_newest_first_by_event_by_host_and_by_page(conn):
    gala = rows.add_event(conn, "gala")
    for number in range(5):
        write(
            conn, why=f"reason {number}", event=gala if number % 2 else None, host="a" if number > 2 else "b"
        )
    assert [one.why for one in log.read(conn, limit=2)] == ["reason 4", "reason 3"]
    below = log.read(conn)[1].id
    assert [one.why for one in log.read(conn, before=below, limit=2)] == ["reason 2", "reason 1"]
    assert [one.why for one in log.read(conn, event_id=gala)] == ["reason 3", "reason 1"]
    assert [one.why for one in log.read(conn, host="a")] == ["reason 4", "reason 3"]
    assert len(log.read(conn, limit=10**9)) == 5


def test_old_rows_of_the_log_go_a_bounded_number_at_a_time(conn):
    for number in range(6):
        write(conn, why=f"reason {number}")
    conn.execute("UPDATE fleet_log SET at = at - interval '31 days' WHERE id <= 3")
    assert log.trim(conn, limit=2) == 2
    assert (log.trim(conn), log.trim(conn)) == (1, 0)
    assert [one.why for one in log.read(conn)] == ["reason 5", "reason 4", "reason 3"]
    assert log.trim(conn, rows=1) == 2
    assert [one.why for one in log.read(conn)] == ["reason 5"]
