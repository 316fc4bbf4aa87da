"""What relays write down, many lanes in one transaction: how far they are, what was set aside, the log.

Lanes go on sending while what they told is written: a relay that stops without a word makes at most what it
had not yet noted be sent again, with the same ids. What a lane noted last counts; one that is not ours any
more, or whose subscriber is disabled, is told to stop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final, Protocol

import psycopg

from store.subscribers import again, lanes, log
from store.subscribers.again import Tried
from store.subscribers.lanes import Aside, LaneKey, Progress
from store.subscribers.log import Entry

Conn = psycopg.AsyncConnection[Any]

PAUSE_SECONDS: Final = 0.02
"""Between two writings: what is noted meanwhile is written together."""
RETRIED: Final = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)
TRIES_MAX: Final = 3


class Noting(Protocol):
    """A lane, as far as its notes are concerned."""

    good_until: float
    """By this process' monotonic clock: the lease is ours until then at least."""
    stopped: bool


class Notes:
    """Collects and writes; one for each relay."""

    def __init__(self, connection: Conn) -> None:
        self._connection = connection
        self._lanes: Mapping[LaneKey, Noting] = {}
        self._progress: dict[LaneKey, Progress] = {}
        self._aside: list[Aside] = []
        self._tried: list[Tried] = []
        self._entries: list[Entry] = []
        self._heard: set[int] = set()
        self._gone: dict[int, str] = {}
        self._something = asyncio.Event()
        self._writing = asyncio.Lock()

    def follow(self, running: Mapping[LaneKey, Noting]) -> None:
        """The lanes that are told what became of their notes."""
        self._lanes = running

    def progress(self, progress: Progress) -> None:
        """How far a lane is; the last word counts."""
        self._progress[progress.key] = progress
        self._something.set()

    def aside(self, aside: Aside) -> None:
        """A message is set aside; noted together with the progress that passes it."""
        self._aside.append(aside)

    def tried(self, tried: Tried) -> None:
        """What became of one that had been set aside."""
        self._tried.append(tried)
        self._something.set()

    def entry(self, entry: Entry) -> None:
        """An attempt, for the log."""
        self._entries.append(entry)

    def heard(self, subscriber: int) -> None:
        """Something was delivered to it."""
        self._heard.add(subscriber)

    def gone(self, subscriber: int, reason: str) -> None:
        """It wants nothing any more."""
        self._gone[subscriber] = reason
        self._something.set()

    async def run(self) -> None:
        """Writes until it is cancelled. Raises `psycopg.Error` when Postgres is away."""
        while True:
            await self._something.wait()
            await self.write()
            await asyncio.sleep(PAUSE_SECONDS)

    async def write(self) -> None:
        """Everything that was noted before the call is written when it returns."""
        async with self._writing:
            self._something.clear()
            progress, self._progress = self._progress, {}
            aside, self._aside = self._aside, []
            tried, self._tried = self._tried, []
            entries, self._entries = self._entries, []
            heard, self._heard = self._heard, set()
            gone, self._gone = self._gone, {}
            for subscriber, reason in gone.items():
                await again.gone(self._connection, subscriber, reason)
            if heard:
                await again.heard(self._connection, sorted(heard))
            died = await self._in_transaction(list(progress.values()), aside, tried, entries)
            if died:
                await again.give_up(self._connection, died)

    async def _in_transaction(
        self, progress: list[Progress], aside: list[Aside], tried: list[Tried], entries: list[Entry]
    ) -> list[int]:
        """Returns the subscribers of whom a message died."""
        for tries in range(1, TRIES_MAX + 1):
            asked_at = time.monotonic()
            died: list[int] = []
            ours: dict[LaneKey, bool] = {}
            try:
                async with self._connection.transaction():
                    if progress:
                        ours = await lanes.note(self._connection, progress, aside)
                    if tried:
                        died = await again.note(self._connection, tried)
                    if entries:
                        await self._connection.execute(log.WRITE, log.values_of(entries))
            except RETRIED:
                if tries == TRIES_MAX:
                    raise
            else:
                self._tell_lanes(progress, ours, asked_at)
                return died
        raise AssertionError("the last try returns or raises")

    def _tell_lanes(self, progress: list[Progress], ours: Mapping[LaneKey, bool], asked_at: float) -> None:
        for one in progress:
            lane = self._lanes.get(one.key)
            if lane is not None and not one.ends:
                lane.good_until = asked_at + lanes.LEASE_SECONDS
                lane.stopped = lane.stopped or not ours.get(one.key, False)
