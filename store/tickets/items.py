"""What an order's tickets are, derived: pure. Rows say only what the order itself does not.

An item is one seat or one standing place of an order. Places have numbers of their own within the order,
from 1: those of an area are as many as the order has places there, the lowest that are not gone. So a place
that went never comes back under its number, and what is left keeps its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from store.errors import NotFound

SEAT: Final = -1
"""In the place of an area's number: the item is a numbered seat."""
_NAME: Final = re.compile(r"(?:(0|[1-9][0-9]{0,5})-)?(0|[1-9][0-9]{0,8})")


class Item(NamedTuple):
    """`area` is `SEAT` and `number` the seat's in the plan; or an area's, and the place's in the order."""

    area: int
    number: int

    @property
    def name(self) -> str:
        """`12` for a seat, `0-3` for a place: how it is called in addresses and tokens."""
        return str(self.number) if self.area == SEAT else f"{self.area}-{self.number}"


class Remembered(Struct, frozen=True):
    """A row of `ticket`; without one an item is as this says."""

    serial: int = 1
    holder: str | None = None
    """Who has it, if not the order's buyer."""
    offer_code: str | None = None
    offered: bool = False
    gone: bool = False
    checked_at: int | None = None
    """Microseconds."""
    checked_by: str | None = None


Rows = Mapping[Item, Remembered]
NOTHING: Final = Remembered()


def item_of(name: str) -> Item:
    """The item of that name; raises `NotFound` (ticket_not_found)."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise not_found(name)
    area, number = found.groups()
    return Item(SEAT if area is None else int(area), int(number))


def not_found(name: str) -> NotFound:
    """There is no such ticket for who asks."""
    return NotFound(
        "ticket_not_found", f"You have no ticket {name[:20]!r} of this order. Look at the order again."
    )


def places_there(area: int, count: int, rows: Rows) -> list[Item]:
    """The items of the `count` places that an order has of an area."""
    found: list[Item] = []
    number = 1
    while len(found) < count:
        item = Item(area, number)
        if not rows.get(item, NOTHING).gone:
            found.append(item)
        number += 1
    return found


def items_there(seats: Iterable[int], areas: Mapping[int, int], rows: Rows) -> list[Item]:
    """All items of an order that has these seats and so many places of each area."""
    found = [Item(SEAT, seat) for seat in sorted(seats)]
    for area, count in sorted(areas.items()):
        found += places_there(area, count, rows)
    return found


def places_to_take(area: int, has: int, count: int, rows: Rows) -> list[Item]:
    """Which of an area's places go when only their number is said: first those that nobody was given or was
    let in with, of these the highest.
    """

    def missed(item: Item) -> tuple[bool, bool, int]:
        row = rows.get(item, NOTHING)
        return row.checked_at is not None, row.holder is not None, -item.number

    return sorted(places_there(area, has, rows), key=missed)[:count]


def counted(items: Sequence[Item]) -> tuple[list[int], dict[int, int]]:
    """Seats by number, and how many places of each area."""
    areas: dict[int, int] = {}
    for item in items:
        if item.area != SEAT:
            areas[item.area] = areas.get(item.area, 0) + 1
    return sorted(item.number for item in items if item.area == SEAT), dict(sorted(areas.items()))
