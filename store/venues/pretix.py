"""Reads pretix's open seating-plan JSON.

What the file may contain is in `pretix_file`; here it becomes a plan. Positions add up: zone + row + seat.

- A zone becomes a section; zones of one name become `Main`, `Main (2)`, …; unnamed ones `Zone 1`, ….
- A row of the file is one physical row, even where two rows of a zone share a label.
- A row may have a `rank`, 1 before 2: which rows are best. Every row has one, or none has; without them, and
  of rows of equal rank, those nearer to the stage are better.
- pretix has no prices: `Terms` gives them, and 25.00 where it does not.
- Areas are drawings in pretix. One becomes a standing area only if it is asked for by the text
  written on it (`standing`), with the rectangle around its shape. One whose text says it is the
  stage becomes the focal point; without one, that is the top of the plan, in the middle.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from store import plan as plans
from store.plan import Area, Category, Plan, PlanError, Seat, Section
from store.venues import checks
from store.venues.checks import refuse_unless
from store.venues.pretix_file import PretixArea, PretixFile, PretixSeat, PretixText, PretixZone, parse
from store.venues.reading import DEFAULT_PRICE_MINOR, Terms, as_colour, as_text, refuse_unknown_prices

# What a drawing of the stage is called, in a few languages. Not "orchestra": some houses call the stalls so.
STAGE_WORDS = frozenset({
    "stage", "screen", "bühne", "buehne", "leinwand", "podium", "scène", "scene", "escenario", "palco",
    "palcoscenico",
})  # fmt: skip


class Standing(NamedTuple):
    """How many people an area takes, at the price of which category."""

    capacity: int
    category: str


class _Drawn(NamedTuple):
    """An area of the file: its text and the rectangle around it, in plan coordinates."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


def read_pretix(
    raw: bytes,
    *,
    name: str | None = None,
    terms: Terms | None = None,
    standing: Mapping[str, Standing] | None = None,
) -> Plan:
    """A checked plan, or PlanError with a place such as `zones[0].rows[3].seats[7].category`."""
    terms = terms or Terms()
    file = parse(as_text(raw))
    categories = _categories(file, terms)
    sections = _sections(file)
    seats, rows = _seats(file, {category.name: index for index, category in enumerate(categories)})
    drawn = [_drawn(area, zone) for zone in file.zones for area in zone.areas]
    areas = _standing_areas(drawn, standing or {}, categories)
    size = (file.size.width, file.size.height) if file.size else _extent(seats, areas)
    focal = terms.stage or _stage(drawn) or (size[0] / 2, min([0.0, *(seat.y for seat in seats)]))
    plan = plans.number(
        name or file.name,
        terms.currency,
        categories,
        sections,
        seats,
        areas,
        focal=focal,
        size=size,
        rows=rows,
        ranks=_ranks(file),
    )
    plans.check(plan)
    return plan


def drawings(raw: bytes, standing: Mapping[str, Standing] | None = None) -> list[str]:
    """The texts of areas that are drawn and neither the stage nor a standing area. The file can be read."""
    file = parse(as_text(raw))
    drawn = [_drawn(area, zone) for zone in file.zones for area in zone.areas]
    named = [area for area in drawn if area.text and area.text not in (standing or {})]
    return list(dict.fromkeys(area.text for area in named if _stage([area]) is None))


def _categories(file: PretixFile, terms: Terms) -> list[Category]:
    checks.text(file.name, "name", plans.NAME_LENGTH_MAX)
    checks.count(len(file.categories), "categories", plans.CATEGORIES_MAX, "categories")
    seen: dict[str, str] = {}
    for index, category in enumerate(file.categories):
        place = f"categories[{index}]"
        checks.text(category.name, f"{place}.name", plans.NAME_LENGTH_MAX)
        checks.unique(category.name, f"{place}.name", place, seen, "name")
    refuse_unknown_prices(terms, set(seen))
    default = DEFAULT_PRICE_MINOR if terms.default_price_minor is None else terms.default_price_minor
    return [
        Category(
            category.name,
            terms.prices_minor.get(category.name, default),
            terms.currency,
            as_colour(category.color, index),
        )
        for index, category in enumerate(file.categories)
    ]


def _sections(file: PretixFile) -> list[Section]:
    checks.count(len(file.zones), "zones", plans.SECTIONS_MAX, "zones")
    names: dict[str, None] = {}
    for index, zone in enumerate(file.zones):
        checks.text(zone.name, f"zones[{index}].name", plans.NAME_LENGTH_MAX - 8, 0)
        name = base = zone.name or f"Zone {index + 1}"
        copy = 1
        while name in names:
            copy += 1
            name = f"{base} ({copy})"
        names[name] = None
    return [Section(name) for name in names]


def _seats(file: PretixFile, categories: Mapping[str, int]) -> tuple[list[Seat], list[int]]:
    checks.count(
        sum(len(row.seats) for zone in file.zones for row in zone.rows), "zones", plans.SEATS_MAX, "seats"
    )
    seats: list[Seat] = []
    rows: list[int] = []
    guids: dict[str, str] = {}
    row_number = 0
    for z, zone in enumerate(file.zones):
        for r, row in enumerate(zone.rows):
            checks.text(row.row_number, f"zones[{z}].rows[{r}].row_number", plans.LABEL_LENGTH_MAX, 0)
            left, top = zone.position.x + row.position.x, zone.position.y + row.position.y
            for s, seat in enumerate(row.seats):
                place = f"zones[{z}].rows[{r}].seats[{s}]"
                seats.append(_seat(seat, place, guids, categories, z, row.row_number, left, top))
                rows.append(row_number)
            row_number += 1
    return seats, rows


def _ranks(file: PretixFile) -> list[int] | None:
    """Of each seat's row, in the order of `_seats`; None where no row has one."""
    placed = [
        (f"zones[{z}].rows[{r}].rank", row)
        for z, zone in enumerate(file.zones)
        for r, row in enumerate(zone.rows)
    ]
    if all(row.rank is None for _, row in placed):
        return None
    found: list[int] = []
    for place, row in placed:
        if row.rank is None:
            story = f"row {checks.shown(row.row_number)} has no rank; give one to every row, or to none"
            raise PlanError(place, story)
        checks.whole(row.rank, place, 1, plans.RANK_MAX)
        found += [row.rank] * len(row.seats)
    return found


def _seat(
    seat: PretixSeat,
    place: str,
    guids: dict[str, str],
    categories: Mapping[str, int],
    section: int,
    row: str,
    left: float,
    top: float,
) -> Seat:
    checks.text(seat.seat_guid, f"{place}.seat_guid", plans.GUID_LENGTH_MAX)
    checks.unique(seat.seat_guid, f"{place}.seat_guid", place, guids, "seat_guid")
    checks.text(seat.seat_number, f"{place}.seat_number", plans.LABEL_LENGTH_MAX)
    known = seat.category in categories
    refuse_unless(known, f"{place}.category", f"there is no category {checks.shown(seat.category)}")
    x, y = left + seat.position.x, top + seat.position.y
    checks.coordinate(x, f"{place}.position.x")
    checks.coordinate(y, f"{place}.position.y")
    return Seat(seat.seat_guid, section, row, seat.seat_number, categories[seat.category], x, y)


def _drawn(area: PretixArea, zone: PretixZone) -> _Drawn:
    """The rectangle around an area. Circles and ellipses have their centre at the position; the
    points of a polygon are relative to it; a rectangle's position is its left upper corner."""
    if area.polygon and area.polygon.points:
        corners = [(point.x, point.y) for point in area.polygon.points]
    elif area.circle or area.ellipse:
        radius_x = area.circle.radius if area.circle else area.ellipse.radius.x if area.ellipse else 0.0
        radius_y = area.circle.radius if area.circle else area.ellipse.radius.y if area.ellipse else 0.0
        corners = [(-radius_x, -radius_y), (radius_x, -radius_y), (radius_x, radius_y), (-radius_x, radius_y)]
    else:
        width = area.rectangle.width if area.rectangle else area.width or 0.0
        height = area.rectangle.height if area.rectangle else area.height or 0.0
        corners = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]
    turn = math.radians(area.rotation % 360)
    cos, sin = math.cos(turn), math.sin(turn)
    left, top = zone.position.x + area.position.x, zone.position.y + area.position.y
    xs = [left + x * cos - y * sin for x, y in corners]
    ys = [top + x * sin + y * cos for x, y in corners]
    written = area.text.text if isinstance(area.text, PretixText) else area.text or ""
    return _Drawn(written.strip(), min(xs), min(ys), max(xs), max(ys))


def _stage(drawn: Sequence[_Drawn]) -> tuple[float, float] | None:
    for area in drawn:
        if STAGE_WORDS & set(re.findall(r"\w+", area.text.casefold())):
            return (area.left + area.right) / 2, (area.top + area.bottom) / 2
    return None


def _standing_areas(
    drawn: Sequence[_Drawn], standing: Mapping[str, Standing], categories: Sequence[Category]
) -> list[Area]:
    numbers = {category.name: index for index, category in enumerate(categories)}
    areas: list[Area] = []
    for text, (capacity, category) in standing.items():
        place = f"area {text}"
        found = [area for area in drawn if area.text == text]
        written = ", ".join(sorted({area.text for area in drawn if area.text})[:10]) or "none"
        refuse_unless(bool(found), place, f"the file has no area with that text; it has: {written}")
        refuse_unless(len(found) == 1, place, f"the file has {len(found)} areas with that text")
        refuse_unless(category in numbers, place, f"there is no category {checks.shown(category)}")
        checks.whole(capacity, place, 1, plans.AREA_CAPACITY_MAX)
        box = found[0]
        width, height = max(1.0, box.right - box.left), max(1.0, box.bottom - box.top)
        guid = re.sub(r"\W+", "-", text.casefold()).strip("-") or f"area-{len(areas) + 1}"
        areas.append(Area(guid, text, numbers[category], capacity, box.left, box.top, width, height))
    return areas


def _extent(seats: Sequence[Seat], areas: Sequence[Area]) -> tuple[float, float]:
    margin = 20.0
    right = [seat.x for seat in seats] + [area.x + area.width for area in areas]
    bottom = [seat.y for seat in seats] + [area.y + area.height for area in areas]
    return max([1.0, *right]) + margin, max([1.0, *bottom]) + margin
