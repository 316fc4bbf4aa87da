"""What the allocator knows of an event between transactions, and the overlay decisions are made on.

`Memory` is the state after the last known COMMIT. An `Overlay` is one attempt at a batch: it writes
into memory and remembers what was there, so reading costs nothing extra and `discard` puts
everything back when the transaction did not become true. Nothing here reads a clock or talks to anyone.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from allocator import waiting
from allocator.layout import Layout
from allocator.limits import count_limited, limits_by_number
from allocator.seating import Seating
from allocator.waiting import Entry, Group, Lack, WaitingList
from allocator.wishes import Wish, Wishes
from store.categories import after
from store.words import Blocks, EventState, HoldId, Policy, Recategorise, Returned, Sold, WaitId

BLOCKED = -1
"""In `Memory.hold_of`: the seat is not for sale. 0 means free, anything else names a hold or order."""


class Hold:
    """An active hold in memory. `expires_at` in microseconds moves when lost time is given back;
    `quantity` is seats and standing places together."""

    __slots__ = ("areas", "buyer", "expires_at", "quantity", "seats")

    def __init__(
        self, buyer: str, seats: tuple[int, ...], areas: tuple[tuple[int, int], ...], expires_at: int
    ) -> None:
        self.buyer = buyer
        self.seats = seats
        self.areas = areas
        self.expires_at = expires_at
        self.quantity = len(seats) + sum([quantity for _, quantity in areas])

    def without(self, part: Hold) -> Hold:
        """What stays when some of it is given back."""
        places = dict(part.areas)
        areas = [(area, quantity - places.pop(area, 0)) for area, quantity in self.areas]
        rest = Hold(
            self.buyer,
            tuple([seat for seat in self.seats if seat not in part.seats]),
            tuple([kept for kept in areas if kept[1] > 0]),
            self.expires_at,
        )
        assert 0 < rest.quantity == self.quantity - part.quantity, "a hold has what is given back, and more"
        return rest


class Memory:
    """One event's state at `batch_no`. Built by `allocator.load`, changed only through an `Overlay`."""

    __slots__ = (
        "areas_free",
        "batch_no",
        "batch_time",
        "category_limits",
        "count_by_buyer",
        "count_by_category",
        "elsewhere",
        "expiries",
        "hold_of",
        "holds",
        "layout",
        "offers_owed",
        "policy",
        "reflected",
        "seating",
        "seats_free",
        "waiting",
    )

    def __init__(self, layout: Layout, policy: Policy) -> None:
        self.layout = layout
        self.policy = policy
        self.batch_no = 0
        self.batch_time = 0
        self.hold_of = [0] * len(layout.plan.seats)
        self.seating = Seating(layout)
        self.seats_free = len(layout.plan.seats)
        self.areas_free = list(layout.area_capacities)
        self.holds: dict[HoldId, Hold] = {}
        self.count_by_buyer: dict[str, int] = {}
        """Seats and places a buyer holds or owns; buyers with none are left out."""
        self.category_limits = limits_by_number(layout, policy)
        """Category number → most of it one buyer may have; empty for nearly every event."""
        self.count_by_category: dict[tuple[str, int], int] = {}
        """(buyer, category number) → seats and places they hold or own, of categories with a limit."""
        self.elsewhere: dict[str, int] = {}
        """Buyer → what they have on the tour's other dates: read for one batch, and known only in it."""
        self.expiries: list[tuple[int, HoldId]] = []
        """A heap; an entry counts only while its hold is active and still expires at that time."""
        self.reflected: frozenset[int] = frozenset()
        """Facts the loaded tables show already: their lost time is not given back a second time, their blocks
        are in `hold_of` and `areas_free`."""
        self.waiting = WaitingList(layout.rank_of)
        self.offers_owed = False
        """The last batch made as many offers as one may: the next goes on."""

    def take(self, seat: int, hold_id: int) -> None:
        """Enter a seat that is not free (loading)."""
        self.hold_of[seat] = hold_id
        self.seating.hide([seat])
        self.seats_free -= 1

    def under(self, layout: Layout) -> None:
        """The same memory by another plan of the same seats and areas, of which some are of other categories.

        Whatever hangs on categories is made anew from what memory knows, the same in owner, standby and
        replay: blocks, ranks and masks, which blocks seat how many, and the waiting list.
        """
        self.layout = layout
        self.seating = Seating(layout)
        self.seating.hide([seat for seat, hold_id in enumerate(self.hold_of) if hold_id])
        self.waiting = self.waiting.under(layout)

    def put(self, hold_id: HoldId, hold: Hold) -> None:
        """Enter an active hold whose seats and places are taken already (loading)."""
        self.holds[hold_id] = hold
        heapq.heappush(self.expiries, (hold.expires_at, hold_id))

    def due(self, now: int) -> HoldId | None:
        """The active hold that ran out first by `now`, or None."""
        expiry = self.next_expiry()
        return self.expiries[0][1] if expiry is not None and expiry <= now else None

    def next_expiry(self) -> int | None:
        """When the next active hold runs out; forgets heap entries that no longer count."""
        while self.expiries:
            expires_at, hold_id = self.expiries[0]
            hold = self.holds.get(hold_id)
            if hold is not None and hold.expires_at == expires_at:
                return expires_at
            heapq.heappop(self.expiries)
        return None


class Overlay:
    """One attempt at a batch. End it with `keep` (COMMIT is known) or `discard` (it is known not to be)."""

    __slots__ = (
        "_areas",
        "_category_counts",
        "_counts",
        "_extended",
        "_holds",
        "_layout",
        "_memory",
        "_policy",
        "_seats",
        "_slept",
        "_waits",
        "offers",
    )

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._seats: list[tuple[int, int]] = []
        self._areas: list[tuple[int, int]] = []
        self._counts: list[tuple[str, int]] = []
        self._category_counts: list[tuple[tuple[str, int], int]] = []
        self._holds: list[tuple[HoldId, Hold | None]] = []
        self._policy = memory.policy
        self._layout = memory.layout
        self._extended: list[tuple[Hold, int]] = []
        self._waits: list[tuple[WaitId, Entry | None]] = []
        """Who began to wait (None) and who ceased to."""
        self._slept: list[Group] = []
        self.offers = 0
        """Made in this batch."""

    def claim(self, hold_id: HoldId, hold: Hold) -> None:
        """Give free seats and places to a new hold."""
        memory = self._memory
        self._name(hold.seats, 0, hold_id)
        memory.seating.hide(hold.seats)
        memory.seats_free -= len(hold.seats)
        for area, quantity in hold.areas:
            self._move_places(area, -quantity)
        self._holds.append((hold_id, None))
        memory.holds[hold_id] = hold
        heapq.heappush(memory.expiries, (hold.expires_at, hold_id))
        self._count(hold, 1)

    def free(self, hold_id: HoldId) -> Hold | None:
        """Take back what a hold has, if memory still knows it as active; None when it does not."""
        memory = self._memory
        hold = memory.holds.pop(hold_id, None)
        if hold is None:
            return None
        self._holds.append((hold_id, hold))
        self._take_back(hold_id, hold)
        return hold

    def free_some(
        self, hold_id: HoldId, seats: tuple[int, ...], areas: tuple[tuple[int, int], ...]
    ) -> Hold | None:
        """Take back some of what an active hold has; what was freed, or None when memory does not know it."""
        memory = self._memory
        hold = memory.holds.get(hold_id)
        if hold is None:
            return None
        freed = Hold(hold.buyer, seats, areas, hold.expires_at)
        self._holds.append((hold_id, hold))
        memory.holds[hold_id] = hold.without(freed)
        self._take_back(hold_id, freed)
        return freed

    def extend(self, hold_id: HoldId, by_us: int) -> Hold | None:
        """Let an active hold run on; None when memory does not know it as active."""
        hold = self._memory.holds.get(hold_id)
        if hold is not None:
            self._extended.append((hold, by_us))
            hold.expires_at += by_us
            heapq.heappush(self._memory.expiries, (hold.expires_at, hold_id))
        return hold

    def settle(self, hold_id: HoldId) -> Hold | None:
        """A hold was paid: its seats keep naming it, it no longer expires. None when it is unknown."""
        hold = self._memory.holds.pop(hold_id, None)
        if hold is not None:
            self._holds.append((hold_id, hold))
        return hold

    def block(self, blocks: Blocks) -> None:
        """An operator took free seats and places off sale."""
        memory = self._memory
        self._name(blocks.seats, 0, BLOCKED)
        memory.seating.hide(blocks.seats)
        memory.seats_free -= len(blocks.seats)
        for area, quantity in blocks.areas:
            self._move_places(area, -quantity)

    def unblock(self, blocks: Blocks) -> None:
        """And put them on sale again."""
        self._come_free(BLOCKED, blocks.seats, blocks.areas)

    def sell(self, hold_id: HoldId, sold: Sold) -> None:
        """An operator sold what was blocked. Its seats name the order; places were off sale and stay so."""
        self._name(sold.seats, BLOCKED, hold_id)

    def take_back(self, hold_id: HoldId, returned: Returned) -> None:
        """An operator took an order back, or some of it: it is free, or off sale."""
        if returned.blocked:  # places were off sale with the order, and stay so
            self._name(returned.seats, hold_id, BLOCKED)
        else:
            self._come_free(hold_id, returned.seats, returned.areas)
        if returned.counted:
            quantity = len(returned.seats) + sum([places for _, places in returned.areas])
            counted = self._memory.count_by_buyer.get(returned.buyer, 0)
            assert counted >= quantity, "an order counts until it is taken back"
            self._count(Hold(returned.buyer, returned.seats, returned.areas, 0), -1)

    def set_policy(self, policy: Policy, *, extend: bool = True) -> None:
        """Take a new policy; on resume every hold that ran at the pause gets the lost time back."""
        memory = self._memory
        paused_at, extend_us = memory.policy.paused_at, policy.holds_extended_us
        if extend and extend_us and paused_at is not None:
            self.give_time(paused_at, extend_us)
        memory.policy = policy
        limits = limits_by_number(memory.layout, policy)
        assert limits.keys() == memory.category_limits.keys() or not memory.count_by_buyer, (
            "which categories have a limit is settled before anybody has anything: what they have is counted"
        )
        memory.category_limits = limits

    def recategorise(self, move: Recategorise) -> None:
        """An operator gave seats and areas another category: from here on all is decided by that plan."""
        memory, plan = self._memory, self._memory.layout.plan
        assert move.version == memory.layout.version + 1, "moves to other categories are taken in one by one"
        touched = {move.category, *(plan.seats[seat].category for seat in move.seats)}
        touched |= {plan.areas[area].category for area in move.areas}
        assert touched.isdisjoint(memory.category_limits) or not memory.count_by_buyer, (
            "what is of a limited category was counted as such; before anybody has anything nothing was"
        )
        memory.under(Layout(after(plan, move), move.version))

    def give_time(self, since: int, lost_us: int) -> None:
        """Every hold that ran at `since` gets the lost time back."""
        for hold in self._memory.holds.values():
            if hold.expires_at > since:
                self._extended.append((hold, lost_us))
                hold.expires_at += lost_us
        self._rebuild_expiries()

    def set_elsewhere(self, counts: dict[str, int]) -> None:
        """What buyers have on the tour's other dates, for as long as this batch lasts."""
        self._memory.elsewhere = counts

    def wait(self, wait_id: WaitId, buyer: str, request_id: str, wish: Wish) -> None:
        """A request goes on the waiting list."""
        self._waits.append((wait_id, None))
        self._memory.waiting.add(wait_id, buyer, request_id, wish)

    def leave(self, wait_id: WaitId) -> None:
        """Its buyer took it off the list. One that is not on it (any more) changes nothing."""
        if wait_id in self._memory.waiting.entries:
            self._waits.append((wait_id, self._memory.waiting.remove(wait_id)))

    def offer(self, wait_id: WaitId, hold_id: HoldId, hold: Hold) -> None:
        """Give free seats and places to a request that waits, which is off the list with this."""
        self._waits.append((wait_id, self._memory.waiting.remove(wait_id)))
        self.claim(hold_id, hold)
        self.offers += 1

    def sleep(self, group: Group, lacks: Sequence[Lack]) -> None:
        """See `WaitingList.sleep`."""
        self._slept.append(group)
        self._memory.waiting.sleep(group, lacks)

    def keep(self, batch_no: int, batch_time: int) -> None:
        """The transaction is true: this is memory now."""
        self._memory.batch_no = batch_no
        self._memory.batch_time = batch_time
        self._memory.elsewhere = {}
        self._memory.offers_owed = self.offers >= waiting.OFFERS_PER_BATCH_MAX

    def discard(self) -> None:
        """The transaction is not true: put everything back as it was."""
        memory = self._memory
        if memory.layout is not self._layout:
            memory.under(self._layout)
        memory.policy = self._policy
        memory.category_limits = limits_by_number(memory.layout, self._policy)
        memory.elsewhere = {}
        for hold, extend_us in self._extended:
            hold.expires_at -= extend_us
        for hold_id, before in reversed(self._holds):
            if before is None:
                del memory.holds[hold_id]
            else:
                memory.holds[hold_id] = before
        for seat, hold_before in reversed(self._seats):
            now_free, was_free = memory.hold_of[seat] == 0, hold_before == 0
            memory.hold_of[seat] = hold_before
            (memory.seating.show if was_free else memory.seating.hide)((seat,))
            memory.seats_free += was_free - now_free
        for area, free in reversed(self._areas):
            memory.areas_free[area] = free
        for buyer, count in reversed(self._counts):
            if count:
                memory.count_by_buyer[buyer] = count
            else:
                memory.count_by_buyer.pop(buyer, None)
        for key, count in reversed(self._category_counts):
            _set_count(memory.count_by_category, key, count)
        wishes = Wishes(memory.layout)
        for wait_id, entry in reversed(self._waits):
            if entry is None:
                memory.waiting.remove(wait_id)
            else:
                wish = wishes.read_again(entry.wish.text)  # it may have left after the plan was moved
                memory.waiting.add(wait_id, entry.buyer, entry.request_id, wish)
        memory.waiting.undo_sleep(self._slept)
        self._rebuild_expiries()

    def _take_back(self, hold_id: HoldId, hold: Hold) -> None:
        self._come_free(hold_id, hold.seats, hold.areas)
        self._count(hold, -1)

    def _come_free(self, had: int, seats: Sequence[int], areas: Sequence[tuple[int, int]]) -> None:
        """Seats that named `had`, and places, are on sale again; who waits for them is known."""
        memory = self._memory
        self._name(seats, had, 0)
        memory.seating.show(seats)
        memory.seats_free += len(seats)
        for area, quantity in areas:
            self._move_places(area, quantity)
        memory.waiting.came_free(seats, areas)

    def _name(self, seats: Sequence[int], had: int, has: int) -> None:
        """These seats name another hold from now on, or none (0), or are `BLOCKED`."""
        hold_of = self._memory.hold_of
        for seat in seats:
            assert hold_of[seat] == had, f"seat {seat} is {_whose(hold_of[seat])}, not {_whose(had)}"
            self._seats.append((seat, had))
            hold_of[seat] = has

    def _move_places(self, area: int, change: int) -> None:
        areas_free = self._memory.areas_free
        self._areas.append((area, areas_free[area]))
        areas_free[area] += change
        assert 0 <= areas_free[area] <= self._memory.layout.area_capacities[area], "places within capacity"

    def _count(self, hold: Hold, sign: int) -> None:
        """What a buyer has becomes more (1) or less (-1) by what the hold has."""
        memory, buyer = self._memory, hold.buyer
        counts, change = memory.count_by_buyer, sign * hold.quantity
        before = counts.get(buyer, 0)
        self._counts.append((buyer, before))
        if before + change:
            counts[buyer] = before + change
        else:
            counts.pop(buyer, None)
        if memory.category_limits:
            limited = count_limited(memory.layout, memory.category_limits, hold.seats, hold.areas)
            for category, count in limited.items():
                key = (buyer, category)
                before = memory.count_by_category.get(key, 0)
                self._category_counts.append((key, before))
                _set_count(memory.count_by_category, key, before + sign * count)

    def _rebuild_expiries(self) -> None:
        memory = self._memory
        memory.expiries = [(hold.expires_at, hold_id) for hold_id, hold in memory.holds.items()]
        heapq.heapify(memory.expiries)


def _set_count(counts: dict[tuple[str, int], int], key: tuple[str, int], count: int) -> None:
    if count:
        counts[key] = count
    else:
        counts.pop(key, None)


def expiry_now(memory: Memory, batch_time: int) -> int:
    """The time holds expire by: the batch's, or while paused the moment of the pause."""
    if memory.policy.state is EventState.PAUSED and memory.policy.paused_at is not None:
        return min(batch_time, memory.policy.paused_at)
    return batch_time


def _whose(hold_of_seat: int) -> str:
    return {0: "free", BLOCKED: "blocked"}.get(hold_of_seat, f"of hold {hold_of_seat}")
