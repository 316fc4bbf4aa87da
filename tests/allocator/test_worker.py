"""One event on one worker: stands by, owns, hands over; what the engines do to it is no reason to stop."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import psycopg
import pytest
import redis

from allocator import loop as loops
from allocator.worker import EventWorker
from store.errors import OutcomeUnknown, StreamMissing
from store.settings import EngineUrls
from store.stream.redis_stream import APPEND, RedisArrivals
from store.wire import decisions_channel, decode_published, stream_key
from store.words import Arrival
from tests.allocator.house import SLUG, Owner, entry, open_event, plan_of, seats

WAIT_SECONDS_MAX = 30


class Watched:
    """An open event, a worker for it, and a gateway that listens."""

    def __init__(self, urls: EngineUrls) -> None:
        self.urls = urls
        self.event_id = open_event(urls.database_url, plan_of())
        self.redis = redis.Redis.from_url(urls.redis_url)
        self.listening = self.redis.pubsub(ignore_subscribe_messages=True)
        self.listening.subscribe(decisions_channel(SLUG, "g1"))
        self.listening.get_message(timeout=30)
        self.worker = EventWorker(urls.database_url, urls.redis_url, self.event_id, SLUG, "here:1")

    def behind_the_cursor(self, value: bytes) -> None:
        """An entry of a stream that came back with ids below the cursor."""
        with psycopg.connect(self.urls.database_url, autocommit=True) as conn:
            conn.execute("UPDATE event_cursor SET arrival = '100-0'")
        self.redis.xadd(stream_key(SLUG), {b"r": value}, id="5-1")

    def answered(self) -> list[str]:
        """Request ids of the next answers that are published."""
        message = self.listening.get_message(timeout=WAIT_SECONDS_MAX)
        assert message is not None, "no answer came"
        return [request_id for _, request_id, _ in decode_published(message["data"])]

    def close(self) -> None:
        self.worker.stop()
        if self.worker.is_alive():
            self.worker.join(timeout=WAIT_SECONDS_MAX)
        self.listening.close()
        self.redis.close()


@pytest.fixture
def watched(engine_urls: EngineUrls, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setattr(loops, "GATHER_SECONDS", 0.02)
    with contextlib.closing(Watched(engine_urls)) as made:
        yield made


@pytest.mark.parametrize("trouble", [OutcomeUnknown, StreamMissing])
def test_trouble_of_the_stream_while_attending_is_met_by_attending_again(
    watched, monkeypatch, caplog, trouble
):
    append = RedisArrivals.append
    left = [trouble]

    def troubled(arrivals: RedisArrivals, entries: Sequence[bytes]) -> list[Arrival]:
        while left:
            raise left.pop()
        return append(arrivals, entries)

    monkeypatch.setattr(RedisArrivals, "append", troubled)
    watched.behind_the_cursor(entry("ann", "r1", seats("A-1")))
    watched.worker.start()
    assert watched.answered() == ["r1"]
    assert "ALERT" not in caplog.text
    with psycopg.connect(watched.urls.database_url) as conn:
        assert conn.execute("SELECT count(DISTINCT epoch) FROM ledger_batch").fetchone() == (1,)


def test_a_worker_told_to_stop_gives_the_event_back(watched):
    watched.behind_the_cursor(entry("ann", "r1", seats("A-1")))
    watched.worker.start()
    assert watched.answered() == ["r1"]
    assert watched.worker.attends()
    watched.worker.stop()
    watched.worker.join(timeout=WAIT_SECONDS_MAX)
    assert not watched.worker.is_alive()
    assert watched.worker.owned is None
    with psycopg.connect(watched.urls.database_url) as conn:
        assert conn.execute("SELECT owner, worker FROM lease").fetchone() == (None, "here:1")


def test_a_worker_that_is_fenced_stands_by_and_comes_back(watched, caplog):
    watched.behind_the_cursor(entry("ann", "r1", seats("A-1")))
    watched.worker.start()
    assert watched.answered() == ["r1"]
    with psycopg.connect(watched.urls.database_url, autocommit=True) as conn:
        conn.execute("UPDATE event_cursor SET epoch = epoch + 1")
    watched.redis.eval(APPEND, 1, stream_key(SLUG), entry("bob", "r2", seats("A-1")))
    assert watched.answered() == ["r2"]
    assert "another worker owns the event now" in caplog.text


def test_a_hold_runs_out_on_time_under_an_owner_who_took_over_long_after_the_last_batch(engine_urls):
    urls = engine_urls
    event_id = open_event(urls.database_url, plan_of(), hold_ttl_seconds=1)
    with contextlib.closing(Owner(urls.database_url, urls.redis_url, event_id)) as owner:
        owner.ask(entry("ann", "r1", seats("A-1")))
    with psycopg.connect(urls.database_url, autocommit=True) as conn:
        conn.execute("UPDATE event_cursor SET batch_time = batch_time - interval '1 hour'")
        worker = EventWorker(urls.database_url, urls.redis_url, event_id, SLUG, "here:1")
        worker.start()
        try:
            expired = "SELECT 1 FROM ledger WHERE kind = 'expired'"
            for _ in range(WAIT_SECONDS_MAX * 10):
                if conn.execute(expired).fetchone() is not None:
                    break
                worker.join(timeout=0.1)
            else:
                pytest.fail("the hold is kept for as long as nobody had decided anything")
        finally:
            worker.stop()
            worker.join(timeout=WAIT_SECONDS_MAX)
