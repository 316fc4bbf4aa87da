"""One worker's process: claims its row, says each second how it is, ends when told to, not before."""

from __future__ import annotations

import threading
import time
from uuid import uuid4

import pytest

from allocator.fleet import job
from allocator.fleet.job import run
from store.errors import Unavailable
from store.processes import process_name

WITHIN_SECONDS = 30


class Attending:
    """Stands where an Attendance does: is asked what is wanted as that asks, and owns what a test says."""

    def __init__(self, conn, owns=()):
        self.conn = conn
        self.owns = list(owns)
        self.wanted: list[list[tuple[object, ...]]] = []
        self.begun, self.ended = threading.Event(), threading.Event()

    def __call__(self, urls, name):
        assert name == process_name()
        return self

    def run(self, wanted, stop):
        self.wanted.append([tuple(one) for one in wanted(self.conn)])
        self.begun.set()
        assert stop.wait(WITHIN_SECONDS)
        self.ended.set()

    def warm(self):
        return dict.fromkeys(self.owns, 5)

    def loads(self):
        return [(event, 1, 5, 9, 1.0, 1.0, 0, None, None) for event in self.owns]


@pytest.fixture
def begin(engine_urls):
    """Runs a worker beside the test; told to stop at the test's end."""
    stops, threads = [], []

    def start(worker, attending):
        stop, leave = threading.Event(), threading.Event()
        stops.append(stop)
        threads.append(
            threading.Thread(
                target=run,
                args=(engine_urls, worker),
                kwargs={"stop": stop, "leave": leave, "attendance": attending},
            )
        )
        threads[-1].start()
        assert attending.begun.wait(WITHIN_SECONDS)
        return leave, threads[-1]

    yield start
    for stop in stops:
        stop.set()
    for thread in threads:
        thread.join(WITHIN_SECONDS)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(job, "REPORT_SECONDS", 0.05)


def until(conn, query, wanted):
    ends = time.monotonic() + WITHIN_SECONDS
    while (found := conn.execute(query).fetchall()) != wanted:
        assert time.monotonic() < ends, f"{query} says {found}, not {wanted}"
        conn.execute("SELECT pg_sleep(0.02)")


def test_it_says_what_it_follows_and_how_busy_its_events_are(conn, fleet, begin):
    worker, event = fleet.worker(), fleet.event("gala")
    fleet.assign(event, worker, preferred=True)
    attending = Attending(conn, [event])
    _, thread = begin(worker, attending)
    assert attending.wanted == [[(event, "gala", True, True, False)]]
    until(conn, "SELECT warm_batch FROM fleet_assignment", [(5,)])
    until(conn, f"SELECT process, decided FROM event_load WHERE event_id = {event}", [(process_name(), 9)])
    until(conn, "SELECT memory_bytes > 0, cpu >= 0, process IS NOT NULL FROM fleet_worker", [(True,) * 3])
    assert thread.is_alive()


def test_a_row_that_is_run_or_gone_is_left_alone(conn, fleet, engine_urls):
    attending = Attending(conn)
    events = {"stop": threading.Event(), "leave": threading.Event()}
    run(engine_urls, fleet.worker(process="hall:1"), attendance=attending, **events)
    run(engine_urls, uuid4(), attendance=attending, **events)
    assert not attending.begun.is_set()
    assert fleet.one("SELECT process FROM fleet_worker") == "hall:1"


def test_told_to_stop_it_ends_and_its_row_goes(conn, fleet, begin):
    worker = fleet.worker()
    fleet.assign(fleet.event("gala"), worker)
    attending = Attending(conn)
    _, thread = begin(worker, attending)
    conn.execute("UPDATE fleet_worker SET stop_at = clock_timestamp()")
    thread.join(WITHIN_SECONDS)
    assert attending.ended.is_set()
    assert fleet.one("SELECT count(*) FROM fleet_worker") == 0
    assert fleet.one("SELECT count(*) FROM fleet_assignment") == 0


def test_taken_for_lost_it_ends_and_leaves_the_row_to_who_has_it(conn, fleet, begin):
    worker = fleet.worker()
    attending = Attending(conn)
    _, thread = begin(worker, attending)
    conn.execute("UPDATE fleet_worker SET process = 'attic:1'")
    thread.join(WITHIN_SECONDS)
    assert attending.ended.is_set()
    assert fleet.one("SELECT process FROM fleet_worker") == "attic:1"


def test_what_another_can_take_at_once_is_waited_for_before_it_ends(conn, fleet, begin):
    """The lease is given back by whoever attends; here the test does."""
    worker, event = fleet.worker(), fleet.event("gala", owner=process_name())
    fleet.assign(event, worker, preferred=True)
    fleet.host("attic")
    heir = fleet.worker("attic", "attic:1")
    fleet.assign(event, heir, warm_batch=1)
    attending = Attending(conn, [event])
    leave, thread = begin(worker, attending)
    conn.execute("UPDATE fleet_worker SET seen_at = 'infinity' WHERE id = %s", (heir,))
    conn.execute("UPDATE fleet_assignment SET warm_at = 'infinity' WHERE worker_id = %s", (heir,))
    leave.set()
    until(conn, "SELECT count(*) FROM fleet_log WHERE what = 'preferred'", [(1,)])
    assert fleet.preferred(event) == heir
    assert not attending.ended.is_set(), "the other one has not taken it yet"
    conn.execute("UPDATE lease SET owner = NULL")
    thread.join(WITHIN_SECONDS)
    assert attending.ended.is_set()


def test_what_nobody_takes_is_waited_for_no_longer_than_a_moment(conn, fleet, begin, monkeypatch):
    monkeypatch.setattr(job, "HAND_ON_SECONDS_MAX", 0.2)
    worker, event = fleet.worker(), fleet.event("gala", owner=process_name())
    fleet.assign(event, worker, preferred=True)
    fleet.host("attic")
    heir = fleet.worker("attic", "attic:1")
    fleet.assign(event, heir, warm_batch=1)
    conn.execute("UPDATE fleet_worker SET seen_at = 'infinity' WHERE id = %s", (heir,))
    conn.execute("UPDATE fleet_assignment SET warm_at = 'infinity' WHERE worker_id = %s", (heir,))
    leave, thread = begin(worker, Attending(conn, [event]))
    leave.set()
    thread.join(WITHIN_SECONDS)
    assert not thread.is_alive()


def test_leaving_does_not_wait_for_a_postgres_that_is_away(conn, fleet, begin, monkeypatch):
    worker = fleet.worker()
    attending = Attending(conn)
    leave, thread = begin(worker, attending)

    def away(*_: object, **__: object) -> None:
        raise Unavailable

    monkeypatch.setattr(job, "connect", away)
    conn.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'onsale fleet worker'"
    )
    leave.set()
    thread.join(WITHIN_SECONDS)
    assert attending.ended.is_set()
