"""Steps are written under conditions: what is not as it was planned with undoes the whole turn."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest

from store.fleet import log, read, steps, turn
from store.fleet.steps import (
    Assign,
    Cool,
    Heat,
    LoseHost,
    LoseWorker,
    Note,
    Overtaken,
    Prefer,
    Short,
    Start,
    Stop,
    Unassign,
)
from store.fleet.words import FleetWhat
from tests.store.fleet import fleet_rows as rows


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as conn:
        turn.make(conn)
        yield conn


@pytest.fixture
def gala(conn):
    rows.add_host(conn, "a", 2)
    rows.add_host(conn, "drains", draining=True)
    return rows.add_event(conn, "gala")


def overtaken(conn, step):
    fine = Start(worker=uuid4(), host="a", why="fine by itself")
    with pytest.raises(Overtaken), conn.transaction():
        steps.write(conn, [fine, step])
    assert conn.execute("SELECT count(*) FROM fleet_worker WHERE id = %s", (fine.worker,)).fetchone() == (0,)
    assert log.read(conn) == []


def write(conn, *planned):
    with conn.transaction():
        steps.write(conn, planned)


def test_who_was_heard_of_meanwhile_is_not_lost(conn, gala):
    worker = rows.add_worker(conn, "a")
    rows.assign(conn, gala, worker, preferred=True)
    overtaken(conn, LoseWorker(worker=worker, host="a", seen_at=1, why="x"))
    overtaken(conn, LoseWorker(worker=worker, host="a", seen_at=None, why="x"))
    overtaken(conn, LoseHost(host="a", seen_at=1, why="x"))
    assert rows.attended(conn) == {"gala": [("a", True)]}


def test_nothing_is_started_on_hosts_that_are_gone_drain_or_are_full(conn, gala):
    overtaken(conn, Start(worker=uuid4(), host="gone", why="x"))
    overtaken(conn, Start(worker=uuid4(), host="drains", why="x"))
    rows.add_worker(conn, "a")
    overtaken(conn, Start(worker=uuid4(), host="a", why="x"))


def test_on_a_draining_host_a_worker_is_started_while_every_host_drains(conn, gala):
    conn.execute("UPDATE fleet_host SET draining_at = clock_timestamp()")
    worker = uuid4()
    write(conn, Start(worker=worker, host="drains", why="x"))
    assert conn.execute("SELECT id, host FROM fleet_worker").fetchall() == [(worker, "drains")]


def test_that_only_draining_hosts_are_there_is_written_where_it_is_so(conn, gala):
    for drained in (1, 0):
        write(conn, Short(wanted=0, slots=0, kept_cold=0, drained=drained, why=f"{drained} drained"))
        told = log.read(conn)[0]
        assert told.what is FleetWhat.SHORT
        assert told.detail.get("drained", 0) == drained
        assert read.what_is_short(conn) == ("1 drained" if drained else None)


def test_who_attends_to_something_is_not_stopped_and_who_is_stopped_is_given_nothing(conn, gala):
    worker = rows.add_worker(conn, "a")
    rows.assign(conn, gala, worker)
    conn.execute("UPDATE fleet_host SET slots = 4")
    overtaken(conn, Stop(worker=worker, host="a", why="x"))
    conn.execute("DELETE FROM fleet_assignment")
    write(conn, Stop(worker=worker, host="a", why="x"))
    conn.execute("DELETE FROM fleet_log")
    overtaken(conn, Stop(worker=worker, host="a", why="x"))
    overtaken(conn, Assign(event=gala, worker=worker, host="a", why="x"))
    overtaken(conn, Assign(event=gala, worker=uuid4(), host="a", why="x"))


def test_one_who_attends_to_an_event_is_preferred(conn, gala):
    here, there = rows.add_worker(conn, "a"), rows.add_worker(conn, "drains")
    rows.assign(conn, gala, here, preferred=True)
    rows.assign(conn, gala, there)
    write(conn, Prefer(event=gala, worker=there, host="drains", why="x"))
    assert rows.attended(conn) == {"gala": [("a", False), ("drains", True)]}
    conn.execute("DELETE FROM fleet_log")
    overtaken(conn, Prefer(event=gala, worker=uuid4(), host="a", why="x"))
    overtaken(conn, Unassign(event=gala, worker=uuid4(), host="a", why="x"))
    assert rows.attended(conn) == {"gala": [("a", False), ("drains", True)]}


def test_what_an_operator_changed_meanwhile_is_not_written_over(conn, gala):
    conn.execute("INSERT INTO fleet_event (event_id, edition) VALUES (%s, 7)", (gala,))
    for edition in (0, 6):
        overtaken(conn, Note(event=gala, edition=edition, busy_since=1, quiet_since=None, why=""))
        overtaken(conn, Heat(event=gala, edition=edition, why="x"))
    overtaken(conn, Cool(event=gala, edition=7, why="it is cold already"))
    write(conn, Heat(event=gala, edition=7, why="x"))
    assert conn.execute("SELECT hot, edition FROM fleet_event").fetchall() == [(True, 7)]
    assert [one.what for one in log.read(conn)] == [FleetWhat.HOT]
