"""Allocators as processes: whatever is killed or stopped, somebody goes on and decides each request once."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from allocator.replay import Finding, verify
from onsale.engines.child import Child, spawn
from onsale.engines.data_dir import REPOSITORY
from store.settings import EngineUrls
from store.stream.redis_stream import APPEND
from store.wire import decisions_channel, stream_key
from store.words import Best, EventState, Want
from tests.allocator.house import SLUG, change_event, check_laws, entry, open_event, plan_of

pytestmark = pytest.mark.faults

WAIT_SECONDS_MAX = 60


class Sale:
    """An event, allocators as processes, and a gateway's view: what was asked and what is decided."""

    def __init__(self, urls: EngineUrls, logs: Path) -> None:
        self.urls = urls
        self.event_id = open_event(urls.database_url, plan_of(rows=20, seats_a_row=20))
        self.redis = redis.Redis.from_url(urls.redis_url)
        self.listening = self.redis.pubsub(ignore_subscribe_messages=True)
        self.listening.subscribe(decisions_channel(SLUG, "g1"))
        self.truth = psycopg.connect(urls.database_url, autocommit=True)
        self.asked = 0
        self.arrivals: list[str] = []
        self._logs = logs
        self._children: dict[int, Child] = {}

    def start(self, name: str) -> Child:
        """One more allocator."""
        child = spawn(
            name,
            [sys.executable, "-m", "allocator"],
            log_path=self._logs / f"{name}.log",
            env={**os.environ, **self.urls.as_env(), "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"},
            cwd=REPOSITORY,
        )
        self._children[child.pid] = child
        return child

    def ask(self, count: int) -> None:
        """Requests of as many buyers, half of them for a seat that somebody else wants too."""
        entries = []
        for number in range(self.asked, self.asked + count):
            want = Want(best=Best(1)) if number % 2 else Want(seats=(f"T-{number % 18 + 1}",))
            entries.append(entry(f"b{number}", "r1", want))
        self.asked += count
        ids = self.redis.eval(APPEND, 1, stream_key(SLUG), *entries)
        self.arrivals += [identifier.decode() for identifier in ids]

    def decided(self) -> int:
        row = self.truth.execute("SELECT count(*) FROM ledger WHERE kind = 'request'").fetchone()
        assert row is not None
        return int(row[0])

    def wait_decided(self, count: int) -> None:
        """Wakes with each published batch; what is not published is looked up, as gateways do."""
        for _ in range(WAIT_SECONDS_MAX * 5):
            if self.decided() >= count:
                return
            self.listening.get_message(timeout=0.2)
        words = [child.last_words() for child in self._children.values()]
        raise AssertionError(
            f"{self.decided()} of {count} are decided. Their last words:\n" + "\n".join(words)
        )

    def owner(self) -> Child:
        """The process that owns the event."""
        row = self.truth.execute("SELECT worker FROM lease WHERE owner IS NOT NULL").fetchone()
        assert row is not None, "somebody owns the event"
        return self._children[int(row[0].rpartition(":")[2])]

    def wait_open(self) -> None:
        """Until an allocator made the stream."""
        for _ in range(WAIT_SECONDS_MAX * 10):
            if self.redis.exists(stream_key(SLUG)):
                return
            self.listening.get_message(timeout=0.1)
        raise AssertionError("no allocator came")

    def check(self) -> None:
        """Every request decided once, in its order, nobody's seat given twice, and the ledger proves it."""
        check_laws(self.urls.database_url, self.event_id)
        rows = self.truth.execute(
            "SELECT arrival FROM ledger WHERE kind = 'request' ORDER BY batch_no, position"
        ).fetchall()
        assert [arrival for (arrival,) in rows] == self.arrivals
        epochs = [
            epoch
            for (epoch,) in self.truth.execute("SELECT epoch FROM ledger_batch ORDER BY batch_no").fetchall()
        ]
        assert epochs == sorted(epochs)
        with psycopg.connect(self.urls.database_url) as conn:
            assert [step for step in verify(conn, self.event_id) if isinstance(step, Finding)] == []

    def epochs(self) -> set[int]:
        return {
            epoch for (epoch,) in self.truth.execute("SELECT DISTINCT epoch FROM ledger_batch").fetchall()
        }

    def close(self) -> None:
        for child in self._children.values():
            child.send(signal.SIGCONT)
            child.stop(signal.SIGTERM, 15)
        self.listening.close()
        self.redis.close()
        self.truth.close()


@pytest.fixture
def sale(engine_urls: EngineUrls, tmp_path: Path) -> Iterator[Sale]:
    with contextlib.closing(Sale(engine_urls, tmp_path)) as made:
        yield made


def test_of_two_allocators_one_decides_and_when_it_is_killed_under_load_the_other_does(sale):
    for name in ("one", "two"):
        sale.start(name)
    sale.wait_open()
    for _ in range(10):
        sale.ask(20)
    sale.wait_decided(60)
    first = sale.owner()
    first.send(signal.SIGKILL)
    for _ in range(10):
        sale.ask(20)
    first.wait()
    sale.wait_decided(400)
    assert sale.owner() is not first
    assert len(sale.epochs()) >= 2
    sale.check()


def test_an_allocator_that_is_told_to_stop_hands_over_and_forgets_nothing(sale):
    first = sale.start("one")
    sale.wait_open()
    sale.ask(50)
    sale.wait_decided(50)
    sale.start("two")
    sale.ask(100)
    assert first.stop(signal.SIGTERM, 30), "it ends by itself"
    assert first.exit_code == 0
    sale.ask(50)
    sale.wait_decided(200)
    sale.check()


def test_an_allocator_that_was_stopped_finds_itself_relieved_when_it_goes_on(sale):
    first = sale.start("one")
    sale.wait_open()
    sale.ask(40)
    sale.wait_decided(40)
    sale.start("two")
    first.send(signal.SIGSTOP)
    sale.ask(40)
    sale.wait_decided(80)
    second = sale.owner()
    assert second is not first
    first.send(signal.SIGCONT)
    sale.ask(40)
    sale.wait_decided(120)
    second.send(signal.SIGKILL)  # and the first one is a standby like any other
    second.wait()
    sale.ask(40)
    sale.wait_decided(160)
    assert sale.owner() is first
    sale.check()


def test_a_postgres_backend_that_is_ended_in_the_middle_of_work_costs_no_request(sale):
    sale.start("one")
    sale.wait_open()
    for _ in range(5):
        sale.ask(40)
        sale.truth.execute(
            "SELECT pg_terminate_backend(backend_pid) FROM lease WHERE event_id = %s", (sale.event_id,)
        )
    sale.wait_decided(200)
    sale.check()


def test_a_closed_event_is_attended_to_until_its_holds_are_over(sale):
    sale.start("one")
    sale.wait_open()
    sale.ask(4)
    sale.wait_decided(4)
    change_event(sale.urls.database_url, EventState.CLOSED)
    sale.ask(4)
    sale.wait_decided(8)
    rows = sale.truth.execute(
        "SELECT outcome FROM ledger WHERE kind = 'request' ORDER BY batch_no, position OFFSET 4"
    ).fetchall()
    assert {outcome for (outcome,) in rows} == {"closed"}
    sale.check()
