"""Reads the next batch while Postgres works on this one. Only in a backlog: after a full batch.

When nothing waits, reading ahead would fetch the first of the next arrivals alone and make batches
smaller; so it starts only behind a full batch, where the next one is certain to be there.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from store.stream.port import Arrivals, RawEntry
from store.words import Arrival


class ReadAhead:
    """`read` as of `Arrivals`. One reader at a time; `close` ends its thread."""

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="read-ahead")
        self._next: tuple[Arrival, Future[list[RawEntry]]] | None = None

    def read(self, after: Arrival, *, count_max: int, block_ms: int) -> list[RawEntry]:
        """What is above `after`. Errors of a read made ahead are raised here, when it is asked for."""
        entries: list[RawEntry] = []
        if self._next is not None:
            read_after, ahead = self._next
            self._next = None
            if read_after == after:
                entries = ahead.result()
        if not entries:
            entries = self._arrivals.read(after, count_max=count_max, block_ms=block_ms)
        if len(entries) >= count_max:
            last = Arrival(entries[-1][0].decode())
            ahead = self._thread.submit(self._arrivals.read, last, count_max=count_max, block_ms=0)
            self._next = (last, ahead)
        return entries

    def close(self) -> None:
        self._thread.shutdown()
