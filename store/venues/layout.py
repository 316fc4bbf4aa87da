"""Where things stand on the drawing when the file does not say. Pure; everything is in plan units.

One seat is `SEAT_PITCH` wide and rows are `ROW_PITCH` apart, here as in made venues, so every map that
we draw ourselves has the same scale.
"""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from store.plan import Area, Seat

SEAT_PITCH = 20.0
ROW_PITCH = 24.0
MARGIN = 40.0
STAGE_ROOM = 120.0
_STACKED_SECTIONS_MAX = 6


class Drawing(NamedTuple):
    """Seats and areas with positions, the stage, and the size of the paper."""

    seats: list[Seat]
    areas: list[Area]
    focal: tuple[float, float]
    size: tuple[float, float]


def area_size(capacity: int) -> tuple[float, float]:
    """Width and height of a standing area: twice as wide as high, about two people a seat's place."""
    height = math.sqrt(capacity * SEAT_PITCH * ROW_PITCH / 4)
    height = min(max(height, 2 * ROW_PITCH), 10_000.0)
    return round(2 * height, 1), round(height, 1)


def around(seats: Sequence[Seat], areas: Sequence[Area]) -> Drawing:
    """Keeps given positions, moved as one so that everything is on the paper; the stage is on top."""
    left = min([seat.x for seat in seats] + [area.x for area in areas])
    top = min([seat.y for seat in seats] + [area.y for area in areas])
    right = max([seat.x for seat in seats] + [area.x + area.width for area in areas])
    bottom = max([seat.y for seat in seats] + [area.y + area.height for area in areas])
    by_x, by_y = max(0.0, MARGIN - left), max(0.0, MARGIN - top)
    return Drawing(
        [replace(seat, x=seat.x + by_x, y=seat.y + by_y) for seat in seats],
        [replace(area, x=area.x + by_x, y=area.y + by_y) for area in areas],
        ((left + right) / 2 + by_x, top + by_y),
        (right + by_x + MARGIN, bottom + by_y + MARGIN),
    )


def tidy(seats: Sequence[Seat], areas: Sequence[Area], section_count: int) -> Drawing:
    """Stage on top, standing areas below it, then the sections in order, their rows front to back.

    Rows are centred, seats in them by number. Few sections stand behind each other, many in a grid.
    """
    by_section: list[dict[str, list[Seat]]] = [{} for _ in range(section_count)]
    for seat in seats:
        by_section[seat.section].setdefault(seat.row, []).append(seat)
    columns = 1 if section_count <= _STACKED_SECTIONS_MAX else math.ceil(math.sqrt(section_count))
    widths = [SEAT_PITCH * max(len(row) for row in rows.values()) for rows in by_section]
    column_width = max([*widths, SEAT_PITCH]) + 2 * SEAT_PITCH
    width = max([columns * column_width, *(area.width for area in areas)]) + 2 * MARGIN
    middle = width / 2
    drawn_areas: list[Area] = []
    y = STAGE_ROOM
    for area in areas:
        drawn_areas.append(replace(area, x=middle - area.width / 2, y=y))
        y += area.height + ROW_PITCH
    drawn: list[Seat] = []
    for shelf in range(0, section_count, columns):
        sections = by_section[shelf : shelf + columns]
        for column, rows in enumerate(sections):
            centre = middle + (column - (len(sections) - 1) / 2) * column_width
            for position, row in enumerate(rows.values()):
                drawn.extend(_centred(row, centre, y + position * ROW_PITCH))
        y += max(len(rows) for rows in sections) * ROW_PITCH + 2 * ROW_PITCH
    return Drawing(drawn, drawn_areas, (middle, STAGE_ROOM / 2), (width, y + MARGIN))


def _centred(row: Sequence[Seat], centre: float, y: float) -> list[Seat]:
    ordered = sorted(row, key=lambda seat: _natural(seat.number))
    first = centre - SEAT_PITCH * (len(row) - 1) / 2
    return [replace(seat, x=first + SEAT_PITCH * index, y=y) for index, seat in enumerate(ordered)]


def _natural(label: str) -> list[tuple[int, int, str]]:
    """Sorts 2 before 10, and A2 before A10."""
    return [
        (0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part)
        for part in re.findall(r"[0-9]+|[^0-9]+", label)
    ]
