"""One event on one worker: stand by with a warm memory, take over, own, hand over.

A thread per event; `renew` keeps what the workers of a process own (`allocator.attend`). Whatever ends an
ownership otherwise than in order (fenced, Postgres away, a bug) leads back to standing by with memory loaded
from Postgres, never on with doubtful memory. Who hands over by plan (`allocator.direction`) keeps the memory,
and follows with it; who is to take over has its connections open before.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple, Protocol

import psycopg

from allocator import lease
from allocator.ballot import BallotKeeper
from allocator.busy import Busy, EventLoad, StreamClock
from allocator.direction import Direction
from allocator.follow import Follower, Mismatch
from allocator.keeper import Keeper
from allocator.keys import Keys
from allocator.lease import Owned
from allocator.load import Connection, load_keys, load_layout, load_memory
from allocator.loop import BatchLoop
from allocator.memory import Memory
from allocator.ports import Cursor
from allocator.truth import PostgresTruth
from store import logs
from store.database import connect
from store.errors import Fenced, OutcomeUnknown, StreamMissing, StreamUnavailable, Unavailable
from store.stream.redis_stream import RedisArrivals
from store.stream.redis_stream import connect as connect_stream
from store.words import Arrival

log = logging.getLogger("onsale.allocator")

AWAY_SECONDS = 0.3
"""Pause between tries while an engine is away."""
KEEPER_SECONDS = 2.0
"""How long to wait until who kept the waiting room has stopped; nobody is harmed if it has not."""
STUCK_SECONDS = 10.0
"""An owner whose loop has not turned for so long is not renewed."""


class Kept(NamedTuple):
    """What an owner knew when it gave the event back: what it decided is what the ledger says."""

    memory: Memory
    keys: Keys
    arrival: Arrival


class EventWorker(threading.Thread):
    """Works for the event `slug` until `stop`. `owned` tells the renewer what to renew."""

    shared = False

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
        self._direction = Direction()
        self._clock = clock or StreamClock()
        self._follower: Follower | None = None
        self._kept: Kept | None = None
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

    def direct(self, preferred: bool | None, successor_warm: bool = False) -> None:
        """Who is to own the event, as in `allocator.attend.Assigned`; as often as it is known again."""
        self._direction.direct(preferred, successor_warm)

    def run(self) -> None:
        logs.about(self.slug)
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
        """Stand by until the event is taken, then own it until it is given back."""
        kept, self._kept = self._kept, None
        if kept is None:
            self._load(conn)
        else:
            self._follower = Follower(conn, self.event_id, *kept)
        client = connect_stream(self._redis_url)
        try:
            owned = self._stand_by(conn, RedisArrivals(client, self.slug))
            if owned is None:
                return
            self._turned_at = time.monotonic()
            self.owned = owned
            self._direction.took(owned.epoch)
            follower = self._catch_up(conn)
            now = Cursor(owned.epoch, follower.memory.batch_no, follower.arrival)
            log.info("%s: owner since epoch %d, batch %d", self.slug, *now[:2])
            clock = lease.clock(conn)
            truth = PostgresTruth(conn, self._database_url, self.event_id, owned, follower.memory.layout)
            self._own(truth, RedisArrivals(client, self.slug), follower, now, clock)
        finally:
            client.close()

    def _stand_by(self, conn: Connection, arrivals: RedisArrivals) -> Owned | None:
        """Follow until the event could be taken; None where this worker is to stop."""
        direction, met = self._direction, False
        while True:
            seen = lease.look(conn, self.event_id)
            if direction.may_take(seen):
                owned = lease.take(conn, self.event_id, seen, self._worker)
                if owned is not None:
                    return owned
                continue
            follower = self._follower
            if follower is None or seen.batch_no != follower.memory.batch_no:
                follower = self._catch_up(conn)
            if direction.expects and not met:
                met = True
                with suppress(StreamUnavailable):  # so that its connection is open
                    arrivals.read(follower.arrival, count_max=1, block_ms=0)
            if self._stop_asked.wait(direction.look_seconds()):
                return None

    def _catch_up(self, conn: Connection) -> Follower:
        follower = self._follower
        assert follower is not None, "who stands by has loaded"
        try:
            follower.catch_up()
        except Mismatch as mismatch:
            log.error("%s: ALERT: standby and ledger disagree, loading anew: %s", self.slug, mismatch)
            return self._load(conn)
        return follower

    def _load(self, conn: Connection) -> Follower:
        layout = load_layout(conn, self.event_id)
        memory, cursor = load_memory(conn, self.event_id, layout)
        # keys after memory: a batch in between is in both, and a key too many is only a suspicion
        keys = load_keys(conn, self.event_id)
        self._follower = Follower(conn, self.event_id, memory, keys, cursor.arrival)
        return self._follower

    def _own(
        self, truth: PostgresTruth, arrivals: RedisArrivals, follower: Follower, cursor: Cursor, clock: int
    ) -> None:
        """Until it is given back: because this worker is to stop, or another one is to own the event."""
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
            while not (self._stop_asked.is_set() or self._direction.hands_over()):
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
            self._direction.handed_over(cursor.epoch)
            self._kept = Kept(loop.memory, follower.keys, loop.cursor.arrival)
            log.info("%s: handed over at batch %d", self.slug, loop.cursor.batch_no)
        finally:
            self._loop = None
            keeper.stop()
            keeper.join(KEEPER_SECONDS)
            loop.close()
            truth.close()


class Renewed(Protocol):
    """Who may own an event: an `EventWorker`, or an event that shares its worker with others."""

    event_id: int
    owned: Owned | None

    def attends(self) -> bool: ...

    def lapse(self, right: Owned) -> None: ...


def renew(conn: Connection, workers: Iterable[Renewed]) -> None:
    """Say of what these workers own and attend to that they do; who cannot say so any more hears it."""
    owned = {work.event_id: (work, right) for work in workers if (right := work.owned) and work.attends()}
    if owned:
        renewed = lease.renew(conn, {event_id: right for event_id, (_, right) in owned.items()})
        for event_id in owned.keys() - renewed:
            work, right = owned[event_id]
            work.lapse(right)
