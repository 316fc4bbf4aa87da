"""The live seat map: what changed, coalesced, encoded once, to everyone who watches.

Frames carry the newest state of each seat, not its history, so merging batches loses nothing, and
a watcher who gets a state it knows already is none the worse.
"""

from __future__ import annotations

import asyncio

import msgspec

from gateway.gate import Seats
from notifier.hub import Client, broadcast

EVERY_SECONDS = 0.25


class Watch:
    """The watchers of one event."""

    def __init__(self, seats: Seats) -> None:
        self._seats = seats
        self._changed: set[int] = set()
        self._changed_areas: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self.watchers: set[Client] = set()
        self.batch_no = 0
        self.frames = 0

    def changed(self, batch_no: int, seats: list[int], areas: list[int]) -> None:
        """Seats and areas look different since batch `batch_no`; told at the next tick."""
        self.batch_no = batch_no
        if not self.watchers:
            return
        self._changed.update(seats)
        self._changed_areas.update(areas)
        if (self._changed or self._changed_areas) and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._flush)

    def frame(self) -> bytes:
        """What changed, as one frame; afterwards nothing has."""
        letters = self._seats.letters
        frame = {
            "type": "seats",
            "batch_no": self.batch_no,
            "changed": [(no, chr(letters[no])) for no in sorted(self._changed)],
            "areas": [(no, self._seats.areas_free[no]) for no in sorted(self._changed_areas)],
            "held_until": self._seats.first_end_ms(),
        }
        self._changed.clear()
        self._changed_areas.clear()
        return msgspec.json.encode(frame)

    def _flush(self) -> None:
        self._timer = None
        if self._sending is not None and not self._sending.done():
            self._timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._flush)
            return
        self.frames += 1
        self._sending = asyncio.get_running_loop().create_task(broadcast(self.watchers, self.frame()))

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
