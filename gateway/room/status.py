"""The status document at this gateway: encoded once per change, told to sockets as soon as it concerns them.

What concerns all (a phase, a message, a pause, sold out) reaches all at once. A step of the line reaches
those whose turn is near at most once a second; who is minutes away, and what can wait, is told every few
seconds, each at a moment of their own. Writing to thousands is done in slices between which others have
their turn, and nothing is waited for: who reads too slowly is closed by the hub.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Final

from gateway.room import document
from gateway.room.document import Encoded, Status
from gateway.room.known import Known
from notifier.hub import SLICE
from store.jitter import jitter

STEP_SECONDS: Final = 1.0
"""Shortest time between two steps of the line that are told."""
JITTER: Final = (0.75, 1.25)
LOOKED_AT_MAX: Final = 4_096
"""How many are looked at, told or not, between two turns of the event loop."""


class ShownStatus:
    """One event's."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.encoded: Encoded | None = None
        self._serial = 0
        """Of the document, from 1."""
        self._moved_since = False
        """The line went on since the last step was told."""
        self._all_since = 0
        """Who was told an older document than this one is told at once."""
        self._stepped_at = float("-inf")
        self._behind = False
        """Not everybody has the newest document."""
        self.frames = 0

    def take(self, told: Status) -> None:
        """What is true now; encoded if it is new."""
        before = self.encoded
        if before is not None:
            if document.same(before.status, told):
                return
            if document.concerns_all(before.status, told):
                self._all_since = self._serial + 1
            self._moved_since = self._moved_since or document.moved(before.status, told)
        self._serial += 1
        self._behind = True
        self.encoded = Encoded(told)

    def step_due_in(self) -> float:
        """Seconds until a step of the line may be told that was not yet."""
        if not self._moved_since:
            return float("inf")
        return max(0.0, self._stepped_at + STEP_SECONDS - self._clock())

    def greet(self, known: Known, write: Callable[[bytes], bool]) -> None:
        """Tell somebody who came just now."""
        if self.encoded is not None:
            write(self.encoded.frame)
            if len(known.clients) == 1:
                self._told(known, self._serial, self.encoded.status)

    async def tell(self, everybody: Iterable[Known]) -> None:
        """Tell whom it concerns by now."""
        now, encoded, serial = self._clock(), self.encoded, self._serial
        if encoded is None or not self._behind:
            return
        step = self._moved_since and now - self._stepped_at >= STEP_SECONDS
        if step:
            self._stepped_at, self._moved_since = now, False
        self._behind = False
        written = 0
        for looked_at, known in enumerate(list(everybody)):
            if known.serial < serial:
                if self._concerns(known, encoded.status, step, now):
                    for client in list(known.clients):
                        client.write(encoded.frame)
                        written += 1
                        if written % SLICE == 0:
                            await asyncio.sleep(0)
                    self._told(known, serial, encoded.status)
                else:
                    self._behind = True
            if looked_at % LOOKED_AT_MAX == LOOKED_AT_MAX - 1:
                await asyncio.sleep(0)
        self.frames += written

    def _concerns(self, known: Known, told: Status, step: bool, now: float) -> bool:
        if known.serial < self._all_since or now >= known.due:
            return True
        return step and document.hears_every_step(told, known.place)

    def _told(self, known: Known, serial: int, told: Status) -> None:
        known.serial = serial
        known.due = self._clock() + document.hears_every_seconds(told, known.place) * jitter(*JITTER)
