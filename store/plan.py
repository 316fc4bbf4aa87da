"""A seating plan as every room sees it: types, canonical JSON, numbering, checks. No I/O.

Promises the allocator builds on:
- a seat's number is its index in `plan.seats`; a category's, section's and area's likewise;
- the seats of a block have consecutive numbers, in the order in which people sit beside each other;
- blocks follow each other without gap or overlap, so every seat is in exactly one;
- blocks stand best first: by the rank that the organiser gave to their row, 1 before 2, where ranks were
  given; of equal ranks, or where none were, by the mean distance of the row's seats to the focal point (the
  stage); equal distances (to a millionth) by section, then by the row's first appearance, then left to right.

A block ends at the end of a row, where the category changes, and at an aisle: a step to the next
seat of more than `AISLE_RATIO` times the row's usual pitch. Coordinates are plan units, x to the
right and y down as on a screen; they have no fixed scale.
"""

import hashlib
import math
import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median_low

import msgspec
from msgspec import Struct

from store.venues import checks
from store.venues.checks import PlanError as PlanError
from store.venues.checks import refuse_unless
from store.words import PRICE_MINOR_MAX as PRICE_MINOR_MAX

SEATS_MAX = 100_000
SECTIONS_MAX = 1_000
CATEGORIES_MAX = 100
AREAS_MAX = 200
AREA_CAPACITY_MAX = 5_000_000
GUID_LENGTH_MAX = 64
NAME_LENGTH_MAX = 100
RANK_MAX = 100_000
LABEL_LENGTH_MAX = 32
AISLE_RATIO = 1.75
# A row with fewer steps than this cannot tell its own pitch from an aisle; its section helps.
_STEPS_THAT_TELL_PITCH = 3

_CURRENCY = re.compile(r"[A-Z]{3}")
_COLOUR = re.compile(r"#[0-9a-f]{6}")


class Category(Struct, frozen=True):
    """A price level. `price_minor` counts the currency's smallest unit; `colour` is `#rrggbb`."""

    name: str
    price_minor: int
    currency: str
    colour: str


class Section(Struct, frozen=True):
    """A named part of the venue, as printed on a ticket."""

    name: str


class Seat(Struct, frozen=True, array_like=True):
    """One seat. `section` and `category` are numbers; `row` and `number` are what is printed."""

    guid: str
    section: int
    row: str
    number: str
    category: int
    x: float
    y: float
    accessible: bool = False
    companion: bool = False


class Block(Struct, frozen=True, array_like=True):
    """Neighbouring seats `first … first + length - 1` of one row and one category, between aisles."""

    first: int
    length: int
    section: int
    category: int


class Area(Struct, frozen=True):
    """A general-admission part: a capacity and a rectangle on the map, its left upper corner at x, y."""

    guid: str
    name: str
    category: int
    capacity: int
    x: float
    y: float
    width: float
    height: float


class Plan(Struct, frozen=True):
    """A whole venue. (`focal_x`, `focal_y`) is the stage; `width` and `height` the drawing's size."""

    name: str
    currency: str
    categories: tuple[Category, ...]
    sections: tuple[Section, ...]
    seats: tuple[Seat, ...]
    blocks: tuple[Block, ...]
    areas: tuple[Area, ...]
    focal_x: float
    focal_y: float
    width: float
    height: float

    def middle(self, first: int, last: int) -> tuple[float, float]:
        """Half-way between two seats."""
        one, other = self.seats[first], self.seats[last]
        return (one.x + other.x) / 2, (one.y + other.y) / 2


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Plan)


def encode(plan: Plan) -> bytes:
    """Canonical JSON: equal plans give equal bytes, and `encode(decode(b)) == b`.

    Passes through the typed decoder once, so 3 becomes 3.0 and a wrongly typed field or a NaN
    raises PlanError instead of being stored.
    """
    try:
        raw = _encoder.encode(plan)
    except (TypeError, ValueError, OverflowError) as error:
        raise PlanError("plan", f"cannot be written as JSON: {error}") from None
    return _encoder.encode(decode(raw))


def decode(raw: bytes) -> Plan:
    """Reads what `encode` wrote. PlanError names the field that has the wrong type; bounds are `check`'s."""
    try:
        return _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message, _, path = str(error).partition(" - at `$")
        raise PlanError(_field_names(path.rstrip("`").lstrip(".")) or "plan", message) from None


def fingerprint(encoded: bytes) -> str:
    """SHA-256 of a canonical plan, in hex."""
    return hashlib.sha256(encoded).hexdigest()


def _field_names(path: str) -> str:
    """`seats[7][4]` → `seats[7].category`: seats and blocks travel as arrays."""
    for prefix, fields in (("seats", Seat.__struct_fields__), ("blocks", Block.__struct_fields__)):
        found = re.fullmatch(rf"({prefix}\[\d+\])\[(\d+)\]", path)
        if found and int(found[2]) < len(fields):
            return f"{found[1]}.{fields[int(found[2])]}"
    return path


def number(
    name: str,
    currency: str,
    categories: Sequence[Category],
    sections: Sequence[Section],
    seats: Sequence[Seat],
    areas: Sequence[Area] = (),
    *,
    focal: tuple[float, float],
    size: tuple[float, float],
    rows: Sequence[int] | None = None,
    ranks: Sequence[int] | None = None,
) -> Plan:
    """Orders seats and cuts them into blocks by the rules at the top of this module. Does not `check`.

    With `ranks`, each seat has the rank that was given to its row: the same for all of a row.

    `seats` come in any order. Seats of one section and row label are one row, unless `rows` gives
    each seat the number of the physical row it is in. Within a row, physical order is left to right
    along the row's main direction; the given order is kept instead where it is the shorter walk
    (rows bent around the stage). Coordinates are rounded to thousandths.
    """
    tidy = [
        msgspec.structs.replace(seat, x=round(float(seat.x), 3) + 0.0, y=round(float(seat.y), 3) + 0.0)
        for seat in seats
    ]
    by_row: dict[object, list[Seat]] = {}
    rank_of: dict[str, int] = {}
    for index, seat in enumerate(tidy):
        key: object = (seat.section, seat.row) if rows is None else (seat.section, rows[index])
        by_row.setdefault(key, []).append(seat)
        rank_of[seat.guid] = ranks[index] if ranks is not None else 0
    ordered = [_in_physical_order(row) for row in by_row.values()]
    pitches = _section_pitches(ordered)
    # sorted() is stable, so equal rows of one section stay in their order of appearance
    ranked = sorted(ordered, key=lambda row: (rank_of[row[0].guid], _distance(row, focal), row[0].section))
    numbered: list[Seat] = []
    blocks: list[Block] = []
    for row in ranked:
        for run in _runs(row, pitches.get(row[0].section, 0.0)):
            blocks.append(Block(len(numbered), len(run), run[0].section, run[0].category))
            numbered.extend(run)
    return Plan(
        name,
        currency,
        tuple(categories),
        tuple(sections),
        tuple(numbered),
        tuple(blocks),
        tuple(areas),
        float(focal[0]),
        float(focal[1]),
        float(size[0]),
        float(size[1]),
    )


def _distance(row: Sequence[Seat], focal: tuple[float, float]) -> float:
    return round(math.fsum(math.dist((seat.x, seat.y), focal) for seat in row) / len(row), 6)


def _steps(row: Sequence[Seat]) -> list[float]:
    return [math.hypot(b.x - a.x, b.y - a.y) for a, b in pairwise(row)]


def _in_physical_order(row: list[Seat]) -> list[Seat]:
    if len(row) < 2:
        return row
    middle_x = math.fsum(seat.x for seat in row) / len(row)
    middle_y = math.fsum(seat.y for seat in row) / len(row)
    xx = math.fsum((seat.x - middle_x) ** 2 for seat in row)
    yy = math.fsum((seat.y - middle_y) ** 2 for seat in row)
    xy = math.fsum((seat.x - middle_x) * (seat.y - middle_y) for seat in row)
    angle = 0.5 * math.atan2(2 * xy, xx - yy)  # main direction, -90° to 90°: x never falls along it
    along_x, along_y = math.cos(angle), math.sin(angle)
    if along_x < 1e-9:
        along_y = abs(along_y)  # a vertical row runs from top to bottom
    straight = sorted(row, key=lambda seat: round(seat.x * along_x + seat.y * along_y, 6))
    # The margin keeps rounding from deciding between two walks of the same length.
    return row if math.fsum(_steps(row)) < 0.999 * math.fsum(_steps(straight)) else straight


def _section_pitches(rows: Sequence[Sequence[Seat]]) -> dict[int, float]:
    steps: dict[int, list[float]] = {}
    for row in rows:
        steps.setdefault(row[0].section, []).extend(_steps(row))
    return {section: median_low(all_steps) for section, all_steps in steps.items() if all_steps}


def _runs(row: list[Seat], section_pitch: float) -> list[list[Seat]]:
    """Cuts a row in physical order at its aisles and where the category changes."""
    aisles = _aisles(row, section_pitch)
    runs = [[row[0]]]
    for aisle, (before, seat) in zip(aisles, pairwise(row), strict=True):
        if aisle or seat.category != before.category:
            runs.append([])
        runs[-1].append(seat)
    return runs


def _aisles(row: Sequence[Seat], section_pitch: float) -> list[bool]:
    """Whether an aisle follows each seat but the last."""
    steps = _steps(row)
    pitch = median_low(steps) if steps else 0.0
    if len(steps) < _STEPS_THAT_TELL_PITCH and section_pitch > 0:
        pitch = min(pitch, section_pitch)
    return [pitch > 0 and step > AISLE_RATIO * pitch for step in steps]


def rows(plan: Plan) -> list[range]:
    """Each row's blocks, best row first: blocks that follow each other in one section, under one label."""
    found: list[range] = []
    for index, block in enumerate(plan.blocks):
        seat, before = plan.seats[block.first], plan.seats[block.first - 1]
        if index and (seat.section, seat.row) == (before.section, before.row):
            found[-1] = range(found[-1].start, index + 1)
        else:
            found.append(range(index, index + 1))
    return found


def stretches(plan: Plan) -> list[range]:
    """Blocks of a row with no aisle between them: what a single seat left free is single in."""
    seats_of = {
        row: plan.seats[plan.blocks[row.start].first : _end(plan.blocks[row.stop - 1])] for row in rows(plan)
    }
    pitches = _section_pitches(list(seats_of.values()))
    found: list[range] = []
    for row, seats in seats_of.items():
        aisles = _aisles(seats, pitches.get(seats[0].section, 0.0))
        start, first = row.start, plan.blocks[row.start].first
        for index in row[1:]:
            if aisles[plan.blocks[index].first - first - 1]:
                found.append(range(start, index))
                start = index
        found.append(range(start, row.stop))
    return found


def _end(block: Block) -> int:
    return block.first + block.length


def check(plan: Plan) -> None:
    """Raises PlanError at the first thing that breaks a bound or a promise of this module.

    Accepts every plan made by `number` from checked parts. The best-first order is `number`'s to
    make; here it is only checked that blocks lie one after the other and are one row and category each.
    """
    _check_head(plan)
    _check_names(plan)
    guids: dict[str, str] = {}
    _check_seats(plan, guids)
    _check_areas(plan, guids)
    _check_blocks(plan)


def _check_head(plan: Plan) -> None:
    checks.text(plan.name, "name", NAME_LENGTH_MAX)
    checks.matching(plan.currency, "currency", _CURRENCY, "three capital letters")
    checks.count(len(plan.categories), "categories", CATEGORIES_MAX, "categories")
    checks.count(len(plan.sections), "sections", SECTIONS_MAX, "sections")
    checks.count(len(plan.seats), "seats", SEATS_MAX, "seats")
    checks.count(len(plan.areas), "areas", AREAS_MAX, "areas")
    refuse_unless(bool(plan.seats or plan.areas), "seats", "the plan has neither seats nor areas")
    checks.coordinate(plan.focal_x, "focal_x")
    checks.coordinate(plan.focal_y, "focal_y")
    checks.coordinate(plan.width, "width", 1.0)
    checks.coordinate(plan.height, "height", 1.0)


def _check_names(plan: Plan) -> None:
    seen: dict[str, str] = {}
    for index, category in enumerate(plan.categories):
        place = f"categories[{index}]"
        checks.text(category.name, f"{place}.name", NAME_LENGTH_MAX)
        checks.unique(category.name, f"{place}.name", place, seen, "name")
        checks.whole(category.price_minor, f"{place}.price_minor", 0, PRICE_MINOR_MAX)
        same = category.currency == plan.currency
        refuse_unless(same, f"{place}.currency", f"must be the plan's, {plan.currency}")
        checks.matching(category.colour, f"{place}.colour", _COLOUR, "#1a2b3c")
    seen = {}
    for index, section in enumerate(plan.sections):
        place = f"sections[{index}]"
        checks.text(section.name, f"{place}.name", NAME_LENGTH_MAX)
        checks.unique(section.name, f"{place}.name", place, seen, "name")


def _check_seats(plan: Plan, guids: dict[str, str]) -> None:
    sections, categories = len(plan.sections), len(plan.categories)
    for index, seat in enumerate(plan.seats):
        place = f"seats[{index}]"
        checks.text(seat.guid, f"{place}.guid", GUID_LENGTH_MAX)
        checks.unique(seat.guid, f"{place}.guid", place, guids, "guid")
        checks.index(seat.section, f"{place}.section", sections, "section")
        checks.text(seat.row, f"{place}.row", LABEL_LENGTH_MAX, 0)
        checks.text(seat.number, f"{place}.number", LABEL_LENGTH_MAX)
        checks.index(seat.category, f"{place}.category", categories, "category")
        checks.coordinate(seat.x, f"{place}.x")
        checks.coordinate(seat.y, f"{place}.y")
        refuse_unless(type(seat.accessible) is bool, f"{place}.accessible", "must be true or false")
        refuse_unless(type(seat.companion) is bool, f"{place}.companion", "must be true or false")


def _check_areas(plan: Plan, guids: dict[str, str]) -> None:
    for index, area in enumerate(plan.areas):
        place = f"areas[{index}]"
        checks.text(area.guid, f"{place}.guid", GUID_LENGTH_MAX)
        checks.unique(area.guid, f"{place}.guid", place, guids, "guid")
        checks.text(area.name, f"{place}.name", NAME_LENGTH_MAX)
        checks.index(area.category, f"{place}.category", len(plan.categories), "category")
        checks.whole(area.capacity, f"{place}.capacity", 1, AREA_CAPACITY_MAX)
        checks.coordinate(area.x, f"{place}.x")
        checks.coordinate(area.y, f"{place}.y")
        checks.coordinate(area.width, f"{place}.width", 1.0)
        checks.coordinate(area.height, f"{place}.height", 1.0)


def _check_blocks(plan: Plan) -> None:
    next_seat = 0
    for index, block in enumerate(plan.blocks):
        place = f"blocks[{index}]"
        follows = type(block.first) is int and block.first == next_seat
        refuse_unless(follows, f"{place}.first", f"must be {next_seat}: blocks follow each other without gap")
        left = len(plan.seats) - next_seat
        fits = type(block.length) is int and 1 <= block.length <= left
        refuse_unless(fits, f"{place}.length", f"must be from 1 to the {left} seats left")
        seats = plan.seats[block.first : block.first + block.length]
        row = seats[0].row
        together = all((s.section, s.category, s.row) == (block.section, block.category, row) for s in seats)
        refuse_unless(together, place, "its seats are not all of its section, its category and one row")
        next_seat += block.length
    refuse_unless(next_seat == len(plan.seats), "blocks", f"seats from number {next_seat} on are in no block")
