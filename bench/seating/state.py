"""What an event's seats cost in the allocator's memory, once everything is sold.

Counted, object by object with sys.getsizeof: the allocator's memory (`allocator.memory`), what follows it
(`allocator.seating`) and what decisions need of the plan (`allocator.layout`). Not counted: the plan itself,
whose strings they share. Holds, their buyers and the heap of expiries are told apart: they cost by hold.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from allocator.decide import Ask, decide
from allocator.layout import Layout
from allocator.memory import Memory, Overlay
from allocator.wishes import Wishes
from store.plan import Plan
from store.wire import canonical_want
from store.words import Arrival, EventState, Policy, Want

OF_HOLDS = ("holds", "count_by_buyer", "expiries")
BATCH = 1_000
START_US = 1_763_720_000_000_000


class SeatState(Struct, frozen=True):
    """Bytes of an event's memory."""

    seats: int
    holds: int
    bytes_per_seat: float
    """All but the holds."""
    bytes_per_hold: float


def sold_out(plan: Plan, wants: Iterable[Want]) -> Memory:
    """Memory after these parties in their order."""
    layout = Layout(plan)
    memory, wishes = Memory(layout, Policy(EventState.OPEN)), Wishes(layout)
    line = iter(enumerate(wants))
    while part := list(islice(line, BATCH)):
        overlay = Overlay(memory)
        batch_no, batch_time = memory.batch_no + 1, START_US + memory.batch_no
        decide(memory, overlay, batch_no, batch_time, [], list(_asks(wishes, part)))
        overlay.keep(batch_no, batch_time)
    return memory


def _asks(wishes: Wishes, part: Sequence[tuple[int, Want]]) -> Iterator[Ask]:
    for number, want in part:
        text = canonical_want(want)
        yield Ask(Arrival(f"1-{number}"), f"party-{number:06d}", "r1", text.decode(), wishes.read(text))


def seat_state(memory: Memory) -> SeatState:
    """What this memory costs."""
    memory.seating.refresh()
    counted: set[int] = set()
    _bytes(memory.layout.plan, counted)
    of_holds = sum(_bytes(getattr(memory, name), counted) for name in OF_HOLDS)
    rest = _bytes(memory, counted)
    seats, holds = len(memory.hold_of), len(memory.holds)
    return SeatState(seats, holds, round(rest / seats, 1), round(of_holds / holds, 1) if holds else 0.0)


def _bytes(root: Any, counted: set[int]) -> int:
    """Of everything that is reachable and was not counted before."""
    total, left = 0, [root]
    while left:
        one = left.pop()
        if id(one) in counted or isinstance(one, type):
            continue
        counted.add(id(one))
        total += sys.getsizeof(one)
        if isinstance(one, dict):
            left += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            left += one
        else:
            names = (*getattr(one, "__struct_fields__", ()), *getattr(type(one), "__slots__", ()))
            left += [getattr(one, name) for name in names if hasattr(one, name)]
    return total
