"""Who of an event's buyers looks at the waiting list here, and what they are told of it.

One query finds the entries and places of all of them. It is asked every few seconds while somebody who
looks also waits, and soon after news: a decision to wait, an offer, somebody leaving. News may be lost, so
nothing depends on them: every few seconds is soon enough. Now and then those who look and do not wait are
asked about too, for what they did at another gateway. Whoever has the same entries at the same places as
told before is not told again, unless the list is longer or shorter by a tenth.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Collection, Iterable
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from gateway.buyers.recall import DATABASE_AWAY
from gateway.holders import ChangedHold
from gateway.problems import Busy
from notifier.hub import SLICE, Client
from store import waiting
from store.errors import OnsaleError, Unavailable
from store.lookups import Pool
from store.waiting import Entry

EVERY_SECONDS = 3.0
TOLD_PER_SECOND_MAX = 2_000
"""With more who look, places are told less often."""
EVERYBODY_EVERY = 5
"""Each so many polls ask about those, too, who do not wait."""
LOOK_SECONDS_MIN = 0.25
"""From one look to the next, however much news there is."""
REST_TIMES = 4
"""And so many times as long as a look took: ranking a list of 200,000 takes Postgres 0.2 s."""
ASKING_MAX = 20_000
WAITLISTED = b'"outcome":"waitlisted"'
"""In the decision of a request that waits now."""


class Waits(Struct, frozen=True):
    """One request on the list, or what was offered to it."""

    id: str
    wait: str
    state: Literal["waiting", "offered"]
    position: int | UnsetType = UNSET
    """1 is the first."""
    want: Raw | UnsetType = UNSET
    """What it asks for, unless that is very long."""
    offer: Raw | UnsetType = UNSET
    """The result of the offer, as that of a held request."""
    hold: ChangedHold | UnsetType = UNSET
    """The offered hold as it is now."""


class WaitingList(Struct, frozen=True):
    """A buyer's requests on the list, oldest first, and how many wait in all."""

    of: int
    waiting: list[Waits]


class WaitingFrame(WaitingList, frozen=True, tag_field="type", tag="waiting"):
    """The same on the socket."""


class _Looks(Struct):
    """A buyer who looks, on these sockets."""

    clients: set[Client]
    told: list[tuple[int, int | None]] | None = None
    """Entries and places as they were told last."""
    of: int = 0
    """And how many waited."""
    waits: bool = False


class Waiters:
    """One event's. `run` looks; everything else never waits but `find`."""

    def __init__(self, pool: Pool, event_id: int) -> None:
        self._pool = pool
        self._event_id = event_id
        self._looks: dict[str, _Looks] = {}
        self._new: set[tuple[str, Client]] = set()
        """Who has not been told anything yet."""
        self._poked: set[str] = set()
        self._finding: list[tuple[str, asyncio.Future[WaitingList]]] = []
        self._wake = asyncio.Event()
        self._next_poll = 0.0
        self._polls = itertools.count(1)
        self.queries = 0

    # --- who looks ---

    def subscribe(self, buyer: str, client: Client) -> None:
        """Tell this socket what the buyer has on the list, soon and whenever it changes."""
        self._looks.setdefault(buyer, _Looks(set())).clients.add(client)
        self._new.add((buyer, client))
        self._wake.set()

    def forget(self, buyer: str, client: Client) -> None:
        """The socket is gone."""
        self._new.discard((buyer, client))
        looks = self._looks.get(buyer)
        if looks is not None:
            looks.clients.discard(client)
            if not looks.clients:
                del self._looks[buyer]
                self._poked.discard(buyer)

    def poke(self, buyer: str) -> None:
        """There is news of this buyer."""
        if buyer in self._looks:
            self._poked.add(buyer)
            self._wake.set()

    @property
    def asked(self) -> bool:
        """Whether somebody waits in `find`."""
        return bool(self._finding)

    async def find(self, buyer: str) -> WaitingList:
        """What the buyer has on the list now; raises `Busy` or `Unavailable`."""
        if len(self._finding) >= ASKING_MAX:
            raise Busy("too_many_lookups", "Too many ask at once. Ask again shortly.")
        answer: asyncio.Future[WaitingList] = asyncio.get_running_loop().create_future()
        self._finding.append((buyer, answer))
        self._wake.set()
        return await answer

    # --- looking ---

    async def run(self) -> None:
        """Look when there is a reason to, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._patience())
            self._wake.clear()
            begun = time.monotonic()
            try:
                await self.look()
            except DATABASE_AWAY as error:
                self._give_up(Unavailable("The database is away. Try again shortly."), error)
                if self._new or self._poked:  # what was asked for is still wanted
                    self._wake.set()
            await asyncio.sleep(rest_after(time.monotonic() - begun))

    def _patience(self) -> float | None:
        """How long to wait for news; without anybody who looks, as long as it takes."""
        return max(0.0, self._next_poll - time.monotonic()) if self._looks else None

    def _give_up(self, error: OnsaleError, cause: BaseException) -> None:
        error.__cause__ = cause
        finding, self._finding = self._finding, []
        for _, answer in finding:
            if not answer.done():
                answer.set_exception(error)

    async def look(self) -> None:
        """Ask about everybody who has a reason, and tell them what is new."""
        new, poked, finding = set(self._new), set(self._poked), list(self._finding)
        buyers = {buyer for buyer, _ in new} | poked | {buyer for buyer, _ in finding} | self._due()
        for some in waiting.chunks(sorted(buyers)):
            async with self._pool.connection() as connection:
                line = await waiting.line(connection, self._event_id, some)
            self.queries += 1
            await self._tell(line)
        self._new -= new
        self._poked -= poked
        self._finding = self._finding[len(finding) :]

    def _due(self) -> set[str]:
        if time.monotonic() < self._next_poll:
            return set()
        self._next_poll = time.monotonic() + max(EVERY_SECONDS, len(self._looks) / TOLD_PER_SECOND_MAX)
        everybody = next(self._polls) % EVERYBODY_EVERY == 0
        return {buyer for buyer, looks in self._looks.items() if looks.waits or everybody}

    async def _tell(self, line: waiting.Line) -> None:
        written = 0
        for buyer, entries in line.entries.items():
            for client in self._to_be_told(buyer, entries, line.of):
                client.write(_frame(line.of, entries))
                written += 1
                if written % SLICE == 0:
                    await asyncio.sleep(0)
        for buyer, answer in self._finding:
            if buyer in line.entries and not answer.done():
                answer.set_result(_list(line.of, line.entries[buyer]))

    def _to_be_told(self, buyer: str, entries: Collection[Entry], of: int) -> Iterable[Client]:
        looks = self._looks.get(buyer)
        if looks is None:
            return ()
        seen = [(entry.wait_id, entry.place) for entry in entries]
        looks.waits = any(place is not None for _, place in seen)
        longer = looks.waits and abs(of - looks.of) * 10 > looks.of
        if looks.told != seen or longer:
            looks.told, looks.of = seen, of
            return list(looks.clients)
        return [client for client in looks.clients if (buyer, client) in self._new]


def rest_after(look_seconds: float) -> float:
    """How long nothing is asked after a look."""
    return max(LOOK_SECONDS_MIN, REST_TIMES * look_seconds)


def _list(of: int, entries: Iterable[Entry]) -> WaitingList:
    return WaitingList(of, [_waits(entry) for entry in entries])


def _frame(of: int, entries: Iterable[Entry]) -> bytes:
    return msgspec.json.encode(WaitingFrame(of, [_waits(entry) for entry in entries]))


def _waits(entry: Entry) -> Waits:
    want = UNSET if entry.want is None else Raw(entry.want.encode())
    waits = Waits(entry.request_id, str(entry.wait_id), "waiting", UNSET, want)
    if entry.offer is None:
        assert entry.place is not None, "who was offered nothing has a place"
        return msgspec.structs.replace(waits, position=entry.place)
    now = entry.offer
    hold = ChangedHold(str(now.hold_id), now.state, now.expires_at // 1000, now.extensions_left)
    offer = UNSET if now.result is None else Raw(now.result.encode())
    return msgspec.structs.replace(waits, state="offered", offer=offer, hold=hold)
