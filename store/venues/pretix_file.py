"""The shape of pretix's seating-plan JSON: what of it is read, and how it is parsed.

Follows `src/pretix/static/seating/seating-plan.schema.json` of pretix/pretix, and accepts its first
form too (no `size`, areas with `width` and `height` of their own). Properties that are not needed are
ignored, since pretix's documentation says of the schema that it still evolves.
"""

import re

import msgspec
from msgspec import Struct, field

from store.venues.checks import PlanError


class PretixPoint(Struct):
    """A position, relative to what it is in."""

    x: float
    y: float


class PretixSize(Struct):
    """Of the plan, or of a rectangle."""

    width: float
    height: float


class PretixCircle(Struct):
    """An area's shape."""

    radius: float


class PretixEllipse(Struct):
    """An area's shape."""

    radius: PretixPoint


class PretixPolygon(Struct):
    """An area's shape; points relative to the area's position."""

    points: list[PretixPoint]


class PretixText(Struct):
    """What is written on an area."""

    text: str


class PretixArea(Struct):
    """A drawing: a stage, a bar, a standing area. The first schema had `width`, `height` and plain `text`."""

    position: PretixPoint = field(default_factory=lambda: PretixPoint(0.0, 0.0))
    rotation: float = 0.0
    text: PretixText | str | None = None
    rectangle: PretixSize | None = None
    circle: PretixCircle | None = None
    ellipse: PretixEllipse | None = None
    polygon: PretixPolygon | None = None
    width: float | None = None
    height: float | None = None


class PretixSeat(Struct):
    """One seat; `category` is a category's name."""

    seat_guid: str
    seat_number: str
    position: PretixPoint
    category: str


class PretixRow(Struct):
    """Seats that stand together under one label. `rank` is ours; pretix ignores it."""

    row_number: str
    seats: list[PretixSeat]
    position: PretixPoint = field(default_factory=lambda: PretixPoint(0.0, 0.0))
    rank: int | None = None


class PretixZone(Struct):
    """A part of the venue, such as stalls or balcony."""

    position: PretixPoint
    rows: list[PretixRow]
    name: str = ""
    areas: list[PretixArea] = []


class PretixCategory(Struct):
    """A price level without a price; `color` is any CSS colour."""

    name: str
    color: str | None = None


class PretixFile(Struct):
    """A whole plan."""

    name: str
    zones: list[PretixZone]
    categories: list[PretixCategory]
    size: PretixSize | None = None


def parse(text: str) -> PretixFile:
    """The typed file, or PlanError: its place is a path for a wrong type, line and column for broken JSON."""
    raw = text.encode()
    try:
        return msgspec.json.decode(raw, type=PretixFile)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$")
        raise PlanError(path.rstrip("`").lstrip(".") or "file", reason) from None
    except msgspec.DecodeError as error:
        found = re.search(r"\(byte (\d+)\)", str(error))
        before = raw[: int(found[1])] if found else raw
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        reason = re.sub(r" \(byte \d+\)", "", str(error))
        raise PlanError(f"line {line}, column {column}", f"is not JSON: {reason}") from None
    except RecursionError:
        raise PlanError("file", "is nested too deeply for a seating plan") from None
