"""An arena: a standing floor, and around it tiers of blocks in a bowl that is open behind the stage.

The bowl is a rectangle with round corners. Rows run along it, each one `ROW_PITCH` further out, so the
blocks at the sides are rectangles and those in the corners are wedges that widen to the rear. Blocks
are numbered as in real arenas: 101, 102, … from the stage's right around to its left, 201, … above.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from store.venues.layout import ROW_PITCH, SEAT_PITCH
from store.venues.rowshapes import Part, Point, RowShape

TIER_ROWS = 22
TIER_GAP = 3 * ROW_PITCH
BLOCK_GAP = 2.2 * SEAT_PITCH
BLOCK_SEATS = 22  # seats a straight block's row has at most
_CORNER_RADIUS = 6 * SEAT_PITCH
_WEDGES = 3  # blocks a corner


@dataclass(frozen=True)
class Bowl:
    """Rows from the floor outwards, the floor (x, y, width, height) and the stage."""

    rows: list[RowShape]
    floor: tuple[float, float, float, float]
    focal: Point


class _Side(NamedTuple):
    """A straight run of blocks: from `start` along `along`, outwards is `out`."""

    start: Point
    along: Point
    out: Point
    length: float


def bowl(seats: int, floor_least: tuple[float, float]) -> Bowl:
    """A bowl with at least `seats` places around a floor at least as large as `floor_least`."""
    least = max(10 * SEAT_PITCH, floor_least[0], floor_least[1] * 0.7)
    # Grow floor and rows together: about as many rows deep as the floor is half as wide.
    width = least
    while _capacity(width, _row_count(width)) < seats:
        width += 4 * SEAT_PITCH
    row_count = next(count for count in range(1, _row_count(width) + 1) if _capacity(width, count) >= seats)
    rows = [_row(width, index, row_count) for index in range(row_count)]
    inset = 1.5 * ROW_PITCH  # keeps the floor's square corners clear of the round ones
    floor = (-width / 2 + inset, 0.0, width - 2 * inset, _height(width) - inset)
    return Bowl(rows, floor, (0.0, -2 * ROW_PITCH))


def _height(width: float) -> float:
    return 1.45 * width


def _row_count(width: float) -> int:
    return max(3, min(4 * TIER_ROWS, round(width / 2 / ROW_PITCH)))


def _distance(row: int) -> float:
    """How far outside of the floor's walkway a row is."""
    return 2 * ROW_PITCH + row * ROW_PITCH + (row // TIER_ROWS) * TIER_GAP


def _sides(width: float) -> tuple[_Side, _Side, _Side]:
    """Right, bottom, left: clockwise as seen on the map, starting beside the stage."""
    height, r = _height(width), _CORNER_RADIUS
    right, bottom = width / 2, height
    return (
        _Side((right, 0.0), (0.0, 1.0), (1.0, 0.0), height - r),
        _Side((right - r, bottom), (-1.0, 0.0), (0.0, 1.0), width - 2 * r),
        _Side((-right, bottom - r), (0.0, -1.0), (-1.0, 0.0), height - r),
    )


def _block_count(length: float) -> int:
    return max(1, math.ceil(length / (BLOCK_SEATS * SEAT_PITCH + BLOCK_GAP)))


def _straight_seats(length: float) -> int:
    return max(1, int((length / _block_count(length) - BLOCK_GAP) / SEAT_PITCH))


def _wedge_seats(distance: float) -> int:
    arc_length = (math.pi / 2) * (_CORNER_RADIUS + distance) / _WEDGES
    return max(1, int((arc_length - BLOCK_GAP) / SEAT_PITCH))


def _capacity(width: float, rows: int) -> int:
    straight = sum(_block_count(side.length) * _straight_seats(side.length) for side in _sides(width))
    return sum(straight + 2 * _WEDGES * _wedge_seats(_distance(row)) for row in range(rows))


def _row(width: float, index: int, row_count: int) -> RowShape:
    tier, in_tier = divmod(index, TIER_ROWS)
    last = index == row_count - 2 or in_tier == TIER_ROWS - 1
    parts = tuple(
        Part(f"Block {number}", str(number), places, numbers_restart=True)
        for number, places in enumerate(_runs(width, _distance(index)), start=100 * (tier + 1) + 1)
    )
    far = (index + 1) / row_count
    dearest_rows = min(6, math.ceil(row_count / 5))
    category = 0 if index < dearest_rows else 1 if far <= 0.4 else 2 if far <= 0.7 else 3
    return RowShape(str(in_tier + 1), category, parts, wheelchairs=last)


def _runs(width: float, distance: float) -> Iterator[tuple[Point, ...]]:
    """The places of each block in a row, blocks clockwise; in a block clockwise too."""
    right, bottom, left = _sides(width)
    yield from _straight(right, distance)
    yield from _corner((width / 2 - _CORNER_RADIUS, _height(width) - _CORNER_RADIUS), 0.0, distance)
    yield from _straight(bottom, distance)
    yield from _corner((-width / 2 + _CORNER_RADIUS, _height(width) - _CORNER_RADIUS), 90.0, distance)
    yield from _straight(left, distance)


def _straight(side: _Side, distance: float) -> Iterator[tuple[Point, ...]]:
    blocks, count = _block_count(side.length), _straight_seats(side.length)
    share = side.length / blocks
    for block in range(blocks):
        first = share * (block + 0.5) - SEAT_PITCH * (count - 1) / 2
        yield tuple(
            (
                side.start[0] + side.along[0] * (first + SEAT_PITCH * i) + side.out[0] * distance,
                side.start[1] + side.along[1] * (first + SEAT_PITCH * i) + side.out[1] * distance,
            )
            for i in range(count)
        )


def _corner(centre: Point, start_degrees: float, distance: float) -> Iterator[tuple[Point, ...]]:
    """Three wedges of a quarter circle; 0° is to the right, growing clockwise as seen on the map."""
    radius, count = _CORNER_RADIUS + distance, _wedge_seats(distance)
    step = SEAT_PITCH / radius
    for wedge in range(_WEDGES):
        middle = math.radians(start_degrees + 90 / _WEDGES * (wedge + 0.5))
        first = middle - step * (count - 1) / 2
        yield tuple(
            (centre[0] + radius * math.cos(first + step * i), centre[1] + radius * math.sin(first + step * i))
            for i in range(count)
        )
