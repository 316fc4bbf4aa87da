"""A ballot on the real engines: wishes filed, the sale begun and drawn, an owner, keepers made at will."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from allocator.ballot import BallotKeeper
from allocator.replay import Finding, verify
from store.database import connect
from store.errors import OutcomeUnknown
from store.events import create_event, set_state
from store.plan import Plan
from store.room import ballot, rooms
from store.room.draw import draw
from store.room.joining import Joining, join
from store.room.words import Lane, RoomTerms
from store.stream.port import Pieces, RawEntry
from store.stream.redis_stream import RedisArrivals
from store.stream.redis_stream import connect as connect_stream
from store.venues.rows import save_venue
from store.words import Arrival, EventState, Want
from tests.allocator.house import SLUG, Owner, check_laws, plan_of

STEPS_MAX = 500


class Away(Exception):
    """The keeper is killed."""


class Interrupted:
    """A keeper's connection and stream. The call of this number does not return, done or not."""

    def __init__(
        self, conn: psycopg.Connection[Any], pieces: Pieces, at: int, *, done: bool, cut: bool
    ) -> None:
        self.conn, self._pieces = conn, pieces
        self._left, self._done, self._cut = at, done, cut

    def transaction(self) -> Any:
        return self.conn.transaction()

    def execute(self, *values: Any) -> Any:
        return self._call(lambda: self.conn.execute(*values), Away)

    def append(self, entries: Sequence[bytes]) -> list[Arrival]:
        given: list[Arrival] = self._call(lambda: self._pieces.append(entries), self._error)
        return given

    def append_behind(self, last: RawEntry, entries: Sequence[bytes]) -> list[Arrival] | None:
        given: list[Arrival] | None = self._call(
            lambda: self._pieces.append_behind(last, entries), self._error
        )
        return given

    @property
    def _error(self) -> type[Exception]:
        return OutcomeUnknown if self._cut else Away

    @property
    def reached(self) -> bool:
        return self._left <= 0

    def _call(self, call: Callable[[], Any], error: type[Exception]) -> Any:
        self._left -= 1
        if self._left:
            return call()
        if self._done:
            call()
        raise error


class Balloting:
    """One event whose ballot is owed, its owner, and keepers made at will."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.clients = [connect_stream(owner.redis_url)]
        self.pieces: Pieces = RedisArrivals(self.clients[0], owner.slug)
        self.conn = connect(owner.database_url, "test keeper")

    def keeper(self) -> Callable[[], float | None]:
        """The step of a new keeper."""
        keeps = BallotKeeper(self.owner.event_id, self.pieces)
        return lambda: keeps(self.conn)

    def interrupted(self, at: int, *, done: bool, cut: bool) -> bool:
        """A new keeper's life up to its call of this number; False where it had nothing left to do."""
        way: Any = Interrupted(self.conn, self.pieces, at, done=done, cut=cut)
        keeps = BallotKeeper(self.owner.event_id, way)
        try:
            while not way.reached and keeps(way) is not None:
                self.decide()
        except Away:
            self.conn.close()
            self.conn = connect(self.owner.database_url, "test keeper")
        return bool(way.reached)

    def decide(self) -> None:
        """The owner's loop turns once, without a wait for something that may not come."""
        self.owner.poke()
        self.owner.loop.turn()

    def run(self, step: Callable[[], float | None] | None = None) -> None:
        """Until the ballot is over."""
        step = step or self.keeper()
        for _ in range(STEPS_MAX):
            if step() is None:
                return
            self.decide()
        raise AssertionError("the ballot does not end")

    def order(self) -> list[str]:
        """Buyers with a wish, as the ballot has them."""
        with psycopg.connect(self.owner.database_url) as conn:
            wishes = ballot.next_wishes(conn, self.owner.event_id, ballot.FIRST, 100_000)
        return [wish.buyer for wish in wishes]

    def decided(self) -> list[tuple[str, str]]:
        """(buyer, outcome) in the order of decisions."""
        return [(row[3], row[4]) for row in self.owner.ledger() if row[1] == "request"]

    def room(self) -> Any:
        with psycopg.connect(self.owner.database_url) as conn:
            return rooms.read(conn, self.owner.event_id)

    def check(self) -> None:
        """All are decided, once, in order; the ledger follows from itself, and everything adds up."""
        order = self.order()
        assert [buyer for buyer, _ in self.decided()] == order
        assert self.room().ballot_ended_at is not None
        with psycopg.connect(self.owner.database_url) as conn:
            assert not [found for found in verify(conn, self.owner.event_id) if isinstance(found, Finding)]
            holders = "SELECT buyer FROM hold WHERE event_id = %s AND state IN ('active', 'paid')"
            inside = "SELECT buyer FROM place WHERE event_id = %s AND state = 'admitted'"
            found = [conn.execute(text, (self.owner.event_id,)).fetchall() for text in (holders, inside)]
        assert sorted(found[0]) == sorted(found[1]), "who got something is inside, and nobody else"
        check_laws(self.owner.database_url, self.owner.event_id)

    def close(self) -> None:
        self.conn.close()
        for client in self.clients:
            client.close()


def begin(
    database_url: str,
    wants: Mapping[str, Want],
    *,
    priority: Sequence[str] = (),
    plan: Plan | None = None,
    slug: str = SLUG,
    **policy: Any,
) -> int:
    """An event that has begun and is drawn, with these wishes; its number."""
    plan = plan or plan_of()
    with psycopg.connect(database_url, autocommit=True) as conn:
        venue = save_venue(conn, f"venue-of-{slug}", plan)
        event = create_event(conn, slug, slug.title(), venue, plan, **policy)
        rooms.make(conn, slug, RoomTerms(ballot=True))
        set_state(conn, slug, EventState.LOBBY)
        asyncio.run(_file(database_url, event, wants, priority))
        set_state(conn, slug, EventState.OPEN)
        assert draw(conn, event)
    return event


async def _file(database_url: str, event: int, wants: Mapping[str, Want], priority: Sequence[str]) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        joins = [Joining(buyer, Lane.PRIORITY if buyer in priority else Lane.ORDINARY) for buyer in wants]
        await join(connection, event, joins)
        for buyer, want in wants.items():
            await ballot.file(connection, event, buyer, want)


@contextmanager
def balloting(
    database_url: str, redis_url: str, wants: Mapping[str, Want], *, batch_size_max: int = 7, **begun: Any
) -> Iterator[Balloting]:
    """The ballot of `begin`, with an owner past its first batch that decides few at a time."""
    event = begin(database_url, wants, **begun)
    owner = Owner(database_url, redis_url, event, batch_size_max=batch_size_max)
    made = Balloting(owner)
    try:
        owner.settle_down()
        yield made
    finally:
        made.close()
        made.owner.close()
