"""Stands by for all events that share and are not owned here: one look at all leases, and takes what is free.

One query tells of all of them what there is to do; only of those that went on the ledger is followed. Events
that are to be owned here soon are looked at more often than the others, in a query of their own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Final

import psycopg

from allocator import lease
from allocator.cold.event import ColdEvent
from allocator.direction import EXPECTING_SECONDS, LOOK_SECONDS
from allocator.follow import Mismatch
from allocator.lease import Backend, Owned, Seen
from allocator.load import Connection
from store.database import connect
from store.errors import Unavailable

log = logging.getLogger("onsale.allocator")

AWAY_SECONDS: Final = 0.3


class StandingBy(threading.Thread):
    """`add` events whose memory is loaded. Those that are taken are given to their owner."""

    def __init__(
        self,
        database_url: str,
        worker: str,
        through: Callable[[], Backend | None],
        own: Callable[[ColdEvent, Owned], None],
        load: Callable[[ColdEvent], None],
        nudge: Callable[[], bool],
    ) -> None:
        """`through`: the connection that owns, None while there is none. `nudge` tells the owner again
        of what was taken, and whether that waits still."""
        super().__init__(name="allocator-cold-standby", daemon=True)
        self._database_url = database_url
        self._worker = worker
        self._through = through
        self._own = own
        self._load = load
        self._nudge = nudge
        self._arriving: SimpleQueue[ColdEvent] = SimpleQueue()
        self._events: dict[int, ColdEvent] = {}
        self._stop_asked = threading.Event()

    def add(self, event: ColdEvent) -> None:
        """This one is to be stood by for."""
        self._arriving.put(event)

    def stop(self) -> None:
        """Take nothing more."""
        self._stop_asked.set()

    def run(self) -> None:
        while not self._stop_asked.is_set():
            try:
                with connect(self._database_url, "onsale allocator cold standby") as conn:
                    for event in self._events.values():
                        self._follow_on(event, conn)
                    self._stand_by(conn)
            except (Unavailable, psycopg.OperationalError) as error:
                log.warning("standing by: %s; trying again", error)
            except Exception:
                log.exception("ALERT: standing by stopped; beginning again")
            self._stop_asked.wait(AWAY_SECONDS)
        for event in self._events.values():
            event.gone.set()

    def _stand_by(self, conn: Connection) -> None:
        all_at = 0.0
        wait = 0.0
        while not self._stop_asked.wait(wait):
            self._take_in(conn)
            now = time.monotonic()
            if now >= all_at:
                self._look(conn, list(self._events.values()))
                all_at = time.monotonic() + LOOK_SECONDS
            else:
                self._look(conn, [event for event in self._events.values() if event.direction.expects])
            soon = [event.direction.look_seconds() for event in self._events.values()]
            wait = EXPECTING_SECONDS if self._nudge() else min(soon, default=LOOK_SECONDS)

    def _take_in(self, conn: Connection) -> None:
        try:
            while True:
                event = self._arriving.get_nowait()
                self._follow_on(event, conn)
                before = self._events.get(event.event_id)
                if before is not None:  # it was ended, and is attended to again
                    before.gone.set()
                self._events[event.event_id] = event
        except Empty:
            pass
        for event in [event for event in self._events.values() if event.stopping]:
            del self._events[event.event_id]
            event.gone.set()

    def _follow_on(self, event: ColdEvent, conn: Connection) -> None:
        assert event.follower is not None, "who stands by has loaded"
        event.follower = event.follower.on(conn)

    def _look(self, conn: Connection, events: Sequence[ColdEvent]) -> None:
        batches = {event.event_id: event.warm_batch or 0 for event in events}
        for event_id, seen in lease.look_at_all(conn, batches).items() if batches else ():
            event = self._events[event_id]
            through = self._through()
            if through is not None and not event.rests() and event.direction.may_take(seen):
                self._take(conn, event, seen, through)
            elif seen.batch_no != batches[event_id]:
                self._follow(event)

    def _take(self, conn: Connection, event: ColdEvent, seen: Seen, through: Backend) -> None:
        owned = lease.take(conn, event.event_id, seen, self._worker, through)
        if owned is None:
            return
        if self._follow(event):
            del self._events[event.event_id]
            self._own(event, owned)
        else:  # it is taken, and its memory loaded anew: whoever finds nobody attends takes it
            lease.give_back(conn, event.event_id, owned)

    def _follow(self, event: ColdEvent) -> bool:
        """To the end of the ledger; False where memory has to be loaded anew, which it is then."""
        assert event.follower is not None, "who stands by has loaded"
        try:
            event.follower.catch_up()
        except Mismatch as mismatch:
            log.error("%s: ALERT: standby and ledger disagree, loading anew: %s", event.slug, mismatch)
            self._events.pop(event.event_id, None)
            self._load(event)
            return False
        return True
