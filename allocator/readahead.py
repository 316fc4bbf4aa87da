"""Reads the next batch while Postgres works on this one. Only in a backlog: after a full batch.

When nothing waits, reading ahead would fetch the first of the next arrivals alone and make batches
smaller; so it starts only behind a full batch, where the next one is certain to be there.
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

    def read(self, after: Arrival, *, count_max: int, block_ms: int) -> tuple[list[RawEntry], T]:
        """What is above `after`. Errors of a read made ahead are raised here, when it is asked for."""
        ahead, self._next = self._next, None
        entries, prepared = ahead[1].result() if ahead is not None and ahead[0] == after else ([], None)
        if not entries or prepared is None:
            entries, prepared = self._read(after, count_max, block_ms)
        if len(entries) >= count_max:
            last = Arrival(entries[-1][0].decode())
            self._next = (last, self._thread.submit(self._read, last, count_max, 0))
        return entries, prepared

    def _read(self, after: Arrival, count_max: int, block_ms: int) -> tuple[list[RawEntry], T]:
        entries = self._arrivals.read(after, count_max=count_max, block_ms=block_ms)
        return entries, self._prepare(entries)

    def close(self) -> None:
        self._thread.shutdown()
