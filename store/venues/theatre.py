"""A theatre: stalls, circle and balcony in rows curved around the stage, with two radial aisles.

All rows are arcs around one point behind the stage, so the aisles between left, centre and right run
straight to it. Categories follow the distance: the front rows of the stalls are the dearest.
"""

import math
from dataclasses import dataclass

from store.venues.layout import ROW_PITCH, SEAT_PITCH
from store.venues.rowshapes import Part, Point, RowShape, arc, letters

HALF_ANGLE = math.radians(48)
AISLE_ANGLE = math.radians(17)  # between the centre line and the middle of an aisle
AISLE_WIDTH = 2.4 * SEAT_PITCH
LEVEL_GAP = 4 * ROW_PITCH
_STAGE_GAP = 5 * ROW_PITCH
_RADIUS_MIN = 9 * ROW_PITCH


@dataclass(frozen=True)
class Level:
    """One floor of the house and how many seats it gets."""

    rows: list[RowShape]
    seats: int


def levels(seats: int) -> tuple[list[Level], Point]:
    """The levels from the stage outwards, and the stage. The arcs' centre is (0, 0)."""
    shares = _shares(seats)
    # Seats of m rows from radius R on: about 2·angle·(R·m + rows·pitch·m²/2) / seat pitch, with R = m rows.
    depth = math.sqrt(shares[0][1] * SEAT_PITCH / (2 * HALF_ANGLE * ROW_PITCH * 1.5))
    radius = first = max(_RADIUS_MIN, round(depth) * ROW_PITCH)
    made = []
    for title, share, categories in shares:
        rows = _rows(title, share, radius, categories)
        made.append(Level(rows, share))
        radius += len(rows) * ROW_PITCH + LEVEL_GAP
    return made, (0.0, first - _STAGE_GAP)


def _shares(seats: int) -> list[tuple[str, int, tuple[int, ...]]]:
    """(level, seats, categories from front to back)."""
    if seats <= 400:
        return [("Stalls", seats, (0, 1, 2))]
    if seats <= 1_200:
        circle = seats * 3 // 10
        return [("Stalls", seats - circle, (0, 0, 1, 1, 1)), ("Circle", circle, (1, 2))]
    circle, balcony = seats * 3 // 10, seats * 2 // 10
    return [
        ("Stalls", seats - circle - balcony, (0, 0, 1, 1, 1)),
        ("Circle", circle, (1, 2)),
        ("Balcony", balcony, (3,)),
    ]


def _rows(title: str, seats: int, radius: float, categories: tuple[int, ...]) -> list[RowShape]:
    """As many rows as the level needs; the last may have more places than it will get."""
    parts_of_rows: list[tuple[Part, ...]] = []
    left = seats
    while left > 0:
        parts = _parts(title, radius + len(parts_of_rows) * ROW_PITCH)
        parts_of_rows.append(parts)
        left -= sum(len(part.places) for part in parts)
    count = len(parts_of_rows)
    return [
        RowShape(
            letters(index),
            categories[index * len(categories) // count],
            parts,
            wheelchairs=title == "Stalls" and index == (count - 2 if count > 2 else 0),
        )
        for index, parts in enumerate(parts_of_rows)
    ]


def _parts(title: str, radius: float) -> tuple[Part, ...]:
    aisle = AISLE_WIDTH / radius / 2
    side = HALF_ANGLE - AISLE_ANGLE - aisle
    centre = 2 * (AISLE_ANGLE - aisle)
    prefix = title.lower()
    made = []
    for name, middle, width in (
        ("left", -(HALF_ANGLE + AISLE_ANGLE + aisle) / 2, side),
        ("centre", 0.0, centre),
        ("right", (HALF_ANGLE + AISLE_ANGLE + aisle) / 2, side),
    ):
        count = max(1, int(width * radius / SEAT_PITCH))
        made.append(Part(f"{title} {name}", prefix, arc((0.0, 0.0), radius, middle, count, SEAT_PITCH)))
    return tuple(made)


def straight_rows(title: str, per_row: int, seats: int, y: float, *, category: int) -> list[RowShape]:
    """Straight rows around x = 0 with one aisle in the middle, the first at `y`."""
    half, prefix = per_row // 2, title.lower()
    inner = AISLE_WIDTH / 2
    rows = []
    for index in range(math.ceil(seats / (2 * half))):
        below = y + index * ROW_PITCH
        left = tuple((-inner - SEAT_PITCH * (half - 1 - i), below) for i in range(half))
        right = tuple((inner + SEAT_PITCH * i, below) for i in range(half))
        parts = (Part(f"{title} left", prefix, left), Part(f"{title} right", prefix, right))
        rows.append(RowShape(letters(index), category, parts, wheelchairs=index == 0))
    return rows
