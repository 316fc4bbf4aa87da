"""The allocator's process looks whether its events add up, alerts with the rows, and repairs nothing."""

from __future__ import annotations

import gc
import logging
import signal
import sys
import threading
from typing import Any

import psycopg
import pytest

from allocator import __main__ as allocator
from allocator import balance
from allocator.balance import BalanceWatch
from store.database import connect
from tests.allocator.house import SLUG, entry, open_event, owner_of, plan_of, seats

WAIT_SECONDS_MAX = 30
FOUND = "SELECT event_id, findings FROM event_balance"


class Heard(logging.Handler):
    """Keeps what is logged; `came` is set once `word` was."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word, self.came = word, threading.Event()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        if self.word in self.lines[-1]:
            self.came.set()


@pytest.fixture
def heard():
    """`heard(word)` listens to the allocator's log until the test ends."""
    handlers = []

    def listen(word):
        handlers.append(Heard(word))
        logging.getLogger("onsale.allocator").addHandler(handlers[-1])
        return handlers[-1]

    yield listen
    for handler in handlers:
        logging.getLogger("onsale.allocator").removeHandler(handler)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(balance, "LOOK_SECONDS", 0.01)


def watching(database_url, owned):
    """A watch that has looked twice at what `owned` gives, and goes on."""
    looked = threading.Semaphore(0)

    def asked():
        looked.release()
        return owned

    watch = BalanceWatch(database_url, asked)
    watch.start()
    for _ in range(3):
        assert looked.acquire(timeout=WAIT_SECONDS_MAX)
    return watch


def stop(watch):
    watch.stop()
    watch.join(timeout=WAIT_SECONDS_MAX)
    assert not watch.is_alive()


def test_what_adds_up_is_no_news(database_url, redis_url, caplog):
    with owner_of(database_url, redis_url) as owner:
        owner.ask(entry("ann", "r1", seats("A-1", "A-2")))
        owner.block("A-3", places=5)
        stop(watching(database_url, {owner.event_id: SLUG}))
        assert owner.query(FOUND) == [(owner.event_id, 0)]
    assert "ALERT" not in caplog.text
    assert "not known" not in caplog.text


def test_what_does_not_add_up_is_an_alert_with_its_rows_and_stays(database_url, redis_url, heard):
    alert = heard("ALERT")
    with owner_of(database_url, redis_url) as owner:
        owner.ask(entry("ann", "r1", seats("A-1", "A-2")))
        owner.query_nothing("DELETE FROM hold_seat WHERE seat_no = 1")
        owner.query_nothing("UPDATE area SET held = 3")
        watch = BalanceWatch(database_url, lambda: {owner.event_id: SLUG})
        watch.start()
        assert alert.came.wait(WAIT_SECONDS_MAX)
        stop(watch)
        assert owner.query("SELECT held FROM area") == [(3,)]
        assert owner.query("SELECT count(*) FROM hold_seat") == [(1,)]
        [(_, found)] = owner.query(FOUND)
        assert found >= 3
    said = next(line for line in alert.lines if "ALERT" in line)
    for part in (SLUG, "seat number 1 is held", f"hold number {2 << 16}", "area number 0 counts 3 held"):
        assert part in said


def test_an_alert_names_a_bounded_number_of_rows(database_url, redis_url, heard):
    alert = heard("ALERT")
    with owner_of(database_url, redis_url) as owner:
        owner.query_nothing("UPDATE seat SET state = 'sold', hold_id = 77")
        watch = BalanceWatch(database_url, lambda: {owner.event_id: SLUG})
        watch.start()
        assert alert.came.wait(WAIT_SECONDS_MAX)
        stop(watch)
    said = next(line for line in alert.lines if "ALERT" in line)
    assert said.count("seat number") == balance.TOLD_MAX
    assert "and 20 more" in said


def test_a_database_that_is_away_is_a_warning_and_looked_at_again(heard):
    away = heard("not known")
    watch = BalanceWatch("postgresql://nobody@127.0.0.1:1/none", lambda: {1: SLUG})
    watch.start()
    assert away.came.wait(WAIT_SECONDS_MAX)
    away.came.clear()
    assert away.came.wait(WAIT_SECONDS_MAX)
    stop(watch)


def test_the_allocators_process_watches_the_events_it_owns(engine_urls, heard, monkeypatch):
    event = open_event(engine_urls.database_url, plan_of())
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        conn.execute("UPDATE area SET sold = 3 WHERE event_id = %s", (event,))
    handlers: dict[int, Any] = {}
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(sys, "setswitchinterval", lambda _: None)
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    alert = heard("add up")

    def end():
        alert.came.wait(WAIT_SECONDS_MAX)
        handlers[signal.SIGTERM](signal.SIGTERM, None)

    ends = threading.Thread(target=end)
    ends.start()
    allocator.main()
    ends.join()
    assert any("ALERT" in line and "area number 0 counts 0 held + 3 sold" in line for line in alert.lines)


def test_more_events_than_an_allocator_works_for_are_an_alert_that_names_who_is_left(
    database_url, heard, monkeypatch
):
    """Once, however often it looks; those that were made first are worked for."""
    both = [open_event(database_url, plan_of(), slug) for slug in ("first", "second")]
    monkeypatch.setattr(allocator, "EVENTS_MAX", 1)
    alerts, on_sale = heard("ALERT"), allocator.OnSale()
    with connect(database_url, "test") as conn:
        looks = [on_sale(conn) for _ in range(2)]
    assert [[one.event_id for one in look] for look in looks] == [both[:1]] * 2
    told = [line for line in alerts.lines if "ALERT" in line]
    assert len(told) == 1
    assert "more than 1 events are on sale at once: nobody decides second" in told[0]
