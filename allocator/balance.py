"""Looks every half minute whether the seats and places of the events owned here add up, and says so if not.

In a thread and on a connection of its own: it makes no batch and no lease wait. It never repairs: what
does not add up is an alert with the rows, for a person to look at, and a number (`store.fleet.balance`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

import psycopg

from allocator.load import Connection
from store import invariant
from store.database import connect
from store.errors import Unavailable
from store.fleet import balance

log = logging.getLogger("onsale.allocator")

LOOK_SECONDS = 30.0
TOLD_MAX = 20
"""Most rows an alert names; how many more there are is said."""


class BalanceWatch(threading.Thread):
    """Looks until `stop`. `owned` gives the events to look at, with their names."""

    def __init__(self, database_url: str, owned: Callable[[], Mapping[int, str]]) -> None:
        super().__init__(name="allocator-balance", daemon=True)
        self._database_url = database_url
        self._owned = owned
        self._stop_asked = threading.Event()
        self._capacities: dict[int, invariant.Capacity] = {}

    def stop(self) -> None:
        """Look no more."""
        self._stop_asked.set()

    def run(self) -> None:
        while not self._stop_asked.wait(LOOK_SECONDS):
            owned = self._owned()
            if not owned:
                continue
            try:
                with connect(self._database_url, "onsale allocator balance") as conn:
                    for event_id, slug in owned.items():
                        self._look(conn, event_id, slug)
            except (Unavailable, psycopg.Error) as error:
                log.warning("whether seats and places add up is not known: %s", error)

    def _look(self, conn: Connection, event_id: int, slug: str) -> None:
        capacity = self._capacities.get(event_id)
        if capacity is None:
            capacity = self._capacities[event_id] = invariant.read_capacity(conn, event_id)
            conn.commit()
        rows = invariant.mismatches(conn, event_id, capacity)
        if rows:
            told = "; ".join(f"{row.what} number {row.number} {row.story}" for row in rows[:TOLD_MAX])
            more = f"; and {len(rows) - TOLD_MAX} more" if len(rows) > TOLD_MAX else ""
            log.error("%s: ALERT: seats and places do not add up: %s%s", slug, told, more)
        balance.write(conn, event_id, len(rows))
        conn.commit()
