"""How the first version of the decision chose seats: kept to decide its ledgers again, and for nothing else.

The best seats were the first run of neighbours in the plan's own order; there was no ladder, no party, no
fallback. What it could not read then stays unreadable. Recorded in `tests/allocator/recorded`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from allocator.decide import KEY_REUSED, Ask, Fact, decide
from allocator.decided import Claim, Decided, Row
from allocator.layout import Layout
from allocator.memory import Hold, Memory, Overlay
from allocator.wishes import UNREADABLE, Wish, Wishes
from store.words import QUANTITY_MAX, EventState, HoldId, LedgerKind, NameText, Outcome, Quantity, ShortText


class Best(Struct, frozen=True, forbid_unknown_fields=True):
    """As many neighbours, of a section or category or any."""

    quantity: Quantity
    section: NameText | None = None
    category: NameText | None = None


class Want(Struct, frozen=True, forbid_unknown_fields=True):
    """What could be asked for: all or nothing."""

    seats: Annotated[tuple[ShortText, ...], Meta(max_length=QUANTITY_MAX)] = ()
    best: Best | None = None
    areas: Annotated[dict[ShortText, Quantity], Meta(max_length=QUANTITY_MAX)] = {}


_decode_want = msgspec.json.Decoder(Want).decode


class FirstWish(Wish):
    """A checked want."""

    __slots__ = ("areas", "best", "quantity", "seats")

    def __init__(self, seats: tuple[int, ...], best: Best | None, areas: tuple[tuple[int, int], ...]) -> None:
        self.seats, self.best, self.areas = seats, best, areas
        self.quantity = len(seats) + (best.quantity if best else 0) + sum([count for _, count in areas])
        super().__init__("" if self.quantity else "nothing_asked_for")


class FirstWishes(Wishes):
    """Reads wants as that version did."""

    __slots__ = ()

    def _read(self, text: bytes) -> Wish:
        try:
            return _resolve(_decode_want(text), self.layout)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Wish(UNREADABLE)


def decide_first(
    memory: Memory,
    overlay: Overlay,
    batch_no: int,
    batch_time: int,
    facts: Sequence[Fact],
    asks: Sequence[Ask],
) -> Decided:
    """As `allocator.decide.decide`: facts and expiries are as they are today, requests as they were."""
    decided = decide(memory, overlay, batch_no, batch_time, facts, ())
    expires_at = batch_time + memory.policy.hold_ttl_seconds * 1_000_000
    for ask in asks:
        if ask.conflict:
            answer = Outcome.CONFLICT, KEY_REUSED
        elif ask.wish.reason:
            answer = Outcome.INVALID, f'{{"reason":"{ask.wish.reason}"}}'
        elif memory.policy.state is not EventState.OPEN:
            answer = Outcome.CLOSED, f'{{"reason":"event_{memory.policy.state}"}}'
        else:
            hold_id = HoldId(batch_no << 16 | len(decided.rows))
            answer = _answer(memory, overlay, ask, hold_id, expires_at, decided)
        row = Row(LedgerKind.REQUEST, ask.arrival, ask.buyer, ask.request_id, ask.want, *answer)
        decided.rows.append(row)
    return decided


def _resolve(want: Want, layout: Layout) -> Wish:
    seats = [layout.seat_by_guid.get(guid, -1) for guid in want.seats]
    if -1 in seats:
        return Wish("unknown_seat")
    if len(set(seats)) < len(seats):
        return Wish("repeated_seat")
    unknown = want.best and _what_is_unknown(want.best, layout)
    if unknown:
        return Wish(unknown)
    areas = [(layout.area_by_guid.get(guid, -1), count) for guid, count in want.areas.items()]
    if any(area == -1 for area, _ in areas):
        return Wish("unknown_area")
    return FirstWish(tuple(seats), want.best, tuple(sorted(areas)))


def _what_is_unknown(best: Best, layout: Layout) -> str:
    plan = layout.plan
    of_blocks = {
        (plan.sections[block.section].name, plan.categories[block.category].name) for block in plan.blocks
    }
    if best.section is not None and best.section not in {section for section, _ in of_blocks}:
        return "unknown_section"
    if best.category is not None and best.category not in {category for _, category in of_blocks}:
        return "unknown_category"
    there = any(_is_of(best, section, category) for section, category in of_blocks)
    return "" if there else "no_such_seats"


def _is_of(best: Best, section: str, category: str) -> bool:
    return best.section in (None, section) and best.category in (None, category)


def _answer(
    memory: Memory, overlay: Overlay, ask: Ask, hold_id: HoldId, expires_at: int, decided: Decided
) -> tuple[Outcome, str]:
    wish, layout = ask.wish, memory.layout
    assert isinstance(wish, FirstWish), "it was read as that version read it"
    taken = [layout.seat_json[seat] for seat in wish.seats if memory.hold_of[seat]]
    if taken:
        return Outcome.TAKEN, f'{{"taken":[{",".join(taken)}]}}'
    most = memory.policy.seats_per_buyer_max
    if memory.count_by_buyer.get(ask.buyer, 0) + wish.quantity > most:
        return Outcome.LIMIT_REACHED, f'{{"reason":"limit","limit":{most}}}'
    for area, quantity in wish.areas:
        if memory.areas_free[area] < quantity:
            return Outcome.SOLD_OUT, f'{{"reason":"area_full","free":{memory.areas_free[area]}}}'
    seats = wish.seats
    if wish.best is not None:
        found = _first_run(memory, wish.best, seats)
        if not found:
            return Outcome.SOLD_OUT, '{"reason":"none_together"}'
        seats = (*seats, *found)
    hold = Hold(ask.buyer, seats, wish.areas, expires_at)
    overlay.claim(hold_id, hold)
    decided.claims.append(Claim(hold_id, hold, ask.request_id))
    told = ",".join([layout.seat_json[seat] for seat in seats])
    areas = ",".join([f"{layout.area_json[area]}:{quantity}" for area, quantity in wish.areas])
    ends = expires_at // 1000
    return Outcome.HELD, f'{{"hold":"{hold_id}","seats":[{told}],"areas":{{{areas}}},"expires_at":{ends}}}'


def _first_run(memory: Memory, best: Best, but: tuple[int, ...]) -> range | None:
    """The first free neighbours in the plan's own order. Seats in `but` are asked for by name too."""
    plan = memory.layout.plan
    for block in plan.blocks:
        if _is_of(best, plan.sections[block.section].name, plan.categories[block.category].name):
            run = 0
            for seat in range(block.first, block.first + block.length):
                run = 0 if memory.hold_of[seat] or seat in but else run + 1
                if run == best.quantity:
                    return range(seat + 1 - run, seat + 1)
    return None
