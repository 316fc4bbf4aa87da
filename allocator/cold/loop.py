"""The batch loop of an event that shares its thread: never waits, and says when it wants to be called.

It decides as `BatchLoop` does. Others read for it and look after its stream (`allocator.cold.owning`), so it
is called with what was read, or when something of its own is due. Where its stream was lost it gathers what
is asked again for as long as any loop does, while the others of its thread go on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from math import inf
from typing import Any, Final

from allocator.announce import stream_lost
from allocator.intake import was_created
from allocator.loop import GATHER_MAX, GATHER_SECONDS, NOT_BEGUN, BatchLoop
from allocator.memory import expiry_now
from store.stream.port import RawEntry
from store.words import Arrival, EventState

log = logging.getLogger("onsale.allocator")

BATCH_MAX: Final = 256
"""Most requests of one event that are decided before the others have their turn."""
A_MOMENT: Final = 0.001


class ColdLoop(BatchLoop):
    """Call `attend` once, then `serve`, `mind` and `opens_in` until one raises. Not thread-safe."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, batch_size_max=BATCH_MAX, **more)
        self._look_at = inf
        self._gathering: list[list[RawEntry]] = []
        """Each read since the stream was lost."""
        self._gather_until = 0.0

    @property
    def after(self) -> Arrival:
        """Above which arrival to read for this loop."""
        if self._gathering:
            return Arrival(self._gathering[-1][-1][0].decode())
        return self._peeked if self._paused else self.cursor.arrival

    def due_at(self) -> float:
        """When to call `serve` though nothing was read (by `monotonic`)."""
        if self._gathering:
            return self._gather_until
        if self.memory.offers_owed or self._look_below:
            return 0.0
        due_at = self._look_at if self.memory.policy.state in NOT_BEGUN else inf
        expiry = None if self._paused else self.memory.next_expiry()
        if expiry is not None:
            now, at = self._now
            due_at = min(due_at, at + (expiry - now) / 1_000_000 + A_MOMENT)
        return due_at

    def serve(self, entries: Sequence[RawEntry], after: Arrival) -> None:
        """Decide what was read above `after`, and what is due."""
        if self._look_below:
            self._gathering = []
            self.attend()  # what it appends again goes before what was read above: that is read again too
            return
        if after != self.after:  # it went on since; all that is above is read again
            entries = ()
        if self._wishes.layout is not self.memory.layout:
            self._wishes = self._wishes.by(self.memory.layout)
        if self._paused:
            self._gathering = []
            if entries:
                self._peeked = Arrival(entries[-1][0].decode())
            self.tick()
            return
        reads = self._reads(list(entries))
        if not reads:
            if not self._gathering:
                self._tick_when_due()
            return
        self._open_when_due()
        self._decide_read(reads, self._read_entries([entry for read in reads for entry in read]))

    def mind(self) -> None:
        """Somebody changed something: a batch without requests, unless one is put off."""
        if not self._gathering:
            self.tick()

    def opens_in(self, left_us: int) -> None:
        """So long until the lobby or the sale begins by itself, as Postgres just said."""
        self._look_at = self._monotonic() + left_us / 1_000_000

    def stream_was_away(self) -> None:
        """What was gathered is read again: it may have been lost since."""
        self._gathering = []

    @property
    def _paused(self) -> bool:
        return self.memory.policy.state is EventState.PAUSED

    def _tick_when_due(self) -> None:
        now, at = self._now
        guess = now + int((self._monotonic() - at) * 1_000_000)
        opens = self.memory.policy.state in NOT_BEGUN and self._monotonic() >= self._look_at
        if opens or self.memory.offers_owed or self.memory.due(expiry_now(self.memory, guess)) is not None:
            self.tick()

    def _reads(self, entries: list[RawEntry]) -> list[list[RawEntry]]:
        """What is to be decided now. What is read while it gathers is put off."""
        if not self._gathering:
            if not (entries and self.memory.batch_no and was_created(entries)):
                return [entries] if entries else []
            self._arrivals.publish([stream_lost(self._event)])
            self.gathered += 1
            self._gather_until = self._monotonic() + GATHER_SECONDS
        if entries:
            self._gathering.append(entries)
        count = sum(map(len, self._gathering))
        if self._monotonic() < self._gather_until and count < GATHER_MAX:
            return []
        log.warning("%s: gathered %d entries after the stream was lost", self._event, count)
        reads, self._gathering = self._gathering, []
        return reads

    def _open_when_due(self) -> None:
        """The schedules of all events are looked at together: here only of one whose time has come."""
        if self.memory.policy.state in NOT_BEGUN and self._monotonic() >= self._look_at:
            self._look_at = inf
            left_us = self._truth.open_when_due()
            if left_us is not None:  # 0: one has begun just now, and the next may be due as well
                self.opens_in(left_us)
