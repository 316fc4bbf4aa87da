"""The greedy picker: one party after the other, each gets the first free seats of what it describes.

What a query with ORDER BY and LIMIT gives: blocks best first, in a block from one end to the other. Serial,
so nobody is overtaken; it looks neither for neighbours nor at what is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.seating.house import House, bits
from bench.seating.judge import Seated
from store.words import Best, Choice, Want


def seats_in_order(house: House, best: Best) -> list[int]:
    """The open seats a party describes, first come the best."""
    return [
        seat
        for rank in bits(house.described(best))
        for seat in range(house.blocks[rank].first, house.blocks[rank].first + house.blocks[rank].length)
        if house.open[seat]
    ]


def sell(house: House, wants: Sequence[Want]) -> list[Seated | None]:
    """Who gets what."""
    picker = _Picker(house)
    return [picker.seat(want) for want in wants]


class _Picker:
    def __init__(self, house: House) -> None:
        self._house = house
        self._free = bytearray(house.open)
        self._in_order: dict[Best, list[int]] = {}
        """Of each description the seats not known to be taken, the best last."""

    def seat(self, want: Want) -> Seated | None:
        for number, choice in enumerate(want.choices):
            seats = self._choose(choice)
            if seats is not None:
                return Seated(number, seats)
        return None

    def _choose(self, choice: Choice) -> tuple[tuple[int, ...], ...] | None:
        if choice.seats:
            named = tuple(sorted(self._house.seat_of[guid] for guid in choice.seats))
            free = all(self._free[seat] for seat in named)
            for seat in named if free else ():
                self._free[seat] = 0
            return (named,) if free else None
        taken: list[tuple[int, ...]] = []
        for best in choice.parties:
            seats = self._first_free(best)
            for seat in seats:
                self._free[seat] = 0
            taken.append(seats)
            if len(seats) < best.quantity:
                for seat in (seat for each in taken for seat in each):
                    self._free[seat] = 1
                return None
        return tuple(taken)

    def _first_free(self, best: Best) -> tuple[int, ...]:
        key = Best(1, best.section, best.category, best.price_min, best.price_max)
        if key not in self._in_order:
            self._in_order[key] = seats_in_order(self._house, best)[::-1]
        left = self._in_order[key]
        while left and not self._free[left[-1]]:
            left.pop()
        found: list[int] = []
        for seat in reversed(left):
            if len(found) == best.quantity:
                break
            if self._free[seat]:
                found.append(seat)
        return tuple(found)
