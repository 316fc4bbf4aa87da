"""From the text of a want to numbers of this event's plan, checked once and remembered by text.

In a rush thousands ask for the same thing in the same words; `Wishes` makes that a dict lookup.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import UNSET

from allocator.layout import Layout
from store.wire import decode_want
from store.words import QUANTITY_MAX, Best, Choice, HoldId, Want

REMEMBERED_MAX = 20_000
UNREADABLE = "unreadable"
"""Why a want is invalid that is not one. Its text does not go into the ledger: it may not even be JSON."""
WAITLIST_WITH_MOVE = "waitlist_with_move"
"""Why a want is invalid that would move a hold now or later: by then the hold may be over, or paid."""


class Party(NamedTuple):
    """A `Best` in numbers. `mask` has the blocks it describes."""

    quantity: int
    mask: int
    accessible: int
    apart: bool


class Option(NamedTuple):
    """A `Choice` in numbers."""

    seats: tuple[int, ...]
    parties: tuple[Party, ...]
    areas: tuple[tuple[int, int], ...]
    quantity: int
    up_to: bool


class Wish:
    """A checked want: its options in the buyer's order. `reason` is empty, or says why it is invalid."""

    __slots__ = ("move", "options", "reason", "seat", "text", "waits")

    def __init__(
        self,
        reason: str = "",
        options: tuple[Option, ...] = (),
        move: HoldId | None = None,
        *,
        waits: bool = False,
    ) -> None:
        self.reason = reason
        self.options = options
        self.move = move
        """The hold that one of the options is to replace."""
        self.waits = waits
        """Goes on the waiting list when none of the options can be had."""
        self.text = b""
        """Of what may have to wait: to be read again by another plan."""
        self.seat = -1
        """The one seat that is all that is asked for, as nearly everyone does; -1 otherwise."""
        if len(options) == 1 and move is None and not waits:
            seats, parties, areas, _, _ = options[0]
            if len(seats) == 1 and not parties and not areas:
                self.seat = seats[0]


class Wishes:
    """Reads wants for one layout; remembers at most `REMEMBERED_MAX` of them."""

    __slots__ = ("_known", "layout")

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._known: dict[bytes, Wish] = {}

    def by(self, layout: Layout) -> Wishes:
        """These, if that is the layout they are read for; else new ones that are."""
        return self if layout is self.layout else type(self)(layout)

    def read(self, text: bytes) -> Wish:
        """The wish for this text. Never raises: what cannot be read is invalid, with a reason."""
        wish = self._known.get(text)
        if wish is None:
            if len(self._known) >= REMEMBERED_MAX:
                self._known.clear()
            wish = self._known[text] = self._read(text)
        return wish

    def read_again(self, text: bytes) -> Wish:
        """The wish of who waits, asked for under whatever plan: what is of no such category any longer cannot
        be had, and stays on the list.
        """
        wish = self.read(text)
        if wish.reason:
            wish = _resolve(decode_want(text), self.layout, waiting=True)
            wish.text = text
        return wish

    def _read(self, text: bytes) -> Wish:
        if not text or min(text) < 0x20:  # between the words of JSON; a line of the ledger has none
            return Wish(UNREADABLE)
        try:
            wish = _resolve(decode_want(text), self.layout)
            if wish.waits:
                wish.text = text
            return wish
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Wish(UNREADABLE)


class _Invalid(Exception):
    """Why."""


def _resolve(want: Want, layout: Layout, *, waiting: bool = False) -> Wish:
    if (
        len(want.seats) == 1
        and want.best is None
        and not want.areas
        and not want.fallbacks
        and want.move is UNSET
    ):
        seat = layout.seat_by_guid.get(want.seats[0])  # what nearly everyone asks for
        if seat is None:
            return Wish("unknown_seat")
        return Wish("", (Option((seat,), (), (), 1, False),), waits=want.waitlist)
    if want.waitlist and want.move is not UNSET:
        return Wish(WAITLIST_WITH_MOVE)
    try:
        move = None if want.move is UNSET else HoldId(int(want.move))
        options = tuple(_option(choice, layout, waiting) for choice in want.choices)
        return Wish("", options, move, waits=want.waitlist)
    except _Invalid as invalid:
        return Wish(str(invalid))


def _option(choice: Choice, layout: Layout, waiting: bool) -> Option:
    seats = tuple(layout.seat_by_guid.get(guid, -1) for guid in choice.seats)
    if -1 in seats:
        raise _Invalid("unknown_seat")
    if len(set(seats)) < len(seats):
        raise _Invalid("repeated_seat")
    parties = tuple(_party(best, layout, waiting) for best in choice.parties)
    areas = tuple(sorted((layout.area_by_guid.get(guid, -1), count) for guid, count in choice.areas.items()))
    if areas and areas[0][0] == -1:
        raise _Invalid("unknown_area")
    quantity = len(seats) + sum(party.quantity for party in parties) + sum(count for _, count in areas)
    if not quantity:
        raise _Invalid("nothing_asked_for")
    if quantity > QUANTITY_MAX:
        raise _Invalid("too_many")
    return Option(seats, parties, areas, quantity, choice.up_to and quantity > 1)  # fewer than one is none


def _party(best: Best, layout: Layout, waiting: bool) -> Party:
    mask = layout.mask(best)
    if not mask and not waiting:
        raise _Invalid(_what_is_unknown(best, layout))
    if best.accessible > best.quantity:
        raise _Invalid("more_accessible_than_asked_for")
    return Party(best.quantity, mask, best.accessible, best.apart)


def _what_is_unknown(best: Best, layout: Layout) -> str:
    if best.section is not None and best.section not in layout.section_masks:
        return "unknown_section"
    if best.category is not None and best.category not in layout.category_masks:
        return "unknown_category"
    return "no_such_seats"
