"""Where a plan comes from when it is sent: a file as it is, or the wish for a theatre, an arena or a hall.

A file is told by what is in it, not by its name: JSON begins with `{`, everything else is a table. What is
neither (an archive, a picture, a spreadsheet's own format) is refused by the first bytes, before anything
tries to read it.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from store.plan import AREA_CAPACITY_MAX, SEATS_MAX, Plan
from store.venues.checks import refuse_unless
from store.venues.csv_plan import read_csv
from store.venues.make import make
from store.venues.pretix import Standing, read_pretix
from store.venues.reading import Terms

PLAN_BYTES_MAX: Final = 8 * 2**20
"""Of a file that is sent; 100,000 seats in CSV are about 5 MiB."""
UNNAMED: Final = "Seating plan"
Format = Literal["pretix", "csv"]

_KINDS: Final = (
    (b"PK", "a zip archive or a spreadsheet; save the table as CSV (UTF-8), or unpack the JSON"),
    (b"\x1f\x8b", "compressed; send it unpacked"),
    (b"BZh", "compressed; send it unpacked"),
    (b"\xfd7zXZ", "compressed; send it unpacked"),
    (b"(\xb5/\xfd", "compressed; send it unpacked"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet; save the table as CSV (UTF-8)"),
    (b"%PDF", "a PDF; a plan is pretix's JSON or a CSV table"),
    (b"\x89PNG", "a picture; a plan is pretix's JSON or a CSV table"),
    (b"\xff\xd8\xff", "a picture; a plan is pretix's JSON or a CSV table"),
    (b"GIF8", "a picture; a plan is pretix's JSON or a CSV table"),
    (b"<", "XML, HTML or SVG; a plan is pretix's JSON or a CSV table"),
)

_Seats = Annotated[int, Meta(extra_json_schema={"minimum": 0, "maximum": SEATS_MAX})]
_Capacity = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": AREA_CAPACITY_MAX})]


class StandingArea(Struct, frozen=True, forbid_unknown_fields=True):
    """How many people an area of a pretix plan takes, at the price of which category."""

    capacity: _Capacity
    category: str


class PlanFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file's text, and what it may not say. Prices count the smallest unit and win over the file's."""

    text: str
    name: str = ""
    """Of the venue; a pretix file's own unless said."""
    currency: str = "EUR"
    prices_minor: dict[str, int] = {}
    default_price_minor: int | None = None
    standing: dict[str, StandingArea] = {}
    """By the text that is written on the area."""
    stage: tuple[float, float] | None = None


class PlanMade(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A venue as `./run venue make` makes it."""

    kind: Literal["theatre", "arena", "hall"]
    seats: _Seats
    standing: _Capacity | None = None
    name: str = ""
    currency: str = "EUR"


def read_file(raw: bytes, *, name: str, terms: Terms, standing: dict[str, Standing]) -> tuple[Format, Plan]:
    """What the file is written in, and its checked plan; PlanError says where it is wrong."""
    most = PLAN_BYTES_MAX // 2**20
    refuse_unless(len(raw) <= PLAN_BYTES_MAX, "file", f"is larger than {most} MiB, too much for a plan")
    begins = raw[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
    for signature, what in _KINDS:
        refuse_unless(not begins.startswith(signature), "file", f"is {what}")
    if begins[:1] in (b"{", b"["):
        return "pretix", read_pretix(raw, name=name or None, terms=terms, standing=standing)
    refuse_unless(
        not standing, "area", "is for pretix plans; in CSV a line with a capacity is a standing area"
    )
    return "csv", read_csv(raw, name=name or UNNAMED, terms=terms)


def plan_of_file(file: PlanFile) -> Plan:
    """Its checked plan; PlanError."""
    terms = Terms(file.currency, file.prices_minor, file.default_price_minor, file.stage)
    standing = {name: Standing(area.capacity, area.category) for name, area in file.standing.items()}
    return read_file(
        file.text.encode("utf-8", "surrogatepass"), name=file.name, terms=terms, standing=standing
    )[1]


def plan_made(wish: PlanMade) -> Plan:
    """Its checked plan; PlanError names the field that is out of bounds."""
    return make(wish.kind, wish.seats, name=wish.name or None, currency=wish.currency, standing=wish.standing)
