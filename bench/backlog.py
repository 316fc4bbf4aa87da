"""The allocator alone: a backlog in the stream, decided as fast as it can, measured from the ledger.

One throwaway onsale without a gateway. The allocator is stopped (SIGSTOP) while the stream is filled
and goes on when all is there, so neither its start nor the filling is in the figure. The rate is by
Postgres' clock: a batch's time is taken when its transaction begins, so from the first batch's time
to the last batch's, all but the last batch were decided.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from msgspec import Raw, Struct

from bench.generator import named_seat
from bench.processes import cpu_by_name, spent
from bench.target import StageEvent, make_event
from onsale.processes import Stack, throwaway_stack
from store.errors import OnsaleError
from store.plan import Plan
from store.stream.redis_stream import RedisArrivals, connect
from store.wire import Entry, arrival_order, encode_entry
from store.words import Arrival

ENTRIES_PER_APPEND = 1_000
DECIDE_SECONDS_MAX = 120.0
POLL_SECONDS = 0.005
TOOK_PART = ("allocator-1", "postgres", "valkey")

RATE = """
WITH batches AS (
  SELECT batch_no, batch_time, octet_length(row_digests) / 16 AS rows
    FROM ledger_batch WHERE event_id = %s AND batch_no > %s)
SELECT extract(epoch FROM max(batch_time) - min(batch_time))::float8, array_agg(rows ORDER BY batch_no)
  FROM batches
"""
BATCHES = """
SELECT (extract(epoch FROM batch_time) * 1000000)::bigint, octet_length(row_digests) / 16
  FROM ledger_batch WHERE event_id = %s AND batch_no > %s ORDER BY batch_no
"""
OUTCOMES = "SELECT outcome, count(*) FROM ledger WHERE event_id = %s AND kind = 'request' GROUP BY outcome"


class Decided(Struct):
    """One backlog, decided."""

    decisions: int
    per_second: float
    sizes: list[int]
    """Decisions of each batch."""
    cpu_us_per_decision: float
    """Allocator, Postgres and Valkey together."""


class Alone:
    """One event, its stream and the one allocator that owns it."""

    def __init__(self, stack: Stack, event: StageEvent) -> None:
        self._stack = stack
        self.event = event
        self._client = connect(stack.urls.redis_url)
        self._arrivals = RedisArrivals(self._client, event.slug)
        self._connection: psycopg.Connection[Any] = psycopg.connect(stack.urls.database_url, autocommit=True)

    def close(self) -> None:
        self._connection.close()
        self._client.close()

    def wait_owned(self) -> None:
        """Until the allocator has the event and consumed what opened it."""
        statement = "SELECT 1 FROM event_cursor WHERE event_id = %s AND batch_no > 0"
        self._wait(lambda: self._connection.execute(statement, (self.event.id,)).fetchone() is not None)

    def decide(self, entries: list[bytes]) -> Decided:
        """Fill the stream while the allocator stands still, then let it decide everything."""
        before_batch, _ = self._cursor()
        self._stack.kill("allocator-1", signal.SIGSTOP)
        try:
            last = Arrival("0-0")
            for start in range(0, len(entries), ENTRIES_PER_APPEND):
                last = self._arrivals.append(entries[start : start + ENTRIES_PER_APPEND])[-1]
            before = cpu_by_name(self._stack.pid, TOOK_PART)
        finally:
            self._stack.kill("allocator-1", signal.SIGCONT)
        self._wait_decided(last)
        cpu = sum(spent(before, cpu_by_name(self._stack.pid, TOOK_PART)).values())
        row = self._connection.execute(RATE, (self.event.id, before_batch)).fetchone()
        assert row is not None, "an aggregate always gives a row"
        seconds, sizes = row
        rate = float(sum(sizes[:-1])) / seconds if seconds else 0.0
        return Decided(len(entries), rate, sizes, cpu / len(entries) * 1e6)

    def feed(
        self, entries: list[bytes], burst: int, *, before_each: Callable[[], None] = lambda: None
    ) -> list[tuple[int, int]]:
        """Let it decide in batches of about `burst`: while one is decided, the next waits in the stream.

        (microseconds by Postgres' clock, decisions) of each batch.
        """
        before_batch, _ = self._cursor()
        bursts: list[Arrival] = []
        for start in range(0, len(entries), burst):
            if len(bursts) > 1:
                self._wait_decided(bursts[-2])
            before_each()
            bursts.append(self._arrivals.append(entries[start : start + burst])[-1])
        self._wait_decided(bursts[-1])
        rows = self._connection.execute(BATCHES, (self.event.id, before_batch)).fetchall()
        return [(batch_time, count) for batch_time, count in rows]

    def cpu_seconds(self, work: Callable[[], object]) -> float:
        """What allocator, Postgres and Valkey together spend while that is done."""
        before = cpu_by_name(self._stack.pid, TOOK_PART)
        work()
        return sum(spent(before, cpu_by_name(self._stack.pid, TOOK_PART)).values())

    def count(self, statement: str) -> int:
        """What a statement about the event counts."""
        row = self._connection.execute(statement.encode(), (self.event.id,)).fetchone()
        assert row is not None, "a count always gives a row"
        return int(row[0])

    def outcomes(self) -> dict[str, int]:
        return dict(self._connection.execute(OUTCOMES, (self.event.id,)).fetchall())

    def _cursor(self) -> tuple[int, str]:
        statement = "SELECT batch_no, arrival FROM event_cursor WHERE event_id = %s"
        row = self._connection.execute(statement, (self.event.id,)).fetchone()
        assert row is not None, "an event has a cursor row"
        return int(row[0]), str(row[1])

    def _wait_decided(self, last: Arrival) -> None:
        self._wait(lambda: arrival_order(self._cursor()[1]) >= arrival_order(last))

    def _wait(self, true_when: Any) -> None:
        give_up_at = time.monotonic() + DECIDE_SECONDS_MAX
        while not true_when():
            if time.monotonic() > give_up_at:
                raise OnsaleError(f"The allocator did not decide its backlog in {DECIDE_SECONDS_MAX:g} s.")
            time.sleep(POLL_SECONDS)


@contextmanager
def allocator_stack() -> Iterator[Stack]:
    """Engines and one allocator, nothing else."""
    with throwaway_stack(gateways=0, allocators=1) as stack:
        yield stack


@contextmanager
def alone(stack: Stack, seats: int | Plan) -> Iterator[Alone]:
    """A new event of a plan or of that many seats, owned by the allocator."""
    one = Alone(stack, make_event(stack.urls.database_url, seats, hold_ttl_seconds=3_600))
    try:
        one.wait_owned()
        yield one
    finally:
        one.close()


def mixed(plan: Plan, count: int, held: int, serial: str = "") -> list[bytes]:
    """`count` requests of as many buyers: `held` name a seat nobody had, the rest one that is gone by then.

    They are spread evenly, on seats chosen at random (always the same).
    """
    chosen = random.Random(count).sample(range(len(plan.seats)), held)
    wants = [named_seat(plan.seats[seat].guid).encode() for seat in chosen]
    entries, given = [], 0
    for number in range(count):
        if given < held and number * held >= given * count:
            want, given = wants[given], given + 1
        else:
            want = wants[number * 7919 % given]
        entries.append(encode_entry(Entry(f"buyer-{serial}{number:06d}", "r1", Raw(want), "bench")))
    return entries
