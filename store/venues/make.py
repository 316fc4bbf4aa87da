"""Makes venues: theatres, arenas and standing halls of a wanted size, ready to be drawn.

Deterministic: the same kind, size and currency give the same plan, seat by seat. Seats are one
`SEAT_PITCH` apart and rows one `ROW_PITCH`, the stage is at the top. The rows of a shape are filled
from the stage outwards; the last one takes what is left, in its middle.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from msgspec.structs import replace

from store import plan as plans
from store.plan import Area, Category, Plan, Seat, Section
from store.venues import arena, theatre
from store.venues.checks import PlanError, refuse_unless
from store.venues.layout import MARGIN, ROW_PITCH, SEAT_PITCH, STAGE_ROOM, area_size
from store.venues.reading import PALETTE
from store.venues.rowshapes import RowShape, fill

Kind = Literal["theatre", "arena", "hall"]
KINDS: tuple[Kind, ...] = ("theatre", "arena", "hall")
HALL_STANDING = 2_000
_PRICES_MINOR = (9500, 7500, 5500, 3500)
_NAMES = ("A", "B", "C", "D")


@dataclass
class _Making:
    """A venue on its way: sections get their number when they get their first seat."""

    sections: dict[str, int] = field(default_factory=dict)
    seats: list[Seat] = field(default_factory=list)
    areas: list[Area] = field(default_factory=list)

    def add(self, rows: Sequence[RowShape], wanted: int) -> None:
        """Fills rows in order until `wanted` seats stand."""
        for row, taken in fill(rows, wanted):
            first = 1
            for part, places in taken:
                if not places:
                    continue
                section = self.sections.setdefault(part.section, len(self.sections))
                for offset, (x, y) in enumerate(places):
                    number = first + offset
                    accessible = row.wheelchairs and offset in (0, len(places) - 1) and len(places) > 3
                    companion = row.wheelchairs and offset in (1, len(places) - 2) and len(places) > 3
                    guid = f"{part.prefix}-{row.label}-{number}"
                    self.seats.append(
                        Seat(guid, section, row.label, str(number), row.category, x, y, accessible, companion)
                    )
                first = 1 if part.numbers_restart else first + len(places)


def make(
    kind: str, seats: int, *, name: str | None = None, currency: str = "EUR", standing: int | None = None
) -> Plan:
    """A checked venue with exactly `seats` numbered seats.

    `kind`: `theatre` (stalls, circle and balcony in curved rows), `arena` (blocks in tiers around a
    standing floor) or `hall` (a standing floor, and a balcony if `seats` > 0). `standing` is the
    capacity of the floor: for an arena a quarter of the seats unless given, for a hall 2,000; a theatre
    has none. PlanError names the argument that is out of bounds.
    """
    refuse_unless(kind in KINDS, "kind", f"must be one of {', '.join(KINDS)}, not {kind!r}")
    least = 0 if kind == "hall" else 1
    fits = type(seats) is int and least <= seats <= plans.SEATS_MAX
    refuse_unless(fits, "seats", f"must be from {least} to {plans.SEATS_MAX:,}, not {seats!r}")
    if standing is not None:
        fits = type(standing) is int and 1 <= standing <= plans.AREA_CAPACITY_MAX
        refuse_unless(fits, "standing", f"must be from 1 to {plans.AREA_CAPACITY_MAX:,}, not {standing!r}")
    making = _Making()
    if kind == "theatre":
        if standing is not None:
            raise PlanError("standing", "a theatre has no standing places; make an arena or a hall")
        focal = _make_theatre(making, seats)
    elif kind == "arena":
        focal = _make_arena(making, seats, standing or max(100, seats // 4))
    else:
        focal = _make_hall(making, seats, standing or HALL_STANDING)
    plan = _finished(making, name or _usual_name(kind, seats), currency, focal)
    plans.check(plan)
    return plan


def _usual_name(kind: str, seats: int) -> str:
    return f"{kind.capitalize()} {seats}" if seats else f"Standing {kind}"


def _make_theatre(making: _Making, seats: int) -> tuple[float, float]:
    levels, focal = theatre.levels(seats)
    for level in levels:
        making.add(level.rows, level.seats)
    return focal


def _make_arena(making: _Making, seats: int, standing: int) -> tuple[float, float]:
    bowl = arena.bowl(seats, area_size(standing))
    making.add(bowl.rows, seats)
    x, y, width, height = bowl.floor
    making.areas.append(Area("floor", "Floor standing", 0, standing, x, y, width, height))
    return bowl.focal


def _make_hall(making: _Making, seats: int, standing: int) -> tuple[float, float]:
    """A pit in front for three in ten from 100 places on, the floor behind it, a balcony at the rear."""
    pit = standing * 3 // 10 if standing >= 100 else 0
    width, height = area_size(standing)
    left, y = -width / 2, STAGE_ROOM / 2
    for guid, label, category, capacity in (
        ("pit", "Front standing", 0, pit),
        ("floor", "Floor standing", 1, standing - pit),
    ):
        if capacity:
            deep = max(2 * ROW_PITCH, height * capacity / standing)
            making.areas.append(Area(guid, label, category, capacity, left, y, width, deep))
            y += deep + SEAT_PITCH
    per_row = max(12, math.ceil(math.sqrt(seats * 4)), min(200, int(width / SEAT_PITCH)))
    making.add(theatre.straight_rows("Balcony", per_row, seats, y + 2 * ROW_PITCH, category=2), seats)
    return 0.0, 0.0


def _finished(making: _Making, name: str, currency: str, focal: tuple[float, float]) -> Plan:
    """Moves everything on the paper, and drops the categories nobody needs."""
    xs = [seat.x for seat in making.seats] + [focal[0]]
    ys = [seat.y for seat in making.seats] + [focal[1] - STAGE_ROOM / 2]
    for area in making.areas:
        xs += [area.x, area.x + area.width]
        ys += [area.y, area.y + area.height]
    by_x, by_y = MARGIN - min(xs), MARGIN - min(ys)
    used = sorted({seat.category for seat in making.seats} | {area.category for area in making.areas})
    renumbered = {category: index for index, category in enumerate(used)}
    seats = [
        replace(seat, category=renumbered[seat.category], x=seat.x + by_x, y=seat.y + by_y)
        for seat in making.seats
    ]
    areas = [
        replace(
            area, category=renumbered[area.category], x=round(area.x + by_x, 1), y=round(area.y + by_y, 1)
        )
        for area in making.areas
    ]
    return plans.number(
        name,
        currency,
        [Category(_NAMES[i], _PRICES_MINOR[old], currency, PALETTE[old]) for i, old in enumerate(used)],
        [Section(section) for section in making.sections],
        seats,
        areas,
        focal=(round(focal[0] + by_x, 1), round(focal[1] + by_y, 1)),
        size=(round(max(xs) + by_x + MARGIN, 1), round(max(ys) + by_y + MARGIN, 1)),
    )
