"""Owns events that share: reads all their streams at once, and decides whatever has something to decide.

One thread, one connection to Postgres, which all their leases name. Each event in turn decides one batch at
most before the others have theirs; what is to be looked after once a second is looked after for all together.
An event that is fenced, or cannot be decided just now, is let go without harm to the others, and the latter
rests for so long that it takes a small part of the thread's time. With the connection all are let go.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final

import psycopg
from psycopg.pq import TransactionStatus

from allocator import lease
from allocator.busy import Busy
from allocator.cold import sql
from allocator.cold.event import ColdEvent
from allocator.cold.loop import BATCH_MAX, ColdLoop
from allocator.cold.truth import SharedTruth, prepare
from allocator.follow import Follower
from allocator.lease import Backend, Owned
from allocator.load import Connection
from allocator.loop import NOT_BEGUN
from allocator.ports import Cursor
from allocator.worker import STUCK_SECONDS
from store.database import connect
from store.errors import Fenced, OutcomeUnknown, StreamMissing, StreamUnavailable, Unavailable
from store.stream.many import ManyStreams
from store.stream.port import RawEntry
from store.stream.redis_stream import BLOCK_MS_MAX, RedisArrivals
from store.words import Arrival

log = logging.getLogger("onsale.allocator")

CHORES_SECONDS: Final = 1.0
NOTHING_SECONDS: Final = 0.02
"""Between two looks whether an event was taken, while none is owned."""
AWAY_SECONDS: Final = 0.3
REST: Final = 9
"""So many times as long as an event took before it failed it rests at least: a tenth of the time is its."""
REST_SECONDS: Final = 0.3


class Owning(threading.Thread):
    """`add` events that were taken. `let_go` gets each whose memory has to be loaded anew, `stand_by` each
    that was given back in order."""

    def __init__(
        self,
        database_url: str,
        redis_url: str,
        let_go: Callable[[ColdEvent], None],
        stand_by: Callable[[ColdEvent], None],
    ) -> None:
        super().__init__(name="allocator-cold-owner", daemon=True)
        self._database_url = database_url
        self._let_go = let_go
        self._stand_by = stand_by
        self._streams = ManyStreams(redis_url)
        self._taken: SimpleQueue[tuple[ColdEvent, Owned]] = SimpleQueue()
        self._owned: dict[str, tuple[ColdEvent, ColdLoop]] = {}
        self._due_at: dict[str, float] = {}
        self._after: dict[str, Arrival] = {}
        self._unattended: set[str] = set()
        """Whose stream has to be looked after before it is read."""
        self._stop_asked = threading.Event()
        self._turned_at = 0.0
        self._chores_at = 0.0
        self.backend: Backend | None = None
        """What leases are to name; None while nothing can be owned."""

    def add(self, event: ColdEvent, owned: Owned) -> None:
        """This one was taken, with memory at the end of the ledger."""
        self._taken.put((event, owned))
        self.wake()

    def wake(self) -> None:
        """There is something to do besides reading."""
        self._streams.wake()

    def nudge(self) -> bool:
        """Again, if what was taken waits still: a call that came just before the read woke nobody."""
        waits = not self._taken.empty()
        if waits:
            self.wake()
        return waits

    def owned(self) -> list[ColdEvent]:
        """Events that are owned now."""
        return [event for event, _ in list(self._owned.values())]

    def turns(self) -> bool:
        """Whether the thread is not stuck."""
        return time.monotonic() - self._turned_at < STUCK_SECONDS

    def stop(self) -> None:
        """Give all leases back, and end."""
        self._stop_asked.set()
        self.wake()

    def run(self) -> None:
        while not self._stop_asked.is_set():
            try:
                with connect(self._database_url, "onsale allocator cold owner") as conn:
                    backend = lease.backend(conn)
                    prepare(conn)
                    self.backend = backend
                    self._own(conn)
            except (Unavailable, psycopg.OperationalError) as error:
                log.warning("%d events that share: %s; loading anew", len(self._owned), error)
            except Exception:
                log.exception("ALERT: the owner of events that share stopped; loading anew")
            finally:
                self.backend = None
                self._drop_all()
            self._stop_asked.wait(AWAY_SECONDS)
        self._streams.close()

    def _drop_all(self) -> None:
        for event, _ in list(self._owned.values()):
            self._drop(event)
        for event, _ in self._arrived():
            self._let_go(event)

    def _arrived(self) -> Iterable[tuple[ColdEvent, Owned]]:
        try:
            while True:
                yield self._taken.get_nowait()
        except Empty:
            return

    def _own(self, conn: Connection) -> None:
        while True:
            self._turned_at = time.monotonic()
            for event, owned in self._arrived():
                try:
                    self._begin(conn, event, owned)
                except BaseException:
                    self._let_go(event)
                    raise
            self._release(conn)
            if self._stop_asked.is_set():
                return
            try:
                self._attend_to_all(conn)
            except StreamUnavailable as error:
                log.warning("events that share: %s; holds still expire", error)
                self._streams.lost()
                self._unattended.update(self._owned)
                for _, loop in self._owned.values():
                    loop.stream_was_away()
                with suppress(StreamUnavailable):
                    self._serve_due(conn)
                    self._look_for_facts(conn)
                self._stop_asked.wait(AWAY_SECONDS)

    def _attend_to_all(self, conn: Connection) -> None:
        """Look after streams, read all of them once, decide; once a second what else there is."""
        for slug in list(self._unattended):
            self._unattended.discard(slug)
            self._serve(conn, slug, _attend)
        for slug, entries in self._read().items():
            self._serve(conn, slug, partial(_decide, entries=entries, after=self._after[slug]))
        self._serve_due(conn)
        if time.monotonic() >= self._chores_at:
            self._chores_at = time.monotonic() + CHORES_SECONDS
            self._look_for_facts(conn)
            self._look_at_schedules(conn)
            cursors = {slug: loop.cursor.arrival for slug, (_, loop) in self._owned.items()}
            for slug in self._streams.astray(cursors):
                self._serve(conn, slug, ColdLoop.attend)

    def _serve_due(self, conn: Connection) -> None:
        now = time.monotonic()
        for slug in [slug for slug, due_at in self._due_at.items() if due_at <= now]:
            self._serve(conn, slug, partial(_decide, entries=(), after=self._after[slug]))

    def _read(self) -> dict[str, list[RawEntry]]:
        """What is above where each event is; waits for the first until one has something else to do."""
        if not self._owned:
            self._stop_asked.wait(NOTHING_SECONDS)
            return {}
        until = min(self._chores_at, *self._due_at.values())
        wait_ms = int((until - time.monotonic()) * 1000) + 1 if self._taken.empty() else 0
        block_ms = max(0, min(BLOCK_MS_MAX, wait_ms))
        return self._streams.read(self._after, count_max=BATCH_MAX, block_ms=block_ms)

    def _begin(self, conn: Connection, event: ColdEvent, owned: Owned) -> None:
        follower = event.follower
        assert follower is not None, "who took it has followed"
        truth = SharedTruth(conn, event.event_id, owned, follower.memory.layout)
        arrivals = RedisArrivals(self._streams.client, event.slug)
        at = Cursor(owned.epoch, follower.memory.batch_no, follower.arrival)
        event.loop = ColdLoop(
            event.slug,
            truth,
            arrivals,
            follower.memory,
            at,
            follower.keys,
            now=lease.clock(conn),
            busy=Busy(event.clock),
        )
        event.owned = owned
        event.direction.took(owned.epoch)
        self._owned[event.slug] = (event, event.loop)
        self._went_on(event.slug, event.loop)
        self._unattended.add(event.slug)
        log.info("%s: owner since epoch %d, batch %d", event.slug, *at[:2])

    def _release(self, conn: Connection) -> None:
        """Give back what is to be given back, in one transaction; let go what could not be renewed."""
        for event in self.owned():
            if event.lapsed:
                self._fenced(event)
        stops = self._stop_asked.is_set()
        ending = [event for event in self.owned() if stops or event.stopping or event.direction.hands_over()]
        if ending:
            lease.give_all_back(conn, {event.event_id: event.owned for event in ending if event.owned})
        for event in ending:
            loop, owned, follower = event.loop, event.owned, event.follower
            assert loop is not None, "it was owned"
            assert owned is not None, "it was owned"
            assert follower is not None, "who took it has followed"
            self._forget(event)
            event.direction.handed_over(owned.epoch)
            # the loop may have loaded memory anew; what it decided is in the ledger up to its cursor
            event.follower = Follower(conn, event.event_id, loop.memory, follower.keys, loop.cursor.arrival)
            event.loop = None
            log.info("%s: handed over at batch %d", event.slug, loop.cursor.batch_no)
            if stops or event.stopping:
                event.gone.set()
            else:
                self._stand_by(event)

    def _serve(self, conn: Connection, slug: str, work: Callable[[ColdLoop], None]) -> None:
        """Let one event do this. What goes wrong is its own affair, unless it is of the connection or of the
        stream's server."""
        if slug not in self._owned:  # let go in this very round
            return
        event, loop = self._owned[slug]
        began = self._turned_at = time.monotonic()
        try:
            work(loop)
        except StreamUnavailable:
            raise
        except Fenced:
            self._fenced(event)
        except (StreamMissing, OutcomeUnknown) as error:
            log.warning("%s: %s; looking after its stream", slug, error)
            self._unattended.add(slug)
        except (Unavailable, psycopg.OperationalError) as error:
            log.warning("%s: %s; trying again", slug, error)
            self._rest(conn, event, began)
        except Exception:
            log.exception("%s: ALERT: the allocator stopped; loading anew", slug)
            self._rest(conn, event, began)
        else:
            self._went_on(slug, loop)

    def _went_on(self, slug: str, loop: ColdLoop) -> None:
        self._due_at[slug], self._after[slug] = loop.due_at(), loop.after

    def _look_for_facts(self, conn: Connection) -> None:
        by_id = {event.event_id: slug for slug, (event, _) in self._owned.items()}
        # with none owned too: so that a connection that is lost is noticed before an event is taken for it
        for (event_id,) in conn.execute(sql.WITH_FACTS, (list(by_id),)).fetchall():
            self._serve(conn, by_id[event_id], ColdLoop.mind)

    def _look_at_schedules(self, conn: Connection) -> None:
        waiting = {
            event.event_id: (slug, loop)
            for slug, (event, loop) in self._owned.items()
            if loop.memory.policy.state in NOT_BEGUN
        }
        for event_id, left_us in conn.execute(sql.OPEN_IN, (list(waiting),)).fetchall() if waiting else ():
            slug, loop = waiting[event_id]
            loop.opens_in(left_us)
            self._went_on(slug, loop)

    def _fenced(self, event: ColdEvent) -> None:
        log.warning("%s: another worker owns the event now, or nobody attended; standing by", event.slug)
        self._drop(event)

    def _rest(self, conn: Connection, event: ColdEvent, began: float) -> None:
        """It cannot be decided just now: somebody else may try, and this one later."""
        if conn.closed or conn.info.transaction_status is not TransactionStatus.IDLE:
            raise Unavailable(f"the connection of events that share is lost, with {event.slug}")
        now = time.monotonic()
        event.not_before = now + max(REST_SECONDS, REST * (now - began))
        if event.owned:
            lease.give_back(conn, event.event_id, event.owned)
        self._drop(event)

    def _drop(self, event: ColdEvent) -> None:
        self._forget(event)
        self._let_go(event)

    def _forget(self, event: ColdEvent) -> None:
        del self._owned[event.slug], self._due_at[event.slug], self._after[event.slug]
        self._unattended.discard(event.slug)
        event.owned = None


def _attend(loop: ColdLoop) -> None:
    loop.attend()
    loop.announce_reload()


def _decide(loop: ColdLoop, *, entries: Sequence[RawEntry], after: Arrival) -> None:
    loop.serve(entries, after)
