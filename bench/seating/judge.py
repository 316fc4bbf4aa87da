"""Judges a sale from outside: who asked for what, in which order, and who sat where. Pure.

A party's *turn* is the moment at which those who arrived before it have what they got, and nobody else has
anything. At its turn

- it is *split* when its seats are not beside each other in one block, and split *needlessly* when a run of
  its size was free in what it asked for, up to the choice it got;
- it is *overtaken* when seats that later arrivals got would have served it better, by the documented order
  (docs/protocol.md) and beyond doubt:
  1. it was refused, or sent to a later choice, and its choice could be had on them: together in one block;
     for a party that may be parted, so many seats; for several parties, each in a block of its own; for
     named seats, these;
  2. or they hold a run of its size in a better block of what it describes, better than any of its own
     seats'. Not where sitting there would have left a single seat and its own seats did not: that goes first.

An *orphan* is a free seat whose neighbours in the row, up to the aisles, are not free. `wrong` counts what
must never be: a seat given twice, one that was not described, a party of another size.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from msgspec import Struct, field

from bench.seating.house import House, bits
from store.words import APART_MAX, Best, Choice, Want

STORIES_KEPT = 3
CURVE_STEPS = 50


class Seated(NamedTuple):
    """What a party got: which of its choices (0 is the first), and the seats of each party of that choice, or
    those it named. A choice is either."""

    choice: int
    seats: tuple[tuple[int, ...], ...]


class Verdict(Struct):
    """What was found, counted in parties and seats."""

    parties: int = 0
    seated: int = 0
    sold: int = 0
    unsold: int = 0
    split: int = 0
    split_unasked: int = 0
    """Of these, parties that had not said that they may be parted."""
    split_needlessly: int = 0
    overtaken: int = 0
    orphans_most: int = 0
    orphans_mean: float = 0.0
    """Over all moments until the last seat was sold that was."""
    orphans_at_90: int = 0
    """When nine in ten seats were sold."""
    orphans_at_end: int = 0
    wrong: int = 0
    curve: list[tuple[float, int]] = field(default_factory=list)
    """(share of the seats sold, orphans then)"""
    stories: list[str] = field(default_factory=list)
    """The first few findings, told."""


def judge(house: House, wants: Sequence[Want], seatings: Sequence[Seated | None]) -> Verdict:
    """`seatings[n]` is what the party that arrived as number n got; None for nothing."""
    assert len(wants) == len(seatings), "every party got something or nothing"
    sale = _Sale(house, seatings)
    verdict = Verdict(parties=len(wants))
    orphans: list[tuple[int, int]] = [(0, sale.orphans)]
    for number, (want, seated) in enumerate(zip(wants, seatings, strict=True)):
        story = _turn(sale, want, seated, verdict)
        if story and len(verdict.stories) < STORIES_KEPT:
            verdict.stories.append(f"party {number} ({_told(want)}) {story}")
        if seated is not None:
            verdict.seated += 1
            orphans.append((sale.sold, sale.orphans))
    verdict.sold, verdict.unsold = sale.sold, sum(house.open) - sale.sold
    _add_orphans(verdict, orphans, sum(house.open))
    return verdict


class _Sale:
    """The house at a party's turn. By rank, as bits: `free`, and of that `later`, what later arrivals got."""

    def __init__(self, house: House, seatings: Sequence[Seated | None]) -> None:
        self.house = house
        self.is_free = bytearray(house.open)
        self.free = [0] * len(house.blocks)
        self.later = [0] * len(house.blocks)
        self.some_free = 0
        """The ranks of which `free` is not 0, as bits."""
        self.some_later = 0
        for seat, open_ in enumerate(house.open):
            if open_:
                self.free[house.rank_of[seat]] |= self._bit(seat)
        for seated in seatings:
            for seat in _all_seats(seated):
                self.later[house.rank_of[seat]] |= self._bit(seat)
        self.some_free = sum(1 << rank for rank, seats in enumerate(self.free) if seats)
        self.some_later = sum(1 << rank for rank, seats in enumerate(self.later) if seats)
        self.sold = 0
        self.orphans = sum(self.is_single(seat) for seat in range(len(house.open)))

    def _bit(self, seat: int) -> int:
        return 1 << seat - self.house.blocks[self.house.rank_of[seat]].first

    def empty(self, seat: int) -> bool:
        """Whether there is a seat and it is free."""
        return seat >= 0 and bool(self.is_free[seat])

    def is_later(self, seat: int) -> bool:
        """Whether a later arrival got it."""
        return bool(self.later[self.house.rank_of[seat]] & self._bit(seat))

    def is_single(self, seat: int) -> bool:
        left, right = self.house.left[seat], self.house.right[seat]
        return self.empty(seat) and not self.empty(left) and not self.empty(right)

    def leaves_single(self, first: int, last: int) -> bool:
        """Whether a party on these neighbouring free seats leaves a single one beside it."""
        left, right = self.house.left[first], self.house.right[last]
        beyond_left = self.house.left[left] if left >= 0 else -1
        beyond_right = self.house.right[right] if right >= 0 else -1
        return (self.empty(left) and not self.empty(beyond_left)) or (
            self.empty(right) and not self.empty(beyond_right)
        )

    def leave_out(self, seats: Sequence[int]) -> None:
        """These are nobody's later any more: it is the turn of who gets them."""
        for seat in seats:
            rank = self.house.rank_of[seat]
            self.later[rank] &= ~self._bit(seat)
            if not self.later[rank]:
                self.some_later &= ~(1 << rank)

    def take(self, seats: Sequence[int]) -> None:
        """They are gone; those that were not free are left as they are."""
        for seat in seats:
            if not self.is_free[seat]:
                continue
            self.orphans -= self.is_single(seat)
            rank = self.house.rank_of[seat]
            self.free[rank] &= ~self._bit(seat)
            if not self.free[rank]:
                self.some_free &= ~(1 << rank)
            self.is_free[seat] = 0
            for beside in (self.house.left[seat], self.house.right[seat]):
                self.orphans += beside >= 0 and self.is_single(beside)
            self.sold += 1


def _turn(sale: _Sale, want: Want, seated: Seated | None, verdict: Verdict) -> str:
    """One party's turn; a story when something is not as it should be."""
    story = ""
    sale.leave_out(_all_seats(seated))
    passed_over = want.choices if seated is None else want.choices[: seated.choice]
    overtaken = any(_could_be_had(sale, choice) for choice in passed_over)
    if overtaken:
        story = "was refused what later arrivals sit on"
    if seated is not None:
        choice = want.choices[seated.choice]
        if not _is_right(sale, choice, seated):
            verdict.wrong += 1
            story = "got seats that are not free, not described or not as many as asked for"
        split = needlessly = False
        sale.take([sale.house.seat_of[guid] for guid in choice.seats])
        for best, seats in zip(choice.parties, seated.seats, strict=False):
            rung = _rung(sale, best, seats, _alike(sale, best, passed_over))
            split |= rung.split
            needlessly |= rung.split_needlessly
            if rung.overtaken and not overtaken:
                overtaken, story = True, story or "sits in a worse block than later arrivals"
            sale.take(seats)
        verdict.split += split
        verdict.split_unasked += split and not all(best.apart for best in choice.parties)
        verdict.split_needlessly += needlessly
        if needlessly:
            story = story or "was split although a run of its size was free"
    verdict.overtaken += overtaken
    return story


def _is_right(sale: _Sale, choice: Choice, seated: Seated) -> bool:
    rank_of, described = sale.house.rank_of, sale.house.described
    seats = _all_seats(seated)
    if choice.seats:
        named = {sale.house.seat_of[guid] for guid in choice.seats}
        return set(seats) == named and len(seats) == len(named) and all(map(sale.empty, seats))
    return (
        len(set(seats)) == len(seats)
        and all(map(sale.empty, seats))
        and [len(each) for each in seated.seats] == [best.quantity for best in choice.parties]
        and all(
            all(described(best) >> rank_of[seat] & 1 for seat in each)
            for best, each in zip(choice.parties, seated.seats, strict=True)
        )
    )


class _Rung(NamedTuple):
    split: bool
    split_needlessly: bool
    overtaken: bool


def _alike(sale: _Sale, best: Best, passed_over: Sequence[Choice]) -> int:
    """The blocks, as bits, in which choices before the one it got would have seated a party of that size."""
    blocks = 0
    for choice in passed_over:
        if len(choice.parties) == 1 and choice.parties[0].quantity == best.quantity:
            blocks |= sale.house.described(choice.parties[0])
    return blocks


def _rung(sale: _Sale, best: Best, seats: Sequence[int], alike: int) -> _Rung:
    """How a party sits, and whether later ones have it better. `alike`: blocks it would have taken first."""
    house, size = sale.house, len(seats)
    first, last = min(seats), max(seats)
    ranks = {house.rank_of[seat] for seat in seats}
    split = len(ranks) > 1 or last - first != size - 1
    described = house.described(best)
    if split:
        asked_for = (described | alike) & sale.some_free
        needlessly = any(_starts(sale.free[rank], size) for rank in bits(asked_for))
        own_leave_none = False
    else:
        needlessly, own_leave_none = False, not sale.leaves_single(first, last)
    better = described & sale.some_later & (1 << min(ranks)) - 1
    for rank in bits(better):
        for start in bits(_starts(sale.later[rank], size)):
            one = house.blocks[rank].first + start
            if not (own_leave_none and sale.leaves_single(one, one + size - 1)):
                return _Rung(split, needlessly, True)
    return _Rung(split, needlessly, False)


def _could_be_had(sale: _Sale, choice: Choice) -> bool:
    """Whether the seats that later arrivals got would do, beyond doubt."""
    parties, later, looked_at = choice.parties, sale.later, sale.some_later
    if choice.seats:
        return all(sale.is_later(sale.house.seat_of[guid]) for guid in choice.seats)
    size = max(best.quantity for best in parties)
    for best in parties:
        looked_at &= sale.house.described(best)
    if len(parties) == 1 and parties[0].apart and size <= APART_MAX:
        return sum(later[rank].bit_count() for rank in bits(looked_at)) >= size
    if any(best.apart for best in parties):
        return False
    fitting = (rank for rank in bits(looked_at) if _starts(later[rank], size))
    return sum(1 for _ in islice(fitting, len(parties))) == len(parties)


def _starts(bits: int, size: int) -> int:
    """The places, as bits, at which a run of that size begins."""
    for _ in range(size - 1):
        bits &= bits >> 1
        if not bits:
            break
    return bits


def _all_seats(seated: Seated | None) -> list[int]:
    return [] if seated is None else [seat for each in seated.seats for seat in each]


def _add_orphans(verdict: Verdict, orphans: list[tuple[int, int]], seats: int) -> None:
    counts = [count for _, count in orphans]
    verdict.orphans_most = max(counts)
    verdict.orphans_mean = round(sum(counts) / len(counts), 1)
    verdict.orphans_at_end = counts[-1]
    verdict.orphans_at_90 = next((count for sold, count in orphans if sold >= 0.9 * seats), counts[-1])
    at = 0
    for step in range(CURVE_STEPS + 1):
        while at < len(orphans) and orphans[at][0] < seats * step / CURVE_STEPS:
            at += 1
        if at == len(orphans):
            break
        verdict.curve.append((step / CURVE_STEPS, counts[at]))
    if not verdict.curve or orphans[-1][0] / seats > verdict.curve[-1][0]:
        verdict.curve.append((round(orphans[-1][0] / seats, 4), counts[-1]))


def _told(want: Want) -> str:
    if want.seats:
        return ", ".join(want.seats)
    best = want.parties[0]
    return f"{best.quantity} in {best.section or best.category or best.price_max or 'the house'}"
