"""The rows a made venue is filled with: where its seats can stand, part by part. Pure geometry."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True)
class Part:
    """The places of one section in a row, side by side. A guid is `prefix-row-number`."""

    section: str
    prefix: str
    places: tuple[Point, ...]
    numbers_restart: bool = False


@dataclass(frozen=True)
class RowShape:
    """One row as it can be filled, its parts in physical order. `label` is what is printed."""

    label: str
    category: int
    parts: tuple[Part, ...]
    wheelchairs: bool = False

    @property
    def length(self) -> int:
        return sum(len(part.places) for part in self.parts)


def fill(
    rows: Sequence[RowShape], wanted: int
) -> Iterator[tuple[RowShape, list[tuple[Part, Sequence[Point]]]]]:
    """Takes whole rows in order and of the last one the middle of each part, `wanted` places in all.

    The rows have to be enough: running out of them is our mistake, not a caller's.
    """
    left = wanted
    for row in rows:
        if left == 0:
            return
        if row.length <= left:
            yield row, [(part, part.places) for part in row.parts]
            left -= row.length
            continue
        counts = _shares([len(part.places) for part in row.parts], left)
        yield (
            row,
            [(part, _middle(part.places, count)) for part, count in zip(row.parts, counts, strict=True)],
        )
        left = 0
    assert left == 0, f"the shape's rows are {left} seats short"


def _shares(sizes: Sequence[int], wanted: int) -> list[int]:
    """`wanted` in proportion to `sizes`, rounded so that the sum is exact: largest remainder
    first, then the middle."""
    total = sum(sizes)
    shares = [size * wanted // total for size in sizes]
    by_remainder = sorted(
        range(len(sizes)), key=lambda i: (-(sizes[i] * wanted % total), abs(2 * i + 1 - len(sizes)), i)
    )
    for i in by_remainder[: wanted - sum(shares)]:
        shares[i] += 1
    return shares


def _middle(places: Sequence[Point], count: int) -> Sequence[Point]:
    start = (len(places) - count) // 2
    return places[start : start + count]


def letters(index: int) -> str:
    """0 → A, 25 → Z, 26 → AA, … as rows are lettered."""
    written = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        written = chr(65 + rest) + written
    return written


def arc(centre: Point, radius: float, middle_angle: float, count: int, pitch: float) -> tuple[Point, ...]:
    """`count` places on a circle, `pitch` apart along it, around `middle_angle` (0 is straight down,
    positive to the right), from left to right."""
    step = pitch / radius
    first = middle_angle - step * (count - 1) / 2
    return tuple(
        (
            centre[0] + radius * math.sin(first + step * i),
            centre[1] + radius * math.cos(first + step * i),
        )
        for i in range(count)
    )
