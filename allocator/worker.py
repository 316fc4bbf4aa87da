"""One event on one worker: stand by with a warm memory, take over, own, hand over.

A thread per event; a process per `python -m allocator`, in which `renew` keeps what its workers own.
Whatever ends an ownership (fenced, Postgres away, a bug) leads back to standing by with memory loaded from
Postgres, never on with doubtful memory.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Iterable

import psycopg

from allocator import lease
from allocator.ballot import BallotKeeper
from allocator.busy import Busy, EventLoad, StreamClock
from allocator.follow import Follower, Mismatch
from allocator.keeper import Keeper
from allocator.lease import Owned
from allocator.load import Connection, load_keys, load_layout, load_memory
from allocator.loop import BatchLoop
from allocator.ports import Cursor
from allocator.truth import PostgresTruth
from store.database import connect
from store.errors import Fenced, OutcomeUnknown, StreamMissing, StreamUnavailable, Unavailable
from store.stream.redis_stream import RedisArrivals
from store.stream.redis_stream import connect as connect_stream

log = logging.getLogger("onsale.allocator")

LOOK_SECONDS = 0.15
"""How often a standby looks at the lease and follows the ledger."""
AWAY_SECONDS = 0.3
"""Pause between tries while an engine is away."""
KEEPER_SECONDS = 2.0
"""How long to wait until who kept the waiting room has stopped; nobody is harmed if it has not."""
STUCK_SECONDS = 10.0
"""An owner whose loop has not turned for so long is not renewed."""


class EventWorker(threading.Thread):
    """Works for the event `slug` until `stop`. `owned` tells the renewer what to renew."""

    def __init__(
        self,
        database_url: str,
        redis_url: str,
        event_id: int,
        slug: str,
        worker: str,
        clock: StreamClock | None = None,
    ) -> None:
        super().__init__(name=f"allocator-{slug}", daemon=True)
        self._database_url = database_url
        self._redis_url = redis_url
        self.event_id = event_id
        self.slug = slug
        self._worker = worker
        self._stop_asked = threading.Event()
        self._turned_at = 0.0
        self._lapsed: Owned | None = None
        self.owned: Owned | None = None
        self._clock = clock or StreamClock()
        self._follower: Follower | None = None
        self._loop: BatchLoop | None = None

    @property
    def warm_batch(self) -> int | None:
        """The batch that memory is at, as owner or standby; None while it is being loaded."""
        knows = self._loop or self._follower
        return None if knows is None else knows.memory.batch_no

    @property
    def busy(self) -> Busy | None:
        """What is counted while the event is owned here."""
        loop = self._loop
        return None if loop is None else loop.busy

    def load(self) -> EventLoad | None:
        """How busy the event is, if it is owned here."""
        loop, owned = self._loop, self.owned
        if loop is None or owned is None:
            return None
        return loop.busy.since_last(self.event_id, owned.epoch, loop.cursor.batch_no)

    def stop(self) -> None:
        """Finish the batch under way and give the lease back."""
        self._stop_asked.set()

    def attends(self) -> bool:
        """Whether this worker owns the event and its loop turns."""
        return self.owned is not None and time.monotonic() - self._turned_at < STUCK_SECONDS

    def lapse(self, right: Owned) -> None:
        """This right could not be renewed: stand by, and take the event again if it is free."""
        self._lapsed = right

    def run(self) -> None:
        while not self._stop_asked.is_set():
            try:
                with connect(self._database_url, f"onsale allocator {self.slug}") as conn:
                    self._live(conn)
            except Fenced:
                log.warning(
                    "%s: another worker owns the event now, or nobody attended; standing by", self.slug
                )
            except (Unavailable, psycopg.OperationalError) as error:
                log.warning("%s: %s; trying again", self.slug, error)
                self._stop_asked.wait(AWAY_SECONDS)
            except Exception:
                log.exception("%s: ALERT: the allocator stopped; loading anew", self.slug)
                self._stop_asked.wait(AWAY_SECONDS)
            finally:
                self.owned = self._follower = None

    def _live(self, conn: Connection) -> None:
        follower, cursor = self._load(conn)
        owned = None
        while owned is None:
            seen = lease.look(conn, self.event_id)
            if seen.free:
                owned = lease.take(conn, self.event_id, seen, self._worker)
                continue
            follower, cursor = self._catch_up(conn, follower, cursor)
            if self._stop_asked.wait(LOOK_SECONDS):
                return
        self._turned_at = time.monotonic()
        self.owned = owned
        follower, cursor = self._catch_up(conn, follower, cursor)
        now = Cursor(owned.epoch, follower.memory.batch_no, follower.arrival or cursor.arrival)
        log.info("%s: owner since epoch %d, batch %d", self.slug, *now[:2])
        clock = lease.clock(conn)
        truth = PostgresTruth(conn, self._database_url, self.event_id, owned, follower.memory.layout)
        self._own(truth, follower, now, clock)

    def _catch_up(self, conn: Connection, follower: Follower, cursor: Cursor) -> tuple[Follower, Cursor]:
        try:
            follower.catch_up()
        except Mismatch as mismatch:
            log.error("%s: ALERT: standby and ledger disagree, loading anew: %s", self.slug, mismatch)
            return self._load(conn)
        return follower, cursor

    def _load(self, conn: Connection) -> tuple[Follower, Cursor]:
        layout = load_layout(conn, self.event_id)
        memory, cursor = load_memory(conn, self.event_id, layout)
        # keys after memory: a batch in between is in both, and a key too many is only a suspicion
        self._follower = Follower(conn, self.event_id, memory, load_keys(conn, self.event_id))
        return self._follower, cursor

    def _own(self, truth: PostgresTruth, follower: Follower, cursor: Cursor, clock: int) -> None:
        client = connect_stream(self._redis_url)
        arrivals = RedisArrivals(client, self.slug)
        busy = Busy(self._clock)
        loop = BatchLoop(
            self.slug, truth, arrivals, follower.memory, cursor, follower.keys, now=clock, busy=busy
        )
        self._loop = loop
        keeper = Keeper(self._database_url, self._redis_url, self.event_id, self.slug, BallotKeeper)
        keeper.start()
        gc.freeze()  # what was loaded stays; collecting it again and again costs more than deciding
        try:
            attended = False
            while not self._stop_asked.is_set():
                self._turned_at = time.monotonic()
                if self._lapsed == self.owned:
                    raise Fenced
                try:
                    if not attended:
                        loop.attend()
                        loop.announce_reload()
                        attended = True
                    loop.turn()
                except (StreamUnavailable, StreamMissing, OutcomeUnknown) as error:
                    log.warning("%s: %s; holds still expire", self.slug, error)
                    attended = False
                    loop.tick()
                    self._stop_asked.wait(AWAY_SECONDS)
            truth.give_back()
            log.info("%s: handed over at batch %d", self.slug, loop.cursor.batch_no)
        finally:
            self._loop = None
            keeper.stop()
            keeper.join(KEEPER_SECONDS)
            loop.close()
            client.close()
            truth.close()


def renew(conn: Connection, workers: Iterable[EventWorker]) -> None:
    """Say of what these workers own and attend to that they do; who cannot say so any more hears it."""
    owned = {work.event_id: (work, right) for work in workers if (right := work.owned) and work.attends()}
    if owned:
        renewed = lease.renew(conn, {event_id: right for event_id, (_, right) in owned.items()})
        for event_id in owned.keys() - renewed:
            work, right = owned[event_id]
            work.lapse(right)
