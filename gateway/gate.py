"""The fast gate: refusing at once what a gateway knows cannot be had. Not a decision.

The seat map of one event as this gateway knows it, and the pure question whether a request may be
refused from it. Everything that is not certain goes to the queue: only a first attempt, only one that names
seats or only describes some, with nothing else wished for and no wish to wait, only a buyer with nothing
undecided, and only what is sold, blocked, or held for well beyond now.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import UNSET, Struct

from gateway.stock import AVAILABLE, BLOCKED, HELD, SOLD, Stock
from store.lookups import SeatMap
from store.plan import Plan
from store.wire import Delta
from store.words import Want

HELD_BEYOND_NOW_US = 30_000_000
"""A hold that ends sooner may be free again by the time the request would be decided."""


class Taken(Struct, frozen=True):
    """Seats that were named are gone."""

    taken: list[str]
    reason: str = "taken"


class NoneLeft(Struct, frozen=True):
    """Nothing of what was described is free, and nothing comes back within seconds."""

    on_hold: int
    """Seats of it that are held: some may come back."""
    held_until: int | None
    """In milliseconds: when the first hold of it runs out."""
    reason: str = "none_left"


Refusal = Taken | NoneLeft


class Seats:
    """One letter and, for held seats, an end of each seat; places free of each area."""

    def __init__(self, plan: Plan) -> None:
        self.numbers = {seat.guid: no for no, seat in enumerate(plan.seats)}
        self.area_numbers = {area.guid: no for no, area in enumerate(plan.areas)}
        self.areas_free = [0] * len(plan.areas)
        self._take(Stock(plan))

    def take_categories(self, plan: Plan) -> None:
        """The seats are of these categories from now on; nothing else of them is different."""
        self._take(self.stock.under(plan))

    def _take(self, stock: Stock) -> None:
        self.stock, self.letters, self.held_until = stock, stock.letters, stock.held_until

    def load(self, snapshot: SeatMap) -> tuple[list[int], list[int]]:
        """Take the truth; returns the numbers of seats and areas that look different now."""
        letters = snapshot.states.encode()
        assert len(letters) == len(self.letters), "an event has a row for every seat of its plan"
        assert len(snapshot.areas_free) == len(self.areas_free), "and for every area"
        seats = [no for no, (old, new) in enumerate(zip(self.letters, letters, strict=True)) if old != new]
        areas = [no for no, free in enumerate(snapshot.areas_free) if free != self.areas_free[no]]
        self.stock.load(letters, snapshot.held_until, snapshot.places_held_until)
        self.areas_free[:] = snapshot.areas_free
        return seats, areas

    def apply(self, delta: Delta) -> None:
        """What one batch changed, in the order the batch did it: facts and expiries first."""
        stock = self.stock
        stock.turn(delta.freed, AVAILABLE)
        stock.turn(delta.sold, SOLD)
        stock.turn(delta.blocked, BLOCKED)
        stock.hold(delta.held)
        for no, free in delta.areas:
            self.areas_free[no] = free
        stock.passed(delta.batch_time)
        stock.places_held(delta.places_held)

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

    def none_left(self, want: Want, now_us: int) -> NoneLeft | None:
        """That nothing is left for one of the parties or areas of a request that describes what it wants, if
        that is certain. What the plan does not have is left to the decision (it is `invalid`).
        """
        parties = [self.stock.left_of(party) for party in want.parties]
        areas = [self.area_numbers.get(guid, -1) for guid in want.areas]
        if None in parties or -1 in areas:
            return None
        for left in parties:
            if left is not None and not left.free:
                end = left.soonest
                if end is None or end > now_us + HELD_BEYOND_NOW_US:
                    return NoneLeft(left.held, _milliseconds(end))
        for area in areas:
            if not self.areas_free[area]:
                end = self.stock.soonest_place(area)
                if end is None or end > now_us + HELD_BEYOND_NOW_US:
                    return NoneLeft(0, _milliseconds(end))
        return None

    def first_end_ms(self) -> int | None:
        """When the first of all holds runs out, in milliseconds, or None."""
        return _milliseconds(self.stock.soonest_of_all())


def _milliseconds(micros: int | None) -> int | None:
    return None if micros is None else micros // 1_000


def not_queued_frame(request_id: str, refusal: Refusal) -> bytes:
    """The fast gate's answer on the socket: not a decision."""
    return msgspec.json.encode({"type": "not_queued", "id": request_id, **told(refusal)})


def told(refusal: Refusal) -> dict[str, object]:
    """What a refusal says, the same over HTTP."""
    return msgspec.structs.asdict(refusal)


def refusable(want: Want, *, again: bool, undecided: int) -> bool:
    """Whether the gate may look at this request at all."""
    described = want.best is not None or bool(want.areas)
    one_kind = bool(want.seats) != described and want.move is UNSET and not want.waitlist
    return one_kind and not again and not undecided and not want.fallbacks and not want.up_to
