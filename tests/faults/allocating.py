"""Events, allocators as processes, and a gateway's view of them: what was asked and what is decided.

Two kinds of allocators: `python -m allocator`, and one that attends to what the test wants of it (`told`).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import redis

from allocator.replay import Finding, verify
from onsale.engines.child import Child, spawn
from onsale.engines.data_dir import REPOSITORY
from store.plan import Plan
from store.settings import EngineUrls
from store.stream.redis_stream import APPEND
from store.wire import decisions_channel, stream_key
from store.words import Best, Want
from tests.allocator.house import SLUG, check_laws, entry, open_event, plan_of

WAIT_SECONDS_MAX = 60


class Allocators:
    """Processes that attend to the events of one database."""

    def __init__(self, urls: EngineUrls, logs: Path) -> None:
        """`urls`: where they find the engines."""
        self._urls = urls
        self._logs = logs
        self._children: dict[int, Child] = {}

    def start(self, name: str) -> Child:
        """One more, that attends to whatever is on sale."""
        return self._spawn(name, ["-m", "allocator"])

    def start_told(self, name: str, wishes: Sequence[dict[str, Any]] = ()) -> Child:
        """One more, that attends to what it is told."""
        self.tell(name, wishes)
        return self._spawn(name, ["-m", "tests.faults.attending", str(self._wishes(name))])

    def tell(self, name: str, wishes: Sequence[dict[str, Any]]) -> None:
        """Each as in `Assigned`; it hears so within a third of a second."""
        new = self._wishes(name).with_suffix(".new")
        new.write_bytes(msgspec.json.encode(wishes))
        new.rename(self._wishes(name))

    def warm(self, name: str) -> dict[int, int]:
        """The batch that one which is told has followed to, of each event."""
        told = self._wishes(name).with_suffix(".warm")
        return msgspec.json.decode(told.read_bytes(), type=dict[int, int]) if told.exists() else {}

    def named(self, worker: str) -> Child:
        """Who goes by that name in a lease."""
        return self._children[int(worker.rpartition(":")[2])]

    def last_words(self) -> str:
        return "Their last words:\n" + "\n".join(child.last_words() for child in self._children.values())

    def _wishes(self, name: str) -> Path:
        return self._logs / f"{name}.wishes"

    def _spawn(self, name: str, arguments: list[str]) -> Child:
        child = spawn(
            name,
            [sys.executable, *arguments],
            log_path=self._logs / f"{name}.log",
            env={**os.environ, **self._urls.as_env(), "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"},
            cwd=REPOSITORY,
        )
        self._children[child.pid] = child
        return child

    def close(self) -> None:
        """They end, all at once."""
        for child in self._children.values():
            child.send(signal.SIGCONT)
            child.send(signal.SIGTERM)
        for child in self._children.values():
            child.stop(signal.SIGTERM, 15)


class Sale:
    """An event, who attends to it, what was asked and what is decided."""

    def __init__(
        self,
        urls: EngineUrls,
        allocators: Allocators,
        make_event: Callable[[str, Plan, str], int] = open_event,
        slug: str = SLUG,
    ) -> None:
        """`make_event` makes one of that slug."""
        self.urls = urls
        self.slug = slug
        self.allocators = allocators
        self.event_id = make_event(urls.database_url, plan_of(rows=20, seats_a_row=20), slug)
        self.redis = redis.Redis.from_url(urls.redis_url)
        self.listening = self.redis.pubsub(ignore_subscribe_messages=True)
        self.listening.subscribe(decisions_channel(slug, "g1"))
        self.truth = psycopg.connect(urls.database_url, autocommit=True)
        self.asked = 0
        self.arrivals: list[str] = []

    def query(self, text: str, **values: object) -> list[tuple[Any, ...]]:
        """In `text`, `%(event)s` is the event."""
        return self.truth.execute(text, {"event": self.event_id, **values}).fetchall()

    def one(self, text: str, **values: object) -> Any:
        """The first value of the first row."""
        return self.query(text, **values)[0][0]

    def ask(self, count: int) -> None:
        """Requests of as many buyers, half of them for a seat that somebody else wants too."""
        entries = []
        for number in range(self.asked, self.asked + count):
            want = Want(best=Best(1)) if number % 2 else Want(seats=(f"T-{number % 18 + 1}",))
            entries.append(entry(f"b{number}", "r1", want))
        self.asked += count
        ids = self.redis.eval(APPEND, 1, stream_key(self.slug), *entries)
        self.arrivals += [identifier.decode() for identifier in ids]

    def decided(self) -> int:
        return int(self.one("SELECT count(*) FROM ledger WHERE kind = 'request' AND event_id = %(event)s"))

    def wait_decided(self, count: int) -> None:
        """Wakes with each published batch; what is not published is looked up, as gateways do."""
        for _ in range(WAIT_SECONDS_MAX * 5):
            if self.decided() >= count:
                return
            self.listening.get_message(timeout=0.2)
        words = self.allocators.last_words()
        raise AssertionError(f"{self.decided()} of {count} are decided. {words}")

    def owner(self) -> Child | None:
        """The process that owns the event, if one does."""
        rows = self.query("SELECT worker FROM lease WHERE owner IS NOT NULL AND event_id = %(event)s")
        return self.allocators.named(rows[0][0]) if rows else None

    def wait_until(self, true: Callable[[], bool], what: str) -> None:
        """Looks a few times a second."""
        for _ in range(WAIT_SECONDS_MAX * 20):
            if true():
                return
            self.listening.get_message(timeout=0.05)
        raise AssertionError(f"in vain until {what}. {self.allocators.last_words()}")

    def wait_open(self) -> None:
        """Until an allocator made the stream."""
        self.wait_until(lambda: bool(self.redis.exists(stream_key(self.slug))), "an allocator came")

    def check(self) -> None:
        """Every request decided once, in its order, nobody's seat given twice, and the ledger proves it."""
        check_laws(self.urls.database_url, self.event_id)
        asked = "kind = 'request' AND event_id = %(event)s"
        rows = self.query(f"SELECT arrival FROM ledger WHERE {asked} ORDER BY batch_no, position")
        assert [arrival for (arrival,) in rows] == self.arrivals
        assert self.epochs() == sorted(self.epochs())
        with psycopg.connect(self.urls.database_url) as conn:
            assert [step for step in verify(conn, self.event_id) if isinstance(step, Finding)] == []

    def epochs(self) -> list[int]:
        """Of each batch, in order."""
        text = "SELECT epoch FROM ledger_batch WHERE event_id = %(event)s ORDER BY batch_no"
        return [epoch for (epoch,) in self.query(text)]

    def close(self) -> None:
        self.listening.close()
        self.redis.close()
        self.truth.close()
