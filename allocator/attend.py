"""All events that one process attends to: it begins with what is wanted of it, and ends with the rest.

Who wants them is somebody else's business: `python -m allocator` finds every event on sale, a worker of a
fleet what it was assigned. Such a wish decides nothing: the lease alone says who owns an event
(`allocator.lease`), and while nobody can be asked what is wanted all goes on as it was.
"""

from __future__ import annotations

import gc
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import psycopg

from allocator.balance import BalanceWatch
from allocator.busy import Busy, EventLoad, LoadWatch, StreamClock
from allocator.lease import Connection
from allocator.worker import EventWorker, renew
from store.database import connect
from store.errors import Unavailable
from store.settings import EngineUrls

log = logging.getLogger("onsale.allocator")

ASK_SECONDS: Final = 0.3
"""How often to ask what is wanted, and to renew what is owned."""
AWAY_SECONDS: Final = 1.0
STOP_SECONDS: Final = 5.0
"""How long each event has to give its lease back when the process stops."""


class Assigned(NamedTuple):
    """An event that this process is to attend to."""

    event_id: int
    slug: str
    preferred: bool | None = None
    """True: is to own it. False: another process is: hand over once that one is warm, else stand by. None:
    whoever is quicker."""
    shared: bool = False
    """Cold: attended to on connections and threads that it shares with others."""
    successor_warm: bool = False
    """Where another process is preferred: it is alive and has followed the ledger, so hand over now."""


Wanted = Callable[[Connection], Sequence[Assigned]]
"""What is wanted of this process now. It may raise what Postgres raises."""


def settle_process() -> None:
    """Once, in a process that does nothing else: collections and thread switches at the pace of batches."""
    gc.set_threshold(400_000, 50, 1_000_000)  # batches leave no cycles; below it no collection falls into one
    sys.setswitchinterval(0.001)  # the thread that reads ahead should not wait for a whole batch


class Attendance:
    """What one process attends to. `run` blocks; the others may be called from other threads meanwhile."""

    def __init__(self, urls: EngineUrls, name: str) -> None:
        """`name` is machine and process id; the lease shows it."""
        self._urls = urls
        self._name = name
        self._clock = StreamClock()
        self._workers: dict[int, EventWorker] = {}

    def run(self, wanted: Wanted, stop: threading.Event) -> None:
        """Attend to what is wanted until `stop`, then give all leases back. Engines may go away meanwhile."""
        balance = BalanceWatch(self._urls.database_url, self._owned)
        watch = LoadWatch(self._urls.redis_url, self._clock, lambda: list(self._counted()))
        balance.start()
        watch.start()
        try:
            while not stop.is_set():
                try:
                    with connect(self._urls.database_url, "onsale allocator lease") as conn:
                        self._attend(conn, wanted, stop)
                except (Unavailable, psycopg.OperationalError) as error:
                    log.warning("%s; trying again", error)
                    stop.wait(AWAY_SECONDS)
        finally:
            balance.stop()
            watch.stop()
            for worker in self._workers.values():
                worker.stop()
            for worker in self._workers.values():
                worker.join(STOP_SECONDS)

    def loads(self) -> list[EventLoad]:
        """How busy each owned event is, since this was called before; so one alone should call it."""
        loads = [worker.load() for worker in list(self._workers.values())]
        return [load for load in loads if load is not None]

    def warm(self) -> dict[int, int]:
        """Event → the batch that its memory here is at, of what is owned or stood by for."""
        batches = {event: worker.warm_batch for event, worker in list(self._workers.items())}
        return {event: batch for event, batch in batches.items() if batch is not None}

    def _owned(self) -> dict[int, str]:
        return {event: worker.slug for event, worker in list(self._workers.items()) if worker.owned}

    def _counted(self) -> Iterator[tuple[str, Busy]]:
        for worker in list(self._workers.values()):
            busy = worker.busy
            if busy is not None:
                yield worker.slug, busy

    def _attend(self, conn: Connection, wanted: Wanted, stop: threading.Event) -> None:
        """Renew what is owned, begin with what is wanted, end with the rest. Ends with `stop` or an error."""
        while not stop.wait(ASK_SECONDS):
            renew(conn, self._workers.values())
            assigned = {one.event_id: one for one in wanted(conn)}
            conn.commit()
            for event_id, one in assigned.items():
                if event_id not in self._workers:
                    self._begin(one)
            for event_id in self._workers.keys() - assigned.keys():
                self._workers.pop(event_id).stop()

    def _begin(self, one: Assigned) -> None:
        urls = self._urls
        worker = EventWorker(
            urls.database_url, urls.redis_url, one.event_id, one.slug, self._name, self._clock
        )
        self._workers[one.event_id] = worker
        worker.start()
