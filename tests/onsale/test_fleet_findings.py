"""The doctor on the fleet: no host alive, slots short, workers that do not begin."""

from __future__ import annotations

import psycopg
import pytest

from onsale.findings import Level
from onsale.fleet_findings import fleet as findings
from tests.allocator.fleet.fleet import Fleet


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def fleet(conn):
    return Fleet(conn)


def host(conn, name="hall", *, slots=2, silent_seconds=-600):
    conn.execute(
        "INSERT INTO fleet_host (name, slots, process, version, seen_at)"
        " VALUES (%s, %s, 'hall:1', '1', clock_timestamp() - make_interval(secs => %s))",
        (name, slots, silent_seconds),
    )


def found(conn):
    return [(finding.level, finding.found) for finding in findings(conn)]


def test_without_a_fleet_there_is_nothing_to_say_while_somebody_attends(conn, fleet):
    assert found(conn) == []
    fleet.event("gala", owner="somewhere:1")
    conn.execute("UPDATE lease SET renewed_at = clock_timestamp()")
    assert found(conn) == []


def test_no_host_alive_needs_a_hand_when_nobody_decides(conn, fleet):
    host(conn, silent_seconds=60)
    assert found(conn) == [(Level.WARN, "no host is alive of 1")]
    fleet.event("gala")
    assert found(conn) == [(Level.BAD, "no host is alive of 1; nobody decides")]


def test_hosts_that_are_alive_are_counted_and_all_draining_is_seen(conn, fleet):
    host(conn)
    host(conn, "attic", slots=3)
    fleet.worker(process="hall:2")
    assert found(conn) == [(Level.OK, "hosts alive: 2, slots: 5, workers: 1")]
    conn.execute("UPDATE fleet_host SET draining_at = clock_timestamp()")
    assert found(conn)[0] == (
        Level.WARN,
        "all hosts are draining: they take events until another one is there",
    )


def test_events_that_lack_workers_are_seen_where_no_slot_is_free(conn, fleet):
    host(conn, slots=2)
    only, event = fleet.worker(process="hall:2"), fleet.event("gala")
    fleet.assign(event, only, preferred=True)
    assert found(conn) == [(Level.OK, "hosts alive: 1, slots: 2, workers: 1")], "a slot is free"
    fleet.worker(process="hall:3")
    lacking = "events with fewer workers than they are to have: 1; no slot is free of 2"
    assert found(conn)[0] == (Level.WARN, lacking)


def test_workers_that_do_not_begin_are_seen(conn, fleet):
    host(conn)
    fleet.worker()
    assert found(conn)[0][0] is Level.OK
    conn.execute("UPDATE fleet_worker SET wanted_at = wanted_at - interval '1 minute'")
    assert found(conn)[0] == (Level.WARN, "workers that are wanted and do not begin: 1")
