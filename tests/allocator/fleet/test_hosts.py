"""A host's name belongs to one agent at a time, and its row tells how it is."""

from __future__ import annotations

from typing import Any

import pytest

from store.audit import Said
from store.fleet import edit, hosts
from store.fleet.hosts import Host, HostTaken, Standing

HALL = Host("hall", 4, "hall:11", "0.1.0")
ANOTHER = HALL._replace(process="attic:12", slots=2)
HOW: dict[str, Any] = {"memory": 5, "memory_max": 10, "load": 0.5}


def silence(conn):
    conn.execute("UPDATE fleet_host SET seen_at = seen_at - interval '1 minute'")


def test_an_agent_enlists_its_host_once_and_says_how_it_is(conn, fleet):
    hosts.enlist(conn, HALL)
    hosts.enlist(conn, HALL)
    assert hosts.beat(conn, HALL, **HOW) is Standing.TAKES
    stands = "SELECT name, slots, process, version, memory_bytes, memory_bytes_max, load FROM fleet_host"
    assert conn.execute(stands).fetchall() == [("hall", 4, "hall:11", "0.1.0", 5, 10, 0.5)]


def test_a_name_that_is_in_use_is_refused(conn, fleet):
    hosts.enlist(conn, HALL)
    with pytest.raises(HostTaken, match=r"hall:11.*--name") as refused:
        hosts.enlist(conn, ANOTHER)
    assert refused.value.process == "hall:11"
    assert fleet.one("SELECT process FROM fleet_host") == "hall:11"
    assert fleet.log() == [("joined", "hall")]


def test_of_whom_nothing_is_heard_or_who_is_known_to_be_gone_the_name_is_taken_over(conn, fleet):
    hosts.enlist(conn, HALL)
    hosts.enlist(conn, ANOTHER, gone="hall:11")
    assert fleet.one("SELECT process FROM fleet_host") == "attic:12"
    silence(conn)
    hosts.enlist(conn, HALL)
    assert fleet.one("SELECT process FROM fleet_host") == "hall:11"


def test_a_host_that_was_lost_while_it_drained_drains_when_it_is_heard_of_again(conn, fleet):
    hosts.enlist(conn, HALL)
    hosts.enlist(conn, Host("attic", 4, "attic:12", "0.1.0"))
    edit.drain(conn, "hall", Said("Olga", "a new kernel"))
    for kept in (False, True):
        if kept:
            edit.keep(conn, "hall", Said("Olga", "it has it"))
        conn.execute("DELETE FROM fleet_host WHERE name = 'hall'")  # as the planner does
        hosts.enlist(conn, HALL)
        assert hosts.beat(conn, HALL, **HOW) is (Standing.TAKES if kept else Standing.DRAINS)
    edit.drain(conn, "hall", Said("Olga", "another kernel"))
    hosts.leave(conn, HALL)
    hosts.enlist(conn, HALL)
    how = hosts.beat(conn, HALL, **HOW)
    assert how is Standing.TAKES, "who was stopped comes back as a host like any other"


def test_a_draining_host_is_the_last_resort_once_the_planner_took_every_other_one_away(conn, fleet):
    attic = Host("attic", 4, "attic:12", "0.1.0")
    hosts.enlist(conn, HALL)
    hosts.enlist(conn, attic)
    edit.drain(conn, "hall", Said("Olga", "a new kernel"))
    silence(conn)
    conn.execute("DELETE FROM fleet_host WHERE name = 'hall'")
    hosts.enlist(conn, HALL)
    assert hosts.beat(conn, HALL, **HOW) is Standing.DRAINS, "that the other is silent is not its to judge"
    conn.execute("DELETE FROM fleet_host WHERE name = 'attic'")  # as the planner does
    assert hosts.beat(conn, HALL, **HOW) is Standing.LAST_RESORT
    hosts.enlist(conn, attic)
    assert hosts.beat(conn, HALL, **HOW) is Standing.DRAINS, (
        "it gives them up as soon as another one is there"
    )


def test_who_was_taken_over_is_told_with_its_next_beat(conn, fleet):
    hosts.enlist(conn, HALL)
    silence(conn)
    hosts.enlist(conn, ANOTHER)
    assert hosts.beat(conn, HALL, **HOW) is None
    assert hosts.beat(conn, ANOTHER, **HOW) is Standing.TAKES


def test_draining_is_heard_of_and_outlives_the_agent(conn, fleet):
    hosts.enlist(conn, HALL)
    fleet.host("other")
    conn.execute("UPDATE fleet_host SET draining_at = clock_timestamp() WHERE name = 'hall'")
    assert hosts.beat(conn, HALL, **HOW) is Standing.DRAINS
    silence(conn)
    hosts.enlist(conn, ANOTHER)
    assert hosts.beat(conn, ANOTHER, **HOW) is Standing.DRAINS


def test_who_leaves_takes_along_what_had_not_begun(conn, fleet):
    hosts.enlist(conn, HALL)
    wanted, runs = fleet.worker(), fleet.worker(process="hall:13")
    elsewhere = fleet.worker("attic")
    for worker in (wanted, runs, elsewhere):
        fleet.assign(1, worker)
    hosts.leave(conn, ANOTHER)
    assert fleet.one("SELECT count(*) FROM fleet_host") == 1, "only its own agent says that"
    hosts.leave(conn, HALL)
    assert fleet.one("SELECT count(*) FROM fleet_host") == 0
    for table, column in (("fleet_worker", "id"), ("fleet_assignment", "worker_id")):
        left = {worker for (worker,) in conn.execute(f"SELECT {column} FROM {table}").fetchall()}
        assert left == {runs, elsewhere}
    assert fleet.log() == [("joined", "hall"), ("left", "hall")]
