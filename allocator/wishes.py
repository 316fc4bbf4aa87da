"""From the text of a want to numbers of this event's plan, checked once and remembered by text.

In a rush thousands ask for the same thing in the same words; `Wishes` makes that a dict lookup.
"""

from __future__ import annotations

import msgspec

from allocator.layout import Layout, Ranges
from store.wire import decode_want
from store.words import Want

REMEMBERED_MAX = 20_000
UNREADABLE = "unreadable"
"""Why a want is invalid that is not one. Its text does not go into the ledger: it may not even be JSON."""


class Wish:
    """A checked want. `reason` is empty, or says why it is invalid (then nothing else counts)."""

    __slots__ = ("areas", "best_filter", "best_quantity", "best_ranges", "quantity", "reason", "seats")

    def __init__(self, reason: str = "") -> None:
        self.reason = reason
        self.seats: tuple[int, ...] = ()
        self.best_quantity = 0
        self.best_filter: tuple[str | None, str | None] = (None, None)
        self.best_ranges: Ranges = ()
        self.areas: tuple[tuple[int, int], ...] = ()
        self.quantity = 0


class Wishes:
    """Reads wants for one layout; remembers at most `REMEMBERED_MAX` of them."""

    __slots__ = ("_known", "_layout")

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._known: dict[bytes, Wish] = {}

    def read(self, text: bytes) -> Wish:
        """The wish for this text. Never raises: what cannot be read is invalid, with a reason."""
        wish = self._known.get(text)
        if wish is None:
            if len(self._known) >= REMEMBERED_MAX:
                self._known.clear()
            wish = self._known[text] = self._read(text)
        return wish

    def _read(self, text: bytes) -> Wish:
        if not text or min(text) < 0x20:  # between the words of JSON; a line of the ledger has none
            return Wish(UNREADABLE)
        try:
            return _resolve(decode_want(text), self._layout)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Wish(UNREADABLE)


def _resolve(want: Want, layout: Layout) -> Wish:
    wish = Wish()
    if len(want.seats) == 1 and want.best is None and not want.areas:  # what nearly everyone asks for
        seat = layout.seat_by_guid.get(want.seats[0])
        if seat is None:
            return Wish("unknown_seat")
        wish.seats, wish.quantity = (seat,), 1
        return wish
    if want.seats:
        numbers = [layout.seat_by_guid.get(guid, -1) for guid in want.seats]
        if -1 in numbers:
            return Wish("unknown_seat")
        if len(set(numbers)) < len(numbers):
            return Wish("repeated_seat")
        wish.seats = tuple(numbers)
    if want.best is not None:
        wish.best_filter = (want.best.section, want.best.category)
        ranges = layout.ranges_by_filter.get(wish.best_filter)
        if ranges is None:
            return Wish(_what_is_unknown(want, layout))
        wish.best_quantity, wish.best_ranges = want.best.quantity, ranges
    if want.areas:
        places = [(layout.area_by_guid.get(guid, -1), quantity) for guid, quantity in want.areas.items()]
        if any(area == -1 for area, _ in places):
            return Wish("unknown_area")
        wish.areas = tuple(sorted(places))
    wish.quantity = len(wish.seats) + wish.best_quantity + sum(quantity for _, quantity in wish.areas)
    return wish if wish.quantity else Wish("nothing_asked_for")


def _what_is_unknown(want: Want, layout: Layout) -> str:
    assert want.best is not None
    if want.best.section is not None and (want.best.section, None) not in layout.ranges_by_filter:
        return "unknown_section"
    if want.best.category is not None and (None, want.best.category) not in layout.ranges_by_filter:
        return "unknown_category"
    return "no_such_seats"
