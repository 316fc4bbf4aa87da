"""A ballot on a pretended Postgres and stream, in memory: anything may happen between any two calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import pytest

from allocator import ballot
from store.errors import OutcomeUnknown, StreamMissing
from store.room import ballot as rows
from store.room.ballot import LANES, Rank, Wish
from store.room.words import Lane
from store.stream.port import REQUEST, RawEntry
from store.wire import arrival_order, decode_entry
from store.words import Arrival


class Killed(Exception):
    """The keeper is gone."""


class Pretended:
    """Wishes, ledger, stream, and the loop that decides. `meanwhile` happens before each call that a keeper
    makes, and says how that ends.
    """

    def __init__(self, priority: int, ordinary: int) -> None:
        ranks = [Rank(Lane.PRIORITY, n + 1) for n in range(priority)]
        ranks += [Rank(Lane.ORDINARY, n + 1) for n in range(ordinary)]
        self.wishes = [Wish(rank, f"b{number}", "{}") for number, rank in enumerate(ranks)]
        self.left: set[str] = set()
        self.ledger: list[str] = []
        """Buyers whose wish is decided, in order."""
        self.ended = 0
        self.clock = 100
        self.cursor = Arrival("50-0")
        self.stream: list[RawEntry] | None = []
        self.reading: list[RawEntry] = []
        """Of the batch under way: read, and not committed."""
        self.meanwhile: Callable[[], str] = lambda: ""

    # --- the truth, as `store.room.ballot` tells it ---

    def next_wishes(self, conn: object, event_id: int, after: Rank, count_max: int) -> list[Wish]:
        self._call()
        behind = [wish for wish in self.wishes if self._at(wish.rank) > self._at(after)]
        return [wish for wish in behind if wish.buyer not in self.left][:count_max]

    def first_undecided(self, conn: object, event_id: int) -> Rank | None:
        self._call()
        undecided = [wish.rank for wish in self.wishes if wish.buyer not in {*self.ledger, *self.left}]
        return undecided[0] if undecided else None

    def is_decided(self, conn: object, event_id: int, buyer: str) -> bool:
        self._call()
        return buyer in self.ledger

    def let_in(self, conn: object, event_id: int) -> int:
        self._call()
        return 0

    def end(self, conn: object, event_id: int) -> bool:
        self._call()
        assert all(wish.buyer in {*self.ledger, *self.left} for wish in self.wishes), (
            "everybody has an answer"
        )
        self.ended += 1
        return self.ended == 1

    def transaction(self) -> Any:
        return nullcontext()

    def execute(self, statement: str, values: object) -> Any:
        """What a keeper reads itself; this is its connection."""
        self._call()
        stands = (not self.ended, self.cursor)
        return type("Found", (), {"fetchone": lambda _: stands})()

    @staticmethod
    def _at(rank: Rank) -> tuple[int, int]:
        return LANES.index(rank.lane), rank.position

    # --- the stream, as `store.stream.port.Pieces` ---

    def append(self, entries: Sequence[bytes]) -> list[Arrival]:
        cut = self._call()
        if self.stream is None:
            raise StreamMissing
        given = [self._add(REQUEST, entry) for entry in entries]
        if cut:
            raise OutcomeUnknown
        return given

    def append_behind(self, last: RawEntry, entries: Sequence[bytes]) -> list[Arrival] | None:
        cut = self._call()
        if self.stream is None or last not in self.stream:
            return None
        given = [self._add(REQUEST, entry) for entry in entries]
        if cut:
            raise OutcomeUnknown
        return given

    def _add(self, field: bytes, value: bytes) -> Arrival:
        assert self.stream is not None
        newest = arrival_order(self.stream[-1][0].decode()) if self.stream else (0, 0)
        at = max((self.clock, 0), (newest[0], newest[1] + 1))
        arrival = Arrival(f"{at[0]}-{at[1]}")
        self.stream.append((arrival.encode(), [field, value]))
        return arrival

    def _call(self) -> bool:
        how = self.meanwhile()
        if how == "kill":
            raise Killed
        return how == "cut"

    # --- what may happen ---

    def wipe(self) -> None:
        self.clock += 1
        self.stream = None

    def forget(self, count: int) -> None:
        """The server came back with an older file."""
        self.clock += 1
        if self.stream:
            del self.stream[-count:]

    def leave(self, number: int) -> None:
        self.left.update(wish.buyer for wish in self.wishes[number : number + 1])

    def read(self, count_max: int) -> None:
        """The loop reads a batch, and makes a lost stream anew where it finds nothing."""
        self.clock += 1
        if self.stream is None:
            self.stream = []
            above = arrival_order(self.cursor)
            self.stream.append((b"%d-%d" % (above[0], above[1] + 1), [b"c", b"1"]))
        if not self.reading:
            cursor = arrival_order(self.cursor)
            above_cursor = [entry for entry in self.stream if arrival_order(entry[0].decode()) > cursor]
            self.reading = above_cursor[:count_max]

    def commit(self) -> None:
        """Its batch is true; what was read is trimmed, if it is all there."""
        for _, (field, value) in self.reading:
            if field == REQUEST and (buyer := decode_entry(value).buyer) not in self.ledger:
                self.ledger.append(buyer)
        if self.reading:
            self.cursor = Arrival(self.reading[-1][0].decode())
            if self.stream and self.stream[: len(self.reading)] == self.reading:
                del self.stream[: len(self.reading)]
        self.reading = []

    def crash(self) -> None:
        """The loop's batch under way is not true; another owner reads it again."""
        self.reading = []

    def keeper(self) -> Callable[[], float | None]:
        """A new keeper's step."""
        keeps = ballot.BallotKeeper(1, self)
        conn: Any = self
        return lambda: keeps(conn)

    def installed(self, patch: pytest.MonkeyPatch, piece_max: int, ahead_max: int) -> None:
        """From here on keepers keep this ballot."""
        for name in ("next_wishes", "first_undecided", "is_decided", "let_in", "end"):
            patch.setattr(rows, name, getattr(self, name))
        patch.setattr(ballot, "PIECE_MAX", piece_max)
        patch.setattr(ballot, "AHEAD_MAX", ahead_max)


def order_of(pretended: Pretended) -> list[str]:
    """Buyers in the ballot's order."""
    return [wish.buyer for wish in pretended.wishes]
