"""Prometheus is told who owns the events on sale, how busy they are, and how the fleet stands."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.operators import beside as told_by
from gateway.operators.beside import Whole
from store import events
from store.fleet import balance
from store.fleet import numbers as fleet_numbers
from store.words import EventState
from tests.gateway.test_operator_beside import NOTHING, PATH, SMALL, numbers
from tests.gateway.test_operators import KEY, app_for, ask
from tests.store.test_blocks import make_event

AGO = "clock_timestamp() - interval '1 minute'"
HOST = "INSERT INTO fleet_host (name, slots, process, version) VALUES (%s, %s, 'm:1', '1')"
WORKER = "INSERT INTO fleet_worker (host, seen_at) VALUES (%s, clock_timestamp()) RETURNING id"
OWNED = f"""
UPDATE event_cursor SET epoch = 3, batch_no = 41, batch_time = {AGO};
UPDATE lease SET owner = gen_random_uuid(), renewed_at = clock_timestamp()
"""
LOAD = """
INSERT INTO event_load (event_id, process, epoch, batch_no, decided, decided_per_second, arrived_per_second,
                        undecided, latency_ms_p50, latency_ms_p99, at)
VALUES (%s, 'm:1', 3, 41, 1000, 250.5, 300, 12, 4, 90, clock_timestamp() - interval '7 seconds')
"""


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


def test_an_event_on_sale_says_who_decides_it_and_how_busy_it_is(told, conn):
    event = make_event(conn, "gig")
    conn.execute(OWNED)
    conn.execute(LOAD, (event,))
    balance.write(conn, event, 2)
    found = told()
    assert {name: found[f"onsale_event_{name}", "gig"] for name in (
        "owned", "owner_epoch", "batches_total", "decided_total", "decided_per_second", "undecided",
        "balance_findings", "workers", "workers_wanted", "hot",
    )} == {
        "owned": 1, "owner_epoch": 3, "batches_total": 41, "decided_total": 1000, "decided_per_second": 250.5,
        "undecided": 12, "balance_findings": 2, "workers": 0, "workers_wanted": 2, "hot": 0,
    }  # fmt: skip
    assert found["onsale_event_latency_seconds", "gig", "0.99"] == 0.09
    assert found["onsale_event_load_age_seconds", "gig"] >= 7
    assert 0 <= found["onsale_event_lease_age_seconds", "gig"] < 60
    states = {one[2]: value for one, value in found.items() if one[0] == "onsale_event_state"}
    assert states == {state: float(state is EventState.OPEN) for state in EventState}
    assert (found["onsale_events_on_sale",], found["onsale_events_unowned",]) == (1, 0)


def test_an_event_whose_owner_shows_no_sign_of_life_is_owned_by_nobody(told, conn):
    make_event(conn, "gig")
    conn.execute(OWNED)
    conn.execute(f"UPDATE lease SET renewed_at = {AGO}")
    found = told()
    assert (found["onsale_event_owned", "gig"], found["onsale_events_unowned",]) == (0, 1)
    assert found["onsale_event_lease_age_seconds", "gig"] >= 60
    conn.execute("UPDATE lease SET renewed_at = clock_timestamp(), owner = NULL")
    assert told()["onsale_event_owned", "gig"] == 0, "given back"


def test_what_nobody_said_yet_is_not_told(told, conn):
    make_event(conn, "gig")
    found = told()
    assert found["onsale_event_owned", "gig"] == 0
    for name in ("load_age_seconds", "undecided", "balance_findings", "latency_seconds"):
        assert not [one for one in found if one[0] == f"onsale_event_{name}"], name


def test_hosts_and_workers_are_counted_by_how_they_are_and_hosts_named(told, conn):
    event = make_event(conn, "gig")
    for name, slots in (("one", 4), ("two", 2), ("gone", 2)):
        conn.execute(HOST, (name, slots))
    conn.execute(f"UPDATE fleet_host SET seen_at = {AGO} WHERE name = 'gone'")
    conn.execute(
        "UPDATE fleet_host SET draining_at = clock_timestamp(), memory_bytes = 512 WHERE name = 'two'"
    )
    workers = [conn.execute(WORKER, (host,)).fetchone()[0] for host in ("one", "one", "gone", "two")]
    conn.execute(f"UPDATE fleet_worker SET seen_at = {AGO} WHERE host = 'gone'")
    conn.execute("UPDATE fleet_worker SET seen_at = NULL WHERE host = 'two'")
    for worker in workers[:3]:
        conn.execute("INSERT INTO fleet_assignment (event_id, worker_id) VALUES (%s, %s)", (event, worker))
    found = told()
    assert {one[1]: n for one, n in found.items() if one[0] == "onsale_fleet_hosts"} == {
        "alive": 2, "draining": 1, "lost": 1,
    }  # fmt: skip
    assert {one[1]: n for one, n in found.items() if one[0] == "onsale_fleet_workers"} == {
        "alive": 2, "starting": 1, "lost": 1,
    }  # fmt: skip
    assert (found["onsale_fleet_host_slots", "one"], found["onsale_fleet_host_slots_used", "one"]) == (4, 2)
    assert [found["onsale_fleet_host_up", host] for host in ("one", "two", "gone")] == [1, 1, 0]
    assert [found["onsale_fleet_host_last_resort", host] for host in ("one", "two")] == [0, 0]
    assert found["onsale_fleet_host_memory_bytes", "two"] == 512
    assert ("onsale_fleet_host_memory_bytes", "one") not in found
    assert found["onsale_event_workers", "gig"] == 2, "those that are alive"
    conn.execute("UPDATE fleet_host SET draining_at = clock_timestamp()")
    found = told()
    last = [found["onsale_fleet_host_last_resort", host] for host in ("one", "two", "gone")]
    assert last == [1, 1, 0], "while each host drains, those that are alive"


def test_labels_are_bounded_and_sums_are_not(told, conn, monkeypatch):
    make_event(conn, "gig")
    for number in range(3):
        conn.execute(HOST, (f"host-{number}", 1))
        make_event(conn, f"gig-{number}")
    events.set_state(conn, "gig-0", EventState.CLOSED)
    monkeypatch.setattr(fleet_numbers, "HOSTS_MAX", 2)
    monkeypatch.setattr(fleet_numbers, "EVENTS", fleet_numbers.EVENTS.replace("LIMIT 200", "LIMIT 2"))
    found = told()
    assert len([one for one in found if one[0] == "onsale_fleet_host_up"]) == 2
    assert found["onsale_fleet_hosts", "alive"] == 3
    assert {one[1] for one in found if one[0] == "onsale_event_owned"} == {"gig-2", "gig-1"}
    assert found["onsale_events_on_sale",] == 3


def test_names_keep_prometheus_own_rules():
    """Base units, `_total` for what grows and for nothing else, a help for each."""
    whole = Whole(NOTHING, fleet_numbers.FleetNumbers([], {}, {}, [], 0, 0), SMALL, 0, None)
    for family in text_string_to_metric_families(told_by.text_of(whole, 0.0).decode()):
        assert family.documentation.endswith("."), family.name
        assert not family.name.endswith(("_ms", "_total", "_minutes", "_kb", "_mb")), family.name
        for sample in family.samples:
            assert sample.name.endswith("_total") == (family.type == "counter"), sample.name
