"""Events that share threads and connections: each is decided as any other, and none is harmed by another."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue

import psycopg
import pytest
import redis

from allocator import lease
from allocator.attend import Assigned, Attendance
from allocator.busy import StreamClock
from allocator.cold import loading
from allocator.cold.event import ColdEvent
from allocator.cold.loop import ColdLoop
from store.database import connect
from store.settings import EngineUrls
from store.stream.redis_stream import APPEND
from store.wire import stream_key
from store.words import EventState
from tests.allocator.house import change_event, check_laws, entry, open_event, plan_of, seats

WAIT_SECONDS_MAX = 30
COUNT = 4


class House:
    """Some events, and a process that attends to all of them."""

    def __init__(self, urls: EngineUrls) -> None:
        self.urls = urls
        self.slugs = [f"cold-{number}" for number in range(COUNT)]
        self.ids = [
            open_event(urls.database_url, plan_of(), slug, hold_ttl_seconds=600) for slug in self.slugs
        ]
        self.redis = redis.Redis.from_url(urls.redis_url)
        self.truth = psycopg.connect(urls.database_url, autocommit=True)
        self.shared = True
        self.asked = 0
        self.attendance = Attendance(urls, "here:1")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self.attendance.run, args=(self._wanted, self._stop))
        self._thread.start()
        self.until(lambda: self.owned() == COUNT, "all are owned")
        self.until(
            lambda: all(self.redis.exists(stream_key(slug)) for slug in self.slugs), "all have streams"
        )

    def _wanted(self, _conn: object) -> list[Assigned]:
        both = zip(self.ids, self.slugs, strict=True)
        return [Assigned(event, slug, shared=self.shared) for event, slug in both]

    def until(self, true: Callable[[], object], what: str) -> None:
        give_up_at = time.monotonic() + WAIT_SECONDS_MAX
        while not true():
            assert time.monotonic() < give_up_at, f"in vain until {what}"
            time.sleep(0.01)

    def one(self, query: str, *values: object) -> object:
        row = self.truth.execute(query, values).fetchone()
        return None if row is None else row[0]

    def owned(self) -> object:
        return self.one("SELECT count(*) FROM lease WHERE owner IS NOT NULL")

    def backends(self) -> set[int]:
        return {pid for (pid,) in self.truth.execute("SELECT DISTINCT backend_pid FROM lease").fetchall()}

    def ask(self, number: int, seat: str = "A-1") -> str:
        """One more request for an event; its id."""
        self.asked += 1
        value = entry(f"b{self.asked}", "r1", seats(seat))
        (arrival,) = self.redis.eval(APPEND, 1, stream_key(self.slugs[number]), value)
        return str(arrival.decode())

    def decided(self, number: int) -> object:
        return self.one(
            "SELECT count(*) FROM ledger WHERE kind = 'request' AND event_id = %s", self.ids[number]
        )

    def wait_decided(self, number: int, count: int) -> None:
        self.until(lambda: self.decided(number) == count, f"{count} of event {number} are decided")

    def decide_all(self) -> None:
        """Each event decides one more request."""
        before = [self.decided(number) for number in range(COUNT)]
        for number in range(COUNT):
            self.ask(number)
        for number, count in enumerate(before):
            self.wait_decided(number, int(str(count)) + 1)

    def epoch(self, number: int) -> object:
        return self.one("SELECT epoch FROM event_cursor WHERE event_id = %s", self.ids[number])

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(WAIT_SECONDS_MAX)
        assert not self._thread.is_alive()

    def close(self) -> None:
        self.stop()
        for event in self.ids:
            check_laws(self.urls.database_url, event)
        self.truth.close()
        self.redis.close()


@pytest.fixture
def house(engine_urls: EngineUrls) -> Iterator[House]:
    with contextlib.closing(House(engine_urls)) as made:
        yield made


def test_all_are_owned_through_one_connection_and_each_decides_its_own(house):
    assert len(house.backends()) == 1
    house.decide_all()
    house.decide_all()
    outcomes = house.truth.execute(
        "SELECT outcome, count(*) FROM ledger WHERE kind = 'request' GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert outcomes == [("held", COUNT), ("taken", COUNT)]
    assert house.attendance.warm().keys() == set(house.ids)
    assert {load.event_id: load.decided for load in house.attendance.loads()} == dict.fromkeys(house.ids, 2)


def test_connections_do_not_grow_with_the_events(house):
    house.decide_all()
    many = house.one(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE application_name LIKE 'onsale%%' AND datname = current_database()"
    )
    assert isinstance(many, int)
    assert many <= 6


def test_with_the_connection_all_are_lost_and_all_are_taken_again(house):
    house.decide_all()
    epochs = [house.epoch(number) for number in range(COUNT)]
    (backend,) = house.backends()
    house.one("SELECT pg_terminate_backend(%s)", backend)
    house.decide_all()
    assert all(house.epoch(number) > epochs[number] for number in range(COUNT))


def test_one_that_is_fenced_goes_back_to_standing_by_and_the_others_go_on(house):
    house.decide_all()
    epochs = [house.epoch(number) for number in range(COUNT)]
    house.truth.execute("UPDATE event_cursor SET epoch = epoch + 1 WHERE event_id = %s", (house.ids[0],))
    house.decide_all()
    assert [house.epoch(number) for number in range(1, COUNT)] == epochs[1:]
    assert house.epoch(0) > epochs[0] + 1


def test_somebody_who_takes_one_from_an_owner_that_is_stuck_ends_the_connection_of_all(house, monkeypatch):
    """They are free with it, and are decided by whoever takes them."""
    house.decide_all()
    stale = "UPDATE lease SET renewed_at = clock_timestamp() - interval '3 seconds' WHERE event_id = %s"
    (backend,) = house.backends()
    with connect(house.urls.database_url, "another") as conn:
        house.truth.execute(stale, (house.ids[0],))
        seen = lease.look(conn, house.ids[0])
        assert lease.take(conn, house.ids[0], seen, "another") is not None
        alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
        assert house.one(alive, backend) == 0
        for number in range(1, COUNT):
            before = int(str(house.decided(number)))
            house.ask(number)
            house.wait_decided(number, before + 1)
        assert house.one("SELECT worker FROM lease WHERE event_id = %s", house.ids[0]) == "another"
    house.decide_all()


def test_one_that_cannot_be_decided_because_of_a_lock_keeps_nobody_waiting(house):
    house.decide_all()
    with psycopg.connect(house.urls.database_url) as operator:
        operator.execute("SELECT 1 FROM seat WHERE event_id = %s FOR UPDATE", (house.ids[0],))
        house.ask(0, "B-1")
        for _ in range(5):
            for number in range(1, COUNT):
                before = int(str(house.decided(number)))
                house.ask(number)
                house.wait_decided(number, before + 1)
        assert house.decided(0) == 1
    house.wait_decided(0, 2)


def test_one_whose_loop_breaks_is_loaded_anew_and_the_others_go_on(house, monkeypatch, caplog):
    house.decide_all()
    epochs = [house.epoch(number) for number in range(COUNT)]
    serve, left = ColdLoop.serve, ["once"]

    def breaks(loop, entries, after):
        if entries and loop._event == house.slugs[0] and left:
            raise ZeroDivisionError(left.pop())
        serve(loop, entries, after)

    monkeypatch.setattr(ColdLoop, "serve", breaks)
    house.decide_all()
    assert "cold-0: ALERT: the allocator stopped" in caplog.text
    assert [house.epoch(number) for number in range(1, COUNT)] == epochs[1:]


def test_a_stream_that_is_lost_is_made_anew_above_the_cursor_and_gathered_for(house, monkeypatch):
    house.decide_all()
    house.redis.flushdb()
    house.until(
        lambda: all(house.redis.exists(stream_key(slug)) for slug in house.slugs), "streams are there"
    )
    house.decide_all()


def test_a_fact_is_consumed_though_nobody_asks_anything(house):
    house.decide_all()
    change_event(house.urls.database_url, EventState.CLOSED, house.slugs[1])
    house.until(
        lambda: house.one("SELECT count(*) FROM fact") == 0,
        "the fact is consumed",
    )
    house.ask(1)
    house.wait_decided(1, 2)
    last = (
        "SELECT outcome FROM ledger WHERE event_id = %s AND kind = 'request' ORDER BY batch_no DESC LIMIT 1"
    )
    assert house.one(last, house.ids[1]) == "closed"


def test_while_paused_requests_keep_their_order_and_are_decided_afterwards(house):
    house.decide_all()
    change_event(house.urls.database_url, EventState.PAUSED, house.slugs[1])
    house.until(lambda: house.one("SELECT count(*) FROM fact") == 0, "it is paused")
    arrivals = [house.ask(1), house.ask(1)]
    house.ask(2)
    house.wait_decided(2, 2)
    assert house.decided(1) == 1
    change_event(house.urls.database_url, EventState.OPEN, house.slugs[1])
    house.wait_decided(1, 3)
    rows = house.truth.execute(
        "SELECT arrival FROM ledger WHERE event_id = %s AND kind = 'request'"
        " ORDER BY batch_no, position OFFSET 1",
        (house.ids[1],),
    ).fetchall()
    assert [arrival for (arrival,) in rows] == arrivals


def test_a_hold_runs_out_though_nobody_asks_anything(house):
    house.ask(0)
    house.wait_decided(0, 1)
    house.stop()
    house.truth.execute("SET session_replication_role = replica")
    house.truth.execute("UPDATE hold SET expires_at = clock_timestamp() + interval '1 second'")
    again = Attendance(house.urls, "here:2")
    stop = threading.Event()
    thread = threading.Thread(target=again.run, args=(house._wanted, stop))
    thread.start()
    try:
        house.until(
            lambda: house.one("SELECT count(*) FROM ledger WHERE kind = 'expired'") == 1, "it ran out"
        )
    finally:
        stop.set()
        thread.join(WAIT_SECONDS_MAX)


def test_a_draft_opens_at_its_time(house):
    house.ask(3)
    house.wait_decided(3, 1)  # and with it the fact that it is open, which is taken back here
    house.truth.execute(
        "UPDATE event SET state = 'draft', opens_at = clock_timestamp() + interval '1 second' WHERE id = %s",
        (house.ids[3],),
    )
    epoch = house.epoch(3)
    house.truth.execute("UPDATE event_cursor SET epoch = epoch + 1 WHERE event_id = %s", (house.ids[3],))
    house.ask(3)
    house.until(lambda: house.epoch(3) > epoch + 1, "it is loaded as a draft")
    house.until(
        lambda: house.one("SELECT state FROM event WHERE id = %s", house.ids[3]) == "open", "it is open"
    )


def test_a_draft_begins_its_lobby_and_then_its_sale_at_their_times(house):
    def is_in(state: str) -> None:
        read = "SELECT state FROM event WHERE id = %s"
        house.until(lambda: house.one(read, house.ids[3]) == state, f"it is {state}")

    house.ask(3)
    house.wait_decided(3, 1)
    house.truth.execute(
        "UPDATE event SET state = 'draft', opens_at = clock_timestamp() + interval '1 hour' WHERE id = %s",
        (house.ids[3],),
    )
    epoch = house.epoch(3)
    house.truth.execute("UPDATE event_cursor SET epoch = epoch + 1 WHERE event_id = %s", (house.ids[3],))
    house.ask(3)
    house.until(lambda: house.epoch(3) > epoch + 1, "it is loaded as a draft")
    for name, state in (("lobby_opens_at", "lobby"), ("opens_at", "open")):
        house.truth.execute(
            f"UPDATE event SET {name} = clock_timestamp() + interval '300 ms' WHERE id = %s", (house.ids[3],)
        )
        is_in(state)


def test_told_to_stop_it_gives_all_back(house):
    house.decide_all()
    house.stop()
    assert house.owned() == 0


def test_an_event_goes_from_sharing_to_a_thread_of_its_own_and_back_by_plan(house):
    house.decide_all()
    for shared in (False, True):
        epochs = [house.epoch(number) for number in range(COUNT)]
        house.shared = shared
        house.until(
            lambda was=epochs: all(house.epoch(number) > was[number] for number in range(COUNT)),
            "they changed",
        )
        house.until(lambda: house.owned() == COUNT, "all are owned")
        assert len(house.backends()) == (1 if shared else COUNT)
        assert [house.epoch(number) for number in range(COUNT)] == [int(str(was)) + 1 for was in epochs]
        house.decide_all()


def test_one_query_tells_of_all_leases_and_only_what_moved_is_told(house):
    house.decide_all()
    with connect(house.urls.database_url, "standby") as conn:
        batches = {
            event: int(str(house.one("SELECT batch_no FROM event_cursor WHERE event_id = %s", event)))
            for event in house.ids
        }
        assert lease.look_at_all(conn, batches) == {}
        behind = batches | {house.ids[2]: 0}
        (moved,) = lease.look_at_all(conn, behind).items()
        assert (moved[0], moved[1].free, moved[1].batch_no) == (house.ids[2], False, batches[house.ids[2]])
    house.stop()
    with connect(house.urls.database_url, "standby") as conn:
        seen = lease.look_at_all(conn, batches)
        assert {event: (one.free, one.given_back) for event, one in seen.items()} == dict.fromkeys(
            house.ids, (True, True)
        )


def test_one_that_cannot_be_loaded_in_time_waits_behind_the_others(database_url, monkeypatch):
    slow, quick = [
        ColdEvent(number, f"cold-{number}", StreamClock(), lambda: True, lambda: None) for number in (1, 2)
    ]
    loaded: SimpleQueue[ColdEvent] = SimpleQueue()

    failures = [psycopg.errors.QueryCanceled("canceling statement due to statement timeout")]

    def load(_, event_id):
        if event_id == slow.event_id and failures:
            raise failures.pop()

    monkeypatch.setattr(loading, "load", load)
    thread = loading.Loading(database_url, loaded.put)
    thread.add(slow)
    thread.add(quick)
    thread.start()
    try:
        assert [loaded.get(timeout=WAIT_SECONDS_MAX) for _ in range(2)] == [quick, slow]
    finally:
        thread.stop()
        thread.join(WAIT_SECONDS_MAX)
