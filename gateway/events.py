"""An event this gateway serves: its plan, policy and seat map, and what runs for it.

Its seat map is a snapshot plus the deltas after it; a gap in batch numbers, and every new subscription,
means a new snapshot. `gateway.loading` says which events are served.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any

import msgspec
import redis.asyncio

from gateway.buyers.intake import Intake
from gateway.buyers.reask import Reask
from gateway.buyers.recall import DATABASE_AWAY, Recall
from gateway.compared import Compared
from gateway.ending import end
from gateway.figures import ShownFigures
from gateway.follow import Follower
from gateway.gate import Refusal, Seats, Taken
from gateway.holders import MOVED, Holders
from gateway.metrics import Metrics
from gateway.room.guard import Guard
from gateway.room.tokens import PlaceTokens
from gateway.room.waiting_room import WaitingRoom
from gateway.settings import Settings
from gateway.shown_event import called_off, public
from gateway.waiters import WAITLISTED, Waiters
from gateway.watch import Watch
from notifier.hub import Client, broadcast
from store import logs, lookups, plan
from store.errors import Conflicted, NotFound, Unavailable
from store.lookups import EventRow, Pool, SeatMap
from store.prices import PlanMove
from store.room import watching
from store.room.news import RoomNews
from store.room.watching import RoomNow
from store.room.words import has_begun
from store.stream import RedisIntake
from store.wire import STREAM_LOST, Delta, HoldNews, Published
from store.words import Arrival, EventState, Want

log = logging.getLogger("onsale.gateway")

ROW_SECONDS = 2.0
"""How often an event's row is read again: its name, its state, the switch of the fast gate."""
SUBSCRIBE_SECONDS_MAX = 2.0
LOAD_AGAIN_SECONDS = 1.0
"""Pause before the seat map is read again while the database is away."""
HELD_BACK_MAX = 10_000


PLAN_CHANGED = b'{"type":"plan"}'
"""Told to every socket: seats are of other categories; plan and prices are to be read again."""


class EventRuntime:
    """One event as this gateway knows it."""

    def __init__(
        self,
        row: EventRow,
        plan_text: bytes,
        plan_sha256: str,
        plan_moves: list[PlanMove],
        seat_map: SeatMap,
        room: RoomNow | None,
        parts: Parts,
    ) -> None:
        self.row = row
        self._take_plan(plan_text, plan_sha256, plan_moves)
        self.seats = Seats(self.plan)
        self.numbers, self.area_numbers = self.seats.numbers, self.seats.area_numbers
        self.watch = Watch(self.seats)
        self.clients: set[Client] = set()
        self.holders = Holders(parts.pool, parts.redis, row.id, row.slug, parts.gateway_id)
        self.waiters = Waiters(parts.pool, row.id)
        self.figures = ShownFigures(parts.pool, row.id)
        self.following = False
        self.gated = 0
        """Requests the fast gate refused."""
        self.used_at = time.monotonic()
        """When somebody asked for the event, or was last seen to use it (see `in_use`)."""
        self._parts = parts
        stream = RedisIntake(parts.redis, row.slug, replicas=parts.settings.stream_replicas)
        bounds = parts.settings.bounds
        self.intake = Intake(stream, parts.gateway_id, bounds, self._cursor, parts.metrics.appended)
        self.recall = Recall(parts.pool, row.id)
        self.reask = Reask(self.intake, self.recall, parts.pool, row.id, bounds)
        self._follower = Follower(parts.redis, row.slug, parts.gateway_id, self)
        self._ready = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._reloading: asyncio.Task[None] | None = None
        self.compared = Compared(
            row.slug, self.seats, self.watch, lambda: self._reloading is not None, self._reload
        )
        self._held_back: list[Delta] = []
        self._seats_json = (-1, b"")
        self._version = 0
        self._take(seat_map)
        self.room: WaitingRoom | None = None if room is None else self._make_room(room)
        self._set_state(row.state)

    # --- life ---

    async def start(self) -> None:
        """Begin to append, follow and ask again; returns once decisions can be heard, or soon after."""
        logs.about(self.row.slug)
        running = (self.intake, self.reask, self._follower, self.holders, self.waiters)
        for work in (*(one.run() for one in running), self._keep_row()):
            self._begin(work)
        self._begin(self.figures.tell(self._told_figures))
        if self.room is not None:
            self._begin(self.room.run())
        try:
            await asyncio.wait_for(self._ready.wait(), SUBSCRIBE_SECONDS_MAX)
        except TimeoutError:
            log.warning("no fan-out for %s yet; decisions will be asked for", self.row.slug)

    async def stop(self) -> None:
        self.watch.stop()
        self.compared.stop()
        if self.room is not None:
            await self.room.stop()
        await end(self._tasks)

    def _make_room(self, room: RoomNow) -> WaitingRoom:
        parts, settings = self._parts, self._parts.settings
        tokens, bound = PlaceTokens(settings.token_secret), settings.bounds.joins_waiting_max
        return WaitingRoom(
            room,
            self.row.slug,
            self.seats,
            parts.pool,
            parts.redis,
            parts.gateway_id,
            tokens,
            parts.guard,
            bound,
        )

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _told_figures(self) -> set[Client]:
        return self.clients if self.row.figures_on_page else set()

    @property
    def in_use(self) -> bool:
        """Whether somebody is here, or waits for an answer that only this can give."""
        in_room = self.room is not None and self.room.in_use
        asked = self.intake.undecided or self.recall.asked or self.waiters.asked
        return bool(self.clients or asked or in_room)

    # --- what buyers ask ---

    def must_sell(self) -> None:
        """Raises `Conflicted` (event_not_open, event_closed) unless requests are accepted now."""
        state = self.row.state
        if state is EventState.OPEN or state is EventState.PAUSED:
            return
        if state is EventState.CLOSED:
            raise Conflicted("event_closed", "The sale is over.")
        if self.room is not None and has_begun(self.room.now.room, self.room.now.state):
            return  # buyers are told so already: the room is read apart, and may be newer
        raise Conflicted("event_not_open", "The sale has not begun.")

    def gate(self, want: Want) -> Refusal | None:
        """Why what is wanted cannot be had, if this gateway knows; None when it can be or cannot be known."""
        if not self.row.fast_gate or not self.following or self._reloading is not None:
            return None
        if want.seats:
            taken = self.seats.gone(want.seats, self.now_us())
            return Taken(taken) if taken else None
        if self.row.state is EventState.PAUSED:  # no hold runs out now, and all get the lost time back
            return None
        return self.seats.none_left(want, self.now_us())

    def now_us(self) -> int:
        """Postgres' clock as far as it is known here: at most as late as it really is."""
        return self._clock_us + int((time.monotonic() - self._clock_at) * 1_000_000)

    def welcome(self, buyer: str) -> bytes:
        return msgspec.json.encode({"type": "welcome", "event": public(self.row), "buyer": buyer})

    def seats_json(self) -> bytes:
        """The seat map for everybody, encoded once per change."""
        if self._seats_json[0] != self._version:
            answer = {
                "batch_no": self.watch.batch_no,
                "states": self.seats.letters.decode(),
                "areas": self.seats.areas_free,
                "held_until": self.seats.first_end_ms(),
            }
            self._seats_json = (self._version, msgspec.json.encode(answer))
        return self._seats_json[1]

    # --- what the fan-out says (see `follow.Listener`) ---

    def subscribed(self, first: bool) -> None:
        self.following = True
        self._reload()
        if not first:
            self.intake.everything_again()

    def unsubscribed(self) -> None:
        self.following = False

    def decided(self, decisions: Published) -> None:
        self.intake.deliver(decisions)
        for buyer, _, frame in decisions:
            if MOVED in frame:
                self.holders.decided(buyer, frame)
            if WAITLISTED in frame:
                self.waiters.poke(buyer)

    def hold_changed(self, news: HoldNews) -> None:
        self.holders.heard(news)
        for buyer, _ in news.each():
            self.waiters.poke(buyer)

    def room_changed(self, news: RoomNews) -> None:
        if self.room is not None:
            self.room.heard(news)

    def changed(self, delta: Delta) -> None:
        if delta.state == STREAM_LOST:
            self.intake.everything_again()
            return
        if delta.map_is is not None:
            self.compared.told(*delta.map_is)
            return
        if self._reloading is not None:
            self._held_back.append(delta)
            if len(self._held_back) > HELD_BACK_MAX:
                del self._held_back[0]  # leaves a gap, so the map is loaded once more
            return
        known = self.watch.batch_no
        if 0 < delta.batch_no <= known:
            return
        if delta.batch_no != known + 1:  # a gap, or the allocator says that something was missed
            self._reload()
            return
        self._apply(delta)

    def _apply(self, delta: Delta) -> None:
        self._clock_us, self._clock_at = delta.batch_time, time.monotonic()
        self.seats.apply(delta)
        self._version += 1
        seats = [no for no, _ in delta.held] + delta.freed + delta.sold + delta.blocked
        self.watch.changed(delta.batch_no, seats, [no for no, _ in delta.areas])
        if delta.plan:
            self._begin(self._read_row())
        if delta.state and delta.state != self.row.state:
            self._begin(self._read_row())
            self._reload()  # a resume moves the end of every running hold

    # --- what the truth says ---

    def _reload(self) -> None:
        if self._reloading is None:
            self._held_back.clear()
            self._reloading = self._begin(self._load())

    async def _load(self) -> None:
        try:
            async with self._parts.pool.connection() as connection:
                seat_map = await lookups.seat_map(connection, self.row.id)
        except DATABASE_AWAY as error:
            log.warning("the seat map of %s stays as it is, the database is away: %r", self.row.slug, error)
            await asyncio.sleep(LOAD_AGAIN_SECONDS)
            self._reloading = self._begin(self._load())
            return
        self._reloading = None
        self._take(seat_map)
        self._ready.set()
        held_back, self._held_back = self._held_back, []
        for delta in held_back:
            self.changed(delta)

    def _take(self, seat_map: SeatMap) -> None:
        self._clock_us, self._clock_at = int(seat_map.now), time.monotonic()
        self.holders.look_again()  # a new owner may have given holds the time of an outage back
        seats, areas = self.seats.load(seat_map)
        self._version += 1
        self.watch.changed(seat_map.batch_no, seats, areas)

    async def _keep_row(self) -> None:
        while True:
            await asyncio.sleep(ROW_SECONDS)
            await self._read_row()

    async def _read_row(self) -> None:
        try:
            async with self._parts.pool.connection() as connection:
                row = await lookups.event_by_slug(connection, self.row.slug)
                moved = row.plan_sha256 != self.row.plan_sha256
                room = await watching.now(connection, row.id) if self._may_get_a_room else None
                if moved:
                    text = await lookups.plan_text(connection, row.id)
                    self._take_plan(*text, await lookups.plan_moves(connection, row.id))
                    self.seats.take_categories(self.plan)
        except (NotFound, *DATABASE_AWAY):
            return
        if moved:
            await broadcast(self.clients, PLAN_CHANGED)
        before, self.row = self.row, row
        if room is not None and self.room is None:
            self._open_room(room)
        if row.state is not before.state:
            self._set_state(row.state)
            if self.room is not None:
                self.room.event_is(row.state)
        if (row.state, row.called_off) != (before.state, before.called_off):
            news = {"type": "event", "state": row.state, "called_off": called_off(row)}
            await broadcast(self.clients, msgspec.json.encode(news))

    @property
    def _may_get_a_room(self) -> bool:
        """A waiting room is made for a draft, and may have been since that was read."""
        return self.room is None and self.row.state is EventState.DRAFT

    def _open_room(self, room: RoomNow) -> None:
        self.room = self._make_room(room)
        self._begin(self.room.run())
        for buyer, client in self.holders.here():
            self.room.enter(buyer, client)

    def _take_plan(self, text: bytes, sha256: str, moves: list[PlanMove]) -> None:
        """What may change of it are the categories of its seats and areas."""
        self.plan = plan.decode(text)
        self.plan_moves = moves
        self.plan_text = text
        self.plan_etag = f'"{sha256}"'

    def _set_state(self, state: EventState) -> None:
        if state is EventState.PAUSED:
            self.reask.paused_since = time.monotonic()
        elif self.reask.paused_since is not None:
            self.reask.paused_since, self.reask.resumed_at = None, time.monotonic()
            self.holders.look_again()

    async def _cursor(self) -> Arrival:
        try:
            async with self._parts.pool.connection() as connection:
                return (await lookups.cursor_of(connection, self.row.id)).arrival
        except DATABASE_AWAY as error:
            raise Unavailable("The database is away.") from error


class Parts(msgspec.Struct):
    """What every event of a gateway shares."""

    settings: Settings
    gateway_id: str
    pool: Pool
    redis: redis.asyncio.Redis
    metrics: Metrics
    guard: Guard
