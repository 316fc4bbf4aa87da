"""Keeps the waiting room of an event: draws, admits, ends places, and pokes the gateways.

A thread of the event's owner, on connections of its own, so that no batch waits for it. It remembers nothing
that counts: each step reads the room, decides (`allocator.admission`) and writes from the version it read. So
whoever is killed between two statements changed nothing or all of it, and of two who keep the same room at
once (an owner that does not know yet that it is none any more) one writes and the other reads again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import psycopg
import redis

from allocator.admission import STEP_MAX, Called, Decision, Seen, decide, spent
from allocator.pressure import failed_share, lag_seconds
from store import logs
from store.database import connect
from store.errors import Conflicted, ShortWrite, Unavailable
from store.lookups import PLAN_BY_KEY
from store.room import admitting
from store.room.admitting import Change, Standing
from store.room.draw import draw
from store.room.news import encode, room_channel
from store.room.words import Admission, Lane, PlaceState
from store.stream.redis_stream import RedisArrivals
from store.stream.redis_stream import connect as connect_stream
from store.words import EventState

log = logging.getLogger("onsale.allocator")

STEP_SECONDS: Final = 0.5
LOOK_SECONDS: Final = 2.0
"""How often to look whether an event that has not begun got a waiting room, where it has none."""
REST: Final = 9
"""So many times as long as a step took it rests at least: of Postgres' time a room takes a tenth at most."""
REST_SECONDS_MAX: Final = 5.0
AWAY_SECONDS: Final = 0.5
TRIES_MAX: Final = 3
PAYMENTS_SECONDS: Final = 5.0
RATE_SECONDS: Final = 5.0
"""A rate that alone changed is written no more often."""
NOT_BEGUN: Final = (EventState.DRAFT, EventState.LOBBY)

READ_STATE: Final = "SELECT state FROM event WHERE id = %s"

Connection = psycopg.Connection[Any]


BallotStep = Callable[[Connection], float | None]
"""Does what can be done now for an event's ballot: the seconds after which to call it again, None when none
is owed. It may raise what Postgres raises."""
Ballot = Callable[[int, RedisArrivals], BallotStep]
"""Makes the steps of an event's ballot."""


class Keeper(threading.Thread):
    """Keeps the room of the event `slug` until `stop`; ends by itself where there will never be one."""

    def __init__(
        self, database_url: str, redis_url: str, event_id: int, slug: str, ballot: Ballot | None = None
    ) -> None:
        super().__init__(name=f"keeper-{slug}", daemon=True)
        self._database_url = database_url
        self._redis_url = redis_url
        self._event_id = event_id
        self._slug = slug
        self._ballot = ballot
        self._stop_asked = threading.Event()
        self._conn: Connection | None = None

    def stop(self) -> None:
        """End soon: a statement that runs is cancelled, and what it was part of has not been."""
        self._stop_asked.set()
        conn = self._conn
        if conn is not None:
            try:
                conn.cancel_safe(timeout=1.0)
            except psycopg.Error as error:
                log.debug("%s: %s", self._slug, error)

    def run(self) -> None:
        logs.about(self._slug)
        while not self._stop_asked.is_set():
            try:
                with connect(self._database_url, f"onsale keeper {self._slug}") as conn:
                    self._conn = conn
                    wait = self._keep(conn)
            except (Unavailable, psycopg.OperationalError) as error:
                if not self._stop_asked.is_set():
                    log.warning("%s: the waiting room: %s; trying again", self._slug, error)
                wait = AWAY_SECONDS
            except Exception:
                log.exception("%s: ALERT: the waiting room's keeper failed; trying again", self._slug)
                wait = LOOK_SECONDS
            finally:
                self._conn = None
            if wait is None:
                return
            self._stop_asked.wait(wait)

    def _keep(self, conn: Connection) -> float | None:
        """Steps until `stop`. Without a room: seconds until it is worth looking again, None for never."""
        conn.autocommit = True
        conn.execute(PLAN_BY_KEY)
        if admitting.read(conn, self._event_id) is None:
            begun = state_of(conn, self._event_id) not in NOT_BEGUN
            return None if begun else LOOK_SECONDS
        client = connect_stream(self._redis_url)
        try:
            ballot = self._ballot and self._ballot(self._event_id, RedisArrivals(client, self._slug))
            steps = Steps(conn, client, self._event_id, self._slug, ballot)
            while not self._stop_asked.wait(steps.step()):
                pass
        finally:
            client.close()
        return 0.0


class Steps:
    """The steps of one keeper: `step`, again and again. Not thread-safe."""

    def __init__(
        self,
        conn: Connection,
        client: redis.Redis,
        event_id: int,
        slug: str,
        ballot: BallotStep | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`conn` is in autocommit mode."""
        self._conn = conn
        self._client = client
        self._event_id = event_id
        self._slug = slug
        self._ballot = ballot
        self._monotonic = monotonic
        self._called = Called()
        self._failed: tuple[float, float | None] = (-PAYMENTS_SECONDS, None)
        self._rate_at = -RATE_SECONDS
        self._took_ms: float | None = None
        """The last step that could admit; told with the next decision."""

    def step(self) -> float:
        """Do what the room needs now; the seconds after which to do so again."""
        began = self._monotonic()
        standing = self._read()
        if not standing.lobby_ended:
            return STEP_SECONDS
        if not standing.drawn:
            return 0.0 if self._draw() else STEP_SECONDS
        if standing.ballot and not standing.ballot_ended:
            return self._decide_ballot()
        if standing.state is EventState.CLOSED:
            return STEP_SECONDS
        more = self._admit(standing)
        took = self._monotonic() - began
        self._took_ms = took * 1_000
        return max(0.0 if more else STEP_SECONDS - took, min(REST_SECONDS_MAX, REST * took))

    def _read(self) -> Standing:
        standing = admitting.read(self._conn, self._event_id)
        assert standing is not None, "a room is never taken away"
        return standing

    def _draw(self) -> bool:
        began = self._monotonic()
        try:
            drawn = draw(self._conn, self._event_id)
        except Conflicted as error:
            log.error("%s: %s", self._slug, error)
            return False
        if drawn:
            log.info("%s: drawn in %.1f s", self._slug, self._monotonic() - began)
            self._poke(self._read().version)
        return drawn

    def _decide_ballot(self) -> float:
        wait = None if self._ballot is None else self._ballot(self._conn)
        if wait is not None:
            return wait
        standing = self._read()
        if standing.ballot_ended:
            self._poke(standing.version)
        return STEP_SECONDS

    def _admit(self, standing: Standing) -> bool:
        """One decision, made true; True where more is known to wait for one. Where others were quicker than
        all tries, it is left to the next step."""
        for _ in range(TRIES_MAX):
            try:
                return self._decide(standing)
            except ShortWrite as short:
                log.info("%s: the waiting room is read again: %s", self._slug, short)
                standing = self._read()
        return False

    def _decide(self, was: Standing) -> bool:
        conn, event_id = self._conn, self._event_id
        orders = admitting.orders(conn, event_id, was.told)
        ended = admitting.due(conn, event_id, was.run_by)
        back = admitting.returners(conn, event_id, STEP_MAX)
        left = admitting.giving_back(conn, event_id)
        no_shows = len(left) + sum(one.unbegun and one.state is PlaceState.EXPIRED for one in ended)
        decision = decide(self._seen(was, len(ended), no_shows, len(back)))
        lanes: list[UUID] = []
        reached: list[int] = []
        for lane, most in ((Lane.ORDINARY, decision.ordinary), (Lane.PRIORITY, decision.priority)):
            places, through = admitting.next_of(conn, event_id, was, lane, most)
            lanes += places
            reached.append(through)
        called = decision.returners + len(lanes)
        serving, serving_priority = reached
        change = Change(
            ended=ended,
            left=left,
            returners=back[: decision.returners],
            called=lanes,
            serving=serving,
            serving_priority=serving_priority,
            credit=spent(decision, was.pace, called),
            factor=decision.factor,
            rate=self._rate(was, serving),
            reason=decision.reason,
            orders=orders,
            step_ms=self._took_ms,
        )
        if not self._matters(was, change, decision):
            return False
        self._poke(admitting.write(conn, event_id, was, change))
        more = len(orders.buyers) > 0 or admitting.ENDS_MAX in (len(ended), len(left))
        return more or orders.told - was.told >= admitting.ORDERS_MAX

    def _seen(self, was: Standing, ending: int, no_shows: int, returners: int) -> Seen:
        inside = 0
        if was.shopping_max is not None:
            most = was.shopping_max + ending
            inside = admitting.inside(self._conn, self._event_id, most) - ending
        return Seen(
            paused=was.state is not EventState.OPEN,
            admission=was.admission,
            pace=was.pace,
            shopping_max=was.shopping_max,
            now=was.now,
            decided_at=was.now if was.decided_at is None else was.decided_at,
            credit=was.credit,
            factor=was.factor,
            reason=was.reason,
            admitted=was.admitted,
            inside=inside,
            no_shows=no_shows,
            returners=returners,
            priority=was.next_priority - 1 - was.serving_priority,
            ordinary=was.next_position - 1 - was.serving,
            lag_seconds=lag_seconds(self._client, self._slug, was.arrival),
            failed_share=self._failed_share(),
        )

    def _failed_share(self) -> float | None:
        looked_at, share = self._failed
        if self._monotonic() - looked_at >= PAYMENTS_SECONDS:
            share = failed_share(self._conn, self._event_id)
            self._failed = (self._monotonic(), share)
        return share

    def _rate(self, was: Standing, serving: int) -> float | None:
        """What is measured by now, or what was last; nothing is measured while nobody should be called."""
        if was.state is not EventState.OPEN or was.admission is not Admission.RUNNING:
            self._called.interrupted()
            return was.rate
        if was.serving == was.next_position - 1:
            self._called.interrupted()  # nobody stands in line
            return was.rate
        measured = self._called.rate(was.now, serving)
        return was.rate if measured is None else measured

    def _matters(self, was: Standing, change: Change, decision: Decision) -> bool:
        """Whether anything is to be written. Credit alone is not: it is reckoned from when it last was."""
        positions = (change.serving, change.serving_priority) != (was.serving, was.serving_priority)
        gone = change.ended or change.left
        people = gone or change.returners or change.called or change.orders.told != was.told
        pace = (decision.reason, decision.factor) != (was.reason, was.factor)
        rate = _differs(was.rate, change.rate) and self._monotonic() - self._rate_at >= RATE_SECONDS
        if rate:
            self._rate_at = self._monotonic()
        return bool(positions or people or pace or rate)

    def _poke(self, version: int) -> None:
        """Gateways look each second anyway."""
        try:
            self._client.publish(room_channel(self._slug), encode(version))
        except (redis.RedisError, OSError) as error:
            log.debug("%s: gateways were not poked: %s", self._slug, error)


def state_of(conn: Connection, event_id: int) -> EventState:
    """The event's state."""
    row = conn.execute(READ_STATE, (event_id,)).fetchone()
    assert row is not None, "an owner's event is there"
    return EventState(row[0])


def _differs(was: float | None, measured: float | None) -> bool:
    """By a twentieth or more, so that what is shown does not flicker."""
    if was is None or measured is None:
        return was is not measured
    return abs(measured - was) > 0.05 * max(was, measured, 1.0)
