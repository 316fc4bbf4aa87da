"""What this gateway knows of places: those of buyers who are connected, and of who asked lately.

A connected buyer's place is read when they come, and again when there is a reason: the line passed their
position, the draw was made, the ballot is over, they did something at another gateway, or they are inside,
where a place ends by itself. Who is not known to be inside is looked up in Postgres (`gateway.room.lookups`),
each at most once in `FRESH_SECONDS`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from uuid import UUID

from msgspec import structs

from gateway.room.known import Known, Listens
from gateway.room.lookups import LookUps, Then
from notifier.hub import SLICE
from store.errors import OnsaleError
from store.lookups import Pool
from store.room import watching
from store.room.watching import IDS_MAX, RoomNow
from store.room.words import Lane, Place, PlaceState
from store.words import EventState, Micros

log = logging.getLogger("onsale.gateway")

KEPT_MAX: Final = 50_000
"""Most buyers remembered who are not connected here; beyond it they are looked up again."""
FRESH_SECONDS: Final = 0.5
"""So long what was read of a place is believed where it keeps somebody out."""
INSIDE_SECONDS: Final = 2.0
"""How often the places of those inside are read again, while admission goes on."""


class Places:
    """One event's."""

    def __init__(
        self, pool: Pool, event_id: int, frame_of: Callable[[Place], bytes], clock: Callable[[], int]
    ) -> None:
        """`clock`: Postgres', in microseconds, as far as it is known here."""
        self._pool = pool
        self._frame_of = frame_of
        self._clock = clock
        self._known: dict[str, Known] = {}
        self._connected: dict[str, Known] = {}
        self._kept = 0
        """How many of the known are not connected."""
        self._at: dict[Lane, dict[int, Known]] = {lane: {} for lane in Lane}
        """Connected buyers who wait, by position."""
        self._inside: set[str] = set()
        """Known buyers who are admitted."""
        self._inside_read_at = 0.0
        self._again: dict[UUID, None] = {}
        """Places to be read again."""
        self._unread: dict[str, None] = {}
        """Connected buyers whose place is to be looked up: by buyer, for they may have a new one."""
        self._lookups = LookUps(
            pool, event_id, self._looked_up, lambda buyer: self._known.get(buyer) or Known(buyer)
        )
        self._serving = dict.fromkeys(Lane, 0)
        self._drawn = self._balloted = self._over = False
        self._all_changed_at = float("-inf")
        """When it was seen that all were drawn, or the ballot was over: what was read before that is old."""
        self._reads = 0

    # --- who is here ---

    @property
    def followed(self) -> bool:
        """Whether there is somebody whose place may become another. When the sale is over that matters to
        who is here alone: nobody ends the places of those who were inside then."""
        return bool(self._connected or (self._inside and not self._over))

    @property
    def connected(self) -> Iterable[Known]:
        return self._connected.values()

    @property
    def here(self) -> int:
        """How many are connected."""
        return len(self._connected)

    def enter(self, buyer: str, client: Listens) -> Known:
        """A socket or stream of this buyer; the place is told soon."""
        known = self._known.get(buyer)
        if known is None:
            known = self._known[buyer] = Known(buyer)
        elif not known.clients:
            self._kept -= 1
        known.clients.append(client)
        self._connected[buyer] = known
        if known.place is not None:
            self._stand(known, known.place)
        before = known.place
        self.ask(buyer, lambda found, error: self._found_for(client, before, found, error))
        return known

    def _found_for(
        self, client: Listens, before: Place | None, known: Known, error: OnsaleError | None
    ) -> None:
        if error is not None:
            self._look_again(known, error)
        elif known.place is not None and known.place == before and client in known.clients:
            client.write(self._frame_of(known.place))  # of another one all sockets were told

    def leave(self, buyer: str, client: Listens) -> None:
        """The socket is gone; what is known is kept for a while."""
        known = self._connected.get(buyer)
        if known is None or client not in known.clients:
            return
        known.clients.remove(client)
        if known.clients:
            return
        del self._connected[buyer]
        self._unread.pop(buyer, None)
        if known.place is not None:
            self._step_aside(known, known.place)
        self._kept += 1
        self._forget_some()

    def _forget_some(self) -> None:
        if self._kept > KEPT_MAX:
            self._known = dict(self._connected)
            self._inside &= self._connected.keys()
            self._kept = 0

    # --- what is known ---

    @property
    def queries(self) -> int:
        """How often places were read, many at a time."""
        return self._reads + self._lookups.queries

    def get(self, buyer: str) -> Known | None:
        """What is known of a buyer: the one look-up of whoever asks for seats."""
        return self._known.get(buyer)

    def take(self, place: Place, began: float) -> None:
        """Somebody's place by what was begun then; the buyer's sockets hear of it if it is another."""
        known = self._keep(place.buyer)
        if _may_be_older(place, began, known):
            self.ask(place.buyer, self._look_again)
        self._put(known, _where_it_stood(place, known.place), began)

    def _keep(self, buyer: str) -> Known:
        known = self._known.get(buyer)
        if known is None:
            known = self._known[buyer] = Known(buyer)
            self._kept += 1
            self._forget_some()
        return known

    def _put(self, known: Known, place: Place | None, began: float) -> None:
        before, known.read_at = known.place, time.monotonic()
        if place != before:
            self._now_is(known, before, place)
        if began < self._all_changed_at and known.clients and _waits(place):
            self._note([known])

    def _now_is(self, known: Known, before: Place | None, place: Place | None) -> None:
        if before is not None:
            self._inside.discard(known.buyer)
            self._step_aside(known, before)
        known.place, known.inside_until = place, 0
        if place is None:
            return
        if place.state is PlaceState.ADMITTED:
            known.inside_until = place.until or 0
        self._stand(known, place)
        if known.clients:
            frame = self._frame_of(place)
            for client in list(known.clients):
                client.write(frame)

    def _stand(self, known: Known, place: Place) -> None:
        if place.state is PlaceState.ADMITTED:
            self._inside.add(known.buyer)
        elif known.clients and place.state is PlaceState.WAITING and place.position is not None:
            self._at[place.lane][place.position] = known

    def _step_aside(self, known: Known, place: Place) -> None:
        if place.position is not None and self._at[place.lane].get(place.position) is known:
            del self._at[place.lane][place.position]

    # --- what changed ---

    def heard(self, buyers: Iterable[str]) -> None:
        """These did something at another gateway."""
        for buyer in buyers:
            if buyer in self._connected:
                self._unread[buyer] = None
            elif (known := self._known.get(buyer)) is not None:
                known.read_at = known.inside_until = 0

    def follow(self, now: RoomNow) -> None:
        """The room's row is this: notes whose place may be another by that."""
        room = now.room
        serving = {Lane.ORDINARY: room.serving, Lane.PRIORITY: room.serving_priority}
        for lane, last in serving.items():
            self._note(self._passed(lane, self._serving[lane], last))
        self._serving = serving
        self._over = now.state is EventState.CLOSED
        if room.drawn_at is not None and not self._drawn:
            self._drawn, self._all_changed_at = True, time.monotonic()
            self._note(known for known in self._connected.values() if _before_the_draw(known.place))
        if room.ballot_ended_at is not None and not self._balloted:
            self._balloted, self._all_changed_at = True, time.monotonic()
            # who holds something from it was let in, wherever they stand
            self._note(known for known in self._connected.values() if _waits(known.place))
        self._note_inside()

    def _passed(self, lane: Lane, first: int, last: int) -> Iterator[Known]:
        """Who waits at a position up to `last`: those just passed, and the few who were called before and
        stand there again."""
        at = self._at[lane]
        if last - first < len(at):
            for position in range(first + 1, last + 1):
                if position in at:
                    yield at[position]
            return
        for position, known in at.items():
            if position <= last:
                yield known

    def _note_inside(self) -> None:
        read = time.monotonic()
        if read - self._inside_read_at < INSIDE_SECONDS:
            return
        self._inside_read_at = read
        self._note(known for buyer in self._inside if (known := self._known.get(buyer)) is not None)
        for lane, last in self._serving.items():  # who came back waits at a position that was called
            at = self._at[lane]
            self._note(known for position, known in at.items() if position <= last)

    def _note(self, some: Iterable[Known]) -> None:
        for known in some:
            if known.place is not None:
                self._again[known.place.id] = None

    async def catch_up(self) -> None:
        """Read what was noted, in bounded steps; raises what psycopg raises, and then goes on next time."""
        unread, self._unread = self._unread, {}
        for buyer in unread:
            self.ask(buyer, self._look_again)
        while self._again:
            some, began = list(self._again)[:IDS_MAX], time.monotonic()
            async with self._pool.connection() as connection:
                found = await watching.by_id(connection, some)
            self._reads += 1
            for identity in some:
                self._again.pop(identity, None)
            for number, place in enumerate(found):
                known = self._known.get(place.buyer)
                same = known is not None and known.place is not None and known.place.id == place.id
                if known is None or not same:
                    continue
                if _may_be_older(place, began, known):
                    self._note([known])
                else:
                    self._put(known, place, began)
                if number % SLICE == SLICE - 1:
                    await asyncio.sleep(0)

    def _look_again(self, known: Known, error: OnsaleError | None) -> None:
        if error is not None and known.clients:
            self._unread[known.buyer] = None

    # --- look-ups (`gateway.room.lookups`) ---

    @property
    def asked(self) -> bool:
        return self._lookups.asked

    def ask(self, buyer: str, then: Then) -> None:
        """Look a buyer up with everybody else's."""
        self._lookups.ask(buyer, then)

    async def find(self, buyer: str) -> Known:
        """What is known after a look-up; raises `Busy` or `Unavailable`."""
        return await self._lookups.find(buyer)

    def _looked_up(
        self, buyer: str, place: Place | None, holds_until: Micros | None, began: float
    ) -> Known | None:
        known = self._keep(buyer)
        if _may_be_older(place, began, known):
            return None
        self._put(known, place, began)
        if holds_until is not None:
            soon = self._clock() + int(INSIDE_SECONDS * 1_000_000)
            known.inside_until = min(holds_until, soon)
        return known

    def stop(self) -> None:
        self._lookups.stop()


def _may_be_older(place: Place | None, began: float, known: Known) -> bool:
    """Whether what a read that began then found may be older than what is known, for that was learned since:
    only a read that begins later tells."""
    return place != known.place and began < known.read_at


def _where_it_stood(place: Place, before: Place | None) -> Place:
    """A position never changes: what was begun before the draw and is told after it takes nobody's away."""
    if place.position is not None or before is None or before.id != place.id:
        return place
    return structs.replace(place, position=before.position)


def _waits(place: Place | None) -> bool:
    return place is not None and place.state is PlaceState.WAITING


def _before_the_draw(place: Place | None) -> bool:
    return place is not None and place.position is None and _waits(place)
