"""`takeover_after_sigkill`: how long nobody is answered when an event's owner dies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import psycopg
from msgspec import Raw

from bench.effort import Effort
from bench.generator import Generator, generator, mint, named_seat
from bench.judging import replay_event
from bench.orders import Mode
from bench.report import Report, Say, at_most, for_the_record
from bench.target import StageEvent, Target, make_event, wait_known
from onsale.processes import Stack, throwaway_stack
from store.errors import OnsaleError
from store.stream.redis_stream import RedisArrivals, connect
from store.wire import Entry, arrival_order, encode_entry
from store.words import Arrival

LEDGER_ROWS = 1_000_000
KILLS = 3
SOCKETS = 400
RATE_PER_SECOND = 500.0
"""So that what waits during a takeover stays below what one buyer may have undecided."""
KILL_AFTER_SECONDS = 1.5
WARM_SECONDS, COLD_SECONDS = 5.0, 12.0
ENTRIES_PER_APPEND = 2_000
WAITING_MAX = 100_000
READY_SECONDS_MAX = 60.0
LOOKS = 5
LOOK_EVERY_SECONDS = 0.25
POLL_SECONDS = 0.02

EPOCH = "SELECT epoch FROM event_cursor WHERE event_id = %s"
BACKENDS = """
SELECT backend.query_start FROM pg_stat_activity AS backend, lease
 WHERE lease.event_id = %s AND backend.application_name = %s AND backend.pid <> lease.backend_pid
"""


def measure_takeover(report: Report, say: Say, effort: Effort) -> None:
    """`takeover_after_sigkill` and `cold_start_after_sigkill`: the longest time between two answers.

    The allocators themselves decide a million requests first. Then 400 sockets ask on a schedule and the
    owner is killed; once with a standby that followed (it has the million keys in memory), and for the
    record with every allocator killed and one started anew, which must load them.
    """
    rows = effort.size(LEDGER_ROWS, 100_000)
    with throwaway_stack(allocators=2) as stack:
        target = Target(stack.base_url, stack.urls.database_url, stack.token_secret)
        event = make_event(target.database_url, 1, hold_ttl_seconds=3_600)
        wait_known(target, event)
        with House(stack, event) as house:
            house.fill(rows, say)
            asyncio.run(_kills(report, say, effort, rows, house, target))
            house.wait_warm()
        replay_event(report, target.database_url, event, "takeover, a long ledger", say)


class House:
    """The event with its stack: who owns it, whether a standby is warm, and its ledger to fill."""

    def __init__(self, stack: Stack, event: StageEvent) -> None:
        self.stack = stack
        self.event = event
        self._connection: psycopg.Connection[Any] = psycopg.connect(stack.urls.database_url, autocommit=True)

    def __enter__(self) -> House:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def fill(self, rows: int, say: Say) -> None:
        """Have `rows` requests decided, never more than some of them waiting."""
        client = connect(self.stack.urls.redis_url)
        arrivals = RedisArrivals(client, self.event.slug)
        want = named_seat(self.event.plan.seats[0].guid).encode()
        last, written = Arrival("0-0"), 0
        try:
            for entries in _entries(rows, want):
                last = arrivals.append(entries)[-1]
                written += len(entries)
                if written % WAITING_MAX == 0:
                    say(f"takeover: {written:,} of {rows:,} ledger rows")
                    self.wait_decided(last)
            self.wait_decided(last)
        finally:
            client.close()

    def wait_decided(self, through: Arrival) -> None:
        statement = "SELECT arrival FROM event_cursor WHERE event_id = %s"

        def decided() -> bool:
            row = self._connection.execute(statement, (self.event.id,)).fetchone()
            return row is not None and arrival_order(row[0]) >= arrival_order(through)

        _wait(decided, "the ledger is written")

    def owner(self) -> str:
        """The name of the process that owns the event."""
        statement = "SELECT worker FROM lease WHERE event_id = %s AND owner IS NOT NULL"
        row = self._connection.execute(statement, (self.event.id,)).fetchone()
        assert row is not None, "somebody owns the event"
        pid = int(row[0].rpartition(":")[2])
        return next(name for name in self.allocators() if self.stack.pid(name) == pid)

    def epoch(self) -> int:
        """Goes up with each takeover."""
        row = self._connection.execute(EPOCH, (self.event.id,)).fetchone()
        assert row is not None, "an event has a cursor row"
        return int(row[0])

    def allocators(self) -> list[str]:
        return [name for name in self.stack.processes if name.startswith("allocator")]

    def wait_warm(self) -> None:
        """Until a standby has loaded everything: then it looks at the lease again and again."""
        given = (self.event.id, f"onsale allocator {self.event.slug}")
        seen: list[object] = []

        def looks() -> bool:
            row = self._connection.execute(BACKENDS, given).fetchone()
            if row is None or row[0] in seen[-1:]:
                seen.clear()
            if row is not None:
                seen.append(row[0])
            return len(seen) >= LOOKS

        _wait(looks, "a standby is warm", LOOK_EVERY_SECONDS)


async def _kills(report: Report, say: Say, effort: Effort, rows: int, house: House, target: Target) -> None:
    rounds = effort.rounds(KILLS)
    wants = [named_seat(house.event.plan.seats[0].guid)]
    buyers = mint(target.token_secret, SOCKETS, "watcher")
    warm: list[float] = []
    async with generator(
        target.base_url, house.event.slug, buyers, wants, Mode.OPEN_LOOP, keep=False
    ) as clients:
        for number in range(1, rounds + 1):
            say(f"takeover: waiting for a warm standby ({number} of {rounds})")
            await asyncio.to_thread(house.wait_warm)
            killed = house.owner()
            say(f"takeover: {killed} is killed ({number} of {rounds})")
            warm.append(await _gap(house, clients, WARM_SECONDS, partial(house.stack.kill, killed)))
            house.stack.start_again(killed)
        say("takeover: every allocator is killed and one started anew")
        await asyncio.to_thread(house.wait_warm)
        cold = await _gap(house, clients, effort.seconds(COLD_SECONDS), partial(_restart, house))
    ledger = f"{rows:,} ledger rows"
    report.rows += [
        at_most("takeover_after_sigkill", warm, "s", 2, note=ledger),
        for_the_record("cold_start_after_sigkill", [cold], "s", note=ledger),
    ]


def _restart(house: House) -> None:
    names = house.allocators()
    for name in names:
        house.stack.kill(name)
    for name in names:
        house.stack.start_again(name)


async def _gap(house: House, clients: Generator, seconds: float, disturb: Callable[[], None]) -> float:
    """The longest time between two answers of a round in which something happens."""
    before = await asyncio.to_thread(house.epoch)
    going = asyncio.create_task(clients.go(Mode.OPEN_LOOP, seconds=seconds, rate_per_second=RATE_PER_SECOND))
    await asyncio.sleep(KILL_AFTER_SECONDS)
    await asyncio.to_thread(disturb)
    done = await going
    assert not done.unanswered, f"{done.unanswered} of {done.sent} requests were not answered: {done.errors}"
    assert await asyncio.to_thread(house.epoch) > before, "nobody took over"
    return done.answer_gap_ns_max / 1e9


def _entries(rows: int, want: bytes) -> Iterator[list[bytes]]:
    for first in range(0, rows, ENTRIES_PER_APPEND):
        serials = range(first, min(rows, first + ENTRIES_PER_APPEND))
        yield [encode_entry(Entry(f"buyer-{serial:07d}", "r1", Raw(want), "bench")) for serial in serials]


def _wait(true_when: Callable[[], bool], what: str, every_seconds: float = POLL_SECONDS) -> None:
    give_up_at = time.monotonic() + READY_SECONDS_MAX
    while not true_when():
        if time.monotonic() > give_up_at:
            raise OnsaleError(f"Waited {READY_SECONDS_MAX:g} s until {what}; see the logs.")
        time.sleep(every_seconds)
