"""Reads the next batch while Postgres works on this one. Only in a backlog: after a full batch.

When nothing waits, reading ahead would fetch the first of the next arrivals alone and make batches
smaller; so it starts only behind a full batch, where the next one is certain to be there. And it starts
when it is told to: two threads that both have work to do only hinder each other.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from store.stream.port import Arrivals, RawEntry
from store.words import Arrival

T = TypeVar("T")


class ReadAhead(Generic[T]):
    """Entries and what `prepare` makes of them. One reader at a time; `close` ends its thread."""

    def __init__(self, arrivals: Arrivals, prepare: Callable[[list[RawEntry]], T]) -> None:
        self._arrivals = arrivals
        self._prepare = prepare
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="read-ahead")
        self._next: tuple[Arrival, Future[tuple[list[RawEntry], T]]] | None = None
        self._wanted: tuple[Arrival, int] | None = None

    def read(self, after: Arrival, *, count_max: int, block_ms: int) -> tuple[list[RawEntry], T]:
        """What is above `after`. Errors of a read made ahead are raised here, when it is asked for."""
        ahead, self._next = self._next, None
        entries, prepared = ahead[1].result() if ahead is not None and ahead[0] == after else ([], None)
        if not entries or prepared is None:
            entries, prepared = self._read(after, count_max, block_ms)
        full = len(entries) >= count_max
        self._wanted = (Arrival(entries[-1][0].decode()), count_max) if full else None
        return entries, prepared

    def prepare_again(self) -> None:
        """What was read ahead is prepared anew: it is to be something else by now."""
        if self._next is None or self._next[1].exception() is not None:
            return
        after, reading = self._next
        entries, _ = reading.result()
        again: Future[tuple[list[RawEntry], T]] = Future()
        again.set_result((entries, self._prepare(entries)))
        self._next = (after, again)

    def holds(self, after: Arrival) -> bool:
        """Whether something above `after` was read ahead. A read that failed holds nothing."""
        if self._next is None or self._next[0] != after:
            return False
        reading = self._next[1]
        return reading.exception() is None and bool(reading.result()[0])

    def start(self) -> None:
        """Whoever reads has to wait for something else now: read what follows the last full batch."""
        if self._wanted is not None:
            after, count_max = self._wanted
            self._wanted = None
            self._next = (after, self._thread.submit(self._read, after, count_max, 0))

    def _read(self, after: Arrival, count_max: int, block_ms: int) -> tuple[list[RawEntry], T]:
        entries = self._arrivals.read(after, count_max=count_max, block_ms=block_ms)
        return entries, self._prepare(entries)

    def close(self) -> None:
        self._thread.shutdown()
