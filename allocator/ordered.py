"""Whole numbers in ascending order: found, counted and taken out without walking along all of them.

Most are appended at the end and taken out near the beginning, so they are kept in short blocks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

BLOCK_MAX = 1024
"""A block that grows past this becomes two."""


class Ordered:
    """A sorted set of numbers."""

    __slots__ = ("_blocks", "_count", "_firsts")

    def __init__(self) -> None:
        self._blocks: list[list[int]] = []
        """None of them empty, each above the one before."""
        self._firsts: list[int] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        for block in self._blocks:
            yield from block

    @property
    def first(self) -> int:
        """The smallest; there must be one."""
        return self._firsts[0]

    def add(self, number: int) -> None:
        """Put in a number that is not there."""
        self._count += 1
        at = max(0, bisect_right(self._firsts, number) - 1)
        if not self._blocks:
            self._blocks.append([number])
            self._firsts.append(number)
            return
        block = self._blocks[at]
        insort(block, number)
        self._firsts[at] = block[0]
        if len(block) > BLOCK_MAX:
            middle = len(block) // 2
            self._blocks.insert(at + 1, block[middle:])
            self._firsts.insert(at + 1, block[middle])
            del block[middle:]

    def remove(self, number: int) -> None:
        """Take out a number that is there."""
        at = bisect_right(self._firsts, number) - 1
        block = self._blocks[at]
        place = bisect_left(block, number)
        assert block[place] == number, "only what is there is taken out"
        del block[place]
        self._count -= 1
        if block:
            self._firsts[at] = block[0]
        else:
            del self._blocks[at], self._firsts[at]

    def after(self, number: int) -> int | None:
        """The smallest above `number`."""
        at = max(0, bisect_right(self._firsts, number) - 1)
        for block in self._blocks[at : at + 2]:
            place = bisect_right(block, number)
            if place < len(block):
                return block[place]
        return None

    def below(self, number: int) -> int:
        """How many are smaller than `number`."""
        at = bisect_left(self._firsts, number) - 1
        if at < 0:
            return 0
        return sum(map(len, self._blocks[:at])) + bisect_left(self._blocks[at], number)
