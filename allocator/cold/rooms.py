"""Keeps the waiting rooms of all events that share and are owned here, in one thread on one connection.

Each step is the keeper's (`allocator.keeper.Steps`). All of them take a bounded part of Postgres' time: with
many rooms, each has its step less often.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import psycopg
import redis

from allocator.ballot import BallotKeeper
from allocator.cold import sql
from allocator.cold.event import ColdEvent
from allocator.keeper import AWAY_SECONDS, LOOK_SECONDS, Steps
from allocator.lease import Connection, Owned
from store.database import connect
from store.errors import Unavailable
from store.lookups import PLAN_BY_KEY
from store.stream.redis_stream import RedisArrivals
from store.stream.redis_stream import connect as connect_stream

log = logging.getLogger("onsale.allocator")

STEPS_PER_SECOND_MAX: Final = 50
WAIT_SECONDS: Final = 0.05


class Rooms(threading.Thread):
    """Steps until `stop`. `owned` gives the events."""

    def __init__(self, database_url: str, redis_url: str, owned: Callable[[], Sequence[ColdEvent]]) -> None:
        super().__init__(name="allocator-cold-rooms", daemon=True)
        self._database_url = database_url
        self._redis_url = redis_url
        self._owned = owned
        self._stop_asked = threading.Event()
        self._kept: dict[int, tuple[Owned, Steps]] = {}
        self._due_at: dict[int, float] = {}
        self._looked_at = 0.0

    def stop(self) -> None:
        """Step no more."""
        self._stop_asked.set()

    def run(self) -> None:
        client = connect_stream(self._redis_url)
        while not self._stop_asked.is_set():
            try:
                if self._owned():
                    with connect(self._database_url, "onsale keeper cold") as conn:
                        conn.autocommit = True
                        conn.execute(PLAN_BY_KEY)
                        self._keep(conn, client)
            except (Unavailable, psycopg.OperationalError) as error:
                log.warning("waiting rooms of events that share: %s; trying again", error)
            except Exception:
                log.exception("ALERT: the keeper of rooms of events that share stopped; beginning again")
            self._kept, self._looked_at = {}, 0.0
            self._stop_asked.wait(AWAY_SECONDS)
        client.close()

    def _keep(self, conn: Connection, client: redis.Redis) -> None:
        while not self._stop_asked.wait(WAIT_SECONDS):
            owned = {event.event_id: event for event in self._owned()}
            if not owned:
                return
            if time.monotonic() - self._looked_at >= LOOK_SECONDS:
                self._looked_at = time.monotonic()
                rows = conn.execute(sql.WITH_ROOMS, (list(owned),)).fetchall()
                self._begin(conn, client, [owned[event_id] for (event_id,) in rows])
            for event_id, (right, steps) in list(self._kept.items()):
                event = owned.get(event_id)
                if event is None or event.owned != right:
                    del self._kept[event_id]
                elif time.monotonic() >= self._due_at[event_id] and not self._stop_asked.is_set():
                    self._due_at[event_id] = time.monotonic() + self._step(event, steps)

    def _begin(self, conn: Connection, client: redis.Redis, events: Sequence[ColdEvent]) -> None:
        for event in events:
            right = event.owned
            if right is not None and event.event_id not in self._kept:
                ballot = BallotKeeper(event.event_id, RedisArrivals(client, event.slug))
                self._kept[event.event_id] = right, Steps(conn, client, event.event_id, event.slug, ballot)
                self._due_at[event.event_id] = 0.0

    def _step(self, event: ColdEvent, steps: Steps) -> float:
        """One step; the seconds after which this room has its next."""
        least = len(self._kept) / STEPS_PER_SECOND_MAX
        try:
            return max(least, steps.step())
        except (Unavailable, psycopg.OperationalError):
            raise
        except Exception:
            log.exception("%s: ALERT: the waiting room's keeper failed; trying again", event.slug)
            return LOOK_SECONDS
