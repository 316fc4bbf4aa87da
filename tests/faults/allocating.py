"""An event, allocators as processes, and a gateway's view of them: what was asked and what is decided.

Two kinds of allocators: `python -m allocator`, and one that attends to what the test wants of it (`told`).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

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


class Sale:
    """See above."""

    def __init__(
        self,
        urls: EngineUrls,
        logs: Path,
        by_way_of: EngineUrls | None = None,
        make_event: Callable[[str, Plan], int] = open_event,
    ) -> None:
        """`by_way_of`: where the allocators find the engines. `make_event` makes one of that slug."""
        self.urls = urls
        self._by_way_of = by_way_of or urls
        self.event_id = make_event(urls.database_url, plan_of(rows=20, seats_a_row=20))
        self.redis = redis.Redis.from_url(urls.redis_url)
        self.listening = self.redis.pubsub(ignore_subscribe_messages=True)
        self.listening.subscribe(decisions_channel(SLUG, "g1"))
        self.truth = psycopg.connect(urls.database_url, autocommit=True)
        self.asked = 0
        self.arrivals: list[str] = []
        self._logs = logs
        self._children: dict[int, Child] = {}

    def start(self, name: str) -> Child:
        """One more allocator, that attends to whatever is on sale."""
        return self._spawn(name, ["-m", "allocator"])

    def start_told(self, name: str, **wish: bool | None) -> Child:
        """One more, that attends to the event as it is told."""
        self.tell(name, **wish)
        return self._spawn(name, ["-m", "tests.faults.attending", str(self._wishes(name))])

    def tell(self, name: str, **wish: bool | None) -> None:
        """As in `Assigned`; it hears so within a third of a second."""
        new = self._wishes(name).with_suffix(".new")
        new.write_bytes(msgspec.json.encode([{"event_id": self.event_id, "slug": SLUG, **wish}]))
        new.rename(self._wishes(name))

    def warm(self, name: str) -> int | None:
        """The batch that an allocator which is told has followed to."""
        told = self._wishes(name).with_suffix(".warm")
        return (
            msgspec.json.decode(told.read_bytes(), type=dict[int, int]).get(self.event_id)
            if told.exists()
            else None
        )

    def _wishes(self, name: str) -> Path:
        return self._logs / f"{name}.wishes"

    def _spawn(self, name: str, arguments: list[str]) -> Child:
        child = spawn(
            name,
            [sys.executable, *arguments],
            log_path=self._logs / f"{name}.log",
            env={
                **os.environ,
                **self._by_way_of.as_env(),
                "PYTHONPATH": str(REPOSITORY),
                "PYTHONUNBUFFERED": "1",
            },
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

    def wait_until(self, true: Callable[[], bool], what: str) -> None:
        """Looks a few times a second."""
        for _ in range(WAIT_SECONDS_MAX * 20):
            if true():
                return
            self.listening.get_message(timeout=0.05)
        words = [child.last_words() for child in self._children.values()]
        raise AssertionError(f"in vain until {what}. Their last words:\n" + "\n".join(words))

    def owned_by(self, child: Child) -> bool:
        """Whether this one's name is in the lease of an owner."""
        row = self.truth.execute(
            "SELECT worker FROM lease WHERE owner IS NOT NULL AND event_id = %s", (self.event_id,)
        ).fetchone()
        return row is not None and int(row[0].rpartition(":")[2]) == child.pid

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
