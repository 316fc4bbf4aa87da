"""The sockets of each buyer of an event, and what they are told of the buyer's holds.

A minute before a hold runs out its buyer is told, once for each end it has: after an extension or a pause
once more before the new one. One look at Postgres a second finds all holds that come within the minute
(the index of active holds has them in this order), so there is no timer for each and nothing to be kept
in step; who comes back within the minute is told after the next look. A hold that was given with less
than a minute need not be announced: its decision said so.

What a buyer changes on one socket or over HTTP the buyer's other sockets hear too, on every gateway;
best effort, as all fan-out.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Mapping, Sequence

import msgspec
import redis.asyncio
from msgspec import UNSET, Struct, UnsetType
from redis.exceptions import RedisError

from gateway.buyers.recall import DATABASE_AWAY
from notifier.hub import Client
from store import lookups
from store.lookups import Ending, Pool
from store.wire import HoldNews, encode_news, holds_channel
from store.words import HoldState

log = logging.getLogger("onsale.gateway")

EVERY_SECONDS = 1.0
SOON_MAX = 100_000
"""Most holds remembered as told; beyond it those that end first are forgotten."""
MOVED = b'"moved":'
"""In the decision of a request that moved a hold."""
EXTENDED = b'"extensions_left":'
"""In what is told of a hold that was extended, or of which some was given back."""


class ChangedHold(Struct, frozen=True):
    """A hold after its holder changed it; `expires_at` in milliseconds."""

    hold: str
    state: HoldState
    expires_at: int | UnsetType = UNSET
    extensions_left: int | UnsetType = UNSET
    seats: list[str] | UnsetType = UNSET
    """What a hold has of which some was given back, or that is instead of another."""
    areas: dict[str, int] | UnsetType = UNSET


class HoldFrame(ChangedHold, frozen=True, tag_field="type", tag="hold"):
    """The same on the socket."""

    ends_soon: bool | UnsetType = UNSET


class _Held(Struct):
    hold: str
    seats: list[str]
    areas: dict[str, int]
    expires_at: int
    moved: str | None = None


class _Decision(Struct):
    result: _Held | None = None


_decode_decision = msgspec.json.Decoder(_Decision).decode


def hold_frame(changed: ChangedHold) -> bytes:
    """A `hold` frame."""
    return msgspec.json.encode(HoldFrame(*msgspec.structs.astuple(changed)))


class Holders:
    """One event's buyers who have sockets here."""

    def __init__(
        self, pool: Pool, client: redis.asyncio.Redis, event_id: int, slug: str, gateway_id: str
    ) -> None:
        self._pool = pool
        self._redis = client
        self._event_id = event_id
        self._channel = holds_channel(slug)
        self._gateway_id = gateway_id
        self._sockets: dict[str, list[Client]] = {}
        self._through = (0, 0)
        """(end, hold) of the last hold that was found to come within its minute."""
        self._told: dict[int, Ending] = {}
        """Holds within their minute, by id, with the end that was told."""
        self._told_of: dict[str, set[int]] = {}
        self._ends: list[tuple[int, int]] = []
        """A heap of (end, hold) of `_told`."""
        self._back: dict[Client, str] = {}
        """Sockets that came back within the minute, and whose they are."""
        self._telling: set[asyncio.Task[None]] = set()

    # --- sockets ---

    def enter(self, buyer: str, client: Client) -> None:
        """A socket of this buyer; within a hold's last minute it is told so after the next look."""
        self._sockets.setdefault(buyer, []).append(client)
        if buyer in self._told_of:
            self._back[client] = buyer

    def leave(self, buyer: str, client: Client) -> None:
        """The socket is gone."""
        self._back.pop(client, None)
        mine = self._sockets.get(buyer, [])
        if client in mine:
            mine.remove(client)
            if not mine:
                del self._sockets[buyer]

    def here(self) -> list[tuple[str, Client]]:
        """(buyer, socket) of all."""
        return [(buyer, client) for buyer, clients in self._sockets.items() for client in clients]

    # --- changes ---

    def tell(self, buyer: str, frame: bytes, but: Client | None = None) -> None:
        """Tell the buyer's sockets here, and soon those at other gateways. Never waits, never raises."""
        self._write(buyer, frame, but)
        if len(self._telling) < SOON_MAX:
            task = asyncio.get_running_loop().create_task(self._tell_others(buyer, frame))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    def tell_here(self, buyer: str, frame: bytes) -> None:
        """Tell the buyer's sockets here only."""
        self._write(buyer, frame, None)

    def heard(self, news: HoldNews) -> None:
        """Another gateway says what a buyer did there."""
        if news.gateway != self._gateway_id:
            for buyer, frame in news.each():
                self._write(buyer, frame, None)
                if EXTENDED in frame:
                    self.extended(buyer)

    def extended(self, buyer: str) -> None:
        """A hold ends later: perhaps still within the minute, and so before what the last look found."""
        if buyer in self._sockets:
            self.look_again()

    def decided(self, buyer: str, frame: bytes) -> None:
        """A decision that may have moved a hold: the buyer's sockets hear of both holds."""
        try:
            held = _decode_decision(frame).result
        except msgspec.DecodeError:  # no such result: an area may be called "moved"
            return
        if held is not None and held.moved is not None:
            self.tell(buyer, hold_frame(ChangedHold(held.moved, HoldState.RELEASED)))
            new = ChangedHold(held.hold, HoldState.ACTIVE, held.expires_at, UNSET, held.seats, held.areas)
            self.tell(buyer, hold_frame(new))

    async def _tell_others(self, buyer: str, frame: bytes) -> None:
        try:
            await self._redis.publish(self._channel, encode_news(HoldNews(self._gateway_id, buyer, frame)))
        except (RedisError, OSError) as error:
            log.warning("a buyer's sockets at other gateways were not told of a hold: %r", error)

    def _write(self, buyer: str, frame: bytes, but: Client | None) -> None:
        for client in list(self._sockets.get(buyer, ())):
            if client is not but:
                client.write(frame)

    # --- the last minute ---

    async def run(self) -> None:
        """Look every second until cancelled."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            if self._sockets:
                try:
                    await self.look()
                except DATABASE_AWAY:
                    continue  # the same holds are found when it is back, if they still run

    def look_again(self) -> None:
        """The ends of holds may have moved all at once, as when a sale goes on after a pause or an outage."""
        self._through = (0, 0)

    async def look(self) -> None:
        """Tell of the holds that came within their last minute, and who came back within it."""
        back = dict(self._back)
        mine = [no for buyer in back.values() for no in self._told_of.get(buyer, ())]
        async with self._pool.connection() as connection:
            if mine:
                self._tell_back(back, await lookups.still_held(connection, self._event_id, mine))
            for client in back:  # not before they were told: the database may be away
                self._back.pop(client, None)
            more = True
            while more:
                found = await lookups.ending_soon(connection, self._event_id, *self._through)
                self._tell(found)
                more = len(found) == lookups.ENDING_MAX

    def _tell(self, found: Sequence[Ending]) -> None:
        for ending in found:
            self._through = (ending.expires_at, ending.hold_id)
            before = self._told.get(ending.hold_id)
            if before is not None and before.expires_at == ending.expires_at:
                continue
            self._remember(ending)
            self._write(ending.buyer, _ends_soon(ending), None)
        if found:
            self._forget(found[-1].now)

    def _tell_back(self, back: Mapping[Client, str], found: Sequence[Ending]) -> None:
        for ending in found:
            for client, buyer in back.items():
                if buyer == ending.buyer:
                    client.write(_ends_soon(ending))

    def _remember(self, ending: Ending) -> None:
        self._told[ending.hold_id] = ending
        self._told_of.setdefault(ending.buyer, set()).add(ending.hold_id)
        heapq.heappush(self._ends, (ending.expires_at, ending.hold_id))

    def _forget(self, now: int) -> None:
        """Holds whose end has come; and of too many those that end first."""
        while self._ends and (self._ends[0][0] < now or len(self._ends) > SOON_MAX):
            expires_at, hold_id = heapq.heappop(self._ends)
            told = self._told.get(hold_id)
            if told is not None and told.expires_at == expires_at:  # not one that was told a later end
                del self._told[hold_id]
                mine = self._told_of[told.buyer]
                mine.discard(hold_id)
                if not mine:
                    del self._told_of[told.buyer]


def _ends_soon(ending: Ending) -> bytes:
    told = HoldFrame(
        str(ending.hold_id), HoldState.ACTIVE, expires_at=ending.expires_at // 1000, ends_soon=True
    )
    return msgspec.json.encode(told)
