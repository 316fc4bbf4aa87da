"""What a buyer wishes of the best available, read from a plain form and turned into the choices of one
request: the first that can be had is held. Pure.

The page with scripts does the same (`core/wishes.js`), and the same wish is the same request from both. The
fallbacks stand in one sensible order here: what is given up first is where, then the price, then sitting
together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from store.errors import BadRequest
from store.plan import Plan
from store.words import APART_MAX, QUANTITY_MAX, Best, Choice, Want

PARTED_MIN: Final = 3
"""A party of two that is parted sits alone: that is `apart`."""
SECTION, AREA = "s:", "a:"
"""Before the name of a section, or the guid of an area, in the form's `where`."""


class Fallback(StrEnum):
    """What will do instead, in the order in which it is tried."""

    ELSEWHERE = "elsewhere"
    ANY_PRICE = "any_price"
    PARTED = "parted"
    APART = "apart"
    FEWER = "fewer"


WIDENING: Final = (Fallback.ELSEWHERE, Fallback.ANY_PRICE)


class Wished(Struct, frozen=True):
    """A form as it is filled in."""

    quantity: int = 2
    where: str = ""
    """Empty for anywhere."""
    category: str = ""
    """Empty for any price."""
    accessible: int = 0
    """How many need an accessible place."""
    ticked: frozenset[Fallback] = frozenset()

    @property
    def section(self) -> str:
        return self.where.removeprefix(SECTION) if self.where.startswith(SECTION) else ""

    @property
    def area(self) -> str:
        return self.where.removeprefix(AREA) if self.where.startswith(AREA) else ""


def read(form: Mapping[str, str], plan: Plan, quantity_max: int) -> Wished:
    """What was filled in; raises `BadRequest` saying which field is not possible."""
    quantity = _whole(form.get("quantity", ""), 1, min(quantity_max, QUANTITY_MAX))
    if quantity is None:
        raise BadRequest("bad_quantity", f"Choose 1 to {min(quantity_max, QUANTITY_MAX)} seats.")
    accessible = _whole(form.get("accessible") or "0", 0, quantity)
    if accessible is None:
        raise BadRequest("bad_accessible", f"Of {quantity}, 0 to {quantity} can be wheelchair places.")
    wished = Wished(
        quantity,
        form.get("where", ""),
        form.get("category", ""),
        accessible,
        frozenset([one for one in Fallback if one in form]),
    )
    _possible(wished, plan)
    return wished


def _whole(text: str, least: int, most: int) -> int | None:
    number = int(text) if len(text) <= 3 and text.isascii() and text.isdecimal() else least - 1
    return number if least <= number <= most else None


def _possible(wished: Wished, plan: Plan) -> None:
    area = next((area for area in plan.areas if area.guid == wished.area), None)
    known = area is not None or wished.section in [section.name for section in plan.sections]
    if wished.where and not known:
        raise BadRequest("bad_section", "There is no such part of the house. Choose one of the list.")
    if wished.category and wished.category not in [category.name for category in plan.categories]:
        raise BadRequest("bad_category", "There is no such price. Choose one of the list.")
    if area is None:
        return
    if wished.accessible:
        raise BadRequest("bad_accessible", f"{area.name} has no wheelchair places. Choose seats for them.")
    costs = plan.categories[area.category].name
    if wished.category not in ("", costs):
        raise BadRequest("bad_category", f"{area.name} is of the price {costs}. Choose that, or any price.")


def wished_of(want: Want) -> Wished:
    """A form filled in as for this request, as far as the form can say it."""
    if want.areas:
        guid, quantity = next(iter(want.areas.items()))
        fewer = {Fallback.FEWER for one in want.fallbacks if one.up_to}
        return Wished(quantity, AREA + guid, ticked=frozenset(fewer))
    if not want.parties:
        return Wished()
    first, ticked = want.parties[0], set()
    for choice in want.fallbacks:
        party = choice.parties[0] if choice.parties else first
        gives_up = {
            Fallback.ELSEWHERE: first.section is not None and party.section is None,
            Fallback.ANY_PRICE: first.category is not None and party.category is None,
            Fallback.PARTED: len(choice.parties) > 1,
            Fallback.APART: party.apart,
            Fallback.FEWER: choice.up_to,
        }
        ticked |= {one for one, does in gives_up.items() if does}
    where = SECTION + first.section if first.section is not None else ""
    return Wished(first.quantity, where, first.category or "", first.accessible, frozenset(ticked))


def useful(wished: Wished, plan: Plan) -> list[Fallback]:
    """The fallbacks that would change anything."""
    seats = not wished.area
    changes = {
        Fallback.ELSEWHERE: seats and wished.section != "" and len(plan.sections) > 1,
        Fallback.ANY_PRICE: seats and wished.category != "",
        Fallback.PARTED: seats and wished.quantity >= PARTED_MIN,
        Fallback.APART: seats and 2 <= wished.quantity <= APART_MAX,
        Fallback.FEWER: wished.quantity >= 2,
    }
    return [one for one in Fallback if changes[one]]


def want_of(wished: Wished, plan: Plan) -> Want:
    """The first choice, and what is tried after it, as a request says it; at most nine in all."""
    given = [one for one in useful(wished, plan) if one in wished.ticked]
    widening = [one for one in given if one in WIDENING]
    ways: list[Sequence[Fallback]] = [widening[:count] for count in range(len(widening) + 1)]
    for shape in given:
        if shape not in WIDENING:
            ways += [[shape], [*widening, shape]] if widening else [[shape]]
    ways.sort(key=lambda way: sum([2 ** given.index(one) for one in way]))
    first, *others = [_choice(wished, way) for way in ways]
    return Want(first.seats, first.best, first.areas, first.up_to, tuple(others))


def _choice(wished: Wished, gives_up: Iterable[Fallback]) -> Choice:
    if wished.area:
        return Choice(areas={wished.area: wished.quantity}, up_to=Fallback.FEWER in gives_up)
    if Fallback.PARTED in gives_up:
        first = wished.quantity - wished.quantity // 2
        with_first = min(wished.accessible, first)
        halves = (first, with_first), (wished.quantity - first, wished.accessible - with_first)
        return Choice(best=tuple([_party(wished, gives_up, *half) for half in halves]))
    party = _party(wished, gives_up, wished.quantity, wished.accessible)
    return Choice(best=party, up_to=Fallback.FEWER in gives_up)


def _party(wished: Wished, gives_up: Iterable[Fallback], quantity: int, accessible: int) -> Best:
    return Best(
        quantity,
        section=None if Fallback.ELSEWHERE in gives_up else wished.section or None,
        category=None if Fallback.ANY_PRICE in gives_up else wished.category or None,
        accessible=accessible,
        apart=Fallback.APART in gives_up,
    )
