"""Feeds an event's stream at a steady rate, in small appends, until told to stop: half of what its allocator
can do, for instance. A thread of its own; the appends are group commits as gateways make them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from store.stream.redis_stream import RedisArrivals

EVERY_SECONDS: Final = 0.02


class Pace:
    """How a feeding goes."""

    def __init__(self, per_second: float, entries: Sequence[bytes]) -> None:
        self.per_second = per_second
        self.fed = 0
        self.ran_dry = False
        """There was nothing left to feed before it was told to stop."""
        self._entries = entries
        self._stop = threading.Event()
        self._error: Exception | None = None

    def due(self, seconds: float) -> int:
        """How many entries should have been fed after so long; never more than there are."""
        return min(len(self._entries), int(self.per_second * seconds))

    def run(self, arrivals: RedisArrivals) -> None:
        """Feed until `stop`, or until there is nothing left."""
        began = time.monotonic()
        try:
            while not self._stop.wait(EVERY_SECONDS):
                due = self.due(time.monotonic() - began)
                if due > self.fed:
                    arrivals.append(self._entries[self.fed : due])
                    self.fed = due
                elif due == len(self._entries):
                    self.ran_dry = True
                    return
        except Exception as error:  # told by whoever waits for the thread
            self._error = error

    def wait(self, seconds: float) -> None:
        """Let it run for a while."""
        self._stop.wait(seconds)

    def stop(self) -> None:
        """Ends it; raises what ended it before."""
        self._stop.set()
        if self._error is not None:
            raise self._error


@contextmanager
def paced(arrivals: RedisArrivals, entries: Sequence[bytes], per_second: float) -> Iterator[Pace]:
    """Entries are fed in this order at that rate while the block runs."""
    pace = Pace(per_second, entries)
    thread = threading.Thread(target=pace.run, args=(arrivals,), name="pace")
    thread.start()
    try:
        yield pace
    finally:
        pace.stop()
        thread.join()
