"""The relay: what the outbox holds reaches subscribers, at least once, in order for each event.

Any number of relays may run at once, each lane (a subscriber and an event) at one of them: see
`store.subscribers.lanes`. No transaction is open while a subscriber is asked. Where Postgres is away the
relay waits and begins anew; what it had sent and not noted is sent again, with the same ids.

It looks for work in short pauses, shorter the more there is; a look that takes long is made less often.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import time
import uuid
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, Final

import psycopg
from aiohttp.abc import AbstractResolver

from notifier.again import try_again
from notifier.lane import Lane
from notifier.notes import Notes
from notifier.outgoing import Outgoing
from notifier.reading import Reading
from store.database import NOTICES_GONE, OPTIONS
from store.jitter import jitter
from store.subscribers import again, lanes, trim
from store.subscribers.addresses import private_allowed
from store.subscribers.again import Due
from store.subscribers.lanes import Claimed, LaneKey

log = logging.getLogger("onsale.relay")

LANES_MAX: Final = 64
LANES_OF_ONE_MAX: Final = 32
"""Of one subscriber; of one that fails, `AILING_MAX`."""
AGAIN_MAX: Final = 32
AGAIN_OF_ONE_MAX: Final = 4
AILING_MAX: Final = 1
PAUSE_SECONDS_MIN: Final = 0.02
PAUSE_SECONDS_MAX: Final = 0.25
LOOKING_SHARE_MAX: Final = 0.2
"""Of the time."""
TRIM_SECONDS: Final = 10.0
ENDING_SECONDS_MAX: Final = 0.4
"""For what is under way, once told to end."""
AWAY_SECONDS: Final = (0.3, 1.5)
CONNECT_SECONDS_MAX: Final = 5
TOLD_SECONDS: Final = 0.2


async def run(
    database_url: str,
    *,
    stop: asyncio.Event,
    allow_private: bool | None = None,
    resolver: AbstractResolver | None = None,
) -> None:
    """Relays until `stop` is set; then ends within a second. Waits where Postgres is away.

    `allow_private`: subscribers may be in private networks; unless given, as the environment says.
    """
    allowed = private_allowed() if allow_private is None else allow_private
    while not stop.is_set():
        try:
            async with Outgoing(allow_private=allowed, resolver=resolver) as outgoing:
                await _run_connected(database_url, stop, outgoing)
        except* (psycopg.OperationalError, psycopg.InterfaceError) as errors:
            log.warning("Postgres is away, the relay waits: %s", errors.exceptions[0])
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), jitter(*AWAY_SECONDS))


def run_until_told(database_url: str, told: Callable[[], bool] = lambda: False) -> None:
    """`run` for a process or a long job: until SIGTERM, SIGINT or `told()`, asked a few times a second."""

    async def until_told() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(ValueError, RuntimeError):  # not the main thread: `told` alone ends it
                loop.add_signal_handler(number, stop.set)
        relaying = asyncio.create_task(run(database_url, stop=stop))
        while not relaying.done() and not stop.is_set():
            if told():
                stop.set()
            await asyncio.wait([relaying], timeout=TOLD_SECONDS)
        await relaying

    asyncio.run(until_told())


async def _run_connected(database_url: str, stop: asyncio.Event, outgoing: Outgoing) -> None:
    async with (
        await _connect(database_url) as for_notes,
        await _connect(database_url) as for_looks,
        await _connect(database_url) as for_rows,
    ):
        relay = Relay(for_looks, Reading(for_rows), Notes(for_notes), outgoing)
        await relay.run(stop)


async def _connect(database_url: str) -> psycopg.AsyncConnection[Any]:
    return await psycopg.AsyncConnection.connect(
        database_url,
        autocommit=True,
        prepare_threshold=None,
        application_name="onsale relay",
        connect_timeout=CONNECT_SECONDS_MAX,
        options=OPTIONS,
        **NOTICES_GONE,
    )


class Relay:
    """One relay on connections of its own."""

    def __init__(
        self, connection: psycopg.AsyncConnection[Any], reading: Reading, notes: Notes, outgoing: Outgoing
    ) -> None:
        self._connection = connection
        self._reading = reading
        self._notes = notes
        self._outgoing = outgoing
        self._lanes: dict[LaneKey, Lane] = {}
        self._again: Counter[int] = Counter()
        self._failures: Counter[int] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._group = asyncio.TaskGroup()
        self._trim_at = 0.0
        notes.follow(self._lanes)

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set, or Postgres is away."""
        async with self._group:
            standing = [self._group.create_task(work) for work in (self._notes.run(), self._reading.run())]
            pause = PAUSE_SECONDS_MIN
            while not stop.is_set():
                began = time.monotonic()
                found = await self._look()
                took = time.monotonic() - began
                pause = PAUSE_SECONDS_MIN if found else min(pause * 2, PAUSE_SECONDS_MAX)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), max(pause, took / LOOKING_SHARE_MAX))
            await self._end()
            for task in standing:
                task.cancel()

    async def _look(self) -> int:
        """Starts what there is to do and a place for; how much that is."""
        await self._connection.execute(lanes.PREPARE)
        claimed, due = await self._claim_lanes(), await self._claim_again()
        if time.monotonic() >= self._trim_at:
            self._trim_at = time.monotonic() + TRIM_SECONDS
            values = {"kept": trim.LOG_KEPT, "limit": trim.ROWS_MAX}
            while (await self._connection.execute(trim.LOG, values)).rowcount == trim.ROWS_MAX:
                pass
        return len(claimed) + len(due)

    async def _claim_lanes(self) -> list[Claimed]:
        free = LANES_MAX - len(self._lanes)
        if free <= 0:
            return []
        running = Counter(subscriber for subscriber, _ in self._lanes)
        rooms = self._rooms(running, LANES_OF_ONE_MAX)
        claimed_at = time.monotonic()
        claimed = await lanes.claim(self._connection, uuid.uuid4(), free, LANES_OF_ONE_MAX, rooms)
        for one in claimed:
            if one.key in self._lanes:  # it ran out under a lane of ours, which ends now
                self._lanes[one.key].stopped = True
                continue
            lane = Lane(one, claimed_at, self._reading, self._outgoing, self._notes, self._heard_of)
            self._lanes[one.key] = lane
            self._start(self._run_lane(one.key, lane))
        return claimed

    async def _claim_again(self) -> list[Due]:
        free = AGAIN_MAX - self._again.total()
        if free <= 0:
            return []
        rooms = self._rooms(self._again, AGAIN_OF_ONE_MAX)
        found = await again.claim(self._connection, free, AGAIN_OF_ONE_MAX, rooms)
        for due in found:
            self._again[due.endpoint.subscriber] += 1
            self._start(self._run_again(due))
        return found

    def _rooms(self, running: Counter[int], most: int) -> dict[int, int]:
        """How many more of each subscriber, where that is not `most`."""
        ailing = {subscriber: AILING_MAX for subscriber, failures in self._failures.items() if failures}
        busy = {subscriber: most for subscriber in running if running[subscriber]}
        return {
            subscriber: max(0, room - running[subscriber]) for subscriber, room in (busy | ailing).items()
        }

    def _heard_of(self, subscriber: int, delivered: bool) -> None:
        if delivered:
            self._failures.pop(subscriber, None)
        else:
            self._failures[subscriber] += 1

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_lane(self, key: LaneKey, lane: Lane) -> None:
        try:
            await lane.run()
        except psycopg.Error:
            raise
        except Exception:  # of this lane; the others go on
            log.exception("telling subscriber %d about event %d failed", *key)
        finally:
            del self._lanes[key]

    async def _run_again(self, due: Due) -> None:
        try:
            await try_again(due, self._outgoing, self._notes, self._heard_of)
        except Exception:  # of this message: it is due again when the claim is over; the others go on
            log.exception(
                "trying message %d for subscriber %d again failed", due.outbox_id, due.endpoint.subscriber
            )
        finally:
            self._again[due.endpoint.subscriber] -= 1

    async def _end(self) -> None:
        """What is under way may come to its end, for a moment; all that is known is written."""
        for lane in self._lanes.values():
            lane.stopped = True
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=ENDING_SECONDS_MAX)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        await self._notes.write()
