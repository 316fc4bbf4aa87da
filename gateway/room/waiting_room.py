"""One event's waiting room at this gateway: what is true of it, who is here, and who may ask for seats.

Postgres is looked at when there is news, and each second while somebody is here: so lost news costs a second.
Nothing on a request's way waits: `lets_in` is one look-up, and who is not known to be inside is looked up
with all others of the moment (`let_in`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Final

import msgspec
import redis.asyncio
from redis.exceptions import RedisError

from gateway.buyers.recall import DATABASE_AWAY
from gateway.ending import end
from gateway.gate import Seats
from gateway.problems import Busy
from gateway.room import document
from gateway.room.beginning import Beginnings
from gateway.room.document import Encoded, Status
from gateway.room.guard import Guard
from gateway.room.joining import Joins
from gateway.room.joining import Then as JoinThen
from gateway.room.known import Known, Listens
from gateway.room.places import FRESH_SECONDS, Places
from gateway.room.refusing import not_admitted
from gateway.room.status import ShownStatus
from gateway.room.tokens import PlaceToken, PlaceTokens
from store.errors import NotFound, OnsaleError
from store.lookups import Pool
from store.room import watching
from store.room.codes import Code
from store.room.news import RoomNews, encode_room_news, room_channel
from store.room.watching import RoomNow
from store.room.words import BallotState, Place, ballot_state
from store.words import EventState

log = logging.getLogger("onsale.gateway")

LOOK_SECONDS: Final = 1.0
"""How often the row is read where there is no news."""
LOOKS_SECONDS_MIN: Final = 0.1
"""Shortest time between two looks, however much news there is."""
STALE_SECONDS: Final = 2.0
"""A status document that was looked at longer ago is looked at again before it is shown."""
SHOWN_SECONDS: Final = 10.0
"""So long after somebody asked for it over HTTP the document is kept fresh."""
FRESH_SECONDS_MAX: Final = 1.0
"""Longest wait for that; then it is shown as it was, and says when that was."""
STANDS_US_MIN: Final = 500_000
"""Less than this between two readings of a clock is no pause."""
CHANGED_MAX: Final = 1_000
"""Buyers in one piece of news."""


class WaitingRoom:
    """Of one event; `run` looks."""

    def __init__(
        self,
        now: RoomNow,
        slug: str,
        seats: Seats,
        pool: Pool,
        client: redis.asyncio.Redis,
        gateway_id: str,
        tokens: PlaceTokens,
        guard: Guard,
        joins_waiting_max: int,
    ) -> None:
        self.event_id = event_id = now.room.event_id
        self._slug = slug
        self._seats = seats
        self._pool = pool
        self._redis = client
        self._gateway_id = gateway_id
        self._tokens = tokens
        self._guard = guard
        self.status = ShownStatus()
        self.places = Places(pool, event_id, self.place_frame, self.now_us)
        self.joins = Joins(pool, event_id, joins_waiting_max, self._joined)
        self.beginnings = Beginnings(pool, event_id, self.places.take)
        self._wake = asyncio.Event()
        self._looked = asyncio.Event()
        self._shown_at = float("-inf")
        self._changed: dict[str, None] = {}
        """Buyers other gateways are to hear of."""
        self._telling: asyncio.Task[None] | None = None
        self._joining_later: set[asyncio.Task[None]] = set()
        """Who joins and waits for somebody elsewhere."""
        self._take(now)

    # --- life ---

    @property
    def in_use(self) -> bool:
        """Whether somebody is here, or waits for an answer that only this can give."""
        asked = self.joins.waiting or self.places.asked or self._joining_later
        return bool(self.places.followed or asked or self.beginnings.waiting)

    async def run(self) -> None:
        """Look when there is a reason to, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._patience())
            self._wake.clear()
            try:
                await self.look()
            except DATABASE_AWAY as error:
                log.warning("the waiting room of %s stays as it was known: %r", self._slug, error)
            await asyncio.sleep(LOOKS_SECONDS_MIN)

    def _patience(self) -> float | None:
        """How long to wait for news; where nobody is here, as long as it takes."""
        if self.places.followed or time.monotonic() - self._shown_at < SHOWN_SECONDS:
            return min(LOOK_SECONDS, self.status.step_due_in())
        return None

    async def stop(self) -> None:
        await end(self._joining_later)
        await self.joins.stop()
        self.places.stop()
        await self.beginnings.stop()
        if self._telling is not None:
            await end([self._telling])

    async def look(self) -> None:
        """Read the row, tell sockets what is new in it, then the places that changed with it."""
        async with self._pool.connection() as connection:
            now = await watching.now(connection, self.event_id)
        assert now is not None, "a waiting room stays"
        self._take(now)
        looked, self._looked = self._looked, asyncio.Event()
        looked.set()
        await self.status.tell(self.places.connected)
        await self.places.catch_up()

    def _take(self, now: RoomNow) -> None:
        self.now, self._read_at = now, time.monotonic()
        self._deciding = self._decides(now.state)
        self.places.follow(now)
        left = sum(self._seats.stock.free) + sum(self._seats.areas_free)
        self.status.take(
            document.status(
                self._slug,
                now,
                seats_left=left,
                sold_out=not left and not self._seats.stock.holds_anything,
                proof=self._guard.proof_required(self.event_id, now.room.terms),
            )
        )

    def _decides(self, state: EventState) -> bool:
        return ballot_state(self.now.room, state) is BallotState.DECIDING

    def event_is(self, state: EventState) -> None:
        """The event's row says so, and may be newer than what was read of the room: where the sale has begun
        and a ballot is not known to be over, nobody is let in before a look."""
        self._deciding = self._deciding or self._decides(state)
        self._wake.set()

    def now_us(self) -> int:
        """The time that places run out by, as far as it is known here: Postgres' clock; while that does not
        count, the moment since which it does not."""
        now, run_by = self.now.now, self.now.run_by
        if now - run_by > STANDS_US_MIN:
            return run_by
        return now + int((time.monotonic() - self._read_at) * 1_000_000)

    def heard(self, news: RoomNews) -> None:
        """Somebody says that something changed."""
        if news.gateway == self._gateway_id:
            return
        self.places.heard(news.buyers)
        self._wake.set()

    def poke(self) -> None:
        """Look soon."""
        self._wake.set()

    # --- who is here ---

    def enter(self, buyer: str, client: Listens) -> None:
        """A socket or stream: told how things stand now, and the buyer's place as soon as it is read."""
        if not self.places.followed:  # nobody looks where nobody is
            self._wake.set()
        self.status.greet(self.places.enter(buyer, client), client.write)

    def leave(self, buyer: str, client: Listens) -> None:
        self.places.leave(buyer, client)

    # --- what is shown ---

    def shown(self) -> Encoded | None:
        """The status document if it is fresh; None: ask `freshened`."""
        self._shown_at = now = time.monotonic()
        return self.status.encoded if now - self._read_at < STALE_SECONDS else None

    async def freshened(self) -> Encoded:
        """The document after a look, or as it was where Postgres does not answer."""
        looked = self._looked
        self._wake.set()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(looked.wait(), FRESH_SECONDS_MAX)
        assert self.status.encoded is not None, "a room is read before anybody asks"
        return self.status.encoded

    @property
    def told(self) -> Status:
        """The status document as it is shown."""
        assert self.status.encoded is not None, "a room is read before anybody asks"
        return self.status.encoded.status

    async def look_up(self, buyer: str) -> Place:
        """The buyer's place as it is, or was a moment ago; raises `NotFound` (no_place) and `Unavailable`."""
        known = self.places.get(buyer)
        if known is None or time.monotonic() - known.read_at > FRESH_SECONDS:
            known = await self.places.find(buyer)
        if known.place is None:
            raise NotFound("no_place", "You have no place here. Join the waiting room.")
        return known.place

    def judge(self, token: str) -> PlaceToken:
        """Whose place a token says it is; raises `Unauthorized`."""
        return self._tokens.judge(self._slug, token)

    def place_body(self, place: Place) -> bytes:
        """A place as its buyer may see it."""
        return msgspec.json.encode(
            document.shown(place, self.now.room.terms, self._tokens.make(self._slug, place))
        )

    def place_frame(self, place: Place) -> bytes:
        return document.place_frame(self.place_body(place))

    # --- joining, and what a buyer does with a place ---

    def join(self, buyer: str, code: Code | None, then: JoinThen, email: str | None = None) -> None:
        """A place for this buyer, durable when `then` is called; raises `Busy` or `TooMany` at a bound."""
        self.joins.ask(buyer, code, then, email)

    def join_later(self, work: Coroutine[Any, Any, None]) -> None:
        """Somebody joins who has to wait: for the keys an invitation is read by, or for the human check."""
        task = asyncio.get_running_loop().create_task(work)
        self._joining_later.add(task)
        task.add_done_callback(self._joining_later.discard)

    def _joined(self, places: Sequence[Place], began: float) -> None:
        for place in places:
            self.places.take(place, began)
        self.changed(place.buyer for place in places)

    def changed(self, buyers: Iterable[str]) -> None:
        """Other gateways hear that these have another place, soon and best effort."""
        self._changed.update(dict.fromkeys(buyers))
        if self._changed and (self._telling is None or self._telling.done()):
            self._telling = asyncio.get_running_loop().create_task(self._tell_others())

    async def _tell_others(self) -> None:
        while self._changed:
            some = list(self._changed)[:CHANGED_MAX]
            for buyer in some:
                del self._changed[buyer]
            news = encode_room_news(RoomNews(buyers=tuple(some), gateway=self._gateway_id))
            try:
                await self._redis.publish(room_channel(self._slug), news)
            except (RedisError, OSError) as error:
                log.warning("other gateways were not told of %d places: %r", len(some), error)

    # --- who may ask for seats ---

    def lets_in(self, buyer: str) -> bool:
        """Whether this buyer is known to be inside now."""
        known = self.places.get(buyer)
        return known is not None and known.inside_until > self.now_us() and not self._deciding

    def let_in(self, buyer: str, then: Callable[[OnsaleError | None], None]) -> None:
        """`then` is called, now or soon, with None for who may ask for seats, else with what they are to do.

        Who was called and asks for the first time begins by that.
        """
        if self._deciding:
            if time.monotonic() - self._read_at > LOOK_SECONDS:  # nobody else is here, and news may be lost
                self._wake.set()
            story = "The ballot is being decided. Ask again in a moment: nothing is given out meanwhile."
            then(Busy("ballot_running", story, retry_after_seconds=2))
            return
        known = self.places.get(buyer)
        if known is not None and self._in_time(known):
            then(None)
        elif known is not None and time.monotonic() - known.read_at < FRESH_SECONDS:
            then(self._refusal(known))
        else:
            self.places.ask(buyer, lambda found, error: then(self._judged(found, error)))

    def _judged(self, known: Known, error: OnsaleError | None) -> OnsaleError | None:
        if error is not None:
            return error
        return None if self._in_time(known) else self._refusal(known)

    def _in_time(self, known: Known) -> bool:
        now, place = self.now_us(), known.place
        if known.inside_until > now:
            return True
        if known.called and place is not None and place.begin_by is not None and place.begin_by > now:
            known.inside_until = now + self.now.room.terms.shopping_seconds * 1_000_000
            self.beginnings.add(known.buyer)
            return True
        return False

    def _refusal(self, known: Known) -> OnsaleError:
        return not_admitted(known.place, self.told)
