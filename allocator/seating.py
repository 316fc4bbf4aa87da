"""Which free seats a party gets.

The ladder, one step after the other over all blocks that were described:
1. *together*: neighbours in one block, leaving no single seat free beside them,
2. *together_leaving_one*: neighbours in one block,
3. *apart*, where the party allows it: as few parts as possible, nobody alone unless there is no other
   way, parts as even as can be; the first part as in 1 and 2, each further one near the first.

Within a step the best block wins (its rank, see `allocator.layout`), in it the run of seats whose
distances to the focal point add up to the least, of equal ones the first. So a replay finds the same
seats. A single seat is one whose neighbours in the row, up to the aisles, are not free. Accessible
places and their companions' count as not free for whoever did not ask for them.

Which blocks seat how many is kept as one mask per party size and looked at anew only where something
changed: a search costs one AND over the blocks, however full the house is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from itertools import chain
from typing import Final

from allocator.layout import Layout
from store.words import APART_MAX, QUANTITY_MAX

INSTEAD_MAX: Final = 3
"""Most groups that are named to who cannot have a seat."""
REMEMBERED_MAX: Final = 20_000
NEAR_LOOKS: Final = 8
"""How many blocks before and behind a part are looked at for the next one."""
Run = tuple[int, str]
"""(first slot, JSON of its seats)"""
_ONES: Final = [b"\x01" * quantity for quantity in range(QUANTITY_MAX + 1)]


class Step(StrEnum):
    """Where on the ladder a party was seated."""

    TOGETHER = "together"
    LEAVING_ONE = "together_leaving_one"
    APART = "apart"


def _sizes_leaving_none(length: int) -> int:
    """The party sizes, bit by size, that a free run of that length seats and leaves no single seat."""
    largest = min(length, QUANTITY_MAX)
    sizes = (1 << largest + 1) - 2
    return sizes & ~(1 << length - 1) if 2 <= length <= QUANTITY_MAX + 1 else sizes


_LEAVING_NONE: Final = [_sizes_leaving_none(length) for length in range(QUANTITY_MAX + 3)]


class Seating:
    """What is free, by slot, and which blocks seat how many. Follows memory; no truth of its own."""

    __slots__ = (
        "_came_free",
        "_instead",
        "_known_sizes",
        "_largest",
        "_layout",
        "_named_for",
        "_runs",
        "_sizes",
        "_unseen",
        "changed",
        "fits",
        "free",
        "leaving_none",
    )

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.free = bytearray(layout.open_slots)
        """slot → 1 where anybody may be seated. Whoever changes it adds the seat's stretch to `changed`."""
        self.changed = set(range(len(layout.stretch_slots)))
        self.fits = [0] * (QUANTITY_MAX + 1)
        """party size → mask of the blocks that seat it together"""
        self.leaving_none = [0] * (QUANTITY_MAX + 1)
        """party size → mask of the blocks that seat it together and leave no single seat"""
        self._largest = [0] * len(layout.block_slots)
        self._sizes = [0] * len(layout.block_slots)
        self._came_free: set[int] = set()
        """stretches of `changed` of which a seat came free"""
        self._unseen: set[int] = set()
        """stretches that changed since the masks were brought up to date"""
        self._runs: dict[tuple[int, int], Run] = {}
        self._known_sizes = [0] * len(layout.block_slots)
        self._instead: list[dict[int, str]] = [{} for _ in range(QUANTITY_MAX + 1)]
        """party size → a wanted seat's block → what is named instead of it"""
        self._named_for: dict[tuple[int, int], set[int]] = {}
        """(block, party size) → for whose blocks that block's run is named"""

    def refresh(self) -> None:
        """Bring the masks up to date. Before every look at them."""
        if self.changed:
            self._forget()
        if self._unseen:
            for stretch in self._unseen:
                ranks = self._layout.ranks_of_stretch[stretch]
                for rank in ranks:
                    self._look_at(rank, alone=len(ranks) == 1)
            self._unseen.clear()

    def together(self, mask: int, quantity: int) -> tuple[list[int], Step] | None:
        """The seats of a party, and the step of the ladder; None when it cannot sit together."""
        self.refresh()
        step, found = Step.TOGETHER, self.leaving_none[quantity] & mask
        if not found:
            step, found = Step.LEAVING_ONE, self.fits[quantity] & mask
            if not found:
                return None
        return self.in_block(_first(found), quantity, leaving_none=step is Step.TOGETHER), step

    def in_block(self, rank: int, quantity: int, *, leaving_none: bool = False) -> list[int]:
        """The party's seats in this block, empty when it has no such run."""
        slot = self._best_run(rank, quantity, leaving_none)
        return [] if slot < 0 else list(self._layout.seat_at[slot : slot + quantity])

    def instead(self, seat: int, quantity: int) -> str:
        """JSON of up to three groups of so many free neighbours, for who cannot have this seat.

        Each in a block of its own: of the seat's section and category (where there is none, of its
        category) those whose ranks are nearest to the seat's.
        """
        if self._came_free:
            self.refresh()
        elif self.changed:  # what was taken since is no answer; the masks have time until one is looked for
            self._forget()
        rank = self._layout.rank_of[seat]
        return self._instead[quantity].get(rank) or self._name(rank, quantity)

    def _name(self, rank: int, quantity: int) -> str:
        """What `instead` says for seats of this block. Remembered until a run it names is gone, or no longer
        its block's best, or a block has such a run that had none.
        """
        self.refresh()
        layout, fits = self._layout, self.fits[quantity]
        if len(self._named_for) >= REMEMBERED_MAX:
            self._named_for.clear()
            self._instead = [{} for _ in self._instead]
        found = fits & layout.like_of[rank] or fits & layout.category_of[rank]
        near = sorted(_around(found, rank, INSTEAD_MAX), key=lambda one: (abs(one - rank), one))[:INSTEAD_MAX]
        text = f"[{','.join([self._run(one, quantity)[1] for one in near])}]"
        for one in near:
            self._named_for.setdefault((one, quantity), set()).add(rank)
        self._instead[quantity][rank] = text
        return text

    def _run(self, rank: int, quantity: int) -> Run:
        """The best such group of a block. Remembered while its seats are free and no others came free: what
        is taken meanwhile leaves the best one the best.
        """
        run = self._runs.get((rank, quantity))
        if run is None:
            slot = self._best_run(rank, quantity, leaving_none=False)
            seats = self._layout.seat_at[slot : slot + quantity]
            text = ",".join([self._layout.seat_json[seat] for seat in seats])
            run = self._runs[rank, quantity] = (slot, f"[{text}]")
            self._known_sizes[rank] |= 1 << quantity
        return run

    def _forget(self) -> None:
        """Forget the runs of what changed that are gone, or may be the best no longer."""
        for stretch in self.changed:
            for rank in self._layout.ranks_of_stretch[stretch]:
                self._forget_runs(rank, all_of_them=stretch in self._came_free)
        self._unseen |= self.changed
        self.changed.clear()
        self._came_free.clear()

    def _forget_runs(self, rank: int, *, all_of_them: bool) -> None:
        known = self._known_sizes[rank]
        while known:
            quantity = _first(known)
            known &= known - 1
            if all_of_them or not self.free.startswith(_ONES[quantity], self._runs[rank, quantity][0]):
                del self._runs[rank, quantity]
                self._known_sizes[rank] ^= 1 << quantity
                for one in self._named_for.pop((rank, quantity), ()):
                    self._instead[quantity].pop(one, None)

    def largest(self, mask: int, quantity: int) -> int:
        """The largest party of at most that size that these blocks seat together; 0 for none."""
        self.refresh()
        while quantity and not self.fits[quantity] & mask:
            quantity -= 1
        return quantity

    def apart(self, mask: int, quantity: int) -> list[int] | None:
        """The seats of a party that may be parted; None when they are too few, or it too large for that."""
        self.refresh()
        if quantity > APART_MAX or not self._has(mask, quantity):
            return None
        in_company = range(2, quantity // 2 + 1)
        for parts in chain(in_company, range(max(2, quantity // 2 + 1), quantity + 1)):
            even, more = divmod(quantity, parts)
            seats = self._in_parts(mask, [even + 1] * more + [even] * (parts - more))
            if seats is not None:
                return seats
        return None

    def with_accessible(
        self, hold_of: list[int], but: list[int], mask: int, quantity: int, accessible: int
    ) -> list[int] | None:
        """The seats of a party of which some need an accessible place; None when it cannot sit together.

        The best block that has them; in it the run with the fewest accessible places, then of least cost.
        Here their places and those of companions are free like all others; `but` are not.
        """
        layout, plan = self._layout, self._layout.plan
        for rank in layout.accessible_ranks:
            if not mask >> rank & 1:
                continue
            first, end = layout.block_slots[rank]
            seats = layout.seat_at[first:end]
            free = [not hold_of[seat] and seat not in but for seat in seats]
            wanted = [open_ and plan.seats[seat].accessible for open_, seat in zip(free, seats, strict=True)]
            found = [
                (used, layout.costs[first + at + quantity] - layout.costs[first + at], at)
                for at in range(len(seats) - quantity + 1)
                if (used := sum(wanted[at : at + quantity])) >= accessible and all(free[at : at + quantity])
            ]
            if found:
                _, _, at = min(found)
                return list(seats[at : at + quantity])
        return None

    def hide(self, seats: Sequence[int]) -> None:
        """Let these open seats count as taken while the rest of a choice is looked for; `show` undoes it."""
        self._mark(seats, 0)

    def show(self, seats: Sequence[int]) -> None:
        self._mark(seats, 1)

    def _mark(self, seats: Sequence[int], free: int) -> None:
        layout = self._layout
        for seat in seats:
            slot = layout.slot_of[seat]
            self.free[slot] = free & layout.open_slots[slot]
            self.changed.add(layout.stretch_of[seat])
            if free:
                self._came_free.add(layout.stretch_of[seat])

    def _in_parts(self, mask: int, sizes: list[int]) -> list[int] | None:
        placed: list[int] = []
        near: list[int] = []
        for size in sizes:
            self.refresh()
            if near:
                part = self._nearest(self.fits[size] & mask, size, near)
            else:
                found = self.together(mask, size)
                part = near = found[0] if found is not None else []
            if not part:
                break
            self.hide(part)
            placed += part
        self.show(placed)
        return sorted(placed) if len(placed) == sum(sizes) else None

    def _nearest(self, found: int, quantity: int, near: list[int]) -> list[int]:
        """Of all runs in the blocks ranked next to the part `near` the one whose middle is nearest to its.

        In blocks of its section and category, if there are any.
        """
        layout, plan = self._layout, self._layout.plan
        rank = layout.rank_of[near[0]]
        x, y = plan.middle(near[0], near[-1])
        best, least = -1, (math.inf, 0)
        for one in _around(found & layout.like_of[rank] or found, rank, NEAR_LOOKS):
            first, end = layout.block_slots[one]
            at = self.free.find(_ONES[quantity], first, end)
            while at >= 0:
                other_x, other_y = plan.middle(layout.seat_at[at], layout.seat_at[at + quantity - 1])
                away = ((other_x - x) ** 2 + (other_y - y) ** 2, at)
                if away < least:
                    best, least = at, away
                at = self.free.find(_ONES[quantity], at + 1, end)
        return [] if best < 0 else list(layout.seat_at[best : best + quantity])

    def _has(self, mask: int, quantity: int) -> bool:
        """Whether so many seats are free in these blocks."""
        found = self.fits[1] & mask
        while found and quantity > 0:
            first, end = self._layout.block_slots[_first(found)]
            quantity -= self.free.count(1, first, end)
            found &= found - 1
        return quantity <= 0

    def _best_run(self, rank: int, quantity: int, leaving_none: bool) -> int:
        """First slot of the run with the least cost; -1 when there is none."""
        free, costs = self.free, self._layout.costs
        first, end = self._layout.block_slots[rank]
        ones = _ONES[quantity]
        turn = self._layout.turn(rank, quantity)
        at = free.find(ones, first if turn < 0 else turn, end)
        while at >= 0 and leaving_none and self._leaves_one(at, quantity):
            at = free.find(ones, at + 1, end)
        if turn >= 0:  # further from it on either side only costs more: the nearest run on each will do
            before = free.rfind(ones, first, turn + quantity - 1)
            while before >= 0 and leaving_none and self._leaves_one(before, quantity):
                before = free.rfind(ones, first, before + quantity - 1)
            if at < 0 or (
                before >= 0 and costs[before + quantity] - costs[before] <= costs[at + quantity] - costs[at]
            ):
                return before
            return at
        best, least = at, math.inf
        while at >= 0:
            cost = costs[at + quantity] - costs[at]
            if cost < least and not (leaving_none and self._leaves_one(at, quantity)):
                best, least = at, cost
            at = free.find(ones, at + 1, end)
        return best

    def _leaves_one(self, at: int, quantity: int) -> bool:
        """Whether this run, once taken, leaves a single free seat beside it."""
        free, behind = self.free, at + quantity
        return bool((free[at - 1] and not free[at - 2]) or (free[behind] and not free[behind + 1]))

    def _look_at(self, rank: int, *, alone: bool) -> None:
        """Put a block's free runs into the masks. `alone`: no other block is in its stretch."""
        first, end = self._layout.block_slots[rank]
        runs = {len(run) for run in self.free[first:end].split(b"\x00")}
        largest = min(max(runs), QUANTITY_MAX)
        sizes = 0
        if alone:
            for run in runs:
                sizes |= _LEAVING_NONE[min(run, QUANTITY_MAX + 2)]
        else:  # a seat that is free behind its end is company
            for quantity in range(1, largest + 1):
                sizes |= (self._best_run(rank, quantity, True) >= 0) << quantity
        bit = 1 << rank
        before, self._largest[rank] = self._largest[rank], largest
        for quantity in range(min(before, largest) + 1, max(before, largest) + 1):
            self.fits[quantity] ^= bit
            if largest > before:
                self._instead[quantity].clear()
        other, self._sizes[rank] = self._sizes[rank] ^ sizes, sizes
        while other:
            self.leaving_none[_first(other)] ^= bit
            other &= other - 1


def _around(mask: int, rank: int, count: int) -> list[int]:
    """So many ranks of the mask from `rank` on, and so many before it."""
    behind, before = mask >> rank, mask & (1 << rank) - 1
    ranks: list[int] = []
    while behind and len(ranks) < count:
        ranks.append(rank + _first(behind))
        behind &= behind - 1
    count += len(ranks)
    while before and len(ranks) < count:
        ranks.append(before.bit_length() - 1)
        before ^= 1 << ranks[-1]
    return ranks


def _first(mask: int) -> int:
    """The lowest bit: the best rank, or the smallest size."""
    return (mask & -mask).bit_length() - 1
