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
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import psycopg

from allocator.balance import BalanceWatch
from allocator.busy import Busy, EventLoad, LoadWatch, StreamClock
from allocator.cold.event import ColdEvent
from allocator.cold.group import ColdGroup
from allocator.lease import RENEW_SECONDS, Connection
from allocator.worker import EventWorker, renew
from store.database import connect_to_own
from store.errors import Unavailable
from store.settings import EngineUrls

log = logging.getLogger("onsale.allocator")

ASK_SECONDS: Final = 0.3
"""How often to ask what is wanted."""
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


Worker = EventWorker | ColdEvent
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
        self._cold = ColdGroup(urls, name, self._clock)
        self._workers: dict[int, Worker] = {}
        self._heirs: dict[int, Worker] = {}
        """Of events that are to be attended to in the other way from now on: each becomes the worker once it
        is warm and owns what the one before it owned."""

    def run(self, wanted: Wanted, stop: threading.Event) -> None:
        """Attend to what is wanted until `stop`, then give all leases back. Engines may go away meanwhile.

        Raises `BehindPooler` where Postgres is reached by way of one."""
        balance = BalanceWatch(self._urls.database_url, self._owned)
        watch = LoadWatch(self._urls.redis_url, self._clock, lambda: list(self._counted()))
        balance.start()
        watch.start()
        try:
            while not stop.is_set():
                try:
                    with connect_to_own(self._urls.database_url, "onsale allocator lease") as conn:
                        self._attend(conn, wanted, stop)
                except (Unavailable, psycopg.OperationalError) as error:
                    log.warning("%s; trying again", error)
                    stop.wait(AWAY_SECONDS)
        finally:
            balance.stop()
            watch.stop()
            for worker in self._all():
                if not worker.shared:
                    worker.stop()
            self._cold.stop()
            until = time.monotonic() + STOP_SECONDS
            for worker in self._all():
                worker.join(max(0.0, until - time.monotonic()))
            self._cold.join(max(0.1, until - time.monotonic()))

    def loads(self) -> list[EventLoad]:
        """How busy each owned event is, since this was called before; so one alone should call it."""
        loads = [worker.load() for worker in self._all()]
        return [load for load in loads if load is not None]

    def warm(self) -> dict[int, int]:
        """Event → the batch that its memory here is at, of what is owned or stood by for."""
        batches = [(worker.event_id, worker.warm_batch) for worker in self._all()]
        return {event: batch for event, batch in batches if batch is not None}

    def _all(self) -> list[Worker]:
        return [*self._heirs.values(), *self._workers.values()]

    def _owned(self) -> dict[int, str]:
        return {worker.event_id: worker.slug for worker in self._all() if worker.owned}

    def _counted(self) -> Iterator[tuple[str, Busy]]:
        for worker in self._all():
            busy = worker.busy
            if busy is not None:
                yield worker.slug, busy

    def _attend(self, conn: Connection, wanted: Wanted, stop: threading.Event) -> None:
        """Renew what is owned, begin with what is wanted, end with the rest. Ends with `stop` or an error."""
        renewed_at = 0.0
        while not stop.wait(ASK_SECONDS):
            if time.monotonic() - renewed_at >= RENEW_SECONDS:
                renewed_at = time.monotonic()
                renew(conn, self._all())
            assigned = {one.event_id: one for one in wanted(conn)}
            conn.commit()
            for one in assigned.values():
                self._direct(one)
            for event_id in self._workers.keys() - assigned.keys():
                self._workers.pop(event_id).stop()
                if event_id in self._heirs:
                    self._heirs.pop(event_id).stop()

    def _direct(self, one: Assigned) -> None:
        worker = self._workers.get(one.event_id)
        if worker is None:
            worker = self._workers[one.event_id] = self._begin(one)
        if worker.shared is not one.shared:
            self._change(one, worker)
            return
        heir = self._heirs.pop(one.event_id, None)
        if heir is not None:  # it is as it was, after all
            heir.stop()
        worker.direct(one.preferred, one.successor_warm)

    def _change(self, one: Assigned, worker: Worker) -> None:
        """Hand the event over to one in this process that attends to it in the other way."""
        heir = self._heirs.get(one.event_id)
        if heir is None:
            heir = self._heirs[one.event_id] = self._begin(one)
        warm = heir.warm_batch is not None
        if heir.owned is not None or (warm and worker.owned is None):
            worker.stop()
            self._workers[one.event_id] = self._heirs.pop(one.event_id)
            heir.direct(one.preferred, one.successor_warm)
            return
        heir.direct(True if worker.owned is not None else one.preferred, False)
        worker.direct(False if worker.owned is not None else one.preferred, warm)

    def _begin(self, one: Assigned) -> Worker:
        if one.shared:
            return self._cold.add(one.event_id, one.slug)
        urls = self._urls
        worker = EventWorker(
            urls.database_url, urls.redis_url, one.event_id, one.slug, self._name, self._clock
        )
        worker.start()
        return worker
