"""The fast gate: refusing at once what a gateway knows cannot be had. Not a decision.

The seat map of one event as this gateway knows it, and the pure question whether a request may be
refused from it. Everything that is not certain goes to the queue: only a first attempt, only named
seats with nothing else wished for, only a buyer with nothing undecided, and only seats that are
sold, blocked, or held for well beyond now.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

from msgspec import UNSET

from store.lookups import SeatMap
from store.wire import Delta
from store.words import Want

HELD_BEYOND_NOW_US = 30_000_000
"""A hold that ends sooner may be free again by the time the request would be decided."""

AVAILABLE, HELD, SOLD, BLOCKED = b"ahsb"


class Seats:
    """One letter and, for held seats, an end of each seat; places free of each area."""

    def __init__(self, numbers: Mapping[str, int], areas: int) -> None:
        self.numbers = numbers
        self.letters = bytearray(b"a" * len(numbers))
        self.held_until = array("q", bytes(8 * len(numbers)))
        self.areas_free = [0] * areas

    def load(self, snapshot: SeatMap) -> tuple[list[int], list[int]]:
        """Take the truth; returns the numbers of seats and areas that look different now."""
        letters = snapshot.states.encode()
        assert len(letters) == len(self.letters), "an event has a row for every seat of its plan"
        assert len(snapshot.areas_free) == len(self.areas_free), "and for every area"
        seats = [no for no, (old, new) in enumerate(zip(self.letters, letters, strict=True)) if old != new]
        areas = [no for no, free in enumerate(snapshot.areas_free) if free != self.areas_free[no]]
        self.letters[:] = letters
        self.held_until = array("q", bytes(8 * len(letters)))
        for no, until in snapshot.held_until:
            self.held_until[no] = until
        self.areas_free[:] = snapshot.areas_free
        return seats, areas

    def apply(self, delta: Delta) -> None:
        """What one batch changed, in the order the batch did it: facts and expiries first."""
        letters, held_until = self.letters, self.held_until
        for no in delta.freed:
            letters[no] = AVAILABLE
        for no in delta.sold:
            letters[no] = SOLD
        for no in delta.blocked:
            letters[no] = BLOCKED
        for no, until in delta.held:
            letters[no] = HELD
            held_until[no] = until
        for no, free in delta.areas:
            self.areas_free[no] = free

    def gone(self, names: Iterable[str], now_us: int) -> list[str]:
        """Those of the named seats that are certainly gone; a seat nobody knows is not (it is `invalid`)."""
        gone = []
        for name in names:
            no = self.numbers.get(name)
            if no is None:
                continue
            letter = self.letters[no]
            if letter == AVAILABLE:
                continue
            if letter != HELD or self.held_until[no] > now_us + HELD_BEYOND_NOW_US:
                gone.append(name)
        return gone


def refusable(want: Want, *, again: bool, undecided: int) -> bool:
    """Whether the gate may look at this request at all."""
    only_seats = bool(want.seats) and want.best is None and not want.areas and want.move is UNSET
    return only_seats and not again and not undecided and not want.fallbacks and not want.up_to
