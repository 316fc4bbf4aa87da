"""Loads memory of events that share, one after the other: nobody who decides or stands by waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

import psycopg

from allocator.cold.event import ColdEvent
from allocator.follow import Follower
from allocator.load import Connection, load_keys, load_layout, load_memory
from store.database import connect
from store.errors import Unavailable

log = logging.getLogger("onsale.allocator")

AWAY_SECONDS: Final = 0.3


class Loading(threading.Thread):
    """`add` events; each is given on when its memory is loaded. Ends when it is told to, with what it has."""

    def __init__(self, database_url: str, give_on: Callable[[ColdEvent], None]) -> None:
        super().__init__(name="allocator-cold-loading", daemon=True)
        self._database_url = database_url
        self._give_on = give_on
        self._waiting: SimpleQueue[ColdEvent | None] = SimpleQueue()
        self._stop_asked = threading.Event()

    def add(self, event: ColdEvent) -> None:
        """This one is to be loaded, or loaded anew."""
        event.follower = event.loop = None
        self._waiting.put(event)

    def stop(self) -> None:
        """Load no more."""
        self._stop_asked.set()
        self._waiting.put(None)

    def run(self) -> None:
        event: ColdEvent | None = None
        while not self._stop_asked.is_set():
            try:
                with connect(self._database_url, "onsale allocator cold load") as conn:
                    while not self._stop_asked.is_set():
                        event = self._waiting.get()
                        if event is not None and not event.stopping:
                            event.follower = load(conn, event.event_id)
                            self._give_on(event)
                        elif event is not None:
                            event.gone.set()
                        event = None
            except (Unavailable, psycopg.OperationalError) as error:
                log.warning("loading: %s; trying again", error)
            except Exception:
                log.exception("%s: ALERT: it cannot be loaded; trying again", event and event.slug)
            if event is not None:
                self._waiting.put(event)  # behind the others
            event = None
            self._stop_asked.wait(AWAY_SECONDS)


def load(conn: Connection, event_id: int) -> Follower:
    """All that is to be known of an event, as a standby of it."""
    layout = load_layout(conn, event_id)
    memory, cursor = load_memory(conn, event_id, layout)
    # keys after memory: a batch in between is in both, and a key too many is only a suspicion
    return Follower(conn, event_id, memory, load_keys(conn, event_id), cursor.arrival)
