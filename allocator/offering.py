"""Offers: who on the waiting list can be served now, in the list's order, and the hold each of them gets.

A pass goes along the list once. Whoever is over the limit is passed over, and so is a party that what is
free does not seat: both keep their rank. When one of a group is refused for want of seats, nobody behind
it who wants the same is served in this pass either.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from allocator import waiting
from allocator.choosing import Chosen, Refused, first_choice, left_for
from allocator.decided import Claim, Decided, Offered, Row, held_result
from allocator.limits import Allowance
from allocator.memory import Hold, Memory, Overlay
from allocator.waiting import Entry, Group, Lack
from allocator.wishes import Option, Wish
from store.words import EventState, HoldId, LedgerKind, Outcome, WaitId

Servable = tuple[WaitId, Entry, int, Chosen]
"""Who can be served, with which of the choices, and how."""


class OffersFirst(Exception):
    """So much came free for who waits that it takes batches without requests; then these are decided."""


class Offering:
    """Makes a batch's offers: holds for who waits, each a row of the ledger."""

    __slots__ = ("_batch_no", "_batch_time", "_decided", "_has_asks", "_memory", "_overlay")

    def __init__(
        self,
        memory: Memory,
        overlay: Overlay,
        batch_no: int,
        batch_time: int,
        decided: Decided,
        has_asks: bool,
    ) -> None:
        self._memory = memory
        self._overlay = overlay
        self._batch_no = batch_no
        self._batch_time = batch_time
        self._decided = decided
        self._has_asks = has_asks

    def to_all(self) -> None:
        """To whoever can be served, in the list's order. While the event does not sell, to nobody."""
        if self._memory.waiting.groups and self._memory.policy.state is EventState.OPEN:
            self._make(_all_servable(self._memory, self._overlay))

    def to_who_wants(self, wish: Wish) -> None:
        """To those who wait for the same, before a request that could overtake them is answered."""
        group = self._memory.waiting.restless.get(wish.options)
        if group is not None:
            self._make(_servable(self._memory, self._overlay, [group]))

    def _make(self, who: Iterator[Servable]) -> None:
        memory, decided = self._memory, self._decided
        expires_at = self._batch_time + memory.policy.offer_ttl_seconds * 1_000_000
        for wait_id, (buyer, request_id, _, _), choice, chosen in who:
            row = len(decided.rows)
            hold_id = HoldId(self._batch_no << 16 | row)
            hold = Hold(buyer, chosen.seats, chosen.areas, expires_at)
            passed_over = memory.waiting.order.below(wait_id)
            self._overlay.offer(wait_id, hold_id, hold)
            decided.claims.append(Claim(hold_id, hold, request_id))
            decided.offered.append(Offered(wait_id, hold_id, row))
            held = held_result(memory, hold_id, hold, choice, chosen)
            result = f'{held[:-1]},"passed_over":{passed_over}}}'
            given = f'{{"wait":"{wait_id}"}}'
            decided.rows.append(Row(LedgerKind.OFFER, "", buyer, request_id, given, "offered", result))
            if self._overlay.offers >= waiting.OFFERS_PER_BATCH_MAX:
                if self._has_asks:
                    raise OffersFirst
                return


def _all_servable(memory: Memory, overlay: Overlay) -> Iterator[Servable]:
    """A whole pass. Whoever takes from this makes each offer true through `overlay` before the next."""
    memory.seating.refresh()
    memory.waiting.wake_who_may_fit(memory.seating.fits)
    return _servable(memory, overlay, list(memory.waiting.awake))


def _servable(memory: Memory, overlay: Overlay, groups: Iterable[Group]) -> Iterator[Servable]:
    """A pass over these groups alone."""
    entries = memory.waiting.entries
    heads = [(group.waits.first, group) for group in groups if not _sleeps(memory, overlay, group)]
    heapq.heapify(heads)
    over_the_limit: dict[Group, set[int | Allowance]] = {}
    while heads:
        number, group = heads[0]
        entry = entries[WaitId(number)]
        left = left_for(memory, entry.buyer)
        over = over_the_limit.setdefault(group, set())
        served = False
        if left not in over:
            found = first_choice(memory, group.wish, left)
            if not isinstance(found, Refused):
                served = True
                yield WaitId(number), entry, *found
            elif found.outcome is Outcome.LIMIT_REACHED:
                over.add(left)
            else:
                heapq.heappop(heads)
                _sleeps(memory, overlay, group, refused=True)
                continue
        behind = group.waits.after(number)
        if behind is None or (served and _sleeps(memory, overlay, group)):
            heapq.heappop(heads)
        else:
            heapq.heapreplace(heads, (behind, group))


def _sleeps(memory: Memory, overlay: Overlay, group: Group, *, refused: bool = False) -> bool:
    """Whether the group need not be tried, or again, before something comes free; `refused`: it was tried.

    Says no more than a try would, which costs ten times as much.
    """
    wish = group.wish
    if wish.options in memory.waiting.restless:
        return False
    memory.seating.refresh()
    lacks: list[Lack] = []
    for option in wish.options:
        lacked = _lacked(memory, option) or (_needed(option) if refused else [])
        if not lacked:
            return False
        lacks += lacked
    overlay.sleep(group, lacks)
    return True


def _lacked(memory: Memory, option: Option) -> list[Lack]:
    """Of what one must come free before the option can be had by anyone; empty: at first sight it can."""
    fits = memory.seating.fits
    if option.up_to:
        some = any(not memory.hold_of[seat] for seat in option.seats)
        some = some or any(memory.areas_free[area] for area, _ in option.areas)
        some = some or any(party.accessible or fits[1] & party.mask for party in option.parties)
        return [] if some else _needed(option)
    for seat in option.seats:
        if memory.hold_of[seat]:
            return [seat]
    for area, quantity in option.areas:
        if memory.areas_free[area] < quantity:
            return [~area]
    for party in option.parties:
        size = 1 if party.apart else party.quantity
        if not party.accessible and not fits[size] & party.mask:
            return [(party.mask, size)]
    return []


def _needed(option: Option) -> list[Lack]:
    """All that can make a difference to an option that was refused."""
    parties: list[Lack] = [(party.mask, 0) for party in option.parties]
    return [*option.seats, *(~area for area, _ in option.areas), *parties] if option.up_to else parties
