"""What a plan holds, in numbers people compare with their house, and what in it looks like a slip. Pure.

A warning refuses nothing: two seats on one spot, two that are called the same, a category nobody can buy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from store.plan import Plan, encode, fingerprint

NAMED_MAX: Final = 5
"""So many examples a warning names."""
SECTIONS_TOLD_MAX: Final = 200


class HeldCategory(Struct, frozen=True):
    """A price level, and how much of it there is. `house_minor`: what all of it brings, without fees."""

    name: str
    price_minor: int
    colour: str
    seats: int
    places: int
    house_minor: int


class HeldSection(Struct, frozen=True):
    """A part of the venue."""

    name: str
    rows: int
    seats: int


class HeldArea(Struct, frozen=True):
    """A standing area."""

    guid: str
    name: str
    category: str
    capacity: int


class PlanHolds(Struct, frozen=True):
    """A plan in numbers. `house_minor`: what it brings sold out, without fees and tax."""

    name: str
    currency: str
    seats: int
    places: int
    rows: int
    accessible: int
    companion: int
    sections: list[HeldSection]
    """The first `SECTIONS_TOLD_MAX`."""
    section_count: int
    categories: list[HeldCategory]
    areas: list[HeldArea]
    house_minor: int
    warnings: list[str]
    plan_sha256: str


def holds(plan: Plan, drawn: list[str] | None = None) -> PlanHolds:
    """What is in it; `drawn` are names of areas of its file that are drawings only."""
    seats = Counter(seat.category for seat in plan.seats)
    places: Counter[int] = Counter()
    for area in plan.areas:
        places[area.category] += area.capacity
    rows = {(seat.section, seat.row) for seat in plan.seats}
    of_section = Counter(seat.section for seat in plan.seats)
    rows_of = Counter(section for section, _ in rows)
    categories = [
        HeldCategory(
            one.name,
            one.price_minor,
            one.colour,
            seats[n],
            places[n],
            one.price_minor * (seats[n] + places[n]),
        )
        for n, one in enumerate(plan.categories)
    ]
    return PlanHolds(
        name=plan.name,
        currency=plan.currency,
        seats=len(plan.seats),
        places=sum(places.values()),
        rows=len(rows),
        accessible=sum(seat.accessible for seat in plan.seats),
        companion=sum(seat.companion for seat in plan.seats),
        sections=[
            HeldSection(section.name, rows_of[n], of_section[n])
            for n, section in enumerate(plan.sections[:SECTIONS_TOLD_MAX])
        ],
        section_count=len(plan.sections),
        categories=categories,
        areas=[
            HeldArea(area.guid, area.name, plan.categories[area.category].name, area.capacity)
            for area in plan.areas
        ],
        house_minor=sum(one.house_minor for one in categories),
        warnings=list(_warnings(plan, categories, drawn or [])),
        plan_sha256=fingerprint(encode(plan)),
    )


def _warnings(plan: Plan, categories: list[HeldCategory], drawn: list[str]) -> Iterator[str]:
    for one in categories:
        if not one.seats + one.places:
            yield f"No seat or area is of category {one.name!r}; nobody can buy it."
        elif not one.price_minor:
            yield f"Category {one.name!r} costs nothing."
    called = Counter((seat.section, seat.row, seat.number) for seat in plan.seats)
    same = [
        f"{plan.sections[section].name} {row}-{number}"
        for (section, row, number), n in called.items()
        if n > 1
    ]
    if same:
        yield f"Seats are called the same, so buyers cannot tell them apart: {_some(same)}."
    spots: dict[tuple[float, float], str] = {}
    over = [
        f"{seat.guid} on {first}"
        for seat in plan.seats
        if (first := spots.setdefault((seat.x, seat.y), seat.guid)) != seat.guid
    ]
    if over:
        yield f"Seats are drawn on the same spot, so only one of them can be seen: {_some(over)}."
    if drawn:
        yield (
            f"Areas are only drawn, nobody can buy places in them: {_some(drawn)}. Say how many people one "
            "takes, and of which category, to sell it."
        )


def _some(names: list[str]) -> str:
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")
